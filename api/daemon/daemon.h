/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the start of neapd, in the order in which it needs them: folders and lock, token,
 * privileges, the lines that tell what it found. */
#ifndef NEAP_API_DAEMON_DAEMON_H
#define NEAP_API_DAEMON_DAEMON_H

#include <stdio.h>
#include <sys/types.h>

#include "api/config.h"
#include "api/run/node.h"
#include "lua/registry.h"

/* The account that the loop runs under. */
struct neap_account {
	uid_t uid;
	gid_t gid;
	char name[64];
};

/* The user of --user when root; else whoever started it. The error says how to make the user. */
int neap_account_find(const char *user, struct neap_account *ret, struct neap_error *err);
/* Gives up root for good: groups, gid, uid, no_new_privs; checks that it cannot come back. */
int neap_account_become(const struct neap_account *account, struct neap_error *err);
/* Nice value and oom_score_adj, so that a starved machine still has its governor. Needs root. */
void neap_account_favour(const struct neap_log *log);

/* Makes run_dir (root's) and data_dir with its folder workloads (the account's) where missing. */
int neap_folders_make(const struct neap_config *config,
		      const struct neap_account *account, struct neap_error *err);
/* One neapd per run_dir: holds RUN_DIR/neapd.lock until the process ends. NEAP_ECONFLICT names the other's pid. */
int neap_folders_lock(const char *run_dir, struct neap_error *err);
/* DATA_DIR/token: read, or made with mode 0600 for the account. buf of at least 65 bytes. */
int neap_token_load(const struct neap_config *config, const struct neap_account *account,
		    char *buf, size_t size, struct neap_error *err);

/* The texts of the configured policies, in its order. */
struct neap_policy_texts {
	char *text[NEAP_POLICIES_MAX];
	size_t len[NEAP_POLICIES_MAX];
	char file[NEAP_POLICIES_MAX][640];
};

/* Only reads: nothing of a policy runs. forget frees; on an error nothing is left to be freed. */
int neap_policies_read(const struct neap_config *config, struct neap_policy_texts *ret,
		       struct neap_error *err);
void neap_policies_forget(struct neap_policy_texts *texts);
/* Loads, proves by its examples, and sets the parameters of every policy. What they log goes to log,
 * which outlives them. */
int neap_policies_load(const struct neap_config *config,
		       const struct neap_policy_texts *texts, struct neap_log *log,
		       struct neap_registry *registry, struct neap_error *err);

/* Ten lines: what was found, what is done, where to look. */
void neap_banner_print(FILE *out, const struct neap_config *config,
		       const struct neap_account *account,
		       const struct neap_cgroup *cgroup, struct neap_node *node,
		       const struct neap_tree *trees, int tree_count);

#endif
