/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deschedule/successor.h"

#include "engine/cluster/kept.h"
#include "engine/json/json.h"
#include "engine/migrate/job.h"
#include "engine/numa/cpu_policy.h"

static const char *const own_notes[] = {NEAP_KEY_RESOURCE_STATUS,
					NEAP_KEY_RESERVATION_ALLOCATED,
					"scheduling.koordinator.sh/device-allocated",
					"scheduling.koordinator.sh/soft-eviction"};
static const char *const own_meta[] = {"resourceVersion", "creationTimestamp",
				       "deletionTimestamp", "deletionGracePeriodSeconds",
				       "managedFields"};

json_t *neap_successor_new(const json_t *pod, const char *name, const char *uid)
{
	json_t *tree = neap_json_deep_copy(pod), *meta, *notes;

	if (!tree)
		return NULL;
	meta = neap_json_need_take(tree, "metadata", json_object());
	notes = json_object_get(meta, "annotations");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(own_notes); i++)
		(void)json_object_del(notes, own_notes[i]);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(own_meta); i++)
		(void)json_object_del(meta, own_meta[i]);
	(void)json_object_del(json_object_get(tree, "spec"), "nodeName");
	return neap_json_made(
		meta && json_object_set_new(meta, "name", json_string(name)) == 0 &&
			json_object_set_new(meta, "uid", json_string(uid)) == 0 &&
			json_object_set_new(tree, "status",
					    json_pack("{s:s}", "phase", "Pending")) == 0,
		tree);
}

/* The node that it avoids goes on counting in its spread, as it will for the successor,
 * which may go there. A pod that keeps to some nodes anyway is spread over these. */
static bool spread_over_all(json_t *spec)
{
	json_t *one;
	size_t i;

	if (json_object_get(spec, "nodeSelector") ||
	    neap_json_at(spec, "affinity.nodeAffinity"))
		return true;
	json_array_foreach (json_object_get(spec, "topologySpreadConstraints"), i, one)
		if (json_is_object(one) && !json_object_get(one, "nodeAffinityPolicy") &&
		    json_object_set_new(one, "nodeAffinityPolicy",
					json_string("Ignore")) < 0)
			return false;
	return true;
}

bool neap_successor_avoid(json_t *pod, const char *node)
{
	json_t *spec = neap_json_need_take(pod, "spec", json_object());

	return spec && spread_over_all(spec) && neap_migrate_exclude_node(spec, node);
}
