/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels and selectors as kubectl prints them: sorted, because maps have no stable
 * order. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/print/cells_priv.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"

/* Without memory for sorting the text fails too. */
static void fail(struct neap_buf *buf)
{
	buf->failed = true;
}

void neap_kube_cell_set(const char **texts, size_t count, struct neap_buf *buf)
{
	qsort(texts, count, sizeof(*texts), neap_text_compare);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && strcmp(texts[i], texts[i - 1]) == 0)
			continue;
		if (i > 0)
			neap_buf_addc(buf, ',');
		neap_buf_adds(buf, texts[i]);
	}
}

/* --- maps --- */

/* The keys of an object, sorted; NULL without memory. */
static const char **sorted_keys(const json_t *object)
{
	const char **keys =
		neap_alloc_array(json_object_size(object), sizeof(const char *));
	const char *key;
	json_t *value;
	size_t n = 0;

	if (keys == NULL)
		return NULL;
	json_object_foreach ((json_t *)object, key, value)
		keys[n++] = key;
	qsort(keys, n, sizeof(*keys), neap_text_compare);
	return keys;
}

void neap_kube_cell_labels(const json_t *labels, struct neap_buf *buf)
{
	size_t count = json_object_size(labels);
	const char **keys;

	if (count == 0) {
		neap_buf_adds(buf, "<none>");
		return;
	}
	keys = sorted_keys(labels);
	if (keys == NULL) {
		fail(buf);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const char *value = json_string_value(json_object_get(labels, keys[i]));

		neap_buf_addf(buf, "%s%s=", i > 0 ? "," : "", keys[i]);
		neap_buf_adds(buf, value != NULL ? value : "");
	}
	free(keys);
}

/* --- selectors --- */

enum op { OP_IS, OP_IN, OP_NOT_IN, OP_EXISTS, OP_MISSING };

struct requirement {
	const char *key;
	size_t order; /* in the object, of equal keys */
	enum op op;
	const char *value;    /* of OP_IS */
	const json_t *values; /* of OP_IN and OP_NOT_IN */
};

static int by_key(const void *a, const void *b)
{
	const struct requirement *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* False for an invalid one. */
static bool read_expression(const json_t *expression, struct requirement *ret)
{
	static const struct {
		const char *name;
		enum op op;
		bool has_values;
	} ops[] = {{"In", OP_IN, true},
		   {"NotIn", OP_NOT_IN, true},
		   {"Exists", OP_EXISTS, false},
		   {"DoesNotExist", OP_MISSING, false}};
	const char *name = neap_kube_cell_text(expression, "operator");

	ret->key = neap_kube_cell_text(expression, "key");
	ret->values = neap_kube_cell_get(expression, "values");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(ops); i++)
		if (strcmp(name, ops[i].name) == 0) {
			ret->op = ops[i].op;
			return *ret->key &&
			       (json_array_size(ret->values) > 0) == ops[i].has_values;
		}
	return false;
}

static void add_values(const json_t *values, struct neap_buf *buf)
{
	size_t count = json_array_size(values);
	const char **texts = neap_alloc_array(count, sizeof(const char *));

	if (texts == NULL) {
		fail(buf);
		return;
	}
	for (size_t i = 0; i < count; i++)
		texts[i] = neap_kube_cell_text(json_array_get(values, i), "");
	qsort(texts, count, sizeof(*texts), neap_text_compare);
	for (size_t i = 0; i < count; i++) {
		neap_buf_addc(buf, i > 0 ? ',' : '(');
		neap_buf_adds(buf, texts[i]);
	}
	neap_buf_addc(buf, ')');
	free(texts);
}

static void add_requirement(const struct requirement *r, struct neap_buf *buf)
{
	if (r->op == OP_MISSING)
		neap_buf_addc(buf, '!');
	neap_buf_adds(buf, r->key);
	if (r->op == OP_IS) {
		neap_buf_addc(buf, '=');
		neap_buf_adds(buf, r->value);
	} else if (r->op == OP_IN || r->op == OP_NOT_IN) {
		neap_buf_adds(buf, r->op == OP_IN ? " in " : " notin ");
		add_values(r->values, buf);
	}
}

void neap_kube_cell_selector(const json_t *selector, struct neap_buf *buf,
			     bool *ret_valid)
{
	const json_t *labels = neap_kube_cell_get(selector, "matchLabels");
	const json_t *expressions = neap_kube_cell_get(selector, "matchExpressions");
	size_t count = json_object_size(labels) + json_array_size(expressions), n = 0;
	struct requirement *list;
	const char *key;
	json_t *value;

	*ret_valid = true;
	if (count == 0)
		return;
	list = neap_alloc_array(count, sizeof(*list));
	if (list == NULL) {
		fail(buf);
		return;
	}
	json_object_foreach ((json_t *)labels, key, value) {
		list[n] = (struct requirement){.key = key, .order = n, .op = OP_IS};
		list[n++].value = neap_kube_cell_text(value, "");
	}
	for (size_t i = 0; i < json_array_size(expressions) && *ret_valid; i++) {
		list[n].order = n;
		*ret_valid = read_expression(json_array_get(expressions, i), &list[n++]);
	}
	if (*ret_valid) {
		qsort(list, n, sizeof(*list), by_key);
		for (size_t i = 0; i < n; i++) {
			if (i > 0)
				neap_buf_addc(buf, ',');
			add_requirement(&list[i], buf);
		}
	}
	free(list);
}
