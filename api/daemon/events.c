/* SPDX-License-Identifier: Apache-2.0
 *
 * What makes the daemon go: the tick, the hand, triggers, signals. */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/daemon/whole.h"
#include "engine/base/clock.h"
#include "engine/base/quantity.h"

#define START_WAIT_SEC 5

/* The node can work: tells what was found, and ticks from now on. */
static void go_up(struct neap_daemon *daemon)
{
	static const struct timeval now = {0, 0};

	daemon->is_up = true;
	neap_banner_print(stdout, daemon);
	neap_daemon_tell(daemon);
	if (daemon->node == NULL)
		return;
	daemon->clocks = neap_clocks_now();
	daemon->next_tick_usec = daemon->clocks.mono_usec;
	(void)event_add(daemon->tick, &now);
}

static void hand_ready(evutil_socket_t fd, short what, void *arg)
{
	struct neap_daemon *daemon = arg;
	struct neap_error err = {0};

	(void)fd;
	(void)what;
	if (neap_node_hear(daemon->node, neap_clock_usec(CLOCK_REALTIME), &err) < 0) {
		if (daemon->is_up) {
			neap_log_line(&daemon->log, NEAP_LOG_ERROR,
				      "%s: ending; the next start takes up its journal",
				      err.msg);
			neap_notify_failed(&daemon->notify, err.errnum, err.msg);
		} else {
			neap_daemon_complain(daemon, &err);
		}
		daemon->exit_status = EXIT_FAILURE;
		(void)event_base_loopbreak(daemon->base);
		return;
	}
	if (!daemon->is_up && neap_node_is_open(daemon->node))
		go_up(daemon);
	neap_control_audit_poke(daemon->audit, neap_clock_usec(CLOCK_MONOTONIC));
	neap_daemon_watch_hand(daemon);
}

void neap_daemon_watch_hand(struct neap_daemon *daemon)
{
	short what = EV_READ | EV_PERSIST;

	if (daemon->hand == NULL)
		return;
	if (neap_node_wants_write(daemon->node))
		what |= EV_WRITE;
	if (daemon->hand_event != NULL) {
		if (event_get_events(daemon->hand_event) == what)
			return;
		event_free(daemon->hand_event);
	}
	daemon->hand_event = event_new(daemon->base, neap_hand_fd(daemon->hand), what,
				       hand_ready, daemon);
	if (daemon->hand_event == NULL || event_add(daemon->hand_event, NULL) == 0)
		return;
	event_free(daemon->hand_event); /* no memory: the next tick tries again */
	daemon->hand_event = NULL;
}

/* A pressure trigger fired. */
void neap_daemon_react(void *arg)
{
	struct neap_daemon *daemon = arg;

	neap_node_react(daemon->node, neap_clock_usec(CLOCK_MONOTONIC),
			neap_clock_usec(CLOCK_REALTIME));
	neap_daemon_watch_hand(daemon);
}

static void tell_clocks(struct neap_daemon *daemon, const struct neap_clocks *now)
{
	char text[160];
	int level = neap_clocks_compare(&daemon->clocks, now,
					now->mono_usec - daemon->next_tick_usec, text,
					sizeof(text));

	daemon->clocks = *now;
	if (level >= 0)
		neap_log_line(&daemon->log, (enum neap_log_level)level, "%s", text);
}

/* Ticks stand on a grid of the monotonic clock; one that was missed (a stopped process, a starved
 * machine) is left out, never made up for, and the grid begins anew. */
static void tick(evutil_socket_t fd, short what, void *arg)
{
	struct neap_daemon *daemon = arg;
	const struct neap_clocks clocks = neap_clocks_now();
	int64_t now = clocks.mono_usec;
	int64_t wait;
	struct neap_error err = {0};
	struct timeval next;

	(void)fd;
	(void)what;
	if (!daemon->is_up) {
		(void)neap_error_set(&err, NEAP_EUNAVAILABLE,
				     "the hand does not answer within %d s",
				     START_WAIT_SEC);
		neap_daemon_complain(daemon, &err);
		daemon->exit_status = EXIT_FAILURE;
		(void)event_base_loopbreak(daemon->base);
		return;
	}
	tell_clocks(daemon, &clocks);
	neap_node_tick(daemon->node, now, clocks.real_usec);
	neap_log_tell_held(&daemon->log);
	neap_control_audit_poke(daemon->audit, now);
	neap_daemon_watch_hand(daemon);
	neap_daemon_tell(daemon);
	now = neap_clock_usec(CLOCK_MONOTONIC);
	daemon->next_tick_usec += daemon->config.tick_usec;
	if (daemon->next_tick_usec <= now)
		daemon->next_tick_usec = now + daemon->config.tick_usec;
	wait = daemon->next_tick_usec - now;
	next.tv_sec = wait / 1000000;
	next.tv_usec = wait % 1000000;
	(void)event_add(daemon->tick, &next);
}

static void ended(evutil_socket_t number, short what, void *arg)
{
	struct neap_daemon *daemon = arg;
	char release[32];

	(void)what;
	neap_log_line(&daemon->log, NEAP_LOG_INFO, "%s: ending%s%s%s",
		      number == SIGINT ? "interrupted" : "told to end",
		      daemon->hand != NULL ? "; what is set stays " : "",
		      daemon->hand != NULL
			      ? neap_duration_format(daemon->config.release_after_usec,
						     release, sizeof(release))
			      : "",
		      daemon->hand != NULL ? " for a successor" : "");
	neap_notify_stopping(&daemon->notify);
	(void)event_base_loopbreak(daemon->base);
}

/* SIGHUP */
static void reload(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	neap_daemon_reload(arg);
}

int neap_daemon_events_start(struct neap_daemon *daemon, struct neap_error *err)
{
	static const int ends[] = {SIGTERM, SIGINT};
	static const struct timeval patience = {START_WAIT_SEC, 0};
	size_t i;

	daemon->tick = evtimer_new(daemon->base, tick, daemon);
	if (daemon->tick == NULL || event_add(daemon->tick, &patience) < 0)
		return neap_error_nomem(err);
	for (i = 0; i < NEAP_ARRAY_LEN(ends); i++) {
		daemon->signals[i] = evsignal_new(daemon->base, ends[i], ended, daemon);
		if (daemon->signals[i] == NULL || event_add(daemon->signals[i], NULL) < 0)
			return neap_error_nomem(err);
	}
	daemon->signals[i] = evsignal_new(daemon->base, SIGHUP, reload, daemon);
	if (daemon->signals[i] == NULL || event_add(daemon->signals[i], NULL) < 0)
		return neap_error_nomem(err);
	if (neap_daemon_watchdog_start(daemon, err) < 0)
		return -(int)err->code;
	neap_daemon_watch_hand(daemon);
	if (daemon->node == NULL || neap_node_is_open(daemon->node))
		go_up(daemon);
	if (daemon->node == NULL)
		(void)event_del(daemon->tick);
	return 0;
}
