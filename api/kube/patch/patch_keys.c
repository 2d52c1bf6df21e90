/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the position of a scalar in a list: indexes sorted by value. Built once per
 * merged list. There is no hash that hostile keys could attack. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/patch/patch_priv.h"
#include "engine/base/mem.h"

static int compare(const void *a, const void *b, void *arg)
{
	const struct neap_patch_keys *keys = arg;
	size_t left = *(const size_t *)a, right = *(const size_t *)b;
	int order = neap_patch_scalar_compare(keys->keys[left], keys->keys[right]);

	if (order != 0)
		return order;
	return left < right ? -1 : left > right;
}

int neap_patch_keys_init(struct neap_patch_run *run, struct neap_patch_keys *keys,
			 size_t count)
{
	*keys = (struct neap_patch_keys){0};
	keys->keys = neap_alloc_array(count, sizeof(*keys->keys));
	keys->sorted = neap_alloc_array(count, sizeof(*keys->sorted));
	if (keys->keys == NULL || keys->sorted == NULL)
		return neap_error_nomem(run->err);
	keys->count = count;
	return 0;
}

void neap_patch_keys_done(struct neap_patch_keys *keys)
{
	free(keys->keys);
	free(keys->sorted);
	*keys = (struct neap_patch_keys){0};
}

void neap_patch_keys_sort(struct neap_patch_keys *keys)
{
	keys->sorted_count = 0;
	for (size_t i = 0; i < keys->count; i++)
		if (keys->keys[i] != NULL)
			keys->sorted[keys->sorted_count++] = i;
	qsort_r(keys->sorted, keys->sorted_count, sizeof(*keys->sorted), compare, keys);
}

/* The first key that order() does not place below the given one. */
static size_t find(const struct neap_patch_keys *keys, const json_t *key,
		   const char *text,
		   int (*order)(const json_t *have, const json_t *key, const char *text))
{
	size_t low = 0, high = keys->sorted_count, index;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (order(keys->keys[keys->sorted[middle]], key, text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == keys->sorted_count)
		return NEAP_PATCH_NOWHERE;
	index = keys->sorted[low];
	return order(keys->keys[index], key, text) == 0 ? index : NEAP_PATCH_NOWHERE;
}

static int order_by_key(const json_t *have, const json_t *key, const char *text)
{
	(void)text;
	return neap_patch_scalar_compare(have, key);
}

/* Texts sort after all other scalars. */
static int order_by_text(const json_t *have, const json_t *key, const char *text)
{
	size_t have_len, text_len = strlen(text);
	int order;

	(void)key;
	if (!json_is_string(have))
		return -1;
	have_len = json_string_length(have);
	order = memcmp(json_string_value(have), text,
		       have_len < text_len ? have_len : text_len);
	if (order != 0)
		return order;
	return have_len < text_len ? -1 : have_len > text_len;
}

size_t neap_patch_keys_find(const struct neap_patch_keys *keys, const json_t *key)
{
	return find(keys, key, NULL, order_by_key);
}

bool neap_patch_keys_has_text(const struct neap_patch_keys *keys, const char *text)
{
	return find(keys, NULL, text, order_by_text) != NEAP_PATCH_NOWHERE;
}
