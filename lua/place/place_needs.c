/* SPDX-License-Identifier: Apache-2.0
 *
 * `needs` of the kinds called within decisions, and their tables. The pod's table is new
 * in each decision; one node table is reused for all nodes with its fields set for each,
 * so a node costs no memory. Lua code generated from the needs sets the fields, which
 * costs a quarter of setting them from C. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/mem.h"
#include "lua/place/place_priv.h"
#include "lua/value/convert.h"

enum keys { NO_KEY, KEY, ANY_KEY }; /* ANY: the whole table, or one of it */

static const struct {
	const char *name;
	enum neap_place_of of;
	enum keys keys;
} fields[NEAP_PLACE_FIELDS] = {
	[NEAP_PLACE_POD_NAME] = {"name", NEAP_OF_POD, NO_KEY},
	[NEAP_PLACE_POD_NAMESPACE] = {"namespace", NEAP_OF_POD, NO_KEY},
	[NEAP_PLACE_POD_UID] = {"uid", NEAP_OF_POD, NO_KEY},
	[NEAP_PLACE_POD_CLASS] = {"class", NEAP_OF_POD, NO_KEY},
	[NEAP_PLACE_POD_PRIORITY] = {"priority", NEAP_OF_POD, NO_KEY},
	[NEAP_PLACE_POD_IS_DAEMON] = {"is_daemon", NEAP_OF_POD, NO_KEY},
	[NEAP_PLACE_POD_LABELS] = {"labels", NEAP_OF_POD, ANY_KEY},
	[NEAP_PLACE_POD_ANNOTATIONS] = {"annotations", NEAP_OF_POD, KEY},
	[NEAP_PLACE_POD_REQUESTS] = {"requests", NEAP_OF_POD, KEY},
	[NEAP_PLACE_POD_IMAGES] = {"images", NEAP_OF_POD, NO_KEY},
	[NEAP_PLACE_POD_REFERENCES] = {"ownerReferences", NEAP_OF_POD, NO_KEY},
	[NEAP_PLACE_RESV_NAME] = {"name", NEAP_OF_RESV, NO_KEY},
	[NEAP_PLACE_RESV_UID] = {"uid", NEAP_OF_RESV, NO_KEY},
	[NEAP_PLACE_RESV_NODE] = {"node", NEAP_OF_RESV, NO_KEY},
	[NEAP_PLACE_RESV_NODE_LABELS] = {"node_labels", NEAP_OF_RESV, KEY},
	[NEAP_PLACE_RESV_LABELS] = {"labels", NEAP_OF_RESV, ANY_KEY},
	[NEAP_PLACE_RESV_ANNOTATIONS] = {"annotations", NEAP_OF_RESV, KEY},
	[NEAP_PLACE_RESV_OWNERS] = {"owners", NEAP_OF_RESV, NO_KEY},
	[NEAP_PLACE_RESV_IS_OWNER] = {"is_owner", NEAP_OF_RESV, NO_KEY},
	[NEAP_PLACE_RESV_PODS] = {"pods", NEAP_OF_RESV, NO_KEY},
	[NEAP_PLACE_RESV_ALLOCATABLE] = {"allocatable", NEAP_OF_RESV, KEY},
	[NEAP_PLACE_RESV_ALLOCATED] = {"allocated", NEAP_OF_RESV, KEY},
	[NEAP_PLACE_RESV_FREE] = {"free", NEAP_OF_RESV, KEY},
	[NEAP_PLACE_RESV_ORDER] = {"order", NEAP_OF_RESV, NO_KEY},
	[NEAP_PLACE_RESV_IS_ONCE] = {"is_once", NEAP_OF_RESV, NO_KEY},
	[NEAP_PLACE_RESV_AGE] = {"age_s", NEAP_OF_RESV, NO_KEY},
	[NEAP_PLACE_RESV_EXPIRES] = {"expires_unix", NEAP_OF_RESV, NO_KEY},
};

/* By neap_place_of. */
static const char *const prefixes[] = {"pod", "node", "resv"};

enum neap_place_of neap_place_owner(const struct neap_place_need *need)
{
	return need->field == NEAP_PLACE_NODE ? NEAP_OF_NODE : fields[need->field].of;
}

bool neap_place_has_key(const struct neap_place_need *need)
{
	return need->column.key[0] != '\0';
}

const char *neap_place_field_name(const struct neap_place_need *need)
{
	return need->field == NEAP_PLACE_NODE
		       ? neap_column_family_name(need->column.family)
		       : fields[need->field].name;
}

/* --- reading --- */

static int unknown(const char *text, enum neap_place_of of, struct neap_error *err)
{
	char known[200] = "";
	size_t len = 0;

	for (size_t i = 0; i < NEAP_PLACE_FIELDS && len < sizeof(known); i++)
		if (fields[i].of == of)
			len += (size_t)snprintf(known + len, sizeof(known) - len,
						"%s%s%s", len ? ", " : "", fields[i].name,
						fields[i].keys == NO_KEY ? ""
						: fields[i].keys == KEY  ? ".KEY"
									 : "[.KEY]");
	return neap_error_set(err, NEAP_EINVAL, "a %s has no '%.60s'; known: %s",
			      of == NEAP_OF_POD ? "pod" : "reservation", text, known);
}

static int parse_field(const char *text, enum neap_place_of of,
		       struct neap_place_need *need, struct neap_error *err)
{
	const char *dot = strchr(text, '.');
	size_t len = dot ? (size_t)(dot - text) : strlen(text);
	bool has_key = dot && dot[1];

	for (int i = 0; i < NEAP_PLACE_FIELDS; i++) {
		if (fields[i].of != of || strlen(fields[i].name) != len ||
		    strncmp(fields[i].name, text, len) != 0 || (dot && !has_key) ||
		    (fields[i].keys != ANY_KEY && (fields[i].keys == KEY) != has_key))
			continue;
		need->field = (enum neap_place_field)i;
		need->column.key[0] = '\0';
		if (!dot ||
		    neap_strcopy(need->column.key, sizeof(need->column.key), dot + 1))
			return 0;
	}
	return unknown(text, of, err);
}

static int parse_need(const struct neap_policy *policy, struct neap_place_need *need,
		      struct neap_error *err)
{
	const char *kind = policy->kind->name;
	bool is_filter = strcmp(kind, "filter") == 0;
	bool is_reservation = strcmp(kind, "reservation") == 0;

	if (strncmp(need->name, "pod.", 4) == 0)
		return parse_field(need->name + 4, NEAP_OF_POD, need, err);
	if (strncmp(need->name, "resv.", 5) == 0 && is_reservation)
		return parse_field(need->name + 5, NEAP_OF_RESV, need, err);
	if (strncmp(need->name, "node.", 5) == 0 && is_filter) {
		int rc = neap_column_parse(need->name + 5, &need->column, err);

		need->field = NEAP_PLACE_NODE;
		/* A filter is asked about a node at a time. */
		if (rc == 0 && neap_column_is_counted(need->column.family))
			return neap_error_set(err, NEAP_EINVAL,
					      "'%.60s' is for terms of kind score only",
					      need->name);
		return rc;
	}
	return neap_error_set(err, NEAP_EINVAL, "'%.60s' is no field; known: pod.FIELD%s",
			      need->name,
			      is_filter        ? ", node.FIELD"
			      : is_reservation ? ", resv.FIELD"
					       : " (a term of the result names columns "
						 "of nodes)");
}

/* The same, or the whole of which the other is a part. */
static bool overlaps(const struct neap_place_need *a, const struct neap_place_need *b)
{
	return strcmp(a->name, b->name) == 0 ||
	       (a->field == b->field && a->field != NEAP_PLACE_NODE &&
		!(neap_place_has_key(a) && neap_place_has_key(b)));
}

static void note_cost(struct neap_place_needs *needs, const struct neap_place_need *need)
{
	switch (need->field) {
	case NEAP_PLACE_POD_ANNOTATIONS:
		needs->has_tree = true;
		needs->must_have_annotations =
			needs->must_have_annotations || !need->is_optional;
		break;
	case NEAP_PLACE_POD_REFERENCES:
		needs->has_tree = true;
		break;
	case NEAP_PLACE_RESV_OWNERS:
		needs->has_owners = true;
		break;
	case NEAP_PLACE_RESV_ANNOTATIONS:
		needs->has_facts = true;
		break;
	case NEAP_PLACE_RESV_LABELS:
		needs->has_facts = needs->has_facts || !neap_place_has_key(need);
		break;
	default:
		break;
	}
}

static int read_need(lua_State *L, const struct neap_policy *policy, size_t index,
		     struct neap_error *err)
{
	struct neap_place_need *need = &policy->place->rows[index];
	size_t len;
	int rc;

	if (!neap_lua_text(L, -1) ||
	    !neap_strcopy(need->name, sizeof(need->name), neap_lua_text(L, -1)))
		return neap_error_set(err, NEAP_EINVAL,
				      "field 'needs[%zu]': a name such as "
				      "'pod.namespace' is wanted, with ? behind it when "
				      "it may be missing",
				      index + 1);
	len = strlen(need->name);
	need->is_optional = len && need->name[len - 1] == '?';
	if (need->is_optional)
		need->name[len - 1] = '\0';
	rc = parse_need(policy, need, err);
	for (size_t i = 0; rc == 0 && i < index; i++)
		if (overlaps(&policy->place->rows[i], need))
			rc = neap_error_set(err, NEAP_EINVAL, "'%.60s' is there twice",
					    need->name);
	if (rc < 0)
		return neap_error_wrap(err, "field 'needs[%zu]'", index + 1);
	note_cost(policy->place, need);
	if (need->field == NEAP_PLACE_NODE)
		policy->place->node_count++;
	return 0;
}

/* A new table that knows the keys of one family of needs. */
static void push_family(lua_State *L, const struct neap_place_needs *needs,
			const struct neap_place_need *of)
{
	const char *message;

	message = lua_pushfstring(L, "%s.%s.%%s is not declared: add it to needs",
				  prefixes[neap_place_owner(of)],
				  neap_place_field_name(of));
	lua_newtable(L);
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];

		if (need->field != of->field ||
		    (of->field == NEAP_PLACE_NODE &&
		     need->column.family != of->column.family))
			continue;
		lua_pushboolean(L, 1);
		lua_setfield(L, -2, need->column.key);
	}
	lua_newtable(L);
	neap_lua_set_strict(L, -2, message);
	lua_replace(L, -3);
	lua_pop(L, 1);
}

/* The nth name that a pod or a reservation has. */
static const char *known_field(const void *arg, size_t n)
{
	const enum neap_place_of of = *(const enum neap_place_of *)arg;

	for (size_t i = 0; i < NEAP_PLACE_FIELDS; i++)
		if (i != NEAP_PLACE_NODE && fields[i].of == of && n-- == 0)
			return fields[i].name;
	return NULL;
}

static const char *known_column(const void *arg, size_t n)
{
	(void)arg;
	return n < NEAP_COLUMN_FAMILY_COUNT ? neap_column_family_name(n) : NULL;
}

static const enum neap_place_of of_pod = NEAP_OF_POD, of_resv = NEAP_OF_RESV;
static const struct neap_known known[] = {
	[NEAP_OF_POD] = {known_field, &of_pod},
	[NEAP_OF_NODE] = {known_column, NULL},
	[NEAP_OF_RESV] = {known_field, &of_resv},
};
static const char *const undeclared[] = {
	[NEAP_OF_POD] = "pod.%s is not declared: add it to needs",
	[NEAP_OF_NODE] = "node.%s is not declared: add it to needs",
	[NEAP_OF_RESV] = "resv.%s is not declared: add it to needs",
};

void neap_place_push_main(lua_State *L, const struct neap_place_needs *needs,
			  enum neap_place_of of)
{
	int names, table;

	luaL_checkstack(L, 16, NULL);
	lua_newtable(L);
	names = lua_gettop(L);
	lua_newtable(L);
	table = names + 1;
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];

		if (neap_place_owner(need) != of)
			continue;
		lua_pushboolean(L, 1);
		lua_setfield(L, names, neap_place_field_name(need));
		if (!neap_place_has_key(need))
			continue;
		if (neap_lua_get(L, table, neap_place_field_name(need)) == LUA_TNIL) {
			push_family(L, needs, need);
			lua_setfield(L, table, neap_place_field_name(need));
		}
		lua_pop(L, 1);
	}
	neap_lua_set_strict_of(L, names, undeclared[of], &known[of]);
	lua_remove(L, names);
}

int neap_place_needs_read(lua_State *L, int index, struct neap_policy *policy,
			  struct neap_error *err)
{
	size_t count;

	luaL_checkstack(L, 16, NULL);
	if (neap_needs_count(L, index, &count, err) < 0)
		return -NEAP_EINVAL;
	policy->place = neap_alloc(sizeof(*policy->place));
	if (!policy->place)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		int rc;

		lua_rawgeti(L, index, (lua_Integer)i + 1);
		rc = read_need(L, policy, i, err);
		if (rc < 0)
			return rc;
		lua_pop(L, 1);
		policy->place->count = i + 1;
	}
	neap_place_push_main(L, policy->place, NEAP_OF_NODE);
	neap_policy_keep(L, policy, NEAP_REF_NODE);
	return 0;
}

/* --- the node --- */

/* Calling out of Lua costs as much as a node does there, so fields come for several nodes
 * at once: so many values in all, as a function has 200 locals and each takes one. */
#define BATCH_VALUES 40
#define BATCH_MAX    8

/* Any bytes as a Lua string. */
static void add_quoted(luaL_Buffer *text, const char *key)
{
	char escape[8];

	luaL_addchar(text, '"');
	for (; *key; key++) {
		(void)snprintf(escape, sizeof(escape), "\\%03d", (unsigned char)*key);
		luaL_addstring(text, escape);
	}
	luaL_addchar(text, '"');
}

static void add_number(luaL_Buffer *text, const char *before, size_t number)
{
	char digits[24];

	(void)snprintf(digits, sizeof(digits), "%zu", number);
	luaL_addstring(text, before);
	luaL_addstring(text, digits);
}

/* Sets the fields of the node that is number k of those at hand, and asks about it. */
static void add_node(luaL_Buffer *text, const struct neap_place_needs *needs, size_t k)
{
	size_t value = k * needs->node_count, table = 0;

	add_number(text, " if i", k);
	luaL_addstring(text, " then");
	for (size_t i = 0; !needs->by_value && i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];

		if (need->field != NEAP_PLACE_NODE)
			continue;
		add_number(text, " t", table++);
		luaL_addstring(text, "[");
		add_quoted(text, neap_place_has_key(need) ? need->column.key
							  : neap_place_field_name(need));
		add_number(text, "] = v", value++);
	}
	luaL_addstring(text, " local is, why = allow(ctx, pod");
	if (!needs->by_value)
		luaL_addstring(text, ", node");
	for (size_t i = 0; needs->by_value && i < needs->node_count; i++)
		add_number(text, ", v", value++);
	luaL_addstring(text, ") if is ~= true then");
	add_number(text, " refuse(i", k);
	luaL_addstring(text, ", is, why) end end");
}

void neap_place_make_loop(lua_State *L, const struct neap_policy *policy)
{
	struct neap_place_needs *needs = policy->place;
	size_t each = needs->node_count;
	const char *whole;
	luaL_Buffer text;
	size_t len;

	needs->batch = 1 + BATCH_VALUES / (each + 1);
	needs->batch = needs->batch < BATCH_MAX ? needs->batch : BATCH_MAX;
	luaL_buffinit(L, &text);
	luaL_addstring(&text, "local allow, ctx, pod, node, following, refuse");
	for (size_t i = 0; i < each; i++)
		add_number(&text, ", t", i);
	luaL_addstring(&text, " = ... for");
	for (size_t k = 0; k < needs->batch; k++) {
		add_number(&text, k ? ", i" : " i", k);
		for (size_t i = 0; i < each; i++)
			add_number(&text, ", v", k * each + i);
	}
	luaL_addstring(&text, " in following do");
	for (size_t k = 0; k < needs->batch; k++)
		add_node(&text, needs, k);
	luaL_addstring(&text, " end");
	luaL_pushresult(&text);
	whole = lua_tolstring(L, -1, &len);
	if (luaL_loadbufferx(L, whole, len, "=neap", "t") != LUA_OK)
		(void)lua_error(L); /* without memory */
	neap_policy_keep(L, policy, NEAP_REF_LOOP);
	lua_pop(L, 1);
}

int neap_place_push_targets(lua_State *L, const struct neap_policy *policy)
{
	const struct neap_place_needs *needs = policy->place;
	int table, count = 0;

	luaL_checkstack(L, NEAP_NEEDS_MAX + 16, NULL);
	neap_policy_push(L, policy, NEAP_REF_NODE);
	table = lua_gettop(L);
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];

		if (need->field != NEAP_PLACE_NODE)
			continue;
		count++;
		/* A script may have put something else into its table: then it has what
		 * it made. */
		if (!neap_place_has_key(need) ||
		    neap_lua_get(L, table, neap_place_field_name(need)) != LUA_TTABLE) {
			lua_settop(L, table + count - 1);
			lua_pushvalue(L, table);
		}
	}
	lua_remove(L, table);
	return count;
}

/* False: it is missing, and nil is there. */
static bool push_field(lua_State *L, const struct neap_column_view *view, uint32_t row)
{
	enum neap_column_family family = view->column->family;
	const char *text;
	int64_t amount;
	double share;

	if (neap_column_is_text(family)) {
		text = neap_column_text(view, row);
		neap_place_push_text(L, text);
		return text != NULL;
	}
	if (neap_column_is_share(family)) {
		share = neap_column_number(view, row);
		if (!isnan(share)) {
			lua_pushnumber(L, share);
			return true;
		}
	} else if (neap_column_integer(view, row, &amount)) {
		lua_pushinteger(L, amount);
		return true;
	}
	lua_pushnil(L);
	return false;
}

bool neap_place_push_fields(lua_State *L, const struct neap_place_needs *needs,
			    const struct neap_column_view *views, uint32_t row)
{
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];

		if (need->field != NEAP_PLACE_NODE)
			continue;
		if (views[i].amounts)
			lua_pushinteger(L, neap_column_amount(&views[i], row));
		else if (!push_field(L, &views[i], row) && !need->is_optional)
			return false;
	}
	return true;
}
