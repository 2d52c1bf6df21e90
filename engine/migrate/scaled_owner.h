/* SPDX-License-Identifier: Apache-2.0
 *
 * Controllers of pods whose objects are not watched: kinds that somebody declared. Their
 * replicas are what their scale subresource says, and have to be asked for. */
#ifndef NEAP_ENGINE_MIGRATE_SCALED_OWNER_H
#define NEAP_ENGINE_MIGRATE_SCALED_OWNER_H

#include "engine/migrate/migrate_cluster.h"

/* There is one for each such controller as long as it has pods. */
struct neap_migrate_owner {
	/* As the first of its pods names it. */
	const char *api_version, *kind, *ns, *name, *uid;
	size_t pods;
	bool is_known;    /* an answer was heard */
	int64_t replicas; /* as was heard last; 0: not known, or it has no scale */
};

/* Returns whether the ownerReference names a controller of such a kind: one of a declared
 * group that is not among neap_workload_kinds. */
bool neap_migrate_is_scaled(const json_t *owner);
/* Returns the controller of that pod; NULL: it is of another kind. Valid until its last
 * pod is dropped. */
struct neap_migrate_owner *
neap_migrate_owner_of(const struct neap_migrate_cluster *cluster,
		      const struct neap_migrate_pod *pod);

/* --- for migrate_cluster.c --- */

/* A pod of that controller comes, or goes. False without memory. */
bool neap_migrate_owner_hold(struct neap_migrate_cluster *cluster, const char *ns,
			     const json_t *owner);
void neap_migrate_owner_release(struct neap_migrate_cluster *cluster,
				const struct neap_migrate_pod *pod);

#endif
