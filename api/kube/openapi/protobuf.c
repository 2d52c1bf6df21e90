/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes protobuf bodies. A body is "k8s\0" and a message Unknown {1 typeMeta {1
 * apiVersion, 2 kind}, 2 raw, 3 contentEncoding}, whose raw is the object. The schema of
 * the kind controls decoding, as for JSON; a table adds only the field numbers. Schemas
 * with numbers are not recursive, so nesting is limited. */
#include "api/kube/openapi/protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "api/kube/base/kind.h"
#include "api/kube/openapi/proto.h"
#include "api/kube/rules/rules.h"
#include "api/kube/types/bodies.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define SHOWN_BYTES 64 /* of a kind in messages */

/* --- numbers --- */

static int by_name(const void *name, const void *row)
{
	return strcmp(name, ((const struct proto_numbers *)row)->name);
}

const struct proto_numbers *neap_proto_numbers_find(const char *name)
{
	return name ? bsearch(name, neap_kube_proto_numbers.rows,
			      neap_kube_proto_numbers.count,
			      sizeof(*neap_kube_proto_numbers.rows), by_name)
		    : NULL;
}

/* --- members --- */

/* The state of decoding a body. */
struct decoding {
	struct neap_error *err;
	size_t fields; /* so far; each creates only a few values */
};

static int message_decode(const struct neap_schema *schema,
			  const struct proto_numbers *numbers, struct proto_in in,
			  json_t *object, struct decoding *run);

/* The member, or a new one; NULL without memory. Borrowed. */
static json_t *member_get(json_t *object, const char *name, json_t *(*make)(void))
{
	json_t *value = json_object_get(object, name);

	if (value)
		return value;
	if (json_object_set_new_nocheck(object, name, make()) < 0)
		return NULL;
	return json_object_get(object, name);
}

static int set_take(json_t *object, const char *name, json_t *value,
		    struct neap_error *err)
{
	if (json_object_set_new_nocheck(object, name, value) < 0)
		return neap_error_nomem(err);
	return 0;
}

static int made(const json_t *value, struct neap_error *err)
{
	return value ? 0 : neap_error_nomem(err);
}

/* Reads the first field of a message, which is bytes: Quantity {1 string}, RawExtension
 * {1 raw}. */
static int inner_read(struct proto_in in, struct proto_in *ret, struct neap_error *err)
{
	struct proto_field field;

	*ret = (struct proto_in){0};
	while (in.at < in.end) {
		if (!neap_proto_field_read(&in, &field))
			return neap_proto_no_field(err);
		if (field.number != 1)
			continue;
		if (field.wire != PROTO_BYTES)
			return neap_proto_other_type(err);
		*ret = field.bytes;
	}
	return 0;
}

static int text_read(const struct neap_schema *schema, struct proto_in in, json_t **ret,
		     struct neap_error *err)
{
	int rc;

	switch (schema->format) {
	case NEAP_FORMAT_TIME:
	case NEAP_FORMAT_MICRO_TIME:
		return neap_proto_time_read(in, schema->format == NEAP_FORMAT_MICRO_TIME,
					    ret, err);
	case NEAP_FORMAT_BYTES:
		*ret = neap_proto_base64_json(&in);
		return made(*ret, err);
	default:
		rc = neap_proto_text_check(&in, err);
		if (rc < 0)
			return rc;
		*ret = neap_proto_text_json(&in);
		return made(*ret, err);
	}
}

static int any_read(struct proto_in in, json_t **ret, struct neap_error *err)
{
	int rc;

	if (in.at == in.end)
		return 0;
	rc = neap_json_parse((const char *)in.at, proto_left(&in), 0, ret, NULL);
	if (rc == -NEAP_EINVAL)
		return neap_proto_malformed(err, "what should be JSON is none");
	return rc < 0 ? neap_error_nomem(err) : 0;
}

/* *ret is a new value; NULL: none, as for a zero time. */
static int value_read(const struct neap_schema *schema, const struct proto_field *field,
		      json_t **ret, struct decoding *run)
{
	bool is_number = schema->type == NEAP_SCHEMA_INTEGER ||
			 schema->type == NEAP_SCHEMA_BOOLEAN;
	struct proto_in in = field->bytes;
	int rc;

	*ret = NULL;
	if (field->wire != (is_number ? PROTO_VARINT : PROTO_BYTES))
		return neap_proto_other_type(run->err);
	switch (schema->type) {
	case NEAP_SCHEMA_INTEGER:
		*ret = json_integer((json_int_t)field->value);
		return made(*ret, run->err);
	case NEAP_SCHEMA_BOOLEAN:
		*ret = json_boolean(field->value != 0);
		return 0;
	case NEAP_SCHEMA_STRING:
		return text_read(schema, in, ret, run->err);
	case NEAP_SCHEMA_INT_OR_STRING:
		return neap_proto_either_read(in, ret, run->err);
	case NEAP_SCHEMA_QUANTITY:
		rc = inner_read(in, &in, run->err);
		return rc < 0 ? rc : text_read(schema, in, ret, run->err);
	case NEAP_SCHEMA_ANY:
		rc = inner_read(in, &in, run->err);
		return rc < 0 ? rc : any_read(in, ret, run->err);
	case NEAP_SCHEMA_OBJECT:
		*ret = json_object();
		rc = made(*ret, run->err);
		if (rc == 0)
			rc = message_decode(schema, neap_proto_numbers_find(schema->name),
					    in, *ret, run);
		break;
	default: /* a list within a map: {1 items} */
		*ret = json_array();
		rc = made(*ret, run->err);
		while (rc == 0 && in.at < in.end) {
			struct proto_field inner;
			json_t *item = NULL;

			if (!neap_proto_field_read(&in, &inner))
				rc = neap_proto_no_field(run->err);
			else if (inner.number == 1)
				rc = value_read(schema->items, &inner, &item, run);
			if (rc == 0 && item && json_array_append_new(*ret, item) < 0)
				rc = neap_error_nomem(run->err);
		}
		break;
	}
	if (rc < 0) {
		json_decref(*ret);
		*ret = NULL;
	}
	return rc;
}

/* One entry {1 key, 2 value} of a map. */
static int entry_add(const struct neap_schema *schema, struct proto_in in, json_t *map,
		     struct decoding *run)
{
	struct proto_field field, entry = {.wire = PROTO_BYTES};
	struct proto_in key = {0};
	json_t *value = NULL;
	char *name;
	int rc;

	while (in.at < in.end) {
		if (!neap_proto_field_read(&in, &field))
			return neap_proto_no_field(run->err);
		if (field.number <= 2 && field.wire != PROTO_BYTES)
			return neap_proto_other_type(run->err);
		if (field.number == 1)
			key = field.bytes;
		else if (field.number == 2)
			entry = field;
	}
	rc = neap_proto_text_check(&key, run->err);
	if (rc == 0)
		rc = value_read(schema, &entry, &value, run);
	if (rc < 0)
		return rc;
	name = neap_strndup(proto_left(&key) > 0 ? (const char *)key.at : "",
			    proto_left(&key));
	if (!name) {
		json_decref(value);
		return neap_error_nomem(run->err);
	}
	rc = set_take(map, name, value ? value : json_null(), run->err);
	free(name);
	return rc;
}

static int too_many(struct neap_error *err)
{
	return neap_error_set(err, NEAP_ETOOLARGE, NEAP_KUBE_VALUES_REFUSED,
			      NEAP_KUBE_VALUES_MAX);
}

/* Adds one item of a list, or a packed field of numbers. */
static int items_add(const struct neap_schema *schema, const struct proto_field *field,
		     json_t *list, struct decoding *run)
{
	struct proto_field item = *field;
	struct proto_in in = field->bytes;
	bool is_packed =
		schema->type == NEAP_SCHEMA_INTEGER && field->wire == PROTO_BYTES;
	json_t *value;
	int rc;

	do {
		if (is_packed && in.at == in.end)
			return 0;
		if (is_packed && !neap_proto_varint_read(&in, &item.value))
			return neap_proto_no_field(run->err);
		if (is_packed)
			item.wire = PROTO_VARINT;
		if (is_packed && run->fields++ == NEAP_KUBE_VALUES_MAX)
			return too_many(run->err);
		rc = value_read(schema, &item, &value, run);
		if (rc == 0 &&
		    json_array_append_new(list, value ? value : json_null()) < 0)
			rc = neap_error_nomem(run->err);
	} while (rc == 0 && is_packed);
	return rc;
}

/* Whether it is the zero value of Go. */
static bool is_zero(const json_t *value)
{
	return json_is_false(value) ||
	       (json_is_integer(value) && json_integer_value(value) == 0) ||
	       (json_is_string(value) && json_string_length(value) == 0);
}

static int member_add(const struct neap_schema *schema, const char *name, bool has_zero,
		      const struct proto_field *field, json_t *object,
		      struct decoding *run)
{
	json_t *value = NULL;
	int rc;

	if (schema->type == NEAP_SCHEMA_LIST) {
		value = member_get(object, name, json_array);
		return !value ? neap_error_nomem(run->err)
			      : items_add(schema->items, field, value, run);
	}
	if (schema->type == NEAP_SCHEMA_MAP || schema->type == NEAP_SCHEMA_OBJECT) {
		if (field->wire != PROTO_BYTES)
			return neap_proto_other_type(run->err);
		value = member_get(object, name, json_object);
		if (!value)
			return neap_error_nomem(run->err);
		return schema->type == NEAP_SCHEMA_MAP
			       ? entry_add(schema->items, field->bytes, value, run)
			       : message_decode(schema,
						neap_proto_numbers_find(schema->name),
						field->bytes, value, run);
	}
	rc = value_read(schema, field, &value, run);
	if (rc < 0)
		return rc;
	if (value && (has_zero || !is_zero(value)))
		return set_take(object, name, value, run->err);
	json_decref(value);
	(void)json_object_del(object, name); /* the last one counts */
	return 0;
}

static int field_decode(const struct neap_schema *schema, const char *name,
			const struct proto_field *field, json_t *object,
			struct decoding *run)
{
	bool has_zero = *name == '*';
	const struct neap_schema_field *member;
	int rc;

	if (*name == '~')
		return 0;
	if (*name == '>')
		return field->wire == PROTO_BYTES
			       ? message_decode(schema, neap_proto_numbers_find(name + 1),
						field->bytes, object, run)
			       : neap_proto_other_type(run->err);
	name += has_zero;
	member = neap_schema_field_find(schema, name);
	if (!member)
		return 0;
	rc = member_add(member->schema, name, has_zero, field, object, run);
	if (rc == -NEAP_EINVAL)
		(void)neap_error_infield(run->err, "%s", name);
	return rc;
}

/* Unknown fields are skipped, as protobuf requires. */
static int message_decode(const struct neap_schema *schema,
			  const struct proto_numbers *numbers, struct proto_in in,
			  json_t *object, struct decoding *run)
{
	struct proto_field field;
	int rc = 0;

	while (rc == 0 && in.at < in.end) {
		if (!neap_proto_field_read(&in, &field))
			return neap_proto_no_field(run->err);
		if (run->fields++ == NEAP_KUBE_VALUES_MAX)
			return too_many(run->err);
		if (numbers && field.number <= numbers->count &&
		    numbers->fields[field.number - 1])
			rc = field_decode(schema, numbers->fields[field.number - 1],
					  &field, object, run);
	}
	return rc;
}

/* --- the body --- */

struct unknown {
	struct proto_in api_version, kind, raw, encoding;
};

static bool unknown_read(struct proto_in in, struct unknown *ret)
{
	struct proto_in type = {0};
	struct proto_field field;

	*ret = (struct unknown){0};
	while (in.at < in.end) {
		if (!neap_proto_field_read(&in, &field))
			return false;
		if (field.number <= 3 && field.wire != PROTO_BYTES)
			return false;
		if (field.number == 1)
			type = field.bytes;
		else if (field.number == 2)
			ret->raw = field.bytes;
		else if (field.number == 3)
			ret->encoding = field.bytes;
	}
	while (type.at < type.end) {
		if (!neap_proto_field_read(&type, &field))
			return false;
		if (field.number <= 2 && field.wire != PROTO_BYTES)
			return false;
		if (field.number == 1)
			ret->api_version = field.bytes;
		else if (field.number == 2)
			ret->kind = field.bytes;
	}
	return true;
}

static bool is_text(const struct proto_in *in, const char *text, size_t len)
{
	return proto_left(in) == len && (len == 0 || memcmp(in->at, text, len) == 0);
}

/* Whether the group is equal, followed by only a version. */
static bool is_of_group(const struct proto_in *api_version, const char *group)
{
	size_t len = strlen(group), all = proto_left(api_version);

	if (len > 0 && (all <= len || memcmp(api_version->at, group, len) != 0 ||
			api_version->at[len++] != '/'))
		return false;
	return all > len && !memchr(api_version->at + len, '/', all - len);
}

static bool is_of(const struct unknown *unknown, const char *group, const char *kind)
{
	return is_text(&unknown->kind, kind, strlen(kind)) &&
	       (!group || is_of_group(&unknown->api_version, group));
}

/* NULL: no such kind. */
static const struct neap_schema *schema_find(const struct unknown *unknown)
{
	static const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};
	/* In delete options clients use the group of the object. */
	static const struct {
		const char *group;
		const struct neap_kube_body *body;
	} bodies[] = {
		{"", &neap_kube_body_binding},
		{"policy", &neap_kube_body_eviction},
		{"autoscaling", &neap_kube_body_scale},
		{NULL, &neap_kube_body_delete_options},
		{"authentication.k8s.io", &neap_kube_body_self_review},
		{"authentication.k8s.io", &neap_kube_body_token_review},
		{"authorization.k8s.io", &neap_kube_body_self_access_review},
		{"authorization.k8s.io", &neap_kube_body_self_rules_review},
		{"authorization.k8s.io", &neap_kube_body_access_review},
		{"authorization.k8s.io", &neap_kube_body_local_access_review},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(tables); i++)
		for (const struct neap_kube_kind *const *kind = tables[i]; *kind; kind++)
			if (is_of(unknown, (*kind)->group, (*kind)->kind))
				return (*kind)->schema;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bodies); i++)
		if (is_of(unknown, bodies[i].group, bodies[i].body->kind))
			return bodies[i].body->schema;
	return NULL;
}

static void show(const struct proto_in *in, char *to)
{
	size_t len = proto_left(in) < SHOWN_BYTES ? proto_left(in) : SHOWN_BYTES;

	if (len > 0)
		memcpy(to, in->at, len);
	to[len] = '\0';
	neap_utf8_trim(to);
}

static int unsupported(const struct unknown *unknown, struct neap_error *err)
{
	char kind[SHOWN_BYTES + 1], version[SHOWN_BYTES + 1];

	show(&unknown->kind, kind);
	show(&unknown->api_version, version);
	return neap_error_set(err, NEAP_EUNSUPPORTED,
			      "protobuf bodies of kind \"%s\" in version \"%s\" are not "
			      "read here: send application/json",
			      kind, version);
}

static int object_decode(const struct neap_schema *schema,
			 const struct proto_numbers *numbers,
			 const struct unknown *unknown, json_t **ret,
			 struct neap_error *err)
{
	json_auto_t *object = json_object();
	struct decoding run = {.err = err};
	int rc;

	if (!object)
		return neap_error_nomem(err);
	rc = set_take(object, "kind", neap_proto_text_json(&unknown->kind), err);
	if (rc == 0)
		rc = set_take(object, "apiVersion",
			      neap_proto_text_json(&unknown->api_version), err);
	if (rc == 0)
		rc = message_decode(schema, numbers, unknown->raw, object, &run);
	if (rc == 0)
		*ret = neap_steal(object);
	return rc;
}

int neap_protobuf_decode(const void *body, size_t len, json_t **ret,
			 struct neap_error *err)
{
	static const char magic[4] = {'k', '8', 's', '\0'};
	const struct neap_schema *schema;
	const struct proto_numbers *numbers;
	struct unknown unknown;
	struct neap_error unheard = {0};
	int rc;

	if (!err)
		err = &unheard;
	if (len < sizeof(magic) || memcmp(body, magic, sizeof(magic)) != 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "provided data does not appear to be a protobuf "
				      "message, expected prefix [107 56 115 0]");
	if (!unknown_read((struct proto_in){(const uint8_t *)body + sizeof(magic),
					    (const uint8_t *)body + len},
			  &unknown))
		return neap_proto_no_field(err);
	rc = neap_proto_text_check(&unknown.kind, err);
	if (rc == 0)
		rc = neap_proto_text_check(&unknown.api_version, err);
	if (rc < 0)
		return rc;
	schema = schema_find(&unknown);
	numbers = schema ? neap_proto_numbers_find(schema->name) : NULL;
	if (!numbers)
		return unsupported(&unknown, err);
	if (proto_left(&unknown.encoding) > 0)
		return neap_error_set(err, NEAP_EUNSUPPORTED,
				      "protobuf bodies with an encoding of their own are "
				      "not read here");
	return object_decode(schema, numbers, &unknown, ret, err);
}
