/* SPDX-License-Identifier: Apache-2.0
 *
 * neapctl doctor beside a kubelet with a folder of its own, a configuration that it was
 * named from where it was started, a runtime elsewhere, and groups below a cgroupRoot. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/ctl/doctor/doctor.h"
#include "engine/base/mem.h"

#define CGROUPS "/sys/fs/cgroup/"
#define SLICE   CGROUPS "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-"

static char root[64];
static struct neap_config config;
static struct neap_doctor doctor;
static struct neap_findings findings;

static const char *const common[][2] = {
	{"/proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"},
	{CGROUPS "cgroup.controllers", "cpuset cpu io memory pids\n"},
	{SLICE "besteffort.slice/cpu.weight", "1\n"},
	{SLICE "burstable.slice/cpu.weight", "1\n"},
	{"/proc/811/comm", "containerd\n"},
	{"/proc/812/comm", "kubelet\n"},
	{"/opt/node/etc/k.yaml", "cpuManagerPolicy: static\ncgroupRoot: /kubelet\n"},
	{"/opt/node/data/config.yaml", "cpuManagerPolicy: static\n"},
	{"/opt/node/data/cpu_manager_state",
	 "{\"policyName\":\"static\",\"defaultCpuSet\":\"0\",\"entries\":"
	 "{\"u1\":{\"main\":\"1\"}}}"},
};

struct want {
	enum neap_finding_level level;
	const char *check, *part; /* "": there is no such finding */
};

static const struct row {
	const char *name;
	const char *cwd;     /* of the kubelet, NULL: not to be seen */
	const char *command; /* a blank parts words */
	struct want want[5];
} rows[] = {
	{"relative paths",
	 "/opt/node",
	 "kubelet --config etc/k.yaml --root-dir=data "
	 "--container-runtime-endpoint=unix:///opt/run/cd.sock",
	 {{NEAP_FINDING_OK, "others.kubelet-config", ""},
	  {NEAP_FINDING_NOTE, "others.cpu-manager",
	   "assigned CPUs 1 to single pods (the others share 0)"},
	  {NEAP_FINDING_OK, "others.runtime", "container runtime at /opt/run/cd.sock"},
	  {NEAP_FINDING_OK, "others.pods",
	   "below kubelet.slice/kubelet-kubepods.slice, laid out"}}},
	{"the configuration lies in its folder; a process tells that there is a runtime",
	 NULL,
	 "kubelet --root-dir /opt/node/data",
	 {{NEAP_FINDING_OK, "others.kubelet-config", ""},
	  {NEAP_FINDING_NOTE, "others.cpu-manager", "assigned CPUs 1 to single pods"},
	  {NEAP_FINDING_OK, "others.runtime",
	   "containerd runs (pid 811), with a socket of its own"}}},
	{"nothing is claimed of another file of that name",
	 NULL,
	 "kubelet --config etc/k.yaml",
	 {{NEAP_FINDING_WARNING, "others.kubelet-config",
	   "relative to the kubelet's working directory"}}},
	{"its state is not there",
	 "/opt",
	 "kubelet --config node/etc/k.yaml --root-dir node",
	 {{NEAP_FINDING_WARNING, "others.cpu-manager",
	   "/opt/node/cpu_manager_state: No such file"}}},
};

/* A file with its folders. */
static void put(const char *path, const char *text, size_t len)
{
	char whole[512], *slash;
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(whole, 0755);
		*slash = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	fclose(file);
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void start(const struct row *row)
{
	char command[256], link[128];
	size_t i, len = strlen(row->command) + 1;

	for (i = 0; i < len; i++)
		command[i] = row->command[i] == ' ' ? '\0' : row->command[i];
	put("/proc/812/cmdline", command, len);
	snprintf(link, sizeof(link), "%s/proc/812/cwd", root);
	(void)unlink(link);
	if (row->cwd)
		assert_int_equal(symlink(row->cwd, link), 0);
}

static void check(const char *name, const struct want *want)
{
	const struct neap_finding *at = NULL;

	for (int i = 0; i < findings.count; i++)
		if (strcmp(findings.list[i].check, want->check) == 0)
			at = &findings.list[i];
	if (!*want->part && at)
		fail_msg("%s: %s: %s", name, want->check, at->text);
	if (*want->part &&
	    (!at || at->level != want->level || !strstr(at->text, want->part)))
		fail_msg("%s: %s: '%s', wanted '%s'", name, want->check,
			 at ? at->text : "none", want->part);
}

static void test_elsewhere(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/neap-doctor-XXXXXX");
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(common); i++)
		put(common[i][0], common[i][1], strlen(common[i][1]));
	snprintf(config.kubepods, sizeof(config.kubepods), "auto");
	snprintf(config.group, sizeof(config.group), "neap");
	snprintf(doctor.root, sizeof(doctor.root), "%s", root);
	doctor.config = &config;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		start(&rows[i]);
		memset(&findings, 0, sizeof(findings));
		neap_doctor_gather(&doctor);
		neap_doctor_judge(&doctor, &findings);
		neap_doctor_done(&doctor);
		for (const struct want *want = rows[i].want; want->check; want++)
			check(rows[i].name, want);
	}
	assert_int_equal(nftw(root, take_away, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_elsewhere)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
