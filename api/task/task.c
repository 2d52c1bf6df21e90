/* SPDX-License-Identifier: Apache-2.0 */
#include "api/task/task.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "api/task/turns.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

/* One of this many slices is measured, among those done within a call. */
#define SAMPLE 4

TAILQ_HEAD(due_list, neap_task);
TAILQ_HEAD(peer_list, peer);

/* An owner of tasks. The first owner with due tasks gets the next slice and moves to the
 * end. */
struct peer {
	struct due_list due;
	size_t task_count;
	TAILQ_ENTRY(peer) entry; /* in the list of those with due ones */
	char name[];
};

struct neap_task {
	struct neap_tasks *tasks;
	struct peer *peer;
	neap_task_step *step;
	void *arg;
	bool is_due;
	struct event *later;
	TAILQ_ENTRY(neap_task) entry;
};

struct neap_tasks {
	struct event_base *base;
	struct neap_map *peers;
	struct peer_list due;
	struct event *turn;
	int64_t slice_usec, turn_usec;
	int64_t spent;      /* in this turn of the loop */
	int64_t slice_ends; /* of the step at work */
	int64_t entered;    /* see neap_tasks_enter */
	bool is_at_work;
	bool is_short; /* of memory: somebody could not be put off in this turn */
	struct neap_task *at_work; /* NULL: it was freed */
	uint64_t count;
};

static void arm(struct neap_tasks *tasks)
{
	static const struct timeval soon = {0};

	if (!event_pending(tasks->turn, EV_TIMEOUT, NULL))
		(void)event_add(tasks->turn, &soon);
}

static void put(struct neap_task *task)
{
	struct peer *peer = task->peer;

	if (task->is_due)
		return;
	task->is_due = true;
	if (TAILQ_EMPTY(&peer->due))
		TAILQ_INSERT_TAIL(&task->tasks->due, peer, entry);
	TAILQ_INSERT_TAIL(&peer->due, task, entry);
}

static void take_out(struct neap_task *task)
{
	struct peer *peer = task->peer;

	if (!task->is_due)
		return;
	task->is_due = false;
	TAILQ_REMOVE(&peer->due, task, entry);
	if (TAILQ_EMPTY(&peer->due))
		TAILQ_REMOVE(&task->tasks->due, peer, entry);
}

/* True: it continues. weight: number of slices that this one counts for; 0: its time is
 * not measured. */
static bool run_one(struct neap_tasks *tasks, struct neap_task *task, int64_t weight)
{
	int64_t from = weight ? neap_clock_steady() : 0;
	enum neap_task_next next;
	bool is_there;

	if (task->later)
		(void)event_del(task->later); /* it has its turn now */
	tasks->is_at_work = true;
	tasks->at_work = task;
	tasks->slice_ends = 0; /* from the first question on */
	tasks->count++;
	next = task->step(task->arg);
	is_there = tasks->at_work;
	tasks->is_at_work = false;
	tasks->at_work = NULL;
	if (weight)
		tasks->spent += (neap_clock_steady() - from) * weight;
	return next == NEAP_TASK_GOES_ON && is_there;
}

static bool has_turn(const struct neap_tasks *tasks)
{
	return tasks->turn_usec && tasks->spent < tasks->turn_usec;
}

static void turn(evutil_socket_t fd, short what, void *arg)
{
	struct neap_tasks *tasks = arg;

	(void)fd;
	(void)what;
	/* What other loops have used of this turn is spent. */
	tasks->spent = tasks->turn_usec - neap_turn_share(tasks->base, tasks->turn_usec);
	tasks->is_short = false;
	do {
		struct peer *peer = TAILQ_FIRST(&tasks->due);
		struct neap_task *task = peer ? TAILQ_FIRST(&peer->due) : NULL;

		if (!task)
			return;
		take_out(task);
		/* Behind the others, if it has more. */
		if (!TAILQ_EMPTY(&peer->due)) {
			TAILQ_REMOVE(&tasks->due, peer, entry);
			TAILQ_INSERT_TAIL(&tasks->due, peer, entry);
		}
		if (run_one(tasks, task, 1))
			put(task);
	} while (has_turn(tasks) && !tasks->is_short);
	arm(tasks);
}

struct neap_tasks *neap_tasks_new(struct event_base *base)
{
	struct neap_tasks *tasks = neap_alloc(sizeof(*tasks));

	if (!tasks)
		return NULL;
	tasks->base = base;
	tasks->slice_usec = NEAP_TASK_SLICE_USEC;
	tasks->turn_usec = NEAP_TASK_TURN_USEC;
	TAILQ_INIT(&tasks->due);
	tasks->peers = neap_map_new();
	tasks->turn = event_new(base, -1, 0, turn, tasks);
	if (tasks->peers && tasks->turn)
		return tasks;
	neap_tasks_free(tasks);
	return NULL;
}

void neap_tasks_free(struct neap_tasks *tasks)
{
	if (!tasks)
		return;
	if (tasks->turn)
		event_free(tasks->turn);
	neap_map_free(tasks->peers);
	free(tasks);
}

void neap_tasks_set_times(struct neap_tasks *tasks, int64_t slice_usec, int64_t turn_usec)
{
	tasks->slice_usec = slice_usec;
	tasks->turn_usec = turn_usec;
}

struct event_base *neap_tasks_base(const struct neap_tasks *tasks)
{
	return tasks->base;
}

uint64_t neap_tasks_count(const struct neap_tasks *tasks)
{
	return tasks->count;
}

/* Time spent counts only for this turn of the loop. A small amount is left uncorrected,
 * which saves many turns. */
static void account(struct neap_tasks *tasks)
{
	if (tasks->spent > tasks->turn_usec / 2)
		arm(tasks);
}

bool neap_tasks_enter(struct neap_tasks *tasks)
{
	if (tasks->is_at_work || !TAILQ_EMPTY(&tasks->due) || !has_turn(tasks))
		return false;
	tasks->entered = neap_clock_steady();
	return true;
}

void neap_tasks_leave(struct neap_tasks *tasks)
{
	tasks->spent += neap_clock_steady() - tasks->entered;
	account(tasks);
}

/* --- one task --- */

static struct peer *find_peer(struct neap_tasks *tasks, const char *name)
{
	struct peer *peer = neap_map_find(tasks->peers, name);
	size_t len = strlen(name) + 1;

	if (peer)
		return peer;
	peer = neap_alloc(sizeof(*peer) + len);
	if (!peer)
		return NULL;
	TAILQ_INIT(&peer->due);
	memcpy(peer->name, name, len);
	if (neap_map_set(tasks->peers, name, peer))
		return peer;
	free(peer);
	return NULL;
}

static void leave_peer(struct neap_tasks *tasks, struct peer *peer)
{
	if (--peer->task_count)
		return;
	(void)neap_map_remove(tasks->peers, peer->name);
	free(peer);
}

static void is_later(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	neap_task_wake(arg);
}

struct neap_task *neap_task_new(struct neap_tasks *tasks, const char *peer,
				neap_task_step *step, void *arg)
{
	struct neap_task *task = neap_alloc(sizeof(*task));

	if (!task)
		return NULL;
	task->peer = find_peer(tasks, peer);
	if (!task->peer) {
		free(task);
		return NULL;
	}
	task->tasks = tasks;
	task->peer->task_count++;
	task->step = step;
	task->arg = arg;
	return task;
}

void neap_task_free(struct neap_task *task)
{
	struct neap_tasks *tasks = task ? task->tasks : NULL;

	if (!task)
		return;
	take_out(task);
	if (tasks->at_work == task)
		tasks->at_work = NULL;
	if (task->later)
		event_free(task->later);
	leave_peer(tasks, task->peer);
	free(task);
}

void neap_task_wake(struct neap_task *task)
{
	put(task);
	arm(task->tasks);
}

void neap_task_go(struct neap_task *task)
{
	struct neap_tasks *tasks = task->tasks;
	bool goes_on = true;

	while (goes_on && !tasks->is_at_work && TAILQ_EMPTY(&tasks->due) &&
	       has_turn(tasks)) {
		/* An event for each of a thousand watches: the clock would be a tenth of
		 * it. */
		goes_on = run_one(tasks, task, tasks->count % SAMPLE ? 0 : SAMPLE);
		account(tasks);
	}
	if (goes_on)
		neap_task_wake(task);
}

bool neap_task_prepare_later(struct neap_task *task)
{
	if (!task->later)
		task->later = event_new(task->tasks->base, -1, 0, is_later, task);
	return task->later;
}

void neap_task_wake_later(struct neap_task *task, int64_t usec)
{
	const struct timeval after = {.tv_sec = usec / 1000000,
				      .tv_usec = usec % 1000000};

	if (neap_task_prepare_later(task) && event_add(task->later, &after) == 0)
		return;
	/* Without memory it comes sooner, but does not have the rest of this turn for
	 * itself. */
	task->tasks->is_short = true;
	neap_task_wake(task);
}

bool neap_task_has_time(const struct neap_task *task)
{
	struct neap_tasks *tasks = task->tasks;
	int64_t at = neap_clock_steady();

	if (!tasks->slice_ends)
		tasks->slice_ends = at + tasks->slice_usec;
	return at < tasks->slice_ends;
}
