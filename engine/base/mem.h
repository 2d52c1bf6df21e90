/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation. Every call of neap's own C code comes through here, so that a test can fail the
 * n-th one. Nothing aborts: NULL is a normal answer. Memory is freed with free(3). */
#ifndef NEAP_ENGINE_BASE_MEM_H
#define NEAP_ENGINE_BASE_MEM_H

#include "engine/base/base.h"

/* Zeroed memory of size bytes (at least 1); NULL when there is none. */
void *neap_alloc(size_t size);
/* Zeroed array; NULL also when count * size overflows. */
void *neap_alloc_array(size_t count, size_t size);
/* Grows or shrinks; new bytes are not zeroed; on NULL the old block stays. */
void *neap_realloc_array(void *old, size_t count, size_t size);
char *neap_strdup(const char *text);
char *neap_strndup(const char *text, size_t len);
/* NULL when there is no memory. */
char *neap_asprintf(const char *fmt, ...) NEAP_PRINTF(1, 2);

/* Takes an unfinished UTF-8 character off the end of a text that was cut. */
void neap_utf8_trim(char *text);

/* Copies text into a fixed array; what does not fit is cut between characters. True when it
 * fitted. */
bool neap_strcopy(char *to, size_t to_size, const char *text);

/* Allocations that failed since the start of the thread. */
uint64_t neap_mem_failures(void);

/* For tests: the n-th allocation from now on fails, once (1 = the next); 0 switches it off. */
void neap_mem_fail_at(uint64_t n);
/* Allocations asked for since the start of the thread. */
uint64_t neap_mem_count(void);

#endif
