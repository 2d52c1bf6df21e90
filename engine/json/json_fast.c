/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/json/json_fast.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/utf8.h"

#define DEPTH_MAX  256
#define DIGITS_MAX 18 /* fit in 64 bits */
/* Strings with escapes up to here are put together on the stack. */
#define ESCAPED_MAX 4096

/* --- reading --- */

struct reader {
	const char *at, *end;
	bool may_repeat; /* a member */
};

/* What ends the plain part of a string: quote, backslash, control characters. Others are
 * 0; bytes of longer characters are 2. */
static const unsigned char classes[256] = {
	[0 ... 0x1f] = 1,
	['"'] = 1,
	['\\'] = 1,
	[0x80 ... 0xff] = 2,
};

static json_t *read_value(struct reader *reader, unsigned depth);

static void skip_space(struct reader *reader)
{
	while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
					    *reader->at == '\r' || *reader->at == '\t'))
		reader->at++;
}

static bool take(struct reader *reader, char c)
{
	skip_space(reader);
	if (reader->at == reader->end || *reader->at != c)
		return false;
	reader->at++;
	return true;
}

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Behind "\u"; 0: not here. */
static unsigned read_code(const char *at, const char *end)
{
	unsigned code = 0;

	if (end - at < 4)
		return 0;
	for (int i = 0; i < 4; i++) {
		int digit = hex(at[i]);

		if (digit < 0)
			return 0;
		code = code << 4 | (unsigned)digit;
	}
	return code >= 0xd800 && code < 0xe000 ? 0 : code;
}

static char *put_code(char *to, unsigned code)
{
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

/* The text behind the first backslash into to, which is as long as the rest; NULL: not
 * here. */
static char *read_escapes(struct reader *reader, char *to, const char *to_end)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";

	while (reader->at < reader->end && *reader->at != '"') {
		unsigned char c = (unsigned char)*reader->at++;
		const char *found;

		if (to_end - to < 4)
			return NULL;
		if (c != '\\') {
			if (c < 0x20)
				return NULL;
			*to++ = (char)c;
			continue;
		}
		if (reader->at == reader->end)
			return NULL;
		if (*reader->at == 'u') {
			unsigned code = read_code(reader->at + 1, reader->end);

			if (code == 0)
				return NULL;
			to = put_code(to, code);
			reader->at += 5;
			continue;
		}
		found = *reader->at != '\0' ? strchr(from, *reader->at) : NULL;
		if (!found)
			return NULL;
		*to++ = into[found - from];
		reader->at++;
	}
	return to;
}

/* Behind the quote. *ret points into the text where nothing is escaped, else into buf of
 * ESCAPED_MAX bytes; with buf NULL nothing may be. */
static bool read_string(struct reader *reader, char *buf, const char **ret,
			size_t *ret_len)
{
	const char *start = reader->at, *at = start;
	unsigned seen = 0;

	while (at < reader->end && classes[(unsigned char)*at] != 1)
		seen |= classes[(unsigned char)*at++];
	reader->at = at;
	if (at == reader->end)
		return false;
	if (*at == '"') {
		*ret = start;
		*ret_len = (size_t)(at - start);
	} else {
		char *to;

		if (*at != '\\' || !buf || at - start >= ESCAPED_MAX)
			return false;
		memcpy(buf, start, (size_t)(at - start));
		to = read_escapes(reader, buf + (at - start), buf + ESCAPED_MAX);
		if (!to || reader->at == reader->end)
			return false;
		*ret = buf;
		*ret_len = (size_t)(to - buf);
		seen = 2;
	}
	reader->at++;
	return seen == 0 || neap_utf8_is_valid(*ret, *ret_len);
}

static json_t *read_integer(struct reader *reader)
{
	const char *at = reader->at;
	bool is_negative = *at == '-';
	const char *first = at + is_negative;
	int64_t value = 0;

	for (at = first; at < reader->end && *at >= '0' && *at <= '9'; at++) {
		if (at - first == DIGITS_MAX)
			return NULL;
		value = value * 10 + (*at - '0');
	}
	if (at == first || (*first == '0' && at - first > 1) || at == reader->end ||
	    *at == '.' || *at == 'e' || *at == 'E')
		return NULL;
	reader->at = at;
	return json_integer(is_negative ? -value : value);
}

static json_t *read_word(struct reader *reader)
{
	static const struct {
		const char *text;
		size_t len;
	} words[] = {{"true", 4}, {"false", 5}, {"null", 4}};
	size_t left = (size_t)(reader->end - reader->at);

	for (size_t i = 0; i < NEAP_ARRAY_LEN(words); i++) {
		/* One byte more, or a longer word would do. */
		if (left <= words[i].len ||
		    memcmp(reader->at, words[i].text, words[i].len) != 0)
			continue;
		reader->at += words[i].len;
		return i == 0 ? json_true() : i == 1 ? json_false() : json_null();
	}
	return NULL;
}

static bool read_member(struct reader *reader, json_t *object, unsigned depth)
{
	size_t len, before = json_object_size(object);
	const char *key;
	json_t *value;

	if (!take(reader, '"') || !read_string(reader, NULL, &key, &len) ||
	    !take(reader, ':'))
		return false;
	value = read_value(reader, depth);
	return value && json_object_setn_new_nocheck(object, key, len, value) == 0 &&
	       (reader->may_repeat || json_object_size(object) > before);
}

static json_t *read_object(struct reader *reader, unsigned depth)
{
	json_t *object = json_object();

	if (!object || take(reader, '}'))
		return object;
	do {
		if (!read_member(reader, object, depth)) {
			json_decref(object);
			return NULL;
		}
	} while (take(reader, ','));
	if (take(reader, '}'))
		return object;
	json_decref(object);
	return NULL;
}

static json_t *read_array(struct reader *reader, unsigned depth)
{
	json_t *array = json_array();

	if (!array || take(reader, ']'))
		return array;
	do {
		json_t *value = read_value(reader, depth);

		if (!value || json_array_append_new(array, value) < 0) {
			json_decref(array);
			return NULL;
		}
	} while (take(reader, ','));
	if (take(reader, ']'))
		return array;
	json_decref(array);
	return NULL;
}

static json_t *read_text(struct reader *reader)
{
	char buf[ESCAPED_MAX];
	const char *text;
	size_t len;

	if (!read_string(reader, buf, &text, &len))
		return NULL;
	return json_stringn_nocheck(text, len);
}

static json_t *read_value(struct reader *reader, unsigned depth)
{
	skip_space(reader);
	if (reader->at == reader->end || depth == DEPTH_MAX)
		return NULL;
	switch (*reader->at) {
	case '{':
		reader->at++;
		return read_object(reader, depth + 1);
	case '[':
		reader->at++;
		return read_array(reader, depth + 1);
	case '"':
		reader->at++;
		return read_text(reader);
	case 't':
	case 'f':
	case 'n':
		return read_word(reader);
	default:
		return read_integer(reader);
	}
}

json_t *neap_json_parse_fast(const char *text, size_t len, size_t flags)
{
	struct reader reader = {text, text + len, (flags & JSON_REJECT_DUPLICATES) == 0};
	json_t *value;

	if ((flags & ~(size_t)(JSON_REJECT_DUPLICATES | JSON_DECODE_ANY)) != 0)
		return NULL;
	skip_space(&reader);
	if (reader.at == reader.end ||
	    (*reader.at != '{' && *reader.at != '[' &&
	     (*reader.at != '"' || !(flags & JSON_DECODE_ANY))))
		return NULL;
	value = read_value(&reader, 0);
	skip_space(&reader);
	if (value && reader.at == reader.end)
		return value;
	json_decref(value);
	return NULL;
}

/* --- writing --- */

static bool write_value(const json_t *json, unsigned depth, struct neap_buf *out);

static void write_control(unsigned char c, struct neap_buf *out)
{
	switch (c) {
	case '"':
		neap_buf_add(out, "\\\"", 2);
		break;
	case '\\':
		neap_buf_add(out, "\\\\", 2);
		break;
	case '\b':
		neap_buf_add(out, "\\b", 2);
		break;
	case '\f':
		neap_buf_add(out, "\\f", 2);
		break;
	case '\n':
		neap_buf_add(out, "\\n", 2);
		break;
	case '\r':
		neap_buf_add(out, "\\r", 2);
		break;
	case '\t':
		neap_buf_add(out, "\\t", 2);
		break;
	default:
		neap_buf_addf(out, "\\u%04X", c);
	}
}

static bool write_string(const char *text, size_t len, struct neap_buf *out)
{
	const char *end = text + len, *plain = text, *at;
	unsigned seen = 0;

	neap_buf_addc(out, '"');
	for (at = text; at < end; at++) {
		unsigned class = classes[(unsigned char)*at];

		seen |= class;
		if (class != 1)
			continue;
		neap_buf_add(out, plain, (size_t)(at - plain));
		write_control((unsigned char)*at, out);
		plain = at + 1;
	}
	neap_buf_add(out, plain, (size_t)(end - plain));
	neap_buf_addc(out, '"');
	return (seen & 2) == 0 || neap_utf8_is_valid(text, len);
}

static bool write_object(json_t *object, unsigned depth, struct neap_buf *out)
{
	char before = '{';
	void *at;

	for (at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
		neap_buf_addc(out, before);
		before = ',';
		if (!write_string(json_object_iter_key(at), json_object_iter_key_len(at),
				  out))
			return false;
		neap_buf_addc(out, ':');
		if (!write_value(json_object_iter_value(at), depth, out))
			return false;
	}
	neap_buf_add(out, before == '{' ? "{}" : "}", before == '{' ? 2 : 1);
	return true;
}

static bool write_array(const json_t *array, unsigned depth, struct neap_buf *out)
{
	size_t i, count = json_array_size(array);

	neap_buf_addc(out, '[');
	for (i = 0; i < count; i++) {
		if (i > 0)
			neap_buf_addc(out, ',');
		if (!write_value(json_array_get(array, i), depth, out))
			return false;
	}
	neap_buf_addc(out, ']');
	return true;
}

static bool write_value(const json_t *json, unsigned depth, struct neap_buf *out)
{
	char number[24];
	int len;

	if (!json || depth == DEPTH_MAX)
		return false;
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return write_object((json_t *)(uintptr_t)json, depth + 1, out);
	case JSON_ARRAY:
		return write_array(json, depth + 1, out);
	case JSON_STRING:
		return write_string(json_string_value(json), json_string_length(json),
				    out);
	case JSON_INTEGER:
		len = snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			       json_integer_value(json));
		neap_buf_add(out, number, (size_t)len);
		return true;
	case JSON_REAL:
		return false;
	case JSON_TRUE:
		neap_buf_add(out, "true", 4);
		return true;
	case JSON_FALSE:
		neap_buf_add(out, "false", 5);
		return true;
	case JSON_NULL:
		neap_buf_add(out, "null", 4);
		return true;
	}
	return false;
}

bool neap_json_dump_fast(const json_t *json, size_t flags, struct neap_buf *out)
{
	if ((flags & ~(size_t)JSON_ENCODE_ANY) != JSON_COMPACT ||
	    (!json_is_object(json) && !json_is_array(json)))
		return false;
	return write_value(json, 0, out);
}
