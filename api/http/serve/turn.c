/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of requests. A single request goes to its handler at once. When the loop has
 * spent enough time on requests in this turn, others wait, in one queue per user, so that
 * a demanding user delays only itself. */
#include "api/http/serve/server_priv.h"
#include "api/task/task.h"

/* Limit for the bodies that wait; beyond it a request is handled at once, because no more
 * may be held for its peer. */
#define BYTES_MAX ((size_t)8 * 1024 * 1024)

/* Called for a request that no longer waits. */
static void leave(struct neap_http_request *request)
{
	neap_task_free(request->task);
	request->task = NULL;
	request->turns->bytes -= request->body_len;
}

static void client_gone(void *arg)
{
	struct neap_http_request *request = arg;

	if (request->task)
		leave(request);
}

static enum neap_task_next its_turn(void *arg)
{
	struct neap_http_request *request = arg;

	leave(request);
	request->handler(request->handler_arg, request);
	return NEAP_TASK_IS_OVER;
}

void neap_http_turn_run(struct neap_http_turns *turns, struct neap_http_request *request,
			const struct neap_http_route *route, void *arg)
{
	/* Health checks use open routes, so these are not deferred. */
	bool is_open = route->role == NEAP_HTTP_ANYBODY;

	if (is_open || neap_tasks_enter(turns->tasks)) {
		route->handler(arg, request);
		if (!is_open)
			neap_tasks_leave(turns->tasks);
		return;
	}
	if (request->body_len <= BYTES_MAX - turns->bytes)
		request->task = neap_task_new(turns->tasks, request->peer.user->name,
					      its_turn, request);
	if (!request->task) {
		route->handler(arg, request);
		return;
	}
	request->turns = turns;
	request->handler = route->handler;
	request->handler_arg = arg;
	turns->bytes += request->body_len;
	/* neap_http_hold, not neap_http_defer: a client that closed its side after the
	 * request is still answered, as it is without waiting. */
	neap_http_hold(request, client_gone, request);
	neap_task_wake(request->task);
}
