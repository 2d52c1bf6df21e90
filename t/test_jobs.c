/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs: their pods, their status, their end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <event2/event.h>

#include "api/workload/job/jobs_priv.h"
#include "api/workload/loop/feed.h"
#include "t/lib/jobs_rig.h"

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, jobs_setup, jobs_teardown)

#define SECOND    1000000LL
#define FINALIZER "batch.kubernetes.io/job-tracking"

static void test_completions(void **state)
{
	struct kube_rig *rig = *state;
	json_t *pods;

	jobs_add(rig, "j", "Never", ",'completions':3,'parallelism':2");
	pods = jobs_until_active(rig, 2);
	assert_null(kube_differs(json_array_get(pods, 0),
				 "metadata.ownerReferences.0.controller=true"));
	assert_null(kube_differs(json_array_get(pods, 0),
				 "metadata.ownerReferences.0.kind=Job"));
	assert_null(kube_differs(json_array_get(pods, 0),
				 "metadata.finalizers.0=" FINALIZER));
	assert_null(kube_differs(json_array_get(pods, 0), "metadata.labels.job-name=j"));
	assert_null(kube_differs(json_array_get(pods, 0), "metadata.labels.a=b"));
	json_decref(pods);
	UNTIL(rig, "GET " JOBS "/j", "status.active=2", "status.ready=0",
	      "!status.succeeded", "!status.completionTime");
	assert_true(*kube_text(rig->body, "status.startTime") != '\0');
	jobs_end_one(rig, 2, "Succeeded");
	jobs_end_one(rig, 2, "Succeeded");
	UNTIL(rig, "GET " JOBS "/j", "status.active=1", "status.succeeded=2");
	jobs_end_one(rig, 1, "Succeeded");
	UNTIL(rig, "GET " JOBS "/j", "status.succeeded=3", "!status.active",
	      "!status.failed", "status.conditions.0.type=Complete",
	      "status.conditions.0.status=True", "#status.conditions=1",
	      "#status.uncountedTerminatedPods=0");
	assert_true(*kube_text(rig->body, "status.completionTime") != '\0');
	pods = jobs_until_active(rig, 0);
	assert_int_equal(json_array_size(pods), 3);
	for (size_t i = 0; i < 3; i++)
		assert_null(
			kube_differs(json_array_get(pods, i), "!metadata.finalizers"));
	json_decref(pods);
	jobs_until_event(rig, "SuccessfulCreate", "Created pod: j-");
	jobs_until_event(rig, "Completed", "Job completed");
}

/* Without completions the pods say when the work is done. */
static void test_work_queue(void **state)
{
	struct kube_rig *rig = *state;

	jobs_add(rig, "q", "Never", ",'parallelism':3");
	jobs_end_one(rig, 3, "Succeeded");
	UNTIL(rig, "GET " JOBS "/q", "status.active=2", "status.succeeded=1",
	      "!status.conditions");
	jobs_end_one(rig, 2, "Failed"); /* is not replaced any more */
	UNTIL(rig, "GET " JOBS "/q", "status.active=1", "status.failed=1");
	jobs_end_one(rig, 1, "Succeeded");
	UNTIL(rig, "GET " JOBS "/q", "status.succeeded=2", "status.failed=1",
	      "status.conditions.0.type=Complete");
}

static void test_indexed(void **state)
{
	struct kube_rig *rig = *state;
	json_t *pods, *pod;
	size_t i;

	jobs_add(rig, "x", "Never",
		 ",'completions':5,'parallelism':3,'completionMode':'Indexed'");
	pods = jobs_until_active(rig, 3);
	json_array_foreach (pods, i, pod) {
		char want[256];

		(void)snprintf(want, sizeof(want), "metadata.name~x-%zu-", i);
		assert_null(kube_differs(pod, want));
		(void)snprintf(want, sizeof(want), "spec.hostname=x-%zu", i);
		assert_null(kube_differs(pod, want));
		assert_null(kube_differs(pod, "spec.containers.0.env.0.name="
					      "JOB_COMPLETION_INDEX"));
		(void)snprintf(want, sizeof(want), "%zu", i);
		assert_string_equal(json_string_value(json_object_get(
					    kube_at(pod, "metadata.annotations"),
					    "batch.kubernetes.io/job-completion-index")),
				    want);
		assert_string_equal(json_string_value(json_object_get(
					    kube_at(pod, "metadata.labels"),
					    "batch.kubernetes.io/job-completion-index")),
				    want);
	}
	jobs_set_phase(rig, json_array_get(pods, 0), "Succeeded");
	jobs_set_phase(rig, json_array_get(pods, 2), "Succeeded");
	json_decref(pods);
	UNTIL(rig, "GET " JOBS "/x", "status.completedIndexes=0,2", "status.succeeded=2",
	      "status.active=3");
	pods = jobs_until_active(rig, 3);
	json_array_foreach (pods, i, pod) {
		if (jobs_is_active(pod))
			jobs_set_phase(rig, pod, "Succeeded");
	}
	json_decref(pods);
	UNTIL(rig, "GET " JOBS "/x", "status.completedIndexes=0-4", "status.succeeded=5",
	      "status.conditions.0.type=Complete");
}

/* One pod after the other fails: 10, 20 s between them, and after the second time the job
 * has failed. */
static void test_backoff(void **state)
{
	struct kube_rig *rig = *state;

	jobs_add(rig, "b", "Never", ",'backoffLimit':2");
	jobs_end_one(rig, 1, "Failed");
	UNTIL(rig, "GET " JOBS "/b", "status.failed=1", "!status.active",
	      "#status.uncountedTerminatedPods=0");
	kube_run(rig, 80);
	jobs_pass_time(rig, 9, "b");
	kube_run(rig, 80);
	json_decref(jobs_until_active(rig, 0));
	jobs_pass_time(rig, 2, "b");
	jobs_end_one(rig, 1, "Failed");
	UNTIL(rig, "GET " JOBS "/b", "status.failed=2");
	jobs_pass_time(rig, 400, "b");
	jobs_end_one(rig, 1, "Failed");
	UNTIL(rig, "GET " JOBS "/b", "status.failed=3", "!status.active",
	      "status.conditions.0.type=FailureTarget", "status.conditions.1.type=Failed",
	      "status.conditions.1.reason=BackoffLimitExceeded",
	      "status.conditions.1.message=Job has reached the specified backoff limit",
	      "!status.completionTime");
	jobs_until_event(rig, "BackoffLimitExceeded", "backoff limit");
	jobs_pass_time(rig, 4000, "b");
	kube_run(rig, 80);
	json_decref(jobs_until_active(rig, 0));
}

static void test_restarts(void **state)
{
	struct kube_rig *rig = *state;
	json_t *pods;

	jobs_add(rig, "r", "OnFailure", ",'backoffLimit':2");
	pods = jobs_until_active(rig, 1);
	jobs_set_status(rig, json_array_get(pods, 0),
			"{'phase':'Running','containerStatuses':[{'name':'c','image':'i',"
			"'imageID':'','ready':true,'restartCount':2}]}");
	json_decref(pods);
	UNTIL(rig, "GET " JOBS "/r", "status.conditions.1.type=Failed",
	      "status.conditions.1.reason=BackoffLimitExceeded", "status.failed=1",
	      "!status.active");
	jobs_until_event(rig, "SuccessfulDelete", "Deleted pod: r-");
}

static void test_deadline(void **state)
{
	struct kube_rig *rig = *state;

	jobs_add(rig, "d", "Never", ",'activeDeadlineSeconds':100,'parallelism':2");
	json_decref(jobs_until_active(rig, 2));
	UNTIL(rig, "GET " JOBS "/d", "status.active=2");
	jobs_pass_time(rig, 99, "d");
	kube_run(rig, 80);
	json_decref(jobs_until_active(rig, 2));
	jobs_pass_time(rig, 2, "d");
	UNTIL(rig, "GET " JOBS "/d", "status.conditions.1.type=Failed",
	      "status.conditions.1.reason=DeadlineExceeded", "!status.active",
	      "status.failed=2");
	jobs_until_event(rig, "DeadlineExceeded", "longer than specified deadline");
}

static void test_suspend(void **state)
{
	struct kube_rig *rig = *state;

	jobs_add(rig, "s", "Never", ",'completions':4,'parallelism':2,'suspend':true");
	UNTIL(rig, "GET " JOBS "/s", "status.conditions.0.type=Suspended",
	      "status.conditions.0.status=True", "!status.startTime");
	json_decref(jobs_until_active(rig, 0));
	jobs_change(rig, "s", "{'spec':{'suspend':false}}");
	json_decref(jobs_until_active(rig, 2));
	UNTIL(rig, "GET " JOBS "/s", "status.conditions.0.status=False",
	      "status.active=2");
	kube_now += 60 * SECOND;
	jobs_change(rig, "s", "{'spec':{'suspend':true}}");
	json_decref(jobs_until_active(rig, 0));
	UNTIL(rig, "GET " JOBS "/s", "status.conditions.0.status=True", "!status.failed",
	      "!status.active", "#status.conditions=1");
	jobs_change(rig, "s", "{'spec':{'suspend':false}}");
	json_decref(jobs_until_active(rig, 2));
	jobs_until_event(rig, "Suspended", "Job suspended");
	jobs_until_event(rig, "Resumed", "Job resumed");
}

/* Less parallelism deletes pods, which have not failed. */
static void test_parallelism(void **state)
{
	struct kube_rig *rig = *state;

	jobs_add(rig, "p", "Never", ",'completions':10,'parallelism':4");
	json_decref(jobs_until_active(rig, 4));
	jobs_change(rig, "p", "{'spec':{'parallelism':1}}");
	json_decref(jobs_until_active(rig, 1));
	UNTIL(rig, "GET " JOBS "/p", "status.active=1", "!status.failed");
	jobs_change(rig, "p", "{'spec':{'parallelism':12}}");
	json_decref(jobs_until_active(rig, 10));
}

static void test_ttl(void **state)
{
	struct kube_rig *rig = *state;
	int64_t end = jobs_now_ms() + LIMIT_MS;

	jobs_add(rig, "t", "Never", ",'ttlSecondsAfterFinished':30");
	jobs_end_one(rig, 1, "Succeeded");
	UNTIL(rig, "GET " JOBS "/t", "status.conditions.0.type=Complete");
	jobs_pass_time(rig, 29, "t");
	kube_run(rig, 80);
	jobs_pass_time(rig, 2, "t");
	while (kube_ask(rig, "GET " JOBS "/t", NULL) != 404) {
		assert_true(jobs_now_ms() < end);
		kube_run(rig, 3);
	}
}

/* A pod that goes before it ended is replaced; one that has succeeded and goes still
 * counts, also when nobody was there to see it. */
static void test_deleted_pods(void **state)
{
	struct kube_rig *rig = *state;
	char ask[512];
	json_t *pods;

	jobs_add(rig, "e", "Never", ",'completions':2");
	pods = jobs_until_active(rig, 1);
	jobs_stop(rig);
	jobs_set_phase(rig, json_array_get(pods, 0), "Succeeded");
	(void)snprintf(ask, sizeof(ask), "DELETE " PODS "/%s",
		       kube_text(json_array_get(pods, 0), "metadata.name"));
	json_decref(pods);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
	jobs_start(rig);
	UNTIL(rig, "GET " JOBS "/e", "status.succeeded=1", "status.active=1");
	pods = jobs_until_active(rig, 1);
	(void)snprintf(ask, sizeof(ask), "DELETE " PODS "/%s",
		       kube_text(json_array_get(pods, 0), "metadata.name"));
	json_decref(pods);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
	UNTIL(rig, "GET " JOBS "/e", "status.failed=1", "status.succeeded=1");
	jobs_pass_time(rig, 20, "e");
	jobs_end_one(rig, 1, "Succeeded");
	UNTIL(rig, "GET " JOBS "/e", "status.failed=1", "status.succeeded=2",
	      "status.conditions.0.type=Complete");
}

/* Pods whose job has gone are let go, whenever that is seen. */
static void test_job_deleted(void **state)
{
	struct kube_rig *rig = *state;
	int64_t end = jobs_now_ms() + LIMIT_MS;

	for (int i = 0; i < 2; i++) {
		json_t *pods;

		jobs_add(rig, "g", "Never", ",'parallelism':2,'completions':2");
		json_decref(jobs_until_active(rig, 2));
		if (i)
			jobs_stop(rig);
		assert_int_equal(kube_ask(rig, "DELETE " JOBS "/g", NULL), 200);
		if (i) {
			kube_run(rig, 30);
			jobs_start(rig);
		}
		for (;;) {
			pods = jobs_list(rig, "pods");
			if (json_array_size(pods) == 0)
				break;
			json_decref(pods);
			assert_true(jobs_now_ms() < end);
			kube_run(rig, 3);
		}
		json_decref(pods);
	}
}

static void test_policy(void **state)
{
	struct kube_rig *rig = *state;
	json_t *pods;

	jobs_add(rig, "y", "Never",
		 ",'podFailurePolicy':{'rules':[{'action':'Ignore','onPodConditions':[{"
		 "'type':'DisruptionTarget','status':'True'}]},{'action':'FailJob',"
		 "'onExitCodes':{'operator':'In','values':[42]}}]}");
	pods = jobs_until_active(rig, 1);
	jobs_set_status(
		rig, json_array_get(pods, 0),
		"{'phase':'Failed','conditions':[{'type':'DisruptionTarget','status':"
		"'True'}]}");
	json_decref(pods);
	kube_run(rig, 60);
	jobs_pass_time(rig, 20, "y");
	pods = jobs_until_active(rig, 1);
	UNTIL(rig, "GET " JOBS "/y", "status.active=1", "!status.failed");
	for (size_t i = 0; i < json_array_size(pods); i++)
		if (jobs_is_active(json_array_get(pods, i)))
			jobs_set_status(
				rig, json_array_get(pods, i),
				"{'phase':'Failed','containerStatuses':[{'name':'c',"
				"'image':'i','imageID':'','ready':false,'restartCount':"
				"0,'state':{'terminated':{'exitCode':42}}}]}");
	json_decref(pods);
	UNTIL(rig, "GET " JOBS "/y", "status.conditions.1.type=Failed",
	      "status.conditions.1.reason=PodFailurePolicy",
	      "status.conditions.1.message~failed with exit code 42 matching FailJob "
	      "rule at index 1",
	      "status.failed=1");
	jobs_until_event(rig, "PodFailurePolicy", "exit code 42");
}

/* The pod of an index that is at work. */
static const json_t *pod_of(const json_t *pods, const char *index)
{
	const json_t *pod;
	size_t i;

	json_array_foreach (pods, i, pod) {
		const char *has = json_string_value(
			json_object_get(kube_at(pod, "metadata.labels"),
					"batch.kubernetes.io/job-completion-index"));

		if (jobs_is_active(pod) && has && strcmp(has, index) == 0)
			return pod;
	}
	fail_msg("no pod of index %s", index);
	return NULL;
}

static const char *failures_of(const json_t *pod)
{
	return json_string_value(
		json_object_get(kube_at(pod, "metadata.annotations"),
				"batch.kubernetes.io/job-index-failure-count"));
}

/* An index has failures of its own, which its pods remember, also over a start of the
 * controller. */
static void test_per_index(void **state)
{
	struct kube_rig *rig = *state;
	json_t *pods;

	jobs_add(rig, "x", "Never",
		 ",'completions':3,'parallelism':3,'completionMode':'Indexed',"
		 "'backoffLimitPerIndex':1,'maxFailedIndexes':3");
	pods = jobs_until_active(rig, 3);
	assert_string_equal(failures_of(pod_of(pods, "1")), "0");
	jobs_set_phase(rig, pod_of(pods, "0"), "Succeeded");
	jobs_set_phase(rig, pod_of(pods, "1"), "Failed");
	json_decref(pods);
	UNTIL(rig, "GET " JOBS "/x", "status.completedIndexes=0", "!status.failedIndexes",
	      "status.active=1");
	jobs_again(rig);
	kube_run(rig, 30);
	jobs_pass_time(rig, 20, "x");
	pods = jobs_until_active(rig, 2);
	assert_string_equal(failures_of(pod_of(pods, "1")), "1");
	jobs_set_phase(rig, pod_of(pods, "1"), "Failed");
	json_decref(pods);
	UNTIL(rig, "GET " JOBS "/x", "status.failedIndexes=1", "status.failed=2",
	      "status.active=1", "!status.conditions");
	jobs_again(rig);
	pods = jobs_until_active(rig, 1);
	jobs_set_phase(rig, pod_of(pods, "2"), "Succeeded");
	json_decref(pods);
	UNTIL(rig, "GET " JOBS "/x", "status.conditions.0.type=FailureTarget",
	      "status.conditions.1.type=Failed",
	      "status.conditions.1.reason=FailedIndexes", "status.completedIndexes=0,2",
	      "status.failedIndexes=1", "status.failed=2", "status.succeeded=2");
	jobs_until_event(rig, "FailedIndexes", "Job has failed indexes");
}

static void test_lost_index(void **state)
{
	struct kube_rig *rig = *state;
	json_t *pods;

	jobs_add(rig, "x", "Never",
		 ",'completions':3,'parallelism':2,'completionMode':'Indexed',"
		 "'backoffLimitPerIndex':5,'maxFailedIndexes':0,'podFailurePolicy':{"
		 "'rules':[{'action':'FailIndex','onExitCodes':{'operator':'In',"
		 "'values':[42]}}]}");
	pods = jobs_until_active(rig, 2);
	jobs_set_status(rig, pod_of(pods, "0"),
			"{'phase':'Failed','containerStatuses':[{'name':'c',"
			"'image':'i','imageID':'','ready':false,'restartCount':"
			"0,'state':{'terminated':{'exitCode':42}}}]}");
	json_decref(pods);
	UNTIL(rig, "GET " JOBS "/x", "status.failedIndexes=0",
	      "status.conditions.0.reason=MaxFailedIndexesExceeded");
}

static void test_success_policy(void **state)
{
	struct kube_rig *rig = *state;
	json_t *pods;

	jobs_add(rig, "x", "Never",
		 ",'completions':3,'parallelism':3,'completionMode':'Indexed',"
		 "'successPolicy':{'rules':[{'succeededIndexes':'0'},{'succeededIndexes':"
		 "'1-2','succeededCount':1}]}");
	pods = jobs_until_active(rig, 3);
	jobs_set_phase(rig, pod_of(pods, "2"), "Succeeded");
	json_decref(pods);
	UNTIL(rig, "GET " JOBS "/x", "status.completedIndexes=2",
	      "status.conditions.0.type=SuccessCriteriaMet",
	      "status.conditions.0.reason=SuccessPolicy",
	      "status.conditions.0.message=Matched rules at index 1",
	      "status.conditions.1.type=Complete",
	      "status.conditions.1.reason=SuccessPolicy", "!status.active");
}

static void test_others(void **state)
{
	struct kube_rig *rig = *state;

	jobs_add(rig, "m", "Never", ",'managedBy':'example.com/other'");
	jobs_add(rig, "none", "Never", ",'completions':0");
	UNTIL(rig, "GET " JOBS "/none", "status.conditions.0.type=Complete");
	UNTIL(rig, "GET " JOBS "/m", "!status.startTime");
}

/* The disk is slow, and the job is due again meanwhile, by its deadline: what is asked
 * for already is not asked for again. */
static void test_slow_disk(void **state)
{
	struct kube_rig *rig = *state;
	json_t *pods;

	jobs_stop(rig);
	jobs_add(rig, "w", "Never", ",'activeDeadlineSeconds':1");
	jobs_start(rig);
	(void)event_del(rig->heard);
	kube_run(rig, 1200);
	(void)event_add(rig->heard, NULL);
	kube_run(rig, 1);
	UNTIL(rig, "GET " JOBS "/w", "status.active=1");
	pods = jobs_list(rig, "pods");
	assert_int_equal(json_array_size(pods), 1);
	json_decref(pods);
}

/* Pods of long texts are made, read, found to be those of another job and let go in
 * pieces, and all in the end. */
static void test_long_texts(void **state)
{
	enum { FILLING = 20000, MANY = NEAP_STEPS / (FILLING / 4) + 10 };
	static char body[FILLING + 1024], filling[FILLING + 1];
	struct kube_rig *rig = *state;
	json_t *pods, *pod;
	size_t i;

	memset(filling, 'x', FILLING);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'a'},'spec':{'parallelism':%d,'template':{"
		       "'metadata':{'annotations':{'x':'%s'}},'spec':{'restartPolicy':"
		       "'Never','containers':[{'name':'c','image':'i'}]}}}}",
		       MANY, filling);
	assert_int_equal(kube_ask(rig, "POST " JOBS, body), 201);
	json_decref(jobs_until_active(rig, MANY));
	assert_in_range(jobs_most_steps(), NEAP_STEPS / 2, NEAP_STEPS * 3 / 2);
	/* All are read anew, before anything is made. */
	jobs_again(rig);
	jobs_change(rig, "a", "{'metadata':{'labels':{'b':'c'}}}");
	kube_run(rig, 300);
	pods = jobs_until_active(rig, MANY);
	assert_int_equal(json_array_size(pods), MANY);
	assert_in_range(jobs_most_steps(), NEAP_STEPS / 2, NEAP_STEPS * 3 / 2);
	/* The job goes unseen, and leaves its pods. */
	jobs_stop(rig);
	assert_int_equal(kube_ask(rig, "DELETE " JOBS "/a", NULL), 200);
	json_array_foreach (pods, i, pod) {
		char ask[256];

		(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s",
			       kube_text(pod, "metadata.name"));
		assert_int_equal(kube_ask(rig, ask, "{'metadata':{'labels':{'b':'c'}}}"),
				 200);
	}
	json_decref(pods);
	jobs_start(rig);
	for (size_t left = MANY, turns = 0; left; turns++) {
		assert_in_range(turns, 0, 1000);
		kube_run(rig, 20);
		pods = jobs_list(rig, "pods");
		left = 0;
		json_array_foreach (pods, i, pod)
			left += *kube_text(pod, "metadata.finalizers.0") != '\0';
		json_decref(pods);
	}
	assert_in_range(jobs_most_steps(), NEAP_STEPS / 2, NEAP_STEPS * 3 / 2);
}

/* Waits until all that was due is done. Returns the steps so far. */
static int64_t until_still(struct kube_rig *rig)
{
	int64_t steps = -1;

	for (int still = 0; still < 5; still++) {
		kube_run(rig, 100);
		if (jobs_all_steps() != steps)
			still = -1;
		steps = jobs_all_steps();
	}
	return steps;
}

/* A look at one Job takes few steps for each pod of the others, however long it is, also
 * after a start. */
static void test_others_pods(void **state)
{
	enum { MANY = 30, TEXT = 20000, SEARCH = TEXT / JOB_SEARCH_BYTES };
	static char body[TEXT + 1024], filling[TEXT + 1];
	struct kube_rig *rig = *state;
	int64_t before;

	memset(filling, 'x', TEXT);
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(
			body, sizeof(body),
			"{'metadata':{'name':'j-%d'},'spec':{'template':{'metadata':{"
			"'annotations':{'x':'%s'}},'spec':{'restartPolicy':'Never',"
			"'containers':[{'name':'c','image':'i'}]}}}}",
			i, filling);
		assert_int_equal(kube_ask(rig, "POST " JOBS, body), 201);
	}
	json_decref(jobs_until_active(rig, MANY));
	for (int i = 0; i < 2; i++) {
		before = until_still(rig);
		jobs_add(rig, i ? "later" : "z", "Never", ",'suspend':true");
		UNTIL(rig, i ? "GET " JOBS "/later" : "GET " JOBS "/z",
		      "status.conditions.0.type=Suspended");
		assert_in_range(jobs_all_steps() - before, MANY, MANY * SEARCH / 2);
		jobs_again(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(completions),  TEST(work_queue),     TEST(indexed),
		TEST(backoff),      TEST(restarts),       TEST(deadline),
		TEST(suspend),      TEST(parallelism),    TEST(ttl),
		TEST(deleted_pods), TEST(job_deleted),    TEST(policy),
		TEST(others),       TEST(slow_disk),      TEST(per_index),
		TEST(lost_index),   TEST(success_policy), TEST(long_texts),
		TEST(others_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
