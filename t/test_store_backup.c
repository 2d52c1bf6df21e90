/* SPDX-License-Identifier: Apache-2.0
 *
 * Backup and restore: a state comes back as it was, with new versions, in one commit; a
 * file that is not wholly sound changes nothing; and a restore that is cut off anywhere
 * is all there or not at all. NEAP_STORE_OBJECTS (2000) for the large one. */
#include <poll.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/store/backup/backup.h"
#include "api/store/write.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "t/lib/backup_rig.h"
#include "t/lib/crash_vfs.h"

#define SPARE 1000

static void put_node(struct store_rig *rig, const char *name, const char *zone)
{
	static const char *const fields[] = {"spec.zone", NULL};
	struct neap_store_write write = {.verb = NEAP_STORE_CREATE,
					 .resource = "nodes",
					 .ns = "",
					 .name = name,
					 .fields = fields};
	struct neap_error err;

	write.object =
		json_pack("{s:{s:s,s:s,s:{s:s}},s:{s:s}}", "metadata", "name", name,
			  "uid", "u-1", "labels", "app", "x", "spec", "zone", zone);
	assert_int_equal(neap_store_write_take(rig->store, &write, &err), 0);
}

/* n of n/a, n/b, n/c; -1: none. */
static void wants(struct store_rig *rig, int a, int b, int c)
{
	const int all[] = {a, b, c};
	int i;

	for (i = 0; i < 3; i++) {
		const char name[] = {(char)('a' + i), '\0'};
		struct neap_object *object =
			neap_store_find(rig->store, "pods", "n", name);

		assert_int_equal(object != NULL ? store_rig_n(object) : -1, all[i]);
	}
}

/* --- tests --- */

static void ignore_call(void *arg)
{
	(void)arg;
}

static void test_round(void **state)
{
	static const struct {
		enum neap_store_what what;
		const char *name;
		int n;
	} events[] = {{NEAP_STORE_MODIFIED, "a", 1},
		      {NEAP_STORE_ADDED, "b", 2},
		      {NEAP_STORE_DELETED, "d", 4}};
	struct store_rig *rig = *state;
	struct neap_store_watch *watch = NULL;
	struct neap_store_event *event;
	struct neap_object *node;
	struct backup_result result;
	struct neap_error err;
	int64_t before, kept;
	size_t len, i;
	char *text;

	put_node(rig, "x", "east");
	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1);
	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "b", 2);
	kept = store_rig_put(rig, NEAP_STORE_CREATE, "n", "c", 3);
	text = backup_rig_text(rig, &len);
	(void)store_rig_put(rig, NEAP_STORE_UPDATE, "n", "a", 10);
	(void)store_rig_put(rig, NEAP_STORE_DELETE, "n", "b", 0);
	before = store_rig_put(rig, NEAP_STORE_CREATE, "n", "d", 4);
	assert_int_equal(neap_store_watch_new(rig->store, "pods", before, ignore_call,
					      NULL, &watch, &err),
			 0);
	backup_rig_restore(rig, text, len, &result);
	assert_int_equal(result.replaced.created, 1);
	assert_int_equal(result.replaced.updated, 1);
	assert_int_equal(result.replaced.deleted, 1);
	assert_int_equal(result.replaced.unchanged, 2);
	assert_true(result.replaced.version > before);
	wants(rig, 1, 2, 3);
	assert_int_equal(neap_store_find(rig->store, "pods", "n", "c")->version, kept);
	for (i = 0; i < NEAP_ARRAY_LEN(events); i++) {
		assert_int_equal(neap_store_watch_next(watch, &event, &err), 1);
		assert_int_equal(event->what, events[i].what);
		assert_string_equal(event->object->name, events[i].name);
		assert_int_equal(store_rig_n(event->object), events[i].n);
		assert_true(event->version > before);
		assert_int_equal(event->object->version, event->version);
		before = event->version;
	}
	assert_int_equal(neap_store_watch_next(watch, &event, &err), 0);
	neap_store_watch_free(watch);
	/* All of it is on the disk, and what selectors ask for came along. */
	store_rig_close(rig);
	store_rig_open(rig);
	wants(rig, 1, 2, 3);
	assert_int_equal(neap_store_version(rig->store), result.replaced.version);
	node = neap_store_find(rig->store, "nodes", "", "x");
	assert_non_null(node);
	assert_string_equal(neap_object_field(node, "spec.zone"), "east");
	assert_string_equal(neap_object_label(node, "app"), "x");
	/* Once more: nothing to do, and no version is spent. */
	backup_rig_restore(rig, text, len, &result);
	assert_int_equal(result.replaced.unchanged, 4);
	assert_int_equal(neap_store_version(rig->store), before);
	(void)store_rig_put(rig, NEAP_STORE_UPDATE, "n", "c", 33);
	free(text);
}

/* On another machine versions go on above those of the first one. */
static void test_move(void **state)
{
	struct store_rig *rig = *state, other;
	struct backup_result result;
	int64_t version;
	size_t len;
	char *text;
	int i;

	for (i = 0; i < 50; i++)
		version = store_rig_put(
			rig, i == 0 ? NEAP_STORE_CREATE : NEAP_STORE_UPDATE, "n", "a", i);
	text = backup_rig_text(rig, &len);
	store_rig_init(&other);
	store_rig_open(&other);
	backup_rig_restore(&other, text, len, &result);
	wants(&other, 49, -1, -1);
	assert_true(neap_store_version(other.store) > version);
	store_rig_done(&other);
	free(text);
}

/* While it goes on others cannot write; before and after it they can. */
static void test_writes_meanwhile(void **state)
{
	struct store_rig *rig = *state;
	struct neap_store_replace *replace = NULL, *second = NULL;
	struct store_answer answer = {0};
	struct neap_error err = {0};
	struct backup_result result = {0};

	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1);
	assert_int_equal(neap_store_replace_new(rig->store, &replace, &err), 0);
	assert_int_equal(neap_store_replace_new(rig->store, &second, &err),
			 -NEAP_ECONFLICT);
	assert_int_equal(neap_store_replace_add_take(
				 replace, "pods",
				 json_pack("{s:{s:s,s:s},s:{s:i}}", "metadata", "name",
					   "b", "namespace", "n", "spec", "n", 2),
				 NULL, &err),
			 0);
	assert_int_equal(
		neap_store_replace_add_take(replace, "pods",
					    json_pack("{s:{s:s,s:s}}", "metadata", "name",
						      "b", "namespace", "n"),
					    NULL, &err),
		-NEAP_EEXISTS);
	/* Accepted before, and not durable yet. */
	assert_int_equal(
		store_rig_write(rig, NEAP_STORE_CREATE, "n", "c", 3, 0, &answer, &err),
		0);
	neap_store_replace_commit_take(replace, 0, backup_rig_replaced, &result);
	assert_int_equal(
		store_rig_write(rig, NEAP_STORE_UPDATE, "n", "a", 9, 0, NULL, &err),
		-NEAP_EUNAVAILABLE);
	assert_non_null(strstr(err.msg, "restored"));
	backup_rig_wait(rig, &result);
	assert_true(answer.is_done && answer.code == NEAP_OK);
	wants(rig, -1, 2, -1);
	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 5);
	wants(rig, 5, 2, -1);
}

/* --- files that are not sound --- */

static void refused(struct store_rig *rig, const char *text, size_t len,
		    enum neap_code code, const char *part, const char *why)
{
	struct backup_result result;
	int64_t version = neap_store_version(rig->store);

	if (backup_rig_start(rig, text, len, &result) == 0)
		fail_msg("taken: %s", why);
	assert_int_equal(result.err.code, code);
	if (strstr(result.err.msg, part) == NULL)
		fail_msg("%s: %s", why, result.err.msg);
	wants(rig, 10, -1, -1);
	assert_int_equal(neap_store_version(rig->store), version);
}

static char *line_of(char *text, int number)
{
	while (number-- > 0)
		text = strchr(text, '\n') + 1;
	return text;
}

static int line_at(const char *text, size_t at)
{
	int line = 1;
	size_t i;

	for (i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}

static void test_damaged(void **state)
{
	struct store_rig *rig = *state;
	char *text, *copy, *line;
	size_t len, i, head;
	char where[32];

	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1);
	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "b", 2);
	text = backup_rig_text(rig, &len);
	head = (size_t)(line_of(text, 1) - text);
	copy = neap_alloc(len * 2);
	assert_non_null(copy);
	(void)store_rig_put(rig, NEAP_STORE_UPDATE, "n", "a", 10);
	(void)store_rig_put(rig, NEAP_STORE_DELETE, "n", "b", 0);
	/* Any bit of any byte, and any end. The end of the last line is no part of it. */
	for (i = 0; i + 1 < len; i++) {
		memcpy(copy, text, len);
		copy[i] = (char)(copy[i] ^ (1 << (i % 7)));
		/* With the line that it is on; the sum of the head may be missed on the
		 * next one. */
		(void)snprintf(where, sizeof(where), "line %d:", line_at(text, i));
		refused(rig, copy, len, NEAP_EINVAL, i < head ? "" : where, "a bit");
		refused(rig, text, i, NEAP_EINVAL,
			i == 0 || i < (size_t)(line_of(text, 1) - text)
				? "no backup of neap"
				: "cut off",
			"an end");
	}
	/* A line is missing, is twice there, stands behind the end. */
	memcpy(copy, text, len);
	line = line_of(copy, 1);
	memmove(line, line_of(copy, 2), (size_t)(copy + len - line_of(copy, 2)));
	refused(rig, copy, len - (size_t)(line_of(text, 2) - line_of(text, 1)),
		NEAP_EINVAL, "missing", "one line less");
	memcpy(copy, text, len);
	i = (size_t)(line_of(text, 2) - line_of(text, 1));
	memcpy(line_of(copy, 2), line_of(text, 1),
	       len - (size_t)(line_of(text, 1) - text));
	refused(rig, copy, len + i, NEAP_EINVAL, "there twice", "a line twice");
	memcpy(copy, text, len);
	memcpy(copy + len, "{}\n", 3);
	refused(rig, copy, len + 3, NEAP_EINVAL, "behind the end", "one line more");
	free(copy);
	free(text);
}

static void test_other_files(void **state)
{
	static const struct {
		const char *text;
		enum neap_code code;
		const char *part;
	} rows[] = {
		{"", NEAP_EINVAL, "no backup of neap"},
		{"\n", NEAP_EINVAL, "no backup of neap"},
		{"SQLite format 3\n", NEAP_EINVAL, "no backup of neap"},
		{"{\"neapBackup\":2,\"version\":1}\n", NEAP_EUNSUPPORTED, "newer neap"},
		{"{\"neapBackup\":1,\"version\":-1,\"objects\":0}\n", NEAP_EINVAL,
		 "line 1"},
		{"{\"neapBackup\":1,\"version\":9223372036854775807,\"objects\":0}\n",
		 NEAP_EINVAL, "line 1"},
		{"{\"neapBackup\":1,\"version\":1,\"objects\":1}\n[]\n", NEAP_EINVAL,
		 "line 2: this is no object"},
		{"{\"neapBackup\":1,\"version\":1,\"objects\":1}\n"
		 "{\"resource\":\"../pods\",\"object\":{}}\n",
		 NEAP_EINVAL, "line 2: this is no object"},
		{"{\"neapBackup\":1,\"version\":1,\"objects\":1}\n"
		 "{\"resource\":\"pods\",\"fields\":[1],\"object\":{}}\n",
		 NEAP_EINVAL, "a field is no text"},
		{"{\"neapBackup\":1,\"version\":1,\"objects\":0}\n"
		 "{\"resource\":\"pods\",\"fields\":[],\"object\":{}}\n",
		 NEAP_EINVAL, "more objects"},
		{"{\"neapBackup\":1,\"version\":1,\"objects\":0}\n{\"end\":0}\n",
		 NEAP_EINVAL, "digest"},
	};
	struct store_rig *rig = *state;
	char *endless = neap_alloc(NEAP_BACKUP_LINE_MAX + SPARE);
	size_t i;

	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 10);
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		refused(rig, rows[i].text, strlen(rows[i].text), rows[i].code,
			rows[i].part, rows[i].text);
	assert_non_null(endless);
	memset(endless, '[', NEAP_BACKUP_LINE_MAX + SPARE);
	refused(rig, endless, NEAP_BACKUP_LINE_MAX + SPARE, NEAP_EINVAL, "no end",
		"a line without an end");
	free(endless);
}

/* --- cut off --- */

/* The store ends at any point of it. */
static void test_end_meanwhile(void **state)
{
	struct store_rig *rig = *state;
	struct backup_result result;
	size_t len;
	char *text, name[16];
	int i, turns, there = 0;

	for (i = 0; i < 600; i++) {
		(void)snprintf(name, sizeof(name), "p-%d", i);
		assert_int_equal(store_rig_write(rig, NEAP_STORE_CREATE, "n", name, i, 0,
						 NULL, NULL),
				 0);
	}
	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1);
	text = backup_rig_text(rig, &len);
	for (turns = 0; turns < 12; turns++) {
		struct backup_result emptied;
		struct neap_store_replace *replace = NULL;
		struct neap_error err;

		memset(&emptied, 0, sizeof(emptied));
		assert_int_equal(neap_store_replace_new(rig->store, &replace, &err), 0);
		neap_store_replace_commit_take(replace, 0, backup_rig_replaced, &emptied);
		backup_rig_wait(rig, &emptied);
		assert_int_equal(neap_store_count(rig->store, "pods"), 0);
		assert_int_equal(backup_rig_start(rig, text, len, &result), 0);
		for (i = 0; i < turns && !result.is_done; i++) {
			struct pollfd ready = {.fd = neap_store_fd(rig->store),
					       .events = POLLIN};

			(void)poll(&ready, 1, 20000);
			neap_store_hear(rig->store);
		}
		store_rig_close(rig);
		assert_true(result.is_done);
		store_rig_open(rig);
		assert_int_equal(neap_store_count(rig->store, "pods"),
				 result.err.code == NEAP_OK ? 601 : 0);
		there += result.err.code == NEAP_OK;
	}
	assert_true(there > 0 && there < 12);
	free(text);
}

/* The power goes at any call of it. */
static void test_cut(void **state)
{
	struct crash_vfs *vfs = crash_vfs_new(7);
	struct store_rig rig;
	struct backup_result result;
	size_t len, i, there = 0, not_there = 0;
	uint64_t turn;
	char *text = NULL, name[16];

	(void)state;
	for (turn = 0; turn < 96; turn++) {
		crash_vfs_clear(vfs);
		store_rig_init(&rig);
		store_rig_open(&rig);
		(void)store_rig_put(&rig, NEAP_STORE_CREATE, "n", "a", 1);
		(void)store_rig_put(&rig, NEAP_STORE_CREATE, "n", "b", 2);
		for (i = 0; i < 30; i++) {
			(void)snprintf(name, sizeof(name), "p-%zu", i);
			(void)store_rig_write(&rig, NEAP_STORE_CREATE, "n", name, 5, 0,
					      NULL, NULL);
		}
		(void)store_rig_put(&rig, NEAP_STORE_CREATE, "n", "last", 5);
		free(text);
		text = backup_rig_text(&rig, &len);
		for (i = 0; i < 30; i++) {
			(void)snprintf(name, sizeof(name), "p-%zu", i);
			(void)store_rig_write(&rig, NEAP_STORE_DELETE, "n", name, 5, 0,
					      NULL, NULL);
		}
		(void)store_rig_put(&rig, NEAP_STORE_UPDATE, "n", "a", 10);
		(void)store_rig_put(&rig, NEAP_STORE_DELETE, "n", "b", 0);
		crash_vfs_cut_after(vfs, 1 + turn % 12);
		assert_int_equal(backup_rig_start(&rig, text, len, &result), 0);
		backup_rig_wait(&rig, &result);
		if (!crash_vfs_is_cut(vfs))
			crash_vfs_cut_after(vfs, 0);
		store_rig_close(&rig);
		crash_vfs_restart(vfs);
		store_rig_open(&rig);
		if (neap_store_count(rig.store, "pods") == 2) {
			assert_int_not_equal(result.err.code, NEAP_OK);
			wants(&rig, 10, -1, -1);
			not_there++;
		} else {
			assert_int_equal(neap_store_count(rig.store, "pods"), 33);
			wants(&rig, 1, 2, -1);
			there++;
		}
		store_rig_done(&rig);
	}
	free(text);
	crash_vfs_free(vfs);
	print_message("# %zu cuts before, %zu after\n", not_there, there);
	assert_true(there > 5 && not_there > 2);
}

/* A full disk: nothing has changed, and later it works. */
static void test_full(void **state)
{
	struct crash_vfs *vfs = crash_vfs_new(8);
	struct store_rig rig;
	struct backup_result result;
	size_t len;
	char *text;

	(void)state;
	store_rig_init(&rig);
	store_rig_open(&rig);
	(void)store_rig_put(&rig, NEAP_STORE_CREATE, "n", "a", 1);
	(void)store_rig_put(&rig, NEAP_STORE_CREATE, "n", "b", 2);
	text = backup_rig_text(&rig, &len);
	(void)store_rig_put(&rig, NEAP_STORE_UPDATE, "n", "a", 10);
	(void)store_rig_put(&rig, NEAP_STORE_DELETE, "n", "b", 0);
	crash_vfs_fail(vfs, CRASH_WRITE, 2, 1, SQLITE_FULL);
	assert_int_equal(backup_rig_start(&rig, text, len, &result), 0);
	backup_rig_wait(&rig, &result);
	assert_int_equal(result.err.code, NEAP_EUNAVAILABLE);
	wants(&rig, 10, -1, -1);
	assert_null(neap_store_newest(rig.store, "pods", "n", "b"));
	(void)store_rig_put(&rig, NEAP_STORE_UPDATE, "n", "a", 11);
	backup_rig_restore(&rig, text, len, &result);
	wants(&rig, 1, 2, -1);
	store_rig_done(&rig);
	free(text);
	crash_vfs_free(vfs);
}

/* How long the loop is kept at a time. */
static void test_large(void **state)
{
	struct store_rig *rig = *state;
	const char *setting = getenv("NEAP_STORE_OBJECTS");
	int count = setting != NULL ? (int)strtol(setting, NULL, 10) : 2000, i;
	struct neap_backup *backup = NULL;
	struct store_answer answer = {0};
	struct neap_error err;
	struct backup_result result;
	int64_t start, took, longest = 0, all;
	char name[16], *text;
	size_t len;

	for (i = 0; i < count; i++) {
		bool is_waited = i % 1000 == 999 || i + 1 == count;

		(void)snprintf(name, sizeof(name), "p-%d", i);
		memset(&answer, 0, sizeof(answer));
		assert_int_equal(store_rig_write(rig, NEAP_STORE_CREATE, "n", name, i, 0,
						 is_waited ? &answer : NULL, &err),
				 0);
		if (is_waited)
			store_rig_wait(rig, &answer);
	}
	start = neap_clock_usec(CLOCK_MONOTONIC);
	assert_int_equal(neap_backup_new(rig->store, 0, &backup, &err), 0);
	took = neap_clock_usec(CLOCK_MONOTONIC) - start;
	neap_backup_free(backup);
	text = backup_rig_text(rig, &len);
	for (i = 0; i < count; i++) {
		bool is_waited = i % 1000 == 999 || i + 1 == count;

		(void)snprintf(name, sizeof(name), "p-%d", i);
		memset(&answer, 0, sizeof(answer));
		assert_int_equal(
			store_rig_write(
				rig, i % 3 ? NEAP_STORE_UPDATE : NEAP_STORE_DELETE, "n",
				name, i + 7, 0, is_waited ? &answer : NULL, &err),
			0);
		if (is_waited)
			store_rig_wait(rig, &answer);
	}
	assert_int_equal(backup_rig_start(rig, text, len, &result), 0);
	all = neap_clock_usec(CLOCK_MONOTONIC);
	while (!result.is_done) {
		struct pollfd ready = {.fd = neap_store_fd(rig->store), .events = POLLIN};

		(void)poll(&ready, 1, 60000);
		start = neap_clock_usec(CLOCK_MONOTONIC);
		neap_store_hear(rig->store);
		start = neap_clock_usec(CLOCK_MONOTONIC) - start;
		longest = start > longest ? start : longest;
	}
	print_message(
		"# %d objects, %zu bytes: snapshot %lld us; restore %lld us, the loop "
		"at most %lld us at a time\n",
		count, len, (long long)took,
		(long long)(neap_clock_usec(CLOCK_MONOTONIC) - all), (long long)longest);
	assert_int_equal(result.err.code, NEAP_OK);
	assert_int_equal(neap_store_count(rig->store, "pods"), count);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_move, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_writes_meanwhile, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_damaged, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_other_files, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_end_meanwhile, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_full),
		cmocka_unit_test_setup_teardown(test_large, store_rig_setup,
						store_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
