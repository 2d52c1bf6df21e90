/* SPDX-License-Identifier: Apache-2.0
 *
 * What users see: events, and the condition PodScheduled. */
#include <string.h>

#include "api/client/client.h"
#include "api/client/events.h"
#include "api/schedule/schedule_priv.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define GATED_MESSAGE "Scheduling is blocked due to non-empty scheduling gates"

static struct neap_client_note note_of(const struct neap_pod *pod, bool is_warning,
				       const char *reason)
{
	if (neap_pod_is_stand(pod))
		return (struct neap_client_note){
			.api_version = "scheduling.koordinator.sh/v1alpha1",
			.kind = "Reservation",
			.ns = "",
			.name = pod->keep->name,
			.uid = pod->object->uid,
			.is_warning = is_warning,
			.reason = reason,
			.component = pod->scheduler};
	return (struct neap_client_note){.api_version = "v1",
					 .kind = "Pod",
					 .ns = pod->object->ns,
					 .name = pod->object->name,
					 .uid = pod->object->uid,
					 .is_warning = is_warning,
					 .reason = reason,
					 .component = pod->scheduler};
}

/* What a condition says. */
struct says {
	const char *type, *status, *reason, *message;
};

static json_t *new_condition(const struct says *says, const json_t *before, int64_t now)
{
	const char *since = NULL;
	char text[32];

	/* The time is that of the status, which stays. */
	if (neap_json_is_text(before, "status", says->status))
		since = json_string_value(json_object_get(before, "lastTransitionTime"));
	if (!since)
		since = neap_time_format(now, 0, text, sizeof(text));
	return json_pack("{s:s, s:s, s:s, s:s, s:n, s:s}", "type", says->type, "status",
			 says->status, "reason", says->reason, "message", says->message,
			 "lastProbeTime", "lastTransitionTime", since);
}

/* The list with the condition in it; NULL when it says so already, or without memory. */
static json_t *change_conditions(const json_t *tree, const struct says *says, int64_t now)
{
	const json_t *was =
		json_object_get(json_object_get(tree, "status"), "conditions");
	json_t *list = json_is_array(was) ? neap_json_copy(was) : json_array();
	const json_t *before = NULL;
	size_t i;

	for (i = 0; i < json_array_size(list) && !before; i++)
		if (neap_json_is_text(json_array_get(list, i), "type", says->type))
			before = json_array_get(list, i);
	if (before && neap_json_is_text(before, "status", says->status) &&
	    neap_json_is_text(before, "reason", says->reason) &&
	    neap_json_is_text(before, "message", says->message)) {
		json_decref(list);
		return NULL;
	}
	if (before ? json_array_set_new(list, i - 1, new_condition(says, before, now)) < 0
		   : json_array_append_new(list, new_condition(says, NULL, now)) < 0) {
		json_decref(list);
		return NULL;
	}
	return list;
}

static bool is_nominated(const json_t *tree, const char *node)
{
	const char *now = json_string_value(
		json_object_get(json_object_get(tree, "status"), "nominatedNodeName"));

	return strcmp(now ? now : "", node) == 0;
}

/* The members of the status that change; NULL when there are none, or without memory. */
static json_t *change_status(const json_t *tree, const struct says *says,
			     const char *nominated, int64_t now)
{
	json_t *conditions = change_conditions(tree, says, now), *status;
	bool is_new = nominated && !is_nominated(tree, nominated);

	if (!conditions && !is_new)
		return NULL;
	status = json_object();
	if ((conditions && json_object_set(status, "conditions", conditions) < 0) ||
	    (is_new && json_object_set_new(status, "nominatedNodeName",
					   *nominated ? json_string(nominated)
						      : json_null()) < 0)) {
		json_decref(status);
		status = NULL;
	}
	json_decref(conditions);
	return status;
}

/* Based on the newest state, and written only onto that. If refused, the next attempt
 * writes it. nominated: NULL: unchanged; "": none. */
static void set_condition(struct neap_scheduler *scheduler, const struct neap_pod *pod,
			  const struct says *says, const char *nominated)
{
	struct neap_client_ask ask = {
		.resource = "pods", .ns = pod->object->ns, .name = pod->object->name};
	struct neap_object *newest =
		neap_client_newest(scheduler->client, "pods", ask.ns, ask.name);
	json_t *tree, *status;
	char version[NEAP_OBJECT_VERSION];

	if (!newest || strcmp(newest->uid, pod->object->uid) != 0)
		return;
	tree = neap_object_tree(newest);
	if (!tree)
		return;
	status = change_status(tree, says, nominated, scheduler->now());
	json_decref(tree);
	if (!status)
		return;
	neap_client_patch_take(scheduler->client, &ask, true,
			       json_pack("{s:{s:s, s:s}, s:o}", "metadata", "uid",
					 newest->uid, "resourceVersion",
					 neap_object_resource_version(newest, version),
					 "status", status));
}

/* Somebody else may have bound it meanwhile. */
static bool is_bound(struct neap_scheduler *scheduler, const struct neap_pod *pod)
{
	struct neap_object *newest = neap_client_newest(
		scheduler->client, "pods", pod->object->ns, pod->object->name);
	const char *node = newest ? neap_object_field(newest, "spec.nodeName") : NULL;

	return node && *node;
}

void scheduler_tell_placed(struct neap_scheduler *scheduler, const struct neap_pod *pod,
			   const char *node)
{
	struct neap_client_note note = note_of(pod, false, "Scheduled");

	neap_client_note(scheduler->client, &note, "Successfully assigned %s%s%s to %s",
			 note.ns, *note.ns ? "/" : "", note.name, node);
}

void scheduler_tell_refused(struct neap_scheduler *scheduler, const struct neap_pod *pod,
			    const char *message, const char *nominated)
{
	struct neap_client_note note = note_of(pod, true, "FailedScheduling");
	const struct says says = {"PodScheduled", "False", "Unschedulable", message};

	if (neap_pod_is_stand(pod)) {
		neap_client_note(scheduler->client, &note, "%s", message);
		scheduler_tell_unplaced(scheduler, pod, message);
		return;
	}
	if (is_bound(scheduler, pod))
		return;
	neap_client_note(scheduler->client, &note, "%s", message);
	set_condition(scheduler, pod, &says, nominated);
}

void scheduler_tell_node(struct neap_scheduler *scheduler,
			 const struct neap_cluster_node *node)
{
	/* Events about nodes are found by name, as a kubelet writes them. */
	const struct neap_client_note note = {.api_version = "v1",
					      .kind = "Node",
					      .ns = "",
					      .name = node->name,
					      .uid = node->name,
					      .is_warning = true,
					      .reason = "InvalidNode",
					      .component = "neap-scheduler"};

	neap_client_note(scheduler->client, &note, "%s", node->trouble);
}

void scheduler_tell_gated(struct neap_scheduler *scheduler, const struct neap_pod *pod)
{
	const struct says says = {"PodScheduled", "False", "SchedulingGated",
				  GATED_MESSAGE};

	if (!is_bound(scheduler, pod))
		set_condition(scheduler, pod, &says, NULL);
}

void scheduler_tell_victim(struct neap_scheduler *scheduler,
			   const struct neap_pod *victim, const struct neap_pod *pod,
			   const char *node)
{
	struct neap_client_note note = note_of(victim, false, "Preempted");
	char message[256];
	const struct says says = {"DisruptionTarget", "True", "PreemptionByScheduler",
				  message};

	note.component = pod->scheduler;
	(void)snprintf(message, sizeof(message),
		       "%s: preempting to accommodate a higher priority pod",
		       pod->scheduler);
	set_condition(scheduler, victim, &says, NULL);
	neap_client_note(scheduler->client, &note, "Preempted by pod %s on node %s",
			 pod->object->uid, node);
}
