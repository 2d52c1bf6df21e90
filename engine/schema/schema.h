/* SPDX-License-Identifier: Apache-2.0
 *
 * What an object of a kind may look like: a tree of fields with their types and limits. The kinds that
 * are built in have it as C tables, a CustomResourceDefinition as its structural schema; from one and
 * the same tree objects are checked, filled with defaults and pruned, patches know how lists merge, and
 * the OpenAPI documents are written.
 *
 * A schema is immutable. Trees of the built-in kinds share branches (a Deployment has a PodTemplateSpec)
 * and may go in circles (JSONSchemaProps); walkers follow the object, whose depth jansson bounds. */
#ifndef NEAP_ENGINE_SCHEMA_SCHEMA_H
#define NEAP_ENGINE_SCHEMA_SCHEMA_H

#include <jansson.h>

#include "engine/base/error.h"
#include "engine/base/quantity.h"

/* Causes that one check tells at most; the rest is counted. */
#define NEAP_SCHEMA_CAUSES_MAX 32
/* Nodes and depth of a schema that is not built in. */
#define NEAP_SCHEMA_NODES_MAX 20000
#define NEAP_SCHEMA_DEPTH_MAX 64
/* Bytes of the compiled patterns of one such schema. */
#define NEAP_SCHEMA_CODE_MAX (4 * 1024 * 1024)
/* Steps of one call that fills in defaults or checks: some 40 ms. An object and a schema that need more are
 * refused. */
#define NEAP_SCHEMA_WORK_MAX (4 * 1000 * 1000)
/* Bytes of JSON that one call fills in as defaults. */
#define NEAP_SCHEMA_DEFAULTS_MAX (1024 * 1024)

enum neap_schema_type {
	NEAP_SCHEMA_ANY, /* whatever JSON has; its unknown fields are kept */
	NEAP_SCHEMA_OBJECT,
	NEAP_SCHEMA_MAP, /* an object whose member names are data */
	NEAP_SCHEMA_LIST,
	NEAP_SCHEMA_STRING,
	NEAP_SCHEMA_INTEGER,
	NEAP_SCHEMA_NUMBER,
	NEAP_SCHEMA_BOOLEAN,
	NEAP_SCHEMA_INT_OR_STRING,
	NEAP_SCHEMA_QUANTITY, /* a string as "500m", or a number */
};

/* What a string has to be. */
enum neap_schema_format {
	NEAP_FORMAT_NONE,
	NEAP_FORMAT_TIME,         /* RFC 3339 */
	NEAP_FORMAT_MICRO_TIME,   /* RFC 3339 with exactly six decimals */
	NEAP_FORMAT_ANY_DURATION, /* of declared kinds: also "1d", "5 days" */
	NEAP_FORMAT_DURATION,     /* as Go has it: "1h30m", "-1.5h", "300ms" */
	NEAP_FORMAT_BYTES,        /* base64 */
	NEAP_FORMAT_INT32,        /* of an INTEGER; without it int64 */
	/* Of schemas that are not built in. What else they can name is not checked. */
	NEAP_FORMAT_DATE, /* "2026-01-31" */
	NEAP_FORMAT_IPV4,
	NEAP_FORMAT_IPV6,
	NEAP_FORMAT_CIDR, /* of both */
	NEAP_FORMAT_UUID,
	NEAP_FORMAT_UUID3,
	NEAP_FORMAT_UUID4,
	NEAP_FORMAT_UUID5,
	NEAP_FORMAT_MAC,
	NEAP_FORMAT_HOSTNAME,
	NEAP_FORMAT_EMAIL,
	NEAP_FORMAT_URI,
	NEAP_FORMAT_HEX_COLOR,
	NEAP_FORMAT_RGB_COLOR,
	NEAP_FORMAT_BSON_ID,
	NEAP_FORMAT_SSN,
};

/* How a list is merged by a strategic merge patch. */
enum neap_schema_list {
	NEAP_LIST_ATOMIC, /* replaced as a whole */
	NEAP_LIST_SET,    /* of scalars, each once */
	NEAP_LIST_MAP,    /* of objects told apart by merge_key */
};

struct neap_schema;

struct neap_schema_field {
	const char *name;
	const struct neap_schema *schema;
	const char *doc; /* NULL: that of the schema */
	bool is_required;
	/* Of lists, in this place; the key is that of the strategic patch ("containerPort"). */
	enum neap_schema_list merge;
	const char *merge_key;
	/* And of server-side apply, which tells items apart by this one, too; NULL: it
	 * does not. */
	const char *other_key;
	/* Instead of being merged, an object is replaced ($retainKeys of Kubernetes: Deployment.spec.strategy, volumes' items). */
	bool retains_keys;
	const char *fallback; /* default as JSON text; NULL: none */
	/* Of built-in kinds, where Go has no pointer: "", 0, false, [] and {} are no
	 * values. Decoding takes them out, but an empty object, which Go writes, too; the
	 * default takes their place. Of a CustomResourceDefinition only what is missing
	 * is. */
	bool zero_is_missing;
};

struct neap_schema {
	/* Name of its OpenAPI definition ("io.k8s.api.core.v1.PodSpec"); NULL: written where it is used. */
	const char *name;
	const char *doc;
	enum neap_schema_type type;
	enum neap_schema_format format;
	bool is_nullable;
	bool keeps_unknown; /* x-kubernetes-preserve-unknown-fields */
	bool is_embedded; /* x-kubernetes-embedded-resource: has kind, apiVersion, metadata */
	const struct neap_schema_field
		*fields; /* of an OBJECT; of an ANY: what an object that it is has */
	size_t field_count;
	/* Set by neap_schema_parse: fields, when they lie in the order of their names. */
	const struct neap_schema_field *sorted;
	/* Members that have to be there though no field tells so; NULL ends, NULL: none. */
	const char *const *required;
	const struct neap_schema *items; /* of a LIST and a MAP; NULL: ANY */
	/* Of the items of a LIST or MAP: what comes in for a null, as JSON text; NULL: none. */
	const char *fallback;
	/* List as CRDs declare it: x-kubernetes-list-type, -list-map-keys. */
	enum neap_schema_list list;
	const char *const *list_keys; /* NULL ends */
	/* x-kubernetes-map-type: server-side apply replaces it as a whole. */
	bool is_atomic;
	const char *const *values; /* strings of an enum; NULL ends; NULL: any */
	const json_t
		*values_json; /* an enum whose values are not all strings: an array */
	/* Limits; those that are not set are NEAP_MISSING, or NaN. */
	double minimum, maximum;
	bool is_minimum_exclusive, is_maximum_exclusive;
	int64_t min_length,
		max_length; /* code points of a STRING, items of a LIST, members of a MAP or OBJECT */
	/* Of an ANY: whether its lengths are those of a STRING, a LIST or an OBJECT. */
	enum neap_schema_type length_of;
	bool has_limits; /* whether any of the limits above is set: tables of C leave them all 0 */
	double multiple_of;  /* 0: of any */
	const char *pattern; /* of a STRING; as PCRE2 reads it */
	void *pattern_code;
	/* Of CRDs with logic around the type: allOf, anyOf, oneOf, not: kept as they were written, and checked. */
	const struct neap_schema *const *all_of, *const *any_of, *const *one_of;
	const struct neap_schema * not ;
	/* Out of neap_schema_parse: causes are worded as for a CustomResourceDefinition. */
	bool is_declared;
	bool has_rules; /* x-kubernetes-validations, which are not evaluated */
};

/* --- looking --- */

const struct neap_schema_field *neap_schema_field_find(const struct neap_schema *schema,
						       const char *name);
/* Of a path such as "spec.containers": what is there; NULL: nothing. Steps into lists and maps need no
 * index; "spec.containers[0]" is an item. A "." in front is fine. */
const struct neap_schema *neap_schema_find(const struct neap_schema *schema,
					   const char *path);

/* --- checking --- */

/* One thing that is wrong, in the words of Kubernetes. */
struct neap_cause {
	const char *
		reason; /* "FieldValueInvalid", "FieldValueRequired", "FieldValueForbidden",
			     * "FieldValueNotSupported", "FieldValueDuplicate", "FieldValueTypeInvalid",
			     * "FieldValueTooLong", "FieldValueTooMany" */
	char field
		[256]; /* "spec.containers[0].ports[1].name"; members of maps as data[key] */
	char message
		[512]; /* "Invalid value: \"x\": must be ...", "Required value", ... */
};

struct neap_causes {
	size_t count;  /* how many are told */
	size_t more;   /* and how many are not */
	bool is_short; /* of memory: not all was checked, which is a cause, too */
	struct neap_cause list[NEAP_SCHEMA_CAUSES_MAX];
};

/* As if they were all zero, without a look at what was told before. */
void neap_causes_clear(struct neap_causes *causes);
/* Adds one; field and the rest of the message are formatted. */
void neap_causes_add(struct neap_causes *causes, const char *reason, const char *field,
		     const char *fmt, ...) NEAP_PRINTF(4, 5);
/* The usual ones, with the value shown as Kubernetes shows it: strings quoted, others as JSON. */
void neap_causes_invalid(struct neap_causes *causes, const char *field,
			 const json_t *value, const char *fmt, ...) NEAP_PRINTF(4, 5);
void neap_causes_required(struct neap_causes *causes, const char *field,
			  const char *detail);
void neap_causes_forbidden(struct neap_causes *causes, const char *field, const char *fmt,
			   ...) NEAP_PRINTF(3, 4);
/* Unsupported value: "x": supported values: "a", "b" */
void neap_causes_unsupported(struct neap_causes *causes, const char *field,
			     const json_t *value, const char *const *values);
void neap_causes_duplicate(struct neap_causes *causes, const char *field,
			   const json_t *value);
/* Puts a prefix before the fields of the causes from the from-th on, with a "." unless a "[" follows: as
 * neap_error_infield. */
void neap_causes_infield(struct neap_causes *causes, size_t from, const char *fmt, ...)
	NEAP_PRINTF(3, 4);

/* What tells the kinds of unknown fields apart. */
enum neap_schema_unknown {
	NEAP_UNKNOWN_PRUNE,  /* taken out silently */
	NEAP_UNKNOWN_WARN,   /* taken out, and each path is told */
	NEAP_UNKNOWN_REFUSE, /* each is told: "unknown field \"spec.frob\"" */
};

/* Bring a decoded object into shape, in place: members of value null that are not nullable go, unknown
 * fields go (each told through unknown, which may be NULL, with its path), defaults come in. Types are not
 * judged here: what does not fit stays for the check. False without memory, or when the defaults are over
 * a ceiling above: the object is then half done and useless. */
bool neap_schema_prune(const struct neap_schema *schema, json_t *object,
		       void (*unknown)(void *arg, const char *path), void *arg);
bool neap_schema_default(const struct neap_schema *schema, json_t *object);
/* The same. When it returns false, *ret_is_over says whether a ceiling was the reason, and not memory. */
bool neap_schema_default_told(const struct neap_schema *schema, json_t *object,
			      bool *ret_is_over);
/* Types, required fields, limits, enums, patterns, formats, duplicates in sets and maps, what stands around
 * types. Adds to causes. False without memory: a cause then says so, too, and not all was checked. */
bool neap_schema_check(const struct neap_schema *schema, const json_t *object,
		       struct neap_causes *causes);
/* The same of what becomes of before: what a value and all within it is as it was is no cause, though a schema
 * of today would refuse it. Items of a map of a list are compared with those of the same keys, of other lists with
 * nothing: they are as before as a whole, or are checked. What stands in allOf, anyOf, oneOf and not is always looked at
 * where its value is another. */
bool neap_schema_check_change(const struct neap_schema *schema, const json_t *object,
			      const json_t *before, struct neap_causes *causes);
/* How many items a list, or members a map, may have, by the name of the member that it is. */
struct neap_schema_bound {
	const char *name;
	size_t max;
};

struct neap_schema_bounds {
	const struct neap_schema_bound *rows; /* in the order of their names */
	size_t count;
	size_t other; /* of all that have no row */
	size_t least; /* what is no longer than this is in no bound's way */
};

/* Adds a cause, FieldValueTooMany, for each list and map in object that is longer than it may be, and than it is
 * at the same place in before (NULL: nothing): what was stored can be written again, and become shorter. Needs no
 * schema, and so comes before all else. Returns how many values object has, itself and all within it. */
size_t neap_schema_check_bounds(const struct neap_schema_bounds *bounds,
				const json_t *object, const json_t *before,
				struct neap_causes *causes);
/* The number alone. */
size_t neap_schema_values(const json_t *object);
/* A type that Go could not decode is a 400 and not a 422 of built-in kinds: the first of
 * these, as "json: cannot unmarshal string into Go struct field PodSpec.spec.containers
 * of type []v1.Container" is told by a kube-apiserver; ours names the path and what is
 * wanted. Quantities become canonical texts, as the type of Go writes them: 0.5 is
 * "500m". Zero values go where they are none (zero_is_missing). 0; -NEAP_EINVAL with
 * field; -NEAP_ENOMEM. */
int neap_schema_decode(const struct neap_schema *schema, json_t *object,
		       struct neap_error *err);
/* The canonical text of a string or a number that Kubernetes takes for a quantity; false for anything else. */
bool neap_schema_amount(const json_t *value, char buf[NEAP_QUANTITY_SIZE]);
/* Quantities of object that are the same amount as at the same place in before get the spelling that they have
 * there: what is the same compares as such, and changes nothing. False without memory. */
bool neap_schema_keep_amounts(const struct neap_schema *schema, json_t *object,
			      const json_t *before);

/* --- schemas that are not built in --- */

/* A schema out of the openAPIV3Schema of a CustomResourceDefinition, which must be structural. Adds what
 * is wrong to causes; names in them begin at json: "properties[spec].type", which neap_causes_infield puts
 * into place. The root, and every object embedded in it, has fields apiVersion, kind and metadata, whether
 * declared or not; those of the root may be missing. The caller frees it; it keeps nothing of json. 0; NEAP_EINVAL (err is the first cause),
 * NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_schema_parse(const json_t *json, struct neap_schema **ret,
		      struct neap_causes *causes, struct neap_error *err);
/* Of neap_schema_parse only, as the two that follow. NULL is fine. */
void neap_schema_free(struct neap_schema *schema);
/* What metadata is, of the object and of those embedded in it; until then it is any object. A copy is made
 * of *metadata, not of what it points to. Not while others use the schema. */
void neap_schema_set_metadata(struct neap_schema *schema,
			      const struct neap_schema *metadata);
/* Tells the path of each value that has rules which are not evaluated (x-kubernetes-validations): "" of the
 * root, "spec.list[*].name". Returns how many. found may be NULL. */
size_t neap_schema_rules(const struct neap_schema *schema,
			 void (*found)(void *arg, const char *path), void *arg);

/* --- tables of C --- */

/* static const struct neap_schema_field x_fields[] = { ... }; NEAP_SCHEMA_OBJECT_OF(x_fields) */
#define NEAP_SCHEMA_FIELDS(table)                                                        \
	.type = NEAP_SCHEMA_OBJECT, .fields = (table),                                   \
	.field_count = NEAP_ARRAY_LEN(table)

/* Scalars and their lists and maps, which everybody shares. */
extern const struct neap_schema neap_schema_any, neap_schema_string, neap_schema_int32,
	neap_schema_int64, neap_schema_number, neap_schema_boolean,
	neap_schema_int_or_string, neap_schema_quantity, neap_schema_time,
	neap_schema_micro_time, neap_schema_duration, neap_schema_bytes,
	neap_schema_strings /* list */, neap_schema_string_map, neap_schema_quantity_map,
	neap_schema_bytes_map;

#endif
