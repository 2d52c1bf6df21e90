/* SPDX-License-Identifier: Apache-2.0
 *
 * Topology through hwloc: this machine, a file of hwloc XML, or a synthetic description.
 * hwloc is used only here; everything else reads the flat arrays. The environment
 * variables of hwloc that would replace the machine (HWLOC_XMLFILE, HWLOC_SYNTHETIC,
 * HWLOC_FSROOT) are ignored. */
#ifndef NEAP_HW_TOPOLOGY_H
#define NEAP_HW_TOPOLOGY_H

#include "engine/machine/topology.h"

/* This machine, including CPUs outside neapd's own cpuset, without offline ones. */
int neap_topology_discover(struct neap_topology **ret, struct neap_error *err);
/* The same through another root that contains sys/devices/system and proc. */
int neap_topology_discover_root(const char *sys_root, struct neap_topology **ret,
				struct neap_error *err);
int neap_topology_load_xml(const char *file, struct neap_topology **ret,
			   struct neap_error *err);
int neap_topology_load_synthetic(const char *text, struct neap_topology **ret,
				 struct neap_error *err);

#endif
