/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of protobuf for tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/utf8.h"
#include "t/lib/proto.h"

uint64_t proto_varint(struct proto_span *in)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (;; shift += 7) {
		assert_true(in->at < in->end && shift < 64);
		value |= (uint64_t)(*in->at & 0x7f) << shift;
		if ((*in->at++ & 0x80) == 0)
			return value;
	}
}

static json_t *read_text(struct proto_span in)
{
	size_t len = (size_t)(in.end - in.at);

	assert_true(neap_utf8_is_valid((const char *)in.at, len));
	return json_stringn((const char *)in.at, len);
}

/* {1 name, 2 value}: no name comes twice. */
static void read_named(struct proto_span in, const struct proto_entry *of, json_t *to)
{
	json_t *name = NULL, *value = NULL;

	while (in.at < in.end) {
		uint64_t tag = proto_varint(&in), len = proto_varint(&in);
		struct proto_span part = {in.at, in.at + len};

		assert_true(len <= (uint64_t)(in.end - in.at));
		if (tag == (1 << 3 | 2))
			name = read_text(part);
		else if (tag == (2 << 3 | 2))
			value = proto_message(part, of);
		else
			fail_msg("tag %d of a named value", (int)tag);
		in.at = part.end;
	}
	assert_non_null(name);
	assert_non_null(value);
	if (json_object_get(to, json_string_value(name)) != NULL)
		fail_msg("%s is there twice", json_string_value(name));
	(void)json_object_set_new(to, json_string_value(name), value);
	json_decref(name);
}

static json_t *part_of(json_t *json, const char *name, json_t *(*make)(void))
{
	if (json_object_get(json, name) == NULL)
		(void)json_object_set_new(json, name, make());
	return json_object_get(json, name);
}

json_t *proto_message(struct proto_span in, const struct proto_entry *entries)
{
	json_t *json = json_object();

	while (in.at < in.end) {
		uint64_t tag = proto_varint(&in), len;
		const struct proto_entry *entry = entries;
		struct proto_span part;

		while (entry->field != 0 && entry->field != tag >> 3)
			entry++;
		if (entry->field == 0)
			fail_msg("a field %d behind %s", (int)(tag >> 3), entries->name);
		assert_int_equal(tag & 7, entry->how == PROTO_FLAG ? 0 : 2);
		len = proto_varint(&in);
		if (entry->how == PROTO_FLAG) {
			(void)json_object_set_new(json, entry->name, json_boolean(len));
			continue;
		}
		assert_true(len <= (uint64_t)(in.end - in.at));
		part = (struct proto_span){in.at, in.at + len};
		in.at = part.end;
		switch (entry->how) {
		case PROTO_TEXT:
		case PROTO_ONE:
			assert_null(json_object_get(json, entry->name));
			(void)json_object_set_new(
				json, entry->name,
				entry->how == PROTO_TEXT
					? read_text(part)
					: proto_message(part, entry->of));
			break;
		case PROTO_TEXTS:
			(void)json_array_append_new(
				part_of(json, entry->name, json_array), read_text(part));
			break;
		case PROTO_LIST:
			(void)json_array_append_new(
				part_of(json, entry->name, json_array),
				proto_message(part, entry->of));
			break;
		case PROTO_NAMED:
			read_named(part, entry->of,
				   part_of(json, entry->name, json_object));
			break;
		default:
			fail();
		}
	}
	return json;
}
