/* SPDX-License-Identifier: Apache-2.0
 *
 * Which CPUs a pod may use on its node: its exclusive CPUs from the annotation
 * resource-status, or the shared pool of its class. Only derives what to enforce from
 * what was given out; chooses nothing. */
#ifndef NEAP_ENGINE_NUMA_CPU_ENFORCE_H
#define NEAP_ENGINE_NUMA_CPU_ENFORCE_H

#include "engine/machine/topology.h"
#include "engine/numa/cpu_pools.h"

/* What a pod's annotation says. */
struct neap_cpu_said {
	enum neap_qos qos; /* as labelled */
	enum neap_kube_qos kube_qos;
	struct neap_cpuset cpus; /* cpuset of resource-status; empty: no exclusive CPUs */
	struct neap_cpuset numa; /* NUMA nodes that its CPU comes from; empty: none */
};

/* Parses the annotation resource-status; NULL or "": nothing was given. Fills cpus and
 * numa, both empty on an error: NEAP_EINVAL says which part cannot be read;
 * NEAP_ENOMEM. */
int neap_cpu_said_read(const char *text, struct neap_cpu_said *ret,
		       struct neap_error *err);

/* What is known of the node. All sets except the topology's may name CPUs that do not
 * exist. */
struct neap_cpu_node {
	const struct neap_topology *topology; /* its online CPUs; borrowed */
	/* given to pods by the kubelet's static CPU manager */
	struct neap_cpuset kubelet;
	struct neap_cpuset reserved; /* nobody's */
	struct neap_cpuset system;   /* of SYSTEM pods */
	bool is_system_shared;       /* other pods may use the system CPUs too */
};

/* The shared CPUs of a node. No set is empty on a machine with CPUs: an empty pool
 * becomes the next wider one, up to the whole machine. */
struct neap_cpu_rooms {
	const struct neap_topology *topology; /* borrowed */
	struct neap_cpuset ls, be;
	struct neap_cpuset system; /* for SYSTEM pods; empty: no restriction */
};
void neap_cpu_rooms_make(const struct neap_cpu_node *node,
			 const struct neap_cpu_pool_pod *pods, size_t count,
			 struct neap_cpu_rooms *ret);

enum neap_cpu_kind {
	NEAP_CPUS_ANY,    /* all CPUs: no restriction is set */
	NEAP_CPUS_OWN,    /* its own */
	NEAP_CPUS_NUMA,   /* the part of the LS pool in its NUMA nodes */
	NEAP_CPUS_SYSTEM, /* the CPUs of SYSTEM pods */
	NEAP_CPUS_LS,     /* the LS pool */
	NEAP_CPUS_BE      /* the BE pool */
};
struct neap_cpu_given {
	enum neap_cpu_kind kind;
	struct neap_cpuset cpus; /* never empty, except with ANY */
	/* Exclusive CPUs that are offline. If all are, the pod gets what a pod without
	 * exclusive CPUs gets. */
	struct neap_cpuset missing;
};
void neap_cpu_give(const struct neap_cpu_rooms *rooms, const struct neap_cpu_said *said,
		   struct neap_cpu_given *ret);
/* Text for the audit: "CPUs of its own". */
const char *neap_cpu_kind_text(enum neap_cpu_kind kind);

#endif
