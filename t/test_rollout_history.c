/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories of a Deployment: it is changed, its pods are killed, what they need is
 * not there, memory is short, and the controllers begin anew, all at any moment. After
 * each turn of the loop somebody who knows nothing of the controllers counts: never too
 * many pods, never too few through them, nobody doubled; in the end what was wanted last
 * is there. */
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
#include "t/lib/workload_rig.h"

#define PODS        "/api/v1/namespaces/default/pods"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define WEB         DEPLOYMENTS "/web"
#define CLASSES     "/apis/scheduling.k8s.io/v1/priorityclasses"
#define STEPS       160
#define HISTORY     3 /* revisionHistoryLimit */

struct history {
	struct kube_rig *kube;
	struct neap_replicasets *sets;
	struct neap_deployments *deployments;
	uint64_t random;
	int seed, step;
	const char *did;
	/* What the Deployment is to be. */
	bool is_rolling, is_paused;
	int replicas, surge, unavailable;
	const char *image;
	bool has_class;
	/* Since it was last at rest. */
	int most_replicas, least_replicas, killed;
	struct neap_map *victims; /* uids of those that this test has killed */
	struct neap_map *running; /* uids of those that were ready when it counted last */
};

#define fail_at(history, ...)                                                            \
	do {                                                                             \
		print_error("seed %d, step %d, %s: ", (history)->seed, (history)->step,  \
			    (history)->did);                                             \
		fail_msg(__VA_ARGS__);                                                   \
	} while (0)

/* xorshift: the same on every machine. */
static unsigned pick(struct history *history, unsigned below)
{
	history->random ^= history->random << 13;
	history->random ^= history->random >> 7;
	history->random ^= history->random << 17;
	return (unsigned)((history->random >> 11) % below);
}

static void start(struct history *history)
{
	struct neap_workload_config config = workload_config(history->kube);
	struct neap_error err = {0};

	assert_int_equal(neap_replicasets_new(&config, &history->sets, &err), 0);
	assert_int_equal(neap_deployments_new(&config, &history->deployments, &err), 0);
}

static void stop(struct history *history)
{
	neap_deployments_free(history->deployments);
	neap_replicasets_free(history->sets);
}

static void must(struct history *history, const char *ask, const char *body, int status)
{
	int got = kube_ask(history->kube, ask, body);

	if (got != status)
		fail_at(history, "%s: %d: %s", ask, got,
			kube_text(history->kube->body, "message"));
}

static enum workload_fate fate_of(void *arg, const json_t *pod)
{
	(void)arg;
	return strncmp(kube_text(pod, "spec.containers.0.image"), "bad", 3) == 0
		       ? WORKLOAD_UNREADY
		       : WORKLOAD_RUN;
}

static bool is_active(const json_t *pod)
{
	const char *phase = kube_text(pod, "status.phase");

	return *kube_text(pod, "metadata.deletionTimestamp") == '\0' &&
	       strcmp(phase, "Failed") != 0;
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

/* --- counting --- */

static void forget(struct neap_map *map)
{
	const char *key;

	while (neap_map_count(map)) {
		(void)neap_map_at(map, neap_map_count(map) - 1, &key);
		(void)neap_map_remove(map, key);
	}
}

/* How many of those that were ready have gone without this test having done it. */
static int count_gone(const struct history *history, const json_t *pods)
{
	int gone = 0;

	for (size_t i = 0; i < neap_map_count(history->running); i++) {
		const json_t *pod;
		const char *uid;
		bool is_there = false;
		size_t k;

		(void)neap_map_at(history->running, i, &uid);
		json_array_foreach ((json_t *)(uintptr_t)pods, k, pod) {
			is_there = is_there ||
				   (is_active(pod) &&
				    strcmp(kube_text(pod, "metadata.uid"), uid) == 0);
		}
		gone += !is_there && !neap_map_find(history->victims, uid);
	}
	return gone;
}

/* The controllers' rules, by what everybody can see. */
static void check(struct history *history)
{
	static char here;
	json_t *pods = workload_list(history->kube, "pods", "default"), *pod;
	int active = 0, ready = 0, gone = count_gone(history, pods);
	int most = history->most_replicas + history->surge;
	int least = history->least_replicas - history->unavailable - history->killed;
	const char *first = NULL;
	size_t i;

	forget(history->running);
	json_array_foreach (pods, i, pod) {
		const char *owner = kube_text(pod, "metadata.ownerReferences.0.uid");

		if (kube_at(pod, "metadata.ownerReferences.1"))
			fail_at(history, "a pod has two owners");
		if (*owner == '\0')
			continue; /* it was let go */
		active += is_active(pod);
		if (is_active(pod) && is_ready(pod)) {
			ready++;
			assert_true(neap_map_set(history->running,
						 kube_text(pod, "metadata.uid"), &here));
		}
		if (strcmp(kube_text(pod, "status.phase"), "Failed") == 0)
			continue;
		if (!history->is_rolling && first && strcmp(first, owner) != 0)
			fail_at(history, "pods of two templates at a time");
		first = owner;
	}
	json_decref(pods);
	if (active > most)
		fail_at(history, "%d pods, at most %d may be", active, most);
	if (history->is_rolling && gone && ready < least)
		fail_at(history, "%d were taken away and %d are ready, %d must be", gone,
			ready, least);
}

static void turn(struct history *history, int ms)
{
	for (int i = 0; i <= ms; i++) {
		(void)workload_play(history->kube, fate_of, NULL);
		kube_run(history->kube, 1);
		check(history);
	}
}

/* --- what happens --- */

static void set_replicas(struct history *history, int replicas)
{
	char body[64];

	history->replicas = replicas;
	if (replicas > history->most_replicas)
		history->most_replicas = replicas;
	if (replicas < history->least_replicas)
		history->least_replicas = replicas;
	(void)snprintf(body, sizeof(body), "{'spec':{'replicas':%d}}", replicas);
	must(history, "MERGE " WEB "/scale", body, 200);
}

static void set_image(struct history *history, const char *image)
{
	char body[512];

	history->image = image;
	(void)snprintf(body, sizeof(body),
		       "{'spec':{'template':{'spec':{'priorityClassName':%s,"
		       "'containers':[{'name':'c','image':'%s'}]}}}}",
		       strcmp(image, "classy") == 0 ? "'high'" : "null", image);
	must(history, "STRATEGIC " WEB, body, 200);
}

static void set_paused(struct history *history, bool is_paused)
{
	history->is_paused = is_paused;
	must(history, "MERGE " WEB,
	     is_paused ? "{'spec':{'paused':true}}" : "{'spec':{'paused':false}}", 200);
}

static void set_class(struct history *history, bool has)
{
	if (history->has_class == has)
		return;
	history->has_class = has;
	if (has)
		must(history, "POST " CLASSES, "{'metadata':{'name':'high'},'value':7}",
		     201);
	else
		must(history, "DELETE " CLASSES "/high", NULL, 200);
}

/* A pod of it: deleted with or without grace, failed, or given another label. */
static void kill_one(struct history *history)
{
	static char here;
	json_t *pods = workload_list(history->kube, "pods", "default");
	size_t count = json_array_size(pods);
	const json_t *pod =
		count ? json_array_get(pods, pick(history, (unsigned)count)) : NULL;
	char ask[512], name[256];

	if (pod && is_active(pod) &&
	    *kube_text(pod, "metadata.ownerReferences.0.uid") != '\0') {
		(void)snprintf(name, sizeof(name), "%s", kube_text(pod, "metadata.name"));
		assert_true(neap_map_set(history->victims, kube_text(pod, "metadata.uid"),
					 &here));
		history->killed++;
		switch (pick(history, 4)) {
		case 0:
			/* It may have gone meanwhile. */
			(void)snprintf(ask, sizeof(ask), "DELETE " PODS "/%s", name);
			(void)kube_ask(history->kube, ask, "{'gracePeriodSeconds':0}");
			break;
		case 1:
			(void)snprintf(ask, sizeof(ask), "DELETE " PODS "/%s", name);
			(void)kube_ask(history->kube, ask, NULL);
			break;
		case 2:
			(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s/status",
				       name);
			(void)kube_ask(history->kube, ask,
				       "{'status':{'phase':'Failed'}}");
			break;
		default:
			(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s", name);
			(void)kube_ask(history->kube, ask,
				       "{'metadata':{'labels':{'a':'z'}}}");
			break;
		}
	}
	json_decref(pods);
}

/* An allocation fails, somewhere. */
static void lack_memory(struct history *history)
{
	neap_mem_fail_at(1 + pick(history, 300));
	kube_run(history->kube, 1 + (int)pick(history, 20));
	neap_mem_fail_at(0);
}

static void restart(struct history *history)
{
	stop(history);
	start(history);
}

static void happen(struct history *history)
{
	static const char *const images[] = {"one", "two", "bad", "classy"};

	switch (pick(history, 11)) {
	case 0:
	case 1:
		history->did = "scale";
		set_replicas(history, (int)pick(history, 8));
		break;
	case 2:
	case 3:
		history->did = "template";
		set_image(history, images[pick(history, NEAP_ARRAY_LEN(images))]);
		break;
	case 4:
	case 5:
		history->did = "kill";
		kill_one(history);
		break;
	case 6:
		history->did = "class";
		set_class(history, pick(history, 2));
		break;
	case 7:
		history->did = "pause";
		set_paused(history, pick(history, 2));
		break;
	case 8:
		history->did = "memory";
		lack_memory(history);
		break;
	default:
		history->did = "restart";
		restart(history);
		break;
	}
}

/* --- at rest --- */

/* NULL: all is as it is to be. */
static const char *find_fault(struct history *history)
{
	static char why[256];
	json_t *sets = workload_list(history->kube, "replicasets.apps", "default"), *set;
	json_t *pods = workload_list(history->kube, "pods", "default"), *pod;
	int pods_of = 0, current = 0, old = 0;
	char uid[64] = "";
	size_t i;

	why[0] = '\0';
	json_array_foreach (sets, i, set) {
		bool is_current =
			strcmp(kube_text(set, "spec.template.spec.containers.0.image"),
			       history->image) == 0;
		int n = (int)json_integer_value(kube_at(set, "spec.replicas"));

		current += is_current;
		old += !is_current;
		if (is_current)
			(void)snprintf(uid, sizeof(uid), "%s",
				       kube_text(set, "metadata.uid"));
		if (n != (is_current ? history->replicas : 0))
			(void)snprintf(why, sizeof(why), "%s has %d replicas",
				       kube_text(set, "metadata.name"), n);
	}
	json_array_foreach (pods, i, pod) {
		if (!is_active(pod) ||
		    *kube_text(pod, "metadata.ownerReferences.0.uid") == '\0')
			continue;
		pods_of++;
		if (strcmp(kube_text(pod, "metadata.ownerReferences.0.uid"), uid) != 0 ||
		    !is_ready(pod))
			(void)snprintf(why, sizeof(why), "%s is old, or not ready",
				       kube_text(pod, "metadata.name"));
	}
	if (current != 1 || old > HISTORY)
		(void)snprintf(why, sizeof(why), "%d current, %d old ReplicaSets",
			       current, old);
	if (pods_of != history->replicas)
		(void)snprintf(why, sizeof(why), "%d pods, %d wanted", pods_of,
			       history->replicas);
	json_decref(sets);
	json_decref(pods);
	return why[0] ? why : NULL;
}

static const char *find_status_fault(struct history *history)
{
	static const char *const names[] = {"replicas", "updatedReplicas",
					    "readyReplicas", "availableReplicas"};
	static char why[256];

	must(history, "GET " WEB, NULL, 200);
	if (json_integer_value(
		    kube_at(history->kube->body, "status.observedGeneration")) !=
	    json_integer_value(kube_at(history->kube->body, "metadata.generation")))
		return "it was not seen yet";
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		char path[64];
		int n;

		(void)snprintf(path, sizeof(path), "status.%s", names[i]);
		n = (int)json_integer_value(kube_at(history->kube->body, path));
		(void)snprintf(why, sizeof(why), "%s %d, %d wanted", path, n,
			       history->replicas);
		if (n != history->replicas)
			return why;
	}
	return NULL;
}

static void come_to_rest(struct history *history)
{
	const char *why = "";

	history->did = "rest";
	if (history->is_paused)
		set_paused(history, false);
	set_class(history, true);
	if (strcmp(history->image, "bad") == 0)
		set_image(history, "two");
	for (int left = WORKLOAD_LIMIT_MS / 2; left > 0; left -= 3) {
		turn(history, 2);
		why = find_fault(history);
		if (!why)
			why = find_status_fault(history);
		if (!why)
			break;
	}
	if (why)
		fail_at(history, "%s", why);
	history->most_replicas = history->least_replicas = history->replicas;
	history->killed = 0;
	forget(history->victims);
}

static void run(struct kube_rig *kube, int seed, const char *strategy, int surge,
		int unavailable)
{
	struct history history = {.kube = kube,
				  .seed = seed,
				  .random = 0x9e3779b97f4a7c15u + (uint64_t)seed * 977,
				  .did = "start",
				  .is_rolling = surge || unavailable,
				  .surge = surge,
				  .unavailable = unavailable,
				  .replicas = 4,
				  .most_replicas = 4,
				  .least_replicas = 4,
				  .image = "one",
				  .victims = neap_map_new(),
				  .running = neap_map_new()};
	char body[1024];

	assert_non_null(history.victims);
	assert_non_null(history.running);
	start(&history);
	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'web'},'spec':{'replicas':4,"
		"'revisionHistoryLimit':%d,'strategy':%s,'selector':{'matchLabels':"
		"{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{"
		"'containers':[{'name':'c','image':'one'}]}}}}",
		HISTORY, strategy);
	must(&history, "POST " DEPLOYMENTS, body, 201);
	for (history.step = 1; history.step <= STEPS; history.step++) {
		happen(&history);
		turn(&history, (int)pick(&history, 8));
		if (history.step % 16 == 0)
			come_to_rest(&history);
	}
	stop(&history);
	neap_map_free(history.victims);
	neap_map_free(history.running);
}

static void test_rolling(void **state)
{
	run(*state, 1, "{'rollingUpdate':{'maxSurge':1,'maxUnavailable':1}}", 1, 1);
}

static void test_surge(void **state)
{
	run(*state, 2, "{'rollingUpdate':{'maxSurge':2,'maxUnavailable':0}}", 2, 0);
}

static void test_missing(void **state)
{
	run(*state, 3, "{'rollingUpdate':{'maxSurge':0,'maxUnavailable':2}}", 0, 2);
}

static void test_recreate(void **state)
{
	run(*state, 4, "{'type':'Recreate'}", 0, 0);
}

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rolling),
		TEST(surge),
		TEST(missing),
		TEST(recreate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
