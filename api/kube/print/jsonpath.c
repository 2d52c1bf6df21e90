/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates a JSONPath. Each step maps a list of values to the next. All visited values
 * are counted: wildcards in filters could multiply them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/print/table_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

struct walk {
	const struct neap_kube_path *path;
	const json_t *root;
	int work; /* values left to visit */
	int rc;
};

static void take_steps(struct walk *w, int first, const json_t *from,
		       struct neap_kube_values *ret);

/* --- lists of values --- */

const json_t *neap_kube_values_get(const struct neap_kube_values *values, size_t i)
{
	return values->list ? values->list[i] : values->few[i];
}

void neap_kube_values_done(struct neap_kube_values *values)
{
	free(values->list);
	values->list = NULL;
	values->count = values->size = 0;
}

static bool has_room(struct neap_kube_values *values)
{
	size_t size = values->size != 0 ? values->size * 2 : 32;
	const json_t **list;

	if (values->count < NEAP_ARRAY_LEN(values->few) || values->count < values->size)
		return true;
	list = neap_realloc_array(values->list, size, sizeof(const json_t *));
	if (!list)
		return false;
	if (!values->list)
		memcpy(list, values->few, sizeof(values->few));
	values->list = list;
	values->size = size;
	return true;
}

static bool looks(struct walk *w)
{
	if (w->rc == 0 && --w->work < 0)
		w->rc = -NEAP_ETOOLARGE;
	return w->rc == 0;
}

/* NULL is ignored. */
static void add(struct walk *w, struct neap_kube_values *to, const json_t *value)
{
	if (!looks(w) || !value)
		return;
	if (!has_room(to)) {
		w->rc = -NEAP_ENOMEM;
		return;
	}
	if (to->list)
		to->list[to->count++] = value;
	else
		to->few[to->count++] = value;
}

/* --- filters --- */

static struct neap_kube_scalar scalar_of(const json_t *value)
{
	return (struct neap_kube_scalar){
		.type = json_is_array(value) ? JSON_OBJECT : json_typeof(value),
		.text = json_string_value(value),
		.integer = json_integer_value(value),
		.real = json_real_value(value),
	};
}

/* Only a single value can be compared. */
static struct neap_kube_scalar operand_value(struct walk *w,
					     const struct neap_kube_operand *operand,
					     const json_t *element)
{
	struct neap_kube_scalar none = {.type = JSON_OBJECT};
	struct neap_kube_values values = {0};

	if (!operand->is_path)
		return operand->constant;
	take_steps(w, operand->first, operand->from_root ? w->root : element, &values);
	if (w->rc == 0 && values.count == 1)
		none = scalar_of(neap_kube_values_get(&values, 0));
	neap_kube_values_done(&values);
	return none;
}

static bool is_number(const struct neap_kube_scalar *s)
{
	return s->type == JSON_INTEGER || s->type == JSON_REAL;
}

/* *ret: below 0, 0, above 0, as strcmp(3); false when the values have no order. */
static bool compare(const struct neap_kube_scalar *a, const struct neap_kube_scalar *b,
		    int *ret)
{
	double x, y;

	if (a->type == JSON_STRING && b->type == JSON_STRING) {
		*ret = strcmp(a->text, b->text);
		return true;
	}
	if (a->type == JSON_INTEGER && b->type == JSON_INTEGER) {
		*ret = (a->integer > b->integer) - (a->integer < b->integer);
		return true;
	}
	if (!is_number(a) || !is_number(b))
		return false;
	x = a->type == JSON_REAL ? a->real : (double)a->integer;
	y = b->type == JSON_REAL ? b->real : (double)b->integer;
	*ret = (x > y) - (x < y);
	return true;
}

static bool is_match(enum neap_kube_path_op op, const struct neap_kube_scalar *a,
		     const struct neap_kube_scalar *b)
{
	int order;

	if (!compare(a, b, &order)) {
		/* Booleans and null have no order. Values of different types never match,
		 * not even with !=. */
		bool has_a = a->type >= JSON_TRUE, has_b = b->type >= JSON_TRUE;

		return has_a && has_b &&
		       ((op == NEAP_KUBE_PATH_EQ && a->type == b->type) ||
			(op == NEAP_KUBE_PATH_NE && a->type != b->type));
	}
	switch (op) {
	case NEAP_KUBE_PATH_EQ:
		return order == 0;
	case NEAP_KUBE_PATH_NE:
		return order != 0;
	case NEAP_KUBE_PATH_LT:
		return order < 0;
	case NEAP_KUBE_PATH_LE:
		return order <= 0;
	case NEAP_KUBE_PATH_GT:
		return order > 0;
	case NEAP_KUBE_PATH_GE:
		return order >= 0;
	case NEAP_KUBE_PATH_EXISTS:
		break;
	}
	return false;
}

static bool passes(struct walk *w, const struct neap_kube_step *step,
		   const json_t *element)
{
	struct neap_kube_scalar left, right;

	if (!looks(w))
		return false;
	if (step->op == NEAP_KUBE_PATH_EXISTS) {
		struct neap_kube_values values = {0};
		bool is_there;

		take_steps(w, step->left.first, step->left.from_root ? w->root : element,
			   &values);
		is_there = values.count > 0;
		neap_kube_values_done(&values);
		return is_there;
	}
	left = operand_value(w, &step->left, element);
	right = operand_value(w, &step->right, element);
	return is_match(step->op, &left, &right);
}

/* --- steps --- */

static void add_all(struct walk *w, const json_t *from, struct neap_kube_values *to)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_array(from)) {
		for (i = 0; i < json_array_size(from) && w->rc == 0; i++)
			add(w, to, json_array_get(from, i));
		return;
	}
	json_object_foreach ((json_t *)from, key, value) {
		add(w, to, value);
		if (w->rc < 0)
			return;
	}
}

/* Adds the value and all its descendants that have members; no step enters others. */
static void add_below(struct walk *w, const json_t *from, struct neap_kube_values *to)
{
	const char *key;
	json_t *value;
	size_t i;

	if (!json_is_array(from) && !json_is_object(from))
		return;
	add(w, to, from);
	for (i = 0; i < json_array_size(from) && looks(w); i++)
		add_below(w, json_array_get(from, i), to);
	json_object_foreach ((json_t *)from, key, value) {
		if (!looks(w))
			return;
		add_below(w, value, to);
	}
}

/* Negative positions count from the end. */
static int64_t position(int64_t n, int64_t size)
{
	if (n < 0)
		n += size;
	if (n < 0)
		return 0;
	return n < size ? n : size;
}

static void add_slice(struct walk *w, const struct neap_kube_step *step,
		      const json_t *from, struct neap_kube_values *to)
{
	int64_t size = (int64_t)json_array_size(from);
	int64_t i = step->has_from ? position(step->from, size) : 0;
	int64_t end = step->has_to ? position(step->to, size) : size;

	for (; i < end && w->rc == 0; i += step->stride)
		add(w, to, json_array_get(from, (size_t)i));
}

static void take_step(struct walk *w, const struct neap_kube_step *step,
		      const json_t *from, struct neap_kube_values *to)
{
	size_t i;

	switch (step->type) {
	case NEAP_KUBE_STEP_NAME:
		add(w, to, json_object_get(from, step->name));
		break;
	case NEAP_KUBE_STEP_ALL:
		add_all(w, from, to);
		break;
	case NEAP_KUBE_STEP_BELOW:
		add_below(w, from, to);
		break;
	case NEAP_KUBE_STEP_SLICE:
		add_slice(w, step, from, to);
		break;
	case NEAP_KUBE_STEP_FILTER:
		for (i = 0; i < json_array_size(from) && w->rc == 0; i++)
			if (passes(w, step, json_array_get(from, i)))
				add(w, to, json_array_get(from, i));
		break;
	}
}

/* Takes all steps from first on, beginning at one value. *ret is empty before. */
static void take_steps(struct walk *w, int first, const json_t *from,
		       struct neap_kube_values *ret)
{
	const struct neap_kube_step *steps = w->path->steps;
	int step = first, next;

	add(w, ret, from);
	while (step >= 0 && w->rc == 0) {
		struct neap_kube_values found = {0};

		for (size_t i = 0; i < ret->count && w->rc == 0; i++) {
			next = step;
			do {
				take_step(w, &steps[next], neap_kube_values_get(ret, i),
					  &found);
				next = steps[next].next;
			} while (next >= 0 && steps[next].is_or);
		}
		/* Skip all choices, even if there was no value to start from. */
		for (next = steps[step].next; next >= 0 && steps[next].is_or;)
			next = steps[next].next;
		step = next;
		neap_kube_values_done(ret);
		*ret = found;
	}
	if (w->rc < 0)
		neap_kube_values_done(ret);
}

int neap_kube_path_walk(const struct neap_kube_path *path, const json_t *object,
			struct neap_kube_values *ret)
{
	struct walk w = {.path = path, .root = object, .work = NEAP_KUBE_PATH_WORK};
	size_t count = 0;

	*ret = (struct neap_kube_values){0};
	take_steps(&w, path->first, object, ret);
	for (size_t i = 0; i < ret->count; i++) {
		const json_t *value = neap_kube_values_get(ret, i);

		if (json_is_null(value))
			continue;
		if (ret->list)
			ret->list[count++] = value;
		else
			ret->few[count++] = value;
	}
	ret->count = count;
	return w.rc;
}

/* --- what is found, as text --- */

/* The shortest decimal that reads back as the same number, without an exponent up to 21
 * digits. */
static void add_real(double real, struct neap_buf *buf)
{
	char text[40];
	int digits, exponent;
	const char *mark;

	for (digits = 1; digits < 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*e", digits - 1, real);
		if (strtod(text, NULL) == real)
			break;
	}
	(void)snprintf(text, sizeof(text), "%.*e", digits - 1, real);
	mark = strchr(text, 'e');
	exponent = mark ? (int)strtol(mark + 1, NULL, 10) : 0;
	if (exponent < -4 || exponent >= 21)
		neap_buf_adds(buf, text);
	else
		neap_buf_addf(buf, "%.*f",
			      digits - 1 > exponent ? digits - 1 - exponent : 0, real);
}

/* False without memory for the text. buf itself records when it is full. */
static bool add_value(const json_t *value, struct neap_buf *buf)
{
	char *text;

	switch (json_typeof(value)) {
	case JSON_STRING:
		neap_buf_adds(buf, json_string_value(value));
		break;
	case JSON_INTEGER:
		neap_buf_addf(buf, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_REAL:
		add_real(json_real_value(value), buf);
		break;
	case JSON_TRUE:
		neap_buf_adds(buf, "true");
		break;
	case JSON_FALSE:
		neap_buf_adds(buf, "false");
		break;
	case JSON_NULL:
		break;
	case JSON_OBJECT:
	case JSON_ARRAY:
		text = neap_json_dump(value, JSON_COMPACT | JSON_SORT_KEYS |
						     JSON_REAL_PRECISION(15));
		if (!text)
			return false;
		neap_buf_adds(buf, text);
		free(text);
		break;
	}
	return true;
}

int neap_kube_values_text(const struct neap_kube_values *values, json_t **ret)
{
	neap_auto_buf struct neap_buf buf = {0};
	json_t *text;

	neap_buf_init(&buf, values->count == 1 ? NEAP_BUF_REPLY : NEAP_BUF_LINE);
	for (size_t i = 0; i < values->count && !neap_buf_failed(&buf); i++) {
		if (i > 0)
			neap_buf_addc(&buf, ',');
		if (!add_value(neap_kube_values_get(values, i), &buf))
			return -NEAP_ENOMEM;
	}
	if (neap_buf_failed(&buf))
		return buf.is_over ? -NEAP_ETOOLARGE : -NEAP_ENOMEM;
	text = json_string(buf.data);
	if (!text)
		return -NEAP_ENOMEM;
	*ret = text;
	return 0;
}

json_t *neap_kube_path_get(const json_t *object, const char *path)
{
	struct neap_kube_path parsed;
	struct neap_kube_values values;
	json_t *found = NULL;

	if (neap_kube_path_parse(path, &parsed, NULL) < 0)
		return NULL;
	if (neap_kube_path_walk(&parsed, object, &values) == 0) {
		if (values.count == 1)
			found = json_incref((json_t *)neap_kube_values_get(&values, 0));
		else if (values.count > 1)
			(void)neap_kube_values_text(&values, &found); /* else NULL */
	}
	neap_kube_values_done(&values);
	return found;
}
