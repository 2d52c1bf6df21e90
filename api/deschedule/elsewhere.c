/* SPDX-License-Identifier: Apache-2.0
 *
 * nodeFit of MigrationController for jobs, which come and go between rounds: asked of the
 * snapshot as it is. While it lacks what came during a round, nobody knows: a refusal is
 * for good, and a job that passes asks no more. */
#include "api/deschedule/descheduler_priv.h"
#include "api/deschedule/round_snapshot.h"
#include "engine/deschedule/fit.h"

/* Nodes whose sums an answer renews; the others are for the next answers. */
#define RENEW_MAX 100

enum neap_elsewhere neap_descheduler_fits_elsewhere(struct neap_descheduler *descheduler,
						    const struct neap_migrate_args *args,
						    const char *ns, const char *name)
{
	struct neap_world_node *node;
	struct neap_world_pod *pod;
	struct neap_world *world;
	int renewed = 0;

	if (!deschedule_has_snapshot(descheduler) ||
	    !neap_snapshot_is_current(descheduler->snapshot))
		return NEAP_ELSEWHERE_UNKNOWN;
	world = neap_snapshot_world(descheduler->snapshot);
	pod = neap_world_find_pod(world, ns, name);
	if (!pod)
		return NEAP_ELSEWHERE_UNKNOWN;
	for (size_t i = 0; (node = neap_world_node_at(world, i)) != NULL; i++) {
		if (node->is_dirty && renewed++ == RENEW_MAX)
			return NEAP_ELSEWHERE_UNKNOWN;
		if (node->is_dirty)
			neap_world_count_node(world, node);
		if (neap_fit_elsewhere(world, pod, node, args->node_selector))
			return NEAP_ELSEWHERE_FITS;
	}
	return NEAP_ELSEWHERE_NO;
}
