/* SPDX-License-Identifier: Apache-2.0
 *
 * `where`: the nodes that a policy applies to. */
#include <string.h>

#include <lauxlib.h>

#include "engine/base/selector.h"
#include "lua/call/policy_priv.h"
#include "lua/value/convert.h"
#include "lua/value/objects.h"

/* Does not raise. */
static int read_node_selector(lua_State *L, int index, struct neap_policy *policy,
			      struct neap_error *err)
{
	json_t *json = NULL;
	int rc;

	if (!lua_istable(L, index))
		return neap_error_set(err, NEAP_EINVAL,
				      "field 'where.nodeSelector': a table of labels is "
				      "wanted, this is a %s",
				      luaL_typename(L, index));
	rc = neap_lua_read_labels_json(L, index, &json, err);
	rc = rc < 0 ? rc : neap_selector_parse_map(json, &policy->where, err);
	json_decref(json);
	if (rc < 0)
		return neap_error_wrap(err, "field 'where.nodeSelector%s%.63s'",
				       err->field[0] ? "." : "", err->field);
	return 0;
}

int neap_where_read(lua_State *L, int index, struct neap_policy *policy,
		    struct neap_error *err)
{
	if (lua_isnil(L, index))
		return 0;
	if (!lua_istable(L, index))
		return neap_error_set(
			err, NEAP_EINVAL,
			"field 'where': a table such as { nodeSelector = { pool "
			"= \"batch\" } } is wanted, this is a %s",
			luaL_typename(L, index));
	lua_pushnil(L);
	while (lua_next(L, index)) {
		const char *key = neap_lua_name(L, -2);

		if (strcmp(key, "nodeSelector") != 0)
			return neap_error_set(
				err, NEAP_EINVAL,
				"field 'where.%.40s': there is no such field; known: "
				"nodeSelector",
				key);
		lua_pop(L, 1);
	}
	if (neap_lua_get(L, index, "nodeSelector") == LUA_TNIL)
		return 0;
	return read_node_selector(L, lua_gettop(L), policy, err);
}

bool neap_policy_is_for(const struct neap_policy *policy, const json_t *labels)
{
	/* A filter is asked about all nodes, and asks of each. */
	return policy->kind->is_place || !policy->where ||
	       neap_selector_matches(policy->where, labels);
}
