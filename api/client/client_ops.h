/* SPDX-License-Identifier: Apache-2.0
 *
 * For implementations of a client: the table of its functions. Each has the contract of
 * the function of the same name in client.h. */
#ifndef NEAP_API_CLIENT_CLIENT_OPS_H
#define NEAP_API_CLIENT_CLIENT_OPS_H

#include "api/client/client.h"

struct neap_client_notes;

struct neap_client_ops {
	int64_t (*version)(const struct neap_client *client);
	struct neap_object *(*find)(struct neap_client *client, const char *resource,
				    const char *ns, const char *name);
	struct neap_object *(*newest)(struct neap_client *client, const char *resource,
				      const char *ns, const char *name);
	size_t (*count)(struct neap_client *client, const char *resource);
	int (*list)(struct neap_client *client, const char *resource, const char *ns,
		    struct neap_client_place *place,
		    bool (*take)(void *arg, struct neap_object *object), void *arg,
		    struct neap_error *err);
	/* NULL: nothing has a scale. */
	enum neap_client_scale (*scale)(struct neap_client *client,
					const struct neap_client_owner *owner,
					int64_t *ret);
	int (*watch_new)(struct neap_client *client, const char *resource,
			 int64_t version, void (*ready)(void *arg), void *arg,
			 struct neap_client_watch **ret, struct neap_error *err);
	int (*watch_next)(struct neap_client_watch *watch,
			  const struct neap_client_event **ret, struct neap_error *err);
	void (*watch_free)(struct neap_client_watch *watch);
	void (*create_take)(struct neap_client *client, const struct neap_client_ask *ask,
			    json_t *object);
	void (*update_take)(struct neap_client *client, const struct neap_client_ask *ask,
			    bool is_status, json_t *object);
	void (*patch_take)(struct neap_client *client, const struct neap_client_ask *ask,
			   bool is_status, json_t *patch);
	void (*delete)(struct neap_client *client, const struct neap_client_ask *ask,
		       const char *uid, int64_t grace_s);
	void (*evict)(struct neap_client *client, const struct neap_client_ask *ask,
		      const char *uid, int64_t grace_s);
	void (*bind)(struct neap_client *client, const struct neap_client_ask *ask,
		     const struct neap_client_binding *binding);
	void (*hold)(struct neap_client *client, int step); /* 1, -1 */
};

/* The first member of every implementation. */
struct neap_client {
	const struct neap_client_ops *ops;
	int64_t (*now)(void);            /* Unix microseconds, for events */
	struct neap_client_notes *notes; /* NULL until the first event */
	/* Calls neap_client_notes_due after that time, replacing an earlier request.
	 * NULL: an event without an answer is not sent again. */
	void (*wake_after)(struct neap_client *client, int64_t usec);
};

/* The first member of its watches. */
struct neap_client_watch {
	struct neap_client *client;
};

/* DeleteOptions of neap_client_delete and neap_client_evict, for implementations that
 * send JSON. A new reference; NULL without memory. */
json_t *neap_client_delete_options(const char *uid, int64_t grace_s);
/* Sends events without an answer again when they are due. */
void neap_client_notes_due(struct neap_client *client);
/* Frees what the functions of api/client store in it. */
void neap_client_done(struct neap_client *client);

#endif
