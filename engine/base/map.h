/* SPDX-License-Identifier: Apache-2.0
 *
 * Text to pointer, by open addressing. Made for some thousand names that are looked up every
 * second and seldom change; setting and removing cost no more than looking up. Keys are copied; values
 * belong to the caller. Order of iteration is that of insertion, as long as nothing was removed (the last
 * entry then takes the hole). */
#ifndef NEAP_ENGINE_BASE_MAP_H
#define NEAP_ENGINE_BASE_MAP_H

#include "engine/base/base.h"

struct neap_map;

struct neap_map *neap_map_new(void); /* NULL without memory */
/* Values are not touched. */
void neap_map_free(struct neap_map *map);
size_t neap_map_count(const struct neap_map *map);
/* NULL when there is none. */
void *neap_map_find(const struct neap_map *map, const char *key);
/* Sets or replaces; value must not be NULL. False without memory (nothing changed). */
bool neap_map_set(struct neap_map *map, const char *key, void *value);
/* The value that was there, NULL if none. */
void *neap_map_remove(struct neap_map *map, const char *key);
/* Entry by index below count; removing the current one while walking from the end is fine. */
void *neap_map_at(const struct neap_map *map, size_t index, const char **ret_key);

#endif
