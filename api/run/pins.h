/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs that were given out, enforced: what the objects of the node and of its pods say becomes the CPU sets of their
 * groups, those of neap's own and those of a kubelet. Each plan holds it; what policies wish for counts within it. */
#ifndef NEAP_API_RUN_PINS_H
#define NEAP_API_RUN_PINS_H

#include "api/run/node.h"
#include "engine/numa/cpu_enforce.h"

/* Of its own CPUs these are not online; empty: all are again. is_all: none is left, and the pod shares a pool. Told
 * within a tick, when it changed. */
typedef void neap_node_pin_told(void *arg, const char *uid,
				const struct neap_cpuset *missing, bool is_all);

/* Before it, CPU sets are policies' alone. Once. */
int neap_node_pins_begin(struct neap_node *node, neap_node_pin_told *told, void *arg,
			 struct neap_error *err);
/* Nothing is told any more; what is held stays so. */
void neap_node_pins_end(struct neap_node *node);

/* What the pod says, from the next plan on; its groups need not be there. Copied. NEAP_ENOMEM: as it was. */
int neap_node_pin(struct neap_node *node, const char *uid,
		  const struct neap_cpu_said *said, struct neap_error *err);
/* It has ended or is gone. */
void neap_node_unpin(struct neap_node *node, const char *uid);
/* What is told of the node; its topology is the node role's own. Copied. NULL: nothing, and the configuration counts. */
void neap_node_pins_set_node(struct neap_node *node, const struct neap_cpu_node *told,
			     bool is_kubelet_static);

#endif
