/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pod says about reservations, and whether it may use one. */
#ifndef NEAP_ENGINE_RESERVE_ASK_H
#define NEAP_ENGINE_RESERVE_ASK_H

#include "engine/reserve/reserve.h"

/* Read once for a pod that is to be placed; goes with the arena that it was read into. */
struct neap_reserve_ask {
	const struct neap_pod *pod;                /* borrowed */
	const struct neap_reserve_ref *owner_refs; /* its own ownerReferences */
	size_t owner_ref_count;
	bool is_ignoring; /* takes of every reservation, and owns none */
	/* It has the annotation reservation-affinity, be it empty: it must use one. */
	bool has_affinity;
	const char *name; /* that one; NULL: any */
	bool has_terms;
	struct neap_terms terms;
	struct neap_term selector;
	const struct neap_toleration *tolerations;
	size_t toleration_count;
	/* Amounts of these must be the same on both sides. */
	const uint32_t *exact;
	size_t exact_count;
};

/* -NEAP_EINVAL: an annotation cannot be read, with words for people; -NEAP_ETOOLARGE, -NEAP_ENOMEM. */
int neap_reserve_ask_read(const struct neap_pod *pod, const json_t *tree,
			  const struct neap_resources *resources,
			  struct neap_arena *arena, struct neap_reserve_ask *ret,
			  struct neap_error *err);
/* Its annotation's tolerations, not those of the pod. */
bool neap_reserve_tolerates(const struct neap_reserve_ask *ask, const char *key,
			    const char *value, enum neap_taint_effect effect);
bool neap_reserve_owner_takes(const struct neap_reserve_owner *owner,
			      const struct neap_reserve_ask *ask);
/* Some entry of its owners takes the pod. */
bool neap_reserve_owners_take(const struct neap_reserve *reserve,
			      const struct neap_reserve_ask *ask);
/* Its labels, over those of the node (NULL: they do not count), are as the pod asks. */
bool neap_reserve_is_selected(const struct neap_reserve *reserve,
			      const struct neap_object *node,
			      const struct neap_reserve_ask *ask);
/* Amounts are told by name and in order; a name that neither side has ends it with success, as in Koordinator. */
bool neap_reserve_is_exact(const struct neap_amounts *allocatable,
			   const struct neap_reserve_ask *ask);

/* Its labels, taints and exact amounts are as a pod that its owners take asks for; it may be closed. */
bool neap_reserve_may_take(const struct neap_reserve *reserve,
			   const struct neap_object *node,
			   const struct neap_reserve_ask *ask);

enum neap_reserve_match {
	NEAP_RESERVE_UNMATCHED,
	NEAP_RESERVE_MATCHED,
	NEAP_RESERVE_IGNORED /* counts as matched, and gets no owner */
};
/* Whether the pod may use it; usable or not is asked before. */
enum neap_reserve_match neap_reserve_match(const struct neap_reserve *reserve,
					   const struct neap_object *node,
					   const struct neap_reserve_ask *ask,
					   bool is_owner);
/* Why the pod, which does not ignore them, may not use it, for people; NULL: it may. */
const char *neap_reserve_why_not(const struct neap_reserve *reserve,
				 const struct neap_object *node,
				 const struct neap_reserve_ask *ask, bool is_owner);

#endif
