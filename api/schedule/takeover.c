/* SPDX-License-Identifier: Apache-2.0
 *
 * Running pods that a Reservation takes over are told so before it has a place: one that was told of a place that never
 * came to be uses nothing, and may be taken over again. So a stop at any moment leaves nothing that counts. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/inside.h"
#include "api/schedule/schedule_priv.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"

bool scheduler_note_taken(struct bind *bind, const struct neap_claim *claim)
{
	size_t count = claim ? claim->taken_count : 0;

	if (!count)
		return true;
	bind->taken = neap_alloc_array(count, sizeof(*bind->taken));
	if (!bind->taken)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct neap_object *object = claim->taken[i]->object;
		struct taken_pod *pod = &bind->taken[i];

		(void)neap_strcopy(pod->ns, sizeof(pod->ns), object->ns);
		(void)neap_strcopy(pod->name, sizeof(pod->name), object->name);
		(void)neap_strcopy(pod->uid, sizeof(pod->uid), object->uid);
	}
	bind->taken_count = count;
	return true;
}

/* With the annotation, or without it. NULL without memory. */
static json_t *patch_of(const struct bind *bind, const struct taken_pod *pod,
			bool is_taken)
{
	json_t *value = json_pack("{s:s, s:s}", "name", bind->key + 1, "uid", bind->uid);
	char *text = value ? neap_json_dump(value, JSON_COMPACT) : NULL;
	json_t *patch = NULL;

	if (text)
		patch = json_pack("{s:{s:s, s:{s:o}}}", "metadata", "uid", pod->uid,
				  "annotations", NEAP_KEY_RESERVATION_ALLOCATED,
				  is_taken ? json_string(text) : json_null());
	json_decref(value);
	free(text);
	return patch;
}

static struct neap_kube_ask ask_about(const struct taken_pod *pod)
{
	return (struct neap_kube_ask){
		.resource = "pods", .ns = pod->ns, .name = pod->name};
}

static void take_back(struct bind *bind, const struct neap_kube_failure *failure)
{
	for (size_t i = 0; i < bind->told_count; i++) {
		const struct neap_kube_ask ask = ask_about(&bind->taken[i]);

		/* Where this fails nothing comes of it, either. */
		neap_kube_ask_patch_take(bind->scheduler->kube, &ask, false,
					 patch_of(bind, &bind->taken[i], false));
	}
	scheduler_bound(bind, NULL, failure);
}

static void told(void *arg, struct neap_object *object,
		 const struct neap_kube_failure *failure)
{
	struct bind *bind = arg;

	if (!bind->scheduler) {
		scheduler_bound(bind, NULL, failure);
		return;
	}
	if (!object) {
		take_back(bind, failure);
		return;
	}
	bind->told_count++;
	scheduler_take_over(bind);
}

/* NULL: none, or without memory. To be freed. */
static char *says(const struct neap_object *object)
{
	json_t *tree = neap_object_tree(object);
	const char *text = json_string_value(json_object_get(
		json_object_get(json_object_get(tree, "metadata"), "annotations"),
		NEAP_KEY_RESERVATION_ALLOCATED));
	char *copy = text ? neap_strdup(text) : NULL;

	json_decref(tree);
	return copy;
}

static bool says_the_same(const struct neap_object *a, const struct neap_object *b)
{
	neap_auto_free char *x = says(a), *y = says(b);

	return x && y ? strcmp(x, y) == 0 : !x && !y;
}

/* Where it was decided on, and nobody else's meanwhile. */
static bool is_still_free(const struct bind *bind, const struct taken_pod *taken)
{
	struct neap_scheduler *scheduler = bind->scheduler;
	const struct neap_object *newest =
		neap_store_newest(scheduler->store, "pods", taken->ns, taken->name);
	const struct neap_pod *pod =
		neap_cluster_find_pod(scheduler->cluster, taken->ns, taken->name);

	if (!newest || !pod || newest->is_deleting || !pod->seat.node ||
	    strcmp(newest->uid, taken->uid) != 0 ||
	    strcmp(pod->object->uid, taken->uid) != 0 ||
	    strcmp(pod->seat.node->name, bind->node) != 0)
		return false;
	return newest->version == pod->object->version ||
	       says_the_same(newest, pod->object);
}

void scheduler_take_over(struct bind *bind)
{
	const struct taken_pod *pod;
	struct neap_kube_ask ask;

	if (bind->told_count == bind->taken_count) {
		scheduler_write_stand(bind);
		return;
	}
	pod = &bind->taken[bind->told_count];
	if (!is_still_free(bind, pod)) {
		take_back(bind, NULL);
		return;
	}
	ask = ask_about(pod);
	ask.told = told;
	ask.arg = bind;
	neap_kube_ask_patch_take(bind->scheduler->kube, &ask, false,
				 patch_of(bind, pod, true));
}
