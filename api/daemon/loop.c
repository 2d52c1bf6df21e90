/* SPDX-License-Identifier: Apache-2.0
 *
 * See loop.h. This file only joins two interfaces. */
#include "api/daemon/loop.h"

#include <event2/event.h>
#include <stdlib.h>

#include "engine/base/mem.h"

struct neap_loop {
	struct event_base *base;
	struct event *timer;
	void (*wake)(void *arg);
	void *arg;
};

struct watch {
	struct event *event;
	void (*ready)(void *arg);
	void *arg;
};

static void watch_ready(evutil_socket_t fd, short what, void *arg)
{
	const struct watch *watch = arg;

	(void)fd;
	(void)what;
	watch->ready(watch->arg); /* may end the watch */
}

static void watch_end(void *arg, void *handle)
{
	struct watch *watch = handle;

	(void)arg;
	if (watch->event != NULL)
		event_free(watch->event);
	free(watch);
}

static void *watch_start(void *arg, int fd, void (*ready)(void *ready_arg),
			 void *ready_arg)
{
	struct neap_loop *loop = arg;
	struct watch *watch = neap_alloc(sizeof(*watch));

	if (watch == NULL)
		return NULL;
	watch->ready = ready;
	watch->arg = ready_arg;
	watch->event =
		event_new(loop->base, fd, EV_READ | EV_PERSIST, watch_ready, watch);
	if (watch->event == NULL || event_add(watch->event, NULL) < 0) {
		watch_end(loop, watch);
		return NULL;
	}
	return watch;
}

static void wake_after(void *arg, int64_t after_usec)
{
	struct neap_loop *loop = arg;
	struct timeval wait = {after_usec / 1000000, after_usec % 1000000};

	(void)event_add(loop->timer,
			&wait); /* without memory the next tick comes anyway */
}

static void timer_ended(evutil_socket_t fd, short what, void *arg)
{
	struct neap_loop *loop = arg;

	(void)fd;
	(void)what;
	loop->wake(loop->arg);
}

struct neap_loop *neap_loop_new(struct event_base *base, void (*wake)(void *arg),
				void *arg)
{
	struct neap_loop *loop = neap_alloc(sizeof(*loop));

	if (loop == NULL)
		return NULL;
	*loop = (struct neap_loop){.base = base, .wake = wake, .arg = arg};
	loop->timer = evtimer_new(base, timer_ended, loop);
	if (loop->timer == NULL) {
		free(loop);
		return NULL;
	}
	return loop;
}

void neap_loop_free(struct neap_loop *loop)
{
	if (loop == NULL)
		return;
	event_free(loop->timer);
	free(loop);
}

struct neap_node_loop neap_loop_functions(struct neap_loop *loop)
{
	return (struct neap_node_loop){loop, watch_start, watch_end, wake_after};
}
