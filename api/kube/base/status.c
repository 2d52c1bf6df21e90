/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/utf8.h"
#include "engine/json/json.h"

#define RESOURCE_SIZE 256

static const struct {
	const char *name;
	int http;
} reasons[NEAP_CLIENT_REASON_COUNT] = {
	[NEAP_CLIENT_BAD_REQUEST] = {"BadRequest", 400},
	[NEAP_CLIENT_UNAUTHORIZED] = {"Unauthorized", 401},
	[NEAP_CLIENT_FORBIDDEN] = {"Forbidden", 403},
	[NEAP_CLIENT_NOT_FOUND] = {"NotFound", 404},
	[NEAP_CLIENT_METHOD_NOT_ALLOWED] = {"MethodNotAllowed", 405},
	[NEAP_CLIENT_NOT_ACCEPTABLE] = {"NotAcceptable", 406},
	[NEAP_CLIENT_ALREADY_EXISTS] = {"AlreadyExists", 409},
	[NEAP_CLIENT_CONFLICT] = {"Conflict", 409},
	[NEAP_CLIENT_EXPIRED] = {"Expired", 410},
	[NEAP_CLIENT_TOO_LARGE] = {"RequestEntityTooLarge", 413},
	[NEAP_CLIENT_UNSUPPORTED_MEDIA_TYPE] = {"UnsupportedMediaType", 415},
	[NEAP_CLIENT_INVALID] = {"Invalid", 422},
	[NEAP_CLIENT_TOO_MANY_REQUESTS] = {"TooManyRequests", 429},
	[NEAP_CLIENT_INTERNAL_ERROR] = {"InternalError", 500},
	[NEAP_CLIENT_UNAVAILABLE] = {"ServiceUnavailable", 503},
	[NEAP_CLIENT_TIMEOUT] = {"Timeout", 504},
};

const char neap_kube_modified[] =
	"the object has been modified; please apply your changes "
	"to the latest version and try again";

int neap_kube_reason_http(enum neap_client_reason reason)
{
	return reasons[reason].http;
}

static void begin(struct neap_kube_failure *failure, enum neap_client_reason reason,
		  const struct neap_kube_kind *kind, const char *name)
{
	memset(failure, 0, sizeof(*failure));
	failure->reason = reason;
	failure->kind = kind;
	(void)neap_strcopy(failure->name, sizeof(failure->name), name ? name : "");
}

static void say_list(struct neap_kube_failure *failure, const char *fmt, va_list args)
{
	int len = vsnprintf(failure->message, sizeof(failure->message), fmt, args);

	if (len >= (int)sizeof(failure->message))
		neap_utf8_trim(failure->message);
}

static void NEAP_PRINTF(2, 3) say(struct neap_kube_failure *failure, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say_list(failure, fmt, args);
	va_end(args);
}

int neap_kube_fail_list(struct neap_kube_failure *failure, enum neap_client_reason reason,
			const char *fmt, va_list args)
{
	begin(failure, reason, NULL, NULL);
	say_list(failure, fmt, args);
	return -1;
}

int neap_kube_fail(struct neap_kube_failure *failure, enum neap_client_reason reason,
		   const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)neap_kube_fail_list(failure, reason, fmt, args);
	va_end(args);
	return -1;
}

/* 'BEFORE pods "x" AFTER'; after may be in two parts. */
static int fail_about(struct neap_kube_failure *failure, enum neap_client_reason reason,
		      const struct neap_kube_kind *kind, const char *name,
		      const char *before, const char *after, const char *why)
{
	char resource[RESOURCE_SIZE];

	neap_kube_kind_resource(kind, resource, sizeof(resource));
	begin(failure, reason, kind, name);
	say(failure, "%s%s \"%s\"%s%s", before, resource, name, after, why);
	return -1;
}

int neap_kube_fail_missing(struct neap_kube_failure *failure,
			   const struct neap_kube_kind *kind, const char *name)
{
	return fail_about(failure, NEAP_CLIENT_NOT_FOUND, kind, name, "", " not found",
			  "");
}

int neap_kube_fail_exists(struct neap_kube_failure *failure,
			  const struct neap_kube_kind *kind, const char *name)
{
	return fail_about(failure, NEAP_CLIENT_ALREADY_EXISTS, kind, name, "",
			  " already exists", "");
}

int neap_kube_fail_conflict(struct neap_kube_failure *failure,
			    const struct neap_kube_kind *kind, const char *name,
			    const char *why)
{
	return fail_about(failure, NEAP_CLIENT_CONFLICT, kind, name,
			  "Operation cannot be fulfilled on ", ": ", why);
}

int neap_kube_fail_refused(struct neap_kube_failure *failure,
			   const struct neap_kube_kind *kind, const char *name,
			   const char *why)
{
	return fail_about(failure, NEAP_CLIENT_FORBIDDEN, kind, name, "",
			  " is forbidden: ", why);
}

int neap_kube_fail_denied(struct neap_kube_failure *failure,
			  const struct neap_kube_kind *kind, const char *ns,
			  const char *name, const char *sub, const char *user,
			  const char *verb, const char *why)
{
	/* A Namespace counts as lying in itself, if it has a name. */
	bool is_namespace = !kind->group[0] && strcmp(kind->plural, "namespaces") == 0;
	const char *place = is_namespace ? name : ns;
	char resource[RESOURCE_SIZE];

	neap_kube_kind_resource(kind, resource, sizeof(resource));
	begin(failure, NEAP_CLIENT_FORBIDDEN, kind, name);
	say(failure,
	    "%s%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s%s%s\" in API "
	    "group \"%s\" %s%s%s%s%s",
	    resource, *name ? " \"" : "", name, *name ? "\"" : "", user, verb,
	    kind->plural, *sub ? "/" : "", sub, kind->group,
	    *place ? "in the namespace \"" : "at the cluster scope", place,
	    *place ? "\"" : "", *why ? ": " : "", why);
	return -1;
}

int neap_kube_fail_invalid(struct neap_kube_failure *failure,
			   const struct neap_kube_kind *kind, const char *name,
			   const struct neap_causes *causes)
{
	neap_auto_buf struct neap_buf text = {0};
	struct neap_error err;

	/* The list is incomplete, so the object may be valid. */
	if (causes->is_short) {
		(void)neap_error_nomem(&err);
		return neap_kube_fail_error(failure, kind, name, &err);
	}
	begin(failure, NEAP_CLIENT_INVALID, kind, name);
	failure->causes = causes;
	neap_buf_init(&text, NEAP_BUF_LINE);
	for (size_t i = 0; i < causes->count; i++)
		neap_buf_addf(&text, "%s%s%s%s", i ? ", " : "", causes->list[i].field,
			      causes->list[i].field[0] ? ": " : "",
			      causes->list[i].message);
	if (causes->more)
		neap_buf_addf(&text, ", and %zu more", causes->more);
	say(failure, "%s%s%s \"%s\" is invalid: %s%s%s", kind->kind,
	    kind->group[0] ? "." : "", kind->group, name, causes->count > 1 ? "[" : "",
	    text.data, causes->count > 1 ? "]" : "");
	return -1;
}

/* Failures of the store and decoders that have no own reason. */
static enum neap_client_reason reason_of(enum neap_code code)
{
	switch (code) {
	case NEAP_EINVAL:
	case NEAP_EPRECONDITION:
		return NEAP_CLIENT_BAD_REQUEST;
	case NEAP_EFORBIDDEN:
		return NEAP_CLIENT_FORBIDDEN;
	case NEAP_EAUTH:
		return NEAP_CLIENT_UNAUTHORIZED;
	case NEAP_EGONE:
		return NEAP_CLIENT_EXPIRED;
	case NEAP_ETOOLARGE:
		return NEAP_CLIENT_TOO_LARGE;
	case NEAP_ENOMEM:
	case NEAP_EUNAVAILABLE:
		return NEAP_CLIENT_TOO_MANY_REQUESTS;
	default:
		return NEAP_CLIENT_INTERNAL_ERROR;
	}
}

int neap_kube_fail_error(struct neap_kube_failure *failure,
			 const struct neap_kube_kind *kind, const char *name,
			 const struct neap_error *err)
{
	switch (err->code) {
	case NEAP_ENOTFOUND:
		return neap_kube_fail_missing(failure, kind, name);
	case NEAP_EEXISTS:
		return neap_kube_fail_exists(failure, kind, name);
	case NEAP_ECONFLICT:
		return neap_kube_fail_conflict(failure, kind, name, neap_kube_modified);
	default:
		break;
	}
	begin(failure, reason_of(err->code), kind, name);
	say(failure, "%s%s%s", err->field, err->field[0] ? ": " : "", err->msg);
	/* The disk is full, or the queue: clients retry by themselves. */
	if (failure->reason == NEAP_CLIENT_TOO_MANY_REQUESTS)
		failure->retry_after_s = 1;
	return -1;
}

static json_t *list_causes(const struct neap_causes *causes)
{
	json_t *list = json_array();

	for (size_t i = 0; i < causes->count; i++)
		(void)json_array_append_new(list,
					    json_pack("{s:s, s:s, s:s}", "reason",
						      causes->list[i].reason, "message",
						      causes->list[i].message, "field",
						      causes->list[i].field));
	return list;
}

/* The kind is the plural for NotFound, AlreadyExists and Conflict, the Kind for
 * Invalid. */
static json_t *make_details(const struct neap_kube_failure *failure)
{
	json_t *details = json_object();
	const struct neap_kube_kind *kind = failure->kind;
	char resource[RESOURCE_SIZE];

	neap_json_set_text(details, "name", failure->name);
	if (kind) {
		neap_json_set_text(details, "group", kind->group);
		(void)snprintf(resource, sizeof(resource), "%s%s%s", kind->plural,
			       failure->part ? "/" : "",
			       failure->part ? failure->part : "");
		neap_json_set_text(details, "kind",
				   failure->reason == NEAP_CLIENT_INVALID ? kind->kind
									  : resource);
	}
	if (failure->causes)
		(void)json_object_set_new(details, "causes",
					  list_causes(failure->causes));
	if (failure->retry_after_s)
		neap_json_set_int(details, "retryAfterSeconds", failure->retry_after_s);
	return details;
}

json_t *neap_kube_status(const struct neap_kube_failure *failure)
{
	uint64_t lost = neap_json_failures();
	json_t *status =
		json_pack("{s:s, s:s, s:{}, s:s, s:s, s:s, s:i}", "kind", "Status",
			  "apiVersion", "v1", "metadata", "status", "Failure", "message",
			  failure->message, "reason", reasons[failure->reason].name,
			  "code", reasons[failure->reason].http);
	json_t *details = make_details(failure);

	if (json_object_size(details) > 0)
		(void)json_object_set(status, "details", details);
	json_decref(details);
	if (status && neap_json_failures() == lost)
		return status;
	json_decref(status);
	return NULL;
}

json_t *neap_kube_success(const struct neap_kube_kind *kind, const char *name,
			  const char *uid, int code)
{
	uint64_t lost = neap_json_failures();
	json_t *status = json_pack("{s:s, s:s, s:{}, s:s}", "kind", "Status",
				   "apiVersion", "v1", "metadata", "status", "Success");
	json_t *details = json_object();

	neap_json_set_text(details, "name", name);
	if (kind) {
		neap_json_set_text(details, "group", kind->group);
		neap_json_set_text(details, "kind", kind->plural);
	}
	neap_json_set_text(details, "uid", uid);
	if (json_object_size(details) > 0)
		(void)json_object_set(status, "details", details);
	json_decref(details);
	if (code != 200)
		neap_json_set_int(status, "code", code);
	if (status && neap_json_failures() == lost)
		return status;
	json_decref(status);
	return NULL;
}

/* Kubernetes' own messages for errors of the HTTP server about a path or token. */
static const char *words_of(int status, const struct neap_error *err)
{
	switch (status) {
	case 401:
		return "Unauthorized";
	case 404:
		return "the server could not find the requested resource";
	case 405:
		return "the server does not allow this method on the requested resource";
	default:
		return err->msg;
	}
}

json_t *neap_kube_refusal(int status, const struct neap_error *err)
{
	const char *message = words_of(status, err);
	const char *reason = reasons[NEAP_CLIENT_BAD_REQUEST].name;
	uint64_t lost = neap_json_failures();
	json_t *json;

	for (size_t i = 0; i < NEAP_CLIENT_REASON_COUNT; i++)
		if (reasons[i].http == status) {
			reason = reasons[i].name;
			break;
		}
	/* Messages quote input, and may be cut within a character. */
	if (!neap_utf8_is_valid(message, strlen(message)))
		message = "(the message quotes text that is not UTF-8)";
	json = json_pack("{s:s, s:s, s:{}, s:s, s:s, s:s, s:i}", "kind", "Status",
			 "apiVersion", "v1", "metadata", "status", "Failure", "message",
			 message, "reason", reason, "code", status);
	if (status == 429 || status == 503)
		(void)json_object_set_new(json, "details",
					  json_pack("{s:i}", "retryAfterSeconds", 1));
	if (neap_json_failures() == lost)
		return json;
	json_decref(json);
	return NULL;
}
