/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for structural schemas, for lists, and for defaults that must validate, in the
 * words of a kube-apiserver. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/schema/schema_parse.h"

/* --- keywords --- */

static const struct {
	const char *key;
	const char *why;
	bool in_logic; /* only there */
	bool if_true;  /* its false is fine */
} refused[] = {
	{"$ref", "$ref is not supported", false, false},
	{"id", "id is not supported", false, false},
	{"additionalItems", "additionalItems is not supported", false, false},
	{"patternProperties", "patternProperties is not supported", false, false},
	{"definitions", "definitions is not supported", false, false},
	{"dependencies", "dependencies is not supported", false, false},
	{"uniqueItems",
	 "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
	 false, true},
	{"title", "must be empty to be structural", true, false},
	{"description", "must be empty to be structural", true, false},
	{"default", "must be undefined to be structural", true, false},
	{"additionalProperties", "must be undefined to be structural", true, false},
	{"nullable", "must be false to be structural", true, true},
	{"x-kubernetes-preserve-unknown-fields", "must be undefined to be structural",
	 true, false},
	{"x-kubernetes-embedded-resource", "must be false to be structural", true, true},
	{"x-kubernetes-int-or-string", "must be false to be structural", true, true},
	{"x-kubernetes-list-type", "must be undefined to be structural", true, false},
	{"x-kubernetes-list-map-keys", "must be empty to be structural", true, false},
	{"x-kubernetes-map-type", "must be undefined to be structural", true, false},
	{"x-kubernetes-validations", "must be empty to be structural", true, false},
};

/* Empty texts and containers are as good as nothing. */
static bool is_nothing(const json_t *value)
{
	return !value || (json_is_string(value) && json_string_length(value) == 0) ||
	       ((json_is_object(value) || json_is_array(value)) &&
		json_object_size(value) + json_array_size(value) == 0);
}

void schema_rule_words(struct schema_parser *parser, const json_t *json,
		       const struct schema_step *at, enum schema_place place)
{
	bool is_logic = place == SCHEMA_IN_LOGIC || place == SCHEMA_IN_EITHER;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(refused); i++) {
		const json_t *value = schema_word(json, refused[i].key);

		if (is_nothing(value) || (refused[i].in_logic && !is_logic) ||
		    (refused[i].if_true && json_is_false(value)))
			continue;
		schema_complain(parser, SCHEMA_FORBIDDEN, at, refused[i].key, NULL, "%s",
				refused[i].why);
	}
}

/* --- lists --- */

static bool is_scalar(const struct neap_schema *schema)
{
	return schema->type >= NEAP_SCHEMA_STRING;
}

static bool is_text(const json_t *value, const char *text)
{
	return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

/* Every key is a scalar that each item has. */
static void check_map_key(struct schema_parser *parser, const struct neap_schema *items,
			  const json_t *key, const struct schema_step *at)
{
	const struct neap_schema_field *field =
		json_is_string(key)
			? neap_schema_field_find(items, json_string_value(key))
			: NULL;
	struct schema_step at_items = {.up = at, .name = "items"};
	struct schema_step properties = {.up = &at_items, .name = "properties"};
	struct schema_step property = {.up = &properties, .is_key = true};

	if (!field) {
		schema_complain(parser, SCHEMA_INVALID, at, "x-kubernetes-list-map-keys",
				key, "entries must all be names of item properties");
		return;
	}
	property.name = field->name;
	if (!is_scalar(field->schema))
		schema_complain(parser, SCHEMA_INVALID, &property, "type", NULL,
				"must be a scalar type if parent array's "
				"x-kubernetes-list-type is map");
	if (!field->is_required && !field->fallback)
		schema_complain(parser, SCHEMA_REQUIRED, &property, "default", NULL,
				"this property is in x-kubernetes-list-map-keys, so it "
				"must have a default or be a required property");
	if (field->schema->is_nullable)
		schema_complain(parser, SCHEMA_FORBIDDEN, &property, "nullable", NULL,
				"this property is in x-kubernetes-list-map-keys, so it "
				"cannot be nullable");
}

/* Compared pairwise: a key is of an item's fields, and there are few. */
#define MAP_KEYS_MAX 64

static void read_map_keys(struct schema_parser *parser, struct neap_schema *node,
			  const json_t *keys, const struct schema_step *at)
{
	size_t count = json_array_size(keys), i, j;
	const char **names;

	if (count == 0) {
		schema_complain(parser, SCHEMA_REQUIRED, at, "x-kubernetes-list-map-keys",
				NULL,
				"must not be empty if x-kubernetes-list-type is map");
		return;
	}
	if (count > MAP_KEYS_MAX) {
		schema_stop(parser, NEAP_ETOOLARGE, at,
			    "too many x-kubernetes-list-map-keys");
		return;
	}
	if (!node->items || node->items->type != NEAP_SCHEMA_OBJECT) {
		struct schema_step items = {.up = at, .name = "items"};

		schema_complain(
			parser, SCHEMA_INVALID, &items, "type", NULL,
			"must be object if parent array's x-kubernetes-list-type is map");
		return;
	}
	names = schema_keep(parser, count + 1, sizeof(*names));
	for (i = 0; names && i < count; i++) {
		const json_t *key = json_array_get(keys, i);

		check_map_key(parser, node->items, key, at);
		for (j = 0; j < i; j++)
			if (json_equal(key, json_array_get(keys, j)))
				break;
		if (j < i)
			schema_complain(parser, SCHEMA_INVALID, at,
					"x-kubernetes-list-map-keys", key,
					"must be there once");
		names[i] = schema_keep_text(
			parser, json_is_string(key) ? json_string_value(key) : "");
	}
	node->list_keys = names;
}

/* Items compared as a whole. */
static void check_set_items(struct schema_parser *parser, const struct neap_schema *items,
			    const json_t *json, const struct schema_step *at)
{
	const json_t *item = schema_word(json, "items");
	struct schema_step step = {.up = at, .name = "items"};
	const json_t *kind;

	if (!items)
		return;
	if (items->is_nullable)
		schema_complain(
			parser, SCHEMA_FORBIDDEN, &step, "nullable", NULL,
			"cannot be nullable when x-kubernetes-list-type is \"set\"");
	if (items->type == NEAP_SCHEMA_OBJECT || items->type == NEAP_SCHEMA_MAP) {
		kind = schema_word(item, "x-kubernetes-map-type");
		if (!is_text(kind, "atomic"))
			schema_complain(parser, SCHEMA_INVALID, &step,
					"x-kubernetes-map-type", kind,
					"must be atomic as item of a list with "
					"x-kubernetes-list-type=set");
	} else if (items->type == NEAP_SCHEMA_LIST) {
		kind = schema_word(item, "x-kubernetes-list-type");
		if (kind && !is_text(kind, "atomic"))
			schema_complain(parser, SCHEMA_INVALID, &step,
					"x-kubernetes-list-type", kind,
					"must be atomic as item of a list with "
					"x-kubernetes-list-type=set");
	}
}

static const char *const list_types[] = {"atomic", "set", "map", NULL};
static const char *const map_types[] = {"atomic", "granular", NULL};

/* Returns the index in a list of names; -1, and reports it, when it is not in the
 * list. */
static int which(struct schema_parser *parser, const json_t *value,
		 const char *const *names, const struct schema_step *at, const char *key)
{
	struct schema_step step = {.up = at, .name = key};
	char path[256];
	int i;

	for (i = 0; names[i]; i++)
		if (is_text(value, names[i]))
			return i;
	neap_causes_unsupported(parser->causes, schema_path(&step, path, sizeof(path)),
				value, names);
	return -1;
}

void schema_rule_lists(struct schema_parser *parser, struct neap_schema *node,
		       const json_t *json, const struct schema_step *at)
{
	const json_t *list = schema_word(json, "x-kubernetes-list-type");
	const json_t *map = schema_word(json, "x-kubernetes-map-type");
	const json_t *keys =
		schema_word_list(parser, json, "x-kubernetes-list-map-keys", at);
	int type = -1;

	if (map) {
		node->is_atomic =
			which(parser, map, map_types, at, "x-kubernetes-map-type") == 0;
		if (node->type != NEAP_SCHEMA_OBJECT && node->type != NEAP_SCHEMA_MAP)
			schema_complain(
				parser, SCHEMA_INVALID, at, "type",
				schema_word(json, "type"),
				"must be object if x-kubernetes-map-type is specified");
	}
	if (list) {
		type = which(parser, list, list_types, at, "x-kubernetes-list-type");
		if (node->type != NEAP_SCHEMA_LIST)
			schema_complain(
				parser, SCHEMA_INVALID, at, "type",
				schema_word(json, "type"),
				"must be array if x-kubernetes-list-type is specified");
	}
	if (type == NEAP_LIST_MAP)
		read_map_keys(parser, node, keys, at);
	else if (json_array_size(keys) > 0)
		schema_complain(parser, SCHEMA_INVALID, at, "x-kubernetes-list-type",
				list,
				"must be map if x-kubernetes-list-map-keys is non-empty");
	if (type == NEAP_LIST_SET)
		check_set_items(parser, node->items, json, at);
	if (type >= 0 && node->type == NEAP_SCHEMA_LIST)
		node->list = (enum neap_schema_list)type;
}

/* --- logic --- */

static void rule_outside_all(struct schema_parser *parser,
			     const struct neap_schema *const *logic,
			     const struct neap_schema *outside, const char *key,
			     const struct schema_step *at_logic,
			     const struct schema_step *at_outside)
{
	struct schema_step list = {.up = at_logic, .name = key};
	struct schema_step item = {.up = &list};

	for (; logic && logic[item.index]; item.index++)
		schema_rule_outside(parser, logic[item.index], outside, &item,
				    at_outside);
}

static __attribute__((noinline)) void tell_inside(struct schema_parser *parser,
						  const struct schema_step *at_logic,
						  const struct schema_step *at_outside)
{
	char path[256];

	schema_complain(parser, SCHEMA_REQUIRED, at_outside, NULL, NULL,
			"because it is defined in %s",
			schema_path(at_logic, path, sizeof(path)));
}

void schema_rule_outside(struct schema_parser *parser, const struct neap_schema *logic,
			 const struct neap_schema *outside,
			 const struct schema_step *at_logic,
			 const struct schema_step *at_outside)
{
	struct schema_step in = {.up = at_logic, .name = "properties"};
	struct schema_step out = {.up = at_outside, .name = "properties"};
	struct schema_step in_one = {.up = &in, .is_key = true};
	struct schema_step out_one = {.up = &out, .is_key = true};
	size_t i;

	for (i = 0; i < logic->field_count; i++) {
		const struct neap_schema_field *field =
			neap_schema_field_find(outside, logic->fields[i].name);

		in_one.name = out_one.name = logic->fields[i].name;
		if (field)
			schema_rule_outside(parser, logic->fields[i].schema,
					    field->schema, &in_one, &out_one);
		else
			tell_inside(parser, &in_one, &out_one);
	}
	if (logic->items) {
		in.name = out.name = "items";
		if (outside->items && outside->type != NEAP_SCHEMA_MAP)
			schema_rule_outside(parser, logic->items, outside->items, &in,
					    &out);
		else
			tell_inside(parser, &in, &out);
	}
	rule_outside_all(parser, logic->all_of, outside, "allOf", at_logic, at_outside);
	rule_outside_all(parser, logic->any_of, outside, "anyOf", at_logic, at_outside);
	rule_outside_all(parser, logic->one_of, outside, "oneOf", at_logic, at_outside);
	if (logic->not ) {
		struct schema_step step = {.up = at_logic, .name = "not"};

		schema_rule_outside(parser, logic->not, outside, &step, at_outside);
	}
}

/* --- metadata --- */

static const char *const of_metadata[] = {"type", "description", "title", "properties"};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	while (count > 0)
		if (strcmp(names[--count], name) == 0)
			return true;
	return false;
}

void schema_rule_metadata(struct schema_parser *parser, const json_t *metadata,
			  const struct schema_step *at)
{
	static const char *const names[] = {"name", "generateName"};
	const json_t *properties = schema_word(metadata, "properties");
	bool is_fine = true;
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)metadata, key, value) {
		is_fine &= is_nothing(value) || json_is_null(value) ||
			   is_one_of(key, of_metadata, NEAP_ARRAY_LEN(of_metadata));
	}
	json_object_foreach ((json_t *)properties, key, value) {
		is_fine &= is_one_of(key, names, NEAP_ARRAY_LEN(names));
	}
	if (!is_fine)
		schema_complain(
			parser, SCHEMA_FORBIDDEN, at, NULL, NULL,
			"must not specify anything other than name and generateName, but "
			"metadata is implicitly specified");
}

/* --- defaults --- */

struct strangers {
	size_t count;
	char first[256];
};

static void count_stranger(void *arg, const char *path)
{
	struct strangers *strangers = arg;

	if (strangers->count++ == 0)
		(void)neap_strcopy(strangers->first, sizeof(strangers->first), path);
}

/* A default is an object like others: it is pruned, filled and checked. */
static void check_default(struct schema_parser *parser, const struct neap_schema *node,
			  const char *text, const json_t *value,
			  const struct schema_step *at)
{
	neap_auto_free struct neap_causes *found = neap_alloc(sizeof(*found));
	struct strangers strangers = {0};
	struct schema_step step = {.up = at, .name = "default"};
	char path[256];
	json_error_t where;
	uint64_t failures = neap_mem_failures();
	json_t *copy = NULL;
	size_t i;

	if (!found ||
	    neap_json_parse(text, strlen(text), JSON_DECODE_ANY | JSON_ALLOW_NUL, &copy,
			    &where) < 0) {
		schema_stop(parser, NEAP_ENOMEM, NULL, "");
		return;
	}
	(void)neap_schema_prune(node, copy, count_stranger, &strangers);
	if (strangers.count > 0)
		schema_complain(parser, SCHEMA_INVALID, at, "default", value,
				"must not have fields that the schema does not name: %s",
				strangers.first);
	else if (!schema_default_within(node, copy, &parser->work))
		schema_stop(parser,
			    neap_mem_failures() > failures ? NEAP_ENOMEM : NEAP_ETOOLARGE,
			    &step, "the defaults within this one are too large");
	else if (!schema_check_within(node, copy, found, &parser->work))
		schema_stop(parser, NEAP_ENOMEM, NULL, "");
	json_decref(copy);
	if (parser->rc < 0)
		return;
	neap_causes_infield(found, 0, "%s", schema_path(&step, path, sizeof(path)));
	for (i = 0; i < found->count; i++)
		neap_causes_add(parser->causes, found->list[i].reason,
				found->list[i].field, "%s", found->list[i].message);
	parser->causes->more += found->more;
}

void schema_rule_default(struct schema_parser *parser, struct neap_schema *node,
			 const json_t *json, const struct schema_step *at)
{
	const json_t *value = schema_word(json, "default");
	neap_auto_free char *text = NULL;

	if (!value || parser->rc < 0)
		return;
	text = neap_json_dump(value, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text) {
		schema_stop(parser, NEAP_ENOMEM, NULL, "");
		return;
	}
	node->fallback = schema_keep_text(parser, text);
	/* An invalid schema cannot validate its default. */
	if (!schema_has_causes(parser) && parser->rc == 0)
		check_default(parser, node, text, value, at);
}
