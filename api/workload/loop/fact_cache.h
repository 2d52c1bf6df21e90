/* SPDX-License-Identifier: Apache-2.0
 *
 * What controllers need to know of objects, read from their JSON once for each version:
 * looks are frequent, and each is at all objects of its owner or namespace. Facts begin
 * with the version that they are of, an int64_t, and hold no references. */
#ifndef NEAP_API_WORKLOAD_LOOP_FACT_CACHE_H
#define NEAP_API_WORKLOAD_LOOP_FACT_CACHE_H

#include "engine/object/object.h"

struct neap_facts_cache;

/* Reads the facts of an object, which are zero before, but for the version. False without
 * memory. */
typedef bool neap_facts_read(const struct neap_object *object, const json_t *tree,
			     void *ret);

/* For facts of that size. NULL without memory. */
struct neap_facts_cache *neap_facts_new(size_t size, neap_facts_read *read);
void neap_facts_free(struct neap_facts_cache *cache);
/* Borrowed, until they are dropped or the next call of neap_facts_tidy; NULL without
 * memory. */
void *neap_facts_get(struct neap_facts_cache *cache, const struct neap_object *object);
/* Whether neap_facts_get needs no reading: the facts are cached. */
bool neap_facts_has(const struct neap_facts_cache *cache,
		    const struct neap_object *object);
/* As they were last read; NULL when they are not known. */
void *neap_facts_find(const struct neap_facts_cache *cache, const char *uid);
void neap_facts_drop(struct neap_facts_cache *cache, const char *uid);
/* Now and then forgets all of them, as many may be of objects that have gone unheard.
 * count: how many objects there are. True: it did. */
bool neap_facts_tidy(struct neap_facts_cache *cache, size_t count);

#endif
