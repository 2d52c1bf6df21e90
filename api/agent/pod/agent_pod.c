/* SPDX-License-Identifier: Apache-2.0
 *
 * One pod: after each event and at each due time, asks the pod's life for actions and
 * does them. */
#include <event2/event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent/pod/agent_priv.h"
#include "api/agent/pod/pins.h"
#include "api/client/events.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define WAKE_MAX_USEC (3600 * INT64_C(1000000))
/* Interval in which a node that cannot start anything is checked again. */
#define HINDERED_S 5
/* ... and one that soon can. */
#define OPEN_USEC 50000

const json_t *agent_spec(const struct agent_pod *pod)
{
	return json_object_get(pod->tree, "spec");
}

const json_t *agent_container_spec(const struct agent_container *container)
{
	const json_t *spec = agent_spec(container->pod);
	const json_t *init = json_object_get(spec, "initContainers");
	size_t count = json_array_size(init);

	if (container->index < count)
		return json_array_get(init, container->index);
	return json_array_get(json_object_get(spec, "containers"),
			      container->index - count);
}

void agent_note(struct agent_pod *pod, const struct agent_container *container,
		bool is_warning, const char *reason, const char *fmt, ...)
{
	const struct neap_pod_container *one =
		container != NULL ? &pod->life.containers[container->index] : NULL;
	struct neap_client_note note = {.api_version = "v1",
					.kind = "Pod",
					.ns = pod->ns,
					.name = pod->name,
					.uid = pod->uid,
					.is_warning = is_warning,
					.reason = reason,
					.component = "kubelet"};
	char message[1024], path[128];
	va_list args;

	/* An orphan has no name for an event, and a pod that the store no longer has
	 * needs none. */
	if (pod->agent == NULL || pod->tree == NULL || pod->life.is_gone)
		return;
	note.host = pod->agent->config.node_name;
	if (one != NULL) {
		(void)snprintf(path, sizeof(path), "spec.%s{%s}",
			       one->is_init ? "initContainers" : "containers", one->name);
		note.field_path = path;
	}
	va_start(args, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	neap_utf8_trim(message);
	neap_client_note(pod->agent->config.client, &note, "%s", message);
}

/* --- its life --- */

struct agent_pod *agent_pod_ref(struct agent_pod *pod)
{
	pod->refs++;
	return pod;
}

void agent_pod_unref(struct agent_pod *pod)
{
	if (--pod->refs > 0)
		return;
	json_decref(pod->tree);
	neap_pod_life_done(&pod->life);
	free(pod->containers);
	free(pod);
}

void agent_pod_drop(struct agent_pod *pod)
{
	for (size_t i = 0; i < pod->life.count; i++)
		agent_forget(&pod->containers[i]);
	event_free(pod->turn);
	pod->agent = NULL;
	agent_pod_unref(pod);
}

void agent_pod_wake(struct agent_pod *pod, int64_t usec)
{
	int64_t due = neap_clock_usec(CLOCK_MONOTONIC) + usec;
	struct timeval after;

	if (pod->agent == NULL || (pod->due_usec != 0 && pod->due_usec <= due))
		return;
	pod->due_usec = due;
	if (usec > WAKE_MAX_USEC)
		usec = WAKE_MAX_USEC;
	after = (struct timeval){.tv_sec = usec / 1000000, .tv_usec = usec % 1000000};
	(void)event_add(pod->turn, &after);
}

/* --- groups --- */

static void prepared(void *arg, const struct neap_error *failure)
{
	struct agent_pod *pod = arg;
	struct neap_agent *agent = pod->agent;

	if (agent != NULL) {
		neap_pod_life_prepared(&pod->life, failure == NULL, agent_now(agent));
		if (failure != NULL)
			agent_note(pod, NULL, true, "FailedCreatePodContainer",
				   "unable to ensure pod container exists: %s",
				   failure->msg);
		else if (pod->life.is_released) /* it ended meanwhile */
			neap_node_pod_remove(agent->config.node, pod->uid, NULL, NULL);
		agent_pod_wake(pod, 0);
	}
	agent_pod_unref(pod);
}

/* Reads the resources of a container, or those of the pod's spec for the whole pod. */
static void set_amounts(struct neap_node_container *to, const json_t *spec)
{
	to->cpu_request_milli = agent_amount(spec, "requests", "cpu");
	to->cpu_limit_milli = agent_amount(spec, "limits", "cpu");
	to->memory_limit_bytes = agent_amount(spec, "limits", "memory");
}

/* Asks for the pod's own CPUs before its first process, so that none ever runs on other
 * ones; changes come through pins.h, which also tells of a refusal. False: another pod
 * has them. */
static bool may_have_cpus(struct agent_pod *pod)
{
	const struct neap_node_pin_of of = {pod->uid, pod->ns, pod->name};
	struct neap_cpu_said said = {0};
	struct neap_error err = {0};
	bool is_refused = neap_pins_read(pod->tree, &said, NULL) != -NEAP_ENOMEM &&
			  neap_node_pin(pod->agent->config.node, &of, &said, &err) ==
				  -NEAP_ECONFLICT;

	(void)neap_strcopy(pod->life.held, sizeof(pod->life.held),
			   is_refused ? err.msg : "");
	return !is_refused;
}

static void prepare(struct agent_pod *pod)
{
	const struct neap_agent_config *config = &pod->agent->config;
	struct neap_node_container list[NEAP_NODE_CONTAINERS_MAX];
	const json_t *labels =
		json_object_get(json_object_get(pod->tree, "metadata"), "labels");
	struct neap_node_pod group = {
		.uid = pod->uid,
		.ns = pod->ns,
		.name = pod->name,
		.qos = neap_qos_parse(neap_json_text(labels, "koordinator.sh/qosClass")),
		.kube_qos = NEAP_KUBE_BESTEFFORT,
		.containers = list,
		.container_count = pod->life.count,
	};

	if (!may_have_cpus(pod)) {
		neap_pod_life_prepared(&pod->life, false, agent_now(pod->agent));
		agent_pod_wake(pod, 0);
		return;
	}
	(void)neap_kube_qos_parse(
		neap_json_text(json_object_get(pod->tree, "status"), "qosClass"),
		&group.kube_qos, NULL);
	for (size_t i = 0; i < pod->life.count; i++) {
		list[i] = (struct neap_node_container){
			.name = pod->life.containers[i].name,
			.processes_max = config->processes_max,
			.is_init = pod->life.containers[i].is_init,
		};
		set_amounts(&list[i], agent_container_spec(&pod->containers[i]));
	}
	set_amounts(&group.whole, agent_spec(pod));
	neap_node_pod_add(config->node, &group, prepared, agent_pod_ref(pod));
}

/* --- a turn --- */

/* Reads what others decide: deletion, deadline, and an end that was set from outside. */
static void look_up(struct agent_pod *pod)
{
	const json_t *meta = json_object_get(pod->tree, "metadata");
	const json_t *grace = json_object_get(meta, "deletionGracePeriodSeconds");
	const char *phase = neap_json_text(json_object_get(pod->tree, "status"), "phase");
	const json_t *deadline =
		json_object_get(agent_spec(pod), "activeDeadlineSeconds");
	struct neap_pod_life *life = &pod->life;

	if (json_object_get(meta, "deletionTimestamp") != NULL) {
		life->is_deleting = true;
		life->delete_grace_s =
			json_is_integer(grace) ? json_integer_value(grace) : 0;
	}
	if (json_is_integer(deadline))
		life->deadline_s = json_integer_value(deadline);
	if (life->phase >= NEAP_POD_SUCCEEDED)
		return;
	if (strcmp(phase, "Failed") == 0)
		life->phase = NEAP_POD_FAILED;
	else if (strcmp(phase, "Succeeded") == 0)
		life->phase = NEAP_POD_SUCCEEDED;
}

static void reject(struct agent_pod *pod, const char *reason, const char *why)
{
	struct neap_pod_life *life = &pod->life;

	life->is_refused = true;
	(void)neap_strcopy(life->reason, sizeof(life->reason), reason);
	(void)snprintf(life->message, sizeof(life->message), "Pod was rejected: %s", why);
	agent_note(pod, NULL, true, reason, "%s", why);
}

static void admit(struct agent_pod *pod)
{
	struct neap_pod_life *life = &pod->life;
	struct neap_agent *agent = pod->agent;
	size_t count = agent_count_running(agent);
	char why[128];

	if (pod->is_admitted || pod->tree == NULL || life->is_deleting || life->is_gone ||
	    life->is_refused || life->phase >= NEAP_POD_SUCCEEDED)
		return;
	if (count >= (size_t)agent->config.pods_max) {
		(void)snprintf(why, sizeof(why),
			       "Node didn't have enough resource: pods, requested: 1, "
			       "used: %zu, capacity: %d",
			       count, agent->config.pods_max);
		reject(pod, "OutOfpods", why);
		return;
	}
	pod->is_admitted = true;
	life->start_usec = agent_now(agent);
	agent_tell_unsupported(pod);
}

/* Whether anything can be started; running containers go on in any case. *ret_why NULL:
 * it is only a moment. */
static bool may_start(const struct neap_agent *agent, const char **ret_why)
{
	const char *state = neap_node_state(agent->config.node, ret_why);

	if (!neap_node_is_open(agent->config.node)) {
		*ret_why = NULL;
		return false;
	}
	if (agent->is_keeper_gone) {
		*ret_why = "the keeper, which starts commands, has ended";
		return false;
	}
	if (strcmp(state, "acting") == 0)
		return true;
	*ret_why = state;
	return false;
}

static void kill_container(struct agent_container *container, bool is_unwell, int signo)
{
	struct agent_pod *pod = container->pod;
	const struct neap_pod_container *one = &pod->life.containers[container->index];

	if (signo == SIGTERM || one->term_usec == 0) {
		if (!is_unwell)
			agent_note(pod, container, false, "Killing",
				   "Stopping container %s", one->name);
	}
	agent_signal(container, signo);
}

static void act(struct agent_pod *pod, const struct neap_pod_action *action)
{
	struct agent_container *container = &pod->containers[action->container];
	struct neap_pod_life *life = &pod->life;

	switch (action->act) {
	case NEAP_POD_PREPARE:
		prepare(pod);
		break;
	case NEAP_POD_START:
		agent_start(container, action->attempt);
		break;
	case NEAP_POD_TERM:
		kill_container(container, action->is_unwell, SIGTERM);
		break;
	case NEAP_POD_KILL:
		kill_container(container, action->is_unwell, SIGKILL);
		break;
	case NEAP_POD_PAUSE:
		agent_note(pod, container, true, "BackOff",
			   "Back-off restarting failed container %s in pod %s_%s(%s)",
			   life->containers[action->container].name, pod->name, pod->ns,
			   pod->uid);
		break;
	case NEAP_POD_RELEASE:
		if (life->groups != NEAP_POD_GROUPS_NONE)
			neap_node_pod_remove(pod->agent->config.node, pod->uid, NULL,
					     NULL);
		break;
	}
}

static int64_t second(const struct agent_pod *pod)
{
	int64_t usec = pod->agent->config.second_usec;

	return usec > 0 ? usec : 1000000;
}

static void tell_hindered(struct agent_pod *pod, bool is_hindered, const char *why)
{
	if (is_hindered && why == NULL) {
		agent_pod_wake(pod, OPEN_USEC);
		return;
	}
	if (is_hindered && !pod->is_hindered)
		agent_note(pod, NULL, true, "NodeNotReady",
			   "nothing can be started on this node now: %s", why);
	pod->is_hindered = is_hindered;
	if (is_hindered)
		agent_pod_wake(pod, HINDERED_S * second(pod));
}

static void live(struct agent_pod *pod)
{
	struct neap_pod_life *life = &pod->life;
	int64_t now = agent_now(pod->agent);
	struct neap_pod_step step;
	const char *why = "";

	for (size_t i = 0; i < life->count; i++)
		if (life->containers[i].is_adopted)
			agent_adopt(&pod->containers[i]);
	life->may_start = may_start(pod->agent, &why);
	neap_pod_life_step(life, now, &step);
	for (size_t i = 0; i < step.count; i++) {
		act(pod, &step.actions[i]);
		/* A start may have been delayed or found something running: the next turn
		 * sees it. */
		if (step.actions[i].act == NEAP_POD_START)
			agent_pod_wake(pod, 0);
	}
	for (size_t i = 0; i < life->count; i++)
		agent_move(&pod->containers[i]);
	tell_hindered(pod, step.is_hindered, why);
	if (step.next_usec > 0)
		agent_pod_wake(pod, step.next_usec > now ? step.next_usec - now : 1000);
}

static void turn(int fd, short what, void *arg)
{
	struct agent_pod *pod = agent_pod_ref(arg);

	(void)fd;
	(void)what;
	pod->due_usec = 0;
	look_up(pod);
	admit(pod);
	live(pod);
	if (pod->life.is_gone && pod->life.is_over)
		agent_forget_pod(pod);
	else if (!pod->life.is_gone && agent_write(pod) && pod->life.is_over &&
		 pod->life.is_deleting)
		agent_remove(pod);
	agent_pod_unref(pod);
}

/* --- making one --- */

static struct agent_pod *make(struct neap_agent *agent, const char *uid)
{
	struct agent_pod *pod = neap_alloc(sizeof(*pod));

	if (pod == NULL)
		return NULL;
	pod->refs = 1;
	pod->agent = agent;
	(void)neap_strcopy(pod->uid, sizeof(pod->uid), uid);
	pod->turn = event_new(agent->config.base, -1, 0, turn, pod);
	if (pod->turn == NULL) {
		agent_pod_unref(pod);
		return NULL;
	}
	return pod;
}

static bool make_containers(struct agent_pod *pod)
{
	pod->containers = neap_alloc_array(pod->life.count ? pod->life.count : 1,
					   sizeof(*pod->containers));
	if (pod->containers == NULL) {
		neap_pod_life_done(&pod->life);
		return false;
	}
	for (size_t i = 0; i < pod->life.count; i++)
		pod->containers[i] =
			(struct agent_container){.pod = pod, .index = i, .fd = -1};
	return true;
}

/* Takes over the containers of an earlier daemon. */
static void take_over(struct agent_pod *pod)
{
	const char *dir = pod->agent->config.dir;
	int newest[NEAP_POD_CONTAINERS_MAX];

	for (size_t i = 0; i < pod->life.count; i++)
		newest[i] =
			agent_folder_newest(dir, pod->uid, pod->life.containers[i].name);
	neap_pod_life_get_status(&pod->life, json_object_get(pod->tree, "status"), newest,
				 agent_now(pod->agent));
	pod->is_admitted = pod->life.start_usec > 0;
}

struct agent_pod *agent_pod_new(struct neap_agent *agent, json_t *tree,
				const struct neap_object *object)
{
	struct agent_pod *pod = tree != NULL ? make(agent, object->uid) : NULL;
	struct neap_error err = {0};
	int rc;

	if (pod == NULL) {
		json_decref(tree);
		return NULL;
	}
	pod->tree = tree;
	(void)neap_strcopy(pod->ns, sizeof(pod->ns), object->ns);
	(void)neap_strcopy(pod->name, sizeof(pod->name), object->name);
	rc = agent_decode(pod, &err);
	if (rc < 0)
		neap_pod_life_done(&pod->life);
	if (rc == -NEAP_ENOMEM || !make_containers(pod)) {
		agent_pod_drop(pod);
		return NULL;
	}
	if (rc < 0)
		look_up(pod);
	else
		take_over(pod);
	if (rc < 0 && pod->life.phase < NEAP_POD_SUCCEEDED)
		reject(pod, "UnexpectedAdmissionError", err.msg);
	agent_pod_wake(pod, 0);
	return pod;
}

struct names {
	char list[NEAP_POD_CONTAINERS_MAX][NEAP_POD_NAME];
	size_t count;
	struct agent_pod *pod;
};

static bool take_name(void *arg, const char *name)
{
	struct names *names = arg;
	struct agent_pod *pod = names->pod;

	if (agent_folder_newest(pod->agent->config.dir, pod->uid, name) >= 0 &&
	    neap_strcopy(names->list[names->count], NEAP_POD_NAME, name))
		names->count++;
	return names->count < NEAP_POD_CONTAINERS_MAX;
}

struct agent_pod *agent_pod_new_orphan(struct neap_agent *agent, const char *uid)
{
	struct agent_pod *pod = make(agent, uid);
	struct names names = {.pod = pod};

	if (pod == NULL)
		return NULL;
	agent_folder_list(agent->config.dir, uid, take_name, &names);
	/* Nothing of it was ever started, or neapd ended while it was removed. */
	if (names.count == 0)
		(void)agent_folder_remove(agent->config.dir, uid, NULL, 0);
	if (names.count == 0 || neap_pod_life_init(&pod->life, names.count, NULL) < 0 ||
	    !make_containers(pod)) {
		agent_pod_drop(pod);
		return NULL;
	}
	pod->life.is_gone = true;
	for (size_t i = 0; i < names.count; i++) {
		(void)neap_strcopy(pod->life.containers[i].name, NEAP_POD_NAME,
				   names.list[i]);
		neap_pod_life_adopt(&pod->life, i,
				    (unsigned)agent_folder_newest(agent->config.dir, uid,
								  names.list[i]));
	}
	agent_pod_wake(pod, 0);
	return pod;
}

void agent_pod_hear_take(struct agent_pod *pod, json_t *tree)
{
	if (tree != NULL) {
		json_decref(pod->tree);
		pod->tree = tree;
	}
	agent_pod_wake(pod, 0);
}

void agent_pod_end(struct agent_pod *pod)
{
	pod->life.is_gone = true;
	agent_pod_wake(pod, 0);
}
