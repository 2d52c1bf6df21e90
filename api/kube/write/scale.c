/* SPDX-License-Identifier: Apache-2.0
 *
 * /scale: desired and actual replicas, wherever an object has them. */
#include <stdio.h>
#include <string.h>

#include "api/kube/apply/apply.h"
#include "api/kube/base/meta.h"
#include "api/kube/request/slow.h"
#include "api/kube/write/write.h"
#include "engine/json/json.h"

int call_scale_get(struct call *call)
{
	struct neap_object *object = neap_store_find(call->kube->store, call->resource,
						     call->target.ns, call->target.name);

	if (!object)
		return call_missing(call);
	return call_answer_take(call, 200, neap_kube_scale(call, object));
}

/* Creates missing objects on the path; values that are not objects stay. */
static int set_replicas(struct call *call, json_t *tree, json_int_t replicas)
{
	const char *path = call->target.kind->replicas_path;
	struct neap_causes *causes = &call->kube->causes;

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
			return call_check_causes(call);
		}
		tree = next;
		path = rest;
	}
	return call_nomem(call);
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
	return call_check_causes(call);
}

static int scale_with(struct call *call, const json_t *scale, struct neap_object *newest,
		      json_t *before)
{
	const json_t *replicas =
		json_object_get(json_object_get(scale, "spec"), "replicas");
	static const char *const members[] = {"resourceVersion", "uid"};
	/* A patch of a declared kind's scale may have any uid. */
	size_t count = NEAP_ARRAY_LEN(members) -
		       (call->target.kind->is_custom && call->is_patch);
	json_t *tree;

	if (check_scale_meta(call, scale) < 0)
		return -1;
	/* A missing value is 0, as everywhere in this API. */
	if (json_integer_value(replicas) < 0 ||
	    json_integer_value(replicas) > INT32_MAX) {
		struct neap_causes *causes = &call->kube->causes;

		neap_causes_clear(causes);
		neap_causes_invalid(causes, "spec.replicas", replicas,
				    "must be greater than or equal to 0");
		return call_check_causes(call);
	}
	tree = neap_json_deep_copy(before);
	if (set_replicas(call, tree, json_integer_value(replicas)) < 0) {
		json_decref(tree);
		return -1;
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
	return call_change_take(call, tree, before, newest);
}

/* PUT or PATCH of a Scale. */
int call_scale_set(struct call *call)
{
	struct neap_object *newest = call_newest(call);
	struct apply apply = {.is_forced = call_flag(call, "force")};
	json_auto_t *before = NULL, *scale = NULL, *shown = NULL;
	int ret;

	if (!newest)
		return call_missing(call);
	before = neap_object_tree(newest);
	shown = before ? neap_kube_scale_of(call, before) : NULL;
	if (!shown)
		return call_nomem(call);
	ret = call->is_patch ? body_patched(call, &neap_kube_body_scale, shown, &scale)
			     : body_part(call, &neap_kube_body_scale, &scale);
	if (ret == 0 && call->is_patch && call_is_apply(call)) {
		apply.set = kube_set_of_path(call->target.kind->replicas_path);
		call->apply = &apply;
	}
	if (ret == 0)
		ret = call->apply && !apply.set ? call_nomem(call)
						: scale_with(call, scale, newest, before);
	call->apply = NULL;
	json_decref(apply.set);
	return ret;
}
