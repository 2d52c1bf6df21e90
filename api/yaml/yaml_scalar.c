/* SPDX-License-Identifier: Apache-2.0
 *
 * Plain scalars of YAML 1.1, by the rules of kubectl's reader, which differ in a few
 * places: 1:30 is a text rather than a sexagesimal number, times stay texts, 08 is
 * eight. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "api/yaml/yaml.h"
#include "api/yaml/yaml_priv.h"
#include "engine/base/mem.h"

/* 2 to the 63rd: the first whole number that no int64 holds. */
#define INT64_END 9223372036854775808.0

enum meaning { IS_NULL, IS_TRUE, IS_FALSE, IS_NO_JSON };

static const struct word {
	const char *text;
	enum meaning meaning;
} words[] = {
	{"", IS_NULL},        {"~", IS_NULL},       {"null", IS_NULL},
	{"Null", IS_NULL},    {"NULL", IS_NULL},    {"y", IS_TRUE},
	{"Y", IS_TRUE},       {"yes", IS_TRUE},     {"Yes", IS_TRUE},
	{"YES", IS_TRUE},     {"true", IS_TRUE},    {"True", IS_TRUE},
	{"TRUE", IS_TRUE},    {"on", IS_TRUE},      {"On", IS_TRUE},
	{"ON", IS_TRUE},      {"n", IS_FALSE},      {"N", IS_FALSE},
	{"no", IS_FALSE},     {"No", IS_FALSE},     {"NO", IS_FALSE},
	{"false", IS_FALSE},  {"False", IS_FALSE},  {"FALSE", IS_FALSE},
	{"off", IS_FALSE},    {"Off", IS_FALSE},    {"OFF", IS_FALSE},
	{".nan", IS_NO_JSON}, {".NaN", IS_NO_JSON}, {".NAN", IS_NO_JSON},
	{".inf", IS_NO_JSON}, {".Inf", IS_NO_JSON}, {".INF", IS_NO_JSON},
};

static const struct word *word_find(const char *text)
{
	size_t i;

	/* "+.inf" and "-.inf", but no sign before anything else. */
	if ((*text == '+' || *text == '-') && text[1] == '.')
		text++;
	for (i = 0; i < NEAP_ARRAY_LEN(words); i++)
		if (strcmp(words[i].text, text) == 0)
			return &words[i];
	return NULL;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static unsigned digit_of(char c)
{
	if (is_digit(c))
		return (unsigned)(c - '0');
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

/* A whole number without its sign: 0x1f, 0b101, 0o17 and 017 as well. False for anything
 * else, and for what 64 bits do not hold. */
static bool whole_parse(const char *text, uint64_t *ret)
{
	static const struct {
		char letter;
		unsigned base;
	} prefixes[] = {{'b', 2}, {'o', 8}, {'x', 16}};
	unsigned base = 10, digit;
	uint64_t sum = 0;
	size_t i;

	if (*text == '\0')
		return false;
	if (*text == '0') {
		base = 8;
		text++;
		for (i = 0; i < NEAP_ARRAY_LEN(prefixes); i++)
			if (tolower((unsigned char)*text) == prefixes[i].letter &&
			    text[1] != '\0') {
				base = prefixes[i].base;
				text++;
				break;
			}
	}
	for (; *text != '\0'; text++) {
		digit = digit_of(*text);
		if (digit >= base || sum > (UINT64_MAX - digit) / base)
			return false;
		sum = sum * base + digit;
	}
	*ret = sum;
	return true;
}

static const char *skip_digits(const char *text)
{
	while (is_digit(*text))
		text++;
	return text;
}

/* [-+]? (.digits | digits [. digits?]) ([eE] [-+]? digits)? */
static bool is_real(const char *text)
{
	const char *from;

	if (*text == '+' || *text == '-')
		text++;
	from = text;
	text = skip_digits(text);
	if (text == from && (*text != '.' || skip_digits(text + 1) == text + 1))
		return false;
	if (*text == '.')
		text = skip_digits(text + 1);
	if (*text == 'e' || *text == 'E') {
		text++;
		if (*text == '+' || *text == '-')
			text++;
		from = text;
		text = skip_digits(text);
		if (text == from)
			return false;
	}
	return *text == '\0';
}

/* *ret stays NULL when text is not a number. False without memory. */
static bool number_parse(const char *text, json_t **ret)
{
	bool has_sign = *text == '+' || *text == '-';
	uint64_t whole;
	double real;

	if (whole_parse(text + has_sign, &whole)) {
		if (whole <= INT64_MAX || (*text == '-' && whole - 1 == INT64_MAX)) {
			*ret = json_integer(*text == '-' ? (json_int_t)(0 - whole)
							 : (json_int_t)whole);
			return *ret != NULL;
		}
		if (!has_sign) {
			*ret = json_real((double)whole);
			return *ret != NULL;
		}
	}
	if (!is_real(text))
		return true;
	real = strtod(text, NULL);
	if (isinf(real))
		return true;
	if (real == floor(real) && real > -INT64_END && real < INT64_END)
		*ret = json_integer((json_int_t)real);
	else
		*ret = json_real(real);
	return *ret != NULL;
}

/* As above, with "_" anywhere but at the front: 1_000_000. After a "." it must be between
 * digits. */
static bool number_read(const char *text, json_t **ret)
{
	neap_auto_free char *plain = NULL;
	bool is_strict = *text == '.';
	char *to;

	if (!strchr(text, '_'))
		return number_parse(text, ret);
	plain = neap_strdup(text);
	if (!plain)
		return false;
	for (to = plain; *text != '\0'; text++) {
		if (*text != '_')
			*to++ = *text;
		else if (is_strict && (!is_digit(text[-1]) || !is_digit(text[1])))
			return true;
	}
	*to = '\0';
	return number_parse(plain, ret);
}

int neap_yaml_plain(const char *text, json_t **ret, struct neap_error *err)
{
	const struct word *word = word_find(text);
	json_t *value = NULL;

	if (word && word->meaning == IS_NO_JSON)
		return neap_error_set(err, NEAP_EINVAL, "%s is no number that JSON has",
				      text);
	if (word && word->meaning == IS_NULL)
		value = json_null();
	else if (word)
		value = json_boolean(word->meaning == IS_TRUE);
	else if ((is_digit(*text) || strchr("+-.", *text)) && !number_read(text, &value))
		return neap_error_nomem(err);
	if (!value)
		value = json_string(text);
	if (!value)
		return neap_error_nomem(err);
	*ret = value;
	return 0;
}

/* The shortest text for the same number. */
static char *real_text(double value)
{
	char buf[64];
	int digits;

	for (digits = 1; digits <= 17; digits++) {
		snprintf(buf, sizeof(buf), "%.*g", digits, value);
		if (strtod(buf, NULL) == value)
			break;
	}
	return neap_strdup(buf);
}

char *neap_yaml_key(const json_t *scalar)
{
	switch (json_typeof(scalar)) {
	case JSON_STRING:
		return neap_strdup(json_string_value(scalar));
	case JSON_INTEGER:
		return neap_asprintf("%" JSON_INTEGER_FORMAT, json_integer_value(scalar));
	case JSON_REAL:
		return real_text(json_real_value(scalar));
	default:
		return neap_strdup(json_is_true(scalar) ? "true" : "false");
	}
}

/* --- lines ---
 *
 * The line of a field: walks the text again and compares each node's path. Only for
 * messages. */

#define DEPTH_MAX 64
#define PATH_SIZE 256

struct frame {
	size_t path_len; /* of the node itself */
	size_t index;    /* of the next item */
	bool is_list, has_key;
};

struct walk {
	const char *wanted;
	char path[PATH_SIZE];
	struct frame frames[DEPTH_MAX];
	size_t depth;
	size_t best_len, line;
};

static void set_path(struct walk *walk, size_t len, const char *dot, const char *name)
{
	if (len < sizeof(walk->path))
		(void)snprintf(walk->path + len, sizeof(walk->path) - len, "%s%s",
			       len ? dot : "", name);
}

/* The longest beginning of the path counts. */
static void compare(struct walk *walk, size_t line)
{
	size_t len = strlen(walk->path);
	char after;

	if (strncmp(walk->wanted, walk->path, len) != 0 || len < walk->best_len ||
	    (walk->line && len == walk->best_len))
		return;
	after = walk->wanted[len];
	if (after != '\0' && after != '.' && after != '[')
		return;
	walk->best_len = len;
	walk->line = line;
}

/* Whether it is the key of a member. */
static bool take_key(struct walk *walk, const yaml_event_t *event)
{
	struct frame *top = walk->depth ? &walk->frames[walk->depth - 1] : NULL;

	if (!top || top->is_list || top->has_key || event->type != YAML_SCALAR_EVENT)
		return false;
	set_path(walk, top->path_len, ".", (const char *)event->data.scalar.value);
	top->has_key = true;
	compare(walk, event->start_mark.line + 1);
	return true;
}

static bool take_value(struct walk *walk, const yaml_event_t *event)
{
	struct frame *top = walk->depth ? &walk->frames[walk->depth - 1] : NULL;
	bool opens = event->type == YAML_MAPPING_START_EVENT ||
		     event->type == YAML_SEQUENCE_START_EVENT;
	char item[32];

	if (top && top->is_list) {
		(void)snprintf(item, sizeof(item), "[%zu]", top->index++);
		set_path(walk, top->path_len, "", item);
		compare(walk, event->start_mark.line + 1);
	} else if (top) {
		top->has_key = false;
	}
	if (!opens)
		return true;
	if (walk->depth == DEPTH_MAX)
		return false;
	walk->frames[walk->depth++] =
		(struct frame){.path_len = strlen(walk->path),
			       .is_list = event->type == YAML_SEQUENCE_START_EVENT};
	return true;
}

static bool take(struct walk *walk, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
	case YAML_ALIAS_EVENT:
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		return take_key(walk, event) || take_value(walk, event);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		walk->depth--;
		return true;
	default:
		return event->type != YAML_DOCUMENT_END_EVENT;
	}
}

size_t neap_yaml_line(const char *text, size_t len, const char *path)
{
	struct walk walk = {.wanted = path};
	yaml_parser_t parser;
	yaml_event_t event;
	bool goes_on = true;

	if (!yaml_parser_initialize(&parser))
		return 0;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	while (goes_on && yaml_parser_parse(&parser, &event)) {
		goes_on = event.type != YAML_STREAM_END_EVENT && take(&walk, &event);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return walk.line;
}
