/* SPDX-License-Identifier: Apache-2.0
 *
 * Passes the CPUs in this node's objects and in its pods' annotations to the node role
 * (api/run/pins.h), for pods of neapd and of a kubelet alike. Reports CPUs that cannot be
 * enforced as events. Runs on the loop and never blocks. */
#ifndef NEAP_API_AGENT_POD_PINS_H
#define NEAP_API_AGENT_POD_PINS_H

#include "api/client/client.h"
#include "api/run/pins.h"

struct event_base;
struct neap_pins;

/* Everything is borrowed for its life. */
struct neap_pins_config {
	struct event_base *base;
	struct neap_client *client;
	struct neap_node *node;
	const char *node_name;
	int refs_max; /* pods that may share a CPU; 0: 1 */
	const struct neap_log *log;
};

/* Passes on everything known before it returns. Once per node role. */
int neap_pins_new(const struct neap_pins_config *config, struct neap_pins **ret,
		  struct neap_error *err);
/* Enforced CPU sets stay. Accepts NULL. */
void neap_pins_end(struct neap_pins *pins);

/* Reads a pod's annotation. NEAP_EINVAL: it cannot be read, and the rest is filled in;
 * NEAP_ENOMEM. */
int neap_pins_read(const json_t *pod, struct neap_cpu_said *ret, struct neap_error *err);
/* Returns the uid in the names of its groups: its own, except for a kubelet's static pod.
 * Valid as long as tree and object. */
const char *neap_pins_group_uid(const struct neap_object *object, const json_t *tree);

#endif
