/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations are indexed by words that matching pods have: for each owners entry one
 * required word, and each label of the reservation, for policies that compare labels. An
 * entry without a required word is indexed under "*". */
#include "engine/reserve/book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"

struct entry;

/* Entries that have one word. */
struct list {
	size_t count, size;
	struct place {
		struct entry *entry;
		size_t link; /* of the entry, which leads here */
	} * of;
	char word[];
};

struct link {
	struct list *list;
	size_t at;
};

struct entry {
	struct neap_reserve *reserve;
	struct link *links;
	size_t link_count, link_size;
	uint64_t stamp; /* of the search that saw it last */
};

struct neap_reserve_book {
	struct neap_cluster *cluster;
	uint32_t resolved;        /* names of resources that pods were read with */
	struct neap_map *entries; /* by "/NAME", or "NAMESPACE/NAME" of a pod */
	struct neap_map *lists;   /* by word */
	uint64_t stamp;
	struct neap_reserve **found;
	size_t found_size, found_count;
};

int neap_reserve_book_new(struct neap_cluster *cluster, struct neap_reserve_book **ret,
			  struct neap_error *err)
{
	struct neap_reserve_book *book = neap_alloc(sizeof(*book));

	if (!book)
		return neap_error_nomem(err);
	book->cluster = cluster;
	book->entries = neap_map_new();
	book->lists = neap_map_new();
	if (!book->entries || !book->lists) {
		neap_reserve_book_free(book);
		return neap_error_nomem(err);
	}
	*ret = book;
	return 0;
}

/* --- words --- */

/* Builds a word from a namespace, a key and a value; NULL: without. */
static char *make_word(struct neap_buf *buf, char kind, const char *key,
		       const char *value)
{
	neap_buf_clear(buf);
	neap_buf_addf(buf, value ? "%c %s=%s" : "%c %s", kind, key, value);
	return buf->failed ? NULL : buf->data;
}

static void unlink_at(struct neap_reserve_book *book, struct entry *entry, size_t at)
{
	struct list *list = entry->links[at].list;
	struct place *place = &list->of[entry->links[at].at];

	*place = list->of[--list->count];
	place->entry->links[place->link].at = (size_t)(place - list->of);
	if (list->count)
		return;
	(void)neap_map_remove(book->lists, list->word);
	free(list->of);
	free(list);
}

static void unlink_all(struct neap_reserve_book *book, struct entry *entry)
{
	while (entry->link_count)
		unlink_at(book, entry, --entry->link_count);
}

static void free_entry(struct neap_reserve_book *book, struct entry *entry)
{
	if (!entry)
		return;
	unlink_all(book, entry);
	(void)neap_reserve_unref(entry->reserve);
	free(entry->links);
	free(entry);
}

void neap_reserve_book_free(struct neap_reserve_book *book)
{
	if (!book)
		return;
	for (size_t i = book->entries ? neap_map_count(book->entries) : 0; i--;)
		free_entry(book, neap_map_at(book->entries, i, NULL));
	neap_map_free(book->entries);
	neap_map_free(book->lists);
	free(book->found);
	free(book);
}

static struct list *list_of(struct neap_reserve_book *book, const char *word)
{
	struct list *list = neap_map_find(book->lists, word);
	size_t len = strlen(word) + 1;

	if (list)
		return list;
	list = neap_alloc(sizeof(*list) + len);
	if (!list)
		return NULL;
	memcpy(list->word, word, len);
	if (neap_map_set(book->lists, word, list))
		return list;
	free(list);
	return NULL;
}

static bool add_link(struct neap_reserve_book *book, struct entry *entry,
		     const char *word)
{
	struct list *list = word ? list_of(book, word) : NULL;

	if (!list)
		return false;
	if (!neap_grow(&entry->links, entry->link_count, &entry->link_size,
		       sizeof(*entry->links)) ||
	    !neap_grow(&list->of, list->count, &list->size, sizeof(*list->of))) {
		if (!list->count) {
			(void)neap_map_remove(book->lists, list->word);
			free(list->of);
			free(list);
		}
		return false;
	}
	entry->links[entry->link_count] = (struct link){list, list->count};
	list->of[list->count++] = (struct place){entry, entry->link_count++};
	return true;
}

static bool link_owner(struct neap_reserve_book *book, struct entry *entry,
		       const struct neap_reserve_owner *owner, struct neap_buf *buf)
{
	if (owner->has_object && owner->object.uid)
		return add_link(book, entry,
				make_word(buf, 'u', owner->object.uid, NULL));
	if (owner->has_object && owner->object.name)
		return add_link(book, entry,
				make_word(buf, 'n', owner->object.name, NULL));
	if (owner->has_controller && owner->controller.uid)
		return add_link(book, entry,
				make_word(buf, 'U', owner->controller.uid, NULL));
	if (owner->has_controller && owner->controller.name)
		return add_link(book, entry,
				make_word(buf, 'N', owner->controller.name, NULL));
	for (size_t i = 0; owner->label && i < owner->value_count; i++)
		if (!add_link(book, entry,
			      make_word(buf, 's', owner->label, owner->values[i])))
			return false;
	return owner->label || add_link(book, entry, "*");
}

/* An unusable Reservation is not listed. */
static bool link_all(struct neap_reserve_book *book, struct entry *entry)
{
	const struct neap_reserve *reserve = entry->reserve;
	neap_auto_buf struct neap_buf buf = {0};
	const char *at = reserve->object->labels;
	bool is_good = true;

	neap_buf_init(&buf, NEAP_BUF_LINE);
	if (!neap_reserve_is_usable(reserve, 0))
		return true;
	for (size_t i = 0; is_good && i < reserve->owner_count; i++)
		is_good = link_owner(book, entry, &reserve->owners[i], &buf);
	for (size_t i = 0; is_good && i < reserve->object->label_count; i++) {
		const char *value = at + strlen(at) + 1;

		is_good = add_link(book, entry, make_word(&buf, 'l', at, value));
		at = value + strlen(value) + 1;
	}
	return is_good;
}

/* --- telling --- */

/* Takes the reservation. NULL without memory. */
static struct entry *new_entry(struct neap_reserve_book *book,
			       struct neap_reserve *reserve)
{
	struct entry *entry = neap_alloc(sizeof(*entry));

	if (!entry) {
		(void)neap_reserve_unref(reserve);
		return NULL;
	}
	entry->reserve = reserve;
	if (link_all(book, entry))
		return entry;
	free_entry(book, entry);
	return NULL;
}

static unsigned compare(const struct neap_reserve *before, const struct neap_reserve *now)
{
	if (!neap_reserve_is_usable(now, 0))
		return 0;
	/* Room that owners gave back may be used again. */
	return !before || before->object->version != now->object->version
		       ? NEAP_MOVED_RESERVATION
		       : 0;
}

/* Sets the placeholder of a freshly read Reservation; one with an unreadable template
 * keeps nothing. */
static int set_stand(struct neap_reserve_book *book, const struct neap_reserve *reserve,
		     unsigned *ret_moved, struct neap_error *err)
{
	if (reserve->pod)
		return neap_cluster_set_stand(book->cluster, reserve->pod, ret_moved,
					      err);
	neap_cluster_remove_stand(book->cluster, reserve->object->name, ret_moved);
	return 0;
}

int neap_reserve_book_set(struct neap_reserve_book *book, struct neap_object *object,
			  unsigned *ret_moved, struct neap_error *err)
{
	char key[NEAP_POD_KEY];
	struct entry *before =
		neap_map_find(book->entries, neap_pod_key("", object->name, key));
	struct neap_reserve *reserve;
	struct entry *entry;
	unsigned moved, room;
	int ret = neap_reserve_new(object, neap_cluster_resources(book->cluster),
				   &reserve, err);

	if (ret < 0)
		return ret;
	entry = new_entry(book, reserve);
	if (!entry)
		return neap_error_nomem(err);
	moved = compare(before ? before->reserve : NULL, reserve);
	if (before || neap_map_set(book->entries, key, entry))
		ret = set_stand(book, reserve, &room, err);
	else
		ret = neap_error_nomem(err);
	if (ret < 0) {
		if (!before)
			(void)neap_map_remove(book->entries, key);
		free_entry(book, entry);
		return ret;
	}
	/* The name exists already, so this needs no memory. */
	(void)neap_map_set(book->entries, key, entry);
	free_entry(book, before);
	*ret_moved = moved | room;
	return 0;
}

static void drop(struct neap_reserve_book *book, const char *key)
{
	free_entry(book, neap_map_remove(book->entries, key));
}

void neap_reserve_book_remove(struct neap_reserve_book *book, const char *name,
			      unsigned *ret_moved)
{
	char key[NEAP_POD_KEY];

	neap_cluster_remove_stand(book->cluster, name, ret_moved);
	drop(book, neap_pod_key("", name, key));
}

int neap_reserve_book_set_pod(struct neap_reserve_book *book, struct neap_object *object,
			      unsigned *ret_moved, struct neap_error *err)
{
	const struct neap_pod *pod =
		neap_cluster_find_pod(book->cluster, object->ns, object->name);
	char key[NEAP_POD_KEY];
	struct neap_reserve *reserve;
	struct entry *entry, *before;
	unsigned moved;
	int ret;

	(void)neap_pod_key(object->ns, object->name, key);
	if (!pod || !pod->keep) {
		/* Its node may take others now. */
		if (neap_map_find(book->entries, key))
			*ret_moved |= NEAP_MOVED_RESERVATION;
		drop(book, key);
		return 0;
	}
	ret = neap_reserve_new_pod(object, neap_cluster_resources(book->cluster),
				   &reserve, err);
	if (ret < 0)
		return ret;
	moved = compare(NULL, reserve);
	entry = new_entry(book, reserve);
	if (!entry)
		return neap_error_nomem(err);
	before = neap_map_find(book->entries, key);
	if (!neap_map_set(book->entries, key, entry)) {
		free_entry(book, entry);
		return neap_error_nomem(err);
	}
	free_entry(book, before);
	*ret_moved |= moved;
	return 0;
}

void neap_reserve_book_remove_pod(struct neap_reserve_book *book, const char *ns,
				  const char *name)
{
	char key[NEAP_POD_KEY];

	drop(book, neap_pod_key(ns, name, key));
}

int neap_reserve_book_resolve(struct neap_reserve_book *book, unsigned *ret_moved,
			      struct neap_error *err)
{
	uint32_t names = neap_resources_count(neap_cluster_resources(book->cluster));

	if (book->resolved == names)
		return 0;
	for (size_t i = neap_map_count(book->entries); i--;) {
		struct entry *entry = neap_map_at(book->entries, i, NULL);
		struct neap_object *object;
		int ret;

		if (!entry->reserve->is_pod || !entry->reserve->pod ||
		    !entry->reserve->pod->unknown_count)
			continue;
		object = neap_object_ref(entry->reserve->object);
		ret = neap_reserve_book_set_pod(book, object, ret_moved, err);
		(void)neap_object_unref(object);
		if (ret < 0)
			return ret;
	}
	book->resolved = names;
	return 0;
}

/* --- asking --- */

size_t neap_reserve_book_count(const struct neap_reserve_book *book)
{
	return neap_map_count(book->entries);
}

struct neap_reserve *neap_reserve_book_find(const struct neap_reserve_book *book,
					    const char *name)
{
	char key[NEAP_POD_KEY];
	struct entry *entry = neap_map_find(book->entries, neap_pod_key("", name, key));

	return entry ? entry->reserve : NULL;
}

struct neap_reserve *neap_reserve_book_of(const struct neap_reserve_book *book,
					  const struct neap_pod *stand)
{
	char key[NEAP_POD_KEY];
	struct entry *entry =
		stand->keep ? neap_map_find(book->entries, neap_pod_seat_key(stand, key))
			    : NULL;

	return entry ? entry->reserve : NULL;
}

struct neap_reserve *neap_reserve_book_at(const struct neap_reserve_book *book,
					  size_t index)
{
	struct entry *entry = neap_map_at(book->entries, index, NULL);

	return entry->reserve;
}

struct neap_pod *neap_reserve_book_stand(const struct neap_reserve_book *book,
					 const struct neap_reserve *reserve)
{
	/* That of a Reservation is its own, set in the cluster with it. */
	return reserve->is_pod ? neap_cluster_find_pod(book->cluster, reserve->object->ns,
						       reserve->object->name)
			       : reserve->pod;
}

static bool find_one(struct neap_reserve_book *book, struct entry *entry)
{
	if (entry->stamp == book->stamp)
		return true;
	entry->stamp = book->stamp;
	if (!neap_grow(&book->found, book->found_count, &book->found_size,
		       sizeof(*book->found)))
		return false;
	book->found[book->found_count++] = entry->reserve;
	return true;
}

static bool find_by(struct neap_reserve_book *book, const char *word)
{
	const struct list *list = word ? neap_map_find(book->lists, word) : NULL;

	for (size_t i = 0; list && i < list->count; i++)
		if (!find_one(book, list->of[i].entry))
			return false;
	return word != NULL;
}

static bool find_by_owners(struct neap_reserve_book *book, const struct neap_pod *pod,
			   struct neap_buf *buf)
{
	const struct neap_object *object = pod->object;
	const char *at = object->owners;
	bool is_good = find_by(book, "*") &&
		       find_by(book, make_word(buf, 'u', object->uid, NULL)) &&
		       find_by(book, make_word(buf, 'n', object->name, NULL));

	for (size_t i = 0; is_good && i < object->owner_count; i++) {
		is_good = find_by(book, make_word(buf, 'U', at, NULL));
		at += strlen(at) + 1;
	}
	for (size_t i = 0; is_good && i < pod->owner_name_count; i++)
		is_good = find_by(book, make_word(buf, 'N', pod->owner_names[i], NULL));
	at = object->labels;
	for (size_t i = 0; is_good && i < object->label_count; i++) {
		const char *value = at + strlen(at) + 1;

		is_good = find_by(book, make_word(buf, 's', at, value));
		at = value + strlen(value) + 1;
	}
	return is_good;
}

static bool find_all(struct neap_reserve_book *book)
{
	for (size_t i = 0; i < neap_map_count(book->entries); i++) {
		struct entry *entry = neap_map_at(book->entries, i, NULL);

		if (neap_reserve_is_usable(entry->reserve, 0) && !find_one(book, entry))
			return false;
	}
	return true;
}

/* A pod without the first label of the pairs has none of them. */
static bool find_by_pairs(struct neap_reserve_book *book, const struct neap_pod *pod,
			  const struct neap_reserve_asked *by, struct neap_buf *buf)
{
	const char *value;

	if (!by->pair_count)
		return find_all(book);
	value = neap_object_label(pod->object, by->pairs[0].pod);
	return !value ||
	       find_by(book, make_word(buf, 'l', by->pairs[0].reservation, value));
}

int neap_reserve_book_candidates(struct neap_reserve_book *book,
				 const struct neap_pod *pod,
				 const struct neap_reserve_asked *by, bool is_every,
				 struct neap_reserve ***ret, size_t *ret_count,
				 struct neap_error *err)
{
	neap_auto_buf struct neap_buf buf = {0};
	bool is_good = true;

	neap_buf_init(&buf, NEAP_BUF_LINE);
	book->stamp++;
	book->found_count = 0;
	if (!neap_map_count(book->entries))
		is_good = true;
	else if (is_every)
		is_good = find_all(book);
	else if (by && by->rule == NEAP_RESERVE_REPLACED)
		is_good = find_by_pairs(book, pod, by, &buf);
	else
		is_good = find_by_owners(book, pod, &buf);
	if (!is_good)
		return neap_error_nomem(err);
	*ret = book->found;
	*ret_count = book->found_count;
	return 0;
}
