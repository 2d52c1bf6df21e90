/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of runs and of pods (pods.c). The hand creates them, an ordinary plan writes
 * their values, and the requester is called when all answers are there.
 *
 * A workload of `neapctl run` is a pod with one container in neap's own groups:
 * ROOT-besteffort/podNAME/main or ROOT/burstable/podNAME/main. The client waits with its
 * connection open until its group is ready, and the hand moves the client's process in.
 * Then the client execs the command. When the group's last process has ended, the group
 * is removed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/run/node_priv.h"
#include "api/run/pods_priv.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

#define FROZEN    "neapd is frozen: 'neapctl resume' lets it write again"
#define CONTAINER "main"

struct node_run {
	struct node_launch launch; /* must be first; its id is the name */
	enum neap_qos qos;
	int peer_fd;
	neap_node_done *done;
	void *arg;
};

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
	for (size_t i = 0; i < neap_map_count(node->observe.workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(node->observe.workloads, i, NULL);

		if (strcmp(workload->id, id) == 0)
			return true;
	}
	for (size_t i = 0; i < neap_map_count(node->made.launches); i++) {
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

	for (size_t i = 0; i < neap_map_count(node->made.launches); i++) {
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
	for (size_t i = 0; i < neap_map_count(node->made.launches); i++) {
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
	int round;

	/* Where the kernel does not report new groups, all groups are examined. */
	for (round = 0; round < 2; round++) {
		if (neap_find_workloads(&node->observe, &err) < 0)
			neap_log_line(&node->config.log, NEAP_LOG_ERROR, "%s", err.msg);
		is_any_missing = false;
		for (size_t i = 0; i < neap_map_count(node->made.launches); i++) {
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

	if (workload == NULL)
		return;
	neap_group_doubt(workload->group->files);
	for (size_t i = 0; i < workload->container_count; i++)
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
	find(node);
	for (size_t i = 0; i < neap_map_count(node->made.launches); i++) {
		const struct node_launch *launch =
			neap_map_at(node->made.launches, i, NULL);

		if (launch->step == LAUNCH_MADE)
			doubt(node, launch);
	}
	if (!neap_plan_and_write(node)) {
		give_up(node);
		return;
	}
	for (size_t i = 0; i < neap_map_count(node->made.launches); i++) {
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
	if (node->observe.ticks == 0 || node->write.plan_inflight > 0)
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

/* --- a run: its input --- */

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
	       c == '_';
}

/* "/usr/bin/My Job" becomes "my-job-1", "my-job-2", ... */
static void make_name(const struct neap_node *node, const char *command, char *name,
		      size_t size)
{
	const char *base =
		strrchr(command, '/') != NULL ? strrchr(command, '/') + 1 : command;
	char stem[32];
	size_t i;

	for (i = 0; i < sizeof(stem) - 1 && base[i] != '\0'; i++) {
		char c = base[i] >= 'A' && base[i] <= 'Z' ? (char)(base[i] - 'A' + 'a')
							  : base[i];

		stem[i] = is_name_char(c) && (i > 0 || (c != '.' && c != '-')) ? c : 'x';
	}
	stem[i] = '\0';
	for (unsigned n = 1; n < 100000; n++) {
		(void)snprintf(name, size, "%s-%u", i > 0 ? stem : "run", n);
		if (!neap_launch_has_id(node, name))
			return;
	}
}

static int take_input(struct neap_node *node, json_t *input, struct node_run *run,
		      struct neap_error *err)
{
	char *id = run->launch.id;
	size_t size = sizeof(run->launch.id);
	const char *name = json_string_value(json_object_get(input, "name"));
	const char *qos = json_string_value(json_object_get(input, "qos"));
	const char *command =
		json_string_value(json_array_get(json_object_get(input, "command"), 0));

	run->qos = neap_qos_parse(qos);
	if (name == NULL)
		make_name(node, command, id, size);
	else if (neap_launch_has_id(node, name))
		return neap_error_field(
			err, NEAP_EEXISTS, "name",
			"a workload '%s' runs already: choose another --name", name);
	else
		(void)neap_strcopy(id, size, name);
	return 0;
}

/* --- a run: its steps --- */

static void run_free(struct node_launch *launch)
{
	struct node_run *run = (struct node_run *)launch;

	neap_fd_close(&run->peer_fd);
	free(run);
}

static void run_end(struct neap_node *node, struct node_run *run, json_t *body,
		    const struct neap_error *err)
{
	neap_launch_end(node, &run->launch);
	if (err != NULL)
		neap_node_note(&node->write, "refused", run->launch.dir, "operator",
			       err->msg, err->errnum);
	run->done(run->arg, body, err);
	run_free(&run->launch);
}

static void moved(struct neap_node *node, void *arg,
		  const struct neap_hand_answer *answer)
{
	struct node_run *run = arg;
	const struct node_launch *launch = &run->launch;
	struct neap_error err;
	char why[160];

	if (answer->errnum != 0) {
		neap_launch_error(&err, "move the process into", launch->dir, answer);
		run_end(node, run, NULL, &err);
		return; /* the next tick removes the empty group */
	}
	(void)snprintf(why, sizeof(why), "neapctl run: process %d", answer->pid);
	neap_node_note(&node->write, "move", launch->dir, "operator", why, 0);
	neap_log_line(&node->config.log, NEAP_LOG_INFO,
		      "%s workload %s: process %d runs in %s", neap_qos_name(run->qos),
		      launch->id, answer->pid, launch->dir);
	run_end(node, run,
		json_pack("{s:s, s:s, s:s, s:s}", "id", launch->id, "name", launch->id,
			  "group", launch->dir, "qos", neap_qos_name(run->qos)),
		NULL);
}

/* The group exists and has its values. */
static void run_ready(struct neap_node *node, struct node_launch *launch)
{
	struct node_run *run = (struct node_run *)launch;
	char dir[NEAP_PATH_MAX + 8];
	struct neap_hand_request request = {
		.op = NEAP_HAND_MOVE, .group = dir, .fd = run->peer_fd};
	struct node_pending pending = {.answered = moved, .arg = run};
	struct neap_error err = launch->err;

	if (err.code != NEAP_OK) {
		neap_workload_forget(node, launch->id);
		run_end(node, run, NULL, &err);
		return;
	}
	(void)snprintf(dir, sizeof(dir), "%s/%s", launch->dir, CONTAINER);
	(void)neap_strcopy(pending.group, sizeof(pending.group), dir);
	if (neap_node_send(&node->write, &request, &pending, &err) < 0)
		run_end(node, run, NULL, &err);
}

static int run_start(struct neap_node *node, json_t *input, int peer_fd,
		     struct node_run *run, struct neap_error *err)
{
	static const char *const containers[] = {CONTAINER};
	enum neap_kube_qos class;
	struct node_launch *launch = &run->launch;

	if (neap_launch_check(node, err) < 0)
		return -(int)err->code;
	if (take_input(node, input, run, err) < 0)
		return -(int)err->code;
	class = run->qos == NEAP_QOS_BE ? NEAP_KUBE_BESTEFFORT : NEAP_KUBE_BURSTABLE;
	if (neap_tree_pod_dir(neap_tree_of_class(node->config.trees, class), class,
			      launch->id, launch->dir, sizeof(launch->dir), err) < 0)
		return -(int)err->code;
	run->peer_fd = fcntl(peer_fd, F_DUPFD_CLOEXEC, 0);
	if (run->peer_fd < 0)
		return neap_error_sys(err, "duplicate the connection");
	if (neap_launch_start(node, launch, containers, 1, err) < 0)
		return -(int)err->code;
	neap_workload_record(node, launch->id, input);
	return 0;
}

void neap_node_run(struct neap_node *node, json_t *input, int peer_fd,
		   neap_node_done *done, void *arg)
{
	struct node_run *run = neap_alloc(sizeof(*run));
	struct neap_error err;

	if (run == NULL) {
		(void)neap_error_nomem(&err);
		done(arg, NULL, &err);
		return;
	}
	run->peer_fd = -1;
	run->done = done;
	run->arg = arg;
	run->launch.ready = run_ready;
	run->launch.drop = run_free;
	if (run_start(node, input, peer_fd, run, &err) < 0) {
		run_free(&run->launch);
		done(arg, NULL, &err);
		return;
	}
	neap_node_flush(&node->write);
}

/* --- the end of workloads --- */

static void removed(struct neap_node *node, void *arg,
		    const struct neap_hand_answer *answer)
{
	struct node_workload *workload = neap_map_find(node->observe.workloads, arg);

	if (answer->errnum == 0 || answer->errnum == ENOENT) {
		neap_node_note(&node->write, "remove", arg, "neapd",
			       "its last process ended", 0);
		if (workload != NULL)
			neap_workload_forget(node, workload->id);
	} else if (workload != NULL) {
		workload->is_removing = false; /* a process came, in it or below */
	}
	free(arg);
}

void neap_launch_collect(struct neap_node *node, struct node_workload *workload)
{
	char *dir;

	if (neap_map_find(node->made.launches, workload->group->dir) != NULL ||
	    neap_pod_of(&node->made, workload) != NULL)
		return;
	dir = neap_strdup(workload->group->dir);
	if (dir == NULL)
		return;
	workload->is_removing = true;
	for (size_t i = 0; i < workload->container_count; i++)
		(void)neap_group_drop(node, workload->containers[i]->dir, NULL, NULL,
				      false);
	if (neap_group_drop(node, dir, removed, dir, true) == 0)
		return;
	workload->is_removing = false;
	free(dir);
}
