/* SPDX-License-Identifier: Apache-2.0
 *
 * What the controller of Deployments asks of ReplicaSets, read off their JSON once for
 * each version of them: a Deployment may have thousands, of 100 KB each, and each look is
 * at all of them. Some 300 bytes each. */
#ifndef NEAP_API_WORKLOAD_DEPLOYMENT_SET_FACTS_H
#define NEAP_API_WORKLOAD_DEPLOYMENT_SET_FACTS_H

#include "api/workload/loop/pod_template.h"
#include "engine/object/object.h"

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

struct neap_set_facts_cache;

struct neap_set_facts_cache *neap_set_facts_new(void); /* NULL without memory */
void neap_set_facts_free(struct neap_set_facts_cache *cache);
/* Borrowed, until it is dropped or the next call of neap_set_facts_tidy; NULL without
 * memory. */
struct neap_set_facts *neap_set_facts_get(struct neap_set_facts_cache *cache,
					  const struct neap_object *set);
/* Whether that is but a look-up. */
bool neap_set_facts_has(const struct neap_set_facts_cache *cache,
			const struct neap_object *set);
/* As they were last read; NULL when they are not known. */
struct neap_set_facts *neap_set_facts_find(const struct neap_set_facts_cache *cache,
					   const char *uid);
void neap_set_facts_drop(struct neap_set_facts_cache *cache, const char *uid);
/* Forgets all of them where too many are of ReplicaSets that have gone unheard: sets is
 * how many there are. True: it did. */
bool neap_set_facts_tidy(struct neap_set_facts_cache *cache, size_t sets);

#endif
