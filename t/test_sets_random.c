/* SPDX-License-Identifier: Apache-2.0
 *
 * A StatefulSet and a DaemonSet that are scaled, updated and moved at random, while pods
 * fail and are deleted, nodes come and go, and the controllers are started anew. At no
 * moment is there a pod too many; and when it is quiet, there is what a model says. */
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

#define SEEDS 4
#define ACTS  60
#define NODES 6
#define APPS  "/apis/apps/v1/namespaces/default/"
#define PODS  "/api/v1/namespaces/default/pods"
#define POD(label)                                                                       \
	"'selector':{'matchLabels':{'app':'" label "'}},'template':{'metadata':{"        \
	"'labels':{'app':'" label "'}},'spec':{'containers':[{'name':'c','image':'v0'"   \
	"}]}}"

struct history {
	struct kube_rig *rig;
	struct neap_statefulsets *sets;
	struct neap_daemonsets *daemons;
	unsigned seed;
	/* The model: what has been asked for. */
	bool is_parallel;
	int start, replicas, most, set_image, daemon_image;
	bool has_node[NODES], is_closed[NODES];
};

static unsigned draw(struct history *history, unsigned below)
{
	history->seed = history->seed * 1103515245U + 12345U;
	return (history->seed >> 16) % below;
}

static void must(struct history *history, const char *ask, const char *body, int status)
{
	int got = kube_ask(history->rig, ask, body);

	if (got != status)
		fail_msg("%s: %d: %s", ask, got,
			 kube_text(history->rig->body, "message"));
}

static void start(struct history *history)
{
	struct neap_workload_config config = workload_config(history->rig);
	struct neap_error err = {0};

	assert_int_equal(neap_statefulsets_new(&config, &history->sets, &err), 0);
	assert_int_equal(neap_daemonsets_new(&config, &history->daemons, &err), 0);
}

static void stop(struct history *history)
{
	neap_statefulsets_free(history->sets);
	neap_daemonsets_free(history->daemons);
}

/* --- what happens --- */

static void patch(struct history *history, const char *what, const char *fmt, int value)
{
	char ask[128], body[256];

	(void)snprintf(ask, sizeof(ask), "MERGE " APPS "%s", what);
	(void)snprintf(body, sizeof(body), fmt, value);
	must(history, ask, body, 200);
}

static void change_node(struct history *history)
{
	unsigned n = draw(history, NODES);
	char ask[64], body[128];

	(void)snprintf(ask, sizeof(ask), "%s /api/v1/nodes%s%s",
		       !history->has_node[n]   ? "POST"
		       : draw(history, 3) == 0 ? "DELETE"
					       : "MERGE",
		       history->has_node[n] ? "/" : "",
		       history->has_node[n] ? (char[]){'m', (char)('0' + n), 0} : "");
	if (ask[0] == 'M') {
		history->is_closed[n] = !history->is_closed[n];
		must(history, ask,
		     history->is_closed[n] ? "{'spec':{'taints':[{'key':'k','effect':"
					     "'NoExecute'}]}}"
					   : "{'spec':{'taints':null}}",
		     200);
		return;
	}
	history->has_node[n] = ask[0] == 'P';
	history->is_closed[n] = false;
	(void)snprintf(body, sizeof(body), "{'metadata':{'name':'m%u'}}", n);
	must(history, ask, body, history->has_node[n] ? 201 : 200);
}

/* A pod fails, ends or is deleted, slowly or at once. */
static void hurt(struct history *history)
{
	json_t *pods = workload_list(history->rig, "pods", "default");
	size_t count = json_array_size(pods);
	const json_t *pod =
		count ? json_array_get(pods, draw(history, (unsigned)count)) : NULL;
	unsigned how = draw(history, 4);
	char ask[256];

	if (pod) {
		(void)snprintf(ask, sizeof(ask), "%s " PODS "/%s%s",
			       how < 2 ? "MERGE" : "DELETE",
			       kube_text(pod, "metadata.name"),
			       how < 2    ? "/status"
			       : how == 2 ? "?gracePeriodSeconds=0"
					  : "");
		(void)kube_ask(history->rig, ask,
			       how == 0   ? "{'status':{'phase':'Failed'}}"
			       : how == 1 ? "{'status':{'phase':'Succeeded'}}"
					  : NULL);
	}
	json_decref(pods);
}

static void scale(struct history *history)
{
	history->replicas = (int)draw(history, 6);
	if (history->replicas > history->most)
		history->most = history->replicas;
	patch(history, "statefulsets/web", "{'spec':{'replicas':%d}}", history->replicas);
}

static void act(struct history *history)
{
	static const char image[] =
		"{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'v%d'}]}}}}";

	switch (draw(history, 8)) {
	case 0:
	case 1:
		scale(history);
		break;
	case 2:
		history->set_image = (int)draw(history, 4);
		patch(history, "statefulsets/web", image, history->set_image);
		break;
	case 3:
		history->daemon_image = (int)draw(history, 4);
		patch(history, "daemonsets/ds", image, history->daemon_image);
		break;
	case 4:
		change_node(history);
		break;
	case 5:
		stop(history);
		start(history);
		break;
	default:
		hurt(history);
	}
}

/* --- what there is --- */

static bool is_of(const json_t *pod, const char *kind)
{
	return strcmp(kube_text(pod, "metadata.ownerReferences.0.kind"), kind) == 0 &&
	       *kube_text(pod, "metadata.deletionTimestamp") == '\0';
}

static int number_of(const char *text)
{
	return (int)strtol(strcspn(text, "0123456789") + text, NULL, 10);
}

static const char *node_of(const json_t *pod)
{
	return kube_text(pod, "spec.affinity.nodeAffinity."
			      "requiredDuringSchedulingIgnoredDuringExecution."
			      "nodeSelectorTerms.0.matchFields.0.values.0");
}

/* Not more than asked for, ever. */
static void check_always(struct history *history)
{
	json_t *pods = workload_list(history->rig, "pods", "default"), *pod;
	int on_node[NODES] = {0}, of_set = 0;
	size_t i;

	json_array_foreach (pods, i, pod) {
		if (is_of(pod, "DaemonSet"))
			assert_in_range(++on_node[number_of(node_of(pod))], 0, 1);
		of_set += is_of(pod, "StatefulSet");
	}
	if (of_set > history->most)
		fail_msg("%d pods of the StatefulSet, over %d", of_set, history->most);
	json_decref(pods);
}

static void check_revisions(struct history *history, const char *kind)
{
	json_t *list = workload_list(history->rig, "controllerrevisions.apps", NULL);
	int64_t numbers[64];
	json_t *revision;
	int count = 0;
	size_t i;

	json_array_foreach (list, i, revision) {
		if (strcmp(kube_text(revision, "metadata.ownerReferences.0.kind"), kind))
			continue;
		assert_in_range(count, 0, 5); /* templates are of four images */
		numbers[count] =
			json_integer_value(json_object_get(revision, "revision"));
		for (int j = 0; j < count; j++)
			assert_int_not_equal(numbers[j], numbers[count]);
		count++;
	}
	assert_in_range(count, 1, 4);
	json_decref(list);
}

/* NULL: it is as the model says. */
static const char *differs(struct history *history)
{
	json_t *pods = workload_list(history->rig, "pods", "default"), *pod;
	bool on_node[NODES] = {false};
	static char why[256];
	int of_set = 0;
	size_t i;

	why[0] = '\0';
	json_array_foreach (pods, i, pod) {
		const char *name = kube_text(pod, "metadata.name");
		const char *image = kube_text(pod, "spec.containers.0.image");

		if (is_of(pod, "DaemonSet")) {
			if (number_of(image) != history->daemon_image)
				(void)snprintf(why, sizeof(why), "%s is %s", name, image);
			on_node[number_of(node_of(pod))] = true;
		} else if (is_of(pod, "StatefulSet")) {
			if (number_of(image) != history->set_image ||
			    number_of(name) < history->start ||
			    number_of(name) >= history->start + history->replicas)
				(void)snprintf(why, sizeof(why), "%s is %s", name, image);
			of_set++;
		} else {
			(void)snprintf(why, sizeof(why), "%s is left", name);
		}
	}
	json_decref(pods);
	if (of_set != history->replicas)
		(void)snprintf(why, sizeof(why), "%d pods of the set, not %d", of_set,
			       history->replicas);
	for (int n = 0; n < NODES; n++)
		if (on_node[n] != (history->has_node[n] && !history->is_closed[n]))
			(void)snprintf(why, sizeof(why), "node m%d", n);
	return *why ? why : NULL;
}

static void check_status(struct history *history)
{
	int nodes = 0;
	char want[64];

	for (int n = 0; n < NODES; n++)
		nodes += history->has_node[n] && !history->is_closed[n];
	must(history, "GET " APPS "statefulsets/web", NULL, 200);
	assert_int_equal(
		json_integer_value(kube_at(history->rig->body, "status.readyReplicas")),
		history->replicas);
	assert_int_equal(
		json_integer_value(kube_at(history->rig->body, "status.updatedReplicas")),
		history->replicas);
	assert_string_equal(kube_text(history->rig->body, "status.currentRevision"),
			    kube_text(history->rig->body, "status.updateRevision"));
	must(history, "GET " APPS "daemonsets/ds", NULL, 200);
	(void)snprintf(want, sizeof(want), "status.desiredNumberScheduled=%d", nodes);
	assert_null(kube_differs(history->rig->body, want));
	(void)snprintf(want, sizeof(want), "status.numberReady=%d", nodes);
	assert_null(kube_differs(history->rig->body, want));
	assert_null(kube_differs(history->rig->body, "status.numberMisscheduled=0"));
}

/* Pods of nodes that have gone end, as the controller of nodes has it. */
static void collect(struct history *history)
{
	json_t *pods = workload_list(history->rig, "pods", "default"), *pod;
	char ask[256];
	size_t i;

	json_array_foreach (pods, i, pod) {
		const char *node = kube_text(pod, "spec.nodeName");

		if (*node != 'm' || history->has_node[number_of(node)])
			continue;
		(void)snprintf(ask, sizeof(ask),
			       "DELETE " PODS "/%s?gracePeriodSeconds=0",
			       kube_text(pod, "metadata.name"));
		(void)kube_ask(history->rig, ask, NULL);
	}
	json_decref(pods);
}

/* Time passes until it is quiet and as the model says: the pauses between failed daemons
 * become long. */
static void settle(struct history *history)
{
	const char *why = "";

	for (int i = 0; i < 200 && why; i++) {
		workload_settle(history->rig, NULL, NULL);
		collect(history);
		check_always(history);
		why = differs(history);
		if (!why)
			break;
		kube_now += INT64_C(60000000);
		/* The look that waits for the clock is asked for. */
		patch(history, "daemonsets/ds", "{'metadata':{'annotations':{'n':'%d'}}}",
		      i);
		patch(history, "statefulsets/web",
		      "{'metadata':{'annotations':{'n':'%d'}}}", i);
	}
	if (why)
		fail_msg("it does not come to what was asked for: %s", why);
	check_status(history);
	check_revisions(history, "StatefulSet");
	check_revisions(history, "DaemonSet");
	history->most = history->replicas;
}

static void run(unsigned seed)
{
	struct history history = {.seed = seed, .replicas = 3, .most = 3};
	int64_t before = kube_now;

	history.is_parallel = seed % 2;
	history.start = seed % 3 ? 0 : 4;
	assert_int_equal(kube_rig_setup((void **)&history.rig), 0);
	start(&history);
	for (int i = 0; i < 3; i++)
		change_node(&history);
	must(&history, "POST " APPS "statefulsets",
	     history.is_parallel
		     ? "{'metadata':{'name':'web'},'spec':{'replicas':3,"
		       "'serviceName':'s','podManagementPolicy':'Parallel'," POD(
			       "set") "}}"
		     : "{'metadata':{'name':'web'},'spec':{'replicas':3,"
		       "'serviceName':'s'," POD("set") "}}",
	     201);
	patch(&history, "statefulsets/web", "{'spec':{'ordinals':{'start':%d}}}",
	      history.start);
	must(&history, "POST " APPS "daemonsets",
	     "{'metadata':{'name':'ds'},'spec':{" POD("ds") "}}", 201);
	for (int i = 0; i < ACTS; i++) {
		act(&history);
		kube_run(history.rig, (int)draw(&history, 30));
		(void)workload_play(history.rig, NULL, NULL);
		check_always(&history);
		if (i % 10 == 9)
			settle(&history);
	}
	stop(&history);
	(void)kube_rig_teardown((void **)&history.rig);
	kube_now = before;
}

static void test_random(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		print_message("seed %u\n", seed);
		run(seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
