/* SPDX-License-Identifier: Apache-2.0
 *
 * Two ways of picking CPUs. scatter: for best-effort pods, in the order of the
 * reference's CPU suppression (spec node-qos 3.2): buckets by (NUMA node, socket), larger
 * ones first; sibling pairs round robin over the buckets, then single CPUs. packed: as a
 * kubelet's static CPU manager. */
#ifndef NEAP_ENGINE_CPU_PICK_H
#define NEAP_ENGINE_CPU_PICK_H

#include "engine/machine/topology.h"

/* Picks count CPUs from a set (CPUs that the topology does not know are ignored).
 * ret_order needs room for count entries and receives them in picking order. Returns
 * count, or 0 when from has fewer. */
int neap_pick_scatter(const struct neap_topology *topology,
		      const struct neap_cpuset *from, int count, int *ret_order);

/* Picks count CPUs as the kubelet's static CPU manager packs them: whole NUMA nodes and
 * sockets, then whole cores, then single CPUs, each time from the fullest started one.
 * NEAP_ENOFIT: from has fewer (unknown CPUs do not count); NEAP_ENOMEM. ret is then
 * empty. */
int neap_pick_packed(const struct neap_topology *topology, const struct neap_cpuset *from,
		     int count, struct neap_cpuset *ret, struct neap_error *err);

#endif
