/* SPDX-License-Identifier: Apache-2.0
 *
 * Routes of the control API, and the checks before the node is called. Operations that
 * need the hand are answered when it has answered; the client may be gone by then. */
#include "api/control/control.h"

#include <stdlib.h>
#include <string.h>

#include "api/control/topology_json.h"
#include "api/control/version_json.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define NAME_MAX_BYTES    63
#define COMMAND_WORDS_MAX 4096

/* An answer that the node still owes. request is NULL once the client has gone. */
struct pending {
	struct pending *next,
		**prev; /* in control's list; prev NULL when control has gone */
	struct neap_http_request *request;
	json_t *input; /* of run, kept until the answer */
};

struct neap_control {
	struct neap_control_node node;
	struct neap_live *live;
	struct pending *pending;
};

static void pending_free(struct pending *pending)
{
	if (pending->prev) {
		*pending->prev = pending->next;
		if (pending->next)
			pending->next->prev = pending->prev;
	}
	json_decref(pending->input);
	free(pending);
}

static void client_gone(void *arg)
{
	struct pending *pending = arg;

	pending->request = NULL;
}

static struct pending *pending_new(struct neap_control *control,
				   struct neap_http_request *request)
{
	struct pending *pending = neap_alloc(sizeof(*pending));

	if (!pending)
		return NULL;
	pending->request = request;
	pending->next = control->pending;
	pending->prev = &control->pending;
	if (pending->next)
		pending->next->prev = &pending->next;
	control->pending = pending;
	neap_http_defer(request, client_gone, pending);
	return pending;
}

static void node_done(void *done_arg, json_t *body, const struct neap_error *err)
{
	struct pending *pending = done_arg;
	struct neap_http_request *request = pending->request;

	pending_free(pending);
	if (!request)
		json_decref(body);
	else if (err)
		neap_http_answer_error(request, err);
	else
		neap_http_answer_json_take(request, 200, body);
}

void neap_control_answer_take(struct neap_http_request *request, int status, json_t *body)
{
	struct neap_error err;

	if (body) {
		neap_http_answer_json_take(request, status, body);
		return;
	}
	(void)neap_error_nomem(&err);
	neap_http_answer_error(request, &err);
}

int neap_control_read_body(struct neap_http_request *request, bool is_needed,
			   json_t **ret, struct neap_error *err)
{
	json_error_t where;
	size_t len;
	const char *body = neap_http_body_get(request, &len);
	int rc = 0;

	*ret = NULL;
	if (neap_json_values_of_text(body, len) > NEAP_CONTROL_VALUES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "the body has more than %d values",
				      NEAP_CONTROL_VALUES_MAX);
	if (len > 0 || is_needed)
		rc = neap_json_parse(body, len, JSON_REJECT_DUPLICATES, ret, &where);
	else
		*ret = json_object();
	if (rc == -NEAP_EINVAL)
		return neap_error_set(err, NEAP_EINVAL,
				      "the body is no JSON: line %d: %s", where.line,
				      where.text);
	if (*ret == NULL)
		return neap_error_nomem(err);
	if (json_is_object(*ret))
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return neap_error_set(err, NEAP_EINVAL, "the body is no JSON object");
}

/* The node answers after its first tick. Before that the client gets the reason. */
static bool has_node(struct neap_control *control, struct neap_http_request *request)
{
	const char *why = "";
	struct neap_error err;

	if (control->node.is_ready(control->node.arg, &why))
		return true;
	neap_error_set(&err, NEAP_EUNAVAILABLE, "%s", why);
	neap_http_answer_error(request, &err);
	return false;
}

/* --- health --- */

static void get_health(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_http_answer_text(request, 200, "text/plain", "ok\n", 3);
}

static void get_ready(void *arg, struct neap_http_request *request)
{
	struct neap_control *control = arg;
	const char *why = "";
	struct neap_error err;

	if (control->node.is_started(control->node.arg, &why)) {
		neap_http_answer_text(request, 200, "text/plain", "ok\n", 3);
		return;
	}
	(void)neap_error_set(&err, NEAP_EUNAVAILABLE, "%s", why);
	neap_http_answer_error(request, &err);
}

static void get_version(void *arg, struct neap_http_request *request)
{
	(void)arg;
	neap_control_answer_take(request, 200, neap_version_json());
}

/* --- figures --- */

static void get_status(void *arg, struct neap_http_request *request)
{
	struct neap_control *control = arg;
	json_t *status;

	if (!has_node(control, request))
		return;
	status = control->node.status(control->node.arg);
	if (status != NULL && control->live != NULL)
		(void)json_object_set_new(status, "policies",
					  neap_live_rows(control->live));
	neap_control_answer_take(request, 200, status);
}

static void get_workloads(void *arg, struct neap_http_request *request)
{
	struct neap_control *control = arg;

	if (has_node(control, request))
		neap_control_answer_take(request, 200,
					 control->node.workloads(control->node.arg));
}

static void get_topology(void *arg, struct neap_http_request *request)
{
	struct neap_control *control = arg;

	if (has_node(control, request))
		neap_control_answer_take(
			request, 200,
			neap_topology_json(control->node.topology(control->node.arg)));
}

/* --- operations --- */

static void operate(struct neap_control *control, struct neap_http_request *request,
		    const char *verb)
{
	struct pending *pending;

	if (!has_node(control, request))
		return;
	pending = pending_new(control, request);
	if (!pending) {
		neap_control_answer_take(request, 200, NULL);
		return;
	}
	control->node.operate(control->node.arg, verb, neap_http_peer_get(request)->name,
			      node_done, pending);
}

static void post_freeze(void *arg, struct neap_http_request *request)
{
	operate(arg, request, "freeze");
}

static void post_release(void *arg, struct neap_http_request *request)
{
	operate(arg, request, "release");
}

static void post_resume(void *arg, struct neap_http_request *request)
{
	operate(arg, request, "resume");
}

static void post_rotate(void *arg, struct neap_http_request *request)
{
	struct neap_control *control = arg;
	struct neap_error err;
	const char *file = "";

	if (control->node.rotate_token(control->node.arg,
				       neap_http_peer_get(request)->name, &file,
				       &err) < 0)
		neap_http_answer_error(request, &err);
	else
		neap_control_answer_take(request, 200,
					 json_pack("{s:s}", "token_file", file));
}

/* --- run --- */

static int check_name(const json_t *value, int64_t min, struct neap_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	const char *text = json_string_value(value);

	(void)min;
	if (!text || !*text || strlen(text) > NAME_MAX_BYTES || strspn(text, "._-") ||
	    text[strspn(text, allowed)])
		return neap_error_field(
			err, NEAP_EINVAL, "name",
			"a name has 1 to %d of a-z 0-9 . _ -, and starts with a letter "
			"or digit",
			NAME_MAX_BYTES);
	return 0;
}

static int check_qos(const json_t *value, int64_t min, struct neap_error *err)
{
	const char *text = json_string_value(value);

	(void)min;
	if (!text || (strcmp(text, "LS") != 0 && strcmp(text, "BE") != 0))
		return neap_error_field(err, NEAP_EINVAL, "qos",
					"LS (latency-critical) or BE (best effort)");
	return 0;
}

static int check_amount(const json_t *value, int64_t min, struct neap_error *err)
{
	if (!json_is_integer(value) || json_integer_value(value) < min)
		return neap_error_set(err, NEAP_EINVAL, "a whole number of at least %lld",
				      (long long)min);
	return 0;
}

static int check_command(const json_t *value, int64_t min, struct neap_error *err)
{
	const json_t *word;
	size_t i;

	(void)min;
	if (!json_array_size(value) || json_array_size(value) > COMMAND_WORDS_MAX)
		return neap_error_field(err, NEAP_EINVAL, "command",
					"a list of 1 to %d words", COMMAND_WORDS_MAX);
	if (!json_string_length(json_array_get(value, 0)))
		return neap_error_field(err, NEAP_EINVAL, "command",
					"every word is a string, and the first one names "
					"a program");
	json_array_foreach (value, i, word)
		if (!json_is_string(word))
			return neap_error_field(err, NEAP_EINVAL, "command",
						"every word is a string");
	return 0;
}

static const struct {
	const char *name;
	int (*check)(const json_t *value, int64_t min, struct neap_error *err);
	bool is_needed;
	int64_t min;
} run_fields[] = {
	{"name", check_name, false, 0},
	{"qos", check_qos, true, 0},
	{"cpu_request_milli", check_amount, false, 1},
	{"cpu_limit_milli", check_amount, false, 20}, /* what the kernel takes */
	{"memory_limit_bytes", check_amount, false, INT64_C(4) << 20},
	{"command", check_command, true, 0},
};

static int check_run(json_t *input, struct neap_error *err)
{
	const char *key;
	json_t *value;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(run_fields); i++) {
		value = json_object_get(input, run_fields[i].name);
		if (!value && run_fields[i].is_needed)
			return neap_error_field(err, NEAP_EINVAL, run_fields[i].name,
						"is missing");
		if (value && run_fields[i].check(value, run_fields[i].min, err) < 0) {
			neap_strcopy(err->field, sizeof(err->field), run_fields[i].name);
			return -NEAP_EINVAL;
		}
	}
	json_object_foreach (input, key, value) {
		for (i = 0; i < NEAP_ARRAY_LEN(run_fields); i++)
			if (strcmp(run_fields[i].name, key) == 0)
				break;
		if (i == NEAP_ARRAY_LEN(run_fields))
			return neap_error_field(err, NEAP_EINVAL, key,
						"is unknown: there are name, qos, "
						"cpu_request_milli, cpu_limit_milli, "
						"memory_limit_bytes, command");
	}
	return 0;
}

static void post_run(void *arg, struct neap_http_request *request)
{
	struct neap_control *control = arg;
	const struct neap_http_peer *peer = neap_http_peer_get(request);
	struct pending *pending;
	struct neap_error err;
	json_t *input = NULL;

	if (!has_node(control, request))
		return;
	if (!peer->is_unix) {
		neap_error_set(
			&err, NEAP_EFORBIDDEN,
			"run moves the process that asks: only over the unix socket");
		neap_http_answer_error(request, &err);
		return;
	}
	if (neap_control_read_body(request, true, &input, &err) < 0 ||
	    check_run(input, &err) < 0) {
		json_decref(input);
		neap_http_answer_error(request, &err);
		return;
	}
	pending = pending_new(control, request);
	if (!pending) {
		json_decref(input);
		neap_control_answer_take(request, 200, NULL);
		return;
	}
	pending->input = input;
	control->node.run(control->node.arg, input, neap_http_fd_get(request), peer,
			  node_done, pending);
}

static const struct neap_http_route routes[] = {
	{"GET", "/healthz", NEAP_HTTP_ANYBODY, get_health},
	{"GET", "/healthz/ping", NEAP_HTTP_ANYBODY, get_health},
	{"GET", "/livez", NEAP_HTTP_ANYBODY, get_health},
	{"GET", "/livez/ping", NEAP_HTTP_ANYBODY, get_health},
	{"GET", "/readyz", NEAP_HTTP_ANYBODY, get_ready},
	{"GET", "/readyz/ping", NEAP_HTTP_ANYBODY, get_health},
	{"GET", "/version", NEAP_HTTP_ANYBODY, get_version},
	{"GET", "/version/", NEAP_HTTP_ANYBODY, get_version},
	{"GET", "/control/v1/status", NEAP_HTTP_READER, get_status},
	{"GET", "/control/v1/workloads", NEAP_HTTP_READER, get_workloads},
	{"GET", "/control/v1/topology", NEAP_HTTP_READER, get_topology},
	{"POST", "/control/v1/freeze", NEAP_HTTP_EDITOR, post_freeze},
	{"POST", "/control/v1/release", NEAP_HTTP_EDITOR, post_release},
	{"POST", "/control/v1/resume", NEAP_HTTP_EDITOR, post_resume},
	{"POST", "/control/v1/token/rotate", NEAP_HTTP_ADMIN, post_rotate},
	{"POST", "/control/v1/run", NEAP_HTTP_EDITOR, post_run},
	{0},
};

int neap_control_new(struct neap_http *http, const struct neap_control_node *node,
		     struct neap_live *live, struct neap_control **ret,
		     struct neap_error *err)
{
	struct neap_control *control = neap_alloc(sizeof(*control));
	int r;

	if (!control)
		return neap_error_nomem(err);
	control->node = *node;
	control->live = live;
	r = neap_http_add_routes(http, routes, control, err);
	if (r < 0) {
		free(control);
		return r;
	}
	*ret = control;
	return 0;
}

void neap_control_free(struct neap_control *control)
{
	struct pending *pending;

	if (!control)
		return;
	/* Their answers may still come; they then find no client and free themselves. */
	for (pending = control->pending; pending; pending = control->pending) {
		control->pending = pending->next;
		pending->prev = NULL;
		pending->next = NULL;
		pending->request = NULL;
	}
	free(control);
}
