/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests in all forms through the real server, over a unix socket, with live policies
 * behind it and a node that is only a table of functions. An answer is the right one, or
 * it says 5xx, or the client can see that it is not whole. */
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/control/control.h"
#include "engine/json/json.h"
#include "t/lib/live_rig.h"
#include "t/torture/torture.h"

#define ANSWER_MAX (256 * 1024)
#define TURNS_MAX  400
#define ONE        "/control/v1/policies/qos/one"

struct web {
	struct live_rig *rig;
	struct neap_http *http;
	struct neap_control_policies *policies;
	struct neap_control *control;
	struct neap_control_audit *stream;
	struct neap_metrics *metrics;
	struct neap_audit *audit;
	struct neap_topology *topology;
	char path[96];
};

static const bool is_open;

/* --- the node --- */

static json_t *fake_status(void *arg)
{
	json_t *status = json_object();

	(void)arg;
	if (status != NULL) {
		neap_json_set_text(status, "state", "acting");
		neap_json_set_int(status, "ticks", 5);
		neap_json_set_real(status, "used_cores", 1.5);
	}
	return status;
}

static json_t *fake_list(void *arg)
{
	(void)arg;
	return json_pack("[{s:s, s:s}]", "id", "a", "name", "b");
}

static const struct neap_topology *fake_topology(void *arg)
{
	return ((struct web *)arg)->topology;
}

static const struct neap_audit *fake_audit(void *arg)
{
	return ((struct web *)arg)->audit;
}

static bool fake_is_ready(void *arg, const char **ret_why_not)
{
	(void)arg;
	(void)ret_why_not;
	return true;
}

static int fake_rotate(void *arg, const char *by, const char **ret_file,
		       struct neap_error *err)
{
	(void)arg;
	(void)by;
	(void)err;
	*ret_file = "/data/token";
	return 0;
}

static void fake_operate(void *arg, const char *verb, const char *by,
			 neap_control_done *done, void *done_arg)
{
	struct neap_error err;
	json_t *body = json_pack("{s:s}", "did", verb);

	(void)arg;
	(void)by;
	if (body == NULL)
		(void)neap_error_nomem(&err);
	done(done_arg, body, body != NULL ? NULL : &err);
}

static void fake_run(void *arg, json_t *input, int peer_fd,
		     const struct neap_http_peer *peer, neap_control_done *done,
		     void *done_arg)
{
	(void)input;
	(void)peer_fd;
	(void)peer;
	fake_operate(arg, "run", "", done, done_arg);
}

/* --- life --- */

static void servers_new(struct web *web)
{
	struct neap_http_config config = {
		.tcp_fd = -1, .unix_fd = -1, .own_uid = geteuid()};
	const struct neap_control_node node = {.arg = web,
					       .status = fake_status,
					       .workloads = fake_list,
					       .topology = fake_topology,
					       .audit = fake_audit,
					       .is_ready = fake_is_ready,
					       .is_started = fake_is_ready,
					       .rotate_token = fake_rotate,
					       .operate = fake_operate,
					       .run = fake_run};
	struct neap_live *live = web->rig->live;
	struct neap_error err = {0};

	if (neap_http_bind_unix(web->path, &config.unix_fd, &err) < 0 ||
	    neap_http_new(web->rig->base, &config, &web->http, &err) < 0 ||
	    neap_control_new(web->http, &node, live, &web->control, &err) < 0 ||
	    neap_control_policies_new(web->http, live, &web->policies, &err) < 0 ||
	    neap_control_audit_new(web->http, &node, &web->stream, &err) < 0 ||
	    neap_metrics_new(web->http, &node, live, &is_open, NULL, &web->metrics,
			     &err) < 0)
		torture_fail("%s", err.msg);
}

static void *setup(void)
{
	static const struct neap_processor processors[] = {{0, 0, 0, 0}, {1, 1, 0, 0}};
	static const struct neap_audit_entry entry = {.what = "set", .group = "g"};
	struct web *web = calloc(1, sizeof(*web));
	struct neap_error err = {0};
	void *state = NULL;

	(void)live_setup(&state);
	web->rig = state;
	if (live_start(web->rig, &err) < 0)
		torture_fail("%s", err.msg);
	live_play(web->rig, "one", "+A p300");
	(void)snprintf(web->path, sizeof(web->path), "%s/s", web->rig->base_dir);
	web->audit = neap_audit_new(8);
	(void)neap_audit_add(web->audit, &entry);
	(void)neap_topology_new_from_processors(processors, 2, &web->topology, NULL);
	servers_new(web);
	return web;
}

static void teardown(void *arg)
{
	struct web *web = arg;
	void *state = web->rig;

	neap_http_free(web->http);
	neap_control_policies_free(web->policies);
	neap_control_audit_free(web->stream);
	neap_metrics_free(web->metrics);
	neap_control_free(web->control);
	(void)live_teardown(&state);
	neap_audit_free(web->audit);
	neap_topology_unref(web->topology);
	free(web);
}

/* --- a client that allocates nothing --- */

static char answer[ANSWER_MAX];
static size_t answer_len;

/* True when it holds as much as its header promises. */
static bool is_whole(void)
{
	const char *body = strstr(answer, "\r\n\r\n"), *length;

	if (body == NULL)
		return false;
	body += 4;
	length = strcasestr(answer, "\r\nContent-Length:");
	if (length != NULL && length < body)
		return (size_t)strtoul(length + 17, NULL, 10) ==
		       answer_len - (size_t)(body - answer);
	return strcasestr(answer, "\r\nTransfer-Encoding: chunked") != NULL &&
	       answer_len >= 5 && memcmp(answer + answer_len - 5, "0\r\n\r\n", 5) == 0;
}

static void ask(struct web *web, const char *request, size_t len, bool is_stream)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n = -1;
	int i;

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", web->path);
	answer_len = 0;
	answer[0] = '\0';
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    write(fd, request, len) != (ssize_t)len)
		torture_fail("cannot send");
	for (i = 0; n != 0 && !is_whole(); i++) {
		if (i >= TURNS_MAX)
			torture_fail("no end of the answer: %.300s", answer);
		(void)event_base_loop(web->rig->base, EVLOOP_NONBLOCK);
		if (is_stream)
			neap_control_audit_poke(web->stream, i * INT64_C(1000000));
		if (is_stream && strstr(answer, "\"seq\":") != NULL)
			break;
		if (is_stream && i > 200)
			break;
		if (poll(&p, 1, i < 20 ? 0 : 1) <= 0)
			continue;
		n = read(fd, answer + answer_len, sizeof(answer) - 1 - answer_len);
		if (n < 0)
			break;
		answer_len += (size_t)n;
		answer[answer_len] = '\0';
	}
	(void)close(fd);
	for (i = 0; i < 3; i++)
		(void)event_base_loop(web->rig->base, EVLOOP_NONBLOCK);
}

/* --- requests --- */

struct form {
	const char *head, *body;
	bool is_stream, is_change;
};

static void send_form(struct web *web, const struct form *form)
{
	static char request[8192];
	int len = snprintf(request, sizeof(request),
			   "%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
			   form->head, strlen(form->body), form->body);

	ask(web, request, (size_t)len, form->is_stream);
}

/* The body without what differs from time to time. */
static void tell_body(const struct form *form)
{
	static const char *const times[] = {"_usec\":", "\"time\":", "_seconds "};
	const char *body = strstr(answer, "\r\n\r\n") + 4;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(times); i++) {
		char *at = answer;

		for (at = strstr(at, times[i]); at != NULL; at = strstr(at, times[i]))
			for (at += strlen(times[i]);
			     *at != '\0' && *at != ',' && *at != '}' && *at != '\n'; at++)
				*at = '_';
	}
	torture_tell("%.12s\n%s", answer, form->is_change || form->is_stream ? "" : body);
}

static int act(struct web *web, const struct form *form, struct neap_error *err)
{
	int status;

	send_form(web, form);
	live_settle(web->rig);
	/* Closed before the answer, or in the middle of it: the client can tell. */
	if (form->is_stream ? strstr(answer, "\"seq\":") == NULL : !is_whole())
		return neap_error_nomem(err);
	status = atoi(answer + 9); /* lint: allow atoi, behind "HTTP/1.1 " */
	/* The parser of evhttp knows one word for all that it cannot do, with a page of
	 * its own. */
	if (status >= 500 || (status == 400 && strstr(answer, "<HTML>") != NULL))
		return neap_error_nomem(err);
	if (strncmp(form->head, "HEAD", 4) == 0)
		return 0;
	tell_body(form);
	return 0;
}

/* The server is as it was. */
static void check(void *arg, int rc)
{
	static const struct form ready = {"GET /readyz", "", false, false};
	struct web *web = arg;
	struct neap_error err = {0};

	(void)rc;
	send_form(web, &ready);
	if (!is_whole() || strncmp(answer, "HTTP/1.1 200", 12) != 0)
		torture_fail("the next request: %.200s", answer);
	live_play(web->rig, "one", "+D:uD* R:uD");
	(void)err;
}

#define FORM(name, head_, body_, is_stream_, is_change_)                                 \
	static int name(void *arg, struct neap_error *err)                               \
	{                                                                                \
		static const struct form form = {head_, body_, is_stream_, is_change_};  \
                                                                                         \
		return act(arg, &form, err);                                             \
	}

FORM(get_health, "GET /healthz", "", false, false)
FORM(get_status, "GET /control/v1/status", "", false, false)
FORM(get_workloads, "GET /control/v1/workloads", "", false, false)
FORM(get_topology, "GET /control/v1/topology", "", false, false)
FORM(get_metrics, "GET /metrics", "", false, false)
FORM(get_audit, "GET /control/v1/audit?since=0&limit=5", "", false, false)
FORM(get_stream, "GET /control/v1/audit?since=0", "", true, false)
FORM(get_policies, "GET /control/v1/policies", "", false, false)
FORM(get_policy, "GET " ONE, "", false, false)
FORM(get_params, "GET " ONE "/params", "", false, false)
FORM(get_versions, "GET " ONE "/versions", "", false, false)
FORM(get_nothing, "GET /nothing/at/all?a=b%20c&d=e", "", false, false)
FORM(post_freeze, "POST /control/v1/freeze", "", false, false)
FORM(post_rotate, "POST /control/v1/token/rotate", "", false, false)
FORM(post_run, "POST /control/v1/run",
     "{\"qos\": \"BE\", \"command\": [\"sleep\", \"a rather long argument to that\"]}",
     false, false)
FORM(patch_params, "PATCH " ONE "/params", "{\"milli\": 500}", false, true)
FORM(patch_wrong, "PATCH " ONE "/params", "{\"milli\": \"five hundred and a half\"}",
     false, false)
FORM(post_rollback, "POST " ONE "/rollback", "{}", false, true)

static int put_act(void *arg, struct neap_error *err)
{
	struct form form = {"PUT " ONE, live_text("one", 'B'), false, true};

	return act(arg, &form, err);
}

static int dry_act(void *arg, struct neap_error *err)
{
	struct form form = {"PUT " ONE "?dryRun=true", live_text("one", 'B'), false,
			    true};

	return act(arg, &form, err);
}

static int delete_act(void *arg, struct neap_error *err)
{
	struct form form = {"DELETE " ONE, "", false, true};

	return act(arg, &form, err);
}

#define ROW(name, act_)                                                                  \
	{                                                                                \
		"http: " name, setup, act_, check, teardown                              \
	}

const struct torture torture_http[] = {
	ROW("health", get_health),
	ROW("status", get_status),
	ROW("workloads", get_workloads),
	ROW("topology", get_topology),
	ROW("metrics", get_metrics),
	ROW("audit", get_audit),
	ROW("audit stream", get_stream),
	ROW("policies", get_policies),
	ROW("policy", get_policy),
	ROW("parameters", get_params),
	ROW("versions", get_versions),
	ROW("not found", get_nothing),
	ROW("freeze", post_freeze),
	ROW("token rotate", post_rotate),
	ROW("run", post_run),
	ROW("parameters change", patch_params),
	ROW("parameters wrong", patch_wrong),
	ROW("rollback", post_rollback),
	ROW("put", put_act),
	ROW("put, dry run", dry_act),
	ROW("delete", delete_act),
	{0},
};
