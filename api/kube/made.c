/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of what is not stored but made when somebody asks: a piece a turn of the loop, then the answer. */
#include <event2/event.h>
#include <stdlib.h>

#include "api/kube/kube_priv.h"
#include "api/kube/metrics.h"
#include "engine/base/mem.h"

struct made {
	struct made *next, **prev; /* of kube->made */
	struct call call;
	struct choice choice;
	int64_t version;
	struct neap_kube_making *making;
	struct event *turn;
};

static void made_free(struct made *made)
{
	*made->prev = made->next;
	if (made->next)
		made->next->prev = made->prev;
	made->call.kube->made_count--;
	neap_kube_making_free(made->making);
	choice_done(&made->choice);
	if (made->turn)
		event_free(made->turn);
	free(made);
}

static void client_gone(void *arg)
{
	made_free(arg);
}

static void fail(struct call *call, const struct neap_error *err)
{
	(void)neap_kube_fail_error(&call->failure, call->target.kind, "", err);
	call_fail(call);
}

static void turn(int fd, short what, void *arg)
{
	const struct timeval now = {0};
	struct made *made = arg;
	struct neap_object *const *list;
	struct neap_error err;
	size_t count;
	int more = neap_kube_making_step(made->making, &err);

	(void)fd;
	(void)what;
	if (more > 0 && event_add(made->turn, &now) < 0)
		more = neap_error_nomem(&err);
	if (more > 0)
		return;
	list = neap_kube_making_get(made->making, &count);
	if (more < 0)
		fail(&made->call, &err);
	else
		call_answer_list(&made->call, &made->choice, made->version, list, count);
	made_free(made);
}

static struct made *made_new(struct call *call)
{
	struct neap_kube *kube = call->kube;
	const char *ns = call->target.ns;
	struct made *made = neap_alloc(sizeof(*made));

	if (!made)
		return NULL;
	made->call = *call;
	made->version = neap_store_version(kube->store);
	made->next = kube->made;
	if (made->next)
		made->next->prev = &made->next;
	made->prev = &kube->made;
	kube->made = made;
	kube->made_count++;
	made->turn = event_new(kube->base, -1, 0, turn, made);
	made->making = call->target.kind->make(kube->store, *ns ? ns : NULL, NULL);
	if (made->turn && made->making)
		return made;
	made_free(made);
	return NULL;
}

void call_make(struct call *call)
{
	const struct timeval now = {0};
	struct neap_error err;
	struct made *made;

	if (call->kube->made_count >= MADE_MAX) {
		(void)neap_error_set(&err, NEAP_EUNAVAILABLE,
				     "too many such lists are being made");
		fail(call, &err);
		return;
	}
	made = made_new(call);
	if (!made) {
		(void)neap_error_nomem(&err);
		fail(call, &err);
		return;
	}
	if (choice_parse(call, &made->choice) < 0) {
		call_fail(call);
		made_free(made);
		return;
	}
	if (event_add(made->turn, &now) < 0) {
		(void)neap_error_nomem(&err);
		fail(call, &err);
		made_free(made);
		return;
	}
	neap_http_defer(call->request, client_gone, made);
	call->request = NULL;
}

void call_make_end(struct made *made)
{
	struct neap_error err;

	(void)neap_error_set(&err, NEAP_EUNAVAILABLE, "neapd is ending");
	fail(&made->call, &err);
	made_free(made);
}
