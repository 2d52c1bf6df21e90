/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the Reservation's node before the pod is evicted. */
#include <stdio.h>
#include <string.h>

#include "engine/json/json.h"
#include "engine/migrate/job_priv.h"

/* Whether the pod's successor puts up with a cordoned node. */
static bool bears_cordon(const json_t *reservation)
{
	json_t *one;
	size_t i;

	json_array_foreach (neap_json_at(reservation, "spec.template.spec.tolerations"),
			    i, one) {
		const char *key = neap_json_text(one, "key");
		const char *effect = neap_json_text(one, "effect");

		if ((!*effect || strcmp(effect, "NoSchedule") == 0) &&
		    neap_json_is_text(one, "operator", "Exists") &&
		    (!*key || strcmp(key, "node.kubernetes.io/unschedulable") == 0))
			return true;
	}
	return false;
}

bool job_node_is_cordoned(const struct neap_migrate_view *view)
{
	return json_is_true(neap_json_at(view->node, "spec.unschedulable")) &&
	       !bears_cordon(view->reservation);
}

bool job_node_is_good(struct job_pass *pass)
{
	const json_t *node = pass->view->node;
	const json_t *ready =
		neap_json_condition(json_object_get(node, "status"), "Ready");
	const char *reason, *what;
	char message[NEAP_MIGRATE_MESSAGE];

	if (!node || !pass->view->reservation)
		return true;
	if (ready && !neap_json_is_text(ready, "status", "True")) {
		reason = "NodeNotReady";
		what = "not ready";
	} else if (job_node_is_cordoned(pass->view)) {
		reason = "NodeUnschedulable";
		what = "cordoned";
	} else {
		if (neap_json_condition(pass->status, NEAP_MIGRATE_NODE_READY))
			(void)job_set_condition(pass, NEAP_MIGRATE_NODE_READY, true, "",
						"");
		return true;
	}
	(void)snprintf(message, sizeof(message),
		       "Node \"%s\" of the Reservation \"%s\" is %s",
		       neap_json_text_at(node, "metadata.name"), pass->reservation, what);
	if (job_set_condition(pass, NEAP_MIGRATE_NODE_READY, false, reason, message))
		job_tell(pass, true, reason, "%s", message);
	job_wait(pass);
	return false;
}
