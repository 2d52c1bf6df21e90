/* SPDX-License-Identifier: Apache-2.0
 *
 * A Kubernetes object at rest: its JSON text, and beside it what is asked of every object without
 * parsing: names, labels, the fields that selectors may name, owners. Immutable and counted, one block
 * of memory; a few hundred bytes beside the text. Shaped for a hundred thousand of about 2 KB that are
 * listed and watched all the time and seldom changed.
 *
 * The text has no members "kind" and "apiVersion", as one object can be served in several versions; it
 * begins with "{" and a member, so that whoever sends it puts them before. */
#ifndef NEAP_ENGINE_OBJECT_OBJECT_H
#define NEAP_ENGINE_OBJECT_OBJECT_H

#include <jansson.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/base/selector.h"

/* Names of namespaces and objects, with their NUL. */
#define NEAP_OBJECT_NAMESPACE 64
#define NEAP_OBJECT_NAME      254
#define NEAP_OBJECT_UID       64
/* Of one object, as JSON. */
#define NEAP_OBJECT_TEXT_MAX (1536 * 1024)
/* Labels, owners and selectable fields of one object, each. */
#define NEAP_OBJECT_ITEMS_MAX 1024

struct neap_object {
	uint32_t refs; /* of one thread */
	uint32_t text_len;
	uint32_t meta_len;
	uint16_t label_count, field_count, owner_count;
	bool is_deleting;    /* has a deletionTimestamp */
	bool has_finalizers; /* stays until they are gone */
	/* What whoever counts such objects has read of the text once, as it cannot change; 0: nothing yet. */
	uint32_t noted;
	int64_t version;  /* metadata.resourceVersion */
	const char *text; /* NUL behind it */
	const char *ns;   /* "" for one of the whole cluster */
	const char *name;
	const char *uid;
	/* One after the other, each with its NUL: key and value; path and value; uid. */
	const char *labels, *fields, *owners;
	const char *
		*by_key; /* where there are many labels: their keys in order; else NULL */
	char block[];    /* meta, then text */
};

/* Takes the tree, also when it fails; kind and apiVersion are left out, and metadata.resourceVersion is
 * set to version. fields: the selectable ones beside metadata.name and .namespace ("spec.nodeName"), NULL ends
 * them and may stand for none; one that is missing is "". "source=source.component|reporter" is a field whose name is no path: the first
 * of those that is not "". Errors: NEAP_EINVAL with the field, NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_object_new_take(json_t *tree, const char *const *fields, int64_t version,
			 struct neap_object **ret, struct neap_error *err);
/* From what neap_object_new_take made: object->block of meta_len bytes, and the text. NEAP_EINVAL when meta
 * is not what it would have written. */
int neap_object_restore(const char *meta, size_t meta_len, const char *text,
			size_t text_len, int64_t version, struct neap_object **ret,
			struct neap_error *err);
/* The same with another text, of whatever length: to be sent, not to be stored. NULL without memory. */
struct neap_object *neap_object_with_text(const struct neap_object *object,
					  const char *text, size_t text_len);
struct neap_object *neap_object_ref(struct neap_object *object);
/* Returns NULL. NULL is fine. */
struct neap_object *neap_object_unref(struct neap_object *object);

/* The tree, without kind and apiVersion; a new reference, NULL without memory. */
json_t *neap_object_tree(const struct neap_object *object);
/* The whole JSON: {"kind":...,"apiVersion":..., and the text; both NULL: the text alone. */
void neap_object_write(const struct neap_object *object, const char *kind,
		       const char *api_version, struct neap_buf *out);
/* Value of a label or of a selectable field ("metadata.name" too); NULL if there is none. */
const char *neap_object_label(const struct neap_object *object, const char *key);
const char *neap_object_field(const struct neap_object *object, const char *path);
/* What a selectable field of the tree is: "spec.nodeName", up to a bar; strings, booleans and integers count, anything
 * else is "". It lies in the tree or in buf, of which 32 bytes are enough. */
const char *neap_object_value(const json_t *tree, const char *path, char *buf,
			      size_t size);
/* Text of an annotation, read where it stands, to be freed; *ret is NULL when there is none. NEAP_ENOMEM. */
int neap_object_annotation(const struct neap_object *object, const char *key, char **ret,
			   struct neap_error *err);
bool neap_object_has_owner(const struct neap_object *object, const char *uid);
bool neap_object_is_selected(const struct neap_object *object,
			     const struct neap_selector *labels);
/* Comparisons of texts that this takes at most. */
int64_t neap_object_selection_steps(const struct neap_object *object,
				    const struct neap_selector *labels);
/* The order of lists: by namespace, then name. */
int neap_object_compare(const struct neap_object *object, const char *ns,
			const char *name);

#endif
