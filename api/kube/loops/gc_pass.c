/* SPDX-License-Identifier: Apache-2.0
 *
 * Passes over all objects, and over those of a namespace that is being deleted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/events.h"
#include "api/kube/loops/gc_priv.h"
#include "api/kube/write/write.h"
#include "api/task/task.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* How many namespaces are searched for an owner that may be in the wrong one: this must
 * stay cheap. */
#define ELSEWHERE_MAX 64

/* An owner whose dependents are let go before its finalizer is removed. */
struct orphaned {
	const struct neap_kube_kind *kind;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
};

static void orphaned_free(struct orphaned *orphaned)
{
	(void)neap_kube_kind_unref(orphaned->kind);
	free(orphaned);
}

static struct neap_object *newest_of(struct neap_kube_collect *collect,
				     const struct neap_kube_kind *kind, const char *ns,
				     const char *name)
{
	char resource[NEAP_STORE_RESOURCE];

	neap_kube_kind_resource(neap_kube_kind_stored(kind), resource, sizeof(resource));
	return neap_store_newest(collect->kube->store, resource, ns, name);
}

static const json_t *finalizers_of(const json_t *tree)
{
	return neap_json_at(tree, "metadata.finalizers");
}

static bool is_orphan_word(const json_t *value)
{
	const char *text = json_string_value(value);

	return text && strcmp(text, "orphan") == 0;
}

void neap_collect_note_orphans(struct neap_kube_collect *collect,
			       const struct source *source,
			       const struct neap_object *object)
{
	json_t *tree;
	const json_t *value;
	bool is_orphaning = false;
	size_t i;

	if (neap_map_find(collect->orphans, object->uid))
		return;
	tree = neap_object_tree(object);
	json_array_foreach (finalizers_of(tree), i, value)
		is_orphaning = is_orphaning || is_orphan_word(value);
	json_decref(tree);
	if (is_orphaning) {
		struct orphaned *orphaned = neap_alloc(sizeof(*orphaned));

		if (!orphaned)
			return;
		orphaned->kind = neap_kube_kind_ref(source->kind);
		(void)neap_strcopy(orphaned->ns, sizeof(orphaned->ns), object->ns);
		(void)neap_strcopy(orphaned->name, sizeof(orphaned->name), object->name);
		if (!neap_map_set(collect->orphans, object->uid, orphaned))
			orphaned_free(orphaned);
	}
}

/* The last one takes its place. */
static void forget_orphan(struct neap_kube_collect *collect, size_t index)
{
	const char *uid;
	struct orphaned *orphaned = neap_map_at(collect->orphans, index, &uid);

	(void)neap_map_remove(collect->orphans, uid);
	orphaned_free(orphaned);
}

bool neap_collect_forget_orphans(struct neap_kube_collect *collect, size_t *left)
{
	size_t count;

	while ((count = neap_map_count(collect->orphans)) && *left) {
		forget_orphan(collect, count - 1);
		(*left)--;
	}
	return !count;
}

/* An object without a namespace cannot have an owner in one. The reference names no
 * object, but counts as an owner that exists. */
static bool is_out_of_scope(const struct neap_object *object, bool is_owner_namespaced)
{
	return !*object->ns && is_owner_namespaced;
}

/* With the message of a kube-controller-manager. */
static void tell_out_of_scope(struct neap_kube_collect *collect,
			      const struct neap_kube_kind *kind,
			      const struct neap_object *object, const json_t *owner)
{
	char version[NEAP_OBJECT_NAME + 64];
	const struct neap_client_note about = {.api_version = version,
					       .kind = kind->kind,
					       .ns = object->ns,
					       .name = object->name,
					       .uid = object->uid,
					       .is_warning = true,
					       .reason = "OwnerRefInvalidNamespace",
					       .component =
						       "garbage-collector-controller"};

	(void)snprintf(version, sizeof(version), "%s%s%s", kind->group,
		       kind->group[0] ? "/" : "", kind->versions[0]);
	neap_client_note(&collect->kube->client.of.client, &about,
			 "ownerRef [%.128s/%.128s, namespace: %s, name: %.253s, uid: "
			 "%.64s] does not exist in namespace \"%s\"",
			 json_string_value(json_object_get(owner, "apiVersion")),
			 json_string_value(json_object_get(owner, "kind")), object->ns,
			 json_string_value(json_object_get(owner, "name")),
			 json_string_value(json_object_get(owner, "uid")), object->ns);
}

struct elsewhere {
	struct neap_kube_collect *collect;
	const struct neap_kube_kind *kind;
	const char *name, *uid;
	size_t left;
	bool is_found;
};

static bool look_in(void *arg, struct neap_object *space)
{
	struct elsewhere *elsewhere = arg;
	const struct neap_object *found = newest_of(elsewhere->collect, elsewhere->kind,
						    space->name, elsewhere->name);

	elsewhere->is_found = found && strcmp(found->uid, elsewhere->uid) == 0;
	return !elsewhere->is_found && --elsewhere->left;
}

/* Whether the owner exists in another namespace, where it cannot own this object. looks:
 * how many namespaces may still be searched. */
static bool is_elsewhere(struct neap_kube_collect *collect,
			 const struct neap_kube_kind *kind, const json_t *owner,
			 size_t *looks)
{
	struct neap_store *store = collect->kube->store;
	struct neap_store_place place = {.version = neap_store_version(store)};
	struct elsewhere elsewhere = {
		.collect = collect,
		.kind = kind,
		.name = json_string_value(json_object_get(owner, "name")),
		.uid = json_string_value(json_object_get(owner, "uid")),
		.left = *looks,
	};
	struct neap_error err;

	if (!*looks)
		return false;
	(void)neap_store_list(store, "namespaces", NULL, &place, look_in, &elsewhere,
			      &err);                      /* none yet */
	*looks = elsewhere.is_found ? 0 : elsewhere.left; /* one event is enough */
	return elsewhere.is_found;
}

/* An owner of an unknown kind is assumed to exist, unless its deletion was seen: deleting
 * cannot be undone. */
static bool is_there(struct neap_kube_collect *collect,
		     const struct neap_kube_kind *own_kind,
		     const struct neap_object *object, const json_t *owner, size_t *looks)
{
	const char *uid = json_string_value(json_object_get(owner, "uid"));
	const struct neap_kube_kind *kind;
	const struct neap_collect_scope *gone;

	if (kube_owner_find(collect->kube, object->ns, owner, &kind))
		return true;
	if (kind && is_out_of_scope(object, kind->is_namespaced)) {
		tell_out_of_scope(collect, own_kind, object, owner);
		return true;
	}
	gone = uid ? neap_map_find(collect->gone, uid) : NULL;
	if (kind && kind->is_namespaced && !gone &&
	    is_elsewhere(collect, kind, owner, looks))
		tell_out_of_scope(collect, own_kind, object, owner);
	if (kind)
		return false;
	return !gone || is_out_of_scope(object, gone->is_namespaced);
}

/* The owners that stay: they exist, and do not orphan their dependents. A new array, NULL
 * without memory. */
static json_t *owners_left(struct neap_kube_collect *collect,
			   const struct neap_kube_kind *kind,
			   const struct neap_object *object, const json_t *owners,
			   bool *ret_let_go)
{
	json_t *left = json_array();
	size_t looks = ELSEWHERE_MAX;
	json_t *owner;
	size_t i;

	*ret_let_go = false;
	json_array_foreach ((json_t *)(uintptr_t)owners, i, owner) {
		const char *uid = json_string_value(json_object_get(owner, "uid"));

		if (uid && neap_map_find(collect->orphans, uid)) {
			*ret_let_go = true;
			continue;
		}
		if (is_there(collect, kind, object, owner, &looks) &&
		    json_array_append(left, owner) < 0) {
			json_decref(left);
			return NULL;
		}
	}
	return left;
}

static void judge_tree_take(struct neap_kube_collect *collect,
			    const struct source *source, struct neap_object *newest,
			    json_t *tree)
{
	json_t *meta = json_object_get(tree, "metadata");
	const json_t *owners = json_object_get(meta, "ownerReferences");
	bool let_go;
	json_t *left = owners_left(collect, source->kind, newest, owners, &let_go);
	int ret = 0;

	if (!left || json_array_size(left) == json_array_size(owners)) {
		json_decref(left);
		json_decref(tree);
		return;
	}
	collect->count++;
	if (json_array_size(left) == 0 && !let_go) {
		json_decref(left);
		json_decref(tree);
		neap_kube_remove(collect->kube, source->kind, newest, neap_collect_told,
				 neap_collect_write(collect));
		return;
	}
	if (json_array_size(left) == 0)
		ret = json_object_del(meta, "ownerReferences");
	else
		ret = json_object_set(meta, "ownerReferences", left);
	json_decref(left);
	if (ret == 0)
		neap_kube_change_take(collect->kube, source->kind, tree, newest,
				      neap_collect_told, neap_collect_write(collect));
	else
		json_decref(tree);
}

void neap_collect_judge(struct neap_kube_collect *collect, const struct source *source,
			const struct neap_object *object)
{
	struct neap_object *newest =
		newest_of(collect, source->kind, object->ns, object->name);
	json_t *tree;

	if (!newest || !newest->owner_count || strcmp(newest->uid, object->uid) != 0)
		return;
	tree = neap_object_tree(newest);
	if (!tree)
		return;
	newest = neap_object_ref(newest); /* it must outlive the recording of events */
	judge_tree_take(collect, source, newest, tree);
	(void)neap_object_unref(newest);
}

/* --- the pass --- */

/* So many owners, or bytes of text, cost as much as an object without them. */
#define OWNERS_A_PIECE 16
#define BYTES_A_PIECE  2048

static void take_parts(size_t *left, size_t parts)
{
	*left -= parts < *left ? parts : *left;
}

void neap_collect_take_left(size_t *left, const struct neap_object *object)
{
	size_t parts = 1 + object->owner_count / OWNERS_A_PIECE;

	/* Texts of other objects are not read. */
	if (object->owner_count || object->is_deleting)
		parts += object->text_len / BYTES_A_PIECE;
	take_parts(left, parts);
}

struct piece {
	struct neap_kube_collect *collect;
	const struct source *source;
	size_t *left;
	/* Judged after the list, during which no writes are allowed. */
	struct neap_object *found[NEAP_KUBE_COLLECT_PIECE];
	size_t count;
};

static bool is_concerned(const struct neap_kube_collect *collect,
			 const struct neap_object *object)
{
	const char *uid = object->owners;

	if (collect->is_all)
		return object->owner_count;
	for (unsigned i = 0; i < object->owner_count; i++, uid += strlen(uid) + 1)
		if (neap_map_find(collect->gone, uid) ||
		    neap_map_find(collect->orphans, uid))
			return true;
	return false;
}

static bool look_at(void *arg, struct neap_object *object)
{
	struct piece *piece = arg;

	if (!*piece->left)
		return false;
	neap_collect_take_left(piece->left, object);
	if (is_concerned(piece->collect, object))
		piece->found[piece->count++] = neap_object_ref(object);
	if (!piece->collect->is_all || !object->is_deleting)
		return true;
	/* The finalizer "orphan" remains when the write of end_orphan was refused. */
	if (object->has_finalizers)
		neap_collect_note_orphans(piece->collect, piece->source, object);
	if (neap_collect_is_namespace(piece->source))
		neap_collect_put_namespace(piece->collect, object->name);
	return true;
}

/* Removes the finalizer of an owner whose dependents are let go. */
static void end_orphan(struct neap_kube_collect *collect, size_t index, size_t *left)
{
	const char *uid;
	struct orphaned *orphaned = neap_map_at(collect->orphans, index, &uid);
	struct neap_object *newest =
		newest_of(collect, orphaned->kind, orphaned->ns, orphaned->name);
	json_t *tree, *list;

	if (!newest || strcmp(newest->uid, uid) != 0)
		return;
	neap_collect_take_left(left, newest);
	tree = neap_object_tree(newest);
	list = (json_t *)(uintptr_t)finalizers_of(tree);
	for (size_t k = json_array_size(list); k-- > 0;)
		if (is_orphan_word(json_array_get(list, k)))
			(void)json_array_remove(list, k);
	if (!tree)
		return;
	collect->count++;
	neap_kube_change_take(collect->kube, orphaned->kind, tree, newest,
			      neap_collect_told, neap_collect_write(collect));
}

void neap_collect_pass_all(struct neap_kube_collect *collect)
{
	collect->is_passing = false;
	collect->is_all = true;
}

static bool begin(struct neap_kube_collect *collect)
{
	if (!neap_collect_may_write(collect))
		return false;
	if (collect->is_passing)
		return true;
	collect->pass_gone = neap_map_count(collect->gone);
	collect->pass_orphans = neap_map_count(collect->orphans);
	if (!collect->is_all && !collect->pass_gone && !collect->pass_orphans)
		return false;
	collect->is_passing = true;
	collect->pass_source = 0;
	collect->pass_place = (struct neap_store_place){
		.version = neap_store_version(collect->kube->store)};
	return true;
}

/* If a write was refused, another pass is needed, with the same sets. Otherwise the
 * entries that the pass began with are removed, from the last on: new entries, which were
 * added at the end, take their places. */
static void end(struct neap_kube_collect *collect, size_t *left)
{
	if (collect->is_refused) {
		collect->is_passing = false;
		return;
	}
	for (; *left && collect->pass_gone; (*left)--) {
		const char *uid;

		(void)neap_map_at(collect->gone, --collect->pass_gone, &uid);
		(void)neap_map_remove(collect->gone, uid);
	}
	while (*left && collect->pass_orphans && neap_collect_may_write(collect)) {
		end_orphan(collect, --collect->pass_orphans, left);
		forget_orphan(collect, collect->pass_orphans);
		if (*left)
			(*left)--;
	}
	if (collect->pass_gone || collect->pass_orphans)
		return;
	collect->is_passing = false;
	collect->is_all = false;
	/* Entries added during the pass need a pass of their own. */
	if (neap_map_count(collect->gone) || neap_map_count(collect->orphans))
		neap_task_wake(collect->turn);
}

void neap_collect_pass(struct neap_kube_collect *collect, size_t *left)
{
	if (!begin(collect))
		return;
	while (*left && collect->pass_source < collect->source_count) {
		struct source *source = &collect->sources[collect->pass_source];
		struct piece piece = {.collect = collect, .source = source, .left = left};
		struct neap_error err;
		int more = neap_store_list(collect->kube->store, source->resource, NULL,
					   &collect->pass_place, look_at, &piece, &err);

		for (size_t i = 0; i < piece.count; i++) {
			neap_collect_judge(collect, source, piece.found[i]);
			(void)neap_object_unref(piece.found[i]);
		}
		if (more > 0 && !neap_collect_may_write(collect))
			return;
		if (more > 0)
			continue;
		/* The version is forgotten meanwhile: continue with the present one. */
		if (more == -NEAP_EGONE) {
			collect->pass_place.version =
				neap_store_version(collect->kube->store);
			continue;
		}
		collect->pass_source++;
		collect->pass_place = (struct neap_store_place){
			.version = neap_store_version(collect->kube->store)};
	}
	if (collect->pass_source >= collect->source_count)
		end(collect, left);
}

/* --- namespaces --- */

static bool take_any(void *arg, struct neap_object *object)
{
	struct piece *piece = arg;

	if (!*piece->left)
		return false;
	neap_collect_take_left(piece->left, object);
	if (!object->owner_count) /* its text is parsed anyway */
		take_parts(piece->left, object->text_len / BYTES_A_PIECE);
	piece->collect->emptying.has_any = true;
	if (!object->is_deleting)
		piece->found[piece->count++] = neap_object_ref(object);
	return true;
}

static void sweep(struct neap_kube_collect *collect, const char *ns)
{
	collect->emptying = (struct emptying){
		.place.version = neap_store_version(collect->kube->store)};
	(void)neap_strcopy(collect->emptying.name, sizeof(collect->emptying.name), ns);
}

/* Requests the deletion of the namespace's objects. False: more than fits into this
 * turn. */
static bool empty_namespace(struct neap_kube_collect *collect, size_t *left)
{
	struct emptying *emptying = &collect->emptying;
	struct neap_store *store = collect->kube->store;

	while (*left && emptying->source < collect->source_count) {
		struct source *source = &collect->sources[emptying->source];
		struct piece piece = {.collect = collect, .source = source, .left = left};
		struct neap_error err;
		int more = 0;

		/* Continues from where the last piece ended, in the present version. */
		emptying->place.version = neap_store_version(store);
		if (source->kind->is_namespaced)
			more = neap_store_list(store, source->resource, emptying->name,
					       &emptying->place, take_any, &piece, &err);
		for (size_t k = 0; k < piece.count; k++) {
			neap_kube_remove(collect->kube, source->kind, piece.found[k],
					 neap_collect_told, neap_collect_write(collect));
			collect->count++;
			(void)neap_object_unref(piece.found[k]);
		}
		if (more > 0 && !neap_collect_may_write(collect))
			return false;
		if (more < 0)
			emptying->has_any = true; /* it is listed again */
		if (more <= 0) {
			emptying->source++;
			emptying->place = (struct neap_store_place){0};
		}
	}
	return emptying->source >= collect->source_count;
}

static void end_namespace(struct neap_kube_collect *collect, const char *name)
{
	const struct neap_kube_kind *kind =
		neap_kube_registry_find(collect->kube->registry, "", NULL, "namespaces");
	struct neap_object *newest =
		neap_store_newest(collect->kube->store, "namespaces", "", name);

	if (kind && newest && newest->is_deleting && !newest->has_finalizers) {
		collect->count++;
		neap_kube_end(collect->kube, kind, newest, neap_collect_told,
			      neap_collect_write(collect));
	}
}

/* Each deletion puts the namespace into the set again: it is swept until it is empty. */
void neap_collect_namespaces(struct neap_kube_collect *collect, size_t *left)
{
	struct emptying *emptying = &collect->emptying;

	while (*left && neap_collect_may_write(collect)) {
		size_t count = neap_map_count(collect->namespaces);
		const char *key;

		if (!emptying->name[0]) {
			if (!count)
				return;
			(void)neap_map_at(collect->namespaces, count - 1, &key);
			sweep(collect, key);
			(void)neap_map_remove(collect->namespaces, emptying->name);
		}
		if (!empty_namespace(collect, left))
			return;
		if (!emptying->has_any)
			end_namespace(collect, emptying->name);
		emptying->name[0] = '\0';
		if (*left)
			(*left)--; /* a sweep is work too */
	}
}
