/* SPDX-License-Identifier: Apache-2.0
 *
 * `needs`: which fields of the sample a policy sees. Only these are made into Lua values, and
 * asking for another one raises, so that a policy cannot depend on what it did not declare. */
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "lua/convert.h"
#include "lua/policy_priv.h"

static int bad_need(size_t index, struct neap_error *err, const char *what,
		    const char *name, const char *rest)
{
	return neap_error_set(err, NEAP_EINVAL, "field 'needs[%zu]': %s'%.48s'%s",
			      index + 1, what, name, rest);
}

static int unknown_need(size_t index, const struct neap_need *need,
			struct neap_error *err)
{
	const struct neap_field *fields = neap_sample_fields;
	const char *wrong = need->name, *dot = strchr(need->name, '.');
	char known[200], rest[200 + 32];

	if (dot) {
		char head[64];
		const struct neap_field *parent;

		(void)neap_strcopy(head, sizeof(head),
				   need->name); /* no longer than that */
		head[dot - need->name] = '\0';
		parent = neap_sample_field_find(head);
		if (parent && parent->type == NEAP_FIELD_STRUCT) {
			fields = parent->fields;
			wrong = dot + 1;
		}
	}
	neap_field_print_known(fields, wrong, known, sizeof(known));
	(void)neap_strcopy(rest, sizeof(rest), " in a node sample; "); /* fits */
	(void)neap_strcopy(rest + strlen(rest), sizeof(rest) - strlen(rest), known);
	return bad_need(index, err, "there is no field ", need->name, rest);
}

/* True when one of the two includes the other. */
static bool overlaps(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	size_t len = a_len < b_len ? a_len : b_len;

	return strncmp(a, b, len) == 0 &&
	       (a_len == b_len || (a_len < b_len ? b : a)[len] == '.');
}

static int read_need(lua_State *L, struct neap_policy *policy, size_t index,
		     struct neap_error *err)
{
	struct neap_need *need = &policy->needs[index];
	const char *dot;
	size_t len;

	if (lua_type(L, -1) != LUA_TSTRING ||
	    !neap_strcopy(need->name, sizeof(need->name), lua_tostring(L, -1)))
		return bad_need(index, err, "a name such as ", "critical_used_milli",
				" is wanted, with ? behind it when it may be missing");
	len = strlen(need->name);
	need->is_optional = len && need->name[len - 1] == '?';
	if (need->is_optional)
		need->name[len - 1] = '\0';

	need->field = neap_sample_field_find(need->name);
	if (!need->field)
		return unknown_need(index, need, err);
	dot = strchr(need->name, '.');
	if (dot)
		for (need->parent = neap_sample_fields; need->parent->name;
		     need->parent++)
			if (strncmp(need->parent->name, need->name,
				    (size_t)(dot - need->name)) == 0 &&
			    !need->parent->name[dot - need->name])
				break;
	for (size_t i = 0; i < index; i++)
		if (overlaps(policy->needs[i].name, need->name))
			return bad_need(index, err, "", need->name, " is there twice");
	return 0;
}

/* Makes the metatables "node" and one for each struct of which only some fields were asked for. */
static void make_metas(lua_State *L, struct neap_policy *policy)
{
	neap_policy_push(L, policy, NEAP_REF_METAS);
	lua_newtable(L); /* the names below "node" */
	lua_newtable(L); /* something to hang the metatable on */
	neap_lua_set_strict(L, -2, "node.%s is not declared: add it to needs");
	lua_getmetatable(L, -1);
	lua_setfield(L, -4, "node");
	lua_pop(L, 1);

	for (size_t i = 0; i < policy->need_count; i++) {
		const struct neap_need *need = &policy->needs[i];
		const char *top = need->parent ? need->parent->name : need->name;
		const char *message;

		lua_pushboolean(L, 1);
		lua_setfield(L, -2, top);
		if (!need->parent || lua_getfield(L, -2, top) != LUA_TNIL)
			continue;
		lua_pop(L, 1);
		message = lua_pushfstring(
			L, "node.%s.%%s is not declared: add it to needs", top);
		lua_newtable(L);
		for (size_t k = 0; k < policy->need_count; k++) {
			if (policy->needs[k].parent != need->parent)
				continue;
			lua_pushboolean(L, 1);
			lua_setfield(L, -2, policy->needs[k].field->name);
		}
		lua_newtable(L);
		neap_lua_set_strict(L, -2, message);
		lua_getmetatable(L, -1);
		lua_setfield(L, -6, top);
		lua_pop(L, 3);
	}
}

int neap_needs_read(lua_State *L, int index, struct neap_policy *policy,
		    struct neap_error *err)
{
	size_t count = lua_istable(L, index) ? lua_rawlen(L, index) : NEAP_NEEDS_MAX + 1;
	int top = lua_gettop(L);

	luaL_checkstack(L, 16 + NEAP_NEEDS_MAX, NULL);
	if (lua_isnil(L, index))
		count = 0;
	if (count > NEAP_NEEDS_MAX)
		return neap_error_set(
			err, NEAP_EINVAL,
			"field 'needs': a list of at most %d names is wanted",
			NEAP_NEEDS_MAX);
	policy->needs = neap_alloc_array(count ? count : 1, sizeof(*policy->needs));
	if (!policy->needs)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		int rc;

		lua_rawgeti(L, index, (lua_Integer)i + 1);
		rc = read_need(L, policy, i, err);
		if (rc < 0)
			return rc;
		lua_pop(L, 1);
		policy->need_count = i + 1;
	}
	make_metas(L, policy);
	lua_settop(L, top);
	return 0;
}

const struct neap_need *neap_needs_find_missing(const struct neap_policy *policy,
						const struct neap_sample *sample)
{
	for (size_t i = 0; i < policy->need_count; i++)
		if (!policy->needs[i].is_optional &&
		    neap_sample_field_is_missing(sample, policy->needs[i].name))
			return &policy->needs[i];
	return NULL;
}

/* The partial struct of need in the node table at the top; pushes it. */
static void push_parent(lua_State *L, const struct neap_need *need, int metas)
{
	lua_pushstring(L, need->parent->name);
	if (lua_rawget(L, -2) == LUA_TTABLE)
		return;
	lua_pop(L, 1);
	lua_newtable(L);
	lua_getfield(L, metas, need->parent->name);
	lua_setmetatable(L, -2);
	lua_pushvalue(L, -1);
	lua_setfield(L, -3, need->parent->name);
}

void neap_needs_push(lua_State *L, const struct neap_policy *policy,
		     const struct neap_sample *sample)
{
	int metas;

	luaL_checkstack(L, 16, NULL);
	neap_policy_push(L, policy, NEAP_REF_METAS);
	metas = lua_gettop(L);
	lua_createtable(L, 0, (int)policy->need_count);
	for (size_t i = 0; i < policy->need_count; i++) {
		const struct neap_need *need = &policy->needs[i];
		bool is_missing = neap_sample_field_is_missing(sample, need->name);

		if (!need->parent) {
			if (is_missing)
				continue;
			neap_lua_push_field(L, need->field, sample);
			lua_setfield(L, -2, need->name);
			continue;
		}
		push_parent(L, need, metas);
		if (!is_missing) {
			neap_lua_push_field(L, need->field,
					    (const char *)sample + need->parent->offset);
			lua_setfield(L, -2, need->field->name);
		}
		lua_pop(L, 1);
	}
	lua_getfield(L, metas, "node");
	lua_setmetatable(L, -2);
	lua_remove(L, metas);
}
