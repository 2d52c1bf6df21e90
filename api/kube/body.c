/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients send: objects, patches, options of a deletion. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/bounds.h"
#include "api/kube/kube_priv.h"
#include "api/kube/protobuf.h"
#include "engine/base/json.h"

/* The media type without its parameters. A missing one is JSON: kubectl 1.20 sends none with some. */
static void media_type(const struct call *call, char *buf, size_t size)
{
	const char *type = neap_http_header_find(call->request, "Content-Type");
	size_t len;

	if (!type)
		type = "application/json";
	type += strspn(type, " \t");
	len = strcspn(type, "; \t");
	if (len >= size)
		len = size - 1;
	memcpy(buf, type, len);
	buf[len] = '\0';
}

static int parse_json(struct call *call, json_t **ret)
{
	size_t len;
	const char *text = neap_http_body_get(call->request, &len);
	json_error_t where;
	struct neap_error err;

	/* Making them costs far more than reading the text. */
	if (neap_kube_values_of_text(text, len) > NEAP_KUBE_VALUES_MAX)
		return neap_kube_fail(&call->failure, NEAP_KUBE_TOO_LARGE,
				      NEAP_KUBE_VALUES_REFUSED, NEAP_KUBE_VALUES_MAX);
	switch (neap_json_parse(text, len, JSON_REJECT_DUPLICATES, ret, &where)) {
	case 0:
		break;
	case -NEAP_ENOMEM:
		(void)neap_error_nomem(&err);
		return neap_kube_fail_error(&call->failure, call->target.kind, "", &err);
	default:
		return neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST,
				      "the body is no JSON: line %d, column %d: %s",
				      where.line, where.column, where.text);
	}
	return 0;
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
		return neap_kube_fail(&call->failure, NEAP_KUBE_UNSUPPORTED_MEDIA_TYPE,
				      "%s", err.msg);
	default:
		return neap_kube_fail_error(&call->failure, call->target.kind, "", &err);
	}
}

static int unsupported(struct call *call, const char *type, const char *accepted)
{
	return neap_kube_fail(
		&call->failure, NEAP_KUBE_UNSUPPORTED_MEDIA_TYPE,
		"the body of the request was in an unknown format (%s) - accepted "
		"media types include: %s",
		type, accepted);
}

/* What the body says it is must be what the path says. */
static int check_type(struct call *call, const json_t *object)
{
	const char *version = json_string_value(json_object_get(object, "apiVersion"));
	const char *kind = json_string_value(json_object_get(object, "kind"));

	if (version && *version && strcmp(version, call->api_version) != 0)
		return neap_kube_fail(
			&call->failure, NEAP_KUBE_BAD_REQUEST,
			"the API version in the data (%.100s) does not match the "
			"expected API version (%s)",
			version, call->api_version);
	if (kind && *kind && strcmp(kind, call->target.kind->kind) != 0)
		return neap_kube_fail(
			&call->failure, NEAP_KUBE_BAD_REQUEST,
			"the kind in the data (%.100s) does not match the expected "
			"kind (%s)",
			kind, call->target.kind->kind);
	return 0;
}

int body_any(struct call *call, json_t **ret)
{
	char type[128];

	*ret = NULL;
	media_type(call, type, sizeof(type));
	if (strcmp(type, NEAP_PROTOBUF_MEDIA_TYPE) == 0) {
		if (parse_protobuf(call, ret) < 0)
			return -1;
	} else if (strcmp(type, "application/json") != 0) {
		return unsupported(call, type, "application/json");
	} else if (parse_json(call, ret) < 0) {
		return -1;
	}
	if (json_is_object(*ret))
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST,
			      "the body must be a JSON object");
}

int body_object(struct call *call, json_t **ret)
{
	if (body_any(call, ret) < 0)
		return -1;
	if (check_type(call, *ret) == 0)
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return -1;
}

int body_patch(struct call *call, enum neap_patch_type *ret_type, json_t **ret)
{
	const char *accepted =
		call->target.kind->is_custom
			? "application/json-patch+json, application/merge-patch+json"
			: "application/json-patch+json, application/merge-patch+json, "
			  "application/strategic-merge-patch+json";
	char type[128];

	*ret = NULL;
	media_type(call, type, sizeof(type));
	if (strcmp(type, "application/apply-patch+yaml") == 0)
		return neap_kube_fail(
			&call->failure, NEAP_KUBE_UNSUPPORTED_MEDIA_TYPE,
			"server-side apply is not served here; use kubectl apply "
			"without --server-side");
	if (!neap_patch_type_parse(type, ret_type) ||
	    (*ret_type == NEAP_PATCH_STRATEGIC && call->target.kind->is_custom))
		return unsupported(call, type, accepted);
	return parse_json(call, ret);
}

int body_options(struct call *call, json_t **ret)
{
	size_t len;

	*ret = NULL;
	(void)neap_http_body_get(call->request, &len);
	if (!len) {
		*ret = json_object();
		return 0;
	}
	if (parse_json(call, ret) < 0)
		return -1;
	if (json_is_object(*ret))
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST,
			      "the body must be DeleteOptions");
}

int body_patched(struct call *call, const json_t *shown, json_t **ret)
{
	enum neap_patch_type type;
	struct neap_error err;
	json_t *patch;
	int code;

	*ret = NULL;
	if (body_patch(call, &type, &patch) < 0)
		return -1;
	/* Without lists that merge, a strategic patch is a merge patch. */
	if (type == NEAP_PATCH_STRATEGIC)
		type = NEAP_PATCH_MERGE;
	code = neap_patch_apply(type, NULL, shown, patch, ret, &err);
	json_decref(patch);
	if (code == 0)
		return 0;
	return neap_kube_fail_error(&call->failure, call->target.kind, call->target.name,
				    &err);
}
