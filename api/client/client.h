/* SPDX-License-Identifier: Apache-2.0
 *
 * How every loop sees the cluster: the scheduler, the controllers, and what keeps the
 * objects of a node. What serves behind it (the embedded server, a kube-apiserver) a loop
 * cannot tell.
 *
 * Reads and watches are answered from memory. A write is answered once, from the loop's
 * thread, as an object or as a failure. Everything here is for that thread alone.
 *
 * A resource is named as in messages of Kubernetes: "pods",
 * "reservations.scheduling.koordinator.sh". Two kinds of version must not be mixed up:
 * neap_object.version and all versions in this header are a sequence of this process,
 * which only grows and orders what it has seen. metadata.resourceVersion is a text of the
 * server, and nothing but equality may be asked of it. */
#ifndef NEAP_API_CLIENT_CLIENT_H
#define NEAP_API_CLIENT_CLIENT_H

#include "engine/object/object.h"

struct neap_client;
struct neap_client_watch;

/* --- reading --- */

/* Sequence number of the newest change that reads show. */
int64_t neap_client_version(const struct neap_client *client);
/* What reads and watches show. Borrowed until the loop's next turn; NULL: there is
 * none. */
struct neap_object *neap_client_find(struct neap_client *client, const char *resource,
				     const char *ns, const char *name);
/* The same, with the writes of this process that were accepted and are not shown yet: a
 * change starts from it. Nobody may be told of it. */
struct neap_object *neap_client_newest(struct neap_client *client, const char *resource,
				       const char *ns, const char *name);
/* Number of objects that reads show. */
size_t neap_client_count(struct neap_client *client, const char *resource);

/* A place in a list. All zero: the beginning, now. */
struct neap_client_place {
	int64_t version; /* the list is the state at this version */
	/* The last object that was given. */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
};

/* Gives the objects of one namespace (ns NULL: of all) from place on to take, in the
 * order of namespace and name, as they were at place->version, until take returns false;
 * the object that take refused comes first the next time. Moves place on. Returns 1 when
 * there may be more, 0 at the end, -NEAP_EGONE when that version is not remembered any
 * more. take must not write; objects are borrowed. */
int neap_client_list(struct neap_client *client, const char *resource, const char *ns,
		     struct neap_client_place *place,
		     bool (*take)(void *arg, struct neap_object *object), void *arg,
		     struct neap_error *err);

/* --- watching --- */

enum neap_client_what { NEAP_CLIENT_ADDED, NEAP_CLIENT_MODIFIED, NEAP_CLIENT_DELETED };

struct neap_client_event {
	enum neap_client_what what;
	int64_t version;
	/* As it became; of a deletion its last state, with the version of the
	 * deletion. */
	struct neap_object *object;
	struct neap_object *before; /* NULL when it was added */
};

/* Opens a watch of everything of the resource that happens after version. The caller
 * takes events by neap_client_watch_next until it returns 0; ready is called once, from
 * the loop, when there is something again. -NEAP_EGONE when what followed version is not
 * remembered any more. */
int neap_client_watch_new(struct neap_client *client, const char *resource,
			  int64_t version, void (*ready)(void *arg), void *arg,
			  struct neap_client_watch **ret, struct neap_error *err);
/* 1: *ret is the next event, borrowed until the next call. 0: nothing now. -NEAP_EGONE:
 * events that were not taken are forgotten; the caller lists and watches again. */
int neap_client_watch_next(struct neap_client_watch *watch,
			   const struct neap_client_event **ret, struct neap_error *err);
/* NULL is fine. */
void neap_client_watch_free(struct neap_client_watch *watch);

/* --- writing --- */

/* The reasons of Kubernetes' Status objects. */
enum neap_client_reason {
	NEAP_CLIENT_BAD_REQUEST,
	NEAP_CLIENT_UNAUTHORIZED,
	NEAP_CLIENT_FORBIDDEN,
	NEAP_CLIENT_NOT_FOUND,
	NEAP_CLIENT_METHOD_NOT_ALLOWED,
	NEAP_CLIENT_NOT_ACCEPTABLE,
	NEAP_CLIENT_ALREADY_EXISTS,
	NEAP_CLIENT_CONFLICT,
	NEAP_CLIENT_EXPIRED,
	NEAP_CLIENT_TOO_LARGE,
	NEAP_CLIENT_UNSUPPORTED_MEDIA_TYPE,
	NEAP_CLIENT_INVALID,
	NEAP_CLIENT_TOO_MANY_REQUESTS,
	NEAP_CLIENT_INTERNAL_ERROR,
	NEAP_CLIENT_UNAVAILABLE,
	NEAP_CLIENT_TIMEOUT,
	NEAP_CLIENT_REASON_COUNT
};

/* Why a write was not done; borrowed. */
struct neap_client_failure {
	enum neap_client_reason reason;
	/* The answer is missing, and the write may have been done. Nothing that it takes
	 * may be given to somebody else before reads show what became of it. */
	bool is_unknown;
	int code;         /* HTTP status */
	const char *part; /* subresource that refused it: "binding"; NULL: the object */
	const char *message; /* never NULL */
	int retry_after_s;   /* 0: the server says nothing */
};

/* object, borrowed: as it is now and durable, the last state of one that was deleted;
 * or NULL, and failure. */
typedef void neap_client_told(void *arg, struct neap_object *object,
			      const struct neap_client_failure *failure);

/* What a write is about, and who is told. Texts are copied. */
struct neap_client_ask {
	const char *resource;
	const char *ns;   /* "" for an object of the whole cluster */
	const char *name; /* not needed to create one: the object says it */
	/* Called once, before the function returns (refused at once) or from the loop,
	 * also after the asker has gone. May ask again. NULL: nobody. */
	neap_client_told *told;
	void *arg;
};

/* object has metadata.name or metadata.generateName; kind and apiVersion may be missing.
 * Taken. NULL: the caller had no memory, which is told as a failure, here and below. */
void neap_client_create_take(struct neap_client *client,
			     const struct neap_client_ask *ask, json_t *object);
/* Replaces the whole object, as PUT. A metadata.resourceVersion must be the newest
 * (NEAP_CLIENT_CONFLICT). is_status: through /status. Taken. */
void neap_client_update_take(struct neap_client *client,
			     const struct neap_client_ask *ask, bool is_status,
			     json_t *object);
/* Applies a JSON merge patch. metadata.uid and metadata.resourceVersion in it are
 * preconditions. Taken. */
void neap_client_patch_take(struct neap_client *client, const struct neap_client_ask *ask,
			    bool is_status, json_t *patch);
/* uid: only the object of that uid; NULL: any. grace_s: of a pod; -1: its own; 0: it is
 * gone at once. */
void neap_client_delete(struct neap_client *client, const struct neap_client_ask *ask,
			const char *uid, int64_t grace_s);
/* Deletes a pod as pods/NAME/eviction does: NEAP_CLIENT_TOO_MANY_REQUESTS when a budget
 * forbids it. */
void neap_client_evict(struct neap_client *client, const struct neap_client_ask *ask,
		       const char *uid, int64_t grace_s);

/* A binding of a pod to a node; borrowed. */
struct neap_client_binding {
	const char *node;
	/* Preconditions; NULL: none. version is the pod's metadata.resourceVersion. */
	const char *uid, *version;
	/* Written to the pod with it, in one write; null takes one away. NULL: none. */
	json_t *annotations;
};

/* Binds a pod as pods/NAME/binding does. */
void neap_client_bind(struct neap_client *client, const struct neap_client_ask *ask,
		      const struct neap_client_binding *binding);

/* Until the same number of neap_client_release, writes may wait and go together: around
 * a piece of work that writes much. */
void neap_client_hold(struct neap_client *client);
void neap_client_release(struct neap_client *client);

#endif
