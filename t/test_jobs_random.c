/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs whose pods start, fail, succeed and are deleted at random, while the controller is
 * started anew and time passes: nothing is counted twice or lost, there are never too
 * many pods, and it ends well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "t/lib/jobs_rig.h"

struct history {
	struct kube_rig *rig;
	unsigned seed;
	bool is_indexed, suspends;
	size_t completions, parallelism;
	struct neap_map *succeeded; /* uids of pods that did */
	int64_t counted;
};

static unsigned draw(struct history *history, unsigned below)
{
	history->seed = history->seed * 1103515245U + 12345U;
	return (history->seed >> 16) % below;
}

static void check(struct history *history)
{
	struct kube_rig *rig = history->rig;
	json_t *pods = jobs_list(rig, "pods"), *all = jobs_list(rig, "jobs.batch");
	int64_t succeeded =
		json_integer_value(kube_at(json_array_get(all, 0), "status.succeeded"));

	if (jobs_count_active(pods) > history->parallelism)
		fail_msg("%zu pods are active, over %zu", jobs_count_active(pods),
			 history->parallelism);
	if (succeeded < history->counted)
		fail_msg("%d had succeeded, now %d", (int)history->counted,
			 (int)succeeded);
	if ((size_t)succeeded > neap_map_count(history->succeeded))
		fail_msg("%d have succeeded, over %zu", (int)succeeded,
			 neap_map_count(history->succeeded));
	history->counted = succeeded;
	json_decref(pods);
	json_decref(all);
}

/* The pod may have gone meanwhile, as the job was suspended. */
static void ask_pod(struct history *history, const json_t *pod, const char *verb,
		    const char *sub, const char *body)
{
	char ask[512];
	int status;

	(void)snprintf(ask, sizeof(ask), "%s " PODS "/%s%s", verb,
		       kube_text(pod, "metadata.name"), sub);
	status = kube_ask(history->rig, ask, body);
	if (status != 200 && !(history->suspends && status == 404))
		fail_msg("%s: %s", ask, kube_text(history->rig->body, "message"));
}

static void succeed(struct history *history, const json_t *pod)
{
	static char yes;

	assert_true(
		neap_map_set(history->succeeded, kube_text(pod, "metadata.uid"), &yes));
	ask_pod(history, pod, "MERGE", "/status", "{'status':{'phase':'Succeeded'}}");
}

static void act(struct history *history, const json_t *pod)
{
	if (!jobs_is_active(pod))
		return;
	switch (draw(history, 6)) {
	case 0:
		ask_pod(history, pod, "MERGE", "/status",
			"{'status':{'phase':'Running'}}");
		break;
	case 1:
		ask_pod(history, pod, "MERGE", "/status",
			"{'status':{'phase':'Failed'}}");
		break;
	case 2:
		ask_pod(history, pod, "DELETE", "", NULL);
		break;
	default:
		succeed(history, pod);
	}
}

/* The newest state of a pod that may have gone. */
static void act_on_one(struct history *history)
{
	struct kube_rig *rig = history->rig;
	json_t *pods = jobs_list(rig, "pods");
	size_t count = json_array_size(pods);

	if (count) {
		json_t *pod = json_array_get(pods, draw(history, (unsigned)count));
		char ask[512];

		(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s",
			       kube_text(pod, "metadata.name"));
		if (kube_ask(rig, ask, NULL) == 200) {
			json_t *found = json_deep_copy(rig->body);

			act(history, found);
			json_decref(found);
		}
	}
	json_decref(pods);
}

static void step(struct history *history)
{
	struct kube_rig *rig = history->rig;

	switch (draw(history, 12)) {
	case 0:
		jobs_again(rig);
		break;
	case 1:
	case 2:
		jobs_pass_time(rig, 400, "h");
		break;
	case 3:
		if (history->suspends)
			jobs_change(rig, "h",
				    draw(history, 2) ? "{'spec':{'suspend':true}}"
						     : "{'spec':{'suspend':false}}");
		break;
	case 4:
		kube_run(rig, 30);
		break;
	case 5:
		/* Memory is short for a moment. */
		neap_mem_fail_at(1 + draw(history, 300));
		kube_run(rig, 30);
		neap_mem_fail_at(0);
		break;
	default:
		act_on_one(history);
	}
	kube_run(rig, (int)draw(history, 4));
}

static void run_history(struct kube_rig *rig, unsigned seed)
{
	struct history history = {.rig = rig,
				  .seed = seed,
				  .is_indexed = seed & 1,
				  .suspends = seed & 2,
				  .completions = 6 + seed % 5,
				  .parallelism = 1 + seed % 4,
				  .succeeded = neap_map_new()};
	int64_t end = jobs_now_ms() + LIMIT_MS;
	char spec[256], want[64];

	(void)snprintf(spec, sizeof(spec),
		       ",'backoffLimit':1000,'completions':%zu,'parallelism':%zu,"
		       "'completionMode':'%s'",
		       history.completions, history.parallelism,
		       history.is_indexed ? "Indexed" : "NonIndexed");
	jobs_add(rig, "h", "Never", spec);
	for (int i = 0; i < 60; i++) {
		step(&history);
		check(&history);
	}
	/* From now on all goes well. */
	jobs_change(rig, "h", "{'spec':{'suspend':false}}");
	for (;;) {
		json_t *pods = jobs_list(rig, "pods"), *pod;
		size_t i;

		json_array_foreach (pods, i, pod) {
			if (jobs_is_active(pod))
				succeed(&history, pod);
		}
		json_decref(pods);
		jobs_pass_time(rig, 400, "h");
		kube_run(rig, 5);
		check(&history);
		assert_int_equal(kube_ask(rig, "GET " JOBS "/h", NULL), 200);
		if (kube_at(rig->body, "status.completionTime"))
			break;
		if (jobs_now_ms() > end)
			fail_msg("seed %u does not end", seed);
	}
	(void)snprintf(want, sizeof(want), "status.succeeded=%zu", history.completions);
	assert_null(kube_differs(rig->body, want));
	if (!history.suspends && !history.is_indexed)
		assert_int_equal(neap_map_count(history.succeeded), history.completions);
	assert_int_equal(kube_ask(rig, "DELETE " JOBS "/h", NULL), 200);
	neap_map_free(history.succeeded);
	for (;;) {
		json_t *pods = jobs_list(rig, "pods");
		size_t left = json_array_size(pods);

		json_decref(pods);
		if (!left)
			return;
		assert_true(jobs_now_ms() < end);
		kube_run(rig, 3);
	}
}

static void random_histories(void **state)
{
	for (unsigned seed = 1; seed <= 8; seed++)
		run_history(*state, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_histories, jobs_setup,
						jobs_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
