/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds score and filter: what one decision about a place for a pod asks of a policy. Kind reservation: lua/reserve/reserve.h. */
#ifndef NEAP_LUA_PLACE_PLACE_H
#define NEAP_LUA_PLACE_PLACE_H

#include "engine/decide/curve.h"
#include "lua/run/policy.h"

/* Different reasons that one policy gives in one decision, and the room for one with its NUL. */
#define NEAP_PLACE_REASONS_MAX 16
#define NEAP_PLACE_REASON      128
/* CPU budget of a call of allow: that of the kind, and this for each node of the block. */
#define NEAP_PLACE_NODES_A_USEC 1

struct neap_place {
	struct neap_cluster *cluster; /* settled */
	const struct neap_pod *pod;
	int64_t now_usec;
};

/* A pod, as long as something about it is decided. */
struct neap_place_pod {
	const struct neap_pod *pod;
	const struct neap_resources *resources; /* of the cluster */
	int64_t now_usec;
};

/* A policy in one decision: zero it when a decision begins. */
struct neap_place_call {
	bool is_open; /* the policy has the pod of this decision */
	size_t reason_count;
	char reasons[NEAP_PLACE_REASONS_MAX][NEAP_PLACE_REASON]; /* the last one may stand
								  for many */
};

/* plan(ctx, pod). WISHES: *ret; HOLD: it has nothing to say of this pod; others as neap_policy_tick_within, to which also
 * left_usec belongs. */
enum neap_tick_verdict neap_policy_plan_within(struct neap_policy *policy,
					       const struct neap_place *place,
					       int64_t *left_usec,
					       struct neap_curve_score *ret,
					       struct neap_error *err);
/* Points by the terms of a plan; of as many of the rows, from the first on, as there is time for. Returns how many. */
size_t neap_place_weigh(const struct neap_curve_score *score,
			const struct neap_place *place, const uint32_t *rows,
			size_t count, int64_t *left_usec, int64_t *ret);
/* allow(ctx, pod, node) for each of the rows. WISHES: ret[i] is 0 where the pod may go, else a reason's index and one;
 * HOLD is not given. SKIPPED: the pod misses what is needed; a node that does may be gone to. */
enum neap_tick_verdict
neap_policy_allow_within(struct neap_policy *policy, const struct neap_place *place,
			 struct neap_place_call *call, const uint32_t *rows, size_t count,
			 int64_t *left_usec, uint32_t *ret, struct neap_error *err);

#endif
