/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a request. */
#include <event2/util.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/base/view.h"
#include "api/kube/request/call.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define JSON_TYPE "application/json"

void call_answer_take(struct call *call, int status, json_t *body)
{
	struct neap_error err;

	if (!call->request) {
		json_decref(body);
		return;
	}
	if (body) {
		neap_http_answer_json_take(call->request, status, body);
	} else {
		(void)neap_error_nomem(&err);
		neap_http_answer_error(call->request, &err);
	}
	call->request = NULL;
}

void call_answer_buf(struct call *call, int status, struct neap_buf *body)
{
	size_t len = body->len;
	struct neap_error err;
	char *text;

	if (!call->request)
		return;
	neap_buf_addc(body, '\n');
	if (neap_buf_failed(body)) {
		(void)neap_buf_error(body, "the answer", &err);
		(void)neap_kube_fail_error(&call->failure, call->target.kind,
					   call->target.name, &err);
		call_fail(call);
		return;
	}
	text = neap_buf_take(body);
	neap_http_answer_text_take(call->request, status, JSON_TYPE, text, len + 1);
	call->request = NULL;
}

void call_answer_object(struct call *call, int status, struct neap_object *object)
{
	neap_auto_buf struct neap_buf out = {0};

	neap_buf_init(&out, 4 * (size_t)NEAP_OBJECT_TEXT_MAX);
	if (call->answers_success || call->answers_scale || call->answers_deleted) {
		call_answer_take(call, status,
				 call->answers_success
					 ? neap_kube_success(NULL, NULL, NULL, status)
				 : call->answers_scale
					 ? neap_kube_scale(call, object)
					 : neap_kube_success(call->target.kind,
							     object->name, object->uid,
							     status));
		return;
	}
	if (call->shape != SHAPE_TABLE)
		shape_object(call, object, &out);
	else if (!shape_table(call, object, true, &out))
		out.failed = true;
	call_answer_buf(call, status, &out);
}

/* Answers a request with a table, or metadata alone, of an object that is not stored. */
static void answer_dry_shaped_take(struct call *call, int status, json_t *object)
{
	const struct neap_kube_kind *kind = call->target.kind;
	struct neap_object *made;
	struct neap_error err;

	if (neap_object_new_take(object, neap_kube_kind_stored(kind)->fields, 0, &made,
				 &err) < 0) {
		(void)neap_kube_fail_error(&call->failure, kind, call->target.name, &err);
		call_fail(call);
		return;
	}
	call_answer_object(call, status, made);
	(void)neap_object_unref(made);
}

void call_answer_dry_take(struct call *call, int status, json_t *object)
{
	if (call->answers_success) {
		json_decref(object);
		call_answer_take(call, status,
				 neap_kube_success(NULL, NULL, NULL, status));
		return;
	}
	if (call->answers_scale || call->answers_deleted) {
		json_t *body =
			call->answers_scale
				? neap_kube_scale_of(call, object)
				: neap_kube_success(call->target.kind, call->target.name,
						    neap_kube_meta_text(object, "uid"),
						    status);

		json_decref(object);
		call_answer_take(call, status, body);
		return;
	}
	if (call->shape != SHAPE_OBJECT) {
		answer_dry_shaped_take(call, status, object);
		return;
	}
	if (!neap_kube_view_show(call->target.kind->view, object) ||
	    json_object_set_new(object, "kind", json_string(call->target.kind->kind)) <
		    0 ||
	    json_object_set_new(object, "apiVersion", json_string(call->api_version)) <
		    0) {
		json_decref(object);
		object = NULL;
	}
	call_answer_take(call, status, object);
}

/* Answers calls of loops with the failure in their form. */
static void tell_client(const struct call *call, neap_client_told *told, void *arg,
			struct neap_object *object)
{
	static const enum neap_client_reason reasons[] = {
		[NEAP_KUBE_BAD_REQUEST] = NEAP_CLIENT_BAD_REQUEST,
		[NEAP_KUBE_UNAUTHORIZED] = NEAP_CLIENT_UNAUTHORIZED,
		[NEAP_KUBE_FORBIDDEN] = NEAP_CLIENT_FORBIDDEN,
		[NEAP_KUBE_NOT_FOUND] = NEAP_CLIENT_NOT_FOUND,
		[NEAP_KUBE_METHOD_NOT_ALLOWED] = NEAP_CLIENT_METHOD_NOT_ALLOWED,
		[NEAP_KUBE_NOT_ACCEPTABLE] = NEAP_CLIENT_NOT_ACCEPTABLE,
		[NEAP_KUBE_ALREADY_EXISTS] = NEAP_CLIENT_ALREADY_EXISTS,
		[NEAP_KUBE_CONFLICT] = NEAP_CLIENT_CONFLICT,
		[NEAP_KUBE_EXPIRED] = NEAP_CLIENT_EXPIRED,
		[NEAP_KUBE_TOO_LARGE] = NEAP_CLIENT_TOO_LARGE,
		[NEAP_KUBE_UNSUPPORTED_MEDIA_TYPE] = NEAP_CLIENT_UNSUPPORTED_MEDIA_TYPE,
		[NEAP_KUBE_INVALID] = NEAP_CLIENT_INVALID,
		[NEAP_KUBE_TOO_MANY_REQUESTS] = NEAP_CLIENT_TOO_MANY_REQUESTS,
		[NEAP_KUBE_INTERNAL_ERROR] = NEAP_CLIENT_INTERNAL_ERROR,
		[NEAP_KUBE_SERVICE_UNAVAILABLE] = NEAP_CLIENT_UNAVAILABLE,
		[NEAP_KUBE_TIMEOUT] = NEAP_CLIENT_TIMEOUT};
	const struct neap_kube_failure *failure = &call->failure;
	struct neap_client_failure why;

	_Static_assert(NEAP_ARRAY_LEN(reasons) == NEAP_KUBE_REASON_COUNT, "one each");
	if (object) {
		told(arg, object, NULL);
		return;
	}
	why = (struct neap_client_failure){.reason = reasons[failure->reason],
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
	call_answer_take(call, neap_kube_reason_http(call->failure.reason),
			 neap_kube_status(&call->failure));
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
	return neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST,
			      "strconv.ParseInt: parsing \"%.40s\": invalid syntax (%s)",
			      text, name);
}

int call_version(struct call *call, int64_t *ret)
{
	const char *text = call_query(call, "resourceVersion");

	*ret = 0;
	if (!text || !*text || (neap_int_parse(text, ret, NULL) == 0 && *ret >= 0))
		return 0;
	return neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST,
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
