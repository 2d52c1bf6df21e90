/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests and what those who make them may. */
#include <string.h>

#include "api/kube/access.h"
#include "api/kube/kube_priv.h"

/* As Kubernetes calls what a method does here. */
static const char *verb_of(struct call *call, const char *method)
{
	bool is_collection = !call->target.name[0];

	if (strcmp(method, "GET") == 0 && is_collection)
		return call_flag(call, "watch") ? "watch" : "list";
	if (strcmp(method, "GET") == 0)
		return "get";
	if (strcmp(method, "POST") == 0)
		return "create";
	if (strcmp(method, "PUT") == 0)
		return "update";
	if (strcmp(method, "PATCH") == 0)
		return "patch";
	return is_collection ? "deletecollection" : "delete";
}

static int permit(struct call *call, const char *verb, const char *name,
		  const json_t *before, const json_t *after)
{
	const struct neap_http_peer *peer = neap_http_peer_get(call->request);
	const struct neap_kube_target *target = &call->target;
	const struct neap_access_ask ask = {
		.role = peer->role,
		.user = peer->user->name,
		.verb = verb,
		.group = target->group,
		.resource = target->plural,
		.sub = target->sub,
		.ns = target->ns,
		.name = name,
		.before = before,
		.after = after,
		.runs_pods = call->kube->runs_pods,
	};
	const char *why;

	if (neap_kube_may(&ask, &why))
		return 0;
	return neap_kube_fail_denied(&call->failure, target->kind, target->ns,
				     target->name, target->sub, peer->user->name, verb,
				     why);
}

int call_permit(struct call *call, const char *verb, const json_t *before,
		const json_t *after)
{
	return permit(call, verb, call->target.name, before, after);
}

static bool is_node(const struct call *call)
{
	return neap_http_peer_get(call->request)->role == NEAP_HTTP_NODE;
}

int call_permit_request(struct call *call, const char *method)
{
	const char *verb = verb_of(call, method);
	json_t *before = NULL;
	struct neap_error err;
	int ret;

	/* Its name stands in the object: what could be its own comes through (call_create asks again). */
	if (is_node(call) && strcmp(verb, "create") == 0 && !call->target.name[0])
		return permit(
			call, verb,
			neap_kube_node_of(neap_http_peer_get(call->request)->user->name),
			NULL, NULL);
	if (is_node(call) && call->target.name[0]) {
		const struct neap_object *newest =
			neap_store_newest(call->kube->store, call->resource,
					  call->target.ns, call->target.name);

		before = newest ? neap_object_tree(newest) : NULL;
		if (newest && !before) {
			(void)neap_error_nomem(&err);
			return neap_kube_fail_error(&call->failure, call->target.kind,
						    call->target.name, &err);
		}
	}
	ret = call_permit(call, verb, before, NULL);
	json_decref(before);
	return ret;
}

int call_permit_object(struct call *call, const char *verb, const json_t *before,
		       const json_t *after)
{
	return call->request && is_node(call) ? call_permit(call, verb, before, after)
					      : 0;
}

int call_refuse_impersonation(struct call *call)
{
	const char *user = neap_http_header_find(call->request, "Impersonate-User");
	const char *other = neap_http_header_find(call->request, "Impersonate-Group");

	if (!other)
		other = neap_http_header_find(call->request, "Impersonate-Uid");
	if (!user && !other)
		return 0;
	return neap_kube_fail(
		&call->failure, NEAP_KUBE_FORBIDDEN,
		"%s \"%.200s\" is forbidden: User \"%s\" cannot impersonate resource \"%s\" in "
		"API group \"\" at the cluster scope: nobody can here",
		user ? "users" : "groups", user ? user : other,
		neap_http_peer_get(call->request)->user->name, user ? "users" : "groups");
}
