/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists computed on request instead of stored: a piece per slice, then the answer. */
#include <stdlib.h>

#include "api/kube/read/read.h"
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

static int answer(struct made *made)
{
	const struct neap_store_place place = {.version = made->version};
	struct call *call = &made->slow.call;
	struct gather *gather = &made->gather;
	size_t count;
	struct neap_object *const *list = neap_kube_making_get(made->making, &count);

	for (size_t i = 0; i < count && !gather->is_short_of_memory; i++)
		(void)gather_take(call, gather, list[i]);
	if (gather->is_short_of_memory)
		return call_nomem(call);
	return call_answer_page_take(call, &place, false, neap_steal(gather->objects),
				     gather->count);
}

static enum neap_task_next step(void *arg)
{
	struct made *made = arg;
	struct neap_error err;
	int more = neap_kube_making_step(made->making, &err);

	if (more > 0)
		return NEAP_TASK_GOES_ON;
	call_end(&made->slow.call,
		 more < 0 ? call_error(&made->slow.call, &err) : answer(made));
	made_free(made);
	return NEAP_TASK_IS_OVER;
}

int call_make(struct call *call)
{
	struct neap_kube *kube = call->kube;
	const char *ns = call->target.ns;
	struct neap_error err;
	struct made *made;

	if (kube->made_count >= MADE_MAX) {
		(void)neap_error_set(&err, NEAP_EUNAVAILABLE,
				     "too many such lists are being made");
		return call_error(call, &err);
	}
	made = neap_alloc(sizeof(*made));
	if (!made)
		return call_nomem(call);
	kube->made_count++;
	made->slow.call.kube = kube;
	made->version = neap_store_version(kube->store);
	if (choice_parse(call, &made->gather.choice) < 0) {
		made_free(made);
		return -1;
	}
	made->making = call->target.kind->make(kube->store, *ns ? ns : NULL, NULL);
	if (!made->making || slow_begin(&made->slow, call, step, made_end) < 0) {
		made_free(made);
		return call_nomem(call);
	}
	slow_defer(&made->slow, call, client_gone);
	neap_task_wake(made->slow.task);
	return 0;
}
