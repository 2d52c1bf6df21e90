/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects of one resource in list order (namespace, then name), for lookups, walks
 * from any point, and changes anywhere: a sequence of sorted pieces of at most
 * NEAP_INDEX_PIECE pointers. With 50,000 entries a lookup takes 17 comparisons, and a
 * change moves at most 4 KB. */
#ifndef NEAP_API_STORE_INDEX_H
#define NEAP_API_STORE_INDEX_H

#include "engine/object/object.h"

#define NEAP_INDEX_PIECE 512

/* One name of the resource. It exists while it has an object, a pending change, or
 * history. */
struct neap_entry {
	int64_t id;                  /* row id in the file; 0 before the first write */
	struct neap_object *visible; /* NULL: not committed yet, or deleted */
	struct neap_object *newest; /* result of the last accepted write; NULL: deleted */
	unsigned writes;            /* on their way */
	/* Event numbers of its history, oldest and newest, and their count. */
	uint64_t past_first, past_last;
	size_t past_count;
	const char *ns, *name; /* in this block */
	char text[];
};

struct neap_index;

struct neap_index *neap_index_new(void); /* NULL without memory */
/* Frees the entries and their references to objects. */
void neap_index_free(struct neap_index *index);
size_t neap_index_count(const struct neap_index *index);
/* Returns NULL when there is none. */
struct neap_entry *neap_index_find(const struct neap_index *index, const char *ns,
				   const char *name);
/* Returns the existing entry, or a new one without objects; NULL without memory. */
struct neap_entry *neap_index_add(struct neap_index *index, const char *ns,
				  const char *name);
/* Frees the entry. */
void neap_index_remove(struct neap_index *index, struct neap_entry *entry);
/* Returns the first entry after (ns, name), which need not exist; ns "" and name "": the
 * first of all. NULL at the end. */
struct neap_entry *neap_index_after(const struct neap_index *index, const char *ns,
				    const char *name);

/* A walk; faster than repeated neap_index_after. The index must not change meanwhile. */
struct neap_index_walk {
	size_t piece, at;
};
/* Starts at the first entry after (ns, name). */
void neap_index_walk_start(const struct neap_index *index, const char *ns,
			   const char *name, struct neap_index_walk *ret);
struct neap_entry *neap_index_walk_next(const struct neap_index *index,
					struct neap_index_walk *walk);

#endif
