/* SPDX-License-Identifier: Apache-2.0
 *
 * What giving back leaves: groups of pods that run, with their limits, and the weights above them. On this
 * machine's own cgroups. */
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
	const char *v1, *v2; /* kernel text */
	bool stays;
	bool is_set; /* this machine has such a file */
	char first[64], set[64];
} rows[] = {
	{"own", NEAP_KEY_CPU_SHARES, "300", "300", true},
	{"own", NEAP_KEY_CPU_MAX_MILLI, "150000", "150000 100000", false},
	{"own/podr/c", NEAP_KEY_CPU_SHARES, "200", "200", true},
	{"own/podr/c", NEAP_KEY_CPU_MAX_MILLI, "50000", "50000 100000", true},
	{"own/podr/c", NEAP_KEY_MEMORY_MAX_BYTES, "67108864", "67108864", true},
	{"own/podr/c", NEAP_KEY_PIDS_MAX, "50", "50", true},
	{"own/podr/c", NEAP_KEY_CPUSET_CPUS, "0", "0", false},
	/* Policies alone set these. */
	{"own/podr/c", NEAP_KEY_CPU_BURST_USEC, "10000", "10000", false},
	{"own/podr/c", NEAP_KEY_MEMORY_HIGH_BYTES, "33554432", "33554432", false},
	{"own/podr/c", NEAP_KEY_MEMORY_LOW_BYTES, "4194304", "4194304", false},
	{"own/podr/c", NEAP_KEY_MEMORY_MIN_BYTES, "4194304", "4194304", false},
	{"own/podr", NEAP_KEY_CPU_IDLE, "1", "1", false},
	{"own/podr", NEAP_KEY_CPU_MAX_MILLI, "60000", "60000 100000", true},
	{"a", NEAP_KEY_CPU_SHARES, "400", "400", false},
};

static void rows_set(struct hand_rig *rig)
{
	size_t i;

	/* Parents of CPU sets are as wide as they were; a parent's limit comes before its child's. */
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct row *row = &rows[i];
		const char *group = rig_path(rig, row->group);
		struct rig_answer a;
		bool v2 = false;

		if (!neap_cgroup_file(&rig->cgroup, row->key, NULL, &v2))
			continue;
		snprintf(row->first, sizeof(row->first), "%s",
			 rig_read(rig, group, row->key));
		a = rig_ask(rig, NEAP_HAND_SET, group, row->key, v2 ? row->v2 : row->v1,
			    -1);
		if (strstr(a.text, "not on this kernel"))
			continue;
		assert_string_equal(a.text, "");
		assert_int_equal(a.errnum, 0);
		row->is_set = true;
		snprintf(row->set, sizeof(row->set), "%s",
			 rig_read(rig, group, row->key));
	}
}

static void rows_check(struct hand_rig *rig)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];

		if (row->is_set)
			assert_string_equal(
				rig_read(rig, rig_path(rig, row->group), row->key),
				row->stays ? row->set : row->first);
	}
}

static void pods_stay(void **state)
{
	struct hand_rig *rig = hand_rig_of(state);
	int pod, run;
	struct rig_answer a;

	rig_make(rig, rig_path(rig, "a"));
	rig_start(rig);
	assert_int_equal(rig_ask(rig, NEAP_HAND_MAKE, rig->own, 0, NULL, -1).errnum, 0);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_MAKE, rig_path(rig, "own/w"), 0, NULL, -1).errnum,
		0);
	/* A pod that runs, and one whose command is at its end. */
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_MAKE_POD, rig_path(rig, "own/podr/c"), 0, NULL, -1)
			.errnum,
		0);
	assert_int_equal(
		rig_ask(rig, NEAP_HAND_MAKE_POD, rig_path(rig, "own/pode/c"), 0, NULL, -1)
			.errnum,
		0);
	/* None of neap's own roots is of a pod. */
	assert_int_equal(rig_ask(rig, NEAP_HAND_MAKE_POD, rig->own, 0, NULL, -1).errnum,
			 EPERM);
	run = sleeper(rig, rig_path(rig, "own/w"));
	pod = sleeper(rig, rig_path(rig, "own/podr/c"));
	rows_set(rig);
	hand_end(rig);
	rows_check(rig);
	assert_true(rig_has_pid(rig, rig_path(rig, "own/podr/c"), pod));
	assert_false(rig_exists(rig, rig_path(rig, "own/pode")));
	assert_false(rig_exists(rig, rig_path(rig, "own/w")));
	assert_int_equal(kill(run, 0), 0);

	/* So does one who gives back without a hand, and a successor's hand, which knows them. */
	assert_int_equal(neap_hand_give_back(&rig->config, NULL), 0);
	rows_check(rig);
	rig_start(rig);
	a = rig_ask(rig, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1);
	assert_int_equal(a.errnum, 0);
	assert_string_not_equal(a.old_value, "");
	assert_string_not_equal(a.old_value, "0");
	rows_check(rig);

	/* Once it has ended, all goes. */
	assert_int_equal(kill(pod, SIGKILL), 0);
	assert_true(rig_wait(pod) >= 0);
	hand_end(rig);
	assert_false(rig_exists(rig, rig->own));
	assert_false(rig_has_file(rig, "hand.journal"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pods_stay, hand_rig_setup,
						hand_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
