/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads of `neapctl run`. Each is a pod with one container in neap's own groups:
 * ROOT-besteffort/podNAME/main or ROOT/burstable/podNAME/main. The client waits with its
 * connection open while the groups are created and written (groups.c), and the hand moves
 * the client's process in. Then the client execs the command. When the group's last
 * process has ended, the group is removed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/run/pods_priv.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

#define CONTAINER "main"

struct node_run {
	struct node_launch launch; /* must be first; its id is the name */
	enum neap_qos qos;
	int peer_fd;
	neap_node_done *done;
	void *arg;
};

/* --- input --- */

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
	unsigned n;

	for (i = 0; i < sizeof(stem) - 1 && base[i] != '\0'; i++) {
		char c = base[i] >= 'A' && base[i] <= 'Z' ? (char)(base[i] - 'A' + 'a')
							  : base[i];

		stem[i] = is_name_char(c) && (i > 0 || (c != '.' && c != '-')) ? c : 'x';
	}
	stem[i] = '\0';
	for (n = 1; n < 100000; n++) {
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

/* --- steps --- */

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

/* --- the end of a workload --- */

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

static void collect(struct neap_node *node, struct node_workload *workload)
{
	char *dir = neap_strdup(workload->group->dir);
	size_t i;

	if (dir == NULL)
		return;
	workload->is_removing = true;
	for (i = 0; i < workload->container_count; i++)
		(void)neap_group_drop(node, workload->containers[i]->dir, NULL, NULL,
				      false);
	if (neap_group_drop(node, dir, removed, dir, true) == 0)
		return;
	workload->is_removing = false;
	free(dir);
}

void neap_launch_collect(struct neap_node *node)
{
	size_t i;

	if (!neap_node_writes(&node->write) || node->is_frozen)
		return;
	for (i = 0; i < neap_map_count(node->observe.workloads); i++) {
		struct node_workload *workload =
			neap_map_at(node->observe.workloads, i, NULL);

		if (workload->is_own && !workload->is_removing &&
		    workload->processes == 0 &&
		    neap_map_find(node->made.launches, workload->group->dir) == NULL &&
		    neap_pod_of(&node->made, workload) == NULL)
			collect(node, workload);
	}
}
