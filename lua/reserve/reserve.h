/* SPDX-License-Identifier: Apache-2.0
 *
 * Kind reservation: how a decision about a pod calls a policy, once per reservation. Two
 * tables are created per decision and reused for every reservation, owners included, so a
 * reservation costs no memory. Expensive facts of a reservation (texts of its
 * annotations) are cached between decisions, for a few thousand reservations. */
#ifndef NEAP_LUA_RESERVE_RESERVE_H
#define NEAP_LUA_RESERVE_RESERVE_H

#include "engine/reserve/matcher.h"
#include "lua/place/place.h"

/* The functions below are for policies of this kind. The pairs are borrowed. */
bool neap_policy_has_rank(const struct neap_policy *policy);
const struct neap_reserve_pair *neap_policy_pairs(const struct neap_policy *policy,
						  size_t *ret_count);
/* combine = "replace": match decides instead of the owners. For any policy. */
bool neap_policy_replaces_owners(const struct neap_policy *policy);

/* Starts a decision; what pod points to must stay until the next. WISHES; SKIPPED: the
 * pod lacks a required field, and the policy must not be called for it; STARVED. */
enum neap_tick_verdict neap_policy_begin_offers(struct neap_policy *policy,
						const struct neap_place_pod *pod,
						struct neap_error *err);
/* Calls match(ctx, pod, resv) after comparing the pairs. WISHES: *ret, whose reason is
 * borrowed until the next call; SKIPPED: the reservation lacks a required field, and
 * there is no answer; others, and left_usec, as in neap_policy_tick_within. */
enum neap_tick_verdict neap_policy_match_within(struct neap_policy *policy,
						const struct neap_reserve_offer *offer,
						int64_t *left_usec,
						struct neap_reserve_verdict *ret,
						struct neap_error *err);
/* Calls rank(ctx, pod, resv). WISHES: *ret is 0..100; HOLD: no opinion; others as
 * above. */
enum neap_tick_verdict neap_policy_rank_within(struct neap_policy *policy,
					       const struct neap_reserve_offer *offer,
					       int64_t *left_usec, int *ret,
					       struct neap_error *err);

#endif
