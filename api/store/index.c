/* SPDX-License-Identifier: Apache-2.0
 *
 * Full pieces are split in half and empty ones freed; they are never joined, because
 * deleted names are often recreated in a similar form. */
#include "api/store/index.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

struct piece {
	size_t count;
	struct neap_entry *entries[NEAP_INDEX_PIECE];
};

struct neap_index {
	struct piece **pieces;
	size_t piece_count, piece_room;
	size_t count;
};

struct neap_index *neap_index_new(void)
{
	return neap_alloc(sizeof(struct neap_index));
}

static void entry_free(struct neap_entry *entry)
{
	neap_object_unref(entry->visible);
	neap_object_unref(entry->newest);
	free(entry);
}

void neap_index_free(struct neap_index *index)
{
	size_t i, k;

	if (!index)
		return;
	for (i = 0; i < index->piece_count; i++) {
		for (k = 0; k < index->pieces[i]->count; k++)
			entry_free(index->pieces[i]->entries[k]);
		free(index->pieces[i]);
	}
	free(index->pieces);
	free(index);
}

size_t neap_index_count(const struct neap_index *index)
{
	return index->count;
}

static int compare(const struct neap_entry *entry, const char *ns, const char *name)
{
	int order = strcmp(entry->ns, ns);

	return order != 0 ? order : strcmp(entry->name, name);
}

/* The last piece whose first entry is not behind the name; the first piece if all are. */
static size_t find_piece(const struct neap_index *index, const char *ns, const char *name)
{
	size_t low = 0, high = index->piece_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (compare(index->pieces[middle]->entries[0], ns, name) <= 0)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The place of the name in the piece, or where to insert it. */
static size_t find_place(const struct piece *piece, const char *ns, const char *name,
			 bool *ret_is_there)
{
	size_t low = 0, high = piece->count;

	*ret_is_there = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(piece->entries[middle], ns, name);

		if (order == 0) {
			*ret_is_there = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct neap_entry *neap_index_find(const struct neap_index *index, const char *ns,
				   const char *name)
{
	const struct piece *piece;
	bool is_there;
	size_t at;

	if (index->piece_count == 0)
		return NULL;
	piece = index->pieces[find_piece(index, ns, name)];
	at = find_place(piece, ns, name, &is_there);
	return is_there ? piece->entries[at] : NULL;
}

static bool insert_piece(struct neap_index *index, size_t at, struct piece *piece)
{
	if (!neap_grow(&index->pieces, index->piece_count, &index->piece_room,
		       sizeof(struct piece *)))
		return false;
	memmove(&index->pieces[at + 1], &index->pieces[at],
		(index->piece_count - at) * sizeof(struct piece *));
	index->pieces[at] = piece;
	index->piece_count++;
	return true;
}

static bool split(struct neap_index *index, size_t at)
{
	struct piece *full = index->pieces[at], *half = neap_alloc(sizeof(*half));
	size_t keep = full->count / 2;

	if (!half)
		return false;
	half->count = full->count - keep;
	memcpy(half->entries, &full->entries[keep],
	       half->count * sizeof(half->entries[0]));
	if (!insert_piece(index, at + 1, half)) {
		free(half);
		return false;
	}
	full->count = keep;
	return true;
}

/* The piece with room where the name belongs; *ret_place there. NULL without memory. */
static struct piece *room_for(struct neap_index *index, const char *ns, const char *name,
			      size_t *ret_place)
{
	struct piece *piece;
	bool is_there;
	size_t at;

	if (index->piece_count == 0) {
		piece = neap_alloc(sizeof(*piece));
		if (!piece || !insert_piece(index, 0, piece)) {
			free(piece);
			return NULL;
		}
	}
	at = find_piece(index, ns, name);
	if (index->pieces[at]->count == NEAP_INDEX_PIECE) {
		if (!split(index, at))
			return NULL;
		at = find_piece(index, ns, name);
	}
	piece = index->pieces[at];
	*ret_place = find_place(piece, ns, name, &is_there);
	return piece;
}

static struct neap_entry *entry_new(const char *ns, const char *name)
{
	size_t ns_len = strlen(ns) + 1, name_len = strlen(name) + 1;
	struct neap_entry *entry = neap_alloc(sizeof(*entry) + ns_len + name_len);

	if (!entry)
		return NULL;
	memcpy(entry->text, ns, ns_len);
	memcpy(entry->text + ns_len, name, name_len);
	entry->ns = entry->text;
	entry->name = entry->text + ns_len;
	return entry;
}

/* An index that has just got its first piece for nothing must not keep an empty one. */
static void drop_empty(struct neap_index *index, size_t at)
{
	if (index->pieces[at]->count > 0)
		return;
	free(index->pieces[at]);
	memmove(&index->pieces[at], &index->pieces[at + 1],
		(index->piece_count - at - 1) * sizeof(struct piece *));
	index->piece_count--;
}

struct neap_entry *neap_index_add(struct neap_index *index, const char *ns,
				  const char *name)
{
	struct neap_entry *entry = neap_index_find(index, ns, name);
	struct piece *piece;
	size_t place;

	if (entry)
		return entry;
	entry = entry_new(ns, name);
	if (!entry)
		return NULL;
	piece = room_for(index, ns, name, &place);
	if (!piece) {
		free(entry);
		return NULL;
	}
	memmove(&piece->entries[place + 1], &piece->entries[place],
		(piece->count - place) * sizeof(piece->entries[0]));
	piece->entries[place] = entry;
	piece->count++;
	index->count++;
	return entry;
}

void neap_index_remove(struct neap_index *index, struct neap_entry *entry)
{
	size_t at = find_piece(index, entry->ns, entry->name), place;
	struct piece *piece = index->pieces[at];
	bool is_there;

	place = find_place(piece, entry->ns, entry->name, &is_there);
	if (!is_there)
		return;
	memmove(&piece->entries[place], &piece->entries[place + 1],
		(piece->count - place - 1) * sizeof(piece->entries[0]));
	piece->count--;
	index->count--;
	drop_empty(index, at);
	entry_free(entry);
}

void neap_index_walk_start(const struct neap_index *index, const char *ns,
			   const char *name, struct neap_index_walk *ret)
{
	bool is_there;

	*ret = (struct neap_index_walk){0};
	if (index->piece_count == 0)
		return;
	ret->piece = find_piece(index, ns, name);
	ret->at = find_place(index->pieces[ret->piece], ns, name, &is_there);
	if (is_there)
		ret->at++;
}

struct neap_entry *neap_index_walk_next(const struct neap_index *index,
					struct neap_index_walk *walk)
{
	while (walk->piece < index->piece_count) {
		const struct piece *piece = index->pieces[walk->piece];

		if (walk->at < piece->count)
			return piece->entries[walk->at++];
		walk->piece++;
		walk->at = 0;
	}
	return NULL;
}

struct neap_entry *neap_index_after(const struct neap_index *index, const char *ns,
				    const char *name)
{
	struct neap_index_walk walk;

	neap_index_walk_start(index, ns, name, &walk);
	return neap_index_walk_next(index, &walk);
}
