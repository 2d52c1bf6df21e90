/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods and containers found in trees of both drivers, and what a second look sees. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "hw/scan.h"

#define ID          "77aa000000000000000000000000000000000000000000000000000000000001"
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
	struct neap_tree found;

	(void)state;
	assert_false(neap_scan_find_kubelet(&cgroup, &found));
	make("kubepods/burstable");
	assert_false(neap_scan_find_kubelet(&cgroup, &found));
	make("kubepods/besteffort");
	assert_true(neap_scan_find_kubelet(&cgroup, &found));
	assert_string_equal(found.root, "kubepods");
	assert_int_equal(found.driver, NEAP_DRIVER_CGROUPFS);
	assert_false(found.is_own);
	make("kubepods.slice/kubepods-burstable.slice");
	make("kubepods.slice/kubepods-besteffort.slice");
	assert_true(neap_scan_find_kubelet(&cgroup, &found));
	assert_string_equal(found.root, "kubepods.slice");
	assert_int_equal(found.driver, NEAP_DRIVER_SYSTEMD);
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
		cmocka_unit_test_setup_teardown(test_bad_trees, setup, teardown),
		cmocka_unit_test_setup_teardown(test_find_kubelet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_torture, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
