/* SPDX-License-Identifier: Apache-2.0
 *
 * A server that takes any binding, and a client whose answers are lost: the scheduler
 * alone sees to it that no CPU, and no room of a node, is given twice. And a pod that
 * changes after it was decided on: that decision is not written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/request/call.h"
#include "engine/machine/cpuset.h"
#include "engine/numa/cpu_enforce.h"
#include "t/lib/client_rough.h"
#include "t/lib/schedule_rig.h"
#include "t/lib/workload_rig.h"

#define NRT   "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
#define CPUS  8
#define PODS  8 /* of two CPUs: half of them have no place */
#define TURNS 300

static void add_node(struct kube_rig *rig)
{
	json_t *cpus = json_array(), *detail, *object;
	char *text;

	for (int i = 0; i < CPUS; i++)
		assert_int_equal(
			json_array_append_new(cpus, json_pack("{s:i, s:i, s:i, s:i}",
							      "id", i, "core", i / 2,
							      "socket", 0, "node", 0)),
			0);
	detail = json_pack("{s:o}", "detail", cpus);
	text = json_dumps(detail, JSON_COMPACT);
	json_decref(detail);
	object =
		json_pack("{s:s, s:s, s:[s], s:[], s:{s:s, s:{s:s}}}", "apiVersion",
			  "topology.node.k8s.io/v1alpha1", "kind", "NodeResourceTopology",
			  "topologyPolicies", "None", "zones", "metadata", "name", "a",
			  "annotations", "node.koordinator.sh/cpu-topology", text);
	free(text);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	assert_int_equal(kube_ask_with(rig, "POST " NRT,
				       "Content-Type: application/json\r\n", text,
				       strlen(text)),
			 201);
	free(text);
	schedule_add_node(rig, "a", "", "", "'cpu':'8'");
}

/* How many pods have CPUs; no CPU is of two. */
static int check(struct kube_rig *rig)
{
	json_t *pods = workload_list(rig, "pods", NULL), *pod;
	struct neap_cpuset all = {0};
	int count = 0;
	size_t i;

	json_array_foreach (pods, i, pod) {
		const char *text = json_string_value(
			json_object_get(kube_at(pod, "metadata.annotations"),
					"scheduling.koordinator.sh/resource-status"));
		struct neap_cpu_said said = {0};

		if (*kube_text(pod, "spec.nodeName") == '\0')
			continue;
		assert_int_equal(neap_cpu_said_read(text, &said, NULL), 0);
		if (neap_cpuset_intersects(&all, &said.cpus))
			fail_msg("%s: %s is of another pod, too",
				 kube_text(pod, "metadata.name"), text);
		neap_cpuset_or(&all, &all, &said.cpus);
		count++;
	}
	json_decref(pods);
	return count;
}

static void test_answers_are_lost(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct client_rough_config config = {
			.seed = seed, .delay_ms = 40, .lost = 1000};
		struct neap_client *rough;
		struct kube_rig *rig;

		assert_int_equal(kube_rig_setup((void **)&rig), 0);
		rig->kube->cpu_refs_max = 1000; /* it refuses nothing */
		add_node(rig);
		config.base = rig->base;
		config.under = rig->client;
		rough = rig->client = client_rough_new(&config);
		schedule_start(rig);
		for (int i = 0; i < PODS; i++) {
			char name[8];

			(void)snprintf(name, sizeof(name), "p%d", i);
			schedule_add_pod(rig, name,
					 "'koordinator.sh/qosClass':'LSR',"
					 "'koordinator.sh/priority-class':'koord-prod'",
					 "'cpu':'2'", "");
		}
		for (int i = 0; i < TURNS; i++) {
			kube_run(rig, 2);
			(void)check(rig);
			kube_now += 100000;
		}
		assert_int_equal(check(rig), CPUS / 2);
		assert_true(client_rough_counts(rough).lost >= CPUS / 2);
		schedule_stop();
		client_rough_free(rough);
		assert_int_equal(kube_rig_teardown((void **)&rig), 0);
	}
}

/* The scheduler has heard of the pod and not decided yet. */
static void ask_for_spread(void *arg, struct neap_object *object,
			   const struct neap_client_failure *failure)
{
	struct neap_client_ask ask = {.resource = "pods", .ns = "default", .name = "p"};

	assert_non_null(object);
	assert_null(failure);
	neap_client_patch_take(
		((struct kube_rig *)arg)->client, &ask, false,
		json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
			  "scheduling.koordinator.sh/resource-spec",
			  "{\"preferredCPUBindPolicy\":\"SpreadByPCPUs\"}"));
}

static void test_pod_changes(void **state)
{
	struct kube_rig *rig;
	struct neap_client_ask ask = {
		.resource = "pods", .ns = "default", .name = "p", .told = ask_for_spread};

	(void)state;
	assert_int_equal(kube_rig_setup((void **)&rig), 0);
	add_node(rig);
	schedule_start(rig);
	ask.arg = rig;
	neap_client_create_take(
		rig->client, &ask,
		json_pack("{s:{s:s, s:{s:s, s:s}}, s:{s:s, s:[{s:s, s:s, s:{s:{s:s}, "
			  "s:{s:s}}}]}}",
			  "metadata", "name", "p", "labels", "koordinator.sh/qosClass",
			  "LSR", "koordinator.sh/priority-class", "koord-prod", "spec",
			  "schedulerName", "neap-scheduler", "containers", "name", "c",
			  "image", "i", "resources", "requests", "cpu", "2", "limits",
			  "cpu", "2"));
	schedule_until(rig, "GET " SCHEDULE_PODS "/p", "spec.nodeName=a", NULL, NULL);
	assert_string_equal(json_string_value(json_object_get(
				    kube_at(rig->body, "metadata.annotations"),
				    "scheduling.koordinator.sh/resource-status")),
			    "{\"cpuset\":\"0,2\"}");
	/* That is nothing to tell. */
	assert_int_equal(
		kube_ask(rig, "GET /api/v1/events?fieldSelector=reason=FailedScheduling",
			 NULL),
		200);
	assert_null(kube_differs(rig->body, "#items=0"));
	schedule_stop();
	assert_int_equal(kube_rig_teardown((void **)&rig), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_are_lost),
		cmocka_unit_test(test_pod_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
