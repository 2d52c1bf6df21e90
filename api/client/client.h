/* SPDX-License-Identifier: Apache-2.0
 *
 * How every loop sees the cluster: the scheduler, the controllers, and the code that
 * keeps a node's objects. A loop cannot tell what serves it: the embedded server or a
 * kube-apiserver.
 *
 * Reads and watches are answered from memory. A write is answered once, from the loop's
 * thread, with an object or a failure. All functions here are for that thread alone.
 *
 * A resource is named as in messages of Kubernetes: "pods",
 * "reservations.scheduling.koordinator.sh". There are two kinds of version; do not mix
 * them up. neap_object.version and all versions in this header are a sequence of this
 * process, which only grows and orders what it has seen. metadata.resourceVersion is a
 * text of the server, and may be compared for equality only. */
#ifndef NEAP_API_CLIENT_CLIENT_H
#define NEAP_API_CLIENT_CLIENT_H

#include "engine/object/object.h"

struct neap_client;
struct neap_client_watch;

/* --- reading --- */

/* Sequence number of the newest change that reads show. */
int64_t neap_client_version(const struct neap_client *client);
/* Returns the object that reads and watches show, borrowed until the loop's next turn;
 * NULL: there is none. */
struct neap_object *neap_client_find(struct neap_client *client, const char *resource,
				     const char *ns, const char *name);
/* Does the same, and includes accepted writes of this process that reads do not show yet.
 * A change starts from it. Do not show it to others. */
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

/* Calls take with the objects of one namespace (ns NULL: of all) from place on, in the
 * order of namespace and name, as they were at place->version. It stops when take returns
 * false; that object comes first the next time. Moves place on. Returns 1 when there may
 * be more, 0 at the end, -NEAP_EGONE when that version is forgotten. take must not write;
 * objects are borrowed. */
int neap_client_list(struct neap_client *client, const char *resource, const char *ns,
		     struct neap_client_place *place,
		     bool (*take)(void *arg, struct neap_object *object), void *arg,
		     struct neap_error *err);

/* The controller of a pod, as an ownerReference names it. */
struct neap_client_owner {
	const char *api_version, *kind, *name, *uid;
	const char *ns; /* of the pod */
};

enum neap_client_scale {
	NEAP_CLIENT_NO_SCALE,      /* it has none, or is gone */
	NEAP_CLIENT_SCALE_IS_LATE, /* the server is asked; a call a little later knows */
	NEAP_CLIENT_SCALE_IS_OLD,  /* likewise, and *ret is what it said before */
	NEAP_CLIENT_HAS_SCALE
};

/* Returns the replicas that an object wants, as its scale subresource says. For declared
 * kinds, which no loop reads: a server elsewhere is asked, and its answer counts for half
 * a minute. */
enum neap_client_scale neap_client_scale(struct neap_client *client,
					 const struct neap_client_owner *owner,
					 int64_t *ret);

/* --- watching --- */

enum neap_client_what { NEAP_CLIENT_ADDED, NEAP_CLIENT_MODIFIED, NEAP_CLIENT_DELETED };

struct neap_client_event {
	enum neap_client_what what;
	int64_t version;
	/* The new state; for a deletion the last state, with the version of the
	 * deletion. */
	struct neap_object *object;
	struct neap_object *before; /* NULL when it was added */
};

/* Opens a watch of all changes of the resource after version. The caller takes events by
 * neap_client_watch_next until it returns 0; ready is called once, from the loop, when
 * there are events again. -NEAP_EGONE when changes after version are forgotten
 * already. */
int neap_client_watch_new(struct neap_client *client, const char *resource,
			  int64_t version, void (*ready)(void *arg), void *arg,
			  struct neap_client_watch **ret, struct neap_error *err);
/* 1: *ret is the next event, borrowed until the next call. 0: nothing now. -NEAP_EGONE:
 * events were forgotten before they were taken; the caller lists and watches again. */
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
	/* The answer is missing, and the write may have been done. The caller must not
	 * give what the write takes to another object before reads show the result. */
	bool is_unknown;
	/* There was no answer at all: no connection, or one that broke. */
	bool is_unanswered;
	int code; /* HTTP status */
	/* the subresource that refused it, like "binding"; NULL: the object */
	const char *part;
	const char *message; /* never NULL */
	int retry_after_s;   /* 0: the server says nothing */
};

/* Either object, borrowed: its present, durable state, or the last state of a deleted
 * one; or object is NULL and failure says why. */
typedef void neap_client_told(void *arg, struct neap_object *object,
			      const struct neap_client_failure *failure);

/* The object of a write, and the function that gets the answer. Texts are copied. */
struct neap_client_ask {
	const char *resource;
	const char *ns;   /* "" for an object of the whole cluster */
	const char *name; /* may be missing for a creation: the object has it */
	/* Called once, before the function returns (refused at once) or from the loop,
	 * also after the caller has gone. It may write again. NULL: no answer wanted. */
	neap_client_told *told;
	void *arg;
};

/* Creates an object. object has metadata.name or metadata.generateName; kind and
 * apiVersion may be missing. It is taken over. NULL: the caller had no memory, which is
 * answered as a failure, here and below. */
void neap_client_create_take(struct neap_client *client,
			     const struct neap_client_ask *ask, json_t *object);
/* Replaces the whole object, as PUT. A metadata.resourceVersion must be the newest
 * (NEAP_CLIENT_CONFLICT). is_status: through /status. The object is taken over. */
void neap_client_update_take(struct neap_client *client,
			     const struct neap_client_ask *ask, bool is_status,
			     json_t *object);
/* Applies a JSON merge patch. metadata.uid and metadata.resourceVersion in it are
 * preconditions. The patch is taken over. */
void neap_client_patch_take(struct neap_client *client, const struct neap_client_ask *ask,
			    bool is_status, json_t *patch);
/* Deletes an object. uid: only the object of that uid; NULL: any. grace_s, for a pod: -1:
 * its own; 0: deleted at once. */
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
	/* Written to the pod in the same write; null removes one. NULL: none. */
	json_t *annotations;
};

/* Binds a pod as pods/NAME/binding does. */
void neap_client_bind(struct neap_client *client, const struct neap_client_ask *ask,
		      const struct neap_client_binding *binding);

/* Writes may wait and go together until neap_client_release was called as often. Use it
 * around work with many writes. */
void neap_client_hold(struct neap_client *client);
void neap_client_release(struct neap_client *client);

#endif
