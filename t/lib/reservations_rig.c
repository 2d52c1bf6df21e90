/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/reservations_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

void reservations_start(struct reservations_rig *rig)
{
	struct neap_workload_config config = workload_config(rig->kube);
	struct neap_error err = {0};

	assert_int_equal(
		neap_reservations_new(&config, rig->keep_usec, &rig->reservations, &err),
		0);
}

void reservations_stop(struct reservations_rig *rig)
{
	neap_reservations_free(rig->reservations);
	rig->reservations = NULL;
}

void reservations_again(struct reservations_rig *rig)
{
	reservations_stop(rig);
	reservations_start(rig);
}

int reservations_setup(void **state)
{
	struct reservations_rig *rig = neap_alloc(sizeof(*rig));

	assert_non_null(rig);
	assert_int_equal(kube_rig_setup((void **)&rig->kube), 0);
	rig->keep_usec = DAY;
	for (int i = 0; i < 3; i++) {
		char body[64];

		(void)snprintf(body, sizeof(body), "{'metadata':{'name':'n%d'}}", i);
		reservations_must(rig, "POST " NODES, body, 201);
	}
	reservations_start(rig);
	*state = rig;
	return 0;
}

int reservations_teardown(void **state)
{
	struct reservations_rig *rig = *state;

	neap_reservations_free(rig->reservations);
	(void)kube_rig_teardown((void **)&rig->kube);
	free(rig);
	return 0;
}

void reservations_must(struct reservations_rig *rig, const char *ask, const char *body,
		       int status)
{
	int got = kube_ask(rig->kube, ask, body);

	if (got != status && !(got == 404 && rig->may_be_gone))
		fail_msg("%s: %d: %s", ask, got, kube_text(rig->kube->body, "message"));
}

void reservations_make(struct reservations_rig *rig, const char *name, const char *spec)
{
	char body[1024];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'template':{'spec':{"
		       "'containers':[{'name':'c','image':'i','resources':{'requests':{"
		       "'cpu':'4','memory':'8Gi'}}}]}},"
		       "'owners':[{'labelSelector':{'matchLabels':{'a':'b'}}}]%s}}",
		       name, spec);
	reservations_must(rig, "POST " RESERVATIONS, body, 201);
}

void reservations_place(struct reservations_rig *rig, const char *name, const char *node,
			const char *phase)
{
	char ask[512], body[1024], now[32];
	const char *is_ready = strcmp(phase, "Available") == 0 ? "True" : "False";

	(void)neap_time_format(kube_now, 0, now, sizeof(now));
	(void)snprintf(ask, sizeof(ask), "MERGE " RESERVATIONS "/%s/status", name);
	(void)snprintf(
		body, sizeof(body),
		"{'status':{'phase':'%s','nodeName':'%s','allocatable':{'cpu':'4',"
		"'memory':'8Gi'},'conditions':[{'type':'Scheduled','status':'True',"
		"'reason':'Scheduled','lastProbeTime':'%s','lastTransitionTime':'%s'},"
		"{'type':'Ready','status':'%s','reason':'%s','lastProbeTime':'%s',"
		"'lastTransitionTime':'%s'}]}}",
		phase, node, now, now, is_ready, phase, now, now);
	reservations_must(rig, ask, body, 200);
}

/* The annotation's text within JSON within JSON, ' for the outer quotes. */
static void annotation(const char *target, char *ret, size_t size)
{
	if (*target)
		(void)snprintf(ret, size,
			       "'{\\\"name\\\":\\\"r\\\",\\\"uid\\\":\\\"%s\\\"}'",
			       target);
	else
		(void)snprintf(ret, size, "null");
}

void reservations_pod(struct reservations_rig *rig, const char *name, const char *node,
		      const char *target, int cpus)
{
	char body[1024], note[256] = "null", at[128] = "";

	if (target)
		annotation(target, note, sizeof(note));
	if (*node)
		(void)snprintf(at, sizeof(at), "'nodeName':'%s',", node);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s','labels':{'a':'b'},'annotations':{"
		       "'scheduling.koordinator.sh/reservation-allocated':%s}},'spec':{%s"
		       "'containers':[{'name':'c','image':'i','resources':{'requests':{"
		       "'cpu':'%d','memory':'1Gi','example.com/x':'1'},"
		       "'limits':{'example.com/x':'1'}}}]}}",
		       name, note, at, cpus);
	reservations_must(rig, "POST " PODS, body, 201);
}

void reservations_move(struct reservations_rig *rig, const char *name, const char *target)
{
	char ask[512], body[512], note[256];

	annotation(target, note, sizeof(note));
	(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s", name);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'annotations':{"
		       "'scheduling.koordinator.sh/reservation-allocated':%s}}}",
		       note);
	reservations_must(rig, ask, body, 200);
}

const char *reservations_uid(struct reservations_rig *rig, const char *ask, char *ret)
{
	reservations_must(rig, ask, NULL, 200);
	(void)neap_strcopy(ret, 64, kube_text(rig->kube->body, "metadata.uid"));
	return ret;
}

void reservations_until(struct reservations_rig *rig, const char *name,
			const char *const *want)
{
	struct kube_step step = {.status = 200};
	char ask[512];

	(void)snprintf(ask, sizeof(ask), "GET " RESERVATIONS "/%s", name);
	step.ask = ask;
	for (int i = 0; i < KUBE_WANTS && want[i]; i++)
		step.want[i] = want[i];
	kube_until(rig->kube, &step);
}

void reservations_rest(struct reservations_rig *rig)
{
	int64_t end = neap_clock_usec(CLOCK_MONOTONIC) / 1000 + WORKLOAD_LIMIT_MS;

	while (!kube_is_at_rest(rig->kube))
		if (neap_clock_usec(CLOCK_MONOTONIC) / 1000 > end)
			fail_msg("it does not come to rest");
}

int reservations_events(struct reservations_rig *rig, const char *name,
			const char *reason, const char **ret_message)
{
	static char message[1024];
	json_t *events, *event;
	int n = 0;
	size_t i;

	reservations_rest(rig);
	events = workload_list(rig->kube, "events", "default");
	*message = '\0';
	json_array_foreach (events, i, event) {
		if (strcmp(kube_text(event, "reason"), reason) != 0 ||
		    strcmp(kube_text(event, "involvedObject.name"), name) != 0)
			continue;
		n++;
		(void)neap_strcopy(message, sizeof(message), kube_text(event, "message"));
	}
	json_decref(events);
	if (ret_message)
		*ret_message = message;
	return n;
}
