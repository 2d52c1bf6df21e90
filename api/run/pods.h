/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods that run on this node without a kubelet: their groups below neap's own root, named as a kubelet with the
 * cgroupfs driver names them (ROOT[/burstable|-besteffort]/podUID/CONTAINER), so that every policy sees them as
 * it sees others. The node keeps what they ask for as base values of the plan: shares, quota, memory limit,
 * number of processes. Groups of an earlier neapd are taken over when the same pod is added again; empty groups
 * of pods that nobody added go. */
#ifndef NEAP_API_RUN_PODS_H
#define NEAP_API_RUN_PODS_H

#include "api/run/node.h"

#define NEAP_NODE_CONTAINERS_MAX 64  /* of one pod, init containers among them */
#define NEAP_NODE_UID_MAX        120 /* characters */

struct neap_node_container {
	const char *name;
	int64_t cpu_request_milli, cpu_limit_milli,
		memory_limit_bytes; /* NEAP_MISSING: none */
	int64_t processes_max;      /* pids.max */
	/* Ends before the others run: for the pod as a whole it counts beside them, not with them. */
	bool is_init;
};

struct neap_node_pod {
	const char *uid, *ns, *name;
	enum neap_qos qos; /* by label koordinator.sh/qosClass; NEAP_QOS_NONE without */
	enum neap_kube_qos kube_qos;
	const struct neap_node_container *containers;
	size_t container_count;
	/* What the pod says of itself, of which cpu and memory count; 0 or missing: what
	 * its containers say. */
	struct neap_node_container whole;
};

/* err NULL: done. Called once, at the latest (NEAP_EUNAVAILABLE) when the node is freed. */
typedef void neap_node_pod_done(void *arg, const struct neap_error *err);

/* Makes the groups and writes their first values; done is told when both are in force, or what failed (then
 * nothing remains). A pod that is there gets the new numbers. May call done before it returns. */
void neap_node_pod_add(struct neap_node *node, const struct neap_node_pod *pod,
		       neap_node_pod_done *done, void *arg);
/* Moves the process at the other end of peer_fd (duplicated) into the container's group. */
void neap_node_pod_move(struct neap_node *node, const char *uid, const char *container,
			int peer_fd, neap_node_pod_done *done, void *arg);
/* The same for the command of a probe, which is one of many: what goes well is not in the audit. */
void neap_node_pod_probe(struct neap_node *node, const char *uid, const char *container,
			 int peer_fd, neap_node_pod_done *done, void *arg);
/* The groups go, now or when their last process has ended; done, which may be NULL, when they are gone. */
void neap_node_pod_remove(struct neap_node *node, const char *uid,
			  neap_node_pod_done *done, void *arg);
/* What the last tick saw of it; false when it saw none. Amounts may be NEAP_MISSING. */
struct neap_node_pod_usage {
	int64_t cpu_milli; /* average of the window */
	int64_t memory_bytes;
	int64_t processes;
};
bool neap_node_pod_usage(const struct neap_node *node, const char *uid,
			 struct neap_node_pod_usage *ret);

#endif
