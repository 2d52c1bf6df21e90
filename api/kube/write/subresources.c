/* SPDX-License-Identifier: Apache-2.0
 *
 * Subresources that act: binding a pod, finalizing a namespace. Also the condition of an
 * evicted pod. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/request/call.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

static void nomem(struct call *call)
{
	struct neap_error err;

	(void)neap_error_nomem(&err);
	(void)neap_kube_fail_error(&call->failure, call->target.kind, call->target.name,
				   &err);
	call_fail(call);
}

struct neap_object *call_need_newest(struct call *call)
{
	struct neap_object *newest = neap_store_newest(
		call->kube->store, call->resource, call->target.ns, call->target.name);

	if (newest)
		return newest;
	(void)neap_kube_fail_missing(&call->failure, call->target.kind,
				     call->target.name);
	call_fail(call);
	return NULL;
}

static json_t *member(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	if (json_is_object(value))
		return value;
	if (json_object_set_new(object, name, json_object()) < 0)
		return NULL;
	return json_object_get(object, name);
}

/* --- binding --- */

/* Sets a condition to True. reason, message: NULL: none. */
static bool set_condition(json_t *status, const char *name, const char *reason,
			  const char *message, int64_t now)
{
	json_t *list = json_object_get(status, "conditions");
	json_t *condition;
	char text[32];
	size_t i;

	if (!json_is_array(list)) {
		if (json_object_set_new(status, "conditions", json_array()) < 0)
			return false;
		list = json_object_get(status, "conditions");
	}
	json_array_foreach (list, i, condition) {
		const char *type = json_string_value(json_object_get(condition, "type"));

		if (!type || strcmp(type, name) != 0)
			continue;
		if (json_array_remove(list, i) < 0)
			return false;
		break;
	}
	return json_array_append_new(
		       list, json_pack("{s:s, s:s, s:s*, s:s*, s:s}", "type", name,
				       "status", "True", "reason", reason, "message",
				       message, "lastTransitionTime",
				       neap_time_format(now, 0, text, sizeof(text)))) ==
	       0;
}

static bool bind_tree(json_t *tree, const json_t *binding, const char *node, int64_t now)
{
	json_t *annotations =
		json_object_get(json_object_get(binding, "metadata"), "annotations");
	json_t *spec = member(tree, "spec"), *status = member(tree, "status");
	json_t *to, *value;
	const char *key;

	if (!spec || !status ||
	    json_object_set_new(spec, "nodeName", json_string(node)) < 0 ||
	    !set_condition(status, "PodScheduled", NULL, NULL, now))
		return false;
	if (json_object_size(annotations) == 0)
		return true;
	to = member(member(tree, "metadata"), "annotations");
	if (!to)
		return false;
	json_object_foreach (annotations, key, value) {
		if (json_is_null(value))
			(void)json_object_del(to, key); /* may not be there */
		else if (json_object_set(to, key, value) < 0)
			return false;
	}
	return true;
}

/* Checks the target; faults are reported as causes. */
static int check_target(struct call *call, const json_t *target, const char **ret_node)
{
	static const char *const kinds[] = {"Node", NULL};
	const char *kind = json_string_value(json_object_get(target, "kind"));
	struct neap_causes *causes = &call->kube->causes;
	const char *fault;

	*ret_node = json_string_value(json_object_get(target, "name"));
	neap_causes_clear(causes);
	if (kind && *kind && strcmp(kind, "Node") != 0)
		neap_causes_unsupported(causes, "target.kind",
					json_object_get(target, "kind"), kinds);
	if (!*ret_node || !**ret_node) {
		neap_causes_required(causes, "target.name", "");
	} else {
		fault = neap_kube_dns_subdomain_fault(*ret_node);
		if (fault)
			neap_causes_invalid(causes, "target.name",
					    json_object_get(target, "name"), "%s", fault);
	}
	return causes->count ? neap_kube_fail_invalid(&call->failure, call->target.kind,
						      call->target.name, causes)
			     : 0;
}

static int check_binding(struct call *call, const json_t *binding, const json_t *tree,
			 const struct neap_object *newest, const char **ret_node)
{
	const json_t *spec = json_object_get(tree, "spec");
	const char *bound = json_string_value(json_object_get(spec, "nodeName"));
	const char *uid = neap_kube_meta_text(binding, "uid");
	const char *version = neap_kube_meta_text(binding, "resourceVersion");
	char is[NEAP_OBJECT_VERSION], why[512];

	if (check_target(call, json_object_get(binding, "target"), ret_node) < 0)
		return -1;
	if (*uid && strcmp(uid, newest->uid) != 0)
		(void)snprintf(
			why, sizeof(why),
			"Precondition failed: UID in precondition: %.64s, UID in object "
			"meta: %s",
			uid, newest->uid);
	else if (*version &&
		 strcmp(version, neap_object_resource_version(newest, is)) != 0)
		(void)snprintf(
			why, sizeof(why),
			"Precondition failed: ResourceVersion in precondition: %.64s, "
			"ResourceVersion in object meta: %s",
			version, is);
	else if (newest->is_deleting)
		(void)snprintf(why, sizeof(why),
			       "pod %s is being deleted, cannot be assigned to "
			       "a host",
			       call->target.name);
	else if (bound && *bound)
		(void)snprintf(why, sizeof(why),
			       "pod %s is already assigned to node \"%.253s\"",
			       call->target.name, bound);
	else if (json_array_size(json_object_get(spec, "schedulingGates")) > 0)
		(void)snprintf(why, sizeof(why),
			       "pod %s has non-empty .spec.schedulingGates",
			       call->target.name);
	else
		return 0;
	(void)neap_kube_fail_conflict(&call->failure, call->target.kind,
				      call->target.name, why);
	call->failure.part = "binding";
	(void)snprintf(call->failure.message, sizeof(call->failure.message),
		       "Operation cannot be fulfilled on pods/binding \"%s\": %s",
		       call->target.name, why);
	return -1;
}

/* Checks the annotations that the binding adds to the pod's. */
static int check_annotations(struct call *call, const json_t *binding, const json_t *tree,
			     const struct neap_object *newest)
{
	struct neap_causes *causes = &call->kube->causes;
	struct neap_error err;
	json_t *before;
	int ret;

	if (!json_object_get(json_object_get(binding, "metadata"), "annotations"))
		return 0;
	before = neap_object_tree(newest);
	if (!before) {
		(void)neap_error_nomem(&err);
		return neap_kube_fail_error(&call->failure, call->target.kind,
					    call->target.name, &err);
	}
	ret = call_check_bounds(call, tree, before);
	if (ret == 0)
		neap_kube_meta_check(call->target.kind, tree, before, causes);
	json_decref(before);
	if (ret == 0 && causes->count)
		ret = neap_kube_fail_invalid(&call->failure, call->target.kind,
					     call->target.name, causes);
	return ret;
}

void call_bind_with(struct call *call, const json_t *binding)
{
	struct neap_object *newest = call_need_newest(call);
	json_t *tree;
	const char *node;

	if (!newest)
		return;
	if (call_check_ending(call, call->target.name) < 0) {
		call_fail(call);
		return;
	}
	tree = neap_object_tree(newest);
	if (!tree) {
		nomem(call);
	} else if (check_binding(call, binding, tree, newest, &node) < 0) {
		call_fail(call);
	} else if (!bind_tree(tree, binding, node, call->kube->now())) {
		nomem(call);
	} else if (check_annotations(call, binding, tree, newest) < 0 ||
		   call_check_cpus(call, tree, NULL) < 0) {
		call_fail(call);
	} else if (call->is_dry) {
		call_answer_take(call, 201, neap_kube_success(NULL, NULL, NULL, 201));
	} else {
		call->answers_success = true;
		call_store_take(call, 201, NEAP_STORE_UPDATE, json_incref(tree),
				newest->version);
	}
	json_decref(tree);
}

/* A body with another name is refused, and one without a name too. */
int call_need_name(struct call *call, const json_t *body, const char *kind)
{
	return *neap_kube_meta_text(body, "name")
		       ? 0
		       : neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST,
					"name in URL does not match name in %s object",
					kind);
}

void call_bind(struct call *call)
{
	json_t *binding;

	if (!call_need_newest(call))
		return;
	if (body_part(call, &neap_kube_body_binding, &binding) < 0) {
		call_fail(call);
		return;
	}
	if (call_need_name(call, binding, "Binding") < 0)
		call_fail(call);
	else
		call_bind_with(call, binding);
	json_decref(binding);
}

/* --- eviction: see evict.c --- */

bool call_tell_evicted(const struct call *call, json_t *tree)
{
	json_t *status = member(tree, "status");

	return status &&
	       set_condition(status, "DisruptionTarget", "EvictionByEvictionAPI",
			     "Eviction API: evicting", call->kube->now());
}

/* --- finalize --- */

/* The older way to remove finalizers, only for namespaces: PUT of a namespace, of which
 * only spec.finalizers counts. Here spec.finalizers do not delay deletion: a namespace
 * goes when it is empty. */
void call_finalize(struct call *call)
{
	struct neap_object *newest = call_need_newest(call);
	json_t *body = NULL, *before, *tree, *spec, *list;
	bool is_done;

	if (!newest)
		return;
	if (body_object(call, &body) < 0 ||
	    call_decode(call, call->target.kind->kind, call->target.version,
			call->target.kind->schema, false, body) < 0) {
		json_decref(body);
		call_fail(call);
		return;
	}
	before = neap_object_tree(newest);
	tree = neap_json_deep_copy(before);
	spec = tree ? member(tree, "spec") : NULL;
	list = json_object_get(json_object_get(body, "spec"), "finalizers");
	(void)json_object_del(spec, "finalizers"); /* may not be there */
	is_done = spec && (!list || json_object_set(spec, "finalizers", list) == 0);
	if (is_done && *neap_kube_meta_text(body, "name"))
		is_done =
			json_object_set(json_object_get(tree, "metadata"), "name",
					json_object_get(json_object_get(body, "metadata"),
							"name")) == 0;
	if (is_done && *neap_kube_meta_text(body, "resourceVersion"))
		is_done = json_object_set(
				  json_object_get(tree, "metadata"), "resourceVersion",
				  json_object_get(json_object_get(body, "metadata"),
						  "resourceVersion")) == 0;
	call->target.sub[0] = '\0'; /* from here on an update of the object itself */
	if (is_done) {
		call_change_take(call, tree, before, newest);
	} else {
		json_decref(tree);
		nomem(call);
	}
	json_decref(before);
	json_decref(body);
}
