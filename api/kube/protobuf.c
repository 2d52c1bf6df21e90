/* SPDX-License-Identifier: Apache-2.0
 *
 * A body is "k8s\0" and a message Unknown {1 typeMeta {1 apiVersion, 2 kind}, 2 raw, 3 contentEncoding},
 * whose raw is the object. What it can have stands in tables; they end, so nesting does too. */
#include "api/kube/protobuf_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/bounds.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/utf8.h"

#define USEC_PER_SEC INT64_C(1000000)
/* The years 1 to 9999, as RFC 3339 and Go have them. */
#define SECONDS_MIN INT64_C(-62135596800)
#define SECONDS_MAX INT64_C(253402300799)
#define ZERO_DEPTH  8  /* of messages that are not set */
#define SHOWN_BYTES 64 /* of a kind in a message */

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* --- bytes --- */

struct in {
	const uint8_t *at, *end;
};

struct field {
	uint32_t number;
	enum wire wire;
	uint64_t value;  /* of WIRE_VARINT */
	struct in bytes; /* of WIRE_BYTES */
};

static size_t left(const struct in *in)
{
	return (size_t)(in->end - in->at);
}

/* False when it is cut off, or has more than 64 bits. */
static bool varint_read(struct in *in, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		uint8_t byte = *in->at++;

		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*ret = value;
		return true;
	}
	return false;
}

static bool bytes_read(struct in *in, uint64_t len, struct in *ret)
{
	if (len > left(in))
		return false;
	*ret = (struct in){in->at, in->at + len};
	in->at += len;
	return true;
}

/* False when what is there is no field. */
static bool field_read(struct in *in, struct field *ret)
{
	uint64_t tag = 0, len = 0;

	if (!varint_read(in, &tag) || tag >> 3 == 0 || tag >> 32 != 0)
		return false;
	*ret = (struct field){.number = (uint32_t)(tag >> 3),
			      .wire = (enum wire)(tag & 7)};
	switch (ret->wire) {
	case WIRE_VARINT:
		return varint_read(in, &ret->value);
	case WIRE_64:
		return bytes_read(in, 8, &ret->bytes);
	case WIRE_32:
		return bytes_read(in, 4, &ret->bytes);
	case WIRE_BYTES:
		return varint_read(in, &len) && bytes_read(in, len, &ret->bytes);
	}
	return false; /* groups, which Kubernetes never had */
}

static int malformed(struct neap_error *err, const char *what)
{
	return neap_error_set(err, NEAP_EINVAL, "unable to decode the protobuf body: %s",
			      what);
}

static int no_field(struct neap_error *err)
{
	return malformed(err, "it is cut off, or has what is no field");
}

/* --- values --- */

/* As the parser of JSON takes them: UTF-8 without NUL. */
static int text_check(const struct in *in, struct neap_error *err)
{
	if (!neap_utf8_is_valid((const char *)in->at, left(in)))
		return malformed(err, "a text is no UTF-8");
	if (left(in) > 0 && memchr(in->at, '\0', left(in)) != NULL)
		return malformed(err, "a text has a NUL");
	return 0;
}

static json_t *text_json(const struct in *in)
{
	return json_stringn_nocheck(left(in) > 0 ? (const char *)in->at : "", left(in));
}

static json_t *base64_json(const struct in *in)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789+/";
	size_t len = 0, count = left(in);
	char *text = neap_alloc_array(count / 3 + 1, 4);
	json_t *json;

	if (text == NULL)
		return NULL;
	for (size_t i = 0; i < count; i += 3) {
		uint32_t word = (uint32_t)in->at[i] << 16;

		if (i + 1 < count)
			word |= (uint32_t)in->at[i + 1] << 8;
		if (i + 2 < count)
			word |= in->at[i + 2];
		text[len++] = digits[word >> 18];
		text[len++] = digits[word >> 12 & 63];
		text[len++] = i + 1 < count ? digits[word >> 6 & 63] : '=';
		text[len++] = i + 2 < count ? digits[word & 63] : '=';
	}
	json = json_stringn_nocheck(text, len);
	free(text);
	return json;
}

/* Timestamp {1 seconds, 2 nanos}. Without any it is none, and *ret NULL. */
static int time_read(struct in in, bool is_micro, json_t **ret, struct neap_error *err)
{
	bool is_empty = in.at == in.end;
	int64_t seconds = 0, nanos = 0;
	struct field field;
	char text[32];

	while (in.at < in.end) {
		if (!field_read(&in, &field))
			return no_field(err);
		if (field.number == 1 && field.wire == WIRE_VARINT)
			seconds = (int64_t)field.value;
		if (field.number == 2 && field.wire == WIRE_VARINT)
			nanos = (int64_t)field.value;
	}
	*ret = NULL;
	if (is_empty)
		return 0;
	if (seconds < SECONDS_MIN || seconds > SECONDS_MAX || nanos < 0 ||
	    nanos >= USEC_PER_SEC * 1000)
		return malformed(err, "a time is not within the years 1 to 9999");
	*ret = json_string(
		neap_time_format(seconds * USEC_PER_SEC + (is_micro ? nanos / 1000 : 0),
				 is_micro ? 6 : 0, text, sizeof(text)));
	return *ret != NULL ? 0 : neap_error_nomem(err);
}

/* --- members --- */

/* What is there under the name, or a new one; NULL without memory. Borrowed. */
static json_t *member_get(json_t *object, const char *name, json_t *(*make)(void))
{
	json_t *value = json_object_get(object, name);

	if (value != NULL)
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

/* One entry {1 key, 2 value} of a map. */
static int entry_add(const struct member *member, struct in in, json_t *object,
		     struct neap_error *err)
{
	json_t *map = member_get(object, member->name, json_object), *value;
	struct in key = {0}, bytes = {0};
	struct field field;
	char *name;
	int rc;

	if (map == NULL)
		return neap_error_nomem(err);
	while (in.at < in.end) {
		if (!field_read(&in, &field))
			return no_field(err);
		if (field.number <= 2 && field.wire != WIRE_BYTES)
			return malformed(err, "a field has another type");
		if (field.number == 1)
			key = field.bytes;
		else if (field.number == 2)
			bytes = field.bytes;
	}
	rc = text_check(&key, err);
	if (rc == 0 && member->type == TEXT_MAP)
		rc = text_check(&bytes, err);
	if (rc < 0)
		return rc;
	name = neap_strndup(left(&key) > 0 ? (const char *)key.at : "", left(&key));
	if (name == NULL)
		return neap_error_nomem(err);
	value = member->type == TEXT_MAP ? text_json(&bytes) : base64_json(&bytes);
	rc = set_take(map, name, value, err);
	free(name);
	return rc;
}

/* IntOrString {1 type, 2 intVal, 3 strVal}. */
static int int_or_text_add(const struct member *member, struct in in, json_t *object,
			   struct neap_error *err)
{
	uint64_t type = 0, number = 0;
	struct in text = {0};
	struct field field;
	int rc;

	while (in.at < in.end) {
		if (!field_read(&in, &field))
			return no_field(err);
		if (field.number <= 3 &&
		    field.wire != (field.number == 3 ? WIRE_BYTES : WIRE_VARINT))
			return malformed(err, "a field has another type");
		if (field.number == 1)
			type = field.value;
		else if (field.number == 2)
			number = field.value;
		else if (field.number == 3)
			text = field.bytes;
	}
	rc = text_check(&text, err);
	if (rc < 0)
		return rc;
	if (type != 0)
		return set_take(object, member->name, text_json(&text), err);
	if (number == 0 && !member->is_pointer)
		return 0;
	return set_take(object, member->name, json_integer((int32_t)number), err);
}

/* A body while it is read. */
struct decoding {
	struct neap_error *err;
	size_t fields; /* so far: each makes some values at most */
};

static int message_decode(const struct message *message, struct in in, json_t *object,
			  struct decoding *run);

static int bytes_add(const struct member *member, const struct in *in, json_t *object,
		     struct decoding *run)
{
	json_t *value = NULL;
	int rc = 0;

	switch (member->type) {
	case TEXT:
	case TEXTS:
		rc = text_check(in, run->err);
		if (rc < 0)
			return rc;
		if (member->type == TEXT && (left(in) > 0 || member->is_pointer))
			return set_take(object, member->name, text_json(in), run->err);
		if (member->type == TEXT) {
			(void)json_object_del(object,
					      member->name); /* the last one counts */
			return 0;
		}
		value = member_get(object, member->name, json_array);
		if (value == NULL || json_array_append_new(value, text_json(in)) < 0)
			return neap_error_nomem(run->err);
		return 0;
	case TIME:
	case MICRO_TIME:
		rc = time_read(*in, member->type == MICRO_TIME, &value, run->err);
		return rc == 0 && value != NULL
			       ? set_take(object, member->name, value, run->err)
			       : rc;
	case INT_OR_TEXT:
		return int_or_text_add(member, *in, object, run->err);
	case MESSAGE:
		value = member_get(object, member->name, json_object);
		if (value == NULL)
			return neap_error_nomem(run->err);
		return message_decode(member->of, *in, value, run);
	case MESSAGES:
		object = member_get(object, member->name, json_array);
		value = json_object();
		if (object == NULL || value == NULL ||
		    json_array_append(object, value) < 0)
			rc = neap_error_nomem(run->err);
		if (rc == 0)
			rc = message_decode(member->of, *in, value, run);
		json_decref(value);
		return rc;
	default:
		return entry_add(member, *in, object, run->err);
	}
}

static int member_add(const struct member *member, const struct field *field,
		      json_t *object, struct decoding *run)
{
	bool is_scalar = member->type == FLAG || member->type == NUMBER;

	if (member->type == SKIP)
		return 0;
	if (field->wire != (is_scalar ? WIRE_VARINT : WIRE_BYTES))
		return malformed(run->err, "a field has another type");
	if (!is_scalar)
		return bytes_add(member, &field->bytes, object, run);
	if (field->value == 0 && !member->is_pointer) {
		(void)json_object_del(object, member->name); /* the last one counts */
		return 0;
	}
	return set_take(object, member->name,
			member->type == FLAG ? json_boolean(field->value != 0)
					     : json_integer((int64_t)field->value),
			run->err);
}

/* Whether Go writes this for what is not set: 0, an empty text, and messages of these. A text that reads as
 * such a message counts as one, which no name or number does. */
static bool is_zero(const struct field *field, unsigned depth)
{
	struct in in = field->bytes;
	struct field inner;

	if (field->wire == WIRE_VARINT)
		return field->value == 0;
	while (in.at < in.end)
		if (field->wire != WIRE_BYTES || depth == 0 || !field_read(&in, &inner) ||
		    !is_zero(&inner, depth - 1))
			return false;
	return true;
}

static int message_decode(const struct message *message, struct in in, json_t *object,
			  struct decoding *run)
{
	struct field field;

	while (in.at < in.end) {
		int rc = 0;
		size_t i = 0;

		if (!field_read(&in, &field))
			return no_field(run->err);
		if (run->fields++ == NEAP_KUBE_VALUES_MAX)
			return neap_error_set(run->err, NEAP_ETOOLARGE,
					      NEAP_KUBE_VALUES_REFUSED,
					      NEAP_KUBE_VALUES_MAX);
		while (i < message->count && message->members[i].number != field.number)
			i++;
		if (i < message->count)
			rc = member_add(&message->members[i], &field, object, run);
		else if (message->strict_name != NULL && !is_zero(&field, ZERO_DEPTH))
			return neap_error_set(run->err, NEAP_EUNSUPPORTED,
					      "field %" PRIu32
					      " of %s is not read here in "
					      "protobuf: send application/json",
					      field.number, message->strict_name);
		if (rc == -NEAP_EINVAL)
			(void)neap_error_infield(run->err, "%s",
						 message->members[i].name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- the body --- */

struct unknown {
	struct in api_version, kind, raw, encoding;
};

static bool unknown_read(struct in in, struct unknown *ret)
{
	struct in type = {0};
	struct field field;

	*ret = (struct unknown){0};
	while (in.at < in.end) {
		if (!field_read(&in, &field))
			return false;
		if (field.number <= 3 && field.wire != WIRE_BYTES)
			return false;
		if (field.number == 1)
			type = field.bytes;
		else if (field.number == 2)
			ret->raw = field.bytes;
		else if (field.number == 3)
			ret->encoding = field.bytes;
	}
	while (type.at < type.end) {
		if (!field_read(&type, &field))
			return false;
		if (field.number <= 2 && field.wire != WIRE_BYTES)
			return false;
		if (field.number == 1)
			ret->api_version = field.bytes;
		else if (field.number == 2)
			ret->kind = field.bytes;
	}
	return true;
}

static bool is_text(const struct in *in, const char *text, size_t len)
{
	return left(in) == len && (len == 0 || memcmp(in->at, text, len) == 0);
}

/* The group is the same, and there is but a version behind it. */
static bool is_of_group(const struct in *api_version, const char *group)
{
	size_t len = strlen(group), all = left(api_version);

	return all > len && memcmp(api_version->at, group, len) == 0 &&
	       memchr(api_version->at + len, '/', all - len) == NULL;
}

static const struct message *message_find(const struct unknown *unknown)
{
	for (size_t i = 0; i < neap_kube_proto_kind_count; i++) {
		const struct proto_kind *kind = &neap_kube_proto_kinds[i];

		if (is_text(&unknown->kind, kind->kind, strlen(kind->kind)) &&
		    is_of_group(&unknown->api_version, kind->group))
			return kind->message;
	}
	return NULL;
}

static void show(const struct in *in, char *to)
{
	size_t len = left(in) < SHOWN_BYTES ? left(in) : SHOWN_BYTES;

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

static int object_decode(const struct message *message, const struct unknown *unknown,
			 json_t **ret, struct neap_error *err)
{
	json_auto_t *object = json_object();
	struct decoding run = {.err = err};
	int rc;

	if (object == NULL)
		return neap_error_nomem(err);
	rc = set_take(object, "kind", text_json(&unknown->kind), err);
	if (rc == 0)
		rc = set_take(object, "apiVersion", text_json(&unknown->api_version),
			      err);
	if (rc == 0)
		rc = message_decode(message, unknown->raw, object, &run);
	if (rc == 0)
		*ret = neap_steal(object);
	return rc;
}

int neap_protobuf_decode(const void *body, size_t len, json_t **ret,
			 struct neap_error *err)
{
	static const char magic[4] = {'k', '8', 's', '\0'};
	const struct message *message;
	struct unknown unknown;
	struct neap_error unheard = {0};
	int rc;

	if (err == NULL)
		err = &unheard;
	if (len < sizeof(magic) || memcmp(body, magic, sizeof(magic)) != 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "provided data does not appear to be a protobuf "
				      "message, expected prefix [107 56 115 0]");
	if (!unknown_read((struct in){(const uint8_t *)body + sizeof(magic),
				      (const uint8_t *)body + len},
			  &unknown))
		return no_field(err);
	rc = text_check(&unknown.kind, err);
	if (rc == 0)
		rc = text_check(&unknown.api_version, err);
	if (rc < 0)
		return rc;
	message = message_find(&unknown);
	if (message == NULL)
		return unsupported(&unknown, err);
	if (left(&unknown.encoding) > 0)
		return neap_error_set(err, NEAP_EUNSUPPORTED,
				      "protobuf bodies with an encoding of their own are "
				      "not read here");
	return object_decode(message, &unknown, ret, err);
}
