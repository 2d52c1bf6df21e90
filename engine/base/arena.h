/* SPDX-License-Identifier: Apache-2.0
 *
 * An arena: allocates many small pieces from a few blocks and frees them all at once.
 * Used for objects that are built once from many parts, such as a decoded pod or node. */
#ifndef NEAP_ENGINE_BASE_ARENA_H
#define NEAP_ENGINE_BASE_ARENA_H

#include "engine/base/base.h"

struct neap_arena_block;

struct neap_arena {
	/* the newest block; each links to the one before */
	struct neap_arena_block *block;
	size_t left;
	bool failed; /* an allocation failed */
};

/* An arena of zero bytes is an empty arena too. */
void neap_arena_init(struct neap_arena *arena);
void neap_arena_done(struct neap_arena *arena);
/* Returns zeroed memory, aligned for any type; NULL without memory. Pieces of no bytes
 * may share an address. */
void *neap_arena_alloc(struct neap_arena *arena, size_t size);
/* Returns a zeroed array; NULL without memory or when count * size overflows. */
void *neap_arena_array(struct neap_arena *arena, size_t count, size_t size);
char *neap_arena_strdup(struct neap_arena *arena, const char *text);

#endif
