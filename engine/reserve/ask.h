/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pod says about reservations, and whether it may use a given one. */
#ifndef NEAP_ENGINE_RESERVE_ASK_H
#define NEAP_ENGINE_RESERVE_ASK_H

#include "engine/reserve/reserve.h"

/* Read once per pod to be scheduled; lives in the arena passed to the reader. */
struct neap_reserve_ask {
	const struct neap_pod *pod;                /* borrowed */
	const struct neap_reserve_ref *owner_refs; /* its own ownerReferences */
	size_t owner_ref_count;
	bool is_ignoring; /* takes from any reservation and owns none */
	/* The annotation reservation-affinity exists, even if empty: the pod must use a
	 * reservation. */
	bool has_affinity;
	const char *name; /* a particular reservation; NULL: any */
	bool has_terms;
	struct neap_terms terms;
	struct neap_term selector;
	const struct neap_toleration *tolerations;
	size_t toleration_count;
	/* Resources whose amounts must be equal on both sides. */
	const uint32_t *exact;
	size_t exact_count;
};

/* -NEAP_EINVAL: an annotation cannot be read, with a text for people; -NEAP_ETOOLARGE,
 * -NEAP_ENOMEM. */
int neap_reserve_ask_read(const struct neap_pod *pod, const json_t *tree,
			  const struct neap_resources *resources,
			  struct neap_arena *arena, struct neap_reserve_ask *ret,
			  struct neap_error *err);
/* Uses the tolerations of the annotation, not those of the pod. */
bool neap_reserve_tolerates(const struct neap_reserve_ask *ask, const char *key,
			    const char *value, enum neap_taint_effect effect);
bool neap_reserve_owner_takes(const struct neap_reserve_owner *owner,
			      const struct neap_reserve_ask *ask);
/* Returns whether one entry of the reservation's owners matches the pod. */
bool neap_reserve_owners_take(const struct neap_reserve *reserve,
			      const struct neap_reserve_ask *ask);
/* Returns whether its labels, over those of the node (NULL: ignored), match the pod's
 * selector. */
bool neap_reserve_is_selected(const struct neap_reserve *reserve,
			      const struct neap_object *node,
			      const struct neap_reserve_ask *ask);
/* Compares amounts by name in order; stops with success at the first name that neither
 * side has, as Koordinator does. */
bool neap_reserve_is_exact(const struct neap_amounts *allocatable,
			   const struct neap_reserve_ask *ask);

/* Returns whether labels, taints and exact amounts match for a pod that owners accept;
 * the reservation may be closed. */
bool neap_reserve_may_take(const struct neap_reserve *reserve,
			   const struct neap_object *node,
			   const struct neap_reserve_ask *ask);

enum neap_reserve_match {
	NEAP_RESERVE_UNMATCHED,
	NEAP_RESERVE_MATCHED,
	NEAP_RESERVE_IGNORED /* counts as matched, but gets no owner */
};
/* Returns whether the pod may use the reservation; the caller checks that it is
 * usable. */
enum neap_reserve_match neap_reserve_match(const struct neap_reserve *reserve,
					   const struct neap_object *node,
					   const struct neap_reserve_ask *ask,
					   bool is_owner);
/* Returns why the pod may not use it, for people; NULL: it may. Not for pods that ignore
 * reservations. */
const char *neap_reserve_why_not(const struct neap_reserve *reserve,
				 const struct neap_object *node,
				 const struct neap_reserve_ask *ask, bool is_owner);

#endif
