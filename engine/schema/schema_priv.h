/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the schema: paths, formats, patterns, and the step budget. */
#ifndef NEAP_ENGINE_SCHEMA_SCHEMA_PRIV_H
#define NEAP_ENGINE_SCHEMA_SCHEMA_PRIV_H

#include <stdarg.h>

#include "engine/schema/schema.h"

/* The depth limit of jansson. */
#define SCHEMA_OBJECT_DEPTH_MAX 2048
/* Size of a path passed to a callback. */
#define SCHEMA_PATH_MAX 1024

/* One step of the path from the root to a value. Steps live on the walkers' stacks, so a
 * path costs nothing until it is printed. */
struct schema_step {
	const struct schema_step *up; /* NULL: the root, which has no text */
	const char *name;             /* NULL: an item of a list */
	size_t index;
	bool is_key; /* name is data, and printed in brackets */
	/* For updates: the old value at this place; NULL: none, or not compared. */
	const json_t *before;
};

/* Returns the schema of a member; NULL: unknown. */
const struct neap_schema *schema_member(const struct neap_schema *schema,
					const char *name);

/* "", 0, false, [] and {}: values that Go cannot tell from a missing member. */
bool schema_is_zero(const json_t *value);

/* Writes "spec.ports[1].name", cut to fit. Returns buf. */
char *schema_path(const struct schema_step *at, char *buf, size_t size);

/* Writes a value as messages show it, cut to fit. Returns buf. */
char *schema_show(const json_t *value, char *buf, size_t size);
/* Writes a double as Go prints it: 10, 1.5, 1e+21. Returns buf. */
char *schema_show_number(double number, char *buf, size_t size);

void schema_causes_vadd(struct neap_causes *causes, const char *reason, const char *field,
			const char *fmt, va_list args) NEAP_PRINTF(4, 0);

/* Returns whether a text has a format; number formats and NONE always pass. */
bool schema_format_fits(enum neap_schema_format format, const char *text, size_t len);
/* Returns the name in CRDs ("date-time"); "" for NONE. */
const char *schema_format_name(enum neap_schema_format format);
/* Parses the format of an openAPIV3Schema; NONE for formats that are not checked. */
enum neap_schema_format schema_format_parse(const char *name);
/* Returns whether value is a number without fraction that fits an int64. */
bool schema_is_whole(const json_t *value, int64_t *ret);

/* Like schema_default and neap_schema_check, with *work as the step budget, which is
 * charged. */
bool schema_default_within(const struct neap_schema *schema, json_t *object,
			   uint64_t *work);
bool schema_check_within(const struct neap_schema *schema, const json_t *object,
			 struct neap_causes *causes, uint64_t *work);

/* --- patterns --- */

/* Compiles a pattern. Returns 0 with the bytes of the code, -NEAP_EINVAL or
 * -NEAP_ENOMEM. */
int schema_pattern_compile(const char *pattern, void **ret_code, size_t *ret_bytes,
			   struct neap_error *err);
void schema_pattern_free(void *code);

/* What one check needs for matching; created at the first match. */
struct schema_matcher {
	void *general, *context, *data;
};
void schema_matcher_done(struct schema_matcher *matcher);

enum schema_match {
	SCHEMA_MATCH_YES,
	SCHEMA_MATCH_NO,
	SCHEMA_MATCH_TOO_LONG, /* the budget ran out, or one match used too much of it */
	SCHEMA_MATCH_NOMEM,
};
/* Returns whether code matches anywhere in text. Charges *work. */
enum schema_match schema_pattern_match(struct schema_matcher *matcher, const void *code,
				       const char *text, size_t len, uint64_t *work);

#endif
