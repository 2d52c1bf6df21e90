/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/proto_out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void proto_put(struct proto_out *out, const void *data, size_t len)
{
	assert_true(out->len + len <= BODY_MAX);
	memcpy(out->data + out->len, data, len);
	out->len += len;
}

void proto_put_varint(struct proto_out *out, uint64_t value)
{
	uint8_t byte;

	for (; value > 127; value >>= 7) {
		byte = (uint8_t)(value | 128);
		proto_put(out, &byte, 1);
	}
	byte = (uint8_t)value;
	proto_put(out, &byte, 1);
}

void proto_put_number(struct proto_out *out, uint32_t number, uint64_t value)
{
	proto_put_varint(out, (uint64_t)number << 3);
	proto_put_varint(out, value);
}

void proto_put_bytes(struct proto_out *out, uint32_t number, const void *data, size_t len)
{
	proto_put_varint(out, (uint64_t)number << 3 | 2);
	proto_put_varint(out, len);
	proto_put(out, data, len);
}

void proto_put_text(struct proto_out *out, uint32_t number, const char *text)
{
	proto_put_bytes(out, number, text, strlen(text));
}

void proto_put_message(struct proto_out *out, uint32_t number,
		       const struct proto_out *message)
{
	proto_put_bytes(out, number, message->data, message->len);
}

void proto_put_entry(struct proto_out *out, uint32_t number, const char *key,
		     const void *value, size_t len)
{
	struct proto_out entry = {0};

	proto_put_text(&entry, 1, key);
	proto_put_bytes(&entry, 2, value, len);
	proto_put_message(out, number, &entry);
}

void proto_put_name(struct proto_out *out, uint32_t number, const char *name)
{
	struct proto_out meta = {0}, none = {0};

	proto_put_text(&meta, 1, name);
	proto_put_text(&meta, 2, "");
	proto_put_text(&meta, 3, "");
	proto_put_text(&meta, 4, "");
	proto_put_text(&meta, 5, "");
	proto_put_text(&meta, 6, "");
	proto_put_number(&meta, 7, 0);
	proto_put_message(&meta, 8, &none);
	proto_put_message(out, number, &meta);
}

void proto_put_body(struct proto_out *out, const char *version, const char *kind,
		    const struct proto_out *raw)
{
	struct proto_out type = {0};

	proto_put(out, "k8s", 4);
	proto_put_text(&type, 1, version);
	proto_put_text(&type, 2, kind);
	proto_put_message(out, 1, &type);
	proto_put_message(out, 2, raw);
	proto_put_text(out, 3, "");
	proto_put_text(out, 4, "");
}

void proto_put_time(struct proto_out *out, uint32_t number, uint64_t seconds,
		    uint64_t nanos)
{
	struct proto_out time = {0};

	proto_put_number(&time, 1, seconds);
	proto_put_number(&time, 2, nanos);
	proto_put_message(out, number, &time);
}
