/* SPDX-License-Identifier: Apache-2.0
 *
 * Readings of the node and of groups, from kernel text in a scratch tree (v1 and v2) and
 * from real groups, which may vanish or run out of descriptors between two reads. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "hw/readings_priv.h"

#define M NEAP_MISSING

static char tree[64];

static void put(const char *path, const char *text)
{
	char full[512];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", tree, path);
	for (char *at = strchr(full + strlen(tree) + 1, '/'); at;
	     at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(full, 0755); /* there already is fine */
		*at = '/';
	}
	file = fopen(full, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static int setup(void **state)
{
	(void)state;
	snprintf(tree, sizeof(tree), "/tmp/neap-test-XXXXXX");
	return mkdtemp(tree) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return nftw(tree, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static const struct {
	const char *name, *text;
	double share; /* NaN: refused */
	int64_t total;
} pressures[] = {
	{"usual", "some avg10=12.34 avg60=1.00 avg300=0.00 total=5678\nfull avg10=0.00\n",
	 0.1234, 5678},
	{"none", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", 0, 0},
	{"all", "some avg10=100.00 avg60=0.00 avg300=0.00 total=1\n", 1, 1},
	{"empty", "", NAN, M},
	{"no number", "some avg10=x total=1\n", NAN, M},
	{"one decimal", "some avg10=1.5 total=1\n", NAN, M},
	{"full only", "full avg10=1.50 total=1\n", NAN, M},
	{"no total", "some avg10=1.50\n", 0.015, M},
};

static void test_pressure_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(pressures); i++) {
		int64_t total;
		double share = neap_text_pressure(pressures[i].text, &total);

		if (isnan(share) != isnan(pressures[i].share) ||
		    fabs(share - pressures[i].share) > 1e-9 ||
		    total != pressures[i].total)
			fail_msg("%s: %f %lld", pressures[i].name, share,
				 (long long)total);
	}
}

static const struct {
	const char *name, *text, *field;
	int64_t want;
} numbers[] = {
	{"first", "nr_periods 5\nnr_throttled 3\n", "nr_periods", 5},
	{"second", "nr_periods 5\nnr_throttled 3\n", "nr_throttled", 3},
	{"colon and blanks", "MemTotal:       16384 kB\n", "MemTotal", 16384},
	{"prefix of another", "total_anon_huge 1\ntotal_anon 2\n", "total_anon", 2},
	{"end of another", "xanon 1\nanon 2\n", "anon", 2},
	{"absent", "nr_periods 5\n", "nr_bursts", M},
	{"no digits", "nr_periods x\n", "nr_periods", M},
	{"negative", "nr_periods -1\n", "nr_periods", M},
	{"largest", "a 9223372036854775807\n", "a", INT64_MAX},
	{"too large", "a 9223372036854775808\n", "a", M},
	{"empty", "", "a", M},
	{"no value", "a", "a", M},
};

static void test_number_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(numbers); i++) {
		int64_t got = neap_text_find_number(numbers[i].text, numbers[i].field);

		if (got != numbers[i].want)
			fail_msg("%s: %lld", numbers[i].name, (long long)got);
	}
	assert_true(neap_text_number("123\n") == 123);
	assert_true(neap_text_number("max\n") == M);
}

static void plant_v2(void)
{
	put("cg/cgroup.controllers", "cpu cpuset memory\n");
	put("cg/g/cpu.stat",
	    "usage_usec 7000\nuser_usec 1\nsystem_usec 2\nnr_periods 10\n"
	    "nr_throttled 4\nthrottled_usec 900\n");
	put("cg/g/memory.current", "4096\n");
	put("cg/g/memory.stat",
	    "anon 9\ninactive_anon 100\nactive_anon 20\nunevictable 3\ninactive_file 1\n");
	put("cg/g/cpu.pressure", "some avg10=50.00 avg60=0.00 avg300=0.00 total=11\n");
	put("cg/g/memory.pressure", "some avg10=1.00 avg60=0.00 avg300=0.00 total=12\n");
	put("cg/g/cpu.max", "25000 100000\n");
	put("cg/g/cpuset.cpus", "0-1\n");
	put("cg/g/cgroup.procs", "1\n2\n3\n");
}

static void plant_v1(void)
{
	put("cg/cpu/g/cpu.stat",
	    "nr_periods 10\nnr_throttled 4\nthrottled_time 900000\n");
	put("cg/cpu/g/cpu.cfs_quota_us", "25000\n");
	put("cg/cpu/g/cgroup.procs", "1\n2\n3\n");
	put("cg/cpuacct/g/cpuacct.usage", "7000999\n");
	put("cg/cpuacct/g/cpu.pressure",
	    "some avg10=50.00 avg60=0.00 avg300=0.00 total=11\n");
	put("cg/cpuacct/g/memory.pressure",
	    "some avg10=1.00 avg60=0.00 avg300=0.00 total=12\n");
	put("cg/cpuset/g/cpuset.cpus", "0-1\n");
	put("cg/memory/g/memory.usage_in_bytes", "4096\n");
	put("cg/memory/g/memory.stat", "inactive_anon 1\ntotal_inactive_anon 100\n"
				       "total_active_anon 20\ntotal_unevictable 3\n");
}

static void check_group(void (*plant)(void), const char *procs)
{
	struct neap_readings *readings;
	struct neap_cgroup cgroup;
	struct neap_reading got;
	struct neap_value value;
	struct neap_group *group, *half;
	struct neap_error err;
	char root[80];

	plant();
	snprintf(root, sizeof(root), "%s/cg", tree);
	assert_int_equal(neap_cgroup_probe(root, &cgroup, &err), 0);
	assert_int_equal(neap_readings_new(tree, &cgroup, &readings, &err), 0);
	group = neap_group_new(readings, "g", NEAP_READ_ALL);
	half = neap_group_new(readings, "g", NEAP_READ_THROTTLE);
	assert_non_null(group);
	assert_non_null(half);

	assert_int_equal(neap_group_read(group, NEAP_READ_ALL, &got), 1);
	assert_int_equal(got.cpu_usage_usec, 7000);
	assert_int_equal(got.periods, 10);
	assert_int_equal(got.throttled_periods, 4);
	assert_int_equal(got.throttled_usec, 900);
	assert_int_equal(got.memory_bytes, 4096);
	assert_int_equal(got.memory_working_bytes, 123);
	assert_true(got.cpu_pressure == 0.5);
	assert_int_equal(got.cpu_pressure_total_usec, 11);
	assert_true(got.memory_pressure == 0.01);
	assert_true(isnan(got.io_pressure)); /* no file: missing, not 0 */

	assert_int_equal(neap_group_read(group, NEAP_READ_MEMORY, &got), 1);
	assert_int_equal(got.memory_bytes, 4096);
	assert_true(got.cpu_usage_usec == M && got.memory_working_bytes == M);
	assert_int_equal(neap_group_read(half, NEAP_READ_ALL, &got), 1);
	assert_int_equal(got.periods, 10);
	assert_true(got.cpu_usage_usec == M && got.memory_bytes == M &&
		    isnan(got.cpu_pressure));

	assert_int_equal(neap_group_read_key(group, NEAP_KEY_CPU_MAX_MILLI, &value, &err),
			 1);
	assert_int_equal(value.number, 250);
	assert_int_equal(neap_group_read_key(group, NEAP_KEY_CPUSET_CPUS, &value, &err),
			 1);
	assert_int_equal(neap_cpuset_count(&value.cpus), 2);
	assert_int_equal(
		neap_group_read_key(group, NEAP_KEY_CPU_BURST_USEC, &value, &err), 0);
	assert_int_equal(neap_group_process_count(group), 3);
	assert_true(neap_group_id(group) != 0);
	assert_string_equal(neap_group_dir(group), "g");
	put(procs, "");
	assert_int_equal(neap_group_process_count(group), 0);

	snprintf(root, sizeof(root), "%s/cg", tree);
	assert_int_equal(nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
	assert_int_equal(neap_group_read(group, NEAP_READ_ALL, &got), 0);
	assert_int_equal(neap_group_read_key(group, NEAP_KEY_CPU_MAX_MILLI, &value, &err),
			 0);
	assert_int_equal(neap_group_process_count(group), -1);
	assert_true(neap_group_id(group) == 0);
	neap_group_free(half);
	neap_group_free(group);
	neap_readings_free(readings);
	neap_cgroup_done(&cgroup);
}

static void test_group_v2(void **state)
{
	(void)state;
	check_group(plant_v2, "cg/g/cgroup.procs");
}

static void test_group_v1(void **state)
{
	(void)state;
	check_group(plant_v1, "cg/cpu/g/cgroup.procs");
}

static void test_node(void **state)
{
	int64_t tick = 1000000 / sysconf(_SC_CLK_TCK);
	struct neap_readings *readings;
	struct neap_node_reading node;
	struct neap_cgroup cgroup;
	struct neap_cpuset online;
	struct neap_error err;
	char root[80];

	(void)state;
	plant_v2();
	snprintf(root, sizeof(root), "%s/cg", tree);
	assert_int_equal(neap_cgroup_probe(root, &cgroup, &err), 0);
	put("proc/stat",
	    "cpu  10 20 30 1000 500 6 7 8 99 99\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
	put("proc/meminfo", "MemTotal:  100 kB\nMemFree:   10 kB\n");
	put("proc/pressure/cpu", "some avg10=2.50 avg60=0.00 avg300=0.00 total=1\n");
	put("sys/devices/system/cpu/online", "0-3,8\n");
	assert_int_equal(neap_readings_new(tree, &cgroup, &readings, &err), 0);
	neap_readings_node(readings, &node);
	assert_int_equal(node.cpu_busy_usec, (10 + 20 + 30 + 6 + 7) * tick);
	assert_int_equal(node.cpu_steal_usec, 8 * tick);
	assert_int_equal(node.memory_total_bytes, 102400);
	assert_int_equal(node.memory_free_bytes, 10240);
	assert_true(node.memory_available_bytes == M);
	assert_true(node.cpu_pressure == 0.025);
	assert_true(isnan(node.memory_pressure) && isnan(node.io_pressure));
	assert_true(neap_readings_online(readings, &online));
	assert_int_equal(neap_cpuset_count(&online), 5);
	assert_string_equal(neap_readings_missing(readings, 0), "/proc/pressure/memory");
	assert_string_equal(neap_readings_missing(readings, 1), "/proc/pressure/io");
	assert_null(neap_readings_missing(readings, 2));

	put("proc/stat", "cpu  10 20\n");
	put("proc/meminfo", "");
	put("sys/devices/system/cpu/online", "0-x\n");
	neap_readings_node(readings, &node);
	assert_true(node.cpu_busy_usec == M && node.cpu_steal_usec == M);
	assert_true(node.memory_total_bytes == M);
	assert_false(neap_readings_online(readings, &online));
	neap_readings_free(readings);
	neap_cgroup_done(&cgroup);
}

static int64_t now_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* A child that spins for 60 ms, in a group of its own. */
static void burn_in(const struct neap_cgroup *cgroup, const char *dir)
{
	int go[2];
	struct neap_error err;
	pid_t pid;
	char c = 0;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		int64_t end;

		if (read(go[0], &c, 1) != 1)
			_exit(1);
		for (end = now_usec() + 60000; now_usec() < end;)
			;
		_exit(0);
	}
	assert_true(pid > 0);
	if (neap_cgroup_move(cgroup, dir, pid, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(go[0]);
	close(go[1]);
}

/* Real files: they count, vanish, and come back under the same name as another group. */
static void real_groups(bool keep)
{
	struct neap_reading before, after;
	struct neap_readings *readings;
	struct neap_cgroup cgroup;
	struct neap_group *group;
	struct neap_value value;
	struct neap_error err;
	uint64_t id;
	char dir[64];

	if (geteuid() != 0 || neap_cgroup_probe(NULL, &cgroup, &err) < 0) {
		print_message("# SKIP real cgroups: needs root and a cgroup mount\n");
		skip();
	}
	snprintf(dir, sizeof(dir), "neap-test-%d", (int)getpid());
	if (neap_cgroup_make(&cgroup, dir, NULL, &err) < 0) {
		print_message("# SKIP real cgroups: %s\n", err.msg);
		(void)neap_cgroup_remove(&cgroup, dir, &err); /* what was made before */
		neap_cgroup_done(&cgroup);
		skip();
	}
	assert_int_equal(neap_readings_new("", &cgroup, &readings, &err), 0);
	if (!keep)
		readings->kept_max = 0;
	group = neap_group_new(readings, dir, NEAP_READ_ALL);
	assert_non_null(group);
	assert_int_equal(neap_group_read(group, NEAP_READ_ALL, &before), 1);
	assert_true(before.cpu_usage_usec != M && before.memory_bytes != M);
	assert_true(before.memory_working_bytes != M && before.periods != M);
	burn_in(&cgroup, dir);
	assert_int_equal(neap_group_read(group, NEAP_READ_ALL, &after), 1);
	assert_true(after.cpu_usage_usec > before.cpu_usage_usec);
	assert_int_equal(readings->kept > 0, keep);
	assert_int_equal(neap_group_read_key(group, NEAP_KEY_CPU_MAX_MILLI, &value, &err),
			 1);
	assert_int_equal(value.number, -1);
	assert_int_equal(neap_group_process_count(group), 0);
	id = neap_group_id(group);
	assert_true(id != 0);

	assert_int_equal(neap_cgroup_remove(&cgroup, dir, &err), 0);
	assert_int_equal(neap_group_read(group, NEAP_READ_ALL, &after), 0);
	assert_int_equal(readings->kept, 0);
	assert_int_equal(neap_group_read(group, 0, &after), 0);
	assert_int_equal(neap_group_read_key(group, NEAP_KEY_CPU_MAX_MILLI, &value, &err),
			 0);

	assert_int_equal(neap_cgroup_make(&cgroup, dir, NULL, &err), 0);
	assert_int_equal(neap_group_read(group, NEAP_READ_ALL, &after), 1);
	assert_int_equal(neap_group_read_key(group, NEAP_KEY_CPU_MAX_MILLI, &value, &err),
			 1);
	assert_true(neap_group_id(group) != id);
	assert_int_equal(neap_cgroup_remove(&cgroup, dir, &err), 0);
	/* Gone and back between two reads: the first read after it must say so. */
	assert_int_equal(neap_cgroup_make(&cgroup, dir, NULL, &err), 0);
	assert_int_equal(neap_group_read(group, NEAP_READ_ALL, &after), keep ? 0 : 1);
	assert_int_equal(neap_group_read(group, NEAP_READ_ALL, &after), 1);

	neap_group_free(group);
	assert_int_equal(readings->kept, 0);
	neap_readings_free(readings);
	assert_int_equal(neap_cgroup_remove(&cgroup, dir, &err), 0);
	neap_cgroup_done(&cgroup);
}

static void test_real_kept(void **state)
{
	(void)state;
	real_groups(true);
}

static void test_real_not_kept(void **state)
{
	(void)state;
	real_groups(false);
}

/* A missing file is tried again after some reads, then rarely; but at once when one of
 * the same kind has come to another group, as when a v2 controller is switched on. */
static void test_late(void **state)
{
	struct neap_readings *readings;
	struct neap_cgroup cgroup;
	struct neap_reading got;
	struct neap_group *first, *second;
	struct neap_error err;
	char root[80];

	(void)state;
	plant_v2();
	put("cg/late/cgroup.procs", "");
	put("cg/later/cgroup.procs", "");
	snprintf(root, sizeof(root), "%s/cg", tree);
	assert_int_equal(neap_cgroup_probe(root, &cgroup, &err), 0);
	assert_int_equal(neap_readings_new(tree, &cgroup, &readings, &err), 0);
	first = neap_group_new(readings, "late", NEAP_READ_MEMORY);
	second = neap_group_new(readings, "later", NEAP_READ_MEMORY);
	assert_true(first && second);
	for (int i = 1; i < 64; i++) {
		assert_int_equal(neap_group_read(first, NEAP_READ_MEMORY, &got), 1);
		assert_int_equal(got.memory_bytes, M);
	}
	for (int i = 1; i < 200; i++)
		assert_int_equal(neap_group_read(second, NEAP_READ_MEMORY, &got), 1);
	put("cg/late/memory.current", "4096\n");
	put("cg/later/memory.current", "8192\n");
	assert_int_equal(neap_group_read(second, NEAP_READ_MEMORY, &got), 1);
	assert_int_equal(got.memory_bytes, M);
	assert_int_equal(neap_group_read(first, NEAP_READ_MEMORY, &got), 1);
	assert_int_equal(got.memory_bytes, 4096);
	assert_int_equal(neap_group_read(second, NEAP_READ_MEMORY, &got), 1);
	assert_int_equal(got.memory_bytes, 8192);
	neap_group_free(first);
	neap_group_free(second);
	neap_readings_free(readings);
	neap_cgroup_done(&cgroup);
}

/* The tick reads one key of a container: where its group was made later in that hierarchy
 * than in others, the value is found before the group is twice as old. */
static void test_late_key(void **state)
{
	struct neap_readings *readings;
	struct neap_cgroup cgroup;
	struct neap_value value;
	struct neap_group *group;
	struct neap_error err;
	char root[80];
	int late = 0;

	(void)state;
	plant_v2();
	put("cg/late/cgroup.procs", "");
	snprintf(root, sizeof(root), "%s/cg", tree);
	assert_int_equal(neap_cgroup_probe(root, &cgroup, &err), 0);
	assert_int_equal(neap_readings_new(tree, &cgroup, &readings, &err), 0);
	group = neap_group_new(readings, "late", NEAP_READ_MEMORY);
	assert_non_null(group);
	for (int i = 0; i < 70; i++)
		assert_int_equal(
			neap_group_read_key(group, NEAP_KEY_CPU_SHARES, &value, &err), 0);
	put("cg/late/cpu.weight", "77\n");
	while (neap_group_read_key(group, NEAP_KEY_CPU_SHARES, &value, &err) == 0)
		assert_true(++late < 70);
	neap_group_free(group);
	neap_readings_free(readings);
	neap_cgroup_done(&cgroup);
}

static void test_torture(void **state)
{
	struct neap_cgroup cgroup;
	struct neap_error err;
	char root[80];
	int r = -1;

	(void)state;
	plant_v2();
	snprintf(root, sizeof(root), "%s/cg", tree);
	assert_int_equal(neap_cgroup_probe(root, &cgroup, &err), 0);
	for (uint64_t n = 1; r < 0; n++) {
		struct neap_readings *readings = NULL;
		struct neap_group *group = NULL;

		assert_true(n < 100);
		neap_mem_fail_at(n);
		r = neap_readings_new(tree, &cgroup, &readings, &err);
		if (r == 0)
			group = neap_group_new(readings, "g", NEAP_READ_ALL);
		r = group ? 0 : -1;
		neap_mem_fail_at(0);
		neap_group_free(group);
		neap_readings_free(readings);
	}
	neap_cgroup_done(&cgroup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pressure_text),
		cmocka_unit_test(test_number_text),
		cmocka_unit_test_setup_teardown(test_group_v2, setup, teardown),
		cmocka_unit_test_setup_teardown(test_group_v1, setup, teardown),
		cmocka_unit_test_setup_teardown(test_node, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_key, setup, teardown),
		cmocka_unit_test(test_real_kept),
		cmocka_unit_test(test_real_not_kept),
		cmocka_unit_test_setup_teardown(test_torture, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
