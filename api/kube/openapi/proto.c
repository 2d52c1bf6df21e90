/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes protobuf. A message's length precedes it in one to five bytes. So the content is
 * moved when the message ends, which costs one copy per level. */
#include "api/kube/openapi/proto.h"

#include <string.h>

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

void neap_proto_bytes(struct neap_buf *buf, unsigned field, const void *data, size_t len)
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
