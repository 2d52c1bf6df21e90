/* SPDX-License-Identifier: Apache-2.0
 *
 * A stored Kubernetes object: its JSON text, plus what every request needs without
 * parsing: names, labels, selectable fields, owners. Immutable and reference counted, one
 * block of memory, a few hundred bytes beside the text. Made for a hundred thousand
 * objects of about 2 KB that are listed and watched often and changed seldom.
 *
 * The text has no "kind" and "apiVersion", because one object can be served in several
 * versions. It starts with "{" and a member, so the sender can insert them in front. */
#ifndef NEAP_ENGINE_OBJECT_OBJECT_H
#define NEAP_ENGINE_OBJECT_OBJECT_H

#include <jansson.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/base/selector.h"

/* Sizes of namespaces and names with their NUL. */
#define NEAP_OBJECT_NAMESPACE 64
#define NEAP_OBJECT_NAME      254
#define NEAP_OBJECT_UID       64
/* Of metadata.resourceVersion. A longer one is not a server's. */
#define NEAP_OBJECT_VERSION 64
/* Of one object as JSON. */
#define NEAP_OBJECT_TEXT_MAX (1536 * 1024)
/* Limit on the labels, the owners and the selectable fields of one object. */
#define NEAP_OBJECT_ITEMS_MAX 1024

struct neap_object {
	uint32_t refs; /* of one thread */
	uint32_t text_len;
	uint32_t meta_len;
	uint16_t label_count, field_count, owner_count;
	bool is_deleting;    /* has a deletionTimestamp */
	bool has_finalizers; /* the object stays until they are removed */
	/* Cached by the code that counts such objects: what it read from the text, which
	 * cannot change; 0: nothing yet. */
	uint32_t noted;
	int64_t version;  /* metadata.resourceVersion */
	const char *text; /* NUL behind it */
	const char *ns;   /* "" for a cluster-scoped object */
	const char *name;
	const char *uid;
	/* NUL-terminated texts in sequence: key and value; path and value; uid. */
	const char *labels, *fields, *owners;
	const char *
		*by_key; /* keys in order, built when there are many labels; else NULL */
	char block[];    /* meta, then text */
};

/* Takes the tree, even on failure. Drops kind and apiVersion, and sets
 * metadata.resourceVersion to version. fields: selectable fields besides metadata.name
 * and .namespace ("spec.nodeName"), NULL-terminated or NULL; a missing one is "".
 * "source=source.component|reporter" defines a field whose name is not a path: the first
 * value that is not "". NEAP_EINVAL with the field, NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_object_new_take(json_t *tree, const char *const *fields, int64_t version,
			 struct neap_object **ret, struct neap_error *err);
/* Does the same for an object of another server, whose metadata.resourceVersion stays in
 * the text; version is a number of this process. */
int neap_object_new_seen_take(json_t *tree, const char *const *fields, int64_t version,
			      struct neap_object **ret, struct neap_error *err);
/* Rebuilds an object of neap_object_new_take from its stored parts: meta_len bytes of
 * object->block, and the text. NEAP_EINVAL when meta is not in the form that
 * neap_object_new_take writes. */
int neap_object_restore(const char *meta, size_t meta_len, const char *text,
			size_t text_len, int64_t version, struct neap_object **ret,
			struct neap_error *err);
/* Copies the object with another text of any length, for sending but not for storing.
 * NULL without memory. */
struct neap_object *neap_object_with_text(const struct neap_object *object,
					  const char *text, size_t text_len);
struct neap_object *neap_object_ref(struct neap_object *object);
/* Returns NULL. Accepts NULL. */
struct neap_object *neap_object_unref(struct neap_object *object);

/* Parses the text, without kind and apiVersion; a new reference, NULL without memory. */
json_t *neap_object_tree(const struct neap_object *object);
/* Writes the complete JSON: {"kind":...,"apiVersion":..., and the text; with both NULL
 * the text alone. */
void neap_object_write(const struct neap_object *object, const char *kind,
		       const char *api_version, struct neap_buf *out);
/* Returns the value of a label or selectable field (also "metadata.name"); NULL if there
 * is none. */
const char *neap_object_label(const struct neap_object *object, const char *key);
const char *neap_object_field(const struct neap_object *object, const char *path);
/* Returns the value of a selectable field in the tree: "spec.nodeName", up to a "|".
 * Strings, booleans and integers have values; anything else is "". The result points into
 * the tree or into buf (32 bytes suffice). */
const char *neap_object_value(const json_t *tree, const char *path, char *buf,
			      size_t size);
/* Reads an annotation directly from the text; the caller frees it. *ret is NULL when
 * there is none. NEAP_ENOMEM. */
int neap_object_annotation(const struct neap_object *object, const char *key, char **ret,
			   struct neap_error *err);
/* Reads metadata.resourceVersion, the server's text, into buf and returns it; "" when
 * there is none. */
const char *neap_object_resource_version(const struct neap_object *object,
					 char buf[NEAP_OBJECT_VERSION]);
bool neap_object_has_owner(const struct neap_object *object, const char *uid);
bool neap_object_is_selected(const struct neap_object *object,
			     const struct neap_selector *labels);
/* Returns an upper bound of the text comparisons that matching takes. */
int64_t neap_object_selection_steps(const struct neap_object *object,
				    const struct neap_selector *labels);
/* Whether both name the same owners, in the same order. */
bool neap_object_same_owners(const struct neap_object *a, const struct neap_object *b);
/* The order of lists: by namespace, then name. */
int neap_object_compare(const struct neap_object *object, const char *ns,
			const char *name);

#endif
