/* SPDX-License-Identifier: Apache-2.0
 *
 * What params.c and param_value.c share. */
#ifndef NEAP_LUA_PARAMS_PRIV_H
#define NEAP_LUA_PARAMS_PRIV_H

#include "lua/params.h"

struct neap_param_type_info {
	const char *name;
	const char *what; /* for messages */
	bool has_range;
};
extern const struct neap_param_type_info neap_param_types[NEAP_PARAM_TYPE_COUNT];

/* Form and range; the error names the parameter and what is allowed. */
int neap_param_parse(const struct neap_param *param, const char *text,
		     struct neap_param_value *ret, struct neap_error *err);
/* The same from the Lua value at index. */
int neap_param_read_value(lua_State *L, int index, const struct neap_param *param,
			  struct neap_param_value *ret, struct neap_error *err);
/* Pushes the value in force, nil when unset. */
void neap_param_push(lua_State *L, const struct neap_param *param);
/* null when unset; NULL without memory. */
json_t *neap_param_json(const struct neap_param *param,
			const struct neap_param_value *value);

#endif
