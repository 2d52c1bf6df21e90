/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the pods of a disruption budget. The expected number comes from the pods'
 * owners: a set of three with one pod missing still counts as three. A pod without an
 * owner with replicas counts as itself. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/request/call.h"
#include "api/kube/write/budget_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

struct neap_budget_count {
	struct neap_kube *kube;
	const json_t *budget;           /* borrowed */
	struct neap_selector *selector; /* NULL: selects no pod */
	bool is_number;                 /* minAvailable is a number: owners are ignored */
	struct neap_map *owners;        /* uid: with_replicas or without */
	struct budget_controllers *controllers,
		*own;     /* own: NULL where by_uid is shared */
	size_t looked_up; /* of the owners */
	int64_t pods, healthy;
	int64_t replicas; /* the sum over the owners */
	int64_t single;   /* pods without an owner with replicas */
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
	budget_controllers_free(count->own);
	free(count);
}

void budget_count_share(struct neap_budget_count *count,
			struct budget_controllers *controllers)
{
	count->controllers = controllers;
}

const struct neap_selector *budget_count_selector(const struct neap_budget_count *count)
{
	return count->selector;
}

bool neap_budget_count_has(const struct neap_budget_count *count,
			   const struct neap_object *pod)
{
	return count->selector && neap_object_is_selected(pod, count->selector);
}

/* --- who made it --- */

const json_t *budget_controller_of(const json_t *tree)
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

/* Counts the owner's replicas once, for all its pods. False without memory. */
static bool add_owner(struct neap_budget_count *count, const char *uid, bool has,
		      int64_t replicas)
{
	if (neap_map_find(count->owners, uid))
		return true;
	if (has)
		count->replicas += replicas;
	return neap_map_set(count->owners, uid, has ? &with_replicas : &without);
}

static struct budget_controllers *controllers_of(struct neap_budget_count *count,
						 const char *ns)
{
	if (!count->controllers)
		count->controllers = count->own = budget_controllers_new(count->kube, ns);
	return count->controllers;
}

/* For the first pod of a controller. *ret: whether it has replicas. False without
 * memory. */
static bool add_controller(struct neap_budget_count *count, const struct neap_object *pod,
			   const char *uid, bool *ret)
{
	struct budget_controllers *controllers = controllers_of(count, pod->ns);
	const struct budget_controller *says = NULL;
	json_t *tree;
	bool is_fine;

	if (!controllers)
		return false;
	says = budget_controllers_find(controllers, uid);
	if (!says) {
		tree = neap_object_tree(pod);
		if (tree)
			says = budget_controllers_read(controllers,
						       budget_controller_of(tree));
		json_decref(tree);
	}
	if (!says)
		return false;
	is_fine = !says->has_upper ||
		  (add_owner(count, says->upper_uid, says->upper_has_replicas,
			     says->upper_replicas) &&
		   neap_map_set(count->owners, uid,
				neap_map_find(count->owners, says->upper_uid)));
	is_fine = is_fine && add_owner(count, uid, says->has_replicas, says->replicas);
	*ret = is_fine && neap_map_find(count->owners, uid) == &with_replicas;
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

/* What counting needs of a pod, cached with it: its text is parsed once. */
#define IS_NOTED    1U
#define IS_FINISHED 2U
#define IS_READY    4U
/* The higher bits: the index of the controller among the pod's owners, from 1; 0: it has
 * none. */
#define CONTROLLER_SHIFT 8

static uint32_t note_tree(const struct neap_object *pod, const json_t *tree)
{
	const json_t *status = json_object_get(tree, "status");
	const char *uid =
		json_string_value(json_object_get(budget_controller_of(tree), "uid"));
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

bool neap_budget_count_note(struct neap_object *pod)
{
	json_t *tree;

	if (neap_budget_count_knows(pod))
		return true;
	tree = neap_object_tree(pod);
	if (!tree)
		return false;
	pod->noted = note_tree(pod, tree);
	json_decref(tree);
	return true;
}

bool neap_budget_count_add(struct neap_budget_count *count, struct neap_object *pod)
{
	const char *uid;
	void *owner = NULL;
	bool is_owned = false;

	if (!neap_budget_count_note(pod))
		return false;
	if (pod->noted & IS_FINISHED)
		return true;
	uid = count->is_number ? NULL : controller_uid(pod);
	if (uid)
		owner = neap_map_find(count->owners, uid);
	if (!uid || owner)
		return add_pod(count, pod, owner == &with_replicas);
	count->looked_up++;
	return add_controller(count, pod, uid, &is_owned) &&
	       add_pod(count, pod, is_owned);
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
