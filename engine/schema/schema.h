/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema of a kind: a tree of fields with types and limits. Built-in kinds have C
 * tables; a CustomResourceDefinition has its structural schema. The same tree serves to
 * validate, default and prune objects, to merge lists in patches, and to write the
 * OpenAPI documents.
 *
 * A schema is immutable. Trees of built-in kinds share branches (a Deployment has a
 * PodTemplateSpec) and may be cyclic (JSONSchemaProps); walkers follow the object, whose
 * depth jansson bounds. */
#ifndef NEAP_ENGINE_SCHEMA_SCHEMA_H
#define NEAP_ENGINE_SCHEMA_SCHEMA_H

#include <jansson.h>

#include "engine/base/error.h"
#include "engine/base/quantity.h"

/* Causes that one check reports; further ones are counted. */
#define NEAP_SCHEMA_CAUSES_MAX 32
/* Limits on nodes and depth of a schema that is not built in. */
#define NEAP_SCHEMA_NODES_MAX 20000
#define NEAP_SCHEMA_DEPTH_MAX 64
/* Bytes of compiled patterns of one such schema. */
#define NEAP_SCHEMA_CODE_MAX (4 * 1024 * 1024)
/* Step budget of one call that defaults or validates, about 40 ms. Objects and schemas
 * that need more are refused. */
#define NEAP_SCHEMA_WORK_MAX (4 * 1000 * 1000)
/* Bytes of JSON that one call adds as defaults. */
#define NEAP_SCHEMA_DEFAULTS_MAX (1024 * 1024)

enum neap_schema_type {
	NEAP_SCHEMA_ANY, /* any JSON; unknown fields are kept */
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

/* Formats of strings. */
enum neap_schema_format {
	NEAP_FORMAT_NONE,
	NEAP_FORMAT_TIME,         /* RFC 3339 */
	NEAP_FORMAT_MICRO_TIME,   /* RFC 3339 with exactly six decimals */
	NEAP_FORMAT_ANY_DURATION, /* for declared kinds: "1d" and "5 days" too */
	NEAP_FORMAT_DURATION,     /* as in Go: "1h30m", "-1.5h", "300ms" */
	NEAP_FORMAT_BYTES,        /* base64 */
	NEAP_FORMAT_INT32,        /* for an INTEGER; the default is int64 */
	/* For schemas that are not built in. Other format names are not checked. */
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

/* How a strategic merge patch merges a list. */
enum neap_schema_list {
	NEAP_LIST_ATOMIC, /* replaced as a whole */
	NEAP_LIST_SET,    /* of unique scalars */
	NEAP_LIST_MAP,    /* of objects identified by merge_key */
};

struct neap_schema;

struct neap_schema_field {
	const char *name;
	const struct neap_schema *schema;
	const char *doc; /* NULL: that of the schema */
	bool is_required;
	/* For lists: how a strategic patch merges this one, and its key
	 * ("containerPort"). */
	enum neap_schema_list merge;
	const char *merge_key;
	/* A second key that server-side apply uses to identify items; NULL: none. */
	const char *other_key;
	/* The object is replaced, not merged ($retainKeys of Kubernetes:
	 * Deployment.spec.strategy, items of volumes). */
	bool retains_keys;
	const char *fallback; /* default as JSON text; NULL: none */
	/* For built-in kinds, where Go has no pointer: "", 0, false, [] and {} mean
	 * missing. Decoding removes them (except {}, which Go writes too), and the
	 * default applies. In a CustomResourceDefinition only absent fields are
	 * missing. */
	bool zero_is_missing;
};

struct neap_schema {
	/* Name of its OpenAPI definition ("io.k8s.api.core.v1.PodSpec"); NULL: written
	 * inline. */
	const char *name;
	const char *doc;
	enum neap_schema_type type;
	enum neap_schema_format format;
	bool is_nullable;
	bool keeps_unknown; /* x-kubernetes-preserve-unknown-fields */
	/* x-kubernetes-embedded-resource: has kind, apiVersion, metadata */
	bool is_embedded;
	/* of an OBJECT; of an ANY: applied when the value is an object */
	const struct neap_schema_field *fields;
	size_t field_count;
	/* Set by neap_schema_parse: fields, when they are sorted by name. */
	const struct neap_schema_field *sorted;
	/* Required members that are not fields; NULL-terminated, NULL: none. */
	const char *const *required;
	const struct neap_schema *items; /* of a LIST or MAP; NULL: ANY */
	/* Items of a LIST or MAP: replaces a null, as JSON text; NULL: none. */
	const char *fallback;
	/* The list type of CRDs: x-kubernetes-list-type, -list-map-keys. */
	enum neap_schema_list list;
	const char *const *list_keys; /* NULL ends */
	/* x-kubernetes-map-type: server-side apply replaces it as a whole. */
	bool is_atomic;
	const char *const *values; /* strings of an enum, NULL-terminated; NULL: any */
	const json_t
		*values_json; /* an array, for an enum whose values are not all strings */
	/* Limits; unset ones are NEAP_MISSING or NaN. */
	double minimum, maximum;
	bool is_minimum_exclusive, is_maximum_exclusive;
	int64_t min_length,
		/* code points of a STRING, items of a LIST, members of a MAP or OBJECT */
		max_length;
	/* For an ANY: the type its lengths apply to, STRING, LIST or OBJECT. */
	enum neap_schema_type length_of;
	bool has_limits;     /* whether any limit above is set; C tables leave all at 0 */
	double multiple_of;  /* 0: of any */
	const char *pattern; /* of a STRING, in PCRE2 syntax */
	void *pattern_code;
	/* For CRDs: allOf, anyOf, oneOf and not, kept as written and checked. */
	const struct neap_schema *const *all_of, *const *any_of, *const *one_of;
	const struct neap_schema * not ;
	/* From neap_schema_parse: causes use the words for a CustomResourceDefinition. */
	bool is_declared;
	bool has_rules; /* has x-kubernetes-validations, which are not evaluated */
};

/* --- looking --- */

const struct neap_schema_field *neap_schema_field_find(const struct neap_schema *schema,
						       const char *name);
/* Returns the schema at a path such as "spec.containers"; NULL: there is none. Lists and
 * maps need no index; "spec.containers[0]" is an item. A leading "." is allowed. */
const struct neap_schema *neap_schema_find(const struct neap_schema *schema,
					   const char *path);

/* --- checking --- */

/* One error, in the words of Kubernetes. */
struct neap_cause {
	/* "FieldValueInvalid", "FieldValueRequired", "FieldValueForbidden",
	 * "FieldValueNotSupported", "FieldValueDuplicate", "FieldValueTypeInvalid",
	 * "FieldValueTooLong", "FieldValueTooMany" */
	const char *reason;
	/* "spec.containers[0].ports[1].name"; members of maps as data[key] */
	char field[256];
	char message
		[512]; /* "Invalid value: \"x\": must be ...", "Required value", ... */
};

struct neap_causes {
	size_t count; /* how many are stored */
	size_t more;  /* how many more there were */
	/* memory was short: not everything was checked, which counts as a cause */
	bool is_short;
	struct neap_cause list[NEAP_SCHEMA_CAUSES_MAX];
};

/* Equal to zeroing, without reading earlier causes. */
void neap_causes_clear(struct neap_causes *causes);
/* Adds a cause; field and the rest of the message are formatted. */
void neap_causes_add(struct neap_causes *causes, const char *reason, const char *field,
		     const char *fmt, ...) NEAP_PRINTF(4, 5);
/* Common causes; the value is shown as Kubernetes shows it: strings quoted, others as
 * JSON. */
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
/* Prefixes the fields of causes from index from on, with a "." unless a "[" follows; like
 * neap_error_infield. */
void neap_causes_infield(struct neap_causes *causes, size_t from, const char *fmt, ...)
	NEAP_PRINTF(3, 4);

/* How unknown fields are handled. */
enum neap_schema_unknown {
	NEAP_UNKNOWN_PRUNE,  /* taken out silently */
	NEAP_UNKNOWN_WARN,   /* removed, and each path is reported */
	NEAP_UNKNOWN_REFUSE, /* each is an error: "unknown field \"spec.frob\"" */
};

/* Normalises a decoded object in place: removes nulls that are not nullable, removes
 * unknown fields (each path is reported to unknown, which may be NULL), adds defaults.
 * Types are not checked; mismatches stay for the check. Returns false without memory or
 * when the defaults exceed a limit above; the object is then unusable. */
bool neap_schema_prune(const struct neap_schema *schema, json_t *object,
		       void (*unknown)(void *arg, const char *path), void *arg);
bool neap_schema_default(const struct neap_schema *schema, json_t *object);
/* The same. After false, *ret_is_over says whether a limit was the reason rather than
 * memory. */
bool neap_schema_default_told(const struct neap_schema *schema, json_t *object,
			      bool *ret_is_over);
/* Validates types, required fields, limits, enums, patterns, formats, duplicates in sets
 * and maps, and logic (allOf, ...). Adds to causes. Returns false without memory: not
 * everything was checked, and a cause says so. */
bool neap_schema_check(const struct neap_schema *schema, const json_t *object,
		       struct neap_causes *causes);
/* The same for an update of before: a value that is unchanged, with everything in it,
 * causes no error even if today's schema refuses it. Items of a map list are compared
 * with the item of the same keys; items of other lists are checked unless the whole list
 * is unchanged. allOf, anyOf, oneOf and not are checked whenever their value changed. */
bool neap_schema_check_change(const struct neap_schema *schema, const json_t *object,
			      const json_t *before, struct neap_causes *causes);
/* The limit on items of a list, or members of a map, by the member's name. */
struct neap_schema_bound {
	const char *name;
	size_t max;
};

struct neap_schema_bounds {
	const struct neap_schema_bound *rows; /* sorted by name */
	size_t count;
	size_t other; /* for members without a row */
	size_t least; /* lengths up to this one are always allowed */
};

/* Adds a cause FieldValueTooMany for each list and map in object that is longer than its
 * limit and longer than at the same place in before (NULL: nothing), so stored objects
 * can be written again and shrink. Needs no schema, so it runs first. Returns the number
 * of values in object, including itself. */
size_t neap_schema_check_bounds(const struct neap_schema_bounds *bounds,
				const json_t *object, const json_t *before,
				struct neap_causes *causes);
/* The number alone. */
size_t neap_schema_values(const json_t *object);
/* Decodes a built-in kind. A type that Go could not decode is an error 400, not 422. A
 * kube-apiserver reports the first as "json: cannot unmarshal string into Go struct field
 * PodSpec.spec.containers of type []v1.Container"; neap names the path and the expected
 * type. Quantities become canonical texts, as Go writes them (0.5 becomes "500m"). Zero
 * values that mean missing are removed (zero_is_missing). Returns 0; -NEAP_EINVAL with
 * field; -NEAP_ENOMEM. */
int neap_schema_decode(const struct neap_schema *schema, json_t *object,
		       struct neap_error *err);
/* Writes the canonical text of a string or number that is a quantity; returns false for
 * anything else. */
bool neap_schema_amount(const json_t *value, char buf[NEAP_QUANTITY_SIZE]);
/* Gives quantities that equal those at the same place in before the spelling of before,
 * so that an unchanged amount changes nothing. Returns false without memory. */
bool neap_schema_keep_amounts(const struct neap_schema *schema, json_t *object,
			      const json_t *before);

/* --- schemas that are not built in --- */

/* Parses the openAPIV3Schema of a CustomResourceDefinition, which must be structural.
 * Errors are added to causes with fields relative to json ("properties[spec].type");
 * neap_causes_infield adds the prefix. The root and every embedded object have
 * apiVersion, kind and metadata, declared or not; the root's may be missing. The caller
 * frees the schema, which references nothing of json. Returns 0; NEAP_EINVAL (err is the
 * first cause), NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_schema_parse(const json_t *json, struct neap_schema **ret,
		      struct neap_causes *causes, struct neap_error *err);
/* Only for schemas of neap_schema_parse, as the next two. Accepts NULL. */
void neap_schema_free(struct neap_schema *schema);
/* Sets the schema of metadata for the root and embedded objects; until then it is any
 * object. Copies *metadata, not what it points to. Must not be called while others use
 * the schema. */
void neap_schema_set_metadata(struct neap_schema *schema,
			      const struct neap_schema *metadata);
/* Reports the path of each value with x-kubernetes-validations, which are not evaluated:
 * "" for the root, "spec.list[*].name". Returns their number. found may be NULL. */
size_t neap_schema_rules(const struct neap_schema *schema,
			 void (*found)(void *arg, const char *path), void *arg);

/* --- tables of C --- */

/* static const struct neap_schema_field x_fields[] = { ... };
 * NEAP_SCHEMA_OBJECT_OF(x_fields) */
#define NEAP_SCHEMA_FIELDS(table)                                                        \
	.type = NEAP_SCHEMA_OBJECT, .fields = (table),                                   \
	.field_count = NEAP_ARRAY_LEN(table)

/* Shared scalars, and lists and maps of them. */
extern const struct neap_schema neap_schema_any, neap_schema_string, neap_schema_int32,
	neap_schema_int64, neap_schema_number, neap_schema_boolean,
	neap_schema_int_or_string, neap_schema_quantity, neap_schema_time,
	neap_schema_micro_time, neap_schema_duration, neap_schema_bytes,
	neap_schema_strings /* list */, neap_schema_string_map, neap_schema_quantity_map,
	neap_schema_bytes_map;

#endif
