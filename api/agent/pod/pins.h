/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells the node role what the objects of this node and of its pods say about CPUs (api/run/pins.h), whoever runs
 * those pods, and tells of what cannot be held as events. Runs on the loop and never waits. */
#ifndef NEAP_API_AGENT_POD_PINS_H
#define NEAP_API_AGENT_POD_PINS_H

#include "api/client/client.h"
#include "api/run/pins.h"

struct event_base;
struct neap_pins;

/* All of it is borrowed for its life. */
struct neap_pins_config {
	struct event_base *base;
	struct neap_client *client;
	struct neap_node *node;
	const char *node_name;
	const struct neap_log *log;
};

/* All that is known at once is told before it returns. Once for a node role. */
int neap_pins_new(const struct neap_pins_config *config, struct neap_pins **ret,
		  struct neap_error *err);
/* What is held stays so. NULL is fine. */
void neap_pins_end(struct neap_pins *pins);

/* What the object of a pod says. NEAP_EINVAL: its annotation cannot be read, and the rest is there; NEAP_ENOMEM. */
int neap_pins_read(const json_t *pod, struct neap_cpu_said *ret, struct neap_error *err);
/* What its groups are named by: its uid, but of a pod that a kubelet has from a file. As long as tree and object. */
const char *neap_pins_group_uid(const struct neap_object *object, const json_t *tree);

#endif
