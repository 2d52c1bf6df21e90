/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters of a policy: one schema (`params` in its table) that checks input, fills
 * ctx.params, and prints in the control API. At most NEAP_PARAMS_MAX of them. */
#ifndef NEAP_LUA_CALL_PARAMS_H
#define NEAP_LUA_CALL_PARAMS_H

#include <jansson.h>
#include <lua.h>

#include "engine/base/error.h"

#define NEAP_PARAMS_MAX       64
#define NEAP_PARAM_TEXT       128
#define NEAP_PARAM_VALUES     16
#define NEAP_PARAM_LIST_MAX   1024        /* ceiling of max_items of a list */
#define NEAP_PARAM_MAP_MAX    64          /* ... of a map */
#define NEAP_PARAM_ITEMS      64          /* max_items unless it is given */
#define NEAP_PARAM_JSON_BYTES (64 * 1024) /* a selector, list or map as text */

enum neap_param_type {
	NEAP_PARAM_INTEGER,
	NEAP_PARAM_NUMBER,
	NEAP_PARAM_BOOLEAN,
	NEAP_PARAM_STRING,
	NEAP_PARAM_ENUM,
	NEAP_PARAM_PERCENT, /* whole percents, 0 to 100 unless min and max say otherwise */
	NEAP_PARAM_QUANTITY, /* "4Gi" in bytes, or with unit = "milli" "500m" in thousandths */
	NEAP_PARAM_DURATION, /* "10s"; seconds in Lua */
	NEAP_PARAM_TIME,     /* "22:00", or "24:00" as an end; a text in Lua */
	NEAP_PARAM_ZONE, /* "Europe/Berlin", of which the machine has a file; a text in Lua */
	NEAP_PARAM_SELECTOR, /* a LabelSelector; an object with :matches(labels) in Lua */
	NEAP_PARAM_LIST,     /* of scalars, read-only in Lua */
	NEAP_PARAM_MAP,      /* the same by label keys */
	NEAP_PARAM_TYPE_COUNT
};

struct neap_param_value {
	bool is_set;
	int64_t integer; /* of number-like ones; duration in microseconds, boolean 0 or 1 */
	double real;
	char text[NEAP_PARAM_TEXT];
	json_t *json; /* selector, list, map: as neap_params_values_json gives it; never changed */
};

struct neap_param {
	char name[48];
	enum neap_param_type type;
	bool is_milli;
	struct neap_param_value value,
		default_value; /* a parameter without a default may be unset */
	struct neap_param_value min, max;
	char values[NEAP_PARAM_VALUES][48]; /* of enum, "" ends */
	char doc[256];
	struct neap_param *of; /* list, map: what the elements are, without default */
	int max_items;
};

struct neap_params {
	struct neap_param *rows;
	size_t count;
};

void neap_params_done(struct neap_params *params);

/* Reads the schema at index (a table or nil) and puts every default in force. May raise (no
 * memory); params can be given to neap_params_done at any time. Errors name the field
 * ("params.threshold.type"). */
int neap_params_read(lua_State *L, int index, struct neap_params *params,
		     struct neap_error *err);

/* A copy of schema and values; *ret is written on success only. */
int neap_params_dup(const struct neap_params *params, struct neap_params *ret,
		    struct neap_error *err);

/* "" unsets a parameter that has no default (a string is set to ""). A selector, a list and a map
 * are JSON. Errors of all setters have the parameter in field. */
int neap_params_set_text(struct neap_params *params, const char *name, const char *text,
			 struct neap_error *err);
/* Sets from every member of an object, null puts the default back. What came before an error is
 * set. */
int neap_params_set_json(struct neap_params *params, const json_t *values,
			 struct neap_error *err);
/* Puts every default back. */
void neap_params_reset(struct neap_params *params);
/* Sets from every pair of the table at index. */
int neap_params_set_lua(lua_State *L, int index, struct neap_params *params,
			struct neap_error *err);

/* Puts all values into the table at the top of the stack; unset ones become nil. May raise. */
void neap_params_fill(lua_State *L, const struct neap_params *params);

/* NULL when there is no memory. */
json_t *neap_params_values_json(const struct neap_params *params);
json_t *neap_params_schema_json(const struct neap_params *params);

#endif
