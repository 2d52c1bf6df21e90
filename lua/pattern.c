/* SPDX-License-Identifier: Apache-2.0
 *
 * string.find, match, gmatch and gsub with the semantics of Lua 5.4 and a step budget. Lua's own
 * backtracks without limit inside C, where no hook reaches it: a pattern of 28 optional letters can
 * hold a thread for seconds.
 *
 * A step is one look at a character, one item of a pattern, or a few bytes of a character set or a
 * back reference. A call has STEPS and STEPS_A_BYTE for each byte of its subject, so that patterns
 * which walk the text once always get through; that is a few milliseconds at most. */
#include <ctype.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/base.h"
#include "lua/sandbox.h"
#include "lua/vm.h"
#include "lua/vm_priv.h"

#define STEPS        100000
#define STEPS_A_BYTE 8
#define STEP_BYTES   16    /* bytes of a set or of a back reference that make a step */
#define CHECK_MASK   0x3ff /* steps between two looks at the budget */
#define CAPTURES_MAX 32
#define DEPTH_MAX    200

enum { LEN_OPEN = -1, LEN_POSITION = -2 }; /* in place of a capture's length */

struct matcher {
	lua_State *L;
	const char *text, *text_end, *pattern_end;
	lua_Integer steps; /* left */
	int depth;
	int level; /* captures, finished or not */
	struct {
		const char *at;
		ptrdiff_t len;
	} capture[CAPTURES_MAX];
};

static const char *match(struct matcher *m, const char *s, const char *p);

static void spend(struct matcher *m, size_t bytes)
{
	lua_Integer before = m->steps;

	m->steps -= 1 + (lua_Integer)(bytes / STEP_BYTES);
	if (m->steps < 0)
		luaL_error(m->L, "the pattern takes too many steps on this text");
	if ((before ^ m->steps) & ~(lua_Integer)CHECK_MASK)
		neap_vm_check(m->L);
}

static bool is_in_class(int c, int class)
{
	bool is;

	switch (tolower(class)) {
	case 'a':
		is = isalpha(c);
		break;
	case 'c':
		is = iscntrl(c);
		break;
	case 'd':
		is = isdigit(c);
		break;
	case 'g':
		is = isgraph(c);
		break;
	case 'l':
		is = islower(c);
		break;
	case 'p':
		is = ispunct(c);
		break;
	case 's':
		is = isspace(c);
		break;
	case 'u':
		is = isupper(c);
		break;
	case 'w':
		is = isalnum(c);
		break;
	case 'x':
		is = isxdigit(c);
		break;
	case 'z': /* deprecated in Lua, and still there */
		is = c == 0;
		break;
	default:
		return class == c;
	}
	return isupper(class) ? !is : is;
}

/* The end of the single-character item that starts at p. */
static const char *item_end(struct matcher *m, const char *p)
{
	const char *start = p;
	char first = *p++;

	if (first == '%') {
		if (p == m->pattern_end)
			luaL_error(m->L, "malformed pattern (ends with '%%')");
		return p + 1;
	}
	if (first != '[')
		return p;
	if (*p == '^')
		p++;
	do { /* a ']' right after the start stands for itself */
		if (p == m->pattern_end)
			luaL_error(m->L, "malformed pattern (missing ']')");
		if (*p++ == '%' && p < m->pattern_end)
			p++;
	} while (*p != ']');
	spend(m, (size_t)(p - start));
	return p + 1;
}

/* Whether c is in the set from '[' at p to ']' at end. */
static bool is_in_set(struct matcher *m, int c, const char *p, const char *end)
{
	bool is_plain = true;

	spend(m, (size_t)(end - p));
	p++;
	if (*p == '^') {
		is_plain = false;
		p++;
	}
	while (p < end) {
		if (*p == '%') {
			p++;
			if (is_in_class(c, (unsigned char)*p))
				return is_plain;
			p++;
		} else if (p[1] == '-' && p + 2 < end) {
			if ((unsigned char)p[0] <= c && c <= (unsigned char)p[2])
				return is_plain;
			p += 3;
		} else {
			if ((unsigned char)*p == c)
				return is_plain;
			p++;
		}
	}
	return !is_plain;
}

/* Whether the item p..end accepts the character at s. */
static bool is_match_one(struct matcher *m, const char *s, const char *p, const char *end)
{
	int c;

	spend(m, 0);
	if (s >= m->text_end)
		return false;
	c = (unsigned char)*s;
	switch (*p) {
	case '.':
		return true;
	case '%':
		return is_in_class(c, (unsigned char)p[1]);
	case '[':
		return is_in_set(m, c, p, end - 1);
	default:
		return (unsigned char)*p == c;
	}
}

/* "%bxy", p at x: the end of the balanced text at s, or NULL. */
static const char *match_balance(struct matcher *m, const char *s, const char *p)
{
	int depth = 1;

	if (p + 1 >= m->pattern_end)
		luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
	if (s >= m->text_end || *s != *p)
		return NULL;
	for (s++; s < m->text_end; s++) {
		spend(m, 0);
		if (*s == p[1]) {
			if (--depth == 0)
				return s + 1;
		} else if (*s == *p) {
			depth++;
		}
	}
	return NULL;
}

static const char *match_longest(struct matcher *m, const char *s, const char *p,
				 const char *end)
{
	ptrdiff_t count = 0;

	while (is_match_one(m, s + count, p, end))
		count++;
	for (; count >= 0; count--) {
		const char *found = match(m, s + count, end + 1);

		if (found)
			return found;
	}
	return NULL;
}

static const char *match_shortest(struct matcher *m, const char *s, const char *p,
				  const char *end)
{
	for (;; s++) {
		const char *found = match(m, s, end + 1);

		if (found)
			return found;
		if (!is_match_one(m, s, p, end))
			return NULL;
	}
}

static const char *open_capture(struct matcher *m, const char *s, const char *p,
				ptrdiff_t len)
{
	const char *found;

	if (m->level >= CAPTURES_MAX)
		luaL_error(m->L, "too many captures");
	m->capture[m->level].at = s;
	m->capture[m->level].len = len;
	m->level++;
	found = match(m, s, p);
	if (!found)
		m->level--;
	return found;
}

static const char *close_capture(struct matcher *m, const char *s, const char *p)
{
	int i = m->level - 1;
	const char *found;

	while (i >= 0 && m->capture[i].len != LEN_OPEN)
		i--;
	if (i < 0)
		luaL_error(m->L, "invalid pattern capture");
	m->capture[i].len = s - m->capture[i].at;
	found = match(m, s, p);
	if (!found)
		m->capture[i].len = LEN_OPEN;
	return found;
}

/* "%1": the end of the same text again at s, or NULL. */
static const char *match_again(struct matcher *m, const char *s, int digit)
{
	int i = digit - '1';
	size_t len;

	if (i < 0 || i >= m->level || m->capture[i].len == LEN_OPEN)
		luaL_error(m->L, "invalid capture index %%%d", i + 1);
	if (m->capture[i].len == LEN_POSITION)
		return NULL;
	len = (size_t)m->capture[i].len;
	spend(m, len);
	if ((size_t)(m->text_end - s) < len || memcmp(m->capture[i].at, s, len) != 0)
		return NULL;
	return s + len;
}

/* "%f[set]", p at '[': whether s is at the border of the set. */
static bool is_frontier(struct matcher *m, const char *s, const char *p, const char *end)
{
	int before = s == m->text ? '\0' : (unsigned char)s[-1];
	int after = (unsigned char)*s; /* '\0' at the end of any Lua string */

	return !is_in_set(m, before, p, end - 1) && is_in_set(m, after, p, end - 1);
}

/* The items that are more than one character. *ret_p moves on where the match does; NULL: no match.
 * *ret_done is false for an item that is a single character. */
static const char *match_special(struct matcher *m, const char *s, const char **ret_p,
				 bool *ret_done)
{
	const char *p = *ret_p, *end;

	*ret_done = true;
	switch (p[1]) {
	case 'b':
		*ret_p = p + 4;
		return match_balance(m, s, p + 2);
	case 'f':
		if (p[2] != '[')
			luaL_error(m->L, "missing '[' after '%%f' in pattern");
		end = item_end(m, p + 2);
		*ret_p = end;
		return is_frontier(m, s, p + 2, end) ? s : NULL;
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
	case '7':
	case '8':
	case '9':
		*ret_p = p + 2;
		return match_again(m, s, p[1]);
	default:
		*ret_done = false;
		return NULL;
	}
}

/* A single-character item with what may follow it. True: go on at *ret_s, *ret_p. False: *ret_s is
 * the result. */
static bool match_item(struct matcher *m, const char **ret_s, const char **ret_p)
{
	const char *s = *ret_s, *p = *ret_p, *found;
	const char *end = item_end(m, p);

	switch (*end) { /* '\0' at the end of the pattern */
	case '?':
		*ret_p = end + 1;
		if (!is_match_one(m, s, p, end))
			return true;
		found = match(m, s + 1, end + 1);
		if (!found)
			return true;
		*ret_s = found;
		return false;
	case '+':
		*ret_s = is_match_one(m, s, p, end) ? match_longest(m, s + 1, p, end)
						    : NULL;
		return false;
	case '*':
		*ret_s = match_longest(m, s, p, end);
		return false;
	case '-':
		*ret_s = match_shortest(m, s, p, end);
		return false;
	default:
		if (!is_match_one(m, s, p, end)) {
			*ret_s = NULL;
			return false;
		}
		*ret_s = s + 1;
		*ret_p = end;
		return true;
	}
}

/* The end of the match of p at s, or NULL. */
static const char *match(struct matcher *m, const char *s, const char *p)
{
	bool goes_on = true;

	if (m->depth-- == 0)
		luaL_error(m->L, "pattern too complex");
	while (goes_on && s && p < m->pattern_end) {
		bool is_special = false;

		spend(m, 0);
		if (*p == '(') {
			goes_on = false;
			s = p[1] == ')' ? open_capture(m, s, p + 2, LEN_POSITION)
					: open_capture(m, s, p + 1, LEN_OPEN);
		} else if (*p == ')') {
			goes_on = false;
			s = close_capture(m, s, p + 1);
		} else if (*p == '$' && p + 1 == m->pattern_end) {
			goes_on = false;
			s = s == m->text_end ? s : NULL;
		} else {
			const char *after = NULL;

			if (*p == '%')
				after = match_special(m, s, &p, &is_special);
			if (is_special)
				s = after;
			else
				goes_on = match_item(m, &s, &p);
		}
	}
	m->depth++;
	return s;
}

static void init_matcher(struct matcher *m, lua_State *L, const char *text,
			 size_t text_len, const char *pattern, size_t pattern_len)
{
	m->L = L;
	m->text = text;
	m->text_end = text + text_len;
	m->pattern_end = pattern + pattern_len;
	m->steps = STEPS + STEPS_A_BYTE * (lua_Integer)text_len;
	m->depth = DEPTH_MAX;
	m->level = 0;
}

/* One attempt from s on. */
static const char *try_at(struct matcher *m, const char *s, const char *pattern)
{
	m->level = 0;
	m->depth = DEPTH_MAX;
	return match(m, s, pattern);
}

/* Pushes capture i of the match s..e; capture 0 of none is the whole match. */
static void push_capture(struct matcher *m, int i, const char *s, const char *e)
{
	if (i >= m->level) {
		if (i != 0)
			luaL_error(m->L, "invalid capture index %%%d", i + 1);
		lua_pushlstring(m->L, s, (size_t)(e - s));
		return;
	}
	if (m->capture[i].len == LEN_OPEN)
		luaL_error(m->L, "unfinished capture");
	if (m->capture[i].len == LEN_POSITION)
		lua_pushinteger(m->L, m->capture[i].at - m->text + 1);
	else
		lua_pushlstring(m->L, m->capture[i].at, (size_t)m->capture[i].len);
}

/* Pushes all captures, or the whole match s..e if there are none (and s is given). */
static int push_captures(struct matcher *m, const char *s, const char *e)
{
	int count = m->level == 0 && s ? 1 : m->level, i;

	luaL_checkstack(m->L, count, "too many captures");
	for (i = 0; i < count; i++)
		push_capture(m, i, s, e);
	return count;
}

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
	struct matcher m;
	bool is_anchored;

	start = start_offset(L, 3, text_len);
	if (start > text_len)
		return push_nothing(L);
	if (is_find && (lua_toboolean(L, 4) || !has_specials(pattern, pattern_len)))
		return find_plain(L, text, text_len, start, pattern, pattern_len);
	init_matcher(&m, L, text, text_len, pattern, pattern_len);
	is_anchored = *pattern == '^';
	pattern += is_anchored;
	s = text + start;
	do {
		e = try_at(&m, s, pattern);
		if (!e)
			continue;
		if (!is_find)
			return push_captures(&m, s, e);
		lua_pushinteger(L, s - text + 1);
		lua_pushinteger(L, e - text);
		return push_captures(&m, NULL, NULL) + 2;
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

/* Upvalues: text, pattern, offset of the next attempt, offset of the end of the last match or -1. */
static int gmatch_step(lua_State *L)
{
	size_t text_len, pattern_len;
	const char *text = lua_tolstring(L, lua_upvalueindex(1), &text_len);
	const char *pattern = lua_tolstring(L, lua_upvalueindex(2), &pattern_len);
	lua_Integer at = lua_tointeger(L, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
	struct matcher m;

	init_matcher(&m, L, text, text_len, pattern, pattern_len);
	for (; at <= (lua_Integer)text_len; at++) {
		const char *e = try_at(&m, text + at, pattern);

		if (!e || e - text == last)
			continue;
		lua_pushinteger(L, e - text);
		lua_copy(L, -1, lua_upvalueindex(3));
		lua_replace(L, lua_upvalueindex(4));
		return push_captures(&m, text + at, e);
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
static void add_text(struct matcher *m, luaL_Buffer *buffer, const char *s, const char *e)
{
	size_t len;
	const char *text = lua_tolstring(m->L, 3, &len), *end = text + len;

	for (; text < end; text++) {
		if (*text != '%') {
			luaL_addchar(buffer, *text);
			continue;
		}
		text++;
		if (*text == '%' && text < end) {
			luaL_addchar(buffer, '%');
		} else if (*text == '0') {
			luaL_addlstring(buffer, s, (size_t)(e - s));
		} else if (isdigit((unsigned char)*text)) {
			push_capture(m, *text - '1', s, e);
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
static bool add_replacement(struct matcher *m, luaL_Buffer *buffer, const char *s,
			    const char *e, int type)
{
	lua_State *L = m->L;

	if (type == LUA_TFUNCTION) {
		lua_pushvalue(L, 3);
		lua_call(L, push_captures(m, s, e), 1);
	} else if (type == LUA_TTABLE) {
		push_capture(m, 0, s, e);
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
	struct matcher m;

	luaL_argexpected(L,
			 type == LUA_TNUMBER || type == LUA_TSTRING ||
				 type == LUA_TFUNCTION || type == LUA_TTABLE,
			 3, "string/function/table");
	neap_string_check(L, 3);
	init_matcher(&m, L, s, text_len, pattern, pattern_len);
	pattern += is_anchored;
	luaL_buffinit(L, &buffer);
	while (count < max) {
		const char *e = try_at(&m, s, pattern);

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
