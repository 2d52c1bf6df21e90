/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/loop/owners.h"

#include <stdlib.h>
#include <string.h>

#include "api/workload/loop/tree.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

struct neap_owners {
	struct neap_map *by_name; /* "NAMESPACE/NAME": struct neap_owner */
	struct neap_map *by_uid;  /* the same */
	/* The object whose owners are being searched by selector, and how many owners are
	 * left. The search runs from the end of by_name to its begin, so removals do not
	 * skip any. New owners look for themselves. */
	struct neap_object *selected;
	size_t left;
};

static void key_of(const char *ns, const char *name, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s/%s", ns, name);
}

static void owner_free(struct neap_owner *owner)
{
	neap_selector_free(owner->selector);
	free(owner);
}

struct neap_owners *neap_owners_new(void)
{
	struct neap_owners *owners = neap_alloc(sizeof(*owners));

	if (!owners)
		return NULL;
	owners->by_name = neap_map_new();
	owners->by_uid = neap_map_new();
	if (!owners->by_name || !owners->by_uid) {
		neap_owners_free(owners);
		return NULL;
	}
	return owners;
}

void neap_owners_free(struct neap_owners *owners)
{
	if (!owners)
		return;
	for (size_t i = 0; owners->by_name && i < neap_map_count(owners->by_name); i++)
		owner_free(neap_map_at(owners->by_name, i, NULL));
	neap_map_free(owners->by_name);
	neap_map_free(owners->by_uid);
	neap_object_unref(owners->selected);
	free(owners);
}

void neap_owners_drop(struct neap_owners *owners, const char *ns, const char *name)
{
	char key[NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME];
	struct neap_owner *owner;

	key_of(ns, name, key, sizeof(key));
	owner = neap_map_remove(owners->by_name, key);
	if (!owner)
		return;
	(void)neap_map_remove(owners->by_uid, owner->uid);
	owner_free(owner);
}

const struct neap_owner *neap_owners_get(struct neap_owners *owners,
					 const struct neap_object *object,
					 const json_t *tree)
{
	char key[NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME];
	struct neap_owner *owner;

	key_of(object->ns, object->name, key, sizeof(key));
	owner = neap_map_find(owners->by_name, key);
	if (owner && owner->version == object->version)
		return owner;
	neap_owners_drop(owners, object->ns, object->name);
	owner = neap_alloc(sizeof(*owner));
	if (!owner)
		return NULL;
	if (neap_selector_parse(neap_tree_at(tree, "spec.selector"), &owner->selector,
				NULL) < 0) {
		free(owner);
		return NULL;
	}
	owner->version = object->version;
	(void)neap_strcopy(owner->ns, sizeof(owner->ns), object->ns);
	(void)neap_strcopy(owner->name, sizeof(owner->name), object->name);
	(void)neap_strcopy(owner->uid, sizeof(owner->uid), object->uid);
	(void)neap_strcopy(owner->controller, sizeof(owner->controller),
			   neap_tree_text(neap_tree_controller(tree), "uid"));
	if (!neap_map_set(owners->by_uid, owner->uid, owner)) {
		owner_free(owner);
		return NULL;
	}
	if (!neap_map_set(owners->by_name, key, owner)) {
		(void)neap_map_remove(owners->by_uid, owner->uid);
		owner_free(owner);
		return NULL;
	}
	return owner;
}

const struct neap_owner *neap_owners_find(const struct neap_owners *owners,
					  const char *uid)
{
	return neap_map_find(owners->by_uid, uid);
}

void neap_owners_due(const struct neap_owners *owners, struct neap_feed *feed,
		     const struct neap_object *object)
{
	const char *uid = object->owners;

	for (unsigned i = 0; i < object->owner_count; i++, uid += strlen(uid) + 1) {
		const struct neap_owner *owner = neap_owners_find(owners, uid);

		if (owner)
			neap_feed_due(feed, owner->ns, owner->name, 0);
	}
}

void neap_owners_due_selecting(struct neap_owners *owners, struct neap_object *object)
{
	neap_object_unref(owners->selected);
	owners->selected = neap_object_ref(object);
	owners->left = neap_map_count(owners->by_name);
}

bool neap_owners_rest(struct neap_owners *owners, struct neap_feed *feed)
{
	const struct neap_object *object = owners->selected;

	if (!object)
		return true;
	if (owners->left > neap_map_count(owners->by_name))
		owners->left = neap_map_count(owners->by_name);
	for (bool is_first = true; owners->left; is_first = false) {
		const struct neap_owner *owner;

		if (!is_first && !neap_feed_has_steps(feed))
			return false;
		owner = neap_map_at(owners->by_name, --owners->left, NULL);
		neap_feed_spend(feed, 1);
		if (strcmp(owner->ns, object->ns) != 0)
			continue;
		neap_feed_spend(feed, neap_feed_steps_of(object, owner->selector));
		if (neap_object_is_selected(object, owner->selector))
			neap_feed_due(feed, owner->ns, owner->name, 0);
	}
	owners->selected = neap_object_unref(owners->selected);
	return true;
}
