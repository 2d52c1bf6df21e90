/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/client/events.h"
#include "api/workload/loop/tree.h"
#include "api/workload/reservation/reservations_priv.h"
#include "engine/base/mem.h"

static void tell_end(struct neap_client *client, const struct neap_client_note *note,
		     enum reservation_ask what, const json_t *tree)
{
	switch (what) {
	case RESERVATION_SUCCEEDED:
		neap_client_note(
			client, note, "Used by pod %s/%s",
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
		neap_client_note(client, note, "Node %s is gone",
				 neap_tree_text(tree, "status.nodeName"));
		break;
	case RESERVATION_EXPIRES:
		neap_client_note(client, note, "Expired at %s",
				 neap_tree_text(tree, "spec.expires"));
		break;
	default:
		neap_client_note(client, note, "Expired: older than its ttl of %s",
				 neap_tree_text(tree, "spec.ttl"));
	}
}

static struct neap_client_note note_of(const char *name, const char *uid)
{
	return (struct neap_client_note){.api_version =
						 "scheduling.koordinator.sh/v1alpha1",
					 .kind = "Reservation",
					 .ns = "",
					 .name = name,
					 .uid = uid,
					 .is_warning = true,
					 .component = "reservation-controller"};
}

void reservation_told(void *arg, const struct neap_round_told *told)
{
	struct neap_reservations *reservations = arg;
	enum reservation_ask what = (enum reservation_ask)told->what;
	struct neap_client_note note = note_of(told->key, told->uid);
	json_t *tree;

	if (!told->object || what == RESERVATION_OWNED || what == RESERVATION_COLLECTED)
		return;
	note.is_warning = what != RESERVATION_SUCCEEDED;
	note.reason = note.is_warning ? "Expired" : "Succeeded";
	tree = neap_object_tree(told->object);
	if (tree)
		tell_end(reservations->config.client, &note, what, tree);
	json_decref(tree);
}

void reservation_tell_trouble(struct neap_reservations *reservations,
			      struct reservation_target *target, const char *trouble)
{
	struct neap_client_note note = note_of(target->name, target->uid);
	char before[RESERVATION_TROUBLE];

	(void)neap_strcopy(before, sizeof(before), target->trouble);
	(void)neap_strcopy(target->trouble, sizeof(target->trouble),
			   trouble ? trouble : "");
	if (!*target->trouble || strcmp(before, target->trouble) == 0)
		return;
	note.reason = "Unusable";
	if (*target->ns) {
		note.api_version = "v1";
		note.kind = "Pod";
		note.ns = target->ns;
	}
	neap_client_note(reservations->config.client, &note, "No pod can use it: %s",
			 target->trouble);
}
