/* SPDX-License-Identifier: Apache-2.0
 *
 * How objects are shown: as they are, or as rows of a Table, which kubectl prints. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/kube_priv.h"
#include "api/kube/table.h"
#include "api/kube/view.h"
#include "engine/base/json.h"

/* Of the parts of an Accept header, in their order, the first that can be served: JSON in any disguise, and
 * Table or metadata alone where that is asked for. Everybody who prefers protobuf takes JSON too. */
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
		size_t len = strcspn(accept, ",");
		char part[256];

		accept += strspn(accept, " \t");
		len = strcspn(accept, ",");
		if (len < sizeof(part)) {
			memcpy(part, accept, len);
			part[len] = '\0';
			if (strncmp(part, "application/json", 16) == 0 &&
			    strstr(part, "as=Table")) {
				call->shape = SHAPE_TABLE;
				return 0;
			}
			if (strncmp(part, "application/json", 16) == 0 &&
			    strstr(part, "as=PartialObjectMetadata")) {
				call->shape = SHAPE_METADATA;
				return 0;
			}
			if ((strncmp(part, "application/json", 16) == 0 &&
			     !strstr(part, "as=")) ||
			    strncmp(part, "*/*", 3) == 0 ||
			    strncmp(part, "application/*", 13) == 0)
				return 0;
		}
		accept += len + (accept[len] == ',');
	}
	return neap_kube_fail(
		&call->failure, NEAP_KUBE_NOT_ACCEPTABLE,
		"only the following media types are accepted: application/json");
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
	return call->shape == SHAPE_METADATA ? "meta.k8s.io/v1" : call->api_version;
}

static void write_object(const struct call *call, const struct neap_object *object,
			 const char *kind, struct neap_buf *out)
{
	/* It is counted, and not changed. */
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
static json_t *make_partial(json_t *tree)
{
	return json_pack("{s:s, s:s, s:O}", "kind", "PartialObjectMetadata", "apiVersion",
			 "meta.k8s.io/v1", "metadata", json_object_get(tree, "metadata"));
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
			json_t *partial = make_partial(tree);
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
	neap_buf_addf(
		out,
		"{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":%s,"
		"\"columnDefinitions\":",
		metadata);
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
	if (!shape_head(call, columns, "{}", out) || !shape_row(call, object, out))
		return false;
	neap_buf_adds(out, "]}");
	return true;
}
