/* SPDX-License-Identifier: Apache-2.0
 *
 * Label selectors. Made for few requirements and many matches: requirements are an array,
 * followed by the positions of their values (sorted where they are searched), then all
 * texts. */
#include "engine/base/selector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/text.h"

#define NAME_MAX_BYTES   63
#define PREFIX_MAX_BYTES 253
#define SHOWN_BYTES      48 /* of a value in a message */

/* The last two only texts have. */
enum op { OP_IN, OP_NOT_IN, OP_EXISTS, OP_DOES_NOT_EXIST, OP_GT, OP_LT, OP_COUNT };

static const char *const operators[OP_COUNT] = {"In",           "NotIn", "Exists",
						"DoesNotExist", "Gt",    "Lt"};

struct requirement {
	uint32_t op;
	uint32_t key;          /* offset in the texts */
	uint32_t first, count; /* of the places of its values */
};

struct neap_selector {
	uint32_t size, count, value_count;
	/* then the offsets of the values in the texts, then these, each with its NUL */
	struct requirement rows[];
};

/* What is being built. */
struct builder {
	struct requirement rows[NEAP_SELECTOR_REQUIREMENTS];
	uint32_t values[NEAP_SELECTOR_VALUES];
	size_t count, value_count;
	enum op op_end; /* end of the known operators */
	struct neap_buf texts;
	struct neap_error *err;
};

/* --- labels --- */

/* [A-Za-z0-9] at both ends, also - _ . between; not empty. */
static bool is_name(const char *text, size_t len)
{
	if (!len || !neap_text_is_alnum(text[0]) || !neap_text_is_alnum(text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!neap_text_is_alnum(text[i]) && text[i] != '-' && text[i] != '_' &&
		    text[i] != '.')
			return false;
	return true;
}

/* Lower case labels of a domain name, joined by dots. */
static bool is_domain(const char *text, size_t len)
{
	bool was_alnum = false;

	for (size_t i = 0; i < len; i++) {
		bool is_lower =
			neap_text_is_alnum(text[i]) && (text[i] < 'A' || text[i] > 'Z');

		if (!is_lower && text[i] != '-' && text[i] != '.')
			return false;
		/* A dash or a dot comes after, a dot also before a letter or digit. */
		if (!is_lower && !was_alnum &&
		    (text[i] == '.' || !i || text[i - 1] == '.'))
			return false;
		was_alnum = is_lower;
	}
	return was_alnum;
}

int neap_label_check_key(const char *text, struct neap_error *err)
{
	const char *slash = strchr(text, '/'), *name = slash ? slash + 1 : text;

	if (strchr(name, '/'))
		return neap_error_set(
			err, NEAP_EINVAL,
			"a qualified name must consist of alphanumeric characters, "
			"'-', '_' or '.', with an optional DNS subdomain prefix and "
			"'/' (e.g. 'example.com/MyName')");
	if (slash && slash == text)
		return neap_error_set(err, NEAP_EINVAL, "prefix part must be non-empty");
	if (slash && slash - text > PREFIX_MAX_BYTES)
		return neap_error_set(err, NEAP_EINVAL,
				      "prefix part must be no more than 253 bytes");
	if (slash && !is_domain(text, (size_t)(slash - text)))
		return neap_error_set(
			err, NEAP_EINVAL,
			"prefix part a lowercase RFC 1123 subdomain must consist of lower case "
			"alphanumeric characters, '-' or '.', and must start and end with an "
			"alphanumeric character");
	if (!name[0])
		return neap_error_set(err, NEAP_EINVAL, "name part must be non-empty");
	if (strlen(name) > NAME_MAX_BYTES)
		return neap_error_set(err, NEAP_EINVAL,
				      "name part must be no more than 63 bytes");
	if (!is_name(name, strlen(name)))
		return neap_error_set(
			err, NEAP_EINVAL,
			"name part must consist of alphanumeric characters, '-', '_' or '.', "
			"and must start and end with an alphanumeric character");
	return 0;
}

int neap_label_check_value(const char *text, struct neap_error *err)
{
	if (strlen(text) > NAME_MAX_BYTES)
		return neap_error_set(err, NEAP_EINVAL, "must be no more than 63 bytes");
	if (text[0] && !is_name(text, strlen(text)))
		return neap_error_set(
			err, NEAP_EINVAL,
			"a valid label must be an empty string or consist of alphanumeric "
			"characters, '-', '_' or '.', and must start and end with an "
			"alphanumeric character");
	return 0;
}

/* --- parsing --- */

/* Prefixes the present message with `Invalid value: "text": `. */
static int invalid(struct builder *b, const char *field, const char *text)
{
	char shown[SHOWN_BYTES + 1];

	(void)neap_strcopy(shown, sizeof(shown), text); /* cut is fine */
	for (char *c = shown; *c; c++)
		if ((unsigned char)*c < ' ' || *c == '\177')
			*c = '?';
	(void)neap_error_infield(b->err, "%s", field);
	return neap_error_wrap(b->err, "Invalid value: \"%s\"", shown);
}

/* Returns NULL for other types, and for a text with NUL. */
static const char *text_of(const json_t *json)
{
	const char *text = json_string_value(json);

	return text && strlen(text) == json_string_length(json) ? text : NULL;
}

static int bad_type(struct builder *b, const char *field, const char *wanted)
{
	return neap_error_field(b->err, NEAP_EINVAL, field, "Invalid value: %s is wanted",
				wanted);
}

/* The keys in the order of their bytes, so that the first error is the same in every
 * process. */
static int sort_keys(struct builder *b, const json_t *object, const char *field,
		     const char **keys, size_t *ret_count)
{
	const char *key;
	json_t *value;

	*ret_count = 0;
	json_object_foreach ((json_t *)object, key, value) {
		if (*ret_count == NEAP_SELECTOR_REQUIREMENTS)
			return neap_error_field(b->err, NEAP_ETOOLARGE, field,
						"Too many: must have at most %d members",
						NEAP_SELECTOR_REQUIREMENTS);
		keys[(*ret_count)++] = key;
	}
	qsort(keys, *ret_count, sizeof(*keys), neap_text_compare);
	return 0;
}

/* Starts a row; its values follow. */
static int add_row(struct builder *b, enum op op, const char *key)
{
	if (b->count == NEAP_SELECTOR_REQUIREMENTS)
		return neap_error_set(b->err, NEAP_ETOOLARGE,
				      "Too many: a selector has at most %d requirements",
				      NEAP_SELECTOR_REQUIREMENTS);
	b->rows[b->count++] = (struct requirement){.op = op,
						   .key = (uint32_t)b->texts.len,
						   .first = (uint32_t)b->value_count};
	neap_buf_add(&b->texts, key, strlen(key) + 1);
	return 0;
}

static int add_value(struct builder *b, const char *value)
{
	if (b->value_count == NEAP_SELECTOR_VALUES)
		return neap_error_set(b->err, NEAP_ETOOLARGE,
				      "Too many: a selector has at most %d values",
				      NEAP_SELECTOR_VALUES);
	b->values[b->value_count++] = (uint32_t)b->texts.len;
	b->rows[b->count - 1].count++;
	neap_buf_add(&b->texts, value, strlen(value) + 1);
	return 0;
}

/* field "": each label is its own field. */
static int read_labels(struct builder *b, const json_t *labels, const char *field)
{
	const char *keys[NEAP_SELECTOR_REQUIREMENTS];
	size_t count;
	int rc;

	if (!json_is_object(labels))
		return bad_type(b, field, "an object of labels");
	rc = sort_keys(b, labels, field, keys, &count);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++) {
		const char *at = field[0] ? field : keys[i];
		const char *value = text_of(json_object_get(labels, keys[i]));

		if (neap_label_check_key(keys[i], b->err) < 0)
			return invalid(b, at, keys[i]);
		if (!value) {
			(void)bad_type(b, at, "a text");
			return neap_error_wrap(b->err, "label '%.63s'", keys[i]);
		}
		if (neap_label_check_value(value, b->err) < 0)
			return invalid(b, at, value);
		rc = add_row(b, OP_IN, keys[i]);
		rc = rc < 0 ? rc : add_value(b, value);
		if (rc < 0)
			return neap_error_infield(b->err, "%s", at);
	}
	return 0;
}

static int read_values(struct builder *b, enum op op, const json_t *values)
{
	int64_t number;
	char at[32];
	int rc = 0;

	if (values && !json_is_null(values) && !json_is_array(values))
		return bad_type(b, "values", "a list of texts");
	if (op == OP_IN || op == OP_NOT_IN) {
		if (!json_array_size(values))
			return neap_error_field(b->err, NEAP_EINVAL, "values",
						"Required value: must be specified when "
						"`operator` is 'In' or 'NotIn'");
	} else if (op < OP_GT && json_array_size(values)) {
		return neap_error_field(
			b->err, NEAP_EINVAL, "values",
			"Forbidden: may not be specified when `operator` is "
			"'Exists' or 'DoesNotExist'");
	}
	for (size_t i = 0; rc == 0 && i < json_array_size(values); i++) {
		const char *value = text_of(json_array_get(values, i));

		snprintf(at, sizeof(at), "values[%zu]", i);
		if (!value)
			return bad_type(b, at, "a text");
		if (neap_label_check_value(value, b->err) < 0)
			return invalid(b, at, value);
		if (op >= OP_GT && neap_int_parse(value, &number, b->err) < 0)
			return neap_error_field(
				b->err, NEAP_EINVAL, at,
				"for 'Gt', 'Lt' operators, the value must "
				"be an integer");
		rc = add_value(b, value);
	}
	return rc < 0 ? neap_error_infield(b->err, "%s", at) : 0;
}

/* Refuses members that are not among names. */
static int check_members(struct builder *b, const json_t *object,
			 const char *const *names)
{
	const char *keys[NEAP_SELECTOR_REQUIREMENTS];
	size_t count;
	int rc = sort_keys(b, object, "", keys, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		const char *const *name = names;

		while (*name && strcmp(*name, keys[i]) != 0)
			name++;
		if (!*name)
			return neap_error_field(b->err, NEAP_EINVAL, keys[i],
						"unknown field; known: %s, %s%s%s",
						names[0], names[1], names[2] ? ", " : "",
						names[2] ? names[2] : "");
	}
	return rc;
}

static int read_expression(struct builder *b, const json_t *json)
{
	static const char *const names[] = {"key", "operator", "values", NULL};
	const char *key = text_of(json_object_get(json, "key"));
	const char *name = text_of(json_object_get(json, "operator"));
	enum op op = OP_IN;
	int rc;

	if (!json_is_object(json))
		return bad_type(b, "", "an object with key, operator and values");
	rc = check_members(b, json, names);
	if (rc < 0)
		return rc;
	if (!key)
		return neap_error_field(b->err, NEAP_EINVAL, "key",
					"Required value: a text is wanted");
	if (neap_label_check_key(key, b->err) < 0)
		return invalid(b, "key", key);
	if (!name)
		return neap_error_field(
			b->err, NEAP_EINVAL, "operator",
			"Required value: In, NotIn, Exists or DoesNotExist");
	while (op < b->op_end && strcmp(operators[op], name) != 0)
		op++;
	if (op == b->op_end) {
		(void)neap_error_set(b->err, NEAP_EINVAL,
				     "not a valid selector operator; known: In, NotIn, "
				     "Exists, DoesNotExist");
		return invalid(b, "operator", name);
	}
	rc = add_row(b, op, key);
	return rc < 0 ? rc : read_values(b, op, json_object_get(json, "values"));
}

static int read_selector(struct builder *b, const json_t *json)
{
	static const char *const names[] = {"matchLabels", "matchExpressions", NULL};
	const json_t *labels = json_object_get(json, names[0]);
	const json_t *list = json_object_get(json, names[1]);
	int rc;

	if (!json_is_object(json))
		return bad_type(b, "", "an object with matchLabels or matchExpressions");
	rc = check_members(b, json, names);
	if (rc == 0 && labels && !json_is_null(labels))
		rc = read_labels(b, labels, names[0]);
	if (rc < 0)
		return rc;
	if (list && !json_is_null(list) && !json_is_array(list))
		return bad_type(b, names[1], "a list of requirements");
	for (size_t i = 0; i < json_array_size(list); i++) {
		rc = read_expression(b, json_array_get(list, i));
		if (rc < 0)
			return neap_error_infield(b->err, "matchExpressions[%zu]", i);
	}
	return 0;
}

/* Insertion: lists that come sorted cost nothing, and none is long. */
static void sort_values(struct builder *b, const struct requirement *row)
{
	uint32_t *values = b->values + row->first;

	for (uint32_t i = 1; row->op < OP_GT && i < row->count; i++) {
		uint32_t value = values[i], at = i;

		for (; at > 0 &&
		       strcmp(b->texts.data + values[at - 1], b->texts.data + value) > 0;
		     at--)
			values[at] = values[at - 1];
		values[at] = value;
	}
}

static int build(struct builder *b, struct neap_selector **ret)
{
	size_t rows = b->count * sizeof(b->rows[0]);
	size_t values = b->value_count * sizeof(b->values[0]);
	size_t size = sizeof(struct neap_selector) + rows + values + b->texts.len;
	struct neap_selector *selector;

	if (neap_buf_failed(&b->texts)) /* the limits keep it below its ceiling */
		return neap_error_nomem(b->err);
	for (size_t i = 0; i < b->count; i++)
		sort_values(b, &b->rows[i]);
	selector = neap_alloc(size);
	if (!selector)
		return neap_error_nomem(b->err);
	selector->size = (uint32_t)size;
	selector->count = (uint32_t)b->count;
	selector->value_count = (uint32_t)b->value_count;
	memcpy(selector->rows, b->rows, rows);
	memcpy((char *)selector->rows + rows, b->values, values);
	memcpy((char *)selector->rows + rows + values, b->texts.data, b->texts.len);
	*ret = selector;
	return 0;
}

static int parse(const json_t *json, bool is_map, enum op op_end,
		 struct neap_selector **ret, struct neap_error *err)
{
	struct neap_error own = {0};
	struct builder b = {.op_end = op_end, .err = err ? err : &own};
	int rc;

	neap_buf_init(&b.texts, NEAP_BUF_LINE);
	rc = is_map ? read_labels(&b, json, "") : read_selector(&b, json);
	rc = rc < 0 ? rc : build(&b, ret);
	neap_buf_done(&b.texts);
	return rc;
}

int neap_selector_parse(const json_t *json, struct neap_selector **ret,
			struct neap_error *err)
{
	return parse(json, false, OP_GT, ret, err);
}

int neap_selector_parse_into(struct neap_arena *arena, const json_t *json,
			     const struct neap_selector **ret, struct neap_error *err)
{
	struct neap_selector *selector;
	void *copy;
	int rc = neap_selector_parse(json, &selector, err);

	if (rc < 0)
		return rc;
	copy = neap_arena_alloc(arena, neap_selector_size(selector));
	if (copy)
		memcpy(copy, selector, neap_selector_size(selector));
	neap_selector_free(selector);
	*ret = copy;
	return copy ? 0 : neap_error_nomem(err);
}

int neap_selector_parse_of_text(const json_t *json, struct neap_selector **ret,
				struct neap_error *err)
{
	return parse(json, false, OP_COUNT, ret, err);
}

int neap_selector_parse_map(const json_t *json, struct neap_selector **ret,
			    struct neap_error *err)
{
	return parse(json, true, OP_GT, ret, err);
}

void neap_selector_free(struct neap_selector *selector)
{
	free(selector);
}

bool neap_selector_is_empty(const struct neap_selector *selector)
{
	return selector->count == 0;
}

size_t neap_selector_count(const struct neap_selector *selector)
{
	return selector->count;
}

bool neap_selector_is_same(const struct neap_selector *a, const struct neap_selector *b)
{
	return a->size == b->size && memcmp(a, b, a->size) == 0;
}

size_t neap_selector_size(const struct neap_selector *selector)
{
	return selector->size;
}

/* --- matching --- */

/* Compares both as whole numbers; anything else is neither above nor below. */
static bool is_beyond(enum op op, const char *value, size_t len, const char *wanted)
{
	char text[24];
	int64_t has, than;

	if (len >= sizeof(text))
		return false;
	memcpy(text, value, len);
	text[len] = '\0';
	if (neap_int_parse(text, &has, NULL) < 0 ||
	    neap_int_parse(wanted, &than, NULL) < 0)
		return false;
	return op == OP_GT ? has > than : has < than;
}

/* The sign of the text before or behind the value, which need not end in a NUL. */
static int compare_value(const char *text, const char *value, size_t len)
{
	size_t text_len = strlen(text);
	int sign = memcmp(text, value, text_len < len ? text_len : len);

	return sign ? sign : (text_len > len) - (text_len < len);
}

static bool is_among(const char *texts, const uint32_t *values, uint32_t count,
		     const char *value, size_t len)
{
	while (count) {
		uint32_t middle = count / 2;
		int sign = compare_value(texts + values[middle], value, len);

		if (sign == 0)
			return true;
		if (sign < 0) {
			values += middle + 1;
			count -= middle + 1;
		} else {
			count = middle;
		}
	}
	return false;
}

bool neap_selector_matches_with(const struct neap_selector *selector,
				neap_label_get_fn *get, void *arg)
{
	const uint32_t *places = (const uint32_t *)(selector->rows + selector->count);
	const char *texts = (const char *)(places + selector->value_count);

	for (uint32_t i = 0; i < selector->count; i++) {
		const struct requirement *row = &selector->rows[i];
		const uint32_t *values = places + row->first;
		const char *value = NULL;
		size_t len = 0;
		bool has = get(arg, texts + row->key, &value, &len), is_in = false;

		if (has && row->op < OP_GT)
			is_in = is_among(texts, values, row->count, value, len);
		for (uint32_t k = 0; has && row->op >= OP_GT && k < row->count && !is_in;
		     k++)
			is_in = is_beyond(row->op, value, len, texts + values[k]);
		if (row->op == OP_IN || row->op >= OP_GT ? !is_in
		    : row->op == OP_NOT_IN               ? is_in
		    : row->op == OP_EXISTS               ? !has
							 : has)
			return false;
	}
	return true;
}

static bool get_json(void *arg, const char *key, const char **ret_value, size_t *ret_len)
{
	const json_t *value = json_object_get(arg, key);

	*ret_value = json_string_value(value);
	*ret_len = json_string_length(value);
	return *ret_value != NULL;
}

bool neap_selector_matches(const struct neap_selector *selector, const json_t *labels)
{
	return neap_selector_matches_with(selector, get_json, (json_t *)labels);
}
