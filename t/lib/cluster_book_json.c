/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands in objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/quantity.h"
#include "t/lib/cluster_book_priv.h"

#define HOST "kubernetes.io/hostname"

json_t *book_at(const json_t *json, const char *path)
{
	char part[64];

	while (json && *path) {
		size_t len = strcspn(path, ".");

		assert_true(len < sizeof(part));
		memcpy(part, path, len);
		part[len] = '\0';
		json = json_object_get(json, part);
		path += len + (path[len] == '.');
	}
	return (json_t *)(uintptr_t)json;
}

const char *book_text(const json_t *json, const char *path)
{
	const char *text = json_string_value(book_at(json, path));

	return text ? text : "";
}

const char *book_annotation(const json_t *object, const char *key)
{
	const char *text = json_string_value(
		json_object_get(book_at(object, "metadata.annotations"), key));

	return text ? text : "";
}

const char *book_label(const json_t *labels, const char *key)
{
	return json_string_value(json_object_get(labels, key));
}

int64_t book_amount(const char *name, const json_t *value)
{
	bool is_cpu = strcmp(name, "cpu") == 0;
	const char *text = json_string_value(value);
	int64_t amount = 0;

	if (json_is_integer(value))
		return json_integer_value(value) * (is_cpu ? 1000 : 1);
	assert_non_null(text);
	if ((is_cpu ? neap_quantity_parse_milli(text, &amount, NULL)
		    : neap_quantity_parse_units(text, &amount, NULL)) < 0)
		fail_msg("%s: %s", name, text);
	return amount;
}

/* --- labels --- */

bool book_has_labels(const json_t *wanted, const json_t *labels)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)wanted, key, value) {
		const char *is = book_label(labels, key);

		if (!is || strcmp(is, json_string_value(value)) != 0)
			return false;
	}
	return true;
}

/* As of pods that want a host of their own. */
bool book_is_away_from(const struct book_pod *pod, const struct book_pod *other)
{
	const json_t *terms =
		book_at(pod->affinity,
			"podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution");

	for (size_t i = 0; i < json_array_size(terms); i++) {
		const json_t *term = json_array_get(terms, i);

		if (strcmp(book_text(term, "topologyKey"), HOST) == 0 &&
		    strcmp(pod->ns, other->ns) == 0 &&
		    book_has_labels(book_at(term, "labelSelector.matchLabels"),
				    other->labels))
			return true;
	}
	return false;
}
