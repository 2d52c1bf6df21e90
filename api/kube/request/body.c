/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads bodies: objects, patches, delete options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/openapi/protobuf.h"
#include "api/kube/request/call.h"
#include "api/kube/rules/rules.h"
#include "api/yaml/yaml.h"
#include "engine/base/quantity.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

/* --- reading JSON ---
 *
 * Reads JSON bodies as Go's decoders do. Nearly all need only the fast parser. It fails
 * for duplicate members and integers beyond 64 bits, which are rare. Such a text is
 * parsed again: the last duplicate counts, and the integers become floating point. It is
 * stricter than Go only for U+0000 and invalid UTF-8. */

#define DEPTH_MAX 64 /* of a reported path */
#define DIGITS    18 /* always fit into int64 */

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
		return call_bad(call, "strict decoding error: duplicate field \"%s\"",
				path);
	if ((validation && strcmp(validation, "Ignore") == 0) || strpbrk(path, "\"\\"))
		return 0;
	(void)snprintf(warning, sizeof(warning),
		       "299 - \"duplicate field \\\"%.250s\\\"\"", path);
	(void)neap_http_header_add(call->request, "Warning",
				   warning); /* without memory fewer are reported */
	return 0;
}

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

/* Parses text as JSON, as Go's decoders do. -1 with call->failure. */
static int body_json(struct call *call, const char *text, size_t len, json_t **ret)
{
	char path[BODY_PATH];
	bool is_twice;
	json_error_t where;
	int code;

	/* Making the values costs far more than reading the text. */
	if (neap_json_values_of_text(text, len) > NEAP_KUBE_VALUES_MAX)
		return call_refuse(call, NEAP_CLIENT_TOO_LARGE, NEAP_KUBE_VALUES_REFUSED,
				   NEAP_KUBE_VALUES_MAX);
	code = body_json_read(text, len, ret, &is_twice, path, &where);
	if (code == -NEAP_EINVAL)
		return call_bad(call, "the body is no JSON: line %d, column %d: %s",
				where.line, where.column, where.text);
	if (code < 0)
		return call_nomem(call);
	if (is_twice && note_duplicate(call, path) < 0) {
		json_decref(*ret);
		*ret = NULL;
		return -1;
	}
	return 0;
}

/* --- bodies --- */

/* The media type without parameters. A missing or empty one means JSON: kubectl 1.20
 * omits it with some requests. */
static void media_type(const struct call *call, char *buf, size_t size)
{
	const char *type = neap_http_header_find(call->request, "Content-Type");
	size_t len;

	type = type ? type + strspn(type, " \t") : "";
	if (!*type)
		type = "application/json";
	len = strcspn(type, "; \t");
	if (len >= size)
		len = size - 1;
	for (size_t i = 0; i < len; i++)
		buf[i] = type[i] >= 'A' && type[i] <= 'Z' ? type[i] | 0x20 : type[i];
	buf[len] = '\0';
}

static int parse_json(struct call *call, json_t **ret)
{
	size_t len;
	const char *text = neap_http_body_get(call->request, &len);

	return body_json(call, text, len, ret);
}

static int parse_yaml(struct call *call, json_t **ret)
{
	size_t len;
	const char *text = neap_http_body_get(call->request, &len);
	struct neap_error err;

	if (len > NEAP_YAML_BODY_MAX)
		return call_refuse(call, NEAP_CLIENT_TOO_LARGE,
				   "a body of YAML may have at most %d bytes; send "
				   "JSON",
				   NEAP_YAML_BODY_MAX);
	switch (neap_yaml_parse_one(text, len, NEAP_KUBE_VALUES_MAX, ret, &err)) {
	case 0:
		return 0;
	case -NEAP_ETOOLARGE:
		return call_refuse(call, NEAP_CLIENT_TOO_LARGE, "%s", err.msg);
	case -NEAP_ENOMEM:
		return call_nomem(call);
	default:
		return call_bad(call, "the body is no YAML: %s", err.msg);
	}
}

static int parse_protobuf(struct call *call, json_t **ret)
{
	size_t len;
	const char *body = neap_http_body_get(call->request, &len);
	struct neap_error err;

	switch (neap_protobuf_decode(body, len, ret, &err)) {
	case 0:
		return 0;
	case -NEAP_EUNSUPPORTED:
		return call_refuse(call, NEAP_CLIENT_UNSUPPORTED_MEDIA_TYPE, "%s",
				   err.msg);
	default:
		return neap_kube_fail_error(&call->failure, call->target.kind, "", &err);
	}
}

static int unsupported(struct call *call, const char *type, const char *accepted)
{
	return call_refuse(
		call, NEAP_CLIENT_UNSUPPORTED_MEDIA_TYPE,
		"the body of the request was in an unknown format (%s) - accepted "
		"media types include: %s",
		type, accepted);
}

/* The body's kind and version must be the expected ones. kind, versions: NULL means any.
 * reason: of the refusal. */
static int check_type(struct call *call, const json_t *object, const char *kind,
		      const char *const *versions, enum neap_client_reason reason)
{
	static const char *const members[] = {"apiVersion", "kind"};
	const char *said_version =
		json_string_value(json_object_get(object, "apiVersion"));
	const char *said_kind = json_string_value(json_object_get(object, "kind"));

	for (size_t i = 0; i < NEAP_ARRAY_LEN(members); i++) {
		const json_t *value = json_object_get(object, members[i]);

		if (value && !json_is_null(value) && !json_is_string(value))
			return call_refuse(call, reason, "%s: it must be a text",
					   members[i]);
	}
	if (said_version && *said_version && versions &&
	    !neap_text_is_in(said_version, versions))
		return call_refuse(
			call, reason,
			"the API version in the data (%.100s) does not match the "
			"expected API version (%s)",
			said_version, versions[0]);
	if (kind && said_kind && *said_kind && strcmp(said_kind, kind) != 0)
		return call_refuse(
			call, reason,
			"the kind in the data (%.100s) does not match the expected "
			"kind (%s)",
			said_kind, kind);
	return 0;
}

/* No decoder depends on the kind of a declared kind's object, so a wrong one is Invalid
 * like any wrong member. */
static int check_declared_kind(struct call *call, const json_t *object)
{
	const json_t *said = json_object_get(object, "kind");
	const struct neap_kube_kind *kind = call->target.kind;
	struct neap_causes *causes = &call->kube->causes;

	if (strcmp(json_string_value(said), kind->kind) == 0)
		return 0;
	neap_causes_clear(causes);
	neap_causes_invalid(causes, "kind", said, "must be %s", kind->kind);
	return neap_kube_fail_invalid(&call->failure, kind,
				      neap_kube_meta_text(object, "name"), causes);
}

/* A declared kind needs both kind and apiVersion: nothing else identifies the object. */
static int check_object_type(struct call *call, const json_t *object,
			     enum neap_client_reason reason)
{
	const struct neap_kube_kind *kind = call->target.kind;
	const char *const versions[] = {call->api_version, NULL};
	const char *missing = !json_string_length(json_object_get(object, "kind"))
				      ? "kind"
			      : !json_string_length(json_object_get(object, "apiVersion"))
				      ? "apiVersion"
				      : NULL;
	/* Kind and version in the result of a patch are not checked for the status of a
	 * declared kind. */
	bool is_any = call->is_patch && call_is_declared_status(call);

	if (check_type(call, object, kind->is_custom ? NULL : kind->kind,
		       is_any ? NULL : versions, reason) < 0)
		return -1;
	if (!kind->is_custom)
		return 0;
	if (!missing)
		return call_is_declared_status(call) ? 0
						     : check_declared_kind(call, object);
	return call_refuse(call, reason,
			   "%s in version \"%s\" cannot be handled as a %s: "
			   "'%s' is missing",
			   kind->kind, call->target.version, kind->kind, missing);
}

/* For a subresource: a name or namespace in the body must be that of the path. */
static int check_place(struct call *call, const json_t *body)
{
	const char *name = neap_kube_meta_text(body, "name");
	const char *ns = neap_kube_meta_text(body, "namespace");
	const struct neap_kube_target *target = &call->target;

	if (target->name[0] && *name && strcmp(name, target->name) != 0)
		return call_bad(
			call,
			"the name of the object (%.253s) does not match the name on "
			"the URL (%s)",
			name, target->name);
	if (target->name[0] && *ns && strcmp(ns, target->ns) != 0)
		return call_bad(call,
				"the namespace of the provided object does not match the "
				"namespace sent on the request");
	return 0;
}

/* A wrong body is BadRequest. A patch that makes the object wrong is Invalid. */
static enum neap_client_reason reason_of(const struct call *call)
{
	return call->is_patch ? NEAP_CLIENT_INVALID : NEAP_CLIENT_BAD_REQUEST;
}

static int need_object(struct call *call, const json_t *body, const char *what)
{
	if (json_is_object(body))
		return 0;
	return call_refuse(call, reason_of(call), "the body must be %s", what);
}

/* Takes body, also on failure. */
static int decode_take(struct call *call, const struct neap_kube_body *what, json_t *body,
		       json_t **ret)
{
	*ret = NULL;
	if (need_object(call, body, "a JSON object") == 0 &&
	    check_type(call, body, what->kind, what->versions, reason_of(call)) == 0 &&
	    call_decode(call, what->kind,
			what->versions ? what->versions[0] : call->api_version,
			what->schema, false, body) == 0 &&
	    check_place(call, body) == 0) {
		*ret = body;
		return 0;
	}
	json_decref(body);
	return -1;
}

/* null counts as the empty value nothing. Takes both. */
static int nothing_take(struct call *call, json_t **ret, json_t *nothing)
{
	if (!json_is_null(*ret)) {
		json_decref(nothing);
		return 0;
	}
	*ret = nothing;
	return nothing ? 0 : call_nomem(call);
}

/* Accepts any JSON. */
static int body_any(struct call *call, json_t **ret)
{
	char type[128];

	*ret = NULL;
	media_type(call, type, sizeof(type));
	if (strcmp(type, NEAP_PROTOBUF_MEDIA_TYPE) == 0)
		return parse_protobuf(call, ret);
	if (strcmp(type, "application/yaml") == 0)
		return parse_yaml(call, ret);
	if (strcmp(type, "application/json") != 0)
		return unsupported(call, type, "application/json, application/yaml");
	if (parse_json(call, ret) < 0)
		return -1;
	return nothing_take(call, ret, json_object());
}

int body_object(struct call *call, json_t **ret)
{
	if (body_any(call, ret) < 0)
		return -1;
	if (need_object(call, *ret, "a JSON object") == 0 &&
	    check_object_type(call, *ret, NEAP_CLIENT_BAD_REQUEST) == 0)
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return -1;
}

int body_check_patched(struct call *call, const json_t *object)
{
	return json_is_object(object)
		       ? check_object_type(call, object, NEAP_CLIENT_INVALID)
		       : 0; /* the refusal says what is expected */
}

int body_part(struct call *call, const struct neap_kube_body *what, json_t **ret)
{
	json_t *body;

	*ret = NULL;
	return body_any(call, &body) < 0 ? -1 : decode_take(call, what, body, ret);
}

int body_patch(struct call *call, enum neap_patch_type *ret_type, json_t **ret)
{
	const char *accepted =
		call->target.kind->is_custom
			? "application/json-patch+json, application/merge-patch+json, " NEAP_KUBE_APPLY_TYPE
			: "application/json-patch+json, application/merge-patch+json, "
			  "application/strategic-merge-patch+json, " NEAP_KUBE_APPLY_TYPE;
	char type[128];

	*ret = NULL;
	media_type(call, type, sizeof(type));
	if (!neap_patch_type_parse(type, ret_type) ||
	    (*ret_type == NEAP_PATCH_STRATEGIC && call->target.kind->is_custom))
		return unsupported(call, type, accepted);
	if (parse_json(call, ret) < 0)
		return -1;
	/* Go does not accept null as a merge patch. */
	if (*ret_type == NEAP_PATCH_MERGE && json_is_null(*ret))
		return call_bad(call, "Invalid JSON Patch: null");
	return nothing_take(call, ret,
			    *ret_type == NEAP_PATCH_JSON ? json_array() : json_object());
}

/* kubectl labels JSON as YAML, which is a superset. */
static int parse_either(struct call *call, json_t **ret)
{
	size_t len;
	const char *text = neap_http_body_get(call->request, &len);

	if (memchr(text, '{', len < 64 ? len : 64) &&
	    body_json(call, text, len, ret) == 0)
		return 0;
	return parse_yaml(call, ret);
}

int body_apply(struct call *call, json_t **ret)
{
	const struct neap_kube_kind *kind = call->target.kind;
	const char *version, *said;

	*ret = NULL;
	/* The fields of this version differ from the stored ones. */
	if (kind->view || neap_kube_kind_body(kind, call->target.version) != kind->schema)
		return call_refuse(call, NEAP_CLIENT_UNSUPPORTED_MEDIA_TYPE,
				   "server-side apply of this kind is served in "
				   "another version, %s",
				   neap_kube_kind_stored(kind)->versions[0]);
	if (parse_either(call, ret) < 0)
		return -1;
	version = json_string_value(json_object_get(*ret, "apiVersion"));
	said = json_string_value(json_object_get(*ret, "kind"));
	if (!json_is_object(*ret) && !json_is_null(*ret))
		(void)call_bad(call, "the body must be an object");
	else if (!version || strcmp(version, call->api_version) != 0)
		(void)call_bad(call,
			       "Incorrect version specified in apply patch. "
			       "Specified patch version: %.100s, expected: %s",
			       version ? version : "", call->api_version);
	else if (!said || strcmp(said, kind->kind) != 0)
		(void)call_bad(
			call,
			"the kind in the data (%.100s) does not match the expected "
			"kind (%s)",
			said ? said : "", kind->kind);
	else
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return -1;
}

int body_options(struct call *call, json_t **ret)
{
	json_t *body;
	size_t len;

	*ret = NULL;
	(void)neap_http_body_get(call->request, &len);
	if (!len) {
		*ret = json_object();
		return 0;
	}
	return body_any(call, &body) < 0
		       ? -1
		       : decode_take(call, &neap_kube_body_delete_options, body, ret);
}

int body_patched(struct call *call, const struct neap_kube_body *what,
		 const json_t *shown, json_t **ret)
{
	enum neap_patch_type type;
	struct neap_error err;
	bool is_apply = call_is_apply(call);
	json_t *patch, *body;
	int code;

	*ret = NULL;
	if (is_apply)
		type = NEAP_PATCH_MERGE;
	if ((is_apply ? parse_either(call, &patch) : body_patch(call, &type, &patch)) < 0)
		return -1;
	/* Without merging lists a strategic patch is a merge patch. */
	if (type == NEAP_PATCH_STRATEGIC)
		type = NEAP_PATCH_MERGE;
	code = neap_patch_apply(type, NULL, shown, patch, &body, &err);
	json_decref(patch);
	if (code == 0)
		return decode_take(call, what, body, ret);
	return call_error(call, &err);
}
