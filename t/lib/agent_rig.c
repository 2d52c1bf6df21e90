/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/agent_rig.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"

#define HEAR_USEC 3000

static const char *why;

static void hear(evutil_socket_t fd, short what, void *arg)
{
	struct agent_rig *rig = arg;
	struct neap_error err;

	(void)fd;
	(void)what;
	if (neap_node_hear(rig->pods->node, 1, &err) < 0 && err.code != NEAP_ENOMEM)
		fail_msg("%s", err.msg);
	if (++rig->turns % 100 == 0) {
		rig->pods->mono_usec += 1000000;
		neap_node_tick(rig->pods->node, rig->pods->mono_usec, kube_now);
	}
}

void agent_rig_start(struct agent_rig *rig)
{
	struct neap_error err;

	if (neap_agent_new(&rig->config, &rig->agent, &err) < 0)
		fail_msg("%s", err.msg);
}

/* The hand and the keeper are forked before there is a thread. */
static struct agent_rig *rig_open(void)
{
	struct agent_rig *rig = neap_alloc(sizeof(*rig));
	struct timeval often = {.tv_usec = HEAR_USEC};
	void *kube;

	assert_non_null(rig);
	rig->pods = pods_rig_new(PODS_MACHINE, &why);
	if (rig->pods == NULL)
		rig->pods = pods_rig_new(PODS_V1, &why);
	if (rig->pods == NULL) {
		free(rig);
		return NULL;
	}
	rig->keeper = keeper_rig_new(&why);
	assert_non_null(rig->keeper);
	keeper_rig_start(rig->keeper);
	assert_int_equal(kube_rig_setup(&kube), 0);
	rig->kube = kube;
	rig->hear = event_new(rig->kube->base, -1, EV_PERSIST, hear, rig);
	assert_non_null(rig->hear);
	assert_int_equal(event_add(rig->hear, &often), 0);
	rig->log = (struct neap_log){getenv("NEAP_TEST_LOG") ? 2 : -1, NEAP_LOG_DEBUG,
				     NEAP_LOG_TEXT, "test"};
	rig->config = (struct neap_agent_config){
		.base = rig->kube->base,
		.client = rig->kube->client,
		.node = rig->pods->node,
		.keeper = rig->keeper->keeper,
		.node_name = "n1",
		.dir = rig->keeper->config.dir,
		.log_bytes_max = 100000,
		.log_files_max = 2,
		.processes_max = 100,
		.pods_max = 5,
		.uid = KEEPER_RIG_UID,
		.second_usec = SECOND,
		.log = &rig->log,
	};
	agent_rig_start(rig);
	return rig;
}

int agent_rig_setup(void **state)
{
	*state = rig_open();
	return 0;
}

int agent_rig_teardown(void **state)
{
	struct agent_rig *rig = *state;
	void *kube;

	if (rig == NULL)
		return 0;
	neap_agent_free(rig->agent);
	event_free(rig->hear);
	kube = rig->kube;
	(void)kube_rig_teardown(&kube);
	keeper_rig_free(rig->keeper);
	pods_rig_free(rig->pods);
	free(rig);
	return 0;
}

struct agent_rig *agent_rig_of(void **state)
{
	if (*state == NULL) {
		print_message("SKIP %s\n", why);
		skip();
	}
	return *state;
}

/* --- asking --- */

time_t agent_now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

void agent_create(struct agent_rig *rig, const char *name, const char *spec)
{
	char body[4096];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s','labels':{'app':'x'}},'spec':{'nodeName':'n1',%s}}",
		name, spec);
	if (kube_ask(rig->kube, "POST " PODS, body) != 201)
		fail_msg("%s: %s", name, kube_text(rig->kube->body, "message"));
}

const char *agent_differs(struct agent_rig *rig, const char *ask, int status,
			  const char *const *want)
{
	static char text[64];
	int got = kube_ask(rig->kube, ask, NULL);

	if (got != status) {
		(void)snprintf(text, sizeof(text), "status %d", got);
		return text;
	}
	for (int i = 0; want != NULL && i < KUBE_WANTS && want[i] != NULL; i++) {
		const char *what = kube_differs(rig->kube->body, want[i]);

		if (what != NULL)
			return what;
	}
	return NULL;
}

void agent_until(struct agent_rig *rig, const char *name, int status,
		 const char *const *want)
{
	time_t end = agent_now_s() + LIMIT_S;
	const char *what;
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", name);
	do {
		kube_run(rig->kube, 5);
		what = agent_differs(rig, ask, status, want);
	} while (what != NULL && agent_now_s() < end);
	if (what != NULL) {
		char *all = json_dumps(json_object_get(rig->kube->body, "status"), 0);

		print_message("%s\n", all ? all : "?");
		free(all);
		fail_msg("%s: %s", name, what);
	}
}

void agent_until_gone(struct agent_rig *rig, const char *name)
{
	agent_until(rig, name, 404, NULL);
}

void agent_uid(struct agent_rig *rig, const char *name, char uid[64])
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", name);
	assert_int_equal(kube_ask(rig->kube, ask, NULL), 200);
	(void)neap_strcopy(uid, 64, kube_text(rig->kube->body, "metadata.uid"));
}
