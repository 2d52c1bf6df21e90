/* SPDX-License-Identifier: Apache-2.0
 *
 * The block object: C memory that is freed even if something raises between allocation
 * and use. It never reaches a script. */
#include <stdlib.h>

#include <lauxlib.h>

#include "lua/value/objects.h"

#define BLOCK_TYPE "neap.Block"

void **neap_lua_new_block(lua_State *L)
{
	void **block = lua_newuserdatauv(L, sizeof(*block), 0);

	*block = NULL;
	luaL_setmetatable(L, BLOCK_TYPE); /* __gc owns it from here on */
	return block;
}

void neap_lua_drop_block(void **block)
{
	free(*block);
	*block = NULL;
}

static int block_gc(lua_State *L)
{
	neap_lua_drop_block(luaL_checkudata(L, 1, BLOCK_TYPE));
	return 0;
}

void neap_lua_open_block(lua_State *L)
{
	luaL_newmetatable(L, BLOCK_TYPE);
	lua_pushcfunction(L, block_gc);
	lua_setfield(L, -2, "__gc");
	lua_pop(L, 1);
}
