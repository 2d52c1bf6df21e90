/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pod is given on the node that was chosen for it: CPUs and NUMA nodes. Between the choice and
 * neap_cluster_assume_with nothing of the cluster may change. */
#ifndef NEAP_ENGINE_DECIDE_CLAIM_H
#define NEAP_ENGINE_DECIDE_CLAIM_H

#include "engine/cluster/cpus.h"
#include "engine/decide/decide.h"

/* 1: *ret is what it gets, to be freed; 0: it gets nothing of that kind, *ret is NULL. -NEAP_ENOFIT with the text that
 * people see: a preferred policy fails only here, and neap_decide_wakes knows of it then; -NEAP_EINVAL: the pod's
 * annotations; -NEAP_ENOMEM. */
int neap_decide_claim(struct neap_decide *decide, const struct neap_pod *pod,
		      uint32_t row, struct neap_claim **ret, struct neap_error *err);
/* All words of the last claim, that was refused with *err: that one has the first of them. Borrowed until the next one, or
 * the next decision. */
const char *neap_decide_claim_why(struct neap_decide *decide,
				  const struct neap_error *err);
/* Of a node that somebody else chose, perhaps a while ago: 1: it has the amounts, with what is kept for the pod and without
 * what is kept for others; 0: it has not; or as neap_decide_claim. */
int neap_decide_has_room(struct neap_decide *decide, const struct neap_pod *pod,
			 uint32_t row, struct neap_error *err);
/* As neap_decide_claim, of CPUs and NUMA nodes alone, from what is kept first; kept NULL: nothing is. */
struct neap_cpu_kept;
int neap_claim_cpus(struct neap_decide *decide, const struct neap_pod *pod, uint32_t row,
		    const struct neap_cpu_kept *kept, struct neap_claim **ret,
		    struct neap_error *err);
/* ... where there are reservations. */
int neap_claim_kept(struct neap_decide *decide, const struct neap_pod *pod, uint32_t row,
		    struct neap_claim **ret, struct neap_error *err);
/* ... for a Reservation, and the pods that it takes over. */
int neap_claim_takeover(struct neap_decide *decide, const struct neap_pod *stand,
			uint32_t row, struct neap_claim **ret, struct neap_error *err);
void neap_claim_free(struct neap_claim *claim); /* NULL is fine */
/* What is written to the pod with its binding: an object of texts by annotation (resource-status; resource-spec where
 * it is missing or Default; reservation-allocated), null for a resource-status that is not so any more. claim: may be
 * NULL. NULL without memory. */
json_t *neap_claim_annotations(const struct neap_pod *pod,
			       const struct neap_claim *claim);

#endif
