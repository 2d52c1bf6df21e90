/* SPDX-License-Identifier: Apache-2.0
 *
 * The controllers of pods, for a question to disruption budgets. There may be thousands,
 * each with a text of a megabyte, and a question that takes several turns counts them all
 * again in its last turn. So each controller is read once; later turns only check that it
 * is still the same object. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/request/call.h"
#include "api/kube/write/budget_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

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
	replicas = kube_scale_at(tree, place->kind->replicas_path);
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
