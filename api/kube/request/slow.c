/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/request/slow.h"

#include <stdlib.h>

#include "engine/base/mem.h"

struct neap_tasks *neap_kube_tasks(struct neap_kube *kube)
{
	return kube->tasks;
}

const char *slow_peer(const struct call *call)
{
	return call->request ? neap_http_peer_get(call->request)->user->name : "";
}

int slow_begin(struct slow *slow, struct call *call, neap_task_step *step,
	       void (*end)(struct slow *slow))
{
	struct neap_kube *kube = call->kube;

	slow->task = neap_task_new(kube->tasks, slow_peer(call), step, slow);
	if (!slow->task)
		return call_nomem(call);
	slow->call = *call;
	(void)neap_kube_kind_ref(call->target.kind);
	slow->end = end;
	slow->next = kube->slow;
	if (slow->next)
		slow->next->prev = &slow->next;
	slow->prev = &kube->slow;
	kube->slow = slow;
	return 0;
}

void slow_defer(struct slow *slow, struct call *call, void (*gone)(void *slow))
{
	neap_http_defer(call->request, gone, slow);
	call->request = NULL;
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

/* --- letting go --- */

/* Freeing this many takes less than a millisecond. */
#define AT_ONCE 2000

struct kube_trash {
	struct kube_trash *next;
	struct neap_object **objects;
	size_t at, count;
};

/* Frees up to most objects. False: all are freed. */
static bool let_go(struct kube_trash *trash, size_t most)
{
	for (; trash->at < trash->count && most; most--)
		(void)neap_object_unref(trash->objects[trash->at++]);
	if (trash->at < trash->count)
		return true;
	free(trash->objects);
	return false;
}

static enum neap_task_next sweep(void *arg)
{
	struct neap_kube *kube = arg;

	do {
		struct kube_trash *trash = kube->trash;

		if (!trash)
			return NEAP_TASK_WAITS;
		if (let_go(trash, AT_ONCE / 8))
			continue;
		kube->trash = trash->next;
		free(trash);
	} while (neap_task_has_time(kube->sweeper));
	return NEAP_TASK_GOES_ON;
}

void objects_free(struct neap_kube *kube, struct neap_object **objects, size_t from,
		  size_t count)
{
	struct kube_trash now = {.objects = objects, .at = from, .count = count};
	struct kube_trash *later = NULL;

	if (!objects)
		return;
	if (!kube->sweeper)
		kube->sweeper = neap_task_new(kube->tasks, "", sweep, kube);
	if (count - from > AT_ONCE && kube->sweeper)
		later = neap_alloc(sizeof(*later));
	if (!later) {
		(void)let_go(&now, SIZE_MAX);
		return;
	}
	*later = now;
	later->next = kube->trash;
	kube->trash = later;
	neap_task_wake(kube->sweeper);
}

void kube_trash_free(struct neap_kube *kube)
{
	struct kube_trash *next;

	for (struct kube_trash *trash = kube->trash; trash; trash = next) {
		next = trash->next;
		(void)let_go(trash, SIZE_MAX);
		free(trash);
	}
	neap_task_free(kube->sweeper);
}
