/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deschedule/moved.h"

#include <stdlib.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"

#define SECOND INT64_C(1000000)

/* A pod may leave, and its successor come, as long after the decision as it then rests:
 * what is older is forgotten. */
static int64_t kept_usec(int64_t rest_usec)
{
	return 2 * rest_usec;
}

/* Evictions of an owner that follow each other closely. */
struct entry {
	int64_t first_usec, last_usec;
};

struct neap_moved {
	int64_t rest_usec;
	struct neap_map *owners; /* by uid */
};

struct neap_moved *neap_moved_new(int64_t rest_usec)
{
	struct neap_moved *moved = neap_alloc(sizeof(*moved));

	if (!moved)
		return NULL;
	moved->rest_usec = rest_usec;
	moved->owners = neap_map_new();
	if (!moved->owners) {
		free(moved);
		return NULL;
	}
	return moved;
}

void neap_moved_free(struct neap_moved *moved)
{
	if (!moved)
		return;
	for (size_t i = neap_map_count(moved->owners); i-- > 0;)
		free(neap_map_at(moved->owners, i, NULL));
	neap_map_free(moved->owners);
	free(moved);
}

static const char *controller_of(const struct neap_world_pod *pod)
{
	for (size_t i = 0; i < pod->owner_count; i++)
		if (pod->owners[i].is_controller)
			return pod->owners[i].uid;
	return NULL;
}

int neap_moved_note(struct neap_moved *moved, const struct neap_world_pod *pod,
		    int64_t now_usec, struct neap_error *err)
{
	const char *uid = controller_of(pod);
	struct entry *entry = uid ? neap_map_find(moved->owners, uid) : NULL;

	if (!uid)
		return 0;
	if (!entry) {
		entry = neap_alloc(sizeof(*entry));
		if (!entry || !neap_map_set(moved->owners, uid, entry)) {
			free(entry);
			return neap_error_nomem(err);
		}
		entry->last_usec = INT64_MIN;
	}
	if (entry->last_usec < now_usec - kept_usec(moved->rest_usec))
		entry->first_usec = now_usec;
	entry->last_usec = now_usec;
	return 0;
}

const char *neap_moved_rule(void *arg, struct neap_round *round,
			    const struct neap_world_pod *pod)
{
	const struct neap_moved *moved = arg;
	const char *uid = controller_of(pod);
	const struct entry *entry = uid ? neap_map_find(moved->owners, uid) : NULL;

	/* Pods that leave in this round have no successors yet. Creation times are in
	 * whole seconds. */
	if (!entry || entry->first_usec >= round->args.now_usec ||
	    round->args.now_usec - entry->last_usec >= kept_usec(moved->rest_usec) ||
	    pod->pod->created_usec < entry->first_usec / SECOND * SECOND ||
	    round->args.now_usec - pod->pod->created_usec >= moved->rest_usec)
		return NULL;
	return "it came in place of a pod that was evicted lately";
}

size_t neap_moved_count(struct neap_moved *moved, int64_t now_usec)
{
	for (size_t i = neap_map_count(moved->owners); i-- > 0;) {
		const char *uid;
		struct entry *entry = neap_map_at(moved->owners, i, &uid);

		if (now_usec - entry->last_usec < kept_usec(moved->rest_usec))
			continue;
		(void)neap_map_remove(moved->owners, uid);
		free(entry);
	}
	return neap_map_count(moved->owners);
}
