/* SPDX-License-Identifier: Apache-2.0
 *
 * A change of a policy's files that is cut off: at every step on disk, by a kill and by
 * an error, at random moments by SIGKILL, by a full disk, and by failing allocations.
 * Afterwards there is the state before or the state after, whole. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/policy/folder.h"
#include "engine/base/mem.h"

#define DONE 7 /* status of a child that was not stopped */

static const struct neap_policy_id id = {"qos", "cpu-suppress"};
static char base[64], dir[96], policy[160];

/* --- states --- */

static void run(const char *command)
{
	if (system(command) != 0)
		fail_msg("%s", command);
}

static void make_base(const char *where)
{
	snprintf(base, sizeof(base), "%s/neap-versions-XXXXXX", where);
	assert_non_null(mkdtemp(base));
	snprintf(dir, sizeof(dir), "%s/policies", base);
	snprintf(policy, sizeof(policy), "%s/qos/cpu-suppress", dir);
}

static void clear(void)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	run(command);
}

static int setup(void **state)
{
	(void)state;
	/* Where a sync costs nothing, as there are thousands. */
	make_base(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	return 0;
}

static int teardown(void **state)
{
	char mounted[96];

	(void)state;
	/* Only there when its test failed. */
	snprintf(mounted, sizeof(mounted), "%s/disk", base);
	(void)umount2(mounted, MNT_DETACH);
	(void)rmdir(mounted);
	clear();
	return rmdir(base);
}

/* Text number i, and its version. */
static const char *text_of(int i, char version[NEAP_VERSION_SIZE])
{
	static char text[400];

	snprintf(text, sizeof(text), "return { number = %d } -- %0300d\n", i, i);
	neap_version_of(text, strlen(text), version);
	return text;
}

static int put(const char *verb, int i, bool has_text, struct neap_error *err)
{
	char version[NEAP_VERSION_SIZE] = "";
	const char *text = i ? text_of(i, version) : NULL;
	struct neap_history_line line = {.unix_usec = 1700000000000000, .by = "uid 0"};

	snprintf(line.verb, sizeof(line.verb), "%s", verb);
	snprintf(line.why, sizeof(line.why), "number %d", i);
	return neap_versions_put(dir, &id, version, has_text ? text : NULL,
				 text ? strlen(text) : 0, &line, err);
}

static int save_params(int value, struct neap_error *err)
{
	const struct neap_history_line line = {.verb = "params", .by = "token"};
	json_t *params = value ? json_pack("{s:i}", "threshold", value) : NULL;
	int rc = neap_versions_save_params(dir, &id, params, &line, err);

	json_decref(params);
	return rc;
}

/* Active version, parameters and history as one text; the text of the active one is
 * checked. */
static char *snapshot(void)
{
	json_t *list = NULL, *params = NULL, *all;
	struct neap_error err;
	char *text, *policy_text, version[NEAP_VERSION_SIZE];
	size_t len;
	int rc = neap_versions_list(dir, &id, &list, &err);

	if (rc == -NEAP_ENOTFOUND)
		list = json_pack("{s:n, s:[], s:[]}", "active", "versions", "history");
	else if (rc < 0)
		fail_msg("list: %s", err.msg);
	if (neap_versions_load_params(dir, &id, &params, &err) < 0)
		fail_msg("params: %s", err.msg);
	if (json_is_string(json_object_get(list, "active"))) {
		if (neap_versions_read(dir, &id, "", &policy_text, &len, version, &err) <
		    0)
			fail_msg("read: %s", err.msg);
		assert_string_equal(version,
				    json_string_value(json_object_get(list, "active")));
		free(policy_text);
	}
	all = json_pack("{s:O, s:O, s:o}", "active", json_object_get(list, "active"),
			"history", json_object_get(list, "history"), "params", params);
	text = json_dumps(all, JSON_SORT_KEYS);
	json_decref(all);
	json_decref(list);
	return text;
}

/* --- what is done, on what --- */

static void nothing(void)
{
}

static void one(void)
{
	assert_int_equal(put("put", 1, true, NULL), 0);
}

static void two(void)
{
	one();
	assert_int_equal(save_params(70, NULL), 0);
	assert_int_equal(put("put", 2, true, NULL), 0);
}

static void many(void)
{
	int i;

	for (i = 1; i <= NEAP_VERSIONS_KEPT; i++)
		assert_int_equal(put("put", i, true, NULL), 0);
}

/* A change whose history was not moved to its place before the end came. */
static void half(void)
{
	char next[200], history[200];

	two();
	snprintf(history, sizeof(history), "%s/" NEAP_FILE_HISTORY, policy);
	snprintf(next, sizeof(next), "%s/" NEAP_FILE_PENDING, policy);
	assert_int_equal(rename(history, next), 0);
}

static int op_put(struct neap_error *err)
{
	return put("put", 99, true, err);
}
static int op_put_again(struct neap_error *err)
{
	return put("put", 2, true, err);
}
static int op_rollback(struct neap_error *err)
{
	return put("rollback", 1, false, err);
}
static int op_deleted(struct neap_error *err)
{
	return put("deleted", 0, false, err);
}
static int op_params(struct neap_error *err)
{
	return save_params(80, err);
}
static int op_no_params(struct neap_error *err)
{
	return save_params(0, err);
}
static int op_note(struct neap_error *err)
{
	const struct neap_history_line line = {
		.verb = "failed", .version = "12345678", .by = "neapd"};

	return neap_versions_note(dir, &id, &line, err);
}

static const struct row {
	const char *name;
	void (*before)(void);
	int (*op)(struct neap_error *err);
} rows[] = {
	{"first put", nothing, op_put},
	{"put", two, op_put},
	{"put of the active one", two, op_put_again},
	{"put that prunes", many, op_put},
	{"put after a half", half, op_put},
	{"rollback", two, op_rollback},
	{"delete", two, op_deleted},
	{"first parameters", one, op_params},
	{"parameters", two, op_params},
	{"parameters first of all", nothing, op_params},
	{"parameters removed", two, op_no_params},
	{"parameters after a half", half, op_params},
	{"note", two, op_note},
};

struct states {
	char *before, *after;
};

static struct states states_of(const struct row *row)
{
	struct states states;
	struct neap_error err;

	clear();
	row->before();
	states.before = snapshot();
	if (row->op(&err) < 0)
		fail_msg("%s: %s", row->name, err.msg);
	states.after = snapshot();
	assert_string_not_equal(states.before, states.after);
	return states;
}

static void states_done(struct states *states)
{
	free(states->before);
	free(states->after);
}

static void be_either(const struct row *row, const struct states *states,
		      const char *what, int n, bool may_before, bool may_after)
{
	char *now = snapshot();
	bool is_before = !strcmp(now, states->before),
	     is_after = !strcmp(now, states->after);

	if (!(is_before && may_before) && !(is_after && may_after))
		fail_msg("%s, %s at %d:\n%s\nbefore %s\nafter %s", row->name, what, n,
			 now, states->before, states->after);
	free(now);
}

/* No leftover outlives the next change. */
static void be_clean(const struct row *row)
{
	DIR *stream;
	struct dirent *entry;
	struct neap_error err;

	if (op_note(&err) < 0)
		fail_msg("%s: a note afterwards: %s", row->name, err.msg);
	stream = opendir(policy);
	assert_non_null(stream);
	while ((entry = readdir(stream)) != NULL) {
		if (entry->d_name[0] == '.' && strlen(entry->d_name) > 2)
			fail_msg("%s: %s was left", row->name, entry->d_name);
	}
	closedir(stream);
}

/* --- tests --- */

static void test_end_at_each_step(void **state)
{
	size_t i;
	int n, status;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct states states = states_of(&rows[i]);

		for (n = 1;; n++) {
			pid_t child;

			assert_true(n < 200);
			clear();
			rows[i].before();
			child = fork();
			if (child == 0) {
				/* Not back into the tests. */
				signal(SIGSEGV, SIG_DFL);
				neap_folder_fail_at((uint64_t)n, 0);
				_exit(rows[i].op(NULL) == 0 ? DONE : 1);
			}
			assert_int_equal(waitpid(child, &status, 0), child);
			assert_true(WIFEXITED(status));
			if (WEXITSTATUS(status) == DONE)
				break;
			assert_int_equal(WEXITSTATUS(status), NEAP_FOLDER_EXIT);
			be_either(&rows[i], &states, "ended", n, true, true);
			be_clean(&rows[i]);
		}
		assert_true(n > 5);
		be_either(&rows[i], &states, "not ended", n, false, true);
		states_done(&states);
	}
}

static void test_error_at_each_step(void **state)
{
	static const int errnums[] = {ENOSPC, EIO, EROFS};
	size_t i, k;
	int n, rc;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows) * NEAP_ARRAY_LEN(errnums); i++) {
		const struct row *row = &rows[i / NEAP_ARRAY_LEN(errnums)];
		struct states states = states_of(row);
		struct neap_error err;
		uint64_t steps;

		k = i % NEAP_ARRAY_LEN(errnums);
		for (n = 1;; n++) {
			clear();
			row->before();
			steps = neap_folder_steps();
			neap_folder_fail_at((uint64_t)n, errnums[k]);
			rc = row->op(&err);
			steps = neap_folder_steps() - steps;
			neap_folder_fail_at(0, 0);
			if (rc < 0 && (err.errnum != errnums[k] || !strstr(err.msg, dir)))
				fail_msg("%s at %d: unclear: %s", row->name, n, err.msg);
			be_either(row, &states, rc < 0 ? "failed" : "passed", n, rc < 0,
				  rc == 0);
			be_clean(row);
			if (steps < (uint64_t)n)
				break;
		}
		assert_true(n > 5);
		states_done(&states);
	}
}

static void test_allocations(void **state)
{
	size_t i;
	int n, rc;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct states states = states_of(&rows[i]);
		struct neap_error err;

		for (n = 1, rc = -1; rc < 0 || n < 8; n++) {
			assert_true(n < 2000);
			clear();
			rows[i].before();
			neap_mem_fail_at((uint64_t)n);
			rc = rows[i].op(&err);
			neap_mem_fail_at(0);
			if (rc < 0)
				assert_int_equal(rc, -NEAP_ENOMEM);
			be_either(&rows[i], &states, "no memory", n, rc < 0, rc == 0);
		}
		states_done(&states);
	}
}

/* Reads the files without the module. */
static void check_raw(int round)
{
	char path[256], target[64] = "", *text, version[NEAP_VERSION_SIZE];
	json_error_t where;
	json_t *json;
	FILE *file;
	size_t len;
	char line[2048];

	snprintf(path, sizeof(path), "%s/active", policy);
	if (readlink(path, target, sizeof(target) - 1) > 0) {
		snprintf(path, sizeof(path), "%s/%s", policy, target);
		file = fopen(path, "r");
		if (!file)
			fail_msg("round %d: active leads to %s, which is not there",
				 round, target);
		text = calloc(1, 65536);
		len = fread(text, 1, 65535, file);
		fclose(file);
		neap_version_of(text, len, version);
		free(text);
		assert_memory_equal(version, target, 8);
	}
	snprintf(path, sizeof(path), "%s/params.json", policy);
	if (access(path, F_OK) == 0) {
		json = json_load_file(path, 0, &where);
		if (!json_is_object(json))
			fail_msg("round %d: params.json: %s", round, where.text);
		json_decref(json);
	}
	snprintf(path, sizeof(path), "%s/history.jsonl", policy);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		json = json_loads(line, 0, &where);
		if (!strchr(line, '\n') || !json_is_object(json))
			fail_msg("round %d: line '%s': %s", round, line, where.text);
		json_decref(json);
	}
	if (file)
		fclose(file);
}

static void change_for_ever(unsigned seed)
{
	for (;;) {
		int i = 1 + rand_r(&seed) % 30, rc;

		switch (rand_r(&seed) % 6) {
		case 0:
			rc = save_params(1 + rand_r(&seed) % 99, NULL);
			break;
		case 1:
			rc = save_params(0, NULL);
			break;
		case 2:
			rc = put("deleted", 0, false, NULL);
			break;
		case 3:
			rc = put("rollback", i, false, NULL);
			if (rc == -NEAP_ENOTFOUND)
				rc = 0;
			break;
		default:
			rc = put("put", i, true, NULL);
		}
		if (rc < 0)
			_exit(1);
	}
}

static void test_kill_at_random(void **state)
{
	unsigned seed = (unsigned)getpid();
	int round, status;

	(void)state;
	clear();
	for (round = 0; round < 300; round++) {
		struct neap_error err;
		json_t *list = NULL;
		pid_t child = fork();
		size_t i;
		json_t *line;

		if (child == 0)
			change_for_ever(seed + (unsigned)round);
		usleep(rand_r(&seed) % 4000);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFSIGNALED(status))
			fail_msg("seed %u round %d: a change failed", seed, round);
		if (access(policy, F_OK) < 0)
			continue;
		check_raw(round);
		if (neap_versions_list(dir, &id, &list, &err) < 0)
			fail_msg("seed %u round %d: %s", seed, round, err.msg);
		/* What the history says last is what is. */
		json_array_foreach (json_object_get(list, "history"), i, line) {
			const char *active =
				json_string_value(json_object_get(list, "active"));

			if (!strcmp(json_string_value(json_object_get(line, "verb")),
				    "params"))
				continue;
			assert_string_equal(
				json_string_value(json_object_get(line, "version")),
				active ? active : "");
			break;
		}
		json_decref(list);
	}
	clear();
}

/* A disk with so and so many bytes left, all of them tried. */
static void test_full_disk(void **state)
{
	char mounted[96], filler[128];
	int left, rc, failed = 0, passed = 0;
	char *text = calloc(1, 65536);
	struct row row = {"full disk", two, op_put};
	struct states states;
	struct neap_error err;

	(void)state;
	snprintf(mounted, sizeof(mounted), "%s/disk", base);
	assert_int_equal(mkdir(mounted, 0700), 0);
	if (mount("neap-test", mounted, "tmpfs", 0, "size=256k,mode=0700,nr_inodes=64") <
	    0) {
		rmdir(mounted);
		free(text);
		print_message("# skip: needs root: cannot mount a tmpfs\n");
		skip();
	}
	snprintf(dir, sizeof(dir), "%s/policies", mounted);
	snprintf(policy, sizeof(policy), "%s/qos/cpu-suppress", dir);
	snprintf(filler, sizeof(filler), "%s/filler", mounted);
	states = states_of(&row);
	for (left = 0; left < 8; left++) {
		int fd;

		clear();
		row.before();
		fd = open(filler, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		assert_true(fd >= 0);
		while (write(fd, text, 4096) == 4096)
			;
		assert_int_equal(
			ftruncate(fd, lseek(fd, 0, SEEK_CUR) - (off_t)left * 4096), 0);
		close(fd);
		rc = op_put(&err);
		if (rc < 0 && (err.errnum != ENOSPC || !strstr(err.msg, "No space left")))
			fail_msg("%d pages left: %s", left, err.msg);
		be_either(&row, &states, "full", left, rc < 0, rc == 0);
		failed += rc < 0;
		passed += rc == 0;
		unlink(filler);
		be_clean(&row);
	}
	states_done(&states);
	assert_int_equal(umount(mounted), 0);
	rmdir(mounted);
	free(text);
	snprintf(dir, sizeof(dir), "%s/policies", base);
	snprintf(policy, sizeof(policy), "%s/qos/cpu-suppress", dir);
	assert_true(failed >= 2 && passed >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_at_each_step),
		cmocka_unit_test(test_error_at_each_step),
		cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_kill_at_random),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
