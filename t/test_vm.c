/* SPDX-License-Identifier: Apache-2.0
 *
 * The VM's contract: errors, budgets, memory, nesting, log, torture of allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "lua/vm/budget.h"
#include "lua/vm/sandbox.h"
#include "lua/vm/vm.h"
#include "t/lib/patience.h"

#define SECOND INT64_C(1000000)

static struct neap_vm *new_vm(size_t memory)
{
	struct neap_vm *vm = NULL;
	struct neap_error err;

	if (neap_vm_new(memory, &vm, &err) < 0)
		fail_msg("no VM: %s", err.msg);
	return vm;
}

static int run(struct neap_vm *vm, const char *text, int results, int64_t budget_usec,
	       struct neap_error *err)
{
	int code = neap_vm_load(vm, text, strlen(text), "p.lua", err);

	return code < 0 ? code : neap_vm_call(vm, 0, results, budget_usec, err);
}

static const struct row {
	const char *name, *text;
	int code;
	const char *message; /* part of it */
} rows[] = {
	{"fine", "return 1", 0, ""},
	{"syntax", "return +", -NEAP_EINVAL, "p.lua:1:"},
	{"bytecode", "\x1bLua", -NEAP_EINVAL, "binary"},
	{"raised text", "\nerror('no')", -NEAP_EINVAL, "p.lua:2: no"},
	{"raised number", "error(42)", -NEAP_EINVAL, "42"},
	{"raised table", "error({})", -NEAP_EINVAL, "non-string error"},
	{"raised nil", "error()", -NEAP_EINVAL, "non-string error"},
	{"raised table with looping tostring",
	 "error(setmetatable({}, { __tostring = function() while true do end end }))",
	 -NEAP_EINVAL, "non-string error"},
	{"memory", "local t = {} for i = 1, 1e9 do t[i] = i end", -NEAP_ELIMIT,
	 ":1: the memory limit"},
	{"global written", "\nx = 1", -NEAP_EINVAL,
	 "p.lua:2: global 'x' is not allowed: use local"},
	{"known global written", "pairs = 1", -NEAP_EINVAL,
	 "global 'pairs' is not allowed"},
	{"global read", "return os.time()", -NEAP_EINVAL,
	 "p.lua:1: there is no 'os' here"},
	{"library written", "string.x = 1", -NEAP_EINVAL,
	 "field 'x' is in a read-only table"},
	{"stack", "local function f() return 1 + f() end f()", -NEAP_EINVAL,
	 "stack overflow"},
};

static void test_results(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_vm *vm = new_vm(rows[i].code == -NEAP_EINVAL ? 512 << 20 : 0);
		struct neap_error err = {0};
		int code = run(vm, rows[i].text, 0, 10 * SECOND, &err);

		if (code != rows[i].code || !strstr(err.msg, rows[i].message))
			fail_msg("%s: code %d '%s'", rows[i].name, code, err.msg);
		assert_int_equal(lua_gettop(neap_vm_state(vm)), 0);
		assert_false(neap_vm_is_dead(vm));
		assert_int_equal(run(vm, "return 7", 1, SECOND, &err), 0);
		assert_int_equal(lua_tointeger(neap_vm_state(vm), -1), 7);
		neap_vm_free(vm);
	}
}

static void test_args_and_results(void **state)
{
	struct neap_vm *vm = new_vm(0);
	lua_State *L = neap_vm_state(vm);
	struct neap_error err;

	(void)state;
	assert_int_equal(
		run(vm, "return function(a, b) return b, a, a + b end", 1, SECOND, &err),
		0);
	lua_pushvalue(L, 1);
	lua_pushinteger(L, 3);
	lua_pushinteger(L, 4);
	assert_int_equal(neap_vm_call(vm, 2, LUA_MULTRET, SECOND, &err), 0);
	assert_int_equal(lua_gettop(L), 4);
	assert_int_equal(lua_tointeger(L, 4), 7);
	lua_settop(L, 1);
	lua_pushvalue(L, 1);
	lua_pushinteger(L, 3);
	lua_pushboolean(L, 0);
	assert_int_equal(neap_vm_call(vm, 2, 3, SECOND, &err), -NEAP_EINVAL);
	assert_int_equal(lua_gettop(L), 1);
	neap_vm_free(vm);
}

static void test_source_too_large(void **state)
{
	struct neap_vm *vm = new_vm(64 << 20);
	struct neap_error err;
	size_t len = 8 << 20;
	char *text = neap_alloc(len);

	(void)state;
	assert_non_null(text);
	memset(text, ' ', len);
	assert_int_equal(neap_vm_load(vm, text, len, "p.lua", &err), -NEAP_ETOOLARGE);
	assert_int_equal(lua_gettop(neap_vm_state(vm)), 0);
	neap_cleanup_free(&text);
	neap_vm_free(vm);
}

/* Texts that take Lua's compiler seconds, in which nothing interrupts it. */
static void test_dear_sources(void **state)
{
	static const struct {
		const char *head, *each, *tail;
		int times, code;
		const char *message;
	} sources[] = {
		{"", "x = 1 ", "", 40000, 0, ""},
		{"while x do ", "break ", "end", 2000, 0, ""},
		{"while x do ", "break ", "end", 2001, -NEAP_ELIMIT,
		 "'break' is there over 2000 times"},
		{"", "goto a ", "::a::", 2001, -NEAP_ELIMIT, "'goto'"},
		{"", "::a:: ", "", 2001, -NEAP_ELIMIT, "'::'"},
		{"x = a ", "and a ", "", 60000, -NEAP_EBUDGET, "compiling: stopped"},
	};
	static char text[400000];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(sources); i++) {
		struct neap_vm *vm = new_vm(0);
		struct neap_error err = {0};
		size_t each = strlen(sources[i].each), len = strlen(sources[i].head);
		int code;

		memcpy(text, sources[i].head, len);
		for (int n = 0; n < sources[i].times; n++, len += each)
			memcpy(text + len, sources[i].each, each);
		memcpy(text + len, sources[i].tail, strlen(sources[i].tail) + 1);
		code = neap_vm_load(vm, text, strlen(text), "p.lua", &err);
		if (code != sources[i].code || !strstr(err.msg, sources[i].message))
			fail_msg("%s%s: %d '%s'", sources[i].head, sources[i].each, code,
				 err.msg);
		neap_vm_free(vm);
	}
}

static void test_kill(void **state)
{
	struct neap_vm *vm = new_vm(0);
	struct neap_error err;

	(void)state;
	assert_int_equal(run(vm, "\nwhile true do end", 0, 20000, &err), -NEAP_EBUDGET);
	assert_non_null(strstr(err.msg, "p.lua:2: "));
	assert_true(neap_vm_is_dead(vm));
	assert_in_range(neap_vm_last_cpu_usec(vm), 20000, 2 * SECOND);
	assert_int_equal(run(vm, "return 1", 0, SECOND, &err), -NEAP_EBUDGET);
	assert_int_equal(lua_gettop(neap_vm_state(vm)), 0);
	neap_vm_free(vm);
	/* The next state of the thread is not touched by it. */
	vm = new_vm(0);
	assert_int_equal(run(vm, "for i = 1, 100000 do end return 1", 0, SECOND, &err),
			 0);
	neap_vm_free(vm);
}

/* Many calls in close succession, each with its own budget: together they take longer
 * than one. */
static void test_budget_is_per_call(void **state)
{
	struct neap_vm *vm = new_vm(0);
	lua_State *L = neap_vm_state(vm);
	struct neap_error err;
	int64_t sum = 0;
	int i;

	(void)state;
	assert_int_equal(run(vm, "return function() for i = 1, 100000 do end end", 1,
			     SECOND, &err),
			 0);
	for (i = 0; i < 300; i++) {
		lua_pushvalue(L, 1);
		if (neap_vm_call(vm, 0, 0, 40000, &err) < 0)
			fail_msg("call %d: %s", i, err.msg);
		sum += neap_vm_last_cpu_usec(vm);
	}
	assert_true(sum > 40000);
	/* And one that follows them closely is stopped all the same. */
	assert_int_equal(run(vm, "while true do end", 0, 20000, &err), -NEAP_EBUDGET);
	neap_vm_free(vm);
}

static void test_timer_goes_to_sleep(void **state)
{
	struct neap_vm *vm = new_vm(0);
	struct neap_error err;

	(void)state;
#if defined(__SANITIZE_THREAD__)
	print_message("# skip: ThreadSanitizer: no timer\n");
	skip();
#endif
	/* It may sleep again before it is looked at. */
	assert_true(comes_true(run(vm, "return 1", 0, SECOND, &err) == 0 &&
			       neap_budget_is_ticking()));
	assert_true(comes_true(!neap_budget_is_ticking()));
	assert_int_equal(run(vm, "while true do end", 0, 20000, &err), -NEAP_EBUDGET);
	/* Nor does it tick where it was told to rest, and still stops what comes next. */
	neap_budget_rest();
	assert_false(neap_budget_is_ticking());
	assert_int_equal(run(vm, "while true do end", 0, 20000, &err), -NEAP_EBUDGET);
	neap_vm_free(vm);
}

static struct neap_vm *other;

static int call_other(lua_State *L)
{
	struct neap_error err;

	(void)L;
	assert_int_equal(run(other, "return 1", 0, SECOND, &err), -NEAP_EINTERNAL);
	assert_int_equal(lua_gettop(neap_vm_state(other)), 0);
	return 0;
}

static void test_nested_call_is_refused(void **state)
{
	struct neap_vm *vm = new_vm(0);
	struct neap_error err;

	(void)state;
	other = new_vm(0);
	lua_pushcfunction(neap_vm_state(vm), call_other);
	assert_int_equal(neap_vm_call(vm, 0, 0, SECOND, &err), 0);
	neap_vm_free(other);
	neap_vm_free(vm);
}

static int loop_with_checks(lua_State *L)
{
	for (;;)
		neap_vm_check(L);
	return 0;
}

static void test_check_stops_c(void **state)
{
	struct neap_vm *vm = new_vm(0);
	struct neap_error err;

	(void)state;
	lua_pushcfunction(neap_vm_state(vm), loop_with_checks);
	assert_int_equal(neap_vm_call(vm, 0, 0, 10000, &err), -NEAP_EBUDGET);
	assert_true(neap_vm_is_dead(vm));
	neap_vm_free(vm);
}

static int sleep_long(lua_State *L)
{
	struct timespec nap = {.tv_nsec = 10000000};

	for (;;) {
		(void)nanosleep(&nap, NULL);
		neap_vm_check(L);
	}
	return 0;
}

/* A thread that gets no CPU: its script is stopped by the wall, and not blamed. */
static void test_wall_backstop(void **state)
{
	struct neap_vm *vm = new_vm(0);
	struct neap_error err;

	(void)state;
#if defined(__SANITIZE_THREAD__)
	print_message("# skip: ThreadSanitizer: the clock is looked at too seldom\n");
	skip();
#endif
	neap_budget_set_walls(NEAP_BUDGET_WALLS);
	lua_pushcfunction(neap_vm_state(vm), sleep_long);
	assert_int_equal(neap_vm_call(vm, 0, 0, 50000, &err), -NEAP_EUNAVAILABLE);
	assert_true(neap_vm_is_dead(vm));
	assert_int_equal(run(vm, "return 1", 0, SECOND, &err), -NEAP_EUNAVAILABLE);
	neap_vm_free(vm);
	neap_budget_set_walls(100 * NEAP_BUDGET_WALLS);
}

/* Sets *arg when all went well. */
static void *run_in_thread(void *arg)
{
	bool *is_fine = arg;
	struct neap_vm *vm = NULL;
	struct neap_error err;
	int code;

	if (neap_vm_new(0, &vm, &err) < 0)
		return NULL;
	code = run(vm, "pcall(function() while true do end end) while true do end", 0,
		   20000, &err);
	*is_fine = code == -NEAP_EBUDGET;
	neap_vm_free(vm);
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[3];
	bool is_fine[NEAP_ARRAY_LEN(threads)] = {false};
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(threads); i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, run_in_thread, &is_fine[i]), 0);
	for (i = 0; i < NEAP_ARRAY_LEN(threads); i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_true(is_fine[i]);
	}
}

static int log_lines;

static void count_line(void *arg, const char *text)
{
	assert_ptr_equal(arg, &log_lines);
	assert_string_equal(text, "hello");
	log_lines++;
}

static int log_many(lua_State *L)
{
	int i;

	for (i = 0; i < 100; i++)
		neap_vm_log(L, "hello");
	return 0;
}

static void test_log_has_a_limit(void **state)
{
	struct neap_vm *vm = new_vm(0);
	struct neap_error err;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		log_lines = 0;
		if (i == 1)
			neap_vm_set_log(vm, count_line, &log_lines);
		lua_pushcfunction(neap_vm_state(vm), log_many);
		assert_int_equal(neap_vm_call(vm, 0, 0, SECOND, &err), 0);
		assert_int_equal(log_lines, i * NEAP_VM_LOG_LINES);
	}
	neap_vm_free(vm);
}

static int push_forever(lua_State *L)
{
	lua_newtable(L);
	for (lua_Integer i = 1;; i++) {
		lua_pushinteger(L, i);
		lua_rawseti(L, -2, i);
	}
	return 0;
}

static int push_arg(lua_State *L)
{
	lua_pushstring(L, lua_touserdata(L, 1));
	return 1;
}

static void test_protect(void **state)
{
	struct neap_vm *vm = new_vm(0);
	lua_State *L = neap_vm_state(vm);
	struct neap_error err;
	char text[] = "given";
	size_t before;

	(void)state;
	assert_int_equal(neap_vm_protect(vm, push_forever, NULL, 0, &err), -NEAP_ELIMIT);
	assert_int_equal(lua_gettop(L), 0);
	assert_int_equal(neap_vm_protect(vm, push_arg, text, 1, &err), 0);
	assert_string_equal(lua_tostring(L, 1), "given");
	assert_ptr_equal(neap_vm_of(L), vm);
	before = neap_vm_memory(vm);
	assert_in_range(before, 1000, NEAP_VM_MEMORY_BYTES);
	neap_vm_free(vm);
}

static int freeze_list(lua_State *L)
{
	lua_newtable(L);
	lua_pushinteger(L, 10);
	lua_rawseti(L, -2, 1);
	lua_pushinteger(L, 20);
	lua_rawseti(L, -2, 2);
	lua_pushinteger(L, 30);
	lua_setfield(L, -2, "x");
	neap_sandbox_freeze(L);
	return 1;
}

static void test_freeze(void **state)
{
	static const char text[] =
		"local t = ...\n"
		"assert(#t == 2 and t.x == 30 and rawlen(t) == 2 and rawget(t, 'x') == 30)\n"
		"local s = ''\n"
		"for k, v in pairs(t) do s = s .. k .. v .. ' ' end\n"
		"for i, v in ipairs(t) do s = s .. v end\n"
		"for k, v in next, t do s = s .. k end\n"
		"assert(s == '110 220 x30 102012x', s)\n"
		"assert(table.concat(t, ',') == '10,20' and select('#', table.unpack(t)) == 2)\n"
		"local function refused(f, ...)\n"
		"  local ok, e = pcall(f, ...)\n"
		"  assert(not ok and e:find('read%-only'), e)\n"
		"end\n"
		"refused(function() t.y = 1 end) refused(function() t.x = nil end)\n"
		"refused(rawset, t, 'x', 1) refused(table.insert, t, 1) refused(table.sort, t)\n"
		"refused(table.remove, t) refused(table.move, { 1 }, 1, 1, 1, t)\n"
		"assert(not pcall(setmetatable, t, {}))\n"
		"local _, state = pairs(t) assert(rawequal(state, t))\n";
	struct neap_vm *vm = new_vm(0);
	struct neap_error err;

	(void)state;
	assert_int_equal(neap_vm_load(vm, text, strlen(text), "freeze", &err), 0);
	assert_int_equal(neap_vm_protect(vm, freeze_list, NULL, 1, &err), 0);
	if (neap_vm_call(vm, 1, 0, SECOND, &err) < 0)
		fail_msg("%s", err.msg);
	neap_vm_free(vm);
}

/* Every allocation of a life fails once: no crash, no leak, no panic, and a sensible
 * code. */
static void test_torture(void **state)
{
	uint64_t n;

	(void)state;
	for (n = 1; n < 20000; n++) {
		struct neap_vm *vm = NULL;
		struct neap_error err = {0};
		uint64_t before = neap_mem_count();
		int code;

		neap_mem_fail_at(n);
		code = neap_vm_new(0, &vm, &err);
		if (code == 0)
			code = run(
				vm,
				"local t = {} for i = 1, 50 do t['k' .. i] = { i } end\n"
				"for k, v in pairs(t) do local s = k:gsub('%d', '<%0>') end\n"
				"local k = next(t) while k do k = next(t, k) end\n"
				"table.sort({ 3, 1, 2 }) return tostring(t)",
				1, 10 * SECOND, &err);
		neap_mem_fail_at(0);
		if (code < 0)
			assert_int_equal(code, -NEAP_ENOMEM);
		neap_vm_free(vm);
		if (neap_mem_count() - before < n)
			break;
	}
	assert_in_range(n, 100, 19999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_args_and_results),
		cmocka_unit_test(test_source_too_large),
		cmocka_unit_test(test_dear_sources),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_budget_is_per_call),
		cmocka_unit_test(test_timer_goes_to_sleep),
		cmocka_unit_test(test_nested_call_is_refused),
		cmocka_unit_test(test_check_stops_c),
		cmocka_unit_test(test_wall_backstop),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_log_has_a_limit),
		cmocka_unit_test(test_protect),
		cmocka_unit_test(test_freeze),
		cmocka_unit_test(test_torture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
