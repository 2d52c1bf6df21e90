/* SPDX-License-Identifier: Apache-2.0
 *
 * What a script can reach: an allow-list of Lua's own functions, with every one that could outrun a
 * budget, a fence or repeatability replaced (spec lua-sandbox). The list is a table in sandbox.c; a
 * global that is not on it fails a test. */
#ifndef NEAP_LUA_VM_SANDBOX_H
#define NEAP_LUA_VM_SANDBOX_H

#include <lua.h>

/* Fills an empty state. Raises on no memory. Called by neap_vm_new only. */
void neap_sandbox_open(lua_State *L);
/* Names that must be global, sorted, NULL at the end ("string.rep" form for members). */
const char *const *neap_sandbox_names(void);
/* Makes the table at the top of the stack read-only for scripts (a proxy replaces it). */
void neap_sandbox_freeze(lua_State *L);
/* Puts the table at the top (popped) behind the read-only one at index, for all who hold that. Does
 * not raise. */
void neap_sandbox_refreeze(lua_State *L, int index);

/* pattern.c: string.find, match, gmatch, gsub with a step budget. */
void neap_pattern_open(lua_State *L); /* adds them to the table at the top */

#endif
