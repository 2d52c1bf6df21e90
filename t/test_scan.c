/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods and containers found in trees of both drivers, and what a second look sees. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "hw/scan.h"

#define ID          "77aa000000000000000000000000000000000000000000000000000000000001"
#define ID2         "77aa000000000000000000000000000000000000000000000000000000000002"
#define UID         "11111111-2222-3333-4444-555555555555"
#define UID_SYSTEMD "11111111_2222_3333_4444_555555555555"

static char tree[64];
static struct neap_cgroup cgroup;

static void make(const char *path)
{
	char full[1024];

	snprintf(full, sizeof(full), "%s/%s", tree, path);
	for (char *at = strchr(full + strlen(tree) + 1, '/'); at;
	     at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(full, 0755); /* there already is fine */
		*at = '/';
	}
	(void)mkdir(full, 0755); /* there already is fine */
}

static void take_away(const char *path)
{
	char full[1024];

	snprintf(full, sizeof(full), "%s/%s", tree, path);
	assert_int_equal(rmdir(full), 0);
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
	struct neap_error err;
	char path[128];
	FILE *file;

	(void)state;
	snprintf(tree, sizeof(tree), "/tmp/neap-test-XXXXXX");
	if (!mkdtemp(tree))
		return -1;
	snprintf(path, sizeof(path), "%s/cgroup.controllers", tree);
	file = fopen(path, "we");
	if (!file)
		return -1;
	fputs("cpu\n", file);
	fclose(file);
	return neap_cgroup_probe(tree, &cgroup, &err);
}

static int teardown(void **state)
{
	(void)state;
	neap_cgroup_done(&cgroup);
	return nftw(tree, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static const struct neap_tree trees[] = {
	{"kubepods", NEAP_DRIVER_CGROUPFS, false},
	{"kubepods.slice", NEAP_DRIVER_SYSTEMD, false},
	{"neap", NEAP_DRIVER_CGROUPFS, true},
};

static const struct {
	const char *dir, *uid;
	int tree;
	enum neap_kube_qos qos;
	const char *container; /* below dir; NULL none */
} pods[] = {
	{"kubepods/besteffort/pod" UID, UID, 0, NEAP_KUBE_BESTEFFORT, ID},
	{"kubepods/burstable/pod" UID, UID, 0, NEAP_KUBE_BURSTABLE, NULL},
	{"kubepods/pod" UID, UID, 0, NEAP_KUBE_GUARANTEED, ID},
	{"kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_SYSTEMD
	 ".slice",
	 UID, 1, NEAP_KUBE_BESTEFFORT, "cri-containerd-" ID ".scope"},
	{"kubepods.slice/kubepods-pod" UID_SYSTEMD ".slice", UID, 1, NEAP_KUBE_GUARANTEED,
	 "cri-containerd-" ID ".scope"},
	{"neap/besteffort/pod" UID, UID, 2, NEAP_KUBE_BESTEFFORT, NULL},
};

static void plant(void)
{
	char path[700];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(pods); i++) {
		snprintf(path, sizeof(path), "%s/%s", pods[i].dir,
			 pods[i].container ? pods[i].container : "");
		make(path);
	}
	/* What is no pod and no container. */
	make("kubepods/besteffort/other");
	make("kubepods.slice/kubepods-pod" UID_SYSTEMD ".slice/crio-conmon-" ID ".scope");
	make("elsewhere/pod" UID);
}

static const struct neap_scan_pod *find(const struct neap_scan *scan, const char *dir)
{
	for (size_t i = 0; i < neap_scan_pod_count(scan); i++) {
		if (!strcmp(neap_scan_pod_get(scan, i)->dir, dir))
			return neap_scan_pod_get(scan, i);
	}
	return NULL;
}

static void check_all(const struct neap_scan *scan)
{
	if (neap_scan_pod_count(scan) != NEAP_ARRAY_LEN(pods)) {
		for (size_t i = 0; i < neap_scan_pod_count(scan); i++)
			print_message("# %s\n", neap_scan_pod_get(scan, i)->dir);
		fail_msg("%zu pods", neap_scan_pod_count(scan));
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(pods); i++) {
		const struct neap_scan_pod *pod = find(scan, pods[i].dir);

		if (!pod)
			fail_msg("%s: not found", pods[i].dir);
		assert_string_equal(pod->uid, pods[i].uid);
		assert_string_equal(pod->tree->root, trees[pods[i].tree].root);
		assert_int_equal(pod->kube_qos, pods[i].qos);
		if (pod->container_count != (pods[i].container != NULL))
			fail_msg("%s: %zu containers", pods[i].dir, pod->container_count);
		if (pods[i].container)
			assert_string_equal(pod->containers[0].name, pods[i].container);
	}
	for (size_t i = 1; i < neap_scan_pod_count(scan); i++)
		assert_true(strcmp(neap_scan_pod_get(scan, i - 1)->dir,
				   neap_scan_pod_get(scan, i)->dir) < 0);
}

static void test_look(void **state)
{
	struct neap_scan *scan;
	struct neap_error err;

	(void)state;
	assert_int_equal(
		neap_scan_new(&cgroup, trees, NEAP_ARRAY_LEN(trees), &scan, &err), 0);
	assert_int_equal(neap_scan_look(scan, &err),
			 0); /* no tree is there yet: not an error */
	assert_int_equal(neap_scan_pod_count(scan), 0);
	assert_null(neap_scan_pod_get(scan, 0));

	plant();
	assert_int_equal(neap_scan_look(scan, &err), 1);
	check_all(scan);
	for (int i = 0; i < 25; i++) /* over two full looks */
		assert_int_equal(neap_scan_look(scan, &err), 0);
	check_all(scan);

	make("kubepods/burstable/pod" UID "/" ID);
	assert_int_equal(neap_scan_look(scan, &err), 1);
	assert_int_equal(find(scan, "kubepods/burstable/pod" UID)->container_count, 1);
	take_away("kubepods/burstable/pod" UID "/" ID);
	take_away("kubepods/burstable/pod" UID);
	assert_int_equal(neap_scan_look(scan, &err), 1);
	assert_null(find(scan, "kubepods/burstable/pod" UID));
	assert_non_null(find(scan, "kubepods/pod" UID));
	assert_int_equal(find(scan, "kubepods/pod" UID)->container_count, 1);
	assert_int_equal(neap_scan_look(scan, &err), 0);
	make("kubepods/burstable/pod" UID);
	assert_int_equal(neap_scan_look(scan, &err), 1);
	check_all(scan);
	neap_scan_free(scan);
	neap_scan_free(NULL);
}

/* On the kernel's own groups: with a watch for each directory, with descriptors alone (no
 * inotify instance is left), with few of both, and with none. */

#define INSTANCES_MAX 1024

enum means { WATCHES, DESCRIPTORS, FEW, PATHS };

static const struct {
	const char *name;
	enum means means;
	int looks; /* within which every change must be seen */
} modes[] = {
	{"watches", WATCHES, 1},
	{"descriptors", DESCRIPTORS, 10},
	{"few descriptors", FEW, 10},
	{"paths", PATHS, 10},
};

/* What happens between two looks; "" is the pod itself. */
static const struct {
	const char *name;
	const char *remove, *make;
	size_t containers;
	bool is_slow; /* leaves the links of the directory as they were */
} changes[] = {
	{"a container comes", NULL, "/" ID, 1, false},
	{"another comes", NULL, "/" ID2, 2, false},
	{"one goes", "/" ID, NULL, 1, false},
	{"one goes, one comes", "/" ID2, "/" ID, 1, true},
	{"the last goes", "/" ID, NULL, 0, false},
	{"the empty pod is made anew", "", "", 0, true},
	{"and gets a container", NULL, "/" ID, 1, false},
};

static int open_instances(int *fds)
{
	int count = 0;

	while (count < INSTANCES_MAX && (fds[count] = inotify_init1(IN_CLOEXEC)) >= 0)
		count++;
	return count;
}

static void start_scan(enum means means, const struct neap_cgroup *machine,
		       const struct neap_tree *root, struct neap_scan **ret)
{
	static int fds[INSTANCES_MAX];
	struct rlimit before, limit;
	struct neap_error err;
	int count = means == DESCRIPTORS ? open_instances(fds) : 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	if (means == FEW || means == PATHS)
		limit.rlim_cur = means == FEW ? 20 : 7;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(neap_scan_new(machine, root, 1, ret, &err), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	while (count > 0)
		close(fds[--count]);
}

static void change_and_look(struct neap_scan *scan, const char *pod, size_t index,
			    const char *mode, int looks)
{
	char at[1024];
	struct neap_error err;
	int seen = 0, rc = 0;

	if (changes[index].remove) {
		snprintf(at, sizeof(at), "%s%s", pod, changes[index].remove);
		assert_int_equal(rmdir(at), 0);
	}
	if (changes[index].make) {
		snprintf(at, sizeof(at), "%s%s", pod, changes[index].make);
		assert_int_equal(mkdir(at, 0755), 0);
	}
	if (!changes[index].is_slow)
		looks = 1;
	for (; rc == 0 && seen < looks; seen++)
		rc = neap_scan_look(scan, &err);
	if (rc != 1)
		fail_msg("%s, %s: not seen in %d looks (%d)", mode, changes[index].name,
			 looks, rc);
	assert_int_equal(neap_scan_pod_count(scan), 1);
	if (neap_scan_pod_get(scan, 0)->container_count != changes[index].containers)
		fail_msg("%s, %s: %zu containers", mode, changes[index].name,
			 neap_scan_pod_get(scan, 0)->container_count);
	for (int i = 0; i < 120; i++)
		assert_int_equal(neap_scan_look(scan, &err), 0);
}

static void test_machine(void **state)
{
	struct neap_cgroup machine;
	struct neap_tree root = {.driver = NEAP_DRIVER_CGROUPFS, .is_own = true};
	struct neap_error err;
	char top[600], pod[800], container[900];

	(void)state;
	if (geteuid() != 0) {
		print_message("# skipped: needs root\n");
		skip();
	}
	if (neap_cgroup_probe(NULL, &machine, &err) < 0) {
		print_message("# skipped: %s\n", err.msg);
		skip();
	}
	snprintf(root.root, sizeof(root.root), "neap-test-scan-%d", (int)getpid());
	snprintf(top, sizeof(top), "%s/%s", machine.mount[NEAP_CTL_CPU].path, root.root);
	snprintf(pod, sizeof(pod), "%s/pod" UID, top);
	snprintf(container, sizeof(container), "%s/" ID, pod);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(modes); i++) {
		struct neap_scan *scan;

		start_scan(modes[i].means, &machine, &root, &scan);
		assert_int_equal(neap_scan_look(scan, &err), 0);
		assert_int_equal(mkdir(top, 0755), 0);
		assert_int_equal(mkdir(pod, 0755), 0);
		assert_int_equal(neap_scan_look(scan, &err), 1);
		for (size_t j = 0; j < NEAP_ARRAY_LEN(changes); j++)
			change_and_look(scan, pod, j, modes[i].name, modes[i].looks);
		/* Everything made anew, the tree's root too, and somebody says so. */
		assert_int_equal(rmdir(container), 0);
		assert_int_equal(rmdir(pod), 0);
		assert_int_equal(rmdir(top), 0);
		assert_int_equal(mkdir(top, 0755), 0);
		assert_int_equal(mkdir(pod, 0755), 0);
		neap_scan_doubt(scan);
		assert_int_equal(neap_scan_look(scan, &err), 1);
		assert_int_equal(neap_scan_pod_get(scan, 0)->container_count, 0);
		assert_int_equal(rmdir(pod), 0);
		assert_int_equal(neap_scan_look(scan, &err), 1);
		assert_int_equal(neap_scan_pod_count(scan), 0);
		assert_int_equal(rmdir(top), 0);
		neap_scan_free(scan);
	}
	neap_cgroup_done(&machine);
}

static void test_bad_trees(void **state)
{
	static const struct neap_tree bad[] = {{"../etc", NEAP_DRIVER_CGROUPFS, false}};
	struct neap_scan *scan = NULL;
	struct neap_error err;

	(void)state;
	assert_true(neap_scan_new(&cgroup, bad, 1, &scan, &err) < 0);
	assert_null(scan);
}

static void test_find_kubelet(void **state)
{
	/* In this order: what stands behind wins over what was there before. */
	static const struct {
		const char *group, *root; /* NULL: none is found */
		enum neap_cgroup_driver driver;
	} rows[] = {
		{"docker/77aa/kubelet/kubepods/burstable", NULL},
		{"docker/77aa/kubelet/kubepods/besteffort", NULL},
		{"own/kubepods/burstable", NULL},
		{"own/kubepods/besteffort", "own/kubepods", NEAP_DRIVER_CGROUPFS},
		{"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice",
		 "own/kubepods", NEAP_DRIVER_CGROUPFS},
		{"kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice",
		 "kubelet.slice/kubelet-kubepods.slice", NEAP_DRIVER_SYSTEMD},
		{"kubepods/burstable", "kubelet.slice/kubelet-kubepods.slice",
		 NEAP_DRIVER_SYSTEMD},
		{"kubepods/besteffort", "kubepods", NEAP_DRIVER_CGROUPFS},
		{"kubepods.slice/kubepods-burstable.slice", "kubepods",
		 NEAP_DRIVER_CGROUPFS},
		{"kubepods.slice/kubepods-besteffort.slice", "kubepods.slice",
		 NEAP_DRIVER_SYSTEMD},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_tree found = {.is_own = true};

		make(rows[i].group);
		if (neap_scan_find_kubelet(&cgroup, &found) != (rows[i].root != NULL))
			fail_msg("with %s: found %s", rows[i].group, found.root);
		if (rows[i].root == NULL)
			continue;
		assert_string_equal(found.root, rows[i].root);
		assert_int_equal(found.driver, rows[i].driver);
		assert_false(found.is_own);
	}
}

/* After a look that failed anywhere the next one sees everything. */
static void test_torture(void **state)
{
	struct neap_error err;
	int failed = 1;

	(void)state;
	plant();
	for (uint64_t n = 1; failed; n++) {
		struct neap_scan *scan = NULL;

		assert_true(n < 200);
		failed = 0;
		neap_mem_fail_at(n);
		if (neap_scan_new(&cgroup, trees, NEAP_ARRAY_LEN(trees), &scan, &err) <
		    0) {
			failed = 1;
		} else if (neap_scan_look(scan, &err) < 0) {
			failed = 1;
			assert_int_equal(err.code, NEAP_ENOMEM);
			neap_mem_fail_at(0);
			assert_int_equal(neap_scan_look(scan, &err), 1);
			check_all(scan);
		}
		neap_mem_fail_at(0);
		neap_scan_free(scan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_look, setup, teardown),
		cmocka_unit_test(test_machine),
		cmocka_unit_test_setup_teardown(test_bad_trees, setup, teardown),
		cmocka_unit_test_setup_teardown(test_find_kubelet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_torture, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
