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
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_workloads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
