/* SPDX-License-Identifier: Apache-2.0
 *
 * neapctl doctor on machines that are made up as trees of files: what is found on each,
 * in which words, and what is not claimed where nothing can be seen. */
#include "api/ctl/doctor/doctor.h"

#include <fcntl.h>
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
#include "hw/hand/journal.h"

static char root[64];
static struct neap_config config;
static struct neap_doctor doctor;
static struct neap_findings findings;

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/neap-doctor-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	memset(&config, 0, sizeof(config));
	memset(&doctor, 0, sizeof(doctor));
	memset(&findings, 0, sizeof(findings));
	snprintf(config.run_dir, sizeof(config.run_dir), "%s/run/neap", root);
	snprintf(config.data_dir, sizeof(config.data_dir), "%s/var/lib/neap", root);
	snprintf(config.user, sizeof(config.user), "nobody");
	snprintf(config.group, sizeof(config.group), "neap");
	snprintf(config.kubepods, sizeof(config.kubepods), "auto");
	snprintf(config.listen, sizeof(config.listen), "off");
	return 0;
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	neap_doctor_done(&doctor);
	return nftw(root, take_away, 16, FTW_DEPTH | FTW_PHYS);
}

/* A file with its folders; text "->X" is a link to X, a path with "/" at its end a
 * folder. */
static void put(const char *path, const char *text)
{
	char whole[1024], *slash;
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(whole, 0755);
		*slash = '/';
	}
	if (whole[strlen(whole) - 1] == '/')
		return;
	if (strncmp(text, "->", 2) == 0) {
		assert_int_equal(symlink(text + 2, whole), 0);
		return;
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	fclose(file);
}

struct file {
	const char *path, *text;
};

static void put_all(const struct file *files)
{
	for (; files->path; files++)
		put(files->path, files->text);
}

static void look(void)
{
	snprintf(doctor.root, sizeof(doctor.root), "%s", root);
	doctor.config = &config;
	neap_doctor_gather(&doctor);
	neap_doctor_judge(&doctor, &findings);
}

static void print_all(void)
{
	int i;

	for (i = 0; i < findings.count; i++)
		print_message("# %d %s: %s -> %s\n", findings.list[i].level,
			      findings.list[i].check, findings.list[i].text,
			      findings.list[i].todo);
}

static const struct neap_finding *find(const char *check, const char *part)
{
	int i;

	for (i = 0; i < findings.count; i++)
		if (strcmp(findings.list[i].check, check) == 0 &&
		    strstr(findings.list[i].text, part))
			return &findings.list[i];
	return NULL;
}

static void has(enum neap_finding_level level, const char *check, const char *part)
{
	const struct neap_finding *finding = find(check, part);

	if (finding && finding->level == level)
		return;
	print_all();
	fail_msg("no %s with level %d and '%s'", check, level, part);
}

static void lacks(const char *check, const char *part)
{
	if (!find(check, part))
		return;
	print_all();
	fail_msg("%s with '%s'", check, part);
}

#define OK      NEAP_FINDING_OK
#define NOTE    NEAP_FINDING_NOTE
#define WARNING NEAP_FINDING_WARNING
#define PROBLEM NEAP_FINDING_PROBLEM

#define PRESSURE "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"

/* What every machine below has. */
static const struct file common[] = {
	{"/proc/sys/kernel/osrelease", "6.1.0-20-amd64\n"},
	{"/proc/pressure/cpu", PRESSURE},
	{"/proc/pressure/memory", PRESSURE},
	{"/proc/pressure/io", PRESSURE},
	{"/proc/filesystems", "nodev\tcgroup2\n\text4\n"},
	{"/proc/swaps", "Filename Type Size Used Priority\n"},
	{"/proc/sys/kernel/seccomp/actions_avail",
	 "kill_process kill_thread trap errno\n"},
	{"/proc/sys/kernel/sched_autogroup_enabled", "0\n"},
	{"/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n"},
	{"/proc/self/ns/cgroup", "->cgroup:[4026531835]"},
	{"/sys/devices/system/cpu/online", "0-15\n"},
	{"/sys/devices/system/cpu/offline", "\n"},
	{"/sys/devices/system/cpu/isolated", "\n"},
	{"/sys/devices/system/cpu/nohz_full", "(null)\n"},
	{"/sys/devices/system/cpu/smt/active", "1\n"},
	{NULL, NULL},
};

static const struct file v2_files[] = {
	{"/proc/self/mounts",
	 "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nsdelegate 0 0\n"},
	{"/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n"},
	{"/sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu io memory pids\n"},
	{"/sys/fs/cgroup/system.slice/cpu.weight", "100\n"},
	{"/sys/fs/cgroup/system.slice/cpu.max", "max 100000\n"},
	{"/sys/fs/cgroup/system.slice/cpu.max.burst", "0\n"},
	{"/sys/fs/cgroup/system.slice/cpuset.cpus", "\n"},
	{"/sys/fs/cgroup/system.slice/cpuset.mems", "\n"},
	{"/sys/fs/cgroup/system.slice/memory.max", "max\n"},
	{"/sys/fs/cgroup/system.slice/memory.low", "0\n"},
	{"/sys/fs/cgroup/system.slice/memory.min", "0\n"},
	{"/sys/fs/cgroup/system.slice/memory.high", "max\n"},
	{"/sys/fs/cgroup/system.slice/cpuset.cpus.partition", "member\n"},
	{"/sys/fs/cgroup/init.scope/cgroup.procs", "1\n"},
	{"/proc/1/comm", "systemd\n"},
	{"/usr/lib/systemd/libsystemd-shared-252.so", ""},
	{NULL, NULL},
};

#define KUBEPODS "/sys/fs/cgroup/kubepods.slice/"

static const struct file kubelet_files[] = {
	{KUBEPODS "kubepods-besteffort.slice/cpu.weight", "1\n"},
	{KUBEPODS "kubepods-burstable.slice/cpu.weight", "100\n"},
	{"/proc/812/comm", "kubelet\n"},
	{"/proc/812/cgroup", "0::/system.slice/kubelet.service\n"},
	{"/proc/811/comm", "containerd\n"},
	{"/run/containerd/containerd.sock", ""},
	{NULL, NULL},
};

static void test_v2_kubelet(void **state)
{
	(void)state;
	put_all(common);
	put_all(v2_files);
	put_all(kubelet_files);
	put("/proc/812/cmdline", "/usr/bin/kubelet");
	put("/var/lib/kubelet/config.yaml", "kind: KubeletConfiguration\n"
					    "cgroupDriver: systemd # as the runtime\n"
					    "evictionHard: {memory.available: 100Mi}\n"
					    "cpuManagerPolicy: \"none\"\n"
					    "topologyManagerPolicy: best-effort\n");
	put("/var/lib/kubelet/cpu_manager_state",
	    "{\"policyName\":\"none\",\"defaultCpuSet\":\"\",\"checksum\":1353318690}");
	look();
	has(OK, "kernel.version", "Linux 6.1.0-20-amd64");
	has(OK, "kernel.container", "not inside");
	has(OK, "kernel.pressure", "cpu, memory and io");
	lacks("kernel.triggers", ""); /* of another machine nobody can tell */
	lacks("kernel.core-scheduling", "");
	has(NOTE, "kernel.resctrl", "in this kernel");
	has(OK, "cgroup.version", "cgroup v2: cpu (v2)");
	has(OK, "cgroup.keys", "cpu.shares");
	has(NOTE, "cgroup.key", "cpu.idle cannot be used (cpu.idle: not on this kernel)");
	has(OK, "cgroup.groups", "kubepods.slice (the kubelet)");
	has(OK, "cgroup.groups", "system.slice (systemd)");
	lacks("cgroup.partition", "");
	has(OK, "others.systemd", "systemd 252 owns the root of cgroup v2");
	has(OK, "others.systemd", "neap's own group neap lies beside them");
	has(OK, "others.runtime", "/run/containerd/containerd.sock");
	has(OK, "others.kubelet", "pid 812, in /system.slice/kubelet.service");
	has(OK, "others.pods", "below kubepods.slice, laid out by the systemd driver");
	has(OK, "others.cpu-manager", "(none)");
	has(NOTE, "others.topology-manager", "best-effort");
	lacks("others.driver", "");
	has(OK, "neap.run-dir", "is not there yet");
	lacks("cpu.isolated", "");
	lacks("cpu.nohz", "");
	assert_int_equal(neap_findings_count(&findings, PROBLEM), 0);
}

/* What the package makes: neap's group in a unit of its slice, neapd beside the
 * slices. */
static void test_packaged(void **state)
{
	(void)state;
	put_all(common);
	put_all(v2_files);
	put("/sys/fs/cgroup/neapd.service/cpu.weight", "10000\n");
	put("/sys/fs/cgroup/dev-hugepages.mount/cpu.weight", "100\n");
	put("/sys/fs/cgroup/neap.slice/neap-workloads.service/neap/cpu.weight", "100\n");
	snprintf(config.group, sizeof(config.group),
		 "neap.slice/neap-workloads.service/neap");
	look();
	has(OK, "others.systemd",
	    "neap's own group neap.slice/neap-workloads.service/neap lies in one of them");
	has(OK, "cgroup.groups", "neap.slice (systemd; neap's own lies in it)");
	has(OK, "cgroup.groups", "neapd.service (systemd)");
	has(OK, "cgroup.groups", "dev-hugepages.mount (systemd)");
	lacks("cgroup.groups", "unknown owner");
}

/* As cilium mounts it for itself. */
static void test_v2_twice(void **state)
{
	(void)state;
	put_all(common);
	put_all(v2_files);
	put("/proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
				 "none /run/cilium/cgroupv2 cgroup2 ro 0 0\n");
	put("/run/cilium/cgroupv2/cgroup.controllers", "cpuset cpu io memory pids\n");
	look();
	has(OK, "cgroup.version", "cgroup v2: cpu (v2)");
	lacks("cgroup.mount", "");
	lacks("cgroup.enabled", "");
}

static void test_static_manager_and_koordlet(void **state)
{
	static const char command[] = "kubelet\0--config\0/etc/kubelet.json\0"
				      "--cpu-manager-policy=static";
	char path[256];
	FILE *file;

	(void)state;
	put_all(common);
	put_all(v2_files);
	put_all(kubelet_files);
	put("/proc/812/cmdline", "");
	snprintf(path, sizeof(path), "%s/proc/812/cmdline", root);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(command, 1, sizeof(command), file), sizeof(command));
	fclose(file);
	put("/etc/kubelet.json", "{\"cgroupDriver\": \"cgroupfs\", "
				 "\"cpuManagerPolicy\": \"none\"}");
	put("/var/lib/kubelet/cpu_manager_state",
	    "{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,8-15\",\"entries\":"
	    "{\"u1\":{\"main\":\"2-3\"},\"u2\":{\"a\":\"6\",\"b\":\"7\"}}}");
	put("/proc/900/comm", "koordlet\n");
	put("/run/koordlet/x", "");
	put("/sys/fs/cgroup/tuned.slice/cpuset.cpus.partition", "isolated\n");
	put("/sys/fs/cgroup/tuned.slice/cpuset.cpus", "4-5\n");
	put("/sys/fs/cgroup/lost.slice/cpuset.cpus.partition",
	    "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n");
	put("/run/neap/freeze", "");
	put("/var/lib/neap/format", "neap data 2\nwritten by neapd 0.4.0\n");
	look();
	has(NOTE, "others.cpu-manager",
	    "assigned CPUs 2-3,6-7 to single pods (the others share 0-1,8-15); no policy of neap puts other work onto them");
	has(PROBLEM, "others.agent", "koordlet runs (pid 900)");
	has(WARNING, "others.driver", "cgroupDriver is cgroupfs");
	has(WARNING, "cgroup.partition", "tuned.slice has CPUs 4-5 for itself");
	lacks("cgroup.partition", "lost.slice");
	has(WARNING, "neap.frozen", "frozen");
	has(PROBLEM, "neap.format", "format 2 of neapd 0.4.0");

	/* What it tells to do settles it. */
	memset(&findings, 0, sizeof(findings));
	neap_doctor_done(&doctor);
	snprintf(config.kubepods, sizeof(config.kubepods), "off");
	look();
	has(NOTE, "others.agent", "neapd leaves pods alone");
	has(NOTE, "others.cpu-manager", "leaves pods alone");
	lacks("others.pods", "");
}

/* What --kubepods names is looked at, not what it would be by itself. */
static void test_named_kubepods(void **state)
{
	(void)state;
	put_all(common);
	put_all(v2_files);
	put_all(kubelet_files);
	put("/sys/fs/cgroup/mine/kubepods/cpu.weight", "100\n");
	snprintf(config.kubepods, sizeof(config.kubepods), "mine/kubepods");
	look();
	has(OK, "others.pods", "below mine/kubepods, as --kubepods says");
	memset(&findings, 0, sizeof(findings));
	neap_doctor_done(&doctor);
	snprintf(config.kubepods, sizeof(config.kubepods), "other/kubepods");
	look();
	has(WARNING, "others.pods", "other/kubepods");
	lacks("others.pods", "pods lie below");
}

static const struct file hybrid[] = {
	{"/proc/self/mounts",
	 "tmpfs /sys/fs/cgroup tmpfs ro 0 0\n"
	 "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n"
	 "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n"
	 "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"},
	{"/sys/fs/cgroup/cpu,cpuacct/cpu.shares", "1024\n"},
	{"/sys/fs/cgroup/cpu,cpuacct/docker/cpu.shares", "1024\n"},
	{"/sys/fs/cgroup/cpu,cpuacct/neap/cpu.cfs_quota_us", "-1\n"},
	{"/sys/fs/cgroup/cpu,cpuacct/mine/cpu.shares", "1024\n"},
	{"/sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n"},
	{"/sys/fs/cgroup/cpuset/lxc/cpuset.cpu_exclusive", "1\n"},
	{"/sys/fs/cgroup/cpuset/lxc/cpuset.cpus", "3\n"},
	{"/sys/fs/cgroup/unified/cgroup.controllers", "\n"},
	{"/sys/fs/cgroup/unified/cgroup.subtree_control", "\n"},
	{"/proc/1/comm", "init\n"},
	{"/proc/cpuinfo", "flags\t\t: fpu hypervisor rdt_a cat_l3 mba\n"},
	{"/sys/class/dmi/id/sys_vendor", "QEMU\n"},
	{"/sys/fs/resctrl/schemata", "L3:0=fff\n"},
	{"/sys/fs/resctrl/info/L3/", ""},
	{"/sys/fs/resctrl/BE/", ""},
	{NULL, NULL},
};

static void test_hybrid(void **state)
{
	(void)state;
	put_all(common);
	put_all(hybrid);
	put("/sys/devices/system/cpu/offline", "2\n");
	put("/sys/devices/system/cpu/isolated", "3\n");
	put("/sys/devices/system/cpu/nohz_full", "3\n");
	put("/proc/swaps",
	    "Filename Type Size Used Priority\n/dev/sda2 partition 1048576 0 -2\n");
	put("/var/lib/koordlet/", "");
	look();
	has(OK, "cgroup.version", "cgroup v1, with a v2 mount beside");
	has(WARNING, "cgroup.controller", "controller memory is not mounted");
	has(OK, "cgroup.groups", "neap (neapd)");
	has(OK, "cgroup.groups", "docker (docker)");
	has(NOTE, "cgroup.groups", "unknown owner: mine.");
	has(WARNING, "cgroup.partition",
	    "lxc has CPUs 3 for itself (cpuset.cpu_exclusive 1)");
	has(NOTE, "kernel.virtual", "QEMU");
	has(OK, "kernel.resctrl", "offers L3; its groups: BE");
	has(NOTE, "kernel.swap", "1.00 GiB of swap");
	has(NOTE, "cpu.offline", "CPUs 2 are offline");
	has(WARNING, "cpu.isolated", "CPUs 3 are isolated");
	has(NOTE, "cpu.nohz", "CPUs 3");
	has(NOTE, "others.systemd", "systemd does not run");
	has(NOTE, "others.koordlet", "/var/lib/koordlet");
	has(NOTE, "others.kubelet", "no kubelet runs here");
	lacks("cgroup.enabled", "");
	assert_int_equal(neap_findings_count(&findings, PROBLEM), 0);
}

static void test_container(void **state)
{
	(void)state;
	put_all(common);
	put("/.dockerenv", "");
	put("/proc/self/mounts", "cgroup /sys/fs/cgroup cgroup2 ro,nosuid 0 0\n");
	put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
	put("/sys/fs/cgroup/cgroup.subtree_control", "");
	put("/proc/1/comm", "sh\n");
	look();
	has(NOTE, "kernel.container", "(docker) that sees the machine's own cgroups");
	has(PROBLEM, "cgroup.mount", "is mounted read-only: nothing can be written");
	has(NOTE, "cgroup.enabled", "cpu, cpuset, memory: not enabled for groups yet");
	has(NOTE, "cgroup.key", "cpu.shares: to be seen once its controller is enabled");
	lacks("cgroup.key", "not on this kernel");

	memset(&findings, 0, sizeof(findings));
	neap_doctor_done(&doctor);
	doctor.facts.kernel.cgroup_ns = NEAP_YES;
	(void)snprintf(doctor.facts.kernel.container, 64, "docker");
	neap_doctor_kernel(&doctor, &findings);
	has(WARNING, "kernel.container",
	    "inside a container (docker): groups, processes");
}

/* Nothing is claimed of what cannot be seen, and nothing falls over. */
static void test_empty(void **state)
{
	(void)state;
	look();
	has(WARNING, "kernel.version", "cannot be read");
	has(NOTE, "kernel.container", "cannot be seen");
	has(PROBLEM, "cgroup.version", "");
	lacks("kernel.swap", "");
	lacks("kernel.autogroup", "");
	lacks("others.agent", "");
	lacks("neap.leftovers", "");
}

static void test_odd_files(void **state)
{
	(void)state;
	put_all(common);
	put_all(v2_files);
	put_all(kubelet_files);
	put("/proc/812/cmdline", "kubelet");
	put("/var/lib/kubelet/config.yaml", "{ [ : not yaml\n");
	put("/var/lib/kubelet/cpu_manager_state", "[]");
	put("/sys/devices/system/cpu/offline", "\033[31m7\n");
	look();
	has(WARNING, "others.kubelet-config", "is not understood");
	has(OK, "others.cpu-manager", "default policy (none)");
	{
		struct neap_buf out;

		neap_buf_init(&out, NEAP_BUF_FILE);
		neap_findings_format(&findings, 100, false, &out);
		assert_false(neap_buf_failed(&out));
		assert_null(strchr(out.data,
				   '\033')); /* files of others act on no terminal */
		assert_non_null(strstr(out.data, "\\x1b[31m7 are offline"));
		neap_buf_done(&out);
	}
}

static void test_leftovers(void **state)
{
	struct neap_log quiet = {-1, NEAP_LOG_ERROR, NEAP_LOG_TEXT, "test"};
	struct neap_journal_entry entry = {.group = (char *)"neap/x",
					   .value = (char *)"7",
					   .key = NEAP_KEY_CPU_SHARES};
	struct neap_journal *journal = NULL;
	int fd;

	(void)state;
	put("/run/neap/x", "");
	fd = open(config.run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(neap_journal_open(fd, NULL, &quiet, &journal, NULL), 0);
	assert_int_equal(neap_journal_add(journal, &entry, NULL), 0);
	neap_journal_free(journal);
	look();
	has(PROBLEM, "neap.leftovers",
	    "1 values and 0 groups of a neapd that was killed");
	memset(&findings, 0, sizeof(findings));
	neap_doctor_done(&doctor);
	assert_int_equal(unlinkat(fd, "hand.journal", 0), 0);
	assert_int_equal(neap_journal_open(fd, "another-boot", &quiet, &journal, NULL),
			 0);
	assert_int_equal(neap_journal_add(journal, &entry, NULL), 0);
	neap_journal_free(journal);
	look();
	has(OK, "neap.leftovers", "no values");
	close(fd);
}

/* What is left of pods that run is as it is to be; one value of anybody else is not. */
static void test_leftovers_of_pods(void **state)
{
	struct neap_log quiet = {-1, NEAP_LOG_ERROR, NEAP_LOG_TEXT, "test"};
	static const struct {
		const char *group;
		enum neap_key key;
		enum neap_finding_level level;
		const char *said;
	} rows[] = {
		{"neap/pod", NEAP_KEY_CPU_SHARES, NEAP_FINDING_NOTE,
		 "1 values and 2 groups are of pods"},
		{"neap", NEAP_KEY_CPU_SHARES, NEAP_FINDING_NOTE,
		 "2 values and 2 groups are of pods"},
		{"neap/pod", NEAP_KEY_CPUSET_CPUS, NEAP_FINDING_PROBLEM,
		 "3 values and 2 groups of a neapd that was killed"},
	};
	struct neap_journal *journal = NULL;
	int fd;

	(void)state;
	put("/run/neap/x", "");
	fd = open(config.run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_journal_entry entry = {.group = (char *)rows[i].group,
						   .value = (char *)"7",
						   .key = rows[i].key};

		assert_int_equal(neap_journal_open(fd, NULL, &quiet, &journal, NULL), 0);
		if (i == 0) {
			assert_int_equal(neap_journal_made_add(journal, "neap", NULL), 0);
			assert_int_equal(neap_journal_made_add(journal, "neap/pod", NULL),
					 0);
			assert_int_equal(
				neap_journal_origin_add(
					journal,
					neap_journal_made_find(journal, "neap/pod"),
					NEAP_JOURNAL_ORIGIN_POD, NULL),
				0);
		}
		assert_int_equal(neap_journal_add(journal, &entry, NULL), 0);
		if (rows[i].level == NEAP_FINDING_NOTE)
			assert_int_equal(neap_journal_own_set(journal, (int)i, "5", NULL),
					 0);
		neap_journal_free(journal);
		memset(&findings, 0, sizeof(findings));
		neap_doctor_done(&doctor);
		look();
		has(rows[i].level, "neap.leftovers", rows[i].said);
	}
	close(fd);
}

static void test_json(void **state)
{
	json_t *json, *first;

	(void)state;
	neap_finding_add(&findings, WARNING, "a.b", "do that", "%d things", 3);
	neap_finding_add(&findings, OK, "a.c", NULL, "well");
	json = neap_findings_json(&findings);
	assert_int_equal(json_integer_value(json_object_get(json, "warnings")), 1);
	assert_int_equal(json_integer_value(json_object_get(json, "problems")), 0);
	first = json_array_get(json_object_get(json, "checks"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "check")), "a.b");
	assert_string_equal(json_string_value(json_object_get(first, "level")),
			    "warning");
	assert_string_equal(json_string_value(json_object_get(first, "todo")), "do that");
	assert_null(json_object_get(json_array_get(json_object_get(json, "checks"), 1),
				    "todo"));
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_v2_kubelet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_packaged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_v2_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_static_manager_and_koordlet, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_named_kubepods, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hybrid, setup, teardown),
		cmocka_unit_test_setup_teardown(test_container, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_odd_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leftovers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leftovers_of_pods, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
