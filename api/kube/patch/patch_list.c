/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of strategic merge patches. Items are identified by their merge key, those of a
 * set by their value. Each item of the object and of the patch has a slot; an item that
 * merges with another leaves its own slot empty.
 *
 * The resulting order is a kube-apiserver's. Items in the patch are ordered by
 * $setElementOrder, or else as in the patch. The others keep their order, and come before
 * an item of the patch only if they did so in the object. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/patch/patch_priv.h"
#include "engine/base/mem.h"

#define PRINTED 96 /* bytes of a value in messages */

struct slot {
	const json_t *key;
	const json_t *item; /* borrowed; NULL: the slot is empty */
	json_t *made;       /* owned; the merged item, NULL when unchanged */
	size_t rank;        /* place in the wanted order, or NEAP_PATCH_NOWHERE */
	/* position in the object of the first with this key, or NEAP_PATCH_NOWHERE */
	size_t before;
};

struct lists {
	struct neap_patch_run *run;
	const char *merge_key; /* NULL: a set */
	const struct neap_schema *items;
	const json_t *old, *change, *order; /* any may be NULL */
	size_t old_count, change_count;
	/* By index in their lists. change_keys has the patch's real items, gone_keys its
	 * deletions. */
	struct neap_patch_keys old_keys, change_keys, gone_keys, order_keys;
	struct slot *slots;   /* of the object, then of the patch */
	struct slot **sorted; /* as many */
	bool is_replaced;     /* an item of the patch requests it */
};

/* --- keys --- */

/* Gets the key that identifies an item. code: of an error. */
static int key_get(const struct lists *lists, const json_t *item, enum neap_code code,
		   const json_t **ret)
{
	const json_t *key;
	char shown[PRINTED];

	if (json_is_array(item))
		return neap_error_set(lists->run->err, code,
				      "lists of lists are not supported");
	if (!lists->merge_key) {
		if (json_is_object(item) || json_is_null(item))
			return neap_error_set(lists->run->err, code,
					      "expected a string, but received a %s",
					      neap_patch_type_name(item));
		*ret = item;
		return 0;
	}
	if (!json_is_object(item))
		return neap_error_set(lists->run->err, code,
				      "expected a map[string]interface {}, but received "
				      "a %s",
				      neap_patch_type_name(item));
	key = json_object_get(item, lists->merge_key);
	if (!key || json_is_null(key)) {
		neap_patch_print(item, shown, sizeof(shown));
		return neap_error_set(lists->run->err, code,
				      "map: %s does not contain declared merge key: %s",
				      shown, lists->merge_key);
	}
	if (!neap_patch_is_scalar(key))
		return neap_patch_at(
			lists->run,
			neap_error_set(lists->run->err, code,
				       "expected a string, but received a %s",
				       neap_patch_type_name(key)),
			lists->merge_key);
	*ret = key;
	return 0;
}

static int keys_read(const struct lists *lists, const json_t *list, enum neap_code code,
		     struct neap_patch_keys *keys)
{
	json_t *item;
	size_t i;
	int rc = neap_patch_spend(lists->run, json_array_size(list));

	if (rc == 0)
		rc = neap_patch_keys_init(lists->run, keys, json_array_size(list));
	if (rc < 0)
		return rc;
	json_array_foreach (list, i, item) {
		rc = key_get(lists, item, code, &keys->keys[i]);
		if (rc < 0)
			return neap_patch_at_index(lists->run, rc, i);
	}
	neap_patch_keys_sort(keys);
	return 0;
}

/* Reads one item of the patch: it has a key, deletes one, or neither. */
static int change_read(struct lists *lists, size_t i, const json_t *item)
{
	enum neap_patch_directive directive = NEAP_DIRECTIVE_NONE;
	int rc = neap_patch_directive_get(lists->run, item, &directive);

	if (rc < 0)
		return rc;
	if (directive == NEAP_DIRECTIVE_REPLACE) {
		lists->is_replaced = true;
		return 0;
	}
	if (directive == NEAP_DIRECTIVE_MERGE &&
	    (!lists->merge_key || !json_object_get(item, lists->merge_key)))
		return neap_error_set(lists->run->err, NEAP_EINVAL,
				      "merging lists cannot yet be specified in the "
				      "patch");
	return key_get(lists, item, NEAP_EINVAL,
		       directive == NEAP_DIRECTIVE_DELETE ? &lists->gone_keys.keys[i]
							  : &lists->change_keys.keys[i]);
}

static int change_keys_read(struct lists *lists)
{
	json_t *item;
	size_t i;
	int rc = neap_patch_spend(lists->run, lists->change_count);

	if (rc == 0)
		rc = neap_patch_keys_init(lists->run, &lists->change_keys,
					  lists->change_count);
	if (rc == 0)
		rc = neap_patch_keys_init(lists->run, &lists->gone_keys,
					  lists->change_count);
	if (rc < 0)
		return rc;
	json_array_foreach (lists->change, i, item) {
		rc = change_read(lists, i, item);
		if (rc < 0)
			return neap_patch_at_index(lists->run, rc, i);
	}
	neap_patch_keys_sort(&lists->change_keys);
	neap_patch_keys_sort(&lists->gone_keys);
	return 0;
}

/* Items that the patch adds or changes must be in $setElementOrder, in the same order. */
static int order_check(const struct lists *lists)
{
	const struct neap_patch_keys *change = &lists->change_keys;
	const struct neap_patch_keys *order = &lists->order_keys;
	char shown[PRINTED], shown_order[PRINTED];
	size_t at = 0;

	if (order->count == 0)
		return 0;
	for (size_t i = 0; i < change->count; i++) {
		if (!change->keys[i] ||
		    json_object_get(json_array_get(lists->change, i), "$patch"))
			continue;
		while (at < order->count &&
		       neap_patch_scalar_compare(order->keys[at], change->keys[i]) != 0)
			at++;
		if (at++ < order->count)
			continue;
		neap_patch_print(lists->change, shown, sizeof(shown));
		neap_patch_print(lists->order, shown_order, sizeof(shown_order));
		return neap_error_set(lists->run->err, NEAP_EINVAL,
				      "The order in patch list: %s doesn't match "
				      "$setElementOrder list: %s",
				      shown, shown_order);
	}
	return 0;
}

/* --- slots --- */

/* A merged set has each value once. Objects with the same key all stay. */
static void old_fill(struct lists *lists)
{
	for (size_t i = 0; i < lists->old_count; i++) {
		struct slot *slot = &lists->slots[i];

		slot->key = lists->old_keys.keys[i];
		slot->before = neap_patch_keys_find(&lists->old_keys, slot->key);
		if (neap_patch_keys_find(&lists->gone_keys, slot->key) !=
		    NEAP_PATCH_NOWHERE)
			continue;
		if (!lists->merge_key && lists->change && slot->before != i)
			continue;
		slot->item = json_array_get(lists->old, i);
	}
}

/* The slot for an item of the patch. */
static struct slot *slot_of(const struct lists *lists, const json_t *key)
{
	size_t at = neap_patch_keys_find(&lists->old_keys, key);

	if (at != NEAP_PATCH_NOWHERE && lists->slots[at].item)
		return &lists->slots[at];
	at = neap_patch_keys_find(&lists->change_keys, key);
	return &lists->slots[lists->old_count + at];
}

static int change_merge(struct lists *lists, size_t i)
{
	const json_t *key = lists->change_keys.keys[i];
	const json_t *item = json_array_get(lists->change, i), *old;
	struct slot *slot = slot_of(lists, key);
	json_t *made = NULL;
	int rc;

	if (!slot->item) {
		slot->key = key;
		slot->item = item;
		slot->before = NEAP_PATCH_NOWHERE;
		return neap_patch_adopt(lists->run, item, &slot->made);
	}
	if (!lists->merge_key)
		return 0;
	old = slot->made ? slot->made : slot->item;
	rc = neap_patch_merge_map(lists->run, lists->items, old, item, &made);
	if (rc < 0)
		return rc;
	json_decref(slot->made);
	slot->made = made;
	return 0;
}

static int slots_fill(struct lists *lists)
{
	old_fill(lists);
	for (size_t i = 0; i < lists->change_count; i++) {
		int rc = 0;

		if (lists->change_keys.keys[i])
			rc = change_merge(lists, i);
		if (rc < 0)
			return neap_patch_at_index(lists->run, rc, i);
	}
	return 0;
}

/* --- order --- */

static int compare(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

/* Slots with a rank sort by it; the others as before, new ones last. */
static int slot_compare(const void *a, const void *b)
{
	const struct slot *left = *(struct slot *const *)a;
	const struct slot *right = *(struct slot *const *)b;
	int order = compare(left->rank, right->rank);

	if (order == 0 && left->rank == NEAP_PATCH_NOWHERE)
		order = compare(left->before, right->before);
	if (order != 0)
		return order;
	return left < right ? -1 : left > right;
}

static int slot_append(const struct lists *lists, struct slot *slot, json_t *result)
{
	json_t *made = neap_steal(slot->made);
	int rc = 0;

	if (!made)
		rc = neap_patch_copy(lists->run, slot->item, &made);
	if (rc < 0)
		return rc;
	if (json_array_append_new(result, made) < 0)
		return neap_error_nomem(lists->run->err);
	return 0;
}

static int slots_append(struct lists *lists, json_t *result)
{
	const struct neap_patch_keys *ranks =
		lists->order_keys.count > 0 ? &lists->order_keys : &lists->change_keys;
	size_t count = 0, named = 0, others, end;

	for (size_t i = 0; i < lists->old_count + lists->change_count; i++) {
		struct slot *slot = &lists->slots[i];

		if (!slot->item)
			continue;
		slot->rank = neap_patch_keys_find(ranks, slot->key);
		named += slot->rank != NEAP_PATCH_NOWHERE;
		lists->sorted[count++] = slot;
	}
	qsort(lists->sorted, count, sizeof(struct slot *), slot_compare);
	end = named;
	others = named;
	named = 0;
	while (named < end || others < count) {
		struct slot *left = others < count ? lists->sorted[others] : NULL;
		struct slot *right = named < end ? lists->sorted[named] : NULL;
		bool is_left = !right || (left && left->before != NEAP_PATCH_NOWHERE &&
					  right->before != NEAP_PATCH_NOWHERE &&
					  left->before < right->before);
		int rc = slot_append(lists, is_left ? left : right, result);

		if (rc < 0)
			return rc;
		others += is_left;
		named += !is_left;
	}
	return 0;
}

/* --- lists --- */

static void lists_done(struct lists *lists)
{
	for (size_t i = 0; lists->slots && i < lists->old_count + lists->change_count;
	     i++)
		json_decref(lists->slots[i].made);
	free(lists->slots);
	free(lists->sorted);
	neap_patch_keys_done(&lists->old_keys);
	neap_patch_keys_done(&lists->change_keys);
	neap_patch_keys_done(&lists->gone_keys);
	neap_patch_keys_done(&lists->order_keys);
}

static int lists_read(struct lists *lists)
{
	int rc = change_keys_read(lists);

	if (rc == 0)
		rc = keys_read(lists, lists->order, NEAP_EINVAL, &lists->order_keys);
	if (rc == 0)
		rc = order_check(lists);
	if (rc == 0 && !lists->is_replaced)
		rc = keys_read(lists, lists->old, NEAP_ECONFLICT, &lists->old_keys);
	return rc;
}

static int lists_merge(struct lists *lists, json_t **ret)
{
	size_t count = lists->old_count + lists->change_count;
	json_auto_t *result = NULL;
	int rc = lists_read(lists);

	if (rc < 0)
		return rc;
	/* The patch's items are in the wanted order already: this was checked. */
	if (lists->is_replaced)
		return neap_patch_adopt(lists->run, lists->change, ret);
	lists->slots = neap_alloc_array(count, sizeof(*lists->slots));
	lists->sorted = neap_alloc_array(count, sizeof(*lists->sorted));
	result = json_array();
	if (!lists->slots || !lists->sorted || !result)
		return neap_error_nomem(lists->run->err);
	rc = slots_fill(lists);
	if (rc == 0)
		rc = slots_append(lists, result);
	if (rc == 0)
		*ret = neap_steal(result);
	return rc;
}

int neap_patch_merge_list(struct neap_patch_run *run,
			  const struct neap_schema_field *field, const json_t *old,
			  const json_t *change, const json_t *order, json_t **ret)
{
	enum neap_schema_list merge = field ? field->merge : NEAP_LIST_ATOMIC;
	struct lists lists = {.run = run,
			      .old = old,
			      .change = change,
			      .order = order,
			      .old_count = json_array_size(old),
			      .change_count = json_array_size(change)};
	int rc;

	if (merge == NEAP_LIST_MAP) {
		lists.merge_key = field->merge_key;
		lists.items = field->schema ? field->schema->items : NULL;
	}
	/* The order of a replaced list has no effect. */
	if (merge == NEAP_LIST_ATOMIC || (merge == NEAP_LIST_MAP && !lists.merge_key))
		return change ? neap_patch_adopt(run, change, ret)
			      : neap_patch_copy(run, old, ret);
	rc = lists_merge(&lists, ret);
	lists_done(&lists);
	return rc;
}

int neap_patch_list_subtract(struct neap_patch_run *run, json_t **list,
			     const json_t *gone)
{
	struct neap_patch_keys keys = {0};
	json_t *rest = NULL, *item;
	size_t i;
	int rc = neap_patch_spend(run, json_array_size(gone) + json_array_size(*list));

	if (rc == 0)
		rc = neap_patch_keys_init(run, &keys, json_array_size(gone));
	if (rc == 0)
		rest = json_array();
	if (rc == 0 && !rest)
		rc = neap_error_nomem(run->err);
	for (i = 0; rc == 0 && i < keys.count; i++) {
		keys.keys[i] = json_array_get(gone, i);
		if (!neap_patch_is_scalar(keys.keys[i]))
			rc = neap_error_set(run->err, NEAP_EINVAL,
					    "invalid patch format of primitive list");
	}
	if (rc == 0)
		neap_patch_keys_sort(&keys);
	for (i = 0; rc == 0 && i < json_array_size(*list); i++) {
		item = json_array_get(*list, i);
		if (neap_patch_is_scalar(item) &&
		    neap_patch_keys_find(&keys, item) != NEAP_PATCH_NOWHERE)
			continue;
		if (json_array_append(rest, item) < 0)
			rc = neap_error_nomem(run->err);
	}
	neap_patch_keys_done(&keys);
	if (rc < 0) {
		json_decref(rest);
		return rc;
	}
	json_decref(*list);
	*list = rest;
	return 0;
}
