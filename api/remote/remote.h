/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of the loops (api/client) in a cluster: reads come from a mirror of the
 * server that reflectors keep, writes are requests, and what was answered lies over the
 * mirror until it is heard of, so that a loop reads what it wrote. */
#ifndef NEAP_API_REMOTE_REMOTE_H
#define NEAP_API_REMOTE_REMOTE_H

#include "api/client/client.h"
#include "api/remote/transport.h"

struct event_base;
struct neap_remote;

/* A resource that a role reads. */
struct neap_remote_resource {
	const char *resource; /* of the table in kinds.c */
	const char *ns;       /* NULL: all namespaces */
	const char *selector; /* a field selector, "metadata.name=a"; NULL: all objects */
};

struct neap_remote_config {
	struct event_base *base;
	struct neap_transport *transport; /* outlives the client */
	const struct neap_remote_resource *resources;
	size_t resource_count;
	const char *manager;  /* fieldManager of its writes: "neap-scheduler" */
	int64_t (*now)(void); /* Unix microseconds; NULL: the clock */
	/* Called once from the loop: every resource is filled, or not served. */
	void (*filled)(void *arg);
	/* Number of this process's time as leader; 0: it does not lead, and may not
	 * write. Asked when a write is made and right before it is sent, as one of an
	 * earlier time must not be. NULL: it may always. */
	uint64_t (*reign)(void *arg);
	void *arg;
	const struct neap_log *log;
};

/* Asks the server for its version first, and begins to read. config is borrowed but for
 * the list of resources. */
int neap_remote_new(const struct neap_remote_config *config, struct neap_remote **ret,
		    struct neap_error *err);
/* Writes under way are answered: NEAP_CLIENT_UNAVAILABLE, outcome unknown. Watches must
 * have ended. NULL is fine. */
void neap_remote_free(struct neap_remote *remote);

struct neap_client *neap_remote_client(struct neap_remote *remote);
bool neap_remote_is_filled(const struct neap_remote *remote);
#endif
