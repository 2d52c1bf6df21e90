/* SPDX-License-Identifier: Apache-2.0
 *
 * StatefulSets: updates, partitions, revisions and rollbacks; claims and what becomes of
 * them. */
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
#include "t/lib/ordered_rig.h"

/* --- updates --- */

static void test_update(void **state)
{
	struct ordered_rig *rig = *state;

	ordered_must(rig, "POST " SETS, SET("web", 3, "", "i"), 201);
	ordered_settle(rig);
	ordered_must(rig, "MERGE " SETS "/web", IMAGE("j"), 200);
	/* The highest first, and the next when it is ready. */
	workload_settle(rig->kube, ordered_bad_image, (void *)(uintptr_t) "j");
	assert_string_equal(ordered_images(rig), "i i j");
	ordered_must(rig, "GET " SETS "/web", NULL, 200);
	assert_null(kube_differs(rig->kube->body, "status.currentReplicas=2"));
	assert_null(kube_differs(rig->kube->body, "status.updatedReplicas=1"));
	assert_null(kube_differs(rig->kube->body, "status.observedGeneration=2"));
	assert_string_not_equal(kube_text(rig->kube->body, "status.currentRevision"),
				kube_text(rig->kube->body, "status.updateRevision"));
	ordered_settle(rig);
	assert_string_equal(ordered_images(rig), "j j j");
	ordered_until(rig, (struct kube_step){"GET " SETS "/web",
					      NULL,
					      200,
					      {"status.currentReplicas=3",
					       "status.updatedReplicas=3"}});
	assert_string_equal(kube_text(rig->kube->body, "status.currentRevision"),
			    kube_text(rig->kube->body, "status.updateRevision"));
	/* Back: the old revision is the newest again. */
	ordered_must(rig, "MERGE " SETS "/web", IMAGE("i"), 200);
	ordered_settle(rig);
	assert_string_equal(ordered_images(rig), "i i i");
	ordered_must(rig, "GET " REVISIONS, NULL, 200);
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

	ordered_must(
		rig, "POST " SETS,
		SET("web", 3, "'updateStrategy':{'rollingUpdate':{'partition':2}},", "i"),
		201);
	ordered_settle(rig);
	ordered_must(rig, "MERGE " SETS "/web", IMAGE("j"), 200);
	ordered_settle(rig);
	assert_string_equal(ordered_images(rig), "i i j");
	/* What comes again below it is of the old one. */
	ordered_must(rig, "DELETE " PODS "/web-0?gracePeriodSeconds=0", NULL, 200);
	ordered_must(rig, "DELETE " PODS "/web-2?gracePeriodSeconds=0", NULL, 200);
	ordered_settle(rig);
	assert_string_equal(ordered_images(rig), "i i j");
	ordered_until(rig, (struct kube_step){"GET " SETS "/web",
					      NULL,
					      200,
					      {"status.currentReplicas=2",
					       "status.updatedReplicas=1"}});
	ordered_must(rig, "MERGE " SETS "/web",
		     "{'spec':{'updateStrategy':{'rollingUpdate':{'partition':0}}}}",
		     200);
	ordered_settle(rig);
	assert_string_equal(ordered_images(rig), "j j j");
}

static void test_on_delete(void **state)
{
	struct ordered_rig *rig = *state;

	ordered_must(rig, "POST " SETS,
		     SET("web", 2, "'updateStrategy':{'type':'OnDelete'},", "i"), 201);
	ordered_settle(rig);
	ordered_must(rig, "MERGE " SETS "/web", IMAGE("j"), 200);
	ordered_settle(rig);
	assert_string_equal(ordered_images(rig), "i i");
	ordered_must(rig, "DELETE " PODS "/web-0", NULL, 200);
	ordered_settle(rig);
	assert_string_equal(ordered_images(rig), "j i");
}

/* As many at once as may be missing. */
static void test_max_unavailable(void **state)
{
	struct ordered_rig *rig = *state;

	ordered_must(
		rig, "POST " SETS,
		SET("web", 5,
		    "'podManagementPolicy':'Parallel','updateStrategy':{'rollingUpdate':{"
		    "'maxUnavailable':'50%'}},",
		    "i"),
		201);
	ordered_settle(rig);
	ordered_must(rig, "MERGE " SETS "/web", IMAGE("j"), 200);
	workload_settle(rig->kube, ordered_bad_image, (void *)(uintptr_t) "j");
	assert_string_equal(ordered_images(rig), "i i i j j");
	ordered_settle(rig);
	assert_string_equal(ordered_images(rig), "j j j j j");
}

/* A bad template is taken back, although its pod never becomes ready. */
static void test_stuck(void **state)
{
	struct ordered_rig *rig = *state;

	ordered_must(rig, "POST " SETS,
		     SET("web", 2, "'podManagementPolicy':'Parallel',", "i"), 201);
	ordered_settle(rig);
	ordered_must(rig, "MERGE " SETS "/web", IMAGE("bad"), 200);
	workload_settle(rig->kube, ordered_bad_image, (void *)(uintptr_t) "bad");
	assert_string_equal(ordered_images(rig), "i bad");
	ordered_must(rig, "MERGE " SETS "/web", IMAGE("i"), 200);
	workload_settle(rig->kube, ordered_bad_image, (void *)(uintptr_t) "bad");
	assert_string_equal(ordered_images(rig), "i i");
}

static void test_history(void **state)
{
	struct ordered_rig *rig = *state;
	char body[512];

	ordered_must(rig, "POST " SETS, SET("web", 1, "'revisionHistoryLimit':2,", "i"),
		     201);
	ordered_settle(rig);
	for (int i = 0; i < 5; i++) {
		(void)snprintf(body, sizeof(body), IMAGE("v%d"), i);
		ordered_must(rig, "MERGE " SETS "/web", body, 200);
		ordered_settle(rig);
	}
	ordered_until(rig, (struct kube_step){"GET " REVISIONS, NULL, 200, {"#items=3"}});
	/* A name that is taken by something else. */
	ordered_must(rig, "GET " SETS "/web", NULL, 200);
}

/* The data, its hash, and so the name, are those that Kubernetes makes of this set. */
static void test_revision(void **state)
{
	struct ordered_rig *rig = *state;
	const json_t *revision;
	json_t *data;

	ordered_must(rig, "POST " SETS, SET("web", 1, "", "i"), 201);
	ordered_settle(rig);
	ordered_must(rig, "GET " REVISIONS, NULL, 200);
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

	ordered_must(rig, "POST " SETS, SET("web", 2, VOLUME, "i"), 201);
	ordered_settle(rig);
	ordered_must(rig, "GET " CLAIMS "/data-web-1", NULL, 200);
	assert_null(kube_differs(rig->kube->body, "metadata.labels={\"a\":\"b\"}"));
	assert_null(kube_differs(rig->kube->body, "!metadata.ownerReferences"));
	assert_null(kube_differs(rig->kube->body,
				 "spec.resources.requests={\"storage\":\"1Gi\"}"));
	ordered_must(rig, "GET " PODS "/web-1", NULL, 200);
	assert_null(kube_differs(rig->kube->body, "spec.volumes.0.name=data"));
	assert_null(kube_differs(
		rig->kube->body,
		"spec.volumes.0.persistentVolumeClaim={\"claimName\":\"data-web-1\"}"));
	/* They stay. */
	ordered_must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':0}}", 200);
	ordered_settle(rig);
	ordered_must(rig, "GET " CLAIMS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=2"));
	ordered_must(rig, "DELETE " SETS "/web", NULL, 200);
	ordered_settle(rig);
	ordered_must(rig, "GET " CLAIMS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=2"));
}

#define DELETES(scaled, deleted)                                                         \
	"{'spec':{'persistentVolumeClaimRetentionPolicy':{'whenScaled':'" scaled         \
	"','whenDeleted':'" deleted "'}}}"

static void test_retention(void **state)
{
	struct ordered_rig *rig = *state;

	ordered_must(rig, "POST " SETS, SET("web", 3, VOLUME, "i"), 201);
	ordered_settle(rig);
	ordered_must(rig, "MERGE " SETS "/web", DELETES("Delete", "Retain"), 200);
	ordered_must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':2}}", 200);
	ordered_until(rig,
		      (struct kube_step){"GET " CLAIMS "/data-web-2", NULL, 404, {NULL}});
	ordered_settle(rig);
	ordered_must(rig, "GET " CLAIMS "/data-web-1", NULL, 200);
	assert_null(kube_differs(rig->kube->body, "!metadata.ownerReferences"));
	/* A pod that comes again keeps its claim. */
	ordered_must(rig, "DELETE " PODS "/web-1", NULL, 200);
	ordered_settle(rig);
	ordered_must(rig, "GET " CLAIMS "/data-web-1", NULL, 200);
	ordered_must(rig, "MERGE " SETS "/web", DELETES("Retain", "Delete"), 200);
	ordered_until(
		rig, (struct kube_step){"GET " CLAIMS "/data-web-1",
					NULL,
					200,
					{"metadata.ownerReferences.0.kind=StatefulSet"}});
	ordered_must(rig, "MERGE " SETS "/web", DELETES("Retain", "Retain"), 200);
	ordered_until(rig, (struct kube_step){"GET " CLAIMS "/data-web-1",
					      NULL,
					      200,
					      {"!metadata.ownerReferences"}});
	ordered_must(rig, "MERGE " SETS "/web", DELETES("Retain", "Delete"), 200);
	ordered_settle(rig);
	ordered_must(rig, "DELETE " SETS "/web", NULL, 200);
	ordered_until(rig, (struct kube_step){"GET " CLAIMS, NULL, 200, {"#items=0"}});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash),
#define TEST(name) cmocka_unit_test_setup_teardown(name, ordered_setup, ordered_teardown)
		TEST(test_update),           TEST(test_partition), TEST(test_on_delete),
		TEST(test_max_unavailable),  TEST(test_stuck),     TEST(test_history),
		TEST(test_revision),         TEST(test_claims),    TEST(test_retention),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
