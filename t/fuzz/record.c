/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples through the recorder and its tape: what comes back is, field by field, what
 * went in; bounds hold. The samples are read from JSON as those of examples are. */
#include <lua.h>
#include <stdlib.h>
#include <string.h>

#include "lua/run/record.h"
#include "lua/value/convert.h"
#include "lua/value/objects.h"
#include "lua/vm/vm.h"
#include "t/fuzz/lib/fuzz.h"
#include "t/lib/policy_rule.h"

#define SAMPLES 6
#define BYTES   4096

struct task {
	const json_t *list;
	struct neap_record *record;
	struct neap_sample sample;
	json_t *json[SAMPLES]; /* of what was recorded */
	size_t count;
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

/* Without the topology, which is no JSON. */
static json_t *sample_json(lua_State *L, struct neap_sample *sample)
{
	struct neap_topology *topology = sample->topology;
	struct neap_error err;
	json_t *json = NULL;

	sample->topology = NULL;
	neap_lua_push_struct(L, neap_sample_fields, sample, "a sample");
	sample->topology = topology;
	if (neap_lua_to_json(L, lua_gettop(L), &json, &err) < 0) {
		json_decref(json);
		json = NULL; /* a text that is no UTF-8, or a number that is none */
	}
	lua_pop(L, 1);
	return json;
}

static int record_all(lua_State *L)
{
	struct task *task = lua_touserdata(L, 1);

	for (size_t i = 0; i < json_array_size(task->list) && i < SAMPLES; i++) {
		neap_struct_done(neap_sample_fields, &task->sample);
		neap_struct_clear(neap_sample_fields, &task->sample);
		lua_settop(L, 1);
		if (neap_lua_push_json(L, json_array_get(task->list, i), &task->err) <
			    0 ||
		    !lua_istable(L, 2) ||
		    neap_lua_read_struct(L, 2, neap_sample_fields, &task->sample,
					 &task->err) < 0)
			return 0;
		neap_record_add(task->record, &task->sample);
		task->json[task->count++] = sample_json(L, &task->sample);
	}
	return 0;
}

static int compare_all(lua_State *L)
{
	struct task *task = lua_touserdata(L, 1);
	struct neap_tape *tape = neap_record_share(task->record);
	size_t kept, at = 0;

	FUZZ_CHECK(tape != NULL);
	kept = neap_tape_count(tape);
	FUZZ_CHECK(kept <= task->count && kept == neap_record_count(task->record));
	FUZZ_CHECK(neap_record_bytes(task->record) <= BYTES);
	for (size_t i = 0; i < kept; i++) {
		struct neap_sample again;
		json_t *json;

		FUZZ_CHECK(neap_tape_get(tape, i, &again, &task->err) == 0);
		json = sample_json(L, &again);
		/* Old ones have gone, and one too large for the recorder is left out,
		 * wherever it stood; what is there is in order. */
		while (at < task->count &&
		       !(json && task->json[at] ? json_equal(json, task->json[at])
						: json == task->json[at]))
			at++;
		FUZZ_CHECK(at++ < task->count);
		json_decref(json);
		neap_tape_forget(&again);
	}
	FUZZ_CHECK(neap_tape_get(tape, kept, &task->sample, &task->err) ==
		   -NEAP_ENOTFOUND);
	FUZZ_CHECK(neap_tape_unref(tape) == NULL);
	return 0;
}

static bool run(struct neap_vm *vm, lua_CFunction fn, struct task *task)
{
	struct neap_error err;

	return neap_vm_protect(vm, fn, task, 0, &err) == 0;
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
	if (vm && uses++ > 2000) {
		neap_vm_free(vm);
		vm = NULL;
		uses = 0;
	}
	if (!vm) {
		FUZZ_CHECK(neap_vm_new(16 << 20, &vm, &task.err) == 0);
		FUZZ_CHECK(run(vm, open_types, NULL));
	}
	if (json_is_array(json)) {
		task.list = json;
		task.record = neap_record_new(BYTES, 4);
		FUZZ_CHECK(task.record != NULL);
		neap_struct_clear(neap_sample_fields, &task.sample);
		/* Frames hold what they need: the tables that names pointed into may
		 * go. */
		(void)run(vm, record_all, &task);
		neap_struct_done(neap_sample_fields, &task.sample);
		neap_struct_clear(neap_sample_fields, &task.sample);
		lua_gc(neap_vm_state(vm), LUA_GCCOLLECT);
		(void)run(vm, compare_all, &task);
		for (size_t i = 0; i < task.count; i++)
			json_decref(task.json[i]);
		neap_record_free(task.record);
	}
	json_decref(json);
	fuzz_in_done(&in);
	return 0;
}
