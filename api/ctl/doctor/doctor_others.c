/* SPDX-License-Identifier: Apache-2.0
 *
 * Other agents: what each writes that neap may write too, and what to do about it. */
#include <stdio.h>
#include <string.h>

#include "api/ctl/doctor/doctor.h"

#define NOT_PODS "stop one of the two, or leave the pods to it: neapd --kubepods off"

/* Agents reported with the place where they run. The kubelet and neap itself have their
 * own checks. */
static const struct {
	const char *comm, *name;
	enum neap_finding_level level;
	const char *what, *todo;
} agents[] = {
	{"koordlet", "koordlet", NEAP_FINDING_PROBLEM,
	 "writes CPU sets, quotas, weights and memory limits of the same pods: whoever writes last "
	 "wins, again and again",
	 NOT_PODS},
	{"koord-runtime-p", "koord-runtime-proxy", NEAP_FINDING_WARNING,
	 "changes what the runtime sets for new containers", NOT_PODS},
	{"crane-agent", "crane-agent", NEAP_FINDING_PROBLEM,
	 "writes CPU sets and quotas of the same pods", NOT_PODS},
	{"nri-resource-po", "an NRI resource policy", NEAP_FINDING_WARNING,
	 "writes CPU sets of the same containers", NOT_PODS},
	{"numad", "numad", NEAP_FINDING_WARNING,
	 "moves processes between CPUs and memory nodes by cpuset",
	 "stop it: systemctl disable --now numad"},
	{"cgrulesengd", "cgrulesengd", NEAP_FINDING_WARNING,
	 "moves processes between groups by its rules, also out of neap's",
	 "leave neap's group out of /etc/cgrules.conf"},
	{"tuned", "tuned", NEAP_FINDING_NOTE,
	 "may isolate CPUs and set scheduler tunables; it writes no file that neap writes",
	 NULL},
	{"systemd-oomd", "systemd-oomd", NEAP_FINDING_NOTE,
	 "ends groups under memory pressure, by its own rules and those of their units",
	 NULL},
};

/* Returns the first process of that name, NULL if there is none. */
static const struct neap_facts_process *doctor_process(const struct neap_doctor *doctor,
						       const char *comm)
{
	const struct neap_agent_facts *facts = &doctor->facts.agents;

	for (int i = 0; i < facts->process_count; i++)
		if (strcmp(facts->processes[i].comm, comm) == 0)
			return &facts->processes[i];
	return NULL;
}

static void systemd_check(const struct neap_doctor *doctor,
			  struct neap_findings *findings)
{
	const struct neap_agent_facts *facts = &doctor->facts.agents;
	const char *group = doctor->config->group;
	const size_t top = strcspn(group, "/");
	/* As the package has it: in a unit with Delegate=. */
	const bool is_in_unit = group[top] == '/' && top > 6 &&
				strncmp(group + top - 6, ".slice", 6) == 0;
	char version[32] = "";

	if (facts->systemd != NEAP_YES) {
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "others.systemd", NULL,
			"systemd does not run this machine: nothing restarts neapd, and no "
			"one but neapd makes its group");
		return;
	}
	if (facts->systemd_version > 0)
		(void)snprintf(version, sizeof(version), " %d", facts->systemd_version);
	neap_finding_add(
		findings, NEAP_FINDING_OK, "others.systemd", NULL,
		"systemd%s %s; neap's own group %s lies %s, and values of units stay systemd's",
		version,
		doctor->has_cgroup && !doctor->cgroup.has_v1
			? "owns the root of cgroup v2 and its slices"
			: "manages its slices",
		group, is_in_unit ? "in one of them" : "beside them");
}

/* Looks for the usual sockets, then the one the kubelet uses, then a process. */
static void runtimes_check(const struct neap_doctor *doctor,
			   struct neap_findings *findings)
{
	static const char *const comms[] = {"containerd", "crio", "dockerd"};
	static const char scheme[] = "unix://";
	const char *runtimes = doctor->facts.agents.runtimes;
	const struct neap_facts_process *process = NULL;

	if (runtimes[0] == '\0')
		runtimes = doctor->kubelet.runtime;
	if (strncmp(runtimes, scheme, sizeof(scheme) - 1) == 0)
		runtimes += sizeof(scheme) - 1;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(comms) && process == NULL; i++)
		process = doctor_process(doctor, comms[i]);
	if (runtimes[0] != '\0')
		neap_finding_add(
			findings, NEAP_FINDING_OK, "others.runtime", NULL,
			"container runtime at %s. It sets values of a container when that "
			"starts; neap acts afterwards",
			runtimes);
	else if (process != NULL)
		neap_finding_add(
			findings, NEAP_FINDING_OK, "others.runtime", NULL,
			"container runtime: %s runs (pid %d), with a socket of its own. It sets "
			"values of a container when that starts; neap acts afterwards",
			process->comm, process->pid);
	else
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "others.runtime", NULL,
			"no container runtime (containerd, CRI-O, docker) was found");
}

static void agents_check(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const bool no_pods = strcmp(doctor->config->kubepods, "off") == 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(agents); i++) {
		const struct neap_facts_process *process =
			doctor_process(doctor, agents[i].comm);
		const bool is_settled = no_pods && agents[i].todo != NULL &&
					strcmp(agents[i].todo, NOT_PODS) == 0;

		if (process == NULL)
			continue;
		neap_finding_add(
			findings, is_settled ? NEAP_FINDING_NOTE : agents[i].level,
			"others.agent", is_settled ? NULL : agents[i].todo,
			"%s runs (pid %d): it %s%s", agents[i].name, process->pid,
			agents[i].what,
			is_settled ? "; neapd leaves pods alone (--kubepods off)" : "");
	}
	if (doctor->facts.agents.koordlet[0] != '\0' &&
	    doctor_process(doctor, "koordlet") == NULL)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "others.koordlet", NULL,
			"koordlet was here (%s) and does not run: values that it set may still be "
			"in force, and count as found",
			doctor->facts.agents.koordlet);
}

void neap_doctor_others(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	systemd_check(doctor, findings);
	runtimes_check(doctor, findings);
	agents_check(doctor, findings);
}
