/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that fall silent, and what becomes of their pods. The clock is the test's: it
 * goes on in steps that are shorter than what counts as having been away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/workload/node/node_watch_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "t/lib/kube_rig.h"
#include "t/lib/patience.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)        cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

#define NODES  "/api/v1/nodes"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
#define PODS   "/api/v1/namespaces/default/pods"
#define SECOND 1000000LL
/* Looks come every ten milliseconds then; all else is in parts of it. */
#define GRACE (400000LL)
#define STEP  (GRACE / 2)

struct state {
	struct kube_rig *rig;
	struct neap_log log;
	struct neap_node_watch *watch;
	int renewals;
};

static int64_t test_now(void)
{
	return kube_now;
}

static void start(struct state *state)
{
	struct neap_workload_config config = {.tasks = neap_kube_tasks(state->rig->kube),
					      .client = state->rig->client,
					      .now = test_now,
					      .log = &state->log};
	struct neap_error err = {0};

	if (neap_node_watch_new(&config, GRACE, &state->watch, &err) < 0)
		fail_msg("%s", err.msg);
}

static void stop(struct state *state)
{
	neap_node_watch_free(state->watch);
	state->watch = NULL;
}

static int setup(void **ret)
{
	struct state *state = neap_alloc(sizeof(*state));
	void *rig = NULL;

	assert_non_null(state);
	kube_now = INT64_C(1789997600) * SECOND; /* 2026-09-21T13:33:20Z */
	assert_int_equal(kube_rig_setup(&rig), 0);
	state->rig = rig;
	state->log = (struct neap_log){.fd = -1, .program = "test"};
	assert_int_equal(kube_ask(rig, "POST /api/v1/namespaces",
				  "{'metadata':{'name':'kube-node-lease'}}"),
			 201);
	*ret = state;
	return 0;
}

static int teardown(void **arg)
{
	struct state *state = *arg;
	void *rig = state->rig;

	stop(state);
	free(state);
	return kube_rig_teardown(&rig);
}

/* As many looks as it takes to see what there is, and what comes of it. */
static void wait_looks(struct state *state, uint64_t count)
{
	uint64_t until = state->watch->looks + count;

	for (int i = 0; i < PATIENCE_MS / 5 && state->watch->looks < until; i++)
		kube_run(state->rig, 5);
	assert_true(state->watch->looks >= until);
}

/* Time goes on; renewed names a node whose Lease is renewed in every step, or is NULL. */
static void pass(struct state *state, int64_t usec, const char *renewed)
{
	for (int64_t done = 0; done < usec; done += STEP) {
		char ask[128], body[128];

		kube_now += STEP;
		if (renewed) {
			(void)snprintf(ask, sizeof(ask), "MERGE " LEASES "/%s", renewed);
			(void)snprintf(
				body, sizeof(body),
				"{'spec':{'renewTime':'2026-09-21T13:33:20.%06dZ'}}",
				++state->renewals);
			assert_int_equal(kube_ask(state->rig, ask, body), 200);
		}
		wait_looks(state, 1);
	}
	wait_looks(state, 2);
}

static void ask(struct state *state, const char *method_and_path, const char *body,
		int status)
{
	int got = kube_ask(state->rig, method_and_path, body);

	if (got != status)
		fail_msg("%s: %d %s", method_and_path, got,
			 kube_text(state->rig->body, "message"));
}

static void until(struct state *state, const char *path, const char *want0,
		  const char *want1, const char *want2)
{
	const struct kube_step step = {path, NULL, 200, {want0, want1, want2}};

	kube_until(state->rig, &step);
}

static void until_gone(struct state *state, const char *path)
{
	const struct kube_step step = {path, NULL, 404, {NULL}};

	kube_until(state->rig, &step);
}

/* Ready, with the heartbeat of a kubelet. */
static void add_node(struct state *state, const char *name, bool has_lease)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'status':{'conditions':["
		       "{'type':'MemoryPressure','status':'False'},"
		       "{'type':'Ready','status':'True','reason':'KubeletReady'}]}}",
		       name);
	ask(state, "POST " NODES, body, 201);
	if (!has_lease)
		return;
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'holderIdentity':'%s',"
		       "'leaseDurationSeconds':40,"
		       "'renewTime':'2026-09-21T13:33:20.000000Z'}}",
		       name, name);
	ask(state, "POST " LEASES, body, 201);
}

static void add_pod(struct state *state, const char *name, const char *node,
		    const char *more)
{
	char body[1024];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{%s%s%s%s"
		       "'containers':[{'name':'main','image':'x'}]}}",
		       name, node ? "'nodeName':'" : "", node ? node : "",
		       node ? "'," : "", more);
	ask(state, "POST " PODS, body, 201);
}

#define TOLERATE(key, seconds)                                                           \
	"{'key':'node.kubernetes.io/" key "','operator':'Exists','effect':'NoExecute',"  \
	"'tolerationSeconds':" seconds "}"

/* --- health --- */

static void test_lost_and_back(void **arg)
{
	struct state *state = *arg;

	add_node(state, "n1", true);
	add_node(state, "n2", true);
	add_node(state, "by-hand", false);
	add_pod(state, "p", "n1", "");
	ask(state, "STRATEGIC " PODS "/p/status",
	    "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}}",
	    200);
	start(state);
	pass(state, GRACE * 2, "n2");
	until(state, "GET " NODES "/n1", "status.conditions.1.status=Unknown",
	      "status.conditions.1.reason=NodeStatusUnknown",
	      "status.conditions.0.status=Unknown");
	until(state, "GET " NODES "/n1", "#spec.taints=2",
	      "spec.taints.0.key=node.kubernetes.io/unreachable",
	      "spec.taints.1.effect=NoExecute");
	until(state, "GET " PODS "/p", "status.conditions.0.status=False",
	      "status.conditions.0.reason=NodeNotReady", "!metadata.deletionTimestamp");
	until(state, "GET /api/v1/events?fieldSelector=reason=NodeNotReady", "#items=2",
	      NULL, NULL);
	/* Those that live, and those of whom nobody can say. */
	until(state, "GET " NODES "/n2", "status.conditions.1.status=True",
	      "!spec.taints", NULL);
	until(state, "GET " NODES "/by-hand", "status.conditions.1.status=True",
	      "!spec.taints", NULL);
	/* A status with another heartbeat is a sign of life, too, if not for long. */
	ask(state, "STRATEGIC " NODES "/n1/status",
	    "{'status':{'conditions':[{'type':'Ready','status':'True',"
	    "'lastHeartbeatTime':'2026-09-21T13:33:21Z'}]}}",
	    200);
	pass(state, STEP, "n2");
	until(state, "GET " NODES "/n1", "status.conditions.1.status=True",
	      "!spec.taints", NULL);
	pass(state, GRACE * 2, "n2");
	until(state, "GET " NODES "/n1", "#spec.taints=2", NULL, NULL);
	/* It comes back. */
	ask(state, "STRATEGIC " NODES "/n1/status",
	    "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}", 200);
	pass(state, STEP, "n1");
	ask(state, "STRATEGIC " NODES "/n1/status",
	    "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}", 200);
	pass(state, GRACE * 2, "n1");
	until(state, "GET " NODES "/n1", "!spec.taints",
	      "status.conditions.1.status=True", NULL);
}

/* A neapd that was away gives everybody a full grace, a start and a sleep alike. */
static void test_away(void **arg)
{
	struct state *state = *arg;

	add_node(state, "n1", true);
	start(state);
	pass(state, STEP, NULL);
	kube_now += 100 * GRACE;
	wait_looks(state, 3);
	pass(state, STEP, NULL);
	until(state, "GET " NODES "/n1", "status.conditions.1.status=True", NULL, NULL);
	stop(state);
	kube_now += 100 * GRACE;
	start(state);
	wait_looks(state, 3);
	pass(state, STEP, NULL);
	until(state, "GET " NODES "/n1", "status.conditions.1.status=True", NULL, NULL);
	pass(state, GRACE, NULL);
	until(state, "GET " NODES "/n1", "status.conditions.1.status=Unknown", NULL,
	      NULL);
	/* A clock that is set back is no reason either. */
	kube_now -= 100 * GRACE;
	wait_looks(state, 3);
}

static const struct {
	const char *name, *patch, *part; /* of the Node; "/status" or "" */
	const char *want0, *want1, *want2;
} tainted[] = {
	{"cordon", "{'spec':{'unschedulable':true}}", "", "#spec.taints=1",
	 "spec.taints.0.key=node.kubernetes.io/unschedulable",
	 "!spec.taints.0.timeAdded"},
	{"uncordon", "{'spec':{'unschedulable':null}}", "", "!spec.taints", NULL, NULL},
	{"not ready", "{'status':{'conditions':[{'type':'Ready','status':'False'}]}}",
	 "/status", "#spec.taints=2", "spec.taints.0.key=node.kubernetes.io/not-ready",
	 "spec.taints.1.timeAdded=2026-09-21T13:33:20Z"},
	{"others stay", "{'spec':{'taints':[{'key':'mine','effect':'NoSchedule'}]}}", "",
	 "#spec.taints=3", "spec.taints.0.key=mine",
	 "spec.taints.2.key=node.kubernetes.io/not-ready"},
	{"pressure",
	 "{'status':{'conditions':[{'type':'Ready','status':'True'},"
	 "{'type':'DiskPressure','status':'True'}]}}",
	 "/status", "#spec.taints=2", "spec.taints.0.key=mine",
	 "spec.taints.1.key=node.kubernetes.io/disk-pressure"},
	{"unknown", "{'status':{'conditions':[{'type':'Ready','status':'Unknown'}]}}",
	 "/status", "#spec.taints=3", "spec.taints.1.key=node.kubernetes.io/unreachable",
	 "spec.taints.2.effect=NoExecute"},
	{"well", "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}",
	 "/status", "#spec.taints=1", "spec.taints.0.key=mine", NULL},
};

static void test_taints(void **arg)
{
	struct state *state = *arg;

	add_node(state, "n1", false);
	start(state);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(tainted); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "MERGE " NODES "/n1%s",
			       tainted[i].part);
		ask(state, path, tainted[i].patch, 200);
		until(state, "GET " NODES "/n1", tainted[i].want0, tainted[i].want1,
		      tainted[i].want2);
	}
}

/* --- pods --- */

/* Of a user: who does not tolerate it goes at once, others after their time. */
static void test_evicted(void **arg)
{
	struct state *state = *arg;
	char body[128], since[32];

	add_node(state, "n1", false);
	add_node(state, "n2", false);
	add_pod(state, "none", "n1", "");
	add_pod(state, "ever", "n1", "'tolerations':[{'operator':'Exists'}],");
	add_pod(state, "while", "n1",
		"'tolerations':[{'key':'k','value':'v','effect':'NoExecute',"
		"'tolerationSeconds':2}],");
	add_pod(state, "other", "n1",
		"'tolerations':[{'key':'k','value':'w','effect':'NoExecute'}],");
	add_pod(state, "done", "n1", "");
	ask(state, "MERGE " PODS "/done/status", "{'status':{'phase':'Succeeded'}}", 200);
	add_pod(state, "elsewhere", "n2", "");
	start(state);
	ask(state, "MERGE " NODES "/n1",
	    "{'spec':{'taints':[{'key':'k','value':'v','effect':'NoExecute'}]}}", 200);
	until(state, "GET " PODS "/none", "metadata.deletionGracePeriodSeconds=30",
	      "status.conditions.0.type=DisruptionTarget",
	      "status.conditions.0.reason=DeletionByTaintManager");
	until(state, "GET " PODS "/other", "metadata.deletionGracePeriodSeconds=30", NULL,
	      NULL);
	until(state,
	      "GET /api/v1/events?fieldSelector=reason=TaintManagerEviction,"
	      "involvedObject.name=none",
	      "items.0.message=Marking for deletion Pod default/none", "items.0.count=1",
	      NULL);
	pass(state, SECOND, NULL);
	until(state, "GET " PODS "/while", "!metadata.deletionTimestamp", NULL, NULL);
	pass(state, 2 * SECOND, NULL);
	until(state, "GET " PODS "/while", "metadata.deletionGracePeriodSeconds=30", NULL,
	      NULL);
	until(state, "GET " PODS "/ever", "!metadata.deletionTimestamp", NULL, NULL);
	until(state, "GET " PODS "/done", "!metadata.deletionTimestamp", NULL, NULL);
	until(state, "GET " PODS "/elsewhere", "!metadata.deletionTimestamp", NULL, NULL);
	/* One that came later has its own time, whatever the taint says. */
	(void)neap_time_format(kube_now - 3600 * SECOND, 0, since, sizeof(since));
	(void)snprintf(body, sizeof(body),
		       "{'spec':{'taints':[{'key':'k','value':'v','effect':'NoExecute',"
		       "'timeAdded':'%s'}]}}",
		       since);
	ask(state, "MERGE " NODES "/n1", body, 200);
	add_pod(state, "late", "n1",
		"'tolerations':[{'key':'k','operator':'Exists','tolerationSeconds':2,"
		"'effect':'NoExecute'}],");
	pass(state, SECOND, NULL);
	until(state, "GET " PODS "/late", "!metadata.deletionTimestamp", NULL, NULL);
	pass(state, 2 * SECOND, NULL);
	until(state, "GET " PODS "/late", "metadata.deletionGracePeriodSeconds=30", NULL,
	      NULL);
}

/* Of a node that is lost: after the time that the pod tolerates it, and not right after a
 * start. */
static void test_evicted_from_lost(void **arg)
{
	struct state *state = *arg;

	add_node(state, "n1", true);
	add_pod(state, "quick", "n1",
		"'tolerations':[" TOLERATE("unreachable", "1") "],");
	add_pod(state, "slow", "n1", "");
	start(state);
	pass(state, GRACE * 2, NULL);
	until(state, "GET " NODES "/n1", "#spec.taints=2", NULL, NULL);
	until(state, "GET " PODS "/quick", "!metadata.deletionTimestamp", NULL, NULL);
	stop(state);
	kube_now += 1000 * SECOND;
	start(state);
	wait_looks(state, 12);
	until(state, "GET " PODS "/quick", "!metadata.deletionTimestamp", NULL, NULL);
	pass(state, GRACE * 2, NULL);
	until(state, "GET " PODS "/quick", "metadata.deletionGracePeriodSeconds=30", NULL,
	      NULL);
	until(state, "GET " PODS "/slow", "metadata.deletionGracePeriodSeconds=30", NULL,
	      NULL);
	/* They wait for their node, until somebody says that it is out of service. */
	ask(state, "JSON " NODES "/n1",
	    "[{'op':'add','path':'/spec/taints/-','value':{'key':"
	    "'node.kubernetes.io/out-of-service','effect':'NoSchedule'}}]",
	    200);
	until_gone(state, "GET " PODS "/quick");
}

/* Of nodes that are not there, and of none. */
static void test_collected(void **arg)
{
	struct state *state = *arg;

	add_pod(state, "orphan", "nowhere", "");
	add_pod(state, "held", "nowhere", "");
	add_pod(state, "unbound", NULL, "");
	add_node(state, "n1", false);
	add_pod(state, "kept", "n1", "");
	ask(state, "MERGE " PODS "/held", "{'metadata':{'finalizers':['a.b/c']}}", 200);
	ask(state, "MERGE " PODS "/unbound", "{'metadata':{'finalizers':['a.b/c']}}",
	    200);
	start(state);
	pass(state, GRACE / 2, NULL);
	until(state, "GET " PODS "/orphan", "!metadata.deletionTimestamp", NULL, NULL);
	pass(state, GRACE, NULL);
	until_gone(state, "GET " PODS "/orphan");
	until(state, "GET " PODS "/held", "metadata.deletionGracePeriodSeconds=0",
	      "status.phase=Failed", "status.conditions.0.reason=DeletionByPodGC");
	until(state, "GET " PODS "/unbound", "!metadata.deletionTimestamp",
	      "status.phase=Pending", NULL);
	/* A node that goes takes its pods with it. */
	ask(state, "DELETE " NODES "/n1", NULL, 200);
	pass(state, GRACE * 2, NULL);
	until_gone(state, "GET " PODS "/kept");
	assert_int_equal(neap_map_count(state->watch->nodes), 0);
	wait_looks(state, 12);
	/* "held" is there and names one. */
	assert_int_equal(neap_map_count(state->watch->missing), 1);
}

/* More than one piece of pods, and more of them concerned than one takes. */
static void test_many(void **arg)
{
	struct state *state = *arg;
	char name[32];

	add_node(state, "n1", false);
	for (int i = 0; i < 700; i++) {
		(void)snprintf(name, sizeof(name), "p-%d", i);
		add_pod(state, name, i % 5 == 0 ? "nowhere" : "n1", "");
	}
	start(state);
	pass(state, GRACE * 2, NULL);
	until(state, "GET " PODS, "#items=560", NULL, NULL);
}

/* --- tolerations --- */

static const struct {
	const char *name, *taints, *tolerations;
	int64_t end; /* seconds after the pod was bound; -1: at once; INT64_MAX: never */
} rows[] = {
	{"no taint", "[]", "[]", INT64_MAX},
	{"none", "[{'key':'k','effect':'NoExecute'}]", "[]", -1},
	{"no list", "[{'key':'k','effect':'NoExecute'}]", "null", -1},
	{"all", "[{'key':'k','effect':'NoExecute'}]", "[{'operator':'Exists'}]",
	 INT64_MAX},
	{"key", "[{'key':'k','value':'v','effect':'NoExecute'}]",
	 "[{'key':'k','operator':'Exists'}]", INT64_MAX},
	{"value", "[{'key':'k','value':'v','effect':'NoExecute'}]",
	 "[{'key':'k','value':'v'}]", INT64_MAX},
	{"other value", "[{'key':'k','value':'v','effect':'NoExecute'}]",
	 "[{'key':'k','value':'w','operator':'Equal'}]", -1},
	{"other effect", "[{'key':'k','effect':'NoExecute'}]",
	 "[{'key':'k','operator':'Exists','effect':'NoSchedule'}]", -1},
	{"no key and equal", "[{'key':'k','effect':'NoExecute'}]",
	 "[{'operator':'Equal'}]", -1},
	{"unknown operator", "[{'key':'k','effect':'NoExecute'}]",
	 "[{'key':'k','operator':'Lt'}]", -1},
	{"time", "[{'key':'k','effect':'NoExecute'}]",
	 "[{'key':'k','operator':'Exists','tolerationSeconds':5}]", 5},
	{"no time left", "[{'key':'k','effect':'NoExecute'}]",
	 "[{'key':'k','operator':'Exists','tolerationSeconds':-5}]", 0},
	{"forever", "[{'key':'k','effect':'NoExecute'}]",
	 "[{'key':'k','operator':'Exists','tolerationSeconds':9223372036854775807}]",
	 INT64_MAX},
	{"the first that fits", "[{'key':'k','effect':'NoExecute'}]",
	 "[{'key':'k','operator':'Exists','tolerationSeconds':5},{'operator':'Exists'}]",
	 5},
	{"the shorter of two",
	 "[{'key':'k','effect':'NoExecute'},{'key':'l','effect':'NoExecute'}]",
	 "[{'key':'k','operator':'Exists','tolerationSeconds':5},"
	 "{'key':'l','operator':'Exists','tolerationSeconds':3}]",
	 3},
	{"one of two is not tolerated",
	 "[{'key':'k','effect':'NoExecute'},{'key':'l','effect':'NoExecute'}]",
	 "[{'key':'k','operator':'Exists'}]", -1},
	{"later than the pod",
	 "[{'key':'k','effect':'NoExecute','timeAdded':'2026-09-21T13:33:30Z'}]",
	 "[{'key':'k','operator':'Exists','tolerationSeconds':5}]", 15},
	{"before the pod",
	 "[{'key':'k','effect':'NoExecute','timeAdded':'2025-09-21T13:33:30Z'}]",
	 "[{'key':'k','operator':'Exists','tolerationSeconds':5}]", 5},
	{"of all types", "[1,{'key':2,'effect':[]}]", "[3,{'key':{}},'x']", -1},
};

static json_t *parse(const char *text)
{
	char copy[512];
	json_error_t where;
	json_t *json;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (char *at = copy; (at = strchr(at, '\'')) != NULL;)
		*at = '"';
	json = json_loads(copy, JSON_DECODE_ANY, &where);
	if (!json)
		fail_msg("%s: %s", copy, where.text);
	return json;
}

static void test_tolerations(void **state)
{
	const int64_t bound = INT64_C(1789997600) * SECOND;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *taints = parse(rows[i].taints);
		json_t *pod = json_pack("{s:{s:o}}", "spec", "tolerations",
					parse(rows[i].tolerations));
		int64_t end = node_taints_end(taints, pod, bound);
		int64_t want = rows[i].end == INT64_MAX ? INT64_MAX
			       : rows[i].end < 0        ? 0
							: bound + rows[i].end * SECOND;

		if (end != want)
			fail_msg("%s: %lld", rows[i].name, (long long)(end - bound));
		json_decref(taints);
		json_decref(pod);
	}
}

/* --- what goes wrong --- */

static void test_short_of_memory(void **arg)
{
	struct state *state = *arg;
	struct neap_workload_config config = {.tasks = neap_kube_tasks(state->rig->kube),
					      .client = state->rig->client,
					      .now = test_now,
					      .log = &state->log};
	struct neap_error err;

	add_node(state, "n1", true);
	add_pod(state, "p", "nowhere", "");
	for (uint64_t n = 1; n < 100; n += 3) {
		uint64_t before = neap_mem_failures();

		neap_mem_fail_at(n);
		if (neap_node_watch_new(&config, GRACE, &state->watch, &err) < 0)
			assert_int_equal(err.code, NEAP_ENOMEM);
		kube_run(state->rig, 12);
		neap_mem_fail_at(0);
		stop(state);
		if (neap_mem_failures() == before)
			break;
	}
	start(state);
	pass(state, GRACE * 2, NULL);
	until(state, "GET " NODES "/n1", "#spec.taints=2", NULL, NULL);
	until_gone(state, "GET " PODS "/p");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lost_and_back),
		TEST(away),
		TEST(taints),
		TEST(evicted),
		TEST(evicted_from_lost),
		TEST(collected),
		TEST(many),
		cmocka_unit_test(test_tolerations),
		TEST(short_of_memory),
	};

	neap_json_setup();
	return cmocka_run_group_tests_name("node_watch", tests, NULL, NULL);
}
