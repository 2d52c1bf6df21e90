/* SPDX-License-Identifier: Apache-2.0
 *
 * The reading half of a client (api/client/client_ops.h) over a store: what the embedded
 * server keeps, or what a mirror shows of another server. */
#ifndef NEAP_API_STORE_READS_H
#define NEAP_API_STORE_READS_H

#include "api/client/client_ops.h"
#include "api/store/store.h"

/* The beginning of every client that reads a store. */
struct neap_store_client {
	struct neap_client client;
	struct neap_store *store;
};

/* In a table of functions: the members that read. */
#define NEAP_STORE_READS                                                                 \
	.version = neap_reads_version, .find = neap_reads_find,                          \
	.newest = neap_reads_newest, .count = neap_reads_count, .list = neap_reads_list, \
	.watch_new = neap_reads_watch_new, .watch_next = neap_reads_watch_next,          \
	.watch_free = neap_reads_watch_free

int64_t neap_reads_version(const struct neap_client *client);
struct neap_object *neap_reads_find(struct neap_client *client, const char *resource,
				    const char *ns, const char *name);
struct neap_object *neap_reads_newest(struct neap_client *client, const char *resource,
				      const char *ns, const char *name);
size_t neap_reads_count(struct neap_client *client, const char *resource);
int neap_reads_list(struct neap_client *client, const char *resource, const char *ns,
		    struct neap_client_place *place,
		    bool (*take)(void *arg, struct neap_object *object), void *arg,
		    struct neap_error *err);
int neap_reads_watch_new(struct neap_client *client, const char *resource,
			 int64_t version, void (*ready)(void *arg), void *arg,
			 struct neap_client_watch **ret, struct neap_error *err);
int neap_reads_watch_next(struct neap_client_watch *client_watch,
			  const struct neap_client_event **ret, struct neap_error *err);
void neap_reads_watch_free(struct neap_client_watch *client_watch);

#endif
