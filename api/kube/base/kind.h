/* SPDX-License-Identifier: Apache-2.0
 *
 * The served kinds: one row per kind with all its versions. A row has everything that
 * discovery, routes, tables and validation need; nothing else in api/kube names a kind,
 * except the tables of built-in kinds and the few files that act on them (binding,
 * eviction, events, namespaces).
 *
 * Objects are stored once, without kind and apiVersion: all versions of a kind have the
 * same fields. */
#ifndef NEAP_API_KUBE_BASE_KIND_H
#define NEAP_API_KUBE_BASE_KIND_H

#include <jansson.h>

#include "engine/schema/schema.h"

struct neap_kube_row;

/* A column of "kubectl get". */
struct neap_kube_column {
	const char *name;   /* "Ready"; kubectl prints it in capitals */
	const char *type;   /* "string", "integer", "number", "boolean", "date" */
	const char *format; /* "name" for the first column, else "" */
	const char *doc;
	int priority; /* above 0: shown with -o wide only */
	const char
		*path; /* JSONPath ".status.phase" of a declared column; NULL: computed */
	/* Adds the cell of a computed column; NULL: path, or cells of the kind. */
	void (*put)(struct neap_kube_row *row);
	const char *from, *other; /* of put: a path, and one more; may be "" */
};

struct neap_kube_kind;

/* Users of a row created at run time; single-threaded. */
struct neap_kube_life {
	size_t refs;
	void (*free)(struct neap_kube_kind *kind);
};

/* A kind that shows the objects of another kind under other member names. */
struct neap_kube_name {
	const char *stored, *shown; /* a member of the object itself */
};

struct neap_kube_view {
	/* The kind they are stored as. Fields of both kinds are in the same order. */
	const struct neap_kube_kind *of;
	const struct neap_kube_name *names; /* stored NULL ends */
	const char *nulled;                 /* a member shown as null when missing */
};

/* What metadata.generation counts. */
enum neap_kube_generation {
	NEAP_GENERATION_NONE,  /* nothing raises it: it is what its creator wrote */
	NEAP_GENERATION_FIXED, /* nothing raises it: it is 1 */
	NEAP_GENERATION_SPEC,  /* changes of anything except metadata and a status */
	NEAP_GENERATION_NOTES, /* and of annotations */
};

struct neap_store;
struct neap_kube_making;

/* Starts computing objects that are not stored: of a namespace (NULL: of all), with that
 * name (NULL: all). api/kube/types/metrics.h describes the rest. NULL without memory. */
typedef struct neap_kube_making *neap_kube_make_fn(struct neap_store *store,
						   const char *ns, const char *name);

struct neap_kube_kind {
	struct neap_kube_life *life; /* NULL: the row is permanent */
	const char *group;           /* "" of core */
	/* served versions, preferred first; NULL-terminated */
	const char *const *versions;
	/* Warnings for users of each version, in the order of versions; NULL: none. May
	 * be NULL. */
	const char *const *warnings;
	const char *kind, *list_kind;
	const char *plural, *singular;
	/* NULL-terminated, may be NULL */
	const char *const *short_names, *const *categories;
	bool is_namespaced;
	/* from a CustomResourceDefinition: no strategic patches, schema errors are 422 */
	bool is_custom;
	bool has_status; /* has /status, through which alone status changes */
	/* /status also changes labels and annotations: for a Node, whose kubelet sets
	 * them so */
	bool status_has_labels;
	enum neap_kube_generation generation;
	bool needs_version;     /* a PUT must state the resourceVersion it changes */
	bool is_made_by_update; /* a PUT of a missing object creates it */
	bool is_named_only; /* nothing is stored: reads, lists and watches are empty */
	bool is_deleted_singly; /* collections cannot be deleted */
	bool shows_deleted;     /* DELETE answers with the object instead of a Status */
	/* For /scale; NULL: none. Paths such as ".spec.replicas". */
	const char *replicas_path, *status_replicas_path, *selector_path;
	const struct neap_schema
		*schema; /* of the whole object, with kind, apiVersion and metadata */
	/* Schemas for decoding bodies of versions whose form differs from the stored one
	 * (from_version converts it), in the order of versions; NULL: schema. May be
	 * NULL. */
	const struct neap_schema *const *bodies;
	/* Schemas for validating objects of each version, in the order of versions; NULL:
	 * schema. May be NULL. They do not differ in defaults or pruning. */
	const struct neap_schema *const *checks;
	/* Selectable fields besides metadata.name and metadata.namespace, as in
	 * neap_object_new_take; NULL-terminated. */
	const char *const *fields;
	const struct neap_kube_column *columns;
	size_t column_count;
	/* Returns the cells of an object, one array element per column (null: empty); a
	 * new reference, NULL without memory. NULL: every column has a path or put. now:
	 * Unix microseconds, for ages. */
	json_t *(*cells)(const struct neap_kube_kind *kind, const json_t *object,
			 int64_t now);
	/* Converts an object of a version to the stored meaning, before defaults. before:
	 * NULL for a new object. False without memory. May be NULL. */
	bool (*from_version)(const char *version, json_t *object, const json_t *before);
	/* Adds defaults that depend on several fields, after those of the schema. False
	 * without memory. May be NULL. */
	bool (*complete)(json_t *object);
	/* Validates what a schema cannot express. before: NULL for a new object. May be
	 * NULL. */
	void (*check)(const json_t *object, const json_t *before,
		      struct neap_causes *causes);
	/* NULL: stored as shown. Otherwise check receives objects in the stored form. */
	const struct neap_kube_view *view;
	/* For a kind whose objects are computed on request: they can be read and listed,
	 * nothing else. NULL: they are stored. */
	neap_kube_make_fn *make;
};

/* A row of the registry may be replaced or removed in another turn of the loop: whoever
 * keeps it longer (a pending write, a watch) must take a reference. Accepts NULL. */
const struct neap_kube_kind *neap_kube_kind_ref(const struct neap_kube_kind *kind);
/* Returns NULL; frees a row without users. */
const struct neap_kube_kind *neap_kube_kind_unref(const struct neap_kube_kind *kind);

/* Returns the kind that objects of this one are stored as, usually itself. */
const struct neap_kube_kind *neap_kube_kind_stored(const struct neap_kube_kind *kind);
/* Returns the schema for decoding a body of that version. */
const struct neap_schema *neap_kube_kind_body(const struct neap_kube_kind *kind,
					      const char *version);
/* Returns the schema for validating an object of that version. */
const struct neap_schema *neap_kube_kind_checks(const struct neap_kube_kind *kind,
						const char *version);
/* Writes the name used in messages and, except for a view, in the store: "pods",
 * "reservations.scheduling.koordinator.sh". */
void neap_kube_kind_resource(const struct neap_kube_kind *kind, char *buf, size_t size);

/* --- the rows of the built-in kinds, NULL ends: made of the .types of api/kube/types
 * --- */
extern const struct neap_kube_kind *const neap_kube_core_kinds[];
extern const struct neap_kube_kind *const neap_kube_apps_kinds[]; /* and batch */
/* policy, scheduling.k8s.io, storage.k8s.io, coordination.k8s.io, events.k8s.io,
 * metrics.k8s.io, apiextensions.k8s.io */
extern const struct neap_kube_kind *const neap_kube_other_kinds[];
/* Events as events.k8s.io shows them. */
extern const struct neap_kube_kind neap_kube_event_view;

/* The schema of metadata. */
extern const struct neap_schema neap_kube_object_meta;

#endif
