/* SPDX-License-Identifier: Apache-2.0
 *
 * `needs` of the kinds score and filter, and the two tables that are made of them. A pod's is new in each decision; there is
 * one for all nodes, whose fields are set anew for each, so that a node costs no memory. What sets them is Lua, made of
 * the needs: a field that is set there costs a quarter of one that is set from C. */
#include <math.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "lua/convert.h"
#include "lua/place_priv.h"

static const struct {
	const char *name;
	bool has_key;
} pod_fields[NEAP_PLACE_POD_FIELDS] = {
	[NEAP_PLACE_POD_NAME] = {"name", false},
	[NEAP_PLACE_POD_NAMESPACE] = {"namespace", false},
	[NEAP_PLACE_POD_CLASS] = {"class", false},
	[NEAP_PLACE_POD_PRIORITY] = {"priority", false},
	[NEAP_PLACE_POD_IS_DAEMON] = {"is_daemon", false},
	[NEAP_PLACE_POD_LABELS] = {"labels", true},
	[NEAP_PLACE_POD_ANNOTATIONS] = {"annotations", true},
	[NEAP_PLACE_POD_REQUESTS] = {"requests", true},
};

static bool has_key(const struct neap_place_need *need)
{
	return need->column.key[0] != '\0';
}

static const char *field_name(const struct neap_place_need *need)
{
	return need->field == NEAP_PLACE_NODE
		       ? neap_column_family_name(need->column.family)
		       : pod_fields[need->field].name;
}

/* --- reading --- */

static int parse_pod(const char *text, struct neap_place_need *need,
		     struct neap_error *err)
{
	const char *dot = strchr(text, '.');
	size_t len = dot ? (size_t)(dot - text) : strlen(text);

	for (int i = 0; i < NEAP_PLACE_POD_FIELDS; i++) {
		if (strlen(pod_fields[i].name) != len ||
		    strncmp(pod_fields[i].name, text, len) != 0 ||
		    pod_fields[i].has_key != (dot && dot[1]))
			continue;
		need->field = (enum neap_place_field)i;
		need->column.key[0] = '\0';
		if (!dot ||
		    neap_strcopy(need->column.key, sizeof(need->column.key), dot + 1))
			return 0;
	}
	return neap_error_set(err, NEAP_EINVAL,
			      "a pod has no '%.60s'; known: name, namespace, class, "
			      "priority, is_daemon, labels.KEY, annotations.KEY, "
			      "requests.RESOURCE",
			      text);
}

static int parse_need(const struct neap_policy *policy, struct neap_place_need *need,
		      struct neap_error *err)
{
	if (strncmp(need->name, "pod.", 4) == 0)
		return parse_pod(need->name + 4, need, err);
	if (strncmp(need->name, "node.", 5) == 0 &&
	    strcmp(policy->kind->name, "filter") == 0) {
		need->field = NEAP_PLACE_NODE;
		return neap_column_parse(need->name + 5, &need->column, err);
	}
	return neap_error_set(err, NEAP_EINVAL, "'%.60s' is no field; known: pod.FIELD%s",
			      need->name,
			      strcmp(policy->kind->name, "filter") == 0
				      ? ", node.FIELD"
				      : " (a term of the result names columns of nodes)");
}

static int read_need(lua_State *L, const struct neap_policy *policy, size_t index,
		     struct neap_error *err)
{
	struct neap_place_need *need = &policy->place->rows[index];
	size_t len;
	int rc;

	if (lua_type(L, -1) != LUA_TSTRING ||
	    !neap_strcopy(need->name, sizeof(need->name), lua_tostring(L, -1)))
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
		if (strcmp(policy->place->rows[i].name, need->name) == 0)
			rc = neap_error_set(err, NEAP_EINVAL, "'%.60s' is there twice",
					    need->name);
	if (rc < 0)
		return neap_error_wrap(err, "field 'needs[%zu]'", index + 1);
	if (need->field == NEAP_PLACE_POD_ANNOTATIONS)
		policy->place->has_annotations = true;
	if (need->field == NEAP_PLACE_NODE)
		policy->place->node_count++;
	return 0;
}

/* A new table that knows the keys of one family of needs. */
static void push_family(lua_State *L, const struct neap_place_needs *needs,
			const struct neap_place_need *of, const char *what)
{
	const char *message;

	message = lua_pushfstring(L, "%s.%s.%%s is not declared: add it to needs", what,
				  field_name(of));
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

/* A new table of the pod or of the node: families are tables in it. */
static void push_main(lua_State *L, const struct neap_place_needs *needs, bool of_node)
{
	const char *what = of_node ? "node" : "pod";
	int names, table;

	luaL_checkstack(L, 16, NULL);
	lua_newtable(L);
	names = lua_gettop(L);
	lua_newtable(L);
	table = names + 1;
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];

		if ((need->field == NEAP_PLACE_NODE) != of_node)
			continue;
		lua_pushboolean(L, 1);
		lua_setfield(L, names, field_name(need));
		if (!has_key(need))
			continue;
		if (neap_lua_get(L, table, field_name(need)) == LUA_TNIL) {
			push_family(L, needs, need, what);
			lua_setfield(L, table, field_name(need));
		}
		lua_pop(L, 1);
	}
	neap_lua_set_strict(L, names,
			    of_node ? "node.%s is not declared: add it to needs"
				    : "pod.%s is not declared: add it to needs");
	lua_remove(L, names);
}

int neap_place_needs_read(lua_State *L, int index, struct neap_policy *policy,
			  struct neap_error *err)
{
	size_t count = lua_istable(L, index) ? lua_rawlen(L, index) : NEAP_NEEDS_MAX + 1;

	luaL_checkstack(L, 16, NULL);
	if (lua_isnil(L, index))
		count = 0;
	if (count > NEAP_NEEDS_MAX)
		return neap_error_set(
			err, NEAP_EINVAL,
			"field 'needs': a list of at most %d names is wanted",
			NEAP_NEEDS_MAX);
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
	push_main(L, policy->place, true);
	neap_policy_keep(L, policy, NEAP_REF_NODE);
	neap_place_make_loop(L, policy);
	return 0;
}

/* --- the pod --- */

static void push_text(lua_State *L, const char *text)
{
	if (text)
		lua_pushstring(L, text);
	else
		lua_pushnil(L);
}

/* 0 without one: that is what counts. */
static int64_t request_of(const struct neap_place *place, const char *name)
{
	const struct neap_resources *resources = neap_cluster_resources(place->cluster);

	for (size_t i = 0; i < place->pod->request_count; i++)
		if (strcmp(neap_resources_name(resources,
					       place->pod->requests[i].resource),
			   name) == 0)
			return place->pod->requests[i].amount;
	return 0;
}

static void push_pod_field(lua_State *L, const struct neap_place_need *need,
			   const struct neap_place *place, const json_t *annotations)
{
	static const char *const classes[NEAP_POD_CLASS_COUNT] = {"prod", "mid", "batch",
								  "free"};
	const struct neap_pod *pod = place->pod;

	switch (need->field) {
	case NEAP_PLACE_POD_NAME:
		push_text(L, pod->object->name);
		break;
	case NEAP_PLACE_POD_NAMESPACE:
		push_text(L, pod->object->ns);
		break;
	case NEAP_PLACE_POD_CLASS:
		push_text(L, classes[pod->load.pod_class]);
		break;
	case NEAP_PLACE_POD_PRIORITY:
		lua_pushinteger(L, pod->priority);
		break;
	case NEAP_PLACE_POD_IS_DAEMON:
		lua_pushboolean(L, pod->load.is_daemon);
		break;
	case NEAP_PLACE_POD_LABELS:
		push_text(L, neap_object_label(pod->object, need->column.key));
		break;
	case NEAP_PLACE_POD_ANNOTATIONS:
		push_text(L, json_string_value(
				     json_object_get(annotations, need->column.key)));
		break;
	default:
		lua_pushinteger(L, request_of(place, need->column.key));
		break;
	}
}

const struct neap_place_need *neap_place_push_pod(lua_State *L,
						  const struct neap_policy *policy,
						  const struct neap_place *place,
						  const json_t *annotations)
{
	const struct neap_place_needs *needs = policy->place;
	int table;

	push_main(L, needs, false);
	table = lua_gettop(L);
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];

		if (need->field == NEAP_PLACE_NODE)
			continue;
		if (has_key(need))
			neap_lua_get(L, table, field_name(need));
		else
			lua_pushvalue(L, table);
		lua_pushstring(L, has_key(need) ? need->column.key : field_name(need));
		push_pod_field(L, need, place, annotations);
		if (lua_isnil(L, -1) && !need->is_optional)
			return need;
		lua_rawset(L, -3);
		lua_pop(L, 1);
	}
	neap_policy_keep(L, policy, NEAP_REF_POD);
	return NULL;
}

/* --- the node --- */

/* Calling out of Lua costs as much as a node does there, so fields come for several nodes at once: so many values in all,
 * as a function has 200 locals and each takes one. */
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
	for (size_t i = 0; i < needs->count; i++) {
		const struct neap_place_need *need = &needs->rows[i];

		if (need->field != NEAP_PLACE_NODE)
			continue;
		add_number(text, " t", table++);
		luaL_addstring(text, "[");
		add_quoted(text, has_key(need) ? need->column.key : field_name(need));
		add_number(text, "] = v", value++);
	}
	luaL_addstring(text, " local is, why = allow(ctx, pod, node)"
			     " if is ~= true then");
	add_number(text, " refuse(i", k);
	luaL_addstring(text, ", is, why) end end");
}

void neap_place_make_loop(lua_State *L, const struct neap_policy *policy)
{
	struct neap_place_needs *needs = policy->place;
	size_t fields = needs->node_count;
	const char *whole;
	luaL_Buffer text;
	size_t len;

	needs->batch = 1 + BATCH_VALUES / (fields + 1);
	needs->batch = needs->batch < BATCH_MAX ? needs->batch : BATCH_MAX;
	luaL_buffinit(L, &text);
	luaL_addstring(&text, "local allow, ctx, pod, node, following, refuse");
	for (size_t i = 0; i < fields; i++)
		add_number(&text, ", t", i);
	luaL_addstring(&text, " = ... for");
	for (size_t k = 0; k < needs->batch; k++) {
		add_number(&text, k ? ", i" : " i", k);
		for (size_t i = 0; i < fields; i++)
			add_number(&text, ", v", k * fields + i);
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
		/* A script may have put something else into its table: then it has what it made. */
		if (!has_key(need) ||
		    neap_lua_get(L, table, field_name(need)) != LUA_TTABLE) {
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
		push_text(L, text);
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

/* --- opening --- */

struct open {
	struct neap_policy *policy;
	const struct neap_place *place;
	const json_t *annotations;
	const struct neap_place_need *missing;
};

static int open_protected(lua_State *L)
{
	struct open *open = lua_touserdata(L, 1);

	neap_ctx_set_now(L, open->policy, open->place->now_usec / 1000000);
	open->missing =
		neap_place_push_pod(L, open->policy, open->place, open->annotations);
	return 0;
}

enum neap_tick_verdict neap_place_open(struct neap_policy *policy,
				       const struct neap_place *place,
				       struct neap_error *err)
{
	struct open open = {.policy = policy, .place = place};
	json_t *tree = NULL;
	int rc;

	/* Annotations stand in the text alone. */
	if (policy->place->has_annotations) {
		tree = neap_object_tree(place->pod->object);
		if (!tree) {
			(void)neap_error_nomem(err);
			return NEAP_TICK_STARVED;
		}
		open.annotations =
			json_object_get(json_object_get(tree, "metadata"), "annotations");
	}
	rc = neap_vm_protect(policy->vm, open_protected, &open, 0, err);
	json_decref(tree);
	if (rc < 0)
		return neap_policy_verdict_of(rc);
	if (!open.missing)
		return NEAP_TICK_WISHES;
	(void)neap_error_set(err, NEAP_EUNAVAILABLE, "skipped: %.200s is missing",
			     open.missing->name);
	return NEAP_TICK_SKIPPED;
}
