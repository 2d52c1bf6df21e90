/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/status.h"
#include "api/kube/openapi/openapi.h"
#include "api/kube/read/read.h"
#include "engine/base/mem.h"
#include "engine/base/sha256.h"
#include "engine/json/json.h"

static const char *const full_verbs[] = {"create", "delete", "deletecollection", "get",
					 "list",   "patch",  "update",           "watch"};
static const char *const single_verbs[] = {"create", "delete", "get",  "list",
					   "patch",  "update", "watch"};
/* For kinds that are not stored. Computed kinds do without the last. */
static const char *const read_verbs[] = {"get", "list", "watch"};

/* Subresources of objects. group and version: of the kind in requests; NULL: the
 * object's. */
static const struct part {
	const char *name, *kind, *group, *version;
	const char *const verbs[4];
} parts[] = {
	{"status", NULL, NULL, NULL, {"get", "patch", "update"}},
	{"finalize", NULL, NULL, NULL, {"update"}},
	{"scale", "Scale", "autoscaling", "v1", {"get", "patch", "update"}},
	{"binding", "Binding", NULL, NULL, {"create"}},
	{"eviction", "Eviction", "policy", "v1", {"create"}},
	{"log", NULL, NULL, NULL, {"get"}},
};

bool neap_kube_has_part(const struct neap_kube_kind *kind, const char *part)
{
	bool is_pod = strcmp(kind->plural, "pods") == 0 && !kind->group[0];

	if (strcmp(part, "status") == 0)
		return kind->has_status;
	if (strcmp(part, "scale") == 0)
		return kind->replicas_path;
	if (strcmp(part, "finalize") == 0)
		return strcmp(kind->plural, "namespaces") == 0 && !kind->group[0];
	return is_pod && (strcmp(part, "binding") == 0 || strcmp(part, "eviction") == 0 ||
			  strcmp(part, "log") == 0);
}

/* A document that lacks a part is not sent. */
static json_t *whole(json_t *json, uint64_t lost)
{
	if (neap_json_failures() == lost)
		return json;
	json_decref(json);
	return NULL;
}

static json_t *texts(const char *const *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		(void)json_array_append_new(array, json_string(list[i]));
	return array;
}

static size_t count_of(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static json_t *neap_kube_api_versions(void)
{
	uint64_t lost = neap_json_failures();

	return whole(json_pack("{s:s, s:[s], s:[]}", "kind", "APIVersions", "versions",
			       "v1", "serverAddressByClientCIDRs"),
		     lost);
}

static json_t *version_entry(const char *group, const char *version)
{
	char text[320];

	(void)snprintf(text, sizeof(text), "%s/%s", group, version);
	return json_pack("{s:s, s:s}", "groupVersion", text, "version", version);
}

/* A group has the versions of all its kinds, in the order in which the kinds list
 * them. */
static json_t *make_group(const struct neap_kube_registry *registry, const char *group)
{
	json_t *versions = json_array();
	json_t *json;

	for (size_t i = 0; i < neap_kube_registry_count(registry); i++) {
		const struct neap_kube_kind *kind = neap_kube_registry_at(registry, i);

		if (strcmp(kind->group, group) != 0)
			continue;
		for (const char *const *v = kind->versions; *v; v++)
			if (!neap_json_find(versions, "version", *v))
				(void)json_array_append_new(versions,
							    version_entry(group, *v));
	}
	for (size_t i = 0; i < NEAP_KUBE_REVIEWS; i++)
		if (strcmp(neap_kube_reviews[i].group, group) == 0 &&
		    !neap_json_find(versions, "version", neap_kube_reviews[i].version))
			(void)json_array_append_new(
				versions,
				version_entry(group, neap_kube_reviews[i].version));
	if (json_array_size(versions) == 0) {
		json_decref(versions);
		return NULL;
	}
	json = json_pack("{s:s, s:O, s:O}", "name", group, "versions", versions,
			 "preferredVersion", json_array_get(versions, 0));
	json_decref(versions);
	return json;
}

/* The documents; new references, NULL without memory. */
static json_t *neap_kube_group_list(const struct neap_kube_registry *registry)
{
	uint64_t lost = neap_json_failures();
	json_t *groups = json_array();

	for (size_t i = 0; i < neap_kube_registry_count(registry); i++) {
		const char *group = neap_kube_registry_at(registry, i)->group;

		if (group[0] && !neap_json_find(groups, "name", group))
			(void)json_array_append_new(groups, make_group(registry, group));
	}
	for (size_t i = 0; i < NEAP_KUBE_REVIEWS; i++)
		if (!neap_json_find(groups, "name", neap_kube_reviews[i].group))
			(void)json_array_append_new(
				groups, make_group(registry, neap_kube_reviews[i].group));
	return whole(json_pack("{s:s, s:s, s:o}", "kind", "APIGroupList", "apiVersion",
			       "v1", "groups", groups),
		     lost);
}

static json_t *neap_kube_group(const struct neap_kube_registry *registry,
			       const char *group)
{
	uint64_t lost = neap_json_failures();
	json_t *json = make_group(registry, group);

	if (json) {
		(void)json_object_set_new(json, "kind", json_string("APIGroup"));
		(void)json_object_set_new(json, "apiVersion", json_string("v1"));
	}
	return whole(json, lost);
}

static json_t *make_resource(const struct neap_kube_kind *kind)
{
	json_t *row =
		json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", kind->plural,
			  "singularName", kind->singular, "namespaced",
			  kind->is_namespaced, "kind", kind->kind, "verbs",
			  kind->make            ? texts(read_verbs, 2)
			  : kind->is_named_only ? texts(read_verbs, 3)
			  : kind->is_deleted_singly
				  ? texts(single_verbs, NEAP_ARRAY_LEN(single_verbs))
				  : texts(full_verbs, NEAP_ARRAY_LEN(full_verbs)));

	if (count_of(kind->short_names))
		(void)json_object_set_new(
			row, "shortNames",
			texts(kind->short_names, count_of(kind->short_names)));
	if (count_of(kind->categories))
		(void)json_object_set_new(
			row, "categories",
			texts(kind->categories, count_of(kind->categories)));
	return row;
}

static json_t *make_part(const struct neap_kube_kind *kind, const struct part *part)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "%s/%s", kind->plural, part->name);
	return json_pack("{s:s, s:s, s:b, s:s*, s:s*, s:s, s:o}", "name", name,
			 "singularName", "", "namespaced", kind->is_namespaced, "group",
			 part->group, "version", part->version, "kind",
			 part->kind ? part->kind : kind->kind, "verbs",
			 texts(part->verbs, count_of(part->verbs)));
}

static json_t *make_review(const struct neap_kube_review *review)
{
	return json_pack("{s:s, s:s, s:b, s:s, s:[s]}", "name", review->plural,
			 "singularName", review->singular, "namespaced",
			 review->is_namespaced, "kind", review->kind, "verbs", "create");
}

/* NULL also when the group is not served. */
static json_t *neap_kube_resource_list(const struct neap_kube_registry *registry,
				       const char *group, const char *version)
{
	uint64_t lost = neap_json_failures();
	json_t *list = json_array();
	char group_version[320];

	for (size_t i = 0; i < neap_kube_registry_count(registry); i++) {
		const struct neap_kube_kind *kind = neap_kube_registry_at(registry, i);

		if (strcmp(kind->group, group) != 0 ||
		    !neap_kube_kind_has_version(kind, version))
			continue;
		(void)json_array_append_new(list, make_resource(kind));
		for (size_t k = 0; k < NEAP_ARRAY_LEN(parts); k++)
			if (neap_kube_has_part(kind, parts[k].name))
				(void)json_array_append_new(list,
							    make_part(kind, &parts[k]));
	}
	for (size_t i = 0; i < NEAP_KUBE_REVIEWS; i++)
		if (strcmp(neap_kube_reviews[i].group, group) == 0 &&
		    strcmp(neap_kube_reviews[i].version, version) == 0)
			(void)json_array_append_new(list,
						    make_review(&neap_kube_reviews[i]));
	if (json_array_size(list) == 0) {
		json_decref(list);
		return NULL;
	}
	(void)snprintf(group_version, sizeof(group_version), "%s%s%s", group,
		       group[0] ? "/" : "", version);
	return whole(json_pack("{s:s, s:s, s:s, s:o}", "kind", "APIResourceList",
			       "apiVersion", "v1", "groupVersion", group_version,
			       "resources", list),
		     lost);
}

/* --- answers --- */

/* lost: the failures of memory before body was made. If there are none since, a NULL body
 * means not found. */
static void answer_take(struct neap_http_request *request, json_t *body, uint64_t lost)
{
	struct neap_kube_failure failure;
	struct neap_error err;

	if (body) {
		neap_http_answer_json_take(request, 200, body);
		return;
	}
	(void)neap_kube_fail(&failure, NEAP_CLIENT_NOT_FOUND,
			     "the server could not find the requested resource");
	body = neap_json_failures() == lost ? neap_kube_status(&failure) : NULL;
	if (body) {
		neap_http_answer_json_take(request, 404, body);
		return;
	}
	(void)neap_error_nomem(&err);
	neap_http_answer_error(request, &err);
}

void neap_kube_discover_versions(const struct neap_kube_registry *registry NEAP_UNUSED,
				 struct neap_http_request *request)
{
	uint64_t lost = neap_json_failures();

	answer_take(request, neap_kube_api_versions(), lost);
}

/* The served paths, as a list. */
static json_t *path_list(const struct neap_kube_registry *registry)
{
	static const char *const own[] = {
		"/",      "/api",     "/api/v1",     "/apis",   "/healthz",
		"/livez", "/metrics", "/openapi/v2", "/readyz", "/version"};
	uint64_t lost = neap_json_failures();
	json_t *paths = texts(own, NEAP_ARRAY_LEN(own));
	json_t *list = neap_kube_group_list(registry), *group, *version;
	char text[400];
	size_t i, k;

	json_array_foreach (json_object_get(list, "groups"), i, group) {
		(void)snprintf(text, sizeof(text), "/apis/%s",
			       json_string_value(json_object_get(group, "name")));
		(void)json_array_append_new(paths, json_string(text));
		json_array_foreach (json_object_get(group, "versions"), k, version) {
			(void)snprintf(text, sizeof(text), "/apis/%s",
				       json_string_value(
					       json_object_get(version, "groupVersion")));
			(void)json_array_append_new(paths, json_string(text));
		}
	}
	json_decref(list);
	return whole(json_pack("{s:o}", "paths", paths), lost);
}

void neap_kube_discover_paths(const struct neap_kube_registry *registry,
			      struct neap_http_request *request)
{
	uint64_t lost = neap_json_failures();

	answer_take(request, path_list(registry), lost);
}

void neap_kube_discover_groups(const struct neap_kube_registry *registry,
			       struct neap_http_request *request)
{
	uint64_t lost = neap_json_failures();

	answer_take(request, neap_kube_group_list(registry), lost);
}

void neap_kube_discover(const struct neap_kube_registry *registry,
			struct neap_http_request *request, const char *group,
			const char *version)
{
	uint64_t lost = neap_json_failures();

	answer_take(request,
		    version[0] ? neap_kube_resource_list(registry, group, version)
			       : neap_kube_group(registry, group),
		    lost);
}

/* --- the OpenAPI document ---
 *
 * /openapi/v2. Built on request, and again after the kinds change. kubectl requests it
 * with nearly every command, with its tag if it has it. */

/* The type that clients ask for contains "@", which is invalid: they could not read
 * it. */
#define TYPE "application/octet-stream"

static int make(struct neap_kube *kube, struct neap_error *err)
{
	const struct neap_kube_registry *registry = kube->registry;
	size_t count = neap_kube_registry_count(registry);
	const struct neap_kube_kind **kinds =
		neap_alloc_array(count ? count : 1, sizeof(*kinds));
	char hex[NEAP_SHA256_HEX];
	char *text;
	size_t len;
	int ret;

	if (!kinds)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++)
		kinds[i] = neap_kube_registry_at(registry, i);
	ret = neap_kube_openapi(kinds, count, "neap", NEAP_VERSION, &text, &len, err);
	free(kinds);
	if (ret < 0)
		return ret;
	neap_sha256_hex(text, len, hex);
	free(kube->document.text);
	kube->document.text = text;
	kube->document.len = len;
	kube->document.generation = neap_kube_registry_generation(registry);
	(void)snprintf(kube->document.tag, sizeof(kube->document.tag), "\"%.40s\"", hex);
	return 0;
}

void kube_document(struct neap_kube *kube, struct neap_http_request *request)
{
	const struct document *document = &kube->document;
	struct neap_error err;
	const char *has;

	if ((!document->text ||
	     document->generation != neap_kube_registry_generation(kube->registry)) &&
	    make(kube, &err) < 0) {
		neap_http_answer_error(request, &err);
		return;
	}
	/* Without the tag the document is only sent more often. */
	(void)neap_http_header_add(request, "ETag", document->tag);
	has = neap_http_header_find(request, "If-None-Match");
	if (has && strcmp(has, document->tag) == 0)
		neap_http_answer_text(request, 304, TYPE, "", 0);
	else
		neap_http_answer_text(request, 200, TYPE, document->text, document->len);
}
