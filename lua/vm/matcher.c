/* SPDX-License-Identifier: Apache-2.0
 *
 * The matcher behind lua/vm/pattern: Lua's patterns by backtracking, with every step
 * counted.
 *
 * A step is one look at a character, one item of a pattern, or a few bytes of a character
 * set or a back reference. A call has STEPS and STEPS_A_BYTE for each byte of its text,
 * so that patterns which walk the text once always get through; that is a few
 * milliseconds at most. The depth limit is Lua's own, and keeps the C stack below 100
 * KiB. */
#include "lua/vm/matcher.h"

#include <ctype.h>
#include <string.h>

#include <lauxlib.h>

#include "lua/vm/vm.h"

#define STEPS        100000
#define STEPS_A_BYTE 8
#define STEP_BYTES   16    /* bytes of a set or of a back reference that make a step */
#define CHECK_MASK   0x3ff /* steps between two looks at the budget */
#define DEPTH_MAX    200

enum { LEN_OPEN = -1, LEN_POSITION = -2 }; /* in place of a capture's length */

static const char *match(struct neap_matcher *m, const char *s, const char *p);

static void spend(struct neap_matcher *m, size_t bytes)
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
static const char *item_end(struct neap_matcher *m, const char *p)
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
static bool is_in_set(struct neap_matcher *m, int c, const char *p, const char *end)
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
static bool is_match_one(struct neap_matcher *m, const char *s, const char *p,
			 const char *end)
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
static const char *match_balance(struct neap_matcher *m, const char *s, const char *p)
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

static const char *match_longest(struct neap_matcher *m, const char *s, const char *p,
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

static const char *match_shortest(struct neap_matcher *m, const char *s, const char *p,
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

static const char *open_capture(struct neap_matcher *m, const char *s, const char *p,
				ptrdiff_t len)
{
	const char *found;

	if (m->level >= NEAP_MATCHER_CAPTURES)
		luaL_error(m->L, "too many captures");
	m->capture[m->level].at = s;
	m->capture[m->level].len = len;
	m->level++;
	found = match(m, s, p);
	if (!found)
		m->level--;
	return found;
}

static const char *close_capture(struct neap_matcher *m, const char *s, const char *p)
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
static const char *match_again(struct neap_matcher *m, const char *s, int digit)
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
static bool is_frontier(struct neap_matcher *m, const char *s, const char *p,
			const char *end)
{
	int before = s == m->text ? '\0' : (unsigned char)s[-1];
	int after = (unsigned char)*s; /* '\0' at the end of any Lua string */

	return !is_in_set(m, before, p, end - 1) && is_in_set(m, after, p, end - 1);
}

/* The items that are more than one character. *ret_p moves on where the match does; NULL:
 * no match. *ret_done is false for an item that is a single character. */
static const char *match_special(struct neap_matcher *m, const char *s,
				 const char **ret_p, bool *ret_done)
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

/* A single-character item with what may follow it. True: go on at *ret_s, *ret_p. False:
 * *ret_s is the result. */
static bool match_item(struct neap_matcher *m, const char **ret_s, const char **ret_p)
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
static const char *match(struct neap_matcher *m, const char *s, const char *p)
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

void neap_matcher_init(struct neap_matcher *m, lua_State *L, const char *text,
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

const char *neap_matcher_try(struct neap_matcher *m, const char *s, const char *pattern)
{
	m->level = 0;
	m->depth = DEPTH_MAX;
	return match(m, s, pattern);
}

void neap_matcher_push(struct neap_matcher *m, int i, const char *s, const char *e)
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

int neap_matcher_push_all(struct neap_matcher *m, const char *s, const char *e)
{
	int count = m->level == 0 && s ? 1 : m->level, i;

	luaL_checkstack(m->L, count, "too many captures");
	for (i = 0; i < count; i++)
		neap_matcher_push(m, i, s, e);
	return count;
}
