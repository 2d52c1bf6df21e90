/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts C structs to Lua tables and back by their field tables, and JSON to Lua values
 * and back.
 *
 * Functions that take a lua_State may raise (no memory): call them inside a protected
 * call, and attach what they allocate to something that the caller frees. */
#ifndef NEAP_LUA_VALUE_CONVERT_H
#define NEAP_LUA_VALUE_CONVERT_H

#include <jansson.h>
#include <lua.h>

#include "engine/base/error.h"
#include "engine/base/field.h"

/* Pushes t[name] and returns its type, without metamethods. Outside a budgeted call,
 * values from a script must be read this way, because a metamethod could loop forever. */
int neap_lua_get(lua_State *L, int index, const char *name);

/* Returns a script's string for C: NULL for other types and for a string that contains
 * NUL, which C would truncate. Borrowed from the state. */
const char *neap_lua_text(lua_State *L, int index);
/* The same for a possible field name: returns "?", which is no field, instead of NULL. */
const char *neap_lua_name(lua_State *L, int index);

/* Pushes one member of the struct at base; nil when missing. */
void neap_lua_push_field(lua_State *L, const struct neap_field *field, const void *base);
/* Pushes a table of all members. Reading a name outside of fields raises; what names the
 * object in that message ("a workload"). */
void neap_lua_push_struct(lua_State *L, const struct neap_field *fields, const void *base,
			  const char *what);
/* Gives the table at the top a metatable that raises when a script reads a key missing
 * from the table of names (name = true) at index. message has one %s for the key. */
void neap_lua_set_strict(lua_State *L, int index, const char *message);

/* The existing names: the nth of arg, NULL after the last. */
struct neap_known {
	const char *(*name)(const void *arg, size_t n);
	const void *arg;
};
/* The same where a key may exist without being in the table: then message is used; for an
 * unknown key the text says that it does not exist. known is borrowed by the state. */
void neap_lua_set_strict_of(lua_State *L, int index, const char *message,
			    const struct neap_known *known);

/* Makes all members missing or empty. */
void neap_struct_clear(const struct neap_field *fields, void *base);
/* Reads the table at index into the struct; only members that it names change. CPU sets
 * may be list texts; a topology is a list of {cpu, core, socket, node} or { sockets =,
 * nodes =, cores =, threads = } (nodes per socket, cores per node, threads per core;
 * siblings have adjacent numbers). Names point into the Lua state; lists and the topology
 * are freed by the caller with neap_struct_done. Errors name the field. The stack is
 * unchanged, even after an error. */
int neap_lua_read_struct(lua_State *L, int index, const struct neap_field *fields,
			 void *base, struct neap_error *err);
/* Frees lists and drops topologies. */
void neap_struct_done(const struct neap_field *fields, void *base);

/* Does not raise; on failure *ret is NULL or a partial result, which the caller drops. An
 * empty table becomes [], a CPU set its list text, an integral float an integer. Refused:
 * functions, topologies, NaN, tables with mixed keys, more than 32 levels, more values or
 * bytes of texts and keys than are given. Reads through read-only tables. */
int neap_lua_to_json_within(lua_State *L, int index, int values, size_t bytes,
			    json_t **ret, struct neap_error *err);

/* A topology from the rows at index ({cpu, core, socket, node}, all integers) or the
 * short form. */
struct neap_topology;
int neap_lua_read_topology(lua_State *L, int index, struct neap_topology **ret,
			   struct neap_error *err);

/* Writes "a, b, c", the names of a field table, for messages. The best guess for a
 * misspelt name comes first ("did you mean 'x'? "). Like snprintf. */
void neap_field_print_known(const struct neap_field *fields, const char *wrong, char *buf,
			    size_t size);
/* The nth name of a field table, in the form of struct neap_known. */
const char *neap_field_known(const void *fields, size_t n);

#endif
