/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/extender_rig.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/http/users/grants.h"
#include "api/schedule/view.h"
#include "t/lib/patience.h"

int64_t extender_step_usec;
static int64_t seen_usec;

static int64_t now_usec(void)
{
	return seen_usec += extender_step_usec;
}

static struct neap_http *http;
static struct neap_extender *extender;
static int api_port, own_port;

static int setup_with(void **state, enum neap_http_role bind_role, int64_t deadline_usec)
{
	static const struct neap_grants grants = {
		{{NEAP_HTTP_EDITOR, NEAP_GRANT_GROUP, 0, "dev"}}, 1};
	struct neap_http_config server = {.tls_fd = -1,
					  .unix_fd = -1,
					  .plain_role = NEAP_HTTP_READER,
					  .grants = &grants,
					  .token = "secret"};
	struct neap_extender_config config = {0};
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	struct kube_rig *rig;
	struct neap_error err;

	(void)signal(SIGPIPE, SIG_IGN); /* as neapd has it */
	assert_int_equal(schedule_setup(state), 0);
	rig = *state;
	server.tokens = rig->tokens;
	assert_int_equal(neap_http_bind_tcp("127.0.0.1:0", &server.tcp_fd, &err), 0);
	assert_int_equal(getsockname(server.tcp_fd, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(neap_http_new(rig->base, &server, &http, &err), 0);
	config.http = http;
	config.bind_role = bind_role;
	config.deadline_usec = deadline_usec;
	config.now_usec = now_usec;
	config.scheduler = schedule_scheduler;
	assert_int_equal(neap_extender_new(&config, &extender, &err), 0);
	api_port = rig->port;
	own_port = ntohs(addr.sin_port);
	schedule_add_node(rig, "node-0", "", "", "'cpu':'4','memory':'8Gi'");
	schedule_add_node(rig, "node-1", "", "", "'cpu':'500m','memory':'8Gi'");
	schedule_add_node(rig, "node-2", "", "", "'cpu':'8','memory':'8Gi'");
	return 0;
}

int extender_setup(void **state)
{
	return setup_with(state, NEAP_HTTP_UNSET, DEADLINE_USEC);
}

int extender_setup_binder(void **state)
{
	return setup_with(state, NEAP_HTTP_EDITOR, DEADLINE_USEC);
}

int extender_setup_closed(void **state)
{
	return setup_with(state, NEAP_HTTP_ADMIN, DEADLINE_USEC);
}

int extender_setup_patient(void **state)
{
	return setup_with(state, NEAP_HTTP_EDITOR, INT64_C(60000000));
}

int extender_teardown(void **state)
{
	neap_http_free(http);
	neap_extender_free(extender);
	return schedule_teardown(state);
}

int extender_ask_who(struct kube_rig *rig, const char *token, const char *what,
		     const char *body, size_t len)
{
	int status;

	rig->port = own_port;
	kube_as(rig, token);
	status =
		kube_ask_with(rig, what, "Content-Type: application/json\r\n", body, len);
	rig->port = api_port;
	kube_as(rig, NULL);
	return status;
}

int extender_ask(struct kube_rig *rig, const char *what, const char *body, size_t len)
{
	return extender_ask_who(rig, "", what, body, len);
}

const char *extender_pod_uid(struct kube_rig *rig, const char *name, const char *cpu,
			     bool is_high)
{
	static char uid[64];
	char body[512];
	int status;

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'schedulerName':'default-"
		       "scheduler'%s,'containers':[{'name':'c','image':'i',"
		       "'resources':{'requests':{'cpu':'%s'}}}]}}",
		       name, is_high ? ",'priorityClassName':'high'" : "", cpu);
	status = kube_ask(rig, "POST " SCHEDULE_PODS, body);
	if (status != 201)
		fail_msg("%s: %d %s", name, status, kube_text(rig->body, "message"));
	(void)snprintf(uid, sizeof(uid), "%s", kube_text(rig->body, "metadata.uid"));
	return uid;
}

void extender_must_be(struct kube_rig *rig, const char *name, const char *const *want)
{
	for (; *want; want++) {
		const char *wrong = kube_differs(rig->body, *want);

		if (wrong) {
			char *text = json_dumps(rig->body, JSON_COMPACT);

			fail_msg("%s: %s in %s", name, wrong, text);
		}
	}
}

int extender_ask_as(struct kube_rig *rig, const char *what, const char *body,
		    const char *uid)
{
	char text[4096];
	size_t len = 0;

	for (const char *at = body; *at && len < sizeof(text) - 64; at++) {
		if (strncmp(at, "<UID>", 5) == 0) {
			len += (size_t)snprintf(text + len, 64, "%s", uid);
			at += 4;
		} else {
			text[len++] = *at == '\'' ? '"' : *at;
		}
	}
	return extender_ask(rig, what, text, len);
}

int extender_bind_start(struct kube_rig *rig, const char *uid, const char *node)
{
	char body[512];
	int fd;

	(void)snprintf(body, sizeof(body),
		       "{'PodName':'p','PodNamespace':'default','PodUID':'%s',"
		       "'Node':'%s'}",
		       uid, node);
	rig->port = own_port;
	kube_as(rig, "secret");
	kube_send(rig, BIND, body);
	fd = rig->fd;
	rig->fd = -1;
	rig->port = api_port;
	kube_as(rig, NULL);
	return fd;
}

int extender_bind_end(struct kube_rig *rig, int fd)
{
	int status;

	kube_as(rig, "secret");
	rig->fd = fd;
	status = kube_receive(rig);
	kube_as(rig, NULL);
	return status;
}

int extender_bind(struct kube_rig *rig, const char *uid, const char *node)
{
	return extender_bind_end(rig, extender_bind_start(rig, uid, node));
}

struct binding {
	int told;
	char trouble[512];
};

static void told(void *arg, const char *trouble)
{
	struct binding *binding = arg;

	binding->told++;
	(void)snprintf(binding->trouble, sizeof(binding->trouble), "%s",
		       trouble ? trouble : "");
}

const char *extender_bind_to(struct kube_rig *rig, const char *pod, const char *uid,
			     const char *node)
{
	static struct binding binding;
	const struct neap_schedule_binding ask_bind = {.ns = "default",
						       .name = pod,
						       .uid = uid,
						       .node = node,
						       .told = told,
						       .arg = &binding};

	binding = (struct binding){0};
	neap_scheduler_bind(schedule_scheduler, &ask_bind);
	for (int i = 0; i < PATIENCE_MS / 5 && !binding.told; i++)
		kube_run(rig, 5);
	assert_int_equal(binding.told, 1);
	return binding.trouble;
}
