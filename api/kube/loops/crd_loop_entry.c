/* SPDX-License-Identifier: Apache-2.0
 *
 * One definition: from its stored form to the registry's row and the definition's status.
 * It compares with the present state rather than with events. So repeating is harmless,
 * and failures are retried. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/crd/crd.h"
#include "api/kube/loops/crd_loop_priv.h"
#include "api/kube/loops/gc_priv.h"
#include "api/kube/read/read.h"
#include "api/kube/write/write.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

static void say(const struct neap_kube_declared *declared, const char *name,
		const char *what)
{
	if (declared->log)
		neap_log_line(declared->log, NEAP_LOG_WARN,
			      "CustomResourceDefinition %s: %s", name, what);
}

/* --- what others see --- */

/* Makes definitions with name conflicts due: names are free now. */
static void note_conflicts(struct neap_kube_declared *declared)
{
	for (size_t i = 0; i < neap_map_count(declared->entries); i++) {
		const char *name;
		const struct declared_entry *entry =
			neap_map_at(declared->entries, i, &name);

		if (entry->has_conflict)
			declared_note(declared, name);
	}
}

static void take_out(struct neap_kube_declared *declared, struct declared_entry *entry)
{
	struct neap_kube_kind *kind = entry->kind;

	declared_empty_end(entry);
	entry->kind = NULL;
	if (!kind)
		return;
	neap_kube_registry_remove(declared->kube->registry, kind);
	kube_watch_end(declared->kube, kind);
	(void)neap_kube_kind_unref(kind);
	note_conflicts(declared);
}

void declared_entry_free(struct neap_kube_declared *declared,
			 struct declared_entry *entry)
{
	take_out(declared, entry);
	json_decref(entry->names);
	free(entry);
}

/* Replaces the former kind, or adds a new one. Takes kind in any case. */
static int put_in_take(struct neap_kube_declared *declared, struct declared_entry *entry,
		       struct neap_kube_kind *kind, struct neap_error *err)
{
	struct neap_kube_registry *registry = declared->kube->registry;
	struct neap_kube_kind *old = entry->kind;
	int ret = old ? neap_kube_registry_replace(registry, old, kind, err)
		      : neap_kube_registry_add(registry, kind, err);

	if (ret < 0) {
		neap_kube_crd_free(kind);
		return ret;
	}
	entry->kind = kind;
	if (old) {
		kube_watch_end(declared->kube, old);
		(void)neap_kube_kind_unref(old);
		note_conflicts(declared);
	}
	return 0;
}

/* --- from the definition --- */

/* Marks it as not served until it changes. */
static void refuse(struct neap_kube_declared *declared, struct declared_entry *entry,
		   const char *name, const struct neap_causes *causes,
		   const struct neap_error *err)
{
	take_out(declared, entry);
	entry->is_broken = true;
	if (causes->count)
		(void)snprintf(entry->why, sizeof(entry->why), "%.160s: %.300s",
			       causes->list[0].field, causes->list[0].message);
	else
		(void)snprintf(entry->why, sizeof(entry->why), "%s%s%s", err->field,
			       err->field[0] ? ": " : "", err->msg);
	say(declared, name, entry->why);
}

/* Parses it with its accepted names; is_other: they differ from those it wants. */
static int parse(const json_t *tree, const json_t *names, bool is_other,
		 struct neap_kube_kind **ret, struct neap_causes *causes,
		 struct neap_error *err)
{
	json_t *definition = is_other ? neap_json_deep_copy(tree) : NULL;
	int code;

	if (!is_other)
		return neap_kube_crd_parse(tree, ret, causes, err);
	if (!definition || json_object_set(json_object_get(definition, "spec"), "names",
					   (json_t *)(uintptr_t)names) < 0)
		code = neap_error_nomem(err);
	else
		code = neap_kube_crd_parse(definition, ret, causes, err);
	json_decref(definition);
	return code;
}

static void make_with(struct neap_kube_declared *declared, struct declared_entry *entry,
		      const char *name, const json_t *tree, const json_t *names,
		      struct neap_causes *causes, bool *ret_again)
{
	bool is_first = !declared_is_true(tree, "Established");
	struct neap_kube_kind *kind;
	struct neap_error err;
	int code;

	entry->has_conflict = entry->reason[0];
	if (entry->has_conflict && is_first && !entry->kind)
		return;
	code = parse(tree, names, entry->has_conflict, &kind, causes, &err);
	if (code == 0) {
		code = put_in_take(declared, entry, kind, &err);
		/* Its accepted names belong to another kind now, or there are too many
		 * kinds. */
		if (code == -NEAP_EEXISTS || code == -NEAP_ETOOLARGE) {
			take_out(declared, entry);
			entry->has_conflict = true;
			if (!entry->reason[0])
				(void)neap_strcopy(entry->reason, sizeof(entry->reason),
						   "Conflict");
			(void)neap_strcopy(entry->why, sizeof(entry->why), err.msg);
			return;
		}
	} else if (code != -NEAP_ENOMEM) {
		refuse(declared, entry, name, causes, &err);
		return;
	}
	*ret_again = code < 0;
}

/* Makes the kind. False: retry later. */
static bool make(struct neap_kube_declared *declared, struct declared_entry *entry,
		 const char *name, const json_t *tree, json_t *names)
{
	struct neap_causes *causes = neap_alloc(sizeof(*causes));
	bool is_again = !causes;

	if (causes)
		make_with(declared, entry, name, tree, names, causes, &is_again);
	free(causes);
	json_decref(entry->names);
	entry->names = is_again ? NULL : json_incref(names);
	if (!is_again && entry->has_conflict)
		say(declared, name, entry->why);
	return !is_again;
}

/* --- what the definition says --- */

static void drop_finalizer(json_t *tree)
{
	json_t *list = json_object_get(json_object_get(tree, "metadata"), "finalizers");

	for (size_t i = json_array_size(list); i-- > 0;) {
		const char *text = json_string_value(json_array_get(list, i));

		if (text && strcmp(text, FINALIZER) == 0)
			(void)json_array_remove(list, i);
	}
}

/* Writes the status if it changed. True: it had not. */
static bool tell(struct neap_kube_declared *declared, struct declared_entry *entry,
		 const json_t *tree, const json_t *names, struct neap_object *newest,
		 bool is_empty)
{
	int64_t now = declared->kube->now();
	json_t *said = neap_json_deep_copy(tree);

	if (!said || !declared_set_status(said, entry, names, now)) {
		json_decref(said);
		return false;
	}
	if (is_empty) {
		drop_finalizer(said);
		if (!declared_set_condition(said, "Terminating", false,
					    "InstanceDeletionCompleted",
					    "removed all instances", now)) {
			json_decref(said);
			return false;
		}
	}
	if (json_equal(said, tree)) {
		json_decref(said);
		return true;
	}
	neap_kube_change_take(declared->kube, declared->definition, said, newest, NULL,
			      NULL);
	return false;
}

/* Sets "" without memory, which counts as changed. */
static void sum_of(const json_t *tree, char sum[NEAP_SHA256_HEX])
{
	char *text = neap_json_dump(json_object_get(tree, "spec"), JSON_COMPACT);

	sum[0] = '\0';
	if (text)
		neap_sha256_hex(text, strlen(text), sum);
	free(text);
}

/* Whether the kind must be made again with these names. */
static bool is_other(const struct declared_entry *entry, const char *sum,
		     const json_t *names, const char *reason)
{
	if (!*sum || strcmp(entry->sum, sum) != 0 || !json_equal(entry->names, names))
		return true;
	return !entry->kind && !entry->is_broken && !*reason;
}

static bool look_at(struct neap_kube_declared *declared, struct declared_entry *entry,
		    const char *name, struct neap_object *object, const json_t *tree,
		    json_t *names)
{
	struct neap_store *store = declared->kube->store;
	bool is_empty = object->is_deleting;

	/* If the kind is not served, its objects cannot be told from those of another
	 * kind. */
	if (object->is_deleting && entry->kind && neap_store_count(store, name)) {
		declared_empty_begin(entry);
		is_empty = false;
	}
	return tell(declared, entry, tree, names, object, is_empty);
}

static bool look_tree(struct neap_kube_declared *declared, struct declared_entry *entry,
		      const char *name, struct neap_object *object, const json_t *tree,
		      size_t *left)
{
	int64_t generation = json_integer_value(
		json_object_get(json_object_get(tree, "metadata"), "generation"));
	char reason[sizeof(entry->reason)], why[sizeof(entry->why)];
	json_t *names = declared_names(declared->kube->registry, tree, entry->kind,
				       reason, sizeof(reason), why, sizeof(why));
	bool is_done = names;
	char sum[NEAP_SHA256_HEX];

	(void)neap_strcopy(sum, sizeof(sum), entry->sum);
	if (!entry->generation || entry->generation != generation)
		sum_of(tree, sum);
	if (names && is_other(entry, sum, names, reason)) {
		is_done = *left > 0;
		if (is_done) {
			(*left)--;
			entry->is_broken = false;
			memcpy(entry->reason, reason, sizeof(reason));
			memcpy(entry->why, why, sizeof(why));
			is_done = make(declared, entry, name, tree, names);
		}
		entry->generation = 0;
	}
	if (is_done) {
		entry->generation = generation;
		(void)neap_strcopy(entry->sum, sizeof(entry->sum), sum);
	}
	is_done = is_done && look_at(declared, entry, name, object, tree, names);
	json_decref(names);
	return is_done;
}

bool declared_look(struct neap_kube_declared *declared, const char *name, size_t *left)
{
	struct neap_store *store = declared->kube->store;
	struct neap_object *object = neap_store_find(store, KUBE_DEFINITIONS, "", name);
	struct declared_entry *entry = neap_map_find(declared->entries, name);
	struct neap_object *newest;
	json_t *tree;
	bool is_done;

	if (entry && (!object || strcmp(entry->uid, object->uid) != 0)) {
		(void)neap_map_remove(declared->entries, name);
		declared_entry_free(declared, entry);
		entry = NULL;
	}
	if (!object ||
	    (entry && entry->settled == object->version && !entry->has_conflict))
		return true;
	if (!entry) {
		entry = neap_alloc(sizeof(*entry));
		if (!entry || !neap_map_set(declared->entries, name, entry)) {
			free(entry);
			return false;
		}
		entry->declared = declared;
		(void)neap_strcopy(entry->uid, sizeof(entry->uid), object->uid);
	}
	/* Another write is on its way; its event follows. */
	newest = neap_store_newest(store, KUBE_DEFINITIONS, "", name);
	if (!newest || newest->version != object->version)
		return false;
	tree = neap_object_tree(object);
	if (!tree)
		return false;
	is_done = look_tree(declared, entry, name, object, tree, left);
	json_decref(tree);
	if (is_done)
		entry->settled = object->version;
	return is_done;
}
