/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods that wait for room which is made for them, and the budgets that say whom they may take it from. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/cluster/cluster_priv.h"
#include "engine/cluster/pod_priv.h"

/* --- nominations --- */

bool neap_cluster_nominate(struct neap_cluster *cluster, struct neap_pod *pod,
			   const char *node)
{
	char key[NEAP_POD_KEY];
	const char *copy;

	if (!*node) {
		neap_cluster_end_nomination(cluster, pod);
		pod->nominated = "";
		return true;
	}
	copy = node == pod->nominated ? node : neap_arena_strdup(&pod->arena, node);
	if (!copy || !neap_map_set(cluster->nominees, neap_pod_seat_key(pod, key), pod))
		return false;
	pod->nominated = copy;
	cluster->generation++;
	return true;
}

void neap_cluster_end_nomination(struct neap_cluster *cluster, const struct neap_pod *pod)
{
	char key[NEAP_POD_KEY];

	if (*pod->nominated)
		(void)neap_map_remove(cluster->nominees, neap_pod_seat_key(pod, key));
}

size_t neap_cluster_nominee_count(const struct neap_cluster *cluster)
{
	return neap_map_count(cluster->nominees);
}

struct neap_pod *neap_cluster_nominee(const struct neap_cluster *cluster, size_t index)
{
	return neap_map_at(cluster->nominees, index, NULL);
}

void neap_cluster_mark_victim(struct neap_pod *pod)
{
	pod->seat.is_victim = true;
}

/* --- trials --- */

struct neap_cluster_node *neap_cluster_lift(struct neap_cluster *cluster,
					    struct neap_pod *pod)
{
	struct neap_cluster_node *node = pod->seat.node;
	bool is_shifted;

	/* Of a node that is not there the last pod would take the row with it. */
	if (!node || !node->object)
		return NULL;
	/* Flags say that there may be such pods, and stay. */
	is_shifted = neap_cluster_shift_stand(cluster, node, pod, -1);
	neap_cluster_unseat(cluster, pod);
	if (is_shifted)
		neap_cluster_end_shift(cluster, node, pod, -1);
	return node;
}

void neap_cluster_put_back(struct neap_cluster *cluster, struct neap_pod *pod,
			   struct neap_cluster_node *node)
{
	bool is_shifted;

	if (!node)
		return;
	is_shifted = neap_cluster_shift_stand(cluster, node, pod, 1);
	/* There is room in the list, as it was there. */
	(void)neap_cluster_seat(cluster, pod, node, NULL);
	if (is_shifted)
		neap_cluster_end_shift(cluster, node, pod, 1);
}

/* --- budgets --- */

static void free_budget(struct neap_cluster_budget *budget)
{
	if (!budget)
		return;
	(void)neap_object_unref(budget->object);
	neap_selector_free(budget->selector);
	free(budget);
}

void neap_cluster_free_budgets(struct neap_cluster *cluster)
{
	for (size_t i = cluster->budgets ? neap_map_count(cluster->budgets) : 0; i--;)
		free_budget(neap_map_at(cluster->budgets, i, NULL));
	neap_map_free(cluster->budgets);
}

static int read_budget(struct neap_cluster_budget *budget, struct neap_error *err)
{
	json_t *tree = neap_object_tree(budget->object);
	const json_t *selector =
		json_object_get(json_object_get(tree, "spec"), "selector");
	int ret = 0;

	if (!tree)
		return neap_error_nomem(err);
	budget->allowed = json_integer_value(
		json_object_get(json_object_get(tree, "status"), "disruptionsAllowed"));
	if (json_is_object(selector))
		ret = neap_selector_parse(selector, &budget->selector, err);
	json_decref(tree);
	return ret == -NEAP_ENOMEM ? ret : 0;
}

int neap_cluster_set_budget(struct neap_cluster *cluster, struct neap_object *object,
			    struct neap_error *err)
{
	struct neap_cluster_budget *budget = neap_alloc(sizeof(*budget)), *before;
	char key[NEAP_POD_KEY];
	int ret;

	if (!budget)
		return neap_error_nomem(err);
	budget->object = neap_object_ref(object);
	ret = read_budget(budget, err);
	before = neap_map_find(cluster->budgets,
			       neap_pod_key(object->ns, object->name, key));
	if (ret == 0 && !neap_map_set(cluster->budgets, key, budget))
		ret = neap_error_nomem(err);
	free_budget(ret == 0 ? before : budget);
	cluster->generation++;
	return ret;
}

void neap_cluster_remove_budget(struct neap_cluster *cluster, const char *ns,
				const char *name)
{
	char key[NEAP_POD_KEY];

	free_budget(neap_map_remove(cluster->budgets, neap_pod_key(ns, name, key)));
	cluster->generation++;
}

const struct neap_cluster_budget *neap_cluster_budget(const struct neap_cluster *cluster,
						      size_t index)
{
	return index < neap_map_count(cluster->budgets)
		       ? neap_map_at(cluster->budgets, index, NULL)
		       : NULL;
}
