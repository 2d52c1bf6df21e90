/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/service_status.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "api/daemon/roles.h"
#include "engine/base/clock.h"

static size_t add_policies(struct neap_registry *registry, char *text, size_t size,
			   size_t len)
{
	size_t i, count = neap_registry_count(registry);
	struct neap_policy_info info;

	if (count == 0)
		len += (size_t)snprintf(text + len, size - len, "; no policy");
	for (i = 0; i < count && len < size; i++) {
		const struct neap_registry_slot *slot = neap_registry_get(registry, i);

		neap_policy_get_info(slot->policy, &info);
		len += (size_t)snprintf(text + len, size - len, "%s%s%s",
					i == 0 ? "; " : ", ", info.label,
					slot->stats.is_failed ? " (out of service)" : "");
	}
	return len;
}

/* "frozen: nothing is written until 'neapctl resume'; qos/cpu-share@d3bf0e95" */
static void describe(const struct neap_service *service, char *text, size_t size)
{
	const char *state = "governs no machine", *why = "no role node";
	size_t len;

	if (service->node->node != NULL)
		state = neap_node_state(service->node->node, &why);
	len = (size_t)snprintf(text, size, "%s%s%s", state, why[0] != '\0' ? ": " : "",
			       why);
	if (len < size)
		(void)add_policies(service->policies->registry, text, size, len);
}

void neap_service_tell(struct neap_service *service)
{
	char text[NEAP_NOTIFY_STATUS];
	const char *why;

	if (service->notify.fd < 0 || !service->process->is_up ||
	    (service->node->node != NULL &&
	     !neap_node_is_ready(service->node->node, &why)))
		return;
	describe(service, text, sizeof(text));
	if (service->is_told)
		neap_notify_status(&service->notify, text);
	else
		neap_notify_ready(&service->notify, text);
	service->is_told = true;
}

void neap_service_reload_start(struct neap_service *service)
{
	neap_notify_reloading(&service->notify, neap_clock_usec(CLOCK_MONOTONIC));
}

/* Reports the end of a reload, if its start was reported. */
void neap_service_reload_end(struct neap_service *service)
{
	service->is_told = false;
	neap_service_tell(service);
}

/* The loop turns, because it called this. That is not enough: ticks must come too. */
static void alive(evutil_socket_t fd, short what, void *arg)
{
	struct neap_service *service = arg;
	int64_t late = neap_clock_usec(CLOCK_MONOTONIC) - *service->next_tick_usec;

	(void)fd;
	(void)what;
	if (service->node->node == NULL || !service->process->is_up ||
	    late < service->notify.watchdog_usec / 2)
		neap_notify_alive(&service->notify);
}

int neap_service_watchdog_start(struct neap_service *service, struct neap_error *err)
{
	int64_t every = service->notify.watchdog_usec / 2;
	struct timeval wait = {every / 1000000, every % 1000000};

	if (every == 0)
		return 0;
	service->watchdog =
		event_new(service->process->base, -1, EV_PERSIST, alive, service);
	if (service->watchdog == NULL || event_add(service->watchdog, &wait) < 0)
		return neap_error_nomem(err);
	return 0;
}

void neap_service_complain(struct neap_service *service, const struct neap_error *err)
{
	char text[sizeof(err->field) + sizeof(err->msg) + 4];

	(void)snprintf(text, sizeof(text), "%s%s%s", err->field,
		       err->field[0] != '\0' ? ": " : "", err->msg);
	if (neap_log_is_journal())
		neap_log_line(&service->process->log, NEAP_LOG_ERROR, "%s", text);
	else
		fprintf(stderr, "neapd: %s\n", text);
	neap_notify_failed(&service->notify, err->errnum, text);
}

void neap_service_free(struct neap_service *service)
{
	if (service->watchdog != NULL)
		event_free(service->watchdog);
	neap_notify_close(&service->notify);
}
