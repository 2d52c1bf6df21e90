/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine: the kernel's age, its environment, pressure, and features that neap or its
 * policies can use; the hierarchies, the keys, CPUs, and who holds some of them
 * exclusively. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/ctl/doctor/doctor.h"
#include "engine/base/buf.h"
#include "engine/base/quantity.h"
#include "hw/topology.h"

static void kernel_version_check(const struct neap_kernel_facts *kernel,
				 struct neap_findings *findings)
{
	const int version = kernel->major * 1000 + kernel->minor;

	if (version == 0)
		neap_finding_add(findings, NEAP_FINDING_WARNING, "kernel.version", NULL,
				 "the kernel's version cannot be read");
	else if (version < 5009)
		neap_finding_add(
			findings, NEAP_FINDING_PROBLEM, "kernel.version",
			"boot a kernel of 5.9 or newer; 5.15 or newer has every key",
			"Linux %s lacks calls that the hand needs (pidfd_open 5.3, "
			"close_range 5.9)",
			kernel->release);
	else if (version < 5015)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "kernel.version", NULL,
			"Linux %s works; burst came with 5.14 and cpu.idle with 5.15",
			kernel->release);
	else
		neap_finding_add(findings, NEAP_FINDING_OK, "kernel.version", NULL,
				 "Linux %s", kernel->release);
}

static void surroundings_check(const struct neap_kernel_facts *kernel,
			       struct neap_findings *findings)
{
	if (kernel->cgroup_ns == NEAP_YES)
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "kernel.container",
			"run neapd on the host, or give its container the host's /sys/fs/cgroup, "
			"--cgroupns=host, --pid=host and --privileged",
			"this is inside a container%s%s%s: groups, processes and services of the "
			"host are not seen, only what lies below the container's own group",
			kernel->container[0] != '\0' ? " (" : "", kernel->container,
			kernel->container[0] != '\0' ? ")" : "");
	else if (kernel->container[0] != '\0')
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "kernel.container", NULL,
			"this is inside a container (%s) that sees the machine's own cgroups; "
			"processes and services of the host may be out of sight",
			kernel->container);
	else if (kernel->cgroup_ns == NEAP_UNSEEN)
		neap_finding_add(findings, NEAP_FINDING_NOTE, "kernel.container", NULL,
				 "whether this is a container cannot be seen");
	else
		neap_finding_add(findings, NEAP_FINDING_OK, "kernel.container", NULL,
				 "not inside a container");
	if (kernel->machine[0] != '\0')
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "kernel.virtual", NULL,
			"a virtual machine (%s): CPU time may be stolen by its host; "
			"'neapctl status' shows how much",
			kernel->machine);
}

static void pressure_check(const struct neap_kernel_facts *kernel,
			   struct neap_findings *findings)
{
	static const char *const names[] = {"cpu", "memory", "io"};
	char missing[64] = "";

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		if (kernel->pressure[i] == NEAP_YES)
			continue;
		(void)snprintf(missing + strlen(missing),
			       sizeof(missing) - strlen(missing), "%s%s",
			       missing[0] != '\0' ? ", " : "", names[i]);
	}
	if (missing[0] != '\0') {
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "kernel.pressure",
			"boot with psi=1 on the kernel's command line, if it was built with "
			"CONFIG_PSI",
			"no pressure figures (PSI) of %s: policies that need them hold what is set, and "
			"triggers do not fire",
			missing);
		return;
	}
	neap_finding_add(findings, NEAP_FINDING_OK, "kernel.pressure", NULL,
			 "pressure figures (PSI) of cpu, memory and io");
	switch (kernel->trigger) {
	case NEAP_PSI_UNTRIED:
		break;
	case NEAP_PSI_FINE:
		neap_finding_add(
			findings, NEAP_FINDING_OK, "kernel.triggers", NULL,
			"pressure triggers work, with windows from half a second");
		break;
	case NEAP_PSI_COARSE:
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "kernel.triggers",
			geteuid() != 0
				? "neapd's hand runs as root and may more: look again as root"
				: "give CAP_SYS_RESOURCE to the service or container of neapd",
			"pressure triggers work with windows of whole 2 s only: this process lacks "
			"CAP_SYS_RESOURCE");
		break;
	case NEAP_PSI_REFUSED:
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "kernel.triggers",
			kernel->resource == NEAP_YES ? NULL : "look again as root",
			"a pressure trigger was refused (%s): policies are called at "
			"ticks only",
			strerror(kernel->trigger_errnum));
		break;
	}
}

static void resctrl_check(const struct neap_kernel_facts *kernel,
			  struct neap_findings *findings)
{
	if (kernel->is_resctrl_mounted)
		neap_finding_add(findings, NEAP_FINDING_OK, "kernel.resctrl", NULL,
				 "resctrl is mounted and offers %s%s%s",
				 kernel->resctrl_info[0] != '\0' ? kernel->resctrl_info
								 : "what cannot be read",
				 kernel->resctrl_groups[0] != '\0' ? "; its groups: "
								   : "",
				 kernel->resctrl_groups);
	else if (kernel->resctrl == NEAP_YES && kernel->resctrl_cpu[0] != '\0')
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "kernel.resctrl", NULL,
			"resctrl is not mounted; the processor offers %s. neap has no "
			"key for it yet",
			kernel->resctrl_cpu);
	else
		neap_finding_add(findings, NEAP_FINDING_NOTE, "kernel.resctrl", NULL,
				 "no cache or bandwidth control (resctrl) %s",
				 kernel->resctrl == NEAP_YES ? "in this processor"
							     : "in this kernel");
}

static void features_check(const struct neap_kernel_facts *kernel,
			   struct neap_findings *findings)
{
	char text[32];

	if (kernel->core_scheduling != NEAP_UNSEEN)
		neap_finding_add(
			findings,
			kernel->core_scheduling == NEAP_YES ? NEAP_FINDING_OK
							    : NEAP_FINDING_NOTE,
			"kernel.core-scheduling", NULL,
			kernel->core_scheduling == NEAP_YES
				? "core scheduling is available"
				: "no core scheduling in this kernel (CONFIG_SCHED_CORE): threads "
				  "of one core cannot be kept apart by trust");
	if (kernel->autogroup == NEAP_YES)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "kernel.autogroup", NULL,
			"autogroup is on: sessions in the root group share CPUs evenly, so nice "
			"counts inside a session only; groups of neap are not concerned");
	if (kernel->swap_bytes > 0)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "kernel.swap", NULL,
			"%s of swap: a memory limit may push work there rather than "
			"end it",
			neap_bytes_format_human(kernel->swap_bytes, text, sizeof(text)));
	if (kernel->seccomp == NEAP_NO)
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "kernel.seccomp",
			"boot a kernel with CONFIG_SECCOMP_FILTER",
			"no seccomp in this kernel: neapd runs without a filter on its "
			"system calls");
	else if (kernel->seccomp == NEAP_YES)
		neap_finding_add(findings, NEAP_FINDING_OK, "kernel.seccomp", NULL,
				 "seccomp filters are available%s",
				 kernel->landlock == NEAP_YES  ? ", Landlock too"
				 : kernel->landlock == NEAP_NO ? "; Landlock is not"
							       : "");
	if (kernel->nofile_hard != NEAP_MISSING && kernel->nofile_hard < 4096)
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "kernel.nofile",
			"raise it: LimitNOFILE= of the service, or ulimit -n",
			"at most %lld open files: neapd keeps up to 6 for each group, and opens "
			"and closes the rest at every tick",
			(long long)kernel->nofile_hard);
}

void neap_doctor_kernel(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const struct neap_kernel_facts *kernel = &doctor->facts.kernel;

	kernel_version_check(kernel, findings);
	surroundings_check(kernel, findings);
	pressure_check(kernel, findings);
	resctrl_check(kernel, findings);
	features_check(kernel, findings);
}

/* --- cgroups --- */

static const enum neap_controller used[] = {NEAP_CTL_CPU, NEAP_CTL_CPUSET,
					    NEAP_CTL_MEMORY};

static void cgroup_version_check(const struct neap_doctor *doctor,
				 struct neap_findings *findings)
{
	const struct neap_cgroup *cgroup = &doctor->cgroup;
	char line[400] = "";
	size_t i, len = 0;

	if (!doctor->has_cgroup) {
		neap_finding_add(findings, NEAP_FINDING_PROBLEM, "cgroup.version", NULL,
				 "%s", doctor->cgroup_err.msg);
		return;
	}
	for (i = 0; i < NEAP_ARRAY_LEN(used); i++) {
		const struct neap_cgroup_mount *mount = &cgroup->mount[used[i]];
		const char *name = neap_controller_name(used[i]);

		if (!mount->is_present)
			neap_finding_add(
				findings, NEAP_FINDING_WARNING, "cgroup.controller",
				"mount it, or take cgroup_disable= off the kernel's command line",
				"controller %s is not mounted: its keys cannot be written",
				name);
		else if (len < sizeof(line))
			len += (size_t)snprintf(line + len, sizeof(line) - len,
						"%s%s (%s) at %s", len > 0 ? ", " : "",
						name, mount->is_v2 ? "v2" : "v1",
						mount->path);
	}
	neap_finding_add(findings, NEAP_FINDING_OK, "cgroup.version", NULL,
			 "cgroup %s: %s",
			 !cgroup->has_v1  ? "v2"
			 : cgroup->has_v2 ? "v1, with a v2 mount beside"
					  : "v1",
			 line);
}

static void mounts_check(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const struct neap_cgroup_facts *facts = &doctor->facts.cgroup;
	char down[128] = "";

	for (int m = 0; m < facts->mount_count; m++) {
		const struct neap_facts_mount *mount = &facts->mounts[m];

		if (mount->is_read_only && mount->controllers[0] != '\0')
			neap_finding_add(
				findings, NEAP_FINDING_PROBLEM, "cgroup.mount",
				"mount -o remount,rw it, or run outside of the container "
				"that has it so",
				"%s (%s) is mounted read-only: nothing can be written",
				mount->path, mount->controllers);
		if (!mount->is_v2)
			continue;
		for (size_t i = 0; i < NEAP_ARRAY_LEN(used); i++) {
			const char *name = neap_controller_name(used[i]);

			if (neap_facts_has_word(mount->controllers, name) &&
			    !neap_facts_has_word(mount->handed_down, name))
				(void)snprintf(down + strlen(down),
					       sizeof(down) - strlen(down), "%s%s",
					       down[0] != '\0' ? ", " : "", name);
		}
		if (down[0] != '\0')
			neap_finding_add(
				findings, NEAP_FINDING_NOTE, "cgroup.enabled", NULL,
				"%s: not enabled for groups yet; what neap needs is enabled "
				"when its own group is made",
				down);
	}
}

/* On v2 a file exists only in groups whose parent enables the controller. */
static bool is_hidden(const struct neap_doctor *doctor, enum neap_key key)
{
	const struct neap_key_info *info = neap_key_get(key);
	const struct neap_cgroup_facts *facts = &doctor->facts.cgroup;
	const char *name = neap_controller_name(info->controller);

	if (!doctor->cgroup.mount[info->controller].is_v2)
		return false;
	for (int m = 0; m < facts->mount_count; m++)
		if (facts->mounts[m].is_v2 &&
		    neap_facts_has_word(facts->mounts[m].controllers, name))
			return !neap_facts_has_word(facts->mounts[m].handed_down, name);
	return false;
}

static void keys_check(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const struct neap_cgroup *cgroup = &doctor->cgroup;
	neap_auto_buf struct neap_buf have = {0};
	int key;

	neap_buf_init(&have, NEAP_BUF_LINE);
	for (key = 0; key < NEAP_KEY_COUNT; key++)
		if (cgroup->supports & 1u << key)
			neap_buf_addf(&have, "%s%s", have.len > 0 ? ", " : "",
				      neap_key_get((enum neap_key)key)->name);
	neap_finding_add(findings, have.len > 0 ? NEAP_FINDING_OK : NEAP_FINDING_WARNING,
			 "cgroup.keys", NULL, "keys that policies can use here: %s",
			 have.len > 0 ? have.data : "none that can be seen");
	for (key = 0; key < NEAP_KEY_COUNT; key++) {
		if (cgroup->why_not[key][0] == '\0')
			continue;
		if (is_hidden(doctor, (enum neap_key)key))
			neap_finding_add(findings, NEAP_FINDING_NOTE, "cgroup.key", NULL,
					 "%s: to be seen once its controller is enabled",
					 neap_key_get((enum neap_key)key)->name);
		else
			neap_finding_add(
				findings, NEAP_FINDING_NOTE, "cgroup.key", NULL,
				"%s cannot be used (%s): wishes for it are left out",
				neap_key_get((enum neap_key)key)->name,
				cgroup->why_not[key]);
	}
}

/* Named as systemd names the group of a unit. Some lie at the root: neapd.service as a
 * sibling of system.slice, mounts that systemd makes before all else. */
static bool is_unit(const char *group)
{
	static const char *const ends[] = {".slice", ".scope",  ".service",
					   ".mount", ".socket", ".swap"};
	const size_t len = strlen(group);

	for (size_t i = 0; i < NEAP_ARRAY_LEN(ends); i++)
		if (len > strlen(ends[i]) &&
		    strcmp(group + len - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

static const char *manager_of(const struct neap_doctor *doctor, const char *group)
{
	const char *own[] = {doctor->config->group, doctor->config->best_effort_group};
	const size_t len = strlen(group);

	for (size_t i = 0; i < NEAP_ARRAY_LEN(own); i++) {
		if (strcmp(group, own[i]) == 0)
			return "neapd";
		/* The packaged one lies in a unit:
		 * neap.slice/neap-workloads.service/neap. */
		if (strncmp(group, own[i], len) == 0 && own[i][len] == '/')
			return is_unit(group) ? "systemd; neap's own lies in it"
					      : "neap's own lies in it";
	}
	if (strcmp(group, "kubepods") == 0 || strcmp(group, "kubepods.slice") == 0)
		return "the kubelet";
	if (strcmp(group, "docker") == 0)
		return "docker";
	if (strncmp(group, "libpod", 6) == 0 || strcmp(group, "machine.slice") == 0)
		return "podman or systemd-machined";
	return is_unit(group) ? "systemd" : NULL;
}

static void groups_check(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const struct neap_cgroup_facts *facts = &doctor->facts.cgroup;
	neap_auto_buf struct neap_buf known = {0}, unknown = {0};

	neap_buf_init(&known, NEAP_BUF_LINE);
	neap_buf_init(&unknown, NEAP_BUF_LINE);
	for (int i = 0; i < facts->group_count; i++) {
		const char *manager = manager_of(doctor, facts->groups[i]);
		struct neap_buf *to = manager != NULL ? &known : &unknown;

		neap_buf_addf(to, "%s%s", to->len > 0 ? ", " : "", facts->groups[i]);
		if (manager != NULL)
			neap_buf_addf(to, " (%s)", manager);
	}
	if (known.len > 0)
		neap_finding_add(findings, NEAP_FINDING_OK, "cgroup.groups", NULL,
				 "groups at the root, and whose they are: %s",
				 known.data);
	if (unknown.len > 0)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "cgroup.groups", NULL,
			"groups at the root with an unknown owner: %s%s. neap does not touch "
			"them; their work counts as the system's",
			unknown.data, facts->has_more_groups ? " and more" : "");
}

static void partitions_check(const struct neap_doctor *doctor,
			     struct neap_findings *findings)
{
	const struct neap_cgroup_facts *facts = &doctor->facts.cgroup;

	for (int i = 0; i < facts->partition_count; i++) {
		const struct neap_facts_partition *partition = &facts->partitions[i];

		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "cgroup.partition",
			"keep these CPUs from best-effort work: neapd --reserved-cpus LIST",
			"the group %s has CPUs %s for itself (%s): other groups cannot get them",
			partition->group,
			partition->cpus[0] != '\0' ? partition->cpus : "unknown",
			partition->what);
	}
}

void neap_doctor_cgroup(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	cgroup_version_check(doctor, findings);
	mounts_check(doctor, findings);
	if (doctor->has_cgroup)
		keys_check(doctor, findings);
	groups_check(doctor, findings);
	partitions_check(doctor, findings);
}

static void topology_check(const struct neap_doctor *doctor,
			   struct neap_findings *findings)
{
	struct neap_topology *topology = NULL;
	char first[sizeof(doctor->root) + 64];
	struct neap_error err;
	int r;

	/* hwloc itself complains where there is none. */
	(void)snprintf(first, sizeof(first), "%s/sys/devices/system/cpu/cpu0/topology",
		       doctor->root);
	if (doctor->root[0] == '\0')
		r = neap_topology_discover(&topology, &err);
	else if (access(first, F_OK) == 0)
		r = neap_topology_discover_root(doctor->root, &topology, &err);
	else
		r = neap_error_sys(&err, "%s", first);
	if (r < 0) {
		neap_finding_add(findings, NEAP_FINDING_WARNING, "cpu.topology", NULL,
				 "the topology cannot be read: %s", err.msg);
		return;
	}
	neap_finding_add(
		findings, NEAP_FINDING_OK, "cpu.topology", NULL,
		"%d CPU%s on %d core%s, %d socket%s, %d memory node%s, %d L3 cache%s%s",
		topology->cpu_count, topology->cpu_count == 1 ? "" : "s",
		topology->core_count, topology->core_count == 1 ? "" : "s",
		topology->socket_count, topology->socket_count == 1 ? "" : "s",
		topology->node_count, topology->node_count == 1 ? "" : "s",
		topology->l3_count, topology->l3_count == 1 ? "" : "s",
		topology->cpu_count > topology->core_count ? "; threads share cores (SMT)"
							   : "");
	if (topology->cpu_count == 1)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "cpu.one", NULL,
			"with one CPU there is none to take from best-effort work: "
			"weights and quotas are all that can be used");
	(void)neap_topology_unref(topology);
}

void neap_doctor_cpu(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const struct neap_kernel_facts *kernel = &doctor->facts.kernel;

	topology_check(doctor, findings);
	if (kernel->offline[0] != '\0')
		neap_finding_add(findings, NEAP_FINDING_NOTE, "cpu.offline", NULL,
				 "CPUs %s are offline; neap follows when they come back",
				 kernel->offline);
	if (kernel->isolated[0] != '\0')
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "cpu.isolated",
			"keep best-effort work off them: neapd --reserved-cpus LIST",
			"CPUs %s are isolated (isolcpus or a partition): the scheduler does not balance "
			"work there, so work that is given them stays on one",
			kernel->isolated);
	if (kernel->nohz_full[0] != '\0')
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "cpu.nohz",
			"keep best-effort work off them: neapd --reserved-cpus LIST",
			"CPUs %s run without a tick (nohz_full) while they have one task only",
			kernel->nohz_full);
}
