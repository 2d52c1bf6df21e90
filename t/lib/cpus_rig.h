/* SPDX-License-Identifier: Apache-2.0
 *
 * NodeResourceTopology objects and what pods hold, for tests of CPUs in a cluster. */
#ifndef NEAP_T_LIB_CPUS_RIG_H
#define NEAP_T_LIB_CPUS_RIG_H

#include "engine/cluster/cpus.h"

struct cpus_machine {
	int nodes, cores, threads; /* NUMA nodes, cores of each, CPUs of a core */
	/* Further annotations and members ("'topologyPolicies':['Restricted']") with '
	 * for ", and \" for those in texts. NULL: none. */
	const char *notes, *more;
};

/* A socket for each NUMA node, siblings are neighbours; a CPU and 1Gi for each CPU. */
struct neap_object *cpus_topology(const char *name, const struct cpus_machine *machine);
unsigned cpus_set_topology(struct neap_cluster *cluster, const char *name,
			   const struct cpus_machine *machine);
/* How many pods have that CPU, as the book of the node says; -1: there is no book. */
int cpus_refs(struct neap_cluster *cluster, const char *node, int cpu);
/* The CPUs that the text of a resource-status names; returns buf. */
char *cpus_of(const char *status, char *buf, size_t size);

#endif
