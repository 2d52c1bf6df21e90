/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the schema share: the way to a value, formats, patterns, and the work that is left. */
#ifndef NEAP_ENGINE_SCHEMA_SCHEMA_PRIV_H
#define NEAP_ENGINE_SCHEMA_SCHEMA_PRIV_H

#include <stdarg.h>

#include "engine/schema/schema.h"

/* As deep as jansson reads. */
#define SCHEMA_OBJECT_DEPTH_MAX 2048
/* A path that is told through a callback. */
#define SCHEMA_PATH_MAX 1024

/* One step of the way from the root to a value. Each lies on the stack of the walker that took it, so a way
 * costs nothing until it is told. */
struct schema_step {
	const struct schema_step *up; /* NULL: the root, which has no text */
	const char *name;             /* NULL: an item of a list */
	size_t index;
	bool is_key; /* name is data, and stands in brackets */
	/* Of a change: what is now there; NULL: nothing, or it is not looked for. */
	const json_t *before;
};

/* What a member is; NULL: nothing is known of it. */
const struct neap_schema *schema_member(const struct neap_schema *schema,
					const char *name);

/* "", 0, false, [] and {}: what Go cannot tell from a member that is missing. */
bool schema_is_zero(const json_t *value);

/* Writes "spec.ports[1].name"; cut to what fits. Returns buf. */
char *schema_path(const struct schema_step *at, char *buf, size_t size);

/* Writes a value as messages show it, cut to what fits. Returns buf. */
char *schema_show(const json_t *value, char *buf, size_t size);
/* A double as Go prints it: 10, 1.5, 1e+21. Returns buf. */
char *schema_show_number(double number, char *buf, size_t size);

void schema_causes_vadd(struct neap_causes *causes, const char *reason, const char *field,
			const char *fmt, va_list args) NEAP_PRINTF(4, 0);

/* Whether a text is in a format; formats of numbers and NONE are always fine. */
bool schema_format_fits(enum neap_schema_format format, const char *text, size_t len);
/* As CRDs name it: "date-time"; "" of NONE. */
const char *schema_format_name(enum neap_schema_format format);
/* Of the format of an openAPIV3Schema; NONE when it is not one that is checked. */
enum neap_schema_format schema_format_parse(const char *name);
/* A number without a fraction that is an int64. */
bool schema_is_whole(const json_t *value, int64_t *ret);

/* As schema_default and neap_schema_check, with the work that may still be done, which goes down. */
bool schema_default_within(const struct neap_schema *schema, json_t *object,
			   uint64_t *work);
bool schema_check_within(const struct neap_schema *schema, const json_t *object,
			 struct neap_causes *causes, uint64_t *work);

/* --- patterns --- */

/* Compiles; 0, with the bytes that the code takes, or -NEAP_EINVAL, -NEAP_ENOMEM. */
int schema_pattern_compile(const char *pattern, void **ret_code, size_t *ret_bytes,
			   struct neap_error *err);
void schema_pattern_free(void *code);

/* What one check needs for matching; made at the first match. */
struct schema_matcher {
	void *general, *context, *data;
};
void schema_matcher_done(struct schema_matcher *matcher);

enum schema_match {
	SCHEMA_MATCH_YES,
	SCHEMA_MATCH_NO,
	SCHEMA_MATCH_TOO_LONG, /* work ended, or one match took too much of it */
	SCHEMA_MATCH_NOMEM,
};
/* Whether code matches anywhere in text. Takes what it cost off *work. */
enum schema_match schema_pattern_match(struct schema_matcher *matcher, const void *code,
				       const char *text, size_t len, uint64_t *work);

#endif
