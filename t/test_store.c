/* SPDX-License-Identifier: Apache-2.0
 *
 * The embedded store: what a write may do, what is seen when, and a model that random
 * writes, watches, lists of the past and new starts are compared with. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/store/store_priv.h"
#include "api/store/write.h"
#include "engine/base/mem.h"
#include "t/lib/store_rig.h"

static struct neap_object *find(struct store_rig *rig, const char *ns, const char *name)
{
	return neap_store_find(rig->store, "pods", ns, name);
}

static void test_life_of_an_object(void **state)
{
	struct store_rig *rig = *state;
	int64_t first = store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1), second, third;

	assert_true(first > 0);
	assert_int_equal(find(rig, "n", "a")->version, first);
	assert_int_equal(neap_store_version(rig->store), first);
	assert_int_equal(neap_store_count(rig->store, "pods"), 1);
	second = store_rig_put(rig, NEAP_STORE_UPDATE, "n", "a", 2);
	assert_true(second > first);
	assert_int_equal(store_rig_n(find(rig, "n", "a")), 2);
	/* Nothing changes: no version is spent. */
	assert_int_equal(store_rig_put(rig, NEAP_STORE_UPDATE, "n", "a", 2), second);
	assert_int_equal(neap_store_version(rig->store), second);
	third = store_rig_put(rig, NEAP_STORE_DELETE, "n", "a", 0);
	assert_true(third > second);
	assert_null(find(rig, "n", "a"));
	assert_int_equal(neap_store_count(rig->store, "pods"), 0);
	assert_true(store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 3) > third);
}

/* As an event's that names its pod, version and all, before its own metadata. */
static json_t *event_of_pod(void)
{
	return json_pack("{s:{s:s,s:s}, s:{s:s,s:s}}", "involvedObject", "name", "p",
			 "resourceVersion", "4711", "metadata", "name", "e", "namespace",
			 "n");
}

static void test_nothing_changes(void **state)
{
	struct store_rig *rig = *state;
	struct neap_error err = {0};
	struct neap_store_write write = {
		.verb = NEAP_STORE_CREATE, .resource = "events", .ns = "n", .name = "e"};
	int64_t version;

	write.object = event_of_pod();
	assert_int_equal(neap_store_write_take(rig->store, &write, &err), 0);
	version = neap_store_newest(rig->store, "events", "n", "e")->version;
	write.verb = NEAP_STORE_UPDATE;
	write.object = event_of_pod();
	assert_int_equal(neap_store_write_take(rig->store, &write, &err), 0);
	assert_int_equal(neap_store_newest(rig->store, "events", "n", "e")->version,
			 version);
	write.object = event_of_pod();
	assert_int_equal(
		json_object_set_new(json_object_get(write.object, "involvedObject"),
				    "resourceVersion", json_string("4712")),
		0);
	assert_int_equal(neap_store_write_take(rig->store, &write, &err), 0);
	assert_true(neap_store_newest(rig->store, "events", "n", "e")->version > version);
}

static void test_refused(void **state)
{
	struct store_rig *rig = *state;
	struct neap_error err = {0};
	int64_t version = store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1);
	struct neap_store_write other = {
		.verb = NEAP_STORE_CREATE, .resource = "pods", .ns = "n", .name = "b"};

	assert_int_equal(
		store_rig_write(rig, NEAP_STORE_CREATE, "n", "a", 1, 0, NULL, &err),
		-NEAP_EEXISTS);
	assert_int_equal(
		store_rig_write(rig, NEAP_STORE_UPDATE, "n", "b", 1, 0, NULL, &err),
		-NEAP_ENOTFOUND);
	assert_int_equal(
		store_rig_write(rig, NEAP_STORE_DELETE, "m", "a", 1, 0, NULL, &err),
		-NEAP_ENOTFOUND);
	assert_int_equal(store_rig_write(rig, NEAP_STORE_UPDATE, "n", "a", 2, version + 1,
					 NULL, &err),
			 -NEAP_ECONFLICT);
	assert_non_null(strstr(err.msg, "the object has been modified"));
	/* The object's own name is another one. */
	other.object =
		json_pack("{s:{s:s,s:s}}", "metadata", "name", "c", "namespace", "n");
	assert_int_equal(neap_store_write_take(rig->store, &other, &err), -NEAP_EINVAL);
	other.object = json_pack("{}");
	assert_int_equal(neap_store_write_take(rig->store, &other, &err), -NEAP_EINVAL);
	assert_int_equal(neap_store_count(rig->store, "pods"), 1);
	assert_null(neap_store_newest(rig->store, "pods", "n", "b"));
	assert_int_equal(store_rig_n(find(rig, "n", "a")), 1);
}

/* Checked against what is accepted, shown when it is durable. */
static void test_newest_and_visible(void **state)
{
	struct store_rig *rig = *state;
	struct store_answer answers[4] = {0};
	struct neap_error err = {0};
	int64_t version;

	assert_int_equal(store_rig_write(rig, NEAP_STORE_CREATE, "n", "a", 1, 0,
					 &answers[0], &err),
			 0);
	assert_null(find(rig, "n", "a"));
	assert_int_equal(neap_store_count(rig->store, "pods"), 0);
	version = neap_store_newest(rig->store, "pods", "n", "a")->version;
	assert_int_equal(
		store_rig_write(rig, NEAP_STORE_CREATE, "n", "a", 1, 0, NULL, &err),
		-NEAP_EEXISTS);
	assert_int_equal(store_rig_write(rig, NEAP_STORE_UPDATE, "n", "a", 2, version,
					 &answers[1], &err),
			 0);
	assert_int_equal(
		store_rig_write(rig, NEAP_STORE_UPDATE, "n", "a", 3, version, NULL, &err),
		-NEAP_ECONFLICT);
	assert_int_equal(store_rig_write(rig, NEAP_STORE_DELETE, "n", "a", 0, 0,
					 &answers[2], &err),
			 0);
	assert_null(neap_store_newest(rig->store, "pods", "n", "a"));
	assert_int_equal(store_rig_write(rig, NEAP_STORE_CREATE, "n", "a", 9, 0,
					 &answers[3], &err),
			 0);
	store_rig_wait(rig, &answers[3]);
	assert_true(answers[0].is_done && answers[1].is_done && answers[2].is_done);
	assert_true(answers[0].version < answers[1].version &&
		    answers[1].version < answers[2].version &&
		    answers[2].version < answers[3].version);
	assert_int_equal(store_rig_n(find(rig, "n", "a")), 9);
}

/* --- the disk --- */

static void test_what_stays(void **state)
{
	struct store_rig *rig = *state;
	int64_t version;

	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "gone", 1);
	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1);
	(void)store_rig_put(rig, NEAP_STORE_UPDATE, "n", "a", 5);
	version = store_rig_put(rig, NEAP_STORE_DELETE, "n", "gone", 1);
	store_rig_close(rig);
	store_rig_open(rig);
	assert_int_equal(neap_store_version(rig->store), version);
	assert_int_equal(neap_store_count(rig->store, "pods"), 1);
	assert_int_equal(store_rig_n(find(rig, "n", "a")), 5);
	assert_null(find(rig, "n", "gone"));
	assert_true(store_rig_put(rig, NEAP_STORE_CREATE, "n", "gone", 2) > version);
}

/* A resource whose objects are all gone keeps its number: the next one gets another. */
static void test_resource_without_objects(void **state)
{
	struct store_rig *rig = *state;
	struct neap_error err = {0};
	struct neap_store_write node = {
		.verb = NEAP_STORE_CREATE, .resource = "nodes", .ns = "", .name = "x"};

	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 1);
	(void)store_rig_put(rig, NEAP_STORE_DELETE, "n", "a", 0);
	store_rig_close(rig);
	store_rig_open(rig);
	node.object = json_pack("{s:{s:s}}", "metadata", "name", "x");
	assert_int_equal(neap_store_write_take(rig->store, &node, &err), 0);
	store_rig_close(rig);
	store_rig_open(rig);
	assert_non_null(neap_store_find(rig->store, "nodes", "", "x"));
	assert_int_equal(neap_store_count(rig->store, "pods"), 0);
	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 2);
	store_rig_close(rig);
	store_rig_open(rig);
	assert_int_equal(neap_store_count(rig->store, "nodes"), 1);
	assert_int_equal(store_rig_n(find(rig, "n", "a")), 2);
}

/* What was accepted when the store ends is answered and durable. */
static void test_end_waits(void **state)
{
	struct store_rig *rig = *state;
	struct store_answer answers[100] = {0};
	char name[16];
	int i;

	for (i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof(name), "p-%d", i);
		assert_int_equal(store_rig_write(rig, NEAP_STORE_CREATE, "n", name, i, 0,
						 &answers[i], NULL),
				 0);
	}
	store_rig_close(rig);
	for (i = 0; i < 100; i++)
		assert_true(answers[i].is_done && answers[i].code == NEAP_OK);
	store_rig_open(rig);
	assert_int_equal(neap_store_count(rig->store, "pods"), 100);
}

struct late {
	struct store_rig *rig;
	struct neap_error err;
	int calls, r;
};

static void write_late(void *arg, struct neap_object *object,
		       const struct neap_error *err)
{
	struct late *late = arg;

	assert_true(object != NULL && err == NULL);
	late->calls++;
	late->r = store_rig_write(late->rig, NEAP_STORE_CREATE, "n", "late", 1, 0, NULL,
				  &late->err);
}

/* Nobody would commit it any more. */
static void test_end_takes_nothing_new(void **state)
{
	struct store_rig *rig = *state;
	struct late late = {.rig = rig};
	struct neap_error err = {0};
	struct neap_store_write write = {.verb = NEAP_STORE_CREATE,
					 .resource = "pods",
					 .ns = "",
					 .name = "x",
					 .done = write_late,
					 .arg = &late};

	write.object = json_pack("{s:{s:s}}", "metadata", "name", "x");
	assert_int_equal(neap_store_write_take(rig->store, &write, &err), 0);
	store_rig_close(rig);
	assert_int_equal(late.calls, 1);
	assert_int_equal(late.r, -NEAP_EUNAVAILABLE);
	store_rig_open(rig);
	assert_int_equal(neap_store_count(rig->store, "pods"), 1);
}

static void test_one_process_has_it(void **state)
{
	struct store_rig *rig = *state;
	struct neap_store *second = NULL;
	struct neap_error err = {0};

	assert_int_equal(neap_store_sqlite_open(&rig->config, &second, &err),
			 -NEAP_ECONFLICT);
	assert_non_null(strstr(err.msg, rig->file));
}

/* A link to the folder is the operator's way to put it elsewhere; one in place of the
 * file is none. */
static void test_links(void **state)
{
	struct store_rig *rig = *state;
	struct neap_error err = {0};
	char folder[96], file[128], link[128];

	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 7);
	store_rig_close(rig);
	(void)snprintf(folder, sizeof(folder), "%s-link", rig->dir);
	(void)snprintf(file, sizeof(file), "%s/neap.db", folder);
	(void)snprintf(link, sizeof(link), "%s/link.db", rig->dir);
	assert_int_equal(symlink(rig->dir, folder), 0);
	assert_int_equal(symlink(rig->file, link), 0);
	rig->config.file = file;
	store_rig_open(rig);
	assert_int_equal(store_rig_n(find(rig, "n", "a")), 7);
	store_rig_close(rig);
	rig->config.file = link;
	assert_int_equal(neap_store_sqlite_open(&rig->config, &rig->store, &err),
			 -NEAP_EUNAVAILABLE);
	rig->config.file = rig->file;
	assert_int_equal(unlink(link), 0);
	assert_int_equal(unlink(folder), 0);
}

static void patch_file(const char *path, const char *find_text, const char *put)
{
	FILE *file = fopen(path, "r+b");
	static char bytes[1024 * 1024];
	size_t len, i, want = strlen(find_text);
	bool is_found = false;

	assert_non_null(file);
	len = fread(bytes, 1, sizeof(bytes), file);
	for (i = 0; i + want <= len && !is_found; i++)
		if (memcmp(bytes + i, find_text, want) == 0) {
			assert_int_equal(fseek(file, (long)i, SEEK_SET), 0);
			assert_int_equal(fwrite(put, 1, strlen(put), file), strlen(put));
			is_found = true;
		}
	assert_int_equal(fclose(file), 0);
	assert_true(is_found);
}

/* A file that is not sound is refused, says what to do, and is left as it is. */
static void test_damaged(void **state)
{
	static const struct {
		const char *find_text, *put;
		enum neap_code code;
	} rows[] = {
		{"\"spec\":{\"n\":4711", "\"spec\":{\"n\":4712", NEAP_EINVAL},
		{"SQLite format 3", "SQLite format 4", NEAP_EINVAL},
		{"CREATE TABLE objects", "CREATE TABLE 0bjects", NEAP_EINVAL},
	};
	struct store_rig *rig = *state;
	struct neap_error err;
	size_t i;

	(void)store_rig_put(rig, NEAP_STORE_CREATE, "n", "a", 4711);
	store_rig_close(rig);
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		patch_file(rig->file, rows[i].find_text, rows[i].put);
		assert_int_equal(neap_store_sqlite_open(&rig->config, &rig->store, &err),
				 -(int)rows[i].code);
		assert_non_null(strstr(err.msg, rig->file));
		assert_non_null(strstr(err.msg, "restore"));
		patch_file(rig->file, rows[i].put, rows[i].find_text);
	}
	store_rig_open(rig);
	assert_int_equal(store_rig_n(find(rig, "n", "a")), 4711);
}

/* Objects that are kept elsewhere are restored there. */
static void test_store_without_restore(void **state)
{
	static const struct neap_store_backend elsewhere = {.replace_new = NULL};
	struct neap_store store = {.backend = &elsewhere};
	struct neap_store_replace *replace = NULL;
	struct neap_error err;

	(void)state;
	assert_int_equal(neap_store_replace_new(&store, &replace, &err),
			 -NEAP_EUNSUPPORTED);
	assert_null(replace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life_of_an_object, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_nothing_changes, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_refused, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_newest_and_visible, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_what_stays, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_resource_without_objects,
						store_rig_setup, store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_end_waits, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_end_takes_nothing_new,
						store_rig_setup, store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_one_process_has_it, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test_setup_teardown(test_links, store_rig_setup,
						store_rig_teardown),
		cmocka_unit_test(test_store_without_restore),
		cmocka_unit_test_setup_teardown(test_damaged, store_rig_setup,
						store_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
