/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/numa/cpu_pools.h"

static void take(struct neap_cpuset *from, const struct neap_cpuset *cpus)
{
	if (cpus)
		neap_cpuset_minus(from, from, cpus);
}

void neap_cpu_pools_make(const struct neap_cpu_pools_from *from,
			 struct neap_cpu_pools *ret)
{
	neap_cpuset_clear(&ret->ls);
	if (from->all)
		neap_cpuset_copy(&ret->ls, from->all);
	take(&ret->ls, from->kubelet);
	take(&ret->ls, from->node_reserved);
	take(&ret->ls, from->system_only);
	neap_cpuset_copy(&ret->be, &ret->ls);
	for (size_t i = 0; i < from->pod_count; i++) {
		take(&ret->ls, from->pods[i].cpus);
		if (from->pods[i].qos == NEAP_QOS_LSE)
			take(&ret->be, from->pods[i].cpus);
	}
}
