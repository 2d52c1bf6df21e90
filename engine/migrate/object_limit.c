/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/migrate/object_limit.h"

static void owner_of(const struct neap_object_limited *of, const char **ret_uid,
		     int64_t *ret_max)
{
	const struct neap_object_limit *limit = &of->args->workload_limit;
	const struct neap_migrate_workload *workload;
	const struct neap_migrate_pod *facts =
		neap_migrate_find_pod(of->cluster, of->ns, of->name);
	int64_t replicas;

	*ret_uid = "";
	*ret_max = 0;
	if (!facts || !neap_migrate_replicas(of->cluster, facts, &workload, &replicas))
		return;
	*ret_uid = facts->owner_uid;
	*ret_max = neap_scaled_of(
		limit->max.kind == NEAP_SCALED_UNSET ? &of->args->migrating : &limit->max,
		replicas);
}

bool neap_object_limit_holds(const struct neap_object_limited *of)
{
	const struct neap_object_limit *of_workload = &of->args->workload_limit;
	const struct neap_object_limit *of_namespace = &of->args->namespace_limit;
	const char *uid;
	int64_t max;

	owner_of(of, &uid, &max);
	return !neap_limiter_has(of->limiter, uid, max, of_workload->duration_usec,
				 of_workload->burst, of->now_usec) ||
	       !neap_limiter_has(of->limiter, of->ns, of_namespace->max.value,
				 of_namespace->duration_usec, of_namespace->burst,
				 of->now_usec);
}

typedef void of_limiter(struct neap_limiter *limiter, const char *uid, int64_t max,
			int64_t duration_usec, int64_t burst, int64_t now_usec);

static void with_buckets(const struct neap_object_limited *of, of_limiter *act)
{
	const struct neap_object_limit *of_workload = &of->args->workload_limit;
	const struct neap_object_limit *of_namespace = &of->args->namespace_limit;
	const char *uid;
	int64_t max;

	owner_of(of, &uid, &max);
	act(of->limiter, uid, max, of_workload->duration_usec, of_workload->burst,
	    of->now_usec);
	act(of->limiter, of->ns, of_namespace->max.value, of_namespace->duration_usec,
	    of_namespace->burst, of->now_usec);
}

void neap_object_limit_take(const struct neap_object_limited *of)
{
	with_buckets(of, neap_limiter_take);
}

void neap_object_limit_give(const struct neap_object_limited *of)
{
	with_buckets(of, neap_limiter_give);
}
