/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads that `neapctl run` starts. Each is a pod with one container below neap's own root:
 * ROOT/besteffort/podNAME/main. The client waits with its connection open while the groups are
 * made, the plan writes their values, and the hand moves the client's process in; only then it
 * execs the command. When the last process of the group ended, the group goes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/run/json_file.h"
#include "api/run/node_priv.h"
#include "engine/base/mem.h"

#define NAME_LEN_MAX 63
#define CONTAINER    "main"

enum launch_step { LAUNCH_MAKING, LAUNCH_MADE, LAUNCH_MOVING };

struct node_launch {
	enum launch_step step;
	char name[NAME_LEN_MAX + 1];
	char dir[NEAP_PATH_MAX];
	enum neap_qos qos;
	int peer_fd;
	neap_node_done *done; /* NULL once whoever asked went away */
	void *arg;
};

/* --- records --- */

static const struct {
	const char *name;
	size_t offset;
} record_numbers[] = {
	{"cpu_request_milli", offsetof(struct node_workload, cpu_request_milli)},
	{"cpu_limit_milli", offsetof(struct node_workload, cpu_limit_milli)},
	{"memory_limit_bytes", offsetof(struct node_workload, memory_limit_bytes)},
};

static bool record_path(const struct neap_node *node, const char *name, char *buf,
			size_t size)
{
	if (node->config.record_dir[0] == '\0')
		return false;
	return snprintf(buf, size, "%s/%s.json", node->config.record_dir, name) <
	       (int)size;
}

static void record_write(struct neap_node *node, const char *name, json_t *input)
{
	char path[NEAP_PATH_MAX];
	struct neap_error err;

	if (record_path(node, name, path, sizeof(path)) &&
	    neap_json_file_write(path, input, &err) < 0)
		neap_log_line(&node->config.log, NEAP_LOG_WARN,
			      "%s; a later neapd will not know the requests of '%s'",
			      err.msg, name);
}

void neap_launch_recall(struct neap_node *node, struct node_workload *workload)
{
	char path[NEAP_PATH_MAX];
	struct neap_error err;
	json_t *record = NULL;
	size_t i;

	if (!record_path(node, workload->id, path, sizeof(path)))
		return;
	if (neap_json_file_read(path, &record, &err) < 0)
		neap_log_line(&node->config.log, NEAP_LOG_WARN,
			      "%s; the requests of '%s' are not known", err.msg,
			      workload->id);
	for (i = 0; i < NEAP_ARRAY_LEN(record_numbers); i++) {
		json_t *number = json_object_get(record, record_numbers[i].name);
		int64_t *member =
			(int64_t *)((char *)workload + record_numbers[i].offset);

		if (json_is_integer(number))
			*member = json_integer_value(number);
	}
	json_decref(record);
}

static void record_drop(struct neap_node *node, const char *name)
{
	char path[NEAP_PATH_MAX];

	if (record_path(node, name, path, sizeof(path)))
		(void)unlink(path); /* already gone is fine */
}

/* --- input --- */

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
	       c == '_';
}

static int check_name(const char *name, struct neap_error *err)
{
	size_t i, len = strlen(name);

	for (i = 0; i < len && is_name_char(name[i]); i++)
		;
	if (len == 0 || len > NAME_LEN_MAX || i < len || name[0] == '.' || name[0] == '-')
		return neap_error_field(
			err, NEAP_EINVAL, "name",
			"'%.64s' is no name: 1 to %d of a-z 0-9 . _ -, beginning with "
			"a letter or digit",
			name, NAME_LEN_MAX);
	return 0;
}

static bool is_name_taken(const struct neap_node *node, const char *name)
{
	size_t i;

	for (i = 0; i < neap_map_count(node->workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(node->workloads, i, NULL);

		if (strcmp(workload->id, name) == 0)
			return true;
	}
	for (i = 0; i < neap_map_count(node->launches); i++) {
		const struct node_launch *launch = neap_map_at(node->launches, i, NULL);

		if (strcmp(launch->name, name) == 0)
			return true;
	}
	return false;
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
		if (!is_name_taken(node, name))
			return;
	}
}

static int check_amount(json_t *input, const char *name, int64_t min,
			struct neap_error *err)
{
	json_t *number = json_object_get(input, name);

	if (number == NULL)
		return 0;
	if (!json_is_integer(number) || json_integer_value(number) < min)
		return neap_error_field(err, NEAP_EINVAL, name,
					"must be a whole number of at least %lld",
					(long long)min);
	return 0;
}

static int check_input(struct neap_node *node, json_t *input, struct node_launch *launch,
		       struct neap_error *err)
{
	const char *name = json_string_value(json_object_get(input, "name"));
	const char *qos = json_string_value(json_object_get(input, "qos"));
	const char *command =
		json_string_value(json_array_get(json_object_get(input, "command"), 0));

	if (qos == NULL || (strcmp(qos, "LS") != 0 && strcmp(qos, "BE") != 0))
		return neap_error_field(err, NEAP_EINVAL, "qos", "must be LS or BE");
	launch->qos = neap_qos_parse(qos);
	if (command == NULL || command[0] == '\0')
		return neap_error_field(err, NEAP_EINVAL, "command",
					"must name a program");
	if (name == NULL)
		make_name(node, command, launch->name, sizeof(launch->name));
	else if (check_name(name, err) < 0)
		return -(int)err->code;
	else if (is_name_taken(node, name))
		return neap_error_field(
			err, NEAP_EEXISTS, "name",
			"a workload '%s' runs already: choose another --name", name);
	else
		(void)neap_strcopy(launch->name, sizeof(launch->name), name);
	if (check_amount(input, "cpu_request_milli", 1, err) < 0 ||
	    check_amount(input, "cpu_limit_milli", 20, err) < 0 ||
	    check_amount(input, "memory_limit_bytes", 4 * 1024 * 1024, err) < 0)
		return -(int)err->code;
	return 0;
}

/* --- steps --- */

static void launch_end(struct neap_node *node, struct node_launch *launch, json_t *body,
		       const struct neap_error *err)
{
	(void)neap_map_remove(node->launches, launch->dir);
	if (launch->done != NULL)
		launch->done(launch->arg, body, err);
	else
		json_decref(body);
	if (launch->peer_fd >= 0)
		(void)close(launch->peer_fd);
	free(launch);
}

static void launch_fail(struct neap_node *node, struct node_launch *launch,
			const char *what, const struct neap_hand_answer *answer)
{
	struct neap_error err;
	enum neap_code code = answer->errnum == EBUSY ? NEAP_EUNAVAILABLE : NEAP_ESYS;

	(void)neap_error_set(&err, code, "%s %s: %s%s%s", what, launch->dir,
			     strerror(answer->errnum),
			     answer->text[0] != '\0' ? ": " : "", answer->text);
	err.errnum = answer->errnum;
	neap_node_note(node, "refused", launch->dir, "operator", err.msg, answer->errnum);
	launch_end(node, launch, NULL, &err);
}

static void moved(struct neap_node *node, void *arg,
		  const struct neap_hand_answer *answer)
{
	struct node_launch *launch = neap_map_find(node->launches, arg);
	char why[160];

	free(arg);
	if (launch == NULL)
		return;
	if (answer->errnum != 0) {
		launch_fail(node, launch, "move the process into", answer);
		return; /* the empty group goes at the next tick */
	}
	(void)snprintf(why, sizeof(why), "neapctl run: process %d", answer->pid);
	neap_node_note(node, "move", launch->dir, "operator", why, 0);
	neap_log_line(&node->config.log, NEAP_LOG_INFO,
		      "%s workload %s: process %d runs in %s", neap_qos_name(launch->qos),
		      launch->name, answer->pid, launch->dir);
	launch_end(node, launch,
		   json_pack("{s:s, s:s, s:s, s:s}", "id", launch->name, "name",
			     launch->name, "group", launch->dir, "qos",
			     neap_qos_name(launch->qos)),
		   NULL);
}

static void made(struct neap_node *node, void *arg, const struct neap_hand_answer *answer)
{
	struct node_launch *launch = neap_map_find(node->launches, arg);

	free(arg);
	if (launch == NULL)
		return;
	if (answer->errnum != 0) {
		record_drop(node, launch->name);
		launch_fail(node, launch, "make", answer);
		return;
	}
	launch->step = LAUNCH_MADE;
}

/* The group is named by its path in between: a launch can end meanwhile. */
static int
send_step(struct neap_node *node, struct node_launch *launch, enum neap_hand_op op,
	  void (*answered)(struct neap_node *, void *, const struct neap_hand_answer *),
	  struct neap_error *err)
{
	char dir[NEAP_PATH_MAX + 8];
	struct neap_hand_request request = {0};
	struct node_pending pending = {0};

	(void)snprintf(dir, sizeof(dir), "%s/%s", launch->dir, CONTAINER);
	request.op = op;
	request.group = dir;
	request.fd = launch->peer_fd;
	(void)neap_strcopy(pending.group, sizeof(pending.group), dir);
	pending.answered = answered;
	pending.arg = neap_strdup(launch->dir);
	pending.is_arg_owned = true;
	if (pending.arg == NULL)
		return neap_error_nomem(err);
	if (neap_node_send(node, &request, &pending, err) < 0) {
		free(pending.arg);
		return -(int)err->code;
	}
	return 0;
}

static int launch_start(struct neap_node *node, json_t *input, int peer_fd,
			struct node_launch *launch, struct neap_error *err)
{
	const struct neap_tree *own = &node->config.trees[0];
	enum neap_kube_qos kube_qos;

	if (node->hand == NULL)
		return neap_error_set(
			err, NEAP_EUNAVAILABLE,
			"neapd only watches (no root, or --dry-run): it cannot run "
			"workloads");
	if (node->is_frozen)
		return neap_error_set(
			err, NEAP_EUNAVAILABLE,
			"neapd is frozen: 'neapctl resume' lets it write again");
	if (!json_is_object(input))
		return neap_error_set(err, NEAP_EINVAL, "the body must be a JSON object");
	if (check_input(node, input, launch, err) < 0)
		return -(int)err->code;
	kube_qos =
		launch->qos == NEAP_QOS_BE ? NEAP_KUBE_BESTEFFORT : NEAP_KUBE_BURSTABLE;
	if (neap_path_pod_dir(own->driver, own->root, kube_qos, launch->name, launch->dir,
			      sizeof(launch->dir), err) < 0)
		return -(int)err->code;
	launch->peer_fd = fcntl(peer_fd, F_DUPFD_CLOEXEC, 0);
	if (launch->peer_fd < 0)
		return neap_error_sys(err, "duplicate the connection");
	if (!neap_map_set(node->launches, launch->dir, launch))
		return neap_error_nomem(err);
	record_write(node, launch->name, input);
	if (send_step(node, launch, NEAP_HAND_MAKE, made, err) < 0) {
		(void)neap_map_remove(node->launches, launch->dir);
		record_drop(node, launch->name);
		return -(int)err->code;
	}
	return 0;
}

void neap_node_run(struct neap_node *node, json_t *input, int peer_fd,
		   neap_node_done *done, void *arg)
{
	struct node_launch *launch = neap_alloc(sizeof(*launch));
	struct neap_error err;

	if (launch == NULL) {
		(void)neap_error_nomem(&err);
		done(arg, NULL, &err);
		return;
	}
	launch->peer_fd = -1;
	launch->done = done;
	launch->arg = arg;
	if (launch_start(node, input, peer_fd, launch, &err) < 0) {
		if (launch->peer_fd >= 0)
			(void)close(launch->peer_fd);
		free(launch);
		done(arg, NULL, &err);
		return;
	}
	neap_node_flush(node);
}

/* Groups that are made get their values by an ordinary plan; the hand works in order, so a move
 * asked for after it comes after it. */
void neap_launch_go(struct neap_node *node)
{
	bool is_any = false;
	struct neap_error err;
	size_t i;

	for (i = 0; i < neap_map_count(node->launches); i++) {
		struct node_launch *launch = neap_map_at(node->launches, i, NULL);

		is_any = is_any || launch->step == LAUNCH_MADE;
	}
	if (!is_any || node->plan_inflight > 0)
		return;
	if (neap_find_workloads(node, &err) < 0)
		neap_log_line(&node->config.log, NEAP_LOG_ERROR, "%s", err.msg);
	neap_plan_and_write(node);
	for (i = neap_map_count(node->launches); i-- > 0;) {
		struct node_launch *launch = neap_map_at(node->launches, i, NULL);

		if (launch->step != LAUNCH_MADE)
			continue;
		launch->step = LAUNCH_MOVING;
		if (send_step(node, launch, NEAP_HAND_MOVE, moved, &err) < 0)
			launch_end(node, launch, NULL, &err);
	}
	neap_node_flush(node);
}

/* --- the end of a workload --- */

static void removed(struct neap_node *node, void *arg,
		    const struct neap_hand_answer *answer)
{
	struct node_workload *workload = neap_map_find(node->workloads, arg);

	if (answer->errnum == 0 || answer->errnum == ENOENT) {
		neap_node_note(node, "remove", arg, "neapd", "its last process ended", 0);
		if (workload != NULL)
			record_drop(node, workload->id);
	} else if (workload != NULL) {
		workload->is_removing = false; /* somebody is inside again, or below */
	}
	free(arg);
}

static void remove_group(struct neap_node *node, const char *dir,
			 void (*answered)(struct neap_node *, void *,
					  const struct neap_hand_answer *))
{
	struct neap_hand_request request = {0};
	struct node_pending pending = {0};
	struct neap_error err;

	request.op = NEAP_HAND_REMOVE;
	request.group = dir;
	(void)neap_strcopy(pending.group, sizeof(pending.group), dir);
	pending.answered = answered;
	if (answered != NULL) {
		pending.arg = neap_strdup(dir);
		pending.is_arg_owned = true;
		if (pending.arg == NULL)
			return;
	}
	if (neap_node_send(node, &request, &pending, &err) < 0)
		free(pending.arg);
}

void neap_launch_collect(struct neap_node *node)
{
	size_t i, j;

	if (node->hand == NULL || node->is_frozen)
		return;
	for (i = 0; i < neap_map_count(node->workloads); i++) {
		struct node_workload *workload = neap_map_at(node->workloads, i, NULL);
		const char *dir = workload->group->dir;

		if (!workload->is_own || workload->is_removing ||
		    workload->processes != 0 ||
		    neap_map_find(node->launches, dir) != NULL)
			continue;
		workload->is_removing = true;
		for (j = 0; j < workload->container_count; j++)
			remove_group(node, workload->containers[j]->dir, NULL);
		remove_group(node, dir, removed);
	}
}

void neap_launch_free(struct neap_node *node)
{
	while (neap_map_count(node->launches) > 0) {
		struct node_launch *launch = neap_map_at(node->launches, 0, NULL);

		launch->done = NULL;
		launch_end(node, launch, NULL, NULL);
	}
}
