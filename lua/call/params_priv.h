/* SPDX-License-Identifier: Apache-2.0
 *
 * What params.c, param_schema.c, param_value.c and param_json.c share. */
#ifndef NEAP_LUA_CALL_PARAMS_PRIV_H
#define NEAP_LUA_CALL_PARAMS_PRIV_H

#include "lua/call/params.h"

struct neap_param_type_info {
	const char *name;
	const char *what; /* for messages */
	bool has_range;
	bool is_text; /* Lua has the text that was given */
	/* a JSON value holds it, not the members of neap_param_value */
	bool is_composite;
};
extern const struct neap_param_type_info neap_param_types[NEAP_PARAM_TYPE_COUNT];

/* Frees what a row holds. */
void neap_param_done(struct neap_param *param);
/* New kids with room for count rows of zeros; NULL without memory. Both accept NULL. */
struct neap_param_kids *neap_param_kids_new(size_t count);
struct neap_param_kids *neap_param_kids_ref(struct neap_param_kids *kids);
void neap_param_kids_unref(struct neap_param_kids *kids);
/* Whether the text is a name of a parameter or field. */
bool neap_param_is_name(const char *text);
int neap_param_compare(const void *a, const void *b);

/* Checks form and range; the error names the parameter and what is allowed. *ret is new;
 * pass it to neap_param_value_done or neap_param_value_take. */
int neap_param_parse(const struct neap_param *param, const char *text,
		     struct neap_param_value *ret, struct neap_error *err);
/* The same from JSON (borrowed), and from the Lua value at index; neither raises. Numbers
 * for quantities and durations are in the unit scripts see: thousandths or bytes, and
 * seconds. */
int neap_param_parse_json(const struct neap_param *param, const json_t *json,
			  struct neap_param_value *ret, struct neap_error *err);
int neap_param_read_value(lua_State *L, int index, const struct neap_param *param,
			  struct neap_param_value *ret, struct neap_error *err);
/* "parameter 'n': 'text' is not allowed; it takes ..." */
int neap_param_refuse(const struct neap_param *param, const char *text,
		      struct neap_error *err);

void neap_param_value_done(struct neap_param_value *value);
/* Moves: to drops its old value and takes over that of from. */
void neap_param_value_take(struct neap_param_value *to, struct neap_param_value *from);
/* Shares the JSON, which is never modified. */
void neap_param_value_copy(struct neap_param_value *to,
			   const struct neap_param_value *from);

/* Pushes a value, nil when unset. Raises without memory. */
void neap_param_push(lua_State *L, const struct neap_param *param,
		     const struct neap_param_value *value);
/* null when unset; NULL without memory. */
json_t *neap_param_json(const struct neap_param *param,
			const struct neap_param_value *value);
json_t *neap_param_schema_json(const struct neap_param *param);

/* param_schema.c: reads the row at index, whose name is set already. May raise; param may
 * be passed to neap_param_done at any time. */
int neap_param_read_schema(lua_State *L, int index, struct neap_param *param,
			   struct neap_error *err);

#endif
