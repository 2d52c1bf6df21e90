/* SPDX-License-Identifier: Apache-2.0
 *
 * The place where a script is, for messages: "half.lua:7: in function 'tick': ". Only
 * reads the state, so it may be called by an allocator, in a hook and in a message
 * handler. */
#ifndef NEAP_LUA_VM_SPOT_H
#define NEAP_LUA_VM_SPOT_H

#include <lua.h>

#include "engine/base/error.h"

#define NEAP_SPOT 160

struct neap_spot {
	/* "file:line: in function 'name': ", "" when no script runs */
	char text[NEAP_SPOT];
	/* leading bytes of the message that give the same place, to be dropped */
	size_t own;
	char callee[40]; /* the C function that the script called there, else "" */
};

/* Finds the innermost script function. entry names the function that C called; NULL: it
 * is named by its line. */
void neap_spot_find(lua_State *L, const char *entry, struct neap_spot *ret);
/* The same for an error with this message (NULL: not a text): if it names a place in a
 * running function, as error(message, 2) does, that function is used. */
void neap_spot_of(lua_State *L, const char *entry, const char *message,
		  struct neap_spot *ret);
/* Builds the error raised there. Lua does not know the name of a function called from C
 * ("bad argument #2 to '?'"), so the name of what the script called is inserted. Returns
 * -code. */
int neap_spot_error(const struct neap_spot *spot, enum neap_code code,
		    const char *message, struct neap_error *err);

#endif
