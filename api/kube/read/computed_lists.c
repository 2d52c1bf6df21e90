/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists computed on request instead of stored: a piece per slice, then the answer. */
#include <stdlib.h>

#include "api/kube/request/slow.h"
#include "api/kube/types/metrics.h"
#include "engine/base/mem.h"

struct made {
	struct slow slow;
	struct gather gather; /* the objects made that match */
	int64_t version;
	struct neap_kube_making *making;
};

static void made_free(struct made *made)
{
	struct neap_kube *kube = made->slow.call.kube;

	kube->made_count--;
	neap_kube_making_free(made->making);
	gather_done(&made->gather);
	slow_done(&made->slow);
	free(made);
}

static void client_gone(void *arg)
{
	made_free(arg);
}

static void made_end(struct slow *slow)
{
	slow_refuse_end(slow);
	made_free((struct made *)slow);
}

static void fail(struct call *call, const struct neap_error *err)
{
	(void)neap_kube_fail_error(&call->failure, call->target.kind, "", err);
	call_fail(call);
}

static void answer(struct made *made)
{
	const struct neap_store_place place = {.version = made->version};
	struct call *call = &made->slow.call;
	struct gather *gather = &made->gather;
	struct neap_object **objects;
	size_t count;
	struct neap_object *const *list = neap_kube_making_get(made->making, &count);

	for (size_t i = 0; i < count && !gather->is_short_of_memory; i++)
		(void)gather_take(call, gather, list[i]);
	if (gather->is_short_of_memory) {
		call_fail_nomem(call);
		return;
	}
	objects = gather->objects;
	gather->objects = NULL;
	call_answer_page_take(call, &place, false, objects, gather->count);
}

static enum neap_task_next step(void *arg)
{
	struct made *made = arg;
	struct neap_error err;
	int more = neap_kube_making_step(made->making, &err);

	if (more > 0)
		return NEAP_TASK_GOES_ON;
	if (more < 0)
		fail(&made->slow.call, &err);
	else
		answer(made);
	made_free(made);
	return NEAP_TASK_IS_OVER;
}

void call_make(struct call *call)
{
	struct neap_kube *kube = call->kube;
	const char *ns = call->target.ns;
	struct neap_error err;
	struct made *made;

	if (kube->made_count >= MADE_MAX) {
		(void)neap_error_set(&err, NEAP_EUNAVAILABLE,
				     "too many such lists are being made");
		fail(call, &err);
		return;
	}
	made = neap_alloc(sizeof(*made));
	if (!made) {
		call_fail_nomem(call);
		return;
	}
	kube->made_count++;
	made->slow.call.kube = kube;
	made->version = neap_store_version(kube->store);
	if (choice_parse(call, &made->gather.choice) < 0) {
		call_fail(call);
		made_free(made);
		return;
	}
	made->making = call->target.kind->make(kube->store, *ns ? ns : NULL, NULL);
	if (!made->making || !slow_begin(&made->slow, call, step, made_end)) {
		call_fail_nomem(call);
		made_free(made);
		return;
	}
	neap_http_defer(call->request, client_gone, made);
	call->request = NULL;
	neap_task_wake(made->slow.task);
}
