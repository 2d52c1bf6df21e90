/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates one pod for each node where it belongs. The scheduler places it: its affinity
 * names the node. */
#include <string.h>

#include "api/workload/daemonset/daemonsets_priv.h"
#include "api/workload/loop/pod_control.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

bool daemon_is_new(const struct daemon *look, const struct daemon_pod *pod)
{
	const char *label = neap_object_label(pod->object, NEAP_REVISION_HASH);

	return label && strcmp(label, look->hash) == 0;
}

bool daemon_is_available(struct daemon *look, const struct daemon_pod *pod)
{
	int64_t after = 0;
	bool is_so = neap_pod_is_available(&pod->facts->pod, look->min_ready_s, look->now,
					   &after);

	if (after)
		neap_look_again(&look->base, after);
	return is_so;
}

/* --- making --- */

/* Replaces the terms of the required node affinity; what is preferred stays. */
static bool aim(json_t *spec, const char *node)
{
	static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
	const json_t *affinity = json_object_get(spec, "affinity");
	const json_t *to_nodes = json_object_get(affinity, "nodeAffinity");
	json_t *whole = affinity ? neap_json_copy(affinity) : json_object();
	json_t *nodes = to_nodes ? neap_json_copy(to_nodes) : json_object();
	json_t *terms = json_pack("{s:[{s:[{s:s, s:s, s:[s]}]}]}", "nodeSelectorTerms",
				  "matchFields", "key", "metadata.name", "operator", "In",
				  "values", node);

	if (json_object_set_new(nodes, required, terms) < 0 ||
	    json_object_set(whole, "nodeAffinity", nodes) < 0 ||
	    json_object_set(spec, "affinity", whole) < 0) {
		json_decref(nodes);
		json_decref(whole);
		return false;
	}
	json_decref(nodes);
	json_decref(whole);
	return true;
}

static json_t *pod_new(const struct daemon *look, const char *node)
{
	json_t *pod = neap_pod_from_template(look->tree, DS_API, DS_KIND);
	json_t *meta = json_object_get(pod, "metadata");
	json_t *spec = json_object_get(pod, "spec");

	if (!pod)
		return NULL;
	if (!json_object_get(meta, "labels"))
		(void)json_object_set_new(meta, "labels", json_object());
	return neap_json_made(json_object_set_new(json_object_get(meta, "labels"),
						  NEAP_REVISION_HASH,
						  json_string(look->hash)) == 0 &&
				      daemon_tolerate(spec) && aim(spec, node),
			      pod);
}

/* Nothing can be created in a namespace that is being deleted. */
static bool is_ending(const struct daemon *look)
{
	const struct neap_object *ns = neap_client_newest(
		look->sets->config.client, "namespaces", "", look->base.owner->ns);

	return !ns || ns->is_deleting;
}

void daemon_create(struct daemon *look, const char *node)
{
	struct neap_client_ask ask;

	/* What refuses one would refuse the next, too. */
	if (neap_rounds_refused(look->sets->rounds, NULL) || is_ending(look) ||
	    !neap_look_may_write(&look->base, look->object))
		return;
	if (neap_look_ask(&look->base, ASK_CREATE, "pods", NULL, &ask))
		neap_client_create_take(look->sets->config.client, &ask,
					pod_new(look, node));
}

void daemon_delete(struct daemon *look, const struct daemon_pod *pod)
{
	struct neap_client_ask ask;

	if (neap_look_may_write(&look->base, pod->object) &&
	    neap_look_ask(&look->base, ASK_DELETE, "pods", pod->object->name, &ask))
		neap_client_delete(look->sets->config.client, &ask, pod->object->uid, -1);
}

/* --- a node --- */

/* Those that ended go. True: the pod runs, or will. */
static bool is_running(struct daemon *look, const struct daemon_node *node,
		       const struct daemon_pod *pod)
{
	const char *name = pod->object->name;
	const char *ns = pod->object->ns;
	int64_t left;

	if (pod->facts->pod.is_deleting)
		return false;
	if (pod->facts->pod.phase == NEAP_POD_SUCCEEDED) {
		neap_look_note(&look->base, false, "SucceededDaemonPod",
			       "Found succeeded daemon pod %s/%s on node %s, will try to "
			       "delete it",
			       ns, name, node->object->name);
		daemon_delete(look, pod);
		return false;
	}
	if (pod->facts->pod.phase != NEAP_POD_FAILED)
		return true;
	left = daemon_backoff_left(look, node->object->name);
	if (left) {
		neap_look_again(&look->base, left);
		return false;
	}
	daemon_backoff_next(look, node->object->name);
	neap_look_note(&look->base, true, "FailedDaemonPod",
		       "Found failed daemon pod %s/%s on node %s, will try to kill it",
		       ns, name, node->object->name);
	daemon_delete(look, pod);
	return false;
}

/* Of an old and a new pod on a node the old one goes when it is not ready, or the new one
 * is available; all others go. */
static void settle_surge(struct daemon *look, const struct daemon_node *node)
{
	const struct daemon_pod *fresh = NULL, *old = NULL;

	for (size_t i = node->first; i < node->first + node->count; i++) {
		const struct daemon_pod *pod = &look->pods[i];
		const struct daemon_pod **first =
			daemon_is_new(look, pod) ? &fresh : &old;

		if (pod->facts->pod.is_deleting ||
		    pod->facts->pod.phase == NEAP_POD_SUCCEEDED ||
		    pod->facts->pod.phase == NEAP_POD_FAILED)
			continue;
		if (*first)
			daemon_delete(look, pod);
		else
			*first = pod;
	}
	if (fresh && old &&
	    (!old->facts->pod.is_ready || daemon_is_available(look, fresh)))
		daemon_delete(look, old);
}

static void keep_node(struct daemon *look, const struct daemon_node *node)
{
	size_t running = 0;

	for (size_t i = node->first; i < node->first + node->count; i++) {
		if (!is_running(look, node, &look->pods[i]))
			continue;
		/* The first is the one to stay. */
		if (running++ && !look->allows_surge)
			daemon_delete(look, &look->pods[i]);
	}
	if (!look->allows_surge)
		return;
	if (!running && node->should_run)
		daemon_create(look, node->object->name);
	else if (running > 1)
		settle_surge(look, node);
}

static void clear_node(struct daemon *look, const struct daemon_node *node)
{
	for (size_t i = node->first; i < node->first + node->count; i++)
		if (!look->pods[i].facts->pod.is_deleting)
			daemon_delete(look, &look->pods[i]);
}

/* A pod that waits for a node that has gone would wait for ever. */
static void clear_lost(struct daemon *look)
{
	for (size_t i = 0; i < look->count; i++) {
		const struct daemon_pod *pod = &look->pods[i];

		if (pod->facts->pod.node[0] == '\0' && pod->facts->target[0] != '\0' &&
		    !pod->facts->pod.is_deleting &&
		    !daemon_nodes_find(look->sets->nodes, pod->facts->target))
			daemon_delete(look, pod);
	}
}

void daemon_manage(struct daemon *look)
{
	const struct daemon_nodes *nodes = look->sets->nodes;

	for (size_t i = 0; i < daemon_nodes_count(nodes); i++) {
		const struct daemon_node *node = daemon_nodes_at(nodes, i);

		if (node->should_run && !node->count)
			daemon_create(look, node->object->name);
		else if (node->may_stay)
			keep_node(look, node);
		else
			clear_node(look, node);
	}
	clear_lost(look);
}
