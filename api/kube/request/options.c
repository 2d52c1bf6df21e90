/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of writes in the query. They are checked before the object is looked up: a
 * request with an unknown option must not be executed without it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/request/call.h"
#include "engine/base/utf8.h"

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
	(void)neap_kube_fail(&call->failure, NEAP_KUBE_INVALID,
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
	static const char *const known[] = {"", "Ignore", "Strict", "Warn"};
	const char *text = call_query(call, "fieldValidation");

	for (size_t i = 0; text && i < NEAP_ARRAY_LEN(known); i++)
		if (strcmp(known[i], text) == 0)
			return 0;
	if (!text)
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
