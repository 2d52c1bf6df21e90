/* SPDX-License-Identifier: Apache-2.0
 *
 * Normalises a body: unknown fields, defaults, validation. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/base/bounds.h"
#include "api/kube/base/meta.h"
#include "api/kube/request/call.h"
#include "api/kube/request/slow.h"
#include "engine/base/error.h"
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
	return neap_kube_fail(&call->failure, NEAP_KUBE_TOO_LARGE,
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
		return neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST, "%s", why);
	neap_causes_clear(causes);
	neap_causes_add(causes, "FieldValueInvalid", "patch", "%s", why);
	return neap_kube_fail_invalid(&call->failure, call->target.kind,
				      call->target.name, causes);
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

int call_take_in(struct call *call, json_t *object, const json_t *before)
{
	const struct neap_kube_kind *kind = call->target.kind;

	if (call_check_bounds(call, object, before) < 0 ||
	    call_decode(call, kind->kind, call->target.version,
			neap_kube_kind_body(kind, call->target.version), kind->is_custom,
			object) < 0)
		return -1;
	return kube_owners_unite(call, object);
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

	if (!neap_kube_view_store(kind->view, object) ||
	    (before && !neap_schema_keep_amounts(stored->schema, object, before)))
		return call_nomem(call);
	if (kind->from_version &&
	    !kind->from_version(call->target.version, object, before))
		return call_nomem(call);
	if (before && call_is_status(call) && !take_stored(object, before))
		return call_nomem(call);
	if (!neap_schema_default_told(stored->schema, object, &is_over))
		return is_over ? neap_kube_fail(&call->failure, NEAP_KUBE_TOO_LARGE,
						"filling in the defaults of this object "
						"takes too long, or makes too many")
			       : call_nomem(call);
	return stored->complete && !stored->complete(object) ? call_nomem(call) : 0;
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
		kube_scale_check(kind, object, causes);
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
