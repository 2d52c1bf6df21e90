/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads JSON bodies as Go's decoders do. Nearly all need only the fast parser. It fails
 * for duplicate members and integers beyond 64 bits, which are rare. Such a text is
 * parsed again: the last duplicate counts, and the integers become floating point. It is
 * stricter than Go only for U+0000 and invalid UTF-8. */
#include <stdio.h>
#include <string.h>

#include "api/kube/base/bounds.h"
#include "api/kube/request/call.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define DEPTH_MAX 64 /* of a reported path */
#define DIGITS    18 /* always fit into int64 */

/* --- a member that stands twice --- */

struct level {
	const char *key;
	int key_len;
	size_t index;
	bool is_list;
};

/* The path of the member whose name ends at end, such as "data.a", "items[1].b"; "" where
 * it is too deep. */
static void path_at(const char *text, const char *end, char *buf, size_t size)
{
	struct level levels[DEPTH_MAX];
	size_t depth = 0, len = 0;

	for (; text < end && depth < DEPTH_MAX; text++) {
		struct level *at = depth ? &levels[depth - 1] : NULL;

		if (*text == '"') {
			const char *from = ++text;

			while (text < end && *text != '"')
				text += *text == '\\' ? 2 : 1;
			/* Either a name or a value. The next name takes the place of a
			 * value. */
			if (at && !at->key) {
				at->key = from;
				at->key_len = (int)(text - from);
			}
		} else if (*text == '{' || *text == '[') {
			levels[depth++] = (struct level){.is_list = *text == '['};
		} else if ((*text == '}' || *text == ']') && depth) {
			depth--;
		} else if (*text == ',' && at) {
			at->key = NULL;
			at->index++;
		}
	}
	buf[0] = '\0';
	if (depth == DEPTH_MAX)
		return;
	for (size_t i = 0; i < depth && len < size; i++)
		len += (size_t)(levels[i].is_list
					? snprintf(buf + len, size - len, "[%zu]",
						   levels[i].index)
					: snprintf(buf + len, size - len, "%s%.*s",
						   len ? "." : "", levels[i].key_len,
						   levels[i].key ? levels[i].key : ""));
}

/* Reported as an unknown field is. */
static int note_duplicate(struct call *call, const char *path)
{
	const char *validation = call_query(call, "fieldValidation");
	char warning[400];

	if (validation && strcmp(validation, "Strict") == 0)
		return neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST,
				      "strict decoding error: duplicate field \"%s\"",
				      path);
	if ((validation && strcmp(validation, "Ignore") == 0) || strpbrk(path, "\"\\"))
		return 0;
	(void)snprintf(warning, sizeof(warning),
		       "299 - \"duplicate field \\\"%.250s\\\"\"", path);
	(void)neap_http_header_add(call->request, "Warning",
				   warning); /* without memory fewer are reported */
	return 0;
}

/* --- numbers that are too large --- */

static size_t number_len(const char *at, const char *end)
{
	size_t len = 0;

	while (at + len < end && at[len] && strchr("+-.0123456789eE", at[len]))
		len++;
	return len;
}

static bool is_too_large(const char *at, size_t len)
{
	char text[24];
	int64_t ignored;

	for (size_t i = 0; i < len; i++)
		if (strchr(".eE", at[i]))
			return false;
	if (len >= sizeof(text))
		return true;
	memcpy(text, at, len);
	text[len] = '\0';
	return neap_int_parse(text, &ignored, NULL) < 0;
}

/* Appends a fraction to each integer that does not fit into int64. */
static void make_real(const char *text, size_t len, struct neap_buf *out)
{
	const char *end = text + len, *from = text;
	bool is_inside = false;

	while (text < end) {
		size_t digits = is_inside ? 0 : number_len(text, end);

		if (*text == '"')
			is_inside = !is_inside;
		else if (is_inside && *text == '\\' && text + 1 < end)
			text++;
		text += digits ? digits : 1;
		if (digits > DIGITS && is_too_large(text - digits, digits)) {
			neap_buf_add(out, from, (size_t)(text - from));
			neap_buf_adds(out, ".0");
			from = text;
		}
	}
	neap_buf_add(out, from, (size_t)(end - from));
}

/* --- all of it --- */

static bool is_null(const char *text, size_t len)
{
	static const char blanks[] = " \t\r\n";

	while (len && strchr(blanks, *text))
		text++, len--;
	while (len && strchr(blanks, text[len - 1]))
		len--;
	return len == 4 && memcmp(text, "null", 4) == 0;
}

int body_json_read(const char *text, size_t len, json_t **ret, bool *ret_is_twice,
		   char path[BODY_PATH], json_error_t *where)
{
	neap_auto_buf struct neap_buf real = {0};
	size_t flags = JSON_REJECT_DUPLICATES;

	*ret_is_twice = false;
	path[0] = '\0';
	/* Go ignores null here. */
	if (is_null(text, len)) {
		*ret = json_null();
		return 0;
	}
	for (;;) {
		int code = neap_json_parse(text, len, flags, ret, where);

		if (code == 0 || code == -NEAP_ENOMEM)
			return code;
		if (flags && json_error_code(where) == json_error_duplicate_key) {
			flags = 0;
			*ret_is_twice = true;
			path_at(text, text + where->position, path, BODY_PATH);
		} else if (!real.data &&
			   json_error_code(where) == json_error_numeric_overflow) {
			neap_buf_init(&real, len + len / 8 + 64);
			make_real(text, len, &real);
			if (neap_buf_failed(&real))
				return -NEAP_ENOMEM;
			text = real.data;
			len = real.len;
		} else {
			return -NEAP_EINVAL;
		}
	}
}

int body_json(struct call *call, const char *text, size_t len, json_t **ret)
{
	char path[BODY_PATH];
	bool is_twice;
	json_error_t where;
	struct neap_error err;
	int code;

	/* Making the values costs far more than reading the text. */
	if (neap_json_values_of_text(text, len) > NEAP_KUBE_VALUES_MAX)
		return neap_kube_fail(&call->failure, NEAP_KUBE_TOO_LARGE,
				      NEAP_KUBE_VALUES_REFUSED, NEAP_KUBE_VALUES_MAX);
	code = body_json_read(text, len, ret, &is_twice, path, &where);
	if (code == -NEAP_EINVAL)
		return neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST,
				      "the body is no JSON: line %d, column %d: %s",
				      where.line, where.column, where.text);
	if (code < 0) {
		(void)neap_error_nomem(&err);
		return neap_kube_fail_error(&call->failure, call->target.kind, "", &err);
	}
	if (is_twice && note_duplicate(call, path) < 0) {
		json_decref(*ret);
		*ret = NULL;
		return -1;
	}
	return 0;
}
