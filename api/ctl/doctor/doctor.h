/* SPDX-License-Identifier: Apache-2.0
 *
 * The findings of `neapctl doctor`, in plain words: facts go in (hw/doctor/facts.h, the
 * configuration, the daemon's answer), findings come out. A finding is one line, plus
 * advice if something should be done. */
#ifndef NEAP_API_CTL_DOCTOR_DOCTOR_H
#define NEAP_API_CTL_DOCTOR_DOCTOR_H

#include <jansson.h>

#include "api/config/config.h"
#include "engine/base/buf.h"
#include "hw/cgroup.h"
#include "hw/doctor/facts.h"
#include "hw/scan.h"

#define NEAP_FINDINGS_MAX 128

enum neap_finding_level {
	NEAP_FINDING_OK,
	NEAP_FINDING_NOTE, /* information: nothing to do */
	/* something works less well than it could, or cannot be checked */
	NEAP_FINDING_WARNING,
	NEAP_FINDING_PROBLEM, /* something is wrong and must be fixed: exit status 1 */
};

struct neap_finding {
	enum neap_finding_level level;
	char check[32]; /* "cgroup.keys": area and name */
	char text[512];
	char todo[384]; /* "" nothing */
};

struct neap_findings {
	struct neap_finding list[NEAP_FINDINGS_MAX];
	int count;
};

/* todo NULL: nothing to do. */
void neap_finding_add(struct neap_findings *findings, enum neap_finding_level level,
		      const char *check, const char *todo, const char *fmt, ...)
	NEAP_PRINTF(5, 6);
int neap_findings_count(const struct neap_findings *findings,
			enum neap_finding_level level);
/* Grouped by area, aligned, at most columns wide (0: unlimited). */
void neap_findings_format(const struct neap_findings *findings, int columns,
			  bool use_color, struct neap_buf *out);
/* {"checks": [{"check", "level", "text", "todo"}], "ok", "notes", ...}. NULL without
 * memory. */
json_t *neap_findings_json(const struct neap_findings *findings);

/* Facts about the kubelet, from its file, command line and directory. */
struct neap_kubelet {
	bool is_running, has_file;
	int pid;
	char group[NEAP_FACTS_TEXT];  /* its own */
	char dir[NEAP_FACTS_PATH];    /* where its files are */
	char file[NEAP_FACTS_PATH];   /* its configuration, "" unknown */
	char why_not[NEAP_ERROR_MSG]; /* why the file could not be read or parsed */
	char cgroup_driver[32], cgroup_root[128], cpu_policy[32], topology_policy[32];
	char reserved_cpus[128];
	char runtime[NEAP_FACTS_PATH]; /* "unix:///run/containerd/containerd.sock" */
	/* cpu_manager_state */
	char state_policy[32], shared_cpus[NEAP_FACTS_TEXT],
		exclusive_cpus[NEAP_FACTS_TEXT];
	char state_why_not[64];
};

/* The daemon's answer, if there is one. */
struct neap_doctor_daemon {
	const json_t *status;  /* NULL: none answers */
	struct neap_error err; /* why not */
	bool is_there;         /* it runs, but denies access */
};

/* All inputs of the checks below. */
struct neap_doctor {
	char root[256]; /* "" this machine */
	const struct neap_config *config;
	struct neap_facts facts;
	struct neap_kubelet kubelet;
	struct neap_cgroup cgroup; /* valid if has_cgroup */
	bool has_cgroup;
	struct neap_error cgroup_err; /* why not */
	struct neap_doctor_daemon daemon;
};

/* Gathers everything except the daemon's answer. The caller sets doctor->root and
 * ->config. */
void neap_doctor_gather(struct neap_doctor *doctor);
void neap_doctor_done(struct neap_doctor *doctor);
/* Runs every check in order. */
void neap_doctor_judge(const struct neap_doctor *doctor, struct neap_findings *findings);

/* Each part adds the findings of its area. */
void neap_doctor_kernel(const struct neap_doctor *doctor, struct neap_findings *findings);
void neap_doctor_cgroup(const struct neap_doctor *doctor, struct neap_findings *findings);
void neap_doctor_cpu(const struct neap_doctor *doctor, struct neap_findings *findings);
void neap_doctor_others(const struct neap_doctor *doctor, struct neap_findings *findings);
void neap_doctor_kubelet(const struct neap_doctor *doctor,
			 struct neap_findings *findings);
void neap_doctor_own(const struct neap_doctor *doctor, struct neap_findings *findings);
void neap_doctor_store(const struct neap_doctor *doctor, struct neap_findings *findings);
/* Checks a file not in use by neapd: a store or a backup. Does not change it. */
void neap_doctor_file(const char *file, struct neap_findings *findings);
void neap_doctor_daemon(const struct neap_doctor *doctor, struct neap_findings *findings);

/* Fills *ret from the facts; root as there. */
void neap_kubelet_look(const char *root, const struct neap_agent_facts *facts,
		       struct neap_kubelet *ret);

#endif
