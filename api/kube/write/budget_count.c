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
#include "engine/json/json.h"

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
	const json_t *labels = neap_json_at(budget, "spec.selector");
	struct neap_budget_count *count = neap_alloc(sizeof(*count));
	int code = 0;

	if (!count)
		return neap_error_nomem(err);
	count->kube = kube;
	count->budget = budget;
	count->is_number = json_is_integer(neap_json_at(budget, "spec.minAvailable"));
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

/* The reference that says "controller"; NULL. */
static const json_t *budget_controller_of(const json_t *tree)
{
	const json_t *list = neap_json_at(tree, "metadata.ownerReferences");
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

/* --- controllers ---
 *
 * The controllers of pods, for a question to disruption budgets. There may be thousands,
 * each with a text of a megabyte, and a question that takes several turns counts them all
 * again in its last turn. So each controller is read once; later turns only check that it
 * is still the same object. */

/* Bytes of text that are read in one step. */
#define STEP_BYTES 4

/* The target of a reference, and the object found there. */
struct place {
	const struct neap_kube_kind *kind; /* counted reference; NULL: unknown kind */
	char *name;
	char uid[NEAP_OBJECT_UID];
	struct neap_object *object; /* counted reference; NULL: not found */
};

struct known {
	struct place own, upper; /* upper.kind NULL: it has no owner that matters */
	struct budget_controller says;
};

struct budget_controllers {
	struct neap_kube *kube;
	char ns[NEAP_OBJECT_NAMESPACE];
	struct neap_map *by_uid; /* struct known */
	int64_t steps;
};

struct budget_controllers *budget_controllers_new(struct neap_kube *kube, const char *ns)
{
	struct budget_controllers *controllers = neap_alloc(sizeof(*controllers));

	if (!controllers)
		return NULL;
	controllers->kube = kube;
	(void)neap_strcopy(controllers->ns, sizeof(controllers->ns), ns);
	controllers->by_uid = neap_map_new();
	if (controllers->by_uid)
		return controllers;
	free(controllers);
	return NULL;
}

static void place_done(struct place *place)
{
	(void)neap_kube_kind_unref(place->kind);
	neap_object_unref(place->object);
	free(place->name);
	*place = (struct place){0};
}

static void known_free(struct known *known)
{
	place_done(&known->own);
	place_done(&known->upper);
	free(known);
}

void budget_controllers_free(struct budget_controllers *controllers)
{
	if (!controllers)
		return;
	for (size_t i = 0; i < neap_map_count(controllers->by_uid); i++)
		known_free(neap_map_at(controllers->by_uid, i, NULL));
	neap_map_free(controllers->by_uid);
	free(controllers);
}

int64_t budget_controllers_take_steps(struct budget_controllers *controllers)
{
	int64_t steps = controllers->steps;

	controllers->steps = 0;
	return steps;
}

int64_t budget_steps_of_text(const struct neap_object *object)
{
	return 1 + object->text_len / STEP_BYTES;
}

/* --- what is there --- */

static struct neap_object *find(const struct budget_controllers *controllers,
				const struct place *place)
{
	char resource[NEAP_STORE_RESOURCE];
	struct neap_object *found;

	if (!place->kind)
		return NULL;
	neap_kube_kind_resource(neap_kube_kind_stored(place->kind), resource,
				sizeof(resource));
	found = neap_store_newest(controllers->kube->store, resource,
				  place->kind->is_namespaced ? controllers->ns : "",
				  place->name);
	return found && strcmp(found->uid, place->uid) == 0 ? found : NULL;
}

/* False without memory. */
static bool read_place(struct budget_controllers *controllers, const json_t *owner,
		       struct place *ret)
{
	const char *uid = json_string_value(json_object_get(owner, "uid"));
	const char *name = json_string_value(json_object_get(owner, "name"));

	*ret = (struct place){0};
	(void)neap_strcopy(ret->uid, sizeof(ret->uid), uid ? uid : "");
	if (!name || !uid)
		return true;
	ret->name = neap_strdup(name);
	if (!ret->name)
		return false;
	ret->kind = kube_owner_kind(controllers->kube, owner);
	if (ret->kind)
		(void)neap_kube_kind_ref(ret->kind);
	ret->object = find(controllers, ret);
	if (ret->object)
		(void)neap_object_ref(ret->object);
	return true;
}

/* *ret: whether the object has replicas, in *ret_replicas. *ret_owner: its controller, a
 * new reference, may be NULL. False without memory. */
static bool read_replicas(struct budget_controllers *controllers,
			  const struct place *place, bool *ret, int64_t *ret_replicas,
			  json_t **ret_owner)
{
	const json_t *replicas;
	json_t *tree;

	*ret = false;
	*ret_replicas = 0;
	if (!place->object || !place->kind->replicas_path)
		return true;
	controllers->steps += budget_steps_of_text(place->object);
	tree = neap_object_tree(place->object);
	if (!tree)
		return false;
	replicas = neap_json_at(tree, place->kind->replicas_path);
	*ret = json_is_integer(replicas);
	*ret_replicas = json_integer_value(replicas);
	if (ret_owner)
		*ret_owner = json_incref((json_t *)(uintptr_t)budget_controller_of(tree));
	json_decref(tree);
	return true;
}

/* A ReplicaSet of a Deployment counts as many as the Deployment wants. The same holds for
 * any object with replicas whose owner has replicas. */
static bool read_known(struct budget_controllers *controllers, const json_t *owner,
		       struct known *known)
{
	struct budget_controller *says = &known->says;
	json_t *upper = NULL;
	bool is_fine;

	is_fine = read_place(controllers, owner, &known->own) &&
		  read_replicas(controllers, &known->own, &says->has_replicas,
				&says->replicas, &upper);
	is_fine = is_fine && (!upper || read_place(controllers, upper, &known->upper));
	says->has_upper = known->upper.object && known->upper.kind->replicas_path;
	(void)neap_strcopy(says->upper_uid, sizeof(says->upper_uid), known->upper.uid);
	is_fine = is_fine &&
		  (!says->has_upper ||
		   read_replicas(controllers, &known->upper, &says->upper_has_replicas,
				 &says->upper_replicas, NULL));
	json_decref(upper);
	return is_fine;
}

const struct budget_controller *
budget_controllers_find(struct budget_controllers *controllers, const char *uid)
{
	struct known *known = neap_map_find(controllers->by_uid, uid);

	if (!known)
		return NULL;
	controllers->steps++;
	if (find(controllers, &known->own) == known->own.object &&
	    find(controllers, &known->upper) == known->upper.object)
		return &known->says;
	(void)neap_map_remove(controllers->by_uid, uid);
	known_free(known);
	return NULL;
}

const struct budget_controller *
budget_controllers_read(struct budget_controllers *controllers, const json_t *owner)
{
	const char *uid = json_string_value(json_object_get(owner, "uid"));
	struct known *known = neap_alloc(sizeof(*known));

	if (known && uid && read_known(controllers, owner, known) &&
	    neap_map_set(controllers->by_uid, uid, known))
		return &known->says;
	if (known)
		known_free(known);
	return NULL;
}
