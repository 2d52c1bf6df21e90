/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/slow.h"

#include <stdlib.h>

struct neap_tasks *neap_kube_tasks(struct neap_kube *kube)
{
	return kube->tasks;
}

static const char *peer_of(const struct call *call)
{
	return call->request ? neap_http_peer_get(call->request)->user->name : "";
}

bool slow_begin(struct slow *slow, const struct call *call, neap_task_step *step,
	       void (*end)(struct slow *slow))
{
	struct neap_kube *kube = call->kube;

	slow->task = neap_task_new(kube->tasks, peer_of(call), step, slow);
	if (!slow->task)
		return false;
	slow->call = *call;
	(void)neap_kube_kind_ref(call->target.kind);
	slow->end = end;
	slow->next = kube->slow;
	if (slow->next)
		slow->next->prev = &slow->next;
	slow->prev = &kube->slow;
	kube->slow = slow;
	return true;
}

void slow_done(struct slow *slow)
{
	if (!slow->task)
		return;
	*slow->prev = slow->next;
	if (slow->next)
		slow->next->prev = slow->prev;
	neap_task_free(slow->task);
	slow->task = NULL;
	(void)neap_kube_kind_unref(slow->call.target.kind);
}

void slow_refuse_end(struct slow *slow)
{
	struct neap_error err;

	(void)neap_error_set(&err, NEAP_EUNAVAILABLE, "neapd is ending");
	(void)neap_kube_fail_error(&slow->call.failure, slow->call.target.kind, "", &err);
	call_fail(&slow->call);
}

void call_fail_nomem(struct call *call)
{
	struct neap_error err;

	(void)neap_error_nomem(&err);
	(void)neap_kube_fail_error(&call->failure, call->target.kind, call->target.name,
				   &err);
	call_fail(call);
}

void objects_free(struct neap_object **objects, size_t from, size_t count)
{
	for (size_t i = from; objects && i < count; i++)
		(void)neap_object_unref(objects[i]);
	free(objects);
}
