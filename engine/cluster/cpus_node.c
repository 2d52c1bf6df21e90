/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node's labels and annotations say about CPUs: rules, amplification, reserved
 * amounts. */
#include <math.h>
#include <string.h>

#include "engine/cluster/cluster_priv.h"
#include "engine/cluster/cpus_priv.h"
#include "engine/json/json.h"
#include "engine/numa/node_reserve.h"
#include "engine/pod/pod_priv.h"

#define AMPLIFIED_ANNOTATION "node.koordinator.sh/resource-amplification-ratio"

/* Only the first problem is reported. */
static void tell(struct neap_cluster_node *node, const char *text)
{
	if (!node->trouble)
		node->trouble = text;
}

/* The JSON in an annotation, a new reference in *ret: NULL when it is missing, or cannot
 * be read. False without memory. */
static bool annotation(struct neap_cluster_node *node, const json_t *notes,
		       const char *key, const char *trouble, json_t **ret)
{
	const char *text = neap_json_text(notes, key);
	json_error_t where;
	int failed;

	*ret = NULL;
	if (!*text)
		return true;
	failed = neap_json_parse_note(text, ret, &where);
	if (failed == -NEAP_ENOMEM)
		return false;
	if (failed < 0 || !json_is_object(*ret)) {
		tell(node, trouble);
		json_decref(*ret);
		*ret = NULL;
	}
	return true;
}

static void add_ratio(struct neap_cpus_said *said, uint32_t resource, double ratio)
{
	if (ratio > 1 && isfinite(ratio) && said->ratio_count < NEAP_NUMA_RESOURCES_MAX) {
		said->ratios[said->ratio_count].resource = resource;
		said->ratios[said->ratio_count++].ratio = ratio;
	}
}

/* As in the reference, one invalid number makes all of them invalid. */
static int read_ratios(struct neap_cluster *cluster, struct neap_cluster_node *node,
		       const json_t *map, struct neap_cpus_said *said,
		       struct neap_error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)map, name, value) {
		uint32_t resource;
		int ret;

		if (!json_is_number(value) && !json_is_null(value)) {
			tell(node, AMPLIFIED_ANNOTATION ": a ratio is no number");
			said->has_bad_ratio = true;
			said->ratio_count = 0;
			return 0;
		}
		if (!neap_resource_is_counted(name))
			continue;
		ret = neap_resources_add(cluster->resources, name, &resource, err);
		if (ret == -NEAP_ENOMEM)
			return ret;
		if (ret == 0)
			add_ratio(said, resource, json_number_value(value));
	}
	return 0;
}

static int trim(struct neap_cluster *cluster, struct neap_cluster_node *node,
		const json_t *notes, struct neap_error *err)
{
	static const char trouble[] = NEAP_KEY_NODE_RESERVATION ": cannot be read";
	struct neap_node_reserve reserve;
	struct neap_error why = {0};
	json_t *json;
	int ret;

	if (!annotation(node, notes, NEAP_KEY_NODE_RESERVATION, trouble, &json))
		return neap_error_nomem(err);
	ret = neap_node_reserve_read(json, cluster->resources, &reserve, &why);
	/* Such a list reserves nothing, which its writer surely did not mean. */
	if (ret == 0 && *reserve.cpu_text != '\0' && !reserve.has_cpus)
		tell(node, NEAP_KEY_NODE_RESERVATION
		     ": reservedCPUs is no list of CPUs as \"0-3,8\": none is kept");
	json_decref(json);
	if (ret == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (ret < 0)
		tell(node, trouble);
	else
		(void)neap_node_reserve_trim(&reserve, cluster->resources,
					     &node->allocatable);
	return 0;
}

static bool says_something(const struct neap_cpus_said *said)
{
	return said->ratio_count || said->has_bad_ratio ||
	       said->strategy != NEAP_STRATEGY_UNSAID ||
	       said->rule.bind != NEAP_BIND_DEFAULT || said->rule.numa != NEAP_NUMA_ANY;
}

int neap_cluster_read_cpus(struct neap_cluster *cluster, struct neap_cluster_node *node,
			   const json_t *tree, struct neap_error *err)
{
	const json_t *notes =
		json_object_get(json_object_get(tree, "metadata"), "annotations");
	const char *strategy = neap_object_label(node->object, NEAP_KEY_NODE_STRATEGY);
	struct neap_cpus_said said = {.ratio_count = 0}, *kept;
	json_t *ratios;
	int ret;

	neap_cpu_rule_make(neap_object_label(node->object, NEAP_KEY_NODE_BIND),
			   neap_object_label(node->object, NEAP_KEY_NODE_NUMA), false,
			   NEAP_NUMA_ANY, &said.rule);
	if (strategy && *strategy)
		said.strategy = strcmp(strategy, "MostAllocated") == 0
					? NEAP_STRATEGY_MOST
					: NEAP_STRATEGY_LEAST;
	if (!annotation(node, notes, AMPLIFIED_ANNOTATION,
			AMPLIFIED_ANNOTATION ": is no JSON object", &ratios))
		return neap_error_nomem(err);
	said.has_bad_ratio = !ratios && *neap_json_text(notes, AMPLIFIED_ANNOTATION);
	ret = ratios ? read_ratios(cluster, node, ratios, &said, err) : 0;
	json_decref(ratios);
	if (ret == 0)
		ret = trim(cluster, node, notes, err);
	if (ret < 0 || !says_something(&said))
		return ret;
	kept = neap_arena_alloc(&node->arena, sizeof(*kept));
	if (!kept)
		return neap_error_nomem(err);
	*kept = said;
	node->cpus_said = kept;
	return 0;
}
