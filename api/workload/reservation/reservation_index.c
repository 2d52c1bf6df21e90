/* SPDX-License-Identifier: Apache-2.0
 *
 * Most pods use no reservation and cost one text search for the annotation's name.
 * Designed for ten thousand that do, at about 3 KB each. Changes of a pod that do not
 * matter here, such as a restarted container, are not reported. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/loop/tree.h"
#include "api/workload/reservation/reservations_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

bool reservation_index_init(struct reservation_index *index)
{
	index->targets = neap_map_new();
	index->users = neap_map_new();
	return index->targets && index->users;
}

static void user_free(struct reservation_user *user)
{
	(void)neap_pod_unref(user->pod);
	free(user);
}

void reservation_index_clear(struct reservation_index *index)
{
	const char *key;

	for (size_t i = neap_map_count(index->users); i-- > 0;) {
		user_free(neap_map_at(index->users, i, &key));
		(void)neap_map_remove(index->users, key);
	}
	for (size_t i = neap_map_count(index->targets); i-- > 0;) {
		free(neap_map_at(index->targets, i, &key));
		(void)neap_map_remove(index->targets, key);
	}
}

void reservation_index_done(struct reservation_index *index)
{
	if (index->targets && index->users)
		reservation_index_clear(index);
	neap_map_free(index->targets);
	neap_map_free(index->users);
}

/* --- targets --- */

struct reservation_target *reservation_target_find(const struct reservation_index *index,
						   const char *uid)
{
	return neap_map_find(index->targets, uid);
}

/* NULL without memory. */
static struct reservation_target *target_get(struct reservation_index *index,
					     const char *uid)
{
	struct reservation_target *target = reservation_target_find(index, uid);

	if (target)
		return target;
	target = neap_alloc(sizeof(*target));
	if (!target || !neap_map_set(index->targets, uid, target)) {
		free(target);
		return NULL;
	}
	(void)neap_strcopy(target->uid, sizeof(target->uid), uid);
	return target;
}

static void target_tidy(struct reservation_index *index,
			struct reservation_target *target)
{
	if (target->is_known || target->users)
		return;
	(void)neap_map_remove(index->targets, target->uid);
	free(target);
}

struct reservation_target *reservation_target_set(struct reservation_index *index,
						  const struct neap_object *object)
{
	struct reservation_target *target = target_get(index, object->uid);

	if (!target)
		return NULL;
	target->is_known = true;
	(void)neap_strcopy(target->ns, sizeof(target->ns), object->ns);
	(void)neap_strcopy(target->name, sizeof(target->name), object->name);
	return target;
}

void reservation_target_drop(struct reservation_index *index, const char *uid)
{
	struct reservation_target *target = reservation_target_find(index, uid);

	if (!target)
		return;
	target->is_known = false;
	target_tidy(index, target);
}

/* --- users --- */

/* Whether the text contains the annotation's name. */
bool reservation_may_use(const struct neap_object *pod)
{
	static const char key[] = "\"" NEAP_KEY_RESERVATION_ALLOCATED "\"";

	return memmem(pod->text, pod->text_len, key, sizeof(key) - 1) != NULL;
}

/* The uid in the annotation; "": not a valid uid. False without memory. */
static bool read_target(const json_t *tree, char ret[NEAP_OBJECT_UID])
{
	const char *text = neap_tree_entry(tree, "metadata.annotations",
					   NEAP_KEY_RESERVATION_ALLOCATED);
	neap_auto_json json_t *json = NULL;
	json_error_t where;
	int rc = *text ? neap_json_parse(text, strlen(text), 0, &json, &where) : 0;

	if (!neap_strcopy(ret, NEAP_OBJECT_UID, neap_tree_text(json, "uid")))
		*ret = '\0';
	return rc != -NEAP_ENOMEM;
}

static bool read_requests(struct reservation_user *user, const struct neap_object *pod,
			  const struct neap_resources *resources)
{
	struct neap_error err;

	if (neap_pod_new((struct neap_object *)(uintptr_t)pod, resources, &user->pod,
			 &err) < 0)
		return false;
	neap_pod_amounts(user->pod, &user->requests);
	return true;
}

const struct neap_amounts *
reservation_user_requests(struct reservation_user *user,
			  const struct neap_resources *resources)
{
	if (neap_pod_resolve(user->pod, resources))
		neap_pod_amounts(user->pod, &user->requests);
	return &user->requests;
}

/* The pod as a user that is not filed yet; *ret NULL: it uses none. False without
 * memory. */
static bool read_user(const struct neap_object *pod,
		      const struct neap_resources *resources,
		      char target[NEAP_OBJECT_UID], struct reservation_user **ret)
{
	struct reservation_user *user;
	const char *phase;
	json_t *tree;

	*ret = NULL;
	if (!reservation_may_use(pod))
		return true;
	tree = neap_object_tree(pod);
	if (!tree || !read_target(tree, target)) {
		json_decref(tree);
		return false;
	}
	if (!*target) {
		json_decref(tree);
		return true;
	}
	user = neap_alloc(sizeof(*user));
	if (!user || !read_requests(user, pod, resources)) {
		free(user);
		json_decref(tree);
		return false;
	}
	phase = neap_tree_text(tree, "status.phase");
	user->is_finished =
		strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
	(void)neap_strcopy(user->ns, sizeof(user->ns), pod->ns);
	(void)neap_strcopy(user->name, sizeof(user->name), pod->name);
	(void)neap_strcopy(user->uid, sizeof(user->uid), pod->uid);
	(void)neap_strcopy(user->node, sizeof(user->node),
			   neap_tree_text(tree, "spec.nodeName"));
	json_decref(tree);
	*ret = user;
	return true;
}

static bool is_same(const struct reservation_user *a, const struct reservation_user *b)
{
	if (a->is_finished != b->is_finished || strcmp(a->uid, b->uid) != 0 ||
	    strcmp(a->node, b->node) != 0 || a->requests.count != b->requests.count)
		return false;
	for (size_t i = 0; i < a->requests.count; i++)
		if (neap_amounts_get(&b->requests, a->requests.of[i].resource) !=
		    a->requests.of[i].amount)
			return false;
	return true;
}

static void unlink_user(struct reservation_user *user)
{
	if (user->previous)
		user->previous->next = user->next;
	else
		user->target->users = user->next;
	if (user->next)
		user->next->previous = user->previous;
}

static void link_user(struct reservation_user *user, struct reservation_target *target)
{
	user->target = target;
	user->next = target->users;
	if (user->next)
		user->next->previous = user;
	target->users = user;
}

bool reservation_user_set(struct reservation_index *index, const struct neap_object *pod,
			  bool is_gone, const struct neap_resources *resources,
			  void (*tell)(void *arg, struct reservation_target *target),
			  void *arg)
{
	char key[NEAP_POD_KEY], uid[NEAP_OBJECT_UID];
	struct reservation_target *to = NULL, *from;
	struct reservation_user *user = NULL, *old;

	(void)neap_pod_key(pod->ns, pod->name, key);
	old = neap_map_find(index->users, key);
	from = old ? old->target : NULL;
	if (!is_gone && !read_user(pod, resources, uid, &user))
		return false;
	if (user)
		to = target_get(index, uid);
	if (user && (!to || !neap_map_set(index->users, key, user))) {
		if (to)
			target_tidy(index, to);
		user_free(user);
		return false;
	}
	if (!user && old)
		(void)neap_map_remove(index->users, key);
	if (from && from == to && is_same(old, user))
		tell = NULL;
	if (old)
		unlink_user(old);
	if (user)
		link_user(user, to);
	if (tell && from)
		tell(arg, from);
	if (tell && to && to != from)
		tell(arg, to);
	if (old)
		user_free(old);
	if (from)
		target_tidy(index, from);
	return true;
}

bool reservation_user_counts(const struct reservation_user *user, const char *node)
{
	return !user->is_finished && *node && strcmp(user->node, node) == 0;
}
