/* SPDX-License-Identifier: Apache-2.0
 *
 * Where objects are kept. One interface; what is behind it (an embedded file, a kube-apiserver) its
 * callers cannot tell. Reads and watches are answered from memory and show only what is durable; a write
 * is accepted or refused at once, against the newest accepted state, and answered when it is durable.
 * Everything happens on the loop's thread.
 *
 * A resource is named as Kubernetes names it in messages: "pods", "reservations.scheduling.koordinator.sh".
 * Versions are of the whole store: they only grow, and order everything that happened. */
#ifndef NEAP_API_STORE_STORE_H
#define NEAP_API_STORE_STORE_H

#include "engine/object/object.h"

#define NEAP_STORE_RESOURCE 192 /* bytes of a resource's name, with NUL */
/* Accepted writes that are not durable yet; more are refused with NEAP_EUNAVAILABLE. */
#define NEAP_STORE_WRITES_MAX      16384
#define NEAP_STORE_WRITE_BYTES_MAX ((size_t)64 * 1024 * 1024)

struct neap_store;
struct neap_store_watch;

/* --- reading --- */

/* Version of the newest durable change. */
int64_t neap_store_version(const struct neap_store *store);
/* Borrowed, until the loop's next turn; NULL when there is none. */
struct neap_object *neap_store_find(struct neap_store *store, const char *resource,
				    const char *ns, const char *name);
/* What the last accepted write made of it, durable or not: what a change starts from. Nobody may be told
 * of it. */
struct neap_object *neap_store_newest(struct neap_store *store, const char *resource,
				      const char *ns, const char *name);
size_t neap_store_count(struct neap_store *store, const char *resource);

/* A place in a list. All zero: the beginning, now. */
struct neap_store_place {
	int64_t version; /* the list is the state at this version */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME]; /* the last one given */
};

/* Takes the objects of one namespace (ns NULL: of all) from place on, in the order of namespace and name,
 * as they were at place->version, until take gives false; the one it was given last is then not passed: it
 * comes first the next time. place is moved on. Returns 1 when there may be more, 0 at the end, -NEAP_EGONE
 * when that version is not remembered any more. take must not write; objects are borrowed. */
int neap_store_list(struct neap_store *store, const char *resource, const char *ns,
		    struct neap_store_place *place,
		    bool (*take)(void *arg, struct neap_object *object), void *arg,
		    struct neap_error *err);

/* Gives what neap_store_newest would of each name of a namespace behind the name after ("": of all), in order, until
 * take says false. take must not write. */
void neap_store_list_newest(struct neap_store *store, const char *resource,
			    const char *ns, const char *after,
			    bool (*take)(void *arg, struct neap_object *object),
			    void *arg);

/* --- writing --- */

/* Called once, from the loop, when the write is durable (object as it is now, borrowed; the last state of
 * one that was deleted) or has failed (object NULL): NEAP_EUNAVAILABLE when the disk does not take it,
 * NEAP_ENOMEM, else NEAP_EINTERNAL: nothing is written any more. */
typedef void neap_store_done(void *arg, struct neap_object *object,
			     const struct neap_error *err);

enum neap_store_verb { NEAP_STORE_CREATE, NEAP_STORE_UPDATE, NEAP_STORE_DELETE };

struct neap_store_write {
	enum neap_store_verb verb;
	const char *resource;
	const char *ns, *name; /* as in the object */
	json_t *object;        /* taken; of a DELETE NULL, or the last state to be told */
	const char *const *fields; /* selectable ones, as neap_object_new_take has them */
	int64_t version;       /* of the newest state that this was made from; 0: any */
	neap_store_done *done; /* may be NULL */
	void *arg;
};

/* 0: accepted, and done will be called. Refused at once, without done: NEAP_EEXISTS, NEAP_ENOTFOUND,
 * NEAP_ECONFLICT (another version), NEAP_EINVAL and NEAP_ETOOLARGE (the object), NEAP_EUNAVAILABLE,
 * NEAP_ENOMEM. An update that changes nothing is durable with the state before, keeps its version, and
 * nobody is told. */
int neap_store_write_take(struct neap_store *store, struct neap_store_write *write,
			  struct neap_error *err);

/* What is accepted, durable or not. */
struct neap_store_used {
	size_t objects;
	uint64_t bytes; /* of their texts and of what selectors ask for */
};
struct neap_store_used neap_store_used(const struct neap_store *store);
/* How much there may be; 0: any number. Whoever writes for somebody keeps them (api/kube/quota.c): the store itself
 * takes all, as what keeps a system going must go on. */
struct neap_store_limits {
	size_t objects;
	uint64_t bytes;
	size_t owned; /* by one owner */
};
void neap_store_set_limits(struct neap_store *store,
			   const struct neap_store_limits *limits);
struct neap_store_limits neap_store_limits(const struct neap_store *store);
/* Objects that name an owner of that uid; and those of the owner that has the most. */
size_t neap_store_owned(const struct neap_store *store, const char *uid);
size_t neap_store_owned_most(const struct neap_store *store);

/* Until the same number of neap_store_release, what is accepted may wait for a commit in common: for a piece of a turn of
 * the loop that writes much. What is begun is not stopped. */
void neap_store_hold(struct neap_store *store);
void neap_store_release(struct neap_store *store);

/* --- watching --- */

enum neap_store_what { NEAP_STORE_ADDED, NEAP_STORE_MODIFIED, NEAP_STORE_DELETED };

struct neap_store_event {
	enum neap_store_what what;
	int64_t version;
	struct neap_object
		*object; /* as it became; of a deletion its last state, with the
				     * version of the deletion */
	struct neap_object *before; /* NULL when it was added */
};

/* Everything of the resource after version: to be taken at once by neap_store_watch_next until it gives 0;
 * ready is called, once and from neap_store_hear, when there is something again. -NEAP_EGONE when what followed
 * version is not remembered any more. */
int neap_store_watch_new(struct neap_store *store, const char *resource, int64_t version,
			 void (*ready)(void *arg), void *arg,
			 struct neap_store_watch **ret, struct neap_error *err);
/* 1: *ret is the next event, borrowed until the next call. 0: nothing now. -NEAP_EGONE: the watch was too
 * slow, and events that it did not take are forgotten. */
int neap_store_watch_next(struct neap_store_watch *watch, struct neap_store_event **ret,
			  struct neap_error *err);
/* Version up to which everything has been given by neap_store_watch_next when it gave 0. */
int64_t neap_store_watch_version(const struct neap_store_watch *watch);
void neap_store_watch_free(struct neap_store_watch *watch);

/* --- a copy --- */

struct neap_store_snapshot;

/* Everything as it is now, however long it is read: a pointer for each object; what is changed or deleted
 * meanwhile stays in memory. */
int neap_store_snapshot_new(struct neap_store *store, struct neap_store_snapshot **ret,
			    struct neap_error *err);
int64_t neap_store_snapshot_version(const struct neap_store_snapshot *snapshot);
size_t neap_store_snapshot_count(const struct neap_store_snapshot *snapshot);
/* The next one, borrowed; NULL at the end. *ret_resource is set with it. */
struct neap_object *neap_store_snapshot_next(struct neap_store_snapshot *snapshot,
					     const char **ret_resource);
/* Before the store goes. NULL is fine. */
void neap_store_snapshot_free(struct neap_store_snapshot *snapshot);

/* --- its life --- */

/* Readable when there is something to hear. */
int neap_store_fd(const struct neap_store *store);
/* Shows what has become durable, and calls done and ready. They may write, watch and end watches, also
 * their own. */
void neap_store_hear(struct neap_store *store);
/* Waits for what was accepted, calls every done, and closes. What a done writes now is refused with
 * NEAP_EUNAVAILABLE. Watches must be gone. */
void neap_store_free(struct neap_store *store);

#endif
