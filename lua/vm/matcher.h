/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one call of a pattern function: text, steps left, captures of the last
 * attempt. Text and pattern belong to Lua strings that stay on the caller's stack.
 * Everything here may raise. */
#ifndef NEAP_LUA_VM_MATCHER_H
#define NEAP_LUA_VM_MATCHER_H

#include <lua.h>

#include "engine/base/base.h"

#define NEAP_MATCHER_CAPTURES 32

struct neap_matcher {
	lua_State *L;
	const char *text, *text_end, *pattern_end;
	lua_Integer steps; /* left for this call */
	int depth;
	int level; /* captures, finished or not */
	struct {
		const char *at;
		ptrdiff_t len;
	} capture[NEAP_MATCHER_CAPTURES];
};

void neap_matcher_init(struct neap_matcher *m, lua_State *L, const char *text,
		       size_t text_len, const char *pattern, size_t pattern_len);
/* Tries pattern (without its '^') at s: returns the end of the match, or NULL. */
const char *neap_matcher_try(struct neap_matcher *m, const char *s, const char *pattern);
/* Pushes capture i of the match s..e; capture 0 of none is the whole match. */
void neap_matcher_push(struct neap_matcher *m, int i, const char *s, const char *e);
/* Pushes all captures, or the whole match if there are none and s is given. Returns how
 * many. */
int neap_matcher_push_all(struct neap_matcher *m, const char *s, const char *e);

#endif
