/* SPDX-License-Identifier: Apache-2.0
 *
 * string.find, match, gmatch and gsub with the semantics of Lua 5.4 and a step budget
 * (lua/vm/matcher). Lua's own backtracks without limit inside C, where no hook reaches
 * it: a pattern of 28 optional letters can hold a thread for seconds. */
#include <ctype.h>
#include <string.h>

#include <lauxlib.h>

#include "lua/vm/matcher.h"
#include "lua/vm/sandbox.h"
#include "lua/vm/vm.h"
#include "lua/vm/vm_priv.h"

static const char *check_text(lua_State *L, int arg, size_t *ret_len)
{
	const char *text = luaL_checklstring(L, arg, ret_len);

	neap_string_check(L, arg);
	return text;
}

/* Start offset from an optional position that may count from the end. */
static size_t start_offset(lua_State *L, int arg, size_t len)
{
	lua_Integer at = luaL_optinteger(L, arg, 1);

	if (at > 0)
		return (size_t)at - 1;
	if (at == 0 || at < -(lua_Integer)len)
		return 0;
	return len + (size_t)at;
}

static int push_nothing(lua_State *L)
{
	luaL_pushfail(L);
	return 1;
}

static int find_plain(lua_State *L, const char *text, size_t text_len, size_t start,
		      const char *word, size_t word_len)
{
	const char *found = memmem(text + start, text_len - start, word, word_len);

	if (!found)
		return push_nothing(L);
	lua_pushinteger(L, found - text + 1);
	lua_pushinteger(L, found - text + (lua_Integer)word_len);
	return 2;
}

static bool has_specials(const char *pattern, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (pattern[i] && strchr("^$*+?.([%-", pattern[i]))
			return true;
	return false;
}

static int find_or_match(lua_State *L, bool is_find)
{
	size_t text_len, pattern_len, start;
	const char *text = check_text(L, 1, &text_len);
	const char *pattern = check_text(L, 2, &pattern_len), *s, *e;
	struct neap_matcher m;
	bool is_anchored;

	start = start_offset(L, 3, text_len);
	if (start > text_len)
		return push_nothing(L);
	if (is_find && (lua_toboolean(L, 4) || !has_specials(pattern, pattern_len)))
		return find_plain(L, text, text_len, start, pattern, pattern_len);
	neap_matcher_init(&m, L, text, text_len, pattern, pattern_len);
	is_anchored = *pattern == '^';
	pattern += is_anchored;
	s = text + start;
	do {
		e = neap_matcher_try(&m, s, pattern);
		if (!e)
			continue;
		if (!is_find)
			return neap_matcher_push_all(&m, s, e);
		lua_pushinteger(L, s - text + 1);
		lua_pushinteger(L, e - text);
		return neap_matcher_push_all(&m, NULL, NULL) + 2;
	} while (s++ < m.text_end && !is_anchored);
	return push_nothing(L);
}

/* string.find(s, pattern [, init [, plain]]) -> first, last, captures... | nil */
static int string_find(lua_State *L)
{
	return find_or_match(L, true);
}

/* string.match(s, pattern [, init]) -> captures... | nil */
static int string_match(lua_State *L)
{
	return find_or_match(L, false);
}

/* Upvalues: text, pattern, offset of the next attempt, offset of the end of the last
 * match or -1. */
static int gmatch_step(lua_State *L)
{
	size_t text_len, pattern_len;
	const char *text = lua_tolstring(L, lua_upvalueindex(1), &text_len);
	const char *pattern = lua_tolstring(L, lua_upvalueindex(2), &pattern_len);
	lua_Integer at = lua_tointeger(L, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
	struct neap_matcher m;

	neap_matcher_init(&m, L, text, text_len, pattern, pattern_len);
	for (; at <= (lua_Integer)text_len; at++) {
		const char *e = neap_matcher_try(&m, text + at, pattern);

		if (!e || e - text == last)
			continue;
		lua_pushinteger(L, e - text);
		lua_copy(L, -1, lua_upvalueindex(3));
		lua_replace(L, lua_upvalueindex(4));
		return neap_matcher_push_all(&m, text + at, e);
	}
	lua_pushinteger(L, at);
	lua_replace(L, lua_upvalueindex(3));
	return push_nothing(L);
}

/* string.gmatch(s, pattern [, init]) -> iterator */
static int string_gmatch(lua_State *L)
{
	size_t text_len, pattern_len, start;

	(void)check_text(L, 1, &text_len);
	(void)check_text(L, 2, &pattern_len);
	start = start_offset(L, 3, text_len);
	lua_settop(L, 2);
	lua_pushinteger(L, (lua_Integer)(start > text_len ? text_len + 1 : start));
	lua_pushinteger(L, -1);
	lua_pushcclosure(L, gmatch_step, 4);
	return 1;
}

/* Adds the replacement text with its %0..%9 filled in. */
static void add_text(struct neap_matcher *m, luaL_Buffer *buffer, const char *s,
		     const char *e)
{
	size_t len;
	const char *text = lua_tolstring(m->L, 3, &len), *end = text + len;

	neap_vm_check(m->L);
	for (; text < end; text++) {
		if (*text != '%') {
			luaL_addchar(buffer, *text);
			continue;
		}
		neap_vm_check(
			m->L); /* an empty capture adds nothing that would end this */
		text++;
		if (*text == '%' && text < end) {
			luaL_addchar(buffer, '%');
		} else if (*text == '0') {
			luaL_addlstring(buffer, s, (size_t)(e - s));
		} else if (isdigit((unsigned char)*text)) {
			neap_matcher_push(m, *text - '1', s, e);
			(void)luaL_tolstring(m->L, -1, NULL); /* a position is a number */
			lua_remove(m->L, -2);
			luaL_addvalue(buffer);
		} else {
			luaL_error(m->L, "invalid use of '%%' in replacement string");
		}
		if (luaL_bufflen(buffer) > NEAP_VM_TEXT_BYTES)
			break; /* the caller raises */
	}
}

/* Adds what stands in for the match s..e; false when the match itself was kept. */
static bool add_replacement(struct neap_matcher *m, luaL_Buffer *buffer, const char *s,
			    const char *e, int type)
{
	lua_State *L = m->L;

	if (type == LUA_TFUNCTION) {
		lua_pushvalue(L, 3);
		lua_call(L, neap_matcher_push_all(m, s, e), 1);
	} else if (type == LUA_TTABLE) {
		neap_vm_check(L);
		neap_matcher_push(m, 0, s, e);
		lua_gettable(L, 3);
	} else {
		add_text(m, buffer, s, e);
		return true;
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(buffer, s, (size_t)(e - s));
		return false;
	}
	if (!lua_isstring(L, -1))
		luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
	neap_string_check(L, -1);
	luaL_addvalue(buffer);
	return true;
}

/* string.gsub(s, pattern, replacement [, n]) -> text, number of matches */
static int string_gsub(lua_State *L)
{
	size_t text_len, pattern_len;
	const char *s = check_text(L, 1, &text_len), *last = NULL;
	const char *pattern = check_text(L, 2, &pattern_len);
	int type = lua_type(L, 3);
	lua_Integer max = luaL_optinteger(L, 4, (lua_Integer)text_len + 1), count = 0;
	bool is_anchored = *pattern == '^', is_changed = false;
	luaL_Buffer buffer;
	struct neap_matcher m;

	luaL_argexpected(L,
			 type == LUA_TNUMBER || type == LUA_TSTRING ||
				 type == LUA_TFUNCTION || type == LUA_TTABLE,
			 3, "string/function/table");
	neap_string_check(L, 3);
	neap_matcher_init(&m, L, s, text_len, pattern, pattern_len);
	pattern += is_anchored;
	luaL_buffinit(L, &buffer);
	while (count < max) {
		const char *e = neap_matcher_try(&m, s, pattern);

		if (e && e != last) {
			count++;
			if (add_replacement(&m, &buffer, s, e, type))
				is_changed = true;
			s = last = e;
		} else if (s < m.text_end) {
			luaL_addchar(&buffer, *s);
			s++;
		} else {
			break;
		}
		if (luaL_bufflen(&buffer) > NEAP_VM_TEXT_BYTES)
			return luaL_error(L, "a result of over %d bytes",
					  NEAP_VM_TEXT_BYTES);
		if (is_anchored)
			break;
	}
	if (is_changed) {
		luaL_addlstring(&buffer, s, (size_t)(m.text_end - s));
		luaL_pushresult(&buffer);
	} else {
		lua_pushvalue(L, 1);
	}
	lua_pushinteger(L, count);
	return 2;
}

static const luaL_Reg functions[] = {
	{"find", string_find},
	{"match", string_match},
	{"gmatch", string_gmatch},
	{"gsub", string_gsub},
	{NULL, NULL},
};

void neap_pattern_open(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
}
