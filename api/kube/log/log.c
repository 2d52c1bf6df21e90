/* SPDX-License-Identifier: Apache-2.0
 *
 * Serves logs of containers. A response keeps its position in the files, and reads the
 * next block when its client has taken the last one. Output for a slow client stays on
 * disk. All idle responses check again on one timer. */
#include "api/kube/log/log.h"

#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/kube/log/log_read.h"
#include "api/kube/request/call.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

struct follower {
	struct follower *next, **prev;
	struct kube_logs *logs;
	struct neap_http_stream *stream;
	struct neap_log_read *read;
	struct event *again; /* its next turn */
	int container_fd;    /* the folder of the attempts */
	int attempt;
	int64_t version; /* of the pod, when it was last read */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID];
	bool is_idle; /* waits for the timer: all that exists is sent */
	bool is_cut;  /* freed with the connection */
};

struct kube_logs {
	struct neap_kube *kube;
	int dir_fd;
	struct follower *followers;
	size_t count;
	struct event *timer;
	char block[NEAP_LOG_BLOCK]; /* shared: of the follower that has its turn */
};

/* --- which container --- */

static const char *const lists[] = {"containers", "initContainers",
				    "ephemeralContainers"};
static const char *const statuses[] = {"containerStatuses", "initContainerStatuses",
				       "ephemeralContainerStatuses"};

static const json_t *find_named(const json_t *list, const char *name)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (list, i, entry) {
		if (strcmp(neap_json_text(entry, "name"), name) == 0)
			return entry;
	}
	return NULL;
}

/* "[a b]" */
static void add_names(struct neap_buf *buf, const json_t *list)
{
	const json_t *entry;
	size_t i;

	neap_buf_addc(buf, '[');
	json_array_foreach (list, i, entry) {
		neap_buf_addf(buf, "%s%s", i ? " " : "", neap_json_text(entry, "name"));
	}
	neap_buf_addc(buf, ']');
}

static int fail_unnamed(struct call *call, const json_t *spec)
{
	static const char *const before[] = {
		", choose one of: ", " or one of the init containers: ",
		" or one of the ephemeral containers: "};
	neap_auto_buf struct neap_buf text = {0};

	neap_buf_init(&text, NEAP_BUF_LINE);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(lists); i++) {
		const json_t *list = json_object_get(spec, lists[i]);

		if (i > 0 && json_array_size(list) == 0)
			continue;
		neap_buf_adds(&text, before[i]);
		add_names(&text, list);
	}
	return call_bad(call, "a container name must be specified for pod %s%s",
			call->target.name, text.data);
}

/* Borrowed from tree. */
static int choose_container(struct call *call, const json_t *tree, const char **ret)
{
	const json_t *spec = json_object_get(tree, "spec");
	const json_t *containers = json_object_get(spec, lists[0]);
	const char *wanted = call_query(call, "container");

	if ((!wanted || !*wanted) && json_array_size(containers) != 1)
		return fail_unnamed(call, spec);
	if (!wanted || !*wanted)
		wanted = neap_json_text(json_array_get(containers, 0), "name");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(lists); i++) {
		const json_t *found = find_named(json_object_get(spec, lists[i]), wanted);

		if (!found)
			continue;
		*ret = neap_json_text(found, "name");
		return 0;
	}
	return call_bad(call, "container %.200s is not valid for pod %s", wanted,
			call->target.name);
}

static const json_t *find_status(const json_t *tree, const char *container)
{
	const json_t *status = json_object_get(tree, "status"), *found = NULL;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(statuses) && !found; i++)
		found = find_named(json_object_get(status, statuses[i]), container);
	return found;
}

static int fail_not_started(struct call *call, const json_t *tree, const char *container)
{
	const json_t *state = json_object_get(find_status(tree, container), "state");
	const char *reason = neap_json_text(json_object_get(state, "waiting"), "reason");

	if (json_object_get(state, "running") || json_object_get(state, "terminated"))
		return call_refuse(call, NEAP_CLIENT_NOT_FOUND,
				   "what container \"%s\" in pod \"%s\" printed is "
				   "not kept on this machine",
				   container, call->target.name);
	return call_bad(call, "container \"%s\" in pod \"%s\" is waiting to start: %s",
			container, call->target.name,
			*reason ? reason : "ContainerCreating");
}

/* --- where it is --- */

/* -1: not found, or not a folder. */
static int open_folder(const struct kube_logs *logs, const char *uid,
		       const char *container)
{
	neap_auto_fd int pod = neap_log_open(logs->dir_fd, uid, O_RDONLY | O_DIRECTORY);

	return pod < 0 ? -1 : neap_log_open(pod, container, O_RDONLY | O_DIRECTORY);
}

/* The newest attempt has ended, and the next has not started: so it is also the previous
 * one. */
static bool is_between(const json_t *status)
{
	const json_t *last = json_object_get(status, "lastState");

	return neap_json_at(status, "state.waiting") &&
	       json_object_get(last, "terminated");
}

/* Returns the folder of the attempt, *ret_attempt is its number; -1 with
 * call->failure. */
static int open_attempt(struct call *call, const json_t *tree, const char *container,
			int container_fd, bool is_previous, int *ret_attempt)
{
	bool is_before = is_previous && !is_between(find_status(tree, container));
	char number[16];
	int fd;

	*ret_attempt = container_fd >= 0 ? neap_log_attempt(container_fd, is_before) : -1;
	(void)snprintf(number, sizeof(number), "%d", *ret_attempt);
	fd = *ret_attempt >= 0
		     ? neap_log_open(container_fd, number, O_RDONLY | O_DIRECTORY)
		     : -1;
	if (fd >= 0)
		return fd;
	if (!is_previous)
		return fail_not_started(call, tree, container);
	return call_bad(call,
			"previous terminated container \"%s\" in pod \"%s\" not "
			"found",
			container, call->target.name);
}

/* --- giving --- */

static void follower_free(struct follower *follower)
{
	struct kube_logs *logs = follower->logs;

	*follower->prev = follower->next;
	if (follower->next)
		follower->next->prev = follower->prev;
	if (--logs->count == 0)
		(void)event_del(logs->timer);
	kube_tidy_later(logs->kube);
	if (follower->again)
		event_free(follower->again);
	neap_log_read_free(follower->read);
	if (follower->container_fd >= 0)
		close(follower->container_fd);
	free(follower);
}

static void client_gone(void *arg)
{
	follower_free(arg);
}

static void follower_end(struct follower *follower)
{
	neap_http_stream_end(follower->stream);
	follower_free(follower);
}

static void turn_later(struct follower *follower)
{
	static const struct timeval soon = {0};

	if (event_add(follower->again, &soon) < 0)
		event_active(follower->again, EV_TIMEOUT, 0);
}

/* The client took the last block. */
static void has_room(void *arg)
{
	turn_later(arg);
}

/* One step. Ends the follower when no more can come. */
static void take_turn(struct follower *follower)
{
	struct kube_logs *logs = follower->logs;
	struct neap_http_part part = {.data = logs->block};
	struct neap_error err;
	int state = neap_log_read_next(follower->read, logs->block, &part.len, &err);
	int pushed = 1;

	if (state < 0) {
		/* A normal end would hide that output is missing. */
		follower->is_cut = true;
		neap_http_stream_cut(follower->stream);
		return;
	}
	if (part.len)
		pushed = neap_http_stream_push(follower->stream, &part, 1, NULL, has_room,
					       follower);
	if (pushed < 0 || state == NEAP_LOG_END) {
		follower_end(follower); /* what was sent still arrives */
		return;
	}
	follower->is_idle = state == NEAP_LOG_WAITS;
	if (pushed > 0 && !follower->is_idle)
		turn_later(follower);
}

static void its_turn(evutil_socket_t fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	const struct follower *follower = arg;

	if (!follower->is_cut)
		take_turn(arg);
}

/* Whether the pod or container has ended, or the container was restarted, also when no
 * file says how it ended. */
static bool is_past(struct follower *follower)
{
	struct neap_object *pod = neap_store_find(follower->logs->kube->store, "pods",
						  follower->ns, follower->name);
	json_t *tree;
	const char *phase;
	bool is_so;

	if (!pod || strcmp(pod->uid, follower->uid) != 0)
		return true;
	if (pod->version == follower->version)
		return false;
	tree = neap_object_tree(pod);
	if (!tree)
		return false; /* later */
	follower->version = pod->version;
	phase = neap_json_text(json_object_get(tree, "status"), "phase");
	is_so = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0 ||
		neap_log_attempt(follower->container_fd, false) > follower->attempt;
	json_decref(tree);
	return is_so;
}

static void look_again(evutil_socket_t fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	struct kube_logs *logs = arg;

	for (struct follower *at = logs->followers; at; at = at->next) {
		if (!at->is_idle || at->is_cut)
			continue;
		if (is_past(at))
			neap_log_read_finish(at->read);
		at->is_idle = false;
		turn_later(at);
	}
}

/* --- beginning --- */

static int fail_option(struct call *call, const char *field, const char *value,
		       const char *why)
{
	return call_refuse(call, NEAP_CLIENT_INVALID,
			   "PodLogOptions \"%s\" is invalid: %s: Invalid value: "
			   "\"%.40s\": %s",
			   call->target.name, field, value, why);
}

/* -1 when missing. */
static int option_number(struct call *call, const char *name, int64_t least, int64_t *ret)
{
	const char *text = call_query(call, name);

	if (call_number(call, name, -1, ret) < 0)
		return -1;
	if (!text || *ret >= least)
		return 0;
	return fail_option(call, name, text,
			   least ? "must be greater than 0"
				 : "must be greater than or equal to 0");
}

static int parse_since(struct call *call, int64_t *ret)
{
	const char *time = call_query(call, "sinceTime");
	int64_t count, now = call->kube->now();
	struct neap_error err;

	*ret = 0;
	if (option_number(call, "sinceSeconds", 1, &count) < 0)
		return -1;
	if (count > 0 && time && *time)
		return fail_option(call, "sinceTime", time,
				   "at most one of `sinceTime` or `sinceSeconds` may be "
				   "specified");
	if (count > 0 && count < now / 1000000)
		*ret = now - count * 1000000;
	if (time && *time && neap_time_parse(time, ret, &err) < 0)
		return call_bad(call, "sinceTime: %s", err.msg);
	return 0;
}

static int parse_wish(struct call *call, struct neap_log_wish *ret)
{
	if (option_number(call, "tailLines", 0, &ret->tail_lines) < 0 ||
	    option_number(call, "limitBytes", 1, &ret->limit_bytes) < 0 ||
	    parse_since(call, &ret->since_usec) < 0)
		return -1;
	ret->has_times = call_flag(call, "timestamps");
	ret->is_follow = call_flag(call, "follow");
	return 0;
}

/* Takes container_fd. NULL without memory. */
static struct follower *follower_new_take(struct call *call,
					  const struct neap_object *pod, int container_fd)
{
	static const struct timeval each = {.tv_usec = NEAP_KUBE_LOGS_MSEC * 1000L};
	struct kube_logs *logs = call->kube->logs;
	struct follower *follower = neap_alloc(sizeof(*follower));

	if (!follower) {
		close(container_fd);
		return NULL;
	}
	follower->logs = logs;
	follower->container_fd = container_fd;
	(void)neap_strcopy(follower->ns, sizeof(follower->ns), pod->ns);
	(void)neap_strcopy(follower->name, sizeof(follower->name), pod->name);
	(void)neap_strcopy(follower->uid, sizeof(follower->uid), pod->uid);
	follower->next = logs->followers;
	if (follower->next)
		follower->next->prev = &follower->next;
	follower->prev = &logs->followers;
	logs->followers = follower;
	follower->again = event_new(call->kube->base, -1, 0, its_turn, follower);
	if ((logs->count++ || event_add(logs->timer, &each) == 0) && follower->again)
		return follower;
	follower_free(follower);
	return NULL;
}

/* Makes a follower without a stream from a pod and the request's options. NULL with
 * call->failure. */
static struct follower *make_follower(struct call *call, struct neap_object *pod,
				      const json_t *tree)
{
	bool is_previous = call_flag(call, "previous");
	struct neap_log_wish wish = {0};
	struct follower *follower;
	struct neap_error err;
	const char *container = "";
	int container_fd, fd, attempt;

	if (choose_container(call, tree, &container) < 0 || parse_wish(call, &wish) < 0)
		return NULL;
	container_fd = open_folder(call->kube->logs, pod->uid, container);
	fd = open_attempt(call, tree, container, container_fd, is_previous, &attempt);
	if (fd < 0) {
		if (container_fd >= 0)
			close(container_fd);
		return NULL;
	}
	follower = follower_new_take(call, pod, container_fd);
	if (!follower) {
		close(fd);
		(void)call_nomem(call);
		return NULL;
	}
	follower->attempt = attempt;
	if (neap_log_read_new_take(fd, &wish, &follower->read, &err) < 0) {
		(void)call_nomem(call);
		follower_free(follower);
		return NULL;
	}
	if (is_previous) /* also when no file says how it ended */
		neap_log_read_finish(follower->read);
	return follower;
}

int call_log(struct call *call)
{
	const struct neap_kube_target *target = &call->target;
	struct kube_logs *logs = call->kube->logs;
	json_auto_t *tree = NULL;
	struct follower *follower;
	struct neap_object *pod;

	if (!logs)
		return call_refuse(call, NEAP_CLIENT_NOT_FOUND,
				   "pods/log: no pods run here, so nothing of what "
				   "they print is kept");
	pod = neap_store_find(call->kube->store, call->resource, target->ns,
			      target->name);
	if (!pod)
		return call_missing(call);
	tree = neap_object_tree(pod);
	if (!tree)
		return call_nomem(call);
	if (logs->count >= NEAP_KUBE_LOGS_MAX) {
		(void)call_refuse(call, NEAP_CLIENT_TOO_MANY_REQUESTS,
				  "%d answers of pods/log are open already",
				  NEAP_KUBE_LOGS_MAX);
		call->failure.retry_after_s = 1;
		return -1;
	}
	follower = make_follower(call, pod, tree);
	if (!follower)
		return -1;
	follower->stream = neap_http_stream_start_take(call->request, "text/plain",
						       client_gone, follower);
	call->request = NULL;
	if (follower->stream)
		take_turn(follower);
	else
		follower_free(follower);
	return 0;
}

int neap_kube_logs_set(struct neap_kube *kube, const char *dir, struct neap_error *err)
{
	struct kube_logs *logs = neap_alloc(sizeof(*logs));
	int rc;

	if (!logs)
		return neap_error_nomem(err);
	logs->kube = kube;
	logs->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	logs->timer = event_new(kube->base, -1, EV_PERSIST, look_again, logs);
	if (logs->dir_fd < 0 || !logs->timer) {
		rc = logs->dir_fd < 0 ? neap_error_sys(err, "open %s", dir)
				      : neap_error_nomem(err);
		kube_logs_free(logs);
		return rc;
	}
	kube->logs = logs;
	return 0;
}

void kube_logs_free(struct kube_logs *logs)
{
	if (!logs)
		return;
	while (logs->followers)
		follower_end(logs->followers);
	if (logs->timer)
		event_free(logs->timer);
	if (logs->dir_fd >= 0)
		close(logs->dir_fd);
	free(logs);
}
