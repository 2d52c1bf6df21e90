/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of neapd's start, in the order in which it needs them: account, folders and
 * lock, token, cgroup trees, the hand. */
#ifndef NEAP_API_DAEMON_START_H
#define NEAP_API_DAEMON_START_H

#include "api/daemon/process.h"
#include "api/policy/live/live.h"
#include "api/run/node.h"

/* Finds the account of --user if this process is root, else its own account. The error
 * says how to make the user. */
int neap_account_find(const char *user, struct neap_account *ret, struct neap_error *err);
/* Finds the account of --run-pods-user and its home (256 bytes). Refuses root, and the
 * loop's own user, whose token pods could read. */
int neap_account_find_pods(const char *user, const struct neap_account *loop,
			   struct neap_account *ret, char *home, struct neap_error *err);
/* Gives up root for good: groups, gid, uid, every capability, no_new_privs. Checks that
 * root cannot come back, then sets the system call filter. A kernel without filters gives
 * one warning. Call it before any thread starts. */
int neap_account_become(const struct neap_account *account, enum neap_jail_kind kind,
			enum neap_jail_mode mode, const struct neap_log *log,
			struct neap_error *err);
/* Sets nice value and oom_score_adj and, without a terminal, starts a new session, so
 * that neapd still runs on a starved machine. Needs root. */
void neap_account_favour(const struct neap_log *log);

/* Makes the missing ones of run_dir (root's) and data_dir with its folders workloads and
 * policies (the account's). */
int neap_folders_make(const struct neap_config *config,
		      const struct neap_account *account, struct neap_error *err);
/* Takes RUN_DIR/neapd.lock until the process ends: one neapd per run_dir. NEAP_ECONFLICT
 * names the other's pid. */
int neap_folders_lock(const char *run_dir, struct neap_error *err);
/* Reads DATA_DIR/token, or makes it with mode 0600 for the account. buf has at least 65
 * bytes. */
int neap_token_load(const struct neap_config *config, const struct neap_account *account,
		    char *buf, size_t size, struct neap_error *err);

/* Replaces the token; the file is complete at any moment. Needs the loop's user. */
int neap_token_rotate(const struct neap_config *config, char *buf, size_t size,
		      struct neap_error *err);

/* Disables the policies in which earlier neapds were stuck (DATA_DIR/stuck-policies), and
 * starts the last watchdog, which adds to that file. Needs the loop's user, before the
 * policies start. */
int neap_stuck_start(const struct neap_config *config, struct neap_live *live,
		     const struct neap_log *log, struct neap_error *err);
/* Adds a line to that file, from the watchdog's signal handler. neapd ends after it. */
void neap_stuck_note(const char *label);

/* Privileges of both processes, as the kernel reports them: {"loop": {"uid",
 * "capabilities": [names], "seccomp": "on"|"log"|"off", "no_new_privs"}, "hand": the same
 * and "landlock": version}. hand NULL: without it. Returns NULL without memory. */
json_t *neap_privileges_report(enum neap_jail_mode mode, const struct neap_hand *hand);
/* --give-back. Returns the program's exit status. */
int neap_hand_give_back_now(const struct neap_config *config, const struct neap_log *log);
/* --give-back-later. Returns the program's exit status. */
int neap_hand_give_back_later(const struct neap_config *config,
			      const struct neap_log *log);

#endif
