/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths of the OpenAPI document: the verbs of each version of each kind. kubectl assumes
 * that a kind supports server-side dry run when its PATCH has a parameter "dryRun". */
#include <stdio.h>

#include "api/kube/openapi/openapi_priv.h"

struct parameter {
	const char *name, *type, *doc;
};

static const struct parameter dry_run = {
	"dryRun", "string", "All: everything is done but storing the result."};
static const struct parameter field_manager = {"fieldManager", "string",
					       "Who makes this change."};
/* kubectl from 1.27 on leaves validation to the server if PATCH has this parameter. */
static const struct parameter field_validation = {
	"fieldValidation", "string",
	"What becomes of unknown fields: Strict refuses, Warn tells, Ignore drops them."};
static const struct parameter force = {
	"force", "boolean", "Of an apply patch: takes over fields of other managers."};
static const struct parameter label_selector = {"labelSelector", "string",
						"Only objects whose labels match."};
static const struct parameter field_selector = {"fieldSelector", "string",
						"Only objects whose fields match."};
static const struct parameter limit = {"limit", "integer",
				       "As many objects at most in one answer."};
static const struct parameter from = {
	"continue", "string", "What an answer gave to go on from where it ended."};
static const struct parameter version = {"resourceVersion", "string",
					 "From which version on, or at least of which."};
static const struct parameter watch = {"watch", "boolean",
				       "Changes as they happen in place of a list."};
static const struct parameter timeout = {"timeoutSeconds", "integer",
					 "When a watch ends."};
static const struct parameter grace = {"gracePeriodSeconds", "integer",
				       "Seconds before the object goes; 0: at once."};
static const struct parameter propagation = {
	"propagationPolicy", "string",
	"What becomes of dependents: Orphan, Background, Foreground."};

/* A method of a path, and its query parameters, ended by NULL. */
struct method {
	unsigned item; /* number in a PathItem */
	const char *action, *verb;
	const struct parameter *parameters[9];
};

static const struct method to_list = {
	ITEM_GET,
	"list",
	"list",
	{&label_selector, &field_selector, &limit, &from, &version, &watch, &timeout}};
static const struct method to_create = {
	ITEM_POST, "post", "create", {&dry_run, &field_manager, &field_validation}};
static const struct method to_delete_all = {
	ITEM_DELETE,
	"deletecollection",
	"deletecollection",
	{&label_selector, &field_selector, &dry_run, &grace, &propagation}};
static const struct method to_read = {ITEM_GET, "get", "read", {NULL}};
static const struct method to_replace = {
	ITEM_PUT, "put", "replace", {&dry_run, &field_manager, &field_validation}};
static const struct method to_delete = {
	ITEM_DELETE, "delete", "delete", {&dry_run, &grace, &propagation}};
static const struct method to_patch = {
	ITEM_PATCH,
	"patch",
	"patch",
	{&dry_run, &field_manager, &field_validation, &force}};

/* These lists end in NULL. */
static const struct method *const of_all_namespaces[] = {&to_list, NULL};
static const struct method *const of_made_collection[] = {&to_list, NULL};
static const struct method *const of_collection[] = {&to_list, &to_create, &to_delete_all,
						     NULL};
static const struct method *const of_object[] = {&to_read, &to_replace, &to_delete,
						 &to_patch, NULL};
/* Kinds that are computed on request. */
static const struct method *const of_made[] = {&to_read, NULL};
static const struct method *const of_part[] = {&to_read, &to_replace, &to_patch, NULL};

/* --- parameters --- */

static size_t parameter_begin(struct neap_buf *buf, unsigned list, unsigned what,
			      size_t begun[4])
{
	begun[0] = neap_proto_begin(buf, list);
	begun[1] = neap_proto_begin(buf, PARAMETER);
	begun[2] = neap_proto_begin(buf, PARAMETER_NON_BODY);
	begun[3] = neap_proto_begin(buf, what);
	return 4;
}

static void parameter_end(struct neap_buf *buf, size_t count, const size_t *begun)
{
	while (count > 0)
		neap_proto_end(buf, begun[--count]);
}

static void write_query(struct neap_buf *buf, const struct parameter *parameter)
{
	size_t begun[4];
	size_t count = parameter_begin(buf, OPERATION_PARAMETERS, NON_BODY_QUERY, begun);

	neap_proto_text(buf, QUERY_IN, "query");
	neap_proto_text(buf, QUERY_DESCRIPTION, parameter->doc);
	neap_proto_text(buf, QUERY_NAME, parameter->name);
	neap_proto_text(buf, QUERY_TYPE, parameter->type);
	parameter_end(buf, count, begun);
}

/* A parameter of all methods of a path. */
static void write_in_path(struct neap_buf *buf, const char *name, const char *doc)
{
	size_t begun[4];
	size_t count = parameter_begin(buf, ITEM_PARAMETERS, NON_BODY_PATH, begun);

	neap_proto_bool(buf, IN_PATH_REQUIRED, true);
	neap_proto_text(buf, IN_PATH_IN, "path");
	neap_proto_text(buf, IN_PATH_DESCRIPTION, doc);
	neap_proto_text(buf, IN_PATH_NAME, name);
	neap_proto_text(buf, IN_PATH_TYPE, "string");
	parameter_end(buf, count, begun);
}

/* --- operations --- */

/* A path, and the kind that it serves. */
struct place {
	const char *path;
	const struct method *const *methods;
	const char *group, *version, *kind;
	bool has_namespace, has_name;
	bool is_custom; /* no strategic patches */
	/* For operation names: the kind of the path, and "Status" or "Scale". */
	const char *of, *part;
};

static void write_responses(struct neap_buf *buf)
{
	size_t responses = neap_proto_begin(buf, OPERATION_RESPONSES);
	size_t code = neap_proto_begin(buf, RESPONSES_CODE), value, response;

	neap_proto_text(buf, NAMED_NAME, "200");
	value = neap_proto_begin(buf, NAMED_VALUE);
	response = neap_proto_begin(buf, RESPONSE_VALUE);
	neap_proto_text(buf, RESPONSE_DESCRIPTION, "OK");
	neap_proto_end(buf, response);
	neap_proto_end(buf, value);
	neap_proto_end(buf, code);
	neap_proto_end(buf, responses);
}

/* kubectl from 1.27 on computes strategic patches by this document only if it says that
 * they are accepted. */
static void write_patch_types(struct neap_buf *buf, const struct place *place)
{
	neap_proto_text(buf, OPERATION_CONSUMES, "application/json-patch+json");
	neap_proto_text(buf, OPERATION_CONSUMES, "application/merge-patch+json");
	if (!place->is_custom)
		neap_proto_text(buf, OPERATION_CONSUMES,
				"application/strategic-merge-patch+json");
	neap_proto_text(buf, OPERATION_CONSUMES, "application/apply-patch+yaml");
}

static void write_operation(struct neap_buf *buf, const struct method *method,
			    const struct place *place)
{
	size_t operation = neap_proto_begin(buf, method->item), i;
	char text[512];

	(void)snprintf(text, sizeof(text), "%s%s%s%s%s.%s.%s", method->verb,
		       place->has_namespace ? "Namespaced" : "", place->of, place->part,
		       !place->has_name && !place->has_namespace &&
				       place->methods == of_all_namespaces
			       ? "ForAllNamespaces"
			       : "",
		       place->version, *place->group ? place->group : "core");
	neap_proto_text(buf, OPERATION_ID, text);
	neap_proto_text(buf, OPERATION_PRODUCES, "application/json");
	if (method->item == ITEM_PATCH)
		write_patch_types(buf, place);
	for (i = 0; method->parameters[i]; i++)
		write_query(buf, method->parameters[i]);
	write_responses(buf);
	(void)snprintf(text, sizeof(text), "\"%s\"", method->action);
	neap_kube_openapi_extension(buf, OPERATION_EXTENSION, "x-kubernetes-action",
				    text);
	(void)snprintf(text, sizeof(text),
		       "{\"group\":\"%s\",\"kind\":\"%s\",\"version\":\"%s\"}",
		       place->group, place->kind, place->version);
	neap_kube_openapi_extension(buf, OPERATION_EXTENSION,
				    "x-kubernetes-group-version-kind", text);
	neap_proto_end(buf, operation);
}

static void write_path(struct neap_buf *buf, const struct place *place)
{
	size_t path = neap_proto_begin(buf, PATHS_PATH), item, i;

	neap_proto_text(buf, NAMED_NAME, place->path);
	item = neap_proto_begin(buf, NAMED_VALUE);
	for (i = 0; place->methods[i]; i++)
		write_operation(buf, place->methods[i], place);
	if (place->has_name)
		write_in_path(buf, "name", "Name of the object.");
	if (place->has_namespace)
		write_in_path(buf, "namespace", "Namespace of the object.");
	neap_proto_end(buf, item);
	neap_proto_end(buf, path);
}

/* --- kinds --- */

static void write_version(struct neap_buf *buf, const struct neap_kube_kind *kind,
			  const char *of_version)
{
	char base[320], list[512], path[600];
	struct place place = {.group = kind->group,
			      .version = of_version,
			      .kind = kind->kind,
			      .is_custom = kind->is_custom,
			      .of = kind->kind,
			      .part = ""};
	bool is_read = kind->make || kind->is_named_only;

	(void)snprintf(base, sizeof(base), "%s%s/%s", *kind->group ? "/apis/" : "/api",
		       kind->group, of_version);
	(void)snprintf(list, sizeof(list), "%s/%s%s", base,
		       kind->is_namespaced ? "namespaces/{namespace}/" : "",
		       kind->plural);
	place.has_namespace = kind->is_namespaced;
	place.path = list;
	place.methods = is_read ? of_made_collection : of_collection;
	write_path(buf, &place);

	place.path = path;
	place.has_name = true;
	place.methods = is_read ? of_made : of_object;
	(void)snprintf(path, sizeof(path), "%s/{name}", list);
	write_path(buf, &place);

	place.methods = of_part;
	if (kind->has_status) {
		place.part = "Status";
		(void)snprintf(path, sizeof(path), "%s/{name}/status", list);
		write_path(buf, &place);
	}
	if (kind->replicas_path) {
		struct place scale = place;

		scale.part = "Scale";
		scale.group = "autoscaling";
		scale.version = "v1";
		scale.kind = "Scale";
		(void)snprintf(path, sizeof(path), "%s/{name}/scale", list);
		write_path(buf, &scale);
	}
	if (!kind->is_namespaced)
		return;
	place.methods = of_all_namespaces;
	place.has_name = place.has_namespace = false;
	place.part = "";
	(void)snprintf(path, sizeof(path), "%s/%s", base, kind->plural);
	write_path(buf, &place);
}

void neap_kube_openapi_paths(struct neap_buf *buf,
			     const struct neap_kube_kind *const *kinds, size_t count)
{
	size_t paths = neap_proto_begin(buf, DOCUMENT_PATHS), i, j;

	for (i = 0; i < count && !neap_buf_failed(buf); i++)
		for (j = 0; kinds[i]->versions[j]; j++)
			write_version(buf, kinds[i], kinds[i]->versions[j]);
	neap_proto_end(buf, paths);
}
