/* SPDX-License-Identifier: Apache-2.0
 *
 * The annotation resource-status of a pod, read in one way for all who go by it: who places pods, who takes writes, who
 * reports and who sets groups, so that nobody holds CPUs that another one gives away. */
#ifndef NEAP_ENGINE_NUMA_RESOURCE_STATUS_H
#define NEAP_ENGINE_NUMA_RESOURCE_STATUS_H

#include <jansson.h>

#include "engine/machine/cpuset.h"

/* Numbers of NUMA nodes are below this, and a list of them is no longer; more are no machine. */
#define NEAP_STATUS_NODES_MAX 1024

struct neap_resource_status {
	struct neap_cpuset cpus; /* empty: none of its own */
	const char *cpus_text;   /* as they stand there; "": none */
	const json_t
		*zones; /* numaNodeResources, each of a node that can be; NULL: none */
	json_t *tree;   /* what the two above lie in */
};

/* text: NULL or "": nothing is given. NEAP_EINVAL: nothing either, and what of it cannot be read; amounts in the zones
 * are not looked at. NEAP_ENOMEM. neap_resource_status_done when it is 0. */
int neap_resource_status_read(const char *text, struct neap_resource_status *ret,
			      struct neap_error *err);
void neap_resource_status_done(struct neap_resource_status *status);

#endif
