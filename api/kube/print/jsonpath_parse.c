/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses a JSONPath into steps: the part of kubectl's dialect that columns use. A table
 * has about a dozen paths of about 30 bytes, parsed again for every cell, so everything
 * is on the stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/print/table_priv.h"
#include "engine/base/quantity.h"

#define DIGITS_MAX 9

struct parser {
	const char *at;
	struct neap_kube_path *path;
	int filters;
	const char *why; /* NULL: no error */
};

static bool parse_steps(struct parser *p, int *link);

static bool wrong(struct parser *p, const char *why)
{
	if (!p->why)
		p->why = why;
	return false;
}

static void skip_blanks(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t')
		p->at++;
}

static bool take(struct parser *p, char c)
{
	if (*p->at != c)
		return false;
	p->at++;
	return true;
}

/* Appends a step to the list that ends at *link, and makes *link the step's own. */
static struct neap_kube_step *add_step(struct parser *p, enum neap_kube_step_type type,
				       int **link)
{
	struct neap_kube_step *step;

	if (p->path->count == NEAP_KUBE_PATH_STEPS) {
		(void)wrong(p, "too many steps");
		return NULL;
	}
	step = &p->path->steps[p->path->count];
	*step = (struct neap_kube_step){.type = type, .next = -1, .stride = 1};
	**link = p->path->count++;
	*link = &step->next;
	return step;
}

/* --- names --- */

static bool add_char(struct parser *p, char c)
{
	if (p->path->names_len == sizeof(p->path->names))
		return wrong(p, "names that are too long");
	p->path->names[p->path->names_len++] = c;
	return true;
}

static bool ends_name(const struct parser *p)
{
	return *p->at == '\0' ||
	       strchr(p->filters ? ".[]{},'\"$@ \t=!<>()" : ".[]{},'\"$@ \t", *p->at) !=
		       NULL;
}

/* Reads up to a character that names cannot have, unless a backslash escapes it. */
static bool parse_name(struct parser *p, const char **ret)
{
	const char *name = p->path->names + p->path->names_len;

	if (ends_name(p))
		return wrong(p, "a name is missing");
	while (!ends_name(p)) {
		if (*p->at == '\\' && *++p->at == '\0')
			return wrong(p, "a backslash with nothing behind it");
		if (!add_char(p, *p->at++))
			return false;
	}
	*ret = name;
	return add_char(p, '\0');
}

static bool parse_quoted(struct parser *p, const char **ret)
{
	const char *name = p->path->names + p->path->names_len;
	char quote = *p->at++;

	while (*p->at != quote) {
		if (*p->at == '\\' && p->at[1] != '\0')
			p->at++;
		if (*p->at == '\0')
			return wrong(p, "a quote is not closed");
		if (!add_char(p, *p->at++))
			return false;
	}
	p->at++;
	*ret = name;
	return add_char(p, '\0');
}

static bool add_name(struct parser *p, int **link, bool is_quoted)
{
	struct neap_kube_step *step = add_step(p, NEAP_KUBE_STEP_NAME, link);

	return step &&
	       (is_quoted ? parse_quoted(p, &step->name) : parse_name(p, &step->name));
}

/* --- numbers --- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool parse_number(struct parser *p, int64_t *ret)
{
	bool is_negative = take(p, '-');
	int64_t n = 0;
	int digits = 0;

	for (; is_digit(*p->at); p->at++) {
		if (++digits > DIGITS_MAX)
			return wrong(p, "a number that is too large");
		n = n * 10 + (*p->at - '0');
	}
	if (digits == 0)
		return wrong(p, "a number is missing");
	*ret = is_negative ? -n : n;
	return true;
}

/* One part of from:to:stride; may be empty. */
static bool parse_bound(struct parser *p, bool *ret_has, int64_t *ret)
{
	*ret_has = is_digit(*p->at) || *p->at == '-';
	return !*ret_has || parse_number(p, ret);
}

static bool add_slice(struct parser *p, int **link)
{
	struct neap_kube_step *step = add_step(p, NEAP_KUBE_STEP_SLICE, link);
	bool has_stride;

	if (!step || !parse_bound(p, &step->has_from, &step->from))
		return false;
	if (!take(p, ':')) {
		/* A single element. The last one (-1) has no end but the list's. */
		step->has_to = step->from != -1;
		step->to = step->from + 1;
		return true;
	}
	if (!parse_bound(p, &step->has_to, &step->to))
		return false;
	if (take(p, ':') && !parse_bound(p, &has_stride, &step->stride))
		return false;
	return step->stride > 0 || wrong(p, "a stride has to be over 0");
}

/* --- filters --- */

static bool parse_literal(struct parser *p, struct neap_kube_scalar *ret)
{
	static const struct {
		const char *text;
		json_type type;
	} words[] = {{"true", JSON_TRUE}, {"false", JSON_FALSE}, {"null", JSON_NULL}};
	size_t len = strcspn(p->at, " \t=!<>()[]{},'\"$@");
	char text[32], *end;
	int64_t integer;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(words); i++)
		if (len == strlen(words[i].text) &&
		    memcmp(p->at, words[i].text, len) == 0) {
			p->at += len;
			ret->type = words[i].type;
			return true;
		}
	if (len == 0 || len >= sizeof(text) || (!is_digit(*p->at) && *p->at != '-'))
		return wrong(p, "@, $, a text in quotes or a number is missing");
	memcpy(text, p->at, len);
	text[len] = '\0';
	if (strspn(text, "+-.0123456789eE") != len)
		return wrong(p, "no number");
	if (neap_int_parse(text, &integer, NULL) == 0) {
		ret->integer = integer;
		ret->type = JSON_INTEGER;
	} else {
		ret->type = JSON_REAL;
		ret->real = strtod(text, &end);
		if (*end)
			return wrong(p, "no number");
	}
	p->at += len;
	return true;
}

static bool parse_operand(struct parser *p, struct neap_kube_operand *ret)
{
	skip_blanks(p);
	if (*p->at == '@' || *p->at == '$') {
		ret->is_path = true;
		ret->from_root = *p->at++ == '$';
		return parse_steps(p, &ret->first);
	}
	if (*p->at == '\'' || *p->at == '"') {
		ret->constant.type = JSON_STRING;
		return parse_quoted(p, &ret->constant.text);
	}
	return parse_literal(p, &ret->constant);
}

static bool parse_op(struct parser *p, enum neap_kube_path_op *ret)
{
	/* Longer ones first. */
	static const struct {
		const char *text;
		enum neap_kube_path_op op;
	} ops[] = {{"==", NEAP_KUBE_PATH_EQ}, {"!=", NEAP_KUBE_PATH_NE},
		   {"<=", NEAP_KUBE_PATH_LE}, {">=", NEAP_KUBE_PATH_GE},
		   {"<", NEAP_KUBE_PATH_LT},  {">", NEAP_KUBE_PATH_GT}};

	skip_blanks(p);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(ops); i++)
		if (strncmp(p->at, ops[i].text, strlen(ops[i].text)) == 0) {
			p->at += strlen(ops[i].text);
			*ret = ops[i].op;
			return true;
		}
	return false;
}

/* Parses from after the question mark to before the bracket. */
static bool add_filter(struct parser *p, int **link)
{
	struct neap_kube_step *step = add_step(p, NEAP_KUBE_STEP_FILTER, link);

	if (!step)
		return false;
	if (!take(p, '('))
		return wrong(p, "( is missing");
	if (p->filters == NEAP_KUBE_PATH_FILTERS)
		return wrong(p, "too many filters one inside the other");
	p->filters++;
	if (!parse_operand(p, &step->left))
		return false;
	if (parse_op(p, &step->op)) {
		if (!parse_operand(p, &step->right))
			return false;
	} else if (!step->left.is_path) {
		return wrong(p, "a comparison is missing");
	}
	skip_blanks(p);
	if (!take(p, ')'))
		return wrong(p, ") is missing");
	p->filters--;
	return true;
}

/* --- all of it --- */

static bool parse_choice(struct parser *p, int **link)
{
	if (*p->at == '\'' || *p->at == '"')
		return add_name(p, link, true);
	if (is_digit(*p->at) || *p->at == '-' || *p->at == ':')
		return add_slice(p, link);
	if (take(p, '*'))
		return add_step(p, NEAP_KUBE_STEP_ALL, link) != NULL;
	if (take(p, '?'))
		return add_filter(p, link);
	return wrong(p, "a number, a name in quotes, * or ?( is missing");
}

/* Parses the content of brackets, from after the first to after the last. */
static bool parse_choices(struct parser *p, int **link)
{
	bool is_or = false;

	for (;; is_or = true) {
		int step = p->path->count;

		skip_blanks(p);
		if (!parse_choice(p, link))
			return false;
		p->path->steps[step].is_or = is_or;
		skip_blanks(p);
		if (take(p, ']'))
			return true;
		if (!take(p, ','))
			return wrong(p, "] is missing");
	}
}

static bool parse_steps(struct parser *p, int *link)
{
	*link = -1;
	for (;;) {
		bool is_below = false;

		if (take(p, '[')) {
			if (!parse_choices(p, &link))
				return false;
			continue;
		}
		if (!take(p, '.'))
			return true;
		if (take(p, '.')) {
			is_below = true;
			if (!add_step(p, NEAP_KUBE_STEP_BELOW, &link))
				return false;
		}
		if (*p->at == '[')
			continue;
		if (take(p, '*')) {
			if (!add_step(p, NEAP_KUBE_STEP_ALL, &link))
				return false;
			continue;
		}
		/* A single dot is the whole object. */
		if ((*p->at == '\0' || *p->at == '}') && !is_below && p->path->count == 0)
			return true;
		if (!add_name(p, &link, false))
			return false;
	}
}

int neap_kube_path_parse(const char *text, struct neap_kube_path *ret,
			 struct neap_error *err)
{
	struct parser p = {.at = text, .path = ret};
	bool has_braces;

	ret->first = -1;
	ret->count = 0;
	ret->names_len = 0;
	if (strnlen(text, NEAP_KUBE_PATH_BYTES + 1) > NEAP_KUBE_PATH_BYTES)
		return neap_error_set(err, NEAP_EINVAL, "a path is over %d bytes long",
				      NEAP_KUBE_PATH_BYTES);
	has_braces = take(&p, '{');
	(void)take(&p, '$'); /* paths start at the object anyway */
	if (*p.at != '.' && *p.at != '[')
		(void)wrong(&p, "it has to start with a dot");
	else if (parse_steps(&p, &ret->first)) {
		if (has_braces && !take(&p, '}'))
			(void)wrong(&p, "} is missing");
		else if (*p.at)
			(void)wrong(&p, "nothing may follow");
	}
	if (!p.why)
		return 0;
	return neap_error_set(err, NEAP_EINVAL,
			      "no path of a column: %s at byte %zu: %.120s", p.why,
			      (size_t)(p.at - text) + 1, text);
}

int neap_kube_path_check(const char *path, struct neap_error *err)
{
	struct neap_kube_path ignored;

	return neap_kube_path_parse(path, &ignored, err);
}
