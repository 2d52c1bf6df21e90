/* SPDX-License-Identifier: Apache-2.0
 *
 * The verb bind, through the scheduler's books. A kube-scheduler that waited too long
 * asks again: a repeated request for a binding in progress gets the same answer. */
#include <stdlib.h>
#include <string.h>

#include "api/extender/extender_priv.h"
#include "engine/base/mem.h"

/* Requests that wait for one binding. Any further request is refused: the binding is in
 * progress. */
#define ASKERS_MAX 8

/* A binding in progress; freed when it is answered. */
struct ask {
	struct neap_extender *extender; /* NULL: it is gone */
	struct ask *next, *prev;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID],
		node[NEAP_OBJECT_NAME];
	/* NULL: a free place, or its request was answered or is gone. */
	struct neap_http_request *askers[ASKERS_MAX];
};

static void add_ask(struct neap_extender *extender, struct ask *ask)
{
	ask->extender = extender;
	ask->next = extender->asks;
	if (ask->next)
		ask->next->prev = ask;
	extender->asks = ask;
}

static void remove_ask(struct ask *ask)
{
	if (!ask->extender)
		return;
	*(ask->prev ? &ask->prev->next : &ask->extender->asks) = ask->next;
	if (ask->next)
		ask->next->prev = ask->prev;
	ask->extender = NULL;
}

void bind_leave_all(struct neap_extender *extender)
{
	while (extender->asks)
		remove_ask(extender->asks);
}

/* A free place to wait for that very binding; NULL: it is not on its way, or too many
 * wait. */
static struct neap_http_request **find_place(struct neap_extender *extender,
					     const struct neap_extender_args *args,
					     const char *node)
{
	for (struct ask *ask = extender->asks; ask; ask = ask->next) {
		if (strcmp(ask->uid, args->uid) != 0 || strcmp(ask->node, node) != 0 ||
		    strcmp(ask->name, args->name) != 0 || strcmp(ask->ns, args->ns) != 0)
			continue;
		for (size_t i = 0; i < ASKERS_MAX; i++)
			if (!ask->askers[i])
				return &ask->askers[i];
	}
	return NULL;
}

/* arg, here and below: the place of the one who waits. */
static void asker_gone(void *arg)
{
	*(struct neap_http_request **)arg = NULL;
}

static void answer_asker(struct neap_http_request *request, const char *trouble)
{
	neap_auto_buf struct neap_buf out = {0};

	neap_buf_init(&out, NEAP_BUF_LINE);
	answer_trouble(trouble, &out);
	answer_take(request, &out);
}

static void asker_late(void *arg)
{
	struct neap_http_request **place = arg, *request = *place;

	*place = NULL;
	answer_asker(request,
		     "no time: the binding is not on disk yet, and may still come");
}

static void wait_at(struct neap_http_request **place, struct neap_http_request *request,
		    int64_t usec)
{
	*place = request;
	neap_http_defer(request, asker_gone, place);
	neap_http_defer_until(request, usec, asker_late);
}

static void bind_told(void *arg, const char *trouble)
{
	struct ask *ask = arg;

	remove_ask(ask);
	for (size_t i = 0; i < ASKERS_MAX; i++)
		if (ask->askers[i])
			answer_asker(ask->askers[i], trouble ? trouble : "");
	free(ask);
}

static struct ask *new_ask(const struct neap_extender_args *args, const char *node)
{
	struct ask *ask = neap_alloc(sizeof(*ask));

	if (!ask)
		return NULL;
	(void)neap_strcopy(ask->ns, sizeof(ask->ns), args->ns);
	(void)neap_strcopy(ask->name, sizeof(ask->name), args->name);
	(void)neap_strcopy(ask->uid, sizeof(ask->uid), args->uid);
	(void)neap_strcopy(ask->node, sizeof(ask->node), node);
	return ask;
}

void bind_verb(void *arg, struct neap_http_request *request)
{
	struct neap_extender *extender = arg;
	const struct neap_http_peer *peer = neap_http_peer_get(request);
	struct neap_extender_args args;
	struct neap_schedule_binding binding = {.told = bind_told};
	struct neap_http_request **place;
	struct neap_error err;
	struct ask *ask;
	char node[NEAP_OBJECT_NAME];
	size_t len;
	const char *body = neap_http_body_get(request, &len);

	/* Also where strangers were granted a role. */
	if (!*peer->name || peer->role < extender->bind_role) {
		neap_http_answer_denied(request, extender->bind_role);
		return;
	}
	if (!extender_is_open(extender, request))
		return;
	if (neap_extender_read_binding(body, len, &args, node, &err) < 0) {
		answer_malformed(request, &err);
		return;
	}
	place = find_place(extender, &args, node);
	if (place) {
		wait_at(place, request, extender->deadline_usec);
		return;
	}
	ask = new_ask(&args, node);
	if (!ask) {
		(void)neap_error_nomem(&err);
		neap_http_answer_error(request, &err);
		return;
	}
	add_ask(extender, ask);
	wait_at(&ask->askers[0], request, extender->deadline_usec);
	binding.ns = args.ns;
	binding.name = args.name;
	binding.uid = args.uid;
	binding.node = node;
	binding.arg = ask; /* it may be answered and freed before the next line ends */
	neap_scheduler_bind(extender->scheduler, &binding);
}
