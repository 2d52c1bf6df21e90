/* SPDX-License-Identifier: Apache-2.0
 *
 * A controller's pods: making them from a template, and choosing which to delete
 * first. */
#ifndef NEAP_API_WORKLOAD_LOOP_POD_CONTROL_H
#define NEAP_API_WORKLOAD_LOOP_POD_CONTROL_H

#include <jansson.h>

#include "api/workload/loop/pod_facts.h"

/* Makes a pod from owner's spec.template: its labels, annotations and finalizers,
 * generateName "OWNER-", and owner as the controller. A new reference, NULL without
 * memory. */
json_t *neap_pod_from_template(const json_t *owner, const char *api_version,
			       const char *kind);

struct neap_ranked_pod {
	struct neap_object *pod; /* borrowed */
	const struct neap_pod_facts *facts;
	/* Pods on its node that serve the same service, approximately: those of the
	 * ReplicaSets of one owner. */
	size_t rank;
};

/* Sorts pods by deletion order. First come pods that are not assigned, not running, not
 * ready, with a low pod-deletion-cost, doubled up on a node, ready for a shorter time (by
 * powers of two), with more restarts, younger (by powers of two). */
void neap_pods_rank(struct neap_ranked_pod *pods, size_t count, int64_t now_usec);

#endif
