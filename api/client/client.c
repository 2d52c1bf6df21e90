/* SPDX-License-Identifier: Apache-2.0
 *
 * Passes each call to the implementation. */
#include "api/client/client_ops.h"

int64_t neap_client_version(const struct neap_client *client)
{
	return client->ops->version(client);
}

struct neap_object *neap_client_find(struct neap_client *client, const char *resource,
				     const char *ns, const char *name)
{
	return client->ops->find(client, resource, ns, name);
}

struct neap_object *neap_client_newest(struct neap_client *client, const char *resource,
				       const char *ns, const char *name)
{
	return client->ops->newest(client, resource, ns, name);
}

size_t neap_client_count(struct neap_client *client, const char *resource)
{
	return client->ops->count(client, resource);
}

enum neap_client_scale neap_client_scale(struct neap_client *client,
					 const struct neap_client_owner *owner,
					 int64_t *ret)
{
	return client->ops->scale ? client->ops->scale(client, owner, ret)
				  : NEAP_CLIENT_NO_SCALE;
}

int neap_client_list(struct neap_client *client, const char *resource, const char *ns,
		     struct neap_client_place *place,
		     bool (*take)(void *arg, struct neap_object *object), void *arg,
		     struct neap_error *err)
{
	return client->ops->list(client, resource, ns, place, take, arg, err);
}

int neap_client_watch_new(struct neap_client *client, const char *resource,
			  int64_t version, void (*ready)(void *arg), void *arg,
			  struct neap_client_watch **ret, struct neap_error *err)
{
	return client->ops->watch_new(client, resource, version, ready, arg, ret, err);
}

int neap_client_watch_next(struct neap_client_watch *watch,
			   const struct neap_client_event **ret, struct neap_error *err)
{
	return watch->client->ops->watch_next(watch, ret, err);
}

void neap_client_watch_free(struct neap_client_watch *watch)
{
	if (watch)
		watch->client->ops->watch_free(watch);
}

void neap_client_create_take(struct neap_client *client,
			     const struct neap_client_ask *ask, json_t *object)
{
	client->ops->create_take(client, ask, object);
}

void neap_client_update_take(struct neap_client *client,
			     const struct neap_client_ask *ask, bool is_status,
			     json_t *object)
{
	client->ops->update_take(client, ask, is_status, object);
}

void neap_client_patch_take(struct neap_client *client, const struct neap_client_ask *ask,
			    bool is_status, json_t *patch)
{
	client->ops->patch_take(client, ask, is_status, patch);
}

void neap_client_delete(struct neap_client *client, const struct neap_client_ask *ask,
			const char *uid, int64_t grace_s)
{
	client->ops->delete (client, ask, uid, grace_s);
}

void neap_client_evict(struct neap_client *client, const struct neap_client_ask *ask,
		       const char *uid, int64_t grace_s)
{
	client->ops->evict(client, ask, uid, grace_s);
}

void neap_client_bind(struct neap_client *client, const struct neap_client_ask *ask,
		      const struct neap_client_binding *binding)
{
	client->ops->bind(client, ask, binding);
}

void neap_client_hold(struct neap_client *client)
{
	client->ops->hold(client, 1);
}

void neap_client_release(struct neap_client *client)
{
	client->ops->hold(client, -1);
}

json_t *neap_client_delete_options(const char *uid, int64_t grace_s)
{
	json_t *options =
		json_pack("{s:s, s:s}", "kind", "DeleteOptions", "apiVersion", "v1");

	if ((uid && json_object_set_new(options, "preconditions",
					json_pack("{s:s}", "uid", uid)) < 0) ||
	    (grace_s >= 0 && json_object_set_new(options, "gracePeriodSeconds",
						 json_integer(grace_s)) < 0)) {
		json_decref(options);
		return NULL;
	}
	return options;
}
