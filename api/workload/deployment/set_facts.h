/* SPDX-License-Identifier: Apache-2.0
 *
 * What the controller of Deployments asks of ReplicaSets, read off their JSON once for
 * each version of them: a Deployment may have thousands, of 100 KB each, and each look is
 * at all of them. Some 300 bytes each. */
#ifndef NEAP_API_WORKLOAD_DEPLOYMENT_SET_FACTS_H
#define NEAP_API_WORKLOAD_DEPLOYMENT_SET_FACTS_H

#include "api/workload/loop/fact_cache.h"
#include "api/workload/loop/pod_template.h"

struct neap_set_facts {
	int64_t version;
	int64_t created_usec; /* NEAP_MISSING */
	int64_t revision;     /* 0: none is told */
	int64_t replicas;     /* there are to be */
	/* Of its status. */
	int64_t status_replicas, ready, available;
	/* The annotations that tell what it was last scaled for; NEAP_MISSING. */
	int64_t desired, max;
	bool is_deleting;
	bool is_observed;                 /* its status is about the spec as it is now */
	bool has_failure;                 /* a condition ReplicaFailure */
	bool was_refused;                 /* what was asked of it last; the caller's */
	char controller[NEAP_OBJECT_UID]; /* "": nothing controls it */
	uint8_t pod_template[NEAP_SHA256_BYTES]; /* see neap_template_digest */
};

/* Of neap_facts_new. */
bool neap_set_facts_read(const struct neap_object *set, const json_t *tree, void *to);

#endif
