/* SPDX-License-Identifier: Apache-2.0
 *
 * Probing, making, removing and moving: on trees of plain files in all three
 * arrangements, and on the real hierarchies of this machine below a group of its own (as
 * root; else skipped). */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/machine/path.h"
#include "hw/cgroup_priv.h"

static char tree[64]; /* scratch folder of this run */

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

static void get(const struct neap_cgroup *cgroup, enum neap_controller controller,
		const char *dir, const char *file, char *buf, size_t size)
{
	struct neap_error err;
	int fd = neap_cgroup_open(cgroup, controller, dir, file, O_RDONLY, &err);
	ssize_t n;

	if (fd < 0)
		fail_msg("%s", err.msg);
	n = read(fd, buf, size - 1);
	assert_true(n >= 0);
	buf[n] = '\0';
	close(fd);
}

static void plant_v2(const char *at)
{
	char path[128];

	snprintf(path, sizeof(path), "%scgroup.controllers", at);
	put(path, "cpuset cpu io memory pids\n");
	snprintf(path, sizeof(path), "%scgroup.subtree_control", at);
	put(path, "");
}

static void plant_v1(void)
{
	put("cpu/cpu.shares", "1024\n");
	put("cpuacct/cpuacct.usage", "1\n");
	put("cpuset/cpuset.cpus", "0-3\n");
	put("cpuset/cpuset.mems", "0\n");
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
}

static void plant_mixed(void)
{
	plant_v1();
	put("unified/cgroup.controllers", "hugetlb\n");
	put("unified/cgroup.subtree_control", "");
}

static void plant_pure_v2(void)
{
	plant_v2("");
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
	const char *name;
	void (*plant)(void);
	bool has_v1, has_v2, has_unified;
	int hierarchies;
	const char *max_file, *max_text;
} trees[] = {
	{"v1", plant_v1, true, false, false, 4, "cpu.cfs_quota_us", "-1\n"},
	{"v2", plant_pure_v2, false, true, true, 1, "cpu.max", "max 100000\n"},
	{"mixed", plant_mixed, true, true, true, 5, "cpu.cfs_quota_us", "-1\n"},
};

static void check_tree(size_t i)
{
	enum neap_controller hierarchies[NEAP_CTL_COUNT];
	struct neap_cgroup cgroup;
	struct neap_error err;
	char text[256];
	bool made = false;
	int r;

	trees[i].plant();
	r = neap_cgroup_probe(tree, &cgroup, &err);
	if (r < 0)
		fail_msg("%s: %s", trees[i].name, err.msg);
	assert_true(cgroup.is_fake);
	assert_int_equal(cgroup.has_v1, trees[i].has_v1);
	assert_int_equal(cgroup.has_v2, trees[i].has_v2);
	assert_int_equal(cgroup.mount[NEAP_CTL_UNIFIED].is_present, trees[i].has_unified);
	assert_int_equal(neap_cgroup_hierarchies(&cgroup, hierarchies),
			 trees[i].hierarchies);

	assert_int_equal(neap_cgroup_make(&cgroup, "neap/besteffort", &made, &err), 0);
	assert_true(made);
	assert_int_equal(neap_cgroup_make(&cgroup, "neap/besteffort", &made, &err), 0);
	assert_false(made);
	get(&cgroup, NEAP_CTL_CPU, "neap/besteffort", trees[i].max_file, text,
	    sizeof(text));
	assert_string_equal(text, trees[i].max_text);
	if (!cgroup.mount[NEAP_CTL_CPUSET].is_v2) {
		get(&cgroup, NEAP_CTL_CPUSET, "neap/besteffort", "cpuset.cpus", text,
		    sizeof(text));
		assert_string_equal(text, "0-3");
	} else {
		get(&cgroup, NEAP_CTL_CPU, "neap", "cgroup.subtree_control", text,
		    sizeof(text));
		assert_string_equal(text, "cpu cpuset memory io pids");
	}
	neap_cgroup_probe_keys(&cgroup, "neap/besteffort");
	assert_true(cgroup.supports & 1u << NEAP_KEY_CPU_BURST_USEC);
	assert_string_equal(cgroup.why_not[NEAP_KEY_CPU_BURST_USEC], "");

	assert_int_equal(neap_cgroup_move(&cgroup, "neap/besteffort", getpid(), &err), 0);
	assert_true(neap_cgroup_remove(&cgroup, "neap/besteffort", &err) < 0);
	assert_int_equal(err.errnum, EBUSY);
	for (int h = 0; h < trees[i].hierarchies; h++) {
		int fd = neap_cgroup_open(&cgroup, hierarchies[h], "neap/besteffort",
					  "cgroup.procs", O_WRONLY | O_TRUNC, &err);
		assert_true(fd >= 0);
		close(fd);
	}
	assert_true(neap_cgroup_remove(&cgroup, "neap", &err) < 0);
	assert_int_equal(err.errnum, EBUSY);
	assert_int_equal(neap_cgroup_remove(&cgroup, "neap/besteffort", &err), 0);
	assert_int_equal(neap_cgroup_remove(&cgroup, "neap/besteffort", &err), 0);
	assert_int_equal(neap_cgroup_remove(&cgroup, "neap", &err), 0);
	assert_true(neap_cgroup_open(&cgroup, NEAP_CTL_CPU, "neap", NULL, O_PATH, &err) <
		    0);
	assert_int_equal(err.errnum, ENOENT);
	neap_cgroup_done(&cgroup);
}

static void test_fake_v1(void **state)
{
	(void)state;
	check_tree(0);
}

static void test_fake_v2(void **state)
{
	(void)state;
	check_tree(1);
}

static void test_fake_mixed(void **state)
{
	(void)state;
	check_tree(2);
}

/* What is missing is told by name. */
static void test_missing(void **state)
{
	struct neap_cgroup cgroup;
	struct neap_error err;

	(void)state;
	assert_int_equal(neap_cgroup_probe(tree, &cgroup, &err), -NEAP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "controller cpu is not mounted below /tmp/"));
	assert_int_equal(neap_cgroup_probe("/nowhere", &cgroup, &err), -NEAP_ESYS);
	assert_non_null(strstr(err.msg, "/nowhere"));

	put("cpu/kubepods/cpu.shares", "2\n");
	put("cpu/kubepods/cpu.cfs_quota_us", "-1\n");
	assert_int_equal(neap_cgroup_probe(tree, &cgroup, &err), 0);
	neap_cgroup_probe_keys(&cgroup, "kubepods");
	assert_string_equal(cgroup.why_not[NEAP_KEY_CPU_BURST_USEC],
			    "cpu.cfs_burst_us: not on this kernel");
	assert_string_equal(cgroup.why_not[NEAP_KEY_MEMORY_MAX_BYTES],
			    "memory.max_bytes: controller memory is not mounted");
	assert_true(cgroup.supports & 1u << NEAP_KEY_CPU_SHARES);
	assert_false(cgroup.supports & 1u << NEAP_KEY_CPU_BURST_USEC);
	/* Without the group, another one tells. */
	neap_cgroup_probe_keys(&cgroup, "gone");
	assert_true(cgroup.supports & 1u << NEAP_KEY_CPU_SHARES);
	assert_string_equal(cgroup.why_not[NEAP_KEY_CPU_BURST_USEC],
			    "cpu.cfs_burst_us: not on this kernel");
	neap_cgroup_done(&cgroup);

	put("cgroup.controllers", "memory pids\n");
	assert_int_equal(neap_cgroup_probe(tree, &cgroup, &err), -NEAP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "controller cpu is not in"));
	put("cgroup.controllers", "cpu memory\n");
	put("kube/cgroup.controllers", "cpu\n");
	put("kube/cpu.max", "max 100000\n");
	assert_int_equal(neap_cgroup_probe(tree, &cgroup, &err), 0);
	neap_cgroup_probe_keys(&cgroup, "kube");
	assert_string_equal(
		cgroup.why_not[NEAP_KEY_MEMORY_MAX_BYTES],
		"memory.max: controller memory is not enabled in the parent group");
	neap_cgroup_done(&cgroup);
}

static const char *const bad_dirs[] = {
	"/neap",  "../neap", "neap/../..", "neap//a", ".",
	"neap/.", "neap/",   "link/a",     "neap\n",
};

/* Nothing outside the tree is opened, made or removed, whatever the name or the links in
 * it. */
static void test_escapes(void **state)
{
	struct neap_cgroup cgroup;
	struct neap_error err;
	char link[128];

	(void)state;
	plant_v1();
	put("outside/a/cpu.shares", "7\n");
	snprintf(link, sizeof(link), "%s/cpu/link", tree);
	assert_int_equal(symlink("../outside", link), 0);
	snprintf(link, sizeof(link), "%s/cpu/file", tree);
	assert_int_equal(symlink("cpu.shares", link), 0);
	assert_int_equal(neap_cgroup_probe(tree, &cgroup, &err), 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad_dirs); i++) {
		const char *dir = bad_dirs[i];

		if (neap_cgroup_open(&cgroup, NEAP_CTL_CPU, dir, "cpu.shares", O_RDONLY,
				     &err) >= 0 ||
		    neap_cgroup_make(&cgroup, dir, NULL, &err) == 0 ||
		    neap_cgroup_move(&cgroup, dir, getpid(), &err) == 0)
			fail_msg("'%s' was taken", dir);
	}
	assert_true(neap_cgroup_open(&cgroup, NEAP_CTL_CPU, "", "file", O_RDONLY, &err) <
		    0);
	assert_true(neap_cgroup_open(&cgroup, NEAP_CTL_CPU, "", "../cpu/cpu.shares",
				     O_RDONLY, &err) < 0);
	assert_int_equal(neap_cgroup_move(&cgroup, "neap", 0, &err), -NEAP_EINVAL);
	assert_int_equal(neap_cgroup_move(&cgroup, "neap", -1, &err), -NEAP_EINVAL);
	snprintf(link, sizeof(link), "%s/outside/a/cpu.shares", tree);
	assert_int_equal(access(link, F_OK), 0);
	neap_cgroup_done(&cgroup);
}

static void skip_without_cgroups(struct neap_cgroup *cgroup)
{
	struct neap_error err;

	if (geteuid() != 0) {
		print_message("# SKIP real cgroups: needs root\n");
		skip();
	}
	if (neap_cgroup_probe(NULL, cgroup, &err) < 0) {
		print_message("# SKIP real cgroups: %s\n", err.msg);
		skip();
	}
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_real(void **state)
{
	enum neap_controller hierarchies[NEAP_CTL_COUNT];
	char top[64], dir[80], text[4096], path[64];
	struct neap_cgroup cgroup;
	struct neap_error err;
	bool made = false;
	int r, count, fd;
	pid_t pid;

	(void)state;
	skip_without_cgroups(&cgroup);
	snprintf(top, sizeof(top), "neap-test-%d", (int)getpid());
	snprintf(dir, sizeof(dir), "%s/a", top);
	r = neap_cgroup_make(&cgroup, dir, &made, &err);
	if (r < 0 && (err.errnum == EROFS || err.errnum == EACCES ||
		      err.errnum == EPERM || err.errnum == EBUSY)) {
		print_message("# SKIP real cgroups: %s\n", err.msg);
		(void)neap_cgroup_remove(&cgroup, dir, &err); /* what was made before */
		(void)neap_cgroup_remove(&cgroup, top, &err);
		neap_cgroup_done(&cgroup);
		skip();
	}
	if (r < 0)
		fail_msg("%s", err.msg);
	assert_true(made);
	neap_cgroup_probe_keys(&cgroup, dir);
	for (int key = 0; key < NEAP_KEY_COUNT; key++) {
		bool v2;
		const char *file =
			neap_cgroup_file(&cgroup, (enum neap_key)key, NULL, &v2);

		if (cgroup.supports & 1u << key)
			assert_non_null(file);
		else
			assert_true(strlen(cgroup.why_not[key]) > 0);
	}

	pid = start_child();
	r = neap_cgroup_move(&cgroup, dir, pid, &err);
	if (r < 0)
		fail_msg("%s", err.msg);
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	r = (int)read(fd, text, sizeof(text) - 1);
	assert_true(r > 0);
	text[r] = '\0';
	close(fd);
	count = neap_cgroup_hierarchies(&cgroup, hierarchies);
	for (char *at = strstr(text, dir); at; at = strstr(at + 1, dir))
		count--;
	assert_int_equal(count, 0);

	assert_true(neap_cgroup_remove(&cgroup, dir, &err) < 0);
	assert_int_equal(err.errnum, EBUSY);
	end_child(pid);
	assert_int_equal(neap_cgroup_move(&cgroup, dir, pid, &err), -NEAP_ESYS);
	assert_int_equal(err.errnum, ESRCH);
	assert_int_equal(neap_cgroup_remove(&cgroup, dir, &err), 0);
	assert_int_equal(neap_cgroup_remove(&cgroup, top, &err), 0);
	assert_int_equal(neap_cgroup_move(&cgroup, top, getpid(), &err), -NEAP_ESYS);
	assert_int_equal(err.errnum, ENOENT);
	neap_cgroup_done(&cgroup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fake_v1, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fake_v2, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fake_mixed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_escapes, setup, teardown),
		cmocka_unit_test(test_real),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
