/* SPDX-License-Identifier: Apache-2.0
 *
 * Which CPUs a pod may use on its node: its own, as its annotation resource-status names them, or the pool that it
 * shares. What is enforced follows from what was given out; nothing is chosen here. */
#ifndef NEAP_ENGINE_NUMA_CPU_ENFORCE_H
#define NEAP_ENGINE_NUMA_CPU_ENFORCE_H

#include "engine/machine/topology.h"
#include "engine/numa/cpu_pools.h"

/* What a pod says. */
struct neap_cpu_said {
	enum neap_qos qos; /* as labelled */
	enum neap_kube_qos kube_qos;
	struct neap_cpuset cpus; /* cpuset of resource-status; empty: none of its own */
	struct neap_cpuset
		numa; /* numbers of the NUMA nodes that it has CPU of; empty: none */
};

/* text: the annotation resource-status, NULL or "": nothing is given. Fills cpus and numa, both empty on an error:
 * NEAP_EINVAL says what of it cannot be read, NEAP_ENOMEM. */
int neap_cpu_said_read(const char *text, struct neap_cpu_said *ret,
		       struct neap_error *err);

/* What the node says. All sets but topology's may name CPUs that are not there. */
struct neap_cpu_node {
	const struct neap_topology *topology; /* its online CPUs; borrowed */
	struct neap_cpuset kubelet;  /* that a kubelet's static manager gave to pods */
	struct neap_cpuset reserved; /* nobody's */
	struct neap_cpuset system;   /* of SYSTEM pods */
	bool is_system_shared;       /* others may use those too */
};

/* What is shared on a node. No set is empty where the machine has a CPU: a pool without CPUs is that of the next
 * wider kind, up to the whole machine. */
struct neap_cpu_rooms {
	const struct neap_topology *topology; /* borrowed */
	struct neap_cpuset ls, be;
	struct neap_cpuset system; /* of SYSTEM pods, empty: no restriction */
};
void neap_cpu_rooms_make(const struct neap_cpu_node *node,
			 const struct neap_cpu_pool_pod *pods, size_t count,
			 struct neap_cpu_rooms *ret);

enum neap_cpu_kind {
	NEAP_CPUS_ANY,    /* all there are: nothing is to be held */
	NEAP_CPUS_OWN,    /* its own */
	NEAP_CPUS_NUMA,   /* of the LS pool what lies in its NUMA nodes */
	NEAP_CPUS_SYSTEM, /* those of SYSTEM pods */
	NEAP_CPUS_LS,     /* the LS pool */
	NEAP_CPUS_BE      /* the BE pool */
};
struct neap_cpu_given {
	enum neap_cpu_kind kind;
	struct neap_cpuset cpus; /* never empty, but with ANY */
	/* Of its own, those that are not online. All of them: it has what it would have without any. */
	struct neap_cpuset missing;
};
void neap_cpu_give(const struct neap_cpu_rooms *rooms, const struct neap_cpu_said *said,
		   struct neap_cpu_given *ret);
/* For the audit: "CPUs of its own". */
const char *neap_cpu_kind_text(enum neap_cpu_kind kind);

#endif
