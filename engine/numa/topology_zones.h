/* SPDX-License-Identifier: Apache-2.0
 *
 * The zones of a NodeResourceTopology object; a part of engine/numa/topology_report. */
#ifndef NEAP_ENGINE_NUMA_TOPOLOGY_ZONES_H
#define NEAP_ENGINE_NUMA_TOPOLOGY_ZONES_H

#include "engine/numa/topology_report.h"

/* The array of zones that the object should have: ours, with what others put in them, and those of other types that it
 * has. NULL without memory, or members are missing then (neap_json_failures). */
json_t *neap_topology_zones(const struct neap_topology_report_from *from,
			    const json_t *object);
/* A pod that was given CPUs by a scheduler is not the kubelet's, whatever its files say. */
bool neap_topology_is_kubelets(const struct neap_topology_report_from *from,
			       const struct neap_kubelet_pod *pod);

#endif
