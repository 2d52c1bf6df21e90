/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that would hold the loop, in slices. A task does a slice of about a millisecond, and then it is the turn
 * of others: first of other peers, as one who asks for much waits for himself alone, then of other tasks of
 * the same peer. In a turn of the loop all tasks together have NEAP_TASK_TURN_USEC, so that whatever else
 * waits for the loop is not later by more, however many there are. On the loop's thread. */
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
	NEAP_TASK_IS_OVER, /* and has been freed: it is not touched any more */
};

/* One slice: it does something, and looks at neap_task_has_time before it does more. It may wake and free tasks, also
 * its own, and then says that it is over. */
typedef enum neap_task_next neap_task_step(void *arg);

/* base is borrowed. NULL without memory. */
struct neap_tasks *neap_tasks_new(struct event_base *base);
/* No task may be left. NULL is fine. */
void neap_tasks_free(struct neap_tasks *tasks);
/* Other times than the above, for tests. 0: a step does the least it can, one step a turn. */
void neap_tasks_set_times(struct neap_tasks *tasks, int64_t slice_usec,
			  int64_t turn_usec);
/* Slices that were done. */
uint64_t neap_tasks_count(const struct neap_tasks *tasks);

/* For work that has no slices. True: it may be done now, and neap_tasks_leave ends it. False: others wait, or this turn
 * has been used up; it has to wait as a task. */
bool neap_tasks_enter(struct neap_tasks *tasks);
void neap_tasks_leave(struct neap_tasks *tasks);

/* Waits. peer (copied): whose work it is; "": neapd's own. NULL without memory. */
struct neap_task *neap_task_new(struct neap_tasks *tasks, const char *peer,
				neap_task_step *step, void *arg);
/* NULL is fine. */
void neap_task_free(struct neap_task *task);
/* It has its turn soon, in one of the next turns of the loop. */
void neap_task_wake(struct neap_task *task);
/* ... or at once, within the call, as long as nobody else waits and this turn has time left: the step may be over then. */
void neap_task_go(struct neap_task *task);
/* ... or after so long, if it is not woken before. */
void neap_task_wake_later(struct neap_task *task, int64_t usec);
/* Takes the memory for that, for whoever waits for memory to come back. False without. */
bool neap_task_prepare_later(struct neap_task *task);
/* Within a step: whether the slice may go on. */
bool neap_task_has_time(const struct neap_task *task);

#endif
