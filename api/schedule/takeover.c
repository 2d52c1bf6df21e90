/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods that a Reservation takes over are annotated before it is placed. A pod annotated
 * for a placement that never happened uses nothing and may be taken over again. The
 * annotation is removed by the scheduler that wrote it or, after a restart, before the
 * Reservation is placed on the same node. So a stop at any moment leaves nothing that
 * counts. */
#include <stdlib.h>
#include <string.h>

#include "api/client/client.h"
#include "api/schedule/schedule_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

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

/* With that value of the annotation, which is taken. NULL without memory. */
static json_t *patch_with(const char *uid, json_t *value)
{
	return json_pack("{s:{s:s, s:{s:o}}}", "metadata", "uid", uid, "annotations",
			 NEAP_KEY_RESERVATION_ALLOCATED, value);
}

static json_t *patch_of(const struct bind *bind, const struct taken_pod *pod)
{
	json_t *value = json_pack("{s:s, s:s}", "name", bind->key + 1, "uid", bind->uid);
	char *text = value ? neap_json_dump(value, JSON_COMPACT) : NULL;
	json_t *patch = text ? patch_with(pod->uid, json_string(text)) : NULL;

	json_decref(value);
	free(text);
	return patch;
}

static struct neap_client_ask ask_about(const struct taken_pod *pod)
{
	return (struct neap_client_ask){
		.resource = "pods", .ns = pod->ns, .name = pod->name};
}

/* If this fails, it is repeated before a Reservation is placed there. */
static void ask_back(struct neap_scheduler *scheduler, const char *ns, const char *name,
		     const char *uid)
{
	const struct neap_client_ask ask = {.resource = "pods", .ns = ns, .name = name};

	neap_client_patch_take(scheduler->client, &ask, false,
			       patch_with(uid, json_null()));
}

/* Another scheduler placed it there meanwhile: the annotated pods use it. */
static bool is_there(const struct bind *bind)
{
	const struct neap_object *newest = neap_client_newest(
		bind->scheduler->client, RESERVATIONS, "", bind->key + 1);
	neap_auto_json json_t *tree = newest && strcmp(newest->uid, bind->uid) == 0
					      ? neap_object_tree(newest)
					      : NULL;
	const char *node = json_string_value(
		json_object_get(json_object_get(tree, "status"), "nodeName"));

	return node && strcmp(node, bind->node) == 0;
}

void scheduler_not_placed(struct bind *bind, const struct neap_client_failure *failure)
{
	size_t count = bind->scheduler ? bind->told_count : 0;

	if (count && is_there(bind))
		count = 0;
	for (size_t i = 0; i < count; i++)
		ask_back(bind->scheduler, bind->taken[i].ns, bind->taken[i].name,
			 bind->taken[i].uid);
	scheduler_bound(bind, NULL, failure);
}

static bool takes(const struct neap_claim *claim, const struct neap_pod *pod)
{
	for (size_t i = 0; claim && i < claim->taken_count; i++)
		if (claim->taken[i] == pod)
			return true;
	return false;
}

bool scheduler_take_back(struct neap_scheduler *scheduler, const struct neap_pod *stand,
			 const struct neap_cluster_node *node,
			 const struct neap_claim *claim)
{
	bool is_any = false;

	for (size_t i = 0; i < node->pod_count; i++) {
		const struct neap_pod *pod = node->pods[i];

		if (neap_pod_is_stand(pod) || takes(claim, pod) ||
		    strcmp(neap_pod_reservation(pod), stand->object->uid) != 0)
			continue;
		ask_back(scheduler, pod->object->ns, pod->object->name, pod->object->uid);
		is_any = true;
	}
	return is_any;
}

static void told(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	struct bind *bind = arg;

	if (!object || !bind->scheduler) {
		scheduler_not_placed(bind, failure);
		return;
	}
	bind->told_count++;
	scheduler_take_over(bind);
}

/* NULL: none, or without memory. To be freed. */
static char *says(const struct neap_object *object)
{
	neap_auto_json json_t *tree = neap_object_tree(object);
	const char *text = json_string_value(json_object_get(
		json_object_get(json_object_get(tree, "metadata"), "annotations"),
		NEAP_KEY_RESERVATION_ALLOCATED));

	return text ? neap_strdup(text) : NULL;
}

static bool says_the_same(const struct neap_object *a, const struct neap_object *b)
{
	neap_auto_free char *x = says(a), *y = says(b);

	return x && y ? strcmp(x, y) == 0 : !x && !y;
}

/* It is still on the node it was decided on, and not taken by others. */
static bool is_still_free(const struct bind *bind, const struct taken_pod *taken)
{
	struct neap_scheduler *scheduler = bind->scheduler;
	const struct neap_object *newest =
		neap_client_newest(scheduler->client, "pods", taken->ns, taken->name);
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
	struct neap_client_ask ask;

	if (bind->told_count == bind->taken_count) {
		scheduler_write_stand(bind);
		return;
	}
	pod = &bind->taken[bind->told_count];
	if (!is_still_free(bind, pod)) {
		scheduler_not_placed(bind, NULL);
		return;
	}
	ask = ask_about(pod);
	ask.told = told;
	ask.arg = bind;
	neap_client_patch_take(bind->scheduler->client, &ask, false, patch_of(bind, pod));
}
