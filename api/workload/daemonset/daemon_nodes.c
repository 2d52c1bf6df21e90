/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/daemonset/daemon_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "api/workload/loop/tree.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/object/term.h"
#include "engine/pod/pod.h"

/* Steps for a requirement or a toleration. */
#define CHECK_STEPS 2

struct daemon_nodes {
	struct neap_map *by_name;
	/* The DaemonSet that was judged for last, and its spec. */
	char uid[NEAP_OBJECT_UID];
	int64_t generation;
	uint64_t pass;
};

struct daemon_nodes *daemon_nodes_new(void)
{
	struct daemon_nodes *nodes = neap_alloc(sizeof(*nodes));

	if (nodes)
		nodes->by_name = neap_map_new();
	if (nodes && !nodes->by_name) {
		free(nodes);
		return NULL;
	}
	return nodes;
}

static void node_free(struct daemon_node *node)
{
	if (!node)
		return;
	neap_object_unref(node->object);
	json_decref(node->taints);
	free(node);
}

void daemon_nodes_clear(struct daemon_nodes *nodes)
{
	const char *name;

	for (size_t i = neap_map_count(nodes->by_name); i--;) {
		struct daemon_node *node = neap_map_at(nodes->by_name, i, &name);

		(void)neap_map_remove(nodes->by_name, name);
		node_free(node);
	}
}

void daemon_nodes_free(struct daemon_nodes *nodes)
{
	if (!nodes)
		return;
	daemon_nodes_clear(nodes);
	neap_map_free(nodes->by_name);
	free(nodes);
}

size_t daemon_nodes_count(const struct daemon_nodes *nodes)
{
	return neap_map_count(nodes->by_name);
}

struct daemon_node *daemon_nodes_at(const struct daemon_nodes *nodes, size_t index)
{
	return neap_map_at(nodes->by_name, index, NULL);
}

struct daemon_node *daemon_nodes_find(const struct daemon_nodes *nodes, const char *name)
{
	return neap_map_find(nodes->by_name, name);
}

/* --- what happens --- */

static bool same_labels(const struct neap_object *a, const struct neap_object *b)
{
	const char *p = a->labels, *q = b->labels;

	if (a->label_count != b->label_count)
		return false;
	for (unsigned i = 0; i < 2u * a->label_count; i++) {
		if (strcmp(p, q) != 0)
			return false;
		p += strlen(p) + 1;
		q += strlen(q) + 1;
	}
	return true;
}

static struct daemon_node *node_new(struct daemon_nodes *nodes, const char *name)
{
	struct daemon_node *node = neap_alloc(sizeof(*node));

	if (node && !neap_map_set(nodes->by_name, name, node)) {
		free(node);
		return NULL;
	}
	return node;
}

int daemon_nodes_hear(struct daemon_nodes *nodes, struct neap_feed *feed,
		      const struct neap_client_event *event)
{
	struct daemon_node *node = daemon_nodes_find(nodes, event->object->name);
	struct neap_object *before;
	json_t *tree, *taints;
	bool is_same;

	if (event->what == NEAP_CLIENT_DELETED) {
		(void)neap_map_remove(nodes->by_name, event->object->name);
		node_free(node);
		return 1;
	}
	neap_feed_spend(feed, neap_steps_of_text(event->object));
	tree = neap_object_tree(event->object);
	if (!node && tree)
		node = node_new(nodes, event->object->name);
	if (!node || !tree) {
		json_decref(tree);
		return -1;
	}
	before = node->object;
	taints = json_incref(neap_tree_at(tree, "spec.taints"));
	json_decref(tree);
	is_same = before && same_labels(before, event->object) &&
		  (taints ? json_equal(taints, node->taints) : !node->taints);
	json_decref(node->taints);
	node->taints = taints;
	node->object = neap_object_ref(event->object);
	neap_object_unref(before);
	if (!is_same)
		node->pass = 0;
	return !is_same;
}

/* --- the tolerations of daemons --- */

static const struct {
	const char *key, *effect;
	bool is_for_host; /* only with hostNetwork */
} tolerated[] = {
	{"node.kubernetes.io/not-ready", "NoExecute", false},
	{"node.kubernetes.io/unreachable", "NoExecute", false},
	{"node.kubernetes.io/disk-pressure", "NoSchedule", false},
	{"node.kubernetes.io/memory-pressure", "NoSchedule", false},
	{"node.kubernetes.io/pid-pressure", "NoSchedule", false},
	{"node.kubernetes.io/unschedulable", "NoSchedule", false},
	{"node.kubernetes.io/network-unavailable", "NoSchedule", true},
};

/* Replaces one of the same key, effect, operator and value. */
static int put(json_t *list, json_t *toleration)
{
	json_t *has;
	size_t i;
	int ret;

	json_array_foreach (list, i, has) {
		if (strcmp(neap_json_text(has, "key"),
			   neap_json_text(toleration, "key")) == 0 &&
		    strcmp(neap_json_text(has, "effect"),
			   neap_json_text(toleration, "effect")) == 0 &&
		    neap_json_is_text(has, "operator", "Exists")) {
			ret = json_array_set(list, i, toleration);
			json_decref(toleration);
			return ret;
		}
	}
	return json_array_append_new(list, toleration);
}

bool daemon_tolerate(json_t *spec)
{
	const json_t *has = json_object_get(spec, "tolerations");
	json_t *list = has ? neap_json_copy(has) : json_array();
	bool is_on_host = json_is_true(json_object_get(spec, "hostNetwork"));
	int ret = list ? 0 : -1;

	for (size_t i = 0; ret == 0 && i < NEAP_ARRAY_LEN(tolerated); i++)
		if (is_on_host || !tolerated[i].is_for_host)
			ret = put(list, json_pack("{s:s, s:s, s:s}", "key",
						  tolerated[i].key, "operator", "Exists",
						  "effect", tolerated[i].effect));
	if (ret < 0) {
		json_decref(list);
		return false;
	}
	return json_object_set_new(spec, "tolerations", list) == 0;
}

/* --- verdicts --- */

struct rules {
	const char *node_name; /* "": any */
	struct neap_term selector;
	bool has_affinity, is_impossible;
	struct neap_terms affinity;
	const struct neap_toleration *tolerations;
	size_t toleration_count;
	int64_t steps; /* of one node */
};

static int64_t steps_of(const struct neap_term *term)
{
	int64_t steps = 0;

	for (size_t i = 0; i < term->count; i++)
		steps += CHECK_STEPS + (int64_t)term->requirements[i].value_count;
	return steps;
}

/* What cannot be read selects no node. 0; -NEAP_ENOMEM. */
static int read_rules(struct rules *rules, const json_t *spec, struct neap_arena *arena)
{
	static const char required[] =
		"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
	const json_t *selector = json_object_get(spec, "nodeSelector");
	const json_t *affinity = neap_tree_at(spec, required);
	struct neap_error err = {0};
	int ret = 0;

	*rules = (struct rules){.node_name = neap_tree_text(spec, "nodeName"),
				.has_affinity = json_is_object(affinity)};
	if (json_object_size(selector))
		ret = neap_term_read_map(&rules->selector, selector, arena, &err);
	if (ret == 0 && rules->has_affinity)
		ret = neap_terms_read(&rules->affinity,
				      json_object_get(affinity, "nodeSelectorTerms"),
				      arena, &err);
	if (ret == 0)
		ret = neap_tolerations_read(json_object_get(spec, "tolerations"), arena,
					    &rules->tolerations, &rules->toleration_count,
					    &err);
	rules->is_impossible = ret < 0;
	rules->steps = CHECK_STEPS + steps_of(&rules->selector);
	for (size_t i = 0; i < rules->affinity.count; i++)
		rules->steps += steps_of(&rules->affinity.terms[i]);
	return ret == -NEAP_ENOMEM ? ret : 0;
}

static bool is_taken(const struct rules *rules, const json_t *taint,
		     enum neap_taint_effect effect)
{
	for (size_t i = 0; i < rules->toleration_count; i++)
		if (neap_toleration_takes(&rules->tolerations[i],
					  neap_json_text(taint, "key"),
					  neap_json_text(taint, "value"), effect))
			return true;
	return false;
}

static void judge(struct daemon_node *node, const struct rules *rules)
{
	const json_t *taint;
	size_t i;

	node->should_run = node->may_stay =
		!rules->is_impossible &&
		(!*rules->node_name ||
		 strcmp(rules->node_name, node->object->name) == 0) &&
		(!rules->selector.count ||
		 neap_term_matches(&rules->selector, node->object)) &&
		(!rules->has_affinity ||
		 neap_terms_match(&rules->affinity, node->object));
	json_array_foreach (node->taints, i, taint) {
		enum neap_taint_effect effect;

		if (!neap_taint_effect_parse(neap_json_text(taint, "effect"), &effect) ||
		    effect == NEAP_TAINT_PREFER_NO_SCHEDULE ||
		    is_taken(rules, taint, effect))
			continue;
		node->should_run = false;
		if (effect == NEAP_TAINT_NO_EXECUTE)
			node->may_stay = false;
	}
}

static int judge_some(struct daemon_nodes *nodes, struct neap_feed *feed,
		      const struct rules *rules)
{
	int done = 0;

	for (size_t i = 0; i < daemon_nodes_count(nodes); i++) {
		struct daemon_node *node = daemon_nodes_at(nodes, i);

		if (node->pass == nodes->pass)
			continue;
		if (done++ && !neap_feed_has_steps(feed))
			return 1;
		neap_feed_spend(feed,
				rules->steps + (int64_t)(json_array_size(node->taints) *
							 (rules->toleration_count + 1)));
		judge(node, rules);
		node->pass = nodes->pass;
	}
	neap_feed_spend(feed, (int64_t)daemon_nodes_count(nodes) / 8);
	return 0;
}

int daemon_nodes_judge(struct daemon_nodes *nodes, struct neap_feed *feed,
		       const struct neap_object *object, const json_t *tree)
{
	neap_auto_json json_t *spec =
		neap_json_copy(neap_tree_at(tree, "spec.template.spec"));
	int64_t generation = neap_tree_int(tree, "metadata.generation", 0);
	struct neap_arena arena;
	struct rules rules;
	int ret = -1;

	if (strcmp(nodes->uid, object->uid) != 0 || nodes->generation != generation) {
		(void)neap_strcopy(nodes->uid, sizeof(nodes->uid), object->uid);
		nodes->generation = generation;
		nodes->pass++;
	}
	neap_arena_init(&arena);
	if (spec && daemon_tolerate(spec) && read_rules(&rules, spec, &arena) == 0)
		ret = judge_some(nodes, feed, &rules);
	neap_arena_done(&arena);
	return ret;
}
