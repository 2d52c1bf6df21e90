/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing the schema of a CustomResourceDefinition; shared by several files. */
#ifndef NEAP_ENGINE_SCHEMA_SCHEMA_PARSE_H
#define NEAP_ENGINE_SCHEMA_SCHEMA_PARSE_H

#include "engine/schema/schema_priv.h"

/* The parsed schema as one allocation; it starts with the root, so a pointer to the root
 * identifies it. */
struct schema_parsed {
	struct neap_schema root;
	struct neap_schema metadata; /* of the root and of embedded objects */
	struct schema_chunk *chunks; /* nodes, fields, texts */
	void **codes;                /* of patterns */
	size_t code_count;
	json_t *values; /* an array of the enums with values other than strings */
};

struct schema_parser {
	struct schema_parsed *out;
	struct neap_causes *causes;
	size_t causes_before; /* causes at the start, stored and counted */
	struct neap_error *err;
	int rc; /* 0; otherwise nothing more is read */
	size_t nodes, code_bytes;
	uint64_t work; /* for defaults */
};

/* Where a schema node is. */
enum schema_place {
	SCHEMA_AT_ROOT,
	SCHEMA_AT_FIELD, /* and for values of maps */
	SCHEMA_AT_ITEM,
	SCHEMA_IN_LOGIC,
	SCHEMA_IN_EITHER, /* in the allOf of an int-or-string */
};

/* --- memory that lives as long as the schema; zeroed; NULL, and rc is set, without
 * --- */
void *schema_keep(struct schema_parser *parser, size_t count, size_t size);
char *schema_keep_text(struct schema_parser *parser, const char *text);
void schema_chunks_free(struct schema_chunk *chunks);

/* Ends the reading. */
void schema_stop(struct schema_parser *parser, enum neap_code code,
		 const struct schema_step *at, const char *what);
bool schema_has_causes(const struct schema_parser *parser);

/* --- keywords: NULL, or false, when it is not there (null is as good); of another type
 * it is told --- */
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
/* Reports the keyword below at (NULL: at itself). value: for an INVALID. */
void schema_complain(struct schema_parser *parser, enum schema_told told,
		     const struct schema_step *at, const char *key, const json_t *value,
		     const char *fmt, ...) NEAP_PRINTF(6, 7);

/* Reads limits, enum, pattern and format. Lengths that do not fit into node become
 * additional nodes that must hold too: at most SCHEMA_EXTRAS_MAX, and *count is
 * raised. */
#define SCHEMA_EXTRAS_MAX 4
void schema_parse_values(struct schema_parser *parser, struct neap_schema *node,
			 const json_t *json, const struct schema_step *at,
			 const struct neap_schema **extras, size_t *count);
/* Initialises an empty node. */
void schema_node_init(struct neap_schema *node);

/* --- rules: what is wrong is told --- */
/* Refuses keywords that structural schemas may not have, and those not allowed inside
 * logic. */
void schema_rule_words(struct schema_parser *parser, const json_t *json,
		       const struct schema_step *at, enum schema_place place);
/* Reads x-kubernetes-list-type, -list-map-keys, -map-type into node. Call after its
 * items. */
void schema_rule_lists(struct schema_parser *parser, struct neap_schema *node,
		       const json_t *json, const struct schema_step *at);
/* Checks that whatever logic mentions is also declared outside of it. */
void schema_rule_outside(struct schema_parser *parser, const struct neap_schema *logic,
			 const struct neap_schema *outside,
			 const struct schema_step *at_logic,
			 const struct schema_step *at_outside);
/* Checks the three fields that every complete object has. */
void schema_rule_metadata(struct schema_parser *parser, const json_t *metadata,
			  const struct schema_step *at);
/* Reads the default, which must validate against the finished node. */
void schema_rule_default(struct schema_parser *parser, struct neap_schema *node,
			 const json_t *json, const struct schema_step *at);

#endif
