/* SPDX-License-Identifier: Apache-2.0
 *
 * The zones of a NodeResourceTopology object; part of engine/numa/topology_report. */
#ifndef NEAP_ENGINE_NUMA_TOPOLOGY_ZONES_H
#define NEAP_ENGINE_NUMA_TOPOLOGY_ZONES_H

#include "engine/numa/topology_report.h"

/* Returns the zones array the object should have: neap's zones merged with other writers'
 * members, and zones of other types unchanged. NULL without memory; members may be
 * missing then too (neap_json_failures). */
json_t *neap_topology_zones(const struct neap_topology_report_from *from,
			    const json_t *object);
/* Returns false for a pod whose CPUs a scheduler assigned, whatever the kubelet's files
 * say. */
bool neap_topology_is_kubelets(const struct neap_topology_report_from *from,
			       const struct neap_kubelet_pod *pod);

#endif
