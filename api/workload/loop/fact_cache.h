/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts that controllers need of objects, read from their JSON once for each version:
 * looks are frequent, and each visits all objects of its owner or namespace. Facts start
 * with the version of their object, an int64_t, and hold no references. */
#ifndef NEAP_API_WORKLOAD_LOOP_FACT_CACHE_H
#define NEAP_API_WORKLOAD_LOOP_FACT_CACHE_H

#include "engine/object/object.h"

struct neap_facts_cache;

/* Reads the facts of an object into ret, which is zero except for the version. False
 * without memory. */
typedef bool neap_facts_read(const struct neap_object *object, const json_t *tree,
			     void *ret);

/* A cache for facts of that size. NULL without memory. */
struct neap_facts_cache *neap_facts_new(size_t size, neap_facts_read *read);
void neap_facts_free(struct neap_facts_cache *cache);
/* The facts of object, read if necessary; borrowed until they are dropped or
 * neap_facts_tidy is called. NULL without memory. */
void *neap_facts_get(struct neap_facts_cache *cache, const struct neap_object *object);
/* Returns whether the facts are cached, so that neap_facts_get reads nothing. */
bool neap_facts_has(const struct neap_facts_cache *cache,
		    const struct neap_object *object);
/* The facts as last read; NULL when they are not known. */
void *neap_facts_find(const struct neap_facts_cache *cache, const char *uid);
void neap_facts_drop(struct neap_facts_cache *cache, const char *uid);
/* Drops all facts when there are many more than objects (count), because some may be of
 * objects whose deletion was missed. Returns whether it did. */
bool neap_facts_tidy(struct neap_facts_cache *cache, size_t count);

#endif
