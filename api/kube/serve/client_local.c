/* SPDX-License-Identifier: Apache-2.0
 *
 * A client within the process. A write calls the same functions as an HTTP request, from
 * the point where the body is known. A read goes to the store. */
#include "api/kube/serve/client_local.h"

#include <string.h>

#include "api/kube/request/call.h"
#include "engine/base/mem.h"

struct local_watch {
	struct neap_client_watch watch;
	struct neap_store_watch *store;
	struct neap_client_event event; /* the last event given out */
};

static struct neap_kube *kube_of(const struct neap_client *client)
{
	return ((const struct kube_client *)client)->kube;
}

static struct neap_store *store_of(const struct neap_client *client)
{
	return kube_of(client)->store;
}

/* --- reading --- */

static int64_t local_version(const struct neap_client *client)
{
	return neap_store_version(store_of(client));
}

static struct neap_object *local_find(struct neap_client *client, const char *resource,
				      const char *ns, const char *name)
{
	return neap_store_find(store_of(client), resource, ns, name);
}

static struct neap_object *local_newest(struct neap_client *client, const char *resource,
					const char *ns, const char *name)
{
	return neap_store_newest(store_of(client), resource, ns, name);
}

static size_t local_count(struct neap_client *client, const char *resource)
{
	return neap_store_count(store_of(client), resource);
}

static int local_list(struct neap_client *client, const char *resource, const char *ns,
		      struct neap_client_place *place,
		      bool (*take)(void *arg, struct neap_object *object), void *arg,
		      struct neap_error *err)
{
	struct neap_store_place at = {.version = place->version};
	int rc;

	memcpy(at.ns, place->ns, sizeof(at.ns));
	memcpy(at.name, place->name, sizeof(at.name));
	rc = neap_store_list(store_of(client), resource, ns, &at, take, arg, err);
	place->version = at.version;
	memcpy(place->ns, at.ns, sizeof(at.ns));
	memcpy(place->name, at.name, sizeof(at.name));
	return rc;
}

static int local_watch_new(struct neap_client *client, const char *resource,
			   int64_t version, void (*ready)(void *arg), void *arg,
			   struct neap_client_watch **ret, struct neap_error *err)
{
	struct local_watch *watch = neap_alloc(sizeof(*watch));
	int rc;

	if (!watch)
		return neap_error_nomem(err);
	watch->watch.client = client;
	rc = neap_store_watch_new(store_of(client), resource, version, ready, arg,
				  &watch->store, err);
	if (rc < 0) {
		free(watch);
		return rc;
	}
	*ret = &watch->watch;
	return rc;
}

static int local_watch_next(struct neap_client_watch *client_watch,
			    const struct neap_client_event **ret, struct neap_error *err)
{
	static const enum neap_client_what whats[] = {
		[NEAP_STORE_ADDED] = NEAP_CLIENT_ADDED,
		[NEAP_STORE_MODIFIED] = NEAP_CLIENT_MODIFIED,
		[NEAP_STORE_DELETED] = NEAP_CLIENT_DELETED};
	struct local_watch *watch = (struct local_watch *)client_watch;
	struct neap_store_event *event;
	int rc = neap_store_watch_next(watch->store, &event, err);

	if (rc <= 0)
		return rc;
	watch->event = (struct neap_client_event){.what = whats[event->what],
						  .version = event->version,
						  .object = event->object,
						  .before = event->before};
	*ret = &watch->event;
	return rc;
}

static void local_watch_free(struct neap_client_watch *client_watch)
{
	struct local_watch *watch = (struct local_watch *)client_watch;

	neap_store_watch_free(watch->store);
	free(watch);
}

/* --- writing --- */

/* resource is a plural and a group, such as "replicasets.apps". False: no such kind; the
 * failure was reported. */
static bool begin(struct neap_client *client, const struct neap_client_ask *ask,
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

static void local_create_take(struct neap_client *client,
			      const struct neap_client_ask *ask, json_t *object)
{
	struct call call;

	if (!begin(client, ask, "", &call)) {
		json_decref(object);
		return;
	}
	if (object)
		call_create_take(&call, object);
	else
		fail_nomem(&call);
}

static void local_update_take(struct neap_client *client,
			      const struct neap_client_ask *ask, bool is_status,
			      json_t *object)
{
	struct call call;

	if (!begin(client, ask, is_status ? "status" : "", &call)) {
		json_decref(object);
		return;
	}
	if (object)
		call_update_take(&call, object);
	else
		fail_nomem(&call);
}

static void local_patch_take(struct neap_client *client,
			     const struct neap_client_ask *ask, bool is_status,
			     json_t *patch)
{
	struct call call;

	if (!begin(client, ask, is_status ? "status" : "", &call)) {
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

static void local_delete(struct neap_client *client, const struct neap_client_ask *ask,
			 const char *uid, int64_t grace_s)
{
	struct neap_object *newest;
	json_t *options;
	struct call call;

	if (!begin(client, ask, "", &call))
		return;
	newest = neap_store_newest(store_of(client), call.resource, call.target.ns,
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

static void local_evict(struct neap_client *client, const struct neap_client_ask *ask,
			const char *uid, int64_t grace_s)
{
	json_t *eviction;
	struct call call;

	if (!begin(client, ask, "eviction", &call))
		return;
	eviction = json_pack("{s:o}", "deleteOptions", make_options(uid, grace_s));
	if (eviction)
		call_evict_with(&call, eviction);
	else
		fail_nomem(&call);
	json_decref(eviction);
}

static void local_bind(struct neap_client *client, const struct neap_client_ask *ask,
		       const struct neap_client_binding *binding)
{
	json_t *body;
	struct call call;

	if (!begin(client, ask, "binding", &call))
		return;
	body = json_pack("{s:{s:s, s:s*, s:s*, s:O*}, s:{s:s, s:s}}", "metadata", "name",
			 ask->name, "uid", binding->uid, "resourceVersion",
			 binding->version, "annotations", binding->annotations, "target",
			 "kind", "Node", "name", binding->node);
	if (body)
		call_bind_with(&call, body);
	else
		fail_nomem(&call);
	json_decref(body);
}

static void local_hold(struct neap_client *client, int step)
{
	if (step > 0)
		neap_store_hold(store_of(client));
	else
		neap_store_release(store_of(client));
}

static const struct neap_client_ops ops = {
	.version = local_version,
	.find = local_find,
	.newest = local_newest,
	.count = local_count,
	.list = local_list,
	.watch_new = local_watch_new,
	.watch_next = local_watch_next,
	.watch_free = local_watch_free,
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
	kube->client = (struct kube_client){.client = {.ops = &ops, .now = kube->now},
					    .kube = kube};
}

struct neap_client *neap_kube_client(struct neap_kube *kube)
{
	return kube ? &kube->client.client : NULL;
}
