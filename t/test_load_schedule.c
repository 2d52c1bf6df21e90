/* SPDX-License-Identifier: Apache-2.0
 *
 * Load-aware scheduling on the real API: NodeMetric objects come over HTTP, pods are
 * placed by them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/quantity.h"
#include "engine/cluster/load.h"
#include "engine/log/log.h"
#include "t/lib/schedule_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, schedule_setup, schedule_teardown)
#define METRICS "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
#define LIMITS(json)                                                                     \
	"'annotations':{'scheduling.koordinator.sh/usage-thresholds':'" json "'}"
#define NEVER_OLD "\"nodeMetricExpirationSeconds\":100000000"
#define ROOM      "'cpu':'10','memory':'10Gi'"

static void must(struct kube_rig *rig, int wanted, const char *ask, const char *body)
{
	int status = kube_ask(rig, ask, body);

	if (status != wanted)
		fail_msg("%s: %d %s", ask, status, kube_text(rig->body, "message"));
}

/* used: members of nodeMetric; a report of now. */
static void report(struct kube_rig *rig, const char *node, const char *used)
{
	char body[1024], ask[256], when[32];

	(void)snprintf(ask, sizeof(ask), "GET " METRICS "/%s", node);
	if (kube_ask(rig, ask, NULL) == 404) {
		(void)snprintf(body, sizeof(body),
			       "{'metadata':{'name':'%s'},'spec':{'metricCollectPolicy':{"
			       "'reportIntervalSeconds':60}}}",
			       node);
		must(rig, 201, "POST " METRICS, body);
	}
	(void)snprintf(ask, sizeof(ask), "MERGE " METRICS "/%s/status", node);
	(void)snprintf(body, sizeof(body),
		       "{'status':{'updateTime':'%s','nodeMetric':{%s}}}",
		       neap_time_format(kube_now, 0, when, sizeof(when)), used);
	must(rig, 200, ask, body);
}

#define USED(cpu) "'nodeUsage':{'resources':{'cpu':'" cpu "','memory':'1Gi'}}"

static int64_t now(void)
{
	return kube_now;
}

/* Starts the scheduler again, with settings. */
static void start_with(struct kube_rig *rig, const char *settings)
{
	static const char *const names[] = {"neap-scheduler", NULL};
	static const struct neap_log log = {
		.fd = 2, .level = NEAP_LOG_WARN, .program = "test"};
	struct neap_load_args args;
	struct neap_scheduler_config config = {.base = rig->base,
					       .client = rig->client,
					       .names = names,
					       .now = now,
					       .load = &args,
					       .log = &log};
	struct neap_error err = {0};
	json_t *json = json_loads(settings, 0, NULL);

	assert_non_null(json);
	if (neap_load_args_read(&args, json, &err) < 0)
		fail_msg("%s", err.msg);
	json_decref(json);
	schedule_stop();
	if (neap_scheduler_new(&config, &schedule_scheduler, &err) < 0)
		fail_msg("%s", err.msg);
}

static void test_limits_of_a_node(void **state)
{
	static const struct {
		const char *name, *meta, *used, *message, *better;
	} rows[] = {
		{"usage", LIMITS("{\\'usageThresholds\\':{\\'cpu\\':50}}"), USED("6"),
		 "0/1 nodes are available: 1 node(s) cpu usage exceed threshold.",
		 USED("1")},
		{"aggregated",
		 LIMITS("{\\'aggregatedUsage\\':{\\'usageThresholds\\':{"
			"\\'memory\\':50},\\'usageAggregationType\\':\\'p95\\'}}"),
		 USED("1") ",'aggregatedNodeUsages':[{'duration':'5m0s','usage':{'p95':{"
			   "'resources':{'cpu':'1','memory':'9Gi'}}}}]",
		 "0/1 nodes are available: 1 node(s) memory aggregated usage exceed "
		 "threshold.",
		 USED("1") ",'aggregatedNodeUsages':null"},
	};
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char ask[256];

		schedule_add_node(rig, "n", rows[i].meta, "", ROOM);
		report(rig, "n", rows[i].used);
		schedule_add_pod(rig, rows[i].name, "", "'cpu':'1','memory':'100Mi'", "");
		schedule_wait_message(rig, rows[i].name, rows[i].message);
		report(rig, "n", rows[i].better);
		assert_string_equal(schedule_wait_node(rig, rows[i].name), "n");
		(void)snprintf(ask, sizeof(ask), "DELETE " SCHEDULE_PODS "/%s",
			       rows[i].name);
		must(rig, 200, ask, "{'gracePeriodSeconds':0}");
		must(rig, 200, "DELETE " SCHEDULE_NODES "/n", NULL);
	}
}

/* A node that is as full as can be takes pods: nobody set a limit, or its report is
 * gone. */
static void test_nothing_without_limits(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "n", "", "", ROOM);
	report(rig, "n", USED("10"));
	schedule_add_pod(rig, "a", "", "'cpu':'1'", "");
	assert_string_equal(schedule_wait_node(rig, "a"), "n");
	start_with(rig, "{\"nodeMetricExpirationSeconds\":1}");
	kube_now += 10000000;
	schedule_add_pod(rig, "b", "", "'cpu':'1'", "");
	/* As koord-scheduler has it: preemption is tried, which a node of which none can
	 * help is not. */
	schedule_wait_message(
		rig, "b",
		"0/1 nodes are available: 1 node(s) nodeMetric expired. preemption: 0/1 "
		"nodes are available: 1 No preemption victims found for incoming pod.");
	start_with(rig, "{" NEVER_OLD "}");
	schedule_wait_message(
		rig, "b",
		"0/1 nodes are available: 1 node(s) cpu usage exceed threshold.");
	must(rig, 200, "DELETE " METRICS "/n", NULL);
	assert_string_equal(schedule_wait_node(rig, "b"), "n");
}

/* The calmer node is taken, though it is promised away; pods that no report shows
 * count. */
static void test_score(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "busy", "", "", ROOM);
	schedule_add_node(rig, "calm", "", "", ROOM);
	schedule_add_pod(rig, "big", "", "'cpu':'1','memory':'1Gi'",
			 "'nodeSelector':{'is':'calm'}");
	must(rig, 200, "MERGE " SCHEDULE_NODES "/calm",
	     "{'metadata':{'labels':{'is':'calm'}}}");
	assert_string_equal(schedule_wait_node(rig, "big"), "calm");
	start_with(rig, "{\"resourceWeights\":{\"cpu\":1}," NEVER_OLD "}");
	report(rig, "busy", USED("6"));
	report(rig, "calm", USED("1"));
	schedule_add_pod(rig, "a", "", "'cpu':'1m'", "");
	assert_string_equal(schedule_wait_node(rig, "a"), "calm");
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(limits_of_a_node),
					   TEST(nothing_without_limits), TEST(score)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
