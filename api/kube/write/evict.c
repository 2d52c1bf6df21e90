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
#include "api/kube/write/write.h"
#include "engine/base/mem.h"

struct eviction {
	struct slow slow;
	/* the client's address; copied, as the request may have been answered */
	char *peer;
	json_t *body; /* counted */
	struct neap_budget_question *question;
};

static int refuse(struct call *call, const struct neap_budget_answer *answer)
{
	struct neap_causes *causes = &call->kube->causes;

	(void)neap_kube_fail(&call->failure, NEAP_KUBE_TOO_MANY_REQUESTS,
			     "Cannot evict pod as it would violate the pod's disruption "
			     "budget.");
	neap_causes_clear(causes);
	neap_causes_add(causes, "DisruptionBudget", "", "%s", answer->why);
	call->failure.causes = causes;
	return -1;
}

/* Does one piece. 1: it goes on; 0: the request is answered, or will be; -1 with
 * call->failure. */
static int go(struct call *call, struct neap_budget_question *question,
	      const json_t *body)
{
	struct neap_object *newest = call_newest(call);
	struct neap_budget_answer answer;

	if (!newest)
		return call_missing(call);
	if (call_check_ending(call, call->target.name) < 0)
		return -1;
	if (!neap_budget_question_go(question, newest, &answer))
		return 1;
	if (!answer.is_allowed)
		return refuse(call, &answer);
	call->answers_success = true;
	call->evicts = true;
	return call_delete_with(call, json_object_get(body, "deleteOptions"), newest,
				201);
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
	int more;

	if (find_of_peer(slow->next, eviction->peer))
		return NEAP_TASK_WAITS;
	more = go(&slow->call, eviction->question, eviction->body);
	if (more > 0)
		return NEAP_TASK_GOES_ON;
	if (more < 0)
		call_fail(&slow->call);
	leave(eviction);
	return NEAP_TASK_IS_OVER;
}

/* Takes question. */
static int begin_take(struct call *call, struct neap_budget_question *question,
		      const json_t *body)
{
	struct eviction *eviction = neap_alloc(sizeof(*eviction));

	if (eviction)
		eviction->peer = neap_strdup(slow_peer(call));
	if (!eviction || !eviction->peer ||
	    slow_begin(&eviction->slow, call, step, eviction_end) < 0) {
		if (eviction)
			free(eviction->peer);
		free(eviction);
		neap_budget_question_free(question);
		return call_nomem(call);
	}
	eviction->question = question;
	eviction->body = json_incref((json_t *)(uintptr_t)body);
	if (call->request)
		neap_http_defer(call->request, client_gone, eviction);
	neap_task_wake(eviction->slow.task);
	return 0;
}

int call_evict_with(struct call *call, const json_t *body)
{
	struct neap_budget_question *question = neap_budget_question_new(call->kube);
	int more = 1;

	if (!question)
		return call_nomem(call);
	if (!find_of_peer(call->kube->slow, slow_peer(call)))
		more = go(call, question, body);
	if (more > 0)
		return begin_take(call, question, body);
	neap_budget_question_free(question);
	return more;
}

int call_evict(struct call *call)
{
	json_auto_t *body = NULL;

	if (!call_newest(call))
		return call_missing(call);
	if (body_part(call, &neap_kube_body_eviction, &body) < 0 ||
	    call_need_name(call, body, "Eviction") < 0)
		return -1;
	return call_evict_with(call, body);
}
