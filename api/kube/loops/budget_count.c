/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting the pods of a disruption budget. How many there should be is told by what made them: a set of
 * three of which one is missing is still one of three. Pods that nothing with replicas made stand for
 * themselves. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/kube_priv.h"
#include "api/kube/loops/budget.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

struct neap_budget_count {
	struct neap_kube *kube;
	const json_t *budget;           /* borrowed */
	struct neap_selector *selector; /* NULL: of no pod */
	bool is_number;                 /* minAvailable is one: owners do not matter */
	struct neap_map *owners;        /* uid: with_replicas or without */
	size_t looked_up;               /* of the owners */
	int64_t pods, healthy;
	int64_t replicas; /* of all owners */
	int64_t single;   /* pods without an owner that has replicas */
};

static char with_replicas, without;

int neap_budget_count_new(struct neap_kube *kube, const json_t *budget,
			  struct neap_budget_count **ret, struct neap_error *err)
{
	const json_t *labels =
		json_object_get(json_object_get(budget, "spec"), "selector");
	struct neap_budget_count *count = neap_alloc(sizeof(*count));
	int code = 0;

	if (!count)
		return neap_error_nomem(err);
	count->kube = kube;
	count->budget = budget;
	count->is_number = json_is_integer(
		json_object_get(json_object_get(budget, "spec"), "minAvailable"));
	count->owners = neap_map_new();
	if (!count->owners)
		code = neap_error_nomem(err);
	else if (json_is_object(labels))
		code = neap_selector_parse(labels, &count->selector, err);
	if (code < 0) {
		neap_budget_count_free(count);
		return code;
	}
	*ret = count;
	return 0;
}

void neap_budget_count_free(struct neap_budget_count *count)
{
	if (!count)
		return;
	neap_selector_free(count->selector);
	neap_map_free(count->owners);
	free(count);
}

bool neap_budget_count_has(const struct neap_budget_count *count,
			   const struct neap_object *pod)
{
	return count->selector && neap_object_is_selected(pod, count->selector);
}

/* --- who made it --- */

static const json_t *controller_of(const json_t *tree)
{
	const json_t *list =
		json_object_get(json_object_get(tree, "metadata"), "ownerReferences");
	const json_t *owner;
	size_t i;

	json_array_foreach (list, i, owner)
		if (json_is_true(json_object_get(owner, "controller")))
			return owner;
	return NULL;
}

/* Its replicas count once, however many of its pods come by. False without memory. */
static bool add_owner(struct neap_budget_count *count, const char *uid,
		      const json_t *replicas)
{
	bool has = json_is_integer(replicas);

	if (neap_map_find(count->owners, uid))
		return true;
	if (has)
		count->replicas += json_integer_value(replicas);
	return neap_map_set(count->owners, uid, has ? &with_replicas : &without);
}

/* A ReplicaSet of a Deployment is as many as that wants, and so for whatever has replicas and is owned by what
 * has some. *ret: whether it has replicas. False without memory. */
static bool add_controller(struct neap_budget_count *count, const char *ns,
			   const json_t *owner, bool *ret)
{
	const char *uid = json_string_value(json_object_get(owner, "uid"));
	const struct neap_kube_kind *kind, *upper_kind;
	const struct neap_object *object, *upper;
	json_t *tree = NULL, *upper_tree = NULL;
	const json_t *replicas = NULL;
	bool is_fine = true;
	void *known;

	*ret = false;
	if (!uid)
		return true;
	known = neap_map_find(count->owners, uid);
	*ret = known == &with_replicas;
	if (known)
		return true;
	object = kube_owner_find(count->kube, ns, owner, &kind);
	if (object && kind->replicas_path) {
		tree = neap_object_tree(object);
		is_fine = tree;
		replicas = kube_scale_at(tree, kind->replicas_path);
		owner = controller_of(tree);
		upper = owner ? kube_owner_find(count->kube, ns, owner, &upper_kind)
			      : NULL;
		if (upper && upper_kind->replicas_path) {
			upper_tree = neap_object_tree(upper);
			is_fine = upper_tree &&
				  add_owner(count, upper->uid,
					    kube_scale_at(upper_tree,
							  upper_kind->replicas_path)) &&
				  neap_map_set(count->owners, uid,
					       neap_map_find(count->owners, upper->uid));
		}
	}
	is_fine = is_fine && add_owner(count, uid, replicas);
	*ret = is_fine && neap_map_find(count->owners, uid) == &with_replicas;
	json_decref(upper_tree);
	json_decref(tree);
	return is_fine;
}

/* --- pods --- */

bool neap_budget_is_true(const json_t *status, const char *type)
{
	const json_t *condition;
	size_t i;

	json_array_foreach (json_object_get(status, "conditions"), i, condition) {
		const char *its_type =
			json_string_value(json_object_get(condition, "type"));
		const char *value =
			json_string_value(json_object_get(condition, "status"));

		if (its_type && value && strcmp(its_type, type) == 0)
			return strcmp(value, "True") == 0;
	}
	return false;
}

bool neap_budget_is_finished(const json_t *status)
{
	const char *phase = json_string_value(json_object_get(status, "phase"));

	return phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

/* What counting asks of a pod, kept with it: text is parsed once. */
#define IS_NOTED    1U
#define IS_FINISHED 2U
#define IS_READY    4U
/* Behind these the number of its controller among its owners, from 1 on; 0: it has none. */
#define CONTROLLER_SHIFT 8

static uint32_t note_tree(const struct neap_object *pod, const json_t *tree)
{
	const json_t *status = json_object_get(tree, "status");
	const char *uid = json_string_value(json_object_get(controller_of(tree), "uid"));
	const char *owner = pod->owners;
	uint32_t noted = IS_NOTED;

	if (neap_budget_is_finished(status))
		noted |= IS_FINISHED;
	if (neap_budget_is_true(status, "Ready"))
		noted |= IS_READY;
	for (uint32_t i = 0; uid && i < pod->owner_count; i++, owner += strlen(owner) + 1)
		if (strcmp(owner, uid) == 0) {
			noted |= (i + 1) << CONTROLLER_SHIFT;
			break;
		}
	return noted;
}

static const char *controller_uid(const struct neap_object *pod)
{
	const char *owner = pod->owners;
	uint32_t number = pod->noted >> CONTROLLER_SHIFT;

	if (!number)
		return NULL;
	while (--number)
		owner += strlen(owner) + 1;
	return owner;
}

size_t neap_budget_count_owners(const struct neap_budget_count *count)
{
	return count->looked_up;
}

bool neap_budget_count_knows(const struct neap_object *pod)
{
	return pod->noted & IS_NOTED;
}

static bool add_pod(struct neap_budget_count *count, const struct neap_object *pod,
		    bool is_owned)
{
	count->pods++;
	if (!is_owned)
		count->single++;
	if (!pod->is_deleting && (pod->noted & IS_READY))
		count->healthy++;
	return true;
}

bool neap_budget_count_add(struct neap_budget_count *count, struct neap_object *pod)
{
	const char *uid;
	void *owner = NULL;
	bool is_fine, is_owned = false;
	json_t *tree = NULL;

	if (!neap_budget_count_knows(pod)) {
		tree = neap_object_tree(pod);
		if (!tree)
			return false;
		pod->noted = note_tree(pod, tree);
	}
	uid = count->is_number ? NULL : controller_uid(pod);
	if (uid)
		owner = neap_map_find(count->owners, uid);
	if ((pod->noted & IS_FINISHED) || !uid || owner) {
		json_decref(tree);
		return (pod->noted & IS_FINISHED) ||
		       add_pod(count, pod, owner == &with_replicas);
	}
	/* The first of its controller. */
	count->looked_up++;
	if (!tree)
		tree = neap_object_tree(pod);
	is_fine = tree && add_controller(count, pod->ns, controller_of(tree), &is_owned);
	json_decref(tree);
	return is_fine && add_pod(count, pod, is_owned);
}

/* --- what it comes to --- */

void neap_budget_count_end(const struct neap_budget_count *count,
			   struct neap_budget_figures *ret)
{
	int64_t allowed;

	ret->expected = count->is_number ? count->pods : count->replicas + count->single;
	ret->healthy = count->healthy;
	ret->need = neap_budget_need(count->budget, ret->expected);
	allowed = ret->healthy - ret->need;
	ret->allowed = ret->expected > 0 && allowed > 0 ? allowed : 0;
}
