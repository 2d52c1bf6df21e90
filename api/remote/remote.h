/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of the loops (api/client) in a cluster. Reads come from a mirror of the
 * server that reflectors keep up to date; writes are requests. The answer of a write is
 * laid over the mirror until the reflector receives it, so that a loop reads what it
 * wrote. */
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
	/* Called once from the loop, when every resource is filled or not served. */
	void (*filled)(void *arg);
	/* Returns a number for this period of leadership; 0: this process does not lead,
	 * and must not write. Called when a write is requested and right before it is
	 * sent, because a write of an earlier period must not be sent. NULL: it may
	 * always write. */
	uint64_t (*reign)(void *arg);
	void *arg;
	const struct neap_log *log;
};

/* Asks the server for its version first, then starts to read. config is borrowed except
 * for the list of resources. */
int neap_remote_new(const struct neap_remote_config *config, struct neap_remote **ret,
		    struct neap_error *err);
/* Pending writes are answered with NEAP_CLIENT_UNAVAILABLE, outcome unknown. Watches must
 * have ended. NULL is fine. */
void neap_remote_free(struct neap_remote *remote);

struct neap_client *neap_remote_client(struct neap_remote *remote);
bool neap_remote_is_filled(const struct neap_remote *remote);
#endif
