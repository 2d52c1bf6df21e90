/* SPDX-License-Identifier: Apache-2.0
 *
 * The NodeResourceTopology of this machine: facts gathered for engine/numa/topology_report. */
#ifndef NEAP_API_AGENT_NODE_NODE_TOPOLOGY_H
#define NEAP_API_AGENT_NODE_NODE_TOPOLOGY_H

#include "api/agent/node/node_keep.h"
#include "engine/numa/topology_report.h"

/* What the object should be, as a merge patch of what it is (NULL: it is not there); node: the Node. What the
 * kubelet's files tell is kept in *kubelet; where they make no sense it counts as before, and *ret_trouble says why, code 0:
 * they do. NEAP_ENOMEM. */
int node_topology_make(const struct neap_node_keep_config *config, const json_t *node,
		       const json_t *object, struct neap_kubelet_facts *kubelet,
		       json_t **ret, struct neap_error *ret_trouble);

#endif
