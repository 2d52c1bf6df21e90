/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the start of neapd, in the order in which it needs them: account, folders and
 * lock, token, trees of cgroups, the hand. */
#ifndef NEAP_API_DAEMON_START_H
#define NEAP_API_DAEMON_START_H

#include "api/daemon/process.h"
#include "api/policy/live/live.h"
#include "api/run/node.h"

/* The user of --user when root; else whoever started it. The error says how to make the
 * user. */
int neap_account_find(const char *user, struct neap_account *ret, struct neap_error *err);
/* The user of --run-pods-user and its home. Root, and the user that the loop is (whose
 * token it could read), are refused. home: 256 bytes. */
int neap_account_find_pods(const char *user, const struct neap_account *loop,
			   struct neap_account *ret, char *home, struct neap_error *err);
/* Gives up root for good: groups, gid, uid, every capability, no_new_privs; checks that
 * it cannot come back; then the filter of system calls. A kernel without filters gives
 * one warning. Before any thread. */
int neap_account_become(const struct neap_account *account, enum neap_jail_kind kind,
			enum neap_jail_mode mode, const struct neap_log *log,
			struct neap_error *err);
/* Nice value, oom_score_adj and, away from a terminal, a session of its own, so that a
 * starved machine still has its governor. Needs root. */
void neap_account_favour(const struct neap_log *log);

/* Makes run_dir (root's) and data_dir with its folders workloads and policies (the
 * account's) where missing. */
int neap_folders_make(const struct neap_config *config,
		      const struct neap_account *account, struct neap_error *err);
/* One neapd per run_dir: holds RUN_DIR/neapd.lock until the process ends. NEAP_ECONFLICT
 * names the other's pid. */
int neap_folders_lock(const char *run_dir, struct neap_error *err);
/* DATA_DIR/token: read, or made with mode 0600 for the account. buf of at least 65
 * bytes. */
int neap_token_load(const struct neap_config *config, const struct neap_account *account,
		    char *buf, size_t size, struct neap_error *err);

/* Another token in its place; the file is whole at any moment. As the loop's user. */
int neap_token_rotate(const struct neap_config *config, char *buf, size_t size,
		      struct neap_error *err);

/* Leaves out what earlier neapds were stuck in (DATA_DIR/stuck-policies), and starts the
 * last watchdog, which adds to it. As the loop's user, before the policies are
 * started. */
int neap_stuck_start(const struct neap_config *config, struct neap_live *live,
		     const struct neap_log *log, struct neap_error *err);
/* The watchdog's part, inside a signal handler: adds a line. neapd ends after it. */
void neap_stuck_note(const char *label);

/* SIGHUP: the same command line and its file anew. What can be changed in a running
 * daemon is taken over into config, what cannot is named in the log; wrong settings
 * change nothing. */
void neap_reload(struct neap_process *process, struct neap_live *live);

/* neap's own group and, if there is one, the kubelet's. Returns how many. */
int neap_trees_find(const struct neap_config *config, const struct neap_cgroup *cgroup,
		    struct neap_tree trees[NEAP_TREES_MAX]);
/* Whether the kubelet's group is looked for still. */
bool neap_finds_kubelet(const struct neap_config *config, int tree_count);
/* --kubelet-dir; for auto that of the kubelet that runs. As root, who sees relative paths
 * of it. */
void neap_kubelet_dir_find(const struct neap_config *config, char *buf, size_t size);
/* A kubelet came after the start, when dir was found: told where its folder is another
 * one. */
void neap_kubelet_dir_tell(const struct neap_config *config, const char *dir,
			   const struct neap_log *log);
/* How paths of host applications are built here. */
enum neap_cgroup_driver neap_host_driver(const struct neap_tree *trees, int tree_count);
int neap_hand_config_fill(const struct neap_config *config,
			  const struct neap_cgroup *cgroup, const struct neap_tree *trees,
			  int tree_count, const struct neap_log *log,
			  struct neap_hand_config *ret, struct neap_error *err);
/* What both processes run with, by the kernel's word: {"loop": {"uid", "capabilities":
 * [names], "seccomp": "on"|"log"|"off", "no_new_privs"}, "hand": the same and "landlock":
 * version}. hand NULL: without it. NULL without memory. */
json_t *neap_privileges_report(enum neap_jail_mode mode, const struct neap_hand *hand);
/* --give-back. Returns the program's exit status. */
int neap_hand_give_back_now(const struct neap_config *config, const struct neap_log *log);
/* --give-back-later. The same. */
int neap_hand_give_back_later(const struct neap_config *config,
			      const struct neap_log *log);

#endif
