/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of live policies: a loop, a registry and a folder of their own, no node.
 * Policies have texts named by letters, and a script of one-letter verbs says what
 * happens to them. */
#ifndef NEAP_T_LIB_LIVE_RIG_H
#define NEAP_T_LIB_LIVE_RIG_H

#include "api/policy/live/live_priv.h"

struct event_base;

struct live_answer {
	int calls, status; /* of an error the HTTP status */
	json_t *body;
	char version[12];
	struct neap_error err;
};

struct live_rig {
	char base_dir[64], dir[80], policy_dir[80];
	struct event_base *base;
	struct neap_registry *registry;
	struct neap_recorders recorders;
	struct neap_live *live;
	json_t *labels;
	struct neap_sample sample;
	struct live_answer answer;
	/* The configuration: a letter, and the parameter milli, 0 for none. */
	char configured;
	int configured_milli;
	bool has_dir;
	int64_t deleted_bytes; /* of policies that were deleted, 16 MiB */
	int log_fd;
	char notes[4096]; /* "label: what\n" of each */
};

/* 26 letters; the tick of a letter fails while its bit is in sample.capacity_milli. S is
 * for another node, N and O take milli up to 400 only. name: of the policy. A static
 * buffer. */
const char *live_text(const char *name, char letter);
/* '-' when the version is of none. */
char live_letter(const char *name, const char *version);
void live_version(const char *name, char letter, char ret[12]);
int64_t live_bit(char letter);

/* *state is a struct live_rig. */
int live_setup(void **state);
int live_teardown(void **state);
/* New, started, with the directory watched if has_dir. */
int live_start(struct live_rig *rig, struct neap_error *err);
void live_stop(struct live_rig *rig);
/* Setup and start, without a directory. */
struct live_rig *live_open(void **state);
void live_settle(struct live_rig *rig);
/* Every policy once, as the node does it. */
void live_tick(struct live_rig *rig);
/* Changes; the answer is in rig->answer, and its status returned. */
struct neap_live_change live_change(struct live_rig *rig, const char *name);
int live_put(struct live_rig *rig, const char *name, const char *text);
int live_ask(struct live_rig *rig, int rc, const struct neap_error *err);
/* Parameters of the policy "one" by JSON text; its milli in force. */
int live_set(struct live_rig *rig, const char *text);
int64_t live_milli(struct live_rig *rig);
/* A file of the directory by rename; text NULL removes it. Then it is looked at. */
void live_file(struct live_rig *rig, const char *file, const char *text);
/* "uA": layer (c, u, d) and letter of what is in the registry, with "*" in probation, "!"
 * out of service, "@" elsewhere; "-" when there is none. */
const char *live_state(struct live_rig *rig, const char *name);
/* The active version on disk: its letter, or '-'. */
char live_active(struct live_rig *rig, const char *name);
/* Content of the log so far. */
const char *live_log(struct live_rig *rig);

/* Words "verb[letter][=status][:state]" about the policy "one":
 *   +A put, ?A put as a dry run, x delete, < rollback, <A rollback to A, pN parameter
 *   milli (p- null), cA configured anew with A (c- without), !A A fails in service, dA /
 *   eA one.lua / two.lua of the directory says A (d- gone), m one.lua is renamed to
 *   two.lua, R a restart. */
void live_play(struct live_rig *rig, const char *name, const char *script);

#endif
