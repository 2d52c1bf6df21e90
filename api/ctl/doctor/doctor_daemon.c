/* SPDX-License-Identifier: Apache-2.0
 *
 * What the running neapd reports, and what the kernel says about its processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ctl/doctor/doctor.h"
#include "api/ctl/draw/cells.h"

/* A number behind "NAME:" of /proc/PID/status, -1 unseen. */
static long long status_number(const char *status, const char *name, int base)
{
	const char *line = strstr(status, name);

	return line == NULL ? -1 : strtoll(line + strlen(name), NULL, base);
}

static void process_check(int64_t pid, const char *check, const char *who, bool is_loop,
			  struct neap_findings *findings)
{
	char path[64], status[4096];
	long long uid, seccomp;

	(void)snprintf(path, sizeof(path), "/proc/%lld/status", (long long)pid);
	if (pid <= 0 || neap_facts_read("", path, status, sizeof(status)) <= 0)
		return;
	uid = status_number(status, "\nUid:", 10);
	seccomp = status_number(status, "\nSeccomp:", 10);
	if (is_loop && uid == 0)
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, check,
			"name an ordinary user with --user",
			"%s (pid %lld) runs as root: whoever breaks into it controls the machine",
			who, (long long)pid);
	else
		neap_finding_add(findings, NEAP_FINDING_OK, check, NULL,
				 "%s (pid %lld) runs as uid %lld, %s seccomp filter", who,
				 (long long)pid, uid,
				 seccomp == 2 ? "behind a" : "without a");
}

static void policies_check(const json_t *status, struct neap_findings *findings)
{
	const json_t *policy;
	size_t i;

	json_array_foreach (json_object_get(status, "policies"), i, policy) {
		char more[128];

		if (json_object_get(policy, "last_error") == NULL)
			continue;
		(void)snprintf(more, sizeof(more),
			       "'neapctl policy history %.80s' tells more",
			       neap_cell_text(policy, "policy"));
		neap_finding_add(findings, NEAP_FINDING_WARNING, "daemon.policy", more,
				 "policy %s@%s is %s; its last error: %s",
				 neap_cell_text(policy, "policy"),
				 neap_cell_text(policy, "version"),
				 neap_cell_text(policy, "state"),
				 neap_cell_text(policy, "last_error"));
	}
	if (json_array_size(json_object_get(status, "policies")) == 0)
		neap_finding_add(findings, NEAP_FINDING_NOTE, "daemon.policy",
				 "'neapctl policy put FILE', or --policy",
				 "no policy runs: nothing is decided");
}

static void others_check(const struct neap_doctor *doctor, int64_t own_pid,
			 struct neap_findings *findings)
{
	const struct neap_agent_facts *facts = &doctor->facts.agents;

	for (int i = 0; i < facts->process_count; i++) {
		if (strcmp(facts->processes[i].comm, "neapd") != 0 ||
		    facts->processes[i].pid == own_pid)
			continue;
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "daemon.another",
			"stop one of them, or make sure that they share neither --group nor --kubepods",
			"%s neapd runs (pid %d)", own_pid > 0 ? "another" : "a",
			facts->processes[i].pid);
	}
}

static void none_answers(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const struct neap_doctor_daemon *daemon = &doctor->daemon;

	if (doctor->root[0] != '\0')
		return; /* it would be of another machine */
	if (daemon->is_there)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "daemon.none", "look again as root",
			"a neapd runs, but does not let this user see what it uses: %s",
			daemon->err.msg);
	else
		neap_finding_add(findings, NEAP_FINDING_NOTE, "daemon.none", NULL,
				 "what a neapd uses here is not known: %s",
				 daemon->err.msg);
	if (!daemon->is_there)
		others_check(doctor, 0, findings);
}

static void state_check(const json_t *status, struct neap_findings *findings)
{
	static const struct {
		const char *state;
		enum neap_finding_level level;
		const char *todo;
	} states[] = {
		{"acting", NEAP_FINDING_OK, NULL},
		{"dry-run", NEAP_FINDING_NOTE, NULL},
		{"watching", NEAP_FINDING_WARNING, "start it as root to have it act"},
		{"frozen", NEAP_FINDING_WARNING, "'neapctl resume' goes on"},
		{"released", NEAP_FINDING_WARNING, "'neapctl resume' goes on"},
	};
	const char *state = neap_cell_text(status, "state");
	const bool has_why = json_object_get(status, "why") != NULL;
	size_t i;

	for (i = 0; i + 1 < NEAP_ARRAY_LEN(states) && strcmp(states[i].state, state) != 0;
	     i++)
		;
	neap_finding_add(findings, states[i].level, "daemon.state", states[i].todo,
			 "its state is %s%s%s", state, has_why ? ": " : "",
			 has_why ? neap_cell_text(status, "why") : "");
}

void neap_doctor_daemon(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const json_t *status = doctor->daemon.status;
	int64_t pid, hand;
	const char *version;

	if (status == NULL) {
		none_answers(doctor, findings);
		return;
	}
	pid = neap_member_integer(status, "pid", 0);
	hand = neap_member_integer(status, "hand_pid", 0);
	version = neap_cell_text(status, "version");
	neap_finding_add(findings,
			 strcmp(version, NEAP_VERSION) == 0 ? NEAP_FINDING_OK
							    : NEAP_FINDING_WARNING,
			 "daemon.version",
			 strcmp(version, NEAP_VERSION) == 0
				 ? NULL
				 : "restart neapd after an upgrade",
			 "neapd %s runs, and this is neapctl " NEAP_VERSION, version);
	state_check(status, findings);
	process_check(pid, "daemon.loop", "the loop", true, findings);
	process_check(hand, "daemon.hand", "the hand", false, findings);
	policies_check(status, findings);
	others_check(doctor, pid, findings);
}
