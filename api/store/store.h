/* SPDX-License-Identifier: Apache-2.0
 *
 * The object store of the embedded server. Loops do not see it: they have api/client.
 * Reads and watches are served from memory and show only durable state. A write is
 * accepted or refused at once, against the newest accepted state, and answered when it is
 * durable.
 * Everything runs on the loop's thread.
 *
 * Resources are named as in Kubernetes messages: "pods",
 * "reservations.scheduling.koordinator.sh". Versions count for the whole store; they only
 * grow, and order all events. */
#ifndef NEAP_API_STORE_STORE_H
#define NEAP_API_STORE_STORE_H

#include "engine/object/object.h"

#define NEAP_STORE_RESOURCE 192 /* bytes of a resource's name, with NUL */
/* Limit on accepted writes that are not durable yet; more are refused with
 * NEAP_EUNAVAILABLE. */
#define NEAP_STORE_WRITES_MAX      16384
#define NEAP_STORE_WRITE_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct neap_store;
struct neap_store_watch;

/* --- reading --- */

/* Returns the version of the newest durable change. */
int64_t neap_store_version(const struct neap_store *store);
/* Borrowed until the loop's next turn; NULL when there is none. */
struct neap_object *neap_store_find(struct neap_store *store, const char *resource,
				    const char *ns, const char *name);
/* Returns the result of the last accepted write, durable or not, as the base for another
 * change. It must not be shown to clients. */
struct neap_object *neap_store_newest(struct neap_store *store, const char *resource,
				      const char *ns, const char *name);
size_t neap_store_count(struct neap_store *store, const char *resource);

/* A position in a list. Zero: the start of the present state. */
struct neap_store_place {
	int64_t version; /* the list shows the state at this version */
	/* the last object given */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
};

/* Lists the objects of a namespace (ns NULL: of all) from place on, by namespace and
 * name, as of place->version, until take returns false; the object it refused comes first
 * next time. Advances place. Returns 1 when there may be more, 0 at the end, -NEAP_EGONE
 * when that version is not in the history any more. take must not write; objects are
 * borrowed. */
int neap_store_list(struct neap_store *store, const char *resource, const char *ns,
		    struct neap_store_place *place,
		    bool (*take)(void *arg, struct neap_object *object), void *arg,
		    struct neap_error *err);

/* Lists what neap_store_newest would return for each name of a namespace after the name
 * after ("": for all), in order, until take returns false. take must not write. */
void neap_store_list_newest(struct neap_store *store, const char *resource,
			    const char *ns, const char *after,
			    bool (*take)(void *arg, struct neap_object *object),
			    void *arg);

/* --- what is accepted: writes are in write.h --- */

/* Totals of what is accepted, durable or not. */
struct neap_store_used {
	size_t objects;
	uint64_t bytes; /* of their texts and index data */
};
struct neap_store_used neap_store_used(const struct neap_store *store);
/* Quotas; 0: no limit. The request path enforces them for clients
 * (api/kube/write/admit.c); the store itself accepts everything, so that essential writes
 * always succeed. */
struct neap_store_limits {
	size_t objects;
	uint64_t bytes;
	size_t owned; /* by one owner */
};
void neap_store_set_limits(struct neap_store *store,
			   const struct neap_store_limits *limits);
struct neap_store_limits neap_store_limits(const struct neap_store *store);
/* Returns the number of objects that name an owner with that uid; and the largest such
 * number. */
size_t neap_store_owned(const struct neap_store *store, const char *uid);
size_t neap_store_owned_most(const struct neap_store *store);

/* Delays commits until the same number of neap_store_release calls, so that many writes
 * in one turn share a commit. A commit in progress is not stopped. */
void neap_store_hold(struct neap_store *store);
void neap_store_release(struct neap_store *store);

/* --- watching --- */

enum neap_store_what { NEAP_STORE_ADDED, NEAP_STORE_MODIFIED, NEAP_STORE_DELETED };

struct neap_store_event {
	enum neap_store_what what;
	int64_t version;
	/* the new state; after a deletion the last state with the version of the
	 * deletion */
	struct neap_object *object;
	struct neap_object *before; /* NULL when it was added */
};

/* Watches a resource after version. Call neap_store_watch_next until it returns 0; ready
 * is then called once, from neap_store_hear, when there is something again. -NEAP_EGONE
 * when the history after version is gone. */
int neap_store_watch_new(struct neap_store *store, const char *resource, int64_t version,
			 void (*ready)(void *arg), void *arg,
			 struct neap_store_watch **ret, struct neap_error *err);
/* Returns 1 with the next event, borrowed until the next call; 0 when there is none;
 * -NEAP_EGONE when the watch was too slow and missed events. */
int neap_store_watch_next(struct neap_store_watch *watch, struct neap_store_event **ret,
			  struct neap_error *err);
/* After neap_store_watch_next returned 0: the version up to which everything was
 * given. */
int64_t neap_store_watch_version(const struct neap_store_watch *watch);
void neap_store_watch_free(struct neap_store_watch *watch);

/* --- a copy --- */

struct neap_store_snapshot;

/* A snapshot of all objects, stable however long it is read: one pointer per object;
 * objects changed or deleted meanwhile stay in memory. */
int neap_store_snapshot_new(struct neap_store *store, struct neap_store_snapshot **ret,
			    struct neap_error *err);
int64_t neap_store_snapshot_version(const struct neap_store_snapshot *snapshot);
size_t neap_store_snapshot_count(const struct neap_store_snapshot *snapshot);
/* Returns the next object with *ret_resource, borrowed; NULL at the end. */
struct neap_object *neap_store_snapshot_next(struct neap_store_snapshot *snapshot,
					     const char **ret_resource);
/* Call before the store is freed. Accepts NULL. */
void neap_store_snapshot_free(struct neap_store_snapshot *snapshot);

/* --- its life --- */

/* Readable when neap_store_hear has work. */
int neap_store_fd(const struct neap_store *store);
/* Makes durable changes visible and calls done and ready, which may write, start watches
 * and end any watch. */
void neap_store_hear(struct neap_store *store);
/* Waits for accepted writes, calls every done, and closes. Writes from a done are refused
 * with NEAP_EUNAVAILABLE. Watches must have ended. */
void neap_store_free(struct neap_store *store);

#endif
