/* SPDX-License-Identifier: Apache-2.0
 *
 * Enforces assigned CPUs: what the objects of the node and its pods say becomes the CPU
 * sets of their groups, neap's own and a kubelet's. Every plan keeps it, and wishes of
 * policies apply within it. */
#ifndef NEAP_API_RUN_PINS_H
#define NEAP_API_RUN_PINS_H

#include "api/run/node.h"
#include "engine/numa/cpu_enforce.h"

/* The listed exclusive CPUs are offline; empty: all are online again. is_all: none is
 * left, and the pod uses a shared pool. Called within a tick, on a change. */
typedef void neap_node_pin_told(void *arg, const char *uid,
				const struct neap_cpuset *missing, bool is_all);

/* Until this is called (once), only policies set CPU sets. refs_max: how many pods may
 * have the same CPU; 0: 1. */
int neap_node_pins_begin(struct neap_node *node, int refs_max, neap_node_pin_told *told,
			 void *arg, struct neap_error *err);
/* Stops the callback; CPU sets stay as they are. */
void neap_node_pins_end(struct neap_node *node);

/* The pod of a pin; uid is that in the names of its groups. Borrowed. */
struct neap_node_pin_of {
	const char *uid, *ns, *name;
};

/* Sets what the pod's annotation says, from the next plan on; its groups need not exist.
 * Copied. NEAP_ECONFLICT: one of its CPUs belongs to other pods, of which *err names one;
 * the pod then counts as one without CPUs of its own, and the caller pins it again when
 * something has changed. On NEAP_ENOMEM nothing changed. */
int neap_node_pin(struct neap_node *node, const struct neap_node_pin_of *pod,
		  const struct neap_cpu_said *said, struct neap_error *err);
/* The pod has ended or was deleted. */
void neap_node_unpin(struct neap_node *node, const char *uid);
/* Sets what is known of the node; its topology is the node role's own. Copied. NULL:
 * nothing is known, and the configuration applies. */
void neap_node_pins_set_node(struct neap_node *node, const struct neap_cpu_node *told,
			     bool is_kubelet_static);

#endif
