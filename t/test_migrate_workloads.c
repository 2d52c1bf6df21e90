/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitration over the embedded server: workloads of which it knows the replicas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/migrate/migrate.h"
#include "api/task/task.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "engine/migrate/scaled_owner.h"
#include "t/lib/kube_rig.h"

#define PODS     "/api/v1/namespaces/default/pods"
#define JOB_PATH "/apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs"
#define SECOND   INT64_C(1000000)

struct rig {
	struct kube_rig *kube;
	struct neap_tasks *tasks;
	struct neap_migrate *migrate;
};

static const struct neap_log quiet = {.fd = -1, .program = "test"};

static int64_t now(void)
{
	return kube_now;
}

static void must(struct rig *rig, const char *ask, const char *body, int status)
{
	int got = kube_ask(rig->kube, ask, body);

	if (got != status)
		fail_msg("%s: %d %s", ask, got, kube_text(rig->kube->body, "message"));
}

static void begin(struct rig *rig)
{
	const struct neap_migrate_config config = {.tasks = rig->tasks,
						   .client = rig->kube->client,
						   .now = now,
						   .log = &quiet};
	struct neap_error err = {0};

	if (neap_migrate_new(&config, NULL, &rig->migrate, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Its owner has that version, kind, name and uid. */
static void pod_of(struct rig *rig, const char *name, const char *version,
		   const char *kind, const char *owner, const char *uid)
{
	char body[1024], ask[128];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s','labels':{'app':'a'},'ownerReferences':[{"
		"'apiVersion':'%s','kind':'%s','name':'%s','uid':'%s',"
		"'controller':true}]},'spec':{'terminationGracePeriodSeconds':0,"
		"'nodeName':'n1','containers':[{'name':'c','image':'i'}]}}",
		name, version, kind, owner, uid);
	must(rig, "POST " PODS, body, 201);
	(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s/status", name);
	must(rig, ask,
	     "{'status':{'phase':'Running','conditions':["
	     "{'type':'Ready','status':'True'}]}}",
	     200);
}

static void job(struct rig *rig, const char *name, const char *of)
{
	char body[1024];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'mode':'EvictDirectly',"
		       "'podRef':{'namespace':'default','name':'%s'}}}",
		       name, of);
	must(rig, "POST " JOB_PATH, body, 201);
}

static int setup(void **state)
{
	struct rig *rig = neap_alloc(sizeof(*rig));
	void *kube = NULL;

	neap_json_setup();
	(void)kube_rig_setup(&kube);
	rig->kube = kube;
	rig->tasks = neap_tasks_new(rig->kube->base);
	must(rig, "POST /api/v1/nodes", "{'metadata':{'name':'n1'}}", 201);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	void *kube = rig->kube;

	neap_migrate_free(rig->migrate);
	neap_tasks_free(rig->tasks);
	(void)kube_rig_teardown(&kube);
	free(rig);
	return 0;
}

static void define(struct rig *rig, const char *plural, const char *kind)
{
	char body[1024], ask[128];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s.apps.kruise.io'},'spec':{'group':"
		"'apps.kruise.io','scope':'Namespaced','names':{'plural':'%s','kind':"
		"'%s'},'versions':[{'name':'v1alpha1','served':true,'storage':true,"
		"'schema':{'openAPIV3Schema':{'type':'object',"
		"'x-kubernetes-preserve-unknown-fields':true}}}]}}",
		plural, plural, kind);
	must(rig, "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", body,
	     201);
	(void)snprintf(ask, sizeof(ask), "GET /apis/apps.kruise.io/v1alpha1/%s", plural);
	kube_until(rig->kube, &(const struct kube_step){.ask = ask, .status = 200});
}

static const struct {
	const char *version, *kind, *path;
} owners[] = {
	{"v1", "ReplicationController",
	 "/api/v1/namespaces/default/replicationcontrollers"},
	{"apps.kruise.io/v1alpha1", "CloneSet",
	 "/apis/apps.kruise.io/v1alpha1/namespaces/default/clonesets"},
	{"apps.kruise.io/v1alpha1", "StatefulSet",
	 "/apis/apps.kruise.io/v1alpha1/namespaces/default/statefulsets"},
};

/* A workload, a pod of it, and a job of the pod; all have names that begin alike. */
static void owned(struct rig *rig, size_t i, const char *name, int replicas)
{
	char body[512], ask[128], of[32];

	(void)snprintf(ask, sizeof(ask), "POST %s", owners[i].path);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'replicas':%d,'template':{"
		       "'metadata':{'labels':{'app':'a'}},'spec':{'containers':[{"
		       "'name':'c','image':'i'}]}}}}",
		       name, replicas);
	must(rig, ask, body, 201);
	(void)snprintf(of, sizeof(of), "%s-pod%zu", name, i);
	pod_of(rig, of, owners[i].version, owners[i].kind, name,
	       kube_text(rig->kube->body, "metadata.uid"));
	job(rig, of, of);
}

static void ends(struct rig *rig, const char *name, size_t i, const char *phase,
		 const char *reason)
{
	char ask[128], phase_is[64];

	(void)snprintf(ask, sizeof(ask), "GET " JOB_PATH "/%s-pod%zu", name, i);
	(void)snprintf(phase_is, sizeof(phase_is), "status.phase=%s", phase);
	kube_until(rig->kube, &(const struct kube_step){.ask = ask,
							.status = 200,
							.want = {phase_is, reason}});
}

/* One replica is not taken away, whatever it is that counts them. */
static void test_workloads(void **state)
{
	struct rig *rig = *state;

	define(rig, "clonesets", "CloneSet");
	define(rig, "statefulsets", "StatefulSet");
	/* Another one of the same kind and name, and not of the same group. */
	must(rig, "POST /apis/apps/v1/namespaces/default/statefulsets",
	     "{'metadata':{'name':'four'},'spec':{'replicas':1,'selector':{'matchLabels':"
	     "{'app':'a'}},'serviceName':'s','template':{'metadata':{'labels':{'app':'a'"
	     "}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}",
	     201);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(owners); i++) {
		owned(rig, i, "four", 4);
		owned(rig, i, "one", 1);
	}
	begin(rig);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(owners); i++) {
		ends(rig, "one", i, "Failed", "status.reason=ForbiddenMigratePod");
		kube_now += 150 * SECOND;
		ends(rig, "four", i, "Succeeded", "status.status=Complete");
	}
}

/* --- kinds that somebody declared --- */

#define GAMES "/apis/play.example.com/v1/namespaces/default/games"

/* scale: what stands in the subresources. */
static void define_games(struct rig *rig, const char *scale)
{
	char body[1024];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'games.play.example.com'},'spec':{'group':"
		"'play.example.com','scope':'Namespaced','names':{'plural':'games','kind':"
		"'Game'},'versions':[{'name':'v1','served':true,'storage':true,"
		"'subresources':{%s},'schema':{'openAPIV3Schema':{'type':'object',"
		"'x-kubernetes-preserve-unknown-fields':true}}}]}}",
		scale);
	must(rig, "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", body,
	     201);
	kube_until(rig->kube,
		   &(const struct kube_step){.ask = "GET /apis/play.example.com/v1/games",
					     .status = 200});
}

static const char *game(struct rig *rig, const char *name, int players)
{
	static char uid[64];
	char body[256];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'players':%d}}", name, players);
	must(rig, "POST " GAMES, body, 201);
	(void)snprintf(uid, sizeof(uid), "%s",
		       kube_text(rig->kube->body, "metadata.uid"));
	return uid;
}

/* A pod of that name, and a job of it. */
static void player(struct rig *rig, const char *name, const char *of, const char *uid)
{
	pod_of(rig, name, "play.example.com/v1", "Game", of, uid);
	job(rig, name, name);
}

static void job_ends(struct rig *rig, const char *name, const char *phase,
		     const char *more)
{
	char ask[128], phase_is[64];

	(void)snprintf(ask, sizeof(ask), "GET " JOB_PATH "/%s", name);
	(void)snprintf(phase_is, sizeof(phase_is), "status.phase=%s", phase);
	kube_until(rig->kube, &(const struct kube_step){.ask = ask,
							.status = 200,
							.want = {phase_is, more}});
}

#define SCALE                                                                            \
	"'scale':{'specReplicasPath':'.spec.players','statusReplicasPath':"              \
	"'.status.players'}"
#define FORBIDDEN "status.reason=ForbiddenMigratePod"

static void test_declared(void **state)
{
	struct rig *rig = *state;
	char four[64], one[64];

	define_games(rig, SCALE);
	(void)snprintf(four, sizeof(four), "%s", game(rig, "four", 4));
	(void)snprintf(one, sizeof(one), "%s", game(rig, "one", 1));
	player(rig, "four-a", "four", four);
	player(rig, "one-a", "one", one);
	begin(rig);
	job_ends(rig, "one-a", "Failed", FORBIDDEN);
	job_ends(rig, "four-a", "Succeeded", "status.status=Complete");
	/* What it wants counts as it is now. */
	kube_now += 150 * SECOND;
	must(rig, "MERGE " GAMES "/one", "{'spec':{'players':4}}", 200);
	player(rig, "one-b", "one", one);
	job_ends(rig, "one-b", "Succeeded", "status.status=Complete");
	must(rig, "MERGE " GAMES "/one", "{'spec':{'players':1}}", 200);
	player(rig, "one-c", "one", one);
	job_ends(rig, "one-c", "Failed", FORBIDDEN);
}

/* Nobody says how many there are. */
static void test_without_scale(void **state)
{
	struct rig *rig = *state;

	define_games(rig, "");
	player(rig, "a", "four", game(rig, "four", 4));
	begin(rig);
	job_ends(rig, "a", "Failed", FORBIDDEN);
}

/* --- what is kept of such controllers --- */

static struct neap_migrate_pod *set_pod(struct neap_migrate_cluster *cluster,
					const char *name, const char *version,
					const char *owner)
{
	json_t *pod = json_pack(
		"{s:{s:s, s:s, s:[{s:s, s:s, s:s, s:s, s:b}]}}", "metadata", "namespace",
		"n", "name", name, "ownerReferences", "apiVersion", version, "kind",
		"StatefulSet", "name", owner, "uid", "u", "controller", 1);

	assert_int_equal(neap_migrate_set_pod(cluster, pod, NULL), 0);
	json_decref(pod);
	return neap_migrate_find_pod(cluster, "n", name);
}

static int64_t replicas_of(const struct neap_migrate_cluster *cluster, const char *name)
{
	const struct neap_migrate_workload *workload;
	int64_t count;

	assert_true(neap_migrate_replicas(
		cluster, neap_migrate_find_pod(cluster, "n", name), &workload, &count));
	assert_null(workload);
	return count;
}

static void test_owners(void **state)
{
	static const char *const watched[] = {"apps/v1", "apps.kruise.io/v1beta1", "v1",
					      ""};
	struct neap_migrate_cluster cluster;
	struct neap_migrate_pod *pod;

	(void)state;
	assert_int_equal(neap_migrate_cluster_init(&cluster, NULL), 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(watched); i++)
		assert_null(neap_migrate_owner_of(
			&cluster, set_pod(&cluster, "w", watched[i], "a")));
	pod = set_pod(&cluster, "a", "x.example.com/v1", "a");
	neap_migrate_owner_of(&cluster, pod)->replicas = 7;
	(void)set_pod(&cluster, "b", "x.example.com/v1", "a");
	/* One that names another of the same uid shares nothing with them. */
	(void)set_pod(&cluster, "c", "x.example.com/v1", "other");
	(void)set_pod(&cluster, "a", "x.example.com/v1", "a");
	assert_int_equal(replicas_of(&cluster, "a"), 7);
	assert_int_equal(replicas_of(&cluster, "b"), 7);
	assert_int_equal(replicas_of(&cluster, "c"), 0);
	assert_int_equal(neap_map_count(cluster.scaled), 2);
	neap_migrate_drop_pod(&cluster, "n", "a");
	(void)set_pod(&cluster, "c", "apps/v1", "a");
	assert_int_equal(replicas_of(&cluster, "b"), 7);
	neap_migrate_drop_pod(&cluster, "n", "b");
	assert_int_equal(neap_map_count(cluster.scaled), 0);
	(void)set_pod(&cluster, "a", "x.example.com/v1", "a");
	assert_int_equal(replicas_of(&cluster, "a"), 0);
	neap_migrate_cluster_done(&cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_workloads, setup, teardown),
		cmocka_unit_test(test_owners),
		cmocka_unit_test_setup_teardown(test_declared, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_scale, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
