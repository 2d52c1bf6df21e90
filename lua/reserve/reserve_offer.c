/* SPDX-License-Identifier: Apache-2.0
 *
 * The reservation as policies see it: one table per decision, whose fields are set for
 * one reservation after the other. Which table holds a field, and its key, is looked up
 * once. */
#include <string.h>

#include <lauxlib.h>

#include "lua/reserve/reserve_priv.h"
#include "lua/value/convert.h"

static bool is_amount(const struct neap_place_need *need)
{
	return need->field == NEAP_PLACE_RESV_ALLOCATABLE ||
	       need->field == NEAP_PLACE_RESV_ALLOCATED ||
	       need->field == NEAP_PLACE_RESV_FREE;
}

void neap_reserve_open(lua_State *L, struct neap_policy *policy)
{
	const struct neap_place_needs *needs = policy->place;
	struct neap_reserve_own *own = policy->reserve;
	int table, targets;

	luaL_checkstack(L, 16, NULL);
	neap_place_push_main(L, needs, NEAP_OF_RESV);
	table = lua_gettop(L);
	lua_createtable(L, 2 * (int)needs->count, 0);
	targets = table + 1;
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];
		const char *name = neap_place_field_name(need);
		bool has_key = neap_place_has_key(need);

		if (neap_place_owner(need) != NEAP_OF_RESV)
			continue;
		if (has_key)
			neap_lua_get(L, table, name);
		else
			lua_pushvalue(L, table);
		lua_rawseti(L, targets, 2 * (lua_Integer)i + 1);
		lua_pushstring(L, has_key ? need->column.key : name);
		lua_rawseti(L, targets, 2 * (lua_Integer)i + 2);
		if (is_amount(need))
			own->resources[i] =
				neap_resources_find(own->pod.resources, need->column.key);
	}
	neap_policy_keep(L, policy, NEAP_REF_TARGETS);
	neap_policy_keep(L, policy, NEAP_REF_RESV);
}

static int64_t amount_of(const struct neap_place_need *need, uint32_t resource,
			 const struct neap_reserve_offer *offer)
{
	const struct neap_reserve *reserve = offer->reserve;
	int64_t kept = neap_amounts_get(&reserve->allocatable, resource);
	int64_t given = neap_amounts_get(offer->allocated, resource);
	int64_t free;

	if (need->field == NEAP_PLACE_RESV_ALLOCATABLE)
		return kept;
	if (need->field == NEAP_PLACE_RESV_ALLOCATED)
		return given;
	free = kept - neap_amounts_get(&reserve->inner, resource) - given;
	return free > 0 ? free : 0;
}

bool neap_reserve_read_expiry(const struct neap_reserve *reserve, int64_t *ret_usec)
{
	int64_t end = reserve->expires_usec;

	if (reserve->ttl_usec <= 0)
		return false;
	if (reserve->created_usec <= INT64_MAX - reserve->ttl_usec &&
	    reserve->created_usec + reserve->ttl_usec < end)
		end = reserve->created_usec + reserve->ttl_usec;
	*ret_usec = end;
	return end != INT64_MAX;
}

static void push_field(lua_State *L, const struct neap_policy *policy, size_t i,
		       const struct neap_reserve_offer *offer)
{
	const struct neap_place_need *need = &policy->place->rows[i];
	const struct neap_reserve *reserve = offer->reserve;
	const char *key = need->column.key;
	int64_t usec;

	switch (need->field) {
	case NEAP_PLACE_RESV_NAME:
		neap_place_push_text(L, reserve->object->name);
		break;
	case NEAP_PLACE_RESV_UID:
		neap_place_push_text(L, reserve->object->uid);
		break;
	case NEAP_PLACE_RESV_NODE:
		neap_place_push_text(L, reserve->node_name);
		break;
	case NEAP_PLACE_RESV_NODE_LABELS:
		neap_place_push_text(L, offer->node ? neap_object_label(offer->node, key)
						    : NULL);
		break;
	case NEAP_PLACE_RESV_LABELS:
		neap_place_push_text(L, neap_object_label(reserve->object, key));
		break;
	case NEAP_PLACE_RESV_IS_OWNER:
		lua_pushboolean(L, offer->is_owner);
		break;
	case NEAP_PLACE_RESV_PODS:
		lua_pushinteger(L, (lua_Integer)offer->pods);
		break;
	case NEAP_PLACE_RESV_ORDER:
		lua_pushinteger(L, reserve->order);
		break;
	case NEAP_PLACE_RESV_IS_ONCE:
		lua_pushboolean(L, reserve->is_once);
		break;
	case NEAP_PLACE_RESV_AGE:
		usec = policy->reserve->pod.now_usec - reserve->created_usec;
		lua_pushinteger(L, usec > 0 ? usec / 1000000 : 0);
		break;
	case NEAP_PLACE_RESV_EXPIRES:
		if (neap_reserve_read_expiry(reserve, &usec))
			lua_pushinteger(L, usec / 1000000);
		else
			lua_pushnil(L);
		break;
	default:
		lua_pushinteger(L, amount_of(need, policy->reserve->resources[i], offer));
		break;
	}
}

static bool is_fact(const struct neap_place_need *need)
{
	return need->field == NEAP_PLACE_RESV_ANNOTATIONS ||
	       (need->field == NEAP_PLACE_RESV_LABELS && !neap_place_has_key(need));
}

bool neap_reserve_set(lua_State *L, struct neap_policy *policy,
		      const struct neap_reserve_offer *offer, struct neap_error *err)
{
	const struct neap_place_needs *needs = policy->place;
	int facts, targets;

	if (needs->has_facts)
		neap_reserve_push_facts(L, policy, offer->reserve);
	else
		lua_pushnil(L);
	facts = lua_gettop(L);
	neap_policy_push(L, policy, NEAP_REF_TARGETS);
	targets = facts + 1;
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];
		bool is_missing;

		if (neap_place_owner(need) != NEAP_OF_RESV)
			continue;
		lua_rawgeti(L, targets, 2 * (lua_Integer)i + 1);
		lua_rawgeti(L, targets, 2 * (lua_Integer)i + 2);
		if (need->field == NEAP_PLACE_RESV_OWNERS)
			neap_reserve_push_owners(L, policy, offer->reserve);
		else if (is_fact(need))
			lua_rawgeti(L, facts, (lua_Integer)i + 1);
		else
			push_field(L, policy, i, offer);
		is_missing = lua_isnil(L, -1);
		lua_rawset(L, -3);
		lua_pop(L, 1);
		if (!is_missing || need->is_optional)
			continue;
		(void)neap_error_set(err, NEAP_EUNAVAILABLE,
				     "skipped: %.150s of %.60s is missing", need->name,
				     offer->reserve->object->name);
		return false;
	}
	lua_pop(L, 2);
	return true;
}
