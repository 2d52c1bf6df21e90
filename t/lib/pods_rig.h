/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of pods: a node role with a hand of its own, over this machine's groups
 * or over a tree of plain files that looks like cgroup v1 or v2, with a clock of the
 * test's. */
#ifndef NEAP_T_LIB_PODS_RIG_H
#define NEAP_T_LIB_PODS_RIG_H

#include "api/run/pods.h"
#include "t/lib/hand_rig.h"

enum pods_kind { PODS_MACHINE, PODS_V1, PODS_V2, PODS_V1_NO_PIDS };

struct pods_rig {
	struct hand_rig *hand;
	struct neap_node_config config;
	struct neap_registry *registry;
	struct neap_node *node;
	enum pods_kind kind;
	char dir[64]; /* scratch: the tree of files, records, the log */
	char records[96], log[96], freeze[160];
	int64_t mono_usec;
};

/* What a done callback was told. */
struct pods_outcome {
	int calls;
	struct neap_error err;
};

/* NULL with *ret_why when this machine cannot. The node is open and has ticked once. */
struct pods_rig *pods_rig_new(enum pods_kind kind, const char **ret_why);
void pods_rig_free(struct pods_rig *rig);
/* Ends node and hand as a crash would and starts others; both still run until
 * pods_rig_open. */
void pods_rig_restart(struct pods_rig *rig);
void pods_rig_open(struct pods_rig *rig);

/* One tick, so many seconds after the last, and the answers to it. */
void pods_tick(struct pods_rig *rig, int seconds);
/* Hears once, for up to 20 ms. */
void pods_hear(struct pods_rig *rig);
void pods_done(void *outcome, const struct neap_error *err);
/* Hears, and ticks now and then, until it was told; fails after ten seconds. */
void pods_await(struct pods_rig *rig, const struct pods_outcome *outcome);
/* Ticks until that group is gone; fails after ten seconds. */
void pods_await_end(struct pods_rig *rig, const char *group);
/* Adds or removes and waits; the code of the outcome. */
enum neap_code pods_add(struct pods_rig *rig, const struct neap_node_pod *pod,
			struct pods_outcome *ret);
enum neap_code pods_remove(struct pods_rig *rig, const char *uid);

/* "neap-test-PID/own/NAME"; a ring of static buffers. */
const char *pods_path(const struct pods_rig *rig, const char *name);
/* The value is in force, or *ret_is (if not NULL) what is there instead. */
bool pods_has(struct pods_rig *rig, const char *group, enum neap_key key, int64_t want,
	      const char **ret_is);
/* A process that waits, moved into the container; its pid. Its end is seen by files
 * too. */
int pods_process(struct pods_rig *rig, const char *uid, const char *container,
		 struct pods_outcome *ret);
void pods_process_end(struct pods_rig *rig, int pid, const char *group);
/* The row of the workload of that id, borrowed from *ret_all, which is the caller's; or
 * NULL. */
json_t *pods_row(struct pods_rig *rig, const char *id, json_t **ret_all);
int pods_record_count(const struct pods_rig *rig);
void pods_await_records(struct pods_rig *rig, int count);
/* Lines of the log with that text. */
int pods_log_count(const struct pods_rig *rig, const char *text);

#endif
