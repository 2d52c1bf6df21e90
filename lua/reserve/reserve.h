/* SPDX-License-Identifier: Apache-2.0
 *
 * Kind reservation: what one decision about a pod asks of a policy, one reservation after the other. Two tables are made
 * for a decision, and a reservation costs no memory in them: its owners are shown in tables that are there, too. What is
 * dear to make of one (a text of its annotations) is kept from decision to decision, of some thousands at most. */
#ifndef NEAP_LUA_RESERVE_RESERVE_H
#define NEAP_LUA_RESERVE_RESERVE_H

#include "engine/reserve/matcher.h"
#include "lua/place/place.h"

/* All three are of policies of this kind. The pairs are borrowed. */
bool neap_policy_has_rank(const struct neap_policy *policy);
const struct neap_reserve_pair *neap_policy_pairs(const struct neap_policy *policy,
						  size_t *ret_count);
/* combine = "replace": match decides in place of the owners. Of any policy. */
bool neap_policy_replaces_owners(const struct neap_policy *policy);

/* A decision begins; what pod points to stays until the next. WISHES; SKIPPED: the pod misses something, and the policy is
 * not to be asked about it; STARVED. */
enum neap_tick_verdict neap_policy_begin_offers(struct neap_policy *policy,
						const struct neap_place_pod *pod,
						struct neap_error *err);
/* match(ctx, pod, resv). WISHES: *ret, whose reason is borrowed until the next call; SKIPPED: the reservation misses
 * something, and nothing is said of it; others as neap_policy_tick_within, to which also left_usec belongs. The pairs are
 * looked at first. */
enum neap_tick_verdict neap_policy_match_within(struct neap_policy *policy,
						const struct neap_reserve_offer *offer,
						int64_t *left_usec,
						struct neap_reserve_verdict *ret,
						struct neap_error *err);
/* rank(ctx, pod, resv). WISHES: *ret is 0..100; HOLD: it says nothing of this one; others as above. */
enum neap_tick_verdict neap_policy_rank_within(struct neap_policy *policy,
					       const struct neap_reserve_offer *offer,
					       int64_t *left_usec, int *ret,
					       struct neap_error *err);

#endif
