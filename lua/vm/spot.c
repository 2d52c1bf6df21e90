/* SPDX-License-Identifier: Apache-2.0 */
#include "lua/vm/spot.h"

#include <stdio.h>
#include <string.h>

#define LEVELS_MAX 20 /* of calls that are looked through */
#define UNNAMED    "to '?'"

/* A frame of a script: neap's own loops in Lua are none. */
static bool is_script(lua_State *L, lua_Debug *ar)
{
	(void)lua_getinfo(L, "Sl", ar);
	return ar->currentline > 0 && ar->source[0] == '@';
}

static bool is_outermost(lua_State *L, int level)
{
	lua_Debug ar;

	while (lua_getstack(L, ++level, &ar))
		if (is_script(L, &ar))
			return false;
	return true;
}

static void print(lua_State *L, int level, lua_Debug *ar, const char *entry,
		  struct neap_spot *ret)
{
	int len = snprintf(ret->text, sizeof(ret->text), "%s:%d: ", ar->short_src,
			   ar->currentline);
	char *at = ret->text + len;
	size_t left = sizeof(ret->text) - (size_t)len;

	(void)lua_getinfo(L, "nt", ar);
	if (strcmp(ar->what, "main") == 0)
		return;
	if (ar->name && !ar->istailcall && strcmp(ar->namewhat, "for iterator") != 0 &&
	    ar->namewhat[0])
		(void)snprintf(at, left, "in %s '%.40s': ",
			       strcmp(ar->namewhat, "metamethod") == 0 ? "metamethod"
								       : "function",
			       ar->name);
	else if (entry && !ar->istailcall && is_outermost(L, level))
		(void)snprintf(at, left, "in function '%.40s': ", entry);
	else
		(void)snprintf(at, left, "in the function of line %d: ", ar->linedefined);
}

void neap_spot_find(lua_State *L, const char *entry, struct neap_spot *ret)
{
	neap_spot_of(L, entry, NULL, ret);
}

void neap_spot_of(lua_State *L, const char *entry, const char *message,
		  struct neap_spot *ret)
{
	lua_Debug ar;
	int found = -1;

	*ret = (struct neap_spot){0};
	for (int level = 0; level < LEVELS_MAX && lua_getstack(L, level, &ar); level++) {
		char place[NEAP_SPOT];
		int len;

		if (!is_script(L, &ar))
			continue;
		len = snprintf(place, sizeof(place), "%s:%d: ", ar.short_src,
			       ar.currentline);
		if (found < 0 || (message && strncmp(message, place, (size_t)len) == 0))
			print(L, level, &ar, entry, ret);
		if (found < 0)
			found = level;
		if (!message)
			break;
		if (strncmp(message, place, (size_t)len) == 0) {
			ret->own = (size_t)len;
			break;
		}
	}
	if (found > 0 && lua_getstack(L, found - 1, &ar) && lua_getinfo(L, "n", &ar) &&
	    ar.name)
		(void)snprintf(ret->callee, sizeof(ret->callee), "%s", ar.name);
}

int neap_spot_error(const struct neap_spot *spot, enum neap_code code,
		    const char *message, struct neap_error *err)
{
	const char *rest = message + spot->own, *at = strstr(rest, UNNAMED);

	if (!at || !spot->callee[0])
		return neap_error_set(err, code, "%s%s", spot->text, rest);
	return neap_error_set(err, code, "%s%.*s'%s'%s", spot->text,
			      (int)(at + strlen("to ") - rest), rest, spot->callee,
			      at + strlen(UNNAMED));
}
