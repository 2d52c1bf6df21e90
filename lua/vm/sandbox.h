/* SPDX-License-Identifier: Apache-2.0
 *
 * What a script can reach: an allow-list of Lua's own functions, with replacements for
 * those that could exceed a budget, leave the sandbox or break repeatability (spec
 * lua-sandbox). The list is a table in sandbox.c; a test fails on any other global. */
#ifndef NEAP_LUA_VM_SANDBOX_H
#define NEAP_LUA_VM_SANDBOX_H

#include <lua.h>

/* Fills an empty state. Raises without memory. Called by neap_vm_new only. */
void neap_sandbox_open(lua_State *L);
/* Returns the allowed global names, sorted, NULL-terminated ("string.rep" form for
 * members). */
const char *const *neap_sandbox_names(void);
/* Makes the table at the top of the stack read-only for scripts (a proxy replaces it). */
void neap_sandbox_freeze(lua_State *L);
/* Replaces the content of the read-only table at index by the table at the top (popped),
 * for all who hold it. Does not raise. */
void neap_sandbox_refreeze(lua_State *L, int index);

/* pattern.c: adds string.find, match, gmatch and gsub, with a step budget, to the table
 * at the top. */
void neap_pattern_open(lua_State *L);

#endif
