/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalises the body of a write: unknown fields, defaults, validation; and checks an
 * update against the stored object. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/request/call.h"
#include "api/kube/rules/rules.h"
#include "engine/base/error.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* Per response: each warning is a header. */
#define WARNINGS_MAX 16
/* How many values a change may add to an object that is over the limit already. */
#define VALUES_MORE 1000

struct unknown {
	struct call *call;
	char paths[512];
	size_t count;
};

static void note_unknown(void *arg, const char *path)
{
	struct unknown *unknown = arg;
	size_t len = strlen(unknown->paths);
	char text[300];

	unknown->count++;
	(void)snprintf(text, sizeof(text), "unknown field \"%s\"", path);
	if (len + strlen(text) + 3 < sizeof(unknown->paths))
		(void)snprintf(unknown->paths + len, sizeof(unknown->paths) - len, "%s%s",
			       len ? ", " : "", text);
	/* Clients show them unchanged. A path that cannot be quoted is left out. */
	if (unknown->call && unknown->call->request && unknown->count <= WARNINGS_MAX &&
	    !strpbrk(path, "\"\\")) {
		char warning[320];

		(void)snprintf(warning, sizeof(warning),
			       "299 - \"unknown field \\\"%.250s\\\"\"", path);
		(void)neap_http_header_add(unknown->call->request, "Warning", warning);
	}
}

/* For objects stored before the limit existed: adding a label or a status must still
 * work. */
static bool is_little_more(size_t values, size_t before)
{
	return before > NEAP_KUBE_VALUES_MAX && values <= before + VALUES_MORE;
}

/* A refusal here costs no more than a look at each value. */
int call_check_bounds(struct call *call, const json_t *object, const json_t *before)
{
	const struct neap_kube_kind *kind = call->target.kind;
	struct neap_causes *causes = &call->kube->causes;
	size_t values;

	neap_causes_clear(causes);
	values = neap_kube_check_bounds(kind, object, before, causes);
	if (causes->count)
		return neap_kube_fail_invalid(&call->failure, kind,
					      neap_kube_meta_text(object, "name"),
					      causes);
	if (values <= NEAP_KUBE_VALUES_MAX ||
	    (before && is_little_more(values, neap_schema_values(before))))
		return 0;
	return call_refuse(call, NEAP_CLIENT_TOO_LARGE,
			   "the object has %zu values, lists and maps counted: it may "
			   "have at most %d",
			   values, NEAP_KUBE_VALUES_MAX);
}

/* A wrong body is a bad request; a patch that makes an object wrong makes it Invalid. */
static int NEAP_PRINTF(2, 3) refuse_undecoded(struct call *call, const char *fmt, ...)
{
	struct neap_causes *causes = &call->kube->causes;
	char why[sizeof(call->failure.message)];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	if (!call->is_patch)
		return call_bad(call, "%s", why);
	neap_causes_clear(causes);
	neap_causes_add(causes, "FieldValueInvalid", "patch", "%s", why);
	return call_check_causes(call);
}

/* The prefix that a kube-apiserver uses for patches: "cannot restore map from string: ".
 * text: of a value that does not have its schema's type. */
static const char *restored(const struct call *call, const char *text, char *buf,
			    size_t size)
{
	static const char *const words[][2] = {
		{"map", "map from"}, {"array", "slice from"}, {"object", "struct from:"}};
	const char *wanted = strrchr(text, ' ');
	char what[16];

	*buf = '\0';
	if (!call->is_patch ||
	    sscanf(text, "json: cannot unmarshal %15[a-z]", what) != 1 || !wanted)
		return buf;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(words); i++) {
		if (strcmp(wanted + 1, words[i][0]) == 0)
			(void)snprintf(buf, size, "cannot restore %s %s: ", words[i][1],
				       what);
	}
	return buf;
}

int call_decode(struct call *call, const char *kind, const char *version,
		const struct neap_schema *schema, bool is_custom, json_t *object)
{
	const char *validation = call_query(call, "fieldValidation");
	bool is_strict = validation && strcmp(validation, "Strict") == 0;
	bool is_silent = validation && strcmp(validation, "Ignore") == 0;
	char known[64];
	struct unknown unknown = {.call = is_strict || is_silent ? NULL : call};
	struct neap_error err;

	if (!neap_schema_prune(schema, object, note_unknown, &unknown))
		return call_nomem(call);
	if (is_strict && unknown.count)
		return refuse_undecoded(
			call,
			"%s in version \"%s\" cannot be handled as a %s: strict "
			"decoding error: %s",
			kind, version, kind, unknown.paths);
	/* The kind's own schema reports faults in the rest. */
	if (is_custom) {
		schema = &neap_kube_object_meta;
		object = json_object_get(object, "metadata");
	}
	switch (neap_schema_decode(schema, object, &err)) {
	case 0:
		return 0;
	case -NEAP_ENOMEM:
		return call_nomem(call);
	default:
		break;
	}
	return refuse_undecoded(
		call, "%s%s in version \"%s\" cannot be handled as a %s: %s%s",
		restored(call, err.msg, known, sizeof(known)), kind, version, kind,
		is_custom ? "metadata: " : "", err.msg); /* it names the field */
}

static void warn_of_twice(struct call *call, const json_t *owner)
{
	const char *uid = json_string_value(json_object_get(owner, "uid"));
	char warning[512];

	if (!call->request)
		return;
	(void)snprintf(
		warning, sizeof(warning),
		"299 - \".metadata.ownerReferences contains duplicate entries; API "
		"server dedups owner references in 1.20+, and may reject such "
		"requests as early as 1.24; please fix your requests; duplicate "
		"UID(s) observed: %.64s\"",
		uid && !strpbrk(uid, "\"\\") ? uid : "");
	(void)neap_http_header_add(call->request, "Warning",
				   warning); /* without memory fewer are reported */
}

/* Merges duplicate owner references, with a warning. */
static int unite_owners(struct call *call, json_t *object)
{
	json_t *metadata = json_object_get(object, "metadata"), *owner;
	json_t *list = json_object_get(metadata, "ownerReferences");
	json_auto_t *seen = NULL, *kept = NULL;
	const json_t *twice = NULL;
	size_t i;

	if (json_array_size(list) < 2)
		return 0;
	seen = json_object();
	kept = json_array();
	json_array_foreach (list, i, owner) {
		neap_auto_free char *text =
			neap_json_dump(owner, JSON_COMPACT | JSON_SORT_KEYS);

		if (!text || !kept)
			return call_nomem(call);
		if (json_object_get(seen, text)) {
			twice = owner;
			continue;
		}
		if (json_object_set_new(seen, text, json_true()) < 0 ||
		    json_array_append(kept, owner) < 0)
			return call_nomem(call);
	}
	if (!twice)
		return 0;
	warn_of_twice(call, twice);
	return json_object_set(metadata, "ownerReferences", kept) < 0 ? call_nomem(call)
								      : 0;
}

int call_take_in(struct call *call, json_t *object, const json_t *before)
{
	const struct neap_kube_kind *kind = call->target.kind;

	if (call_check_bounds(call, object, before) < 0 ||
	    call_decode(call, kind->kind, call->target.version,
			neap_kube_kind_body(kind, call->target.version), kind->is_custom,
			object) < 0)
		return -1;
	return unite_owners(call, object);
}

bool call_is_status(const struct call *call)
{
	return call->target.kind->has_status && strcmp(call->target.sub, "status") == 0;
}

/* Replaces everything except metadata and status by the stored values, which are shared:
 * defaults that they lack are set in both. Members keep their order, so that an unchanged
 * status is no change. */
static bool take_stored(json_t *object, json_t *before)
{
	static const char *const own[] = {"metadata", "status"};
	json_auto_t *body = neap_json_copy(object);

	(void)json_object_clear(object);
	if (!body || json_object_update(object, before) < 0)
		return false;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(own); i++) {
		json_t *value = json_object_get(body, own[i]);

		if (!value)
			(void)json_object_del(object, own[i]);
		else if (json_object_set(object, own[i], value) < 0)
			return false;
	}
	return true;
}

int call_fill_in(struct call *call, json_t *object, json_t *before)
{
	const struct neap_kube_kind *kind = call->target.kind;
	const struct neap_kube_kind *stored = neap_kube_kind_stored(kind);
	bool is_over;

	if ((kind->view && !neap_kube_view_store(kind->view, object)) ||
	    (before && !neap_schema_keep_amounts(stored->schema, object, before)))
		return call_nomem(call);
	if (kind->from_version &&
	    !kind->from_version(call->target.version, object, before))
		return call_nomem(call);
	if (before && call_is_status(call) && !take_stored(object, before))
		return call_nomem(call);
	if (!neap_schema_default_told(stored->schema, object, &is_over))
		return is_over ? call_refuse(call, NEAP_CLIENT_TOO_LARGE,
					     "filling in the defaults of this object "
					     "takes too long, or makes too many")
			       : call_nomem(call);
	return stored->complete && !stored->complete(object) ? call_nomem(call) : 0;
}

static void check_count(const json_t *object, const char *path,
			struct neap_causes *causes)
{
	const json_t *value = path ? neap_json_at(object, path) : NULL;

	if (!value || json_is_null(value))
		return;
	if (!json_is_integer(value))
		neap_causes_invalid(causes, path, value, "should be an integer");
	else if (json_integer_value(value) < 0)
		neap_causes_invalid(causes, path, value,
				    "should be a non-negative integer");
	else if (json_integer_value(value) > INT32_MAX)
		neap_causes_invalid(causes, path, value,
				    "should be less than or equal to %d", INT32_MAX);
}

/* Checks the numbers and the selector of a declared kind's scale, where present. */
static void check_scale(const struct neap_kube_kind *kind, const json_t *object,
			struct neap_causes *causes)
{
	const json_t *selector =
		kind->selector_path ? neap_json_at(object, kind->selector_path) : NULL;

	check_count(object, kind->replicas_path, causes);
	check_count(object, kind->status_replicas_path, causes);
	if (selector && !json_is_null(selector) && !json_is_string(selector))
		neap_causes_invalid(causes, kind->selector_path, selector,
				    "should be a string");
}

int call_check(struct call *call, const json_t *object, const json_t *before)
{
	const struct neap_kube_kind *kind = call->target.kind;
	struct neap_causes *causes = &call->kube->causes;

	neap_causes_clear(causes);
	neap_kube_meta_check(kind, object, before, causes);
	(void)neap_schema_check_change(neap_kube_kind_checks(kind, call->target.version),
				       object, kind->is_custom ? before : NULL, causes);
	if (kind->check)
		kind->check(object, before, causes);
	if (kind->is_custom)
		check_scale(kind, object, causes);
	return causes->count ? neap_kube_fail_invalid(&call->failure, kind,
						      neap_kube_meta_text(object, "name"),
						      causes)
			     : 0;
}

int call_need_metadata(struct call *call, json_t *object)
{
	json_t *meta = json_object_get(object, "metadata");

	/* A patch can turn an object into any value. */
	if (!json_is_object(object))
		return refuse_undecoded(call, "a %s must be a JSON object",
					call->target.kind->kind);
	(void)json_object_del(object, "kind");
	(void)json_object_del(object, "apiVersion");
	if (!meta || json_is_null(meta))
		return json_object_set_new(object, "metadata", json_object()) < 0
			       ? call_nomem(call)
			       : 0;
	if (json_is_object(meta))
		return 0;
	return refuse_undecoded(call, "metadata: must be an object");
}

/* --- updates ---
 *
 * Checks an update against the stored object: the version and uid that the client saw,
 * and metadata that only the server sets. */

bool call_is_declared_status(const struct call *call)
{
	return call->target.kind->is_custom && call_is_status(call);
}

static int refuse_no_version(struct call *call)
{
	struct neap_causes *causes = &call->kube->causes;

	neap_causes_clear(causes);
	neap_causes_add(causes, "FieldValueInvalid", "metadata.resourceVersion",
			"Invalid value: 0x0: must be specified for an update");
	return call_check_causes(call);
}

static int refuse_immutable(struct call *call, const json_t *object, const char *member)
{
	struct neap_causes *causes = &call->kube->causes;
	char field[64];

	(void)snprintf(field, sizeof(field), "metadata.%s", member);
	neap_causes_clear(causes);
	neap_causes_invalid(causes, field,
			    json_object_get(json_object_get(object, "metadata"), member),
			    "field is immutable");
	return call_check_causes(call);
}

/* Metadata in the body of a status that is not checked here. */
static bool is_passed_over(const struct call *call, const char *member)
{
	if (call_is_declared_status(call))
		return true;
	return strcmp(call->target.sub, "status") == 0 &&
	       strcmp(call->resource, "pods") == 0 &&
	       strcmp(member, "deletionTimestamp") == 0;
}

/* Only a deletion sets these. */
static int check_deletion(struct call *call, const json_t *object, const json_t *before)
{
	static const char *const members[] = {"deletionTimestamp",
					      "deletionGracePeriodSeconds"};
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *was = json_object_get(before, "metadata");

	for (size_t i = 0; i < NEAP_ARRAY_LEN(members); i++) {
		const json_t *value = json_object_get(meta, members[i]);

		if (value && !json_is_null(value) && !is_passed_over(call, members[i]) &&
		    !json_equal(value, json_object_get(was, members[i])))
			return refuse_immutable(call, object, members[i]);
	}
	return 0;
}

/* Metadata in the body of a status is checked although it is not used. */
static int check_unused(struct call *call, const json_t *object, const json_t *before)
{
	struct neap_causes *causes = &call->kube->causes;

	if (strcmp(call->target.sub, "status") != 0 || call->target.kind->is_custom)
		return 0;
	neap_causes_clear(causes);
	neap_kube_meta_check(call->target.kind, object, before, causes);
	return call_check_causes(call);
}

/* A patch, a Scale and neap's own writes are changes of the stored object. */
static bool is_put_of_client(const struct call *call)
{
	return call->request && !call->is_patch && !call->answers_scale;
}

int change_check_version(struct call *call, const json_t *object,
			 const struct neap_object *newest)
{
	const char *version = neap_kube_meta_text(object, "resourceVersion");
	const char *uid = neap_kube_meta_text(object, "uid");
	int64_t number = 0;

	if (*version && neap_int_parse(version, &number, NULL) < 0)
		return call_bad(call,
				"metadata.resourceVersion: Invalid value: "
				"\"%.40s\": it must be a whole number",
				version);
	if (!number && call->target.kind->needs_version &&
	    (*version || is_put_of_client(call)))
		return refuse_no_version(call);
	if (number && number != newest->version)
		return call_conflict(call, neap_kube_modified);
	if (*uid && strcmp(uid, newest->uid) != 0 && call->is_patch &&
	    !call->answers_scale)
		return call_is_declared_status(call)
			       ? 0
			       : refuse_immutable(call, object, "uid");
	return *uid ? call_check_uid(call, uid, newest) : 0;
}

int change_check_meta(struct call *call, const json_t *object, const json_t *before)
{
	return check_deletion(call, object, before) < 0 ||
			       check_unused(call, object, before) < 0
		       ? -1
		       : 0;
}
