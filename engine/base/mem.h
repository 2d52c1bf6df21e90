/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation. All C code of neap allocates here, so that a test can make the n-th
 * allocation fail. Nothing aborts; NULL is a normal answer. Memory is freed with
 * free(3). */
#ifndef NEAP_ENGINE_BASE_MEM_H
#define NEAP_ENGINE_BASE_MEM_H

#include "engine/base/base.h"

/* Returns size bytes (at least 1) of zeroed memory; NULL without memory. */
void *neap_alloc(size_t size);
/* Returns a zeroed array; NULL without memory or when count * size overflows. */
void *neap_alloc_array(size_t count, size_t size);
/* Grows or shrinks an array. New bytes are not zeroed; on NULL the old block stays
 * valid. */
void *neap_realloc_array(void *old, size_t count, size_t size);
/* Makes room for one element more than count in the array whose pointer stands at list
 * and which has *size of them: doubles it when it is full. New elements are not zeroed.
 * False without memory; the old array stays then. */
bool neap_grow(void *list, size_t count, size_t *size, size_t element);
char *neap_strdup(const char *text);
char *neap_strndup(const char *text, size_t len);
/* Returns NULL without memory. */
char *neap_asprintf(const char *fmt, ...) NEAP_PRINTF(1, 2);

/* Removes an incomplete UTF-8 character from the end of a text that was cut. */
void neap_utf8_trim(char *text);

/* Copies text into a fixed array, cut between characters if it does not fit. Returns true
 * when it fitted. */
bool neap_strcopy(char *to, size_t to_size, const char *text);

/* Returns how many allocations failed since the start of the thread. */
uint64_t neap_mem_failures(void);

/* Test builds (NEAP_FAULTS) only: makes the n-th allocation from now on fail once (1 =
 * the next); 0 switches it off. */
void neap_mem_fail_at(uint64_t n);
/* Likewise: returns how many allocations were requested since the start of the thread. */
uint64_t neap_mem_count(void);

#endif
