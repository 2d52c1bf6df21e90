/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/jobs_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "api/workload/job/jobs_priv.h"
#include "engine/base/clock.h"

#define SECOND 1000000LL

/* Tests run one after the other. */
static struct neap_jobs *jobs;

static int64_t test_now(void)
{
	return kube_now;
}

void jobs_start(struct kube_rig *rig)
{
	struct neap_workload_config config = {.tasks = neap_kube_tasks(rig->kube),
					      .client = rig->client,
					      .now = test_now};
	struct neap_error err = {0};

	assert_int_equal(neap_jobs_new(&config, &jobs, &err), 0);
}

int jobs_setup(void **state)
{
	assert_int_equal(kube_rig_setup(state), 0);
	jobs_start(*state);
	return 0;
}

int jobs_teardown(void **state)
{
	neap_jobs_free(jobs);
	jobs = NULL;
	return kube_rig_teardown(state);
}

/* What was asked for becomes durable in order: with the answer to a write all that came
 * before it has, too, as when neapd ends. */
void jobs_stop(struct kube_rig *rig)
{
	neap_jobs_free(jobs);
	jobs = NULL;
	assert_int_equal(kube_ask(rig, "POST /api/v1/namespaces/default/configmaps",
				  "{'metadata':{'generateName':'stop-'}}"),
			 201);
}

int64_t jobs_most_steps(void)
{
	return neap_feed_most_steps(jobs->feed);
}

int64_t jobs_all_steps(void)
{
	return neap_feed_all_steps(jobs->feed);
}

void jobs_again(struct kube_rig *rig)
{
	jobs_stop(rig);
	jobs_start(rig);
}

int64_t jobs_now_ms(void)
{
	return neap_clock_usec(CLOCK_MONOTONIC) / 1000;
}

void jobs_until(struct kube_rig *rig, const char *ask, const char *const *want)
{
	int64_t end = jobs_now_ms() + LIMIT_MS;

	for (;;) {
		const char *why = NULL;

		if (kube_ask(rig, ask, NULL) != 200)
			why = kube_text(rig->body, "message");
		for (size_t i = 0; !why && want[i]; i++)
			why = kube_differs(rig->body, want[i]);
		if (!why)
			return;
		if (jobs_now_ms() > end)
			fail_msg("%s: %s", ask, why);
		kube_run(rig, 3);
	}
}

/* spec: more of it, with a comma before. */
void jobs_add(struct kube_rig *rig, const char *name, const char *restart,
	      const char *spec)
{
	char body[2048];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s'},'spec':{'template':{'metadata':{'labels':"
		"{'a':'b'}},'spec':{'restartPolicy':'%s','containers':[{'name':'c',"
		"'image':'i'}]}}%s}}",
		name, restart, spec);
	if (kube_ask(rig, "POST " JOBS, body) != 201)
		fail_msg("%s: %s", name, kube_text(rig->body, "message"));
}

void jobs_change(struct kube_rig *rig, const char *name, const char *patch)
{
	char ask[256];

	(void)snprintf(ask, sizeof(ask), "MERGE " JOBS "/%s", name);
	if (kube_ask(rig, ask, patch) != 200)
		fail_msg("%s: %s", name, kube_text(rig->body, "message"));
}

/* What only time changes is seen when the job is looked at. */
void jobs_pass_time(struct kube_rig *rig, int64_t seconds, const char *name)
{
	char patch[128];

	kube_now += seconds * SECOND;
	(void)snprintf(patch, sizeof(patch), "{'metadata':{'annotations':{'t':'%lld'}}}",
		       (long long)kube_now);
	jobs_change(rig, name, patch);
}

static bool take(void *arg, struct neap_object *object)
{
	json_t *tree = neap_object_tree(object);

	assert_non_null(tree);
	assert_int_equal(json_array_append_new(arg, tree), 0);
	return true;
}

json_t *jobs_list(struct kube_rig *rig, const char *resource)
{
	struct neap_store *store = rig->store.store;
	struct neap_store_place place = {.version = neap_store_version(store)};
	json_t *all = json_array();
	struct neap_error err;

	assert_int_equal(
		neap_store_list(store, resource, "default", &place, take, all, &err), 0);
	return all;
}

bool jobs_is_active(const json_t *pod)
{
	const char *phase = kube_text(pod, "status.phase");

	return strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0 &&
	       !kube_at(pod, "metadata.deletionTimestamp");
}

size_t jobs_count_active(const json_t *pods)
{
	const json_t *pod;
	size_t i, n = 0;

	json_array_foreach (pods, i, pod)
		n += jobs_is_active(pod);
	return n;
}

/* So many active pods; a new array of all. */
json_t *jobs_until_active(struct kube_rig *rig, size_t want)
{
	int64_t end = jobs_now_ms() + LIMIT_MS;

	for (;;) {
		json_t *pods = jobs_list(rig, "pods");
		size_t n = jobs_count_active(pods);

		if (n == want)
			return pods;
		json_decref(pods);
		if (jobs_now_ms() > end)
			fail_msg("%zu active pods, not %zu", n, want);
		kube_run(rig, 3);
	}
}

void jobs_set_status(struct kube_rig *rig, const json_t *pod, const char *status)
{
	char ask[512], body[1024];

	(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s/status",
		       kube_text(pod, "metadata.name"));
	(void)snprintf(body, sizeof(body), "{'status':%s}", status);
	if (kube_ask(rig, ask, body) != 200)
		fail_msg("%s: %s", ask, kube_text(rig->body, "message"));
}

void jobs_set_phase(struct kube_rig *rig, const json_t *pod, const char *phase)
{
	char status[64];

	(void)snprintf(status, sizeof(status), "{'phase':'%s'}", phase);
	jobs_set_status(rig, pod, status);
}

/* Ends one active pod. */
void jobs_end_one(struct kube_rig *rig, size_t active, const char *phase)
{
	json_t *pods = jobs_until_active(rig, active), *pod;
	size_t i;

	json_array_foreach (pods, i, pod) {
		if (jobs_is_active(pod)) {
			jobs_set_phase(rig, pod, phase);
			break;
		}
	}
	json_decref(pods);
}

void jobs_until_event(struct kube_rig *rig, const char *reason, const char *message)
{
	int64_t end = jobs_now_ms() + LIMIT_MS;

	for (;;) {
		json_t *events = jobs_list(rig, "events"), *event;
		bool found = false;
		size_t i;

		json_array_foreach (events, i, event) {
			if (strcmp(kube_text(event, "reason"), reason) == 0 &&
			    strstr(kube_text(event, "message"), message) &&
			    strcmp(kube_text(event, "involvedObject.kind"), "Job") == 0)
				found = true;
		}
		json_decref(events);
		if (found)
			return;
		if (jobs_now_ms() > end)
			fail_msg("no event %s", reason);
		kube_run(rig, 3);
	}
}
