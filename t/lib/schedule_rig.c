/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/schedule_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/log/log.h"
#include "t/lib/patience.h"

#define TRIES (PATIENCE_MS / 5)

struct neap_scheduler *schedule_scheduler;
struct neap_schedule_config *schedule_settings;

static int64_t now(void)
{
	return kube_now;
}

void schedule_start(struct kube_rig *rig)
{
	static const char *const names[] = {"koord-scheduler", "neap-scheduler", NULL};
	static const struct neap_log log = {
		.fd = 2, .level = NEAP_LOG_WARN, .program = "test"};
	const struct neap_scheduler_config config = {.base = rig->base,
						     .client = rig->client,
						     .names = names,
						     .now = now,
						     .settings = schedule_settings,
						     .log = &log};
	struct neap_error err = {0};

	if (neap_scheduler_new(&config, &schedule_scheduler, &err) < 0)
		fail_msg("%s", err.msg);
}

void schedule_stop(void)
{
	neap_scheduler_free(schedule_scheduler);
	schedule_scheduler = NULL;
}

int schedule_setup(void **state)
{
	assert_int_equal(kube_rig_setup(state), 0);
	schedule_start(*state);
	return 0;
}

int schedule_teardown(void **state)
{
	schedule_stop();
	return kube_rig_teardown(state);
}

static void must(struct kube_rig *rig, const char *what, int wanted, int status)
{
	if (status != wanted)
		fail_msg("%s: %d %s", what, status, kube_text(rig->body, "message"));
}

void schedule_add_node(struct kube_rig *rig, const char *name, const char *meta,
		       const char *spec, const char *allocatable)
{
	char body[2048], ask[256];

	(void)snprintf(body, sizeof(body), "{'metadata':{'name':'%s'%s%s},'spec':{%s}}",
		       name, *meta ? "," : "", meta, spec);
	must(rig, name, 201, kube_ask(rig, "POST " SCHEDULE_NODES, body));
	(void)snprintf(body, sizeof(body), "{'status':{'allocatable':{%s%s}}}",
		       strstr(allocatable, "'pods'") ? "" : "'pods':'110',", allocatable);
	(void)snprintf(ask, sizeof(ask), "MERGE " SCHEDULE_NODES "/%s/status", name);
	must(rig, name, 200, kube_ask(rig, ask, body));
}

void schedule_add_pod(struct kube_rig *rig, const char *name, const char *labels,
		      const char *requests, const char *spec)
{
	char body[4096];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s','labels':{%s}},'spec':{'schedulerName':"
		"'neap-scheduler','containers':[{'name':'c','image':'i','resources':"
		"{'requests':{%s},'limits':{%s}}}]%s%s}}",
		name, labels, requests, requests, *spec ? "," : "", spec);
	must(rig, name, 201, kube_ask(rig, "POST " SCHEDULE_PODS, body));
}

void schedule_add_reservation(struct kube_rig *rig, const char *name, const char *labels,
			      const char *requests, const char *spec, const char *more)
{
	char body[4096];

	(void)snprintf(
		body, sizeof(body),
		"{'apiVersion':'scheduling.koordinator.sh/v1alpha1','kind':'Reservation',"
		"'metadata':{'name':'%s'},'spec':{'owners':[{'labelSelector':{"
		"'matchLabels':{'app':'%s'}}}],'template':{'metadata':{'labels':{%s}},"
		"'spec':{'schedulerName':'neap-scheduler','containers':[{'name':'c',"
		"'image':'i','resources':{'requests':{%s},'limits':{%s}}}]%s%s}}%s%s}}",
		name, name, labels, requests, requests, *spec ? "," : "", spec,
		*more ? "," : "", more);
	must(rig, name, 201, kube_ask(rig, "POST " SCHEDULE_RESERVATIONS, body));
}

void schedule_wait_phase(struct kube_rig *rig, const char *name, const char *phase,
			 const char *node)
{
	char ask[256], one[64], other[320];

	(void)snprintf(ask, sizeof(ask), "GET " SCHEDULE_RESERVATIONS "/%s", name);
	(void)snprintf(one, sizeof(one), "status.phase=%s", phase);
	(void)snprintf(other, sizeof(other), "status.nodeName=%s", node);
	schedule_until(rig, ask, one, *node ? other : NULL, NULL);
}

const char *schedule_wait_node(struct kube_rig *rig, const char *name)
{
	static char node[256];
	char ask[256];

	(void)snprintf(ask, sizeof(ask), "GET " SCHEDULE_PODS "/%s", name);
	for (int i = 0; i < TRIES; i++) {
		must(rig, name, 200, kube_ask(rig, ask, NULL));
		(void)snprintf(node, sizeof(node), "%s",
			       kube_text(rig->body, "spec.nodeName"));
		if (*node)
			return node;
		kube_run(rig, 5);
		kube_now += 500000; /* pauses go by */
	}
	fail_msg("%s is not bound: %s", name,
		 kube_text(rig->body, "status.conditions.0.message"));
	return NULL;
}

void schedule_until(struct kube_rig *rig, const char *ask, const char *a, const char *b,
		    const char *c)
{
	const struct kube_step step = {ask, NULL, 200, {a, b, c}};
	const char *wants[] = {a, b, c};

	for (int i = 0; i < 400; i++) {
		bool is_so = kube_ask(rig, ask, NULL) == 200;

		for (size_t n = 0; is_so && n < NEAP_ARRAY_LEN(wants) && wants[n]; n++)
			is_so = !kube_differs(rig->body, wants[n]);
		if (is_so)
			return;
		kube_run(rig, 5);
		kube_now += 500000;
	}
	kube_until(rig, &step);
}

void schedule_wait_message(struct kube_rig *rig, const char *name, const char *message)
{
	static const char end[] = " preemption: ";
	char ask[256], seen[1024] = "";

	(void)snprintf(ask, sizeof(ask), "GET " SCHEDULE_PODS "/%s", name);
	for (int i = 0; i < TRIES; i++) {
		must(rig, name, 200, kube_ask(rig, ask, NULL));
		(void)snprintf(seen, sizeof(seen), "%s",
			       kube_text(rig->body, "status.conditions.0.message"));
		if (!strstr(message, end) && strstr(seen, end))
			*strstr(seen, end) = '\0';
		if (strcmp(seen, message) == 0)
			break;
		kube_run(rig, 5);
		kube_now += 500000; /* pauses go by */
	}
	assert_string_equal(seen, message);
	assert_string_equal(kube_text(rig->body, "status.conditions.0.type"),
			    "PodScheduled");
	assert_string_equal(kube_text(rig->body, "status.conditions.0.status"), "False");
}
