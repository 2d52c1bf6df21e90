/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that goes together: pieces are taken off a block one after the other, and freed at once with the arena.
 * For what is built once from many small parts, a decoded pod or node. */
#ifndef NEAP_ENGINE_BASE_ARENA_H
#define NEAP_ENGINE_BASE_ARENA_H

#include "engine/base/base.h"

struct neap_arena_block;

struct neap_arena {
	struct neap_arena_block *block; /* the newest; each knows the one before */
	size_t left;
	bool failed; /* a piece was not given */
};

/* All zero is an empty arena, too. */
void neap_arena_init(struct neap_arena *arena);
void neap_arena_done(struct neap_arena *arena);
/* Zeroed, aligned for everything; NULL without memory. */
void *neap_arena_alloc(struct neap_arena *arena, size_t size);
/* Zeroed array; NULL also when count * size overflows. */
void *neap_arena_array(struct neap_arena *arena, size_t count, size_t size);
char *neap_arena_strdup(struct neap_arena *arena, const char *text);

#endif
