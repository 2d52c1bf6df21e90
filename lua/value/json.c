/* SPDX-License-Identifier: Apache-2.0
 *
 * Lua values as JSON, and topologies from lists of processors. Tables of scripts can
 * contain themselves, so levels and values are counted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/utf8.h"
#include "engine/machine/topology.h"
#include "lua/value/convert.h"
#include "lua/value/objects.h"
#include "lua/vm/vm.h"
#include "lua/vm/vm_priv.h"

#define DEPTH_MAX 32
/* A description in an example makes at most as many CPUs as a kernel knows. */
#define PROCESSORS_MAX NEAP_CPU_MAX

/* --- topologies --- */

static int build(struct neap_processor *rows, size_t count, struct neap_topology **ret,
		 struct neap_error *err)
{
	struct neap_topology *topology;
	int rc;

	if (count) {
		rc = neap_topology_new_from_processors(rows, count, ret, err);
		return rc < 0 ? rc : 0;
	}
	topology = neap_topology_new(0, 0, 0, 0, 0);
	if (!topology)
		return neap_error_nomem(err);
	*ret = topology;
	return 0;
}

static int bad_topology(struct neap_error *err)
{
	return neap_error_set(
		err, NEAP_EINVAL,
		"a topology is a list of { cpu, core, socket, node } or { sockets = 1, "
		"nodes = 1, cores = 4, threads = 2 }, at most %d CPUs",
		PROCESSORS_MAX);
}

/* A number of the short form; 1 when absent, 0 when it makes no sense. */
static int short_number(lua_State *L, int index, const char *name)
{
	lua_Integer n = 1;

	if (neap_lua_get(L, index, name) != LUA_TNIL)
		n = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
	lua_pop(L, 1);
	return n < 1 || n > PROCESSORS_MAX ? 0 : (int)n;
}

static int read_short(lua_State *L, int index, struct neap_topology **ret,
		      struct neap_error *err)
{
	int64_t sockets = short_number(L, index, "sockets");
	int64_t nodes = short_number(L, index, "nodes");
	int64_t cores = short_number(L, index, "cores");
	int64_t threads = short_number(L, index, "threads");
	struct neap_processor *rows;
	size_t count;

	if (!sockets || !nodes || !cores || !threads ||
	    sockets * nodes > PROCESSORS_MAX || cores * threads > PROCESSORS_MAX ||
	    sockets * nodes * cores * threads > PROCESSORS_MAX)
		return bad_topology(err);
	count = (size_t)(sockets * nodes * cores * threads);
	/* Lua's memory: freed by its collector, whatever raises. */
	rows = lua_newuserdatauv(L, count * sizeof(*rows), 0);
	for (size_t i = 0; i < count; i++) {
		int64_t core = (int64_t)i / threads;

		rows[i] = (struct neap_processor){.os_cpu = (int)i,
						  .core = (int)core,
						  .node = (int)(core / cores),
						  .socket = (int)(core / cores / nodes)};
	}
	return build(rows, count, ret, err);
}

int neap_lua_read_topology(lua_State *L, int index, struct neap_topology **ret,
			   struct neap_error *err)
{
	struct neap_processor *rows;
	size_t count;

	if (!lua_istable(L, index))
		return bad_topology(err);
	count = lua_rawlen(L, index);
	if (!count && neap_lua_get(L, index, "cores") != LUA_TNIL)
		return read_short(L, index, ret, err);
	if (!count || count > PROCESSORS_MAX)
		return bad_topology(err);
	rows = lua_newuserdatauv(L, count * sizeof(*rows), 0);
	for (size_t i = 0; i < count; i++) {
		int *const to[] = {&rows[i].os_cpu, &rows[i].core, &rows[i].socket,
				   &rows[i].node};

		if (lua_rawgeti(L, index, (lua_Integer)i + 1) != LUA_TTABLE)
			return bad_topology(err);
		for (int k = 0; k < 4; k++) {
			lua_rawgeti(L, -1, k + 1);
			if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < -1 ||
			    lua_tointeger(L, -1) > INT32_MAX)
				return bad_topology(err);
			*to[k] = (int)lua_tointeger(L, -1);
			lua_pop(L, 1);
		}
		lua_pop(L, 1);
	}
	return build(rows, count, ret, err);
}

/* --- Lua to JSON --- */

struct writer {
	lua_State *L;
	int values;   /* that may come yet */
	size_t bytes; /* of texts, likewise: one text can be in a table many times */
	struct neap_error *err;
};

static int to_json(struct writer *w, int index, int depth, json_t **ret);

static int refuse(struct writer *w, const char *what)
{
	return neap_error_set(w->err, NEAP_EINVAL, "%s cannot become JSON", what);
}

/* Takes a text off the bytes that are left; false when it is too long. */
static bool spend(struct writer *w, size_t len)
{
	if (len > w->bytes)
		return false;
	w->bytes -= len;
	return true;
}

static int number_json(struct writer *w, int index, json_t **ret)
{
	int is_whole = 0;
	lua_Integer whole = lua_tointegerx(w->L, index, &is_whole);

	if (!is_whole && !isfinite(lua_tonumber(w->L, index)))
		return refuse(w, "an endless number");
	*ret = is_whole ? json_integer(whole) : json_real(lua_tonumber(w->L, index));
	return *ret ? 0 : neap_error_nomem(w->err);
}

static int cpuset_json(struct writer *w, const struct neap_cpuset *set, json_t **ret)
{
	size_t len = neap_cpuset_format(set, NULL, 0);
	char *text = neap_alloc(len + 1);

	if (!text)
		return neap_error_nomem(w->err);
	(void)neap_cpuset_format(set, text, len + 1); /* the length is known */
	*ret = json_string(text);
	free(text);
	return *ret ? 0 : neap_error_nomem(w->err);
}

static int list_json(struct writer *w, int index, int depth, json_t *list)
{
	size_t count = lua_rawlen(w->L, index);

	for (size_t i = 1; i <= count; i++) {
		json_t *value = NULL;
		int rc;

		lua_rawgeti(w->L, index, (lua_Integer)i);
		rc = to_json(w, lua_gettop(w->L), depth, &value);
		if (rc < 0) {
			json_decref(value);
			return neap_error_infield(w->err, "[%zu]", i);
		}
		if (json_array_append_new(list, value) < 0)
			return neap_error_nomem(w->err);
		lua_pop(w->L, 1);
	}
	return 0;
}

/* jansson did not take it: for want of memory, if nothing is wrong with it. */
static int refuse_text(struct writer *w, const char *text, size_t len)
{
	return neap_utf8_is_valid(text, len) ? neap_error_nomem(w->err)
					     : refuse(w, "a text that is not UTF-8");
}

static int object_json(struct writer *w, int index, int depth, json_t *object)
{
	lua_pushnil(w->L);
	while (lua_next(w->L, index)) {
		const char *key = neap_lua_text(w->L, -2);
		json_t *value = NULL;
		int rc;

		if (!key)
			return refuse(w, lua_type(w->L, -2) == LUA_TSTRING
						 ? "a key with a NUL byte"
						 : "a table with mixed keys");
		if (!spend(w, lua_rawlen(w->L, -2)))
			return refuse(w, "a table with so much text");
		rc = neap_vm_spend_step(w->L, w->err);
		if (rc == 0)
			rc = to_json(w, lua_gettop(w->L), depth, &value);
		if (rc < 0) {
			json_decref(value);
			return neap_error_infield(w->err, "%s", key);
		}
		if (json_object_set_new(object, key, value) < 0)
			return refuse_text(w, key, strlen(key));
		lua_pop(w->L, 1);
	}
	return 0;
}

static int table_json(struct writer *w, int index, int depth, json_t **ret)
{
	size_t count, keys;
	bool is_list;
	int rc = neap_vm_spend_step(w->L, w->err);

	if (rc < 0)
		return rc;
	(void)neap_sandbox_push_thawed(w->L, index);
	index = lua_gettop(w->L);
	count = lua_rawlen(w->L, index);
	is_list = count > 0;

	if (depth >= DEPTH_MAX)
		return refuse(w, "a table with more than 32 levels");
	lua_pushnil(w->L);
	for (keys = 0; lua_next(w->L, index); keys++) {
		lua_pop(w->L, 1);
		if (keys > (size_t)w->values)
			return refuse(w, "a table with so many values");
		rc = neap_vm_spend_step(w->L, w->err);
		if (rc < 0)
			return rc;
	}
	if (is_list && keys > count)
		return refuse(w, "a table with mixed keys");
	is_list = is_list || !keys;
	*ret = is_list ? json_array() : json_object();
	if (!*ret)
		return neap_error_nomem(w->err);
	rc = is_list ? list_json(w, index, depth + 1, *ret)
		     : object_json(w, index, depth + 1, *ret);
	lua_settop(w->L, index - 1);
	return rc;
}

static int to_json(struct writer *w, int index, int depth, json_t **ret)
{
	struct neap_cpuset set;
	const char *text;
	size_t len;

	/* Nothing in this half raises: what is half built hangs from C variables only. */
	if (!lua_checkstack(w->L, 10))
		return neap_error_nomem(w->err);
	if (--w->values < 0)
		return refuse(w, "a table with so many values");
	switch (lua_type(w->L, index)) {
	case LUA_TNIL:
		*ret = json_null();
		return 0;
	case LUA_TBOOLEAN:
		*ret = json_boolean(lua_toboolean(w->L, index));
		return 0;
	case LUA_TNUMBER:
		return number_json(w, index, ret);
	case LUA_TSTRING:
		if (!spend(w, lua_rawlen(w->L, index)))
			return refuse(w, "a table with so much text");
		text = neap_lua_text(w->L, index);
		if (!text) /* JSON that comes from outside has none either */
			return refuse(w, "a text with a NUL byte");
		len = strlen(text);
		*ret = json_stringn(text, len);
		return *ret ? 0 : refuse_text(w, text, len);
	case LUA_TTABLE:
		return table_json(w, index, depth, ret);
	default:
		if (neap_lua_to_cpuset(w->L, index, &set))
			return cpuset_json(w, &set, ret);
		return refuse(w, luaL_typename(w->L, index));
	}
}

int neap_lua_to_json_within(lua_State *L, int index, int values, size_t bytes,
			    json_t **ret, struct neap_error *err)
{
	struct writer writer = {.L = L, .values = values, .bytes = bytes, .err = err};
	int top = lua_gettop(L);
	int rc = to_json(&writer, lua_absindex(L, index), 0, ret);

	lua_settop(L, top);
	return rc;
}
