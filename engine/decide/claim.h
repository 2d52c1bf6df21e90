/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pod is given on its chosen node: CPUs and NUMA nodes. The cluster must not
 * change between the choice and neap_cluster_assume_with. */
#ifndef NEAP_ENGINE_DECIDE_CLAIM_H
#define NEAP_ENGINE_DECIDE_CLAIM_H

#include "engine/cluster/cpus.h"
#include "engine/decide/decide.h"

/* Returns 1 with *ret, which the caller frees; 0 with *ret NULL when the pod gets nothing
 * of that kind. -NEAP_ENOFIT with the text that people see: only a preferred policy fails
 * here for the first time, and neap_decide_wakes then takes it into account;
 * -NEAP_EINVAL: the pod's annotations; -NEAP_ENOMEM. */
int neap_decide_claim(struct neap_decide *decide, const struct neap_pod *pod,
		      uint32_t row, struct neap_claim **ret, struct neap_error *err);
/* Returns the full text of the last claim's refusal; *err holds only its beginning.
 * Borrowed until the next claim or decision. */
const char *neap_decide_claim_why(struct neap_decide *decide,
				  const struct neap_error *err);
/* For a node that someone else chose, perhaps a while ago. Returns 1 when the node still
 * has the pod's amounts, counting what is reserved for the pod and not what is reserved
 * for others; 0 when not; errors as in neap_decide_claim. */
int neap_decide_has_room(struct neap_decide *decide, const struct neap_pod *pod,
			 uint32_t row, struct neap_error *err);
/* Like neap_decide_claim for CPUs and NUMA nodes only, taking from reserved ones first;
 * kept NULL: none are reserved. */
struct neap_cpu_kept;
int neap_claim_cpus(struct neap_decide *decide, const struct neap_pod *pod, uint32_t row,
		    const struct neap_cpu_kept *kept, struct neap_claim **ret,
		    struct neap_error *err);
/* The same where reservations exist. */
int neap_claim_kept(struct neap_decide *decide, const struct neap_pod *pod, uint32_t row,
		    struct neap_claim **ret, struct neap_error *err);
/* The same for a Reservation and the pods that it takes over. */
int neap_claim_takeover(struct neap_decide *decide, const struct neap_pod *stand,
			uint32_t row, struct neap_claim **ret, struct neap_error *err);
void neap_claim_free(struct neap_claim *claim); /* NULL is fine */
/* Returns the annotations to write with the binding, as an object: resource-status;
 * resource-spec where it is missing or Default; reservation-allocated; null removes an
 * outdated resource-status. claim may be NULL. NULL without memory. */
json_t *neap_claim_annotations(const struct neap_pod *pod,
			       const struct neap_claim *claim);

#endif
