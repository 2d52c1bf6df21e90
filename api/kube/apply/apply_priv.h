/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-side apply. metadata.managedFields names the manager that owns a field.
 *
 * A set of fields is a tree of JSON objects, in the form of FieldsV1 in which it is
 * stored and shown: a member of a map is "f:NAME", an item of a keyed list
 * "k:{"name":"c"}", one of a list that is a set "v:VALUE". A place belongs to the set
 * where its node has "." or nothing in it; else only what is below it does. The root is
 * never in it: {} there is the empty set. */
#ifndef NEAP_API_KUBE_APPLY_APPLY_PRIV_H
#define NEAP_API_KUBE_APPLY_APPLY_PRIV_H

#include "api/kube/request/call.h"
#include "engine/base/mem.h"

/* Levels of a set: what lies deeper is owned as a whole. */
#define APPLY_DEPTH_MAX 64

/* --- apply_set.c: 0, or -1 without memory --- */

/* Adds all fields of from to the set to. */
int apply_set_add(json_t *to, const json_t *from);
/* Takes the fields of gone out of set, and keeps fields below them. */
void apply_set_drop(json_t *set, const json_t *gone);
/* Takes the fields of gone out of set, with all fields below them. */
void apply_set_drop_trees(json_t *set, const json_t *gone);
/* Writes the fields that both sets have into *ret, a new tree. */
int apply_set_meet(const json_t *a, const json_t *b, json_t **ret);
/* Whether a node is in its set. */
bool apply_set_has(const json_t *node);
/* Whether it has the form of a set: names as above, maps alone, and no more levels. */
bool apply_set_is(const json_t *set);
/* Bytes of its names. */
size_t apply_set_bytes(const json_t *set);
/* Calls told for each field, in the order of names; path: ".spec.list[name="x"].a". */
typedef void apply_told(void *arg, const char *path);
int apply_set_tell(const json_t *set, apply_told *told, void *arg);

/* --- apply_managers.c --- */

/* A text member of an entry of managedFields; "": it has none. Borrowed from it. */
const char *apply_text(const json_t *entry, const char *member);

/* --- apply_place.c --- */

/* What the schema says of one place in an object. */
struct apply_place {
	const struct neap_schema *schema; /* NULL: nothing */
	enum neap_schema_list list;
	const char *own[3]; /* keys of a list of a built-in kind; NULL ends */
	bool is_field;      /* the schema names it: no key of a map, no item */
	bool is_struct;     /* of a built-in kind: it comes with what is in it */
};

struct apply_place apply_place_root(const struct neap_schema *schema);
struct apply_place apply_place_member(const struct apply_place *in, const char *name);
struct apply_place apply_place_item(const struct apply_place *in);
/* Whether both are maps (lists) that are merged member by member; not two empty ones. */
bool apply_are_maps(const struct apply_place *place, const json_t *a, const json_t *b);
bool apply_are_lists(const struct apply_place *place, const json_t *a, const json_t *b);
/* The items of a list under their names; a new object. 1; 0 where an item lacks a key, or
 * has that of another, which err tells: such a list is one value; -NEAP_ENOMEM. */
int apply_index(const struct apply_place *place, const json_t *list, json_t **ret,
		struct neap_error *err);

/* --- apply_walk.c: 0; -NEAP_EINVAL with err, -NEAP_ENOMEM --- */

enum apply_set_how {
	APPLY_NAMED, /* what an apply patch names; -NEAP_EINVAL where it does not fit */
	APPLY_WHOLE, /* all that there is, maps and pointers, too */
};

int apply_set_of(const struct neap_schema *schema, const json_t *object,
		 enum apply_set_how how, json_t **ret, struct neap_error *err);
/* What after has otherwise than before; *ret_removed has the tops of what went. */
int apply_compare(const struct neap_schema *schema, const json_t *before,
		  const json_t *after, json_t **ret_changed, json_t **ret_removed,
		  struct neap_error *err);

/* --- apply_merge.c: as above --- */

/* Puts config into object, which then shares what is in config. */
int apply_merge(const struct neap_schema *schema, json_t *object, json_t *config,
		struct neap_error *err);
/* Takes out of object what was in last and is not in kept. */
int apply_prune(const struct neap_schema *schema, json_t *object, const json_t *last,
		const json_t *kept, struct neap_error *err);

/* --- apply_managers.c --- */

/* Fields that belong to the server and to nobody else. part: of whom the request is. */
void apply_strip(const struct neap_kube_kind *kind, const char *part, json_t *set);
/* The part of an object that the request writes: "", "status", "scale". */
const char *apply_part(const struct call *call);
/* Whether an object can have all these entries; and the refusal of an apply patch. */
bool apply_is_too_large(const json_t *object, const json_t *list);
int apply_refuse_large(struct call *call);
/* What the manager applied last, borrowed; NULL: nothing. others (may be NULL): gets what
 * everybody else has. -1 without memory. */
int apply_last(const struct call *call, const json_t *before, const json_t **ret_last,
	       json_t *others);

/* --- apply_conflict.c --- */

/* Fails with 409 where another entry than self owns a changed field. list: all of
 * them. */
int apply_conflicts(struct call *call, const json_t *before, const json_t *list,
		    const json_t *self, const json_t *changed);
/* The annotation of client-side apply, which kubectl keeps current; -1 without memory. */
int apply_annotation(const json_t *config, char **ret);
/* Puts it into an object that has one. */
int apply_annotate(const struct call *call, json_t *object);

#endif
