/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU set object: a + b and a | b are the union, a & b the intersection, a - b the
 * difference, #a the count. Only words up to the highest member are stored. */
#include <string.h>

#include <lauxlib.h>

#include "lua/value/objects.h"
#include "lua/vm/vm.h"

#define CPUSET_TYPE "neap.CpuSet"
/* Fields of the metatable: the empty set, and the last other one that was pushed. */
#define FIELD_EMPTY 1
#define FIELD_LAST  2

struct object {
	uint32_t len;
	uint64_t word[];
};

static void expand(const struct object *object, struct neap_cpuset *ret)
{
	ret->len = object->len;
	memcpy(ret->word, object->word, object->len * sizeof(object->word[0]));
}

/* A set never changes, and most pods of a node have the same one: an equal one is pushed
 * again. */
void neap_lua_push_cpuset(lua_State *L, const struct neap_cpuset *set)
{
	uint32_t len = set->len;
	struct object *object;
	int field;

	while (len && !set->word[len - 1])
		len--;
	field = len ? FIELD_LAST : FIELD_EMPTY;
	luaL_getmetatable(L, CPUSET_TYPE);
	lua_rawgeti(L, -1, field);
	object = lua_touserdata(L, -1);
	if (!object || object->len != len ||
	    memcmp(object->word, set->word, len * sizeof(object->word[0])) != 0) {
		lua_pop(L, 1);
		object = lua_newuserdatauv(
			L, sizeof(*object) + len * sizeof(object->word[0]), 0);
		object->len = len;
		memcpy(object->word, set->word, len * sizeof(object->word[0]));
		lua_pushvalue(L, -2);
		lua_setmetatable(L, -2);
		lua_pushvalue(L, -1);
		lua_rawseti(L, -3, field);
	}
	lua_remove(L, -2);
}

bool neap_lua_to_cpuset(lua_State *L, int index, struct neap_cpuset *ret)
{
	const struct object *object = luaL_testudata(L, index, CPUSET_TYPE);

	if (!object)
		return false;
	expand(object, ret);
	return true;
}

void neap_lua_check_cpuset(lua_State *L, int arg, struct neap_cpuset *ret)
{
	if (!neap_lua_to_cpuset(L, arg, ret))
		luaL_typeerror(L, arg, "cpu set");
}

const char *neap_lua_check_text(lua_State *L, int arg)
{
	size_t len;
	const char *text = luaL_checklstring(L, arg, &len);

	luaL_argcheck(L, len <= NEAP_VM_TEXT_BYTES, arg, "text is too long");
	luaL_argcheck(L, strlen(text) == len, arg, "text with a NUL byte in it");
	return text;
}

int neap_lua_cpuset_new(lua_State *L)
{
	struct neap_cpuset set;
	struct neap_error err;

	neap_cpuset_clear(&set);
	if (lua_isnoneornil(L, 1)) {
		neap_lua_push_cpuset(L, &set);
		return 1;
	}
	if (neap_cpuset_parse(&set, neap_lua_check_text(L, 1), &err) < 0) {
		luaL_pushfail(L);
		lua_pushstring(L, err.msg);
		return 2;
	}
	neap_lua_push_cpuset(L, &set);
	return 1;
}

typedef void combine_fn(struct neap_cpuset *ret, const struct neap_cpuset *a,
			const struct neap_cpuset *b);

static int combine(lua_State *L, combine_fn *fn)
{
	struct neap_cpuset a, b;

	neap_lua_check_cpuset(L, 1, &a);
	neap_lua_check_cpuset(L, 2, &b);
	fn(&a, &a, &b);
	neap_lua_push_cpuset(L, &a);
	return 1;
}

static int set_or(lua_State *L)
{
	return combine(L, neap_cpuset_or);
}

static int set_and(lua_State *L)
{
	return combine(L, neap_cpuset_and);
}

static int set_minus(lua_State *L)
{
	return combine(L, neap_cpuset_minus);
}

static int set_eq(lua_State *L)
{
	struct neap_cpuset a, b;

	lua_pushboolean(L, neap_lua_to_cpuset(L, 1, &a) && neap_lua_to_cpuset(L, 2, &b) &&
				   neap_cpuset_is_equal(&a, &b));
	return 1;
}

static int set_len(lua_State *L)
{
	struct neap_cpuset set;

	neap_lua_check_cpuset(L, 1, &set);
	lua_pushinteger(L, neap_cpuset_count(&set));
	return 1;
}

static int set_tostring(lua_State *L)
{
	struct neap_cpuset set;
	luaL_Buffer buffer;
	size_t len;
	char *text;

	neap_lua_check_cpuset(L, 1, &set);
	len = neap_cpuset_format(&set, NULL, 0);
	text = luaL_buffinitsize(L, &buffer, len + 1);
	(void)neap_cpuset_format(&set, text, len + 1); /* the length is known */
	luaL_pushresultsize(&buffer, len);
	return 1;
}

/* set:has(cpu) -> boolean */
static int set_has(lua_State *L)
{
	struct neap_cpuset set;
	lua_Integer cpu = luaL_checkinteger(L, 2);

	neap_lua_check_cpuset(L, 1, &set);
	lua_pushboolean(L, cpu >= 0 && cpu < NEAP_CPU_MAX &&
				   neap_cpuset_has(&set, (int)cpu));
	return 1;
}

/* set:list() -> array of CPU numbers, ascending */
static int set_list(lua_State *L)
{
	struct neap_cpuset set;
	lua_Integer n = 0;

	neap_vm_check(L);
	neap_lua_check_cpuset(L, 1, &set);
	lua_createtable(L, neap_cpuset_count(&set), 0);
	for (int cpu = neap_cpuset_next(&set, -1); cpu >= 0;
	     cpu = neap_cpuset_next(&set, cpu)) {
		lua_pushinteger(L, cpu);
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

/* set:first(n) -> cpu set of the n lowest CPUs, all of them when there are fewer */
static int set_first(lua_State *L)
{
	struct neap_cpuset set, ret;
	lua_Integer wanted = luaL_checkinteger(L, 2);
	int cpu;

	neap_lua_check_cpuset(L, 1, &set);
	neap_cpuset_clear(&ret);
	cpu = neap_cpuset_next(&set, -1);
	for (; cpu >= 0 && wanted > 0; wanted--) {
		neap_cpuset_add(&ret, cpu);
		cpu = neap_cpuset_next(&set, cpu);
	}
	neap_lua_push_cpuset(L, &ret);
	return 1;
}

/* set:is_subset(other) -> boolean: every CPU of set is in other */
static int set_is_subset(lua_State *L)
{
	struct neap_cpuset a, b;

	neap_lua_check_cpuset(L, 1, &a);
	neap_lua_check_cpuset(L, 2, &b);
	lua_pushboolean(L, neap_cpuset_is_subset(&a, &b));
	return 1;
}

static const luaL_Reg set_methods[] = {
	{"has", set_has},     {"list", set_list},
	{"first", set_first}, {"is_subset", set_is_subset},
	{NULL, NULL},
};

static const luaL_Reg set_operators[] = {
	{"__add", set_or},
	{"__bor", set_or},
	{"__band", set_and},
	{"__sub", set_minus},
	{"__eq", set_eq},
	{"__len", set_len},
	{"__tostring", set_tostring},
	{NULL, NULL},
};

void neap_lua_open_cpuset(lua_State *L)
{
	luaL_newmetatable(L, CPUSET_TYPE);
	for (int field = FIELD_EMPTY; field <= FIELD_LAST; field++) {
		lua_pushboolean(L, 0);
		lua_rawseti(L, -2, field);
	}
	luaL_setfuncs(L, set_operators, 0);
	luaL_newlib(L, set_methods);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 1);
}
