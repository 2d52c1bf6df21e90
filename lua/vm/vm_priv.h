/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by vm.c and the sandbox's libraries. */
#ifndef NEAP_LUA_VM_VM_PRIV_H
#define NEAP_LUA_VM_VM_PRIV_H

#include <lua.h>

#include "engine/base/base.h"
#include "engine/base/error.h"
#include "lua/vm/spot.h"

/* Longest range of list elements that one library call touches. */
#define NEAP_VM_RANGE_MAX 200000
/* Steps between two calls of neap_vm_check in a C loop. */
#define NEAP_VM_CHECK_MASK 0xff

/* The size passed to lua_createtable for a list of n: never one that looks like a table
 * with too many keys (vm.c). */
#define NEAP_VM_LIST(n) ((int)(n) | 1)

/* vm.c, where all pcalls are: pcall(f, ...) and xpcall(f, handler, ...) for scripts. They
 * do not catch a kill, and xpcall calls its handler after unwinding, where hooks work. */
int neap_vm_script_pcall(lua_State *L);
int neap_vm_script_xpcall(lua_State *L);

/* vm.c: raises Lua's own out-of-memory error; the call then ends with NEAP_ENOMEM. For
 * memory outside Lua. */
_Noreturn void neap_vm_raise_nomem(lua_State *L);

/* vm.c: finds where the script on L is. */
void neap_vm_find_spot(lua_State *L, struct neap_spot *ret);

/* source.c: checks that the compiler can handle the text; and lua_load of it, within
 * which the script is killed when its budget is spent. */
int neap_source_check(const char *text, size_t len, const char *name,
		      struct neap_error *err);
int neap_source_load(lua_State *L, const char *text, size_t len, const char *chunk);

/* metatable.c: adds setmetatable to the table at the top. */
void neap_metatable_open(lua_State *L);

/* order.c */
int neap_order_next(lua_State *L);
int neap_order_pairs(lua_State *L);

/* stringlib.c: pushes the text of the value at index, never an address. */
int neap_string_tostring(lua_State *L);
void neap_string_open(
	lua_State *L); /* adds to the table at the top: format, rep, and the patterns */
/* Raises when the string at arg is longer than a C function may receive. */
void neap_string_check(lua_State *L, int arg);

/* tablelib.c */
void neap_table_open(lua_State *L); /* adds all of `table` to the table at the top */

/* sandbox.c: pushes the table behind a frozen one and returns true, or pushes the value
 * itself. The inner table must not reach a script. */
bool neap_sandbox_push_thawed(lua_State *L, int index);
/* Raises unless arg is a table that scripts may write to. */
void neap_sandbox_check_writable(lua_State *L, int arg);

#endif
