/* SPDX-License-Identifier: Apache-2.0
 *
 * Every loop over a client with which everything goes wrong that may: it comes to the
 * same end as over the plain one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/serve/client_local.h"
#include "engine/base/buf.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/log/log.h"
#include "t/lib/client_rough.h"
#include "t/lib/patience.h"
#include "t/lib/reservations_rig.h"
#include "t/lib/schedule_rig.h"
#include "t/lib/workload_rig.h"

#define SEEDS 4
/* Turns of trouble after each thing that happens. */
#define TROUBLED 20
#define GRACE    (400 * 1000LL)
#define APPS     "/apis/apps/v1/namespaces/default/"
#define PODS     "/api/v1/namespaces/default/pods"
#define NODES    "/api/v1/nodes"

struct world {
	struct kube_rig *rig;
	struct neap_client *client; /* of the loops */
	struct neap_client *rough;  /* the same; NULL: the plain one */
	struct neap_replicasets *sets;
	struct neap_deployments *deployments;
	struct neap_jobs *jobs;
	struct neap_node_watch *nodes;
	struct neap_statefulsets *statefulsets;
	struct neap_daemonsets *daemonsets;
	struct reservations_rig reservations;
	bool is_played; /* somebody plays the nodes */
};

struct scenario {
	const char *name;
	void (*begin)(struct world *world);
	void (*act)(struct world *world);
	int64_t stays_usec; /* over the plain client nothing comes after so long */
	/* A resource, and what of each object is compared: what stands at a path; behind
	 * "?" whether something does; behind "=" whether its status is of what it is
	 * now. */
	const char *shown[4][9];
};

/* --- what goes on --- */

/* Pods of Jobs end well as soon as they run. */
static void end_jobs(struct world *world)
{
	json_t *pods = workload_list(world->rig, "pods", NULL), *pod;
	size_t i;

	json_array_foreach (pods, i, pod)
		if (strcmp(kube_text(pod, "metadata.ownerReferences.0.kind"), "Job") ==
			    0 &&
		    strcmp(kube_text(pod, "status.phase"), "Running") == 0) {
			const struct neap_client_ask ask = {
				.resource = "pods",
				.ns = "default",
				.name = kube_text(pod, "metadata.name")};

			neap_client_patch_take(
				neap_kube_client(world->rig->kube), &ask, true,
				json_pack("{s:{s:s}}", "status", "phase", "Succeeded"));
		}
	json_decref(pods);
}

static void turn(struct world *world)
{
	if (world->is_played) {
		(void)workload_play(world->rig, NULL, NULL);
		end_jobs(world);
	}
	kube_run(world->rig, 2);
}

static void pass(struct world *world)
{
	for (int i = 0; i < TROUBLED; i++)
		turn(world);
}

static void must(struct world *world, const char *ask, const char *body, int status)
{
	int got = kube_ask(world->rig, ask, body);

	if (got != status)
		fail_msg("%s: %d %s", ask, got, kube_text(world->rig->body, "message"));
}

static struct neap_workload_config config_of(struct world *world)
{
	static const struct neap_log log = {.fd = -1, .program = "test"};
	struct neap_workload_config config = workload_config(world->rig);

	config.client = world->client;
	config.log = &log;
	return config;
}

/* --- what it comes to --- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *line_of(const json_t *object, const char *const *paths)
{
	struct neap_buf buf;
	char *line;

	neap_buf_init(&buf, 4096);
	for (; *paths; paths++) {
		const json_t *at = kube_at(object, *paths + (**paths == '?'));
		char *text = NULL;

		if (**paths == '?')
			text = strdup(at ? "yes" : "no");
		else if (**paths == '=')
			text = strdup(
				json_equal(kube_at(object, "status.observedGeneration"),
					   kube_at(object, "metadata.generation"))
					? "up to date"
					: "old");
		else if (at)
			text = json_dumps(at, JSON_ENCODE_ANY | JSON_SORT_KEYS |
						      JSON_COMPACT);
		neap_buf_addf(&buf, " %s", text ? text : "-");
		free(text);
	}
	line = neap_buf_take(&buf);
	assert_non_null(line);
	return line;
}

/* The objects in order of what is shown of them; to be freed. */
static char *state_of(struct world *world, const struct scenario *scenario)
{
	struct neap_buf buf;
	char *text;

	neap_buf_init(&buf, 1 << 16);
	for (size_t i = 0; i < 4 && scenario->shown[i][0]; i++) {
		json_t *list = workload_list(world->rig, scenario->shown[i][0], NULL);
		size_t count = json_array_size(list);
		char **lines = calloc(count + 1, sizeof(*lines));

		assert_non_null(lines);
		for (size_t at = 0; at < count; at++)
			lines[at] =
				line_of(json_array_get(list, at), &scenario->shown[i][1]);
		qsort(lines, count, sizeof(*lines), by_text);
		neap_buf_addf(&buf, "%s\n", scenario->shown[i][0]);
		for (size_t at = 0; at < count; at++) {
			neap_buf_addf(&buf, "%s\n", lines[at]);
			free(lines[at]);
		}
		free(lines);
		json_decref(list);
	}
	text = neap_buf_take(&buf);
	assert_non_null(text);
	return text;
}

/* --- the scenarios --- */

#define TEMPLATE(image)                                                                  \
	"'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{"        \
	"'a':'b'}},'spec':{'containers':[{'name':'c','image':'" image "'}]}}"

static void begin_sets(struct world *world)
{
	const struct neap_workload_config config = config_of(world);

	world->is_played = true;
	assert_int_equal(neap_replicasets_new(&config, &world->sets, NULL), 0);
}

static void act_sets(struct world *world)
{
	must(world, "POST " APPS "replicasets",
	     "{'metadata':{'name':'web'},'spec':{'replicas':3," TEMPLATE("i") "}}", 201);
	pass(world);
	must(world, "MERGE " APPS "replicasets/web", "{'spec':{'replicas':6}}", 200);
	pass(world);
	must(world, "MERGE " APPS "replicasets/web", "{'spec':{'replicas':2}}", 200);
	pass(world);
}

static void begin_deployments(struct world *world)
{
	const struct neap_workload_config config = config_of(world);

	begin_sets(world);
	assert_int_equal(neap_deployments_new(&config, &world->deployments, NULL), 0);
}

static void act_deployments(struct world *world)
{
	must(world, "POST " APPS "deployments",
	     "{'metadata':{'name':'web'},'spec':{'replicas':4," TEMPLATE("i") "}}", 201);
	pass(world);
	/* The first revision is there before the second is asked for. */
	while (neap_client_count(neap_kube_client(world->rig->kube),
				 "replicasets.apps") == 0)
		turn(world);
	must(world, "MERGE " APPS "deployments/web",
	     "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'j'}]}}}}",
	     200);
	pass(world);
	must(world, "MERGE " APPS "deployments/web", "{'spec':{'replicas':2}}", 200);
	pass(world);
}

static void begin_jobs(struct world *world)
{
	const struct neap_workload_config config = config_of(world);

	world->is_played = true;
	assert_int_equal(neap_jobs_new(&config, &world->jobs, NULL), 0);
}

static void act_jobs(struct world *world)
{
	must(world, "POST /apis/batch/v1/namespaces/default/jobs",
	     "{'metadata':{'name':'sum'},'spec':{'completions':4,'parallelism':2,"
	     "'completionMode':'Indexed','template':{'spec':{'restartPolicy':'Never',"
	     "'containers':[{'name':'c','image':'i'}]}}}}",
	     201);
	pass(world);
}

static void begin_nodes(struct world *world)
{
	const struct neap_workload_config config = config_of(world);

	must(world, "POST /api/v1/namespaces", "{'metadata':{'name':'kube-node-lease'}}",
	     201);
	assert_int_equal(neap_node_watch_new(&config, GRACE, &world->nodes, NULL), 0);
}

static void act_nodes(struct world *world)
{
	must(world, "POST " NODES,
	     "{'metadata':{'name':'n1'},'status':{'conditions':[{'type':'Ready','status':"
	     "'True','reason':'KubeletReady'}]}}",
	     201);
	must(world, "POST /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
	     "{'metadata':{'name':'n1'},'spec':{'holderIdentity':'n1',"
	     "'leaseDurationSeconds':40,'renewTime':'2026-09-21T13:33:20.000000Z'}}",
	     201);
	for (int i = 0; i < 3; i++) {
		char body[512];

		(void)snprintf(body, sizeof(body),
			       "{'metadata':{'name':'p%d'},'spec':{'nodeName':'n1',"
			       "'tolerations':[{'key':'node.kubernetes.io/unreachable',"
			       "'operator':'Exists','effect':'NoExecute',"
			       "'tolerationSeconds':1}],"
			       "'containers':[{'name':'c','image':'i'}]}}",
			       i);
		must(world, "POST " PODS, body, 201);
		(void)snprintf(body, sizeof(body), "p%d", i);
		workload_set_phase(world->rig, "default", body, "Running", "True");
	}
	/* More than the grace, and than pods tolerate. */
	for (int64_t i = 0; i < 4 * SECOND / GRACE; i++) {
		pass(world);
		kube_now += GRACE / 2;
	}
}

static void begin_reservations(struct world *world)
{
	const struct neap_workload_config config = config_of(world);

	world->reservations = (struct reservations_rig){.kube = world->rig};
	must(world, "POST " NODES, "{'metadata':{'name':'n1'}}", 201);
	assert_int_equal(neap_reservations_new(&config, 3600 * SECOND,
					       &world->reservations.reservations, NULL),
			 0);
}

static void act_reservations(struct world *world)
{
	struct reservations_rig *rig = &world->reservations;
	char uid[64];

	reservations_make(rig, "once", ",'allocateOnce':true");
	reservations_make(rig, "many", ",'allocateOnce':false");
	reservations_make(rig, "short", ",'allocateOnce':false,'ttl':'10s'");
	reservations_place(rig, "once", "n1", "Available");
	reservations_place(rig, "many", "n1", "Available");
	reservations_place(rig, "short", "n1", "Available");
	pass(world);
	reservations_pod(rig, "a", "n1",
			 reservations_uid(rig, "GET " RESERVATIONS "/once", uid), 4);
	reservations_pod(rig, "b", "n1",
			 reservations_uid(rig, "GET " RESERVATIONS "/many", uid), 1);
	reservations_pod(rig, "c", "n1", uid, 2);
	pass(world);
	must(world, "DELETE " PODS "/b?gracePeriodSeconds=0", NULL, 200);
	kube_now += 20 * SECOND;
	must(world, "MERGE " RESERVATIONS "/short", "{'metadata':{'labels':{'x':'y'}}}",
	     200); /* looked at now, not in ten seconds */
	pass(world);
}

static void begin_statefulsets(struct world *world)
{
	const struct neap_workload_config config = config_of(world);

	world->is_played = true;
	assert_int_equal(neap_statefulsets_new(&config, &world->statefulsets, NULL), 0);
}

/* Each revision is there before the next is asked for. */
static void await_sets(struct world *world, size_t generation)
{
	char want[48];
	struct kube_step step = {
		"GET " APPS "statefulsets/web",
		NULL,
		200,
		{want, "status.updatedReplicas=3", "status.readyReplicas=3"}};

	(void)snprintf(want, sizeof(want), "status.observedGeneration=%zu", generation);
	workload_until(world->rig, &step);
}

static void act_statefulsets(struct world *world)
{
	static const char *const images[] = {"j", "i", "k"};
	char body[256];

	must(world, "POST " APPS "statefulsets",
	     "{'metadata':{'name':'web'},'spec':{'replicas':3,'serviceName':'w',"
	     "'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{'accessModes':["
	     "'ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}]," TEMPLATE(
		     "i") "}}",
	     201);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(images); i++) {
		pass(world);
		await_sets(world, i + 1);
		(void)snprintf(body, sizeof(body),
			       "{'spec':{'template':{'spec':{'containers':[{'name':'c',"
			       "'image':'%s'}]}}}}",
			       images[i]);
		must(world, "MERGE " APPS "statefulsets/web", body, 200);
	}
	pass(world);
	await_sets(world, NEAP_ARRAY_LEN(images) + 1);
	must(world, "MERGE " APPS "statefulsets/web",
	     "{'spec':{'replicas':2,'persistentVolumeClaimRetentionPolicy':{"
	     "'whenScaled':'Delete'}}}",
	     200);
	pass(world);
}

static void begin_daemonsets(struct world *world)
{
	const struct neap_workload_config config = config_of(world);

	world->is_played = true;
	must(world, "POST " NODES, "{'metadata':{'name':'m0'}}", 201);
	must(world, "POST " NODES, "{'metadata':{'name':'m1'}}", 201);
	must(world, "POST " NODES, "{'metadata':{'name':'m2'}}", 201);
	assert_int_equal(neap_daemonsets_new(&config, &world->daemonsets, NULL), 0);
}

static void act_daemonsets(struct world *world)
{
	must(world, "POST " APPS "daemonsets",
	     "{'metadata':{'name':'ds'},'spec':{" TEMPLATE("i") "}}", 201);
	pass(world);
	while (neap_client_count(neap_kube_client(world->rig->kube),
				 "controllerrevisions.apps") == 0)
		turn(world);
	must(world, "MERGE " APPS "daemonsets/ds",
	     "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'j'}]}}}}",
	     200);
	pass(world);
	must(world, "MERGE " NODES "/m1",
	     "{'spec':{'taints':[{'key':'k','effect':'NoExecute'}]}}", 200);
	must(world, "POST " NODES, "{'metadata':{'name':'m4'}}", 201);
	pass(world);
}

static void begin_scheduler(struct world *world)
{
	for (int i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "n%d", i);
		schedule_add_node(world->rig, name, "", "", "'cpu':'2','memory':'8Gi'");
	}
	schedule_start(world->rig);
}

static void act_scheduler(struct world *world)
{
	char name[8];

	schedule_add_reservation(world->rig, "r", "'app':'r'", "'cpu':'1'", "",
				 "'allocateOnce':false");
	pass(world);
	schedule_add_pod(world->rig, "in-r", "'app':'r'", "'cpu':'1'", "");
	for (int i = 0; i < 6; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		schedule_add_pod(world->rig, name, "", "'cpu':'1'", "");
		turn(world);
	}
	pass(world);
	/* One goes, and the one that waits comes in its place. */
	must(world, "DELETE " PODS "/in-r?gracePeriodSeconds=0", NULL, 200);
	must(world, "DELETE /apis/scheduling.koordinator.sh/v1alpha1/reservations/r",
	     NULL, 200);
	pass(world);
}

static const struct scenario scenarios[] = {
	{"replicasets",
	 begin_sets,
	 act_sets,
	 SECOND / 2,
	 {{"replicasets.apps", "metadata.name", "status.replicas", "status.readyReplicas",
	   "status.availableReplicas", "="},
	  {"pods", "metadata.ownerReferences.0.name", "status.phase",
	   "?metadata.deletionTimestamp"}}},
	{"deployments",
	 begin_deployments,
	 act_deployments,
	 SECOND / 2,
	 {{"deployments.apps", "status.replicas", "status.updatedReplicas",
	   "status.readyReplicas", "status.availableReplicas", "="},
	  {"replicasets.apps", "metadata.name", "spec.replicas", "status.replicas",
	   "status.readyReplicas", "status.availableReplicas", "="},
	  {"pods", "metadata.ownerReferences.0.name", "status.phase",
	   "?metadata.deletionTimestamp"}}},
	{"jobs",
	 begin_jobs,
	 act_jobs,
	 SECOND / 2,
	 {{"jobs.batch", "status.succeeded", "status.failed", "status.active",
	   "status.completedIndexes", "status.conditions.0.type",
	   "status.conditions.1.type", "?status.completionTime"}}},
	{"nodes",
	 begin_nodes,
	 act_nodes,
	 SECOND / 2,
	 {{"nodes", "spec.taints.0.key", "spec.taints.1.key",
	   "status.conditions.0.status", "status.conditions.0.reason"},
	  {"pods", "metadata.name", "?metadata.deletionTimestamp", "status.phase"}}},
	{"reservations",
	 begin_reservations,
	 act_reservations,
	 SECOND / 2,
	 {{"reservations.scheduling.koordinator.sh", "metadata.name", "status.phase",
	   "status.currentOwners.0.name", "status.currentOwners.1.name",
	   "status.allocated", "status.conditions.1.reason"}}},
	{"statefulsets",
	 begin_statefulsets,
	 act_statefulsets,
	 SECOND / 2,
	 {{"statefulsets.apps", "status.replicas", "status.readyReplicas",
	   "status.currentReplicas", "status.updatedReplicas", "status.currentRevision",
	   "status.updateRevision", "="},
	  {"pods", "metadata.name", "status.phase", "spec.containers.0.image",
	   "?metadata.deletionTimestamp"},
	  {"controllerrevisions.apps", "metadata.name", "revision"},
	  {"persistentvolumeclaims", "metadata.name",
	   "metadata.ownerReferences.0.name"}}},
	{"daemonsets",
	 begin_daemonsets,
	 act_daemonsets,
	 SECOND / 2,
	 {{"daemonsets.apps", "status.desiredNumberScheduled",
	   "status.currentNumberScheduled", "status.updatedNumberScheduled",
	   "status.numberAvailable", "status.numberMisscheduled", "="},
	  {"pods", "spec.nodeName", "status.phase", "spec.containers.0.image",
	   "?metadata.deletionTimestamp"},
	  {"controllerrevisions.apps", "metadata.name", "revision"}}},
	{"scheduler",
	 begin_scheduler,
	 act_scheduler,
	 3 * SECOND, /* its longest sleep is a second */
	 {{"pods", "spec.nodeName", "status.conditions.0.type",
	   "status.conditions.0.status"},
	  {"reservations.scheduling.koordinator.sh", "metadata.name"}}},
};

/* --- the runs --- */

static void end(struct world *world)
{
	neap_deployments_free(world->deployments);
	neap_replicasets_free(world->sets);
	neap_jobs_free(world->jobs);
	neap_node_watch_free(world->nodes);
	neap_statefulsets_free(world->statefulsets);
	neap_daemonsets_free(world->daemonsets);
	neap_reservations_free(world->reservations.reservations);
	schedule_stop();
}

/* Over the plain client (wanted NULL): what it comes to, to be freed. */
static char *run(const struct scenario *scenario, uint64_t seed, const char *wanted)
{
	struct client_rough_config config = {.seed = seed,
					     .delay_ms = 8,
					     .refused = 100,
					     .lost = 70,
					     .conflicts = 100,
					     .gone = 30};
	int64_t limit = neap_clock_usec(CLOCK_MONOTONIC) + PATIENCE_MS * 1000LL;
	struct world world = {0};
	char *state = NULL;
	int64_t changed = 0;
	bool is_over = false;

	kube_now = INT64_C(1789997600) * SECOND; /* 2026-09-21T13:33:20Z */
	assert_int_equal(kube_rig_setup((void **)&world.rig), 0);
	config.base = world.rig->base;
	config.under = neap_kube_client(world.rig->kube);
	if (wanted)
		world.rough = world.rig->client = client_rough_new(&config);
	world.client = world.rig->client;
	scenario->begin(&world);
	scenario->act(&world);
	if (wanted)
		client_rough_calm(world.rough);
	while (!is_over) {
		char *now;

		turn(&world);
		/* A jump of half the grace is an interruption to nodes. */
		kube_now += world.nodes ? GRACE / 40 : SECOND / 4;
		now = state_of(&world, scenario);
		if (!state || strcmp(now, state) != 0)
			changed = neap_clock_usec(CLOCK_MONOTONIC);
		free(state);
		state = now;
		is_over = wanted ? strcmp(state, wanted) == 0
				 : neap_clock_usec(CLOCK_MONOTONIC) >
					   changed + scenario->stays_usec;
		if (neap_clock_usec(CLOCK_MONOTONIC) > limit)
			fail_msg("%s, seed %llu: wanted\n%sbut it is\n%s", scenario->name,
				 (unsigned long long)seed, wanted, state);
	}
	end(&world);
	if (wanted) {
		const struct client_rough_counts counts =
			client_rough_counts(world.rough);

		print_message("%s %llu: %d writes, %d refused, %d lost, %d conflicts, "
			      "%d watches forgot\n",
			      scenario->name, (unsigned long long)seed, counts.writes,
			      counts.refused, counts.lost, counts.conflicts, counts.gone);
		client_rough_free(world.rough);
	}
	(void)kube_rig_teardown((void **)&world.rig);
	return state;
}

static void test_same_end(void **state)
{
	const struct scenario *scenario = *state;
	char *wanted = run(scenario, 0, NULL);

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		free(run(scenario, seed, wanted));
	free(wanted);
}

int main(void)
{
	struct CMUnitTest tests[NEAP_ARRAY_LEN(scenarios)];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(scenarios); i++)
		tests[i] = (struct CMUnitTest){.name = scenarios[i].name,
					       .test_func = test_same_end,
					       .initial_state =
						       (void *)(uintptr_t)&scenarios[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
