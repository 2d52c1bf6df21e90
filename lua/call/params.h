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
#define NEAP_PARAM_VALUES     32
#define NEAP_PARAM_NAME       96          /* "nodePools.lowThresholds" */
#define NEAP_PARAM_FIELDS_MAX 64          /* fields of an object */
#define NEAP_PARAM_DEPTH      4           /* objects within objects */
#define NEAP_PARAM_STRING_MAX 4096        /* of a string within a composite */
#define NEAP_PARAM_LIST_MAX   1024        /* ceiling of max_items of a list */
#define NEAP_PARAM_MAP_MAX    64          /* ... of a map */
#define NEAP_PARAM_ITEMS      64          /* limit of a list's max_items */
#define NEAP_PARAM_JSON_BYTES (64 * 1024) /* limit of a map's max_items */

enum neap_param_type {
	NEAP_PARAM_INTEGER,
	NEAP_PARAM_NUMBER,
	NEAP_PARAM_BOOLEAN,
	NEAP_PARAM_STRING,
	NEAP_PARAM_ENUM,
	NEAP_PARAM_PERCENT, /* max_items by default */
	/* "4Gi" in bytes, or with unit = "milli" "500m" in thousandths */
	NEAP_PARAM_QUANTITY,
	NEAP_PARAM_DURATION, /* "10s"; seconds in Lua */
	NEAP_PARAM_TIME,     /* "22:00", or "24:00" as an end; a text in Lua */
	/* "Europe/Berlin", of which the machine has a file; a text in Lua */
	NEAP_PARAM_ZONE,
	NEAP_PARAM_SELECTOR, /* a LabelSelector; an object with :matches(labels) in Lua */
	/* of scalars, selectors or objects; read-only in Lua */
	NEAP_PARAM_LIST,
	NEAP_PARAM_MAP,    /* the same, keyed by label keys */
	NEAP_PARAM_OBJECT, /* named fields, each with a schema; read-only in Lua */
	NEAP_PARAM_TYPE_COUNT
};

struct neap_param_value {
	bool is_set;
	int64_t integer; /* for numeric types; duration in microseconds, boolean 0 or 1 */
	double real;
	char text[NEAP_PARAM_TEXT];
	/* selector, list, map: as in neap_params_values_json; never modified */
	json_t *json;
};

struct neap_param_kids;

struct neap_param {
	/* Of a field of an object: its path, "namespaces.include". An element has the
	 * name of its list or map. */
	char name[NEAP_PARAM_NAME];
	uint8_t key_at;   /* where the last part of name begins */
	bool is_required; /* neap_policy_check_params refuses it unset */
	enum neap_param_type type;
	bool is_milli;
	struct neap_param_value value,
		default_value; /* a parameter without a default may be unset */
	struct neap_param_value min, max;
	char values[NEAP_PARAM_VALUES][48]; /* for enum, ended by "" */
	char doc[256];
	/* List, map: the element type, without default, as the only row. Object: its
	 * fields, by name. NULL: another type. */
	struct neap_param_kids *kids;
	int max_items;
	uint64_t at_most_one; /* object: of these fields, a bit each */
};

/* Immutable once they are read, and shared by copies of the parameters. */
struct neap_param_kids {
	_Atomic uint32_t refs;
	size_t count;
	struct neap_param rows[];
};

struct neap_params {
	struct neap_param *rows;
	size_t count;
};

void neap_params_done(struct neap_params *params);

/* Reads the schema at index (a table or nil) and applies all defaults. May raise (no
 * memory); params may be passed to neap_params_done at any time. Errors name the field
 * ("params.threshold.type"). */
int neap_params_read(lua_State *L, int index, struct neap_params *params,
		     struct neap_error *err);

/* Checks that required parameters are set. */
int neap_params_check(const struct neap_params *params, struct neap_error *err);
/* A copy of schema and values; *ret is written on success only. */
int neap_params_dup(const struct neap_params *params, struct neap_params *ret,
		    struct neap_error *err);

/* "" unsets a parameter without default (a string becomes ""). Selectors, lists and maps
 * are JSON. All setters put the parameter into the error's field. */
int neap_params_set_text(struct neap_params *params, const char *name, const char *text,
			 struct neap_error *err);
/* Sets from every member of an object; null restores the default. Members before an error
 * stay set. */
int neap_params_set_json(struct neap_params *params, const json_t *values,
			 struct neap_error *err);
/* Restores all defaults. */
void neap_params_reset(struct neap_params *params);
/* Sets from every pair of the table at index. */
int neap_params_set_lua(lua_State *L, int index, struct neap_params *params,
			struct neap_error *err);

/* Writes all values into the table at the top of the stack; unset ones become nil. May
 * raise. */
void neap_params_fill(lua_State *L, const struct neap_params *params);

/* NULL when there is no memory. */
json_t *neap_params_values_json(const struct neap_params *params);
json_t *neap_params_schema_json(const struct neap_params *params);

#endif
