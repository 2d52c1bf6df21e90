/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods as they are read: what they ask for, and what of them cannot be read. */
#include "engine/pod/pod.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/cluster_rig.h"

#define C(requests) "{'resources':{'requests':{" requests "}}}"
#define SIDE(requests)                                                                   \
	"{'restartPolicy':'Always','resources':{'requests':{" requests "}}}"
#define MI (INT64_C(1024) * 1024)

/* As kube-scheduler counts them. */
static void test_requests(void **state)
{
	static const struct {
		const char *name, *spec;
		int64_t cpu, memory, scored_cpu, scored_memory;
	} rows[] = {
		{"nothing", "{'containers':[{}]}", 0, 0, 100, 200 * MI},
		{"two add up",
		 "{'containers':[" C("'cpu':'100m','memory':'1Mi'") "," C(
			 "'cpu':'1'") "]}",
		 1100, MI, 1100, 201 * MI},
		{"explicit zero", "{'containers':[" C("'cpu':'0','memory':0") "]}", 0, 0,
		 0, 0},
		{"a start-up step is larger",
		 "{'containers':[" C("'cpu':'100m'") "],'initContainers':[" C(
			 "'cpu':'300m','memory':'5Mi'") "," C("'cpu':'200m'") "]}",
		 300, 5 * MI, 300, 200 * MI},
		{"a helper adds to the containers",
		 "{'containers':[" C("'cpu':'100m'") "],'initContainers':[" SIDE(
			 "'cpu':'50m','memory':'1Mi'") "]}",
		 150, MI, 150, 201 * MI},
		{"a step after a helper runs beside it",
		 "{'containers':[" C("'cpu':'100m'") "],'initContainers':[" SIDE(
			 "'cpu':'50m'") "," C("'cpu':'200m'") "]}",
		 250, 0, 250, 400 * MI},
		{"a step before a helper does not",
		 "{'containers':[" C("'cpu':'100m'") "],'initContainers':[" C(
			 "'cpu':'160m'") "," SIDE("'cpu':'50m'") "]}",
		 160, 0, 160, 400 * MI},
		{"overhead",
		 "{'containers':[" C(
			 "'cpu':'100m'") "],'overhead':{'cpu':'10m','memory':'2Mi'}}",
		 110, 2 * MI, 110, 202 * MI},
		{"of the pod itself",
		 "{'containers':[" C(
			 "'cpu':'100m','memory':'7Mi'") "],'resources':{'requests':{'cpu':'2'}}}",
		 2000, 7 * MI, 2000, 7 * MI},
		{"beyond all bounds",
		 "{'containers':[" C("'cpu':'8E'") "," C("'cpu':'8E'") "]}", -1, 0, -1,
		 0},
		{"a sum stops",
		 "{'containers':[" C("'memory':'7Ei'") "," C("'memory':'7Ei'") "]}", 0,
		 INT64_MAX, 200, INT64_MAX},
		{"not counted",
		 "{'containers':[" C("'cpu':'1m','storage':'9Gi','memory':'1Mi'") "]}", 1,
		 MI, 1, MI},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_resources *resources = neap_resources_new();
		struct neap_pod *pod =
			cluster_pod(resources, "p", "", rows[i].spec, "{}");
		int64_t cpu = 0, memory = 0;

		for (size_t n = 0; n < pod->request_count; n++) {
			if (pod->requests[n].resource == NEAP_RESOURCE_CPU)
				cpu = pod->requests[n].amount;
			if (pod->requests[n].resource == NEAP_RESOURCE_MEMORY)
				memory = pod->requests[n].amount;
		}
		if (rows[i].cpu < 0) {
			if (!pod->trouble)
				fail_msg("%s: no trouble", rows[i].name);
		} else if (cpu != rows[i].cpu || memory != rows[i].memory ||
			   pod->scored_cpu_milli != rows[i].scored_cpu ||
			   pod->scored_bytes != rows[i].scored_memory) {
			fail_msg("%s: %lld %lld %lld %lld", rows[i].name, (long long)cpu,
				 (long long)memory, (long long)pod->scored_cpu_milli,
				 (long long)pod->scored_bytes);
		}
		(void)neap_pod_unref(pod);
		neap_resources_free(resources);
	}
}

/* The pod is told as not to be placed; what could be read counts, and it is one pod. */
static void test_trouble(void **state)
{
	static const struct {
		const char *spec, *trouble;
	} rows[] = {
		{"{'containers':[" C("'cpu':'much'") "]}",
		 "spec.containers[0].resources.requests.cpu: 'much' is not a quantity: use a "
		 "form like 500m, 2, 1.5, 128Mi"},
		{"{'containers':[{}],'overhead':{'memory':{}}}",
		 "spec.overhead.memory: must be a quantity"},
		{"{'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution'"
		 ":{'nodeSelectorTerms':[{'matchExpressions':[{'key':'a','operator':'Near'}]}]"
		 "}}}}",
		 "spec.affinity.nodeAffinity.nodeSelectorTerms[0].matchExpression: "
		 "'Near' is not known"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_resources *resources = neap_resources_new();
		struct neap_pod *pod =
			cluster_pod(resources, "p", "", rows[i].spec, "{}");

		assert_non_null(pod->trouble);
		assert_string_equal(pod->trouble, rows[i].trouble);
		assert_int_equal(pod->requests[pod->request_count - 1].resource,
				 NEAP_RESOURCE_PODS);
		(void)neap_pod_unref(pod);
		neap_resources_free(resources);
	}
}

/* Beside cpu and memory; the pod itself is one of them. */
static void test_most_resources(void **state)
{
	static const struct {
		int resources;
		const char *trouble;
	} rows[] = {
		{NEAP_AMOUNTS_MAX - 3, NULL},
		{NEAP_AMOUNTS_MAX - 2, "more than 64 different resources"},
		{NEAP_AMOUNTS_MAX - 1, "spec.containers[0].resources.requests.x/r62: "
				       "more than 64 different resources"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_resources *resources = neap_resources_new();
		struct neap_pod *pod;
		char spec[2048];
		size_t at = (size_t)snprintf(
			spec, sizeof(spec), "%s",
			"{'containers':[{'resources':{'requests':{'cpu':'1',"
			"'memory':'1'");

		for (int n = 0; n < rows[i].resources; n++)
			at += (size_t)snprintf(spec + at, sizeof(spec) - at,
					       ",'x/r%d':'1'", n);
		(void)snprintf(spec + at, sizeof(spec) - at, "}}}]}");
		pod = cluster_pod(resources, "p", "", spec, "{}");
		if (!rows[i].trouble)
			assert_null(pod->trouble);
		else
			assert_string_equal(pod->trouble, rows[i].trouble);
		assert_int_equal(neap_pod_request(pod, NEAP_RESOURCE_PODS), 1);
		(void)neap_pod_unref(pod);
		neap_resources_free(resources);
	}
}

static void test_ports_and_images(void **state)
{
	struct neap_resources *resources = neap_resources_new();
	struct neap_pod *pod = cluster_pod(
		resources, "p", "",
		"{'containers':[{'image':'a.b:5000/x','ports':[{'hostPort':80},"
		"{'hostPort':0},{'containerPort':5},{'hostPort':81,'protocol':'UDP','hostIP':"
		"'10.0.0.1'}]},{'image':'x:1'}],'initContainers':[{'ports':[{'hostPort':82}]},"
		"{'restartPolicy':'Always','ports':[{'hostPort':83}]}]}",
		"{}");

	(void)state;
	assert_null(pod->trouble);
	assert_int_equal(pod->port_count, 3);
	assert_int_equal(pod->ports[0].port, 80);
	assert_string_equal(pod->ports[0].protocol, "TCP");
	assert_string_equal(pod->ports[0].address, "0.0.0.0");
	assert_string_equal(pod->ports[1].address, "10.0.0.1");
	assert_int_equal(pod->ports[2].port, 83);
	assert_int_equal(pod->container_count, 2);
	assert_int_equal(pod->image_count, 4);
	assert_string_equal(pod->images[0], "a.b:5000/x:latest");
	assert_string_equal(pod->images[1], "x:1");
	(void)neap_pod_unref(pod);
	neap_resources_free(resources);
}

/* toleration, taint, whether it takes it. */
static void test_tolerations(void **state)
{
	static const struct {
		const char *toleration, *key, *value;
		enum neap_taint_effect effect;
		bool takes;
	} rows[] = {
		{"{'operator':'Exists'}", "a", "b", NEAP_TAINT_NO_EXECUTE, true},
		{"{'key':'a','operator':'Exists'}", "a", "b", NEAP_TAINT_NO_SCHEDULE,
		 true},
		{"{'key':'a','operator':'Exists'}", "c", "b", NEAP_TAINT_NO_SCHEDULE,
		 false},
		{"{'key':'a','value':'b'}", "a", "b", NEAP_TAINT_NO_SCHEDULE, true},
		{"{'key':'a','operator':'Equal','value':'c'}", "a", "b",
		 NEAP_TAINT_NO_SCHEDULE, false},
		{"{'key':'a','value':'b','effect':'NoExecute'}", "a", "b",
		 NEAP_TAINT_NO_SCHEDULE, false},
		{"{'key':'a','value':'b','effect':'NoExecute'}", "a", "b",
		 NEAP_TAINT_NO_EXECUTE, true},
		{"{'key':'a'}", "a", "", NEAP_TAINT_NO_EXECUTE, true},
		{"{'key':'a','effect':'Never'}", "a", "", NEAP_TAINT_NO_EXECUTE, false},
		{"{'value':'b'}", "", "b", NEAP_TAINT_NO_EXECUTE, false},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_resources *resources = neap_resources_new();
		struct neap_pod *pod;
		char spec[256];
		bool takes = false;

		(void)snprintf(spec, sizeof(spec), "{'tolerations':[%s]}",
			       rows[i].toleration);
		pod = cluster_pod(resources, "p", "", spec, "{}");
		for (size_t n = 0; n < pod->toleration_count; n++)
			takes = neap_toleration_takes(&pod->tolerations[n], rows[i].key,
						      rows[i].value, rows[i].effect);
		if (takes != rows[i].takes)
			fail_msg("%s on %s=%s", rows[i].toleration, rows[i].key,
				 rows[i].value);
		(void)neap_pod_unref(pod);
		neap_resources_free(resources);
	}
}

/* Each allocation fails in turn. */
static void test_short_memory(void **state)
{
	struct neap_object *object = cluster_object(
		"p", "default", "'labels':{'a':'b'}",
		"{'containers':[{'image':'i','ports':[{'hostPort':80}],'resources':{'requests'"
		":{'cpu':'1','x.y/z':'1'}}}],'tolerations':[{'operator':'Exists'}],"
		"'nodeSelector':{'a':'b'},'affinity':{'podAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{"
		"'matchLabels':{'a':'b'}},'matchLabelKeys':['a'],'topologyKey':'k'}]}},"
		"'volumes':[{'name':'v','ephemeral':{}}]}",
		"{}");

	(void)state;
	for (uint64_t n = 1;; n++) {
		struct neap_resources *resources = neap_resources_new();
		struct neap_pod *pod = NULL;
		struct neap_error err = {0};
		uint64_t before = neap_mem_failures();
		int ret;

		neap_mem_fail_at(n);
		ret = neap_pod_new(object, resources, &pod, &err);
		neap_mem_fail_at(0);
		if (ret < 0)
			assert_int_equal(err.code, NEAP_ENOMEM);
		else
			assert_null(pod->trouble);
		(void)neap_pod_unref(pod);
		neap_resources_free(resources);
		if (neap_mem_failures() == before)
			break;
	}
	(void)neap_object_unref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_trouble),
		cmocka_unit_test(test_most_resources),
		cmocka_unit_test(test_ports_and_images),
		cmocka_unit_test(test_tolerations),
		cmocka_unit_test(test_short_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
