/* SPDX-License-Identifier: Apache-2.0
 *
 * What the control API tells of the scheduler: CPUs of nodes, and why a pod goes where it
 * goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/control/control.h"
#include "api/schedule/config.h"
#include "api/schedule/view.h"
#include "t/lib/schedule_rig.h"

#define NRT                 "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
#define CPUS                "/control/v1/cpus"
#define EXPLAIN             "/control/v1/explain/pods/default/"
#define LSR                 "'koordinator.sh/qosClass':'LSR','koordinator.sh/priority-class':'koord-prod'"
#define EXPLAIN_RESERVATION "/control/v1/explain/reservations/"

static struct neap_look *look;

static struct neap_decide *decide_of(void *arg, const struct neap_pod *pod)
{
	(void)arg;
	return neap_scheduler_decide(schedule_scheduler, pod);
}

static bool view_of(void *arg, struct neap_look_view *ret, const char **ret_why_not)
{
	const struct kube_rig *rig = arg;
	struct neap_schedule_view view;

	*ret_why_not = "not now";
	if (!schedule_scheduler || !neap_scheduler_view(schedule_scheduler, &view))
		return false;
	*ret = (struct neap_look_view){view.cluster, view.decide, rig->client};
	return true;
}

static int setup(void **state)
{
	struct neap_look_source source = {.view = view_of, .decide = decide_of};
	struct neap_error err = {0};

	assert_int_equal(schedule_setup(state), 0);
	source.arg = *state;
	if (neap_look_new(((struct kube_rig *)*state)->http, &source, &look, &err) < 0)
		fail_msg("%s", err.msg);
	return 0;
}

static int teardown(void **state)
{
	int ret = schedule_teardown(state);

	neap_look_free(look);
	return ret;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

/* Four CPUs of two cores on one NUMA node, of which the kubelet keeps one core. */
static void add_cpus(struct kube_rig *rig, const char *name)
{
	static const char notes[] =
		"\"node.koordinator.sh/cpu-topology\":\"{\\\"detail\\\":["
		"{\\\"id\\\":0,\\\"core\\\":0,\\\"socket\\\":0,\\\"node\\\":0},"
		"{\\\"id\\\":1,\\\"core\\\":0,\\\"socket\\\":0,\\\"node\\\":0},"
		"{\\\"id\\\":2,\\\"core\\\":1,\\\"socket\\\":0,\\\"node\\\":0},"
		"{\\\"id\\\":3,\\\"core\\\":1,\\\"socket\\\":0,\\\"node\\\":0}]}\","
		"\"node.koordinator.sh/cpu-shared-pools\":\"[{\\\"socket\\\":0,"
		"\\\"node\\\":0,\\\"cpuset\\\":\\\"0-1\\\"},{\\\"cpuset\\\":\\\"x\\\"}]\","
		"\"kubelet.koordinator.sh/cpu-manager-policy\":\"{\\\"reservedCPUs\\\":"
		"\\\"0-1\\\"}\"";
	char body[2048];

	(void)snprintf(
		body, sizeof(body),
		"{\"apiVersion\":\"topology.node.k8s.io/v1alpha1\",\"kind\":"
		"\"NodeResourceTopology\",\"topologyPolicies\":[\"None\"],"
		"\"zones\":[],\"metadata\":{\"name\":\"%s\",\"annotations\":{%s}}}",
		name, notes);
	assert_int_equal(kube_ask_with(rig, "POST " NRT,
				       "Content-Type: application/json\r\n", body,
				       strlen(body)),
			 201);
}

static void add_lsr(struct kube_rig *rig, const char *name, int cpus)
{
	char requests[32];

	(void)snprintf(requests, sizeof(requests), "'cpu':'%d'", cpus);
	schedule_add_pod(rig, name, LSR, requests, "");
}

/* Core 0 has the CPUs 0 and 1. */
static void check_cpu(struct kube_rig *rig, int cpu, bool is_reserved, const char *pod)
{
	char path[64];
	const json_t *row;

	(void)snprintf(path, sizeof(path), "nodes.0.cpus.%d", cpu);
	row = kube_at(rig->body, path);
	assert_int_equal(json_integer_value(json_object_get(row, "cpu")), cpu);
	assert_int_equal(json_integer_value(json_object_get(row, "core")), cpu / 2);
	assert_true(json_is_null(json_object_get(row, "l3")));
	assert_int_equal(json_is_true(json_object_get(row, "reserved")), is_reserved);
	assert_string_equal(kube_text(row, "pods.0"), pod);
}

static void test_cpus(void **state)
{
	struct kube_rig *rig = *state;
	static const struct kube_step steps[] = {
		{"GET " CPUS "?node=a",
		 NULL,
		 200,
		 {"#nodes=1", "nodes.0.node=a", "nodes.0.cpu_count=4",
		  "nodes.0.reserved_count=2", "nodes.0.held_count=2",
		  "nodes.0.bind_policy=", "nodes.0.shared_by=1"}},
		{"GET " CPUS "?node=a",
		 NULL,
		 200,
		 {"nodes.0.cpus.0.reserved=true", "nodes.0.cpus.2.pods.0=default/p",
		  "nodes.0.reserved.0.why=reserved by the kubelet",
		  "#nodes.0.shared_pools=1", "nodes.0.pods.0.cpus=2-3",
		  "nodes.0.pods.0.qos=LSR", "nodes.0.pods.0.state=bound"}},
		{"GET " CPUS "?node=a&summary=true",
		 NULL,
		 200,
		 {"nodes.0.pod_count=1", "!nodes.0.cpus", "!nodes.0.pods"}},
		{"GET " CPUS "?limit=1",
		 NULL,
		 200,
		 {"#nodes=1", "nodes.0.node=a", "continue=a"}},
		{"GET " CPUS "?limit=1&continue=a",
		 NULL,
		 200,
		 {"#nodes=1", "nodes.0.node=b", "!continue",
		  "nodes.0.trouble=there is no NodeResourceTopology of it"}},
		{"GET " CPUS "?node=c", NULL, 404, {"message=there is no node c"}},
		{"GET " CPUS "?limit=0", NULL, 422, {"field=limit"}},
		{"GET " CPUS "?limit=51", NULL, 422, {"field=limit"}},
		{"GET " CPUS "?summary=maybe", NULL, 422, {"field=summary"}},
	};

	add_cpus(rig, "a");
	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	add_lsr(rig, "p", 2);
	assert_string_equal(schedule_wait_node(rig, "p"), "a");
	schedule_add_node(rig, "b", "", "", "'cpu':'4'");
	kube_until(rig, &(struct kube_step){"GET " CPUS "?node=b", NULL, 200, {NULL}});
	kube_until(rig, &steps[1]);
	assert_int_equal(kube_ask(rig, "GET " CPUS "?node=a", NULL), 200);
	check_cpu(rig, 1, true, "");
	check_cpu(rig, 3, false, "default/p");
	assert_string_equal(kube_text(rig->body, "nodes.0.shared_pools.0.cpus"), "0-1");
	assert_string_equal(kube_text(rig->body, "nodes.0.reserved.0.cpus"), "0-1");
	kube_steps(rig, steps, sizeof(steps) / sizeof(steps[0]));
}

static void test_explain(void **state)
{
	struct kube_rig *rig = *state;
	static const struct kube_step steps[] = {
		/* Where it is comes first, however it compares. */
		{"GET " EXPLAIN "p",
		 NULL,
		 200,
		 {"pod.state=bound", "pod.node=a", "node_count=3", "fitting=2",
		  "nodes.0.node=a", "nodes.1.node=b", "!claim"}},
		{"GET " EXPLAIN "p",
		 NULL,
		 200,
		 {"nodes.0.fits=true", "nodes.2.node=c", "nodes.2.fits=false",
		  "nodes.2.reasons.1.filter=NodeResourcesFit",
		  "nodes.2.reasons.1.fewer_pods_may_help=true", "#reasons=2",
		  "reasons.0.nodes=1"}},
		{"GET " EXPLAIN "p?limit=1", NULL, 200, {"#nodes=1", "continue=1"}},
		{"GET " EXPLAIN "p?limit=1&continue=2",
		 NULL,
		 200,
		 {"#nodes=1", "nodes.0.node=c", "!continue"}},
		{"GET " EXPLAIN "p?node=b",
		 NULL,
		 200,
		 {"#nodes=1", "nodes.0.node=b", "nodes.0.scores.0.score=TaintToleration",
		  "nodes.0.scores.0.weight=3", "nodes.0.scores.0.points=100"}},
		{"GET " EXPLAIN "large",
		 NULL,
		 200,
		 {"pod.state=pending", "pod.reason=Unschedulable", "fitting=0",
		  "reasons.0.reason=Insufficient cpu", "reasons.0.nodes=3"}},
		{"GET " EXPLAIN "none", NULL, 404, {"message~there is no pod"}},
		{"GET " EXPLAIN "p?node=x", NULL, 404, {"message=there is no node x"}},
		{"GET " EXPLAIN "p?limit=501", NULL, 422, {"field=limit"}},
	};

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "p", "", "'cpu':'2'", "");
	assert_string_equal(schedule_wait_node(rig, "p"), "a");
	schedule_add_node(rig, "b", "", "", "'cpu':'40'");
	schedule_add_node(rig, "c", "", "'unschedulable':true", "'cpu':'1'");
	schedule_add_pod(rig, "large", "", "'cpu':'400'", "");
	schedule_wait_message(rig, "large",
			      "0/3 nodes are available: 1 node(s) were unschedulable, 2 "
			      "Insufficient cpu.");
	kube_until(rig, &steps[5]);
	kube_steps(rig, steps, sizeof(steps) / sizeof(steps[0]));
	/* It is where it was, and counts. */
	schedule_add_pod(rig, "q", "", "'cpu':'3'", "'nodeName':''");
	assert_string_equal(schedule_wait_node(rig, "q"), "b");
}

/* What a node says in no words is told of it, and does not end what else is known. */
/* By the profile that the pod names. Where none has that name it is the first. */
static void test_profiles(void **state)
{
	static const char two[] =
		"apiVersion: kubescheduler.config.k8s.io/v1\n"
		"kind: KubeSchedulerConfiguration\n"
		"profiles:\n"
		"- schedulerName: first\n"
		"- schedulerName: second\n"
		"  pluginConfig:\n"
		"  - name: NodeAffinity\n"
		"    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
		"{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, "
		"values: [nowhere]}]}]}}}\n";
	static const struct kube_step steps[] = {
		{"GET " EXPLAIN "second", NULL, 200, {"fitting=0", "node_count=1"}},
		{"GET " EXPLAIN "of-others", NULL, 200, {"fitting=1", "node_count=1"}},
	};
	struct neap_schedule_config *config = NULL;
	struct neap_error err = {0};
	struct kube_rig *rig = *state;

	assert_int_equal(neap_schedule_config_parse(two, strlen(two), "f", &config, &err),
			 0);
	schedule_add_node(rig, "a", "", "", "'cpu':'4','memory':'8Gi'");
	neap_scheduler_configure(schedule_scheduler, config);
	(void)neap_schedule_config_unref(config);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(steps); i++) {
		char body[256];

		(void)snprintf(body, sizeof(body),
			       "{'metadata':{'name':'%s'},'spec':{'schedulerName':'%s',"
			       "'containers':[{'name':'c','image':'i'}]}}",
			       strrchr(steps[i].ask, '/') + 1,
			       strrchr(steps[i].ask, '/') + 1);
		assert_int_equal(kube_ask(rig, "POST " SCHEDULE_PODS, body), 201);
		kube_until(rig, &steps[i]);
	}
}

static void test_warnings(void **state)
{
	struct kube_rig *rig = *state;
	static const char text[] = "node.koordinator.sh/reservation: cannot be read";
	char warning[128], event[128];

	add_cpus(rig, "a");
	schedule_add_node(rig, "a",
			  "'annotations':{'node.koordinator.sh/reservation':'{'}", "",
			  "'cpu':'4'");
	add_lsr(rig, "p", 2);
	assert_string_equal(schedule_wait_node(rig, "p"), "a");
	(void)snprintf(warning, sizeof(warning), "nodes.0.warning=%s", text);
	(void)snprintf(event, sizeof(event), "items.0.message=%s", text);
	kube_until(rig, &(struct kube_step){
				"GET " CPUS "?node=a",
				NULL,
				200,
				{warning, "!nodes.0.trouble", "nodes.0.cpu_count=4"}});
	kube_until(rig, &(struct kube_step){
				"GET " EXPLAIN "p", NULL, 200, {warning, "fitting=1"}});
	kube_until(rig,
		   &(struct kube_step){
			   "GET /api/v1/events?fieldSelector=involvedObject.kind=Node",
			   NULL,
			   200,
			   {"#items=1", event, "items.0.type=Warning"}});
}

/* A preference that only fails when it comes to single CPUs. */
static void test_claims(void **state)
{
	struct kube_rig *rig = *state;

	add_cpus(rig, "a");
	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	add_lsr(rig, "p", 3);
	schedule_wait_message(
		rig, "p",
		"0/1 nodes are available: 1 not enough cpus available to satisfy request.");
	kube_until(rig, &(struct kube_step){
				"GET " EXPLAIN "p",
				NULL,
				200,
				{"fitting=1", "claim.node=a",
				 "claim.trouble=not enough cpus available to satisfy "
				 "request"}});
}

/* Which one a pod has or would use, why not the others, and why a Reservation has no
 * place. */
static void test_reservations(void **state)
{
	struct kube_rig *rig = *state;
	static const struct kube_step steps[] = {
		{"GET " EXPLAIN "web-0",
		 NULL,
		 200,
		 {"pod.reservation=web", "nodes.0.reservations.1.name=once",
		  "nodes.0.reservations.1.reason=its owners do not name the pod",
		  "nodes.0.reservations.2.name=web", "nodes.0.reservations.2.used=true",
		  "nodes.0.reservations.2.open=true"}},
		{"GET " EXPLAIN "once-1",
		 NULL,
		 200,
		 {"pod.state=pending", "!pod.reservation",
		  "nodes.0.reservations.1.name=once", "nodes.0.reservations.1.open=false",
		  "nodes.0.reservations.1.reason=it is for one pod, and has it "
		  "(allocateOnce)"}},
		{"GET " EXPLAIN "large",
		 NULL,
		 200,
		 {"nodes.0.reservations.2.name=web", "nodes.0.reservations.2.open=false",
		  "nodes.0.reservations.2.reason~Reservation(s) Insufficient cpu"}},
		{"GET " EXPLAIN "other",
		 NULL,
		 200,
		 {"fitting=0", "nodes.0.reservations.0.name=closed",
		  "nodes.0.reservations.0.reason=it takes no new owners",
		  "nodes.0.reservations.0.used=false"}},
		{"GET " EXPLAIN "gated",
		 NULL,
		 200,
		 {"fitting=1", "claim.node=a", "claim.reservation=web",
		  "nodes.0.reservations.2.first=true",
		  "nodes.0.reservations.2.open=true"}},
		{"GET " EXPLAIN_RESERVATION "big",
		 NULL,
		 200,
		 {"reservation.name=big", "reservation.phase=Pending", "!pod",
		  "reservation.reason=Unschedulable", "fitting=0",
		  "reasons.0.reason=Insufficient cpu", "nodes.0.fits=false"}},
		{"GET " EXPLAIN_RESERVATION "web",
		 NULL,
		 200,
		 {"reservation.phase=Available", "reservation.node=a", "fitting=1",
		  "nodes.0.node=a", "!nodes.0.reservations"}},
		{"GET " EXPLAIN_RESERVATION "none",
		 NULL,
		 404,
		 {"message=there is no Reservation none"}},
		{"GET " EXPLAIN_RESERVATION "web?node=x",
		 NULL,
		 404,
		 {"message=there is no node x"}},
	};

	schedule_add_node(rig, "a", "", "", "'cpu':'6'");
	schedule_add_reservation(rig, "web", "", "'cpu':'2'", "",
				 "'allocateOnce':false,'allocatePolicy':'Restricted'");
	schedule_add_reservation(rig, "once", "", "'cpu':'1'", "",
				 "'allocatePolicy':'Restricted'");
	schedule_add_reservation(rig, "closed", "", "'cpu':'1'", "",
				 "'unschedulable':true,'allocatePolicy':'Restricted'");
	schedule_wait_phase(rig, "web", "Available", "");
	schedule_wait_phase(rig, "once", "Available", "");
	schedule_wait_phase(rig, "closed", "Available", "");
	schedule_add_reservation(rig, "big", "", "'cpu':'40'", "", "");
	schedule_until(rig, "GET " SCHEDULE_RESERVATIONS "/big",
		       "status.conditions.0.reason=Unschedulable", NULL, NULL);
	schedule_add_pod(rig, "web-0", "'app':'web'", "'cpu':'1'", "");
	assert_string_equal(schedule_wait_node(rig, "web-0"), "a");
	schedule_add_pod(rig, "once-0", "'app':'once'", "'cpu':'1'", "");
	assert_string_equal(schedule_wait_node(rig, "once-0"), "a");
	schedule_add_pod(rig, "once-1", "'app':'once'", "'cpu':'3'", "");
	schedule_add_pod(rig, "large", "'app':'web'", "'cpu':'4'", "");
	schedule_add_pod(rig, "other", "'app':'closed'", "'cpu':'5'", "");
	schedule_add_pod(rig, "gated", "'app':'web'", "'cpu':'1'",
			 "'schedulingGates':[{'name':'x'}]");
	kube_until(rig, &steps[4]);
	kube_steps(rig, steps, sizeof(steps) / sizeof(steps[0]));
}

/* CPUs that are kept have the Reservation as their holder, and the pod that uses them
 * beside it. */
static void test_kept_cpus(void **state)
{
	struct kube_rig *rig = *state;
	static const struct kube_step steps[] = {
		{"GET " CPUS "?node=a",
		 NULL,
		 200,
		 {"nodes.0.pods.0.reservation=p", "!nodes.0.pods.0.namespace",
		  "nodes.0.pods.0.cpus=2-3", "nodes.0.cpus.2.pods.0=/p"}},
		{"GET " EXPLAIN_RESERVATION "p", NULL, 200, {"reservation.cpus=2-3"}},
	};

	add_cpus(rig, "a");
	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_reservation(rig, "p", LSR, "'cpu':'2'", "", "");
	schedule_wait_phase(rig, "p", "Available", "");
	kube_steps(rig, steps, sizeof(steps) / sizeof(steps[0]));
}

static void test_who_may(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	kube_until(rig, &(struct kube_step){"GET " CPUS, NULL, 200, {"#nodes=1"}});
	kube_as(rig, "");
	assert_int_equal(kube_ask(rig, "GET " CPUS, NULL), 401);
	assert_int_equal(kube_ask(rig, "GET " EXPLAIN "p", NULL), 401);
	kube_as(rig, "mall-token-of-16");
	assert_int_equal(kube_ask(rig, "GET " CPUS, NULL), 403);
	kube_as(rig, "rose-token-of-16");
	assert_int_equal(kube_ask(rig, "GET " CPUS, NULL), 200);
	assert_int_equal(kube_ask(rig, "POST " CPUS, "{}"), 405);
	kube_as(rig, NULL);
	schedule_stop();
	assert_int_equal(kube_ask(rig, "GET " CPUS, NULL), 503);
	assert_string_equal(kube_text(rig->body, "message"), "not now");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cpus),         TEST(explain),   TEST(claims),   TEST(warnings),
		TEST(reservations), TEST(kept_cpus), TEST(profiles), TEST(who_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
