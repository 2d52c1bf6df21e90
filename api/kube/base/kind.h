/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds that are served: one row a kind, in all its versions. A row says everything that discovery,
 * the routes, tables and checks need; nothing else in api/kube names a kind, but the tables of the
 * built-in ones and the few files that act on them (binding, eviction, events, namespaces).
 *
 * Objects are stored once, without kind and apiVersion: all versions of a kind have the same fields. */
#ifndef NEAP_API_KUBE_BASE_KIND_H
#define NEAP_API_KUBE_BASE_KIND_H

#include <jansson.h>

#include "engine/schema/schema.h"

/* A column of "kubectl get". */
struct neap_kube_column {
	const char *name;   /* "Ready"; kubectl writes it in capitals */
	const char *type;   /* "string", "integer", "number", "boolean", "date" */
	const char *format; /* "name" of the first column, else "" */
	const char *doc;
	int priority; /* over 0: with -o wide only */
	const char *
		path; /* JSONPath ".status.phase" of a column that is declared, not computed; NULL else */
};

struct neap_kube_kind;

/* Of a row that was made at run time: who uses it, of one thread. */
struct neap_kube_life {
	size_t refs;
	void (*free)(struct neap_kube_kind *kind);
};

/* A kind that shows the objects of another under other names of their members. */
struct neap_kube_name {
	const char *stored, *shown; /* a member of the object itself */
};

struct neap_kube_view {
	/* As which they are stored. Fields of both kinds stand in the same order. */
	const struct neap_kube_kind *of;
	const struct neap_kube_name *names; /* stored NULL ends */
	const char *nulled; /* a member that is shown as null where it is missing */
};

/* What metadata.generation counts. */
enum neap_kube_generation {
	NEAP_GENERATION_NONE,  /* nothing: it is what its maker wrote there */
	NEAP_GENERATION_FIXED, /* nothing: it is 1 */
	NEAP_GENERATION_SPEC,  /* changes of all but metadata and a status */
	NEAP_GENERATION_NOTES, /* and of annotations */
};

struct neap_store;
struct neap_kube_making;

/* Begins to make the objects of a kind that are not stored: of a namespace (NULL: of all) those of that name
 * (NULL: all). api/kube/types/metrics.h says how it goes on. NULL without memory. */
typedef struct neap_kube_making *neap_kube_make_fn(struct neap_store *store,
						   const char *ns, const char *name);

struct neap_kube_kind {
	struct neap_kube_life *life; /* NULL: the row is there for ever */
	const char *group;           /* "" of core */
	const char *const *versions; /* served, the preferred first; NULL ends */
	/* What users of a version are warned of, as versions has them; NULL: of nothing. May be NULL. */
	const char *const *warnings;
	const char *kind, *list_kind;
	const char *plural, *singular;
	const char *const *short_names, *const *categories; /* NULL ends, may be NULL */
	bool is_namespaced;
	bool is_custom; /* of a CustomResourceDefinition: no strategic patches, schema errors are 422 */
	bool has_status; /* /status, which alone changes status */
	bool status_has_labels; /* and there labels and annotations: of a Node, whose kubelet sets them so */
	enum neap_kube_generation generation;
	bool needs_version; /* a PUT has to say by resourceVersion what it is a change of */
	bool is_made_by_update; /* a PUT of what is not there makes it */
	bool is_named_only; /* nothing of it is kept: it is got, listed and watched in vain */
	bool is_deleted_singly; /* there is no DELETE of a collection */
	bool shows_deleted;     /* DELETE answers with the object, not with a Status */
	/* Of /scale; NULL: there is none. Paths as ".spec.replicas". */
	const char *replicas_path, *status_replicas_path, *selector_path;
	const struct neap_schema
		*schema; /* of the whole object, with kind, apiVersion and metadata */
	/* What bodies of a version are decoded by where their form is not the stored one,
	 * which from_version makes of it; as versions has them, NULL: schema. May be
	 * NULL. */
	const struct neap_schema *const *bodies;
	/* What objects of a version are checked by, as versions has them; NULL: schema. May be NULL. They differ in
	 * nothing by which objects are brought into shape. */
	const struct neap_schema *const *checks;
	/* What field selectors may name beside metadata.name and metadata.namespace, as neap_object_new_take
	 * has it; NULL ends. */
	const char *const *fields;
	const struct neap_kube_column *columns;
	size_t column_count;
	/* The cells of an object, an array with an element a column (null: empty); a new reference, NULL without
	 * memory. NULL: every column has its path. now: Unix microseconds, for ages. */
	json_t *(*cells)(const struct neap_kube_kind *kind, const json_t *object,
			 int64_t now);
	/* What a client of a version means by it otherwise than the stored form does; before the defaults. before:
	 * NULL for a new object. false without memory. May be NULL. */
	bool (*from_version)(const char *version, json_t *object, const json_t *before);
	/* Defaults that depend on more than one field; after those of the schema. false without memory. May be NULL. */
	bool (*complete)(json_t *object);
	/* What a schema cannot say. before: NULL for a new object. May be NULL. */
	void (*check)(const json_t *object, const json_t *before,
		      struct neap_causes *causes);
	/* NULL: stored as it is shown. Else check gets objects as they are stored. */
	const struct neap_kube_view *view;
	/* Of a kind whose objects are made of others when somebody asks: they can be got and listed, and
	 * nothing else. NULL: they are stored. */
	neap_kube_make_fn *make;
};

/* A row that the registry gave may be replaced or removed when the loop turns: whoever keeps it for longer
 * (a write that is not durable, a watch) counts as a user. NULL is fine. */
const struct neap_kube_kind *neap_kube_kind_ref(const struct neap_kube_kind *kind);
/* Returns NULL; frees a row that nobody uses any more. */
const struct neap_kube_kind *neap_kube_kind_unref(const struct neap_kube_kind *kind);

/* The kind as which objects of this one are stored: nearly always itself. */
const struct neap_kube_kind *neap_kube_kind_stored(const struct neap_kube_kind *kind);
/* What a body of that version is decoded by. */
const struct neap_schema *neap_kube_kind_body(const struct neap_kube_kind *kind,
					      const char *version);
/* What an object of that version is checked by. */
const struct neap_schema *neap_kube_kind_checks(const struct neap_kube_kind *kind,
						const char *version);
/* The name by which messages know it, and of one that is no view the store: "pods",
 * "reservations.scheduling.koordinator.sh". */
void neap_kube_kind_resource(const struct neap_kube_kind *kind, char *buf, size_t size);

/* --- the rows of the built-in kinds, NULL ends: made of the .types of api/kube/types --- */
extern const struct neap_kube_kind *const neap_kube_core_kinds[];
extern const struct neap_kube_kind *const neap_kube_apps_kinds[]; /* and batch */
/* policy, scheduling.k8s.io, storage.k8s.io, coordination.k8s.io, events.k8s.io, metrics.k8s.io,
 * apiextensions.k8s.io */
extern const struct neap_kube_kind *const neap_kube_other_kinds[];
/* Events as events.k8s.io shows them. */
extern const struct neap_kube_kind neap_kube_event_view;

/* What metadata of an object is. */
extern const struct neap_schema neap_kube_object_meta;

#endif
