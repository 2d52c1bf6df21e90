/* SPDX-License-Identifier: Apache-2.0
 *
 * What giving back leaves: groups of pods that run, with the limits and weights that
 * are their own, and the weights above them. On this machine's own cgroups. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "t/lib/hand_rig.h"
#include "t/lib/journal_rig.h"

/* A process of no other use, in a group. */
static int sleeper(struct hand_rig *rig, const char *group)
{
	int pid = fork();

	if (pid == 0)
		for (;;)
			(void)pause();
	assert_true(pid > 0);
	assert_int_equal(neap_cgroup_move(&rig->cgroup, group, pid, NULL), 0);
	return pid;
}

/* The hand ends and gives back; without an error where nothing is left but pods. */
static void hand_end(struct hand_rig *rig)
{
	const int pid = neap_hand_pid(rig->hand);

	kill(pid, SIGTERM);
	assert_int_equal(rig_wait(pid), 0);
	neap_hand_free(rig->hand);
	rig->hand = NULL;
}

static struct row {
	const char *group;
	enum neap_key key;
	const char *own[2];   /* kernel text on v1 and v2: what the group has by itself */
	const char *wrote[2]; /* and what a policy writes over it */
	bool stays;  /* what is its own is there at the end, not what was found */
	bool is_set; /* this machine has such a file */
	char first[64], has[64];
} rows[] = {
	{"own", NEAP_KEY_CPU_SHARES, {"300", "300"}, {"500", "500"}, true},
	/* Of those above pods the weights alone. */
	{"own",
	 NEAP_KEY_CPU_MAX_MILLI,
	 {"150000", "150000 100000"},
	 {"140000", "140000 100000"},
	 false},
	{"own/podr/c", NEAP_KEY_CPU_SHARES, {"200", "200"}, {"700", "700"}, true},
	{"own/podr/c",
	 NEAP_KEY_CPU_MAX_MILLI,
	 {"50000", "50000 100000"},
	 {"30000", "30000 100000"},
	 true},
	{"own/podr/c",
	 NEAP_KEY_MEMORY_MAX_BYTES,
	 {"67108864", "67108864"},
	 {"50331648", "50331648"},
	 true},
	{"own/podr/c", NEAP_KEY_PIDS_MAX, {"50", "50"}, {"20", "20"}, true},
	/* Policies alone set these. */
	{"own/podr/c", NEAP_KEY_CPUSET_CPUS, {0}, {"0", "0"}, false},
	{"own/podr/c", NEAP_KEY_CPU_BURST_USEC, {0}, {"10000", "10000"}, false},
	{"own/podr/c", NEAP_KEY_MEMORY_HIGH_BYTES, {0}, {"33554432", "33554432"}, false},
	{"own/podr/c", NEAP_KEY_MEMORY_LOW_BYTES, {0}, {"4194304", "4194304"}, false},
	{"own/podr/c", NEAP_KEY_MEMORY_MIN_BYTES, {0}, {"4194304", "4194304"}, false},
	/* The kernel gives what leaves idle its default weight. */
	{"own/podr", NEAP_KEY_CPU_SHARES, {"250", "250"}, {"600", "600"}, true},
	{"own/podr", NEAP_KEY_CPU_IDLE, {0}, {"1", "1"}, false},
	/* A pod that asked for no limit has none. */
	{"own/podr", NEAP_KEY_CPU_MAX_MILLI, {0}, {"60000", "60000 100000"}, false},
	{"a", NEAP_KEY_CPU_SHARES, {0}, {"400", "400"}, false},
};

static bool row_set(struct hand_rig *rig, const struct row *row,
		    const char *const text[2])
{
	struct rig_answer a;
	bool v2 = false;

	if (!neap_cgroup_file(&rig->cgroup, row->key, NULL, &v2))
		return false;
	a = rig_ask(rig, NEAP_HAND_SET, rig_path(rig, row->group), row->key, text[v2],
		    -1);
	if (strstr(a.text, "not on this kernel"))
		return false;
	assert_string_equal(a.text, "");
	assert_int_equal(a.errnum, 0);
	return true;
}

static void row_own(struct hand_rig *rig, const struct row *row)
{
	struct rig_answer a;
	bool v2 = false;

	if (!neap_cgroup_file(&rig->cgroup, row->key, NULL, &v2))
		return;
	a = rig_ask(rig, NEAP_HAND_OWN, rig_path(rig, row->group), row->key, row->own[v2],
		    -1);
	assert_string_equal(a.text, "");
	assert_string_equal(a.old_value, row->first);
	assert_string_equal(a.new_value, row->own[v2]);
}

/* Parents come before their children. */
static void rows_begin(struct hand_rig *rig)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct row *row = &rows[i];

		snprintf(row->first, sizeof(row->first), "%s",
			 rig_read(rig, rig_path(rig, row->group), row->key));
		if (!row->own[0])
			continue;
		row_own(rig, row);
		(void)row_set(rig, row, row->own);
		snprintf(row->has, sizeof(row->has), "%s",
			 rig_read(rig, rig_path(rig, row->group), row->key));
	}
}

/* What policies wish. */
static void rows_write(struct hand_rig *rig)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		rows[i].is_set = row_set(rig, &rows[i], rows[i].wrote);
}

static void rows_check(struct hand_rig *rig)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		const char *is = rig_read(rig, rig_path(rig, row->group), row->key);
		const char *want = row->stays ? row->has : row->first;

		if (row->is_set && strcmp(is, want) != 0)
			fail_msg("%s of %s is %s, not %s", neap_key_get(row->key)->name,
				 row->group, is, want);
	}
}

static struct row *row_of(const char *group, enum neap_key key)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].group, group) == 0 && rows[i].key == key)
			return &rows[i];
	fail();
	return NULL;
}

static void groups_make(struct hand_rig *rig)
{
	static const struct {
		enum neap_hand_op op;
		const char *group;
	} groups[] = {
		{NEAP_HAND_MAKE, "own"},
		{NEAP_HAND_MAKE, "own/w"},
		/* A pod that runs, and one whose command is at its end. */
		{NEAP_HAND_MAKE_POD, "own/podr/c"},
		{NEAP_HAND_MAKE_POD, "own/pode/c"},
	};

	rig_make(rig, rig_path(rig, "a"));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(groups); i++)
		assert_int_equal(rig_ask(rig, groups[i].op,
					 rig_path(rig, groups[i].group), 0, NULL, -1)
					 .errnum,
				 0);
}

static void pod_end(struct hand_rig *rig, int pod)
{
	assert_int_equal(kill(pod, SIGKILL), 0);
	assert_true(rig_wait(pod) >= 0);
	hand_end(rig);
	assert_false(rig_exists(rig, rig->own));
	assert_false(rig_has_file(rig, "hand.journal"));
}

static void pods_stay(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	int pod, run;
	struct rig_answer a;

	rig_start(rig);
	groups_make(rig);
	/* None of neap's own roots is of a pod. */
	assert_int_equal(rig_ask(rig, NEAP_HAND_MAKE_POD, rig->own, 0, NULL, -1).errnum,
			 EPERM);
	run = sleeper(rig, rig_path(rig, "own/w"));
	pod = sleeper(rig, rig_path(rig, "own/podr/c"));
	rows_begin(rig);
	rows_write(rig);
	hand_end(rig);
	rows_check(rig);
	assert_true(rig_has_pid(rig, rig_path(rig, "own/podr/c"), pod));
	assert_false(rig_exists(rig, rig_path(rig, "own/pode")));
	assert_false(rig_exists(rig, rig_path(rig, "own/w")));
	assert_int_equal(kill(run, 0), 0);

	/* So does one who gives back without a hand, and a successor's hand, which knows
	 * them. */
	assert_int_equal(neap_hand_give_back(&rig->config, NULL), 0);
	rows_check(rig);
	rig_start(rig);
	rows_write(rig);
	a = rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1);
	assert_int_equal(a.errnum, 0);
	assert_string_not_equal(a.old_value, "");
	assert_string_not_equal(a.old_value, "0");
	rows_check(rig);

	/* A policy writes again, and nobody is left alive. */
	rows_write(rig);
	assert_int_equal(kill(neap_hand_pid(rig->hand), SIGKILL), 0);
	assert_true(rig_wait(neap_hand_pid(rig->hand)) >= 0);
	neap_hand_free(rig->hand);
	rig->hand = NULL;
	assert_true(neap_hand_give_back(&rig->config, NULL) > 0);
	rows_check(rig);

	rig_start(rig);
	pod_end(rig, pod);
}

/* It changes, it ends, and it is found out when a policy was there first. */
static void own_changes(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	struct row *weight = row_of("own/podr/c", NEAP_KEY_CPU_SHARES);
	struct row *quota = row_of("own/podr/c", NEAP_KEY_CPU_MAX_MILLI);
	struct rig_answer a;
	char pod_group[NEAP_PATH_MAX];
	int pod;

	rig_start(rig);
	groups_make(rig);
	snprintf(pod_group, sizeof(pod_group), "%s", rig_path(rig, weight->group));
	pod = sleeper(rig, pod_group);
	snprintf(weight->first, sizeof(weight->first), "%s",
		 rig_read(rig, pod_group, weight->key));
	assert_true(row_set(rig, weight, weight->wrote));
	row_own(rig, weight);
	a = rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1);
	assert_int_equal(a.op, NEAP_HAND_ENTRY);
	assert_string_equal(a.text, "200");
	assert_int_equal(rig_next(rig).op, NEAP_HAND_LIST);
	assert_int_equal(rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1).errnum, 0);
	assert_string_equal(rig_read(rig, pod_group, weight->key), "200");
	a = rig_ask(rig, NEAP_HAND_OWN, pod_group, weight->key, "220", -1);
	assert_int_equal(a.errnum, 0);
	hand_end(rig);
	assert_string_equal(rig_read(rig, pod_group, weight->key), "220");

	rig_start(rig);
	assert_true(row_set(rig, weight, weight->wrote));
	a = rig_ask(rig, NEAP_HAND_OWN, pod_group, weight->key, "", -1);
	assert_int_equal(a.errnum, 0);
	assert_string_equal(a.new_value, "");
	hand_end(rig);
	assert_string_equal(rig_read(rig, pod_group, weight->key), weight->first);

	/* What nobody wishes any more is as it was found, also after a give-back. */
	rig_start(rig);
	snprintf(quota->first, sizeof(quota->first), "%s",
		 rig_read(rig, pod_group, quota->key));
	row_own(rig, quota);
	assert_int_equal(rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1).errnum, 0);
	a = rig_ask(rig, NEAP_HAND_RESTORE, pod_group, quota->key, NULL, -1);
	assert_int_equal(a.errnum, 0);
	assert_string_equal(rig_read(rig, pod_group, quota->key), quota->first);
	assert_int_equal(rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1).errnum, 0);
	assert_string_equal(rig_read(rig, pod_group, quota->key), quota->first);
	pod_end(rig, pod);
}

/* The journal as a hand of before wrote it. */
static void journal_make_format_1(const struct hand_rig *rig)
{
	char path[256], text[8192], again[1024], *line, *rest = NULL;
	FILE *file;
	size_t len;

	snprintf(path, sizeof(path), "%s/hand.journal", rig->config.run_dir);
	file = fopen(path, "re");
	assert_non_null(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	assert_int_equal(fclose(file), 0);
	text[len] = '\0';
	file = fopen(path, "we");
	assert_non_null(file);
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *sum = strrchr(line, '\t');
		char *version = strstr(line, "neap-hand-journal\t2\t");

		assert_non_null(sum);
		*sum = '\0';
		if (version)
			version[strlen("neap-hand-journal\t")] = '1';
		len = journal_line_make(again, sizeof(again), line);
		if (strncmp(line, "own\t", 4) != 0)
			assert_int_equal(fwrite(again, 1, len, file), len);
	}
	assert_int_equal(fclose(file), 0);
}

/* It does not tell what is a pod's own: its limits stay as they are, and what the next
 * neapd tells counts. */
static void format_1_is_taken_over(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	struct row *weight = row_of("own/podr/c", NEAP_KEY_CPU_SHARES);
	char group[NEAP_PATH_MAX];
	int pod;

	rig_start(rig);
	groups_make(rig);
	snprintf(group, sizeof(group), "%s", rig_path(rig, weight->group));
	pod = sleeper(rig, group);
	snprintf(weight->first, sizeof(weight->first), "%s",
		 rig_read(rig, group, weight->key));
	row_own(rig, weight);
	assert_true(row_set(rig, weight, weight->wrote));
	assert_int_equal(kill(neap_hand_pid(rig->hand), SIGKILL), 0);
	assert_true(rig_wait(neap_hand_pid(rig->hand)) >= 0);
	neap_hand_free(rig->hand);
	rig->hand = NULL;
	journal_make_format_1(rig);
	assert_int_equal(neap_hand_give_back(&rig->config, NULL), 0);
	assert_string_equal(rig_read(rig, group, weight->key), weight->wrote[0]);

	rig_start(rig);
	row_own(rig, weight);
	hand_end(rig);
	assert_string_equal(rig_read(rig, group, weight->key), weight->own[0]);
	rig_start(rig);
	pod_end(rig, pod);
}

/* A loop that was taken over has no values stay but those that pods have. */
static void own_is_checked(void **state)
{
	static const struct {
		const char *group;
		enum neap_key key;
		const char *value;
		int errnum;
	} bad[] = {
		{"a", NEAP_KEY_CPU_SHARES, "200", EPERM},
		{"a", NEAP_KEY_CPU_SHARES, "", EPERM},
		{"own/../a", NEAP_KEY_CPU_SHARES, "200", EPERM},
		{"own/podr/c", NEAP_KEY_CPUSET_CPUS, "0", EPERM},
		{"own/podr/c", NEAP_KEY_CPU_IDLE, "1", EPERM},
		{"own/podr/c", NEAP_KEY_CPU_SHARES, "-", EPERM},
		{"own/podr/c", NEAP_KEY_CPU_SHARES, "200\n", EPERM},
		{"own/podr/c", NEAP_KEY_CPU_SHARES, "99999999", EPERM},
		{"own/none", NEAP_KEY_CPU_SHARES, "200", ENOENT},
	};
	struct hand_rig *rig = hand_rig_of(state);

	rig_start(rig);
	groups_make(rig);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct rig_answer a =
			rig_ask(rig, NEAP_HAND_OWN, rig_path(rig, bad[i].group),
				bad[i].key, bad[i].value, -1);

		if (a.errnum != bad[i].errnum || a.text[0] == '\0')
			fail_msg("row %zu: %d %s", i, a.errnum, a.text);
	}
	assert_int_equal(rig_ask(rig, NEAP_HAND_LIST, NULL, 0, NULL, -1).op,
			 NEAP_HAND_LIST);
	assert_int_equal(rig_ask(rig, NEAP_HAND_FREEZE, NULL, 0, NULL, -1).errnum, 0);
	assert_int_equal(rig_ask(rig, NEAP_HAND_OWN, rig_path(rig, "own/podr/c"),
				 NEAP_KEY_CPU_SHARES, "200", -1)
				 .errnum,
			 EBUSY);
	assert_int_equal(rig_ask(rig, NEAP_HAND_RESUME, NULL, 0, NULL, -1).errnum, 0);
	hand_end(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pods_stay, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(own_changes, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(format_1_is_taken_over, hand_rig_setup,
						hand_rig_teardown),
		cmocka_unit_test_setup_teardown(own_is_checked, hand_rig_setup,
						hand_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
