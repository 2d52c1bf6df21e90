/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy thread: does what may take long (checks of an upload, files to be synced) beside the
 * loop. Jobs are done one at a time, in the order given; the outcome comes back on the loop. */
#ifndef NEAP_API_POLICY_THREAD_H
#define NEAP_API_POLICY_THREAD_H

#include "engine/base/error.h"

struct event_base;
struct neap_thread;

/* jobs_max: jobs that may wait; more are refused. All signals but the one of lua/vm/budget and those
 * of a fault of the thread itself (SIGSEGV and the like) are blocked on the thread. All functions
 * here are for the thread that runs the loop. */
int neap_thread_new(struct event_base *base, size_t jobs_max, struct neap_thread **ret,
		    struct neap_error *err);
/* Waits for the running job; done of jobs that never ran is called, too (work not). Not to be called
 * by a done. */
void neap_thread_free(struct neap_thread *thread);
/* work runs on the thread, then done on the loop (never before this returns; it may give the next
 * job). NEAP_EUNAVAILABLE when too many wait. */
int neap_thread_give(struct neap_thread *thread, void (*work)(void *arg),
		     void (*done)(void *arg), void *arg, struct neap_error *err);
/* Jobs that wait or run, or whose done is still to be called. */
size_t neap_thread_count(const struct neap_thread *thread);

#endif
