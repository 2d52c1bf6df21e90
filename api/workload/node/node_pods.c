/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods whose node is lost, tainted or gone. All pods are checked, most of them only by
 * the name of their node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/client.h"
#include "api/client/events.h"
#include "api/workload/node/node_watch_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define PODS "pods"
enum why { WHY_NODE, WHY_MISSING, WHY_UNBOUND, WHY_OUT };

/* --- which --- */

/* Since when pods name a node that does not exist; now without memory. */
static int64_t missing_since(struct neap_node_watch *watch, const char *node, int64_t now)
{
	struct node_missing *missing = neap_map_find(watch->missing, node);

	if (!missing) {
		missing = neap_alloc(sizeof(*missing));
		if (!missing)
			return now;
		missing->since = now;
		if (!neap_map_set(watch->missing, node, missing)) {
			free(missing);
			return now;
		}
	}
	missing->seen = watch->passes;
	return missing->since;
}

/* False: it is not affected. */
static bool is_concerned(struct neap_node_watch *watch, const struct neap_object *pod,
			 int64_t now, int *ret)
{
	const char *node = neap_object_field(pod, "spec.nodeName");
	const struct node_record *record;
	int64_t end;

	*ret = WHY_UNBOUND;
	if (!node || !node[0])
		return pod->is_deleting;
	record = neap_map_find(watch->nodes, node);
	*ret = WHY_MISSING;
	if (!record) {
		end = missing_since(watch, node, now) + watch->grace;
		if (end > now && end < watch->due)
			watch->due = end;
		return end <= now;
	}
	*ret = WHY_OUT;
	if (record->is_out && !record->is_ready && pod->is_deleting)
		return true;
	*ret = WHY_NODE;
	return (record->execute && !pod->is_deleting) ||
	       (record->is_lost && !record->is_ready);
}

/* --- what becomes of one --- */

struct pod {
	struct neap_node_watch *watch;
	int64_t now;
	const struct neap_object *object; /* its newest accepted state */
	json_t *tree;
	const json_t *status;
	struct neap_client_ask ask;
};

static bool is_finished(const struct pod *pod)
{
	const char *phase = neap_json_text(pod->status, "phase");

	return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static struct neap_client_note about(const struct pod *pod, const char *reason,
				     const char *component, bool is_warning)
{
	return (struct neap_client_note){.api_version = "v1",
					 .kind = "Pod",
					 .ns = pod->object->ns,
					 .name = pod->object->name,
					 .uid = pod->object->uid,
					 .is_warning = is_warning,
					 .reason = reason,
					 .component = component};
}

/* phase NULL: unchanged. */
static void write_condition(const struct pod *pod, const char *phase, const char *type,
			    const char *value, const char *reason, const char *message)
{
	neap_steps_spend(&pod->watch->steps, neap_steps_of_write(pod->object));
	neap_client_patch_take(
		pod->watch->config.client, &pod->ask, true,
		json_pack("{s:{s:s*, s:o}}", "status", "phase", phase, "conditions",
			  node_conditions_with(pod->status, type, value, reason, message,
					       pod->now)));
}

static void delete (const struct pod *pod, int64_t grace_s)
{
	neap_steps_spend(&pod->watch->steps, neap_steps_of_write(pod->object));
	neap_client_delete(pod->watch->config.client, &pod->ask, pod->object->uid,
			   grace_s);
}

/* No kubelet can end the pod, so it is deleted at once. Its controller must see that it
 * failed. */
static void force(const struct pod *pod, enum why why)
{
	if (!is_finished(pod) && why != WHY_UNBOUND)
		write_condition(pod, "Failed", "DisruptionTarget", "True",
				"DeletionByPodGC",
				why == WHY_OUT ? "PodGC: node is out of service"
					       : "PodGC: node no longer exists");
	delete (pod, 0);
}

static void evict(const struct pod *pod)
{
	const struct neap_client_note note =
		about(pod, "TaintManagerEviction", "taint-eviction-controller", false);

	write_condition(pod, NULL, "DisruptionTarget", "True", "DeletionByTaintManager",
			"Taint manager: deleting due to NoExecute taint");
	delete (pod, -1);
	neap_steps_spend(&pod->watch->steps, NEAP_STEPS_WRITE_ANY);
	neap_client_note(pod->watch->config.client, &note,
			 "Marking for deletion Pod %s/%s", pod->object->ns,
			 pod->object->name);
}

/* Since when it is on its node: binding sets a condition. */
static int64_t bound_since(const struct pod *pod)
{
	const char *text = neap_json_text(
		neap_json_condition(pod->status, "PodScheduled"), "lastTransitionTime");
	int64_t since;

	if (neap_time_parse(text, &since, NULL) == 0)
		return since;
	text = neap_json_text(json_object_get(pod->tree, "metadata"),
			      "creationTimestamp");
	return neap_time_parse(text, &since, NULL) == 0 ? since : 0;
}

/* After an interruption nobody knows whether a node that counted as lost came back
 * meanwhile. */
static void look_at_taints(const struct pod *pod, const struct node_record *record)
{
	struct neap_node_watch *watch = pod->watch;
	int64_t end = node_taints_end(record->execute, pod->tree, bound_since(pod)), held;

	held = watch->started + watch->grace;
	if (!record->is_ready && end < held)
		end = held;
	if (end <= pod->now)
		evict(pod);
	else if (end < watch->due)
		watch->due = end;
}

static void mark_lost(const struct pod *pod)
{
	const struct neap_client_note note =
		about(pod, "NodeNotReady", "node-controller", true);

	if (!neap_json_is_text(neap_json_condition(pod->status, "Ready"), "status",
			       "True"))
		return;
	write_condition(pod, NULL, "Ready", "False", "NodeNotReady", "Node is not ready");
	neap_steps_spend(&pod->watch->steps, NEAP_STEPS_WRITE_ANY);
	neap_client_note(pod->watch->config.client, &note, "Node is not ready");
}

static void look_at(struct pod *pod, enum why why)
{
	struct neap_node_watch *watch = pod->watch;
	const char *node = neap_object_field(pod->object, "spec.nodeName");
	const struct node_record *record =
		node ? neap_map_find(watch->nodes, node) : NULL;

	if (why == WHY_UNBOUND) {
		if ((!node || !node[0]) && pod->object->is_deleting)
			force(pod, why);
	} else if (why == WHY_MISSING) {
		/* The node was just created, or is unknown for lack of memory. */
		if (!record && node &&
		    !neap_client_newest(watch->config.client, "nodes", "", node))
			force(pod, why);
	} else if (why == WHY_OUT) {
		force(pod, why);
	} else if (record) {
		if (record->is_lost && !record->is_ready)
			mark_lost(pod);
		if (record->execute && !pod->object->is_deleting && !is_finished(pod))
			look_at_taints(pod, record);
	}
}

/* Works on the newest state, which may differ from the listed one. */
static void look_at_newest(struct neap_node_watch *watch, struct neap_object *listed,
			   int why, int64_t now)
{
	struct neap_object *newest =
		neap_client_newest(watch->config.client, PODS, listed->ns, listed->name);
	struct pod pod = {.watch = watch, .now = now, .object = newest};

	if (!newest || strcmp(newest->uid, listed->uid) != 0)
		return;
	/* A write may replace it. */
	(void)neap_object_ref(newest);
	neap_steps_spend(&watch->steps, neap_steps_of_text(newest));
	pod.ask = (struct neap_client_ask){
		.resource = PODS, .ns = listed->ns, .name = listed->name};
	pod.tree = neap_object_tree(newest);
	pod.status = json_object_get(pod.tree, "status");
	if (pod.tree)
		look_at(&pod, (enum why)why);
	json_decref(pod.tree);
	(void)neap_object_unref(newest);
}

/* --- all of them --- */

static void forget_missing(struct neap_node_watch *watch)
{
	for (size_t i = neap_map_count(watch->missing); i-- > 0;) {
		const char *name;
		struct node_missing *missing = neap_map_at(watch->missing, i, &name);

		if (missing->seen == watch->passes)
			continue;
		(void)neap_map_remove(watch->missing, name);
		free(missing);
	}
}

bool node_pods_pass(struct neap_node_watch *watch, int64_t now)
{
	static const struct node_pass pass = {
		.resource = PODS, .is_concerned = is_concerned, .look = look_at_newest};
	int more = node_pass_go(watch, &pass, now);

	if (more == 0)
		forget_missing(watch);
	return more > 0;
}
