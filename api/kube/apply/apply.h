/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-side apply. metadata.managedFields names the manager that owns a field.
 *
 * A set of fields is a tree of JSON objects in the form of FieldsV1, in which it is
 * stored and shown: a member of a map is "f:NAME", an item of a keyed list
 * "k:{"name":"c"}", an item of a set list "v:VALUE". A place belongs to the set when its
 * node is empty or contains "."; otherwise only places below it do. The root never
 * belongs to it: {} there is the empty set. */
#ifndef NEAP_API_KUBE_APPLY_APPLY_H
#define NEAP_API_KUBE_APPLY_APPLY_H

#include "api/kube/request/call.h"
#include "engine/base/mem.h"

/* Levels of a set; deeper values are owned as a whole. */
#define APPLY_DEPTH_MAX 64

/* --- apply_set.c: 0, or -1 without memory --- */

/* Adds all fields of from to the set to. */
int apply_set_add(json_t *to, const json_t *from);
/* Removes the fields of gone from set, keeping fields below them. */
void apply_set_drop(json_t *set, const json_t *gone);
/* Orders entries of managedFields (json_t *const *) by the texts of these members. */
int apply_entries_compare(const void *a, const void *b, const char *const *members,
			  size_t count);
/* Removes the fields of gone from set, with all fields below them. */
void apply_set_drop_trees(json_t *set, const json_t *gone);
/* Computes the intersection as a new tree *ret. */
int apply_set_meet(const json_t *a, const json_t *b, json_t **ret);
/* Returns whether a node belongs to its set. */
bool apply_set_has(const json_t *node);
/* Returns whether it has the form of a set: names as above, only maps, not too many
 * levels. */
bool apply_set_is(const json_t *set);
/* Returns the bytes of its names. */
size_t apply_set_bytes(const json_t *set);
/* Calls told for each field, sorted by name; path: ".spec.list[name="x"].a". */
typedef void apply_told(void *arg, const char *path);
int apply_set_tell(const json_t *set, apply_told *told, void *arg);

/* --- apply_walk.c --- */

/* The schema's information about one place in an object. */
struct apply_place {
	const struct neap_schema *schema; /* NULL: nothing */
	enum neap_schema_list list;
	const char *own[3]; /* keys of a list of a built-in kind; NULL-terminated */
	bool is_field;      /* a field of the schema, rather than a map key or an item */
	bool is_struct;     /* of a built-in kind: it comes with its content */
};

struct apply_place apply_place_root(const struct neap_schema *schema);
struct apply_place apply_place_member(const struct apply_place *in, const char *name);
struct apply_place apply_place_item(const struct apply_place *in);
/* Returns whether both are maps (or lists) merged member by member; not two empty
 * ones. */
bool apply_are_maps(const struct apply_place *place, const json_t *a, const json_t *b);
bool apply_are_lists(const struct apply_place *place, const json_t *a, const json_t *b);
/* Indexes the items of a list by name, in a new object. Returns 1; 0 when an item lacks a
 * key or repeats another's, which err tells: such a list is a single value;
 * -NEAP_ENOMEM. */
int apply_index(const struct apply_place *place, const json_t *list, json_t **ret,
		struct neap_error *err);

/* --- apply_walk.c: 0; -NEAP_EINVAL with err, -NEAP_ENOMEM --- */

enum apply_set_how {
	APPLY_NAMED, /* what an apply patch names; -NEAP_EINVAL where it does not fit */
	APPLY_WHOLE, /* everything, maps and pointers too */
};

int apply_set_of(const struct neap_schema *schema, const json_t *object,
		 enum apply_set_how how, json_t **ret, struct neap_error *err);
/* Computes the fields in which after differs from before; *ret_removed has the tops of
 * removed parts. */
int apply_compare(const struct neap_schema *schema, const json_t *before,
		  const json_t *after, json_t **ret_changed, json_t **ret_removed,
		  struct neap_error *err);

/* --- apply_merge.c: as above --- */

/* Merges config into object, which then shares values with config. */
int apply_merge(const struct neap_schema *schema, json_t *object, json_t *config,
		struct neap_error *err);
/* Removes from object what is in last and not in kept. */
int apply_prune(const struct neap_schema *schema, json_t *object, const json_t *last,
		const json_t *kept, struct neap_error *err);

/* --- apply_managers.c --- */

/* Returns the set with the single field at a path such as ".spec.replicas"; NULL without
 * memory. */
json_t *kube_set_of_path(const char *path);
/* Ownership of fields. Removes managedFields from an object and returns
 * them; a new reference, NULL: there are none. */
json_t *kube_managers_take(json_t *object);
/* Puts them back at their fixed place, because stored objects are compared as text. False
 * without memory. */
bool kube_managers_last(json_t *object);
/* Called for a new object, and for an update of before, once it is complete and before
 * admission. sent: what the client sent. -1 with call->failure. */
int kube_managers_begin(struct call *call, json_t *object);
int kube_managers_change(struct call *call, json_t *object, const json_t *before,
			 const json_t *sent);

/* Removes fields that belong to the server. part: of the request. */
void apply_strip(const struct neap_kube_kind *kind, const char *part, json_t *set);
/* Returns the part of an object that the request writes: "", "status", "scale". */
const char *apply_part(const struct call *call);
/* Returns whether an object can hold all these entries; and refuses an apply patch. */
bool apply_is_too_large(const json_t *object, const json_t *list);
int apply_refuse_large(struct call *call);
/* Returns what the manager applied last, borrowed; NULL: nothing. others (may be NULL)
 * receives the fields of all other managers. -1 without memory. */
int apply_last(const struct call *call, const json_t *before, const json_t **ret_last,
	       json_t *others);

/* --- apply_conflict.c --- */

/* Fails with 409 when another entry than self owns a changed field. list: all entries. */
int apply_conflicts(struct call *call, const json_t *before, const json_t *list,
		    const json_t *self, const json_t *changed);
/* The annotation of client-side apply, which kubectl updates; -1 without memory. */
int apply_annotation(const json_t *config, char **ret);
/* Sets it in an object that has one. */
int apply_annotate(const struct call *call, json_t *object);

#endif
