/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash map from text to pointer (open addressing), made for a few thousand names that
 * are looked up every second and seldom change. Set and remove cost as much as a lookup.
 * Keys are copied; values belong to the caller. Iteration follows insertion order until
 * something is removed (the last entry then fills the hole). */
#ifndef NEAP_ENGINE_BASE_MAP_H
#define NEAP_ENGINE_BASE_MAP_H

#include "engine/base/base.h"

struct neap_map;

struct neap_map *neap_map_new(void); /* NULL without memory */
/* Does not touch the values. */
void neap_map_free(struct neap_map *map);
size_t neap_map_count(const struct neap_map *map);
/* Returns NULL when there is no such key. */
void *neap_map_find(const struct neap_map *map, const char *key);
/* Sets or replaces; value must not be NULL. Returns false without memory; the map is then
 * unchanged. */
bool neap_map_set(struct neap_map *map, const char *key, void *value);
/* Returns the removed value, NULL if there was none. */
void *neap_map_remove(struct neap_map *map, const char *key);
/* Returns the entry at index (below count). While iterating from the end, removing the
 * current entry is allowed. */
void *neap_map_at(const struct neap_map *map, size_t index, const char **ret_key);

#endif
