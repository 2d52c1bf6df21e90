/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects a list in slices. Objects are immutable and the store keeps history for a
 * while, so the list still shows one version. */
#include <stdlib.h>

#include "api/kube/request/slow.h"
#include "engine/base/mem.h"

/* If any version will do: how often the list restarts before it is gathered in one go. */
#define TRIES_MAX 3

struct slice {
	struct call *call;
	struct gather *gather;
	const struct neap_task *task;
	size_t seen;
	bool is_full;
};

static bool keep(struct gather *gather, struct neap_object *object)
{
	if (!neap_grow(&gather->objects, gather->count, &gather->size,
		       sizeof(*gather->objects)))
		return false;
	gather->objects[gather->count++] = object;
	return true;
}

bool gather_take(struct call *call, struct gather *gather, struct neap_object *object)
{
	if (!choice_has(&gather->choice, object))
		return true;
	if (gather->limit && (int64_t)gather->count == gather->limit)
		return false;
	gather->kube = call->kube;
	object = gather->is_shown ? shape_shown(call, object) : neap_object_ref(object);
	if (object && keep(gather, object))
		return true;
	(void)neap_object_unref(object);
	gather->is_short_of_memory = true;
	return false;
}

static bool take(void *arg, struct neap_object *object)
{
	struct slice *slice = arg;

	if (slice->task && slice->seen && !neap_task_has_time(slice->task))
		return false;
	slice->is_full = !gather_take(slice->call, slice->gather, object);
	if (slice->is_full)
		return false;
	slice->seen++;
	return true;
}

static void drop(struct gather *gather)
{
	objects_free(gather->kube, gather->objects, 0, gather->count);
	gather->objects = NULL;
	gather->count = gather->size = 0;
}

int gather_step(struct call *call, const struct neap_task *task, struct gather *gather,
		bool *ret_more, struct neap_error *err)
{
	struct neap_store *store = call->kube->store;
	const char *ns = call->target.ns;
	struct slice slice = {
		.call = call,
		.gather = gather,
		.task = gather->tries < TRIES_MAX ? task : NULL,
	};
	int more = neap_store_list(store, call->resource, *ns ? ns : NULL, &gather->place,
				   take, &slice, err);

	if (gather->is_short_of_memory)
		return neap_error_nomem(err);
	if (more == -NEAP_EGONE && gather->is_newest && gather->tries < TRIES_MAX) {
		drop(gather);
		gather->tries++;
		gather->place =
			(struct neap_store_place){.version = neap_store_version(store)};
		return 1;
	}
	*ret_more = more > 0 && slice.is_full;
	return more > 0 && !slice.is_full ? 1 : more < 0 ? more : 0;
}

void gather_done(struct gather *gather)
{
	drop(gather);
	choice_done(&gather->choice);
}
