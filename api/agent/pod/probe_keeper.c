/* SPDX-License-Identifier: Apache-2.0
 *
 * Probe commands: the keeper runs them in groups that the node created. */
#include "api/agent/pod/probe_priv.h"

int neap_probe_new(const struct neap_probe_config *config, struct neap_probe **ret,
		   struct neap_error *err)
{
	static const struct probe_orders orders = {
		.run = neap_keeper_run,
		.go = neap_keeper_go,
		.kill = neap_keeper_signal,
		.forget = neap_keeper_forget,
		.move = neap_node_pod_probe,
	};

	return probe_new_with(config, &orders, ret, err);
}
