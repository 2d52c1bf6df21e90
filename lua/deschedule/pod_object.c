/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods and fields of a pod for scripts. */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "lua/deschedule/deschedule_priv.h"
#include "lua/place/place_priv.h"
#include "lua/value/objects.h"
#include "lua/vm/vm.h"

enum pod_field {
	POD_NAME,
	POD_NAMESPACE,
	POD_UID,
	POD_NODE,
	POD_PHASE,
	POD_REASON,
	POD_PRIORITY,
	POD_CLASS,
	POD_QOS,
	POD_KUBE_QOS,
	POD_CREATED,
	POD_STARTED,
	POD_AGE,
	POD_IS_LIVE,
	POD_IS_TERMINATING,
	POD_IS_DAEMON,
	POD_LEAVES,
	POD_LABELS,
	POD_OWNERS,
	POD_CONTAINERS,
	POD_CONDITIONS,
	POD_INDEX,
	POD_ANTI,
	POD_PREFERS,
	POD_HAS_AFFINITY,
	POD_DELETION_COST,
	POD_EVICTION_COST,
};

static const struct {
	const char *name;
	enum pod_field field;
} pod_fields[] = {
	{"name", POD_NAME},
	{"namespace", POD_NAMESPACE},
	{"uid", POD_UID},
	{"node", POD_NODE},
	{"phase", POD_PHASE},
	{"reason", POD_REASON},
	{"priority", POD_PRIORITY},
	{"class", POD_CLASS},
	{"qos", POD_QOS},
	{"kube_qos", POD_KUBE_QOS},
	{"created_unix", POD_CREATED},
	{"started_unix", POD_STARTED},
	{"age_s", POD_AGE},
	{"is_live", POD_IS_LIVE},
	{"is_terminating", POD_IS_TERMINATING},
	{"is_daemon", POD_IS_DAEMON},
	{"leaves", POD_LEAVES},
	{"labels", POD_LABELS},
	{"owners", POD_OWNERS},
	{"containers", POD_CONTAINERS},
	{"conditions", POD_CONDITIONS},
	{"index", POD_INDEX},
	{"has_anti_affinity", POD_ANTI},
	{"has_preferences", POD_PREFERS},
	{"has_node_affinity", POD_HAS_AFFINITY},
	{"deletion_cost", POD_DELETION_COST},
	{"eviction_cost", POD_EVICTION_COST},
};

/* nil for "". */
static void set_text(lua_State *L, const char *name, const char *text)
{
	if (!*text)
		return;
	lua_pushstring(L, text);
	lua_setfield(L, -2, name);
}

static void push_owners(lua_State *L, const struct neap_world_pod *pod)
{
	lua_newtable(L);
	for (size_t i = 0; i < pod->owner_count; i++) {
		const struct neap_world_owner *owner = &pod->owners[i];

		lua_createtable(L, 0, 5);
		set_text(L, "kind", owner->kind);
		set_text(L, "name", owner->name);
		set_text(L, "uid", owner->uid);
		lua_pushboolean(L, owner->is_controller);
		lua_setfield(L, -2, "is_controller");
		lua_pushinteger(L, owner->group->pods);
		lua_setfield(L, -2, "pods");
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static void push_containers(lua_State *L, const struct neap_world_pod *pod)
{
	static const char *const parts[] = {"main", "init", "ephemeral"};

	lua_newtable(L);
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct neap_world_container *from = &pod->containers[i];

		lua_createtable(L, 0, 7);
		set_text(L, "name", from->name);
		set_text(L, "image", from->image);
		set_text(L, "part", parts[from->part]);
		set_text(L, "waiting", from->waiting);
		set_text(L, "terminated", from->terminated);
		lua_pushinteger(L, from->restarts);
		lua_setfield(L, -2, "restarts");
		if (from->has_exit) {
			lua_pushinteger(L, from->exit_code);
			lua_setfield(L, -2, "exit_code");
		}
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static void push_conditions(lua_State *L, const struct neap_world_pod *pod)
{
	lua_newtable(L);
	for (size_t i = 0; i < pod->condition_count; i++) {
		const struct neap_world_condition *from = &pod->conditions[i];

		lua_createtable(L, 0, 4);
		set_text(L, "type", from->type);
		set_text(L, "status", from->status);
		set_text(L, "reason", from->reason);
		if (from->since_usec) {
			lua_pushinteger(L, from->since_usec / 1000000);
			lua_setfield(L, -2, "since_unix");
		}
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static void push_unix(lua_State *L, int64_t usec)
{
	if (usec)
		lua_pushinteger(L, usec / 1000000);
	else
		lua_pushnil(L);
}

/* Whole seconds; negative when it is of the future. */
static int64_t age_of(const struct neap_round *round, const struct neap_world_pod *pod)
{
	int64_t usec = round->args.now_usec - pod->pod->created_usec;

	return usec >= 0 ? usec / 1000000 : -1;
}

static const char *class_name(enum neap_band band)
{
	static const char *const names[NEAP_BAND_COUNT] = {"none", "prod", "mid", "batch",
							   "free"};

	return names[band];
}

static void push_state(lua_State *L, const struct neap_round *round,
		       const struct neap_world_pod *pod, enum pod_field field)
{
	switch (field) {
	case POD_PRIORITY:
		if (pod->flags & NEAP_WORLD_HAS_PRIORITY)
			lua_pushinteger(L, pod->pod->priority);
		else
			lua_pushnil(L);
		return;
	case POD_CREATED:
		push_unix(L, pod->pod->created_usec);
		return;
	case POD_STARTED:
		push_unix(L, pod->pod->started_usec);
		return;
	case POD_AGE:
		lua_pushinteger(L, age_of(round, pod));
		return;
	case POD_INDEX:
		lua_pushinteger(L, (lua_Integer)pod->index + 1);
		return;
	case POD_DELETION_COST:
		lua_pushinteger(L, pod->deletion_cost);
		return;
	case POD_EVICTION_COST:
		lua_pushinteger(L, pod->eviction_cost);
		return;
	case POD_IS_LIVE:
		lua_pushboolean(L, !!(pod->flags & NEAP_WORLD_IS_LIVE));
		return;
	case POD_IS_TERMINATING:
		lua_pushboolean(L, pod->pod->object->is_deleting);
		return;
	case POD_IS_DAEMON:
		lua_pushboolean(L, !!(pod->flags & NEAP_WORLD_IS_DAEMON));
		return;
	case POD_LEAVES:
		lua_pushboolean(L, neap_round_is_evicted(round, pod));
		return;
	case POD_ANTI:
		lua_pushboolean(L, pod->pod->near[NEAP_AWAY_REQUIRED].count > 0);
		return;
	case POD_PREFERS:
		lua_pushboolean(L, pod->pod->preferred_count > 0);
		return;
	default:
		lua_pushboolean(L, pod->pod->has_affinity);
	}
}

static void push_field(lua_State *L, const struct neap_round *round,
		       const struct neap_world_pod *pod, enum pod_field field)
{
	switch (field) {
	case POD_NAME:
		lua_pushstring(L, pod->pod->object->name);
		return;
	case POD_NAMESPACE:
		lua_pushstring(L, pod->pod->object->ns);
		return;
	case POD_UID:
		lua_pushstring(L, pod->pod->object->uid);
		return;
	case POD_NODE:
		neap_push_node(L, pod->node);
		return;
	case POD_PHASE:
		lua_pushstring(L, pod->phase);
		return;
	case POD_REASON:
		lua_pushstring(L, pod->reason);
		return;
	case POD_CLASS:
		lua_pushstring(L, class_name(pod->band));
		return;
	case POD_QOS:
		lua_pushstring(L, neap_qos_name(pod->qos));
		return;
	case POD_KUBE_QOS:
		lua_pushstring(L, neap_kube_qos_name(pod->kube_qos));
		return;
	case POD_LABELS:
		neap_place_push_labels(L, pod->pod->object);
		return;
	case POD_OWNERS:
		push_owners(L, pod);
		return;
	case POD_CONTAINERS:
		push_containers(L, pod);
		return;
	case POD_CONDITIONS:
		push_conditions(L, pod);
		return;
	default:
		push_state(L, round, pod, field);
	}
}

int neap_pod_index(lua_State *L)
{
	const struct neap_world_pod *pod = neap_check_pod(L, 1);
	int field = neap_cursor_field(L, "pod");

	if (field >= 0)
		push_field(L, neap_seat_get(L)->round, pod, (enum pod_field)field);
	return 1;
}

/* --- methods --- */

/* pod:label(key) -> string | nil */
static int pod_label(lua_State *L)
{
	const struct neap_world_pod *pod = neap_check_pod(L, 1);

	lua_pushstring(L, neap_object_label(pod->pod->object, neap_lua_check_text(L, 2)));
	return 1;
}

/* pod:annotation(key) -> string | nil */
static int pod_annotation(lua_State *L)
{
	const struct neap_world_pod *pod = neap_check_pod(L, 1);
	const char *key = neap_lua_check_text(L, 2);
	void **block = neap_lua_new_block(L);
	char *text = NULL;
	struct neap_error err;

	if (neap_object_annotation(pod->pod->object, key, &text, &err) < 0)
		return luaL_error(L, "%s", err.msg);
	*block = text;
	lua_pushstring(L, text);
	neap_lua_drop_block(block);
	return 1;
}

static int push_amount(lua_State *L, const struct neap_amounts *amounts,
		       uint32_t resource)
{
	if (amounts && resource != UINT32_MAX)
		lua_pushinteger(L, neap_amounts_get(amounts, resource));
	else if (amounts)
		lua_pushinteger(L, 0);
	else
		lua_pushnil(L);
	return 1;
}

/* pod:requests(resource) -> integer */
static int pod_requests(lua_State *L)
{
	const struct neap_world_pod *pod = neap_check_pod(L, 1);
	uint32_t resource = neap_check_resource(L, 2);

	lua_pushinteger(L, resource == UINT32_MAX ? 0
						  : neap_pod_request(pod->pod, resource));
	return 1;
}

/* pod:usage(resource) -> integer | nil */
static int pod_usage(lua_State *L)
{
	return push_amount(L, neap_check_pod(L, 1)->usage, neap_check_resource(L, 2));
}

/* pod:measured(resource) -> integer | nil */
static int pod_measured(lua_State *L)
{
	return push_amount(L, neap_check_pod(L, 1)->measured, neap_check_resource(L, 2));
}

/* pod:restarts([with_init]) -> integer */
static int pod_restarts(lua_State *L)
{
	const struct neap_world_pod *pod = neap_check_pod(L, 1);
	int64_t sum = pod->restarts;

	for (size_t i = 0; lua_toboolean(L, 2) && i < pod->container_count; i++)
		if (pod->containers[i].part == NEAP_PART_INIT)
			sum += pod->containers[i].restarts;
	lua_pushinteger(L, sum);
	return 1;
}

/* pod:has_owner(kind) -> boolean */
static int pod_has_owner(lua_State *L)
{
	const struct neap_world_pod *pod = neap_check_pod(L, 1);
	const char *kind = neap_lua_check_text(L, 2);
	bool has = false;

	for (size_t i = 0; i < pod->owner_count; i++)
		has = has || strcmp(pod->owners[i].kind, kind) == 0;
	lua_pushboolean(L, has);
	return 1;
}

/* pod:tolerates(node) -> boolean */
static int pod_tolerates(lua_State *L)
{
	lua_pushboolean(L,
			neap_fit_tolerates(neap_check_pod(L, 1), neap_check_node(L, 2)));
	return 1;
}

/* pod:matches(node) -> boolean */
static int pod_matches(lua_State *L)
{
	lua_pushboolean(L, neap_fit_matches(neap_check_pod(L, 1), neap_check_node(L, 2)));
	return 1;
}

/* pod:preference(node) -> integer */
static int pod_preference(lua_State *L)
{
	lua_pushinteger(L, neap_fit_weight(neap_check_pod(L, 1), neap_check_node(L, 2)));
	return 1;
}

static enum neap_fit_form check_form(lua_State *L, int arg)
{
	static const char *const forms[] = {"full", "plain", NULL};

	return (enum neap_fit_form)luaL_checkoption(L, arg, "full", forms);
}

/* pod:fits(node [, form]) -> boolean, reason */
static int pod_fits(lua_State *L)
{
	const struct neap_seat *seat = neap_seat_get(L);
	const char *why = neap_fit_why(seat->round->args.world, neap_check_pod(L, 1),
				       neap_check_node(L, 2), check_form(L, 3));

	lua_pushboolean(L, !why);
	lua_pushstring(L, why);
	return 2;
}

/* pod:fits_any(nodes [, form [, with_own]]) -> boolean */
static int pod_fits_any(lua_State *L)
{
	const struct neap_seat *seat = neap_seat_get(L);
	const struct neap_world_pod *pod = neap_check_pod(L, 1);
	enum neap_fit_form form = check_form(L, 3);
	bool with_own = lua_toboolean(L, 4), fits = false;
	struct neap_world_node **nodes;
	size_t count;

	nodes = neap_check_nodes(L, 2, &count);
	for (size_t i = 0; i < count && !fits; i++) {
		fits = (with_own || nodes[i] != pod->node) &&
		       !neap_fit_why(seat->round->args.world, pod, nodes[i], form);
		neap_vm_check(L);
	}
	lua_pushboolean(L, fits);
	return 1;
}

static bool tolerates_all(const struct neap_pod *pod, const struct neap_world_node *node)
{
	for (size_t i = 0; i < node->taint_count; i++) {
		const struct neap_world_taint *taint = &node->taints[i];
		size_t n = 0;

		while (n < pod->toleration_count &&
		       !neap_toleration_takes(&pod->tolerations[n], taint->key,
					      taint->value, taint->effect))
			n++;
		if (n == pod->toleration_count)
			return false;
	}
	return true;
}

/* pod:tolerates_some(nodes) -> boolean. As the reference looks before it picks a pod:
 * every taint of one of the nodes, of all effects, and with at least as many
 * tolerations as that node has taints. */
static int pod_tolerates_some(lua_State *L)
{
	const struct neap_pod *pod = neap_check_pod(L, 1)->pod;
	struct neap_world_node **nodes;
	bool is = false;
	size_t count;

	nodes = neap_check_nodes(L, 2, &count);
	for (size_t i = 0; i < count && !is; i++) {
		is = pod->toleration_count >= nodes[i]->taint_count &&
		     tolerates_all(pod, nodes[i]);
		neap_vm_check(L);
	}
	lua_pushboolean(L, is);
	return 1;
}

/* pod:tolerates_taint(key, value, effect) -> boolean */
static int pod_tolerates_taint(lua_State *L)
{
	const struct neap_pod *pod = neap_check_pod(L, 1)->pod;
	const char *key = neap_lua_check_text(L, 2), *value = neap_lua_check_text(L, 3);
	enum neap_taint_effect effect;
	bool is_tolerated = false;

	if (!neap_taint_effect_parse(neap_lua_check_text(L, 4), &effect))
		return luaL_argerror(L, 4, "there is no such effect");
	for (size_t i = 0; i < pod->toleration_count && !is_tolerated; i++)
		is_tolerated =
			neap_toleration_takes(&pod->tolerations[i], key, value, effect);
	lua_pushboolean(L, is_tolerated);
	return 1;
}

static const luaL_Reg methods[] = {
	{"label", pod_label},
	{"annotation", pod_annotation},
	{"requests", pod_requests},
	{"usage", pod_usage},
	{"measured", pod_measured},
	{"restarts", pod_restarts},
	{"has_owner", pod_has_owner},
	{"tolerates", pod_tolerates},
	{"tolerates_taint", pod_tolerates_taint},
	{"tolerates_some", pod_tolerates_some},
	{"matches", pod_matches},
	{"preference", pod_preference},
	{"fits", pod_fits},
	{"fits_any", pod_fits_any},
	{NULL, NULL},
};

void neap_pod_names(lua_State *L, int index)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(pod_fields); i++) {
		lua_pushinteger(L, pod_fields[i].field);
		lua_setfield(L, -2, pod_fields[i].name);
	}
	neap_add_methods(L, index, methods);
}
