/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods that run on this node without a kubelet: their groups are below neap's own root,
 * named like those of a kubelet with the cgroupfs driver
 * (ROOT[/burstable|-besteffort]/podUID/CONTAINER), so policies see them like any pods.
 * The node keeps their base values in every plan: shares, quota, memory limit, number of
 * processes. Groups of an earlier neapd are taken over when the same pod is added again;
 * empty groups of pods that nobody adds are removed. */
#ifndef NEAP_API_RUN_PODS_H
#define NEAP_API_RUN_PODS_H

#include "api/run/node.h"

#define NEAP_NODE_CONTAINERS_MAX 64  /* of one pod, including init containers */
#define NEAP_NODE_UID_MAX        120 /* characters */

struct neap_node_container {
	const char *name;
	int64_t cpu_request_milli, cpu_limit_milli,
		memory_limit_bytes; /* NEAP_MISSING: none */
	int64_t processes_max;      /* pids.max */
	/* An init container: for the pod's totals it counts instead of the others, not in
	 * addition. */
	bool is_init;
};

struct neap_node_pod {
	const char *uid, *ns, *name;
	enum neap_qos qos; /* from label koordinator.sh/qosClass; NEAP_QOS_NONE without */
	enum neap_kube_qos kube_qos;
	const struct neap_node_container *containers;
	size_t container_count;
	/* Requests and limits of the pod itself (only cpu and memory); 0 or missing:
	 * those of its containers. */
	struct neap_node_container whole;
};

/* err NULL: done. Called once, at the latest (NEAP_EUNAVAILABLE) when the node is
 * freed. */
typedef void neap_node_pod_done(void *arg, const struct neap_error *err);

/* Creates the groups and writes their first values; calls done when all are in force, or
 * with what failed (then nothing remains). For an existing pod it updates the values. May
 * call done before it returns. */
void neap_node_pod_add(struct neap_node *node, const struct neap_node_pod *pod,
		       neap_node_pod_done *done, void *arg);
/* Moves the process at the other end of peer_fd (duplicated) into the container's
 * group. */
void neap_node_pod_move(struct neap_node *node, const char *uid, const char *container,
			int peer_fd, neap_node_pod_done *done, void *arg);
/* The same for a probe's command; because there are many, successes are not in the
 * audit. */
void neap_node_pod_probe(struct neap_node *node, const char *uid, const char *container,
			 int peer_fd, neap_node_pod_done *done, void *arg);
/* Removes the groups now, or when their last process has ended; then calls done, which
 * may be NULL. */
void neap_node_pod_remove(struct neap_node *node, const char *uid,
			  neap_node_pod_done *done, void *arg);
#endif
