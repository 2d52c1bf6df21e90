/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of cgroup directories, built and parsed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/machine/path.h"

#define CGROUPFS   NEAP_DRIVER_CGROUPFS
#define SYSTEMD    NEAP_DRIVER_SYSTEMD
#define GUARANTEED NEAP_KUBE_GUARANTEED
#define BURSTABLE  NEAP_KUBE_BURSTABLE
#define BESTEFFORT NEAP_KUBE_BESTEFFORT

/* want NULL: an error. */
static void expect(const char *row, int rc, const char *got, const char *want)
{
	if (want == NULL && rc < 0)
		return;
	if (want == NULL || rc < 0 || strcmp(got, want) != 0)
		fail_msg("%s: rc %d, '%s' instead of '%s'", row, rc, rc < 0 ? "" : got,
			 want == NULL ? "an error" : want);
}

static void pod_dirs(void **state)
{
	static const struct {
		enum neap_cgroup_driver driver;
		const char *root;
		enum neap_kube_qos qos;
		const char *uid, *want;
	} rows[] = {
		{SYSTEMD, "kubepods.slice", GUARANTEED, "uid1",
		 "kubepods.slice/kubepods-poduid1.slice"},
		{SYSTEMD, "kubepods.slice", BESTEFFORT, "uid1",
		 "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poduid1.slice"},
		{SYSTEMD, "kubepods.slice", BURSTABLE, "a-b-c",
		 "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_b_c.slice"},
		{SYSTEMD, "kubelet.slice/kubelet-kubepods.slice", BESTEFFORT, "x",
		 "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
		 "kubelet-kubepods-besteffort-podx.slice"},
		{CGROUPFS, "kubepods", GUARANTEED, "uid1", "kubepods/poduid1"},
		{CGROUPFS, "kubepods", BURSTABLE, "a-b", "kubepods/burstable/poda-b"},
		{CGROUPFS, "neap", BESTEFFORT, "job", "neap/besteffort/podjob"},
		{CGROUPFS, "kubepods", BESTEFFORT, "", NULL},
		{CGROUPFS, "kubepods", BESTEFFORT, "..", NULL},
		{CGROUPFS, "kubepods", BESTEFFORT, "a/b", NULL},
		{SYSTEMD, "kubepods.slice", BESTEFFORT, "../x", NULL},
		{SYSTEMD, "kubepods.slice", BESTEFFORT, "a\nb", NULL},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char buf[NEAP_PATH_MAX];
		struct neap_error err;
		int rc = neap_path_pod_dir(rows[i].driver, rows[i].root, rows[i].qos,
					   rows[i].uid, buf, sizeof(buf), &err);

		expect(rows[i].uid, rc, buf, rows[i].want);
		if (rc == 0)
			assert_true(neap_path_is_safe(buf));
	}
}

static void too_long(void **state)
{
	char uid[300], buf[NEAP_PATH_MAX];
	struct neap_error err;

	(void)state;
	memset(uid, 'u', sizeof(uid) - 1);
	uid[sizeof(uid) - 1] = '\0';
	assert_int_equal(neap_path_pod_dir(SYSTEMD, "kubepods.slice", BESTEFFORT, uid,
					   buf, sizeof(buf), &err),
			 -NEAP_EINVAL);
	for (size_t size = 0; size < strlen("kubepods/podabc") + 1; size++)
		assert_int_equal(neap_path_pod_dir(CGROUPFS, "kubepods", GUARANTEED,
						   "abc", buf, size, &err),
				 -NEAP_ETOOLARGE);
	assert_int_equal(neap_path_pod_dir(CGROUPFS, "kubepods", GUARANTEED, "abc", buf,
					   strlen("kubepods/podabc") + 1, &err),
			 0);
}

static void parse_back(void **state)
{
	static const struct {
		bool is_pod;
		enum neap_cgroup_driver driver;
		const char *name, *want;
	} rows[] = {
		{true, SYSTEMD, "kubepods-besteffort-pod12345.slice", "12345"},
		{true, SYSTEMD, "kubepods-burstable-pod12345.slice", "12345"},
		{true, SYSTEMD, "kubepods-pod12345.slice", "12345"},
		{true, SYSTEMD, "kubelet-pods-podab_cd.slice", "ab_cd"},
		{true, SYSTEMD, "pod12345", NULL},
		{true, SYSTEMD, "pod12345.slice", NULL},
		{true, SYSTEMD, "kubepods-pod.slice", NULL},
		{true, SYSTEMD, "kubepods-pod12345", NULL},
		{true, SYSTEMD, "kubepods-besteffort.slice", NULL},
		{true, SYSTEMD, "", NULL},
		{true, CGROUPFS, "pod12345", "12345"},
		{true, CGROUPFS, "pod", NULL},
		{true, CGROUPFS, "po", NULL},
		{true, CGROUPFS, "", NULL},
		{true, CGROUPFS, "12345", NULL},
		{true, CGROUPFS, "besteffort", NULL},
		{true, CGROUPFS, "podx/y", NULL},
		{false, SYSTEMD, "docker-12345.scope", "12345"},
		{false, SYSTEMD, "cri-containerd-12345.scope", "12345"},
		{false, SYSTEMD, "pouch-12345.scope", "12345"},
		{false, SYSTEMD, "crio-12345.scope", "12345"},
		{false, SYSTEMD, "crio-conmon-12345.scope", NULL},
		{false, SYSTEMD, "12345", NULL},
		{false, SYSTEMD, "docker-12345", NULL},
		{false, SYSTEMD, "docker-.scope", NULL},
		{false, SYSTEMD, "12345.scope", NULL},
		{false, CGROUPFS, "12345", "12345"},
		{false, CGROUPFS, "", NULL},
		{false, CGROUPFS, "a/b", NULL},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char buf[64];
		struct neap_error err;
		int rc = rows[i].is_pod
				 ? neap_path_parse_pod(rows[i].driver, rows[i].name, buf,
						       sizeof(buf), &err)
				 : neap_path_parse_container(rows[i].driver, rows[i].name,
							     buf, sizeof(buf), &err);

		expect(rows[i].name, rc, buf, rows[i].want);
	}
}

static void host_apps(void **state)
{
	static const struct {
		enum neap_cgroup_driver driver;
		struct neap_host_app app;
		const char *want;
	} rows[] = {
		{SYSTEMD, {.name = "a", .qos = NEAP_QOS_LS}, "host-latency-sensitive/a"},
		{SYSTEMD, {.name = "a", .qos = NEAP_QOS_LSR}, "host-latency-sensitive/a"},
		{SYSTEMD, {.name = "a", .qos = NEAP_QOS_LSE}, "host-latency-sensitive/a"},
		{CGROUPFS, {.name = "a", .qos = NEAP_QOS_BE}, "host-best-effort/a"},
		{CGROUPFS, {.name = "a", .qos = NEAP_QOS_SYSTEM}, "a"},
		{CGROUPFS, {.name = "a/b", .qos = NEAP_QOS_BE}, NULL},
		{CGROUPFS, {.name = "..", .qos = NEAP_QOS_BE}, NULL},
		{CGROUPFS, {.name = "", .qos = NEAP_QOS_BE}, NULL},
		{SYSTEMD,
		 {"a", NEAP_QOS_LS, true, NEAP_BASE_CGROUP_ROOT, "p", "r"},
		 "p/r"},
		{SYSTEMD,
		 {"a", NEAP_QOS_LS, true, NEAP_BASE_KUBEPODS, "p", "r"},
		 "kubepods.slice/p/r"},
		{SYSTEMD,
		 {"a", NEAP_QOS_LS, true, NEAP_BASE_KUBEPODS_BURSTABLE, "p", "r"},
		 "kubepods.slice/kubepods-burstable.slice/p/r"},
		{SYSTEMD,
		 {"a", NEAP_QOS_BE, true, NEAP_BASE_KUBEPODS_BESTEFFORT, "p", "r"},
		 "kubepods.slice/kubepods-besteffort.slice/p/r"},
		{CGROUPFS,
		 {"a", NEAP_QOS_BE, true, NEAP_BASE_KUBEPODS_BESTEFFORT, "p", "r"},
		 "kubepods/besteffort/p/r"},
		{CGROUPFS,
		 {"a", NEAP_QOS_LS, true, NEAP_BASE_KUBEPODS_BURSTABLE, "", "r"},
		 "kubepods/burstable/r"},
		{CGROUPFS,
		 {"a", NEAP_QOS_LS, true, NEAP_BASE_KUBEPODS, "p", ""},
		 "kubepods/p"},
		{CGROUPFS,
		 {"a", NEAP_QOS_LS, true, NEAP_BASE_CGROUP_ROOT, "/p//q/", "./r/"},
		 "p/q/r"},
		{CGROUPFS,
		 {"a", NEAP_QOS_LS, true, NEAP_BASE_CGROUP_ROOT, "p", "../.."},
		 NULL},
		{CGROUPFS, {"a", NEAP_QOS_LS, true, NEAP_BASE_CGROUP_ROOT, "", ""}, NULL},
		{CGROUPFS,
		 {"a", NEAP_QOS_LS, true, NEAP_BASE_CGROUP_ROOT, "/", "."},
		 NULL},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char buf[NEAP_PATH_MAX], row[32];
		struct neap_error err;
		int rc = neap_path_host_app(rows[i].driver, &rows[i].app, buf,
					    sizeof(buf), &err);

		(void)snprintf(row, sizeof(row), "row %zu", i);
		expect(row, rc, buf, rows[i].want);
	}
}

static void safe(void **state)
{
	static const struct {
		const char *path;
		bool safe, kube_class;
		int depth;
	} rows[] = {
		{"a", true, false, 1},
		{"a/b.c/..d", true, false, 3},
		{"kubepods", true, true, 1},
		{"kubepods/besteffort", true, true, 2},
		{"kubepods/burstable", true, true, 2},
		{"kubepods/podx", true, false, 2},
		{"x/kubepods/besteffort", true, true, 3},
		{"xkubepods/besteffort", true, false, 2},
		{"besteffort", true, false, 1},
		{"neap/besteffort", true, false, 2},
		{"kubepods.slice", true, true, 1},
		{"kubepods.slice/kubepods-besteffort.slice", true, true, 2},
		{"k.slice/k-kubepods.slice/k-kubepods-burstable.slice", true, true, 3},
		{"kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podx.slice",
		 true, false, 3},
		{"", false, false, 0},
		{".", false, false, 1},
		{"..", false, false, 1},
		{"/", false, false, 2},
		{"/a", false, false, 2},
		{"a/", false, false, 2},
		{"a//b", false, false, 3},
		{"a/./b", false, false, 3},
		{"a/../b", false, false, 3},
		{"a\nb", false, false, 1},
		{"a\x7f", false, false, 1},
		{"a/\x1b", false, false, 2},
	};
	char longest[NEAP_PATH_MAX + 1];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (neap_path_is_safe(rows[i].path) != rows[i].safe ||
		    neap_path_is_kube_class(rows[i].path) != rows[i].kube_class ||
		    neap_path_depth(rows[i].path) != rows[i].depth)
			fail_msg("'%s'", rows[i].path);
	memset(longest, 'x', sizeof(longest));
	longest[255] = '\0';
	assert_true(neap_path_is_safe(longest));
	longest[255] = 'x';
	longest[256] = '\0';
	assert_false(neap_path_is_safe(longest));
	for (size_t i = 1; i < sizeof(longest); i += 2)
		longest[i] = '/';
	longest[256] = 'x';
	longest[511] = '\0';
	assert_true(neap_path_is_safe(longest));
	longest[511] = '/';
	longest[512] = '\0';
	assert_false(neap_path_is_safe(longest));
}

static void below(void **state)
{
	static const struct {
		const char *path, *dir;
		bool want;
	} rows[] = {
		{"a", "a", true},    {"a/b", "a", true},     {"ab", "a", false},
		{"a", "a/b", false}, {"a/../b", "a", false}, {"a/b", "", false},
		{"", "", false},     {"a/b", "a/", false},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (neap_path_is_below(rows[i].path, rows[i].dir) != rows[i].want)
			fail_msg("'%s' in '%s'", rows[i].path, rows[i].dir);
}

static void names(void **state)
{
	struct neap_error err;
	enum neap_kube_qos kube_qos;
	enum neap_host_base base;

	(void)state;
	for (int qos = NEAP_QOS_NONE; qos <= NEAP_QOS_SYSTEM; qos++)
		assert_int_equal(neap_qos_parse(neap_qos_name((enum neap_qos)qos)), qos);
	assert_int_equal(neap_qos_parse("be"), NEAP_QOS_NONE);
	for (int qos = GUARANTEED; qos <= BESTEFFORT; qos++) {
		assert_int_equal(
			neap_kube_qos_parse(neap_kube_qos_name((enum neap_kube_qos)qos),
					    &kube_qos, &err),
			0);
		assert_int_equal(kube_qos, qos);
	}
	assert_int_equal(neap_kube_qos_parse("", &kube_qos, &err), -NEAP_EINVAL);
	assert_int_equal(neap_host_base_parse("KubepodsBesteffort", &base, &err), 0);
	assert_int_equal(base, NEAP_BASE_KUBEPODS_BESTEFFORT);
	assert_int_equal(neap_host_base_parse("kubepods", &base, &err), -NEAP_EINVAL);
	assert_string_equal(neap_path_kube_root(CGROUPFS), "kubepods");
	assert_string_equal(neap_path_kube_root(SYSTEMD), "kubepods.slice");
}

static void containers(void **state)
{
	static const struct {
		const char *root, *path;
		bool is;
	} rows[] = {
		{"kubepods", "kubepods", false},
		{"kubepods", "kubepods/podx", false},
		{"kubepods", "kubepods/podx/c", true},
		{"kubepods", "kubepods/besteffort", false},
		{"kubepods", "kubepods/besteffort/podx", false},
		{"kubepods", "kubepods/besteffort/podx/c", true},
		{"kubepods", "kubepods/besteffort/podx/c/sub", true},
		{"kubepods", "other/podx/c", false},
		{"podman/kubepods", "podman/kubepods/besteffort/podx", false},
		{"podman/kubepods", "podman/kubepods/besteffort/podx/c", true},
		{"kubepods.slice",
		 "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podx.slice",
		 false},
		{"kubepods.slice",
		 "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podx.slice/"
		 "cri-containerd-c.scope",
		 true},
		{"kubepods.slice", "kubepods.slice/kubepods-besteffort.slice", false},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (neap_path_is_container(rows[i].root, rows[i].path) != rows[i].is)
			fail_msg("%s: %d", rows[i].path, !rows[i].is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers), cmocka_unit_test(pod_dirs),
		cmocka_unit_test(too_long),   cmocka_unit_test(parse_back),
		cmocka_unit_test(host_apps),  cmocka_unit_test(safe),
		cmocka_unit_test(below),      cmocka_unit_test(names),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
