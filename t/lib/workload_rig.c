/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/workload_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "api/kube/serve/client_local.h"
#include "engine/base/clock.h"
#include "engine/base/quantity.h"

static int64_t workload_now(void)
{
	return kube_now;
}

struct neap_workload_config workload_config(struct kube_rig *rig)
{
	return (struct neap_workload_config){.tasks = neap_kube_tasks(rig->kube),
					     .client = rig->client,
					     .now = workload_now};
}

static bool take(void *arg, struct neap_object *object)
{
	json_t *tree = neap_object_tree(object);

	assert_non_null(tree);
	assert_int_equal(json_array_append_new(arg, tree), 0);
	return true;
}

json_t *workload_list(struct kube_rig *rig, const char *resource, const char *ns)
{
	struct neap_store *store = rig->store.store;
	struct neap_store_place place = {.version = neap_store_version(store)};
	json_t *list = json_array();
	struct neap_error err;

	assert_int_equal(neap_store_list(store, resource, ns, &place, take, list, &err),
			 0);
	return list;
}

/* --- nodes --- */

static json_t *new_status(const char *phase, const char *ready)
{
	char now[32];

	(void)neap_time_format(kube_now, 0, now, sizeof(now));
	if (!ready)
		return json_pack("{s:{s:s}}", "status", "phase", phase);
	return json_pack("{s:{s:s, s:[{s:s, s:s, s:s}]}}", "status", "phase", phase,
			 "conditions", "type", "Ready", "status", ready,
			 "lastTransitionTime", now);
}

static bool is_newest(struct kube_rig *rig, const json_t *pod)
{
	const struct neap_object *newest = neap_store_newest(
		rig->store.store, "pods", kube_text(pod, "metadata.namespace"),
		kube_text(pod, "metadata.name"));
	char version[32];

	(void)snprintf(version, sizeof(version), "%lld",
		       newest ? (long long)newest->version : 0);
	return strcmp(version, kube_text(pod, "metadata.resourceVersion")) == 0;
}

/* The node that its affinity names, as a DaemonSet has it; "". */
static const char *wanted_node(const json_t *pod)
{
	return kube_text(pod, "spec.affinity.nodeAffinity."
			      "requiredDuringSchedulingIgnoredDuringExecution."
			      "nodeSelectorTerms.0.matchFields.0.values.0");
}

/* One step of one pod; 1 when there was one. */
static int play_pod(struct kube_rig *rig, const json_t *pod, enum workload_fate fate,
		    unsigned node)
{
	struct neap_client_ask ask = {.resource = "pods",
				      .ns = kube_text(pod, "metadata.namespace"),
				      .name = kube_text(pod, "metadata.name")};
	/* Not the one of the loops, which tests may make a bad one. */
	struct neap_client *client = neap_kube_client(rig->kube);
	const char *uid = kube_text(pod, "metadata.uid");
	const char *phase = kube_text(pod, "status.phase"), *ready;
	char name[8];

	if (fate == WORKLOAD_LEAVE)
		return 0;
	if (!is_newest(rig, pod))
		return 1; /* a step of it is on its way */
	if (*kube_text(pod, "metadata.deletionTimestamp") != '\0') {
		neap_client_delete(client, &ask, uid, 0);
		return 1;
	}
	if (strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0)
		return 0;
	if (*kube_text(pod, "spec.nodeName") == '\0') {
		(void)snprintf(name, sizeof(name), "n%u", node);
		neap_client_bind(
			client, &ask,
			&(struct neap_client_binding){
				.node = *wanted_node(pod) ? wanted_node(pod) : name,
				.uid = uid});
		return 1;
	}
	ready = fate == WORKLOAD_RUN ? "True" : "False";
	for (size_t i = 0; i < json_array_size(kube_at(pod, "status.conditions")); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "status.conditions.%zu", i);
		if (strcmp(kube_text(kube_at(pod, path), "type"), "Ready") == 0 &&
		    strcmp(kube_text(kube_at(pod, path), "status"), ready) == 0)
			return 0;
	}
	neap_client_patch_take(client, &ask, true, new_status("Running", ready));
	return 1;
}

int workload_play(struct kube_rig *rig,
		  enum workload_fate (*fate)(void *arg, const json_t *pod), void *arg)
{
	json_t *pods = workload_list(rig, "pods", NULL), *pod;
	int done = 0;
	size_t i;

	json_array_foreach (pods, i, pod) {
		done += play_pod(rig, pod, fate ? fate(arg, pod) : WORKLOAD_RUN,
				 (unsigned)i % 3);
	}
	json_decref(pods);
	return done;
}

static int64_t now_ms(void)
{
	return neap_clock_usec(CLOCK_MONOTONIC) / 1000;
}

void workload_until(struct kube_rig *rig, const struct kube_step *step)
{
	int64_t end = now_ms() + WORKLOAD_LIMIT_MS;

	for (;;) {
		const char *why = NULL;
		int status;

		(void)workload_play(rig, NULL, NULL);
		kube_run(rig, 2);
		status = kube_ask(rig, step->ask, step->body);
		for (int i = 0; i < KUBE_WANTS && step->want[i] && !why; i++)
			why = kube_differs(rig->body, step->want[i]);
		if (status == step->status && !why)
			return;
		if (now_ms() > end)
			fail_msg("%s: %d: %s", step->ask, status, why ? why : "");
	}
}

void workload_settle(struct kube_rig *rig,
		     enum workload_fate (*fate)(void *arg, const json_t *pod), void *arg)
{
	int64_t end = now_ms() + WORKLOAD_LIMIT_MS;

	while (workload_play(rig, fate, arg) > 0 || !kube_is_at_rest(rig)) {
		kube_run(rig, 2);
		if (now_ms() > end)
			fail_msg("it does not come to rest");
	}
}

void workload_set_phase(struct kube_rig *rig, const char *ns, const char *name,
			const char *phase, const char *ready)
{
	json_t *status = new_status(phase, ready);
	char ask[512], *text = json_dumps(status, JSON_COMPACT);

	(void)snprintf(ask, sizeof(ask), "MERGE /api/v1/namespaces/%s/pods/%s/status", ns,
		       name);
	if (kube_ask(rig, ask, text) != 200)
		fail_msg("%s: %s", ask, kube_text(rig->body, "message"));
	free(text);
	json_decref(status);
}
