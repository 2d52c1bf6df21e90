/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects of one resource in the order of lists (namespace, then name), for look-ups, walks from any
 * point, and changes at any place: pieces of at most NEAP_INDEX_PIECE pointers, each sorted, one after the
 * other. With 50,000 entries a look-up compares 17 times and a change moves at most 4 KB. */
#ifndef NEAP_API_STORE_INDEX_H
#define NEAP_API_STORE_INDEX_H

#include "engine/object/object.h"

#define NEAP_INDEX_PIECE 512

/* One name of the resource. It stays while it has an object, a change is on its way, or one is remembered. */
struct neap_entry {
	int64_t id;                  /* in the file; 0 before the first write */
	struct neap_object *visible; /* NULL: not committed yet, or deleted */
	struct neap_object
		*newest; /* what the last accepted write makes of it; NULL: nothing */
	unsigned writes; /* on their way */
	/* Numbers of what is remembered of it, the oldest and the newest, and how many there are. */
	uint64_t past_first, past_last;
	size_t past_count;
	const char *ns, *name; /* in this block */
	char text[];
};

struct neap_index;

struct neap_index *neap_index_new(void); /* NULL without memory */
/* Entries go with it, and their counts of objects. */
void neap_index_free(struct neap_index *index);
size_t neap_index_count(const struct neap_index *index);
/* NULL when there is none. */
struct neap_entry *neap_index_find(const struct neap_index *index, const char *ns,
				   const char *name);
/* A new one without objects, or the one that is there; NULL without memory. */
struct neap_entry *neap_index_add(struct neap_index *index, const char *ns,
				  const char *name);
/* Frees the entry. */
void neap_index_remove(struct neap_index *index, struct neap_entry *entry);
/* The first one behind (ns, name), which need not be there; ns "" and name "": the first of all.
 * NULL at the end. */
struct neap_entry *neap_index_after(const struct neap_index *index, const char *ns,
				    const char *name);

/* A walk is faster than a chain of neap_index_after; nothing may change meanwhile. */
struct neap_index_walk {
	size_t piece, at;
};
/* From the first one behind (ns, name). */
void neap_index_walk_start(const struct neap_index *index, const char *ns,
			   const char *name, struct neap_index_walk *ret);
struct neap_entry *neap_index_walk_next(const struct neap_index *index,
					struct neap_index_walk *walk);

#endif
