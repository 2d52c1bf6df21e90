/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations and pods in operating mode, read: what each keeps, on which node, and for
 * whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/cluster_book_priv.h"

#define PREFIX "scheduling.koordinator.sh/"

static json_t *parse(const char *text)
{
	json_error_t where;
	json_t *json = NULL;

	if (*text && neap_json_parse(text, strlen(text), 0, &json, &where) < 0)
		return NULL;
	return json;
}

/* --- reading --- */

static bool is_ready(const json_t *object)
{
	const json_t *list = book_at(object, "status.conditions");

	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(book_text(json_array_get(list, i), "type"), "Ready") == 0)
			return strcmp(book_text(json_array_get(list, i), "status"),
				      "True") == 0;
	return false;
}

void book_read_use(struct book_pod *pod, const json_t *object)
{
	json_t *json = parse(book_annotation(object, PREFIX "reservation-allocated"));
	const char *label = book_label(pod->labels, PREFIX "reservation-ignored");

	(void)neap_strcopy(pod->uses, sizeof(pod->uses), book_text(json, "uid"));
	pod->is_ignoring = label && strcmp(label, "true") == 0;
	label = book_label(pod->labels, PREFIX "operating-mode");
	pod->is_room = label && strcmp(label, "Reservation") == 0;
	pod->was_ready = pod->is_room && is_ready(object);
	json_decref(json);
}

static void read_amounts(struct book *book, const json_t *list, int64_t ret[BOOK_NAMES])
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)list, name, value) {
		ret[book_name(book, name)] = book_amount(name, value);
	}
}

/* Of a restricted one those of its options, if it has any of them. */
static void read_names(struct book *book, struct book_kept *kept, const json_t *object)
{
	json_t *options =
		parse(book_annotation(object, PREFIX "reservation-restricted-options"));
	const json_t *list = json_object_get(options, "resources");
	bool has_any = false;

	for (size_t i = 0; kept->is_restricted && i < json_array_size(list); i++) {
		int name = book_name(book, json_string_value(json_array_get(list, i)));

		kept->counts[name] = kept->amounts[name] > 0;
		has_any |= kept->counts[name];
	}
	for (int i = 0; i < BOOK_NAMES; i++)
		kept->counts[i] |= !has_any;
	json_decref(options);
}

static struct book_kept *read_kept(struct book *book, const json_t *object)
{
	struct book_kept *kept = neap_alloc(sizeof(*kept));
	const char *phase = book_text(object, "status.phase");

	assert_non_null(kept);
	(void)neap_strcopy(kept->name, sizeof(kept->name),
			   book_text(object, "metadata.name"));
	(void)neap_strcopy(kept->uid, sizeof(kept->uid),
			   book_text(object, "metadata.uid"));
	(void)neap_strcopy(kept->node, sizeof(kept->node),
			   book_text(object, "status.nodeName"));
	if (*kept->node && strcmp(phase, "Available") == 0)
		kept->state = BOOK_KEPT_AVAILABLE;
	if (*kept->node && strcmp(phase, "Waiting") == 0)
		kept->state = BOOK_KEPT_WAITING;
	kept->is_once = !json_is_false(book_at(object, "spec.allocateOnce"));
	kept->is_restricted =
		strcmp(book_text(object, "spec.allocatePolicy"), "Restricted") == 0;
	read_amounts(book, book_at(object, "status.allocatable"), kept->amounts);
	read_amounts(book, book_at(object, "status.allocated"), kept->allocated);
	read_names(book, kept, object);
	(void)book_read_status(book, object, &kept->cpus, &kept->cpu_count,
			       kept->zone_needs);
	kept->owners = json_incref(book_at(object, "status.currentOwners"));
	return kept;
}

static void free_kept(struct book_kept *kept)
{
	json_decref(kept->owners);
	free(kept->cpus);
	free(kept);
}

static void mark(struct book *book, const struct book_kept *kept)
{
	if (*kept->node)
		book_mark(book, book_node(book, kept->node));
}

static void set_kept(struct book *book, struct book_kept *kept)
{
	struct book_kept *before = neap_map_find(book->kept, kept->name);
	bool was_there;

	was_there = before && strcmp(before->uid, kept->uid) == 0 && before->state;
	if (was_there && kept->state && strcmp(before->node, kept->node) != 0)
		(void)book_wrong(book, "reservation %s was on %s, and is on %s",
				 kept->name, before->node, kept->node);
	if (before && strcmp(before->uid, kept->uid) == 0) {
		kept->is_excused = before->is_excused;
		kept->is_touched = before->is_touched;
	}
	if (kept->is_touched && *kept->node)
		book_excuse(book, kept->node);
	kept->is_fresh = kept->state &&
			 (!was_there || before->is_fresh || before->state != kept->state);
	book->available += !kept->pod && kept->state == BOOK_KEPT_AVAILABLE &&
			   !(was_there && before->state == BOOK_KEPT_AVAILABLE);
	assert_true(neap_map_set(book->kept, kept->name, kept));
	if (before) {
		mark(book, before);
		free_kept(before);
	}
	mark(book, kept);
}

void book_drop_reservation(struct book *book, const char *name)
{
	struct book_kept *kept = neap_map_remove(book->kept, name);

	if (!kept)
		return;
	mark(book, kept);
	free_kept(kept);
}

void book_set_reservation(struct book *book, const json_t *object)
{
	set_kept(book, read_kept(book, object));
}

/* A pod keeps what it has itself, for one owner, and gives more than that of what its
 * node has. */
void book_set_room(struct book *book, const struct book_pod *pod, const char *key,
		   const json_t *object)
{
	struct book_kept *kept;

	if (!pod->is_room || pod->is_finished) {
		book_drop_reservation(book, key);
		return;
	}
	kept = neap_alloc(sizeof(*kept));
	assert_non_null(kept);
	kept->pod = pod;
	(void)neap_strcopy(kept->name, sizeof(kept->name), key);
	(void)neap_strcopy(kept->uid, sizeof(kept->uid), pod->uid);
	(void)neap_strcopy(kept->node, sizeof(kept->node), pod->node);
	kept->state = *pod->node ? BOOK_KEPT_AVAILABLE : BOOK_KEPT_NOT;
	kept->is_once = true;
	memcpy(kept->amounts, pod->needs, sizeof(kept->amounts));
	for (int i = 0; i < BOOK_NAMES; i++)
		kept->counts[i] = i != BOOK_PLACES;
	(void)book_read_status(book, object, &kept->cpus, &kept->cpu_count,
			       kept->zone_needs);
	kept->owners = parse(book_annotation(object, PREFIX "reservation-current-owner"));
	set_kept(book, kept);
}

void book_drop_room(struct book *book, const char *key)
{
	book_drop_reservation(book, key);
}

bool book_uses_room(const struct book *book, const struct book_pod *pod)
{
	for (size_t i = 0; *pod->uses && i < neap_map_count(book->kept); i++) {
		const struct book_kept *kept = neap_map_at(book->kept, i, NULL);

		if (kept->pod && strcmp(kept->uid, pod->uses) == 0)
			return true;
	}
	return false;
}

void book_free_kept(struct book *book)
{
	for (size_t i = 0; i < neap_map_count(book->kept); i++)
		free_kept(neap_map_at(book->kept, i, NULL));
	neap_map_free(book->kept);
}
