/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/loop/fact_cache.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* Entries beyond the number of objects, before cleaning up. */
#define SLACK 1000

struct neap_facts_cache {
	struct neap_map *by_uid;
	size_t size;
	neap_facts_read *read;
};

struct neap_facts_cache *neap_facts_new(size_t size, neap_facts_read *read)
{
	struct neap_facts_cache *cache = neap_alloc(sizeof(*cache));

	if (!cache)
		return NULL;
	*cache = (struct neap_facts_cache){neap_map_new(), size, read};
	if (cache->by_uid)
		return cache;
	free(cache);
	return NULL;
}

/* From the end, so that no entries move. */
static void forget_all(struct neap_facts_cache *cache)
{
	const char *uid;

	for (size_t i = neap_map_count(cache->by_uid); i-- > 0;) {
		(void)neap_map_at(cache->by_uid, i, &uid);
		neap_facts_drop(cache, uid);
	}
}

void neap_facts_free(struct neap_facts_cache *cache)
{
	if (!cache)
		return;
	forget_all(cache);
	neap_map_free(cache->by_uid);
	free(cache);
}

void *neap_facts_find(const struct neap_facts_cache *cache, const char *uid)
{
	return neap_map_find(cache->by_uid, uid);
}

bool neap_facts_has(const struct neap_facts_cache *cache,
		    const struct neap_object *object)
{
	const int64_t *version = neap_facts_find(cache, object->uid);

	return version && *version == object->version;
}

static bool read_facts(const struct neap_facts_cache *cache,
		       const struct neap_object *object, void *ret)
{
	neap_auto_json json_t *tree = neap_object_tree(object);

	return tree && cache->read(object, tree, ret);
}

void *neap_facts_get(struct neap_facts_cache *cache, const struct neap_object *object)
{
	void *facts = neap_facts_find(cache, object->uid), *fresh;

	if (facts && neap_facts_has(cache, object))
		return facts;
	fresh = neap_alloc(cache->size);
	if (!fresh)
		return NULL;
	memcpy(fresh, &object->version, sizeof(object->version));
	if (!read_facts(cache, object, fresh) ||
	    (!facts && !neap_map_set(cache->by_uid, object->uid, fresh))) {
		free(fresh);
		return NULL;
	}
	if (!facts)
		return fresh;
	memcpy(facts, fresh, cache->size);
	free(fresh);
	return facts;
}

void neap_facts_drop(struct neap_facts_cache *cache, const char *uid)
{
	free(neap_map_remove(cache->by_uid, uid));
}

bool neap_facts_tidy(struct neap_facts_cache *cache, size_t count)
{
	if (neap_map_count(cache->by_uid) <= 2 * count + SLACK)
		return false;
	forget_all(cache);
	return true;
}
