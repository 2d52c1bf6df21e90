/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a request: its answer, or its failure. Also what the query of any request
 * says, and the options of writes. */
#include <event2/util.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/base/view.h"
#include "api/kube/request/call.h"
#include "engine/base/quantity.h"
#include "engine/base/text.h"
#include "engine/base/utf8.h"

#define JSON_TYPE "application/json"

struct neap_object *call_newest(const struct call *call)
{
	return neap_store_newest(call->kube->store, call->resource, call->target.ns,
				 call->target.name);
}

bool call_is_of_pods(const struct call *call)
{
	return strcmp(call->resource, "pods") == 0;
}

bool call_is_of_definitions(const struct call *call)
{
	return strcmp(call->resource, KUBE_DEFINITIONS) == 0;
}

/* --- failures --- */

int call_refuse(struct call *call, enum neap_client_reason reason, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)neap_kube_fail_list(&call->failure, reason, fmt, args);
	va_end(args);
	return -1;
}

int call_bad(struct call *call, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)neap_kube_fail_list(&call->failure, NEAP_CLIENT_BAD_REQUEST, fmt, args);
	va_end(args);
	return -1;
}

int call_error(struct call *call, const struct neap_error *err)
{
	return neap_kube_fail_error(&call->failure, call->target.kind, call->target.name,
				    err);
}

int call_nomem(struct call *call)
{
	struct neap_error err;

	(void)neap_error_nomem(&err);
	return call_error(call, &err);
}

int call_missing(struct call *call)
{
	return neap_kube_fail_missing(&call->failure, call->target.kind,
				      call->target.name);
}

int call_conflict(struct call *call, const char *why)
{
	return neap_kube_fail_conflict(&call->failure, call->target.kind,
				       call->target.name, why);
}

int call_check_causes(struct call *call)
{
	const struct neap_causes *causes = &call->kube->causes;

	return causes->count ? neap_kube_fail_invalid(&call->failure, call->target.kind,
						      call->target.name, causes)
			     : 0;
}

int call_check_uid(struct call *call, const char *uid, const struct neap_object *newest)
{
	char why[256];

	if (strcmp(uid, newest->uid) == 0)
		return 0;
	(void)snprintf(
		why, sizeof(why),
		"Precondition failed: UID in precondition: %.64s, UID in object meta: %s",
		uid, newest->uid);
	return call_conflict(call, why);
}

/* --- answers --- */

int call_answer_take(struct call *call, int status, json_t *body)
{
	struct neap_error err;

	if (!call->request) {
		json_decref(body);
		return 0;
	}
	if (body) {
		neap_http_answer_json_take(call->request, status, body);
	} else {
		(void)neap_error_nomem(&err);
		neap_http_answer_error(call->request, &err);
	}
	call->request = NULL;
	return 0;
}

int call_answer_buf(struct call *call, int status, struct neap_buf *body)
{
	size_t len = body->len;
	struct neap_error err;
	char *text;

	if (!call->request)
		return 0;
	neap_buf_addc(body, '\n');
	if (neap_buf_failed(body)) {
		(void)neap_buf_error(body, "the answer", &err);
		return call_error(call, &err);
	}
	text = neap_buf_take(body);
	neap_http_answer_text_take(call->request, status, JSON_TYPE, text, len + 1);
	call->request = NULL;
	return 0;
}

int call_answer_object(struct call *call, int status, struct neap_object *object)
{
	neap_auto_buf struct neap_buf out = {0};

	neap_buf_init(&out, 4 * (size_t)NEAP_OBJECT_TEXT_MAX);
	if (call->answers_success)
		return call_answer_take(call, status,
					neap_kube_success(NULL, NULL, NULL, status));
	if (call->answers_scale)
		return call_answer_take(call, status, neap_kube_scale(call, object));
	if (call->answers_deleted)
		return call_answer_take(call, status,
					neap_kube_success(call->target.kind, object->name,
							  object->uid, status));
	if (call->shape != SHAPE_TABLE)
		shape_object(call, object, &out);
	else if (!shape_table(call, object, true, &out))
		out.failed = true;
	return call_answer_buf(call, status, &out);
}

/* Answers a request with a table, or metadata alone, of an object that is not stored. */
static int answer_dry_shaped_take(struct call *call, int status, json_t *object)
{
	const struct neap_kube_kind *kind = call->target.kind;
	struct neap_object *made;
	struct neap_error err;
	int rc;

	if (neap_object_new_take(object, neap_kube_kind_stored(kind)->fields, 0, &made,
				 &err) < 0)
		return call_error(call, &err);
	rc = call_answer_object(call, status, made);
	(void)neap_object_unref(made);
	return rc;
}

int call_answer_dry_take(struct call *call, int status, json_t *object)
{
	if (call->answers_success) {
		json_decref(object);
		return call_answer_take(call, status,
					neap_kube_success(NULL, NULL, NULL, status));
	}
	if (call->answers_scale || call->answers_deleted) {
		json_t *body =
			call->answers_scale
				? neap_kube_scale_of(call, object)
				: neap_kube_success(call->target.kind, call->target.name,
						    neap_kube_meta_text(object, "uid"),
						    status);

		json_decref(object);
		return call_answer_take(call, status, body);
	}
	if (call->shape != SHAPE_OBJECT)
		return answer_dry_shaped_take(call, status, object);
	if (!neap_kube_view_show(call->target.kind->view, object) ||
	    json_object_set_new(object, "kind", json_string(call->target.kind->kind)) <
		    0 ||
	    json_object_set_new(object, "apiVersion", json_string(call->api_version)) <
		    0) {
		json_decref(object);
		object = NULL;
	}
	return call_answer_take(call, status, object);
}

/* Answers calls of loops with the failure in their form. */
static void tell_client(const struct call *call, neap_client_told *told, void *arg,
			struct neap_object *object)
{
	const struct neap_kube_failure *failure = &call->failure;
	struct neap_client_failure why;

	if (object) {
		told(arg, object, NULL);
		return;
	}
	why = (struct neap_client_failure){.reason = failure->reason,
					   .code = neap_kube_reason_http(failure->reason),
					   .part = failure->part,
					   .message = failure->message,
					   .retry_after_s = failure->retry_after_s};
	told(arg, NULL, &why);
}

void call_tell(struct call *call, struct neap_object *object)
{
	neap_client_told *client_told = call->client_told;
	neap_kube_told *told = call->told;

	call->told = NULL;
	call->client_told = NULL;
	if (told)
		told(call->told_arg, object, object ? NULL : &call->failure);
	if (client_told)
		tell_client(call, client_told, call->told_arg, object);
}

void call_fail(struct call *call)
{
	char seconds[16];

	if (!call->request) {
		call_tell(call, NULL);
		return;
	}
	if (call->failure.retry_after_s) {
		(void)snprintf(seconds, sizeof(seconds), "%d",
			       call->failure.retry_after_s);
		(void)neap_http_header_add(call->request, "Retry-After", seconds);
	}
	(void)call_answer_take(call, neap_kube_reason_http(call->failure.reason),
			       neap_kube_status(&call->failure));
}

void call_end(struct call *call, int rc)
{
	if (rc < 0)
		call_fail(call);
}

const char *call_query(const struct call *call, const char *name)
{
	return call->request ? neap_http_query_find(call->request, name) : NULL;
}

int call_number(struct call *call, const char *name, int64_t fallback, int64_t *ret)
{
	const char *text = call_query(call, name);

	*ret = fallback;
	if (!text || neap_int_parse(text, ret, NULL) == 0)
		return 0;
	return call_bad(call, "strconv.ParseInt: parsing \"%.40s\": invalid syntax (%s)",
			text, name);
}

int call_version(struct call *call, int64_t *ret)
{
	const char *text = call_query(call, "resourceVersion");

	*ret = 0;
	if (!text || !*text || (neap_int_parse(text, ret, NULL) == 0 && *ret >= 0))
		return 0;
	return call_bad(call,
			"resourceVersion: Invalid value: \"%.40s\": "
			"strconv.ParseUint: parsing \"%.40s\": invalid syntax",
			text, text);
}

bool call_flag(struct call *call, const char *name)
{
	const char *text = call_query(call, name);

	return text && strcmp(text, "0") != 0 &&
	       evutil_ascii_strcasecmp(text, "false") != 0;
}

/* --- options of writes ---
 *
 * Options of writes in the query. They are checked before the object is looked up: a
 * request with an unknown option must not be executed without it. */

#define MANAGER_MAX 128

/* The name of the options' kind. Other methods have options of a deletion too
 * (pods/NAME/eviction). */
static const char *options_of(const struct call *call)
{
	static const struct {
		const char *method, *name;
	} rows[] = {{"POST", "CreateOptions"},
		    {"PUT", "UpdateOptions"},
		    {"PATCH", "PatchOptions"}};
	const char *method = call->request ? neap_http_method_get(call->request) : "";

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].method, method) == 0)
			return rows[i].name;
	return "DeleteOptions";
}

bool call_is_apply(const struct call *call)
{
	static const char type[] = NEAP_KUBE_APPLY_TYPE;
	const char *said = call->request
				   ? neap_http_header_find(call->request, "Content-Type")
				   : NULL;

	return said && strncmp(said, type, strlen(type)) == 0 &&
	       (said[strlen(type)] == '\0' || said[strlen(type)] == ';');
}

int call_refuse_option(struct call *call, const char *reason, const char *field,
		       const char *fmt, ...)
{
	struct neap_causes *causes = &call->kube->causes;
	char why[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	neap_causes_clear(causes);
	neap_causes_add(causes, reason, field, "%s", why);
	(void)call_refuse(call, NEAP_CLIENT_INVALID,
			  "%s.meta.k8s.io \"\" is invalid: %s: %s", options_of(call),
			  field, why);
	call->failure.causes = causes;
	return -1;
}

int call_parse_dry(struct call *call, const char *value)
{
	if (!value)
		return 0;
	call->is_dry = true;
	if (strcmp(value, "All") == 0)
		return 0;
	return call_refuse_option(
		call, "FieldValueNotSupported", "dryRun",
		"Unsupported value: \"%.40s\": supported values: \"All\"", value);
}

static int check_validation(struct call *call)
{
	static const char *const known[] = {"", "Ignore", "Strict", "Warn", NULL};
	const char *text = call_query(call, "fieldValidation");

	if (!text || neap_text_is_in(text, known))
		return 0;
	return call_refuse_option(call, "FieldValueNotSupported", "fieldValidation",
				  "Unsupported value: \"%.40s\": supported values: "
				  "\"\", \"Ignore\", \"Strict\", \"Warn\"",
				  text);
}

int call_parse_options(struct call *call)
{
	const char *manager = call_query(call, "fieldManager");
	const char *dry;

	for (int i = 0; (dry = neap_http_query_nth(call->request, "dryRun", i)); i++)
		if (call_parse_dry(call, dry) < 0)
			return -1;
	if (strcmp(options_of(call), "DeleteOptions") == 0)
		return 0;
	if (manager && strlen(manager) > MANAGER_MAX)
		return call_refuse_option(call, "FieldValueTooLong", "fieldManager",
					  "Too long: must have at most %d bytes",
					  MANAGER_MAX);
	if (manager && !neap_utf8_is_valid(manager, strlen(manager)))
		return call_refuse_option(call, "FieldValueInvalid", "fieldManager",
					  "Invalid value: it must be UTF-8");
	if (call->is_patch && call_is_apply(call) && (!manager || !*manager))
		return call_refuse_option(call, "FieldValueRequired", "fieldManager",
					  "Required value: is required for apply patch");
	if (call->is_patch && !call_is_apply(call) && call_query(call, "force"))
		return call_refuse_option(
			call, "FieldValueForbidden", "force",
			"Forbidden: may not be specified for non-apply patch");
	return check_validation(call);
}
