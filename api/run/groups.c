/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of runs (launch.c) and pods (pods.c). The hand creates them, an ordinary plan
 * writes their values, and the requester is called when all answers are there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/run/node_priv.h"
#include "engine/base/mem.h"

#define FROZEN "neapd is frozen: 'neapctl resume' lets it write again"

int neap_launch_check(const struct neap_node *node, struct neap_error *err)
{
	if (!neap_node_writes(&node->write))
		return neap_error_set(
			err, NEAP_EUNAVAILABLE,
			"neapd only watches (no root, or --dry-run): it cannot run "
			"workloads");
	if (node->is_frozen)
		return neap_error_set(err, NEAP_EUNAVAILABLE, FROZEN);
	return 0;
}

bool neap_launch_has_id(const struct neap_node *node, const char *id)
{
	size_t i;

	for (i = 0; i < neap_map_count(node->observe.workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(node->observe.workloads, i, NULL);

		if (strcmp(workload->id, id) == 0)
			return true;
	}
	for (i = 0; i < neap_map_count(node->made.launches); i++) {
		const struct node_launch *launch =
			neap_map_at(node->made.launches, i, NULL);

		if (strcmp(launch->id, id) == 0)
			return true;
	}
	return false;
}

void neap_launch_error(struct neap_error *err, const char *what, const char *dir,
		       const struct neap_hand_answer *answer)
{
	(void)neap_error_set(err, answer->errnum == EBUSY ? NEAP_EUNAVAILABLE : NEAP_ESYS,
			     "%s %s: %s%s%s", what, dir, strerror(answer->errnum),
			     answer->text[0] != '\0' ? ": " : "", answer->text);
	err->errnum = answer->errnum;
}

/* --- creating --- */

static void over(struct neap_node *node, struct node_launch *launch)
{
	launch->step = LAUNCH_READY;
	launch->ready(node, launch);
}

static void made(struct neap_node *node, void *arg, const struct neap_hand_answer *answer)
{
	struct node_launch *launch = arg; /* it lives until all are answered */

	launch->unmade--;
	if (answer->errnum != 0 && launch->err.code == NEAP_OK)
		neap_launch_error(&launch->err, "make", launch->dir, answer);
	if (launch->unmade > 0)
		return;
	if (launch->err.code != NEAP_OK)
		over(node, launch);
	else
		launch->step = LAUNCH_MADE;
}

static int make(struct neap_node *node, struct node_launch *launch, const char *container,
		struct neap_error *err)
{
	char dir[NEAP_PATH_MAX];
	struct neap_hand_request request = {
		.op = launch->is_pod ? NEAP_HAND_MAKE_POD : NEAP_HAND_MAKE, .group = dir};
	struct node_pending pending = {.answered = made, .arg = launch};

	if (snprintf(dir, sizeof(dir), "%s%s%s", launch->dir,
		     container != NULL ? "/" : "",
		     container != NULL ? container : "") >= (int)sizeof(dir))
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: too long a name",
				      launch->dir);
	(void)neap_strcopy(pending.group, sizeof(pending.group), dir);
	return neap_node_send(&node->write, &request, &pending, err);
}

int neap_launch_start(struct neap_node *node, struct node_launch *launch,
		      const char *const *containers, size_t count, struct neap_error *err)
{
	size_t i;

	launch->step = LAUNCH_MAKING;
	launch->unmade = 0;
	launch->container_count = count;
	memset(&launch->err, 0, sizeof(launch->err));
	if (!neap_map_set(node->made.launches, launch->dir, launch))
		return neap_error_nomem(err);
	for (i = 0; i < count || i == 0; i++) {
		if (make(node, launch, count > 0 ? containers[i] : NULL, err) < 0)
			break;
		launch->unmade++;
	}
	if (i >= count && i > 0)
		return 0;
	/* Some requests are sent already: the error is reported after their answers. */
	launch->err = *err;
	if (launch->unmade > 0)
		return 0;
	neap_launch_end(node, launch);
	return -(int)err->code;
}

bool neap_launch_is_active(const struct neap_node *node, const struct node_launch *launch)
{
	return neap_map_find(node->made.launches, launch->dir) == launch;
}

void neap_launch_end(struct neap_node *node, const struct node_launch *launch)
{
	(void)neap_map_remove(node->made.launches, launch->dir);
}

void neap_launch_refused(struct neap_node *node, const struct node_pending *pending,
			 const struct neap_hand_answer *answer)
{
	char what[96];
	size_t i;

	for (i = 0; i < neap_map_count(node->made.launches); i++) {
		struct node_launch *launch = neap_map_at(node->made.launches, i, NULL);

		/* A refused wish of a policy does not fail the launch. */
		if (!launch->is_strict || launch->step != LAUNCH_WRITING ||
		    launch->err.code != NEAP_OK ||
		    strcmp(pending->policy, "neapd") != 0 ||
		    !neap_path_is_below(pending->group, launch->dir))
			continue;
		(void)snprintf(what, sizeof(what), "write %s of",
			       neap_key_get(pending->key)->name);
		neap_launch_error(&launch->err, what, pending->group, answer);
	}
}

/* The first launch in that step. A callback may begin and end other launches. */
static struct node_launch *first_in(const struct neap_node *node, enum launch_step step)
{
	size_t i;

	for (i = 0; i < neap_map_count(node->made.launches); i++) {
		struct node_launch *launch = neap_map_at(node->made.launches, i, NULL);

		if (launch->step == step)
			return launch;
	}
	return NULL;
}

/* Ends the launches whose values cannot be written now; the others go on waiting. */
static void give_up(struct neap_node *node)
{
	struct node_launch *launch;

	while (node->is_frozen && (launch = first_in(node, LAUNCH_MADE)) != NULL) {
		(void)neap_error_set(&launch->err, NEAP_EUNAVAILABLE, FROZEN);
		over(node, launch);
	}
}

static bool is_found(const struct neap_node *node, const struct node_launch *launch)
{
	const struct node_workload *workload =
		neap_map_find(node->observe.workloads, launch->dir);

	return workload != NULL && workload->container_count >= launch->container_count;
}

static void find(struct neap_node *node)
{
	struct neap_error err;
	bool is_any_missing = false;
	size_t i;
	int round;

	/* Where the kernel does not report new groups, all groups are examined. */
	for (round = 0; round < 2; round++) {
		if (neap_find_workloads(&node->observe, &err) < 0)
			neap_log_line(&node->config.log, NEAP_LOG_ERROR, "%s", err.msg);
		is_any_missing = false;
		for (i = 0; i < neap_map_count(node->made.launches); i++) {
			const struct node_launch *launch =
				neap_map_at(node->made.launches, i, NULL);

			is_any_missing |=
				launch->step == LAUNCH_MADE && !is_found(node, launch);
		}
		if (!is_any_missing)
			return;
		neap_scan_doubt(node->observe.scan);
	}
}

/* A look during their creation may have found only part of them. */
static void doubt(const struct neap_node *node, const struct node_launch *launch)
{
	const struct node_workload *workload =
		neap_map_find(node->observe.workloads, launch->dir);
	size_t i;

	if (workload == NULL)
		return;
	neap_group_doubt(workload->group->files);
	for (i = 0; i < workload->container_count; i++)
		neap_group_doubt(workload->containers[i]->files);
}

static void values_written(struct neap_node *node)
{
	struct node_launch *launch;

	while ((launch = first_in(node, LAUNCH_WRITING)) != NULL)
		over(node, launch);
}

/* Plans with the values of the new groups. A strict launch fails when its groups have
 * gone or neap has released all values. */
static void write_values(struct neap_node *node)
{
	size_t i;

	find(node);
	for (i = 0; i < neap_map_count(node->made.launches); i++) {
		const struct node_launch *launch =
			neap_map_at(node->made.launches, i, NULL);

		if (launch->step == LAUNCH_MADE)
			doubt(node, launch);
	}
	if (!neap_plan_and_write(node)) {
		give_up(node);
		return;
	}
	for (i = 0; i < neap_map_count(node->made.launches); i++) {
		struct node_launch *launch = neap_map_at(node->made.launches, i, NULL);

		if (launch->step != LAUNCH_MADE)
			continue;
		launch->step = LAUNCH_WRITING;
		if (!launch->is_strict)
			continue;
		if (node->state == NODE_RELEASED)
			(void)neap_error_set(&launch->err, NEAP_EUNAVAILABLE,
					     NEAP_LAUNCH_RELEASED);
		else if (!is_found(node, launch))
			(void)neap_error_set(&launch->err, NEAP_ESYS,
					     "%s went while it was made", launch->dir);
	}
}

void neap_launch_go(struct neap_node *node)
{
	/* A plan needs a tick before it. */
	if (neap_map_count(node->made.launches) == 0 || node->observe.ticks == 0 ||
	    node->write.plan_inflight > 0)
		return;
	values_written(node);
	if (first_in(node, LAUNCH_MADE) != NULL && node->write.plan_inflight == 0)
		write_values(node);
	if (node->write.plan_inflight == 0)
		values_written(node);
	neap_node_flush(&node->write);
}

void neap_launch_free(struct neap_node *node)
{
	while (neap_map_count(node->made.launches) > 0) {
		struct node_launch *launch = neap_map_at(node->made.launches, 0, NULL);

		neap_launch_end(node, launch);
		if (launch->drop != NULL)
			launch->drop(launch);
	}
}

/* --- removing --- */

int neap_group_drop(struct neap_node *node, const char *dir,
		    void (*answered)(struct neap_node *, void *,
				     const struct neap_hand_answer *),
		    void *arg, bool is_arg_owned)
{
	struct neap_hand_request request = {.op = NEAP_HAND_REMOVE, .group = dir};
	struct node_pending pending = {
		.answered = answered, .arg = arg, .is_arg_owned = is_arg_owned};
	struct neap_error err;

	(void)neap_strcopy(pending.group, sizeof(pending.group), dir);
	return neap_node_send(&node->write, &request, &pending, &err);
}
