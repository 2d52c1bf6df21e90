/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of a command as a table: one row parses, checks and prints its line of help.
 * Written --name VALUE, --name=VALUE, -n VALUE, -nVALUE; a COUNT --name or --name=N. */
#ifndef NEAP_API_CTL_BASE_OPTION_H
#define NEAP_API_CTL_BASE_OPTION_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

enum neap_option_type {
	NEAP_OPTION_FLAG,     /* bool */
	NEAP_OPTION_TEXT,     /* const char *, borrowed from argv */
	NEAP_OPTION_OUTPUT,   /* enum neap_output */
	NEAP_OPTION_INT,      /* int64_t, min to max */
	NEAP_OPTION_COUNT,    /* int64_t: 0 alone, min to max as --name=N */
	NEAP_OPTION_DURATION, /* int64_t microseconds, min to max */
	NEAP_OPTION_MILLI,    /* int64_t thousandths, above 0 */
	NEAP_OPTION_BYTES,    /* int64_t, above 0 */
};

/* How a command prints its result. */
enum neap_output {
	NEAP_OUTPUT_TEXT, /* for people, the default */
	NEAP_OUTPUT_JSON,
	NEAP_OUTPUT_YAML,
};
#define NEAP_OUTPUT_NAMES "json|yaml"

struct neap_option {
	const char *name; /* without "--"; "" ends the table */
	char letter;      /* 0 without one */
	enum neap_option_type type;
	size_t offset;     /* in the values */
	const char *value; /* its name in the help: "SECONDS" */
	const char *help;  /* NULL: hidden (an alias of the row above) */
	int64_t min, max;  /* INT, DURATION */
};

/* A table and the struct it fills. Numbers start as NEAP_MISSING, everything else as
 * zero. */
struct neap_option_set {
	const struct neap_option *rows; /* may be NULL */
	void *values;
};

/* Whether the next word is its value when no "=" is there. */
bool neap_option_takes_word(const struct neap_option *row);

void neap_options_clear(const struct neap_option_set *set);
/* Removes options from argv[0..*argc), leaving the other words in order, NULL-terminated,
 * as execvp needs (argv has *argc + 1 items). "--" ends the options; with is_prefix the
 * first word does too. Errors name the option, its value, and what is allowed. */
int neap_options_parse(const struct neap_option_set *sets, size_t set_count,
		       bool is_prefix, int *argc, char **argv, struct neap_error *err);
/* One line per option. */
void neap_options_help(const struct neap_option *rows, struct neap_buf *out);

/* Returns the most similar of count names, NULL when none is similar. */
const char *neap_nearest_find(const char *word, const char *const *names, size_t count);

#endif
