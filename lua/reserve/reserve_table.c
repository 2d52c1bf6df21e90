/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields of a reservation policy besides match: rank, index, combine. */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "engine/base/selector.h"
#include "lua/reserve/reserve_priv.h"
#include "lua/value/convert.h"

static int bad(const struct neap_policy *policy, const char *field, const char *what,
	       struct neap_error *err)
{
	char where[300];

	(void)neap_error_set(err, NEAP_EINVAL, "field '%s': %s", field, what);
	return neap_error_wrap(
		err, "%s", neap_policy_where(policy, field, NULL, where, sizeof(where)));
}

static bool read_key(lua_State *L, int index, char *ret)
{
	struct neap_error ignored;

	return neap_lua_text(L, index) &&
	       neap_strcopy(ret, NEAP_COLUMN_KEY, neap_lua_text(L, index)) &&
	       neap_label_check_key(ret, &ignored) == 0;
}

/* "team", or { pod = "team", reservation = "for-team" } */
static bool read_pair(lua_State *L, int index, char keys[2][NEAP_COLUMN_KEY])
{
	static const char *const names[] = {"pod", "reservation"};
	int fields = 0;

	if (!lua_istable(L, index))
		return read_key(L, index, keys[0]) && read_key(L, index, keys[1]);
	lua_pushnil(L);
	while (lua_next(L, index)) {
		fields++;
		lua_pop(L, 1);
	}
	for (int i = 0; i < 2; i++) {
		neap_lua_get(L, index, names[i]);
		if (!read_key(L, lua_gettop(L), keys[i]))
			return false;
		lua_pop(L, 1);
	}
	return fields == 2;
}

static int read_index(lua_State *L, int table, struct neap_policy *policy,
		      struct neap_error *err)
{
	struct neap_reserve_own *own = policy->reserve;
	size_t count;

	if (neap_lua_get(L, table, "index") == LUA_TNIL)
		return 0;
	count = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
	if (!count || count > NEAP_RESERVE_PAIRS_MAX)
		return bad(policy, "index", "a list of 1 to 8 keys of labels is wanted",
			   err);
	for (size_t i = 0; i < count; i++) {
		lua_rawgeti(L, -1, (lua_Integer)i + 1);
		if (!read_pair(L, lua_gettop(L), own->keys[i]))
			return bad(policy, "index",
				   "a key of a label that both have, or { pod = KEY, "
				   "reservation = KEY }, is wanted",
				   err);
		own->pairs[i].pod = own->keys[i][0];
		own->pairs[i].reservation = own->keys[i][1];
		lua_pop(L, 1);
	}
	own->pair_count = count;
	return 0;
}

int neap_reserve_read(lua_State *L, int table, struct neap_policy *policy,
		      struct neap_error *err)
{
	int type;

	policy->reserve = neap_alloc(sizeof(*policy->reserve));
	if (!policy->reserve)
		return neap_error_nomem(err);
	type = neap_lua_get(L, table, "rank");
	if (type != LUA_TNIL && type != LUA_TFUNCTION)
		return bad(policy, "rank", "a function is wanted", err);
	policy->reserve->has_rank = type == LUA_TFUNCTION;
	neap_policy_keep(L, policy, NEAP_REF_RANK);
	type = neap_lua_get(L, table, "combine");
	policy->reserve->replaces = strcmp(neap_lua_name(L, -1), "replace") == 0;
	if (type != LUA_TNIL && !policy->reserve->replaces &&
	    strcmp(neap_lua_name(L, -1), "narrow") != 0)
		return bad(
			policy, "combine",
			"\"narrow\" (of those whom the owners take) or \"replace\" (in "
			"place of the owners) is wanted",
			err);
	lua_newtable(L);
	neap_policy_keep(L, policy, NEAP_REF_FACTS);
	return read_index(L, table, policy, err);
}

void neap_reserve_free(struct neap_reserve_own *own)
{
	if (!own)
		return;
	for (size_t i = 0; i < own->held_count; i++)
		(void)neap_reserve_unref(own->held[i]);
	(void)neap_reserve_unref(own->shown);
	free(own->slots);
	free(own);
}

bool neap_policy_has_rank(const struct neap_policy *policy)
{
	return policy->reserve->has_rank;
}

const struct neap_reserve_pair *neap_policy_pairs(const struct neap_policy *policy,
						  size_t *ret_count)
{
	*ret_count = policy->reserve->pair_count;
	return policy->reserve->pairs;
}

bool neap_policy_replaces_owners(const struct neap_policy *policy)
{
	return policy->reserve && policy->reserve->replaces;
}
