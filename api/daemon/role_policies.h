/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies of a running neapd: their texts, registry, changes and history. */
#ifndef NEAP_API_DAEMON_ROLE_POLICIES_H
#define NEAP_API_DAEMON_ROLE_POLICIES_H

#include "api/daemon/process.h"
#include "api/policy/live/live.h"

/* The texts of the configured policies, in the configuration's order. */
struct neap_policy_texts {
	char *text[NEAP_POLICIES_MAX];
	size_t len[NEAP_POLICIES_MAX];
	char file[NEAP_POLICIES_MAX][640];
};

struct neap_role_policies {
	struct neap_policy_texts texts; /* until they are in service */
	json_t *labels;                 /* of this node */
	struct neap_registry *registry;
	struct neap_record *record;
	struct neap_live *live;
};

/* Reads the files of the configured policies; runs nothing of them. Needs root. */
int neap_role_policies_read(struct neap_role_policies *role,
			    const struct neap_config *config, struct neap_error *err);
/* Makes an empty registry and starts the watchdog of policies. note and describe are
 * those of struct neap_live_config, with arg. Needs the loop's user. */
int neap_role_policies_open(struct neap_role_policies *role,
			    const struct neap_process *process,
			    void (*note)(void *arg, const char *label, const char *what),
			    void (*describe)(void *arg, const char *label, json_t *row),
			    void *arg, struct neap_error *err);
/* Puts in service the policies that were read, those uploaded before, and those in
 * --policy-dir. The error names the option. */
int neap_role_policies_start(struct neap_role_policies *role,
			     const struct neap_config *config, struct neap_error *err);
/* For SIGHUP: reads the policies of the new configuration. One that does not pass is
 * logged, and the version before it stays. */
int neap_role_policies_reload(struct neap_live *live, const struct neap_config *config,
			      struct neap_error *err);
/* Stops all changes of policies; the registry stays for its users. */
void neap_role_policies_stop(struct neap_role_policies *role);
void neap_role_policies_free(struct neap_role_policies *role);

/* Returns {"kubernetes.io/hostname": ..., "kubernetes.io/os": "linux",
 * "kubernetes.io/arch": ..., and those of --node-label}. NULL without memory. */
json_t *neap_config_labels(const struct neap_config *config);

#endif
