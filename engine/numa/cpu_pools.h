/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPUs shared by pods without exclusive CPUs: one pool for LS pods, one for BE pods.
 * The report and the enforcement both use this result. */
#ifndef NEAP_ENGINE_NUMA_CPU_POOLS_H
#define NEAP_ENGINE_NUMA_CPU_POOLS_H

#include "engine/machine/cpuset.h"
#include "engine/machine/path.h"

/* A pod with exclusive CPUs (cpuset in resource-status). */
struct neap_cpu_pool_pod {
	enum neap_qos qos;              /* as labelled */
	const struct neap_cpuset *cpus; /* borrowed; NULL or empty: none */
};

/* All sets are borrowed; NULL is the empty set. CPUs outside all are ignored. */
struct neap_cpu_pools_from {
	const struct neap_cpuset *all; /* of the machine */
	/* given to pods by the kubelet's static CPU manager */
	const struct neap_cpuset *kubelet;
	const struct neap_cpuset *node_reserved; /* of node.koordinator.sh/reservation */
	const struct neap_cpuset *system_only;   /* of exclusive SYSTEM pods */
	const struct neap_cpu_pool_pod *pods;
	size_t pod_count;
};

struct neap_cpu_pools {
	struct neap_cpuset ls; /* without the exclusive CPUs of any pod */
	struct neap_cpuset be; /* without those of LSE pods only */
};

/* The kubelet's reserved CPUs stay in both pools. Either pool may come out empty. */
void neap_cpu_pools_make(const struct neap_cpu_pools_from *from,
			 struct neap_cpu_pools *ret);

#endif
