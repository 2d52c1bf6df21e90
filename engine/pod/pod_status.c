/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts a pod's life to its status, in a kubelet's words, and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/pod/pod_life.h"

#define ID_SIZE 256

static const char *const phase_names[] = {"Pending", "Running", "Succeeded", "Failed"};

struct teller {
	const struct neap_pod_life *life;
	const struct neap_pod_who *who;
	char now[32];
	bool failed;
};

static void put_take(struct teller *teller, json_t *object, const char *name,
		     json_t *value)
{
	if (json_object_set_new(object, name, value) < 0)
		teller->failed = true;
}

static void put_text(struct teller *teller, json_t *object, const char *name,
		     const char *text)
{
	put_take(teller, object, name, json_string(text));
}

static void put_time(struct teller *teller, json_t *object, const char *name,
		     int64_t usec)
{
	char buf[32];

	if (usec > 0)
		put_text(teller, object, name,
			 neap_time_format(usec, 0, buf, sizeof(buf)));
}

/* "neap://UID/NAME/ATTEMPT" */
static void put_id(struct teller *teller, json_t *object,
		   const struct neap_pod_container *one, unsigned attempt)
{
	char id[ID_SIZE];

	(void)snprintf(id, sizeof(id), "neap://%s/%s/%u", teller->who->uid, one->name,
		       attempt);
	put_text(teller, object, "containerID", id);
}

/* --- containers --- */

static json_t *make_end(struct teller *teller, const struct neap_pod_container *one,
			const struct neap_pod_end *end)
{
	json_t *ended = json_object();

	put_take(teller, ended, "exitCode", json_integer(end->exit_code));
	if (end->signo != 0)
		put_take(teller, ended, "signal", json_integer(end->signo));
	put_text(teller, ended, "reason", end->reason);
	if (end->message[0] != '\0')
		put_text(teller, ended, "message", end->message);
	put_time(teller, ended, "startedAt", end->started_usec);
	put_time(teller, ended, "finishedAt", end->ended_usec);
	put_id(teller, ended, one, end->attempt);
	return ended;
}

static json_t *make_waiting(struct teller *teller, const char *reason,
			    const char *message)
{
	json_t *waiting = json_object();

	put_text(teller, waiting, "reason", reason);
	if (message != NULL && message[0] != '\0')
		put_text(teller, waiting, "message", message);
	return waiting;
}

/* *ret_last: the end to be shown as that of the last attempt. */
static json_t *make_state(struct teller *teller, const struct neap_pod_container *one,
			  const struct neap_pod_end **ret_last)
{
	json_t *state = json_object(), *running;
	bool is_first = neap_pod_life_is_initialized(teller->life) || one->is_init;
	char message[512];

	*ret_last = &one->last;
	if (one->state == NEAP_POD_UP) {
		running = json_object();
		put_time(teller, running, "startedAt", one->started_usec);
		put_take(teller, state, "running", running);
	} else if (one->state == NEAP_POD_ENDED && !one->is_pausing &&
		   one->refused[0] == '\0') {
		put_take(teller, state, "terminated", make_end(teller, one, &one->end));
	} else if (teller->life->is_over && one->state == NEAP_POD_ENDED) {
		put_take(teller, state, "terminated", make_end(teller, one, &one->end));
	} else if (one->refused[0] != '\0' && one->state != NEAP_POD_STARTING) {
		if (one->state == NEAP_POD_ENDED)
			*ret_last = &one->end;
		put_take(
			teller, state, "waiting",
			make_waiting(teller, "CreateContainerConfigError", one->refused));
	} else if (one->state == NEAP_POD_ENDED) {
		*ret_last = &one->end;
		(void)snprintf(message, sizeof(message),
			       "back-off %llds restarting failed container=%s "
			       "pod=%s_%s(%s)",
			       (long long)one->pause_s, one->name, teller->who->name,
			       teller->who->ns, teller->who->uid);
		put_take(teller, state, "waiting",
			 make_waiting(teller, "CrashLoopBackOff", message));
	} else if (teller->life->held[0] != '\0') {
		put_take(teller, state, "waiting",
			 make_waiting(teller, "CPUsInUse", teller->life->held));
	} else {
		put_take(teller, state, "waiting",
			 make_waiting(teller,
				      is_first ? "ContainerCreating" : "PodInitializing",
				      NULL));
	}
	return state;
}

static bool is_ready(const struct neap_pod_container *one)
{
	if (one->is_init)
		return one->state == NEAP_POD_ENDED && one->end.exit_code == 0;
	return neap_pod_life_is_ready(one);
}

/* A requested start counts once it is known to be received: a daemon that ends before
 * must leave no trace of such an attempt. -1: none. */
static int told_attempt(const struct neap_pod_container *one)
{
	if (one->state == NEAP_POD_UNBORN)
		return -1;
	return (int)one->attempt - (one->state == NEAP_POD_STARTING && !one->is_adopted);
}

static json_t *make_container(struct teller *teller, const struct neap_pod_container *one)
{
	json_t *status = json_object(), *last = json_object();
	const struct neap_pod_end *end;
	int told = told_attempt(one);

	put_text(teller, status, "name", one->name);
	put_take(teller, status, "state", make_state(teller, one, &end));
	if (end->is_there)
		put_take(teller, last, "terminated", make_end(teller, one, end));
	put_take(teller, status, "lastState", last);
	put_take(teller, status, "ready", json_boolean(is_ready(one)));
	put_take(teller, status, "restartCount", json_integer(told < 0 ? 0 : told));
	put_text(teller, status, "image", one->image ? one->image : "");
	put_text(teller, status, "imageID", "");
	if (told >= 0)
		put_id(teller, status, one, (unsigned)told);
	put_take(teller, status, "started", json_boolean(neap_pod_life_is_started(one)));
	return status;
}

static void put_containers(struct teller *teller, json_t *status, bool is_init)
{
	const struct neap_pod_life *life = teller->life;
	json_t *list = json_array();

	for (size_t i = 0; i < life->count; i++)
		if (life->containers[i].is_init == is_init &&
		    json_array_append_new(
			    list, make_container(teller, &life->containers[i])) < 0)
			teller->failed = true;
	if (is_init && json_array_size(list) == 0)
		json_decref(list);
	else
		put_take(teller, status,
			 is_init ? "initContainerStatuses" : "containerStatuses", list);
}

/* --- conditions --- */

/* reason NULL: none. It keeps its time while it says the same. */
static void put_condition(struct teller *teller, json_t *list, const char *type,
			  bool is_true, const char *reason, const char *message)
{
	json_t *condition = neap_json_find(list, "type", type);
	const char *says = is_true ? "True" : "False";
	const char *said = json_string_value(json_object_get(condition, "status"));

	if (condition == NULL) {
		condition = json_object();
		put_text(teller, condition, "type", type);
		put_take(teller, condition, "lastProbeTime", json_null());
		if (json_array_append_new(list, condition) < 0) {
			teller->failed = true;
			return;
		}
	}
	if (said == NULL || strcmp(said, says) != 0) {
		put_text(teller, condition, "status", says);
		put_text(teller, condition, "lastTransitionTime", teller->now);
	}
	if (reason != NULL)
		put_text(teller, condition, "reason", reason);
	else
		(void)json_object_del(condition, "reason");
	if (message != NULL && message[0] != '\0')
		put_text(teller, condition, "message", message);
	else
		(void)json_object_del(condition, "message");
}

/* "containers with unready status: [a b]"; what does not fit is left out. */
static bool name_others(const struct neap_pod_life *life, bool is_init, const char *what,
			char *to, size_t size)
{
	size_t at = (size_t)snprintf(to, size, "containers with %s status: [", what);
	bool is_any = false;

	for (size_t i = 0; i < life->count; i++) {
		const struct neap_pod_container *one = &life->containers[i];

		if (one->is_init != is_init || is_ready(one))
			continue;
		if (at + strlen(one->name) + 3 < size)
			at += (size_t)snprintf(to + at, size - at, "%s%s",
					       is_any ? " " : "", one->name);
		is_any = true;
	}
	(void)snprintf(to + at, size - at, "]");
	return is_any;
}

static const char *find_gate(const struct teller *teller, const json_t *list)
{
	const json_t *gate;
	size_t i;

	json_array_foreach (teller->who->gates, i, gate) {
		const char *type =
			json_string_value(json_object_get(gate, "conditionType"));
		const char *said = json_string_value(json_object_get(
			neap_json_find(list, "type", type ? type : ""), "status"));

		if (type != NULL && (said == NULL || strcmp(said, "True") != 0))
			return type;
	}
	return NULL;
}

static void put_conditions(struct teller *teller, json_t *status)
{
	const struct neap_pod_life *life = teller->life;
	bool is_well = life->phase == NEAP_POD_SUCCEEDED;
	const char *over = is_well                          ? "PodCompleted"
			   : life->phase == NEAP_POD_FAILED ? "PodFailed"
							    : NULL;
	json_t *list = json_object_get(status, "conditions");
	char message[512];
	const char *gate;
	bool is_some;

	if (!json_is_array(list)) {
		put_take(teller, status, "conditions", json_array());
		list = json_object_get(status, "conditions");
	}
	put_condition(teller, list, "PodScheduled", true, NULL, NULL);
	is_some = name_others(life, true, "incomplete", message, sizeof(message)) &&
		  !neap_pod_life_is_initialized(life);
	put_condition(teller, list, "Initialized", !is_some || is_well,
		      is_well   ? over
		      : is_some ? "ContainersNotInitialized"
				: NULL,
		      is_some && !is_well ? message : NULL);
	is_some = name_others(life, false, "unready", message, sizeof(message));
	if (over != NULL)
		message[0] = '\0';
	put_condition(teller, list, "ContainersReady", !is_some && over == NULL,
		      over != NULL ? over
		      : is_some    ? "ContainersNotReady"
				   : NULL,
		      is_some ? message : NULL);
	gate = find_gate(teller, list);
	if (over == NULL && !is_some && gate != NULL) {
		(void)snprintf(
			message, sizeof(message),
			"condition of pod readiness gate \"%.300s\" is not \"True\"",
			gate);
		put_condition(teller, list, "Ready", false, "ReadinessGatesNotReady",
			      message);
		return;
	}
	put_condition(teller, list, "Ready", !is_some && over == NULL,
		      over != NULL ? over
		      : is_some    ? "ContainersNotReady"
				   : NULL,
		      is_some ? message : NULL);
}

static void put_address(struct teller *teller, json_t *status)
{
	static const char *const names[][2] = {{"hostIP", "hostIPs"},
					       {"podIP", "podIPs"}};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		put_text(teller, status, names[i][0], teller->who->ip);
		put_take(teller, status, names[i][1],
			 json_pack("[{s:s}]", "ip", teller->who->ip));
	}
}

bool neap_pod_life_set_status(const struct neap_pod_life *life,
			      const struct neap_pod_who *who, int64_t now, json_t *status)
{
	struct teller teller = {.life = life, .who = who};

	(void)neap_time_format(now, 0, teller.now, sizeof(teller.now));
	put_text(&teller, status, "phase", phase_names[life->phase]);
	if (life->reason[0] != '\0')
		put_text(&teller, status, "reason", life->reason);
	if (life->message[0] != '\0')
		put_text(&teller, status, "message", life->message);
	put_time(&teller, status, "startTime", life->start_usec);
	if (life->is_refused)
		return !teller.failed;
	if (who->ip != NULL)
		put_address(&teller, status);
	put_conditions(&teller, status);
	put_containers(&teller, status, true);
	put_containers(&teller, status, false);
	return !teller.failed;
}

/* --- back --- */

static int64_t parse_time(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	int64_t ret;

	return text != NULL && neap_time_parse(text, &ret, NULL) >= 0 ? ret : 0;
}

static void parse_end(const json_t *state, struct neap_pod_end *ret)
{
	const json_t *ended = json_object_get(state, "terminated");
	const char *id = json_string_value(json_object_get(ended, "containerID"));
	const char *attempt = id != NULL ? strrchr(id, '/') : NULL;
	const char *reason = json_string_value(json_object_get(ended, "reason"));
	const char *message = json_string_value(json_object_get(ended, "message"));
	int64_t number;

	*ret = (struct neap_pod_end){0};
	if (attempt == NULL || strncmp(id, "neap://", 7) != 0 ||
	    neap_int_parse(attempt + 1, &number, NULL) < 0 || number < 0 ||
	    number > INT32_MAX)
		return;
	ret->is_there = true;
	ret->attempt = (unsigned)number;
	ret->exit_code =
		(int)(json_integer_value(json_object_get(ended, "exitCode")) & 255);
	ret->signo = (int)(json_integer_value(json_object_get(ended, "signal")) & 127);
	ret->started_usec = parse_time(ended, "startedAt");
	ret->ended_usec = parse_time(ended, "finishedAt");
	(void)neap_strcopy(ret->reason, sizeof(ret->reason), reason ? reason : "");
	(void)neap_strcopy(ret->message, sizeof(ret->message), message ? message : "");
}

static const json_t *find_container(const json_t *status,
				    const struct neap_pod_container *one)
{
	const json_t *container;
	size_t i;

	json_array_foreach (json_object_get(status, one->is_init ? "initContainerStatuses"
								 : "containerStatuses"),
			    i, container) {
		const char *name = json_string_value(json_object_get(container, "name"));

		if (name != NULL && strcmp(name, one->name) == 0)
			return container;
	}
	return NULL;
}

static void get_container(struct neap_pod_life *life, size_t i, const json_t *status,
			  int newest, int64_t now)
{
	struct neap_pod_container *one = &life->containers[i];
	const json_t *container = find_container(status, one);
	int64_t restarts = json_integer_value(json_object_get(container, "restartCount"));
	bool is_born = json_object_get(container, "containerID") != NULL;
	struct neap_pod_end end, last;

	parse_end(json_object_get(container, "state"), &end);
	parse_end(json_object_get(container, "lastState"), &last);
	if (restarts < 0 || restarts > INT32_MAX)
		restarts = 0;
	if (newest < 0 && !is_born)
		return;
	/* The reported number may be one start behind the trace. */
	if (newest >= restarts) {
		neap_pod_life_adopt(life, i, (unsigned)newest);
		if (end.is_there && (int)end.attempt < newest)
			one->last = end;
		else if (last.is_there && (int)last.attempt < newest)
			one->last = last;
		return;
	}
	neap_pod_life_adopt(life, i, (unsigned)restarts);
	if (last.is_there && last.attempt < (unsigned)restarts)
		one->last = last;
	if (end.is_there && end.attempt == (unsigned)restarts)
		neap_pod_life_ended(life, i, &end);
	else if (last.is_there && last.attempt == (unsigned)restarts) /* it paused */
		neap_pod_life_ended(life, i, &last);
	else
		neap_pod_life_lost(life, i, now);
}

void neap_pod_life_get_status(struct neap_pod_life *life, const json_t *status,
			      const int *newest, int64_t now)
{
	const char *phase = json_string_value(json_object_get(status, "phase"));
	const char *reason = json_string_value(json_object_get(status, "reason"));
	const char *message = json_string_value(json_object_get(status, "message"));

	for (size_t i = 0; phase != NULL && i < NEAP_ARRAY_LEN(phase_names); i++)
		if (strcmp(phase, phase_names[i]) == 0)
			life->phase = (enum neap_pod_phase)i;
	(void)neap_strcopy(life->reason, sizeof(life->reason), reason ? reason : "");
	(void)neap_strcopy(life->message, sizeof(life->message), message ? message : "");
	life->start_usec = parse_time(status, "startTime");
	for (size_t i = 0; i < life->count; i++)
		get_container(life, i, status, newest[i], now);
}
