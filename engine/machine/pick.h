/* SPDX-License-Identifier: Apache-2.0
 *
 * Which CPUs best-effort work gets, and which a kubelet would take. The first is the order of the reference's CPU suppression
 * (spec node-qos 3.2): buckets by (NUMA node, socket), larger ones first; sibling pairs round
 * robin over the buckets, then single CPUs. */
#ifndef NEAP_ENGINE_MACHINE_PICK_H
#define NEAP_ENGINE_MACHINE_PICK_H

#include "engine/machine/topology.h"

/* Picks count CPUs out of from (CPUs the topology does not know are passed over). ret_order holds
 * room for count entries and gets them in picking order. Returns count, or 0 when from has fewer. */
int neap_pick_scatter(const struct neap_topology *topology,
		      const struct neap_cpuset *from, int count, int *ret_order);

/* count CPUs out of from as the static CPU manager of a kubelet packs them: whole NUMA nodes and sockets, then whole
 * cores, then single CPUs, each time the fullest of what is started. NEAP_ENOFIT: from has fewer (CPUs that the topology
 * does not know do not count), NEAP_ENOMEM; then ret is empty. */
int neap_pick_packed(const struct neap_topology *topology, const struct neap_cpuset *from,
		     int count, struct neap_cpuset *ret, struct neap_error *err);

#endif
