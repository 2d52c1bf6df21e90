/* SPDX-License-Identifier: Apache-2.0
 *
 * The NodeResourceTopology of this machine: facts gathered for
 * engine/numa/topology_report. */
#ifndef NEAP_API_AGENT_NODE_NODE_TOPOLOGY_H
#define NEAP_API_AGENT_NODE_NODE_TOPOLOGY_H

#include "api/agent/node/node_keep.h"
#include "engine/numa/topology_report.h"

/* Returns the object as it should be, as a merge patch of its present state (NULL: it
 * does not exist); node: the Node. Facts from the kubelet's files are kept in *kubelet;
 * if the files are invalid, the earlier facts count and *ret_trouble says why (code 0:
 * they are valid). NEAP_ENOMEM. */
int node_topology_make(const struct neap_node_keep_config *config, const json_t *node,
		       const json_t *object, struct neap_kubelet_facts *kubelet,
		       json_t **ret, struct neap_error *ret_trouble);

#endif
