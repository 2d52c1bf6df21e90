/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel: its age, its environment, pressure, and features that neap or its policies
 * can use. */
#include <string.h>
#include <unistd.h>

#include "api/ctl/doctor/doctor.h"
#include "engine/base/quantity.h"

static void version_check(const struct neap_kernel_facts *kernel,
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
				? "core scheduling is there"
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
				 "seccomp filters are there%s",
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

	version_check(kernel, findings);
	surroundings_check(kernel, findings);
	pressure_check(kernel, findings);
	resctrl_check(kernel, findings);
	features_check(kernel, findings);
}
