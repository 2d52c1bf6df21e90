/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures an object before anything else is done with it: its number of values, and
 * lists or maps over their limit. One visit per value, and a table lookup only for long
 * ones, which are rare. */
#include <stdlib.h>
#include <string.h>

#include "engine/schema/schema_priv.h"

struct extent {
	const struct neap_schema_bounds *bounds;
	const json_t *before;
	struct neap_causes *causes;
	size_t values;
};

static int by_name(const void *name, const void *bound)
{
	return strcmp(name, ((const struct neap_schema_bound *)bound)->name);
}

static size_t most_of(const struct neap_schema_bounds *bounds, const char *name)
{
	const struct neap_schema_bound *bound = NULL;

	if (name != NULL)
		bound = bsearch(name, bounds->rows, bounds->count, sizeof(*bound),
				by_name);
	return bound != NULL ? bound->max : bounds->other;
}

static size_t size_of(const json_t *value)
{
	return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

/* Returns the value at the same place in the other object; NULL: none. */
static const json_t *same_place(const json_t *object, const struct schema_step *at)
{
	if (at->up == NULL)
		return object;
	object = same_place(object, at->up);
	return at->name != NULL ? json_object_get(object, at->name)
				: json_array_get(object, at->index);
}

static __attribute__((noinline)) void look(struct extent *extent, const json_t *value,
					   const struct schema_step *at)
{
	size_t count = size_of(value), most = most_of(extent->bounds, at->name);
	char path[SCHEMA_PATH_MAX];

	if (count <= most || count <= size_of(same_place(extent->before, at)))
		return;
	neap_causes_add(extent->causes, "FieldValueTooMany",
			schema_path(at, path, sizeof(path)),
			"Too many: %zu: must have at most %zu items", count, most);
}

static void visit(struct extent *extent, const json_t *value,
		  const struct schema_step *at)
{
	struct schema_step step = {.up = at};
	json_t *child;

	extent->values++;
	if (!json_is_array(value) && !json_is_object(value))
		return;
	if (extent->bounds != NULL && at->up != NULL &&
	    size_of(value) > extent->bounds->least)
		look(extent, value, at);
	json_array_foreach (value, step.index, child) {
		visit(extent, child, &step);
	}
	json_object_foreach ((json_t *)(uintptr_t)value, step.name, child) {
		visit(extent, child, &step);
	}
}

size_t neap_schema_check_bounds(const struct neap_schema_bounds *bounds,
				const json_t *object, const json_t *before,
				struct neap_causes *causes)
{
	struct extent extent = {.bounds = bounds, .before = before, .causes = causes};
	struct schema_step root = {0};

	visit(&extent, object, &root);
	return extent.values;
}

size_t neap_schema_values(const json_t *object)
{
	return neap_schema_check_bounds(NULL, object, NULL, NULL);
}
