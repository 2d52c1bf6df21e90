/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses a pod's annotation resource-status. The scheduler, the admission of writes, the
 * report and the agent all use this one parser, so that none of them gives out CPUs that
 * another considers held. */
#ifndef NEAP_ENGINE_NUMA_RESOURCE_STATUS_H
#define NEAP_ENGINE_NUMA_RESOURCE_STATUS_H

#include <jansson.h>

#include "engine/machine/cpuset.h"

/* Limit on NUMA node numbers, and on the length of a list of them. */
#define NEAP_STATUS_NODES_MAX 1024

struct neap_resource_status {
	struct neap_cpuset cpus; /* empty: no exclusive CPUs */
	const char *cpus_text;   /* as written; "": none */
	/* numaNodeResources entries with a valid node number; NULL: none */
	const json_t *zones;
	json_t *tree; /* owns the two above */
};

/* text NULL or "": nothing was given. NEAP_EINVAL: nothing was given, and the error says
 * which part cannot be read (amounts in the zones are not checked). NEAP_ENOMEM. Call
 * neap_resource_status_done after a 0. */
int neap_resource_status_read(const char *text, struct neap_resource_status *ret,
			      struct neap_error *err);
void neap_resource_status_done(struct neap_resource_status *status);

#endif
