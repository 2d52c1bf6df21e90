/* SPDX-License-Identifier: Apache-2.0
 *
 * StatefulSets: their pods in order and at once, under the same names; updates,
 * partitions, revisions and rollbacks; claims and what becomes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/workload/revision/revisions.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/patience.h"
#include "t/lib/workload_rig.h"

#define APPS      "/apis/apps/v1/namespaces/default/"
#define SETS      APPS "statefulsets"
#define REVISIONS APPS "controllerrevisions"
#define PODS      "/api/v1/namespaces/default/pods"
#define CLAIMS    "/api/v1/namespaces/default/persistentvolumeclaims"
#define EVENTS    "/api/v1/namespaces/default/events"
#define SECOND    INT64_C(1000000)
/* more: members of the spec, with a comma behind each. */
#define SET(name, n, more, image)                                                        \
	"{'metadata':{'name':'" name "'},'spec':{" more "'replicas':" #n                 \
	",'serviceName':'s','selector':{'matchLabels':{'a':'b'}},'template':{"           \
	"'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c',"             \
	"'image':'" image "'}]}}}}"
#define IMAGE(image)                                                                     \
	"{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'" image "'}]}}}}"
#define VOLUME                                                                           \
	"'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{'accessModes':["    \
	"'ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}],"

struct ordered_rig {
	struct kube_rig *kube;
	struct neap_statefulsets *sets;
};

static void start(struct ordered_rig *rig)
{
	struct neap_workload_config config = workload_config(rig->kube);
	struct neap_error err = {0};

	assert_int_equal(neap_statefulsets_new(&config, &rig->sets, &err), 0);
}

static int setup(void **state)
{
	struct ordered_rig *rig = neap_alloc(sizeof(*rig));

	assert_non_null(rig);
	assert_int_equal(kube_rig_setup((void **)&rig->kube), 0);
	start(rig);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct ordered_rig *rig = *state;

	neap_statefulsets_free(rig->sets);
	(void)kube_rig_teardown((void **)&rig->kube);
	free(rig);
	return 0;
}

static void must(struct ordered_rig *rig, const char *ask, const char *body, int status)
{
	int got = kube_ask(rig->kube, ask, body);

	if (got != status)
		fail_msg("%s: %d: %s", ask, got, kube_text(rig->kube->body, "message"));
}

static void until(struct ordered_rig *rig, struct kube_step step)
{
	workload_until(rig->kube, &step);
}

static void settle(struct ordered_rig *rig)
{
	workload_settle(rig->kube, NULL, NULL);
}

static enum workload_fate unready(void *arg, const json_t *pod)
{
	const char *name = arg;

	return !name || strcmp(name, kube_text(pod, "metadata.name")) == 0
		       ? WORKLOAD_UNREADY
		       : WORKLOAD_RUN;
}

/* Those of the new template do not become ready. */
static enum workload_fate bad_image(void *arg, const json_t *pod)
{
	return strcmp(kube_text(pod, "spec.containers.0.image"), arg) == 0
		       ? WORKLOAD_UNREADY
		       : WORKLOAD_RUN;
}

/* "web-0 web-1": what there is, by a member of the pods ("metadata.name"). */
static const char *pods_by(struct ordered_rig *rig, const char *path)
{
	static char text[4096];
	json_t *pods = workload_list(rig->kube, "pods", "default"), *pod;
	size_t i;

	text[0] = '\0';
	json_array_foreach (pods, i, pod) {
		size_t len = strlen(text);

		(void)snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "",
			       kube_text(pod, path));
	}
	json_decref(pods);
	return text;
}

static const char *names(struct ordered_rig *rig)
{
	return pods_by(rig, "metadata.name");
}

static const char *images(struct ordered_rig *rig)
{
	return pods_by(rig, "spec.containers.0.image");
}

static int count_events(struct ordered_rig *rig, const char *reason)
{
	json_t *events = workload_list(rig->kube, "events", "default"), *event;
	int n = 0;
	size_t i;

	json_array_foreach (events, i, event) {
		n += strcmp(kube_text(event, "reason"), reason) == 0;
	}
	json_decref(events);
	return n;
}

/* --- pods --- */

static void test_ordered(void **state)
{
	struct ordered_rig *rig = *state;
	const json_t *pod;

	must(rig, "POST " SETS, SET("web", 3, "", "i"), 201);
	workload_settle(rig->kube, unready, NULL);
	assert_string_equal(names(rig), "web-0");
	settle(rig);
	assert_string_equal(names(rig), "web-0 web-1 web-2");
	must(rig, "GET " PODS "/web-1", NULL, 200);
	pod = rig->kube->body;
	assert_null(kube_differs(pod, "metadata.generateName=web-"));
	assert_null(kube_differs(pod, "spec.hostname=web-1"));
	assert_null(kube_differs(pod, "spec.subdomain=s"));
	assert_null(kube_differs(pod, "metadata.ownerReferences.0.kind=StatefulSet"));
	assert_null(kube_differs(pod, "metadata.ownerReferences.0.controller=true"));
	assert_string_equal(
		json_string_value(json_object_get(kube_at(pod, "metadata.labels"),
						  "statefulset.kubernetes.io/pod-name")),
		"web-1");
	assert_string_equal(
		json_string_value(json_object_get(kube_at(pod, "metadata.labels"),
						  "apps.kubernetes.io/pod-index")),
		"1");
	until(rig, (struct kube_step){
			   "GET " SETS "/web",
			   NULL,
			   200,
			   {"status.replicas=3", "status.readyReplicas=3",
			    "status.availableReplicas=3", "status.currentReplicas=3",
			    "status.updatedReplicas=3", "status.collisionCount=0",
			    "status.observedGeneration=1"}});
	assert_string_equal(kube_text(rig->kube->body, "status.currentRevision"),
			    kube_text(rig->kube->body, "status.updateRevision"));
	assert_int_equal(count_events(rig, "SuccessfulCreate"), 3);
	/* Down again, from the highest number. */
	must(rig, "MERGE " SETS "/web/scale", "{'spec':{'replicas':1}}", 200);
	settle(rig);
	assert_string_equal(names(rig), "web-0");
	assert_int_equal(count_events(rig, "SuccessfulDelete"), 2);
	must(rig, "MERGE " SETS "/web/scale", "{'spec':{'replicas':0}}", 200);
	until(rig, (struct kube_step){"GET " SETS "/web",
				      NULL,
				      200,
				      {"status.replicas=0", "!status.readyReplicas",
				       "!status.currentReplicas",
				       "status.availableReplicas=0"}});
}

/* One that is not well holds up what comes behind it, in both directions. */
static void test_waits(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS, SET("web", 3, "", "i"), 201);
	settle(rig);
	workload_set_phase(rig->kube, "default", "web-1", "Running", "False");
	must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':4}}", 200);
	workload_settle(rig->kube, unready, (void *)(uintptr_t) "web-1");
	assert_string_equal(names(rig), "web-0 web-1 web-2");
	must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':2}}", 200);
	workload_settle(rig->kube, unready, (void *)(uintptr_t) "web-1");
	assert_string_equal(names(rig), "web-0 web-1 web-2");
	settle(rig);
	assert_string_equal(names(rig), "web-0 web-1");
	/* The first of those that go may be unwell: nothing helps it. */
	must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':1}}", 200);
	workload_set_phase(rig->kube, "default", "web-1", "Running", "False");
	workload_settle(rig->kube, unready, (void *)(uintptr_t) "web-1");
	assert_string_equal(names(rig), "web-0");
}

static void test_parallel(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS,
	     SET("web", 4, "'podManagementPolicy':'Parallel','ordinals':{'start':5},",
		 "i"),
	     201);
	workload_settle(rig->kube, unready, NULL);
	assert_string_equal(names(rig), "web-5 web-6 web-7 web-8");
	must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':1}}", 200);
	workload_settle(rig->kube, unready, NULL);
	assert_string_equal(names(rig), "web-5");
	/* More than one look asks for. */
	must(rig, "MERGE " SETS "/web",
	     "{'spec':{'replicas':230,'ordinals':{'start':0}}}", 200);
	until(rig, (struct kube_step){
			   "GET " SETS "/web", NULL, 200, {"status.readyReplicas=230"}});
	must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':2}}", 200);
	until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=2"}});
	assert_string_equal(names(rig), "web-0 web-1");
}

/* A pod comes again under its name: after it failed, ended, or was deleted, and not
 * before it is gone. */
static void test_again(void **state)
{
	static const char *const phases[] = {"Failed", "Succeeded", NULL};
	struct ordered_rig *rig = *state;
	char uid[64];

	must(rig, "POST " SETS, SET("web", 2, "", "i"), 201);
	settle(rig);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(phases); i++) {
		must(rig, "GET " PODS "/web-0", NULL, 200);
		(void)neap_strcopy(uid, sizeof(uid),
				   kube_text(rig->kube->body, "metadata.uid"));
		if (phases[i])
			workload_set_phase(rig->kube, "default", "web-0", phases[i],
					   "False");
		else
			must(rig, "DELETE " PODS "/web-0", NULL, 200);
		settle(rig);
		until(rig,
		      (struct kube_step){
			      "GET " SETS "/web", NULL, 200, {"status.readyReplicas=2"}});
		must(rig, "GET " PODS "/web-0", NULL, 200);
		assert_string_not_equal(uid, kube_text(rig->kube->body, "metadata.uid"));
	}
	assert_int_equal(count_events(rig, "RecreatingFailedPod"), 1);
	assert_int_equal(count_events(rig, "RecreatingTerminatedPod"), 1);
	/* As long as nobody ends it, it stays. */
	must(rig, "GET " PODS "/web-1", NULL, 200);
	(void)neap_strcopy(uid, sizeof(uid), kube_text(rig->kube->body, "metadata.uid"));
	must(rig, "DELETE " PODS "/web-1", NULL, 200);
	kube_run(rig->kube, 100);
	must(rig, "GET " PODS "/web-1", NULL, 200);
	assert_string_equal(uid, kube_text(rig->kube->body, "metadata.uid"));
	assert_null(
		kube_differs(rig->kube->body, "metadata.deletionGracePeriodSeconds=30"));
}

static void test_min_ready(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS, SET("web", 2, "'minReadySeconds':30,", "i"), 201);
	settle(rig);
	assert_string_equal(names(rig), "web-0");
	until(rig, (struct kube_step){
			   "GET " SETS "/web",
			   NULL,
			   200,
			   {"status.readyReplicas=1", "status.availableReplicas=0"}});
	kube_now += 31 * SECOND;
	must(rig, "MERGE " SETS "/web", "{'metadata':{'annotations':{'n':'1'}}}", 200);
	settle(rig);
	assert_string_equal(names(rig), "web-0 web-1");
}

static void test_adopt_and_release(void **state)
{
	struct ordered_rig *rig = *state;
	static const char pod[] =
		"{'metadata':{'name':'%s','labels':{'a':'b'}},'spec':{'containers':[{"
		"'name':'c','image':'i'}]}}";
	static const char *const made[] = {"web-0", "web-x", "web-01", "other-0"};
	char body[512];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(made); i++) {
		(void)snprintf(body, sizeof(body), pod, made[i]);
		must(rig, "POST " PODS, body, 201);
	}
	/* Only what has a name of its own is taken over. */
	must(rig, "POST " SETS,
	     SET("web", 1, "'updateStrategy':{'type':'OnDelete'},", "i"), 201);
	until(rig, (struct kube_step){
			   "GET " PODS "/web-0",
			   NULL,
			   200,
			   {"metadata.ownerReferences.0.name=web",
			    "metadata.ownerReferences.0.controller=true",
			    "metadata.labels~\"statefulset.kubernetes.io/pod-name\":"
			    "\"web-0\""}});
	settle(rig);
	for (size_t i = 1; i < NEAP_ARRAY_LEN(made); i++) {
		(void)snprintf(body, sizeof(body), "GET " PODS "/%s", made[i]);
		must(rig, body, NULL, 200);
		assert_null(kube_differs(rig->kube->body, "!metadata.ownerReferences"));
	}
	/* Of another label it is let go; its name stays taken until it has gone. */
	must(rig, "MERGE " PODS "/web-0", "{'metadata':{'labels':{'a':'z'}}}", 200);
	until(rig,
	      (struct kube_step){
		      "GET " PODS "/web-0", NULL, 200, {"!metadata.ownerReferences"}});
	must(rig, "DELETE " PODS "/web-0?gracePeriodSeconds=0", NULL, 200);
	until(rig, (struct kube_step){"GET " PODS "/web-0",
				      NULL,
				      200,
				      {"metadata.ownerReferences.0.name=web"}});
	/* Orphaned pods and revisions go to the next of that name. */
	must(rig, "DELETE " SETS "/web", "{'propagationPolicy':'Orphan'}", 200);
	until(rig, (struct kube_step){"GET " SETS "/web", NULL, 404, {NULL}});
	settle(rig);
	must(rig, "POST " SETS, SET("web", 1, "", "i"), 201);
	until(rig, (struct kube_step){
			   "GET " SETS "/web", NULL, 200, {"status.updatedReplicas=1"}});
	must(rig, "GET " REVISIONS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=1"));
	/* And with it go its pods. */
	must(rig, "DELETE " SETS "/web", NULL, 200);
	until(rig, (struct kube_step){"GET " PODS "/web-0", NULL, 404, {NULL}});
	until(rig, (struct kube_step){"GET " REVISIONS, NULL, 200, {"#items=0"}});
}

/* --- updates --- */

static void test_update(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS, SET("web", 3, "", "i"), 201);
	settle(rig);
	must(rig, "MERGE " SETS "/web", IMAGE("j"), 200);
	/* The highest first, and the next when it is ready. */
	workload_settle(rig->kube, bad_image, (void *)(uintptr_t) "j");
	assert_string_equal(images(rig), "i i j");
	must(rig, "GET " SETS "/web", NULL, 200);
	assert_null(kube_differs(rig->kube->body, "status.currentReplicas=2"));
	assert_null(kube_differs(rig->kube->body, "status.updatedReplicas=1"));
	assert_null(kube_differs(rig->kube->body, "status.observedGeneration=2"));
	assert_string_not_equal(kube_text(rig->kube->body, "status.currentRevision"),
				kube_text(rig->kube->body, "status.updateRevision"));
	settle(rig);
	assert_string_equal(images(rig), "j j j");
	until(rig, (struct kube_step){
			   "GET " SETS "/web",
			   NULL,
			   200,
			   {"status.currentReplicas=3", "status.updatedReplicas=3"}});
	assert_string_equal(kube_text(rig->kube->body, "status.currentRevision"),
			    kube_text(rig->kube->body, "status.updateRevision"));
	/* Back: the old revision is the newest again. */
	must(rig, "MERGE " SETS "/web", IMAGE("i"), 200);
	settle(rig);
	assert_string_equal(images(rig), "i i i");
	must(rig, "GET " REVISIONS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=2"));
	assert_int_equal(
		kube_at(rig->kube->body, "items.0.revision") &&
			json_integer_value(kube_at(rig->kube->body, "items.0.revision")) +
					json_integer_value(kube_at(rig->kube->body,
								   "items.1.revision")) ==
				5,
		true);
}

static void test_partition(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS,
	     SET("web", 3, "'updateStrategy':{'rollingUpdate':{'partition':2}},", "i"),
	     201);
	settle(rig);
	must(rig, "MERGE " SETS "/web", IMAGE("j"), 200);
	settle(rig);
	assert_string_equal(images(rig), "i i j");
	/* What comes again below it is of the old one. */
	must(rig, "DELETE " PODS "/web-0?gracePeriodSeconds=0", NULL, 200);
	must(rig, "DELETE " PODS "/web-2?gracePeriodSeconds=0", NULL, 200);
	settle(rig);
	assert_string_equal(images(rig), "i i j");
	until(rig, (struct kube_step){
			   "GET " SETS "/web",
			   NULL,
			   200,
			   {"status.currentReplicas=2", "status.updatedReplicas=1"}});
	must(rig, "MERGE " SETS "/web",
	     "{'spec':{'updateStrategy':{'rollingUpdate':{'partition':0}}}}", 200);
	settle(rig);
	assert_string_equal(images(rig), "j j j");
}

static void test_on_delete(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS,
	     SET("web", 2, "'updateStrategy':{'type':'OnDelete'},", "i"), 201);
	settle(rig);
	must(rig, "MERGE " SETS "/web", IMAGE("j"), 200);
	settle(rig);
	assert_string_equal(images(rig), "i i");
	must(rig, "DELETE " PODS "/web-0", NULL, 200);
	settle(rig);
	assert_string_equal(images(rig), "j i");
}

/* As many at once as may be missing. */
static void test_max_unavailable(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS,
	     SET("web", 5,
		 "'podManagementPolicy':'Parallel','updateStrategy':{'rollingUpdate':{"
		 "'maxUnavailable':'50%'}},",
		 "i"),
	     201);
	settle(rig);
	must(rig, "MERGE " SETS "/web", IMAGE("j"), 200);
	workload_settle(rig->kube, bad_image, (void *)(uintptr_t) "j");
	assert_string_equal(images(rig), "i i i j j");
	settle(rig);
	assert_string_equal(images(rig), "j j j j j");
}

/* A bad template is taken back, although its pod never becomes ready. */
static void test_stuck(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS, SET("web", 2, "'podManagementPolicy':'Parallel',", "i"),
	     201);
	settle(rig);
	must(rig, "MERGE " SETS "/web", IMAGE("bad"), 200);
	workload_settle(rig->kube, bad_image, (void *)(uintptr_t) "bad");
	assert_string_equal(images(rig), "i bad");
	must(rig, "MERGE " SETS "/web", IMAGE("i"), 200);
	workload_settle(rig->kube, bad_image, (void *)(uintptr_t) "bad");
	assert_string_equal(images(rig), "i i");
}

static void test_history(void **state)
{
	struct ordered_rig *rig = *state;
	char body[512];

	must(rig, "POST " SETS, SET("web", 1, "'revisionHistoryLimit':2,", "i"), 201);
	settle(rig);
	for (int i = 0; i < 5; i++) {
		(void)snprintf(body, sizeof(body), IMAGE("v%d"), i);
		must(rig, "MERGE " SETS "/web", body, 200);
		settle(rig);
	}
	until(rig, (struct kube_step){"GET " REVISIONS, NULL, 200, {"#items=3"}});
	/* A name that is taken by something else. */
	must(rig, "GET " SETS "/web", NULL, 200);
}

/* The data, its hash, and so the name, are those that Kubernetes makes of this set. */
static void test_revision(void **state)
{
	struct ordered_rig *rig = *state;
	const json_t *revision;
	json_t *data;

	must(rig, "POST " SETS, SET("web", 1, "", "i"), 201);
	settle(rig);
	must(rig, "GET " REVISIONS, NULL, 200);
	revision = kube_at(rig->kube->body, "items.0");
	assert_null(kube_differs(revision, "data.spec.template.$patch=replace"));
	assert_null(kube_differs(revision,
				 "data.spec.template.metadata={\"creationTimestamp\":null"
				 ",\"labels\":{\"a\":\"b\"}}"));
	assert_null(kube_differs(revision, "metadata.labels.a=b"));
	assert_null(kube_differs(revision, "revision=1"));
	data = neap_json_deep_copy(kube_at(revision, "data"));
	assert_non_null(data);
	for (int i = 0; i < 2; i++) {
		char hash[NEAP_REVISION_HASH_MAX], name[64];

		assert_true(neap_revision_hash(data, i, hash));
		(void)snprintf(name, sizeof(name), "web-%s", hash);
		if (i == 0)
			assert_string_equal(kube_text(revision, "metadata.name"), name);
		else
			assert_string_not_equal(kube_text(revision, "metadata.name"),
						name);
	}
	json_decref(data);
}

static void test_hash(void **state)
{
	/* As k8s.io/kubernetes/pkg/controller/history computes them. */
	static const struct {
		const char *data;
		int64_t collisions;
		const char *hash;
	} rows[] = {
		{"{\"spec\":{\"template\":{\"$patch\":\"replace\"}}}", 0, "589f85db5b"},
		{"{\"spec\":{\"template\":{\"$patch\":\"replace\"}}}", 12, "7f56c4fd77"},
		{"{\"b\":\"a<b && c>d\",\"a\":\"\\\\f\\b\\u2028\\n\"}", 1, "6946c46f67"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_error_t where;
		json_t *data = json_loads(rows[i].data, 0, &where);
		char hash[NEAP_REVISION_HASH_MAX];

		assert_true(neap_revision_hash(data, rows[i].collisions, hash));
		assert_string_equal(hash, rows[i].hash);
		json_decref(data);
	}
}

/* --- claims --- */

static void test_claims(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS, SET("web", 2, VOLUME, "i"), 201);
	settle(rig);
	must(rig, "GET " CLAIMS "/data-web-1", NULL, 200);
	assert_null(kube_differs(rig->kube->body, "metadata.labels={\"a\":\"b\"}"));
	assert_null(kube_differs(rig->kube->body, "!metadata.ownerReferences"));
	assert_null(kube_differs(rig->kube->body,
				 "spec.resources.requests={\"storage\":\"1Gi\"}"));
	must(rig, "GET " PODS "/web-1", NULL, 200);
	assert_null(kube_differs(rig->kube->body, "spec.volumes.0.name=data"));
	assert_null(kube_differs(
		rig->kube->body,
		"spec.volumes.0.persistentVolumeClaim={\"claimName\":\"data-web-1\"}"));
	/* They stay. */
	must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':0}}", 200);
	settle(rig);
	must(rig, "GET " CLAIMS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=2"));
	must(rig, "DELETE " SETS "/web", NULL, 200);
	settle(rig);
	must(rig, "GET " CLAIMS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=2"));
}

#define DELETES(scaled, deleted)                                                         \
	"{'spec':{'persistentVolumeClaimRetentionPolicy':{'whenScaled':'" scaled         \
	"','whenDeleted':'" deleted "'}}}"

static void test_retention(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS, SET("web", 3, VOLUME, "i"), 201);
	settle(rig);
	must(rig, "MERGE " SETS "/web", DELETES("Delete", "Retain"), 200);
	must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':2}}", 200);
	until(rig, (struct kube_step){"GET " CLAIMS "/data-web-2", NULL, 404, {NULL}});
	settle(rig);
	must(rig, "GET " CLAIMS "/data-web-1", NULL, 200);
	assert_null(kube_differs(rig->kube->body, "!metadata.ownerReferences"));
	/* A pod that comes again keeps its claim. */
	must(rig, "DELETE " PODS "/web-1", NULL, 200);
	settle(rig);
	must(rig, "GET " CLAIMS "/data-web-1", NULL, 200);
	must(rig, "MERGE " SETS "/web", DELETES("Retain", "Delete"), 200);
	until(rig, (struct kube_step){"GET " CLAIMS "/data-web-1",
				      NULL,
				      200,
				      {"metadata.ownerReferences.0.kind=StatefulSet"}});
	must(rig, "MERGE " SETS "/web", DELETES("Retain", "Retain"), 200);
	until(rig, (struct kube_step){"GET " CLAIMS "/data-web-1",
				      NULL,
				      200,
				      {"!metadata.ownerReferences"}});
	must(rig, "MERGE " SETS "/web", DELETES("Retain", "Delete"), 200);
	settle(rig);
	must(rig, "DELETE " SETS "/web", NULL, 200);
	until(rig, (struct kube_step){"GET " CLAIMS, NULL, 200, {"#items=0"}});
}

/* --- trouble --- */

/* What is refused is told, and asked for again until it is not. */
static void test_refused(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS,
	     "{'metadata':{'name':'web'},'spec':{'replicas':2,'serviceName':'s',"
	     "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{"
	     "'a':'b'}},'spec':{'priorityClassName':'high','containers':[{'name':'c',"
	     "'image':'i'}]}}}}",
	     201);
	until(rig, (struct kube_step){
			   "GET " EVENTS,
			   NULL,
			   200,
			   {"items.0.reason=FailedCreate", "items.0.type=Warning",
			    "items.0.message~create Pod web-0 in StatefulSet web failed "
			    "error: ",
			    "items.0.source.component=statefulset-controller"}});
	until(rig,
	      (struct kube_step){"GET " SETS "/web", NULL, 200, {"status.replicas=0"}});
	must(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
	     "{'metadata':{'name':'high'},'value':7}", 201);
	until(rig, (struct kube_step){
			   "GET " SETS "/web", NULL, 200, {"status.readyReplicas=2"}});
}

/* A controller that begins anew at any moment makes no pod twice, and no revision. */
static void test_restarts(void **state)
{
	struct ordered_rig *rig = *state;

	must(rig, "POST " SETS,
	     SET("web", 20, VOLUME "'podManagementPolicy':'Parallel',", "i"), 201);
	for (int i = 0; i < 30; i++) {
		kube_run(rig->kube, i);
		neap_statefulsets_free(rig->sets);
		start(rig);
		if (i == 15)
			must(rig, "MERGE " SETS "/web", IMAGE("j"), 200);
		(void)workload_play(rig->kube, NULL, NULL);
	}
	until(rig,
	      (struct kube_step){"GET " SETS "/web",
				 NULL,
				 200,
				 {"status.readyReplicas=20", "status.updatedReplicas=20",
				  "status.currentReplicas=20"}});
	must(rig, "GET " REVISIONS, NULL, 200);
	assert_in_range(json_array_size(kube_at(rig->kube->body, "items")), 1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash),
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_ordered),
		TEST(test_waits),
		TEST(test_parallel),
		TEST(test_again),
		TEST(test_min_ready),
		TEST(test_adopt_and_release),
		TEST(test_update),
		TEST(test_partition),
		TEST(test_on_delete),
		TEST(test_max_unavailable),
		TEST(test_stuck),
		TEST(test_history),
		TEST(test_revision),
		TEST(test_claims),
		TEST(test_retention),
		TEST(test_refused),
		TEST(test_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
