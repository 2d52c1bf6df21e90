/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions with policies of the kinds score and filter, for their tests. */
#ifndef NEAP_T_LIB_PLACE_RIG_H
#define NEAP_T_LIB_PLACE_RIG_H

#include "api/schedule/policies.h"
#include "engine/decide/decide.h"
#include "lua/call/purse.h"
#include "lua/replay/decisions.h"
#include "lua/run/registry.h"
#include "t/lib/cluster_rig.h"

struct place_rig {
	struct neap_cluster *cluster;
	struct neap_registry *registry;
	struct neap_schedule_policies *policies;
	struct neap_decide *decide;
	struct neap_decisions *decisions; /* records every decision */
	struct neap_purse purse;          /* filled for each place_decide */
	int failed;                       /* policies that were taken out of service */
};

struct place_rig *place_new(void);
void place_free(struct place_rig *rig);
/* Puts a policy into service; body: what stands in the table beside api, kind and
 * name. */
void place_put(struct place_rig *rig, const char *kind, const char *name, int order,
	       const char *body);
struct neap_registry_slot *place_slot(struct place_rig *rig, const char *kind,
				      const char *name);
/* Nodes a, b, ... of 10 CPUs; those of odd number have the label odd=yes. */
void place_add_nodes(struct place_rig *rig, int count);
/* Decides on a pod of 1 CPU with these labels; the node, or the message; in a static
 * buffer. */
const char *place_decide(struct place_rig *rig, const char *labels);

#endif
