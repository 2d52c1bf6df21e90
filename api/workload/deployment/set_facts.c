/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/deployment/set_facts.h"

#include <stdlib.h>
#include <string.h>

#include "api/workload/deployment/deployments_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

/* Entries beyond the number of ReplicaSets, before cleaning up. */
#define SLACK 1000

struct neap_set_facts_cache {
	struct neap_map *by_uid;
};

struct neap_set_facts_cache *neap_set_facts_new(void)
{
	struct neap_set_facts_cache *cache = neap_alloc(sizeof(*cache));

	if (!cache)
		return NULL;
	cache->by_uid = neap_map_new();
	if (!cache->by_uid) {
		free(cache);
		return NULL;
	}
	return cache;
}

/* From the end, so that no entries move. */
static void forget_all(struct neap_set_facts_cache *cache)
{
	for (size_t i = neap_map_count(cache->by_uid); i-- > 0;) {
		const char *uid;

		(void)neap_map_at(cache->by_uid, i, &uid);
		neap_set_facts_drop(cache, uid);
	}
}

void neap_set_facts_free(struct neap_set_facts_cache *cache)
{
	if (!cache)
		return;
	forget_all(cache);
	neap_map_free(cache->by_uid);
	free(cache);
}

struct neap_set_facts *neap_set_facts_find(const struct neap_set_facts_cache *cache,
					   const char *uid)
{
	return neap_map_find(cache->by_uid, uid);
}

void neap_set_facts_drop(struct neap_set_facts_cache *cache, const char *uid)
{
	free(neap_map_remove(cache->by_uid, uid));
}

bool neap_set_facts_tidy(struct neap_set_facts_cache *cache, size_t sets)
{
	if (neap_map_count(cache->by_uid) <= 2 * sets + SLACK)
		return false;
	forget_all(cache);
	return true;
}

/* --- reading --- */

static int64_t annotation_number(const json_t *tree, const char *name)
{
	const char *text = neap_tree_entry(tree, "metadata.annotations", name);
	int64_t number;

	return *text && neap_int_parse(text, &number, NULL) == 0 ? number : NEAP_MISSING;
}

/* False without memory. */
static bool read_facts(const struct neap_object *set, const json_t *tree,
		       struct neap_set_facts *ret)
{
	const json_t *pods = neap_tree_at(tree, "spec.template");
	int64_t revision = annotation_number(tree, REVISION);

	*ret = (struct neap_set_facts){
		.version = set->version,
		.created_usec = neap_tree_time(tree, "metadata.creationTimestamp"),
		/* Anybody can write it. NEAP_MISSING is below 0 too. */
		.revision = revision < 0 || revision == INT64_MAX ? 0 : revision,
		.replicas = neap_tree_int(tree, "spec.replicas", 1),
		.status_replicas = neap_tree_int(tree, "status.replicas", 0),
		.ready = neap_tree_int(tree, "status.readyReplicas", 0),
		.available = neap_tree_int(tree, "status.availableReplicas", 0),
		.desired = annotation_number(tree, DESIRED_REPLICAS),
		.max = annotation_number(tree, MAX_REPLICAS),
		.is_deleting = set->is_deleting,
		.is_observed = neap_tree_int(tree, "metadata.generation", 0) <=
			       neap_tree_int(tree, "status.observedGeneration", 0),
		.has_failure = neap_tree_condition(tree, REPLICA_FAILURE) != NULL,
	};
	(void)neap_strcopy(ret->controller, sizeof(ret->controller),
			   neap_tree_text(neap_tree_controller(tree), "uid"));
	return !pods || neap_template_digest(pods, ret->pod_template);
}

bool neap_set_facts_has(const struct neap_set_facts_cache *cache,
			const struct neap_object *set)
{
	const struct neap_set_facts *facts = neap_set_facts_find(cache, set->uid);

	return facts && facts->version == set->version;
}

struct neap_set_facts *neap_set_facts_get(struct neap_set_facts_cache *cache,
					  const struct neap_object *set)
{
	struct neap_set_facts *facts = neap_set_facts_find(cache, set->uid), fresh;
	json_t *tree;
	bool is_read;

	if (facts && facts->version == set->version)
		return facts;
	tree = neap_object_tree(set);
	is_read = tree && read_facts(set, tree, &fresh);
	json_decref(tree);
	if (!is_read)
		return NULL;
	if (!facts) {
		facts = neap_alloc(sizeof(*facts));
		if (!facts || !neap_map_set(cache->by_uid, set->uid, facts)) {
			free(facts);
			return NULL;
		}
	}
	*facts = fresh;
	return facts;
}
