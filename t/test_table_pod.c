/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of pods: what they are at, in the words of kubectl. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/print/cells.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "t/lib/json_rig.h"
#include "t/lib/kind_named.h"

static int64_t now(void)
{
	int64_t usec = 0;

	assert_int_equal(neap_time_parse("2026-01-02T12:00:00.7Z", &usec, NULL), 0);
	return usec;
}

#define POD(spec, status)                                                                \
	"{'metadata':{'name':'p'},'spec':{" spec "},'status':{" status "}}"
#define GOING(spec, status)                                                              \
	"{'metadata':{'name':'p','deletionTimestamp':'2026-01-02T11:59:50Z'},"           \
	"'spec':{" spec "},'status':{" status "}}"
#define ONE  "'containers':[{'name':'a'}]"
#define TWO  "'containers':[{'name':'a'},{'name':'b'}]"
#define INIT "'initContainers':[{'name':'i'},{'name':'j'}]," ONE
/* A sidecar before an init container. */
#define SIDE "'initContainers':[{'name':'s','restartPolicy':'Always'},{'name':'j'}]," ONE

#define RUNS       "'ready':true,'state':{'running':{'startedAt':'2026-01-02T11:59:00Z'}}"
#define WAITS(why) "'ready':false,'state':{'waiting':{'reason':'" why "'}}"
#define ENDED(how) "'ready':false,'state':{'terminated':{" how "}}"
/* Its last end was 100 seconds ago. */
#define LAST                                                                             \
	"'lastState':{'terminated':{'exitCode':1,'finishedAt':'2026-01-02T11:58:20Z'}}"
#define STATUSES(list)          "'containerStatuses':[" list "]"
#define INIT_STATUSES(list)     "'initContainerStatuses':[" list "]"
#define CONDITION(type, status) "'conditions':[{'type':'" type "','status':'" status "'}]"

static const struct {
	const char *name, *pod, *want;
} rows[] = {
	/* before anything runs */
	{"pending", POD(ONE, "'phase':'Pending'"), "0/1|Pending|0"},
	{"just made", "{'metadata':{'name':'p'},'spec':{" ONE "}}", "0/1|Pending|0"},
	{"unschedulable",
	 POD(ONE, "'phase':'Pending','conditions':[{'type':'PodScheduled',"
		  "'status':'False','reason':'Unschedulable'}]"),
	 "0/1|Pending|0"},
	{"gated",
	 POD(ONE, "'phase':'Pending','conditions':[{'type':'Ready'},{'type':"
		  "'PodScheduled','status':'False','reason':'SchedulingGated'}]"),
	 "0/1|SchedulingGated|0"},
	{"creating",
	 POD(TWO,
	     "'phase':'Pending'," STATUSES(
		     "{'name':'a'," WAITS("ContainerCreating") "},{'name':'b'," WAITS(
			     "ContainerCreating") "}")),
	 "0/2|ContainerCreating|0"},
	{"no image",
	 POD(TWO, "'phase':'Pending'," STATUSES("{'name':'a'," WAITS(
			  "ErrImagePull") "},{'name':'b'," RUNS "}")),
	 "1/2|ErrImagePull|0"},
	/* running */
	{"running", POD(TWO, "'phase':'Running'," STATUSES("{" RUNS "},{" RUNS "}")),
	 "2/2|Running|0"},
	{"not ready",
	 POD(ONE,
	     "'phase':'Running'," STATUSES("{'ready':false,'state':{'running':{}}}")),
	 "0/1|Running|0"},
	{"ready but in no state",
	 POD(ONE, "'phase':'Running'," STATUSES("{'ready':true}")), "0/1|Running|0"},
	{"restarted",
	 POD(ONE, "'phase':'Running'," STATUSES("{'restartCount':3," LAST "," RUNS "}")),
	 "1/1|Running|3 (100s ago)"},
	{"restarted, the last time counts",
	 POD(TWO, "'phase':'Running'," STATUSES(
			  "{'restartCount':3,'lastState':{'terminated':{'finishedAt':"
			  "'2026-01-01T00:00:00Z'}}," RUNS "},{'restartCount':2," LAST
			  "," RUNS "}")),
	 "2/2|Running|5 (100s ago)"},
	{"restarted at a time that is not known",
	 POD(ONE, "'phase':'Running'," STATUSES("{'restartCount':2,'lastState':{"
						"'terminated':{'finishedAt':null}}," RUNS
						"}")),
	 "1/1|Running|2"},
	{"never restarted, though it ended",
	 POD(ONE, "'phase':'Running'," STATUSES("{'restartCount':0," LAST "," RUNS "}")),
	 "1/1|Running|0"},
	{"restarts out of range",
	 POD(TWO, "'phase':'Running'," STATUSES("{'restartCount':-5},{'restartCount':"
						"9223372036854775807}")),
	 "0/2|Running|2147483647"},
	{"crashing",
	 POD(ONE, "'phase':'Running'," STATUSES("{'restartCount':7," LAST
						"," WAITS("CrashLoopBackOff") "}")),
	 "0/1|CrashLoopBackOff|7 (100s ago)"},
	/* ended */
	{"completed",
	 POD(ONE, "'phase':'Succeeded'," STATUSES(
			  "{" ENDED("'exitCode':0,'reason':'Completed'") "}")),
	 "0/1|Completed|0"},
	{"succeeded without a word", POD(ONE, "'phase':'Succeeded'"), "0/1|Succeeded|0"},
	{"error",
	 POD(ONE, "'phase':'Failed'," STATUSES(
			  "{" ENDED("'exitCode':1,'reason':'Error'") "}")),
	 "0/1|Error|0"},
	{"out of memory",
	 POD(ONE, "'phase':'Failed'," STATUSES(
			  "{" ENDED("'exitCode':137,'reason':'OOMKilled'") "}")),
	 "0/1|OOMKilled|0"},
	{"exit code",
	 POD(ONE, "'phase':'Failed'," STATUSES("{" ENDED("'exitCode':3") "}")),
	 "0/1|ExitCode:3|0"},
	{"signal",
	 POD(ONE,
	     "'phase':'Failed'," STATUSES("{" ENDED("'exitCode':137,'signal':9") "}")),
	 "0/1|Signal:9|0"},
	{"the first container gives the word",
	 POD(TWO, "'phase':'Failed'," STATUSES("{" ENDED("'exitCode':3") "},{" ENDED(
			  "'exitCode':0,'reason':'Completed'") "}")),
	 "0/2|ExitCode:3|0"},
	{"one is done, one runs",
	 POD(TWO, "'phase':'Running'," CONDITION("Ready", "True") "," STATUSES(
			  "{" ENDED("'reason':'Completed'") "},{" RUNS "}")),
	 "1/2|Running|0"},
	{"one is done, one runs, the pod is not ready",
	 POD(TWO, "'phase':'Running'," CONDITION("Ready", "False") "," STATUSES(
			  "{" ENDED("'reason':'Completed'") "},{" RUNS "}")),
	 "1/2|NotReady|0"},
	{"evicted", POD(ONE, "'phase':'Failed','reason':'Evicted'"), "0/1|Evicted|0"},
	/* init containers */
	{"init, none done",
	 POD(INIT,
	     "'phase':'Pending'," INIT_STATUSES("{'name':'i'," RUNS "},{'name':'j'," WAITS(
		     "PodInitializing") "}") "," STATUSES("{" WAITS("PodInitializing") "}")),
	 "0/1|Init:0/2|0"},
	{"init, one done",
	 POD(INIT, "'phase':'Pending'," INIT_STATUSES(
			   "{" ENDED("'exitCode':0,'reason':'Completed'") "},{" WAITS(
				   "PodInitializing") "}")),
	 "0/1|Init:1/2|0"},
	{"init, all done",
	 POD(INIT,
	     "'phase':'Pending'," INIT_STATUSES(
		     "{'restartCount':4," ENDED("'exitCode':0") "},{" ENDED(
			     "'exitCode':0") "}") "," STATUSES("{" WAITS("PodInitializing") "}")),
	 "0/1|PodInitializing|0"},
	{"init, failed",
	 POD(INIT, "'phase':'Pending'," INIT_STATUSES("{'restartCount':1," LAST "," ENDED(
			   "'exitCode':1,'reason':'Error'") "}")),
	 "0/1|Init:Error|1 (100s ago)"},
	{"init, exit code",
	 POD(INIT, "'phase':'Failed'," INIT_STATUSES("{" ENDED("'exitCode':2") "}")),
	 "0/1|Init:ExitCode:2|0"},
	{"init, signal",
	 POD(INIT, "'phase':'Failed'," INIT_STATUSES(
			   "{" ENDED("'exitCode':9,'signal':15") "}")),
	 "0/1|Init:Signal:15|0"},
	{"init, crashing",
	 POD(INIT, "'phase':'Pending'," INIT_STATUSES("{'restartCount':4," LAST
						      "," WAITS("CrashLoopBackOff") "}")),
	 "0/1|Init:CrashLoopBackOff|4 (100s ago)"},
	{"init again, long after the first time",
	 POD(INIT,
	     "'phase':'Running'," CONDITION("Initialized", "True") "," INIT_STATUSES(
		     "{'restartCount':4," RUNS
		     "}") "," STATUSES("{'restartCount':1," RUNS "}")),
	 "1/1|Init:0/2|1"},
	{"sidecar comes up",
	 POD(SIDE,
	     "'phase':'Pending'," INIT_STATUSES(
		     "{'name':'s','started':false,'state':{'running':{}}},{'name':'j'}")),
	 "0/2|Init:0/2|0"},
	{"sidecar is up",
	 POD(SIDE, "'phase':'Pending'," INIT_STATUSES(
			   "{'name':'s','started':true,'restartCount':2," RUNS
			   "},{'name':'j'}")),
	 "1/2|Init:1/2|2"},
	{"sidecar and container run",
	 POD(SIDE,
	     "'phase':'Running'," INIT_STATUSES(
		     "{'name':'s','started':true,'restartCount':2," LAST "," RUNS
		     "},{'name':'j','restartCount':9," ENDED(
			     "'exitCode':0") "}") "," STATUSES("{'restartCount':1," RUNS
							       "}")),
	 "2/2|Running|3 (100s ago)"},
	/* to go */
	{"terminating", GOING(ONE, "'phase':'Running'," STATUSES("{" RUNS "}")),
	 "1/1|Terminating|0"},
	{"terminating, crashing",
	 GOING(ONE, "'phase':'Running'," STATUSES("{" WAITS("CrashLoopBackOff") "}")),
	 "0/1|Terminating|0"},
	{"done and to go",
	 GOING(ONE,
	       "'phase':'Succeeded'," STATUSES("{" ENDED("'reason':'Completed'") "}")),
	 "0/1|Completed|0"},
	{"not to go",
	 "{'metadata':{'deletionTimestamp':null},'spec':{" ONE
	 "},'status':{'phase':'Running'}}",
	 "0/1|Running|0"},
	{"failed and to go", GOING(ONE, "'phase':'Failed','reason':'Evicted'"),
	 "0/1|Evicted|0"},
	{"node lost", POD(ONE, "'phase':'Running','reason':'NodeLost'"),
	 "0/1|NodeLost|0"},
	{"node lost and to go", GOING(ONE, "'phase':'Running','reason':'NodeLost'"),
	 "0/1|Unknown|0"},
	/* not what it should be */
	{"no containers", POD("", ""), "0/0|Pending|0"},
	{"empty", "{}", "0/0|Pending|0"},
	{"lists of other things",
	 POD("'containers':[1,null],'initContainers':['x',[]]",
	     "'phase':7,'conditions':[5],'containerStatuses':[null,[]],"
	     "'initContainerStatuses':[3]"),
	 "0/2|Init:0/2|0"},
	{"states that are no objects",
	 POD(ONE,
	     "'phase':'Running'," STATUSES(
		     "{'ready':true,'state':{'running':true,'terminated':'x','waiting':1}}")),
	 "0/1|Running|0"},
};

static void test_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *pod = json_rig_make(rows[i].pod);
		json_t *cells = neap_kube_cells_pod(NULL, pod, now());
		char got[128];

		assert_int_equal(json_array_size(cells), kind_named("pod")->column_count);
		(void)snprintf(got, sizeof(got), "%s|%s|%s",
			       json_string_value(json_array_get(cells, 1)),
			       json_string_value(json_array_get(cells, 2)),
			       json_string_value(json_array_get(cells, 3)));
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s: got %s, wanted %s", rows[i].name, got,
				 rows[i].want);
		json_decref(cells);
		json_decref(pod);
	}
}

static void test_cells(void **state)
{
	static const struct {
		const char *pod, *want;
	} whole[] = {
		{"{'metadata':{'name':'web-1','namespace':'shop',"
		 "'creationTimestamp':'2026-01-01T00:00:00Z'},'spec':{'nodeName':'node-0',"
		 "'containers':[{'name':'web'}],'readinessGates':[{'conditionType':'a/b'},"
		 "{'conditionType':'c/d'},{'conditionType':'e/f'}]},'status':{'phase':"
		 "'Running','podIP':'10.0.0.7','podIPs':[{'ip':'10.0.0.7'},{'ip':'fd00::7'}],"
		 "'nominatedNodeName':'node-9','conditions':[{'type':'a/b','status':'True'},"
		 "{'type':'c/d','status':'False'},{'type':'c/d','status':'True'}],"
		 "'containerStatuses':[{" RUNS "}]}}",
		 "['web-1','1/1','Running','0','36h','10.0.0.7','node-0','node-9','1/3']"},
		{"{'metadata':{'name':'web-2','creationTimestamp':'2026-01-02T11:59:59Z'},"
		 "'spec':{'containers':[{}],'readinessGates':[{}]},'status':{'podIP':"
		 "'10.0.0.8'}}",
		 "['web-2','0/1','Pending','0','1s','10.0.0.8','<none>','<none>','0/1']"},
		{"{'metadata':{'name':'web-3','creationTimestamp':'2026-01-02T12:00:01Z'},"
		 "'spec':{'readinessGates':[]},'status':{'podIPs':[]}}",
		 "['web-3','0/0','Pending','0','0s','<none>','<none>','<none>','<none>']"},
		{"{}",
		 "['','0/0','Pending','0','<unknown>','<none>','<none>','<none>','<none>']"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(whole); i++) {
		json_t *pod = json_rig_make(whole[i].pod);
		json_t *cells = neap_kube_cells_pod(NULL, pod, now());

		json_rig_check(whole[i].want, cells, whole[i].want);
		json_decref(cells);
		json_decref(pod);
	}
}

/* One name for each, and every one looked up: all pairs would be an hour's work. */
static void test_many(void **state)
{
	enum { MANY = 50000 };
	json_t *pod =
		json_rig_make("{'spec':{'initContainers':[],'readinessGates':[]},"
			      "'status':{'initContainerStatuses':[],'conditions':[]}}");
	json_t *spec = json_object_get(pod, "spec");
	json_t *status = json_object_get(pod, "status"), *cells;
	char name[32];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		json_array_append_new(
			json_object_get(spec, "initContainers"),
			json_pack("{s:s, s:s}", "name", name, "restartPolicy", "Always"));
		json_array_append_new(json_object_get(spec, "readinessGates"),
				      json_pack("{s:s}", "conditionType", name));
		json_array_append_new(json_object_get(status, "initContainerStatuses"),
				      json_pack("{s:s, s:b, s:b, s:i}", "name", name,
						"started", 1, "ready", 1, "restartCount",
						2));
		json_array_append_new(
			json_object_get(status, "conditions"),
			json_pack("{s:s, s:s}", "type", name, "status", "True"));
	}
	cells = neap_kube_cells_pod(NULL, pod, now());
	assert_string_equal(json_string_value(json_array_get(cells, 1)), "50000/50000");
	assert_string_equal(json_string_value(json_array_get(cells, 3)), "100000");
	assert_string_equal(json_string_value(json_array_get(cells, 8)), "50000/50000");
	json_decref(cells);
	json_decref(pod);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_many),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
