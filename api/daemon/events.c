/* SPDX-License-Identifier: Apache-2.0
 *
 * The events that drive the daemon: the tick, the hand, signals. */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/control/audit.h"
#include "api/daemon/controllers.h"
#include "api/daemon/neapd.h"
#include "api/daemon/start.h"
#include "engine/base/clock.h"
#include "engine/base/quantity.h"

#define START_WAIT_SEC 5

static void end(struct neap_daemon *daemon, int exit_status)
{
	daemon->process.exit_status = exit_status;
	(void)event_base_loopbreak(daemon->process.base);
}

/* The node is ready: reports what was found and starts to tick. */
static void go_up(struct neap_daemon *daemon)
{
	static const struct timeval now = {0, 0};

	daemon->process.is_up = true;
	neap_banner_print(stdout, &daemon->node, &daemon->server, daemon->policies.live);
	neap_service_tell(&daemon->service);
	if (daemon->node.node == NULL)
		return;
	daemon->ticks.now = neap_clocks_now();
	daemon->ticks.next_usec = daemon->ticks.now.mono_usec;
	(void)event_add(daemon->ticks.timer, &now);
}

/* The hand has ended. */
static void hand_lost(void *arg, const struct neap_error *err)
{
	struct neap_daemon *daemon = arg;

	if (daemon->process.is_up) {
		neap_log_line(&daemon->process.log, NEAP_LOG_ERROR,
			      "%s: ending; the next start takes up its journal",
			      err->msg);
		neap_notify_failed(&daemon->service.notify, err->errnum, err->msg);
	} else {
		neap_service_complain(&daemon->service, err);
	}
	end(daemon, EXIT_FAILURE);
}

static void hand_answered(void *arg)
{
	struct neap_daemon *daemon = arg;

	if (!daemon->process.is_up && neap_node_is_open(daemon->node.node))
		go_up(daemon);
	neap_control_audit_poke(daemon->control.audit, neap_clock_usec(CLOCK_MONOTONIC));
}

static void tell_clocks(struct neap_ticks *ticks, const struct neap_clocks *now,
			const struct neap_log *log)
{
	char text[160];
	int level = neap_clocks_compare(
		&ticks->now, now, now->mono_usec - ticks->next_usec, text, sizeof(text));

	ticks->now = *now;
	if (level >= 0)
		neap_log_line(log, (enum neap_log_level)level, "%s", text);
}

/* Ticks follow a grid of the monotonic clock. A missed tick (a stopped process, a starved
 * machine) is skipped, and the grid starts again. */
static void tick(evutil_socket_t fd, short what, void *arg)
{
	struct neap_daemon *daemon = arg;
	struct neap_ticks *ticks = &daemon->ticks;
	const int64_t tick_usec = daemon->process.config.tick_usec;
	const struct neap_clocks clocks = neap_clocks_now();
	int64_t now = clocks.mono_usec;
	int64_t wait;
	struct neap_error err = {0};
	struct timeval next;

	(void)fd;
	(void)what;
	if (!daemon->process.is_up) {
		(void)neap_error_set(&err, NEAP_EUNAVAILABLE,
				     "the hand does not answer within %d s",
				     START_WAIT_SEC);
		neap_service_complain(&daemon->service, &err);
		end(daemon, EXIT_FAILURE);
		return;
	}
	tell_clocks(ticks, &clocks, &daemon->process.log);
	neap_node_tick(daemon->node.node, now, clocks.real_usec);
	neap_log_tell_held(&daemon->process.log);
	neap_control_audit_poke(daemon->control.audit, now);
	neap_role_node_watch_hand(&daemon->node);
	neap_service_tell(&daemon->service);
	now = neap_clock_usec(CLOCK_MONOTONIC);
	ticks->next_usec += tick_usec;
	if (ticks->next_usec <= now)
		ticks->next_usec = now + tick_usec;
	wait = ticks->next_usec - now;
	next.tv_sec = wait / 1000000;
	next.tv_usec = wait % 1000000;
	(void)event_add(ticks->timer, &next);
}

static void ended(evutil_socket_t number, short what, void *arg)
{
	struct neap_daemon *daemon = arg;
	const bool has_hand = daemon->node.hand != NULL;
	char release[32];

	(void)what;
	(void)neap_duration_format(daemon->process.config.release_after_usec, release,
				   sizeof(release));
	neap_log_line(&daemon->process.log, NEAP_LOG_INFO, "%s: ending%s%s%s",
		      number == SIGINT ? "interrupted" : "told to end",
		      has_hand ? "; what is set stays " : "", has_hand ? release : "",
		      has_hand ? " for a successor" : "");
	neap_notify_stopping(&daemon->service.notify);
	end(daemon, daemon->process.exit_status);
}

/* SIGHUP */
static void reload(evutil_socket_t number, short what, void *arg)
{
	struct neap_daemon *daemon = arg;

	(void)number;
	(void)what;
	neap_service_reload_start(&daemon->service);
	neap_reload(&daemon->process, daemon->policies.live);
	neap_role_server_reload(&daemon->server);
	neap_role_scheduler_reload(&daemon->scheduler, neap_daemon_controllers_scheduler(
							       daemon->controllers));
	neap_service_reload_end(&daemon->service);
}

int neap_daemon_events_start(struct neap_daemon *daemon, struct neap_error *err)
{
	static const int ends[] = {SIGTERM, SIGINT};
	static const struct timeval patience = {START_WAIT_SEC, 0};
	const struct neap_role_node_heard heard = {
		.answered = hand_answered, .lost = hand_lost, .arg = daemon};
	struct event_base *base = daemon->process.base;
	struct event **timer = &daemon->ticks.timer, **signals = daemon->signals;
	size_t i;

	*timer = evtimer_new(base, tick, daemon);
	if (*timer == NULL || event_add(*timer, &patience) < 0)
		return neap_error_nomem(err);
	for (i = 0; i < NEAP_ARRAY_LEN(ends); i++) {
		signals[i] = evsignal_new(base, ends[i], ended, daemon);
		if (signals[i] == NULL || event_add(signals[i], NULL) < 0)
			return neap_error_nomem(err);
	}
	signals[i] = evsignal_new(base, SIGHUP, reload, daemon);
	if (signals[i] == NULL || event_add(signals[i], NULL) < 0)
		return neap_error_nomem(err);
	if (neap_service_watchdog_start(&daemon->service, err) < 0)
		return -(int)err->code;
	neap_role_node_hear(&daemon->node, &heard);
	if (daemon->node.node == NULL || neap_node_is_open(daemon->node.node))
		go_up(daemon);
	if (daemon->node.node == NULL)
		(void)event_del(*timer);
	return 0;
}

void neap_daemon_events_free(struct neap_daemon *daemon)
{
	size_t i;

	if (daemon->ticks.timer != NULL)
		event_free(daemon->ticks.timer);
	for (i = 0; i < NEAP_ARRAY_LEN(daemon->signals); i++) {
		if (daemon->signals[i] != NULL)
			event_free(daemon->signals[i]);
	}
}
