/* SPDX-License-Identifier: Apache-2.0
 *
 * Which profile the extender answers by: the one that the pod names. Where no profile
 * has that name it is the first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/schedule/config.h"
#include "t/lib/extender_rig.h"

/* No node is one for the second profile, so its pods stay, and may be asked about. */
static const char two[] =
	"apiVersion: kubescheduler.config.k8s.io/v1\n"
	"kind: KubeSchedulerConfiguration\n"
	"profiles:\n"
	"- schedulerName: neap-scheduler\n"
	"- schedulerName: second\n"
	"  pluginConfig:\n"
	"  - name: NodeAffinity\n"
	"    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
	"{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, "
	"values: [nowhere]}]}]}}}\n"
	"  plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}\n";

static int setup(void **state)
{
	struct neap_error err = {0};

	if (neap_schedule_config_parse(two, strlen(two), "f", &schedule_settings, &err) <
	    0)
		fail_msg("%s", err.msg);
	return extender_setup(state);
}

static int teardown(void **state)
{
	int ret = extender_teardown(state);

	schedule_settings = neap_schedule_config_unref(schedule_settings);
	return ret;
}

static void add_pod(struct kube_rig *rig, const char *name, const char *scheduler,
		    char uid[64])
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'schedulerName':'%s',"
		       "'containers':[{'name':'c','image':'i','resources':{'requests':{"
		       "'cpu':'2'}}}]}}",
		       name, scheduler);
	assert_int_equal(kube_ask(rig, "POST " SCHEDULE_PODS, body), 201);
	(void)snprintf(uid, 64, "%s", kube_text(rig->body, "metadata.uid"));
	kube_run(rig, 20);
}

static void test_by_the_name_of_the_pod(void **state)
{
	static const struct {
		const char *name, *scheduler;
		const char *want[4];
	} rows[] = {
		{"a",
		 "second",
		 {"#NodeNames=0", "FailedNodes.node-0~scheduler-enforced node affinity"}},
		{"b", "of-others", {"#NodeNames=2", "!FailedNodes.node-0"}},
	};
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char body[512], uid[64];

		add_pod(rig, rows[i].name, rows[i].scheduler, uid);
		(void)snprintf(body, sizeof(body),
			       "{'Pod':{'metadata':{'name':'%s','namespace':'default',"
			       "'uid':'<UID>'},'spec':{}},"
			       "'NodeNames':['node-0','node-2']}",
			       rows[i].name);
		assert_int_equal(extender_ask_as(rig, FILTER, body, uid), 200);
		extender_must_be(rig, rows[i].name, rows[i].want);
	}
}

/* node-0 has 4 CPUs, of which 3 are kept: for who asks for room in this profile. */
static void test_binding(void **state)
{
	struct kube_rig *rig = *state;
	char first[64], second[64];

	schedule_add_reservation(rig, "web", "", "'cpu':'3'", "'nodeName':'node-0'",
				 "'allocatePolicy':'Restricted'");
	schedule_wait_phase(rig, "web", "Available", "node-0");
	add_pod(rig, "a", "second", second);
	add_pod(rig, "b", "of-others", first);
	assert_non_null(strstr(extender_bind_to(rig, "b", first, "node-0"),
			       "beside what is kept"));
	assert_string_equal(extender_bind_to(rig, "a", second, "node-0"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_by_the_name_of_the_pod, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_binding, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
