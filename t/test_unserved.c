/* SPDX-License-Identifier: Apache-2.0
 *
 * StatefulSets and DaemonSets that no controller works on say so by an event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/workload_rig.h"

#define APPS   "/apis/apps/v1/namespaces/default/"
#define EVENTS "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D"
#define SPEC                                                                             \
	"'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':"    \
	"'b'}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}"

static void test_events(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " APPS "statefulsets",
		 "{'metadata':{'name':'web'},'spec':{'serviceName':'w'," SPEC,
		 201,
		 {NULL}},
		{"POST " APPS "daemonsets",
		 "{'metadata':{'name':'ds'},'spec':{" SPEC,
		 201,
		 {NULL}},
		{"POST " APPS "daemonsets",
		 "{'metadata':{'name':'seen'},'spec':{" SPEC,
		 201,
		 {NULL}},
		{"MERGE " APPS "daemonsets/seen/status",
		 "{'status':{'observedGeneration':1}}",
		 200,
		 {NULL}},
	};
	static const struct kube_step none = {
		"GET " EVENTS "web", NULL, 200, {"#items=0"}};
	static const struct kube_step old[] = {
		{"MERGE " APPS "statefulsets/web",
		 "{'metadata':{'labels':{'x':'y'}}}",
		 200,
		 {NULL}},
		{"MERGE " APPS "daemonsets/seen",
		 "{'metadata':{'labels':{'x':'y'}}}",
		 200,
		 {NULL}},
		{"MERGE " APPS "daemonsets/ds",
		 "{'metadata':{'labels':{'x':'y'}}}",
		 200,
		 {NULL}},
	};
	static const struct kube_step told[] = {
		{"GET " EVENTS "web",
		 NULL,
		 200,
		 {"#items=1", "items.0.reason=NoController", "items.0.type=Warning",
		  "items.0.message~pods of a StatefulSet"}},
		{"GET " EVENTS "ds",
		 NULL,
		 200,
		 {"#items=1", "items.0.involvedObject.kind=DaemonSet"}},
	};
	static const struct kube_step quiet = {
		"GET " EVENTS "seen", NULL, 200, {"#items=0"}};
	int64_t begin = kube_now;
	struct neap_workload_config config;
	struct neap_unserved *unserved;
	struct kube_rig *rig = *state;
	struct neap_error err;

	config = workload_config(rig);
	assert_int_equal(neap_unserved_new(&config, &unserved, &err), 0);
	kube_steps(rig, steps, NEAP_ARRAY_LEN(steps));
	kube_run(rig, 60);
	kube_steps(rig, &none, 1);
	kube_now += 31 * INT64_C(1000000);
	kube_steps(rig, old, NEAP_ARRAY_LEN(old));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(told); i++)
		kube_until(rig, &told[i]);
	kube_steps(rig, &quiet, 1);
	neap_unserved_free(unserved);
	kube_now = begin;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_events, kube_rig_setup,
						kube_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
