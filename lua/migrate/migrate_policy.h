/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds migration and evictor: the order of jobs, and how a pod leaves. Arguments and
 * results are plain data. On the loop's thread. */
#ifndef NEAP_LUA_MIGRATE_MIGRATE_POLICY_H
#define NEAP_LUA_MIGRATE_MIGRATE_POLICY_H

#include "engine/migrate/arbitrate.h"
#include "lua/call/policy.h"

/* Jobs that one call can sort. */
#define NEAP_ORDER_MAX 4096

/* The jobs as order(ctx, jobs) sees them: a new list, NULL without memory. */
json_t *neap_order_jobs_new(const struct neap_migrate_waiting *list, size_t count);
/* Calls order(ctx, jobs). WISHES: ret[i] is the index of the job that comes at place i;
 * every job comes once. Others as in neap_policy_tick; never HOLD, SKIPPED, PUT_OFF. */
enum neap_tick_verdict neap_policy_order(struct neap_policy *policy, const json_t *jobs,
					 int64_t now_unix, size_t *ret,
					 struct neap_error *err);

enum neap_leave_how {
	NEAP_LEAVE_EVICTION,
	NEAP_LEAVE_DELETION,
	NEAP_LEAVE_PATCH, /* another evictor acts on it */
	NEAP_LEAVE_STAYS, /* not now; it is called again later */
	NEAP_LEAVE_COUNT
};

struct neap_leave {
	enum neap_leave_how how;
	/* PATCH: a merge patch of labels and annotations of the pod, and one that undoes
	 * it. Owned by the caller. */
	json_t *patch, *take_back;
	char why[256]; /* STAYS: for people */
};

/* Calls leave(ctx, pod, job); both are objects as they are stored. */
enum neap_tick_verdict neap_policy_leave(struct neap_policy *policy, const json_t *pod,
					 const json_t *job, int64_t now_unix,
					 struct neap_leave *ret, struct neap_error *err);

#endif
