/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes as a DaemonSet sees them: their labels and taints, and whether its pods
 * belong there. A verdict is kept until the node or the DaemonSet changes, so that a look
 * at thousands of nodes may take some turns. */
#ifndef NEAP_API_WORKLOAD_DAEMONSET_DAEMON_NODES_H
#define NEAP_API_WORKLOAD_DAEMONSET_DAEMON_NODES_H

#include "api/workload/loop/feed.h"

struct daemon_node {
	struct neap_object *object;
	json_t *taints;  /* NULL: none */
	uint64_t pass;   /* the pass that made the verdict; 0: none */
	bool should_run; /* a pod should be there */
	bool may_stay;   /* ... or may, if it is */
	/* Its pods in this look, an index into those of the DaemonSet. */
	size_t first, count;
};

struct daemon_nodes;

struct daemon_nodes *daemon_nodes_new(void); /* NULL without memory */
void daemon_nodes_free(struct daemon_nodes *nodes);
/* Forgets all. */
void daemon_nodes_clear(struct daemon_nodes *nodes);
/* Handles an event. 1: it may change where pods belong; 0: it does not; -1: no memory. */
int daemon_nodes_hear(struct daemon_nodes *nodes, struct neap_feed *feed,
		      const struct neap_client_event *event);

/* Makes verdicts for the template of a DaemonSet. 1: continues in the next turn; 0: all
 * are made; -1: no memory. */
int daemon_nodes_judge(struct daemon_nodes *nodes, struct neap_feed *feed,
		       const struct neap_object *object, const json_t *tree);
size_t daemon_nodes_count(const struct daemon_nodes *nodes);
struct daemon_node *daemon_nodes_at(const struct daemon_nodes *nodes, size_t index);
struct daemon_node *daemon_nodes_find(const struct daemon_nodes *nodes, const char *name);

/* Adds the tolerations that every daemon has to spec.tolerations of a pod; false without
 * memory. */
bool daemon_tolerate(json_t *spec);

#endif
