/* SPDX-License-Identifier: Apache-2.0
 *
 * An allocator that fails the n-th allocation of a process, whoever asks: neap, its
 * libraries, Lua. Linked into a program, or preloaded into one (failmalloc.so). It is
 * steered through a page that several processes share: the one under torture, and the one
 * that judges it.
 *
 * Preloaded it maps the file FAILMALLOC_PAGE, which failmalloc_page_new() made. */
#ifndef NEAP_T_TORTURE_FAILMALLOC_H
#define NEAP_T_TORTURE_FAILMALLOC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FAILMALLOC_STACKS  (1 << 20)
#define FAILMALLOC_FOREVER UINT64_MAX

struct failmalloc_page {
	/* Whose allocations count: a process, 0 nobody's. */
	_Atomic int pid;
	_Atomic uint64_t
		asked; /* allocations of that process, since it was last set to 0 */
	_Atomic uint64_t fail_at;    /* the value of asked that fails first, 0 never */
	_Atomic uint64_t fail_count; /* so many fail from there on */
	_Atomic uint64_t failed;     /* so many did */
	_Atomic uint64_t spared;     /* ... or were let through: see excluded.h */
	_Atomic bool is_recording;   /* stacks[] is written */
	_Atomic bool is_tracing;   /* who made a block is noted, for a report of leaks */
	_Atomic uint32_t bad_free; /* blocks that were freed but are none */
	char where[8192]; /* call stack of the first that failed: "object +offset" */
	/* hash of the call stack of each, from index 1; 0 spared */
	uint32_t stacks[FAILMALLOC_STACKS];
};

/* A page of this process; file NULL: shared with the children of a fork only. NULL when
 * the system has none. */
struct failmalloc_page *failmalloc_page_new(const char *file);
void failmalloc_page_use(struct failmalloc_page *to);

/* Fails `count` allocations of the process from the n-th on; n 0: only counts. */
void failmalloc_arm(struct failmalloc_page *to, int pid, uint64_t n, uint64_t count);
void failmalloc_disarm(struct failmalloc_page *to);

/* Blocks that this process holds, and a place in their order: what was made after it. */
int64_t failmalloc_live(void);
uint64_t failmalloc_mark(void);
/* Writes the call stacks of up to most blocks made after the mark and still there; needs
 * is_tracing from before. */
void failmalloc_report(int fd, uint64_t mark, int most);
/* Call stack of the caller as "object +offset" lines; safe in a signal handler,
 * mostly. */
void failmalloc_stack(int fd);

#endif
