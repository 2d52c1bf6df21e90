/* SPDX-License-Identifier: Apache-2.0
 *
 * Evicts a pod if the budgets of its namespace allow it. Finding the pods that they
 * select may take long; then the request waits as a task. Each peer has only one task
 * running, because its findings stay in memory until the response. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/request/slow.h"
#include "api/kube/write/budget.h"
#include "engine/base/mem.h"

struct eviction {
	struct slow slow;
	/* the client's address; copied, as the request may have been answered */
	char *peer;
	json_t *body; /* counted */
	struct neap_budget_question *question;
};

static void refuse(struct call *call, const struct neap_budget_answer *answer)
{
	struct neap_causes *causes = &call->kube->causes;

	(void)neap_kube_fail(&call->failure, NEAP_KUBE_TOO_MANY_REQUESTS,
			     "Cannot evict pod as it would violate the pod's disruption "
			     "budget.");
	neap_causes_clear(causes);
	neap_causes_add(causes, "DisruptionBudget", "", "%s", answer->why);
	call->failure.causes = causes;
	call_fail(call);
}

/* Does one piece. False: the request is answered. */
static bool goes_on(struct call *call, struct neap_budget_question *question,
		    const json_t *body)
{
	struct neap_object *newest = call_need_newest(call);
	struct neap_budget_answer answer;

	if (!newest)
		return false;
	if (call_check_ending(call, call->target.name) < 0) {
		call_fail(call);
		return false;
	}
	if (!neap_budget_question_go(question, newest, &answer))
		return true;
	if (!answer.is_allowed) {
		refuse(call, &answer);
		return false;
	}
	call->answers_success = true;
	call->evicts = true;
	call_delete_with(call, json_object_get(body, "deleteOptions"), newest, 201);
	return false;
}

/* --- as a task --- */

static void eviction_end(struct slow *slow);

/* The newest request of the peer in the list from there on; older ones stand behind.
 * NULL: none. */
static struct slow *find_of_peer(struct slow *from, const char *peer)
{
	while (from && (from->end != eviction_end ||
			strcmp(((struct eviction *)from)->peer, peer) != 0))
		from = from->next;
	return from;
}

static void leave(struct eviction *eviction)
{
	struct slow *next = NULL, *at;

	slow_done(&eviction->slow);
	for (at = eviction->slow.call.kube->slow;
	     (at = find_of_peer(at, eviction->peer)) != NULL; at = at->next)
		next = at;
	if (next)
		neap_task_wake(next->task);
	neap_budget_question_free(eviction->question);
	json_decref(eviction->body);
	free(eviction->peer);
	free(eviction);
}

static void client_gone(void *arg)
{
	leave(arg);
}

static void eviction_end(struct slow *slow)
{
	slow_refuse_end(slow);
	leave((struct eviction *)slow);
}

static enum neap_task_next step(void *arg)
{
	struct eviction *eviction = arg;
	struct slow *slow = &eviction->slow;

	if (find_of_peer(slow->next, eviction->peer))
		return NEAP_TASK_WAITS;
	if (goes_on(&slow->call, eviction->question, eviction->body))
		return NEAP_TASK_GOES_ON;
	leave(eviction);
	return NEAP_TASK_IS_OVER;
}

/* Takes question. */
static void begin_take(struct call *call, struct neap_budget_question *question,
		       const json_t *body)
{
	struct eviction *eviction = neap_alloc(sizeof(*eviction));

	if (eviction)
		eviction->peer = neap_strdup(slow_peer(call));
	if (!eviction || !eviction->peer ||
	    !slow_begin(&eviction->slow, call, step, eviction_end)) {
		if (eviction)
			free(eviction->peer);
		free(eviction);
		neap_budget_question_free(question);
		call_fail_nomem(call);
		return;
	}
	eviction->question = question;
	eviction->body = json_incref((json_t *)(uintptr_t)body);
	if (call->request)
		neap_http_defer(call->request, client_gone, eviction);
	neap_task_wake(eviction->slow.task);
}

void call_evict_with(struct call *call, const json_t *body)
{
	struct neap_budget_question *question = neap_budget_question_new(call->kube);

	if (!question) {
		call_fail_nomem(call);
		return;
	}
	if (!find_of_peer(call->kube->slow, slow_peer(call)) &&
	    !goes_on(call, question, body))
		neap_budget_question_free(question);
	else
		begin_take(call, question, body);
}

void call_evict(struct call *call)
{
	json_t *body;

	if (!call_need_newest(call))
		return;
	if (body_part(call, &neap_kube_body_eviction, &body) < 0) {
		call_fail(call);
		return;
	}
	if (call_need_name(call, body, "Eviction") < 0)
		call_fail(call);
	else
		call_evict_with(call, body);
	json_decref(body);
}
