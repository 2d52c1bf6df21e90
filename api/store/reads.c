/* SPDX-License-Identifier: Apache-2.0 */
#include "api/store/reads.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

struct reads_watch {
	struct neap_client_watch watch;
	struct neap_store_watch *store;
	struct neap_client_event event; /* the last event given out */
};

static struct neap_store *store_of(const struct neap_client *client)
{
	return ((const struct neap_store_client *)client)->store;
}

/* --- reading --- */

int64_t neap_reads_version(const struct neap_client *client)
{
	return neap_store_version(store_of(client));
}

struct neap_object *neap_reads_find(struct neap_client *client, const char *resource,
				    const char *ns, const char *name)
{
	return neap_store_find(store_of(client), resource, ns, name);
}

struct neap_object *neap_reads_newest(struct neap_client *client, const char *resource,
				      const char *ns, const char *name)
{
	return neap_store_newest(store_of(client), resource, ns, name);
}

size_t neap_reads_count(struct neap_client *client, const char *resource)
{
	return neap_store_count(store_of(client), resource);
}

int neap_reads_list(struct neap_client *client, const char *resource, const char *ns,
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

int neap_reads_watch_new(struct neap_client *client, const char *resource,
			 int64_t version, void (*ready)(void *arg), void *arg,
			 struct neap_client_watch **ret, struct neap_error *err)
{
	struct reads_watch *watch = neap_alloc(sizeof(*watch));
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

int neap_reads_watch_next(struct neap_client_watch *client_watch,
			  const struct neap_client_event **ret, struct neap_error *err)
{
	static const enum neap_client_what whats[] = {
		[NEAP_STORE_ADDED] = NEAP_CLIENT_ADDED,
		[NEAP_STORE_MODIFIED] = NEAP_CLIENT_MODIFIED,
		[NEAP_STORE_DELETED] = NEAP_CLIENT_DELETED};
	struct reads_watch *watch = (struct reads_watch *)client_watch;
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

void neap_reads_watch_free(struct neap_client_watch *client_watch)
{
	struct reads_watch *watch = (struct reads_watch *)client_watch;

	neap_store_watch_free(watch->store);
	free(watch);
}
