/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/machines.h"

void neap_machines_done(struct neap_machines *machines)
{
	for (size_t i = 0; i < machines->count; i++) {
		(void)neap_topology_unref(machines->kinds[i].topology);
		(void)neap_cpu_layout_unref(machines->kinds[i].layout);
	}
	machines->count = machines->next = 0;
}

static void add(struct neap_machines *machines, struct neap_topology *topology,
		struct neap_cpu_layout *layout)
{
	size_t at = machines->next;

	if (machines->count == NEAP_MACHINES_MAX) {
		(void)neap_topology_unref(machines->kinds[at].topology);
		(void)neap_cpu_layout_unref(machines->kinds[at].layout);
	} else {
		machines->count++;
	}
	machines->kinds[at].topology = neap_topology_ref(topology);
	machines->kinds[at].layout = neap_cpu_layout_ref(layout);
	machines->next = (at + 1) % NEAP_MACHINES_MAX;
}

int neap_machines_share(struct neap_machines *machines, struct neap_topology **topology,
			struct neap_cpu_layout **ret_layout, struct neap_error *err)
{
	int failed;

	for (size_t i = 0; i < machines->count; i++) {
		struct neap_topology *known = machines->kinds[i].topology;

		if (!neap_topology_is_equal(known, *topology))
			continue;
		(void)neap_topology_unref(*topology);
		*topology = neap_topology_ref(known);
		*ret_layout = neap_cpu_layout_ref(machines->kinds[i].layout);
		return 0;
	}
	failed = neap_cpu_layout_new(*topology, ret_layout, err);
	if (failed == 0)
		add(machines, *topology, *ret_layout);
	return failed;
}
