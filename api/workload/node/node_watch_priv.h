/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by node_watch.c (nodes: health and taints), node_pods.c (their pods),
 * node_pass.c (all of either, in pieces) and node_taints.c (tolerations). */
#ifndef NEAP_API_WORKLOAD_NODE_NODE_WATCH_PRIV_H
#define NEAP_API_WORKLOAD_NODE_NODE_WATCH_PRIV_H

#include <jansson.h>

#include "api/client/client.h"
#include "api/workload/loop/turn_steps.h"
#include "api/workload/workload.h"
#include "engine/base/map.h"

#define NODE_USEC 1000000LL

/* What is known of a node, by its name. Times are Unix microseconds. */
struct node_record {
	char uid[NEAP_OBJECT_UID];
	int64_t version;       /* of the Node as it was looked at; 0: to be looked at */
	int64_t lease_version; /* 0: it has none, and is not watched */
	int64_t renewed;       /* when we saw the Lease change, or the heartbeat */
	char beat[32];         /* lastHeartbeatTime of its condition Ready */
	uint64_t seen;         /* look in which it was there */
	bool is_lost;          /* not renewed in time */
	bool is_ready;         /* its condition, as read */
	bool is_out;           /* somebody says that nothing runs there any more */
	json_t *execute;       /* its NoExecute taints, each with timeAdded; NULL: none */
};

/* A node that pods name and that is not there. */
struct node_missing {
	int64_t since;
	uint64_t seen; /* pass in which a pod named it */
};

struct neap_node_watch {
	struct neap_workload_config config;
	int64_t grace, period;
	struct neap_task *turn;
	struct neap_map *nodes, *missing;
	uint64_t looks, passes;
	int64_t turned;  /* time of the last turn; 0: none yet */
	int64_t started; /* or came back; nobody is evicted for a grace after */
	/* A look at all nodes, then a pass over all pods: a piece a turn. */
	struct neap_steps steps;
	struct neap_client_place place;
	bool is_looking, is_passing;
	uint64_t passed; /* look in which the last pass began */
	int64_t due;     /* when the next pod is to go; INT64_MAX: none */
	bool is_changed; /* since then, what pods may stay with */
};

/* node_watch.c */
/* The whole list of conditions with one more or another; a new reference, NULL without
 * memory. */
json_t *node_conditions_with(const json_t *status, const char *type, const char *value,
			     const char *reason, const char *message, int64_t now);

/* node_taints.c */
/* spec.taints as they should be, null for none; a new reference, NULL when they are so,
 * or without memory. */
json_t *node_taints_changed(const json_t *node, int64_t now);
/* Fills execute and is_out; false without memory, then they stay. */
bool node_taints_read(struct node_record *record, const json_t *node, int64_t now);
/* Unix microseconds when a pod has to go because of NoExecute taints (each with
 * timeAdded); INT64_MAX: it may stay. bound: since when it is on the node. */
int64_t node_taints_end(const json_t *execute, const json_t *pod, int64_t bound);

/* node_pass.c */
struct node_pass {
	const char *resource;
	/* Whether look is to have it, and why. May be asked twice about one object. */
	bool (*is_concerned)(struct neap_node_watch *watch,
			     const struct neap_object *object, int64_t now, int *ret_why);
	/* May write. */
	void (*look)(struct neap_node_watch *watch, struct neap_object *object, int why,
		     int64_t now);
};
/* From watch->place on, with the steps of this turn. Returns 1 when there is more, 0 at
 * the end. */
int node_pass_go(struct neap_node_watch *watch, const struct node_pass *pass,
		 int64_t now);

/* node_pods.c */
/* The next piece of the pass; true when there is more. */
bool node_pods_pass(struct neap_node_watch *watch, int64_t now);

#endif
