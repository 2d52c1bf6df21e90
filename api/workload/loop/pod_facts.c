/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/loop/pod_facts.h"

#include <string.h>

#include "api/workload/loop/tree.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

#define COST "controller.kubernetes.io/pod-deletion-cost"

static enum neap_pod_phase phase_of(const char *text)
{
	static const struct {
		const char *name;
		enum neap_pod_phase phase;
	} phases[] = {
		{"Unknown", NEAP_POD_UNKNOWN},
		{"Running", NEAP_POD_RUNNING},
		{"Succeeded", NEAP_POD_SUCCEEDED},
		{"Failed", NEAP_POD_FAILED},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(phases); i++)
		if (strcmp(text, phases[i].name) == 0)
			return phases[i].phase;
	return NEAP_POD_PENDING;
}

static int64_t most_restarts(const json_t *tree)
{
	const json_t *list = neap_tree_at(tree, "status.containerStatuses"), *item;
	int64_t most = 0, count;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, item) {
		count = neap_tree_int(item, "restartCount", 0);
		if (count > most)
			most = count;
	}
	return most;
}

/* A well-formed int32; otherwise ignored. */
static int64_t cost_of(const json_t *tree)
{
	const char *text = neap_tree_entry(tree, "metadata.annotations", COST);
	int64_t cost;

	if (*text == '+' || neap_int_parse(text, &cost, NULL) < 0 || cost < INT32_MIN ||
	    cost > INT32_MAX)
		return 0;
	return cost;
}

bool neap_pod_facts_read(const struct neap_object *pod, const json_t *tree, void *to)
{
	struct neap_pod_facts *ret = to;
	const json_t *ready = neap_tree_condition(tree, "Ready");

	*ret = (struct neap_pod_facts){
		.version = pod->version,
		.phase = phase_of(neap_tree_text(tree, "status.phase")),
		.is_deleting = pod->is_deleting,
		.is_ready = strcmp(neap_tree_text(ready, "status"), "True") == 0,
		.ready_usec = neap_tree_time(ready, "lastTransitionTime"),
		.created_usec = neap_tree_time(tree, "metadata.creationTimestamp"),
		.restarts = most_restarts(tree),
		.cost = cost_of(tree),
	};
	ret->is_active = !ret->is_deleting && ret->phase != NEAP_POD_SUCCEEDED &&
			 ret->phase != NEAP_POD_FAILED;
	(void)neap_strcopy(ret->controller, sizeof(ret->controller),
			   neap_tree_text(neap_tree_controller(tree), "uid"));
	(void)neap_strcopy(ret->node, sizeof(ret->node),
			   neap_tree_text(tree, "spec.nodeName"));
	return true;
}

bool neap_pod_is_available(const struct neap_pod_facts *pod, int64_t min_ready_s,
			   int64_t now_usec, int64_t *ret_after_usec)
{
	int64_t until;

	if (ret_after_usec)
		*ret_after_usec = 0;
	if (!pod->is_ready)
		return false;
	if (min_ready_s <= 0)
		return true;
	if (pod->ready_usec == NEAP_MISSING)
		return false;
	until = pod->ready_usec + min_ready_s * 1000000;
	if (until <= now_usec)
		return true;
	if (ret_after_usec)
		*ret_after_usec = until - now_usec;
	return false;
}
