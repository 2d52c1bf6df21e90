/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPUs of a node that pods without CPUs of their own share: one pool for LS pods, one for BE pods. What a node
 * reports and what is enforced on it are this one answer. */
#ifndef NEAP_ENGINE_NUMA_CPU_POOLS_H
#define NEAP_ENGINE_NUMA_CPU_POOLS_H

#include "engine/machine/cpuset.h"
#include "engine/machine/path.h"

/* A pod of the node that has CPUs of its own (cpuset in resource-status). */
struct neap_cpu_pool_pod {
	enum neap_qos qos;              /* as labelled */
	const struct neap_cpuset *cpus; /* borrowed; NULL or empty: it has none */
};

/* All sets are borrowed; NULL is the empty set. CPUs that are not in all are passed over. */
struct neap_cpu_pools_from {
	const struct neap_cpuset *all;     /* of the machine */
	const struct neap_cpuset *kubelet; /* the kubelet's static manager gave to pods */
	const struct neap_cpuset *node_reserved; /* of node.koordinator.sh/reservation */
	const struct neap_cpuset *system_only;   /* of exclusive SYSTEM pods */
	const struct neap_cpu_pool_pod *pods;
	size_t pod_count;
};

struct neap_cpu_pools {
	struct neap_cpuset ls; /* without the CPUs of every such pod */
	struct neap_cpuset be; /* without those of LSE pods only */
};

/* CPUs that the kubelet keeps for itself stay in both. Either may come out empty. */
void neap_cpu_pools_make(const struct neap_cpu_pools_from *from,
			 struct neap_cpu_pools *ret);

#endif
