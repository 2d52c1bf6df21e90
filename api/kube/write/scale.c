/* SPDX-License-Identifier: Apache-2.0
 *
 * /scale: desired and actual replicas, wherever an object has them. */
#include <stdio.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/request/call.h"
#include "api/kube/request/slow.h"
#include "engine/json/json.h"

const json_t *kube_scale_at(const json_t *object, const char *path)
{
	while (object && *path == '.') {
		size_t len = strcspn(++path, ".");

		object = json_object_getn(object, path, len);
		path += len;
	}
	return object;
}

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
	json_int_t replicas =
		json_integer_value(kube_scale_at(tree, kind->replicas_path));
	json_int_t running = kind->status_replicas_path
				     ? json_integer_value(kube_scale_at(
					       tree, kind->status_replicas_path))
				     : 0;
	json_t *status = json_pack("{s:I}", "replicas", running);

	if (kind->selector_path &&
	    json_object_set_new(status, "selector",
				selector_text(kube_scale_at(tree, kind->selector_path))) <
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
	json_t *tree = neap_object_tree(object);
	json_t *scale = tree ? neap_kube_scale_of(call, tree) : NULL;

	json_decref(tree);
	return scale;
}

void call_scale_get(struct call *call)
{
	struct neap_object *object = neap_store_find(call->kube->store, call->resource,
						     call->target.ns, call->target.name);

	if (object) {
		call_answer_take(call, 200, neap_kube_scale(call, object));
		return;
	}
	(void)neap_kube_fail_missing(&call->failure, call->target.kind,
				     call->target.name);
	call_fail(call);
}

static void check_count(const json_t *object, const char *path,
			struct neap_causes *causes)
{
	const json_t *value = path ? kube_scale_at(object, path) : NULL;

	if (!value || json_is_null(value))
		return;
	if (!json_is_integer(value))
		neap_causes_invalid(causes, path, value, "should be an integer");
	else if (json_integer_value(value) < 0)
		neap_causes_invalid(causes, path, value,
				    "should be a non-negative integer");
	else if (json_integer_value(value) > INT32_MAX)
		neap_causes_invalid(causes, path, value,
				    "should be less than or equal to %d", INT32_MAX);
}

void kube_scale_check(const struct neap_kube_kind *kind, const json_t *object,
		      struct neap_causes *causes)
{
	const json_t *selector =
		kind->selector_path ? kube_scale_at(object, kind->selector_path) : NULL;

	check_count(object, kind->replicas_path, causes);
	check_count(object, kind->status_replicas_path, causes);
	if (selector && !json_is_null(selector) && !json_is_string(selector))
		neap_causes_invalid(causes, kind->selector_path, selector,
				    "should be a string");
}

/* Creates missing objects on the path; values that are not objects stay. */
static int set_replicas(struct call *call, json_t *tree, json_int_t replicas)
{
	const char *path = call->target.kind->replicas_path;
	struct neap_causes *causes = &call->kube->causes;
	struct neap_error err;

	while (tree && *path == '.') {
		size_t len = strcspn(++path, ".");
		const char *rest = path + len;
		json_t *next = json_object_getn(tree, path, len);

		if (!*rest) {
			if (json_object_setn_new(tree, path, len,
						 json_integer(replicas)) == 0)
				return 0;
			break;
		}
		if ((!next || json_is_null(next)) &&
		    json_object_setn_new(tree, path, len, json_object()) == 0)
			next = json_object_getn(tree, path, len);
		if (next && !json_is_object(next)) {
			char field[256];

			(void)snprintf(field, sizeof(field), "%.*s",
				       (int)(rest - call->target.kind->replicas_path - 1),
				       call->target.kind->replicas_path + 1);
			neap_causes_clear(causes);
			neap_causes_invalid(causes, field, next,
					    "must be an object, as replicas stand in it");
			return neap_kube_fail_invalid(&call->failure, call->target.kind,
						      call->target.name, causes);
		}
		tree = next;
		path = rest;
	}
	(void)neap_error_nomem(&err);
	return neap_kube_fail_error(&call->failure, call->target.kind, call->target.name,
				    &err);
}

/* A Scale has its own metadata. It needs a name; the rest is checked for built-in kinds
 * only. */
static int check_scale_meta(struct call *call, const json_t *scale)
{
	struct neap_causes *causes = &call->kube->causes;

	if (!*neap_kube_meta_text(scale, "name"))
		return neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST,
				      "the name of the object (%s based on URL) was "
				      "undeterminable: name must be provided",
				      call->target.name);
	if (call->target.kind->is_custom)
		return 0;
	neap_causes_clear(causes);
	neap_kube_meta_check(call->target.kind, scale, NULL, causes);
	return causes->count ? neap_kube_fail_invalid(&call->failure, call->target.kind,
						      call->target.name, causes)
			     : 0;
}

static void scale_with(struct call *call, const json_t *scale, struct neap_object *newest,
		       json_t *before)
{
	const json_t *replicas =
		json_object_get(json_object_get(scale, "spec"), "replicas");
	static const char *const members[] = {"resourceVersion", "uid"};
	/* A patch of a declared kind's scale may have any uid. */
	size_t count = NEAP_ARRAY_LEN(members) -
		       (call->target.kind->is_custom && call->is_patch);
	json_t *tree;

	if (check_scale_meta(call, scale) < 0) {
		call_fail(call);
		return;
	}
	/* A missing value is 0, as everywhere in this API. */
	if (json_integer_value(replicas) < 0 ||
	    json_integer_value(replicas) > INT32_MAX) {
		struct neap_causes *causes = &call->kube->causes;

		neap_causes_clear(causes);
		neap_causes_invalid(causes, "spec.replicas", replicas,
				    "must be greater than or equal to 0");
		(void)neap_kube_fail_invalid(&call->failure, call->target.kind,
					     call->target.name, causes);
		call_fail(call);
		return;
	}
	tree = neap_json_deep_copy(before);
	if (set_replicas(call, tree, json_integer_value(replicas)) < 0) {
		json_decref(tree);
		call_fail(call);
		return;
	}
	call->answers_scale = true;
	/* Each member is a precondition, or absent. */
	for (size_t i = 0; i < count; i++) {
		json_t *value =
			json_object_get(json_object_get(scale, "metadata"), members[i]);

		if (value)
			(void)json_object_set(json_object_get(tree, "metadata"),
					      members[i], value);
		else
			(void)json_object_del(json_object_get(tree, "metadata"),
					      members[i]);
	}
	call->target.sub[0] = '\0'; /* from here on an update of the object itself */
	call_change_take(call, tree, before, newest);
}

/* PUT or PATCH of a Scale. */
void call_scale_set(struct call *call)
{
	struct neap_object *newest = call_need_newest(call);
	struct apply apply = {.is_forced = call_flag(call, "force")};
	json_t *before, *scale = NULL, *shown;
	int ret;

	if (!newest)
		return;
	before = neap_object_tree(newest);
	shown = before ? neap_kube_scale_of(call, before) : NULL;
	if (!shown) {
		json_decref(before);
		call_fail_nomem(call);
		return;
	}
	ret = call->is_patch ? body_patched(call, &neap_kube_body_scale, shown, &scale)
			     : body_part(call, &neap_kube_body_scale, &scale);
	if (ret == 0 && call->is_patch && call_is_apply(call)) {
		apply.set = kube_set_of_path(call->target.kind->replicas_path);
		call->apply = &apply;
	}
	if (ret < 0)
		call_fail(call);
	else if (call->apply && !apply.set)
		call_fail_nomem(call);
	else
		scale_with(call, scale, newest, before);
	call->apply = NULL;
	json_decref(apply.set);
	json_decref(scale);
	json_decref(shown);
	json_decref(before);
}
