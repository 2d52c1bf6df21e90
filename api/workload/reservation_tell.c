/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/note.h"
#include "api/workload/reservations_priv.h"
#include "api/workload/tree.h"

static void tell_end(struct neap_kube *kube, const struct neap_kube_note *note,
		     enum reservation_ask what, const json_t *tree)
{
	switch (what) {
	case RESERVATION_SUCCEEDED:
		neap_kube_note(
			kube, note, "Used by pod %s/%s",
			neap_tree_text(
				json_array_get(neap_tree_at(tree, "status.currentOwners"),
					       0),
				"namespace"),
			neap_tree_text(
				json_array_get(neap_tree_at(tree, "status.currentOwners"),
					       0),
				"name"));
		break;
	case RESERVATION_NODE_GONE:
		neap_kube_note(kube, note, "Node %s is gone",
			       neap_tree_text(tree, "status.nodeName"));
		break;
	case RESERVATION_EXPIRES:
		neap_kube_note(kube, note, "Expired at %s",
			       neap_tree_text(tree, "spec.expires"));
		break;
	default:
		neap_kube_note(kube, note, "Expired: older than its ttl of %s",
			       neap_tree_text(tree, "spec.ttl"));
	}
}

void reservation_told(void *arg, const struct neap_round_told *told)
{
	struct neap_reservations *reservations = arg;
	enum reservation_ask what = (enum reservation_ask)told->what;
	const struct neap_kube_note note = {
		.api_version = "scheduling.koordinator.sh/v1alpha1",
		.kind = "Reservation",
		.ns = "",
		.name = told->key,
		.uid = told->uid,
		.is_warning = what != RESERVATION_SUCCEEDED,
		.reason = what == RESERVATION_SUCCEEDED ? "Succeeded" : "Expired",
		.component = "reservation-controller"};
	json_t *tree;

	if (!told->object || what == RESERVATION_OWNED || what == RESERVATION_COLLECTED)
		return;
	tree = neap_object_tree(told->object);
	if (tree)
		tell_end(reservations->config.kube, &note, what, tree);
	json_decref(tree);
}
