/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler on the real API: nodes and pods come over HTTP, and are looked at
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "t/lib/schedule_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, schedule_setup, schedule_teardown)

#define PODS SCHEDULE_PODS

/* --- where pods go --- */

static void add_nodes(struct kube_rig *rig)
{
	schedule_add_node(rig, "small", "'labels':{'disk':'ssd'}", "",
			  "'cpu':'2','memory':'4Gi'");
	schedule_add_node(rig, "big", "'labels':{'disk':'hdd','size':'9'}", "",
			  "'cpu':'16','memory':'64Gi','example.com/gpu':'2'");
	schedule_add_node(rig, "tainted", "'labels':{'disk':'ssd'}",
			  "'taints':[{'key':'only','value':'me','effect':'NoSchedule'}]",
			  "'cpu':'16','memory':'64Gi'");
	schedule_add_node(rig, "closed", "'labels':{'disk':'nvme'}",
			  "'unschedulable':true", "'cpu':'64','memory':'64Gi'");
}

#define TOLERATES "'tolerations':[{'key':'only','operator':'Exists'}]"
#define WANTS(key, op, values)                                                           \
	"'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{" \
	"'nodeSelectorTerms':[{'matchExpressions':[{'key':'" key "','operator':'" op     \
	"','values':[" values "]}]}]}}}"
#define PREFERS(key, value)                                                              \
	"'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':" \
	"[{'weight':100,'preference':{'matchExpressions':[{'key':'" key                  \
	"','operator':'In','values':['" value "']}]}}]}}"

static void test_places(void **state)
{
	static const struct {
		const char *name, *requests, *spec, *node;
	} rows[] = {
		{"room", "'cpu':'3'", "", "big"},
		{"label", "'cpu':'1'", "'nodeSelector':{'disk':'ssd'}", "small"},
		{"device", "'example.com/gpu':'1'", "", "big"},
		{"tolerates", "'cpu':'3'", TOLERATES ",'nodeSelector':{'disk':'ssd'}",
		 "tainted"},
		{"greater", "", WANTS("size", "Gt", "'8'"), "big"},
		{"not-in", "", WANTS("disk", "NotIn", "'ssd','nvme'"), "big"},
		{"prefers", "'cpu':'100m'", PREFERS("disk", "ssd"), "small"},
		{"closed-to-all-but", "",
		 "'tolerations':[{'key':'node.kubernetes.io/unschedulable','operator':"
		 "'Exists'}],'nodeSelector':{'disk':'nvme'}",
		 "closed"},
	};
	struct kube_rig *rig = *state;

	add_nodes(rig);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *node;

		schedule_add_pod(rig, rows[i].name, "", rows[i].requests, rows[i].spec);
		node = schedule_wait_node(rig, rows[i].name);
		if (strcmp(node, rows[i].node) != 0)
			fail_msg("%s went to %s", rows[i].name, node);
	}
}

#define NODES_4 "0/4 nodes are available: "

static void test_reasons(void **state)
{
	static const struct {
		const char *name, *requests, *spec, *message;
	} rows[] = {
		{"cpu", "'cpu':'20'", "",
		 NODES_4 "1 node(s) had untolerated taint {only: me}, 1 node(s) were "
			 "unschedulable, 2 Insufficient cpu."},
		{"two", "'cpu':'20','memory':'100Gi'", TOLERATES,
		 NODES_4 "1 node(s) were unschedulable, 3 Insufficient cpu, "
			 "3 Insufficient memory."},
		{"label", "", "'nodeSelector':{'disk':'tape'}",
		 NODES_4 "1 node(s) had untolerated taint {only: me}, 1 node(s) were "
			 "unschedulable, 2 node(s) didn't match Pod's node "
			 "affinity/selector."},
		{"device", "'example.com/none':'1'", TOLERATES,
		 NODES_4
		 "1 node(s) were unschedulable, 3 Insufficient example.com/none."},
	};
	struct kube_rig *rig = *state;

	schedule_add_pod(rig, "early", "", "'cpu':'100'", "");
	schedule_wait_message(rig, "early", "no nodes available to schedule pods");
	add_nodes(rig);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		schedule_add_pod(rig, rows[i].name, "", rows[i].requests, rows[i].spec);
		schedule_wait_message(rig, rows[i].name, rows[i].message);
		assert_null(kube_differs(rig->body,
					 "status.conditions.0.reason=Unschedulable"));
	}
}

/* Each has what kubectl describe shows. */
static void test_events(void **state)
{
	struct kube_rig *rig = *state;

	add_nodes(rig);
	schedule_add_pod(rig, "a", "", "'cpu':'1'", "'nodeSelector':{'disk':'hdd'}");
	schedule_wait_node(rig, "a");
	kube_until(rig,
		   &(struct kube_step){
			   "GET /api/v1/namespaces/default/"
			   "events?fieldSelector=involvedObject.name=a",
			   NULL,
			   200,
			   {"#items=1", "items.0.reason=Scheduled", "items.0.type=Normal",
			    "items.0.message=Successfully assigned default/a to big",
			    "items.0.source.component=neap-scheduler"}});
	schedule_add_pod(rig, "b", "", "'cpu':'99'", TOLERATES);
	kube_until(rig,
		   &(struct kube_step){
			   "GET /api/v1/namespaces/default/"
			   "events?fieldSelector=involvedObject.name=b",
			   NULL,
			   200,
			   {"#items=1", "items.0.reason=FailedScheduling",
			    "items.0.type=Warning",
			    "items.0.message~3 Insufficient cpu. preemption: 0/4 nodes "
			    "are available: 4 Preemption is not helpful for "
			    "scheduling."}});
}

/* Pods of others, bound and gated ones stay as they are. */
static void test_not_its_own(void **state)
{
	struct kube_rig *rig = *state;

	add_nodes(rig);
	assert_int_equal(kube_ask(rig, "POST " PODS,
				  "{'metadata':{'name':'other'},'spec':{'containers':[{"
				  "'name':'c','image':'i'}]}}"),
			 201);
	schedule_add_pod(rig, "gated", "", "", "'schedulingGates':[{'name':'x/y'}]");
	schedule_wait_message(rig, "gated",
			      "Scheduling is blocked due to non-empty scheduling gates");
	assert_null(
		kube_differs(rig->body, "status.conditions.0.reason=SchedulingGated"));
	schedule_add_pod(rig, "last", "", "", "");
	schedule_wait_node(rig, "last");
	assert_int_equal(kube_ask(rig, "GET " PODS "/other", NULL), 200);
	assert_string_equal(kube_text(rig->body, "spec.nodeName"), "");
	assert_int_equal(kube_ask(rig, "GET " PODS "/gated", NULL), 200);
	assert_string_equal(kube_text(rig->body, "spec.nodeName"), "");
	assert_int_equal(kube_ask(rig, "MERGE " PODS "/gated",
				  "{'spec':{'schedulingGates':null}}"),
			 200);
	schedule_wait_node(rig, "gated");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(places),
		TEST(reasons),
		TEST(events),
		TEST(not_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
