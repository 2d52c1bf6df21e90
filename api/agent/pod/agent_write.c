/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a pod's status and removes its object at the end. There is one write at a time,
 * each based on the last accepted one, so that other writers' changes are kept. Refused
 * writes are repeated. */
#include <string.h>

#include "api/agent/pod/agent_priv.h"
#include "api/client/client.h"
#include "engine/json/json.h"

#define PAUSE_USEC     500000
#define PAUSE_MAX_USEC 30000000
#define ADDRESS        "127.0.0.1"

static void pause_for(struct agent_pod *pod)
{
	agent_pod_wake(pod, pod->pause_usec > 0 ? pod->pause_usec : PAUSE_USEC);
	pod->pause_usec = pod->pause_usec > 0 ? 2 * pod->pause_usec : 2 * PAUSE_USEC;
	if (pod->pause_usec > PAUSE_MAX_USEC)
		pod->pause_usec = PAUSE_MAX_USEC;
}

static void told(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	struct agent_pod *pod = arg;
	bool is_usual = object != NULL || failure->reason == NEAP_CLIENT_CONFLICT ||
			failure->reason == NEAP_CLIENT_NOT_FOUND;

	pod->is_writing = false;
	if (pod->agent != NULL) {
		if (object != NULL)
			pod->pause_usec = 0;
		else if (!is_usual)
			neap_log_line(pod->agent->config.log, NEAP_LOG_WARN,
				      "pod %s/%s: its status was not taken: %s", pod->ns,
				      pod->name, failure->message);
		if (is_usual)
			agent_pod_wake(pod, object != NULL ? 0 : PAUSE_USEC / 10);
		else
			pause_for(pod);
	}
	agent_pod_unref(pod);
}

static void told_removed(void *arg, struct neap_object *object,
			 const struct neap_client_failure *failure)
{
	struct agent_pod *pod = arg;

	if (object == NULL && failure->reason != NEAP_CLIENT_NOT_FOUND) {
		pod->is_removing = false;
		if (pod->agent != NULL)
			pause_for(pod);
	}
	agent_pod_unref(pod);
}

static struct neap_client_ask
ask_of(struct agent_pod *pod, void (*call)(void *arg, struct neap_object *object,
					   const struct neap_client_failure *failure))
{
	return (struct neap_client_ask){.resource = "pods",
					.ns = pod->ns,
					.name = pod->name,
					.told = call,
					.arg = agent_pod_ref(pod)};
}

/* Makes the object with its present status; *ret NULL: nothing differs. False without
 * memory. */
static bool make(struct agent_pod *pod, struct neap_object *newest, json_t **ret)
{
	const json_t *gates = json_object_get(agent_spec(pod), "readinessGates");
	const struct neap_pod_who who = {pod->ns, pod->name, pod->uid, ADDRESS, gates};
	json_t *tree = neap_object_tree(newest);
	const json_t *before = json_object_get(tree, "status");
	json_t *status = before != NULL ? neap_json_deep_copy(before) : json_object();
	bool is_made =
		tree != NULL && status != NULL &&
		neap_pod_life_set_status(&pod->life, &who, agent_now(pod->agent), status);

	*ret = NULL;
	if (is_made && json_equal(status, before)) {
		json_decref(status);
		json_decref(tree);
		return true;
	}
	if (is_made)
		is_made = json_object_set(tree, "status", status) == 0;
	json_decref(status);
	if (is_made)
		*ret = tree;
	else
		json_decref(tree);
	return is_made;
}

bool agent_write(struct agent_pod *pod)
{
	struct neap_agent *agent = pod->agent;
	struct neap_object *newest;
	struct neap_client_ask ask;
	json_t *tree;

	if (pod->is_writing || pod->tree == NULL)
		return false;
	newest = neap_client_newest(agent->config.client, "pods", pod->ns, pod->name);
	if (newest == NULL || strcmp(newest->uid, pod->uid) != 0)
		return false; /* it is being deleted, which an event reports too */
	if (!make(pod, newest, &tree)) {
		pause_for(pod);
		return false;
	}
	if (tree == NULL)
		return true;
	pod->is_writing = true;
	ask = ask_of(pod, told);
	neap_client_update_take(agent->config.client, &ask, true, tree);
	return false;
}

void agent_remove(struct agent_pod *pod)
{
	struct neap_client_ask ask;

	if (pod->is_removing)
		return;
	pod->is_removing = true;
	ask = ask_of(pod, told_removed);
	neap_client_delete(pod->agent->config.client, &ask, pod->uid, 0);
}
