/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/loop/scaled.h"

#include "engine/base/map.h"

#define A_TURN 16

static bool learn(struct neap_client *client, struct neap_migrate_owner *owner)
{
	const struct neap_client_owner what = {.api_version = owner->api_version,
					       .kind = owner->kind,
					       .name = owner->name,
					       .uid = owner->uid,
					       .ns = owner->ns};
	int64_t replicas = 0;
	enum neap_client_scale scale = neap_client_scale(client, &what, &replicas);

	if (scale == NEAP_CLIENT_SCALE_IS_LATE)
		return false;
	owner->is_known = true;
	owner->replicas = scale == NEAP_CLIENT_NO_SCALE ? 0 : replicas;
	return scale != NEAP_CLIENT_SCALE_IS_OLD;
}

static struct neap_migrate_owner *find(const struct neap_migrate_cluster *cluster,
				       const char *ns, const char *name)
{
	const struct neap_migrate_pod *pod = neap_migrate_find_pod(cluster, ns, name);

	return pod ? neap_migrate_owner_of(cluster, pod) : NULL;
}

bool neap_scaled_learn(struct neap_client *client, struct neap_migrate_cluster *cluster,
		       const char *ns, const char *name)
{
	struct neap_migrate_owner *owner = find(cluster, ns, name);

	return !owner || learn(client, owner);
}

void neap_scaled_learn_new(struct neap_client *client,
			   struct neap_migrate_cluster *cluster,
			   struct neap_scaled_walk *walk, const char *ns,
			   const char *name)
{
	struct neap_migrate_owner *owner = find(cluster, ns, name);

	if (!owner || owner->is_known || learn(client, owner))
		return;
	walk->is_under_way = true;
	walk->known = 0;
}

bool neap_scaled_walk(struct neap_client *client, struct neap_migrate_cluster *cluster,
		      struct neap_scaled_walk *walk)
{
	size_t all = neap_map_count(cluster->scaled);

	for (int i = 0; walk->is_under_way && i < A_TURN; i++) {
		struct neap_migrate_owner *owner;

		if (walk->known >= all) {
			walk->is_under_way = false;
			break;
		}
		walk->at = walk->at < all ? walk->at : 0;
		owner = neap_map_at(cluster->scaled, walk->at++, NULL);
		if (owner->is_known || learn(client, owner))
			walk->known++;
		else
			walk->known = 0;
	}
	return !walk->is_under_way;
}

void neap_scaled_learn_some(struct neap_client *client,
			    struct neap_migrate_cluster *cluster, size_t *at,
			    size_t count)
{
	size_t all = neap_map_count(cluster->scaled);

	for (size_t i = 0; i < count && i < all; i++) {
		*at = *at < all ? *at : 0;
		(void)learn(client, neap_map_at(cluster->scaled, (*at)++, NULL));
	}
}
