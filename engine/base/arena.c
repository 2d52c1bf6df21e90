/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of BLOCK bytes. An allocation larger than a quarter of a block gets its own
 * block, linked behind the newest, so that the newest stays in use. */
#include "engine/base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

#define BLOCK ((size_t)1024)
#define ALIGN ((size_t)16)

struct neap_arena_block {
	struct neap_arena_block *before;
	size_t size;
	_Alignas(16) char data[];
};

void neap_arena_init(struct neap_arena *arena)
{
	*arena = (struct neap_arena){0};
}

void neap_arena_done(struct neap_arena *arena)
{
	struct neap_arena_block *block = arena->block;

	neap_arena_init(arena);
	while (block) {
		struct neap_arena_block *before = block->before;

		free(block);
		block = before;
	}
}

static struct neap_arena_block *add_block(struct neap_arena *arena, size_t size,
					  bool is_newest)
{
	struct neap_arena_block *block = neap_alloc(sizeof(*block) + size);

	if (!block) {
		arena->failed = true;
		return NULL;
	}
	block->size = size;
	if (is_newest || !arena->block) {
		block->before = arena->block;
		arena->block = block;
		arena->left = is_newest ? size : 0;
	} else {
		block->before = arena->block->before;
		arena->block->before = block;
	}
	return block;
}

void *neap_arena_alloc(struct neap_arena *arena, size_t size)
{
	struct neap_arena_block *block = arena->block;

	if (size > SIZE_MAX / 2) {
		arena->failed = true;
		return NULL;
	}
	size = (size + ALIGN - 1) & ~(ALIGN - 1);
	if (!size)
		size = ALIGN;
	if (size <= arena->left) {
		arena->left -= size;
		return block->data + block->size - arena->left - size;
	}
	if (size > BLOCK / 4) {
		block = add_block(arena, size, false);
		return block ? block->data : NULL;
	}
	block = add_block(arena, BLOCK, true);
	if (!block)
		return NULL;
	arena->left -= size;
	return block->data;
}

void *neap_arena_array(struct neap_arena *arena, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / 2 / size) {
		arena->failed = true;
		return NULL;
	}
	return neap_arena_alloc(arena, count * size);
}

char *neap_arena_strdup(struct neap_arena *arena, const char *text)
{
	size_t len = strlen(text) + 1;
	char *copy = neap_arena_alloc(arena, len);

	if (copy)
		memcpy(copy, text, len);
	return copy;
}
