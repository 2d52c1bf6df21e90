/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/object/term.h"

#include <string.h>

#include "engine/base/quantity.h"
#include "engine/json/json.h"

static const char *const operators[NEAP_TERM_OP_COUNT] = {
	"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt",
};

static int nomem_or(const struct neap_arena *arena, struct neap_error *err)
{
	return arena->failed ? neap_error_nomem(err) : 0;
}

static int too_many(struct neap_error *err)
{
	return neap_error_set(err, NEAP_ETOOLARGE, "more than %d", NEAP_TERM_ITEMS_MAX);
}

static int read_values(struct neap_requirement *req, const json_t *list,
		       struct neap_arena *arena, struct neap_error *err)
{
	size_t count = json_array_size(list);

	if (count > NEAP_TERM_ITEMS_MAX)
		return too_many(err);
	req->values = neap_arena_array(arena, count, sizeof(*req->values));
	for (size_t i = 0; req->values && i < count; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text)
			return neap_error_field(err, NEAP_EINVAL, "values",
						"must be strings");
		req->values[req->value_count++] = neap_arena_strdup(arena, text);
	}
	return nomem_or(arena, err);
}

static int read_requirement(struct neap_requirement *req, const json_t *json,
			    bool is_field, struct neap_arena *arena,
			    struct neap_error *err)
{
	const char *op = neap_json_text(json, "operator"),
		   *key = neap_json_text(json, "key");
	int ret;

	req->is_field = is_field;
	while (req->op < NEAP_TERM_OP_COUNT && strcmp(op, operators[req->op]) != 0)
		req->op++;
	if (req->op == NEAP_TERM_OP_COUNT)
		return neap_error_field(err, NEAP_EINVAL, "operator",
					"'%.40s' is not known", op);
	if (is_field && (strcmp(key, "metadata.name") != 0 || req->op > NEAP_TERM_NOT_IN))
		return neap_error_field(err, NEAP_EINVAL, "key",
					"only In and NotIn of metadata.name");
	req->key = neap_arena_strdup(arena, key);
	ret = read_values(req, json_object_get(json, "values"), arena, err);
	if (ret < 0 || req->op < NEAP_TERM_GT)
		return ret;
	if (req->value_count != 1)
		return neap_error_field(err, NEAP_EINVAL, "values", "must be one number");
	return neap_int_parse(req->values[0], &req->number, err);
}

static int read_list(struct neap_term *term, const json_t *list, bool is_field,
		     struct neap_arena *arena, struct neap_error *err)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < json_array_size(list); i++) {
		ret = read_requirement(&term->requirements[term->count],
				       json_array_get(list, i), is_field, arena, err);
		if (ret < 0)
			(void)neap_error_infield(
				err, "%s[%zu]",
				is_field ? "matchFields" : "matchExpressions", i);
		else
			term->count++;
	}
	return ret;
}

int neap_term_read(struct neap_term *term, const json_t *json, struct neap_arena *arena,
		   struct neap_error *err)
{
	const json_t *labels = json_object_get(json, "matchExpressions");
	const json_t *fields = json_object_get(json, "matchFields");
	size_t count = json_array_size(labels) + json_array_size(fields);
	int ret;

	*term = (struct neap_term){0};
	if (count > NEAP_TERM_ITEMS_MAX)
		return too_many(err);
	term->requirements = neap_arena_array(arena, count, sizeof(*term->requirements));
	if (!term->requirements)
		return neap_error_nomem(err);
	ret = read_list(term, labels, false, arena, err);
	return ret < 0 ? ret : read_list(term, fields, true, arena, err);
}

int neap_term_read_map(struct neap_term *term, const json_t *map,
		       struct neap_arena *arena, struct neap_error *err)
{
	const char *key;
	json_t *value;

	*term = (struct neap_term){0};
	if (json_object_size(map) > NEAP_TERM_ITEMS_MAX)
		return too_many(err);
	term->requirements = neap_arena_array(arena, json_object_size(map),
					      sizeof(*term->requirements));
	if (!term->requirements)
		return neap_error_nomem(err);
	json_object_foreach ((json_t *)(uintptr_t)map, key, value) {
		struct neap_requirement *req = &term->requirements[term->count++];
		const char *text = json_string_value(value);

		req->op = NEAP_TERM_IN;
		req->key = neap_arena_strdup(arena, key);
		req->values = neap_arena_array(arena, 1, sizeof(*req->values));
		if (!req->values)
			break;
		req->values[0] = neap_arena_strdup(arena, text ? text : "");
		req->value_count = 1;
	}
	return nomem_or(arena, err);
}

int neap_terms_read(struct neap_terms *terms, const json_t *list,
		    struct neap_arena *arena, struct neap_error *err)
{
	size_t count = json_array_size(list);

	*terms = (struct neap_terms){0};
	if (count > NEAP_TERM_ITEMS_MAX)
		return too_many(err);
	terms->terms = neap_arena_array(arena, count, sizeof(*terms->terms));
	if (!terms->terms)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		int ret = neap_term_read(&terms->terms[i], json_array_get(list, i), arena,
					 err);

		if (ret < 0) {
			(void)neap_error_infield(err, "nodeSelectorTerms[%zu]", i);
			return ret;
		}
		terms->count++;
	}
	return 0;
}

static bool is_among(const struct neap_requirement *req, const char *value)
{
	for (size_t i = 0; i < req->value_count; i++)
		if (strcmp(req->values[i], value) == 0)
			return true;
	return false;
}

/* value: of the label or field; NULL: there is none. */
static bool holds(const struct neap_requirement *req, const char *value)
{
	int64_t number;

	switch (req->op) {
	case NEAP_TERM_IN:
		return value && is_among(req, value);
	case NEAP_TERM_NOT_IN:
		return !value || !is_among(req, value);
	case NEAP_TERM_EXISTS:
		return value != NULL;
	case NEAP_TERM_DOES_NOT_EXIST:
		return !value;
	case NEAP_TERM_GT:
	case NEAP_TERM_LT:
		if (!value || neap_int_parse(value, &number, NULL) < 0)
			return false;
		return req->op == NEAP_TERM_GT ? number > req->number
					       : number < req->number;
	default:
		return false;
	}
}

bool neap_term_matches(const struct neap_term *term, const struct neap_object *node)
{
	for (size_t i = 0; i < term->count; i++) {
		const struct neap_requirement *req = &term->requirements[i];

		if (!holds(req, req->is_field ? node->name
					      : neap_object_label(node, req->key)))
			return false;
	}
	return term->count > 0;
}

bool neap_term_matches_with(const struct neap_term *term, const char *name,
			    neap_term_label_fn *label, const void *arg)
{
	for (size_t i = 0; i < term->count; i++) {
		const struct neap_requirement *req = &term->requirements[i];

		if (!holds(req, req->is_field ? name : label(arg, req->key)))
			return false;
	}
	return term->count > 0;
}

bool neap_terms_match(const struct neap_terms *terms, const struct neap_object *node)
{
	for (size_t i = 0; i < terms->count; i++)
		if (neap_term_matches(&terms->terms[i], node))
			return true;
	return false;
}
