/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs of C as Lua tables and back, by their field tables; JSON as Lua values and back.
 *
 * The functions that take a lua_State may raise (no memory): call them inside a protected call, and
 * let what they allocate hang from something that the caller frees. */
#ifndef NEAP_LUA_VALUE_CONVERT_H
#define NEAP_LUA_VALUE_CONVERT_H

#include <jansson.h>
#include <lua.h>

#include "engine/base/error.h"
#include "engine/base/field.h"

/* Pushes t[name] and returns its type, without metamethods: whatever a script made must be read so
 * outside a budgeted call, as its metamethods could loop for ever. */
int neap_lua_get(lua_State *L, int index, const char *name);

/* A string of a script as C reads it: NULL for what is none, and for one with a NUL in
 * it, of which C would read the beginning alone. Borrowed from the state. */
const char *neap_lua_text(lua_State *L, int index);
/* The same of what may be the name of a field: "?", which none has, in place of NULL. */
const char *neap_lua_name(lua_State *L, int index);

/* Pushes one member of the struct at base; nil when it is missing. */
void neap_lua_push_field(lua_State *L, const struct neap_field *field, const void *base);
/* Pushes a table of all members. Asking it for a name that is not in fields raises; what names the
 * thing in that message ("a workload"). */
void neap_lua_push_struct(lua_State *L, const struct neap_field *fields, const void *base,
			  const char *what);
/* Gives the table at the top a metatable that raises when a script asks for a key that is not in
 * the table of names (name = true) at index. message has one %s for that key. */
void neap_lua_set_strict(lua_State *L, int index, const char *message);

/* Names that there are: the nth of arg, NULL behind the last. */
struct neap_known {
	const char *(*name)(const void *arg, size_t n);
	const void *arg;
};
/* The same where a key can be one of those that there are and still not be in the table:
 * only then message is right, and another key is told to be none. known is borrowed by
 * the state. */
void neap_lua_set_strict_of(lua_State *L, int index, const char *message,
			    const struct neap_known *known);

/* All members missing or empty. */
void neap_struct_clear(const struct neap_field *fields, void *base);
/* Reads the table at index over the struct: only members that it names are touched. CPU sets may
 * be list texts; a topology is a list of {cpu, core, socket, node} or { sockets =, nodes =, cores =,
 * threads = } (nodes per socket, cores per node, threads per core; siblings have neighbouring
 * numbers). Names point into the Lua state, lists and the topology are the caller's to free with
 * neap_struct_done. Errors name the field. The stack is as before, also after one. */
int neap_lua_read_struct(lua_State *L, int index, const struct neap_field *fields,
			 void *base, struct neap_error *err);
/* Frees lists and drops topologies. */
void neap_struct_done(const struct neap_field *fields, void *base);

/* Pushes a JSON value; null is nil, "processors" with a list of [cpu, core, socket, node] a
 * topology object. NEAP_EINVAL for such a list that makes no topology; nothing is pushed then. */
int neap_lua_push_json(lua_State *L, const json_t *json, struct neap_error *err);
/* Does not raise; on failure *ret is NULL or a part, the caller's to drop. An empty table becomes [], a CPU
 * set its list text, a whole float an integer. Refused: functions, topologies, NaN, tables with
 * mixed keys, more than 32 levels, more than 200000 values. */
int neap_lua_to_json(lua_State *L, int index, json_t **ret, struct neap_error *err);
/* The same for what a script hands to C: at most so many values, and bytes of texts and keys. What
 * is behind a read-only table is read. */
int neap_lua_to_json_within(lua_State *L, int index, int values, size_t bytes,
			    json_t **ret, struct neap_error *err);

/* A topology from the rows at index ({cpu, core, socket, node}, all integers) or the short form. */
struct neap_topology;
int neap_lua_read_topology(lua_State *L, int index, struct neap_topology **ret,
			   struct neap_error *err);

/* "a, b, c": the names of a field table, for messages. The best guess for a misspelt name comes
 * first ("did you mean 'x'? "). As snprintf. */
void neap_field_print_known(const struct neap_field *fields, const char *wrong, char *buf,
			    size_t size);
/* The nth name of a table of fields, as struct neap_known wants it. */
const char *neap_field_known(const void *fields, size_t n);

#endif
