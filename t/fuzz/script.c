/* SPDX-License-Identifier: Apache-2.0
 *
 * Scripts in the sandbox: any text. It ends within its budget, what it wrote does not
 * outlive it in the shared tables, and the state can be used again unless it was
 * killed. */
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>

#include "lua/value/objects.h"
#include "lua/vm/vm.h"
#include "t/fuzz/lib/fuzz.h"

#define BUDGET_USEC 2000

/* Raises when a script could change what others see. */
static const char probe[] =
	"for _, t in pairs({ string, table, math, utf8 }) do\n"
	"  if pcall(function() return t.x end) and t.x then error('written') end\n"
	"end\n"
	"if #string.rep('ab', 3) ~= 6 or tostring(12) ~= '12' then error('replaced') end\n"
	"if type(pairs) ~= 'function' or select('#', pcall(error)) ~= 2 then error('gone') end\n";

static int open_types(lua_State *L)
{
	neap_lua_open_cpuset(L);
	neap_lua_open_topology(L);
	neap_lua_open_block(L);
	neap_lua_open_selector(L);
	return 0;
}

static int run(struct neap_vm *vm, const char *text, size_t len, const char *name,
	       int64_t budget_usec, struct neap_error *err)
{
	int top = lua_gettop(neap_vm_state(vm));
	int rc = neap_vm_load(vm, text, len, name, err);

	FUZZ_CHECK(lua_gettop(neap_vm_state(vm)) == top + (rc == 0));
	if (rc == 0)
		rc = neap_vm_call(vm, 0, 0, budget_usec, err);
	FUZZ_CHECK(lua_gettop(neap_vm_state(vm)) == top);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct neap_error err = {0};
	struct neap_vm *vm = NULL;
	struct fuzz_in in;
	size_t len;
	char *text;
	int rc;

	fuzz_in_init(&in, data, size);
	text = fuzz_rest(&in, &len);
	FUZZ_CHECK(neap_vm_new(1 << 20, &vm, &err) == 0);
	FUZZ_CHECK(neap_vm_protect(vm, open_types, NULL, 0, &err) == 0);
	rc = run(vm, text, len, "p.lua", BUDGET_USEC, &err);
	FUZZ_CHECK(rc == 0 || (rc == -(int)err.code && *err.msg));
	FUZZ_CHECK(rc == 0 || err.code == NEAP_EINVAL || err.code == NEAP_EBUDGET ||
		   err.code == NEAP_ELIMIT || err.code == NEAP_EUNAVAILABLE);
	FUZZ_CHECK(neap_vm_memory(vm) <= (1 << 20) + (64 << 10));
	if (!neap_vm_is_dead(vm)) {
		rc = run(vm, probe, sizeof(probe) - 1, "probe", 10000000, &err);
		if (rc < 0 && err.code != NEAP_ELIMIT)
			fuzz_fail(__FILE__, __LINE__, err.msg);
	}
	neap_vm_free(vm);
	fuzz_in_done(&in);
	return 0;
}
