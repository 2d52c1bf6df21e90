/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pods, in which order: the query of node:pods and round:pods, and round:sort.
 * Selecting and sorting is C over the world; a script gets the finished list.
 *
 * { phases = "live" | "all", evictable = true, class = "prod",
 *   namespaces = { include = { ... }, exclude = { ... } }, labels = selector,
 *   any_of = { selector, ... }, order = { "priority", "-usage.cpu", ... } } */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/text.h"
#include "lua/deschedule/deschedule_priv.h"
#include "lua/value/objects.h"
#include "lua/vm/budget.h"
#include "lua/vm/vm_priv.h"

#define KEYS_MAX 12
#define LIST_MAX 1024

enum key {
	KEY_PRIORITY,
	KEY_KUBE_QOS,
	KEY_QOS,
	KEY_CLASS,
	KEY_PREFERS_STAY,
	KEY_CREATED,
	KEY_RESTARTS,
	KEY_DELETION_COST,
	KEY_EVICTION_COST,
	KEY_SCORE,
	KEY_CONSTRAINED,
	KEY_NAME, /* namespace and name */
	KEY_REQUESTS,
	KEY_USAGE,
	KEY_MEASURED,
};

static const struct {
	const char *name;
	enum key key;
} key_names[] = {
	{"priority", KEY_PRIORITY},
	{"kube_qos", KEY_KUBE_QOS},
	{"qos", KEY_QOS},
	{"class", KEY_CLASS},
	{"prefers_stay", KEY_PREFERS_STAY},
	{"created", KEY_CREATED},
	{"restarts", KEY_RESTARTS},
	{"deletion_cost", KEY_DELETION_COST},
	{"eviction_cost", KEY_EVICTION_COST},
	{"score", KEY_SCORE},
	{"constrained", KEY_CONSTRAINED},
	{"name", KEY_NAME},
	{"requests.", KEY_REQUESTS},
	{"usage.", KEY_USAGE},
	{"measured.", KEY_MEASURED},
};

struct order {
	size_t count;
	struct {
		enum key key;
		bool is_down;
		uint32_t resource;
	} keys[KEYS_MAX];
};

struct query {
	bool wants_all, wants_evictable;
	bool has_class;
	enum neap_band class;
	const char **include, **exclude; /* ended by NULL, or NULL */
	const struct neap_selector *labels;
	const struct neap_selector **any_of; /* likewise; NULL: all */
	struct order order;
};

/* --- reading a query --- */

static void read_key(lua_State *L, const char *text, struct order *order)
{
	const struct neap_seat *seat = neap_seat_get(L);
	const char *name = text + (*text == '-');

	for (size_t i = 0; i < NEAP_ARRAY_LEN(key_names); i++) {
		size_t len = strlen(key_names[i].name);
		bool has_rest = key_names[i].name[len - 1] == '.';

		if (has_rest ? !neap_text_starts(name, key_names[i].name)
			     : strcmp(name, key_names[i].name) != 0)
			continue;
		order->keys[order->count].key = key_names[i].key;
		order->keys[order->count].is_down = *text == '-';
		order->keys[order->count++].resource =
			has_rest ? neap_resources_find(seat->round->args.world->resources,
						       name + len)
				 : UINT32_MAX;
		return;
	}
	(void)luaL_error(
		L,
		"order: there is no key '%s'; known: priority, kube_qos, qos, "
		"class, prefers_stay, created, restarts, deletion_cost, "
		"eviction_cost, score, constrained, name, requests.NAME, usage.NAME, "
		"measured.NAME, each with '-' in front to turn it round",
		text);
}

/* The list at the top, which is popped. */
static void read_order(lua_State *L, struct order *order)
{
	size_t count;

	if (!lua_istable(L, -1))
		(void)luaL_error(L, "order: a list of keys is wanted");
	(void)neap_sandbox_push_thawed(L, -1);
	count = lua_rawlen(L, -1);
	if (count > KEYS_MAX)
		(void)luaL_error(L, "order: at most %d keys are taken", KEYS_MAX);
	for (size_t i = 1; i <= count; i++) {
		lua_rawgeti(L, -1, (lua_Integer)i);
		if (!neap_lua_text(L, -1))
			(void)luaL_error(L, "order: a list of texts is wanted");
		read_key(L, neap_lua_text(L, -1), order);
		lua_pop(L, 1);
	}
	lua_pop(L, 2);
}

/* The list of texts t[name] of the table at the top, in a new userdata that stays
 * below it; NULL where there is none. Texts live as long as the query's table. */
static const char **read_texts(lua_State *L, const char *name)
{
	const char **list;
	size_t count;

	if (neap_lua_get(L, -1, name) == LUA_TNIL) {
		lua_pop(L, 1);
		return NULL;
	}
	if (!lua_istable(L, -1))
		(void)luaL_error(L, "%s: a list of texts is wanted", name);
	(void)neap_sandbox_push_thawed(L, -1);
	lua_remove(L, -2);
	count = lua_rawlen(L, -1);
	if (count > LIST_MAX)
		(void)luaL_error(L, "%s: at most %d texts are taken", name, LIST_MAX);
	if (!count) {
		lua_pop(L, 1);
		return NULL;
	}
	list = lua_newuserdatauv(L, (count + 1) * sizeof(*list), 0);
	for (size_t i = 0; i < count; i++) {
		lua_rawgeti(L, -2, (lua_Integer)i + 1);
		list[i] = neap_lua_text(L, -1);
		if (!list[i])
			(void)luaL_error(L, "%s: a list of texts is wanted", name);
		lua_pop(L, 1);
	}
	list[count] = NULL;
	lua_insert(L, -3); /* below the query's table, with its list */
	lua_insert(L, -3);
	return list;
}

static const struct neap_selector **read_selectors(lua_State *L, const char *name)
{
	const struct neap_selector **list;
	size_t count;

	if (neap_lua_get(L, -1, name) == LUA_TNIL) {
		lua_pop(L, 1);
		return NULL;
	}
	if (!lua_istable(L, -1))
		(void)luaL_error(L, "%s: a list of selectors is wanted", name);
	(void)neap_sandbox_push_thawed(L, -1);
	lua_remove(L, -2);
	count = lua_rawlen(L, -1);
	if (!count) {
		lua_pop(L, 1);
		return NULL;
	}
	if (count > LIST_MAX)
		(void)luaL_error(L, "%s: at most %d selectors are taken", name, LIST_MAX);
	list = lua_newuserdatauv(L, (count + 1) * sizeof(*list), 0);
	for (size_t i = 0; i < count; i++) {
		lua_rawgeti(L, -2, (lua_Integer)i + 1);
		list[i] = neap_lua_to_selector(L, -1);
		if (!list[i])
			(void)luaL_error(L, "%s: a list of selectors is wanted", name);
		lua_pop(L, 1);
	}
	list[count] = NULL;
	lua_insert(L, -3);
	lua_insert(L, -3);
	return list;
}

static void read_class(lua_State *L, struct query *query)
{
	static const char *const names[] = {"none", "prod", "mid", "batch", "free", NULL};

	if (neap_lua_get(L, -1, "class") != LUA_TNIL) {
		query->has_class = true;
		query->class = (enum neap_band)luaL_checkoption(L, -1, NULL, names);
	}
	lua_pop(L, 1);
}

static void check_names(lua_State *L)
{
	static const char *const names[] = {"phases", "evictable", "class", "namespaces",
					    "labels", "any_of",    "order", NULL};

	lua_pushnil(L);
	while (lua_next(L, -2)) {
		const char *key = neap_lua_name(L, -2);

		if (!neap_text_is_in(key, names))
			(void)luaL_error(
				L,
				"a query has no field '%s'; known: phases, evictable, "
				"class, namespaces, labels, any_of, order",
				key);
		lua_pop(L, 1);
	}
}

static bool read_flag(lua_State *L, const char *name)
{
	int type = neap_lua_get(L, -1, name);
	bool is = lua_toboolean(L, -1);

	if (type != LUA_TNIL && type != LUA_TBOOLEAN)
		(void)luaL_error(L, "%s: true or false is wanted", name);
	lua_pop(L, 1);
	return is;
}

/* Its targets are on the Lua stack. */
static void read_query(lua_State *L, int arg, struct query *query)
{
	static const char *const phases[] = {"live", "all", NULL};

	memset(query, 0, sizeof(*query));
	luaL_checkstack(L, 24, NULL);
	if (lua_isnoneornil(L, arg))
		return;
	luaL_checktype(L, arg, LUA_TTABLE);
	(void)neap_sandbox_push_thawed(L, arg);
	check_names(L);
	neap_lua_get(L, -1, "phases");
	query->wants_all = luaL_checkoption(L, -1, "live", phases) == 1;
	lua_pop(L, 1);
	query->wants_evictable = read_flag(L, "evictable");
	read_class(L, query);
	if (neap_lua_get(L, -1, "labels") != LUA_TNIL) {
		query->labels = neap_lua_to_selector(L, -1);
		if (!query->labels)
			(void)luaL_error(L, "labels: a selector is wanted");
	}
	lua_pop(L, 1);
	if (neap_lua_get(L, -1, "order") != LUA_TNIL)
		read_order(L, &query->order);
	else
		lua_pop(L, 1);
	query->any_of = read_selectors(L, "any_of");
	if (neap_lua_get(L, -1, "namespaces") == LUA_TNIL) {
		lua_pop(L, 1);
		return;
	}
	if (!lua_istable(L, -1))
		(void)luaL_error(L, "namespaces: { include = { ... } } is wanted");
	(void)neap_sandbox_push_thawed(L, -1);
	query->include = read_texts(L, "include");
	query->exclude = read_texts(L, "exclude");
}

/* --- selecting --- */

static bool is_any(const struct neap_world_pod *pod, const struct neap_selector **list)
{
	for (; *list; list++)
		if (neap_object_is_selected(pod->pod->object, *list))
			return true;
	return false;
}

static bool is_wanted(const struct query *query, const struct neap_world_pod *pod)
{
	const struct neap_object *object = pod->pod->object;

	if (!query->wants_all && !(pod->flags & NEAP_WORLD_IS_LIVE))
		return false;
	if (query->has_class && pod->band != query->class)
		return false;
	if (query->include && !neap_text_is_in(object->ns, query->include))
		return false;
	if (query->exclude && neap_text_is_in(object->ns, query->exclude))
		return false;
	if (query->labels && !neap_object_is_selected(object, query->labels))
		return false;
	return !query->any_of || is_any(pod, query->any_of);
}

/* Keeps those that the rules let go. They may be scripts of their own, which have budgets
 * of their own: this one's rests meanwhile. */
static size_t keep_evictable(lua_State *L, struct neap_world_pod **pods, size_t count)
{
	struct neap_round *round = neap_seat_get(L)->round;
	struct neap_budget_pause pause;
	size_t kept = 0;

	neap_budget_pause(&pause);
	for (size_t i = 0; i < count; i++)
		if (!neap_round_is_evicted(round, pods[i]) &&
		    neap_round_may_leave(round, pods[i], NULL))
			pods[kept++] = pods[i];
	neap_budget_resume(&pause);
	neap_vm_check(L);
	return kept;
}

/* --- sorting --- */

static double amount_of(const struct neap_amounts *amounts, uint32_t resource)
{
	return amounts && resource != UINT32_MAX
		       ? (double)neap_amounts_get(amounts, resource)
		       : 0;
}

static double value_of(const struct neap_world_pod *pod, enum key key, uint32_t resource)
{
	/* By enum neap_band, neap_qos: the cheapest first; no class is the dearest. */
	static const int classes[NEAP_BAND_COUNT] = {4, 3, 2, 1, 0};
	static const int qos[] = {0, 4, 3, 2, 1, 5};

	switch (key) {
	case KEY_PRIORITY:
		return pod->flags & NEAP_WORLD_HAS_PRIORITY ? pod->pod->priority
							    : (double)INT32_MIN - 1;
	case KEY_KUBE_QOS:
		return NEAP_KUBE_BESTEFFORT - pod->kube_qos;
	case KEY_QOS:
		return qos[pod->qos];
	case KEY_CLASS:
		return classes[pod->said_band];
	case KEY_PREFERS_STAY:
		return !!(pod->flags & NEAP_WORLD_PREFERS_STAY);
	case KEY_CONSTRAINED:
		return pod->pod->node_selector.count || pod->pod->has_affinity ||
		       pod->pod->preferred_count;
	case KEY_CREATED:
		return (double)pod->pod->created_usec;
	case KEY_RESTARTS:
		return (double)pod->restarts;
	case KEY_DELETION_COST:
		return pod->deletion_cost;
	case KEY_EVICTION_COST:
		return pod->eviction_cost;
	case KEY_REQUESTS:
		return resource == UINT32_MAX
			       ? 0
			       : (double)neap_pod_request(pod->pod, resource);
	case KEY_USAGE:
		return amount_of(pod->usage, resource);
	case KEY_MEASURED:
		return amount_of(pod->measured, resource);
	default:
		return 0;
	}
}

struct sorted {
	struct neap_world_pod *pod;
	uint32_t at; /* before: what is equal stays in that order */
	double values[];
};

static int compare_names(const struct neap_world_pod *a, const struct neap_world_pod *b)
{
	return neap_object_compare(a->pod->object, b->pod->object->ns,
				   b->pod->object->name);
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct sorted *one = a, *other = b;
	const struct order *order = arg;

	for (size_t i = 0; i < order->count; i++) {
		int differ = (one->values[i] > other->values[i]) -
			     (one->values[i] < other->values[i]);

		if (order->keys[i].key == KEY_NAME)
			differ = compare_names(one->pod, other->pod);
		if (differ)
			return order->keys[i].is_down ? -differ : differ;
	}
	return (one->at > other->at) - (one->at < other->at);
}

/* scores: an absolute index of a list of numbers; 0: none. */
static void sort(lua_State *L, const struct order *order, struct neap_world_pod **pods,
		 size_t count, int scores)
{
	size_t size = sizeof(struct sorted) + order->count * sizeof(double);
	char *rows;

	if (!order->count || count < 2)
		return;
	rows = lua_newuserdatauv(L, count * size, 0);
	for (size_t i = 0; i < count; i++) {
		struct sorted *row = (struct sorted *)(void *)(rows + i * size);

		row->pod = pods[i];
		row->at = (uint32_t)i;
		for (size_t k = 0; k < order->count; k++)
			row->values[k] = value_of(pods[i], order->keys[k].key,
						  order->keys[k].resource);
		for (size_t k = 0; scores && k < order->count; k++) {
			if (order->keys[k].key != KEY_SCORE)
				continue;
			lua_rawgeti(L, scores, (lua_Integer)i + 1);
			row->values[k] = lua_tonumber(L, -1);
			lua_pop(L, 1);
		}
	}
	qsort_r(rows, count, size, compare, (void *)(uintptr_t)order);
	for (size_t i = 0; i < count; i++)
		pods[i] = ((struct sorted *)(void *)(rows + i * size))->pod;
	lua_pop(L, 1);
	neap_vm_check(L);
}

void neap_query_pods(lua_State *L, int arg, struct neap_world_node *const *nodes,
		     size_t count)
{
	struct neap_world_pod **list;
	size_t room = 0, found = 0;
	struct query query;

	read_query(L, arg, &query);
	for (size_t i = 0; i < count; i++)
		room += nodes[i]->pod_count;
	list = lua_newuserdatauv(L, (room + 1) * sizeof(*list), 0);
	for (size_t i = 0; i < count; i++) {
		for (size_t n = 0; n < nodes[i]->pod_count; n++)
			if (is_wanted(&query, nodes[i]->pods[n]))
				list[found++] = nodes[i]->pods[n];
		neap_vm_check(L);
	}
	if (query.wants_evictable)
		found = keep_evictable(L, list, found);
	sort(L, &query.order, list, found, 0);
	neap_push_pods(L, list, found);
}

int neap_round_sort(lua_State *L)
{
	struct neap_world_pod **pods;
	struct order order = {0};
	size_t count;
	int scores = 0;

	luaL_checkstack(L, 24, NULL);
	luaL_checktype(L, 3, LUA_TTABLE);
	lua_settop(L, 4);
	if (!lua_isnil(L, 4)) {
		luaL_checktype(L, 4, LUA_TTABLE);
		(void)neap_sandbox_push_thawed(L, 4);
		scores = lua_gettop(L);
	}
	pods = neap_check_pods(L, 2, &count);
	lua_pushvalue(L, 3);
	read_order(L, &order);
	sort(L, &order, pods, count, scores);
	neap_push_pods(L, pods, count);
	return 1;
}
