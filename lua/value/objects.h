/* SPDX-License-Identifier: Apache-2.0
 *
 * Object types that scripts receive: CPU sets, topologies, selectors. All are immutable,
 * so one object can be handed out repeatedly; everything else is plain tables.
 *
 * All functions may raise (no memory); call them inside a protected call. */
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

/* Pushes an object that owns *block, allocated with engine/base/mem, until
 * neap_lua_drop_block or its collection: for C memory held across calls that can raise.
 * Never pass it to a script. */
void **neap_lua_new_block(lua_State *L);
void neap_lua_drop_block(void **block);

/* Pushes a copy, or the earlier object of an equal set. Memory: 16 bytes plus 8 per 64
 * CPUs up to the highest member. */
void neap_lua_push_cpuset(lua_State *L, const struct neap_cpuset *set);
/* Returns false when the value at index is not a CPU set; ret is written on success
 * only. */
bool neap_lua_to_cpuset(lua_State *L, int index, struct neap_cpuset *ret);
/* The same, but raises an argument error. */
void neap_lua_check_cpuset(lua_State *L, int arg, struct neap_cpuset *ret);
/* ctx.cpuset([text]) -> cpu set | nil, message */
int neap_lua_cpuset_new(lua_State *L);

/* Pushes an object with its own reference. The latest one is reused while the topology
 * stays the same. */
void neap_lua_push_topology(lua_State *L, struct neap_topology *topology);
/* Pushes an object without a topology and returns the slot for one, which the object then
 * owns. */
struct neap_topology **neap_lua_new_topology(lua_State *L);
/* Borrowed; NULL when the value at index is not a topology. */
struct neap_topology *neap_lua_to_topology(lua_State *L, int index);

/* ctx.selector(table) -> selector | nil, message */
int neap_lua_selector_new(lua_State *L);
/* Pushes the object of a LabelSelector that was validated before. */
void neap_lua_push_selector(lua_State *L, const json_t *json);
struct neap_selector;
/* Pushes an object without a selector and returns the slot for one, which is borrowed and
 * may change later; while NULL, using the object raises. */
const struct neap_selector **neap_lua_new_selector(lua_State *L);
/* Borrowed from the object at index; NULL when it is none. */
const struct neap_selector *neap_lua_to_selector(lua_State *L, int index);
/* Reads a table of labels, or a LabelSelector, as JSON; {} is an empty object. Bounded.
 * Does not raise. */
int neap_lua_read_labels_json(lua_State *L, int index, json_t **ret,
			      struct neap_error *err);

/* Returns the text at arg; raises when it is longer than NEAP_VM_TEXT_BYTES or contains
 * NUL. */
const char *neap_lua_check_text(lua_State *L, int arg);

#endif
