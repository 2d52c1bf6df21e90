/* SPDX-License-Identifier: Apache-2.0
 *
 * Selectors in URLs and on command lines: "app=web,tier in (a,b),!old". Converted to a
 * LabelSelector object, so that there is one set of rules. */
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/selector.h"

struct text {
	const char *at;
	json_t *list; /* of matchExpressions */
	struct neap_error *err;
};

static int fail(struct text *text, const char *wanted)
{
	return neap_error_set(text->err, NEAP_EINVAL,
			      "unable to parse requirement: found '%.40s', expected: %s",
			      text->at, wanted);
}

static void skip_blanks(struct text *text)
{
	while (*text->at == ' ' || *text->at == '\t')
		text->at++;
}

/* Returns the length of a key or value. */
static size_t word_len(const char *at)
{
	return strcspn(at, " \t,()=!<>");
}

static bool is_word(const char *at, size_t len, const char *word)
{
	return len == strlen(word) && strncmp(at, word, len) == 0;
}

/* Takes both. */
static int add(struct text *text, const char *key, size_t key_len, const char *operator,
	       json_t * values)
{
	json_t *row = json_object();

	if (json_object_set_new(row, "key", json_stringn(key, key_len)) < 0 ||
	    json_object_set_new(row, "operator", json_string(operator)) < 0 ||
	    (values && json_object_set(row, "values", values) < 0) ||
	    json_array_append(text->list, row) < 0) {
		json_decref(row);
		json_decref(values);
		return neap_error_nomem(text->err);
	}
	json_decref(row);
	json_decref(values);
	return 0;
}

/* "(a, b)", into values. */
static int parse_set(struct text *text, json_t *values)
{
	skip_blanks(text);
	if (*text->at != '(')
		return fail(text, "'('");
	do {
		size_t len;

		text->at++;
		skip_blanks(text);
		len = word_len(text->at);
		if (json_array_append_new(values, json_stringn(text->at, len)) < 0)
			return neap_error_nomem(text->err);
		text->at += len;
		skip_blanks(text);
	} while (*text->at == ',');
	if (*text->at != ')')
		return fail(text, "',' or ')'");
	text->at++;
	return 0;
}

/* What follows a key. */
static int parse_operator(struct text *text, const char *key, size_t key_len)
{
	const char *operator;
	json_t *values;
	size_t len;
	int ret = 0;

	skip_blanks(text);
	if (*text->at == ',' || *text->at == '\0')
		return add(text, key, key_len, "Exists", NULL);
	values = json_array();
	if (!values)
		return neap_error_nomem(text->err);
	len = word_len(text->at);
	if (is_word(text->at, len, "in") || is_word(text->at, len, "notin")) {
		operator= len == 2 ? "In" : "NotIn";
		text->at += len;
		ret = parse_set(text, values);
	} else if (strchr("=<>", *text->at) || strncmp(text->at, "!=", 2) == 0) {
		operator= * text->at == '=' ? "In"
		: * text->at == '!'         ? "NotIn"
		: * text->at == '>'         ? "Gt"
					    : "Lt";
		text->at += strncmp(text->at, "==", 2) == 0 || *text->at == '!' ? 2 : 1;
		skip_blanks(text);
		len = word_len(text->at);
		if (json_array_append_new(values, json_stringn(text->at, len)) < 0)
			ret = neap_error_nomem(text->err);
		text->at += len;
	} else {
		operator= "";
		ret = fail(text, "in, notin, =, ==, !=, >, <");
	}
	if (ret < 0) {
		json_decref(values);
		return ret;
	}
	return add(text, key, key_len, operator, values);
}

static int parse_requirement(struct text *text)
{
	bool is_not = false;
	const char *key;
	size_t len;
	int ret;

	skip_blanks(text);
	if (*text->at == '!') {
		is_not = true;
		text->at++;
		skip_blanks(text);
	}
	key = text->at;
	len = word_len(key);
	if (!len)
		return fail(text, "identifier");
	text->at += len;
	ret = is_not ? add(text, key, len, "DoesNotExist", NULL)
		     : parse_operator(text, key, len);
	if (ret < 0)
		return ret;
	skip_blanks(text);
	if (*text->at != ',' && *text->at != '\0')
		return fail(text, "',' or the end");
	return 0;
}

int neap_selector_parse_text(const char *selector, struct neap_selector **ret,
			     struct neap_error *err)
{
	struct text text = {.at = selector, .err = err};
	json_t *object;
	int code = 0;

	*ret = NULL;
	if (strlen(selector) >= NEAP_BUF_LINE)
		return neap_error_set(err, NEAP_ETOOLARGE, "over %d bytes",
				      NEAP_BUF_LINE);
	text.list = json_array();
	object = json_object();
	if (json_object_set(object, "matchExpressions", text.list) < 0)
		code = neap_error_nomem(err);
	skip_blanks(&text);
	while (!code && *text.at != '\0') {
		code = parse_requirement(&text);
		if (!code && *text.at == ',') {
			text.at++;
			skip_blanks(&text);
			if (*text.at == '\0')
				code = fail(&text, "identifier after ','");
		}
	}
	if (!code)
		code = neap_selector_parse_of_text(object, ret, err);
	json_decref(text.list);
	json_decref(object);
	return code;
}
