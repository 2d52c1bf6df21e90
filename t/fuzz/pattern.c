/* SPDX-License-Identifier: Apache-2.0
 *
 * The bounded pattern functions against Lua's own: the same results, or an error of both.
 * Only where the bounded ones run out of steps may they differ. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/vm/sandbox.h"
#include "lua/vm/vm.h"
#include "t/fuzz/lib/fuzz.h"

/* Everything of one call as one text; what is raised begins with "error". */
static const char driver[] =
	"local concat, tostring, type, pcall = table.concat, tostring, type, pcall\n"
	"local function show(ok, ...)\n"
	"  if not ok then return 'error ' .. tostring((...)) end\n"
	"  local out = {}\n"
	"  for i = 1, select('#', ...) do out[i] = type(select(i, ...)) .. ':' .. tostring((select(i, ...))) end\n"
	"  return concat(out, ',')\n"
	"end\n"
	"local function all(s, p, init)\n"
	"  local out = {}\n"
	"  for a, b in string.gmatch(s, p, init) do out[#out + 1] = show(true, a, b) end\n"
	"  return concat(out, ';')\n"
	"end\n"
	"return function(which, s, p, r, init)\n"
	"  if which == 0 then return show(pcall(string.find, s, p, init)) end\n"
	"  if which == 1 then return show(pcall(string.match, s, p, init)) end\n"
	"  if which == 2 then return show(pcall(all, s, p, init)) end\n"
	"  if which == 3 then return show(pcall(string.gsub, s, p, r)) end\n"
	"  if which == 4 then return show(pcall(string.find, s, p, init, true)) end\n"
	"  if which == 5 then return show(pcall(string.gsub, s, p, r, init)) end\n"
	"  return show(pcall(string.gsub, s, p, { a = 'X', [1] = 'one', ab = false }))\n"
	"end\n";

#define WAYS 7

static lua_State *real;
static struct neap_vm *vm;

static void states_make(void)
{
	struct neap_error err;

	real = luaL_newstate();
	luaL_openlibs(real);
	FUZZ_CHECK(luaL_dostring(real, driver) == 0);
	FUZZ_CHECK(neap_vm_new(64 << 20, &vm, &err) == 0);
	FUZZ_CHECK(neap_vm_load(vm, driver, sizeof(driver) - 1, "driver", &err) == 0);
	FUZZ_CHECK(neap_vm_call(vm, 0, 1, 10000000, &err) == 0);
}

struct question {
	int way;
	const char *text, *pattern, *replacement;
	size_t text_len, pattern_len, replacement_len;
	int init;
};

static int push(lua_State *L)
{
	const struct question *q = lua_touserdata(L, -1);

	lua_settop(L, 0);
	lua_pushinteger(L, q->way);
	lua_pushlstring(L, q->text, q->text_len);
	lua_pushlstring(L, q->pattern, q->pattern_len);
	lua_pushlstring(L, q->replacement, q->replacement_len);
	lua_pushinteger(L, q->init);
	return 5;
}

/* Borrowed until the next question. */
static const char *ask_real(struct question *q, size_t *ret_len)
{
	lua_settop(real, 1);
	lua_pushvalue(real, 1);
	lua_pushcfunction(real, push);
	lua_pushlightuserdata(real, q);
	lua_call(real, 1, 5);
	lua_call(real, 5, 1);
	return lua_tolstring(real, -1, ret_len);
}

/* NULL when the budget was spent. */
static const char *ask_ours(struct question *q, size_t *ret_len)
{
	lua_State *L = neap_vm_state(vm);
	struct neap_error err = {0};

	lua_settop(L, 1);
	lua_pushvalue(L, 1);
	FUZZ_CHECK(neap_vm_protect(vm, push, q, 5, &err) == 0);
	if (neap_vm_call(vm, 5, 1, 10000000, &err) == 0)
		return lua_tolstring(L, -1, ret_len);
	FUZZ_CHECK(err.code == NEAP_EBUDGET || err.code == NEAP_EUNAVAILABLE);
	return NULL;
}

/* Wildcards one after the other need steps without end in both; Lua's own has no
 * bound. */
static bool is_dear(const char *pattern, size_t len)
{
	int loops = 0;

	for (size_t i = 0; i < len; i++)
		loops += strchr("*+-?", pattern[i]) != NULL && pattern[i];
	return loops > 4;
}

/* Which function, where to start, text, pattern and replacement, with \n between. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct question q = {0};
	struct fuzz_in in;
	const char *ours, *theirs;
	size_t our_len = 0, their_len = 0;

	if (!real)
		states_make();
	fuzz_in_init(&in, data, size);
	q.way = (int)(fuzz_byte(&in) % WAYS);
	q.init = (int)(int8_t)fuzz_byte(&in);
	q.text = fuzz_text_until(&in, '\n', &q.text_len);
	q.pattern = fuzz_text_until(&in, '\n', &q.pattern_len);
	q.replacement = fuzz_rest(&in, &q.replacement_len);
	if (!is_dear(q.pattern, q.pattern_len) && q.text_len < 200) {
		ours = ask_ours(&q, &our_len);
		theirs = ask_real(&q, &their_len);
		if (ours && strncmp(theirs, "error", 5) == 0)
			FUZZ_CHECK(strncmp(ours, "error", 5) == 0);
		else if (ours && !strstr(ours, "too complex") && !strstr(ours, "steps"))
			FUZZ_CHECK(our_len == their_len &&
				   memcmp(ours, theirs, our_len) == 0);
		lua_settop(real, 1);
	}
	if (neap_vm_is_dead(vm)) {
		neap_vm_free(vm);
		lua_close(real);
		states_make();
	}
	lua_settop(neap_vm_state(vm), 1);
	fuzz_in_done(&in);
	return 0;
}
