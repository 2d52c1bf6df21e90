/* SPDX-License-Identifier: Apache-2.0
 *
 * The object limiter: how many pods of one workload, and of one namespace, may leave in a
 * period. */
#ifndef NEAP_ENGINE_MIGRATE_OBJECT_LIMIT_H
#define NEAP_ENGINE_MIGRATE_OBJECT_LIMIT_H

#include "engine/migrate/limiter.h"
#include "engine/migrate/migrate_args.h"
#include "engine/migrate/migrate_cluster.h"

/* A pod, and what determines its buckets; all is borrowed. */
struct neap_object_limited {
	struct neap_limiter *limiter;
	const struct neap_migrate_args *args;
	const struct neap_migrate_cluster *cluster;
	const char *ns, *name;
	int64_t now_usec;
};

/* Returns whether the pod must wait. */
bool neap_object_limit_holds(const struct neap_object_limited *of);
/* Takes tokens: the pod leaves. */
void neap_object_limit_take(const struct neap_object_limited *of);
/* Returns the tokens: the pod did not leave. */
void neap_object_limit_give(const struct neap_object_limited *of);

#endif
