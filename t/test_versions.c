/* SPDX-License-Identifier: Apache-2.0
 *
 * Uploaded policies on disk: what is put is read, listed, pruned and found again.
 * (t/test_versions_kill.c: changes that are cut off; t/test_versions_tricks.c: what
 * others do.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/policy/judge.h"
#include "t/lib/versions_rig.h"

/* --- what happened, and what to go back to --- */

static const struct {
	const char *script, *failed;
	char active, before; /* what is asked for: 0 the active one */
	char want;
} backs[] = {
	{"+A", "", 'A', 0, '-'},
	{"+A +B", "", 'B', 0, 'A'},
	{"+A +B +C", "", 'C', 0, 'B'},
	{"+A +B +C", "", 'C', 'B', 'A'},
	{"+A +B +C", "", 'C', 'A', '-'},
	{"+A +B fB !A", "B", 'A', 0, '-'},
	{"+A +B !A", "B", 'A', 0, '-'},
	{"+A +B +C fC !B", "C", 'B', 0, 'A'},
	{"+A +B fB !A +B", "", 'B', 0, 'A'},
	{"+A +B fB !A +C", "B", 'C', 0, 'A'},
	{"+A +B <A", "", 'A', 0, 'B'},
	{"+A +B <A <B", "", 'B', 0, 'A'},
	{"+A +B <A fB", "B", 'A', 0, '-'},
	{"+A +B +C rB", "", 'C', 0, 'A'},
	{"+A +B +C fB", "B", 'C', 0, 'A'},
	{"+A +B x", "", '-', 0, 'B'},
	{"+A +B x +C", "", 'C', 0, 'B'},
	{"+A +A +A", "", 'A', 0, '-'},
	{"+A +B +B +B", "", 'B', 0, 'A'},
	{"+A +B p p p", "", 'B', 0, 'A'},
	{"+A +B +A", "", 'A', 0, 'B'},
	{"+A +B +A fB", "B", 'A', 0, '-'},
	{"+A +B +C fC !B fB !A", "BC", 'A', 0, '-'},
};

static void test_back(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(backs); i++) {
		char version[NEAP_VERSION_SIZE] = "", ret[12] = "?";
		char failed[16] = "", got;
		struct neap_error err;
		json_t *list, *one;
		int rc;

		versions_run("rm -rf %s", versions_dir);
		versions_play(backs[i].script);
		assert_int_equal(versions_active(), backs[i].active);
		if (backs[i].before)
			(void)versions_text(backs[i].before, version);
		rc = neap_versions_find_before(versions_dir, &versions_id, version, ret,
					       &err);
		got = rc < 0 ? '-' : versions_letter(ret);
		if (got != backs[i].want || (rc < 0 && rc != -NEAP_ENOTFOUND))
			fail_msg("%s (of %c): %c, not %c", backs[i].script,
				 backs[i].before ? backs[i].before : '*', got,
				 backs[i].want);
		assert_int_equal(
			neap_versions_list(versions_dir, &versions_id, &list, &err), 0);
		json_array_foreach (json_object_get(list, "versions"), k, one) {
			char letter = versions_letter(
				json_string_value(json_object_get(one, "version")));

			assert_int_equal(json_is_true(json_object_get(one, "is_active")),
					 letter == backs[i].active);
			if (json_is_true(json_object_get(one, "has_failed")) !=
			    (strchr(backs[i].failed, letter) != NULL))
				fail_msg("%s: has %c failed?", backs[i].script, letter);
			if (json_is_true(json_object_get(one, "has_failed")))
				failed[strlen(failed)] = letter;
		}
		assert_int_equal(strlen(failed), strlen(backs[i].failed));
		json_decref(list);
	}
}

static void test_list(void **state)
{
	static const char want[] =
		"{\"active\": \"%s\", \"history\": ["
		"{\"by\": \"uid 0\", \"time\": \"2023-11-14T22:13:20.002Z\", \"unix_usec\": "
		"1700000000002000, \"verb\": \"put\", \"version\": \"%s\", \"why\": \"a test\"}, "
		"{\"by\": \"uid 0\", \"time\": \"2023-11-14T22:13:20.001Z\", \"unix_usec\": "
		"1700000000001000, \"verb\": \"put\", \"version\": \"%s\", \"why\": \"a test\"}], "
		"\"versions\": ["
		"{\"by\": \"uid 0\", \"bytes\": 15, \"has_failed\": false, \"is_active\": true, "
		"\"time\": \"2023-11-14T22:13:20.002Z\", \"unix_usec\": 1700000000002000, "
		"\"version\": \"%s\", \"why\": \"a test\"}, "
		"{\"by\": \"uid 0\", \"bytes\": 15, \"has_failed\": false, \"is_active\": false, "
		"\"time\": \"2023-11-14T22:13:20.001Z\", \"unix_usec\": 1700000000001000, "
		"\"version\": \"%s\", \"why\": \"a test\"}]}";
	char a[NEAP_VERSION_SIZE], b[NEAP_VERSION_SIZE], text[2048], *got;
	struct neap_error err;
	json_t *list;

	(void)state;
	versions_run("rm -rf %s", versions_dir);
	assert_int_equal(neap_versions_list(versions_dir, &versions_id, &list, &err),
			 -NEAP_ENOTFOUND);
	versions_now_usec = 1700000000001000;
	versions_play("+A");
	versions_now_usec = 1700000000002000;
	versions_play("+B");
	(void)versions_text('A', a);
	(void)versions_text('B', b);
	snprintf(text, sizeof(text), want, b, b, a, b, a);
	assert_int_equal(neap_versions_list(versions_dir, &versions_id, &list, &err), 0);
	got = json_dumps(list, JSON_SORT_KEYS);
	assert_string_equal(got, text);
	free(got);
	json_decref(list);
	versions_play("x");
	assert_int_equal(neap_versions_list(versions_dir, &versions_id, &list, &err), 0);
	assert_true(json_is_null(json_object_get(list, "active")));
	json_decref(list);
}

/* --- sizes --- */

static size_t count_of(const char *what)
{
	struct neap_error err;
	json_t *list;
	size_t count;

	assert_int_equal(neap_versions_list(versions_dir, &versions_id, &list, &err), 0);
	count = json_array_size(json_object_get(list, what));
	json_decref(list);
	return count;
}

static void test_prune(void **state)
{
	char version[NEAP_VERSION_SIZE];
	int letter;
	struct neap_error err;
	const char *text;

	(void)state;
	versions_run("rm -rf %s", versions_dir);
	for (letter = 'A'; letter <= 'Z'; letter++)
		assert_int_equal(versions_put("put", (char)letter, &err), 0);
	for (letter = 'a'; letter <= 'z'; letter++)
		assert_int_equal(versions_put("put", (char)letter, &err), 0);
	assert_int_equal(count_of("versions"), NEAP_VERSIONS_KEPT);
	/* The 20 that were live last. */
	(void)versions_text('f', version);
	assert_int_equal(versions_put("rollback", 'f', &err), -NEAP_ENOTFOUND);
	assert_int_equal(versions_put("rollback", 'g', &err), 0);
	/* Many that are saved and never live: g, and z before it, must stay. */
	for (letter = '0'; letter <= '9'; letter++) {
		text = versions_text((char)letter, version);
		assert_int_equal(neap_versions_put(versions_dir, &versions_id, version,
						   text, strlen(text), NULL, &err),
				 0);
		assert_int_equal(count_of("versions"), NEAP_VERSIONS_KEPT);
		assert_int_equal(versions_active(), 'g');
		assert_int_equal(neap_versions_find_before(versions_dir, &versions_id, "",
							   version, &err),
				 0);
		assert_int_equal(versions_letter(version), 'z');
	}
	assert_int_equal(versions_put("rollback", '9', &err), 0);
}

static void test_history_is_bounded(void **state)
{
	char version[NEAP_VERSION_SIZE];
	struct neap_error err;
	int i;

	(void)state;
	versions_run("rm -rf %s", versions_dir);
	versions_play("+A +B +C fC !B");
	for (i = 0; i < NEAP_HISTORY_KEPT + 50; i++)
		assert_int_equal(versions_note("params", 0, &err), 0);
	assert_int_equal(count_of("history"), NEAP_HISTORY_KEPT);
	/* What matters for a rollback outlived them. */
	assert_int_equal(
		neap_versions_find_before(versions_dir, &versions_id, "", version, &err),
		0);
	assert_int_equal(versions_letter(version), 'A');
	for (i = 0; i < NEAP_HISTORY_KEPT + 50; i++)
		assert_int_equal(versions_note("failed", (char)('a' + i % 26), &err), 0);
	assert_int_equal(count_of("history"), NEAP_HISTORY_KEPT);
	assert_int_equal(
		neap_versions_find_before(versions_dir, &versions_id, "", version, &err),
		0);
	assert_int_equal(versions_letter(version), 'A');
}

static void test_long_text(void **state)
{
	static const int lengths[] = {0, 1, 4095, NEAP_UPLOAD_BYTES,
				      NEAP_UPLOAD_BYTES + 1};
	struct neap_history_line line = {.verb = "put"};
	char *text = calloc(1, NEAP_UPLOAD_BYTES + 2), *got, version[NEAP_VERSION_SIZE];
	struct neap_error err;
	size_t i, len;

	(void)state;
	memset(text, 'x', NEAP_UPLOAD_BYTES + 1);
	memset(line.why, 'w', sizeof(line.why) - 1);
	for (i = 0; i < NEAP_ARRAY_LEN(lengths); i++) {
		bool is_over = lengths[i] > NEAP_UPLOAD_BYTES;
		int rc;

		neap_version_of(text, (size_t)lengths[i], version);
		rc = neap_versions_put(versions_dir, &versions_id, version, text,
				       (size_t)lengths[i], &line, &err);
		assert_int_equal(rc, is_over ? -NEAP_ETOOLARGE : 0);
		if (is_over)
			continue;
		assert_int_equal(neap_versions_read(versions_dir, &versions_id, "", &got,
						    &len, NULL, &err),
				 0);
		assert_int_equal(len, lengths[i]);
		assert_memory_equal(got, text, len);
		free(got);
	}
	/* Another text than the version says, and no version at all. */
	assert_int_equal(neap_versions_put(versions_dir, &versions_id, "00000000", text,
					   5, &line, &err),
			 -NEAP_EINVAL);
	assert_int_equal(neap_versions_put(versions_dir, &versions_id, "../../a0", text,
					   5, &line, &err),
			 -NEAP_EINVAL);
	assert_int_equal(neap_versions_read(versions_dir, &versions_id, "../../a0", &got,
					    &len, NULL, &err),
			 -NEAP_ENOTFOUND);
	free(text);
}

struct numbered {
	char version[NEAP_VERSION_SIZE];
	int number;
};

static int by_version(const void *a, const void *b)
{
	return strcmp(((const struct numbered *)a)->version,
		      ((const struct numbered *)b)->version);
}

/* Two texts with the same 8 digits are found among some 100,000. */
static void test_same_version(void **state)
{
	enum { COUNT = 400000 };
	struct numbered *all = calloc(COUNT, sizeof(*all));
	struct neap_history_line line = {.verb = "put"};
	struct neap_error err;
	char text[32];
	int i;

	(void)state;
	for (i = 0; i < COUNT; i++) {
		snprintf(text, sizeof(text), "return %d", i);
		neap_version_of(text, strlen(text), all[i].version);
		all[i].number = i;
	}
	qsort(all, COUNT, sizeof(*all), by_version);
	for (i = 1; i < COUNT && strcmp(all[i - 1].version, all[i].version) != 0; i++)
		;
	assert_true(i < COUNT);
	snprintf(text, sizeof(text), "return %d", all[i].number);
	assert_int_equal(neap_versions_put(versions_dir, &versions_id, all[i].version,
					   text, strlen(text), &line, &err),
			 0);
	snprintf(text, sizeof(text), "return %d", all[i - 1].number);
	assert_int_equal(neap_versions_put(versions_dir, &versions_id, all[i].version,
					   text, strlen(text), &line, &err),
			 -NEAP_ECONFLICT);
	free(all);
}

/* --- parameters --- */

static void test_params(void **state)
{
	const struct neap_history_line line = {.verb = "params"};
	static const struct {
		const char *text;
		int rc;
	} files[] = {
		{"{\"a\": 1}", 0},
		{"", -NEAP_EINVAL},
		{"[1]", -NEAP_EINVAL},
		{"{\"a\": 1", -NEAP_EINVAL},
		{"{\"a\": 1, \"a\": 2}", -NEAP_EINVAL},
		{"null", -NEAP_EINVAL},
	};
	json_t *params, *got;
	struct neap_error err;
	size_t i;

	(void)state;
	versions_run("rm -rf %s", versions_dir);
	assert_int_equal(
		neap_versions_load_params(versions_dir, &versions_id, &got, &err), 0);
	assert_int_equal(json_object_size(got), 0);
	json_decref(got);
	params =
		json_pack("{s:i, s:s, s:{s:f}}", "a", 1, "b", "h\u00e9\n", "c", "d", 0.5);
	assert_int_equal(neap_versions_save_params(versions_dir, &versions_id, params,
						   &line, &err),
			 0);
	assert_int_equal(
		neap_versions_load_params(versions_dir, &versions_id, &got, &err), 0);
	assert_true(json_equal(params, got));
	json_decref(got);
	assert_int_equal(
		neap_versions_save_params(versions_dir, &versions_id, NULL, &line, &err),
		0);
	assert_int_equal(
		neap_versions_load_params(versions_dir, &versions_id, &got, &err), 0);
	assert_int_equal(json_object_size(got), 0);
	json_decref(got);
	assert_int_equal(
		neap_versions_save_params(versions_dir, &versions_id, params, NULL, &err),
		0);
	assert_int_equal(count_of("history"), 2);
	json_decref(params);
	for (i = 0; i < NEAP_ARRAY_LEN(files); i++) {
		versions_run("printf '%%s' '%s' > %s/params.json", files[i].text,
			     versions_folder);
		got = NULL;
		if (neap_versions_load_params(versions_dir, &versions_id, &got, &err) !=
		    files[i].rc)
			fail_msg("'%s'", files[i].text);
		if (files[i].rc < 0)
			assert_non_null(strstr(err.msg, "params.json"));
		json_decref(got);
	}
}

/* --- a history that was not written by us, or not to its end --- */

static void test_history_text(void **state)
{
	struct neap_history_line line = {.verb = "failed", .version = "12345678"};
	struct neap_error err;
	json_t *list, *newest;

	(void)state;
	versions_run("rm -rf %s", versions_dir);
	versions_play("+A +B");
	versions_run(
		"printf '%%s' '{\"unix_usec\":1,\"verb\":\"put\",\"ver' >> %s/history.jsonl",
		versions_folder);
	assert_int_equal(count_of("history"), 2);
	versions_run("printf '\\n\\0\\n[]\\n{}\\n' >> %s/history.jsonl", versions_folder);
	assert_int_equal(count_of("history"), 2);
	snprintf(line.why, sizeof(line.why), "line\nbreak \"quoted\" \xff\xfe \x01");
	assert_int_equal(neap_versions_note(versions_dir, &versions_id, &line, &err), 0);
	assert_int_equal(neap_versions_list(versions_dir, &versions_id, &list, &err), 0);
	newest = json_array_get(json_object_get(list, "history"), 0);
	assert_string_equal(json_string_value(json_object_get(newest, "why")),
			    "line\nbreak \"quoted\" ?? \x01");
	json_decref(list);
	/* What was no line is not written again. */
	versions_run("test $(wc -l < %s/history.jsonl) = 3", versions_folder);
	versions_run("head -c 1100000 /dev/zero > %s/history.jsonl", versions_folder);
	assert_int_equal(versions_put("put", 'C', &err), -NEAP_ETOOLARGE);
	assert_non_null(strstr(err.msg, "history.jsonl"));
}

/* --- what was deleted --- */

static void put_named(int number, char letter)
{
	struct neap_policy_id id = {.kind = "qos"};
	struct neap_history_line line = {.unix_usec = versions_now_usec++,
					 .by = "uid 0",
					 .is_by_editor = versions_is_editor};
	char version[NEAP_VERSION_SIZE] = "";
	const char *text = letter ? versions_text(letter, version) : NULL;
	struct neap_error err;

	(void)snprintf(id.name, sizeof(id.name), "p%d", number);
	(void)snprintf(line.verb, sizeof(line.verb), "%s", letter ? "put" : "deleted");
	assert_int_equal(neap_versions_put(versions_dir, &id, version, text,
					   text ? strlen(text) : 0, &line, &err),
			 0);
}

static bool is_there(int number)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/qos/p%d", versions_dir, number);
	return access(path, F_OK) == 0;
}

/* The deleted ones go, the oldest first; what is live, and has parameters, stays. */
static void test_deleted(void **state)
{
	struct neap_policy_id with_params = {"qos", "p1"};
	struct neap_history_line line = {.verb = "params"};
	json_t *params = json_pack("{s:i}", "a", 1);
	struct neap_error err;
	int64_t bytes = -1;

	(void)state;
	assert_int_equal(neap_versions_bound(versions_dir, 0, &bytes, &err), 0);
	assert_int_equal(bytes, 0);
	for (int i = 0; i < 6; i++) {
		put_named(i, (char)('A' + i));
		if (i == 1)
			assert_int_equal(neap_versions_save_params(versions_dir,
								   &with_params, params,
								   &line, &err),
					 0);
		if (i != 2)
			put_named(i, 0);
		usleep(20000); /* the clock of files has steps */
	}
	json_decref(params);
	assert_int_equal(neap_versions_bound(versions_dir, 1 << 20, &bytes, &err), 0);
	assert_in_range(bytes, 4 * 4096, 4 * 8192); /* p0, p3, p4, p5 */
	assert_int_equal(neap_versions_bound(versions_dir, bytes / 2, &bytes, &err), 0);
	for (int i = 0; i < 6; i++)
		if (is_there(i) != (i != 0 && i != 3))
			fail_msg("p%d", i);
	assert_int_equal(neap_versions_bound(versions_dir, 0, &bytes, &err), 0);
	assert_int_equal(bytes, 0);
	for (int i = 0; i < 6; i++)
		if (is_there(i) != (i == 1 || i == 2))
			fail_msg("p%d", i);
}

static void test_many_deleted(void **state)
{
	struct neap_error err;
	int64_t bytes;
	int there = 0;

	(void)state;
	for (int i = 0; i < NEAP_DELETED_KEPT + 10; i++) {
		put_named(1000 + i, 'A');
		put_named(1000 + i, 0);
	}
	assert_int_equal(neap_versions_bound(versions_dir, INT64_MAX, &bytes, &err), 0);
	for (int i = 0; i < NEAP_DELETED_KEPT + 10; i++)
		there += is_there(1000 + i);
	assert_int_equal(there, NEAP_DELETED_KEPT);
}

/* What an admin put stays, whatever an editor does under its name, and goes for the
 * admin's next ones. */
static void test_admins_stay(void **state)
{
	struct neap_error err;
	int letter;

	(void)state;
	versions_run("rm -rf %s", versions_dir);
	versions_play("+0 +1 x");
	versions_is_editor = true;
	for (letter = 'A'; letter <= 'Z'; letter++)
		assert_int_equal(versions_put("put", (char)letter, &err), 0);
	/* The same text, and lines enough for all that came before. */
	versions_play("+0");
	for (int i = 0; i < NEAP_HISTORY_KEPT; i++)
		assert_int_equal(versions_put("put", i % 2 ? 'Y' : 'Z', &err), 0);
	for (int i = 0; i < NEAP_HISTORY_KEPT; i++)
		assert_int_equal(versions_note("failed", (char)('A' + i % 26), &err), 0);
	versions_is_editor = false;
	/* One that failed goes by itself, which is no admin's act. */
	for (letter = 'a'; letter <= 'z'; letter++) {
		versions_is_editor = true;
		assert_int_equal(versions_put("put", (char)letter, &err), 0);
		versions_is_editor = false;
		assert_int_equal(versions_put("rolled-back", 'Z', &err), 0);
	}
	assert_int_equal(count_of("versions"), NEAP_VERSIONS_KEPT);
	assert_int_equal(versions_put("rollback", '0', &err), 0);
	assert_int_equal(versions_put("rollback", '1', &err), 0);
	for (letter = 'A'; letter <= 'Z'; letter++)
		assert_int_equal(versions_put("put", (char)letter, &err), 0);
	assert_int_equal(count_of("versions"), NEAP_VERSIONS_KEPT);
	assert_int_equal(versions_put("rollback", '0', &err), -NEAP_ENOTFOUND);
	/* A store of admins alone does not grow for an editor. */
	versions_is_editor = true;
	for (letter = 'a'; letter <= 'z'; letter++)
		assert_int_equal(versions_put("put", (char)letter, &err), 0);
	versions_is_editor = false;
	assert_int_equal(count_of("versions"), NEAP_VERSIONS_KEPT + 2);
	assert_int_equal(versions_put("rollback", 'H', &err), 0);
}

/* Of deleted policies those of editors go first, also what they put under an admin's
 * name. */
static void test_admins_deleted_stay(void **state)
{
	struct neap_error err;
	int64_t all, bytes;

	(void)state;
	versions_run("rm -rf %s", versions_dir);
	for (int i = 0; i < 6; i++) {
		if (i < 2) { /* an admin's, and older */
			put_named(i, 'A');
			put_named(i, 0);
		}
		versions_is_editor = true;
		put_named(i, 'B');
		put_named(i, 0);
		versions_is_editor = false;
		usleep(20000);
	}
	assert_int_equal(neap_versions_bound(versions_dir, INT64_MAX, &all, &err), 0);
	assert_int_equal(neap_versions_bound(versions_dir, all / 2, &bytes, &err), 0);
	assert_in_range(bytes, 2 * 4096, all / 2);
	for (int i = 0; i < 6; i++)
		if (is_there(i) != (i < 2 || i == 5))
			fail_msg("p%d", i);
	assert_int_equal(neap_versions_bound(versions_dir, all / 3 + 40, &bytes, &err),
			 0);
	for (int i = 0; i < 6; i++)
		if (is_there(i) != (i < 2))
			fail_msg("p%d", i);
	assert_int_equal(neap_versions_bound(versions_dir, 0, &bytes, &err), 0);
	assert_int_equal(bytes, 0);
	assert_false(is_there(0) || is_there(1));
}

/* Texts of 200 KB: as many as fit, and what is needed. */
static void test_prune_bytes(void **state)
{
	enum { LEN = 200 * 1024 };
	char *text = malloc(LEN + 1);
	char version[NEAP_VERSION_SIZE];
	struct neap_history_line line = {.verb = "put", .by = "uid 0"};
	struct neap_error err;
	json_t *list;

	(void)state;
	memset(text, ' ', LEN);
	text[LEN] = '\0';
	for (int i = 0; i < 12; i++) {
		text[0] = (char)('a' + i);
		neap_version_of(text, LEN, version);
		line.unix_usec = versions_now_usec++;
		assert_int_equal(neap_versions_put(versions_dir, &versions_id, version,
						   text, LEN, &line, &err),
				 0);
	}
	free(text);
	assert_int_equal(neap_versions_list(versions_dir, &versions_id, &list, &err), 0);
	assert_int_equal(json_array_size(json_object_get(list, "versions")),
			 NEAP_VERSIONS_KEPT_BYTES / LEN);
	assert_int_equal(
		neap_versions_find_before(versions_dir, &versions_id, "", version, &err),
		0);
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_prune),
		cmocka_unit_test(test_history_is_bounded),
		cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_same_version),
		cmocka_unit_test(test_prune_bytes),
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_many_deleted),
		cmocka_unit_test(test_admins_stay),
		cmocka_unit_test(test_admins_deleted_stay),
		cmocka_unit_test(test_params),
		cmocka_unit_test(test_history_text),
	};

	return cmocka_run_group_tests(tests, versions_setup, versions_teardown);
}
