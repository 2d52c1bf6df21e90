/* SPDX-License-Identifier: Apache-2.0
 *
 * Deployments: rollouts step by step, history, scaling, pauses, and what the status
 * says. */
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

#define PODS        "/api/v1/namespaces/default/pods"
#define SETS        "/apis/apps/v1/namespaces/default/replicasets"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define WEB         DEPLOYMENTS "/web"
#define SECOND      INT64_C(1000000)
#define REVISION    "deployment.kubernetes.io/revision"

struct deployments_rig {
	struct kube_rig *kube;
	struct neap_replicasets *sets;
	struct neap_deployments *deployments;
	const char *unready; /* image whose pods never are ready */
	/* What is watched while the nodes are played. */
	int most, least; /* pods that nobody deletes; of them ready */
};

static void start(struct deployments_rig *rig)
{
	struct neap_workload_config config = workload_config(rig->kube);
	struct neap_error err = {0};

	assert_int_equal(neap_replicasets_new(&config, &rig->sets, &err), 0);
	assert_int_equal(neap_deployments_new(&config, &rig->deployments, &err), 0);
}

static void stop(struct deployments_rig *rig)
{
	neap_deployments_free(rig->deployments);
	neap_replicasets_free(rig->sets);
}

static int setup(void **state)
{
	struct deployments_rig *rig = neap_alloc(sizeof(*rig));

	assert_non_null(rig);
	assert_int_equal(kube_rig_setup((void **)&rig->kube), 0);
	start(rig);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct deployments_rig *rig = *state;

	stop(rig);
	(void)kube_rig_teardown((void **)&rig->kube);
	free(rig);
	return 0;
}

static void must(struct deployments_rig *rig, const char *ask, const char *body,
		 int status)
{
	int got = kube_ask(rig->kube, ask, body);

	if (got != status)
		fail_msg("%s: %d: %s", ask, got, kube_text(rig->kube->body, "message"));
}

static enum workload_fate fate_of(void *arg, const json_t *pod)
{
	const struct deployments_rig *rig = arg;

	return rig->unready && strcmp(kube_text(pod, "spec.containers.0.image"),
				      rig->unready) == 0
		       ? WORKLOAD_UNREADY
		       : WORKLOAD_RUN;
}

static bool is_ready(const json_t *pod)
{
	const json_t *list = kube_at(pod, "status.conditions"), *item;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, item) {
		if (strcmp(kube_text(item, "type"), "Ready") == 0)
			return strcmp(kube_text(item, "status"), "True") == 0;
	}
	return false;
}

static void count(struct deployments_rig *rig)
{
	json_t *pods = workload_list(rig->kube, "pods", "default"), *pod;
	int all = 0, ready = 0;
	size_t i;

	json_array_foreach (pods, i, pod) {
		bool is_there = *kube_text(pod, "metadata.deletionTimestamp") == '\0';

		all += is_there;
		ready += is_there && is_ready(pod);
	}
	json_decref(pods);
	rig->most = all > rig->most ? all : rig->most;
	rig->least = ready < rig->least ? ready : rig->least;
}

/* Plays and turns until the step is as wanted; counts the pods meanwhile. */
static void until(struct deployments_rig *rig, struct kube_step step)
{
	const char *why = "";
	int status = 0;

	rig->most = 0;
	rig->least = INT32_MAX;
	for (int left = WORKLOAD_LIMIT_MS; left > 0; left -= 2) {
		(void)workload_play(rig->kube, fate_of, rig);
		kube_run(rig->kube, 2);
		count(rig);
		status = kube_ask(rig->kube, step.ask, step.body);
		why = NULL;
		for (int i = 0; i < KUBE_WANTS && step.want[i] && !why; i++)
			why = kube_differs(rig->kube->body, step.want[i]);
		if (status == step.status && !why)
			return;
	}
	fail_msg("%s: %d: %s", step.ask, status, why ? why : "");
}

static void rest(struct deployments_rig *rig)
{
	workload_settle(rig->kube, fate_of, rig);
}

/* strategy: after "'strategy':", or NULL for none. */
static void make(struct deployments_rig *rig, int replicas, const char *strategy,
		 const char *more)
{
	char body[2048];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'web','annotations':{'note':'n'}},'spec':{'replicas':"
		"%d,%s%s%s%s'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{"
		"'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'one'}]}}}}",
		replicas, strategy ? "'strategy':" : "", strategy ? strategy : "",
		strategy ? "," : "", more);
	must(rig, "POST " DEPLOYMENTS, body, 201);
}

static void set_image(struct deployments_rig *rig, const char *image)
{
	char body[256];

	(void)snprintf(body, sizeof(body),
		       "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':"
		       "'%s'}]}}}}",
		       image);
	must(rig, "STRATEGIC " WEB, body, 200);
}

static void set_replicas(struct deployments_rig *rig, int replicas)
{
	char body[64];

	(void)snprintf(body, sizeof(body), "{'spec':{'replicas':%d}}", replicas);
	must(rig, "MERGE " WEB "/scale", body, 200);
}

/* As "kubectl rollout status" waits for it. */
static void until_done(struct deployments_rig *rig, int replicas)
{
	char updated[48], all[48], available[48], observed[48];
	char generation[32];

	must(rig, "GET " WEB, NULL, 200);
	(void)snprintf(generation, sizeof(generation), "%lld",
		       (long long)json_integer_value(
			       kube_at(rig->kube->body, "metadata.generation")));
	(void)snprintf(updated, sizeof(updated), "status.updatedReplicas=%d", replicas);
	(void)snprintf(all, sizeof(all), "status.replicas=%d", replicas);
	(void)snprintf(available, sizeof(available), "status.availableReplicas=%d",
		       replicas);
	(void)snprintf(observed, sizeof(observed), "status.observedGeneration=%s",
		       generation);
	until(rig, (struct kube_step){"GET " WEB,
				      NULL,
				      200,
				      {updated, all, available, observed,
				       "!status.unavailableReplicas"}});
}

/* Of the conditions of the last answer: "TYPE=STATUS REASON". */
static bool has_condition(const struct deployments_rig *rig, const char *want)
{
	const json_t *list = kube_at(rig->kube->body, "status.conditions"), *item;
	char text[256];
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, item) {
		(void)snprintf(text, sizeof(text), "%s=%s %s", kube_text(item, "type"),
			       kube_text(item, "status"), kube_text(item, "reason"));
		if (strcmp(text, want) == 0)
			return true;
	}
	return false;
}

static void until_condition(struct deployments_rig *rig, const char *want)
{
	for (int left = WORKLOAD_LIMIT_MS; left > 0; left -= 2) {
		(void)workload_play(rig->kube, fate_of, rig);
		kube_run(rig->kube, 2);
		must(rig, "GET " WEB, NULL, 200);
		if (has_condition(rig, want))
			return;
	}
	fail_msg("%s", want);
}

/* The ReplicaSet whose pods have that image; a new reference, NULL when there is none. */
static json_t *set_of(struct deployments_rig *rig, const char *image)
{
	json_t *sets = workload_list(rig->kube, "replicasets.apps", "default"), *set,
	       *found = NULL;
	size_t i;

	json_array_foreach (sets, i, set) {
		if (strcmp(kube_text(set, "spec.template.spec.containers.0.image"),
			   image) == 0)
			found = json_incref(set);
	}
	json_decref(sets);
	return found;
}

static const char *annotation(const json_t *tree, const char *name)
{
	const char *text = json_string_value(
		json_object_get(kube_at(tree, "metadata.annotations"), name));

	return text ? text : "";
}

static void must_have_revision(struct deployments_rig *rig, const char *image,
			       const char *revision)
{
	json_t *set = set_of(rig, image);

	assert_non_null(set);
	assert_string_equal(annotation(set, REVISION), revision);
	json_decref(set);
	must(rig, "GET " WEB, NULL, 200);
	assert_string_equal(annotation(rig->kube->body, REVISION), revision);
}

static bool has_event(struct deployments_rig *rig, const char *reason,
		      const char *message)
{
	json_t *events = workload_list(rig->kube, "events", "default"), *event;
	bool has = false;
	size_t i;

	json_array_foreach (events, i, event) {
		has = has || (strcmp(kube_text(event, "reason"), reason) == 0 &&
			      strstr(kube_text(event, "message"), message));
	}
	json_decref(events);
	return has;
}

static void test_first(void **state)
{
	struct deployments_rig *rig = *state;
	char text[512];
	json_t *set;

	make(rig, 3, NULL, "");
	until_done(rig, 3);
	until_condition(rig, "Progressing=True NewReplicaSetAvailable");
	assert_true(has_condition(rig, "Available=True MinimumReplicasAvailable"));
	set = set_of(rig, "one");
	assert_null(kube_differs(set, "metadata.ownerReferences.0.kind=Deployment"));
	assert_null(kube_differs(set, "metadata.ownerReferences.0.controller=true"));
	assert_string_equal(annotation(set, "deployment.kubernetes.io/desired-replicas"),
			    "3");
	assert_string_equal(annotation(set, "deployment.kubernetes.io/max-replicas"),
			    "4");
	assert_string_equal(annotation(set, "note"), "n");
	(void)snprintf(text, sizeof(text), "metadata.name=web-%s",
		       kube_text(set, "metadata.labels.pod-template-hash"));
	assert_null(kube_differs(set, text));
	(void)snprintf(text, sizeof(text),
		       "spec.selector.matchLabels={\"a\":\"b\",\"pod-template-hash\":"
		       "\"%s\"}",
		       kube_text(set, "metadata.labels.pod-template-hash"));
	assert_null(kube_differs(set, text));
	(void)snprintf(text, sizeof(text), "Scaled up replica set %s from 0 to 3",
		       kube_text(set, "metadata.name"));
	json_decref(set);
	rest(rig);
	assert_true(has_event(rig, "ScalingReplicaSet", text));
	must_have_revision(rig, "one", "1");
	/* All of it goes with it. */
	must(rig, "DELETE " WEB, NULL, 200);
	until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=0"}});
	until(rig, (struct kube_step){"GET " SETS, NULL, 200, {"#items=0"}});
}

/* How far a rollout goes at a time. */
static void test_rolling(void **state)
{
	static const struct {
		const char *name, *strategy;
		int replicas, most, least;
	} rows[] = {
		{"default", NULL, 4, 5, 3},
		{"surge alone", "{'rollingUpdate':{'maxSurge':2,'maxUnavailable':0}}", 3,
		 5, 3},
		{"missing alone", "{'rollingUpdate':{'maxSurge':0,'maxUnavailable':2}}",
		 4, 4, 2},
		{"percents: up and down",
		 "{'rollingUpdate':{'maxSurge':'34%','maxUnavailable':'34%'}}", 4, 6, 3},
		{"both would be none",
		 "{'rollingUpdate':{'maxSurge':'0%','maxUnavailable':'10%'}}", 3, 3, 2},
		{"all at once",
		 "{'rollingUpdate':{'maxSurge':'100%','maxUnavailable':'100%'}}", 3, 6,
		 0},
		{"one", "{'rollingUpdate':{'maxSurge':1,'maxUnavailable':0}}", 1, 2, 1},
	};
	struct deployments_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		make(rig, rows[i].replicas, rows[i].strategy, "");
		until_done(rig, rows[i].replicas);
		set_image(rig, "two");
		until_done(rig, rows[i].replicas);
		if (rig->most > rows[i].most || rig->least < rows[i].least)
			fail_msg("%s: at most %d pods, at least %d ready", rows[i].name,
				 rig->most, rig->least);
		must_have_revision(rig, "two", "2");
		must(rig, "DELETE " WEB, NULL, 200);
		until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=0"}});
		until(rig, (struct kube_step){"GET " SETS, NULL, 200, {"#items=0"}});
	}
}

static enum workload_fate leave_deleted(void *arg, const json_t *pod)
{
	(void)arg;
	return *kube_text(pod, "metadata.deletionTimestamp") ? WORKLOAD_LEAVE
							     : WORKLOAD_RUN;
}

/* No new pod before the last old one has ended. */
static void test_recreate(void **state)
{
	struct deployments_rig *rig = *state;
	json_t *set;

	make(rig, 3, "{'type':'Recreate'}", "");
	until_done(rig, 3);
	set_image(rig, "two");
	workload_settle(rig->kube, leave_deleted, NULL);
	assert_null(set_of(rig, "two"));
	must(rig, "GET " PODS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=3"));
	until_done(rig, 3);
	assert_true(rig->most <= 3);
	set = set_of(rig, "one");
	assert_null(kube_differs(set, "spec.replicas=0"));
	json_decref(set);
	must_have_revision(rig, "two", "2");
}

static void test_undo_and_history(void **state)
{
	struct deployments_rig *rig = *state;
	json_t *set;
	char name[256], image[16];

	make(rig, 2, NULL, "'revisionHistoryLimit':2,");
	until_done(rig, 2);
	set_image(rig, "two");
	until_done(rig, 2);
	must_have_revision(rig, "two", "2");
	set = set_of(rig, "one");
	(void)snprintf(name, sizeof(name), "%s", kube_text(set, "metadata.name"));
	json_decref(set);
	/* The template of before: its ReplicaSet is used again, as the newest. */
	set_image(rig, "one");
	until_done(rig, 2);
	must_have_revision(rig, "one", "3");
	set = set_of(rig, "one");
	assert_string_equal(kube_text(set, "metadata.name"), name);
	assert_string_equal(annotation(set, "deployment.kubernetes.io/revision-history"),
			    "1");
	json_decref(set);
	must(rig, "GET " SETS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=2"));
	/* As "kubectl rollout restart". */
	must(rig, "STRATEGIC " WEB,
	     "{'spec':{'template':{'metadata':{'annotations':{'kubectl.kubernetes.io/"
	     "restartedAt':'2026-01-01T00:00:00Z'}}}}}",
	     200);
	until_done(rig, 2);
	for (int i = 3; i < 6; i++) {
		(void)snprintf(image, sizeof(image), "image%d", i);
		set_image(rig, image);
		until_done(rig, 2);
	}
	until(rig, (struct kube_step){"GET " SETS, NULL, 200, {"#items=3"}});
	set = set_of(rig, "two");
	assert_null(set);
	must_have_revision(rig, "image5", "7");
}

static void test_paused(void **state)
{
	struct deployments_rig *rig = *state;

	make(rig, 2, NULL, "");
	until_done(rig, 2);
	must(rig, "MERGE " WEB, "{'spec':{'paused':true}}", 200);
	until_condition(rig, "Progressing=Unknown DeploymentPaused");
	set_image(rig, "two");
	rest(rig);
	assert_null(set_of(rig, "two"));
	/* It is scaled all the same. */
	set_replicas(rig, 4);
	until(rig, (struct kube_step){
			   "GET " WEB,
			   NULL,
			   200,
			   {"status.availableReplicas=4", "!status.updatedReplicas"}});
	must(rig, "MERGE " WEB, "{'spec':{'paused':false}}", 200);
	until_done(rig, 4);
	until_condition(rig, "Progressing=True NewReplicaSetAvailable");
	must_have_revision(rig, "two", "2");
}

/* A rollout that does not get on, in the middle of which the number of replicas
 * changes. */
static void test_proportional(void **state)
{
	static const struct {
		const char *name;
		int replicas, one, two;
	} rows[] = {
		{"as it stands", 10, 8, 5},
		{"half as much again", 15, 11, 7},
		{"less", 5, 3, 5},
	};
	struct deployments_rig *rig = *state;

	rig->unready = "two";
	make(rig, 10, "{'rollingUpdate':{'maxSurge':3,'maxUnavailable':2}}", "");
	until_done(rig, 10);
	set_image(rig, "two");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *one, *two;
		int64_t n1, n2;

		if (i > 0)
			set_replicas(rig, rows[i].replicas);
		rest(rig);
		one = set_of(rig, "one");
		two = set_of(rig, "two");
		n1 = json_integer_value(kube_at(one, "spec.replicas"));
		n2 = json_integer_value(kube_at(two, "spec.replicas"));
		json_decref(one);
		json_decref(two);
		if (n1 != rows[i].one || n2 != rows[i].two)
			fail_msg("%s: %d old, %d new", rows[i].name, (int)n1, (int)n2);
	}
	rig->unready = NULL;
	until_done(rig, 5);
}

static void test_deadline(void **state)
{
	struct deployments_rig *rig = *state;

	make(rig, 2, NULL, "'progressDeadlineSeconds':60,");
	until_done(rig, 2);
	until_condition(rig, "Progressing=True NewReplicaSetAvailable");
	rig->unready = "two";
	set_image(rig, "two");
	rest(rig);
	until_condition(rig, "Progressing=True ReplicaSetUpdated");
	kube_now += 61 * SECOND;
	/* What is due then comes by the clock of the loop; a change is quicker. */
	must(rig, "MERGE " WEB, "{'metadata':{'annotations':{'x':'1'}}}", 200);
	until_condition(rig, "Progressing=False ProgressDeadlineExceeded");
	assert_true(has_condition(rig, "Available=True MinimumReplicasAvailable"));
	set_image(rig, "three");
	until_done(rig, 2);
	until_condition(rig, "Progressing=True NewReplicaSetAvailable");
}

/* What its pods lack is told by the Deployment, too. */
static void test_failures(void **state)
{
	struct deployments_rig *rig = *state;

	make(rig, 2, NULL, "");
	until_done(rig, 2);
	must(rig, "STRATEGIC " WEB,
	     "{'spec':{'template':{'spec':{'priorityClassName':'high'}}}}", 200);
	until_condition(rig, "ReplicaFailure=True FailedCreate");
	must(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
	     "{'metadata':{'name':'high'},'value':7}", 201);
	until_done(rig, 2);
	until_condition(rig, "Progressing=True NewReplicaSetAvailable");
	assert_false(has_condition(rig, "ReplicaFailure=True FailedCreate"));
}

/* A name that another ReplicaSet has; one without an owner that fits is taken over. */
static void test_names(void **state)
{
	struct deployments_rig *rig = *state;
	json_t *set;
	char name[256], body[2048];

	make(rig, 1, NULL, "");
	until_done(rig, 1);
	set = set_of(rig, "one");
	(void)snprintf(name, sizeof(name), "%s", kube_text(set, "metadata.name"));
	json_decref(set);
	must(rig, "DELETE " WEB, "{'propagationPolicy':'Orphan'}", 200);
	until(rig, (struct kube_step){"GET " WEB, NULL, 404, {NULL}});
	rest(rig);
	make(rig, 1, NULL, "");
	until_done(rig, 1);
	set = set_of(rig, "one");
	assert_string_equal(kube_text(set, "metadata.name"), name);
	assert_null(kube_differs(set, "metadata.ownerReferences.0.name=web"));
	json_decref(set);
	must(rig, "DELETE " WEB, NULL, 200);
	until(rig, (struct kube_step){"GET " SETS, NULL, 200, {"#items=0"}});
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'replicas':0,'selector':{"
		       "'matchLabels':{'q':'q'}},'template':{'metadata':{'labels':{'q':"
		       "'q'}},'spec':{'containers':[{'name':'c','image':'other'}]}}}}",
		       name);
	must(rig, "POST " SETS, body, 201);
	make(rig, 1, NULL, "");
	until_done(rig, 1);
	must(rig, "GET " WEB, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "status.collisionCount=1"));
	set = set_of(rig, "one");
	assert_string_not_equal(kube_text(set, "metadata.name"), name);
	json_decref(set);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first),  TEST(rolling),      TEST(recreate), TEST(undo_and_history),
		TEST(paused), TEST(proportional), TEST(deadline), TEST(failures),
		TEST(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
