/* SPDX-License-Identifier: Apache-2.0
 *
 * What controllers need to know of pods, read from the JSON once for each version: looks
 * are frequent, and each sees all pods of its namespace. */
#ifndef NEAP_API_WORKLOAD_LOOP_POD_FACTS_H
#define NEAP_API_WORKLOAD_LOOP_POD_FACTS_H

#include "api/workload/loop/fact_cache.h"

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
	bool is_active; /* neither finished nor deleting */
	bool is_ready;
	int64_t ready_usec;               /* since when; or NEAP_MISSING */
	int64_t created_usec;             /* or NEAP_MISSING */
	int64_t restarts;                 /* the highest of any container */
	int64_t cost;                     /* controller.kubernetes.io/pod-deletion-cost */
	char controller[NEAP_OBJECT_UID]; /* uid; "": no controller */
	char node[NEAP_OBJECT_NAME];      /* "": not assigned */
};

/* Of neap_facts_new. */
bool neap_pod_facts_read(const struct neap_object *pod, const json_t *tree, void *to);

/* Whether the pod has been ready for min_ready_s. *ret_after_usec (may be NULL): how long
 * until it is; 0 when it is, or is not ready. */
bool neap_pod_is_available(const struct neap_pod_facts *pod, int64_t min_ready_s,
			   int64_t now_usec, int64_t *ret_after_usec);

#endif
