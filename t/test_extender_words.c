/* SPDX-License-Identifier: Apache-2.0
 *
 * Reasons of many words: NUMA nodes of which each set is named, as a pod's condition and
 * another scheduler have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "t/lib/cpus_rig.h"
#include "t/lib/extender_rig.h"

#define NRT   "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
#define START "Unaligned NUMA Hint cause cpu prefer [011111 "
#define END   " 11111111]"

/* 8 NUMA nodes of a CPU each. */
static void put_topology(struct kube_rig *rig, const char *name)
{
	static const struct cpus_machine machine = {
		.nodes = 8,
		.cores = 1,
		.threads = 1,
		.more = "'topologyPolicies':['SingleNUMANodePodLevel']"};
	struct neap_object *object = cpus_topology(name, &machine);
	json_t *tree = neap_object_tree(object), *zone, *amount;
	char *text;
	size_t i, k;

	(void)json_object_del(json_object_get(tree, "metadata"), "uid");
	(void)json_object_del(json_object_get(tree, "metadata"), "resourceVersion");
	(void)json_object_set_new(tree, "apiVersion",
				  json_string("topology.node.k8s.io/v1alpha1"));
	(void)json_object_set_new(tree, "kind", json_string("NodeResourceTopology"));
	json_array_foreach (json_object_get(tree, "zones"), i, zone) {
		json_array_foreach (json_object_get(zone, "resources"), k, amount) {
			json_t *value = json_object_get(amount, "allocatable");

			(void)json_object_set(amount, "capacity", value);
			(void)json_object_set(amount, "available", value);
		}
	}
	text = json_dumps(tree, JSON_COMPACT);
	if (kube_ask_with(rig, "POST " NRT, "Content-Type: application/json\r\n", text,
			  strlen(text)) != 201)
		fail_msg("%s", kube_text(rig->body, "message"));
	free(text);
	json_decref(tree);
	(void)neap_object_unref(object);
}

static void must_be_whole(const char *text)
{
	const char *start = strstr(text, START), *end = strstr(text, END);

	if (!start || !end || end - start < 1200)
		fail_msg("%s", text);
}

static void test_reasons_are_whole(void **state)
{
	struct kube_rig *rig = *state;
	const char *uid;

	put_topology(rig, "node-2");
	/* One by one for neap's own scheduler: it asks more than the others have. */
	schedule_add_pod(rig, "own", "", "'cpu':'5'", "");
	schedule_until(rig, "GET " SCHEDULE_PODS "/own",
		       "status.conditions.0.type=PodScheduled", NULL, NULL);
	must_be_whole(kube_text(rig->body, "status.conditions.0.message"));
	uid = extender_pod_uid(rig, "p", "5", false);
	assert_int_equal(
		extender_ask_as(rig, FILTER,
				"{'Pod':{'metadata':{'name':'p','namespace':"
				"'default','uid':'<UID>'}},'NodeNames':['node-0',"
				"'node-1','node-2']}",
				uid),
		200);
	must_be_whole(kube_text(rig->body, "FailedNodes.node-2"));
	assert_string_equal(kube_text(rig->body, "FailedNodes.node-0"),
			    "Insufficient cpu");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reasons_are_whole, extender_setup,
						extender_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
