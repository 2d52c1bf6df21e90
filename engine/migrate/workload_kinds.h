/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads whose replicas are known, because their objects are watched. */
#ifndef NEAP_ENGINE_MIGRATE_WORKLOAD_KINDS_H
#define NEAP_ENGINE_MIGRATE_WORKLOAD_KINDS_H

#include <jansson.h>
#include <stdbool.h>

struct neap_workload_kind {
	const char *resource; /* as of api/client */
	/* With the group, where another kind of the table has the same name. */
	const char *kind;
};

#define NEAP_WORKLOAD_KINDS 6

extern const struct neap_workload_kind neap_workload_kinds[NEAP_WORKLOAD_KINDS];

/* Returns the kind of that resource; NULL: it is not in the table. */
const char *neap_workload_kind_of(const char *resource);
/* Returns the kind that an ownerReference names, as in the table; "" for NULL. Borrowed
 * from it. */
const char *neap_workload_kind_of_owner(const json_t *owner);
/* Returns whether it names one of the table, of its group. */
bool neap_workload_is_watched(const json_t *owner);

#endif
