/* SPDX-License-Identifier: Apache-2.0
 *
 * Each ask is a request without a client: the same functions do it from where the body is known. */
#include "api/kube/serve/client_local.h"

#include <string.h>

#include "api/kube/request/call.h"
#include "engine/base/mem.h"

/* "replicasets.apps" is a plural and a group. False, and told, when there is no such kind. */
static bool begin(struct neap_kube *kube, const struct neap_kube_ask *ask,
		  const char *sub, struct call *ret)
{
	struct neap_kube_target *target = &ret->target;
	const char *group = strchr(ask->resource, '.');
	size_t len = group ? (size_t)(group - ask->resource) : strlen(ask->resource);

	*ret = (struct call){.kube = kube,
			     .told = ask->told,
			     .told_arg = ask->arg,
			     .shape = SHAPE_OBJECT};
	if (len < sizeof(target->plural))
		memcpy(target->plural, ask->resource, len);
	(void)neap_strcopy(target->group, sizeof(target->group), group ? group + 1 : "");
	(void)neap_strcopy(target->ns, sizeof(target->ns), ask->ns);
	(void)neap_strcopy(target->name, sizeof(target->name),
			   ask->name ? ask->name : "");
	(void)neap_strcopy(target->sub, sizeof(target->sub), sub);
	target->kind = neap_kube_registry_find(kube->registry, target->group, NULL,
					       target->plural);
	if (!target->kind) {
		(void)neap_kube_fail(&ret->failure, NEAP_KUBE_NOT_FOUND,
				     "no kind is served as %s", ask->resource);
		call_fail(ret);
		return false;
	}
	(void)neap_strcopy(target->version, sizeof(target->version),
			   target->kind->versions[0]);
	(void)neap_strcopy(ret->resource, sizeof(ret->resource), ask->resource);
	(void)snprintf(ret->api_version, sizeof(ret->api_version), "%s%s%s",
		       target->group, target->group[0] ? "/" : "", target->version);
	return true;
}

static void fail_nomem(struct call *call)
{
	struct neap_error err;

	(void)neap_error_nomem(&err);
	(void)neap_kube_fail_error(&call->failure, call->target.kind, call->target.name,
				   &err);
	call_fail(call);
}

void neap_kube_ask_create_take(struct neap_kube *kube, const struct neap_kube_ask *ask,
			       json_t *object)
{
	struct call call;

	if (!begin(kube, ask, "", &call)) {
		json_decref(object);
		return;
	}
	if (object)
		call_create_take(&call, object);
	else
		fail_nomem(&call);
}

void neap_kube_ask_update_take(struct neap_kube *kube, const struct neap_kube_ask *ask,
			       bool is_status, json_t *object)
{
	struct call call;

	if (!begin(kube, ask, is_status ? "status" : "", &call)) {
		json_decref(object);
		return;
	}
	if (object)
		call_update_take(&call, object);
	else
		fail_nomem(&call);
}

void neap_kube_ask_patch_take(struct neap_kube *kube, const struct neap_kube_ask *ask,
			      bool is_status, json_t *patch)
{
	struct call call;

	if (!begin(kube, ask, is_status ? "status" : "", &call)) {
		json_decref(patch);
		return;
	}
	call.is_patch = true;
	if (patch)
		call_patch_with(&call, NEAP_PATCH_MERGE, patch);
	else
		fail_nomem(&call);
	json_decref(patch);
}

/* DeleteOptions; NULL without memory. */
static json_t *make_options(const char *uid, int64_t grace_s)
{
	json_t *options = json_object();

	if (uid && json_object_set_new(options, "preconditions",
				       json_pack("{s:s}", "uid", uid)) < 0)
		goto nomem;
	if (grace_s >= 0 &&
	    json_object_set_new(options, "gracePeriodSeconds", json_integer(grace_s)) < 0)
		goto nomem;
	return options;
nomem:
	json_decref(options);
	return NULL;
}

void neap_kube_ask_delete(struct neap_kube *kube, const struct neap_kube_ask *ask,
			  const char *uid, int64_t grace_s)
{
	struct neap_object *newest;
	json_t *options;
	struct call call;

	if (!begin(kube, ask, "", &call))
		return;
	newest = neap_store_newest(kube->store, call.resource, call.target.ns,
				   call.target.name);
	if (!newest) {
		(void)neap_kube_fail_missing(&call.failure, call.target.kind,
					     call.target.name);
		call_fail(&call);
		return;
	}
	options = make_options(uid, grace_s);
	if (options)
		call_delete_with(&call, options, newest, 200);
	else
		fail_nomem(&call);
	json_decref(options);
}

void neap_kube_ask_evict(struct neap_kube *kube, const struct neap_kube_ask *ask,
			 const char *uid, int64_t grace_s)
{
	json_t *eviction;
	struct call call;

	if (!begin(kube, ask, "eviction", &call))
		return;
	eviction = json_pack("{s:o}", "deleteOptions", make_options(uid, grace_s));
	if (eviction)
		call_evict_with(&call, eviction);
	else
		fail_nomem(&call);
	json_decref(eviction);
}

void neap_kube_ask_bind(struct neap_kube *kube, const struct neap_kube_ask *ask,
			const char *uid, const char *node, json_t *annotations)
{
	json_t *binding;
	struct call call;

	if (!begin(kube, ask, "binding", &call))
		return;
	binding = json_pack("{s:{s:s, s:s*, s:O*}, s:{s:s, s:s}}", "metadata", "name",
			    ask->name, "uid", uid, "annotations", annotations, "target",
			    "kind", "Node", "name", node);
	if (binding)
		call_bind_with(&call, binding);
	else
		fail_nomem(&call);
	json_decref(binding);
}
