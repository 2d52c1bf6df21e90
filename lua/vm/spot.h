/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a script stands, for messages: "half.lua:7: in function 'tick': ". Only reads the state: it may be called by an
 * allocator, in a hook and in a message handler. */
#ifndef NEAP_LUA_VM_SPOT_H
#define NEAP_LUA_VM_SPOT_H

#include <lua.h>

#include "engine/base/error.h"

#define NEAP_SPOT 160

struct neap_spot {
	char text
		[NEAP_SPOT]; /* "file:line: in function 'name': ", "" where no script runs */
	size_t own; /* bytes of the message that say the same place, to be left out */
	char callee
		[40]; /* what the script called there, "" unless it is a function of C */
};

/* Of the innermost function of a script. entry is what the function that C called is known as; NULL: by its line. */
void neap_spot_find(lua_State *L, const char *entry, struct neap_spot *ret);
/* The same of an error with this message (NULL: it is no text): one that names a place in a function that is running,
 * as error(message, 2) does, is told of that function. */
void neap_spot_of(lua_State *L, const char *entry, const char *message,
		  struct neap_spot *ret);
/* The message of an error that was raised there. Lua does not know the name of a function that C called in its turn
 * ("bad argument #2 to '?'"): it gets that of what the script called. Returns -code. */
int neap_spot_error(const struct neap_spot *spot, enum neap_code code,
		    const char *message, struct neap_error *err);

#endif
