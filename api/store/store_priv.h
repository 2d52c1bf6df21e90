/* SPDX-License-Identifier: Apache-2.0
 *
 * The part that every store has in memory: resources, what is visible, what happened, who watches. A
 * backend accepts writes and says what became durable. */
#ifndef NEAP_API_STORE_STORE_PRIV_H
#define NEAP_API_STORE_STORE_PRIV_H

#include <sys/queue.h>

#include "api/store/index.h"
#include "api/store/replace.h"
#include "api/store/store.h"
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
	void (*free)(struct neap_store *store); /* everything but the memory part */
};

/* What happened last, oldest first, in a ring. The events are numbered: the first is event number
 * first. */
struct neap_store_past {
	struct past_event {
		struct neap_store_event event;
		int64_t at_usec;
		size_t bytes;
		struct neap_entry *entry;
		uint64_t next; /* number of the next one of the same name; 0: none */
	} * events;
	size_t room, start, count;
	uint64_t first;
	int64_t forgotten; /* version of the newest that is gone: nothing up to it is known */
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
	uint64_t next; /* number of the event to be given next */
	int64_t version;
	bool is_waiting; /* has taken everything */
	bool is_due;     /* in the list of those to be called */
	void (*ready)(void *arg);
	void *arg;
	TAILQ_ENTRY(neap_store_watch) of_resource, of_due;
};

struct neap_store {
	const struct neap_store_backend *backend;
	struct neap_map *resources;
	int64_t version; /* newest visible */
	int64_t loaded;  /* of the start: what was before is not known */
	int64_t history_usec;
	size_t history_bytes, past_bytes;
	struct neap_watch_list due;
	/* Of what is accepted, durable or not. */
	struct neap_store_used used;
	struct neap_store_limits limits;
	struct neap_map *owned; /* uid of an owner: how many name it, in the pointer */
};

int neap_memory_init(struct neap_store *store, const struct neap_store_backend *backend,
		     int64_t history_usec, size_t history_bytes, struct neap_error *err);
void neap_memory_done(struct neap_store *store);
/* The entry's newest accepted state is object from now on (NULL: nothing), which is taken. */
void neap_memory_accept_take(struct neap_store *store, struct neap_entry *entry,
			     struct neap_object *object);
/* With is_made a new one is made; NULL then means that there is no memory, or no such name. */
struct neap_resource *neap_memory_resource(struct neap_store *store, const char *name,
					   bool is_made);
/* The entry shows object (NULL: nothing) from now on; last is the last state of one that is gone. Both are
 * borrowed. False when there was no memory to remember it: watches that should have seen it are told
 * to start anew. */
bool neap_memory_show(struct neap_store *store, struct neap_resource *resource,
		      struct neap_entry *entry, struct neap_object *object,
		      struct neap_object *last, int64_t version, int64_t now_usec);
/* The entry goes when nothing holds it any more. */
void neap_memory_drop(struct neap_resource *resource, struct neap_entry *entry);
/* What it showed at a version that is remembered; NULL: nothing. */
struct neap_object *neap_memory_at(const struct neap_resource *resource,
				   const struct neap_entry *entry, int64_t version);
/* Forgets what is too old or too much. */
void neap_memory_forget(struct neap_store *store, int64_t now_usec);
/* Calls ready of whoever has something to take, or of some of them: true when there are more. */
bool neap_memory_call(struct neap_store *store);

#endif
