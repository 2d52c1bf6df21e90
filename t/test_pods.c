/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods of neap's own: groups and values, what is refused, processes, the end, and another
 * neapd. Over the groups of this machine, and over files as cgroup v1 and v2 have
 * them. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/pods_rig.h"

#define NONE   NEAP_MISSING
#define MIB    (1024 * 1024LL)
#define SHARES NEAP_KEY_CPU_SHARES
#define QUOTA  NEAP_KEY_CPU_MAX_MILLI
#define MEMORY NEAP_KEY_MEMORY_MAX_BYTES
#define PIDS   NEAP_KEY_PIDS_MAX

static const char *why;

static int setup(void **state)
{
	*state = pods_rig_new(*(const enum pods_kind *)*state, &why);
	return 0;
}

static int teardown(void **state)
{
	if (*state)
		pods_rig_free(*state);
	return 0;
}

static struct pods_rig *rig_of(void **state)
{
	if (!*state) {
		print_message("SKIP %s\n", why);
		skip();
	}
	return *state;
}

/* --- pods --- */

static const struct neap_node_container two[] = {
	{"web", 500, 1000, 64 * MIB, 32},
	{"side", 250, 500, 32 * MIB, NONE},
};
static const struct neap_node_container one_open[] = {
	{"web", 500, 1000, 64 * MIB, NONE},
	{"side", 250, NONE, NONE, NONE},
};
static const struct neap_node_container plain[] = {{"job", NONE, NONE, NONE, NONE}};
static const struct neap_node_container with_init[] = {
	{"first", 2000, 2000, 128 * MIB, NONE, .is_init = true},
	{"second", 1, 20, 16 * MIB, NONE, .is_init = true},
	{"tasks", 300, 400, 32 * MIB, 5000000},
	{"b", 300, 400, 32 * MIB, 0},
};

#define POD(uid, qos, kube, list)                                                        \
	{                                                                                \
		uid, "default", "the-" uid, qos, kube, list, NEAP_ARRAY_LEN(list)        \
	}

static const struct neap_node_pod guaranteed =
	POD("u-g", NEAP_QOS_LS, NEAP_KUBE_GUARANTEED, two);
static const struct neap_node_pod burstable =
	POD("u-b", NEAP_QOS_NONE, NEAP_KUBE_BURSTABLE, one_open);
static const struct neap_node_pod besteffort =
	POD("u-e", NEAP_QOS_BE, NEAP_KUBE_BESTEFFORT, plain);
static const struct neap_node_pod initial =
	POD("u-i", NEAP_QOS_NONE, NEAP_KUBE_BURSTABLE, with_init);

struct row {
	const char *name;
	const struct neap_node_pod *pod;
	struct {
		const char *group;
		enum neap_key key;
		int64_t want;
	} values[16];
};

static const struct row rows[] = {
	{"every container has limits",
	 &guaranteed,
	 {{"podu-g", SHARES, 768},
	  {"podu-g", QUOTA, 1500},
	  {"podu-g", MEMORY, 96 * MIB},
	  {"podu-g", PIDS, -1},
	  {"podu-g/web", SHARES, 512},
	  {"podu-g/web", QUOTA, 1000},
	  {"podu-g/web", MEMORY, 64 * MIB},
	  {"podu-g/web", PIDS, 32},
	  {"podu-g/side", SHARES, 256},
	  {"podu-g/side", QUOTA, 500},
	  {"podu-g/side", MEMORY, 32 * MIB},
	  {"podu-g/side", PIDS, -1}}},
	{"one container has no limit",
	 &burstable,
	 {{"burstable/podu-b", SHARES, 768},
	  {"burstable/podu-b", QUOTA, -1},
	  {"burstable/podu-b", MEMORY, -1},
	  {"burstable/podu-b/web", QUOTA, 1000},
	  {"burstable/podu-b/web", MEMORY, 64 * MIB},
	  {"burstable/podu-b/side", SHARES, 256},
	  {"burstable/podu-b/side", QUOTA, -1}}},
	{"nothing is asked for",
	 &besteffort,
	 {{"besteffort/podu-e", SHARES, 2},
	  {"besteffort/podu-e", QUOTA, -1},
	  {"besteffort/podu-e/job", SHARES, 2},
	  {"besteffort/podu-e/job", MEMORY, -1},
	  {"besteffort/podu-e/job", PIDS, -1}}},
	{"one comes before the others",
	 &initial,
	 {{"burstable/podu-i", SHARES, 2048},
	  {"burstable/podu-i", QUOTA, 2000},
	  {"burstable/podu-i", MEMORY, 128 * MIB},
	  {"burstable/podu-i/first", QUOTA, 2000},
	  {"burstable/podu-i/second", SHARES, 2},
	  {"burstable/podu-i/second", QUOTA, 20},
	  {"burstable/podu-i/tasks-", MEMORY, 32 * MIB},
	  {"burstable/podu-i/tasks-", PIDS, 4194304},
	  {"burstable/podu-i/b", SHARES, 307},
	  {"burstable/podu-i/b", PIDS, -1}}},
};

static void check_row(struct pods_rig *rig, const struct row *row)
{
	const char *is;

	for (size_t i = 0; row->values[i].group != NULL; i++) {
		enum neap_key key = row->values[i].key;

		if (neap_cgroup_file(&rig->hand->cgroup, key, NULL, NULL) == NULL)
			continue;
		if (!pods_has(rig, row->values[i].group, key, row->values[i].want, &is))
			fail_msg("%s: %s %s is %s", row->name, row->values[i].group,
				 neap_key_get(key)->name, is);
	}
}

static void add(struct pods_rig *rig, const struct neap_node_pod *pod)
{
	struct pods_outcome outcome;

	if (pods_add(rig, pod, &outcome) != NEAP_OK)
		fail_msg("%s: %s", pod->uid, outcome.err.msg);
}

static void values(void **state)
{
	struct pods_rig *rig = rig_of(state);

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		add(rig, rows[i].pod);
		check_row(rig, &rows[i]);
	}
	/* They stay so, also with nothing in them, and when they are added once more. */
	for (int i = 0; i < 100; i += 20)
		pods_tick(rig, 20);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		check_row(rig, &rows[i]);
		add(rig, rows[i].pod);
		check_row(rig, &rows[i]);
	}
	assert_int_equal(pods_record_count(rig), NEAP_ARRAY_LEN(rows));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		assert_int_equal(pods_remove(rig, rows[i].pod->uid), NEAP_OK);
		assert_false(
			rig_exists(rig->hand, pods_path(rig, rows[i].values[0].group)));
	}
	assert_int_equal(pods_record_count(rig), 0);
	assert_int_equal(pods_remove(rig, "u-g"), NEAP_OK); /* gone already */
}

static void new_numbers(void **state)
{
	static const struct neap_node_container more[] = {
		{"web", 1000, 2000, 128 * MIB, 64},
		{"side", 250, 500, 32 * MIB, NONE},
		{"third", 750, 500, 32 * MIB, 7},
	};
	static const struct row after = {
		"more",
		NULL,
		{{"podu-g", SHARES, 2048},
		 {"podu-g", QUOTA, 3000},
		 {"podu-g", MEMORY, 192 * MIB},
		 {"podu-g/web", QUOTA, 2000},
		 {"podu-g/web", PIDS, 64},
		 {"podu-g/third", SHARES, 768},
		 {"podu-g/third", PIDS, 7}},
	};
	static const struct neap_node_pod larger =
		POD("u-g", NEAP_QOS_LS, NEAP_KUBE_GUARANTEED, more);
	struct pods_rig *rig = rig_of(state);

	add(rig, &guaranteed);
	add(rig, &larger);
	check_row(rig, &after);
	add(rig, &guaranteed);
	check_row(rig, &rows[0]);
	assert_int_equal(pods_remove(rig, "u-g"), NEAP_OK);
	assert_false(rig_exists(rig->hand, pods_path(rig, "podu-g")));
}

/* --- processes, and what is told --- */

static void check_told(struct pods_rig *rig)
{
	json_t *all, *row = pods_row(rig, "u-e", &all);

	assert_non_null(row);
	assert_string_equal(json_string_value(json_object_get(row, "name")),
			    "default/the-u-e");
	assert_string_equal(json_string_value(json_object_get(row, "source")), "pod");
	assert_string_equal(json_string_value(json_object_get(row, "qos")), "BE");
	assert_string_equal(json_string_value(json_object_get(row, "kube_qos")),
			    "BestEffort");
	json_decref(all);
}

static void processes(void **state)
{
	struct pods_rig *rig = rig_of(state);
	struct pods_outcome outcome, end = {0};
	int pid, other;

	add(rig, &besteffort);
	pid = pods_process(rig, "u-e", "job", &outcome);
	assert_int_equal(outcome.err.code, NEAP_OK);
	assert_true(rig_has_pid(rig->hand, pods_path(rig, "besteffort/podu-e/job"), pid));
	pods_tick(rig, 1);
	pods_tick(rig, 1);
	check_told(rig);

	other = pods_process(rig, "u-e", "no-such", &outcome);
	assert_int_equal(outcome.err.code, NEAP_ENOTFOUND);
	pods_process_end(rig, other, NULL);
	other = pods_process(rig, "u-x", "job", &outcome);
	assert_int_equal(outcome.err.code, NEAP_ENOTFOUND);
	pods_process_end(rig, other, NULL);

	/* It goes when the process has ended, not before; meanwhile nothing else is done
	 * with it. */
	neap_node_pod_remove(rig->node, "u-e", pods_done, &end);
	neap_node_pod_remove(rig->node, "u-e", NULL, NULL);
	for (int i = 0; i < 3; i++)
		pods_tick(rig, 30);
	assert_int_equal(end.calls, 0);
	assert_true(rig_has_pid(rig->hand, pods_path(rig, "besteffort/podu-e/job"), pid));
	assert_int_equal(pods_add(rig, &besteffort, &outcome), NEAP_ECONFLICT);
	pods_process_end(rig, pid, "besteffort/podu-e/job");
	pods_await(rig, &end);
	assert_int_equal(end.err.code, NEAP_OK);
	assert_false(rig_exists(rig->hand, pods_path(rig, "besteffort/podu-e")));
	pods_tick(rig, 1);
}

/* --- another neapd --- */

static void restart(void **state)
{
	struct pods_rig *rig = rig_of(state);
	struct pods_outcome outcome;
	int pid, held;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		add(rig, rows[i].pod);
	pid = pods_process(rig, "u-g", "web", &outcome);
	held = pods_process(rig, "u-e", "job", &outcome);

	pods_rig_restart(rig);
	assert_int_equal(pods_add(rig, &guaranteed, &outcome), NEAP_EUNAVAILABLE);
	pods_rig_open(rig);
	for (int i = 0; i < 25; i++) {
		pods_tick(rig, 2);
		if (i == 0)
			check_told(rig);
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		check_row(rig, &rows[i]);
	assert_true(rig_has_pid(rig->hand, pods_path(rig, "podu-g/web"), pid));
	/* Nobody adds the others: those without a process go. */
	add(rig, &guaranteed);
	add(rig, &burstable);
	pods_await_end(rig, "burstable/podu-i");
	pods_tick(rig, 2);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		if (rows[i].pod == &initial)
			assert_false(rig_exists(rig->hand,
						pods_path(rig, "burstable/podu-i")));
		else
			check_row(rig, &rows[i]);
	}
	assert_true(rig_has_pid(rig->hand, pods_path(rig, "podu-g/web"), pid));
	pods_await_records(rig, 3);
	pods_process_end(rig, pid, "podu-g/web");
	pods_process_end(rig, held, "besteffort/podu-e/job");
	pods_await_end(rig, "besteffort/podu-e");
	check_row(rig, &rows[0]);
}

/* Records of pods that went with the machine. */
static void stale_records(void **state)
{
	static const struct {
		const char *name, *text;
		bool stays;
	} files[] = {
		{"u-gone.json", "{\"pod\":{\"name\":\"x\",\"namespace\":\"y\"}}", false},
		{"u-e.json", "{\"pod\":{}}", true}, /* written anew, as it is added */
		{"job-1.json", "{\"qos\":\"BE\"}", true},
		{"broken.json", "{", true},
		{"other", "", true},
	};
	struct pods_rig *rig = rig_of(state);
	char path[256];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(files); i++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", rig->records, files[i].name);
		file = fopen(path, "we");
		assert_non_null(file);
		fputs(files[i].text, file);
		fclose(file);
	}
	add(rig, &besteffort);
	pods_tick(rig, 70);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", rig->records, files[i].name);
		if ((access(path, F_OK) == 0) != files[i].stays)
			fail_msg("%s", files[i].name);
	}
}

/* --- what is refused --- */

static void bad_input(void **state)
{
	static const struct neap_node_container twice[] = {{"a"}, {"a"}};
	static const struct neap_node_container dotted[] = {{"cpu.shares"}};
	static const struct neap_node_container nameless[] = {{NULL}};
	static const struct neap_node_container many[NEAP_NODE_CONTAINERS_MAX + 1] = {
		{"a"}};
	static const struct {
		const char *name;
		struct neap_node_pod pod;
		enum neap_code want;
	} bad[] = {
		{"no uid", POD("", 0, NEAP_KUBE_BURSTABLE, plain), NEAP_EINVAL},
		{"a path", POD("../x", 0, NEAP_KUBE_BURSTABLE, plain), NEAP_EINVAL},
		{"below", POD("a/b", 0, NEAP_KUBE_BURSTABLE, plain), NEAP_EINVAL},
		{"twice", POD("u", 0, NEAP_KUBE_BURSTABLE, twice), NEAP_EINVAL},
		{"a file", POD("u", 0, NEAP_KUBE_BURSTABLE, dotted), NEAP_EINVAL},
		{"no name", POD("u", 0, NEAP_KUBE_BURSTABLE, nameless), NEAP_EINVAL},
		{"too many", POD("u", 0, NEAP_KUBE_BURSTABLE, many), NEAP_ETOOLARGE},
		{"no namespace", {"u", NULL, "n", 0, 0, plain, 1}, NEAP_EINVAL},
	};
	static const struct neap_node_pod moved =
		POD("u-b", NEAP_QOS_NONE, NEAP_KUBE_GUARANTEED, one_open);
	struct pods_rig *rig = rig_of(state);
	struct pods_outcome outcome, second = {0};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++)
		if (pods_add(rig, &bad[i].pod, &outcome) != bad[i].want)
			fail_msg("%s: %s", bad[i].name, outcome.err.msg);
	assert_int_equal(pods_record_count(rig), 0);

	memset(&outcome, 0, sizeof(outcome));
	neap_node_pod_add(rig->node, &burstable, pods_done, &outcome);
	neap_node_pod_add(rig->node, &burstable, pods_done, &second);
	assert_int_equal(second.err.code, NEAP_ECONFLICT);
	pods_await(rig, &outcome);
	assert_int_equal(outcome.err.code, NEAP_OK);
	assert_int_equal(pods_add(rig, &moved, &outcome), NEAP_EINVAL);

	/* Removed before it was made. */
	memset(&outcome, 0, sizeof(outcome));
	memset(&second, 0, sizeof(second));
	neap_node_pod_add(rig->node, &besteffort, pods_done, &outcome);
	neap_node_pod_remove(rig->node, "u-e", pods_done, &second);
	pods_await(rig, &second);
	assert_int_equal(outcome.calls, 1);
	assert_int_equal(outcome.err.code, NEAP_ECONFLICT);
	assert_int_equal(second.err.code, NEAP_OK);
	assert_false(rig_exists(rig->hand, pods_path(rig, "besteffort/podu-e")));
}

static void operated(void *arg, json_t *body, const struct neap_error *err)
{
	json_decref(body);
	pods_done(arg, err);
}

static void operate(struct pods_rig *rig, const char *verb)
{
	struct pods_outcome outcome = {0};

	neap_node_operate(rig->node, verb, "test", operated, &outcome);
	pods_await(rig, &outcome);
	assert_int_equal(outcome.err.code, NEAP_OK);
}

/* What there is no memory for is told so, and leaves everything as it was. */
static void operate_without_memory(void **state)
{
	struct pods_rig *rig = rig_of(state);
	int failed = 0;

	for (uint64_t n = 1; n < 100; n++) {
		struct pods_outcome outcome = {0};
		json_t *status;

		neap_mem_fail_at(n);
		neap_node_operate(rig->node, "release", "test", operated, &outcome);
		neap_mem_fail_at(0);
		if (outcome.calls == 0) {
			pods_await(rig, &outcome);
			assert_int_equal(outcome.err.code, NEAP_OK);
			break;
		}
		failed++;
		assert_int_equal(outcome.err.code, NEAP_ENOMEM);
		status = neap_node_status(rig->node);
		assert_string_equal(json_string_value(json_object_get(status, "state")),
				    "acting");
		json_decref(status);
	}
	assert_in_range(failed, 1, 20);
	operate(rig, "resume");
}

static void refuse(struct pods_rig *rig, const char *text)
{
	struct pods_outcome outcome;

	assert_int_equal(pods_add(rig, &burstable, &outcome), NEAP_EUNAVAILABLE);
	if (strstr(outcome.err.msg, text) == NULL)
		fail_msg("%s", outcome.err.msg);
	assert_false(rig_exists(rig->hand, pods_path(rig, "burstable/podu-b")));
	assert_int_equal(pods_record_count(rig), 0);
}

static void states(void **state)
{
	struct pods_rig *rig = rig_of(state);
	struct neap_node *acting = rig->node;
	struct neap_error err;

	operate(rig, "freeze");
	refuse(rig, "frozen");
	operate(rig, "resume");
	operate(rig, "release");
	refuse(rig, "given everything back");
	operate(rig, "resume");
	/* Frozen by the file, which the hand sees first. */
	close(open(rig->freeze, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	{
		struct pods_outcome outcome;

		assert_int_equal(pods_add(rig, &burstable, &outcome), NEAP_EUNAVAILABLE);
		assert_non_null(strstr(outcome.err.msg, "frozen"));
	}
	unlink(rig->freeze);
	pods_tick(rig, 1);
	pods_await_end(rig, "burstable/podu-b");
	pods_await_records(rig, 0);
	add(rig, &burstable);
	assert_int_equal(pods_remove(rig, "u-b"), NEAP_OK);

	for (int dry = 0; dry < 2; dry++) {
		struct pods_outcome outcome = {0};

		rig->config.dry_run = dry;
		assert_int_equal(neap_node_new(&rig->config, &rig->hand->cgroup, NULL,
					       rig->registry, &rig->node, &err),
				 0);
		neap_node_pod_add(rig->node, &burstable, pods_done, &outcome);
		assert_int_equal(outcome.err.code, NEAP_EUNAVAILABLE);
		assert_non_null(strstr(outcome.err.msg, "only watches"));
		neap_node_free(rig->node);
	}
	rig->node = acting;
}

/* A v1 kernel refuses a quota above that of a parent, and nothing of the pod remains. */
static void refused_value(void **state)
{
	struct pods_rig *rig = rig_of(state);
	struct pods_outcome outcome;
	bool v2 = false;

	(void)neap_cgroup_file(&rig->hand->cgroup, QUOTA, NULL, &v2);
	if (v2) {
		print_message("SKIP needs cgroup v1 cpuset and two CPUs\n");
		skip();
	}
	assert_int_equal(
		rig_write(rig->hand, pods_path(rig, "burstable"), QUOTA, "50000"), 0);
	assert_int_equal(pods_add(rig, &burstable, &outcome), NEAP_ESYS);
	assert_non_null(strstr(outcome.err.msg, "cpu.max_milli"));
	assert_false(rig_exists(rig->hand, pods_path(rig, "burstable/podu-b")));
	assert_int_equal(pods_record_count(rig), 0);
	assert_int_equal(rig_write(rig->hand, pods_path(rig, "burstable"), QUOTA, "-1"),
			 0);
	add(rig, &burstable);
}

/* The machine cannot bound the number of processes: the pod runs all the same. */
static void no_pids(void **state)
{
	struct pods_rig *rig = rig_of(state);

	add(rig, &guaranteed);
	add(rig, &guaranteed);
	add(rig, &initial);
	check_row(rig, &rows[0]);
	assert_int_equal(
		pods_log_count(rig, "number of processes of pods is not limited"), 1);
}

/* Every allocation of an add and a removal fails once: each is told once, and nothing is
 * left over. */
static void without_memory(void **state)
{
	struct pods_rig *rig = rig_of(state);
	uint64_t n, before;
	int added = 0;

	for (n = 1;; n++) {
		struct pods_outcome add_told = {0}, end_told = {0};
		bool is_through;

		before = neap_mem_failures();
		neap_mem_fail_at(n);
		neap_node_pod_add(rig->node, &guaranteed, pods_done, &add_told);
		pods_await(rig, &add_told);
		if (add_told.err.code == NEAP_OK)
			check_row(rig, &rows[0]);
		added += add_told.err.code == NEAP_OK;
		neap_node_pod_remove(rig->node, "u-g", pods_done, &end_told);
		pods_await(rig, &end_told);
		is_through = neap_mem_failures() == before;
		neap_mem_fail_at(0);
		if (end_told.err.code != NEAP_OK)
			assert_int_equal(pods_remove(rig, "u-g"), NEAP_OK);
		pods_await_end(rig, "podu-g");
		pods_await_records(rig, 0);
		if (is_through)
			break;
	}
	assert_true(n > 20);
	assert_true(added > 0);
}

#define ALL(test)                                                                        \
	{#test ", machine", test, setup, teardown, (void *)&kinds[0]},                   \
		{#test ", v1 files", test, setup, teardown, (void *)&kinds[1]},          \
	{                                                                                \
#test ", v2 files", test, setup, teardown, (void *)&kinds[2]             \
	}

int main(void)
{
	static enum pods_kind kinds[] = {PODS_MACHINE, PODS_V1, PODS_V2, PODS_V1_NO_PIDS};
	const struct CMUnitTest tests[] = {
		ALL(values),
		ALL(new_numbers),
		ALL(processes),
		ALL(restart),
		ALL(operate_without_memory),
		ALL(states),
		{"stale_records", stale_records, setup, teardown, &kinds[2]},
		{"bad_input", bad_input, setup, teardown, &kinds[2]},
		{"refused_value", refused_value, setup, teardown, &kinds[0]},
		{"no_pids", no_pids, setup, teardown, &kinds[3]},
		{"without_memory", without_memory, setup, teardown, &kinds[2]},
	};

	return cmocka_run_group_tests_name("pods", tests, NULL, NULL);
}
