/* SPDX-License-Identifier: Apache-2.0
 *
 * The node role. Once per tick it reads the machine, asks the policies, plans the writes
 * and sends them to the hand. It also starts `neapctl run` workloads in groups of their
 * own and removes the groups when they are empty. It owns no timer and no event loop: the
 * program calls neap_node_tick periodically, neap_node_hear when the hand has answered,
 * and neap_node_react when requested. Nothing here blocks. */
#ifndef NEAP_API_RUN_NODE_H
#define NEAP_API_RUN_NODE_H

#include <jansson.h>

#include "engine/log/audit.h"
#include "engine/log/log.h"
#include "hw/hand/hand.h"
#include "hw/scan.h"
#include "lua/run/record.h"
#include "lua/run/registry.h"

struct neap_node;

/* Functions that watch descriptors for the node; all NULL: no triggers. */
struct neap_node_loop {
	void *arg;
	/* Calls ready(ready_arg) whenever fd is readable, until unwatch. NULL: failed. */
	void *(*watch)(void *arg, int fd, void (*ready)(void *ready_arg),
		       void *ready_arg);
	void (*unwatch)(void *arg, void *watch);
	/* Requests a call of neap_node_react after this time; 0: after the present
	 * events. */
	void (*wake)(void *arg, int64_t after_usec);
};

struct neap_node_config {
	/* own trees (neap_trees_own), then the kubelet's if there is one */
	struct neap_tree trees[NEAP_TREES_MAX];
	int tree_count;
	bool finds_kubelet; /* the kubelet's tree is unknown so far and searched for */
	const struct neap_host_app *host_apps; /* borrowed for the node's life */
	int host_app_count;
	enum neap_cgroup_driver host_driver; /* how host application paths are built */
	const char *sys_root;                /* "" for this machine */
	/* directory of a kubelet's files, below sys_root; NULL, "": none */
	const char *kubelet_dir;
	const char *record_dir; /* directory that records running workloads, "": none */
	/* nothing is written while it exists; the hand checks it too */
	const char *freeze_file;
	int64_t window_usec; /* span of averages and percentiles */
	int window_samples;  /* samples kept for that span */
	int64_t reserve_milli;
	struct neap_cpuset reserved_cpus, system_cpus;
	bool dry_run;
	enum neap_weight_curve curve;
	struct neap_log log;
	struct neap_record *record; /* borrowed: receives every sample; may be NULL */
	/* May be NULL: called when a policy was taken out of service, within a tick; it
	 * must not change the registry. */
	void (*policy_failed)(void *arg, const char *kind, const char *name,
			      const char *why);
	/* May be NULL: called when the kubelet's tree was found; its directory may differ
	 * from the one in use. */
	void (*kubelet_came)(void *arg);
	void *arg;
	struct neap_node_loop loop;
};

/* hand NULL: only watches (no root, or dry run). The hand of a dry run only reads
 * (only_reads of neap_hand_config). cgroup and registry are borrowed and outlive the
 * node. With a writing hand, the node first creates its groups and loads the journal's
 * values; it is open when the hand has answered that, and earlier ticks do nothing. */
int neap_node_new(const struct neap_node_config *config, struct neap_cgroup *cgroup,
		  struct neap_hand *hand, struct neap_registry *registry,
		  struct neap_node **ret, struct neap_error *err);
void neap_node_free(struct neap_node *node);

/* False while it starts. If its groups cannot be created, neap_node_hear fails with the
 * reason. */
bool neap_node_is_open(const struct neap_node *node);

/* Runs one tick. Its errors are logged and counted; the next tick tries again. */
void neap_node_tick(struct neap_node *node, int64_t mono_usec, int64_t unix_usec);
/* Asks the policies whose triggers fired and writes what they want; does nothing when
 * none fired. */
void neap_node_react(struct neap_node *node, int64_t mono_usec, int64_t unix_usec);
/* Receives the hand's answers. -code when the hand is gone: the program should end. */
int neap_node_hear(struct neap_node *node, int64_t unix_usec, struct neap_error *err);
/* The hand's socket is full: poll for writing too. */
bool neap_node_wants_write(const struct neap_node *node);

/* Called once with the outcome: body (taken over) and err NULL, or err. */
typedef void neap_node_done(void *arg, json_t *body, const struct neap_error *err);

/* Makes the process at the other end of peer_fd a workload (fields:
 * api/control/control.h). input is borrowed. done may be called before this returns. */
void neap_node_run(struct neap_node *node, json_t *input, int peer_fd,
		   neap_node_done *done, void *arg);
/* verb: freeze (no writes until resume), release (everything restored, no writes until
 * resume), resume. by: the caller, for audit and log ("uid 0"); copied. */
void neap_node_operate(struct neap_node *node, const char *verb, const char *by,
		       neap_node_done *done, void *arg);

/* "acting", "frozen", "released", "dry-run", "watching"; *ret_why is "" or a detail.
 * Static texts. */
const char *neap_node_state(const struct neap_node *node, const char **ret_why);
json_t *neap_node_status(struct neap_node *node);
json_t *neap_node_workloads(struct neap_node *node);
const struct neap_topology *neap_node_topology(const struct neap_node *node);
/* Memory of the machine, read at the start; NEAP_MISSING: unreadable. */
int64_t neap_node_memory_bytes(const struct neap_node *node);
/* Reads the kubelet's files again, as ticks do about once a second; those that the hand
 * must open follow later. */
void neap_node_kubelet_look(struct neap_node *node);
/* The state read last, NULL: none. Borrowed until the next reading or answer of the
 * hand. */
const json_t *neap_node_kubelet_state(const struct neap_node *node);
const char *neap_node_kubelet_config(const struct neap_node *node, size_t *ret_len);
/* Returns namespace and name of a kubelet's pod, if its kubelet tells them; false:
 * unknown. */
bool neap_node_pod_name(const struct neap_node *node, const char *uid, char *ns,
			size_t ns_size, char *name, size_t name_size);
/* The latest sample, borrowed until the next; NULL before the first. */
const struct neap_sample *neap_node_sample(const struct neap_node *node);
const struct neap_audit *neap_node_audit(const struct neap_node *node);
/* Adds the member of a policy's row that only the node knows: "triggers". */
void neap_node_describe_policy(const struct neap_node *node, const char *label,
			       json_t *row);
/* Adds an audit line about a policy ("qos/cpu-share@3f2a91c0"). */
void neap_node_note_policy(struct neap_node *node, const char *label, const char *what,
			   int64_t unix_usec);
/* False, with the reason, until the first tick is done. */
bool neap_node_is_ready(const struct neap_node *node, const char **ret_why_not);

#endif
