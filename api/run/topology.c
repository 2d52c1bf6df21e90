/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPUs and caches of the machine, read again when CPUs come or go. */
#include "hw/topology.h"
#include "api/run/node_priv.h"

int neap_observe_topology(struct neap_node *node, struct neap_error *err)
{
	struct neap_topology *topology = NULL;
	struct neap_cpuset online;
	bool is_changed = false;
	int rc;

	if (node->topology != NULL) {
		is_changed = neap_readings_online(node->readings, &online) &&
			     !neap_cpuset_is_equal(&online, &node->topology->online);
		if (!is_changed && !node->is_topology_young)
			return 0;
	}
	/* A CPU counts as online before its caches are shown, so a changed machine is
	 * looked at once more a tick later. */
	node->is_topology_young = is_changed;
	if (node->config.sys_root[0] != '\0')
		rc = neap_topology_discover_root(node->config.sys_root, &topology, err);
	else
		rc = neap_topology_discover(&topology, err);
	if (rc < 0)
		return neap_error_wrap(err, "discover the machine");
	if (is_changed) {
		char text[64];

		(void)neap_cpuset_format(&topology->online, text, sizeof(text));
		neap_log_line(&node->config.log, NEAP_LOG_INFO, "CPUs online now: %s",
			      text);
	}
	(void)neap_topology_unref(node->topology);
	node->topology = topology;
	return 0;
}
