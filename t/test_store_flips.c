/* SPDX-License-Identifier: Apache-2.0
 *
 * One byte of a store's file is another: the store is refused with the file's name, or it
 * has every object as it was stored; and what is written into it then is there
 * afterwards, or refused. NEAP_STORE_FLIPS=all takes every byte of the file, else all of
 * the header and some of each page. And rows that are sound, but not those that were
 * stored last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "api/store/write.h"
#include "engine/base/mem.h"
#include "t/lib/store_rig.h"

#define PAGE    4096
#define OBJECTS 12
#define DELETED 5 /* of them, so that there are free pages */
#define BIG     9000
/* Of the bytes that are taken by default; meets every offset of a page in turn. */
#define STEP 61

static unsigned char sound[64 * PAGE];
static size_t len;
/* What is there; NULL: nothing. */
static json_t *wanted[OBJECTS];

static json_t *object_of(int i, int n)
{
	/* One with pages of its own, and small ones. */
	size_t size = i % 4 == 1 ? BIG : 40, at;
	char *text = neap_alloc(size + 1), name[16];
	json_t *object;

	assert_non_null(text);
	for (at = 0; at < size; at++)
		text[at] = (char)('a' + (at * 7 + (size_t)(i * 11 + n)) % 26);
	(void)snprintf(name, sizeof(name), "c-%d", i);
	object = json_pack("{s:{s:s,s:s,s:{s:s}},s:{s:s}}", "metadata", "name", name,
			   "namespace", "n", "labels", "app", name, "data", "text", text);
	free(text);
	return object;
}

/* n -1: deleted. 0, or why it was refused or failed. */
static int write_one(struct store_rig *rig, int i, int n)
{
	struct store_answer answer = {0};
	struct neap_error err = {0};
	char name[16];
	struct neap_store_write write = {.resource = "configmaps",
					 .ns = "n",
					 .name = name,
					 .done = store_rig_answered,
					 .arg = &answer};

	(void)snprintf(name, sizeof(name), "c-%d", i);
	write.verb = n < 0 ? NEAP_STORE_DELETE
		     : neap_store_newest(rig->store, "configmaps", "n", name) == NULL
			     ? NEAP_STORE_CREATE
			     : NEAP_STORE_UPDATE;
	write.object = n < 0 ? NULL : object_of(i, n);
	if (neap_store_write_take(rig->store, &write, &err) < 0)
		return -(int)err.code;
	store_rig_wait(rig, &answer);
	return -(int)answer.code;
}

static void want(int i, int n)
{
	json_decref(wanted[i]);
	wanted[i] = n < 0 ? NULL : object_of(i, n);
}

static void check_objects(struct store_rig *rig, size_t at)
{
	size_t count = 0;
	int i;

	for (i = 0; i < OBJECTS; i++) {
		struct neap_object *object;
		json_t *tree;
		char name[16];

		(void)snprintf(name, sizeof(name), "c-%d", i);
		object = neap_store_find(rig->store, "configmaps", "n", name);
		if ((object != NULL) != (wanted[i] != NULL))
			fail_msg("byte %zu: %s is %s", at, name,
				 object != NULL ? "there" : "gone");
		if (object == NULL)
			continue;
		count++;
		tree = neap_object_tree(object);
		(void)json_object_del(json_object_get(tree, "metadata"),
				      "resourceVersion");
		if (!json_equal(tree, wanted[i]))
			fail_msg("byte %zu: %s is another", at, name);
		json_decref(tree);
	}
	if (neap_store_count(rig->store, "configmaps") != count ||
	    neap_store_count(rig->store, "nodes") != 0)
		fail_msg("byte %zu: more objects than there were", at);
}

static void put_bytes(const struct store_rig *rig, size_t at, unsigned char flip)
{
	FILE *file = fopen(rig->file, "wb");

	sound[at] ^= flip;
	assert_non_null(file);
	assert_int_equal(fwrite(sound, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	sound[at] ^= flip;
}

static void make_sound(struct store_rig *rig)
{
	FILE *file;
	int i;

	store_rig_open(rig);
	for (i = 0; i < OBJECTS; i++) {
		assert_int_equal(write_one(rig, i, 0), 0);
		want(i, 0);
	}
	for (i = 0; i < DELETED; i++) {
		assert_int_equal(write_one(rig, i, -1), 0);
		want(i, -1);
	}
	store_rig_close(rig);
	file = fopen(rig->file, "rb");
	assert_non_null(file);
	len = fread(sound, 1, sizeof(sound), file);
	assert_true(len >= 8 * (size_t)PAGE && len < sizeof(sound));
	assert_int_equal(fclose(file), 0);
}

/* Objects of all sizes are written, changed, deleted. */
static void write_some(struct store_rig *rig, size_t at, size_t *refused)
{
	static const struct {
		int i, n;
	} writes[] = {{1, 3}, {2, 3}, {9, 4}, {6, 4}, {5, -1}, {3, 5}};
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(writes); i++) {
		if (write_one(rig, writes[i].i, writes[i].n) < 0) {
			(*refused)++;
			break;
		}
		want(writes[i].i, writes[i].n);
	}
	check_objects(rig, at);
	store_rig_close(rig);
	store_rig_open(rig);
	check_objects(rig, at);
	store_rig_close(rig);
	for (i = 0; i < OBJECTS; i++)
		want((int)i, i < DELETED ? -1 : 0);
}

/* Damaged; of another program, or of a newer neap. */
static bool is_clear(enum neap_code code)
{
	return code == NEAP_EINVAL || code == NEAP_EUNSUPPORTED;
}

static void test_flips(void **state)
{
	const char *all = getenv("NEAP_STORE_FLIPS");
	size_t at, tried = 0, refused = 0, writes_refused = 0;
	struct store_rig rig;
	struct neap_error err;
	unsigned round;

	(void)state;
	store_rig_init_quick(&rig);
	make_sound(&rig);
	for (at = 0; at < len; at++) {
		/* The first hundred bytes are the header's. */
		if (all == NULL && at >= 100 && at % STEP != 0)
			continue;
		round = (unsigned)(at % 3);
		tried++;
		store_rig_empty(&rig);
		put_bytes(&rig, at, round == 0 ? 1 : round == 1 ? 0x80 : 0xff);
		if (neap_store_sqlite_open(&rig.config, &rig.store, &err) < 0) {
			refused++;
			if (strstr(err.msg, rig.file) == NULL || !is_clear(err.code))
				fail_msg("byte %zu: %d: %s", at, (int)err.code, err.msg);
			continue;
		}
		check_objects(&rig, at);
		write_some(&rig, at, &writes_refused);
	}
	printf("# %zu flips in %zu bytes: %zu refused, %zu let nothing be written\n",
	       tried, len, refused, writes_refused);
	assert_true(refused > tried / 4);
	for (at = 0; at < OBJECTS; at++)
		want((int)at, -1);
	store_rig_done(&rig);
}

static void change_file(const char *file, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* As of a disk that lost a write, or has it twice: each row is sound, and they are not
 * those of the last commit. */
static void test_sound_rows(void **state)
{
	static const struct {
		const char *name, *sql;
	} rows[] = {
		{"an older one",
		 "DELETE FROM objects WHERE id IN (SELECT id FROM old.objects);"
		 "INSERT INTO objects SELECT * FROM old.objects"},
		{"one is not there",
		 "DELETE FROM objects WHERE id IN (SELECT id FROM old.objects)"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct store_rig rig;
		struct neap_error err;
		char sql[512];

		store_rig_init_quick(&rig);
		store_rig_open(&rig);
		assert_int_equal(write_one(&rig, 0, 0), 0);
		store_rig_close(&rig);
		(void)snprintf(sql, sizeof(sql), "VACUUM INTO '%s.old'", rig.file);
		change_file(rig.file, sql);
		store_rig_open(&rig);
		assert_int_equal(write_one(&rig, 0, 1), 0);
		assert_int_equal(write_one(&rig, 2, 0), 0);
		store_rig_close(&rig);
		(void)snprintf(sql, sizeof(sql), "ATTACH '%s.old' AS old; %s", rig.file,
			       rows[i].sql);
		change_file(rig.file, sql);
		if (neap_store_sqlite_open(&rig.config, &rig.store, &err) == 0)
			fail_msg("%s: nobody noticed", rows[i].name);
		if (!strstr(err.msg, rig.file) || err.code != NEAP_EINVAL)
			fail_msg("%s: %d: %s", rows[i].name, (int)err.code, err.msg);
		store_rig_done(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_sound_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
