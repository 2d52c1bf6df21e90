/* SPDX-License-Identifier: Apache-2.0
 *
 * What a controller asks of pods, read off their JSON once for each version of them:
 * looks come often, and each sees all pods of its namespace. */
#ifndef NEAP_API_WORKLOAD_LOOP_POD_FACTS_H
#define NEAP_API_WORKLOAD_LOOP_POD_FACTS_H

#include "engine/object/object.h"

enum neap_pod_phase {
	NEAP_POD_PENDING,
	NEAP_POD_UNKNOWN,
	NEAP_POD_RUNNING,
	NEAP_POD_SUCCEEDED,
	NEAP_POD_FAILED
};

struct neap_pod_facts {
	int64_t version;
	enum neap_pod_phase phase;
	bool is_deleting;
	bool is_active; /* neither finished nor being deleted */
	bool is_ready;
	int64_t ready_usec;               /* since when; NEAP_MISSING */
	int64_t created_usec;             /* NEAP_MISSING */
	int64_t restarts;                 /* the most of one container */
	int64_t cost;                     /* controller.kubernetes.io/pod-deletion-cost */
	char controller[NEAP_OBJECT_UID]; /* "": nothing controls it */
	char node[NEAP_OBJECT_NAME];      /* "": not assigned yet */
};

struct neap_pod_facts_cache;

struct neap_pod_facts_cache *neap_pod_facts_new(void); /* NULL without memory */
void neap_pod_facts_free(struct neap_pod_facts_cache *cache);
/* Borrowed, until the next call of neap_pod_facts_tidy; NULL without memory. */
const struct neap_pod_facts *neap_pod_facts_get(struct neap_pod_facts_cache *cache,
						const struct neap_object *pod);
/* Whether that is but a look-up. */
bool neap_pod_facts_has(const struct neap_pod_facts_cache *cache,
			const struct neap_object *pod);
/* Forgets those of pods that have gone, now and then: pods is how many there are. */
void neap_pod_facts_tidy(struct neap_pod_facts_cache *cache, size_t pods);

/* Ready for so many seconds. *ret_after_usec, which may be NULL: when it will be, from
 * now; 0 when it is, or is not ready. */
bool neap_pod_is_available(const struct neap_pod_facts *pod, int64_t min_ready_s,
			   int64_t now_usec, int64_t *ret_after_usec);

#endif
