/* SPDX-License-Identifier: Apache-2.0
 *
 * Nominated pods, for which room is being made, and the budgets that limit victims. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cluster/cluster_priv.h"
#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

/* --- nominations --- */

bool neap_cluster_nominate(struct neap_cluster *cluster, struct neap_pod *pod,
			   const char *node)
{
	char key[NEAP_POD_KEY];
	const char *copy = "", *before = "";

	if (neap_map_find(cluster->nominees, neap_pod_seat_key(pod, key)) == pod)
		before = pod->nominated;
	if (*node) {
		copy = node == pod->nominated ? node
					      : neap_arena_strdup(&pod->arena, node);
		if (!copy || !neap_map_set(cluster->nominees, key, pod))
			return false;
	} else {
		(void)neap_cluster_end_nomination(cluster, pod);
	}
	if (*before && strcmp(before, node) != 0)
		cluster->moved |= NEAP_MOVED_POD_GONE;
	if (*before || *node)
		cluster->generation++;
	pod->nominated = copy;
	return true;
}

bool neap_cluster_end_nomination(struct neap_cluster *cluster, const struct neap_pod *pod)
{
	char key[NEAP_POD_KEY];

	return *pod->nominated &&
	       neap_map_remove(cluster->nominees, neap_pod_seat_key(pod, key));
}

unsigned neap_cluster_take_moved(struct neap_cluster *cluster)
{
	unsigned moved = cluster->moved;

	cluster->moved = 0;
	return moved;
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

	/* On a missing node, the last pod would take the row with it. */
	if (!node || !node->object)
		return NULL;
	/* Flags only say that there may be such pods, and stay. */
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

struct budgets {
	struct neap_cluster_budget *first;
};

static void free_budget(struct neap_cluster_budget *budget)
{
	if (!budget)
		return;
	(void)neap_object_unref(budget->object);
	neap_selector_free(budget->selector);
	json_decref(budget->disrupted);
	free(budget);
}

void neap_cluster_free_budgets(struct neap_cluster *cluster)
{
	for (size_t i = cluster->budgets ? neap_map_count(cluster->budgets) : 0; i--;) {
		struct budgets *of = neap_map_at(cluster->budgets, i, NULL);

		while (of->first) {
			struct neap_cluster_budget *budget = of->first;

			of->first = budget->next;
			free_budget(budget);
		}
		free(of);
	}
	neap_map_free(cluster->budgets);
}

static int read_budget(struct neap_cluster_budget *budget, struct neap_error *err)
{
	neap_auto_json json_t *tree = neap_object_tree(budget->object);
	const json_t *status = json_object_get(tree, "status");
	const json_t *selector =
		json_object_get(json_object_get(tree, "spec"), "selector");
	int ret = 0;

	if (!tree)
		return neap_error_nomem(err);
	budget->allowed =
		json_integer_value(json_object_get(status, "disruptionsAllowed"));
	budget->disrupted = json_incref(json_object_get(status, "disruptedPods"));
	if (json_object_size(json_object_get(selector, "matchLabels")) ||
	    json_array_size(json_object_get(selector, "matchExpressions")))
		ret = neap_selector_parse(selector, &budget->selector, err);
	return ret == -NEAP_ENOMEM ? ret : 0;
}

/* NULL without memory. */
static struct budgets *make_namespace(struct neap_cluster *cluster, const char *ns)
{
	struct budgets *of = neap_map_find(cluster->budgets, ns);

	if (of)
		return of;
	of = neap_alloc(sizeof(*of));
	if (of && neap_map_set(cluster->budgets, ns, of))
		return of;
	free(of);
	return NULL;
}

/* The link to the budget of that name, or where it would be. */
static struct neap_cluster_budget **find_link(struct budgets *of, const char *name)
{
	struct neap_cluster_budget **link = &of->first;

	while (*link && strcmp((*link)->object->name, name) != 0)
		link = &(*link)->next;
	return link;
}

int neap_cluster_set_budget(struct neap_cluster *cluster, struct neap_object *object,
			    struct neap_error *err)
{
	struct neap_cluster_budget *budget = neap_alloc(sizeof(*budget)), **link, *before;
	struct budgets *of;
	int ret;

	if (!budget)
		return neap_error_nomem(err);
	budget->object = neap_object_ref(object);
	ret = read_budget(budget, err);
	of = ret == 0 ? make_namespace(cluster, object->ns) : NULL;
	if (!of) {
		free_budget(budget);
		return ret < 0 ? ret : neap_error_nomem(err);
	}
	link = find_link(of, object->name);
	before = *link;
	budget->next = before ? before->next : NULL;
	*link = budget;
	free_budget(before);
	cluster->generation++;
	return 0;
}

void neap_cluster_remove_budget(struct neap_cluster *cluster, const char *ns,
				const char *name)
{
	struct budgets *of = neap_map_find(cluster->budgets, ns);
	struct neap_cluster_budget **link = of ? find_link(of, name) : NULL;
	struct neap_cluster_budget *budget = link ? *link : NULL;

	if (!budget)
		return;
	*link = budget->next;
	free_budget(budget);
	if (!of->first)
		free(neap_map_remove(cluster->budgets, ns));
	cluster->generation++;
}

struct neap_cluster_budget *neap_cluster_budgets(const struct neap_cluster *cluster,
						 const char *ns)
{
	const struct budgets *of = neap_map_find(cluster->budgets, ns);

	return of ? of->first : NULL;
}
