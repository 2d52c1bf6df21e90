/* SPDX-License-Identifier: Apache-2.0
 *
 * Included everywhere: cleanup attributes, array length, printf checking. The only file
 * that may define generic macros; none of them hides control flow. */
#ifndef NEAP_ENGINE_BASE_BASE_H
#define NEAP_ENGINE_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEAP_ARRAY_LEN(a)      (sizeof(a) / sizeof((a)[0]))
#define NEAP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define NEAP_MUST_USE          __attribute__((warn_unused_result))
/* Of a parameter that a callback has and does not need. */
#define NEAP_UNUSED __attribute__((unused))

/* A number that could not be read. Missing is never zero: a sum with a missing part is
 * missing. */
#define NEAP_MISSING INT64_MIN

/* Frees or closes the variable when it goes out of scope. Initialise it at the
 * declaration. Do not keep one alive across a Lua call that can raise: a Lua error is a
 * longjmp and skips the cleanup. */
#define neap_auto_free __attribute__((cleanup(neap_cleanup_free)))
#define neap_auto_fd   __attribute__((cleanup(neap_cleanup_fd)))

void neap_cleanup_free(void *pointer_to_pointer);
void neap_cleanup_fd(int *fd);

/* Moves a pointer out of a neap_auto variable: returns the value and leaves NULL. */
#define neap_steal(p)                                                                    \
	__extension__({                                                                  \
		__typeof__(p) stolen_ = (p);                                             \
		(p) = NULL;                                                              \
		stolen_;                                                                 \
	})

/* Prefetches the bytes into the cache. Reads nothing, so any address is valid. */
static inline void neap_prefetch(const void *from, size_t bytes)
{
	const char *end = (const char *)from + bytes;
	const char *at = (const char *)from - (uintptr_t)from % 64;

	for (; at < end; at += 64) /* one cache line */
		__builtin_prefetch(at);
}

#endif
