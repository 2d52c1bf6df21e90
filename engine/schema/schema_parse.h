/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the schema of a CustomResourceDefinition, which several files do. */
#ifndef NEAP_ENGINE_SCHEMA_SCHEMA_PARSE_H
#define NEAP_ENGINE_SCHEMA_SCHEMA_PARSE_H

#include "engine/schema/schema_priv.h"

/* What is made, in one: it begins with the root, so that the root stands for all of it. */
struct schema_parsed {
	struct neap_schema root;
	struct neap_schema metadata; /* of the root and of those embedded in it */
	struct schema_chunk *chunks; /* nodes, fields, texts */
	void **codes;                /* of patterns */
	size_t code_count;
	json_t *values; /* an array of the enums that are not of strings */
};

struct schema_parser {
	struct schema_parsed *out;
	struct neap_causes *causes;
	size_t causes_before; /* told and not told, at the start */
	struct neap_error *err;
	int rc; /* 0; else nothing more is read */
	size_t nodes, code_bytes;
	uint64_t work; /* for defaults */
};

/* Where a node stands. */
enum schema_place {
	SCHEMA_AT_ROOT,
	SCHEMA_AT_FIELD, /* and at values of maps */
	SCHEMA_AT_ITEM,
	SCHEMA_IN_LOGIC,
	SCHEMA_IN_EITHER, /* in the allOf of an int-or-string */
};

/* --- memory that lives as long as the schema; zeroed; NULL, and rc is set, without --- */
void *schema_keep(struct schema_parser *parser, size_t count, size_t size);
char *schema_keep_text(struct schema_parser *parser, const char *text);
void schema_chunks_free(struct schema_chunk *chunks);

/* Ends the reading. */
void schema_stop(struct schema_parser *parser, enum neap_code code,
		 const struct schema_step *at, const char *what);
bool schema_has_causes(const struct schema_parser *parser);

/* --- keywords: NULL, or false, when it is not there (null is as good); of another type it is told --- */
const json_t *schema_word(const json_t *json, const char *key);
const char *schema_word_text(struct schema_parser *parser, const json_t *json,
			     const char *key, const struct schema_step *at);
bool schema_word_bool(struct schema_parser *parser, const json_t *json, const char *key,
		      const struct schema_step *at);
const json_t *schema_word_object(struct schema_parser *parser, const json_t *json,
				 const char *key, const struct schema_step *at);
const json_t *schema_word_list(struct schema_parser *parser, const json_t *json,
			       const char *key, const struct schema_step *at);

enum schema_told { SCHEMA_FORBIDDEN, SCHEMA_REQUIRED, SCHEMA_INVALID };
/* Tells of the keyword below at (NULL: of at itself). value: of an INVALID. */
void schema_complain(struct schema_parser *parser, enum schema_told told,
		     const struct schema_step *at, const char *key, const json_t *value,
		     const char *fmt, ...) NEAP_PRINTF(6, 7);

/* Reads limits, enum, pattern and format. Lengths that have no room in node come as further nodes, which
 * have to hold as well: at most SCHEMA_EXTRAS_MAX, *count is raised. */
#define SCHEMA_EXTRAS_MAX 4
void schema_parse_values(struct schema_parser *parser, struct neap_schema *node,
			 const json_t *json, const struct schema_step *at,
			 const struct neap_schema **extras, size_t *count);
/* A node that says nothing yet. */
void schema_node_init(struct neap_schema *node);

/* --- rules: what is wrong is told --- */
/* Keywords that no structural schema has, and those that none has in logic. */
void schema_rule_words(struct schema_parser *parser, const json_t *json,
		       const struct schema_step *at, enum schema_place place);
/* x-kubernetes-list-type, -list-map-keys, -map-type; fills in node. After its items. */
void schema_rule_lists(struct schema_parser *parser, struct neap_schema *node,
		       const json_t *json, const struct schema_step *at);
/* What stands in logic also stands outside of it. */
void schema_rule_outside(struct schema_parser *parser, const struct neap_schema *logic,
			 const struct neap_schema *outside,
			 const struct schema_step *at_logic,
			 const struct schema_step *at_outside);
/* The three fields that each whole object has. */
void schema_rule_metadata(struct schema_parser *parser, const json_t *metadata,
			  const struct schema_step *at);
/* Reads the default; it has to fit node, which is whole. */
void schema_rule_default(struct schema_parser *parser, struct neap_schema *node,
			 const json_t *json, const struct schema_step *at);

#endif
