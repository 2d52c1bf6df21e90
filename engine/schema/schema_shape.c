/* SPDX-License-Identifier: Apache-2.0
 *
 * Prunes objects, adds defaults, and measures objects before anything else is done. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/schema/schema_priv.h"

/* --- pruning --- */

struct pruner {
	void (*unknown)(void *arg, const char *path);
	void *arg;
	/* The way to the object that had the last one: most have many, and can lie
	 * deep. */
	const json_t *parent;
	size_t len;
	char path[SCHEMA_PATH_MAX];
};

/* Fields of an object embedded in another, whatever is declared. */
static bool is_own_of_embedded(const struct neap_schema *schema, const char *name)
{
	return schema->is_embedded &&
	       (strcmp(name, "apiVersion") == 0 || strcmp(name, "kind") == 0 ||
		strcmp(name, "metadata") == 0);
}

/* A type that has no members leaves what it finds to the check. */
static bool has_members(const struct neap_schema *schema)
{
	return schema->type == NEAP_SCHEMA_OBJECT || schema->type == NEAP_SCHEMA_MAP ||
	       schema->type == NEAP_SCHEMA_ANY;
}

static void tell_unknown(struct pruner *pruner, const json_t *object,
			 const struct schema_step *at, const char *name)
{
	char *end;

	if (!pruner->unknown)
		return;
	if (pruner->parent != object) {
		pruner->parent = object;
		pruner->len = strlen(schema_path(at, pruner->path, SCHEMA_PATH_MAX));
	}
	end = pruner->path + pruner->len;
	if (pruner->len > 0 && pruner->len + 1 < SCHEMA_PATH_MAX)
		*end++ = '.';
	(void)neap_strcopy(end, SCHEMA_PATH_MAX - (size_t)(end - pruner->path),
			   name); /* cut is fine */
	pruner->unknown(pruner->arg, pruner->path);
}

static void prune(struct pruner *pruner, const struct neap_schema *schema, json_t *value,
		  const struct schema_step *at);

static void prune_members(struct pruner *pruner, const struct neap_schema *schema,
			  json_t *object, const struct schema_step *at)
{
	bool is_open = schema->keeps_unknown ||
		       (schema->type == NEAP_SCHEMA_ANY && schema->field_count == 0);
	const char *name;
	json_t *member;
	void *next;

	if (!has_members(schema))
		return;
	json_object_foreach_safe(object, next, name, member)
	{
		const struct neap_schema *child = schema_member(schema, name);
		struct schema_step step = {at, name, 0, schema->type == NEAP_SCHEMA_MAP};

		if (!child) {
			if (is_open || is_own_of_embedded(schema, name))
				continue;
			tell_unknown(pruner, object, at, name);
			(void)json_object_del(object, name); /* it is there */
		} else if (!json_is_null(member)) {
			prune(pruner, child, member, &step);
		} else if (!child->is_nullable &&
			   (schema->type != NEAP_SCHEMA_MAP || !child->fallback)) {
			(void)json_object_del(object, name); /* it is there */
		}
	}
}

static void prune(struct pruner *pruner, const struct neap_schema *schema, json_t *value,
		  const struct schema_step *at)
{
	struct schema_step step = {.up = at};

	if (json_is_object(value)) {
		prune_members(pruner, schema, value, at);
	} else if (json_is_array(value) && schema->items &&
		   schema->type != NEAP_SCHEMA_MAP) {
		for (; step.index < json_array_size(value); step.index++)
			prune(pruner, schema->items, json_array_get(value, step.index),
			      &step);
	}
}

bool neap_schema_prune(const struct neap_schema *schema, json_t *object,
		       void (*unknown)(void *arg, const char *path), void *arg)
{
	struct pruner pruner = {.unknown = unknown, .arg = arg};
	struct schema_step root = {0};

	prune(&pruner, schema, object, &root);
	return true;
}

/* --- defaults --- */

/* Steps for an added value: it is parsed, checked, written and freed. */
#define MADE_STEPS 64

struct filler {
	uint64_t *work;
	size_t bytes; /* filled in */
	bool is_over; /* a ceiling */
};

static bool spend(struct filler *filler, uint64_t steps)
{
	if (*filler->work < steps) {
		*filler->work = 0;
		filler->is_over = true;
		return false;
	}
	*filler->work -= steps;
	return true;
}

/* A new value out of its text; NULL without memory, or over the ceiling. */
static json_t *make(struct filler *filler, const char *text)
{
	size_t len = strlen(text);
	json_error_t where;
	json_t *json = NULL;

	filler->bytes += len;
	filler->is_over |= filler->bytes > NEAP_SCHEMA_DEFAULTS_MAX;
	if (filler->is_over || !spend(filler, MADE_STEPS + len))
		return NULL;
	if (neap_json_parse(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &json, &where) <
	    0)
		return NULL;
	return json;
}

static bool fill(struct filler *filler, const struct neap_schema *schema, json_t *value,
		 unsigned depth);

static bool fill_fields(struct filler *filler, const struct neap_schema *schema,
			json_t *object)
{
	size_t i;

	for (i = 0; i < schema->field_count; i++) {
		const struct neap_schema_field *field = &schema->fields[i];
		const json_t *value;
		json_t *made;

		if (!field->fallback)
			continue;
		value = json_object_get(object, field->name);
		if (value && !(field->zero_is_missing && schema_is_zero(value)))
			continue;
		filler->bytes += strlen(field->name);
		made = make(filler, field->fallback);
		if (!made || json_object_set_new(object, field->name, made) < 0)
			return false;
	}
	return true;
}

static bool fill_members(struct filler *filler, const struct neap_schema *schema,
			 json_t *object, unsigned depth)
{
	const char *name;
	json_t *member;

	if (!has_members(schema))
		return true;
	if (!spend(filler, 1 + schema->field_count / 4 + json_object_size(object)))
		return false;
	if (!fill_fields(filler, schema, object))
		return false;
	json_object_foreach (object, name, member) {
		const struct neap_schema *child = schema_member(schema, name);

		if (!child)
			continue;
		if (json_is_null(member) && schema->type == NEAP_SCHEMA_MAP &&
		    child->fallback && !child->is_nullable) {
			member = make(filler, child->fallback);
			if (!member || json_object_set_new(object, name, member) < 0)
				return false;
		}
		if (!fill(filler, child, member, depth + 1))
			return false;
	}
	return true;
}

static bool fill_items(struct filler *filler, const struct neap_schema *schema,
		       json_t *list, unsigned depth)
{
	const struct neap_schema *child = schema->items;
	size_t i;

	if (!child || schema->type == NEAP_SCHEMA_MAP)
		return true;
	if (!spend(filler, 1 + json_array_size(list)))
		return false;
	for (i = 0; i < json_array_size(list); i++) {
		if (json_is_null(json_array_get(list, i)) && child->fallback &&
		    !child->is_nullable) {
			json_t *made = make(filler, child->fallback);

			if (!made || json_array_set_new(list, i, made) < 0)
				return false;
		}
		if (!fill(filler, child, json_array_get(list, i), depth + 1))
			return false;
	}
	return true;
}

/* The depth is that of the object, but defaults in a schema that goes in a circle could
 * go on. */
static bool fill(struct filler *filler, const struct neap_schema *schema, json_t *value,
		 unsigned depth)
{
	filler->is_over |= depth > SCHEMA_OBJECT_DEPTH_MAX;
	if (filler->is_over)
		return false;
	if (json_is_object(value))
		return fill_members(filler, schema, value, depth);
	if (json_is_array(value))
		return fill_items(filler, schema, value, depth);
	return true;
}

bool schema_default_within(const struct neap_schema *schema, json_t *object,
			   uint64_t *work)
{
	struct filler filler = {.work = work};

	return fill(&filler, schema, object, 0);
}

bool neap_schema_default_told(const struct neap_schema *schema, json_t *object,
			      bool *ret_is_over)
{
	uint64_t work = NEAP_SCHEMA_WORK_MAX;
	struct filler filler = {.work = &work};
	bool is_whole = fill(&filler, schema, object, 0);

	*ret_is_over = filler.is_over;
	return is_whole;
}

bool neap_schema_default(const struct neap_schema *schema, json_t *object)
{
	bool is_over;

	return neap_schema_default_told(schema, object, &is_over);
}

/* --- extent ---
 *
 * Measures an object before anything else is done with it: its number of values, and
 * lists or maps over their limit. One visit per value, and a table lookup only for long
 * ones, which are rare. */

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

	if (name)
		bound = bsearch(name, bounds->rows, bounds->count, sizeof(*bound),
				by_name);
	return bound ? bound->max : bounds->other;
}

static size_t size_of(const json_t *value)
{
	return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

/* Returns the value at the same place in the other object; NULL: none. */
static const json_t *same_place(const json_t *object, const struct schema_step *at)
{
	if (!at->up)
		return object;
	object = same_place(object, at->up);
	return at->name ? json_object_get(object, at->name)
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
	if (extent->bounds && at->up && size_of(value) > extent->bounds->least)
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
