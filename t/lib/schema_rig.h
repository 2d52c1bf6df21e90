/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON and causes as texts in tables of tests. */
#ifndef NEAP_T_LIB_SCHEMA_RIG_H
#define NEAP_T_LIB_SCHEMA_RIG_H

#include "engine/schema/schema.h"

/* JSON with ' in place of "; a text that is none ends the test. */
json_t *rig_json(const char *text);
/* A list of count values of that text as the only member of an object. */
json_t *rig_json_many(const char *name, const char *item, size_t count);
/* "field|reason|message" of each, a line each, and "+N" of those that are not told. The
 * caller's. */
char *rig_causes(const struct neap_causes *causes);
/* The schema of this text (as above), which has to be right. */
struct neap_schema *rig_schema(const char *text);

/* A root with such properties. */
#define RIG_ROOT(properties) "{'type': 'object', 'properties': {" properties "}}"

#endif
