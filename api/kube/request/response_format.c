/* SPDX-License-Identifier: Apache-2.0
 *
 * The form of objects in responses: as they are, as metadata alone, or as rows of a
 * Table, which kubectl prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/view.h"
#include "api/kube/print/table.h"
#include "api/kube/request/call.h"
#include "engine/json/json.h"

#define META_GROUP "meta.k8s.io"

/* The other forms of an object, a watch or a list. */
static const struct {
	const char *as;
	enum shape shape;
	bool of_object, of_list;
} shapes[] = {
	{"Table", SHAPE_TABLE, true, true},
	{"PartialObjectMetadata", SHAPE_METADATA, true, false},
	{"PartialObjectMetadataList", SHAPE_METADATA, false, true},
};

/* The value of a media type's parameter; "" when it is missing. */
static void parameter(const char *part, const char *name, char *buf, size_t size)
{
	size_t name_len = strlen(name);

	buf[0] = '\0';
	while ((part = strchr(part, ';'))) {
		size_t len;

		part++;
		part += strspn(part, " \t");
		if (strncmp(part, name, name_len) != 0 || part[name_len] != '=')
			continue;
		part += name_len + 1;
		len = strcspn(part, "; \t");
		if (len >= size)
			len = size - 1;
		memcpy(buf, part, len);
		buf[len] = '\0';
		return;
	}
}

static bool is_list(struct call *call)
{
	const char *method = neap_http_method_get(call->request);

	return !call->target.name[0] &&
	       (strcmp(method, "DELETE") == 0 ||
		(strcmp(method, "GET") == 0 && !call->target.is_watch &&
		 !call_flag(call, "watch")));
}

/* 1: this part of an Accept header can be served; the shape is set. 0: it is unknown. -1:
 * the requested object has no such form. */
static int take_part(struct call *call, const char *part)
{
	char as[32], version[16], group[32];

	if (strncmp(part, "*/*", 3) == 0 || strncmp(part, "application/*", 13) == 0)
		return 1;
	if (strncmp(part, "application/json", 16) != 0)
		return 0;
	parameter(part, "as", as, sizeof(as));
	parameter(part, "v", version, sizeof(version));
	parameter(part, "g", group, sizeof(group));
	if (!as[0])
		return 1;
	call->is_meta_beta = strcmp(version, "v1beta1") == 0;
	if (strcmp(group, META_GROUP) != 0 ||
	    (strcmp(version, "v1") != 0 && !call->is_meta_beta))
		return 0;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(shapes); i++) {
		if (strcmp(shapes[i].as, as) != 0)
			continue;
		call->shape = shapes[i].shape;
		if (is_list(call) ? shapes[i].of_list : shapes[i].of_object)
			return 1;
		return call_refuse(call, NEAP_CLIENT_NOT_ACCEPTABLE,
				   "you requested %s, but the requested object is %s", as,
				   is_list(call) ? "a list" : "not a list");
	}
	return 0;
}

/* Picks the first part of an Accept header that can be served: JSON under any name, and
 * Table or metadata alone where requested. Clients that prefer protobuf accept JSON
 * too. */
int shape_parse(struct call *call)
{
	const char *accept = neap_http_header_find(call->request, "Accept");
	const char *include = call_query(call, "includeObject");

	call->shape = SHAPE_OBJECT;
	call->include = INCLUDE_METADATA;
	if (include && strcmp(include, "Object") == 0)
		call->include = INCLUDE_OBJECT;
	else if (include && strcmp(include, "None") == 0)
		call->include = INCLUDE_NONE;
	if (!accept || !*accept)
		return 0;
	while (*accept) {
		size_t len;
		char part[256];
		int taken = 0;

		accept += strspn(accept, " \t");
		len = strcspn(accept, ",");
		if (len < sizeof(part)) {
			memcpy(part, accept, len);
			part[len] = '\0';
			taken = take_part(call, part);
		}
		if (taken)
			return taken < 0 ? -1 : 0;
		accept += len + (accept[len] == ',');
	}
	return call_refuse(
		call, NEAP_CLIENT_NOT_ACCEPTABLE,
		"only the following media types are accepted: application/json");
}

static const char *meta_version(const struct call *call)
{
	return call->is_meta_beta ? META_GROUP "/v1beta1" : META_GROUP "/v1";
}

struct neap_object *shape_shown(const struct call *call, struct neap_object *object)
{
	const struct neap_kube_view *view = call->target.kind->view;

	if (call->shape == SHAPE_METADATA)
		return neap_kube_view_metadata(object);
	return view ? neap_kube_view_object(&call->kube->shown, view, object)
		    : neap_object_ref(object);
}

bool shape_is_other(const struct call *call)
{
	return call->shape == SHAPE_METADATA ||
	       (call->shape == SHAPE_OBJECT && call->target.kind->view);
}

const char *shape_kind(const struct call *call)
{
	return call->shape == SHAPE_METADATA ? "PartialObjectMetadata"
					     : call->target.kind->kind;
}

const char *shape_list_kind(const struct call *call)
{
	return call->shape == SHAPE_METADATA ? "PartialObjectMetadataList"
					     : call->target.kind->list_kind;
}

const char *shape_version(const struct call *call)
{
	return call->shape == SHAPE_METADATA ? meta_version(call) : call->api_version;
}

static void write_object(const struct call *call, const struct neap_object *object,
			 const char *kind, struct neap_buf *out)
{
	/* Only its reference count changes. */
	struct neap_object *shown =
		shape_shown(call, (struct neap_object *)(uintptr_t)object);

	if (shown)
		neap_object_write(shown, kind, shape_version(call), out);
	else
		out->failed = true;
	(void)neap_object_unref(shown);
}

void shape_object(const struct call *call, const struct neap_object *object,
		  struct neap_buf *out)
{
	write_object(call, object, shape_kind(call), out);
}

/* {"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{...}} */
static json_t *make_partial(const struct call *call, json_t *tree)
{
	return json_pack("{s:s, s:s, s:O}", "kind", "PartialObjectMetadata", "apiVersion",
			 meta_version(call), "metadata",
			 json_object_get(tree, "metadata"));
}

bool shape_row(const struct call *call, const struct neap_object *object,
	       struct neap_buf *out)
{
	json_t *tree = neap_object_tree(object);
	json_t *cells =
		tree ? neap_kube_cells(call->target.kind, tree, call->kube->now()) : NULL;
	char *text = cells ? neap_json_dump(cells, JSON_COMPACT) : NULL;
	bool is_whole = text;

	if (text) {
		neap_buf_addf(out, "{\"cells\":%s,\"object\":", text);
		if (call->include == INCLUDE_NONE) {
			neap_buf_adds(out, "null");
		} else if (call->include == INCLUDE_OBJECT) {
			shape_object(call, object, out);
		} else {
			json_t *partial = make_partial(call, tree);
			char *meta =
				partial ? neap_json_dump(partial, JSON_COMPACT) : NULL;

			neap_buf_adds(out, meta ? meta : "null");
			is_whole = meta;
			free(meta);
			json_decref(partial);
		}
		neap_buf_addc(out, '}');
	}
	free(text);
	json_decref(cells);
	json_decref(tree);
	return is_whole;
}

bool shape_head(const struct call *call, bool columns, const char *metadata,
		struct neap_buf *out)
{
	neap_buf_addf(out,
		      "{\"kind\":\"Table\",\"apiVersion\":\"%s\",\"metadata\":%s,"
		      "\"columnDefinitions\":",
		      meta_version(call), metadata);
	if (columns) {
		json_t *list = neap_kube_columns(call->target.kind);
		char *text = list ? neap_json_dump(list, JSON_COMPACT) : NULL;

		json_decref(list);
		if (!text)
			return false;
		neap_buf_adds(out, text);
		free(text);
	} else {
		neap_buf_adds(out, "null");
	}
	neap_buf_adds(out, ",\"rows\":[");
	return true;
}

bool shape_table(const struct call *call, const struct neap_object *object, bool columns,
		 struct neap_buf *out)
{
	char metadata[64];

	(void)snprintf(metadata, sizeof(metadata), "{\"resourceVersion\":\"%lld\"}",
		       (long long)object->version);
	if (!shape_head(call, columns, metadata, out) || !shape_row(call, object, out))
		return false;
	neap_buf_adds(out, "]}");
	return true;
}

/* --- Scales: desired and actual replicas, wherever an object has them --- */

/* "key in (a,b)" */
static void add_expression(const json_t *expression, struct neap_buf *out)
{
	const char *key = json_string_value(json_object_get(expression, "key"));
	const char *how = json_string_value(json_object_get(expression, "operator"));
	const json_t *value;
	size_t i;

	if (!key || !how)
		return;
	if (out->len)
		neap_buf_addc(out, ',');
	if (strcmp(how, "DoesNotExist") == 0)
		neap_buf_addc(out, '!');
	neap_buf_adds(out, key);
	if (strcmp(how, "In") != 0 && strcmp(how, "NotIn") != 0)
		return;
	neap_buf_adds(out, strcmp(how, "In") == 0 ? " in (" : " notin (");
	json_array_foreach (json_object_get(expression, "values"), i, value) {
		const char *text = json_string_value(value);

		neap_buf_addf(out, "%s%s", i ? "," : "", text ? text : "");
	}
	neap_buf_addc(out, ')');
}

/* matchLabels and matchExpressions as one text, as in autoscaling/v1. */
static json_t *selector_text(const json_t *selector)
{
	const json_t *labels = json_object_get(selector, "matchLabels");
	const json_t *list = json_object_get(selector, "matchExpressions");
	neap_auto_buf struct neap_buf out = {0};
	const json_t *value;
	const char *key;
	size_t i;

	neap_buf_init(&out, NEAP_BUF_LINE);
	if (json_is_string(selector))
		return json_incref((json_t *)(uintptr_t)selector);
	if (!labels && !list)
		labels = selector; /* of a ReplicationController */
	json_object_foreach ((json_t *)(uintptr_t)labels, key, value)
		if (json_is_string(value))
			neap_buf_addf(&out, "%s%s=%s", out.len ? "," : "", key,
				      json_string_value(value));
	json_array_foreach (list, i, value) {
		add_expression(value, &out);
	}
	return neap_buf_failed(&out) ? NULL : json_string(out.data);
}

json_t *neap_kube_scale_of(const struct call *call, const json_t *tree)
{
	const struct neap_kube_kind *kind = call->target.kind;
	const json_t *meta = json_object_get(tree, "metadata");
	json_int_t replicas = json_integer_value(neap_json_at(tree, kind->replicas_path));
	json_int_t running = kind->status_replicas_path
				     ? json_integer_value(neap_json_at(
					       tree, kind->status_replicas_path))
				     : 0;
	json_t *status = json_pack("{s:I}", "replicas", running);

	if (kind->selector_path &&
	    json_object_set_new(status, "selector",
				selector_text(neap_json_at(tree, kind->selector_path))) <
		    0) {
		json_decref(status);
		return NULL;
	}
	return json_pack("{s:s, s:s, s:{s:O, s:O, s:O, s:O, s:O*}, s:{s:I}, s:o}", "kind",
			 "Scale", "apiVersion", "autoscaling/v1", "metadata", "name",
			 json_object_get(meta, "name"), "uid",
			 json_object_get(meta, "uid"), "resourceVersion",
			 json_object_get(meta, "resourceVersion"), "creationTimestamp",
			 json_object_get(meta, "creationTimestamp"), "namespace",
			 json_object_get(meta, "namespace"), "spec", "replicas", replicas,
			 "status", status);
}

json_t *neap_kube_scale(const struct call *call, const struct neap_object *object)
{
	json_auto_t *tree = neap_object_tree(object);

	return tree ? neap_kube_scale_of(call, tree) : NULL;
}
