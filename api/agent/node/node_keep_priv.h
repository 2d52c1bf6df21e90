/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by node_keep.c (decides what is written when), node_status.c (writes the status
 * of the Node) and node_metric.c (writes the NodeMetric). node_topology.h describes the
 * machine. */
#ifndef NEAP_API_AGENT_NODE_NODE_KEEP_PRIV_H
#define NEAP_API_AGENT_NODE_NODE_KEEP_PRIV_H

#include <jansson.h>

#include "api/agent/node/node_keep.h"

struct neap_window;

/* What does not change while the program runs. */
struct node_facts {
	char os_image[128], kernel[128], arch[32];
	char boot_id[64], machine_id[64];
};

/* A pressure stays for a while after it was seen last, so that it does not flap. */
struct node_pressure {
	int64_t until; /* Unix microseconds */
	bool is_on;
};

struct node_state {
	const struct neap_node_keep_config *config;
	struct node_facts facts;
	struct node_pressure memory, disk;
	struct neap_window *memory_used; /* MiB of the node, by the time of the sample */
	int64_t sampled_usec;            /* of the newest in it */
};

/* Small files of /proc, below sys_root (NULL, "": of this machine), and /etc; what cannot
 * be read is "". */
void node_facts_read(const char *sys_root, struct node_facts *ret);
/* The status that the Node should have, as a merge patch of the one it has (NULL: none):
 * times of conditions are those that it has as long as nothing differs, unless is_beat. A
 * new reference; NULL without memory. */
json_t *node_status_make(struct node_state *state, const json_t *node, int64_t now,
			 bool is_beat);
/* Whether the merge patch changes nothing. */
bool node_status_is_within(const json_t *status, const json_t *patch);
/* A condition's status; "" when there is none. */
const char *node_condition_status(const json_t *status, const char *type);
/* Why it cannot run pods now; NULL: it can. */
const char *node_why_not_ready(const struct node_state *state);

/* Takes the newest sample into memory_used. */
void node_metric_look(struct node_state *state);
/* status of the NodeMetric; NULL without memory, or when nothing was seen yet. */
json_t *node_metric_make(const struct node_state *state, int64_t now);

#endif
