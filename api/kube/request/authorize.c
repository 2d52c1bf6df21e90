/* SPDX-License-Identifier: Apache-2.0
 *
 * Authorizes a request. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/request/call.h"
#include "api/kube/request/rights.h"
#include "engine/base/map.h"
#include "engine/json/json.h"

/* The verb of Kubernetes for a method. */
static const char *verb_of(struct call *call, const char *method)
{
	bool is_collection = !call->target.name[0];

	if (call->target.is_watch)
		return "watch";
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
	int ret;

	/* The name is in the object. Names that may be the node's own pass here;
	 * call_create asks again. */
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
			return call_nomem(call);
		}
	}
	ret = call_permit(call, verb, before, NULL);
	json_decref(before);
	return ret;
}

static const json_t *owners_of(const json_t *object)
{
	return neap_json_at(object, "metadata.ownerReferences");
}

static bool is_blocking(const json_t *owner)
{
	return json_is_true(json_object_get(owner, "blockOwnerDeletion"));
}

/* The uids of owners whose deletion an object blocks. NULL without memory. */
static struct neap_map *find_blocking(const json_t *object)
{
	struct neap_map *uids = neap_map_new();
	json_t *owner;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)owners_of(object), i, owner) {
		const char *uid = json_string_value(json_object_get(owner, "uid"));

		if (uid && is_blocking(owner) && uids &&
		    !neap_map_set(uids, uid, owner)) {
			neap_map_free(uids);
			return NULL;
		}
	}
	return uids;
}

static bool was_so(const struct neap_map *uids, const json_t *owner)
{
	const char *uid = json_string_value(json_object_get(owner, "uid"));
	const json_t *was = uid ? neap_map_find(uids, uid) : NULL;

	return was && json_equal(was, owner);
}

static bool may_block(struct call *call, const json_t *owner)
{
	const struct neap_http_peer *peer = neap_http_peer_get(call->request);
	const char *name = json_string_value(json_object_get(owner, "name"));
	const struct neap_kube_kind *kind;
	struct neap_access_ask ask = {.role = peer->role,
				      .user = peer->user->name,
				      .verb = "update",
				      .sub = "finalizers",
				      .name = name ? name : "",
				      .runs_pods = call->kube->runs_pods};

	/* Rights on a kind that is not served are unknown. The reference blocks no owner
	 * either. */
	kind = kube_owner_kind(call->kube, owner);
	if (!kind)
		return true;
	ask.group = kind->group;
	ask.resource = kind->plural;
	ask.ns = kind->is_namespaced ? call->target.ns : "";
	return neap_kube_may(&ask, NULL);
}

/* The deletion of an owner waits for such a dependent. So the user needs the right to set
 * the owner's finalizers. */
static int permit_blocking(struct call *call, const json_t *before, const json_t *after)
{
	struct neap_map *blocking;
	struct neap_error err;
	const json_t *owner;
	bool may_all = true;
	size_t i;

	if (json_array_size(owners_of(after)) == 0)
		return 0;
	blocking = find_blocking(before);
	if (!blocking) {
		(void)neap_error_nomem(&err);
		return neap_kube_fail_error(&call->failure, call->target.kind,
					    neap_kube_meta_text(after, "name"), &err);
	}
	json_array_foreach (owners_of(after), i, owner)
		may_all = may_all && (!is_blocking(owner) || was_so(blocking, owner) ||
				      may_block(call, owner));
	neap_map_free(blocking);
	if (may_all)
		return 0;
	return neap_kube_fail_refused(
		&call->failure, call->target.kind, neap_kube_meta_text(after, "name"),
		"cannot set blockOwnerDeletion if an ownerReference refers to a resource "
		"you can't set finalizers on");
}

int call_permit_object(struct call *call, const char *verb, const json_t *before,
		       const json_t *after)
{
	if (!call->request)
		return 0;
	if (is_node(call) && call_permit(call, verb, before, after) < 0)
		return -1;
	return permit_blocking(call, before, after);
}

int call_refuse_impersonation(struct call *call)
{
	const char *user = neap_http_header_find(call->request, "Impersonate-User");
	const char *other = neap_http_header_find(call->request, "Impersonate-Group");

	if (!other)
		other = neap_http_header_find(call->request, "Impersonate-Uid");
	if (!user && !other)
		return 0;
	return call_refuse(
		call, NEAP_CLIENT_FORBIDDEN,
		"%s \"%.200s\" is forbidden: User \"%s\" cannot impersonate resource \"%s\" in "
		"API group \"\" at the cluster scope: nobody can here",
		user ? "users" : "groups", user ? user : other,
		neap_http_peer_get(call->request)->user->name, user ? "users" : "groups");
}

/* --- owners ---
 *
 * The objects that owner references name. */

/* The group of "apps/v1" is "apps"; the group of "v1" is core. */
static void group_of(const char *version, char *buf, size_t size)
{
	const char *slash = strchr(version, '/');
	size_t len = slash ? (size_t)(slash - version) : 0;

	if (len >= size)
		len = 0;
	memcpy(buf, version, len);
	buf[len] = '\0';
}

const struct neap_kube_kind *kube_owner_kind(struct neap_kube *kube, const json_t *owner)
{
	const char *version = json_string_value(json_object_get(owner, "apiVersion"));
	const char *name = json_string_value(json_object_get(owner, "kind"));
	const struct neap_kube_kind *kind;
	char group[NEAP_OBJECT_NAME];

	if (!version || !name || !json_is_string(json_object_get(owner, "name")) ||
	    !json_is_string(json_object_get(owner, "uid")))
		return NULL;
	group_of(version, group, sizeof(group));
	kind = neap_kube_registry_find_kind(kube->registry, group, NULL, name);
	/* An object that is not stored cannot own any. */
	return kind && !kind->make ? kind : NULL;
}

struct neap_object *kube_owner_find(struct neap_kube *kube, const char *ns,
				    const json_t *owner,
				    const struct neap_kube_kind **ret_kind)
{
	const char *uid = json_string_value(json_object_get(owner, "uid"));
	char resource[NEAP_STORE_RESOURCE];
	struct neap_object *found;

	*ret_kind = kube_owner_kind(kube, owner);
	if (!*ret_kind)
		return NULL;
	neap_kube_kind_resource(neap_kube_kind_stored(*ret_kind), resource,
				sizeof(resource));
	found = neap_store_newest(kube->store, resource,
				  (*ret_kind)->is_namespaced ? ns : "",
				  json_string_value(json_object_get(owner, "name")));
	return found && strcmp(found->uid, uid) == 0 ? found : NULL;
}
