/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods of a controller: made from a template, and which of them go first when there are
 * too many. */
#ifndef NEAP_API_WORKLOAD_LOOP_POD_CONTROL_H
#define NEAP_API_WORKLOAD_LOOP_POD_CONTROL_H

#include <jansson.h>

#include "api/workload/loop/pod_facts.h"

/* The pod of spec.template of owner: labels, annotations and finalizers as there,
 * generateName "OWNER-", and owner as its controller. A new reference, NULL without
 * memory. */
json_t *neap_pod_from_template(const json_t *owner, const char *api_version,
			       const char *kind);

struct neap_ranked_pod {
	struct neap_object *pod; /* borrowed */
	const struct neap_pod_facts *facts;
	/* Pods on its node that stand behind the same service, roughly: those of the
	 * ReplicaSets of one owner. */
	size_t rank;
};

/* Brings those first that are deleted first: not assigned, not running, not ready, of
 * least pod-deletion-cost, doubled up on a node, ready for a shorter time (by powers of
 * two), with more restarts, younger (by powers of two). */
void neap_pods_rank(struct neap_ranked_pod *pods, size_t count, int64_t now_usec);

#endif
