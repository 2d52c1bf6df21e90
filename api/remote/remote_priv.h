/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by remote.c (the mirror and its reflectors) and remote_write.c. */
#ifndef NEAP_API_REMOTE_REMOTE_PRIV_H
#define NEAP_API_REMOTE_REMOTE_PRIV_H

#include <sys/queue.h>

#include "api/remote/reflector.h"
#include "api/remote/remote.h"
#include "api/store/reads.h"

#define REMOTE_RESOURCES_MAX 24

struct neap_map;
struct remote_write;
TAILQ_HEAD(remote_writes, remote_write);

/* Which kinds have a scale, and what it says of objects. */
struct remote_scales {
	struct neap_map *kinds, *objects; /* NULL: nobody asked yet */
	size_t asking;                    /* requests under way */
	int64_t kind_usec;                /* when a kind was asked for */
};

struct neap_remote {
	struct neap_store_client of; /* first */
	struct neap_remote_config config;
	struct event *call; /* of the mirror's watches */
	struct event *again;
	struct event *notes;          /* events that are sent again */
	struct neap_transfer *asking; /* for the server's version */
	char server[64];              /* "v1.20.2" */
	struct neap_remote_resource resources[REMOTE_RESOURCES_MAX];
	struct neap_reflector *reflectors[REMOTE_RESOURCES_MAX];
	size_t synced;
	bool is_filled;
	struct remote_writes writes; /* without an answer */
	struct remote_scales scales;
};

/* Returns NULL when the resource is not read. */
struct neap_reflector *remote_reflector(const struct neap_remote *remote,
					const char *resource);
/* Schedules the calls of the mirror's watches, because it has changed. */
void remote_call(struct neap_remote *remote);

/* --- remote_reason.c --- */
/* text: the reason of a Status; NULL: the HTTP status alone says why. */
enum neap_client_reason remote_reason(const char *text, int code);

/* --- remote_scale.c --- */
enum neap_client_scale remote_scale(struct neap_client *client,
				    const struct neap_client_owner *owner, int64_t *ret);
void remote_scales_end(struct neap_remote *remote);

/* --- remote_write.c --- */
void remote_create_take(struct neap_client *client, const struct neap_client_ask *ask,
			json_t *object);
void remote_update_take(struct neap_client *client, const struct neap_client_ask *ask,
			bool is_status, json_t *object);
void remote_patch_take(struct neap_client *client, const struct neap_client_ask *ask,
		       bool is_status, json_t *patch);
void remote_delete(struct neap_client *client, const struct neap_client_ask *ask,
		   const char *uid, int64_t grace_s);
void remote_evict(struct neap_client *client, const struct neap_client_ask *ask,
		  const char *uid, int64_t grace_s);
void remote_bind(struct neap_client *client, const struct neap_client_ask *ask,
		 const struct neap_client_binding *binding);
/* Answers all pending writes with a failure. */
void remote_writes_end(struct neap_remote *remote);

#endif
