/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds score and filter: how a decision about a pod calls a policy. Kind reservation:
 * lua/reserve/reserve.h. */
#ifndef NEAP_LUA_PLACE_PLACE_H
#define NEAP_LUA_PLACE_PLACE_H

#include "engine/decide/curve.h"
#include "lua/call/policy.h"

/* Distinct reasons of one policy in one decision, and the size of one with its NUL. */
#define NEAP_PLACE_REASONS_MAX 16
#define NEAP_PLACE_REASON      128
/* CPU budget of a call of allow: that of the kind, plus this per node of the block. */
#define NEAP_PLACE_NODES_A_USEC 1

struct neap_place {
	struct neap_cluster *cluster; /* settled */
	const struct neap_pod *pod;
	int64_t now_usec;
};

/* A pod while it is being decided. */
struct neap_place_pod {
	const struct neap_pod *pod;
	const struct neap_resources *resources; /* of the cluster */
	int64_t now_usec;
};

/* A policy in one decision; zero it at the start of the decision. */
struct neap_place_call {
	bool is_open; /* the policy has this decision's pod */
	size_t reason_count;
	/* the last one may be shared by many */
	char reasons[NEAP_PLACE_REASONS_MAX][NEAP_PLACE_REASON];
};

/* Calls plan(ctx, pod). WISHES: fills *ret; HOLD: the policy has no opinion on this pod;
 * others, and left_usec, as in neap_policy_tick_within. */
enum neap_tick_verdict neap_policy_plan_within(struct neap_policy *policy,
					       const struct neap_place *place,
					       int64_t *left_usec,
					       struct neap_curve_score *ret,
					       struct neap_error *err);
/* Scores rows by the terms of a plan, from the first on, as many as there is time for.
 * Returns how many. */
size_t neap_place_weigh(const struct neap_curve_score *score,
			const struct neap_place *place, const uint32_t *rows,
			size_t count, int64_t *left_usec, int64_t *ret);
/* Calls allow(ctx, pod, node) for each row. WISHES: ret[i] is 0 where the pod may go,
 * else a reason's index plus one; HOLD does not occur. SKIPPED: the pod lacks a required
 * field; a node that lacks one is allowed. */
enum neap_tick_verdict
neap_policy_allow_within(struct neap_policy *policy, const struct neap_place *place,
			 struct neap_place_call *call, const uint32_t *rows, size_t count,
			 int64_t *left_usec, uint32_t *ret, struct neap_error *err);

#endif
