/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation with a hook for tests, and copying text. Counters are per thread, so that a
 * test fails allocations of its own thread only. */
#include "engine/base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/base.h"

static _Thread_local uint64_t failures;

#ifdef NEAP_FAULTS
static _Thread_local uint64_t asked;
static _Thread_local uint64_t fail_at; /* value of asked that fails, 0 never */

static bool may_allocate(void)
{
	asked++;
	return asked != fail_at;
}

void neap_mem_fail_at(uint64_t n)
{
	fail_at = n ? asked + n : 0;
}

uint64_t neap_mem_count(void)
{
	return asked;
}
#else
static bool may_allocate(void)
{
	return true;
}
#endif

static void *counted(void *block)
{
	failures += block == NULL;
	return block;
}

uint64_t neap_mem_failures(void)
{
	return failures;
}

void *neap_alloc(size_t size)
{
	return neap_alloc_array(1, size);
}

void *neap_alloc_array(size_t count, size_t size)
{
	size_t bytes;

	/* Tested here too, as a sanitizer's calloc(3) aborts. */
	if (!may_allocate() || __builtin_mul_overflow(count, size, &bytes))
		return counted(NULL);
	return counted(calloc(1, bytes ? bytes : 1));
}

void *neap_realloc_array(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (!may_allocate() || __builtin_mul_overflow(count, size, &bytes))
		return counted(NULL);
	return counted(realloc(old, bytes ? bytes : 1));
}

bool neap_grow(void *list, size_t count, size_t *size, size_t element)
{
	size_t more = *size ? *size * 2 : 8;
	void *was, *block;

	if (count < *size)
		return true;
	memcpy(&was, list, sizeof(was));
	block = neap_realloc_array(was, more, element);
	if (!block)
		return false;
	memcpy(list, &block, sizeof(block));
	*size = more;
	return true;
}

char *neap_strdup(const char *text)
{
	return neap_strndup(text, strlen(text));
}

char *neap_strndup(const char *text, size_t len)
{
	size_t have = strnlen(text, len);
	char *copy = neap_alloc(have + 1);

	if (copy)
		memcpy(copy, text, have);
	return copy;
}

char *neap_asprintf(const char *fmt, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		return NULL;

	text = neap_alloc((size_t)len + 1);
	if (!text)
		return NULL;
	va_start(args, fmt);
	(void)vsnprintf(text, (size_t)len + 1, fmt, args); /* measured above */
	va_end(args);
	return text;
}

void neap_utf8_trim(char *text)
{
	size_t len = strlen(text), start = len, want;
	unsigned char lead;

	/* At most three continuation bytes can precede the end. */
	while (start > 0 && len - start < 3 &&
	       ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start == 0)
		return;
	lead = (unsigned char)text[start - 1];
	want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
	if (want > len - start + 1)
		text[start - 1] = '\0';
}

bool neap_strcopy(char *to, size_t to_size, const char *text)
{
	size_t len;

	if (to_size == 0)
		return false;
	len = strnlen(text, to_size);
	if (len < to_size) {
		memmove(to, text, len + 1);
		return true;
	}
	memmove(to, text, to_size - 1);
	to[to_size - 1] = '\0';
	neap_utf8_trim(to);
	return false;
}

/* --- cleanup ---
 *
 * The functions behind the cleanup attributes of base.h. */

void neap_cleanup_free(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

void neap_cleanup_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* nothing to do about a failure while unwinding */
	errno = saved;
}

/* --- arenas ---
 *
 * Blocks of FIRST bytes, then twice the one before, up to BLOCK: most pods and nodes
 * need one small block, and there are many of them. (Measured: 256 make a decision over
 * 10,000 nodes a fifth slower; 512 cost 50,000 pods 9 MiB.) An allocation larger than a
 * quarter of BLOCK gets its own block, linked behind the newest, so that the newest stays
 * in use. */

#define FIRST ((size_t)320)
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

static size_t next_size(const struct neap_arena *arena)
{
	size_t size = arena->block ? arena->block->size * 2 : FIRST;

	return size < BLOCK ? size : BLOCK;
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
	static _Alignas(16) char nothing[1];
	struct neap_arena_block *block = arena->block;

	if (size > SIZE_MAX / 2) {
		arena->failed = true;
		return NULL;
	}
	if (!size)
		return nothing;
	size = (size + ALIGN - 1) & ~(ALIGN - 1);
	if (size <= arena->left) {
		arena->left -= size;
		return block->data + block->size - arena->left - size;
	}
	if (size > BLOCK / 4) {
		block = add_block(arena, size, false);
		return block ? block->data : NULL;
	}
	block = add_block(arena, next_size(arena), true);
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
