/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes protobuf. A message's length precedes it in one to five bytes. So the content is
 * moved when the message ends, which costs one copy per level. */
#include "api/kube/openapi/proto.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/utf8.h"

enum { VARINT = 0, DELIMITED = 2 };

static size_t varint(uint64_t value, unsigned char *out)
{
	size_t len = 0;

	while (value >= 0x80) {
		out[len++] = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	out[len++] = (unsigned char)value;
	return len;
}

static void add_varint(struct neap_buf *buf, uint64_t value)
{
	unsigned char bytes[10];

	neap_buf_add(buf, bytes, varint(value, bytes));
}

static void add_tag(struct neap_buf *buf, unsigned field, unsigned type)
{
	add_varint(buf, (uint64_t)field << 3 | type);
}

static void neap_proto_bytes(struct neap_buf *buf, unsigned field, const void *data,
			     size_t len)
{
	add_tag(buf, field, DELIMITED);
	add_varint(buf, len);
	neap_buf_add(buf, data, len);
}

void neap_proto_text(struct neap_buf *buf, unsigned field, const char *text)
{
	neap_proto_bytes(buf, field, text, strlen(text));
}

void neap_proto_bool(struct neap_buf *buf, unsigned field, bool value)
{
	add_tag(buf, field, VARINT);
	add_varint(buf, value);
}

size_t neap_proto_begin(struct neap_buf *buf, unsigned field)
{
	add_tag(buf, field, DELIMITED);
	return buf->len;
}

void neap_proto_end(struct neap_buf *buf, size_t begun)
{
	unsigned char bytes[10];
	size_t len, size;

	if (neap_buf_failed(buf))
		return;
	size = buf->len - begun;
	len = varint(size, bytes);
	neap_buf_add(buf, bytes, len); /* makes room */
	if (neap_buf_failed(buf))
		return;
	memmove(buf->data + begun + len, buf->data + begun, size);
	memcpy(buf->data + begun, bytes, len);
}

/* --- reading ---
 *
 * Protobuf fields on the wire, and Kubernetes values made from them. */

#define USEC_PER_SEC INT64_C(1000000)
/* The years 1 to 9999: the range of RFC 3339 and Go. */
#define SECONDS_MIN INT64_C(-62135596800)
#define SECONDS_MAX INT64_C(253402300799)

bool neap_proto_varint_read(struct proto_in *in, uint64_t *ret)
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

static bool bytes_read(struct proto_in *in, uint64_t len, struct proto_in *ret)
{
	if (len > proto_left(in))
		return false;
	*ret = (struct proto_in){in->at, in->at + len};
	in->at += len;
	return true;
}

bool neap_proto_field_read(struct proto_in *in, struct proto_field *ret)
{
	uint64_t tag = 0, len = 0;

	if (!neap_proto_varint_read(in, &tag) || tag >> 3 == 0 || tag >> 32 != 0)
		return false;
	*ret = (struct proto_field){.number = (uint32_t)(tag >> 3),
				    .wire = (enum proto_wire)(tag & 7)};
	switch (ret->wire) {
	case PROTO_VARINT:
		return neap_proto_varint_read(in, &ret->value);
	case PROTO_64:
		return bytes_read(in, 8, &ret->bytes);
	case PROTO_32:
		return bytes_read(in, 4, &ret->bytes);
	case PROTO_BYTES:
		return neap_proto_varint_read(in, &len) &&
		       bytes_read(in, len, &ret->bytes);
	}
	return false; /* groups, which Kubernetes never uses */
}

int neap_proto_malformed(struct neap_error *err, const char *what)
{
	return neap_error_set(err, NEAP_EINVAL, "unable to decode the protobuf body: %s",
			      what);
}

int neap_proto_no_field(struct neap_error *err)
{
	return neap_proto_malformed(err, "it is cut off, or has what is no field");
}

int neap_proto_other_type(struct neap_error *err)
{
	return neap_proto_malformed(err, "a field has another type");
}

int neap_proto_text_check(const struct proto_in *in, struct neap_error *err)
{
	if (!neap_utf8_is_valid((const char *)in->at, proto_left(in)))
		return neap_proto_malformed(err, "a text is no UTF-8");
	if (proto_left(in) > 0 && memchr(in->at, '\0', proto_left(in)))
		return neap_proto_malformed(err, "a text has a NUL");
	return 0;
}

json_t *neap_proto_text_json(const struct proto_in *in)
{
	return json_stringn_nocheck(proto_left(in) > 0 ? (const char *)in->at : "",
				    proto_left(in));
}

json_t *neap_proto_base64_json(const struct proto_in *in)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789+/";
	size_t len = 0, count = proto_left(in);
	char *text = neap_alloc_array(count / 3 + 1, 4);
	json_t *json;

	if (!text)
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

int neap_proto_time_read(struct proto_in in, bool is_micro, json_t **ret,
			 struct neap_error *err)
{
	bool is_empty = in.at == in.end;
	int64_t seconds = 0, nanos = 0;
	struct proto_field field;
	char text[32];

	while (in.at < in.end) {
		if (!neap_proto_field_read(&in, &field))
			return neap_proto_no_field(err);
		if (field.number == 1 && field.wire == PROTO_VARINT)
			seconds = (int64_t)field.value;
		if (field.number == 2 && field.wire == PROTO_VARINT)
			nanos = (int64_t)field.value;
	}
	*ret = NULL;
	if (is_empty)
		return 0;
	if (seconds < SECONDS_MIN || seconds > SECONDS_MAX || nanos < 0 ||
	    nanos >= USEC_PER_SEC * 1000)
		return neap_proto_malformed(err,
					    "a time is not within the years 1 to 9999");
	*ret = json_string(
		neap_time_format(seconds * USEC_PER_SEC + (is_micro ? nanos / 1000 : 0),
				 is_micro ? 6 : 0, text, sizeof(text)));
	return *ret ? 0 : neap_error_nomem(err);
}

int neap_proto_either_read(struct proto_in in, json_t **ret, struct neap_error *err)
{
	uint64_t type = 0, number = 0;
	struct proto_in text = {0};
	struct proto_field field;
	int rc;

	while (in.at < in.end) {
		if (!neap_proto_field_read(&in, &field))
			return neap_proto_no_field(err);
		if (field.number <= 3 &&
		    field.wire != (field.number == 3 ? PROTO_BYTES : PROTO_VARINT))
			return neap_proto_other_type(err);
		if (field.number == 1)
			type = field.value;
		else if (field.number == 2)
			number = field.value;
		else if (field.number == 3)
			text = field.bytes;
	}
	rc = neap_proto_text_check(&text, err);
	if (rc < 0)
		return rc;
	*ret = type != 0 ? neap_proto_text_json(&text) : json_integer((int32_t)number);
	return *ret ? 0 : neap_error_nomem(err);
}
