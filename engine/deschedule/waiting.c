/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deschedule/waiting.h"

#include <stdlib.h>

#include "engine/base/mem.h"

static int by_turn(const void *one, const void *other)
{
	const struct neap_pod *a = *(struct neap_pod *const *)one;
	const struct neap_pod *b = *(struct neap_pod *const *)other;

	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (a->created_usec != b->created_usec)
		return a->created_usec < b->created_usec ? -1 : 1;
	return neap_object_compare(a->object, b->object->ns, b->object->name);
}

int neap_waiting_list(struct neap_cluster *cluster, const struct neap_world *world,
		      struct neap_pod ***ret, size_t *ret_count, struct neap_error *err)
{
	size_t size = 0;

	*ret = NULL;
	*ret_count = 0;
	for (size_t i = world->bound_count; i < world->pod_count; i++) {
		const struct neap_object *object = world->pods[i]->pod->object;
		struct neap_pod *pod =
			neap_cluster_find_pod(cluster, object->ns, object->name);

		if (!pod || pod->seat.node || pod->is_finished || pod->is_gated ||
		    pod->trouble || object->is_deleting)
			continue;
		if (!neap_grow(ret, *ret_count, &size, sizeof(struct neap_pod *)))
			return neap_error_nomem(err);
		(*ret)[(*ret_count)++] = neap_pod_ref(pod);
	}
	if (*ret_count)
		qsort(*ret, *ret_count, sizeof(struct neap_pod *), by_turn);
	return 0;
}
