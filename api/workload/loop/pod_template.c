/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/loop/pod_template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "engine/json/json.h"
#include "engine/schema/schema.h"

/* Members whose empty object counts as missing. An empty labelSelector does not. */
static bool is_void_when_empty(const char *name)
{
	static const char *const names[] = {"metadata",     "labels",    "annotations",
					    "nodeSelector", "resources", "limits",
					    "requests",     NULL};

	return neap_text_is_in(name, names);
}

static bool is_void(const char *name, const json_t *value)
{
	if (json_is_null(value) || strcmp(name, "creationTimestamp") == 0)
		return true;
	if (json_is_array(value))
		return json_array_size(value) == 0;
	return json_is_object(value) && json_object_size(value) == 0 &&
	       is_void_when_empty(name);
}

/* Whether a member of this name is an amount, or a map of amounts. */
static bool is_amounts(const char *name)
{
	static const char *const names[] = {"limits",    "requests", "overhead",
					    "sizeLimit", "divisor",  NULL};

	return neap_text_is_in(name, names);
}

/* Equal amounts give the same text: older versions stored amounts in other forms. */
static json_t *bare_amount(const json_t *value)
{
	char amount[NEAP_QUANTITY_SIZE];

	return neap_schema_amount(value, amount)
		       ? json_string(amount)
		       : json_incref((json_t *)(uintptr_t)value);
}

/* A copy of value without empty members; a new reference, NULL without memory. The depth
 * was checked before. */
static json_t *bare(const json_t *value, bool has_amounts)
{
	json_t *copy, *item;
	const char *name;
	size_t i;

	if (json_is_array(value)) {
		copy = json_array();
		json_array_foreach ((json_t *)(uintptr_t)value, i, item) {
			if (json_array_append_new(copy, bare(item, false)) < 0)
				goto nomem;
		}
		return copy;
	}
	if (!json_is_object(value))
		return has_amounts ? bare_amount(value)
				   : json_incref((json_t *)(uintptr_t)value);
	copy = json_object();
	json_object_foreach ((json_t *)(uintptr_t)value, name, item) {
		json_t *inner = is_void(name, item)
					? NULL
					: bare(item, has_amounts || is_amounts(name));

		if (!inner && !is_void(name, item))
			goto nomem;
		if (inner && is_void(name, inner)) {
			json_decref(inner);
			inner = NULL;
		}
		if (inner && json_object_set_new(copy, name, inner) < 0)
			goto nomem;
	}
	return copy;
nomem:
	json_decref(copy);
	return NULL;
}

static json_t *bare_template(const json_t *pod_template)
{
	json_t *copy = bare(pod_template, false),
	       *metadata = json_object_get(copy, "metadata"),
	       *labels = json_object_get(metadata, "labels");

	if (labels && json_object_del(labels, NEAP_HASH_LABEL) == 0 &&
	    json_object_size(labels) == 0)
		(void)json_object_del(metadata, "labels");
	if (metadata && json_object_size(metadata) == 0)
		(void)json_object_del(copy, "metadata");
	return copy;
}

/* A text that is equal for templates of the same pods. The caller frees it; NULL without
 * memory. */
static char *template_text(const json_t *pod_template)
{
	json_t *copy = bare_template(pod_template);
	char *text = copy ? neap_json_dump(copy, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	json_decref(copy);
	return text;
}

bool neap_template_digest(const json_t *pod_template, uint8_t ret[NEAP_SHA256_BYTES])
{
	neap_auto_free char *text = template_text(pod_template);

	if (!text)
		return false;
	neap_sha256(text, strlen(text), ret);
	return true;
}

/* FNV-1a */
static uint32_t hash_bytes(uint32_t hash, const void *data, size_t len)
{
	const unsigned char *at = data;

	while (len--)
		hash = (hash ^ *at++) * 16777619u;
	return hash;
}

bool neap_template_hash(const json_t *pod_template, int64_t collisions,
			char ret[NEAP_TEMPLATE_HASH_MAX])
{
	/* No vowels, and no characters that look alike. */
	static const char safe[] = "bcdfghjklmnpqrstvwxz2456789";
	char *text = template_text(pod_template);
	uint32_t hash;

	if (!text)
		return false;
	hash = hash_bytes(2166136261u, text, strlen(text));
	free(text);
	if (collisions)
		hash = hash_bytes(hash, &collisions, sizeof(collisions));
	(void)snprintf(ret, NEAP_TEMPLATE_HASH_MAX, "%u", hash);
	for (char *at = ret; *at; at++)
		*at = safe[(unsigned char)*at % (sizeof(safe) - 1)];
	return true;
}
