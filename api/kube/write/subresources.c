/* SPDX-License-Identifier: Apache-2.0
 *
 * Subresources that act: binding a pod, finalizing a namespace. Also the condition of an
 * evicted pod. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/apply/apply.h"
#include "api/kube/base/meta.h"
#include "api/kube/request/slow.h"
#include "api/kube/write/budget.h"
#include "api/kube/write/write.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* --- binding --- */

/* Sets a condition to True, as the last one. reason, message: NULL: none. */
static bool set_condition(json_t *status, const char *name, const char *reason,
			  const char *message, int64_t now)
{
	json_t *list = neap_json_need_take(status, "conditions", json_array());
	const json_t *old = neap_json_condition(status, name), *condition;
	char text[32];
	size_t i;

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
	json_t *annotations = neap_json_at(binding, "metadata.annotations");
	json_t *spec = neap_json_need_take(tree, "spec", json_object()),
	       *status = neap_json_need_take(tree, "status", json_object());
	json_t *to, *value;
	const char *key;

	if (!spec || !status ||
	    json_object_set_new(spec, "nodeName", json_string(node)) < 0 ||
	    !set_condition(status, "PodScheduled", NULL, NULL, now))
		return false;
	if (json_object_size(annotations) == 0)
		return true;
	to = neap_json_need_take(json_object_get(tree, "metadata"), "annotations",
				 json_object());
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

	if (!neap_json_at(binding, "metadata.annotations"))
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
static int call_need_name(struct call *call, const json_t *body, const char *kind)
{
	return *neap_kube_meta_text(body, "name")
		       ? 0
		       : call_bad(call, "name in URL does not match name in %s object",
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

/* --- the condition of an evicted pod --- */

bool call_tell_evicted(const struct call *call, json_t *tree)
{
	json_t *status = neap_json_need_take(tree, "status", json_object());

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
	spec = tree ? neap_json_need_take(tree, "spec", json_object()) : NULL;
	list = neap_json_at(body, "spec.finalizers");
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

/* --- scale ---
 *
 * /scale: desired and actual replicas, wherever an object has them. */

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
		return call_bad(call,
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
	const json_t *replicas = neap_json_at(scale, "spec.replicas");
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

/* --- eviction ---
 *
 * Evicts a pod if the budgets of its namespace allow it. Finding the pods that they
 * select may take long; then the request waits as a task. Each peer has only one task
 * running, because its findings stay in memory until the response. */

struct eviction {
	struct slow slow;
	/* the client's address; copied, as the request may have been answered */
	char *peer;
	json_t *body; /* counted */
	struct neap_budget_question *question;
};

static int refuse(struct call *call, const struct neap_budget_answer *answer)
{
	struct neap_causes *causes = &call->kube->causes;

	(void)call_refuse(call, NEAP_CLIENT_TOO_MANY_REQUESTS,
			  "Cannot evict pod as it would violate the pod's disruption "
			  "budget.");
	neap_causes_clear(causes);
	neap_causes_add(causes, "DisruptionBudget", "", "%s", answer->why);
	call->failure.causes = causes;
	return -1;
}

/* Does one piece. 1: it goes on; 0: the request is answered, or will be; -1 with
 * call->failure. */
static int go(struct call *call, struct neap_budget_question *question,
	      const json_t *body)
{
	struct neap_object *newest = call_newest(call);
	struct neap_budget_answer answer;

	if (!newest)
		return call_missing(call);
	if (call_check_ending(call, call->target.name) < 0)
		return -1;
	if (!neap_budget_question_go(question, newest, &answer))
		return 1;
	if (!answer.is_allowed)
		return refuse(call, &answer);
	call->answers_success = true;
	call->evicts = true;
	return call_delete_with(call, json_object_get(body, "deleteOptions"), newest,
				201);
}

/* --- as a task --- */

static void eviction_end(struct slow *slow);

/* The newest request of the peer in the list from there on; older ones stand behind.
 * NULL: none. */
static struct slow *find_of_peer(struct slow *from, const char *peer)
{
	while (from && (from->end != eviction_end ||
			strcmp(((struct eviction *)from)->peer, peer) != 0))
		from = from->next;
	return from;
}

static void leave(struct eviction *eviction)
{
	struct slow *next = NULL, *at;

	slow_done(&eviction->slow);
	for (at = eviction->slow.call.kube->slow; (at = find_of_peer(at, eviction->peer));
	     at = at->next)
		next = at;
	if (next)
		neap_task_wake(next->task);
	neap_budget_question_free(eviction->question);
	json_decref(eviction->body);
	free(eviction->peer);
	free(eviction);
}

static void client_gone(void *arg)
{
	leave(arg);
}

static void eviction_end(struct slow *slow)
{
	slow_refuse_end(slow);
	leave((struct eviction *)slow);
}

static enum neap_task_next step(void *arg)
{
	struct eviction *eviction = arg;
	struct slow *slow = &eviction->slow;
	int more;

	if (find_of_peer(slow->next, eviction->peer))
		return NEAP_TASK_WAITS;
	more = go(&slow->call, eviction->question, eviction->body);
	if (more > 0)
		return NEAP_TASK_GOES_ON;
	if (more < 0)
		call_fail(&slow->call);
	leave(eviction);
	return NEAP_TASK_IS_OVER;
}

/* Takes question. */
static int begin_take(struct call *call, struct neap_budget_question *question,
		      const json_t *body)
{
	struct eviction *eviction = neap_alloc(sizeof(*eviction));

	if (eviction)
		eviction->peer = neap_strdup(slow_peer(call));
	if (!eviction || !eviction->peer ||
	    slow_begin(&eviction->slow, call, step, eviction_end) < 0) {
		if (eviction)
			free(eviction->peer);
		free(eviction);
		neap_budget_question_free(question);
		return call_nomem(call);
	}
	eviction->question = question;
	eviction->body = json_incref((json_t *)(uintptr_t)body);
	if (call->request)
		neap_http_defer(call->request, client_gone, eviction);
	neap_task_wake(eviction->slow.task);
	return 0;
}

int call_evict_with(struct call *call, const json_t *body)
{
	struct neap_budget_question *question = neap_budget_question_new(call->kube);
	int more = 1;

	if (!question)
		return call_nomem(call);
	if (!find_of_peer(call->kube->slow, slow_peer(call)))
		more = go(call, question, body);
	if (more > 0)
		return begin_take(call, question, body);
	neap_budget_question_free(question);
	return more;
}

int call_evict(struct call *call)
{
	json_auto_t *body = NULL;

	if (!call_newest(call))
		return call_missing(call);
	if (body_part(call, &neap_kube_body_eviction, &body) < 0 ||
	    call_need_name(call, body, "Eviction") < 0)
		return -1;
	return call_evict_with(call, body);
}
