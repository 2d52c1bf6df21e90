/* SPDX-License-Identifier: Apache-2.0
 *
 * What the filter of MigrationController answers in a round: the jobs that the round asks
 * for count for the pods behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "api/deschedule/descheduler_priv.h"
#include "api/deschedule/play/play_open.h"
#include "api/deschedule/play/strategies.h"
#include "api/deschedule/round_snapshot.h"
#include "api/task/task.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/deschedule/moved.h"
#include "engine/migrate/limiter.h"
#include "engine/sim/sim.h"
#include "t/lib/descheduler_rig.h"
#include "t/lib/patience.h"

#define PROFILE(args)                                                                    \
	"apiVersion: descheduler/v1alpha2\n"                                             \
	"kind: DeschedulerConfiguration\n"                                               \
	"profiles:\n"                                                                    \
	"- name: k\n"                                                                    \
	"  pluginConfig:\n"                                                              \
	"  - name: MigrationController\n"                                                \
	"    args: " args "\n"                                                           \
	"  plugins:\n"
#define MIGRATING(args) PROFILE(args) "    balance: {enabled: [{name: MoveAll}]}\n"
#define MIGRATION(gates, plugins, more)                                                  \
	PROFILE("{skipCheckExpectedReplicas: true, skipEvictionGates: "                  \
		"[MaxUnavailablePerWorkload" gates "]}")                                 \
	"    balance: {enabled: [" plugins "]}\n" more
#define ANY_OF_WORKLOAD ", MaxMigratingPerWorkload"
/* So long after an eviction nothing rests. */
#define REST (INT64_C(2) * 3600 * SECOND)

static const char *const served[] = {"default-scheduler", NULL};

static struct descheduler_rig *begin(void **state)
{
	struct descheduler_rig *rig = *state;

	for (int i = 0; i < 4; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "p%d", i);
		descheduler_pod(rig, name, "n1");
	}
	rig->config.schedulers = served;
	descheduler_begin(rig);
	return rig;
}

/* Pods of another kind of controller. */
static void test_controller(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;
	char body[512];

	descheduler_must(rig, "POST /api/v1/namespaces/default/replicationcontrollers",
			 "{'metadata':{'name':'c'},'spec':{'replicas':1,'template':{"
			 "'metadata':{'labels':{'app':'c'}},'spec':{'containers':[{"
			 "'name':'c','image':'i'}]}}}}",
			 201);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':"
		       "'ReplicationController','name':'c','uid':'%s','controller':true}]"
		       "}}",
		       kube_text(rig->kube->body, "metadata.uid"));
	descheduler_pod(rig, "x", "n1");
	descheduler_must(rig, "MERGE " PODS "/x", body, 200);
	rig->config.schedulers = served;
	descheduler_begin(rig);
	descheduler_use(rig, MIGRATING("{}"));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=0",
	      "round.stayed.0.reason=MigrationController: ExpectedReplicas");
	json_decref(status);
	descheduler_must(rig, "MERGE /api/v1/namespaces/default/replicationcontrollers/c",
			 "{'spec':{'replicas':20}}", 200);
	status = descheduler_run(rig, 2);
	WANTS(status, "#round.evicted=1", "round.evicted.0.pod=x");
	json_decref(status);
}

/* Pods of a kind that somebody declared, which says by its scale how many there are. */
static void test_declared(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;
	char body[512];

	descheduler_must(
		rig, "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions",
		"{'metadata':{'name':'games.play.example.com'},'spec':{'group':"
		"'play.example.com','scope':'Namespaced','names':{'plural':'games','kind':"
		"'Game'},'versions':[{'name':'v1','served':true,'storage':true,"
		"'subresources':{'scale':{'specReplicasPath':'.spec.players',"
		"'statusReplicasPath':'.status.players'}},'schema':{'openAPIV3Schema':{"
		"'type':'object','x-kubernetes-preserve-unknown-fields':true}}}]}}",
		201);
	kube_until(rig->kube,
		   &(const struct kube_step){.ask = "GET /apis/play.example.com/v1/games",
					     .status = 200});
	descheduler_must(rig, "POST /apis/play.example.com/v1/namespaces/default/games",
			 "{'metadata':{'name':'g'},'spec':{'players':1}}", 201);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'ownerReferences':[{'apiVersion':"
		       "'play.example.com/v1','kind':'Game','name':'g','uid':'%s',"
		       "'controller':true}]}}",
		       kube_text(rig->kube->body, "metadata.uid"));
	descheduler_pod(rig, "x", "n1");
	descheduler_must(rig, "MERGE " PODS "/x", body, 200);
	rig->config.schedulers = served;
	descheduler_begin(rig);
	descheduler_use(rig, MIGRATING("{}"));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=0",
	      "round.stayed.0.reason=MigrationController: ExpectedReplicas");
	json_decref(status);
	descheduler_must(rig,
			 "MERGE /apis/play.example.com/v1/namespaces/default/games/g",
			 "{'spec':{'players':20}}", 200);
	status = descheduler_run(rig, 2);
	WANTS(status, "#round.evicted=1", "round.evicted.0.pod=x");
	json_decref(status);
}

/* Two jobs a node are the default. */
static void test_per_node(void **state)
{
	struct descheduler_rig *rig = begin(state);
	json_t *status;

	descheduler_use(rig, MIGRATION(ANY_OF_WORKLOAD, "{name: MoveAll}", ""));
	for (int i = 1; i <= 2; i++) {
		status = i == 1 ? descheduler_rounds(rig, 1) : descheduler_run(rig, i);
		WANTS(status, "#round.evicted=2", "round.evicted.0.pod=p0",
		      "round.evicted.1.pod=p1", "#round.stayed=2",
		      "round.stayed.0.outcome=kept",
		      "round.stayed.0.reason=MigrationController: MaxMigratingPerNode",
		      "round.stayed.1.pod=p3");
		json_decref(status);
		/* Nobody made jobs of what the round asked for. */
		descheduler_now += REST;
	}
}

static void test_per_workload(void **state)
{
	struct descheduler_rig *rig = begin(state);
	json_t *status;

	descheduler_must(rig, "MERGE /apis/apps/v1/namespaces/default/replicasets/r",
			 "{'spec':{'replicas':1}}", 200);
	descheduler_use(rig, MIGRATION("", "{name: MoveAll}", ""));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=1",
	      "round.stayed.0.reason=MigrationController: MaxMigratingPerWorkload");
	json_decref(status);
}

/* What only tells leaves the limits to those that act. */
static void test_dry_plugin(void **state)
{
	static const char tells[] =
		"return { api = 1, kind = 'deschedule', name = 'tells', plugin = 'Tells',\n"
		"  point = 'balance', run = function(ctx, round)\n"
		"    for _, pod in ipairs(round:pods()) do round:evict(pod, 'x') end\n"
		"  end }\n";
	struct descheduler_rig *rig = begin(state);
	json_t *status;

	descheduler_upload(rig, tells);
	descheduler_use(rig, MIGRATION(ANY_OF_WORKLOAD, "{name: Tells}, {name: MoveAll}",
				       "neap: {dryRunPlugins: [Tells]}\n"));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=4", "round.evicted.1.strategy=Tells",
	      "round.evicted.2.strategy=MoveAll", "round.evicted.2.pod=p0");
	json_decref(status);
	assert_string_equal(rig->wished, "p0:MoveAll p1:MoveAll ");
}

static struct neap_limiter *used_up(void *arg)
{
	const struct descheduler_rig *rig = arg;
	struct neap_limiter *limiter = neap_limiter_new();

	neap_limiter_take(limiter, rig->owner, 1, INT64_C(300) * SECOND, 1,
			  descheduler_now);
	return limiter;
}

static void test_limiter(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_must(rig, "MERGE /apis/apps/v1/namespaces/default/replicasets/r",
			 "{'spec':{'replicas':1}}", 200);
	rig->config.limiter = used_up;
	(void)begin(state);
	descheduler_use(rig, MIGRATION("", "{name: MoveAll}", ""));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=0", "#round.stayed=4",
	      "round.stayed.0.reason=MigrationController: ObjectLimiter");
	json_decref(status);
}

/* --- many at once --- */

static int wishes, wanted;
static uint64_t slice;

/* While a slice has no time, each comes in one of its own. */
static void wish_one(void *arg, NEAP_UNUSED const struct neap_deschedule_wish *wish,
		     void (*told)(void *told_arg, const char *trouble), void *told_arg)
{
	const struct descheduler_rig *rig = arg;

	assert_true(wishes >= wanted || slice != neap_tasks_count(rig->tasks));
	slice = neap_tasks_count(rig->tasks);
	if (++wishes == wanted)
		event_base_loopbreak(rig->kube->base);
	told(told_arg, NULL);
}

/* Turns the loop until so many pods are to leave. */
static void begin_to_leave(struct descheduler_rig *rig, int count)
{
	wishes = 0;
	wanted = count;
	slice = UINT64_MAX;
	rig->config.migrate = wish_one;
	(void)begin((void *[]){rig});
	descheduler_use(rig, MIGRATION("", "", ""));
	json_decref(descheduler_rounds(rig, 1)); /* everything is read */
	neap_tasks_set_times(rig->tasks, 0, 0);
	descheduler_use(rig, MIGRATION(ANY_OF_WORKLOAD ", MaxMigratingPerNode",
				       "{name: MoveAll}", ""));
	for (int ms = 0; wishes < count; ms++) {
		if (ms > PATIENCE_MS)
			fail_msg("%d are to leave", wishes);
		(void)event_base_loop(rig->kube->base, EVLOOP_NONBLOCK);
		(void)usleep(1000);
	}
	assert_int_equal(wishes, count);
	neap_tasks_set_times(rig->tasks, NEAP_TASK_SLICE_USEC, NEAP_TASK_TURN_USEC);
}

/* A configuration that comes meanwhile has to wait, and so does the next round. */
static void test_in_slices(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	begin_to_leave(rig, 2);
	status = neap_descheduler_status(rig->descheduler, true);
	WANTS(status, "state=running", "#round.evicted=4",
	      "round.evicted.0.result=migrating", "!round.evicted.3.result");
	json_decref(status);
	descheduler_use(rig, MOVE);
	descheduler_now += REST;
	status = descheduler_run(rig, 3);
	WANTS(status, "round.evicted.0.profile=p");
	json_decref(status);
	assert_int_equal(wishes, 4);
}

/* One that ends leaves the rest. */
static void test_ends_within(void **state)
{
	begin_to_leave(*state, 1);
}

/* --- nodeFit of jobs --- */

/* As it is. */
static void wants_now(struct descheduler_rig *rig, const char *selector,
		      enum neap_elsewhere want)
{
	json_t *json = *selector ? json_pack("{s:s}", "nodeSelector", selector) : NULL;
	struct neap_migrate_args args = {0};
	struct neap_error err = {0};

	if (neap_migrate_args_init(&args, json, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(
		neap_descheduler_fits_elsewhere(rig->descheduler, &args, "default", "p0"),
		want);
	neap_migrate_args_done(&args);
	json_decref(json);
}

static void wants_elsewhere(struct descheduler_rig *rig, const char *selector,
			    enum neap_elsewhere want)
{
	while (!kube_is_at_rest(rig->kube)) {
	}
	wants_now(rig, selector, want);
}

/* Changes a node while a round holds the snapshot: the snapshot takes it afterwards. */
static void change_held(struct descheduler_rig *rig, const char *spec,
			enum neap_elsewhere want)
{
	struct neap_snapshot *snapshot = rig->descheduler->snapshot;
	struct neap_error err = {0};

	assert_int_equal(neap_snapshot_hold(snapshot, &err), 0);
	descheduler_must(rig, "MERGE /api/v1/nodes/n2", spec, 200);
	wants_elsewhere(rig, "", NEAP_ELSEWHERE_UNKNOWN);
	neap_snapshot_release(snapshot);
	wants_now(rig, "", NEAP_ELSEWHERE_UNKNOWN);
	wants_elsewhere(rig, "", want);
}

/* nodeFit is answered from the snapshot between rounds, and is unknown while one runs. */
static void test_elsewhere(void **state)
{
	struct descheduler_rig *rig = begin(state);
	struct neap_error err = {0};

	wants_elsewhere(rig, "", NEAP_ELSEWHERE_UNKNOWN); /* begins to read */
	wants_elsewhere(rig, "", NEAP_ELSEWHERE_FITS);
	wants_elsewhere(rig, "tier=x", NEAP_ELSEWHERE_NO);
	descheduler_must(rig, "MERGE /api/v1/nodes/n2",
			 "{'metadata':{'labels':{'tier':'x'}}}", 200);
	wants_elsewhere(rig, "tier=x", NEAP_ELSEWHERE_FITS);
	/* It has four CPUs. */
	for (int i = 0; i < 4; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "q%d", i);
		descheduler_pod(rig, name, "n2");
		wants_elsewhere(rig, "", i < 3 ? NEAP_ELSEWHERE_FITS : NEAP_ELSEWHERE_NO);
	}
	descheduler_must(rig, "DELETE " PODS "/q0", NULL, 200);
	wants_elsewhere(rig, "", NEAP_ELSEWHERE_FITS);
	descheduler_use(rig, MIGRATION(ANY_OF_WORKLOAD, "", ""));
	json_decref(descheduler_rounds(rig, 1));
	wants_elsewhere(rig, "", NEAP_ELSEWHERE_FITS);
	assert_int_equal(neap_descheduler_run(rig->descheduler, "nobody", &err), 0);
	assert_int_equal(neap_descheduler_fits_elsewhere(rig->descheduler,
							 &(struct neap_migrate_args){0},
							 "default", "p0"),
			 NEAP_ELSEWHERE_UNKNOWN);
	json_decref(descheduler_rounds(rig, 2));
	change_held(rig, "{'spec':{'unschedulable':true}}", NEAP_ELSEWHERE_NO);
	change_held(rig, "{'spec':{'unschedulable':false}}", NEAP_ELSEWHERE_FITS);
	descheduler_must(rig, "MERGE /api/v1/nodes/n2/status",
			 "{'status':{'conditions':[{'type':'Ready','status':'False'}]}}",
			 200);
	wants_elsewhere(rig, "", NEAP_ELSEWHERE_NO);
	descheduler_must(rig, "DELETE /api/v1/nodes/n2", NULL, 200);
	wants_elsewhere(rig, "", NEAP_ELSEWHERE_NO);
}

/* --- without memory --- */

static void add(struct neap_sim *sim, const char *resource, json_t *tree)
{
	struct neap_error err = {0};

	assert_non_null(tree);
	if (neap_sim_add(sim, resource, tree, &err) < 0)
		fail_msg("%s", err.msg);
	json_decref(tree);
}

/* As the rig has it: four pods on n1, and room on n2. */
static struct neap_sim *make_sim(void)
{
	struct neap_sim_args args;
	struct neap_sim *sim = NULL;
	struct neap_error err = {0};

	neap_sim_args_init(&args);
	args.now_usec = descheduler_now;
	if (neap_sim_new(&args, &sim, &err) < 0)
		fail_msg("%s", err.msg);
	for (int i = 1; i <= 2; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "n%d", i);
		add(sim, "nodes",
		    json_pack("{s:{s:s}, s:{s:{s:s, s:s, s:s}, s:[{s:s, s:s}]}}",
			      "metadata", "name", name, "status", "allocatable", "cpu",
			      "4", "memory", "8Gi", "pods", "20", "conditions", "type",
			      "Ready", "status", "True"));
	}
	for (int i = 0; i < 4; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "p%d", i);
		add(sim, "pods",
		    json_pack("{s:{s:s, s:s, s:s, s:[{s:s, s:s, s:s, s:b}]},"
			      " s:{s:s, s:s, s:[{s:s, s:{s:{s:s}}}]}, s:{s:s}}",
			      "metadata", "namespace", "default", "name", name, "uid",
			      name, "ownerReferences", "kind", "ReplicaSet", "name", "r",
			      "uid", "u", "controller", 1, "spec", "schedulerName",
			      served[0], "nodeName", "n1", "containers", "name", "c",
			      "resources", "requests", "cpu", "1", "status", "phase",
			      "Running"));
	}
	if (neap_sim_settle(sim, &err) < 0)
		fail_msg("%s", err.msg);
	return sim;
}

static struct neap_play_set *make_set(struct descheduler_rig *rig)
{
	static const char text[] =
		MIGRATION(ANY_OF_WORKLOAD ", MaxMigratingPerNode", "{name: MoveAll}", "");
	struct neap_deschedule_lines lines = {0};
	struct neap_deschedule_config *config = NULL;
	struct neap_play_opening *opening = NULL;
	struct neap_play_set *set = NULL;
	struct neap_error err = {0};

	if (neap_deschedule_config_parse(text, strlen(text), "f.yaml",
					 neap_strategies_plugins(rig->strategies),
					 &config, &lines, &err) < 0 ||
	    neap_play_set_new(config, served, NULL, NULL, &set, &err) < 0 ||
	    neap_play_opening_new(set, rig->strategies, &opening, &err) < 0)
		fail_msg("%s", err.msg);
	neap_play_opening_work(opening);
	if (neap_play_opening_end(opening, &err) < 0)
		fail_msg("%s", err.msg);
	neap_deschedule_lines_done(&lines);
	(void)neap_deschedule_config_unref(config);
	return set;
}

/* Plays a round whose n-th allocation fails. Returns whether there was one. */
static bool play_failing(struct descheduler_rig *rig, uint64_t n, size_t *ret_evicted)
{
	struct neap_sim *sim = make_sim();
	struct neap_play play = {.set = make_set(rig),
				 .world = sim->world,
				 .cluster = sim->cluster,
				 .decide = sim->decide,
				 .migrating = &sim->migrate,
				 .moved = neap_moved_new(REST),
				 .now_usec = sim->now_usec,
				 .limits = {NEAP_LIMITS_NONE, NEAP_LIMITS_NONE,
					    NEAP_LIMITS_NONE, NEAP_LIMITS_NONE, false}};
	uint64_t failures = neap_mem_failures();
	bool has_failed;

	neap_mem_fail_at(n);
	neap_play_run(&play);
	neap_mem_fail_at(0);
	has_failed = neap_mem_failures() != failures;
	*ret_evicted = play.evicted;
	if (play.err.code != NEAP_ENOMEM && neap_map_count(sim->migrate.jobs) > 0)
		fail_msg("%zu jobs stay of allocation %llu",
			 neap_map_count(sim->migrate.jobs), (unsigned long long)n);
	neap_play_done(&play);
	neap_play_done(&play);
	neap_play_set_free(play.set);
	neap_moved_free(play.moved);
	neap_sim_free(sim);
	return has_failed;
}

/* Either no job of the round stays, or everything is read again. */
static void test_no_job_stays(void **state)
{
	size_t evicted = 0;

	for (uint64_t n = 1; play_failing(*state, n, &evicted); n++) {
	}
	assert_int_equal(evicted, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_controller, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_declared, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_per_node, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_per_workload, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_dry_plugin, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_limiter, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_in_slices, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_ends_within, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_elsewhere, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_no_job_stays, descheduler_setup,
						descheduler_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
