/* SPDX-License-Identifier: Apache-2.0
 *
 * Receives pods from the store and events of their commands from the keeper, and passes
 * both to the pod concerned. */
#include "api/agent/pod/agent.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/agent/pod/agent_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

/* Number of events handled in one turn of the loop. */
#define PIECE      100
#define RETRY_USEC 500000

int64_t agent_now(const struct neap_agent *agent)
{
	return agent->config.now != NULL ? agent->config.now()
					 : neap_clock_usec(CLOCK_REALTIME);
}

static void wake(struct neap_agent *agent, int64_t usec)
{
	struct timeval after = {.tv_sec = usec / 1000000, .tv_usec = usec % 1000000};

	(void)event_add(agent->turn, &after);
}

static void ready(void *arg)
{
	wake(arg, 0);
}

/* --- ids --- */

#define ID_TEXT 24

static const char *id_text(uint64_t id, char buf[ID_TEXT])
{
	(void)snprintf(buf, ID_TEXT, "%" PRIx64, id);
	return buf;
}

uint64_t agent_id_new(struct neap_agent *agent, struct agent_container *container,
		      struct neap_probe *probe)
{
	struct agent_id *id = neap_alloc(sizeof(*id));
	char text[ID_TEXT];

	if (id == NULL)
		return 0;
	*id = (struct agent_id){container, probe};
	if (!neap_map_set(agent->ids, id_text(agent->last_id + 1, text), id)) {
		free(id);
		return 0;
	}
	return ++agent->last_id;
}

void agent_id_drop(struct neap_agent *agent, uint64_t id)
{
	char text[ID_TEXT];

	free(neap_map_remove(agent->ids, id_text(id, text)));
}

/* --- pods --- */

size_t agent_count_running(const struct neap_agent *agent)
{
	size_t count = 0;

	for (size_t i = 0; i < neap_map_count(agent->pods); i++) {
		const char *uid;
		const struct agent_pod *pod = neap_map_at(agent->pods, i, &uid);

		count += pod->is_admitted && !pod->life.is_over;
	}
	return count;
}

/* The map has the agent's reference to a pod. */
static bool keep(struct neap_agent *agent, struct agent_pod *pod)
{
	if (pod != NULL && neap_map_set(agent->pods, pod->uid, pod))
		return true;
	if (pod != NULL)
		agent_pod_drop(pod);
	return false;
}

void agent_forget_pod(struct agent_pod *pod)
{
	struct neap_agent *agent = pod->agent;

	/* A process may be writing in it now: try again later. */
	if (!agent_folder_remove(agent->config.dir, pod->uid, NULL, 0)) {
		agent->has_left = true;
		wake(agent, RETRY_USEC);
	}
	(void)neap_map_remove(agent->pods, pod->uid);
	agent_pod_drop(pod);
}

static bool is_mine(const struct neap_agent *agent, const struct neap_object *object)
{
	const char *node = neap_object_field(object, "spec.nodeName");

	return node != NULL && node[0] != '\0' &&
	       strcmp(node, agent->config.node_name) == 0;
}

/* A pod that failed for want of memory comes again with the next list. */
static void take(struct neap_agent *agent, struct neap_object *object)
{
	struct agent_pod *pod = neap_map_find(agent->pods, object->uid);
	json_t *tree;

	if (!is_mine(agent, object))
		return;
	tree = neap_object_tree(object);
	agent->is_lost = agent->is_lost || tree == NULL;
	if (pod != NULL)
		agent_pod_hear_take(pod, tree);
	else if (tree != NULL && !keep(agent, agent_pod_new(agent, tree, object)))
		agent->is_lost = true;
	pod = neap_map_find(agent->pods, object->uid);
	if (pod != NULL)
		pod->is_seen = true;
}

static bool take_listed(void *arg, struct neap_object *object)
{
	take(arg, object);
	return true;
}

/* Takes all present pods; those that are missing have gone. */
static int list(struct neap_agent *agent, struct neap_error *err)
{
	struct neap_client *client = agent->config.client;
	struct neap_client_place place = {.version = neap_client_version(client)};
	const char *uid;
	int rc;

	agent->is_lost = false;
	for (size_t i = 0; i < neap_map_count(agent->pods); i++) {
		struct agent_pod *pod = neap_map_at(agent->pods, i, &uid);

		pod->is_seen = false;
	}
	neap_client_watch_free(agent->watch);
	agent->watch = NULL;
	rc = neap_client_watch_new(client, "pods", place.version, ready, agent,
				   &agent->watch, err);
	if (rc >= 0)
		rc = neap_client_list(client, "pods", NULL, &place, take_listed, agent,
				      err);
	if (rc < 0) {
		agent->is_lost = true;
		return rc;
	}
	for (size_t i = 0; !agent->is_lost && i < neap_map_count(agent->pods); i++) {
		struct agent_pod *pod = neap_map_at(agent->pods, i, &uid);

		if (!pod->is_seen)
			agent_pod_end(pod);
	}
	return 0;
}

static void hear_store(struct neap_agent *agent)
{
	const struct neap_client_event *event;
	struct neap_error err;

	for (int left = PIECE; left > 0; left--) {
		int rc = neap_client_watch_next(agent->watch, &event, &err);
		struct agent_pod *pod;

		if (rc <= 0) {
			agent->is_lost = agent->is_lost || rc < 0;
			return;
		}
		pod = neap_map_find(agent->pods, event->object->uid);
		if (event->what != NEAP_CLIENT_DELETED)
			take(agent, event->object);
		else if (pod != NULL)
			agent_pod_end(pod);
	}
	wake(agent, 0);
}

/* A folder without a pod has the remains of one. */
static bool take_folder(void *arg, const char *name)
{
	struct neap_agent *agent = arg;

	if (name[0] != '.' && strlen(name) < NEAP_OBJECT_UID &&
	    neap_map_find(agent->pods, name) == NULL)
		(void)keep(agent, agent_pod_new_orphan(agent, name));
	return true;
}

static void turn(int fd, short what, void *arg)
{
	struct neap_agent *agent = arg;
	struct neap_error err;

	(void)fd;
	(void)what;
	if (agent->has_left) {
		agent->has_left = false;
		agent_folder_list(agent->config.dir, NULL, take_folder, agent);
	}
	if (!agent->is_lost)
		hear_store(agent);
	if (!agent->is_lost)
		return;
	if (list(agent, &err) < 0)
		neap_log_line(agent->config.log, NEAP_LOG_WARN,
			      "pods are looked for again: %s", err.msg);
	wake(agent, agent->is_lost ? RETRY_USEC : 0);
}

/* --- the keeper --- */

static void dispatch(struct neap_agent *agent, const struct neap_keeper_event *event)
{
	char text[ID_TEXT];
	const struct agent_id *id = neap_map_find(agent->ids, id_text(event->id, text));

	if (id == NULL) {
		if (event->fd >= 0)
			(void)close(event->fd);
	} else if (id->probe != NULL) {
		neap_probe_hear(id->probe, event);
	} else {
		agent_hear(id->container, event);
	}
}

static void hear_keeper(int fd, short what, void *arg)
{
	struct neap_agent *agent = arg;
	struct neap_keeper_event event;
	struct neap_error err;

	(void)fd;
	(void)what;
	for (int left = PIECE; left > 0; left--) {
		int rc = neap_keeper_next(agent->config.keeper, &event, &err);

		if (rc > 0) {
			dispatch(agent, &event);
			continue;
		}
		if (rc < 0 && !agent->is_keeper_gone) {
			agent->is_keeper_gone = true;
			neap_log_line(agent->config.log, NEAP_LOG_ERROR,
				      "no pod can be started any more: %s", err.msg);
		}
		return;
	}
}

/* --- its own life --- */

static int begin(struct neap_agent *agent, struct neap_error *err)
{
	const struct neap_agent_config *config = &agent->config;
	int rc;

	agent->pods = neap_map_new();
	agent->ids = neap_map_new();
	agent->turn = event_new(config->base, -1, 0, turn, agent);
	agent->heard = event_new(config->base, neap_keeper_fd(config->keeper),
				 EV_READ | EV_PERSIST, hear_keeper, agent);
	if (agent->pods == NULL || agent->ids == NULL || agent->turn == NULL ||
	    agent->heard == NULL || event_add(agent->heard, NULL) < 0)
		return neap_error_nomem(err);
	rc = list(agent, err);
	if (rc < 0)
		return rc;
	if (agent->is_lost)
		return neap_error_nomem(err);
	agent_folder_list(config->dir, NULL, take_folder, agent);
	wake(agent, 0);
	return 0;
}

int neap_agent_new(const struct neap_agent_config *config, struct neap_agent **ret,
		   struct neap_error *err)
{
	struct neap_agent *agent = neap_alloc(sizeof(*agent));
	int rc;

	if (agent == NULL)
		return neap_error_nomem(err);
	agent->config = *config;
	rc = begin(agent, err);
	if (rc < 0) {
		neap_agent_free(agent);
		return rc;
	}
	*ret = agent;
	return 0;
}

void neap_agent_free(struct neap_agent *agent)
{
	const char *key;

	if (agent == NULL)
		return;
	neap_client_watch_free(agent->watch);
	while (agent->pods != NULL && neap_map_count(agent->pods) > 0) {
		struct agent_pod *pod =
			neap_map_at(agent->pods, neap_map_count(agent->pods) - 1, &key);

		(void)neap_map_remove(agent->pods, pod->uid);
		agent_pod_drop(pod);
	}
	neap_map_free(agent->pods);
	neap_map_free(agent->ids);
	if (agent->turn != NULL)
		event_free(agent->turn);
	if (agent->heard != NULL)
		event_free(agent->heard);
	free(agent);
}
