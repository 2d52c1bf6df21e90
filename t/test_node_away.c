/* SPDX-License-Identifier: Apache-2.0
 *
 * The role node while its server is away for ten minutes: it refuses connections, or says
 * nothing. The minutes pass on a clock that the test turns: every clock of this process,
 * also as libraries see it. Tries stay within the back-off; the CPUs of pods stay; then
 * the first reports are right and are written once, what happened to pods meanwhile is
 * made up for, and events are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/agent/pod/pins.h"
#include "api/client/events.h"
#include "engine/base/quantity.h"
#include "t/lib/keep_rig.h"
#include "t/lib/patience.h"
#include "t/lib/remote_rig.h"
#include "t/lib/rude_proxy.h"

#define REPORT  "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
#define METRIC  "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
#define EVENTS  "/api/v1/namespaces/default/events"
#define AWAY_S  600
#define UNTIL_S 1000 /* the longest that a test waits for something */
#define STEP    (KEEP_SECOND / 10)
/* A reflector waits 0.8 s at first, then twice as long each time, up to 30 s; each time
 * perhaps twice that. So in ten minutes it asks 6 times, and then every 30 to 60 s. */
#define RESOURCES        4
#define TRIES_MAX        (6 + AWAY_S / 30 + 1)
#define TRIES_MIN        (AWAY_S / 60)
#define METRIC_TRIES_MAX (AWAY_S / 60 + 1)
#define EVENT_TRIES_MAX  12
#define STATE(uid)                                                                       \
	"{\"policyName\":\"static\",\"defaultCpuSet\":\"0\",\"entries\":{\"" uid "\":"   \
	"{\"c\":\"0\"}},\"checksum\":1}"

/* How far the clocks of this process are before the machine's. */
static _Atomic int64_t ahead_usec;

/* In place of libc's, for all of this process. */
int away_clock_gettime(clockid_t clock, struct timespec *ret) __asm__("clock_gettime");

int away_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int64_t usec = atomic_load(&ahead_usec);

	if (syscall(SYS_clock_gettime, clock, ret) < 0)
		return -1;
	if (clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
		return 0;
	ret->tv_sec += usec / KEEP_SECOND;
	ret->tv_nsec += usec % KEEP_SECOND * 1000;
	if (ret->tv_nsec >= 1000000000) {
		ret->tv_sec++;
		ret->tv_nsec -= 1000000000;
	}
	return 0;
}

static int64_t now(void)
{
	return kube_now;
}

struct away {
	struct keep_rig *rig;
	struct kube_rig *kube;
	struct rude_proxy *proxy;
	struct neap_transport *transport;
	struct neap_remote *remote;
	struct neap_client *client; /* of remote */
	struct neap_pins *pins;
	int64_t ticked;
};

static struct away away;

/* --- time --- */

/* Some turns of the loop for each tenth of a second: nobody hurries. */
static void pass(int seconds)
{
	for (int64_t left = seconds * KEEP_SECOND; left > 0; left -= STEP) {
		atomic_fetch_add(&ahead_usec, STEP);
		kube_now += STEP;
		for (int i = 0; i < 8; i++)
			(void)event_base_loop(away.kube->base, EVLOOP_NONBLOCK);
		if (kube_now - away.ticked < KEEP_SECOND)
			continue;
		away.ticked = kube_now;
		keep_tick(away.rig);
		kube_run(away.kube, 1);
	}
	kube_as(away.kube, NULL); /* the server ends connections that are idle */
}

/* --- the server --- */

static void create_pod(const char *name)
{
	char body[512];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s','annotations':{"
		"'scheduling.koordinator.sh/resource-status':"
		"'{\\\"cpuset\\\":\\\"0\\\"}'}},'spec':{'nodeName':'n1',"
		"'containers':[{'name':'c','image':'-','command':['sleep','1000']}]}}",
		name);
	if (kube_ask(away.kube, "POST " KEEP_PODS, body) != 201)
		fail_msg("%s: %s", name, kube_text(away.kube->body, "message"));
}

/* Time goes on meanwhile: what was not answered in time may be tried again later. */
static void until(const char *ask, const char *want)
{
	const struct kube_step step = {ask, NULL, 200, {want}};
	const char *why = "";

	for (int i = 0; i < UNTIL_S && (why = kube_try(away.kube, &step)) != NULL; i++)
		pass(1);
	if (why)
		fail_msg("%s", why);
}

/* Version of an object, for a watch. */
static void version_of(const char *ask, char *ret, size_t size)
{
	assert_int_equal(kube_ask(away.kube, ask, NULL), 200);
	(void)snprintf(ret, size, "%s",
		       kube_text(away.kube->body, "metadata.resourceVersion"));
}

/* --- the node --- */

static bool belongs_to(const char *name)
{
	const struct neap_node_pin_of other = {"x", "x", "x"};
	struct neap_cpu_said said = {0};
	struct neap_error err = {0};
	bool is_so;

	(void)neap_cpuset_add(&said.cpus, 0);
	is_so = neap_node_pin(away.rig->node, &other, &said, &err) == -NEAP_ECONFLICT &&
		strstr(err.msg, name) != NULL;
	neap_node_unpin(away.rig->node, "x");
	return is_so;
}

static void note(const char *reason)
{
	const struct neap_client_note about = {.api_version = "v1",
					       .kind = "Pod",
					       .ns = "default",
					       .name = "first",
					       .uid = "u",
					       .reason = reason,
					       .component = "kubelet",
					       .host = "n1"};

	neap_client_note(away.client, &about, "it is so");
}

static void filled(void *arg)
{
	(void)arg;
}

static void open_client(void)
{
	static const struct neap_remote_resource resources[RESOURCES] = {
		{.resource = "nodes", .selector = "metadata.name=n1"},
		{.resource = "nodemetrics.slo.koordinator.sh",
		 .selector = "metadata.name=n1"},
		{.resource = "noderesourcetopologies.topology.node.k8s.io",
		 .selector = "metadata.name=n1"},
		{.resource = "pods", .selector = "spec.nodeName=n1"},
	};
	char url[64];
	const struct neap_transport_config transport = {
		.base = away.kube->base, .url = url, .log = &away.rig->log};
	const struct neap_transport_keys keys = {.token = "secret"};
	struct neap_remote_config config = {.base = away.kube->base,
					    .resources = resources,
					    .resource_count = RESOURCES,
					    .manager = "neap-node",
					    .now = now,
					    .filled = filled,
					    .log = &away.rig->log};
	struct neap_error err = {0};

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d",
		       rude_proxy_port(away.proxy));
	assert_int_equal(neap_transport_setup(&err), 0);
	assert_int_equal(neap_transport_new(&transport, &away.transport, &err), 0);
	assert_int_equal(neap_transport_set_keys(away.transport, &keys, &err), 0);
	config.transport = away.transport;
	assert_int_equal(neap_remote_new(&config, &away.remote, &err), 0);
	away.client = neap_remote_client(away.remote);
	assert_true(comes_true_in(away.kube->base, neap_remote_is_filled(away.remote)));
}

static int setup(void **state)
{
	const struct neap_pins_config pins = {.node_name = "n1"};
	struct neap_pins_config config = pins;
	struct keep_rig *rig;

	atomic_store(&ahead_usec, 0);
	if (keep_setup(state) < 0)
		return -1;
	rig = *state;
	away = (struct away){.rig = rig, .kube = rig->rig};
	assert_int_equal(
		kube_ask(away.kube, "POST /api/v1/nodes", "{'metadata':{'name':'n1'}}"),
		201);
	create_pod("first");
	away.proxy = rude_proxy_new(away.kube->base, away.kube->port, 1, 0);
	open_client();
	keep_put(rig, "kubelet/cpu_manager_state", STATE("u-1"));
	keep_start_node(rig);
	rig->config.client = config.client = away.client;
	rig->config.node = config.node = rig->node;
	rig->config.has_kubelet = true;
	rig->config.metric_usec = KEEP_MINUTE;
	rig->config.look_usec = 0;
	config.base = away.kube->base;
	config.log = &rig->log;
	keep_start(rig);
	assert_int_equal(neap_pins_new(&config, &away.pins, NULL), 0);
	return 0;
}

static int teardown(void **state)
{
	keep_stop(*state);
	neap_pins_end(away.pins);
	neap_remote_free(away.remote);
	neap_transport_free(away.transport);
	rude_proxy_free(away.proxy);
	return keep_teardown(state);
}

/* --- ten minutes --- */

/* Frames of a watch that are there: how many, and the last. */
static int frames_of(struct kube_watch *watch, json_t **ret_last)
{
	const json_t *frame;
	int count = 0;

	while ((frame = kube_watch_next(watch, 200)) != NULL) {
		json_decref(*ret_last);
		*ret_last = json_deep_copy(json_object_get(frame, "object"));
		count++;
	}
	return count;
}

static void watch_from(struct kube_watch *watch, const char *path)
{
	char ask[256], version[32], query[256];

	(void)snprintf(ask, sizeof(ask), "GET %s/n1", path);
	version_of(ask, version, sizeof(version));
	(void)snprintf(query, sizeof(query), "%s?watch=1&resourceVersion=%s", path,
		       version);
	kube_watch_open(away.kube, watch, query);
}

static void ten_minutes(bool is_silent)
{
	struct kube_watch reports, metrics;
	json_t *report = NULL, *metric = NULL;
	int64_t back;
	char time[32];
	int taken;

	pass(20);
	until("GET " REPORT "/n1", "metadata.name=n1");
	until("GET " METRIC "/n1", "status.podsMetric=[]");
	assert_true(belongs_to("default/first"));
	note("Before");
	until("GET " EVENTS, "items.0.count=1");
	pass(60);

	taken = rude_proxy_taken(away.proxy);
	if (is_silent)
		rude_proxy_hang(away.proxy, true);
	else
		rude_proxy_refuse(away.proxy, true);
	rude_proxy_cut_all(away.proxy);
	assert_int_equal(kube_ask(away.kube,
				  "DELETE " KEEP_PODS "/first?gracePeriodSeconds=0",
				  NULL),
			 200);
	create_pod("second");
	watch_from(&reports, REPORT);
	watch_from(&metrics, METRIC);
	pass(AWAY_S - 60);
	assert_true(belongs_to("default/first"));
	note("Before");
	note("While");
	note("While");
	pass(60);
	assert_true(belongs_to("default/first"));
	taken = rude_proxy_taken(away.proxy) - taken;
	if (!is_silent)
		assert_true(taken >= RESOURCES * TRIES_MIN);
	assert_true(taken <=
		    RESOURCES * TRIES_MAX + METRIC_TRIES_MAX + 3 * EVENT_TRIES_MAX);
	assert_int_equal(frames_of(&reports, &report), 0);
	assert_int_equal(frames_of(&metrics, &metric), 0);

	keep_put(away.rig, "kubelet/cpu_manager_state", STATE("u-2"));
	back = kube_now;
	if (is_silent)
		rude_proxy_hang(away.proxy, false);
	else
		rude_proxy_refuse(away.proxy, false);
	/* A list that was asked for waits for a minute for its answer, then as long as
	 * the back-off says. */
	pass(180);
	assert_true(belongs_to("default/second"));
	assert_int_equal(frames_of(&reports, &report), 1);
	assert_non_null(strstr(
		json_string_value(json_object_get(kube_at(report, "metadata.annotations"),
						  "node.koordinator.sh/pod-cpu-allocs")),
		"u-2"));
	/* Of a silent server one is under way, which it then does. */
	assert_in_range(frames_of(&metrics, &metric), 2, is_silent ? 4 : 3);
	(void)neap_time_format(back + 120 * KEEP_SECOND, 0, time, sizeof(time));
	assert_true(strcmp(kube_text(metric, "status.updateTime"), time) >= 0);
	until("GET " EVENTS "?fieldSelector=reason=Before", "items.0.count=2");
	until("GET " EVENTS "?fieldSelector=reason=While", "items.0.count=2");
	until("GET " EVENTS "?fieldSelector=reason=While", "#items=1");
	json_decref(report);
	json_decref(metric);
	kube_watch_close(&reports);
	kube_watch_close(&metrics);
}

static void test_refuses(void **state)
{
	(void)state;
	ten_minutes(false);
}

static void test_is_silent(void **state)
{
	(void)state;
	ten_minutes(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_is_silent, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
