/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy thread: runs slow work (checks of uploads, syncing files) beside the loop.
 * Jobs run one at a time in order; results are delivered on the loop. */
#ifndef NEAP_API_POLICY_THREAD_H
#define NEAP_API_POLICY_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/error.h"

struct event_base;
struct neap_thread;

/* jobs_max: limit on waiting jobs. On the thread all signals are blocked except that of
 * lua/vm/budget and the thread's own faults (SIGSEGV and the like). All functions here
 * are for the loop's thread. */
int neap_thread_new(struct event_base *base, size_t jobs_max, struct neap_thread **ret,
		    struct neap_error *err);
/* Waits for the running job; done of jobs that never ran is called too (not work). Must
 * not be called by a done. */
void neap_thread_free(struct neap_thread *thread);
/* The same, but waits for the running job for at most usec. One that takes longer goes on
 * alone: its work ends, then left(arg) is called on the thread instead of done, and frees
 * what the job has. Until then the job may use nothing that the caller frees. Returns
 * whether no job was left so. */
bool neap_thread_leave(struct neap_thread *thread, int64_t usec, void (*left)(void *arg));
/* Runs work on the thread, then done on the loop (never before this returns; it may add
 * the next job). NEAP_EUNAVAILABLE when too many wait. */
int neap_thread_give(struct neap_thread *thread, void (*work)(void *arg),
		     void (*done)(void *arg), void *arg, struct neap_error *err);
/* Jobs that wait or run, or whose done is still to be called. */
size_t neap_thread_count(const struct neap_thread *thread);

#endif
