/* SPDX-License-Identifier: Apache-2.0
 *
 * A pod in operating mode Reservation has no status field for its user; an annotation has
 * it. It serves one owner; among several, the annotation names the first by uid. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/loop/tree.h"
#include "api/workload/reservation/reservations_priv.h"
#include "engine/json/json.h"

#define CURRENT_OWNER "scheduling.koordinator.sh/reservation-current-owner"
/* After a write. By then it is visible, or it failed and is requested again. */
#define AGAIN_USEC 1000000
/* While a change of the pod is on its way. */
#define WAIT_USEC 20000

bool reservation_is_pod(const struct neap_object *pod)
{
	const char *mode = neap_object_label(pod, NEAP_KEY_OPERATING_MODE);

	return mode && strcmp(mode, "Reservation") == 0;
}

/* NULL: none. */
static const struct reservation_user *
owner_of(const struct neap_reservations *reservations, const struct neap_object *pod,
	 const char *node)
{
	const struct reservation_target *target =
		reservation_target_find(&reservations->index, pod->uid);
	const struct reservation_user *first = NULL, *user;

	for (user = target ? target->users : NULL; user; user = user->next)
		if (reservation_user_counts(user, node) &&
		    (!first || strcmp(user->uid, first->uid) < 0))
			first = user;
	return first;
}

/* Whether the annotation has this value already. */
static bool is_told(const char *text, const struct reservation_user *owner)
{
	neap_auto_json json_t *json = NULL;
	json_error_t where;

	if (!owner)
		return !*text;
	if (!*text || neap_json_parse(text, strlen(text), 0, &json, &where) < 0)
		return false;
	return strcmp(neap_tree_text(json, "namespace"), owner->ns) == 0 &&
	       strcmp(neap_tree_text(json, "name"), owner->name) == 0 &&
	       strcmp(neap_tree_text(json, "uid"), owner->uid) == 0;
}

/* NULL without memory. */
static json_t *annotation_new(const struct reservation_user *owner)
{
	json_t *json, *value;
	char *text;

	if (!owner)
		return json_null();
	json = json_pack("{s:s, s:s, s:s}", "namespace", owner->ns, "name", owner->name,
			 "uid", owner->uid);
	text = json ? neap_json_dump(json, JSON_COMPACT) : NULL;
	value = text ? json_string(text) : NULL;
	free(text);
	json_decref(json);
	return value;
}

/* The patch has uid and resourceVersion, so it applies only to this state of the pod. */
static void ask(struct neap_reservations *reservations, const struct neap_object *pod,
		const json_t *tree, const struct reservation_user *owner)
{
	const struct neap_client_ask what = {
		.resource = "pods", .ns = pod->ns, .name = pod->name};

	neap_client_patch_take(reservations->config.client, &what, false,
			       json_pack("{s:{s:s, s:s, s:{s:o}}}", "metadata", "uid",
					 pod->uid, "resourceVersion",
					 neap_tree_text(tree, "metadata.resourceVersion"),
					 "annotations", CURRENT_OWNER,
					 annotation_new(owner)));
}

static bool is_over(const json_t *tree)
{
	const char *phase = neap_tree_text(tree, "status.phase");

	return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

/* Once per version. False without memory. */
static bool tell_trouble(struct neap_reservations *reservations, struct neap_object *pod)
{
	struct reservation_target *target =
		reservation_target_find(&reservations->index, pod->uid);
	struct neap_reserve *reserve;
	struct neap_error err;

	if (!target || target->version == pod->version)
		return true;
	if (neap_reserve_new_pod(pod, reservations->resources, &reserve, &err) < 0)
		return false;
	reservation_tell_trouble(reservations, target, reserve->trouble);
	target->version = pod->version;
	(void)neap_reserve_unref(reserve);
	return true;
}

int64_t reservation_look_at_pod(struct neap_reservations *reservations, const char *ns,
				const char *name)
{
	struct neap_client *client = reservations->config.client;
	struct neap_object *pod = neap_client_find(client, "pods", ns, name);
	const struct neap_object *newest = neap_client_newest(client, "pods", ns, name);
	const struct reservation_user *owner;
	int64_t again = 0;
	json_t *tree;

	if (!pod || !reservation_is_pod(pod) || pod->is_deleting)
		return 0;
	if (!newest || newest->version != pod->version)
		return WAIT_USEC;
	/* It may be read twice. */
	neap_feed_spend(reservations->feed, 2 * neap_steps_of_text(pod));
	tree = neap_object_tree(pod);
	if (!tree)
		return -1;
	owner = owner_of(reservations, pod, neap_tree_text(tree, "spec.nodeName"));
	if (!is_over(tree) && !tell_trouble(reservations, pod))
		again = -1;
	else if (!is_over(tree) &&
		 !is_told(neap_tree_entry(tree, "metadata.annotations", CURRENT_OWNER),
			  owner)) {
		neap_feed_spend(reservations->feed, neap_steps_of_write(pod));
		ask(reservations, pod, tree, owner);
		again = AGAIN_USEC;
	}
	json_decref(tree);
	return again;
}
