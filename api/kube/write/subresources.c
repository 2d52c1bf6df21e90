/* SPDX-License-Identifier: Apache-2.0
 *
 * Subresources that act: binding a pod, finalizing a namespace. Also the condition of an
 * evicted pod. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/write/write.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

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

/* Sets a condition to True, as the last one. reason, message: NULL: none. */
static bool set_condition(json_t *status, const char *name, const char *reason,
			  const char *message, int64_t now)
{
	json_t *list = json_object_get(status, "conditions");
	const json_t *old = neap_json_condition(status, name), *condition;
	char text[32];
	size_t i;

	if (!json_is_array(list) &&
	    json_object_set_new(status, "conditions", (list = json_array())) < 0)
		return false;
	json_array_foreach (list, i, condition)
		if (condition == old) {
			(void)json_array_remove(list, i); /* it is there */
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
	return call_check_causes(call);
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
	(void)call_conflict(call, why);
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
	json_auto_t *before = NULL;

	if (!json_object_get(json_object_get(binding, "metadata"), "annotations"))
		return 0;
	before = neap_object_tree(newest);
	if (!before)
		return call_nomem(call);
	if (call_check_bounds(call, tree, before) < 0)
		return -1;
	neap_kube_meta_check(call->target.kind, tree, before, causes);
	return call_check_causes(call);
}

int call_bind_with(struct call *call, const json_t *binding)
{
	struct neap_object *newest = call_newest(call);
	json_auto_t *tree = NULL;
	const char *node;

	if (!newest)
		return call_missing(call);
	if (call_check_ending(call, call->target.name) < 0)
		return -1;
	tree = neap_object_tree(newest);
	if (!tree)
		return call_nomem(call);
	if (check_binding(call, binding, tree, newest, &node) < 0)
		return -1;
	if (!bind_tree(tree, binding, node, call->kube->now()))
		return call_nomem(call);
	if (check_annotations(call, binding, tree, newest) < 0 ||
	    call_check_cpus(call, tree, NULL) < 0)
		return -1;
	call->answers_success = true;
	if (call->is_dry)
		return call_answer_dry_take(call, 201, json_incref(tree));
	return call_store_take(call, 201, NEAP_STORE_UPDATE, json_incref(tree),
			       newest->version);
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

int call_bind(struct call *call)
{
	json_auto_t *binding = NULL;

	if (!call_newest(call))
		return call_missing(call);
	if (body_part(call, &neap_kube_body_binding, &binding) < 0 ||
	    call_need_name(call, binding, "Binding") < 0)
		return -1;
	return call_bind_with(call, binding);
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
int call_finalize(struct call *call)
{
	static const char *const members[] = {"name", "resourceVersion"};
	struct neap_object *newest = call_newest(call);
	json_auto_t *body = NULL, *before = NULL;
	json_t *tree, *spec, *list;
	bool is_done;

	if (!newest)
		return call_missing(call);
	if (body_object(call, &body) < 0 ||
	    call_decode(call, call->target.kind->kind, call->target.version,
			call->target.kind->schema, false, body) < 0)
		return -1;
	before = neap_object_tree(newest);
	tree = neap_json_deep_copy(before);
	spec = tree ? member(tree, "spec") : NULL;
	list = json_object_get(json_object_get(body, "spec"), "finalizers");
	(void)json_object_del(spec, "finalizers"); /* may not be there */
	is_done = spec && (!list || json_object_set(spec, "finalizers", list) == 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(members) && is_done; i++)
		if (*neap_kube_meta_text(body, members[i]))
			is_done =
				json_object_set(
					json_object_get(tree, "metadata"), members[i],
					json_object_get(json_object_get(body, "metadata"),
							members[i])) == 0;
	call->target.sub[0] = '\0'; /* from here on an update of the object itself */
	if (is_done)
		return call_change_take(call, tree, before, newest);
	json_decref(tree);
	return call_nomem(call);
}
