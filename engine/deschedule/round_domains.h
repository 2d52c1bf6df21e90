/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about many pods at once, answered over the nodes of the round: topology
 * domains, anti-affinity, spread constraints, duplicates. Results live as long as the
 * round. */
#ifndef NEAP_ENGINE_DESCHEDULE_ROUND_DOMAINS_H
#define NEAP_ENGINE_DESCHEDULE_ROUND_DOMAINS_H

#include "engine/deschedule/round.h"

/* --- anti-affinity --- */

/* A set of pods, by index: one bit each. */
struct neap_pod_set {
	uint64_t *bits;
};

/* Returns whether a required anti-affinity term of the pod selects another pod (of
 * another name) that is in the set, is live and does not leave in this round, on the same
 * node or on one of the round's nodes with the same value of the term's key. */
bool neap_round_is_repelled(struct neap_round *round, const struct neap_world_pod *pod,
			    const struct neap_pod_set *set);

/* --- spread --- */

struct neap_spread_domain {
	const char *value; /* of the topology key */
	uint32_t number;   /* of the value among those of the key */
	struct neap_world_pod **pods;
	size_t count;
};

/* A spread constraint of a namespace, and the distribution of its pods. */
struct neap_spread_found {
	const char *ns;
	const struct neap_spread *constraint; /* of owner, with its other limits */
	const struct neap_world_pod *owner;   /* the first pod that has it */
	struct neap_spread_domain *domains;
	size_t domain_count, pod_count;
	const uint32_t
		*of; /* by index of the node: number of its value plus one; 0: none */
	const uint32_t *sizes; /* pods by number of the value */
};

/* Collects the constraints of the pods, which are live and may leave, namespace by
 * namespace; each distinct one once. with_required, with_soft: DoNotSchedule,
 * ScheduleAnyway. Pods that terminate are in no domain. */
int neap_round_find_spreads(struct neap_round *round, struct neap_world_pod **pods,
			    size_t count, bool with_required, bool with_soft,
			    struct neap_spread_found **ret, size_t *ret_count,
			    struct neap_error *err);
/* Returns whether a node counts for a constraint by its policies on affinity and
 * taints. */
bool neap_spread_takes(const struct neap_spread_found *spread,
		       const struct neap_world_node *node);

/* Returns whether the pod fits a node, other than its own, that counts for the constraint
 * and is in a domain with fewer pods than the average. */
bool neap_spread_fits_below(const struct neap_round *round,
			    const struct neap_spread_found *spread,
			    const struct neap_world_pod *pod);

/* --- duplicates --- */

/* The pods of one owner with one set of images that are duplicates on their nodes. */
struct neap_duplicates {
	const char *ns, *kind, *name; /* of the owner */
	size_t counted;               /* its pods with these images, duplicates or not */
	struct neap_world_pod **pods; /* duplicates, node after node */
	size_t count;
};

/* A pod is a duplicate when another on its node has the same owners and images. The pods
 * come node after node. */
int neap_round_find_duplicates(struct neap_round *round,
			       struct neap_world_pod *const *pods, size_t count,
			       struct neap_duplicates **ret, size_t *ret_count,
			       struct neap_error *err);
/* Counts the nodes of the round on which at least one of the pods could run by its
 * tolerations, selector and affinity; pods that could run on one node only do not
 * count. */
size_t neap_round_count_feasible(const struct neap_round *round,
				 struct neap_world_pod *const *pods, size_t count);

#endif
