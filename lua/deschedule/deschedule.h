/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds deschedule and evict: how a descheduling round calls a policy. A call runs on the
 * thread that has the round's world, and may last a second: no other thread may use the
 * policy or the world meanwhile. */
#ifndef NEAP_LUA_DESCHEDULE_DESCHEDULE_H
#define NEAP_LUA_DESCHEDULE_DESCHEDULE_H

#include "engine/deschedule/round.h"
#include "lua/call/policy.h"

#define NEAP_DESCHEDULE_TRIGGERS_MAX 16

/* --- kind deschedule --- */

enum neap_deschedule_point { NEAP_POINT_DESCHEDULE, NEAP_POINT_BALANCE };

/* The event that starts a round. */
enum neap_round_event {
	/* key: its type, value: the new status; "" any */
	NEAP_EVENT_NODE_CONDITION,
	NEAP_EVENT_NODE_TAINT,    /* key; "" any */
	NEAP_EVENT_NODE_LABEL,    /* key; "" any */
	NEAP_EVENT_POD_CONDITION, /* as for nodes */
	NEAP_EVENT_POD_RESTARTS,  /* bound: the count that a pod reaches */
	NEAP_EVENT_POD_PENDING,   /* bound: seconds for which a pod stays pending */
	/* key: a resource, bound: percent of allocatable that a NodeMetric crosses */
	NEAP_EVENT_NODE_USAGE,
	NEAP_ROUND_EVENTS
};

struct neap_round_trigger {
	enum neap_round_event event;
	char key[128], value[64];
	int64_t bound;
};

/* The functions below are for policies of kind deschedule. Texts and lists are borrowed
 * for the life of the policy. */
enum neap_deschedule_point neap_policy_point(const struct neap_policy *policy);
/* Its name in configurations: "PodLifeTime"; the policy's own name when it has none. */
const char *neap_policy_plugin(const struct neap_policy *policy);
const struct neap_round_trigger *
neap_policy_round_triggers(const struct neap_policy *policy, size_t *ret_count);

/* Calls run(ctx, round). Its questions are in round->said, under the name strategy, also
 * when it failed later: granted evictions stay granted. WISHES: it ended normally; others
 * as in neap_policy_tick. Never HOLD, SKIPPED or PUT_OFF. */
enum neap_tick_verdict neap_policy_run_round(struct neap_policy *policy,
					     struct neap_round *round,
					     const char *strategy,
					     struct neap_error *err);
/* --- kind evict --- */

/* Calls allow(ctx, pod), or with is_last before(ctx, pod), if the policy has it. WISHES:
 * *ret_why is NULL, or the reason why the pod stays, kept with the round; others as
 * above. May be called while a strategy runs on this thread. */
enum neap_tick_verdict neap_policy_ask_evict(struct neap_policy *policy,
					     struct neap_round *round,
					     const struct neap_world_pod *pod,
					     bool is_last, const char **ret_why,
					     struct neap_error *err);

#endif
