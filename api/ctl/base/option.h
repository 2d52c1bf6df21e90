/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of a command as a table: one row parses, checks and prints its line of help. Written
 * --name VALUE, --name=VALUE, -n VALUE, -nVALUE. */
#ifndef NEAP_API_CTL_BASE_OPTION_H
#define NEAP_API_CTL_BASE_OPTION_H

#include "engine/base/buf.h"
#include "engine/base/error.h"

enum neap_option_type {
	NEAP_OPTION_FLAG,     /* bool */
	NEAP_OPTION_TEXT,     /* const char *, borrowed from argv */
	NEAP_OPTION_OUTPUT,   /* enum neap_output */
	NEAP_OPTION_INT,      /* int64_t, min to max */
	NEAP_OPTION_DURATION, /* int64_t microseconds, min to max */
	NEAP_OPTION_MILLI,    /* int64_t thousandths, above 0 */
	NEAP_OPTION_BYTES,    /* int64_t, above 0 */
};

/* How a command prints what it found. */
enum neap_output {
	NEAP_OUTPUT_TEXT, /* for people, when nothing else is asked for */
	NEAP_OUTPUT_JSON,
	NEAP_OUTPUT_YAML,
};
#define NEAP_OUTPUT_NAMES "json|yaml"

struct neap_option {
	const char *name; /* without "--"; "" ends the table */
	char letter;      /* 0 without one */
	enum neap_option_type type;
	size_t offset;     /* in the values */
	const char *value; /* how help calls it: "SECONDS" */
	const char *help;  /* NULL: not shown (another name of the row above) */
	int64_t min, max;  /* INT, DURATION */
};

/* A table and the struct it fills. Numbers start as NEAP_MISSING, the rest as zero. */
struct neap_option_set {
	const struct neap_option *rows; /* may be NULL */
	void *values;
};

void neap_options_clear(const struct neap_option_set *set);
/* Takes options out of argv[0..*argc), leaving the other words in order and NULL after them, as
 * execvp wants it (argv has *argc + 1 items). "--" ends the options, and so does the first word
 * with is_prefix. Errors name the option, its value, and what is allowed. */
int neap_options_parse(const struct neap_option_set *sets, size_t set_count,
		       bool is_prefix, int *argc, char **argv, struct neap_error *err);
/* One line per option. */
void neap_options_help(const struct neap_option *rows, struct neap_buf *out);

/* The closest of names (count of them), NULL when none is near. */
const char *neap_nearest_find(const char *word, const char *const *names, size_t count);

#endif
