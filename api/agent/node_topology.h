/* SPDX-License-Identifier: Apache-2.0
 *
 * The NodeResourceTopology of this machine: facts gathered for engine/cluster/topology_report. */
#ifndef NEAP_API_AGENT_NODE_TOPOLOGY_H
#define NEAP_API_AGENT_NODE_TOPOLOGY_H

#include "api/agent/node_keep.h"
#include "engine/cluster/topology_report.h"

/* cpu_manager_state and config.yaml of a kubelet's folder; without them facts of no kubelet. done in any case.
 * NEAP_ESYS, NEAP_EINVAL and NEAP_ETOOLARGE name the file. */
int node_kubelet_read(const char *dir, struct neap_kubelet_facts *ret,
		      struct neap_error *err);

/* What the object should be, as a merge patch of what it is (NULL: it is not there); node: the Node. What of the
 * kubelet cannot be read counts as it was read last, which is kept in *kubelet; *ret_trouble tells of it, code 0: it
 * could. NEAP_ENOMEM. */
int node_topology_make(const struct neap_node_keep_config *config, const json_t *node,
		       const json_t *object, struct neap_kubelet_facts *kubelet,
		       json_t **ret, struct neap_error *ret_trouble);

#endif
