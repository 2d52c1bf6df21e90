/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses options by their tables. */
#include "api/ctl/base/option.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/text.h"

#define NAMES_MAX 64
#define WORD_MAX  32

static bool is_end(const struct neap_option *row)
{
	return row == NULL || !*row->name;
}

bool neap_option_takes_word(const struct neap_option *row)
{
	return row->type != NEAP_OPTION_FLAG && row->type != NEAP_OPTION_COUNT;
}

void neap_options_clear(const struct neap_option_set *set)
{
	const struct neap_option *row;
	char *values = set->values;

	for (row = set->rows; !is_end(row); row++) {
		if (row->type == NEAP_OPTION_FLAG)
			*(bool *)(values + row->offset) = false;
		else if (row->type == NEAP_OPTION_TEXT)
			*(const char **)(values + row->offset) = NULL;
		else if (row->type == NEAP_OPTION_OUTPUT)
			*(enum neap_output *)(values + row->offset) = NEAP_OUTPUT_TEXT;
		else
			*(int64_t *)(values + row->offset) = NEAP_MISSING;
	}
}

const char *neap_nearest_find(const char *word, const char *const *names, size_t count)
{
	size_t i, best = 1 + strlen(word) / 3, cost;
	const char *found = NULL;

	for (i = 0; i < count; i++) {
		cost = neap_text_distance(word, names[i]);
		if (cost < best || (cost == best && found == NULL)) {
			best = cost;
			found = names[i];
		}
	}
	return found;
}

static int number_check(const struct neap_option *row, const char *shown,
			const char *text, int64_t number, struct neap_error *err)
{
	char min[32], max[32];

	if (number >= row->min && (row->max == 0 || number <= row->max))
		return 0;
	if (row->type == NEAP_OPTION_DURATION) {
		(void)neap_duration_format(row->min, min, sizeof(min));
		(void)neap_duration_format(row->max, max, sizeof(max));
	} else {
		(void)snprintf(min, sizeof(min), "%lld", (long long)row->min);
		(void)snprintf(max, sizeof(max), "%lld", (long long)row->max);
	}
	if (row->max == 0)
		return neap_error_field(err, NEAP_EINVAL, shown, "'%.64s' is below %s",
					text, min);
	return neap_error_field(err, NEAP_EINVAL, shown,
				"'%.64s' is not between %s and %s", text, min, max);
}

static int output_set(const char *shown, const char *text, enum neap_output *ret,
		      struct neap_error *err)
{
	if (strcmp(text, "json") != 0 && strcmp(text, "yaml") != 0)
		return neap_error_field(err, NEAP_EINVAL, shown,
					"'%.64s' is neither json nor yaml", text);
	*ret = *text == 'j' ? NEAP_OUTPUT_JSON : NEAP_OUTPUT_YAML;
	return 0;
}

static int value_set(const struct neap_option *row, const char *shown, const char *text,
		     void *values, struct neap_error *err)
{
	void *to = (char *)values + row->offset;
	const char *right = "";
	int64_t number = 0;
	int r = 0;

	switch (row->type) {
	case NEAP_OPTION_FLAG:
		*(bool *)to = true;
		return 0;
	case NEAP_OPTION_TEXT:
		*(const char **)to = text;
		return 0;
	case NEAP_OPTION_OUTPUT:
		return output_set(shown, text, to, err);
	case NEAP_OPTION_COUNT:
		if (!text) {
			*(int64_t *)to = 0;
			return 0;
		}
		right = "a whole number";
		r = neap_int_parse(text, &number, NULL);
		break;
	case NEAP_OPTION_INT:
		right = "a whole number";
		r = neap_int_parse(text, &number, NULL);
		break;
	case NEAP_OPTION_DURATION:
		right = "a time like 2s, 500ms, 1m";
		r = neap_duration_parse(text, &number, NULL);
		break;
	case NEAP_OPTION_MILLI:
		right = "CPUs above 0, like 500m, 2, 1.5";
		r = neap_quantity_parse_milli(text, &number, NULL);
		break;
	case NEAP_OPTION_BYTES:
		right = "bytes above 0, like 512Mi, 1Gi, 2G";
		r = neap_quantity_parse_units(text, &number, NULL);
		break;
	}
	if (r == 0 && row->type >= NEAP_OPTION_MILLI && number <= 0)
		r = -NEAP_EINVAL;
	if (r < 0)
		return neap_error_field(err, NEAP_EINVAL, shown, "'%.64s' is not %s",
					text, right);
	if (row->type < NEAP_OPTION_MILLI &&
	    number_check(row, shown, text, number, err) < 0)
		return -NEAP_EINVAL;
	*(int64_t *)to = number;
	return 0;
}

/* The row for "--name", "--name=value", "-n", "-nvalue", and the value when it is in the
 * word. */
static const struct neap_option *row_find(const struct neap_option_set *sets,
					  size_t count, const char *word,
					  void **ret_values, const char **ret_value)
{
	const struct neap_option *row;
	size_t i, len;

	for (i = 0; i < count; i++) {
		for (row = sets[i].rows; !is_end(row); row++) {
			*ret_values = sets[i].values;
			*ret_value = NULL;
			if (word[1] != '-' && row->letter && word[1] == row->letter) {
				if (word[2])
					*ret_value = word + 2;
				return row;
			}
			if (word[1] != '-')
				continue;
			len = strlen(row->name);
			if (strncmp(word + 2, row->name, len) != 0)
				continue;
			if (word[2 + len] == '=')
				*ret_value = word + 3 + len;
			if (!word[2 + len] || word[2 + len] == '=')
				return row;
		}
	}
	return NULL;
}

static int unknown(const struct neap_option_set *sets, size_t count, const char *word,
		   struct neap_error *err)
{
	const char *names[NAMES_MAX], *near;
	const struct neap_option *row;
	char text[256] = "", bare[WORD_MAX + 1];
	size_t i, n = 0, used = 0;

	for (i = 0; i < count; i++) {
		for (row = sets[i].rows; !is_end(row) && n < NAMES_MAX; row++) {
			names[n++] = row->name;
			if (row->help == NULL ||
			    used + strlen(row->name) + 4 > sizeof(text))
				continue;
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "%s--%s", used > 0 ? " " : "",
						 row->name);
		}
	}
	(void)neap_strcopy(bare, sizeof(bare), word + strspn(word, "-"));
	bare[strcspn(bare, "=")] = '\0';
	near = neap_nearest_find(bare, names, n);
	if (near != NULL)
		return neap_error_set(err, NEAP_EINVAL,
				      "unknown option '%.64s'; did you mean --%s?", word,
				      near);
	return neap_error_set(err, NEAP_EINVAL, "unknown option '%.64s'; there is %s",
			      word, text);
}

int neap_options_parse(const struct neap_option_set *sets, size_t set_count,
		       bool is_prefix, int *argc, char **argv, struct neap_error *err)
{
	const struct neap_option *row;
	const char *value;
	char shown[64];
	void *values = NULL;
	int i, kept = 0;

	for (i = 0; i < *argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (is_prefix)
				break;
			argv[kept++] = argv[i];
			continue;
		}
		row = row_find(sets, set_count, argv[i], &values, &value);
		if (row == NULL)
			return unknown(sets, set_count, argv[i], err);
		if (argv[i][1] == '-')
			(void)snprintf(shown, sizeof(shown), "--%s", row->name);
		else
			(void)snprintf(shown, sizeof(shown), "-%c", row->letter);
		if (row->type == NEAP_OPTION_FLAG && value != NULL)
			return neap_error_field(err, NEAP_EINVAL, shown,
						"takes no value");
		if (neap_option_takes_word(row) && value == NULL) {
			if (i + 1 >= *argc)
				return neap_error_field(err, NEAP_EINVAL, shown,
							"needs a value: %s", row->value);
			value = argv[++i];
		}
		if (value_set(row, shown, value, values, err) < 0)
			return -(int)err->code;
	}
	while (i < *argc)
		argv[kept++] = argv[i++];
	argv[kept] = NULL;
	*argc = kept;
	return 0;
}

void neap_options_help(const struct neap_option *rows, struct neap_buf *out)
{
	const struct neap_option *row;
	char left[64], letter[8];

	for (row = rows; !is_end(row); row++) {
		if (row->help == NULL)
			continue;
		(void)neap_strcopy(letter, sizeof(letter), "    ");
		if (row->letter)
			(void)snprintf(letter, sizeof(letter), "-%c, ", row->letter);
		(void)snprintf(left, sizeof(left), "%s--%s%s%s%s", letter, row->name,
			       row->value == NULL               ? ""
			       : row->type == NEAP_OPTION_COUNT ? "[="
								: " ",
			       row->value != NULL ? row->value : "",
			       row->type == NEAP_OPTION_COUNT ? "]" : "");
		neap_buf_addf(out, "  %-28s  %s\n", left, row->help);
	}
}
