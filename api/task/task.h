/* SPDX-License-Identifier: Apache-2.0
 *
 * Long work in slices. A task runs for about a millisecond, then others get their turn:
 * first other peers, so that a demanding peer delays only itself, then other tasks of the
 * same peer. In one turn of the loop all tasks together get NEAP_TASK_TURN_USEC, which
 * bounds how much they delay anything else, however many there are. On the loop's
 * thread. */
#ifndef NEAP_API_TASK_TASK_H
#define NEAP_API_TASK_TASK_H

#include "engine/base/base.h"

struct event_base;
struct neap_task;
struct neap_tasks;

/* Microseconds. */
#define NEAP_TASK_SLICE_USEC 1000
#define NEAP_TASK_TURN_USEC  10000

enum neap_task_next {
	NEAP_TASK_GOES_ON, /* has more to do at once */
	NEAP_TASK_WAITS,   /* until it is woken */
	NEAP_TASK_IS_OVER, /* finished, and freed: it is not touched any more */
};

/* Runs one slice: does something, and checks neap_task_has_time before doing more. It may
 * wake and free tasks, including its own; it then returns NEAP_TASK_IS_OVER. */
typedef enum neap_task_next neap_task_step(void *arg);

/* base is borrowed. NULL without memory. */
struct neap_tasks *neap_tasks_new(struct event_base *base);
/* No task may be left. Accepts NULL. */
void neap_tasks_free(struct neap_tasks *tasks);
/* Replaces the times above, for tests. 0: a step does the least it can, one step per
 * turn. */
void neap_tasks_set_times(struct neap_tasks *tasks, int64_t slice_usec,
			  int64_t turn_usec);
struct event_base *neap_tasks_base(const struct neap_tasks *tasks);
/* Number of slices done. */
uint64_t neap_tasks_count(const struct neap_tasks *tasks);

/* For work without slices. True: it may run now, and neap_tasks_leave ends it. False:
 * others wait, or this turn's time is used up; it must wait as a task. */
bool neap_tasks_enter(struct neap_tasks *tasks);
void neap_tasks_leave(struct neap_tasks *tasks);

/* Creates a waiting task. peer (copied): whose work it is; "": neapd's own. NULL without
 * memory. */
struct neap_task *neap_task_new(struct neap_tasks *tasks, const char *peer,
				neap_task_step *step, void *arg);
/* NULL is fine. */
void neap_task_free(struct neap_task *task);
/* The task runs in one of the next turns of the loop. */
void neap_task_wake(struct neap_task *task);
/* The same, but at once, within the call, if nobody else waits and this turn has time
 * left; the task may then be over. */
void neap_task_go(struct neap_task *task);
/* The same after usec, unless it is woken before. */
void neap_task_wake_later(struct neap_task *task, int64_t usec);
/* Allocates what neap_task_wake_later needs, for tasks that wait for memory. False
 * without memory. */
bool neap_task_prepare_later(struct neap_task *task);
/* Within a step: returns whether the slice may go on. */
bool neap_task_has_time(const struct neap_task *task);

#endif
