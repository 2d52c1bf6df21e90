/* SPDX-License-Identifier: Apache-2.0
 *
 * The node role: once per tick it reads the machine, asks the policies, plans the writes and gives
 * them to the hand; it starts `neapctl run` workloads in groups of their own and removes the groups
 * when they are empty. It owns no timer and no descriptor loop: the program calls neap_node_tick
 * when it is time, neap_node_hear when the hand has something to say and neap_node_react when asked
 * to. Nothing here waits. */
#ifndef NEAP_API_RUN_NODE_H
#define NEAP_API_RUN_NODE_H

#include <jansson.h>

#include "engine/base/audit.h"
#include "engine/base/log.h"
#include "hw/hand/hand.h"
#include "hw/scan.h"
#include "lua/run/record.h"
#include "lua/run/registry.h"

struct neap_node;

/* How descriptors are watched for the node; all NULL: it has no triggers. */
struct neap_node_loop {
	void *arg;
	/* ready(ready_arg) is called whenever fd is readable, until unwatch. NULL: it cannot. */
	void *(*watch)(void *arg, int fd, void (*ready)(void *ready_arg),
		       void *ready_arg);
	void (*unwatch)(void *arg, void *watch);
	/* neap_node_react is to be called in that time; 0: when the events at hand are done. */
	void (*wake)(void *arg, int64_t after_usec);
};

struct neap_node_config {
	struct neap_tree trees
		[NEAP_TREES_MAX]; /* own (neap_trees_own), then the kubelet's if any */
	int tree_count;
	bool finds_kubelet; /* the kubelet's tree is not known yet, and is looked for */
	const struct neap_host_app *host_apps; /* borrowed for the node's life */
	int host_app_count;
	enum neap_cgroup_driver host_driver; /* how host application paths are built */
	const char *sys_root;                /* "" for this machine */
	const char *
		kubelet_dir; /* where a kubelet has its files, below sys_root; NULL, "": there is none */
	const char
		*record_dir; /* where running workloads are remembered, "" for nowhere */
	const char
		*freeze_file; /* nothing is written while it exists; the hand looks too */
	int64_t window_usec;  /* span of averages and percentiles */
	int window_samples;   /* how many samples of that span are kept */
	int64_t reserve_milli;
	struct neap_cpuset reserved_cpus, system_cpus;
	bool dry_run;
	enum neap_weight_curve curve;
	struct neap_log log;
	struct neap_record *record; /* borrowed: every sample goes there; may be NULL */
	/* May be NULL: a policy was taken out of service. Called inside a tick: the registry must
	 * not be changed by it. */
	void (*policy_failed)(void *arg, const char *kind, const char *name,
			      const char *why);
	/* May be NULL: the kubelet's tree was found. Its folder may be another one than
	 * is read. */
	void (*kubelet_came)(void *arg);
	void *arg;
	struct neap_node_loop loop;
};

/* hand NULL: it only watches (no root, or dry run). The hand of a dry run only reads
 * (only_reads of neap_hand_config). cgroup, registry are borrowed and outlive the
 * node. With a hand that writes its own groups are made and the journal's values taken
 * up first: the node is open when the hand has answered that, and ticks before do
 * nothing. */
int neap_node_new(const struct neap_node_config *config, struct neap_cgroup *cgroup,
		  struct neap_hand *hand, struct neap_registry *registry,
		  struct neap_node **ret, struct neap_error *err);
void neap_node_free(struct neap_node *node);

/* False while it starts. When its groups cannot be made neap_node_hear fails and says why. */
bool neap_node_is_open(const struct neap_node *node);

/* One tick. Errors of a tick are logged and counted; the next tick tries again. */
void neap_node_tick(struct neap_node *node, int64_t mono_usec, int64_t unix_usec);
/* Asks the policies whose triggers fired, and writes what they want; nothing when none did. */
void neap_node_react(struct neap_node *node, int64_t mono_usec, int64_t unix_usec);
/* Takes the hand's answers. -code when the hand is gone: the program should end. */
int neap_node_hear(struct neap_node *node, int64_t unix_usec, struct neap_error *err);
/* The hand's socket was full: poll for writing too. */
bool neap_node_wants_write(const struct neap_node *node);

/* Called once with the outcome: body (to be taken over) and err NULL, or err. */
typedef void neap_node_done(void *arg, json_t *body, const struct neap_error *err);

/* Starts the process at the other end of peer_fd as a workload (fields: see api/control/control.h).
 * input is borrowed. done may be called before this returns. */
void neap_node_run(struct neap_node *node, json_t *input, int peer_fd,
		   neap_node_done *done, void *arg);
/* verb: freeze (no writes until resume), release (all given back, no writes until resume), resume.
 * by: who asks, for audit and log ("uid 0"); copied. */
void neap_node_operate(struct neap_node *node, const char *verb, const char *by,
		       neap_node_done *done, void *arg);

/* "acting", "frozen", "released", "dry-run", "watching"; *ret_why is "" or says more. Static texts. */
const char *neap_node_state(const struct neap_node *node, const char **ret_why);
json_t *neap_node_status(struct neap_node *node);
json_t *neap_node_workloads(struct neap_node *node);
const struct neap_topology *neap_node_topology(const struct neap_node *node);
/* Memory of the machine that is looked at, as it was at the start; NEAP_MISSING: it
 * cannot be read. */
int64_t neap_node_memory_bytes(const struct neap_node *node);
/* The kubelet's files are read anew, as at every second of ticks; those that the hand has to open come later. */
void neap_node_kubelet_look(struct neap_node *node);
/* As they were read last, NULL: not there. Borrowed until the next look, or answer of the hand. */
const json_t *neap_node_kubelet_state(const struct neap_node *node);
const char *neap_node_kubelet_config(const struct neap_node *node, size_t *ret_len);
/* Namespace and name of a kubelet's pod, as far as its kubelet tells; false: not known. */
bool neap_node_pod_name(const struct neap_node *node, const char *uid, char *ns,
			size_t ns_size, char *name, size_t name_size);
/* What the last look saw, borrowed until the next; NULL before the first. */
const struct neap_sample *neap_node_sample(const struct neap_node *node);
const struct neap_audit *neap_node_audit(const struct neap_node *node);
/* Adds what only the node knows of a policy: "triggers". */
void neap_node_describe_policy(const struct neap_node *node, const char *label,
			       json_t *row);
/* A line for the audit about a policy ("qos/cpu-share@3f2a91c0"). */
void neap_node_note_policy(struct neap_node *node, const char *label, const char *what,
			   int64_t unix_usec);
/* False, with the reason, until the first tick is done. */
bool neap_node_is_ready(const struct neap_node *node, const char **ret_why_not);

#endif
