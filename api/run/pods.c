/* SPDX-License-Identifier: Apache-2.0
 *
 * neap's own pods: added, filled with processes, removed. Their groups are created and
 * written like those of `neapctl run` (launch.c). But a pod has several containers, its
 * values must be in force before anything runs, and its groups stay until it is removed,
 * empty or not. */
#include "api/run/pods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/run/pods_priv.h"
#include "engine/base/mem.h"

static struct node_workload *workload_of(const struct neap_node *node,
					 const struct node_pod *pod)
{
	return neap_map_find(node->observe.workloads, pod->launch.dir);
}

/* Callers that still wait are answered when neapd ends. */
static void tell_end(neap_node_pod_done *done, void *arg)
{
	struct neap_error err;

	(void)neap_error_set(&err, NEAP_EUNAVAILABLE, "neapd is ending");
	if (done != NULL)
		done(arg, &err);
}

static void pod_free(struct node_pod *pod)
{
	while (pod->waits != NULL) {
		struct pod_wait *wait = pod->waits;

		pod->waits = wait->next;
		free(wait);
	}
	free(pod->spec);
	free(pod);
}

/* --- what others see of it --- */

struct node_pod *neap_pod_of(const struct node_made *made,
			     const struct node_workload *workload)
{
	struct node_pod *pod =
		workload->is_own ? neap_map_find(made->pods, workload->id) : NULL;

	return pod != NULL && strcmp(pod->launch.dir, workload->group->dir) == 0 ? pod
										 : NULL;
}

void neap_pod_apply(const struct node_pod *pod, struct node_workload *workload)
{
	const struct pod_spec *spec = pod->spec;

	workload->source = "pod";
	workload->is_pod = true;
	workload->qos = spec->qos;
	(void)snprintf(workload->name, sizeof(workload->name), "%s/%s", spec->ns,
		       spec->name);
	workload->is_named = true;
	neap_pod_spec_sum(spec, &workload->cpu_request_milli, &workload->cpu_limit_milli,
			  &workload->memory_limit_bytes);
}

static void wish(struct node_plan *plan, const char *dir, enum neap_key key,
		 int64_t amount, const char *why)
{
	if (amount != NEAP_MISSING)
		neap_wish_number(plan, dir, key, amount, why);
}

void neap_pod_wish(struct node_plan *plan, const struct node_workload *workload)
{
	const struct node_pod *pod = neap_pod_of(plan->made, workload);

	for (size_t i = 0; pod != NULL && i < pod->spec->count; i++) {
		const struct pod_container *container = &pod->spec->containers[i];
		char dir[NEAP_PATH_MAX];

		if (snprintf(dir, sizeof(dir), "%s/%s", pod->launch.dir,
			     neap_pod_container_dir(container)) >= (int)sizeof(dir))
			continue; /* it could not be made before, either */
		neap_wish_number(plan, dir, NEAP_KEY_CPU_SHARES,
				 neap_milli_to_shares(container->cpu_request_milli),
				 "weight of the container's CPU request");
		if (!neap_node_pins_has_own(plan->given, workload))
			wish(plan, dir, NEAP_KEY_CPU_MAX_MILLI,
			     container->cpu_limit_milli, "CPU limit of the container");
		wish(plan, dir, NEAP_KEY_MEMORY_MAX_BYTES, container->memory_limit_bytes,
		     "memory limit of the container");
		wish(plan, dir, NEAP_KEY_PIDS_MAX, container->processes_max,
		     "number of processes of the container");
	}
}

/* --- a pod goes --- */

static void pod_end(struct neap_node *node, struct node_pod *pod)
{
	const struct neap_error failed = pod->failed;
	neap_node_pod_done *done = pod->done;
	struct pod_wait *wait;

	(void)neap_map_remove(node->made.pods, pod->spec->uid);
	neap_workload_forget(node, pod->spec->uid);
	if (done != NULL)
		done(pod->arg, &failed);
	for (wait = pod->waits; wait != NULL; wait = wait->next)
		wait->done(wait->arg, NULL);
	pod_free(pod);
}

static void gone(struct neap_node *node, void *arg, const struct neap_hand_answer *answer)
{
	struct node_pod *pod = arg; /* only this function ends it */
	struct node_workload *workload = workload_of(node, pod);

	pod->is_removing = false;
	if (answer->errnum == 0 || answer->errnum == ENOENT) {
		neap_node_note(&node->write, "remove", pod->launch.dir, "neapd",
			       pod->is_added ? "the pod was removed"
					     : "nobody added the pod",
			       0);
		pod_end(node, pod);
		return;
	}
	if (workload != NULL)
		workload->is_removing = false; /* a process came, in it or below */
	if (answer->errnum != EBUSY && !pod->is_stuck_told) {
		neap_log_line(&node->config.log, NEAP_LOG_WARN,
			      "pod %s: %s cannot be removed: %s%s%s", pod->spec->uid,
			      pod->launch.dir, strerror(answer->errnum),
			      answer->text[0] != '\0' ? ": " : "", answer->text);
		pod->is_stuck_told = true;
	}
	/* The groups of a failed pod have no owner and are collected. */
	if (pod->failed.code != NEAP_OK)
		pod_end(node, pod);
}

static bool has_process(const struct node_workload *workload)
{
	for (size_t i = 0; workload != NULL && i < workload->container_count; i++)
		if (neap_group_process_count(workload->containers[i]->files) > 0)
			return true;
	return false;
}

/* Asks for the removal of its groups. False when that must wait. */
static bool pod_go(struct neap_node *node, struct node_pod *pod)
{
	struct node_workload *workload = workload_of(node, pod);
	char dir[NEAP_PATH_MAX];

	if (pod->is_removing)
		return true;
	if (!neap_node_writes(&node->write) || node->is_frozen ||
	    neap_launch_is_active(node, &pod->launch) || has_process(workload))
		return false;
	for (size_t i = 0; workload != NULL && i < workload->container_count; i++)
		(void)neap_group_drop(node, workload->containers[i]->dir, NULL, NULL,
				      false);
	/* Groups that no look has seen yet; asking twice does no harm. */
	for (size_t i = 0; i < pod->spec->count; i++) {
		if (snprintf(dir, sizeof(dir), "%s/%s", pod->launch.dir,
			     neap_pod_container_dir(&pod->spec->containers[i])) <
		    (int)sizeof(dir))
			(void)neap_group_drop(node, dir, NULL, NULL, false);
	}
	pod->is_removing = neap_group_drop(node, pod->launch.dir, gone, pod, false) == 0;
	if (workload != NULL)
		workload->is_removing = pod->is_removing;
	return pod->is_removing;
}

void neap_node_pod_remove(struct neap_node *node, const char *uid,
			  neap_node_pod_done *done, void *arg)
{
	struct node_pod *pod = neap_map_find(node->made.pods, uid);
	struct pod_wait *wait = NULL;
	struct neap_error err = {0};

	if (pod == NULL) {
		if (done != NULL)
			done(arg, NULL);
		return;
	}
	if (!neap_node_writes(&node->write))
		(void)neap_launch_check(node, &err);
	else if (done != NULL) {
		wait = neap_alloc(sizeof(*wait));
		if (wait == NULL)
			(void)neap_error_nomem(&err);
	}
	if (err.code != NEAP_OK) {
		if (done != NULL)
			done(arg, &err);
		return;
	}
	if (wait != NULL) {
		wait->done = done;
		wait->arg = arg;
		wait->next = pod->waits;
		pod->waits = wait;
	}
	pod->is_going = true;
	if (pod_go(node, pod))
		neap_node_flush(&node->write);
}

void neap_pods_collect(struct neap_node *node, bool is_late)
{
	for (size_t i = neap_map_count(node->made.pods); i-- > 0;) {
		struct node_pod *pod = neap_map_at(node->made.pods, i, NULL);
		const struct node_workload *workload = workload_of(node, pod);

		if (!pod->is_added && is_late &&
		    !neap_launch_is_active(node, &pod->launch) &&
		    (workload == NULL || workload->processes == 0))
			pod->is_going = true;
		if (pod->is_going)
			(void)pod_go(node, pod);
	}
}

void neap_pods_free(struct neap_node *node)
{
	while (neap_map_count(node->made.pods) > 0) {
		const char *uid;
		struct node_pod *pod = neap_map_at(node->made.pods, 0, &uid);

		(void)neap_map_remove(node->made.pods, uid);
		tell_end(pod->done, pod->arg);
		for (struct pod_wait *wait = pod->waits; wait != NULL; wait = wait->next)
			tell_end(wait->done, wait->arg);
		pod_free(pod);
	}
}

/* --- a pod comes --- */

/* Its groups exist and have their values, or something failed. */
static void pod_ready(struct neap_node *node, struct node_launch *launch)
{
	struct node_pod *pod = (struct node_pod *)launch;
	neap_node_pod_done *done = pod->done;
	struct neap_error err = launch->err;

	neap_launch_end(node, launch);
	if (err.code == NEAP_OK && pod->is_going)
		(void)neap_error_set(&err, NEAP_ECONFLICT,
				     "pod %s was removed while it was made",
				     pod->spec->uid);
	if (err.code == NEAP_OK) {
		pod->is_added = true;
		pod->done = NULL;
		neap_node_note(&node->write, "make", launch->dir, "neapd",
			       "a pod was added", 0);
		done(pod->arg, NULL);
		return;
	}
	neap_node_note(&node->write, "refused", launch->dir, "neapd", err.msg,
		       err.errnum);
	pod->is_going = pod->is_going || !pod->was_there;
	if (pod->is_going && pod_go(node, pod)) {
		pod->failed = err; /* reported when the groups are gone */
		return;
	}
	pod->done = NULL;
	done(pod->arg, &err);
}

static struct node_pod *pod_new(struct neap_node *node, struct pod_spec *spec,
				const char *dir)
{
	struct node_pod *pod = neap_alloc(sizeof(*pod));

	if (pod == NULL)
		return NULL;
	(void)neap_strcopy(pod->launch.id, sizeof(pod->launch.id), spec->uid);
	(void)neap_strcopy(pod->launch.dir, sizeof(pod->launch.dir), dir);
	pod->launch.is_strict = true;
	pod->launch.is_pod = true;
	pod->launch.ready = pod_ready;
	if (!neap_map_set(node->made.pods, spec->uid, pod)) {
		free(pod);
		return NULL;
	}
	pod->spec = spec;
	return pod;
}

struct node_pod *neap_pod_recall(struct neap_node *node,
				 const struct node_workload *workload,
				 const json_t *record)
{
	struct pod_spec *spec =
		record == NULL ? NULL : neap_pod_spec_of_json(record, workload->id);
	struct node_pod *pod = NULL;

	if (spec != NULL && spec->kube_qos == workload->kube_qos &&
	    neap_map_find(node->made.pods, workload->id) == NULL)
		pod = pod_new(node, spec, workload->group->dir);
	if (pod == NULL)
		free(spec);
	return pod;
}

static int check_state(const struct neap_node *node, struct neap_error *err)
{
	if (neap_launch_check(node, err) < 0)
		return -(int)err->code;
	if (node->state == NODE_RELEASED)
		return neap_error_set(err, NEAP_EUNAVAILABLE, NEAP_LAUNCH_RELEASED);
	if (!node->is_open)
		return neap_error_set(err, NEAP_EUNAVAILABLE, "neapd is starting");
	return 0;
}

/* A pod of the same uid must be ready for another request, and no run may have its id. */
static int check_present(const struct neap_node *node, const struct node_pod *pod,
			 const struct pod_spec *spec, const char *dir,
			 struct neap_error *err)
{
	if (pod != NULL && pod->is_going)
		return neap_error_set(err, NEAP_ECONFLICT, "pod %s is being removed",
				      spec->uid);
	if (pod != NULL && neap_launch_is_active(node, &pod->launch))
		return neap_error_set(err, NEAP_ECONFLICT, "pod %s is being made",
				      spec->uid);
	if (pod != NULL && strcmp(pod->launch.dir, dir) != 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "pod %s runs in %s: its class cannot change",
				      spec->uid, pod->launch.dir);
	for (size_t i = 0; pod == NULL && i < neap_map_count(node->observe.workloads);
	     i++) {
		const struct node_workload *workload =
			neap_map_at(node->observe.workloads, i, NULL);

		if (workload->is_run && strcmp(workload->id, spec->uid) == 0)
			return neap_error_set(err, NEAP_EEXISTS,
					      "'neapctl run' has a workload %s",
					      spec->uid);
	}
	if (pod == NULL && neap_map_find(node->made.launches, dir) != NULL)
		return neap_error_set(err, NEAP_EEXISTS,
				      "'neapctl run' has a workload %s", spec->uid);
	return 0;
}

static void tell_of_pids(struct neap_node *node, const struct pod_spec *spec)
{
	if (node->made.is_pids_told ||
	    (node->cgroup->supports & (1u << NEAP_KEY_PIDS_MAX)) != 0)
		return;
	for (size_t i = 0; i < spec->count; i++) {
		if (spec->containers[i].processes_max == NEAP_MISSING)
			continue;
		node->made.is_pids_told = true;
		neap_log_line(&node->config.log, NEAP_LOG_WARN,
			      "the number of processes of pods is not limited: %s",
			      node->cgroup->why_not[NEAP_KEY_PIDS_MAX]);
		return;
	}
}

static int pod_start(struct neap_node *node, struct node_pod *pod, struct neap_error *err)
{
	const char *containers[NEAP_NODE_CONTAINERS_MAX];
	struct node_workload *workload = workload_of(node, pod);
	json_t *record;

	for (size_t i = 0; i < pod->spec->count; i++)
		containers[i] = neap_pod_container_dir(&pod->spec->containers[i]);
	if (neap_launch_start(node, &pod->launch, containers, pod->spec->count, err) < 0)
		return -(int)err->code;
	record = neap_pod_spec_json(pod->spec);
	neap_workload_record(node, pod->spec->uid, record);
	json_decref(record);
	if (workload != NULL) {
		neap_pod_apply(pod, workload);
		workload->is_removing = false;
		workload->view = NULL; /* its name may have changed */
	}
	tell_of_pids(node, pod->spec);
	return 0;
}

/* Takes spec over, also on failure. */
static int pod_add(struct neap_node *node, struct pod_spec *spec,
		   neap_node_pod_done *done, void *arg, struct neap_error *err)
{
	const struct neap_tree *own =
		neap_tree_of_class(node->config.trees, spec->kube_qos);
	struct node_pod *pod = neap_map_find(node->made.pods, spec->uid);
	struct pod_spec *before = pod == NULL ? NULL : pod->spec;
	char dir[NEAP_PATH_MAX];

	if (neap_tree_pod_dir(own, spec->kube_qos, spec->uid, dir, sizeof(dir), err) <
		    0 ||
	    check_present(node, pod, spec, dir, err) < 0) {
		free(spec);
		return -(int)err->code;
	}
	if (pod == NULL) {
		pod = pod_new(node, spec, dir);
		if (pod == NULL) {
			free(spec);
			return neap_error_nomem(err);
		}
		pod->was_there = workload_of(node, pod) != NULL;
	} else {
		pod->spec = spec;
		pod->was_there = true;
	}
	if (pod_start(node, pod, err) < 0) {
		if (before != NULL) {
			pod->spec = before;
			free(spec);
		} else {
			(void)neap_map_remove(node->made.pods, spec->uid);
			pod_free(pod);
		}
		return -(int)err->code;
	}
	free(before);
	pod->done = done;
	pod->arg = arg;
	return 0;
}

void neap_node_pod_add(struct neap_node *node, const struct neap_node_pod *pod,
		       neap_node_pod_done *done, void *arg)
{
	struct pod_spec *spec = NULL;
	struct neap_error err;

	if (check_state(node, &err) == 0)
		spec = neap_pod_spec_new(pod, &err);
	if (spec == NULL || pod_add(node, spec, done, arg, &err) < 0) {
		done(arg, &err);
		return;
	}
	neap_node_flush(&node->write);
}

/* --- processes --- */

struct pod_move {
	neap_node_pod_done *done;
	void *arg;
	char group[NEAP_PATH_MAX];
	bool is_probe;
};

static void moved(struct neap_node *node, void *arg,
		  const struct neap_hand_answer *answer)
{
	struct pod_move *move = arg;
	struct neap_error err;
	char why[64];

	if (answer->errnum != 0) {
		neap_launch_error(&err, "move the process into", move->group, answer);
		neap_node_note(&node->write, "refused", move->group, "neapd", err.msg,
			       answer->errnum);
		move->done(move->arg, &err);
	} else {
		(void)snprintf(why, sizeof(why), "container: process %d", answer->pid);
		if (!move->is_probe)
			neap_node_note(&node->write, "move", move->group, "neapd", why,
				       0);
		move->done(move->arg, NULL);
	}
	free(move);
}

static int find_group(const struct neap_node *node, const char *uid,
		      const char *container, char *buf, size_t size,
		      struct neap_error *err)
{
	const struct node_pod *pod = neap_map_find(node->made.pods, uid);

	if (pod == NULL || (!pod->is_added && pod->done == NULL))
		return neap_error_set(err, NEAP_ENOTFOUND, "pod %.64s was not added",
				      uid);
	if (pod->is_going)
		return neap_error_set(err, NEAP_ECONFLICT, "pod %s is being removed",
				      uid);
	if (!pod->is_added)
		return neap_error_set(err, NEAP_ECONFLICT, "pod %s is being made", uid);
	for (size_t i = 0; i < pod->spec->count; i++) {
		const struct pod_container *one = &pod->spec->containers[i];

		if (strcmp(one->name, container) != 0)
			continue;
		(void)snprintf(buf, size, "%s/%s", pod->launch.dir,
			       neap_pod_container_dir(one));
		return 0;
	}
	return neap_error_set(err, NEAP_ENOTFOUND, "pod %s has no container %.64s", uid,
			      container);
}

static void move_dropped(void *arg)
{
	const struct pod_move *move = arg;

	tell_end(move->done, move->arg);
}

static void pod_move(struct neap_node *node, const char *uid, const char *container,
		     int peer_fd, bool is_probe, neap_node_pod_done *done, void *arg)
{
	struct neap_hand_request request = {.op = NEAP_HAND_MOVE, .fd = peer_fd};
	struct node_pending pending = {
		.answered = moved, .is_arg_owned = true, .dropped = move_dropped};
	struct pod_move *move = neap_alloc(sizeof(*move));
	struct neap_error err;

	if (move == NULL) {
		(void)neap_error_nomem(&err);
	} else if (find_group(node, uid, container, move->group, sizeof(move->group),
			      &err) == 0) {
		move->done = done;
		move->arg = arg;
		move->is_probe = is_probe;
		request.group = move->group;
		(void)neap_strcopy(pending.group, sizeof(pending.group), move->group);
		pending.arg = move;
		if (neap_node_send(&node->write, &request, &pending, &err) == 0) {
			neap_node_flush(&node->write);
			return;
		}
	}
	free(move);
	done(arg, &err);
}

void neap_node_pod_move(struct neap_node *node, const char *uid, const char *container,
			int peer_fd, neap_node_pod_done *done, void *arg)
{
	pod_move(node, uid, container, peer_fd, false, done, arg);
}

void neap_node_pod_probe(struct neap_node *node, const char *uid, const char *container,
			 int peer_fd, neap_node_pod_done *done, void *arg)
{
	pod_move(node, uid, container, peer_fd, true, done, arg);
}
