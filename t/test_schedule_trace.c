/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods come and go at random, in bursts; whoever checks knows nothing of the scheduler and reads objects: at no moment
 * is more bound to a node than it has, or what it does not take; and in the end no pod waits for which there is room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/inside.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "t/lib/schedule_rig.h"

#define NODES 30
#define PODS  300
#define KINDS 3 /* of resources */

static const char *const resources[KINDS] = {"cpu", "memory", "pods"};

struct seen_node {
	int64_t room[KINDS], used[KINDS];
	bool is_tainted, is_ssd;
};

struct seen_pod {
	bool is_there, tolerates, wants_ssd;
	int node; /* -1: none */
	int64_t needs[KINDS];
};

static struct seen_node nodes[NODES];
static struct seen_pod pods[PODS];
static size_t bindings;
static uint32_t seed;

static uint32_t roll(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void add_nodes(struct kube_rig *rig)
{
	for (int i = 0; i < NODES; i++) {
		char name[16], allocatable[128];

		nodes[i] = (struct seen_node){
			.room = {1000 * (1 + roll(8)), (1 + roll(8)) << 30, 3 + roll(10)},
			.is_tainted = !roll(4),
			.is_ssd = !roll(3)};
		(void)snprintf(name, sizeof(name), "n%d", i);
		(void)snprintf(allocatable, sizeof(allocatable),
			       "'cpu':'%lldm','memory':'%lld','pods':'%lld'",
			       (long long)nodes[i].room[0], (long long)nodes[i].room[1],
			       (long long)nodes[i].room[2]);
		schedule_add_node(
			rig, name, nodes[i].is_ssd ? "'labels':{'disk':'ssd'}" : "",
			nodes[i].is_tainted
				? "'taints':[{'key':'k','value':'v','effect':'NoExecute'}]"
				: "",
			allocatable);
	}
}

static void add_pod(struct kube_rig *rig, int i)
{
	struct neap_kube_ask ask = {.resource = "pods", .ns = "default"};
	json_t *spec =
		json_pack("{s:s, s:[{s:s, s:s}]}", "schedulerName", "koord-scheduler",
			  "containers", "name", "c", "image", "i");
	char name[16], cpu[32], memory[32];

	(void)snprintf(name, sizeof(name), "p%d", i);
	(void)snprintf(cpu, sizeof(cpu), "%um", roll(1500));
	(void)snprintf(memory, sizeof(memory), "%uMi", roll(2000));
	json_object_set_new(
		json_array_get(json_object_get(spec, "containers"), 0), "resources",
		json_pack("{s:{s:s, s:s}}", "requests", "cpu", cpu, "memory", memory));
	if (!roll(3))
		json_object_set_new(
			spec, "tolerations",
			json_pack("[{s:s, s:s}]", "key", "k", "operator", "Exists"));
	if (!roll(3))
		json_object_set_new(spec, "nodeSelector",
				    json_pack("{s:s}", "disk", "ssd"));
	if (!roll(4))
		json_object_set_new(spec, "priority", json_integer(0));
	neap_kube_ask_create_take(
		rig->kube, &ask,
		json_pack("{s:{s:s}, s:o}", "metadata", "name", name, "spec", spec));
}

static void delete_pod(struct kube_rig *rig, int i)
{
	char name[16];
	struct neap_kube_ask ask = {.resource = "pods", .ns = "default", .name = name};

	(void)snprintf(name, sizeof(name), "p%d", i);
	neap_kube_ask_delete(rig->kube, &ask, NULL, 0);
}

/* --- who checks --- */

static bool may_go(const struct seen_pod *pod, const struct seen_node *node)
{
	return (!node->is_tainted || pod->tolerates) && (!pod->wants_ssd || node->is_ssd);
}

static void check_node(int i)
{
	for (int k = 0; k < KINDS; k++)
		if (nodes[i].used[k] > nodes[i].room[k])
			fail_msg("node n%d: %lld of %lld %s", i,
				 (long long)nodes[i].used[k], (long long)nodes[i].room[k],
				 resources[k]);
}

static void count(const struct seen_pod *pod, int sign)
{
	for (int k = 0; pod->is_there && pod->node >= 0 && k < KINDS; k++)
		nodes[pod->node].used[k] += sign * pod->needs[k];
}

static struct seen_pod read_pod(const struct neap_object *object)
{
	struct seen_pod pod = {.is_there = true, .node = -1};
	json_t *tree = neap_object_tree(object);
	const json_t *spec = json_object_get(tree, "spec");
	const json_t *requests =
		kube_at(json_array_get(json_object_get(spec, "containers"), 0),
			"resources.requests");
	const char *node = kube_text(spec, "nodeName");

	assert_int_equal(neap_quantity_parse_milli(kube_text(requests, "cpu"),
						   &pod.needs[0], NULL),
			 0);
	assert_int_equal(neap_quantity_parse_units(kube_text(requests, "memory"),
						   &pod.needs[1], NULL),
			 0);
	pod.needs[2] = 1;
	for (size_t i = 0; i < json_array_size(json_object_get(spec, "tolerations")); i++)
		pod.tolerates |=
			strcmp(kube_text(json_array_get(
						 json_object_get(spec, "tolerations"), i),
					 "key"),
			       "k") == 0;
	pod.wants_ssd = json_object_get(spec, "nodeSelector") != NULL;
	if (*node)
		pod.node = (int)strtol(node + 1, NULL, 10);
	json_decref(tree);
	return pod;
}

static void see_one(const struct neap_store_event *event)
{
	int i = (int)strtol(event->object->name + 1, NULL, 10);
	struct seen_pod before = pods[i];

	count(&before, -1);
	if (event->what == NEAP_STORE_DELETED) {
		pods[i] = (struct seen_pod){0};
		pods[i].node = -1;
	} else {
		pods[i] = read_pod(event->object);
	}
	count(&pods[i], 1);
	if (pods[i].node < 0 || before.node >= 0)
		return;
	bindings++;
	check_node(pods[i].node);
	if (!may_go(&pods[i], &nodes[pods[i].node]))
		fail_msg("p%d may not go to n%d", i, pods[i].node);
}

static void see(struct neap_store_watch *watch)
{
	struct neap_store_event *event;
	struct neap_error err;
	int ret;

	for (;;) {
		ret = neap_store_watch_next(watch, &event, &err);
		if (ret <= 0)
			break;
		see_one(event);
	}
	if (ret < 0)
		fail_msg("%s", err.msg);
}

static void ready(void *arg)
{
	(void)arg;
}

/* A pod that waits though there is room; -1: there is none. */
static int find_forgotten(void)
{
	for (int i = 0; i < PODS; i++) {
		if (!pods[i].is_there || pods[i].node >= 0)
			continue;
		for (int n = 0; n < NODES; n++) {
			bool has_room = may_go(&pods[i], &nodes[n]);

			for (int k = 0; k < KINDS; k++)
				has_room &= nodes[n].used[k] + pods[i].needs[k] <=
					    nodes[n].room[k];
			if (has_room)
				return i;
		}
	}
	return -1;
}

static void run_trace(struct kube_rig *rig, uint32_t with)
{
	struct neap_store_watch *watch = NULL;
	struct neap_error err = {0};
	size_t waiting = 0;
	int forgotten = -1;

	seed = with;
	bindings = 0;
	for (int i = 0; i < PODS; i++)
		pods[i] = (struct seen_pod){.node = -1};
	add_nodes(rig);
	assert_int_equal(neap_store_watch_new(rig->store.store, "pods",
					      neap_store_version(rig->store.store), ready,
					      NULL, &watch, &err),
			 0);
	for (int next = 0; next < PODS;) {
		uint32_t burst = 1 + roll(20);

		while (burst-- && next < PODS)
			add_pod(rig, next++);
		for (uint32_t n = roll(12); n--;)
			delete_pod(rig, (int)roll((uint32_t)next));
		kube_run(rig, (int)roll(8));
		kube_now += roll(3) * 500000;
		see(watch);
	}
	for (int i = 0; i < 4000; i++) {
		kube_run(rig, 5);
		kube_now += 500000;
		see(watch);
		forgotten = find_forgotten();
		if (forgotten < 0 && neap_store_version(rig->store.store) ==
					     neap_store_watch_version(watch))
			break;
	}
	if (forgotten >= 0)
		fail_msg("p%d waits, and there is room", forgotten);
	for (int i = 0; i < PODS; i++)
		waiting += pods[i].is_there && pods[i].node < 0;
	print_message("# %zu bindings, %zu pods wait in the end\n", bindings, waiting);
	assert_true(bindings > NODES);
	neap_store_watch_free(watch);
}

static void test_trace(void **state)
{
	run_trace(*state, 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_trace, schedule_setup,
						schedule_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
