/* SPDX-License-Identifier: Apache-2.0
 *
 * What a service manager hears of the daemon, and when: that it is up, how it fares in one line, that
 * the loop turns. */
#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "api/daemon/whole.h"
#include "engine/base/clock.h"

static size_t add_policies(const struct neap_daemon *daemon, char *text, size_t size,
			   size_t len)
{
	size_t i, count = neap_registry_count(daemon->registry);
	struct neap_policy_info info;

	if (count == 0)
		len += (size_t)snprintf(text + len, size - len, "; no policy");
	for (i = 0; i < count && len < size; i++) {
		const struct neap_registry_slot *slot =
			neap_registry_get(daemon->registry, i);

		neap_policy_get_info(slot->policy, &info);
		len += (size_t)snprintf(text + len, size - len, "%s%s%s",
					i == 0 ? "; " : ", ", info.label,
					slot->stats.is_failed ? " (out of service)" : "");
	}
	return len;
}

/* "frozen: nothing is written until 'neapctl resume'; qos/cpu-share@d3bf0e95" */
static void describe(const struct neap_daemon *daemon, char *text, size_t size)
{
	const char *state = "governs no machine", *why = "no role node";
	size_t len;

	if (daemon->node != NULL)
		state = neap_node_state(daemon->node, &why);
	len = (size_t)snprintf(text, size, "%s%s%s", state, why[0] != '\0' ? ": " : "",
			       why);
	if (len < size)
		(void)add_policies(daemon, text, size, len);
}

void neap_daemon_tell(struct neap_daemon *daemon)
{
	char text[NEAP_NOTIFY_STATUS];
	const char *why;

	if (daemon->notify.fd < 0 || !daemon->is_up ||
	    (daemon->node != NULL && !neap_node_is_ready(daemon->node, &why)))
		return;
	describe(daemon, text, sizeof(text));
	if (daemon->is_told)
		neap_notify_status(&daemon->notify, text);
	else
		neap_notify_ready(&daemon->notify, text);
	daemon->is_told = true;
}

void neap_daemon_reload(struct neap_daemon *daemon)
{
	neap_notify_reloading(&daemon->notify, neap_clock_usec(CLOCK_MONOTONIC));
	neap_reload(daemon->argc, daemon->argv, &daemon->config, daemon->live,
		    &daemon->log);
	neap_daemon_tls_look(daemon->tls_watch);
	neap_daemon_tokens_look(daemon);
	neap_daemon_scheduling_look(daemon);
	neap_daemon_trail_reopen(daemon);
	daemon->is_told = false; /* the end of a reload is told as the start was */
	neap_daemon_tell(daemon);
}

/* The loop turns, as it came here. That is not enough: ticks must come too. */
static void alive(evutil_socket_t fd, short what, void *arg)
{
	struct neap_daemon *daemon = arg;
	int64_t late = neap_clock_usec(CLOCK_MONOTONIC) - daemon->next_tick_usec;

	(void)fd;
	(void)what;
	if (daemon->node == NULL || !daemon->is_up ||
	    late < daemon->notify.watchdog_usec / 2)
		neap_notify_alive(&daemon->notify);
}

int neap_daemon_watchdog_start(struct neap_daemon *daemon, struct neap_error *err)
{
	int64_t every = daemon->notify.watchdog_usec / 2;
	struct timeval wait = {every / 1000000, every % 1000000};

	if (every == 0)
		return 0;
	daemon->watchdog = event_new(daemon->base, -1, EV_PERSIST, alive, daemon);
	if (daemon->watchdog == NULL || event_add(daemon->watchdog, &wait) < 0)
		return neap_error_nomem(err);
	return 0;
}

void neap_daemon_complain(struct neap_daemon *daemon, const struct neap_error *err)
{
	char text[sizeof(err->field) + sizeof(err->msg) + 4];

	(void)snprintf(text, sizeof(text), "%s%s%s", err->field,
		       err->field[0] != '\0' ? ": " : "", err->msg);
	if (neap_log_is_journal())
		neap_log_line(&daemon->log, NEAP_LOG_ERROR, "%s", text);
	else
		fprintf(stderr, "neapd: %s\n", text);
	neap_notify_failed(&daemon->notify, err->errnum, text);
}
