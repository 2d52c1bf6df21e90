/* SPDX-License-Identifier: Apache-2.0
 *
 * Taints for a node's conditions, and how long a pod tolerates its node's taints. As in
 * Kubernetes, it may stay if every taint is tolerated, for the shortest of the
 * tolerations that it needs. */
#include <string.h>

#include "api/workload/node/node_watch_priv.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define PREFIX "node.kubernetes.io/"

/* A year; longer tolerations count as endless. */
#define SECONDS_MAX 31536000

/* --- those that stand for conditions --- */

/* The taints that we manage, and their conditions. spec.unschedulable is treated like a
 * condition. */
static const struct {
	const char *key, *effect, *condition, *status;
} taints[] = {
	{PREFIX "not-ready", "NoSchedule", "Ready", "False"},
	{PREFIX "not-ready", "NoExecute", "Ready", "False"},
	{PREFIX "unreachable", "NoSchedule", "Ready", "Unknown"},
	{PREFIX "unreachable", "NoExecute", "Ready", "Unknown"},
	{PREFIX "memory-pressure", "NoSchedule", "MemoryPressure", "True"},
	{PREFIX "disk-pressure", "NoSchedule", "DiskPressure", "True"},
	{PREFIX "pid-pressure", "NoSchedule", "PIDPressure", "True"},
	{PREFIX "network-unavailable", "NoSchedule", "NetworkUnavailable", "True"},
	{PREFIX "unschedulable", "NoSchedule", NULL, NULL},
};

static bool is_taint(const json_t *taint, const char *key, const char *effect)
{
	return strcmp(neap_json_text(taint, "key"), key) == 0 &&
	       strcmp(neap_json_text(taint, "effect"), effect) == 0;
}

static bool is_wanted(const json_t *node, size_t row)
{
	const json_t *status = json_object_get(node, "status");

	if (!taints[row].condition)
		return json_is_true(
			json_object_get(json_object_get(node, "spec"), "unschedulable"));
	return strcmp(neap_json_text(neap_json_condition(status, taints[row].condition),
				     "status"),
		      taints[row].status) == 0;
}

static json_t *make_taint(size_t row, int64_t now)
{
	bool has_time = strcmp(taints[row].effect, "NoExecute") == 0;
	char time[32];

	(void)neap_time_format(now, 0, time, sizeof(time));
	return json_pack("{s:s, s:s, s:s*}", "key", taints[row].key, "effect",
			 taints[row].effect, "timeAdded", has_time ? time : NULL);
}

json_t *node_taints_changed(const json_t *node, int64_t now)
{
	const json_t *list = json_object_get(json_object_get(node, "spec"), "taints");
	uint64_t lost = neap_json_failures();
	json_t *made = json_array();
	bool has[NEAP_ARRAY_LEN(taints)] = {false};
	bool is_changed = false;
	json_t *taint;
	size_t i, row;

	json_array_foreach (list, i, taint) {
		for (row = 0; row < NEAP_ARRAY_LEN(taints); row++)
			if (is_taint(taint, taints[row].key, taints[row].effect))
				break;
		if (row < NEAP_ARRAY_LEN(taints) && (has[row] || !is_wanted(node, row))) {
			is_changed = true;
			continue;
		}
		if (row < NEAP_ARRAY_LEN(taints))
			has[row] = true;
		(void)json_array_append(made, taint);
	}
	for (row = 0; row < NEAP_ARRAY_LEN(taints); row++) {
		if (has[row] || !is_wanted(node, row))
			continue;
		is_changed = true;
		(void)json_array_append_new(made, make_taint(row, now));
	}
	if (!is_changed || neap_json_failures() != lost) {
		json_decref(made);
		return NULL;
	}
	if (json_array_size(made) > 0)
		return made;
	json_decref(made);
	return json_null();
}

/* --- those that drive pods away --- */

/* Users' taints often have no time: then the time when we first saw them counts. */
bool node_taints_read(struct node_record *record, const json_t *node, int64_t now)
{
	const json_t *list = json_object_get(json_object_get(node, "spec"), "taints");
	uint64_t lost = neap_json_failures();
	json_t *made = json_array();
	const json_t *taint, *old;
	bool is_out = false;
	char time[32];
	size_t i, j;

	(void)neap_time_format(now, 0, time, sizeof(time));
	json_array_foreach (list, i, taint) {
		const char *since = neap_json_text(taint, "timeAdded");
		json_t *copy;

		if (strcmp(neap_json_text(taint, "key"), PREFIX "out-of-service") == 0)
			is_out = true;
		if (!neap_json_is_text(taint, "effect", "NoExecute"))
			continue;
		json_array_foreach (record->execute, j, old) {
			if (!since[0] &&
			    is_taint(old, neap_json_text(taint, "key"), "NoExecute") &&
			    strcmp(neap_json_text(old, "value"),
				   neap_json_text(taint, "value")) == 0)
				since = neap_json_text(old, "timeAdded");
		}
		copy = neap_json_copy(taint);
		neap_json_set_text(copy, "timeAdded", since[0] ? since : time);
		(void)json_array_append_new(made, copy);
	}
	if (neap_json_failures() != lost) {
		json_decref(made);
		return false;
	}
	json_decref(record->execute);
	record->is_out = is_out;
	record->execute = made;
	if (json_array_size(made) == 0) {
		json_decref(made);
		record->execute = NULL;
	}
	return true;
}

/* --- who tolerates them --- */

static bool tolerates(const json_t *toleration, const json_t *taint)
{
	const char *key = neap_json_text(toleration, "key");
	const char *effect = neap_json_text(toleration, "effect");
	const char *operator= neap_json_text(toleration, "operator");

	if (effect[0] && strcmp(effect, neap_json_text(taint, "effect")) != 0)
		return false;
	if (key[0] && strcmp(key, neap_json_text(taint, "key")) != 0)
		return false;
	if (strcmp(operator, "Exists") == 0)
		return true;
	return (!operator[0] || strcmp(operator, "Equal") == 0) && key[0] &&
	       strcmp(neap_json_text(toleration, "value"),
		      neap_json_text(taint, "value")) == 0;
}

/* When the pod must go because of one taint. */
static int64_t end_of(const json_t *taint, const json_t *tolerations, int64_t bound)
{
	int64_t since = bound, added;
	const json_t *toleration;
	size_t i;

	if (neap_time_parse(neap_json_text(taint, "timeAdded"), &added, NULL) == 0 &&
	    added > since)
		since = added;
	json_array_foreach (tolerations, i, toleration) {
		const json_t *seconds = json_object_get(toleration, "tolerationSeconds");
		json_int_t s = json_integer_value(seconds);

		if (!tolerates(toleration, taint))
			continue;
		if (!json_is_integer(seconds) || s > SECONDS_MAX)
			return INT64_MAX;
		return since + (s > 0 ? s : 0) * NODE_USEC;
	}
	return 0;
}

int64_t node_taints_end(const json_t *execute, const json_t *pod, int64_t bound)
{
	const json_t *tolerations =
		json_object_get(json_object_get(pod, "spec"), "tolerations");
	int64_t end = INT64_MAX;
	const json_t *taint;
	size_t i;

	json_array_foreach (execute, i, taint) {
		int64_t own = end_of(taint, tolerations, bound);

		if (own < end)
			end = own;
	}
	return end;
}
