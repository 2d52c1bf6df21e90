/* SPDX-License-Identifier: Apache-2.0
 *
 * `triggers`: pressure events of the kernel that call a policy between two ticks. A list
 * of tables: { name = "stall", pressure = "cpu", of = "critical", stall_usec = 20000,
 * window_usec = 500000,
 *   full = false }. The bounds of the window are the kernel's. */
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "lua/call/policy_priv.h"
#include "lua/value/convert.h"

#define WINDOW_MIN     500000
#define WINDOW_MAX     10000000
#define WINDOW_DEFAULT 500000

static const char *const pressures[] = {"cpu", "memory", "io", NULL};
static const char *const sources[] = {"node", "critical", "burstable", "besteffort",
				      NULL};
static const char *const names[] = {"name",       "pressure",    "of",
				    "stall_usec", "window_usec", "full"};

static int bad(size_t index, const char *name, struct neap_error *err, const char *what)
{
	return neap_error_set(err, NEAP_EINVAL, "field 'triggers[%zu]%s%s': %s", index,
			      name[0] ? "." : "", name, what);
}

static int check_names(lua_State *L, int table, size_t index, struct neap_error *err)
{
	lua_pushnil(L);
	while (lua_next(L, table)) {
		const char *key = neap_lua_name(L, -2);
		bool is_known = false;

		for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
			is_known = is_known || strcmp(names[i], key) == 0;
		if (!is_known)
			return neap_error_set(
				err, NEAP_EINVAL,
				"field 'triggers[%zu]': there is no '%.40s' in a trigger; "
				"known: name, pressure, of, stall_usec, window_usec, full",
				index, key);
		lua_pop(L, 1);
	}
	return 0;
}

/* One of the words; false for anything else. */
static bool read_word(lua_State *L, int table, const char *name, const char *const *words,
		      char *ret, size_t size)
{
	bool is_found = false;

	neap_lua_get(L, table, name);
	for (; *words && !is_found; words++)
		is_found = strcmp(*words, neap_lua_name(L, -1)) == 0 &&
			   neap_strcopy(ret, size, *words);
	lua_pop(L, 1);
	return is_found;
}

/* A whole number of min to max; the default (0: none) when there is nothing. */
static bool read_usec(lua_State *L, int table, const char *name, int64_t min, int64_t max,
		      int64_t fallback, int64_t *ret)
{
	int type = neap_lua_get(L, table, name);
	int is_whole = 0;

	*ret = fallback;
	if (type == LUA_TNUMBER)
		*ret = lua_tointegerx(L, -1, &is_whole);
	lua_pop(L, 1);
	return (is_whole || (type == LUA_TNIL && fallback)) && *ret >= min && *ret <= max;
}

static bool is_name(const char *text)
{
	return text[0] &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_") == strlen(text);
}

static int read_trigger(lua_State *L, int table, struct neap_policy *policy, size_t index,
			struct neap_error *err)
{
	struct neap_policy_trigger *trigger = &policy->triggers[index - 1];
	int rc = check_names(L, table, index, err);

	if (rc < 0)
		return rc;
	neap_lua_get(L, table, "name");
	if (!neap_strcopy(trigger->name, sizeof(trigger->name), neap_lua_name(L, -1)) ||
	    !is_name(trigger->name))
		return bad(index, "name", err, "1 to 47 of a-z, 0-9, - and _ are wanted");
	lua_pop(L, 1);
	for (size_t i = 0; i + 1 < index; i++)
		if (strcmp(policy->triggers[i].name, trigger->name) == 0)
			return bad(index, "name", err,
				   "another trigger has this name already");
	if (!read_word(L, table, "pressure", pressures, trigger->pressure,
		       sizeof(trigger->pressure)))
		return bad(index, "pressure", err,
			   "\"cpu\", \"memory\" or \"io\" is wanted");
	if (!read_word(L, table, "of", sources, trigger->of, sizeof(trigger->of)))
		return bad(
			index, "of", err,
			"\"node\", \"critical\", \"burstable\" or \"besteffort\" is wanted");
	if (!read_usec(L, table, "window_usec", WINDOW_MIN, WINDOW_MAX, WINDOW_DEFAULT,
		       &trigger->window_usec))
		return bad(index, "window_usec", err,
			   "whole microseconds of 500000 to 10000000 are wanted");
	if (!read_usec(L, table, "stall_usec", 1, trigger->window_usec, 0,
		       &trigger->stall_usec))
		return bad(
			index, "stall_usec", err,
			"whole microseconds are wanted, at least 1, at most the window");
	if (neap_lua_get(L, table, "full") != LUA_TNIL && !lua_isboolean(L, -1))
		return bad(index, "full", err,
			   "true (all tasks wait) or false (some task waits) is wanted");
	trigger->is_full = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return 0;
}

int neap_triggers_read(lua_State *L, int index, struct neap_policy *policy,
		       struct neap_error *err)
{
	size_t count = lua_istable(L, index) ? lua_rawlen(L, index) : 0;
	int rc;

	policy->trigger_count = 0;
	if (lua_isnil(L, index))
		return 0;
	if (count < 1 || count > NEAP_TRIGGERS_MAX)
		return neap_error_set(err, NEAP_EINVAL,
				      "field 'triggers': a list of 1 to %d is wanted",
				      NEAP_TRIGGERS_MAX);
	for (size_t i = 1; i <= count; i++) {
		if (lua_rawgeti(L, index, (lua_Integer)i) != LUA_TTABLE)
			return bad(i, "", err, "a table is wanted");
		rc = read_trigger(L, lua_gettop(L), policy, i, err);
		if (rc < 0)
			return rc;
		lua_pop(L, 1);
		policy->trigger_count = i;
	}
	return 0;
}
