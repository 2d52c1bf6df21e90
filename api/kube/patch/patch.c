/* SPDX-License-Identifier: Apache-2.0
 *
 * The type of a patch, its limits, and the simplest type: the JSON merge patch (RFC
 * 7386). */
#include "api/kube/patch/patch.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/kube/patch/patch_priv.h"
#include "engine/base/mem.h"

/* The limit of steps: some for each value of object and patch, and a minimum for small
 * ones. A patch may touch every value a few times, but not again and again. */
#define STEPS_PER_NODE 16
#define STEPS_ANYWAY   1000000

static const struct {
	const char *media_type;
	enum neap_patch_type type;
} types[] = {
	{"application/json-patch+json", NEAP_PATCH_JSON},
	{"application/merge-patch+json", NEAP_PATCH_MERGE},
	{"application/strategic-merge-patch+json", NEAP_PATCH_STRATEGIC},
};

bool neap_patch_type_parse(const char *media_type, enum neap_patch_type *ret)
{
	size_t len;

	if (!media_type)
		return false;
	media_type += strspn(media_type, " \t");
	len = strcspn(media_type, "; \t");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(types); i++) {
		if (strlen(types[i].media_type) != len ||
		    strncasecmp(types[i].media_type, media_type, len) != 0)
			continue;
		media_type += len;
		media_type += strspn(media_type, " \t");
		if (*media_type != '\0' && *media_type != ';')
			return false;
		*ret = types[i].type;
		return true;
	}
	return false;
}

/* --- RFC 7386 --- */

/* If the patch is a map, an object that is NULL or not a map counts as an empty map. */
static int merge(struct neap_patch_run *run, const json_t *object, const json_t *patch,
		 json_t **ret)
{
	json_auto_t *result = NULL;
	json_t *old, *change, *made = NULL;
	const char *name;
	int rc;

	if (!json_is_object(patch))
		return neap_patch_copy(run, patch, ret);
	rc = neap_patch_spend(run, 1);
	if (rc < 0)
		return rc;
	result = json_object();
	if (!result)
		return neap_error_nomem(run->err);
	json_object_foreach ((json_t *)object, name, old) {
		change = json_object_get(patch, name);
		if (json_is_null(change))
			continue;
		rc = !change ? neap_patch_copy(run, old, &made)
			     : merge(run, old, change, &made);
		if (rc < 0)
			return rc;
		if (json_object_set_new_nocheck(result, name, made) < 0)
			return neap_error_nomem(run->err);
	}
	json_object_foreach ((json_t *)patch, name, change) {
		if (json_is_null(change) || json_object_get(object, name))
			continue;
		rc = merge(run, NULL, change, &made);
		if (rc < 0)
			return rc;
		if (json_object_set_new_nocheck(result, name, made) < 0)
			return neap_error_nomem(run->err);
	}
	*ret = neap_steal(result);
	return 0;
}

/* --- all kinds --- */

static int too_deep(struct neap_error *err, const char *what)
{
	return neap_error_set(err, NEAP_ETOOLARGE, "the %s has more than %d levels", what,
			      NEAP_PATCH_DEPTH_MAX);
}

int neap_patch_apply(enum neap_patch_type type, const struct neap_schema *schema,
		     const json_t *object, const json_t *patch, json_t **ret,
		     struct neap_error *err)
{
	struct neap_patch_size object_size, patch_size;
	struct neap_error unheard = {0};
	struct neap_patch_run run = {.err = err ? err : &unheard};

	if (!object || !patch)
		return neap_error_set(run.err, NEAP_EINVAL, "invalid JSON document");
	if (!neap_patch_measure(object, &object_size))
		return too_deep(run.err, "object");
	if (!neap_patch_measure(patch, &patch_size))
		return too_deep(run.err, "patch");
	run.work = (uint64_t)STEPS_PER_NODE * (object_size.nodes + patch_size.nodes) +
		   STEPS_ANYWAY;
	switch (type) {
	case NEAP_PATCH_JSON:
		return neap_patch_json(&run, object, patch, ret);
	case NEAP_PATCH_MERGE:
		return merge(&run, object, patch, ret);
	case NEAP_PATCH_STRATEGIC:
		return neap_patch_strategic(&run, schema, object, patch, ret);
	}
	return neap_error_set(run.err, NEAP_EINTERNAL, "no such type of patch");
}

/* --- keys of lists ---
 *
 * Finds the position of a scalar in a list: indexes sorted by value. Built once per
 * merged list. A sorted list has no hash that keys of an attacker could fill. */

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
	if (!keys->keys || !keys->sorted)
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
		if (keys->keys[i])
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

static int order_by_key(const json_t *have, const json_t *key,
			const char *text NEAP_UNUSED)
{
	return neap_patch_scalar_compare(have, key);
}

/* Texts sort after all other scalars. */
static int order_by_text(const json_t *have, const json_t *key NEAP_UNUSED,
			 const char *text)
{
	size_t have_len, text_len = strlen(text);
	int order;

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
