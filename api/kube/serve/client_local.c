/* SPDX-License-Identifier: Apache-2.0
 *
 * A client within the process. A write calls the same functions as an HTTP request, from
 * the point where the body is known. A read goes to the store. */
#include "api/kube/serve/client_local.h"

#include <stdio.h>
#include <string.h>

#include "api/kube/write/write.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

static struct neap_kube *kube_of(const struct neap_client *client)
{
	return ((const struct kube_client *)client)->kube;
}

/* --- reading --- */

/* The kind that an owner names, in whichever version; NULL: it is not served. */
static const struct neap_kube_kind *kind_of(const struct neap_kube *kube,
					    const struct neap_client_owner *owner)
{
	size_t len = strcspn(owner->api_version, "/");
	char group[NEAP_OBJECT_NAME];

	(void)snprintf(group, sizeof(group), "%.*s",
		       owner->api_version[len] ? (int)len : 0, owner->api_version);
	return neap_kube_registry_find_kind(kube->registry, group, NULL, owner->kind);
}

static struct kube_scale *place_of(struct neap_client *client, const char *uid)
{
	struct kube_client *local = (struct kube_client *)client;
	unsigned hash = 0;

	for (; *uid; uid++)
		hash = hash * 31 + (unsigned char)*uid;
	return &local->scales[hash % NEAP_ARRAY_LEN(local->scales)];
}

static enum neap_client_scale local_scale(struct neap_client *client,
					  const struct neap_client_owner *owner,
					  int64_t *ret)
{
	const struct neap_kube_kind *kind = kind_of(kube_of(client), owner);
	char resource[NEAP_OBJECT_NAME + 64];
	struct neap_object *object;
	struct kube_scale *place = place_of(client, owner->uid);
	const json_t *replicas;
	json_auto_t *tree = NULL;

	if (!kind || !kind->replicas_path)
		return NEAP_CLIENT_NO_SCALE;
	(void)snprintf(resource, sizeof(resource), "%s%s%s", kind->plural,
		       *kind->group ? "." : "", kind->group);
	object = neap_client_find(client, resource, kind->is_namespaced ? owner->ns : "",
				  owner->name);
	if (!object || strcmp(object->uid, owner->uid) != 0)
		return NEAP_CLIENT_NO_SCALE;
	if (place->version == object->version && strcmp(place->uid, owner->uid) == 0) {
		*ret = place->replicas;
		return NEAP_CLIENT_HAS_SCALE;
	}
	tree = neap_object_tree(object);
	if (!tree)
		return NEAP_CLIENT_SCALE_IS_LATE;
	replicas = neap_json_at(tree, kind->replicas_path);
	*ret = json_is_integer(replicas) ? json_integer_value(replicas) : 0;
	*place = (struct kube_scale){.version = object->version, .replicas = *ret};
	(void)neap_strcopy(place->uid, sizeof(place->uid), owner->uid);
	return NEAP_CLIENT_HAS_SCALE;
}

/* --- writing --- */

/* resource is a plural and a group, such as "replicasets.apps". -1 with ret->failure: no
 * such kind. */
static int begin(struct neap_client *client, const struct neap_client_ask *ask,
		 const char *sub, struct call *ret)
{
	struct neap_kube *kube = kube_of(client);
	struct neap_kube_target *target = &ret->target;
	const char *group = strchr(ask->resource, '.');
	size_t len = group ? (size_t)(group - ask->resource) : strlen(ask->resource);

	*ret = (struct call){.kube = kube,
			     .client_told = ask->told,
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
	if (!target->kind)
		return neap_kube_fail(&ret->failure, NEAP_CLIENT_NOT_FOUND,
				      "no kind is served as %s", ask->resource);
	(void)neap_strcopy(target->version, sizeof(target->version),
			   target->kind->versions[0]);
	(void)neap_strcopy(ret->resource, sizeof(ret->resource), ask->resource);
	(void)snprintf(ret->api_version, sizeof(ret->api_version), "%s%s%s",
		       target->group, target->group[0] ? "/" : "", target->version);
	return 0;
}

static void local_create_take(struct neap_client *client,
			      const struct neap_client_ask *ask, json_t *object)
{
	struct call call;
	int rc = begin(client, ask, "", &call);

	if (rc < 0)
		json_decref(object);
	else
		rc = object ? call_create_take(&call, object) : call_nomem(&call);
	call_end(&call, rc);
}

static void local_update_take(struct neap_client *client,
			      const struct neap_client_ask *ask, bool is_status,
			      json_t *object)
{
	struct call call;
	int rc = begin(client, ask, is_status ? "status" : "", &call);

	if (rc < 0)
		json_decref(object);
	else
		rc = object ? call_update_take(&call, object) : call_nomem(&call);
	call_end(&call, rc);
}

static void local_patch_take(struct neap_client *client,
			     const struct neap_client_ask *ask, bool is_status,
			     json_t *patch)
{
	struct call call;
	int rc = begin(client, ask, is_status ? "status" : "", &call);

	call.is_patch = true;
	if (rc == 0)
		rc = patch ? call_patch_with(&call, NEAP_PATCH_MERGE, patch)
			   : call_nomem(&call);
	call_end(&call, rc);
	json_decref(patch);
}

static int delete_newest(struct call *call, const char *uid, int64_t grace_s)
{
	struct neap_object *newest = call_newest(call);
	json_auto_t *options = NULL;

	if (!newest)
		return call_missing(call);
	options = neap_client_delete_options(uid, grace_s);
	return options ? call_delete_with(call, options, newest, 200) : call_nomem(call);
}

static void local_delete(struct neap_client *client, const struct neap_client_ask *ask,
			 const char *uid, int64_t grace_s)
{
	struct call call;
	int rc = begin(client, ask, "", &call);

	call_end(&call, rc < 0 ? rc : delete_newest(&call, uid, grace_s));
}

static void local_evict(struct neap_client *client, const struct neap_client_ask *ask,
			const char *uid, int64_t grace_s)
{
	json_auto_t *eviction = json_pack("{s:o}", "deleteOptions",
					  neap_client_delete_options(uid, grace_s));
	struct call call;
	int rc = begin(client, ask, "eviction", &call);

	if (rc == 0)
		rc = eviction ? call_evict_with(&call, eviction) : call_nomem(&call);
	call_end(&call, rc);
}

static void local_bind(struct neap_client *client, const struct neap_client_ask *ask,
		       const struct neap_client_binding *binding)
{
	json_auto_t *body =
		json_pack("{s:{s:s, s:s*, s:s*, s:O*}, s:{s:s, s:s}}", "metadata", "name",
			  ask->name, "uid", binding->uid, "resourceVersion",
			  binding->version, "annotations", binding->annotations, "target",
			  "kind", "Node", "name", binding->node);
	struct call call;
	int rc = begin(client, ask, "binding", &call);

	if (rc == 0)
		rc = body ? call_bind_with(&call, body) : call_nomem(&call);
	call_end(&call, rc);
}

static void local_hold(struct neap_client *client, int step)
{
	if (step > 0)
		neap_store_hold(kube_of(client)->store);
	else
		neap_store_release(kube_of(client)->store);
}

static const struct neap_client_ops ops = {
	NEAP_STORE_READS,
	.scale = local_scale,
	.create_take = local_create_take,
	.update_take = local_update_take,
	.patch_take = local_patch_take,
	.delete = local_delete,
	.evict = local_evict,
	.bind = local_bind,
	.hold = local_hold,
};

void kube_client_init(struct neap_kube *kube)
{
	kube->client = (struct kube_client){
		.of = {.client = {.ops = &ops, .now = kube->now}, .store = kube->store},
		.kube = kube};
}

struct neap_client *neap_kube_client(struct neap_kube *kube)
{
	return kube ? &kube->client.of.client : NULL;
}
