/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON to Lua values and back. What is taken comes back the same, but for null members,
 * which are absent in Lua, and empty objects, which are lists; nothing stays on the
 * stack. A list with the members of a sample goes through the field tables, too. */
#include <lua.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/machine/sample.h"
#include "lua/value/convert.h"
#include "lua/value/objects.h"
#include "lua/vm/vm.h"
#include "t/fuzz/lib/fuzz.h"
#include "t/lib/policy_rule.h"

struct task {
	const json_t *json;
	json_t *back;
	struct neap_sample sample;
	struct neap_error err;
	int rc;
};

/* Members that are null, "processors" (which becomes an object) or "" names make the way
 * back differ. */
static bool is_plain(const json_t *json)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach ((json_t *)json, key, value)
		if (strcmp(key, "processors") == 0 || !is_plain(value))
			return false;
	json_array_foreach ((json_t *)json, i, value)
		if (!is_plain(value))
			return false;
	return !json_is_null(json) && !(json_is_object(json) && !json_object_size(json));
}

/* A whole real comes back as an integer. */
static bool is_same(const json_t *a, const json_t *b)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_number(a) && json_is_number(b))
		return json_is_integer(a) && json_is_integer(b)
			       ? json_integer_value(a) == json_integer_value(b)
			       : json_number_value(a) == json_number_value(b);
	if (json_typeof(a) != json_typeof(b) ||
	    json_object_size(a) != json_object_size(b) ||
	    json_array_size(a) != json_array_size(b))
		return false;
	json_object_foreach ((json_t *)a, key, value)
		if (!json_object_get(b, key) || !is_same(value, json_object_get(b, key)))
			return false;
	json_array_foreach ((json_t *)a, i, value)
		if (!is_same(value, json_array_get(b, i)))
			return false;
	return json_is_string(a) ? json_equal(a, b) : true;
}

static int through(lua_State *L)
{
	struct task *task = lua_touserdata(L, 1);
	int top = lua_gettop(L);

	task->rc = neap_lua_push_json(L, task->json, &task->err);
	FUZZ_CHECK(lua_gettop(L) == top + (task->rc == 0));
	if (task->rc < 0)
		return 0;
	task->rc = neap_lua_to_json(L, top + 1, &task->back, &task->err);
	FUZZ_CHECK(lua_gettop(L) == top + 1);
	if (task->rc == 0 && is_plain(task->json))
		FUZZ_CHECK(is_same(task->json, task->back));
	json_decref(task->back);
	task->back = NULL;
	task->rc = neap_lua_to_json_within(L, top + 1, 20, 100, &task->back, &task->err);
	FUZZ_CHECK(lua_gettop(L) == top + 1);
	return 0;
}

/* The same table as a sample, and that as a table and as a sample again. */
static int as_sample(lua_State *L)
{
	struct task *task = lua_touserdata(L, 1);
	int top = lua_gettop(L);

	if (neap_lua_push_json(L, task->json, &task->err) < 0 || !lua_istable(L, -1))
		return 0;
	task->rc = neap_lua_read_struct(L, top + 1, neap_sample_fields, &task->sample,
					&task->err);
	FUZZ_CHECK(lua_gettop(L) == top + 1);
	if (task->rc < 0) {
		FUZZ_CHECK(*task->err.msg);
		return 0;
	}
	neap_lua_push_struct(L, neap_sample_fields, &task->sample, "a sample");
	FUZZ_CHECK(lua_gettop(L) == top + 2);
	FUZZ_CHECK(task->sample.workload_count == 0 || task->sample.workloads);
	return 0;
}

static int open_types(lua_State *L)
{
	neap_lua_open_cpuset(L);
	neap_lua_open_topology(L);
	neap_lua_open_block(L);
	neap_lua_open_selector(L);
	return 0;
}

static struct neap_vm *vm_make(void)
{
	struct neap_vm *vm = NULL;
	struct neap_error err;

	FUZZ_CHECK(neap_vm_new(16 << 20, &vm, &err) == 0);
	FUZZ_CHECK(neap_vm_protect(vm, open_types, NULL, 0, &err) == 0);
	return vm;
}

static void run(lua_CFunction fn, struct neap_vm *vm, struct task *task)
{
	struct neap_error err = {0};
	int top = lua_gettop(neap_vm_state(vm));
	int rc = neap_vm_protect(vm, fn, task, 0, &err);

	FUZZ_CHECK(rc == 0 || err.code == NEAP_ELIMIT || err.code == NEAP_EINVAL);
	FUZZ_CHECK(lua_gettop(neap_vm_state(vm)) == top);
	json_decref(task->back);
	task->back = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct neap_vm *vm;
	static int uses;
	struct task task;
	struct fuzz_in in;
	json_t *json;

	memset(&task, 0, sizeof(task));
	fuzz_in_init(&in, data, size);
	json = fuzz_rest_json(&in);
	if (vm && (uses++ > 2000 || neap_vm_is_dead(vm))) {
		neap_vm_free(vm);
		vm = NULL;
		uses = 0;
	}
	if (!vm)
		vm = vm_make();
	if (json) {
		task.json = json;
		run(through, vm, &task);
		neap_struct_clear(neap_sample_fields, &task.sample);
		run(as_sample, vm, &task);
		neap_struct_done(neap_sample_fields, &task.sample);
	}
	json_decref(json);
	fuzz_in_done(&in);
	return 0;
}
