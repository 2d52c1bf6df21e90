/* SPDX-License-Identifier: Apache-2.0
 *
 * Which CPUs best-effort work gets. The order of the reference's CPU suppression
 * (spec node-qos 3.2): buckets by (NUMA node, socket), larger ones first; sibling pairs round
 * robin over the buckets, then single CPUs. */
#ifndef NEAP_ENGINE_MACHINE_PICK_H
#define NEAP_ENGINE_MACHINE_PICK_H

#include "engine/machine/topology.h"

/* Picks count CPUs out of from (CPUs the topology does not know are passed over). ret_order holds
 * room for count entries and gets them in picking order. Returns count, or 0 when from has fewer. */
int neap_pick_scatter(const struct neap_topology *topology,
		      const struct neap_cpuset *from, int count, int *ret_order);

#endif
