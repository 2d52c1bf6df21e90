/* SPDX-License-Identifier: Apache-2.0
 *
 * One definition: from its stored form to the registry's row and the definition's status.
 * It compares with the present state rather than with events. So repeating is harmless,
 * and failures are retried. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/crd/crd.h"
#include "api/kube/loops/crd_loop_priv.h"
#include "api/kube/read/read.h"
#include "api/kube/write/write.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

/* --- the end ---
 *
 * Deletes the objects of a kind that ends, as a client would, a piece per turn. Once
 * the deletion of the definition is accepted, the server refuses new objects, and all
 * earlier writes are durable. So no object comes later. */

static void ready(void *arg)
{
	struct declared_entry *entry = arg;

	entry->is_ready = true;
	declared_wake(entry->declared);
}

/* Starts deleting the objects of a deleted kind. */
static void declared_empty_begin(struct declared_entry *entry)
{
	if (entry->watch || entry->is_due)
		return;
	entry->is_due = true;
	entry->was_asked = false;
	entry->place = (struct neap_store_place){0};
	declared_wake(entry->declared);
}

static void declared_empty_end(struct declared_entry *entry)
{
	if (entry->watch)
		neap_store_watch_free(entry->watch);
	entry->watch = NULL;
	entry->is_due = entry->is_ready = entry->was_asked = false;
}

/* The watch only tells whether anything happened. False: there is no watch. */
static bool hear(const char *name, struct declared_entry *entry)
{
	struct neap_store *store = entry->declared->kube->store;
	struct neap_store_event *event;
	struct neap_error err;
	int ret = entry->watch ? 1 : -1;

	entry->is_ready = false;
	while (ret > 0)
		ret = neap_store_watch_next(entry->watch, &event, &err);
	if (ret == 0)
		return true;
	if (entry->watch)
		neap_store_watch_free(entry->watch);
	entry->watch = NULL;
	if (neap_store_watch_new(store, name, neap_store_version(store), ready, entry,
				 &entry->watch, &err) < 0) {
		entry->watch = NULL;
		return false;
	}
	while ((ret = neap_store_watch_next(entry->watch, &event, &err)) > 0)
		;
	return ret == 0;
}

/* Objects are deleted after the list, during which no writes are allowed. */
struct piece {
	size_t *left;
	struct neap_object *found[NEAP_KUBE_DECLARED_PIECE];
	size_t count;
};

static bool look_at_object(void *arg, struct neap_object *object)
{
	struct piece *piece = arg;

	if (!*piece->left || piece->count == NEAP_KUBE_DECLARED_PIECE)
		return false;
	(*piece->left)--;
	if (!object->is_deleting)
		piece->found[piece->count++] = neap_object_ref(object);
	return true;
}

static void pass(const char *name, struct declared_entry *entry, size_t *left)
{
	struct neap_kube *kube = entry->declared->kube;
	struct piece piece = {.left = left};
	struct neap_error err;
	int more;

	/* Continues from where the last piece ended, but in the present version. */
	entry->place.version = neap_store_version(kube->store);
	more = neap_store_list(kube->store, name, NULL, &entry->place, look_at_object,
			       &piece, &err);
	for (size_t i = 0; i < piece.count; i++) {
		neap_kube_remove(kube, entry->kind, piece.found[i], NULL, NULL);
		(void)neap_object_unref(piece.found[i]);
	}
	entry->was_asked = entry->was_asked || piece.count;
	entry->is_due = more > 0;
	if (more < 0)
		entry->was_asked = true; /* causes another pass */
}

bool declared_empty(const char *name, struct declared_entry *entry, size_t *left)
{
	struct neap_store *store = entry->declared->kube->store;

	/* Without memory for the watch, make another pass. */
	if (!hear(name, entry))
		entry->was_asked = true;
	if (neap_store_count(store, name) == 0) {
		declared_empty_end(entry);
		return true;
	}
	if (entry->is_due && *left)
		pass(name, entry, left);
	return false;
}

/* --- names ---
 *
 * Decides which of its names a definition gets: none of another kind in its group. A kind
 * keeps the names that it is served under. */

/* Whether the kind has the name; is_kind: as a kind or list kind, else as a resource
 * name. */
static bool has_name(const struct neap_kube_kind *kind, const char *name, bool is_kind)
{
	if (is_kind)
		return strcmp(kind->kind, name) == 0 ||
		       strcmp(kind->list_kind, name) == 0;
	return strcmp(kind->plural, name) == 0 || strcmp(kind->singular, name) == 0 ||
	       neap_text_is_in(name, kind->short_names);
}

static bool is_taken(const struct neap_kube_registry *registry, const char *group,
		     const struct neap_kube_kind *own, const char *name, bool is_kind)
{
	for (size_t i = 0; i < neap_kube_registry_count(registry); i++) {
		const struct neap_kube_kind *kind = neap_kube_registry_at(registry, i);

		if (kind != own && strcmp(kind->group, group) == 0 &&
		    has_name(kind, name, is_kind))
			return true;
	}
	return false;
}

struct names {
	const struct neap_kube_registry *registry;
	const struct neap_kube_kind *own;
	const char *group;
	char *reason, *why;
	size_t reason_size, why_size;
};

static bool is_refused(struct names *names, const json_t *name, bool is_kind,
		       const char *reason)
{
	const char *text = json_string_value(name);

	if (!text || !is_taken(names->registry, names->group, names->own, text, is_kind))
		return false;
	if (!names->reason[0]) {
		(void)snprintf(names->reason, names->reason_size, "%s", reason);
		(void)snprintf(names->why, names->why_size, "\"%.64s\" is already in use",
			       text);
	}
	return true;
}

/* Returns spec.names, with names that others already use replaced by those accepted
 * before: a new reference, NULL without memory. *ret_reason is "" without conflicts, else
 * for the first one, such as "PluralConflict". own: the row to ignore. */
static json_t *declared_names(const struct neap_kube_registry *registry,
			      const json_t *tree, const struct neap_kube_kind *own,
			      char *reason, size_t reason_size, char *why,
			      size_t why_size)
{
	static const struct {
		const char *member, *reason;
		bool is_kind;
	} single[] = {
		{"plural", "PluralConflict", false},
		{"singular", "SingularConflict", false},
		{"shortNames", "ShortNamesConflict", false},
		{"kind", "KindConflict", true},
		{"listKind", "ListKindConflict", true},
	};
	const json_t *spec = json_object_get(tree, "spec");
	const json_t *accepted = neap_json_at(tree, "status.acceptedNames");
	const json_t *wants = json_object_get(spec, "names");
	json_t *ret = json_is_object(wants) ? neap_json_deep_copy(wants) : json_object();
	struct names names = {
		registry, own, json_string_value(json_object_get(spec, "group")),
		reason,   why, reason_size,
		why_size};

	*reason = *why = '\0';
	if (!names.group)
		names.group = "";
	for (size_t i = 0; ret && i < NEAP_ARRAY_LEN(single); i++) {
		const json_t *wanted = json_object_get(ret, single[i].member), *item;
		json_t *before = json_object_get(accepted, single[i].member);
		bool is = is_refused(&names, wanted, single[i].is_kind, single[i].reason);
		size_t k;

		json_array_foreach (wanted, k, item)
			is = is_refused(&names, item, false, single[i].reason) || is;
		if (!is)
			continue;
		if (!before)
			(void)json_object_del(ret, single[i].member);
		else if (json_object_set(ret, single[i].member, before) < 0) {
			json_decref(ret);
			return NULL;
		}
	}
	return ret;
}

/* --- entries --- */

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
	json_t *list = neap_json_at(tree, "metadata.finalizers");

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
	int64_t generation =
		json_integer_value(neap_json_at(tree, "metadata.generation"));
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
