/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters of policies: a schema as a policy gives it (JSON here), then values as text,
 * as JSON and as Lua tables. What is in force comes back from its own JSON, and a refused
 * value changes nothing. */
#include <lua.h>
#include <stdlib.h>
#include <string.h>

#include "lua/call/params.h"
#include "lua/value/convert.h"
#include "lua/value/objects.h"
#include "lua/vm/vm.h"
#include "t/fuzz/lib/fuzz.h"
#include "t/lib/policy_rule.h"

struct task {
	const json_t *schema, *values;
	struct neap_params *params;
	int rc;
	struct neap_error err;
};

static int open_types(lua_State *L)
{
	neap_lua_open_cpuset(L);
	neap_lua_open_topology(L);
	neap_lua_open_block(L);
	neap_lua_open_selector(L);
	return 0;
}

static int read_schema(lua_State *L)
{
	struct task *task = lua_touserdata(L, 1);

	task->rc = neap_lua_push_json(L, task->schema, &task->err);
	if (task->rc == 0)
		task->rc = neap_params_read(L, 2, task->params, &task->err);
	return 0;
}

static int set_lua(lua_State *L)
{
	struct task *task = lua_touserdata(L, 1);

	task->rc = neap_lua_push_json(L, task->values, &task->err);
	if (task->rc == 0 && lua_istable(L, 2))
		task->rc = neap_params_set_lua(L, 2, task->params, &task->err);
	lua_newtable(L);
	neap_params_fill(L, task->params);
	return 0;
}

/* What is in force, put into a fresh copy, is in force there. */
static void check_again(const struct neap_params *params)
{
	json_t *values = neap_params_values_json(params), *again, *schema;
	struct neap_params copy = {0};
	struct neap_error err = {0};

	FUZZ_CHECK(values && neap_params_dup(params, &copy, &err) == 0);
	neap_params_reset(&copy);
	FUZZ_CHECK(neap_params_set_json(&copy, values, &err) == 0);
	again = neap_params_values_json(&copy);
	FUZZ_CHECK(again && json_equal(values, again));
	schema = neap_params_schema_json(params);
	FUZZ_CHECK(schema && json_object_size(schema) == params->count);
	json_decref(schema);
	json_decref(again);
	json_decref(values);
	neap_params_done(&copy);
}

static void set_texts(struct neap_params *params, const char *text)
{
	struct neap_error err = {0};

	for (size_t i = 0; i < params->count; i++) {
		json_t *before = neap_params_values_json(params);

		if (neap_params_set_text(params, params->rows[i].name, text, &err) < 0) {
			json_t *after = neap_params_values_json(params);

			FUZZ_CHECK(*err.msg && json_equal(before, after));
			json_decref(after);
		}
		json_decref(before);
	}
}

static void set_values(struct neap_vm *vm, struct task *task)
{
	struct neap_error err = {0};

	if (json_is_object(task->values))
		(void)neap_params_set_json(task->params, task->values, &err);
	check_again(task->params);
	if (neap_vm_protect(vm, set_lua, task, 0, &err) < 0)
		FUZZ_CHECK(err.code == NEAP_ELIMIT || err.code == NEAP_EINVAL);
	check_again(task->params);
}

/* A line of text, then a list of two: the schema and an object of values. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct neap_vm *vm;
	static int uses;
	struct neap_params params = {0};
	struct task task = {.params = &params};
	struct neap_error err = {0};
	struct fuzz_in in;
	const char *text;
	json_t *json;

	fuzz_in_init(&in, data, size);
	text = fuzz_line(&in);
	json = fuzz_rest_json(&in);
	if (vm && uses++ > 2000) {
		neap_vm_free(vm);
		vm = NULL;
		uses = 0;
	}
	if (!vm) {
		FUZZ_CHECK(neap_vm_new(16 << 20, &vm, &err) == 0);
		FUZZ_CHECK(neap_vm_protect(vm, open_types, NULL, 0, &err) == 0);
	}
	if (json_is_array(json) && json_array_size(json) == 2) {
		task.schema = json_array_get(json, 0);
		task.values = json_array_get(json, 1);
		if (neap_vm_protect(vm, read_schema, &task, 0, &err) == 0 &&
		    task.rc == 0) {
			check_again(&params);
			set_texts(&params, text);
			check_again(&params);
			set_values(vm, &task);
		}
		FUZZ_CHECK(task.rc == 0 || *task.err.msg);
		neap_params_done(&params);
	}
	json_decref(json);
	fuzz_in_done(&in);
	return 0;
}
