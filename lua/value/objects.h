/* SPDX-License-Identifier: Apache-2.0
 *
 * The object types that scripts get: CPU sets, topologies, selectors. All are immutable, so that they
 * can be handed out again and again; everything else is plain tables.
 *
 * All functions here may raise (no memory) and are to be called inside a protected call. */
#ifndef NEAP_LUA_VALUE_OBJECTS_H
#define NEAP_LUA_VALUE_OBJECTS_H

#include <jansson.h>
#include <lua.h>

#include "engine/base/error.h"
#include "engine/machine/topology.h"

/* Registers the types, once per state. */
void neap_lua_open_cpuset(lua_State *L);
void neap_lua_open_topology(lua_State *L);
void neap_lua_open_selector(lua_State *L);
void neap_lua_open_block(lua_State *L);

/* Pushes an object that owns what *block points to, from alloc of engine/base/mem, until
 * neap_lua_drop_block or its end: for memory of C that is held across calls that can raise. Never to be
 * handed to a script. */
void **neap_lua_new_block(lua_State *L);
void neap_lua_drop_block(void **block);

/* Pushes a copy, or the object of an equal set pushed before; memory: 16 bytes and 8 for every 64 CPUs up to the
 * highest member. */
void neap_lua_push_cpuset(lua_State *L, const struct neap_cpuset *set);
/* False when the value at index is no CPU set; ret is written on success only. */
bool neap_lua_to_cpuset(lua_State *L, int index, struct neap_cpuset *ret);
/* Raises an argument error instead. */
void neap_lua_check_cpuset(lua_State *L, int arg, struct neap_cpuset *ret);
/* ctx.cpuset([text]) -> cpu set | nil, message */
int neap_lua_cpuset_new(lua_State *L);

/* Pushes an object that holds a reference of its own. The one pushed last is kept and pushed again
 * while the topology is the same. */
void neap_lua_push_topology(lua_State *L, struct neap_topology *topology);
/* Pushes an object without a topology and returns the place for one, which the object then owns. */
struct neap_topology **neap_lua_new_topology(lua_State *L);
/* Borrowed; NULL when the value at index is no topology. */
struct neap_topology *neap_lua_to_topology(lua_State *L, int index);

/* ctx.selector(table) -> selector | nil, message */
int neap_lua_selector_new(lua_State *L);
/* Pushes the object of a LabelSelector that was checked before. */
void neap_lua_push_selector(lua_State *L, const json_t *json);
struct neap_selector;
/* Pushes an object without a selector and returns the place for one, which is borrowed and may be another one later;
 * NULL: asking it raises. */
const struct neap_selector **neap_lua_new_selector(lua_State *L);
/* A table of labels, or a LabelSelector, as JSON; {} is an empty object. Bounded. Does not raise. */
int neap_lua_read_labels_json(lua_State *L, int index, json_t **ret,
			      struct neap_error *err);

/* Raises when the text at arg is longer than NEAP_VM_TEXT_BYTES or holds a NUL; returns it. */
const char *neap_lua_check_text(lua_State *L, int arg);

#endif
