/* SPDX-License-Identifier: Apache-2.0
 *
 * The events that drive the daemon: the tick, the hand, signals; what the clocks say
 * between two ticks; and SIGHUP, which reads the command line and the file again. A
 * running daemon takes over some of the changed options. It names the others, so that
 * operators do not expect them to work. */
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/config/config_priv.h"
#include "api/control/control.h"
#include "api/daemon/api.h"
#include "api/daemon/neapd.h"
#include "api/daemon/roles.h"
#include "api/remote/link/link.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

/* --- time that passed unnoticed, or was set --- */

/* Smaller differences come from a time server or a busy machine. */
#define JUMP_USEC 2000000
#define LATE_USEC 3000000

struct neap_clocks neap_clocks_now(void)
{
	return (struct neap_clocks){
		.mono_usec = neap_clock_usec(CLOCK_MONOTONIC),
		.boot_usec = neap_clock_usec(CLOCK_BOOTTIME),
		.real_usec = neap_clock_usec(CLOCK_REALTIME),
	};
}

int neap_clocks_compare(const struct neap_clocks *before, const struct neap_clocks *now,
			int64_t late_usec, char *buf, size_t size)
{
	int64_t boot = now->boot_usec - before->boot_usec;
	int64_t slept = boot - (now->mono_usec - before->mono_usec);
	int64_t set = now->real_usec - before->real_usec - boot;

	if (set >= JUMP_USEC || set <= -JUMP_USEC) {
		(void)snprintf(
			buf, size,
			"the clock was set %s by %.1f s: times in audit and history "
			"follow it, ticks and time-outs do not",
			set > 0 ? "forward" : "back",
			(double)(set > 0 ? set : -set) / 1e6);
		return NEAP_LOG_WARN;
	}
	if (slept >= JUMP_USEC) {
		(void)snprintf(buf, size, "the machine was suspended for %.1f s",
			       (double)slept / 1e6);
		return NEAP_LOG_INFO;
	}
	if (late_usec >= LATE_USEC) {
		(void)snprintf(
			buf, size,
			"this tick is %.1f s late: neapd was stopped, or got no CPU; "
			"what was set stayed",
			(double)late_usec / 1e6);
		return NEAP_LOG_WARN;
	}
	return -1;
}

/* --- SIGHUP --- */

/* Options that take effect at once. */
static const char *const live_options[] = {"policy",       "log-level", "log-format",
					   "open-metrics", "grant",     "token-file"};

static bool is_live(const struct neap_option *option)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(live_options); i++)
		if (option->flag != NULL && strcmp(option->flag, live_options[i]) == 0)
			return true;
	return false;
}

static bool differs(const struct neap_config *a, const struct neap_config *b,
		    const struct neap_option *option)
{
	if (option->type == NEAP_OPTION_POLICY && a->policy_count != b->policy_count)
		return true;
	if (option->type == NEAP_OPTION_LABEL &&
	    a->node_label_count != b->node_label_count)
		return true;
	if (option->type == NEAP_OPTION_APPS && a->host_app_count != b->host_app_count)
		return true;
	return memcmp((const char *)a + option->offset, (const char *)b + option->offset,
		      option->size) != 0;
}

/* Names the options that need a restart. */
static void name_the_rest(const struct neap_config *now, const struct neap_config *wanted,
			  const struct neap_log *log)
{
	const struct neap_option *option;

	for (option = neap_config_options(); option->flag != NULL || option->key != NULL;
	     option++) {
		if (option->type == NEAP_OPTION_ACTION || is_live(option) ||
		    !differs(now, wanted, option))
			continue;
		neap_log_line(log, NEAP_LOG_WARN,
			      "reload: %s changed: it acts after a restart of neapd",
			      option->key != NULL ? option->key : option->flag);
	}
}

/* Logs why nothing changes. The loop may lack access to a file that root read at the
 * start. */
static void refuse(const struct neap_log *log, const struct neap_error *err)
{
	if (err->errnum == EACCES)
		neap_log_line(
			log, NEAP_LOG_ERROR,
			"reload: nothing is changed: %s: neapd runs as uid %u since "
			"its start: let that user read the file and the folders above "
			"it, or restart neapd",
			err->msg, (unsigned)geteuid());
	else
		neap_log_line(log, NEAP_LOG_ERROR, "reload: nothing is changed: %s%s%s",
			      err->field, err->field[0] != '\0' ? ": " : "", err->msg);
}

/* For SIGHUP: reads the command line and its file again. Settings that a running daemon
 * can change go into config; others are named in the log. Wrong settings change
 * nothing. */
static void reload_settings(struct neap_process *process, struct neap_live *live)
{
	struct neap_config *config = &process->config;
	const struct neap_log *log = &process->log;
	neap_auto_free struct neap_config *wanted = neap_alloc(sizeof(*wanted));
	enum neap_config_action action;
	struct neap_error err = {0};

	if (wanted == NULL) {
		(void)neap_error_nomem(&err);
		refuse(log, &err);
		return;
	}
	if (neap_config_parse(process->argc, process->argv, wanted, &action, &err) < 0) {
		refuse(log, &err);
		return;
	}
	/* The default file, which no option names. */
	if (config->config_file[0] != '\0' && wanted->config_file[0] == '\0') {
		(void)neap_error_set(&err, NEAP_ENOTFOUND,
				     "%s is gone or cannot be reached any more: to go on "
				     "without it, restart neapd",
				     config->config_file);
		refuse(log, &err);
		return;
	}
	name_the_rest(config, wanted, log);
	if (neap_role_policies_reload(live, wanted, &err) < 0) {
		refuse(log, &err);
		return;
	}
	memcpy(config->policies, wanted->policies, sizeof(config->policies));
	config->policy_count = wanted->policy_count;
	config->log_level = wanted->log_level;
	config->log_format = wanted->log_format;
	config->open_metrics = wanted->open_metrics;
	config->grants = wanted->grants;
	memcpy(config->token_file, wanted->token_file, sizeof(config->token_file));
	neap_log_override(wanted->log_level, wanted->log_format);
	neap_live_look(live);
	neap_log_line(log, NEAP_LOG_INFO, "reload: done");
}

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
	if (daemon->service.notify.fd >= 0) /* a service manager listens */
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
	reload_settings(&daemon->process, daemon->policies.live);
	neap_role_server_reload(&daemon->server);
	neap_link_reread(daemon->remote.link);
	neap_link_reread(daemon->kubelet.link);
	neap_link_reread(daemon->prometheus.link);
	neap_role_scheduler_reload(&daemon->scheduler, neap_daemon_controllers_scheduler(
							       daemon->controllers));
	neap_role_descheduler_reload(&daemon->descheduler);
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
