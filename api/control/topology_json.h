/* SPDX-License-Identifier: Apache-2.0
 *
 * A topology as JSON, for `neapctl topology -o json` and the control API:
 *
 *   { "model": "...", "online": "0-3", "cpu_count": 4, "core_count": 2, "kind_count": 1,
 *     "sockets": [{"socket": 0, "cpus": "0-3"}],
 *     "nodes": [{"node": 0, "memory_bytes": 1024, "near": true, "cpus": "0-3"}],
 *     "l3": [{"l3": 0, "size_bytes": 1024, "cpus": "0-3"}],
 *     "cores": [{"core": 0, "os_core": 0, "socket": 0, "cpus": "0,2"}],
 *     "cpus": [{"cpu": 0, "core": 0, "socket": 0, "node": 0, "l3": 0, "thread": 0,
 *     "kind": 0}] }
 *
 * "cpu", "socket", "node" and the CPU lists are numbers of the operating system; "core"
 * and "l3" count from 0 in the lists of the same name, as the system's core numbers
 * repeat in each socket. Unknown sizes, nodes and caches are null. */
#ifndef NEAP_API_CONTROL_TOPOLOGY_JSON_H
#define NEAP_API_CONTROL_TOPOLOGY_JSON_H

#include <jansson.h>

#include "engine/machine/topology.h"

/* A new reference, NULL without memory. */
json_t *neap_topology_json(const struct neap_topology *topology);

#endif
