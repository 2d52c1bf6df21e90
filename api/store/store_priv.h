/* SPDX-License-Identifier: Apache-2.0
 *
 * The in-memory part common to all stores: resources, visible objects, history, watches.
 * A backend accepts writes and reports what became durable. */
#ifndef NEAP_API_STORE_STORE_PRIV_H
#define NEAP_API_STORE_STORE_PRIV_H

#include <sys/queue.h>

#include "api/store/index.h"
#include "api/store/replace.h"
#include "api/store/store.h"
#include "api/store/write.h"
#include "engine/base/map.h"

struct neap_store_backend {
	int (*write_take)(struct neap_store *store, struct neap_store_write *write,
			  struct neap_error *err);
	int (*fd)(const struct neap_store *store);
	void (*hear)(struct neap_store *store);
	void (*hold)(struct neap_store *store, int step); /* 1, -1 */
	/* NULL: it cannot. */
	int (*replace_new)(struct neap_store *store, struct neap_store_replace **ret,
			   struct neap_error *err);
	void (*free)(struct neap_store *store); /* everything except the in-memory part */
};

/* The history: a ring of events, oldest first, numbered from first on. */
struct neap_store_past {
	struct past_event {
		struct neap_store_event event;
		int64_t at_usec;
		size_t bytes;
		struct neap_entry *entry;
		uint64_t next; /* number of the next event of the same name; 0: none */
	} * events;
	size_t room, start, count;
	uint64_t first;
	/* version of the newest dropped event: nothing up to it is known */
	int64_t forgotten;
};

TAILQ_HEAD(neap_watch_list, neap_store_watch);

struct neap_resource {
	char name[NEAP_STORE_RESOURCE];
	int64_t id; /* in the file */
	struct neap_index *index;
	size_t visible_count;
	struct neap_store_past past;
	struct neap_watch_list watches;
};

struct neap_store_watch {
	struct neap_store *store;
	struct neap_resource *resource;
	uint64_t next; /* number of the event to give next */
	int64_t version;
	bool is_waiting; /* has taken everything */
	bool is_due;     /* in the list of watches to call */
	void (*ready)(void *arg);
	void *arg;
	TAILQ_ENTRY(neap_store_watch) of_resource, of_due;
};

struct neap_store {
	const struct neap_store_backend *backend;
	struct neap_map *resources;
	int64_t version; /* newest visible */
	int64_t loaded;  /* at start: earlier versions are unknown */
	int64_t history_usec;
	size_t history_bytes, past_bytes;
	struct neap_watch_list due;
	/* Totals of what is accepted, durable or not. */
	struct neap_store_used used;
	struct neap_store_limits limits;
	/* uid of an owner: number of dependents, stored in the pointer */
	struct neap_map *owned;
};

int neap_memory_init(struct neap_store *store, const struct neap_store_backend *backend,
		     int64_t history_usec, size_t history_bytes, struct neap_error *err);
void neap_memory_done(struct neap_store *store);
/* Sets the entry's newest accepted state (NULL: deleted); takes object. */
void neap_memory_accept_take(struct neap_store *store, struct neap_entry *entry,
			     struct neap_object *object);
/* With is_made a missing resource is created; NULL then means no memory, or an invalid
 * name. */
struct neap_resource *neap_memory_resource(struct neap_store *store, const char *name,
					   bool is_made);
/* Makes object (NULL: none) visible; last is the last state of a deleted one. Both are
 * borrowed. Returns false when there was no memory for the history: watches that miss the
 * event must start over. */
bool neap_memory_show(struct neap_store *store, struct neap_resource *resource,
		      struct neap_entry *entry, struct neap_object *object,
		      struct neap_object *last, int64_t version, int64_t now_usec);
/* Frees the entry when nothing refers to it any more. */
void neap_memory_drop(struct neap_resource *resource, struct neap_entry *entry);
/* Drops history that is too old or too large. */
void neap_memory_forget(struct neap_store *store, int64_t now_usec);
/* Calls ready of watches with events, or of some of them; true when more are left. */
bool neap_memory_call(struct neap_store *store);

#endif
