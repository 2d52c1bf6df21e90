/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the openAPIV3Schema of a CustomResourceDefinition. All errors are reported at
 * once; after an error the rest of the node is still read.
 *
 * A schema is a few chunks of memory behind its root. Nodes inside logic (allOf, ...) are
 * ordinary schemas of type ANY. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/schema/schema_parse.h"

static void parse_node(struct schema_parser *parser, struct neap_schema *node,
		       const json_t *json, const struct schema_step *at,
		       enum schema_place place, unsigned depth);

static bool is_logic(enum schema_place place)
{
	return place == SCHEMA_IN_LOGIC || place == SCHEMA_IN_EITHER;
}

static const struct neap_schema *new_node(struct schema_parser *parser,
					  const json_t *json,
					  const struct schema_step *at,
					  enum schema_place place, unsigned depth)
{
	struct neap_schema *node = schema_keep(parser, 1, sizeof(*node));

	if (node)
		parse_node(parser, node, json, at, place, depth);
	return node;
}

/* --- type --- */

static const char *const type_names[] = {"array",  "boolean", "integer", "number",
					 "object", "string",  NULL};
static const enum neap_schema_type types[] = {
	NEAP_SCHEMA_LIST,   NEAP_SCHEMA_BOOLEAN, NEAP_SCHEMA_INTEGER,
	NEAP_SCHEMA_NUMBER, NEAP_SCHEMA_OBJECT,  NEAP_SCHEMA_STRING,
};

/* Returns false and reports it when it is not a type. */
static bool type_of(struct schema_parser *parser, const json_t *json, const char *name,
		    const struct schema_step *at, enum neap_schema_type *ret)
{
	struct schema_step step = {.up = at, .name = "type"};
	char path[256];
	size_t i;

	for (i = 0; type_names[i]; i++) {
		if (strcmp(type_names[i], name) != 0)
			continue;
		*ret = types[i];
		return true;
	}
	(void)schema_path(&step, path, sizeof(path));
	if (strcmp(name, "null") == 0)
		neap_causes_forbidden(
			parser->causes, path,
			"type cannot be set to null, use nullable as an alternative");
	else
		neap_causes_unsupported(parser->causes, path,
					json_object_get(json, "type"), type_names);
	return false;
}

static void tell_no_type(struct schema_parser *parser, const struct schema_step *at,
			 enum schema_place place)
{
	static const char *const where[] = {
		[SCHEMA_AT_ROOT] = "at the root",
		[SCHEMA_AT_FIELD] = "for specified object fields",
		[SCHEMA_AT_ITEM] = "for specified array items",
	};

	schema_complain(parser, SCHEMA_REQUIRED, at, "type", NULL, "must not be empty %s",
			where[place]);
}

static void parse_type(struct schema_parser *parser, struct neap_schema *node,
		       const json_t *json, const struct schema_step *at,
		       enum schema_place place)
{
	const char *name = schema_word_text(parser, json, "type", at);
	bool is_either = schema_word_bool(parser, json, "x-kubernetes-int-or-string", at);
	bool has_type = name && *name != '\0';

	node->type = NEAP_SCHEMA_ANY;
	if (is_logic(place)) {
		if (has_type)
			schema_complain(parser, SCHEMA_FORBIDDEN, at, "type", NULL,
					"must be empty to be structural");
		return;
	}
	if (has_type) {
		/* Both hold: of an int-or-string it leaves the one or the other. */
		if (!type_of(parser, json, name, at, &node->type))
			return;
	} else if (is_either) {
		node->type = NEAP_SCHEMA_INT_OR_STRING;
	} else if (!node->keeps_unknown) {
		tell_no_type(parser, at, place);
	}
	if (place == SCHEMA_AT_ROOT && has_type && node->type != NEAP_SCHEMA_OBJECT)
		schema_complain(parser, SCHEMA_INVALID, at, "type",
				json_object_get(json, "type"),
				"must be object at the root");
}

static void parse_flags(struct schema_parser *parser, struct neap_schema *node,
			const json_t *json, const struct schema_step *at,
			enum schema_place place)
{
	static const char preserve[] = "x-kubernetes-preserve-unknown-fields";
	const json_t *rules =
		schema_word_list(parser, json, "x-kubernetes-validations", at);
	const char *doc = schema_word_text(parser, json, "description", at);

	if (is_logic(place))
		return;
	node->keeps_unknown = schema_word_bool(parser, json, preserve, at);
	if (json_is_false(schema_word(json, preserve)))
		schema_complain(parser, SCHEMA_INVALID, at, preserve,
				json_object_get(json, preserve),
				"must be true or undefined");
	node->is_nullable = schema_word_bool(parser, json, "nullable", at);
	node->is_embedded =
		schema_word_bool(parser, json, "x-kubernetes-embedded-resource", at) ||
		place == SCHEMA_AT_ROOT;
	node->has_rules = json_array_size(rules) > 0;
	if (doc && *doc != '\0')
		node->doc = schema_keep_text(parser, doc);
}

/* --- fields --- */

static const struct neap_schema text = {.type = NEAP_SCHEMA_STRING, .is_declared = true};
static const struct neap_schema_field whole_object[] = {
	{.name = "apiVersion",
	 .schema = &text,
	 .doc = "Group and version of the API that this object is written for."},
	{.name = "kind", .schema = &text, .doc = "What this object is."},
	{.name = "metadata",
	 .schema = NULL, /* that of the schema */
	 .doc = "Name, labels and annotations, and what the server knows of the object."},
};

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct neap_schema_field *)left)->name,
		      ((const struct neap_schema_field *)right)->name);
}

/* A declared one wins, but that of metadata: what it says holds besides
 * (ret_metadata). */
static void add_whole_object(struct schema_parser *parser, struct neap_schema *node,
			     struct neap_schema_field *fields,
			     const struct schema_step *properties,
			     const struct neap_schema **ret_metadata)
{
	size_t declared = node->field_count, i, j;

	for (i = 0; i < NEAP_ARRAY_LEN(whole_object); i++) {
		const struct neap_schema_field *own = &whole_object[i];
		struct schema_step step = {properties, own->name, 0, true};

		for (j = 0; j < declared; j++)
			if (strcmp(fields[j].name, own->name) == 0)
				break;
		if (j == declared) {
			fields[node->field_count] = *own;
			j = node->field_count++;
		} else if (!own->schema) {
			if (fields[j].schema->type != NEAP_SCHEMA_OBJECT)
				schema_complain(parser, SCHEMA_INVALID, &step, "type",
						NULL, "must be object");
			*ret_metadata = fields[j].schema;
		} else if (fields[j].schema->type != NEAP_SCHEMA_STRING) {
			schema_complain(parser, SCHEMA_INVALID, &step, "type", NULL,
					"must be string");
		}
		if (!own->schema)
			fields[j].schema = &parser->out->metadata;
		fields[j].fallback = NULL;
	}
}

/* The declared restrictions of metadata, as something that holds besides its type. */
static void add_metadata(struct schema_parser *parser, const struct neap_schema *metadata,
			 const struct neap_schema **extras, size_t *count)
{
	struct neap_schema *node = schema_keep(parser, 1, sizeof(*node));
	struct neap_schema_field *field = schema_keep(parser, 1, sizeof(*field));

	if (!node || !field)
		return;
	schema_node_init(node);
	field->name = "metadata";
	field->schema = metadata;
	node->fields = field;
	node->field_count = 1;
	extras[(*count)++] = node;
}

static void parse_fields(struct schema_parser *parser, struct neap_schema *node,
			 const json_t *json, const struct schema_step *at,
			 enum schema_place place, unsigned depth,
			 const struct neap_schema **ret_metadata)
{
	const json_t *properties = schema_word_object(parser, json, "properties", at);
	struct schema_step list = {.up = at, .name = "properties"};
	size_t room = json_object_size(properties) + NEAP_ARRAY_LEN(whole_object);
	struct neap_schema_field *fields;
	const char *name;
	json_t *value;

	if (json_object_size(properties) == 0 && !node->is_embedded)
		return;
	fields = schema_keep(parser, room, sizeof(*fields));
	if (!fields)
		return;
	json_object_foreach ((json_t *)properties, name, value) {
		struct schema_step step = {&list, name, 0, true};
		struct neap_schema_field *field = &fields[node->field_count];

		if (node->is_embedded && strcmp(name, "metadata") == 0)
			schema_rule_metadata(parser, value, &step);
		field->name = schema_keep_text(parser, name);
		field->schema = new_node(
			parser, value, &step,
			is_logic(place) ? SCHEMA_IN_LOGIC : SCHEMA_AT_FIELD, depth + 1);
		if (parser->rc < 0)
			return;
		field->fallback = field->schema->fallback;
		node->field_count++;
	}
	if (node->is_embedded)
		add_whole_object(parser, node, fields, &list, ret_metadata);
	qsort(fields, node->field_count, sizeof(*fields), by_name);
	node->fields = node->sorted = fields;
}

/* Every object has them, and a server that knows them by its route need not keep them. */
static bool is_route(const char *name)
{
	return strcmp(name, "apiVersion") == 0 || strcmp(name, "kind") == 0;
}

static void parse_required(struct schema_parser *parser, struct neap_schema *node,
			   const json_t *json, const struct schema_step *at,
			   enum schema_place place)
{
	const json_t *list = schema_word_list(parser, json, "required", at);
	size_t count = json_array_size(list), others = 0, i;
	const char **names = NULL;

	if (count == 0 || parser->rc < 0)
		return;
	names = schema_keep(parser, count + 1, sizeof(*names));
	for (i = 0; names && i < count; i++) {
		const json_t *name = json_array_get(list, i);
		struct neap_schema_field *field;

		if (!json_is_string(name)) {
			schema_complain(parser, SCHEMA_INVALID, at, "required", name,
					"must be a list of strings");
			return;
		}
		if (place == SCHEMA_AT_ROOT && is_route(json_string_value(name)))
			continue;
		/* The fields lie in this parser's own memory. */
		field = (struct neap_schema_field *)neap_schema_field_find(
			node, json_string_value(name));
		if (field)
			field->is_required = true;
		else
			names[others++] =
				schema_keep_text(parser, json_string_value(name));
	}
	if (others > 0)
		node->required = names;
}

/* --- items and values --- */

static void parse_items(struct schema_parser *parser, struct neap_schema *node,
			const json_t *json, const struct schema_step *at,
			enum schema_place place, unsigned depth)
{
	const json_t *items = schema_word(json, "items");
	struct schema_step step = {.up = at, .name = "items"};

	if (!items) {
		if (node->type == NEAP_SCHEMA_LIST && !is_logic(place))
			schema_complain(parser, SCHEMA_REQUIRED, &step, NULL, NULL,
					"must be specified");
		return;
	}
	if (json_is_array(items)) {
		schema_complain(parser, SCHEMA_FORBIDDEN, &step, NULL, NULL,
				"items must be a schema object and not an array");
		return;
	}
	node->items =
		new_node(parser, items, &step,
			 is_logic(place) ? SCHEMA_IN_LOGIC : SCHEMA_AT_ITEM, depth + 1);
	/* Has no meaning for an object. */
	if (node->type != NEAP_SCHEMA_LIST && node->type != NEAP_SCHEMA_ANY)
		node->items = NULL;
}

static void parse_map(struct schema_parser *parser, struct neap_schema *node,
		      const json_t *json, const struct schema_step *at, unsigned depth)
{
	static const char key[] = "additionalProperties";
	const json_t *values = schema_word(json, key);
	struct schema_step step = {.up = at, .name = key};

	if (!values)
		return;
	if (json_is_false(values)) {
		schema_complain(parser, SCHEMA_FORBIDDEN, &step, NULL, NULL,
				"additionalProperties cannot be set to false");
		return;
	}
	if (json_object_size(schema_word(json, "properties")) > 0) {
		schema_complain(
			parser, SCHEMA_FORBIDDEN, &step, NULL, NULL,
			"additionalProperties and properties are mutual exclusive");
		return;
	}
	if (json_is_true(values)) {
		if (node->type == NEAP_SCHEMA_OBJECT)
			node->type = NEAP_SCHEMA_MAP;
		return;
	}
	if (node->type == NEAP_SCHEMA_OBJECT) {
		node->items = new_node(parser, values, &step, SCHEMA_AT_FIELD, depth + 1);
		node->type = NEAP_SCHEMA_MAP;
	} else {
		/* Read for its faults only. */
		(void)new_node(parser, values, &step, SCHEMA_AT_FIELD, depth + 1);
	}
}

/* --- logic --- */

/* [{type: integer}, {type: string}]: an int-or-string said once more, with types as an
 * exception. */
static bool is_pair(const json_t *list)
{
	bool has_integer = false, has_string = false;
	size_t i;

	if (json_array_size(list) != 2)
		return false;
	for (i = 0; i < 2; i++) {
		const json_t *one = json_array_get(list, i);
		const char *type = json_string_value(json_object_get(one, "type"));

		if (!type || json_object_size(one) != 1)
			return false;
		has_integer |= strcmp(type, "integer") == 0;
		has_string |= strcmp(type, "string") == 0;
	}
	return has_integer && has_string;
}

/* Ends in NULL; NULL when there is nothing. */
static const struct neap_schema *const *
parse_alternatives(struct schema_parser *parser, const json_t *json, const char *key,
		   const struct schema_step *at, enum schema_place place, unsigned depth)
{
	const json_t *list = schema_word_list(parser, json, key, at);
	struct schema_step step = {.up = at, .name = key};
	struct schema_step item = {.up = &step};
	size_t count = json_array_size(list);
	const struct neap_schema **nodes;

	if (count == 0)
		return NULL;
	nodes = schema_keep(parser, count + 1, sizeof(*nodes));
	if (!nodes)
		return NULL;
	for (; item.index < count && parser->rc == 0; item.index++)
		nodes[item.index] = new_node(parser, json_array_get(list, item.index),
					     &item, place, depth + 1);
	return nodes;
}

/* Adds further limits after those written in allOf. */
static void add_extras(struct schema_parser *parser, struct neap_schema *node,
		       const struct neap_schema **extras, size_t extra_count)
{
	const struct neap_schema **all;
	size_t count = 0;

	if (extra_count == 0)
		return;
	while (node->all_of && node->all_of[count])
		count++;
	all = schema_keep(parser, count + extra_count + 1, sizeof(*all));
	if (!all)
		return;
	if (count > 0)
		memcpy(all, node->all_of, count * sizeof(*all));
	memcpy(all + count, extras, extra_count * sizeof(*all));
	node->all_of = all;
}

static void parse_logic(struct schema_parser *parser, struct neap_schema *node,
			const json_t *json, const struct schema_step *at,
			enum schema_place place, unsigned depth,
			const struct neap_schema **extras, size_t extra_count)
{
	bool is_either = json_is_true(schema_word(json, "x-kubernetes-int-or-string"));
	bool may_be_pair = is_either || place == SCHEMA_IN_EITHER;
	const json_t *not = schema_word(json, "not");

	if (!may_be_pair || !is_pair(schema_word(json, "anyOf")))
		node->any_of = parse_alternatives(parser, json, "anyOf", at,
						  SCHEMA_IN_LOGIC, depth);
	node->one_of =
		parse_alternatives(parser, json, "oneOf", at, SCHEMA_IN_LOGIC, depth);
	if (not ) {
		struct schema_step step = {.up = at, .name = "not"};

		node->not = new_node(parser, not, &step, SCHEMA_IN_LOGIC, depth + 1);
	}
	node->all_of =
		parse_alternatives(parser, json, "allOf", at,
				   is_either ? SCHEMA_IN_EITHER : SCHEMA_IN_LOGIC, depth);
	if (parser->rc < 0)
		return;
	if (!is_logic(place)) {
		/* The node itself lists all; its alternatives are examined. */
		struct neap_schema alternatives = *node;

		alternatives.fields = NULL;
		alternatives.field_count = 0;
		alternatives.items = NULL;
		schema_rule_outside(parser, &alternatives, node, at, at);
	}
	add_extras(parser, node, extras, extra_count);
}

/* --- nodes --- */

static void check_embedded(struct schema_parser *parser, const struct neap_schema *node,
			   const json_t *json, const struct schema_step *at)
{
	static const char key[] = "x-kubernetes-embedded-resource";

	if (!json_is_true(json_object_get(json, key)))
		return;
	if (node->type != NEAP_SCHEMA_OBJECT)
		schema_complain(
			parser, SCHEMA_INVALID, at, "type", json_object_get(json, "type"),
			"must be object if x-kubernetes-embedded-resource is true");
	if (!node->keeps_unknown &&
	    json_object_size(schema_word(json, "properties")) == 0)
		schema_complain(
			parser, SCHEMA_REQUIRED, at, "properties", NULL,
			"must not be empty if x-kubernetes-embedded-resource is true "
			"without x-kubernetes-preserve-unknown-fields");
}

static void parse_node(struct schema_parser *parser, struct neap_schema *node,
		       const json_t *json, const struct schema_step *at,
		       enum schema_place place, unsigned depth)
{
	const struct neap_schema *extras[SCHEMA_EXTRAS_MAX], *metadata = NULL;
	size_t count = 0;

	if (parser->rc < 0)
		return;
	schema_node_init(node);
	if (!json_is_object(json)) {
		schema_complain(parser, SCHEMA_INVALID, at, NULL, json,
				"must be a schema object");
		return;
	}
	if (++parser->nodes > NEAP_SCHEMA_NODES_MAX || depth > NEAP_SCHEMA_DEPTH_MAX) {
		schema_stop(parser, NEAP_ETOOLARGE, at,
			    depth > NEAP_SCHEMA_DEPTH_MAX ? "the schema is too deep"
							  : "the schema is too large");
		return;
	}
	schema_rule_words(parser, json, at, place);
	parse_flags(parser, node, json, at, place);
	parse_type(parser, node, json, at, place);
	check_embedded(parser, node, json, at);
	if (!is_logic(place))
		parse_map(parser, node, json, at, depth);
	parse_fields(parser, node, json, at, place, depth, &metadata);
	parse_required(parser, node, json, at, place);
	parse_items(parser, node, json, at, place, depth);
	if (parser->rc < 0)
		return;
	schema_parse_values(parser, node, json, at, extras, &count);
	if (metadata)
		add_metadata(parser, metadata, extras, &count);
	if (parser->rc < 0)
		return;
	parse_logic(parser, node, json, at, place, depth, extras, count);
	if (is_logic(place))
		return;
	schema_rule_lists(parser, node, json, at);
	schema_rule_default(parser, node, json, at);
}

/* --- whole schemas --- */

/* Anything with a name and labels; neap_schema_set_metadata replaces it. */
static void init_metadata(struct neap_schema *metadata)
{
	*metadata =
		(struct neap_schema){.type = NEAP_SCHEMA_OBJECT, .keeps_unknown = true};
}

int neap_schema_parse(const json_t *json, struct neap_schema **ret,
		      struct neap_causes *causes, struct neap_error *err)
{
	struct schema_parser parser = {
		.causes = causes,
		.causes_before = causes->count + causes->more,
		.err = err,
		.work = NEAP_SCHEMA_WORK_MAX,
	};
	struct schema_step root = {0};
	size_t first = causes->count;

	parser.out = neap_alloc(sizeof(*parser.out));
	if (!parser.out)
		return neap_error_nomem(err);
	init_metadata(&parser.out->metadata);
	parse_node(&parser, &parser.out->root, json, &root, SCHEMA_AT_ROOT, 0);
	if (parser.rc == 0 && schema_has_causes(&parser))
		parser.rc = first < causes->count
				    ? neap_error_field(err, NEAP_EINVAL,
						       causes->list[first].field, "%s",
						       causes->list[first].message)
				    : neap_error_set(err, NEAP_EINVAL,
						     "the schema is not right");
	if (parser.rc < 0) {
		neap_schema_free(&parser.out->root);
		return parser.rc;
	}
	*ret = &parser.out->root;
	return 0;
}

void neap_schema_free(struct neap_schema *schema)
{
	struct schema_parsed *parsed = (struct schema_parsed *)schema;
	size_t i;

	if (!parsed)
		return;
	for (i = 0; i < parsed->code_count; i++)
		schema_pattern_free(parsed->codes[i]);
	free(parsed->codes);
	json_decref(parsed->values);
	schema_chunks_free(parsed->chunks);
	free(parsed);
}

void neap_schema_set_metadata(struct neap_schema *schema,
			      const struct neap_schema *metadata)
{
	((struct schema_parsed *)schema)->metadata = *metadata;
}
