/* SPDX-License-Identifier: Apache-2.0
 *
 * P13: what a budget costs while it is not spent, and how far a runaway script overruns it. Rows
 * "P13<TAB>what<TAB>value<TAB>goal<TAB>met|missed"; "-" where there is no goal. The limit and
 * ours alternate, medians of ROUNDS. Times are CPU time of this thread. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lua/vm.h"

#define ROUNDS      11
#define CALLS       500000
#define BUDGET_USEC 100000
#define MEMORY      ((size_t)4 << 20)

static double now_nsec(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return values[count / 2];
}

static void die(const char *what)
{
	(void)fprintf(stderr, "bench_vm: %s\n", what);
	exit(1);
}

static struct neap_vm *new_vm(const char *text)
{
	struct neap_vm *vm = NULL;
	struct neap_error err = {0};

	if (neap_vm_new(MEMORY, &vm, &err) < 0 ||
	    neap_vm_load(vm, text, strlen(text), "bench", &err) < 0)
		die(err.msg);
	return vm;
}

static lua_State *new_bare(const char *text)
{
	lua_State *L = luaL_newstate();

	if (!L || luaL_loadstring(L, text) != LUA_OK)
		die("no bare state");
	return L;
}

/* The limit's own call. */
static void call_bare(lua_State *L, int args, int results)
{
	int rc;

	rc = lua_pcallk(L, args, results, 0, 0, 0); /* lint: allow lua_pcallk, limit */
	if (rc != LUA_OK)
		die("the bare call failed");
}

static void call_ours(struct neap_vm *vm, int args, int results)
{
	struct neap_error err = {0};

	if (neap_vm_call(vm, args, results, 10000000, &err) < 0)
		die(err.msg);
}

static void bench_calls(void)
{
	static const char text[] = "return function(a) return a + 1 end";
	struct neap_vm *vm = new_vm(text);
	lua_State *bare = new_bare(text), *L = neap_vm_state(vm);
	double plain[ROUNDS], ours[ROUNDS], limit, value;
	int round, i;

	call_bare(bare, 0, 1);
	call_ours(vm, 0, 1);
	for (round = 0; round < ROUNDS; round++) {
		double start = now_nsec();

		for (i = 0; i < CALLS; i++) {
			lua_pushvalue(bare, 1);
			lua_pushinteger(bare, i);
			call_bare(bare, 1, 1);
			lua_pop(bare, 1);
		}
		plain[round] = (now_nsec() - start) / CALLS;
		start = now_nsec();
		for (i = 0; i < CALLS; i++) {
			lua_pushvalue(L, 1);
			lua_pushinteger(L, i);
			call_ours(vm, 1, 1);
			lua_pop(L, 1);
		}
		ours[round] = (now_nsec() - start) / CALLS;
	}
	limit = median(plain, ROUNDS);
	value = median(ours, ROUNDS);
	(void)printf(
		"P13\tns per call, protected call in a bare state (limit)\t%.1f\t-\t-\n",
		limit);
	(void)printf("P13\tns per call, neap_vm_call with budget\t%.1f\t-\t-\n", value);
	lua_close(bare);
	neap_vm_free(vm);
}

static void bench_loop(void)
{
	static const char text[] = "return function()\n"
				   "  local x = 0\n"
				   "  for i = 1, 20000000 do x = x + i % 7 end\n"
				   "  return x\n"
				   "end";
	struct neap_vm *vm = new_vm(text);
	lua_State *bare = new_bare(text), *L = neap_vm_state(vm);
	double plain[ROUNDS] = {0}, ours[ROUNDS] = {0}, ratios[ROUNDS], ratio;
	int round;

	call_bare(bare, 0, 1);
	call_ours(vm, 0, 1);
	for (round = 0; round < ROUNDS; round++) {
		int half;

		for (half = 0; half < 2;
		     half++) { /* the order changes from round to round */
			double start = now_nsec();

			if ((round + half) % 2 == 0) {
				lua_pushvalue(bare, 1);
				call_bare(bare, 0, 0);
				plain[round] = now_nsec() - start;
			} else {
				lua_pushvalue(L, 1);
				call_ours(vm, 0, 0);
				ours[round] = now_nsec() - start;
			}
		}
		ratios[round] = ours[round] / plain[round];
	}
	(void)printf("P13\tms for a loop of 20 M, no budget (limit)\t%.1f\t-\t-\n",
		     median(plain, ROUNDS) / 1e6);
	(void)printf("P13\tms for a loop of 20 M, with budget\t%.1f\t-\t-\n",
		     median(ours, ROUNDS) / 1e6);
	ratio = median(ratios, ROUNDS);
	(void)printf("P13\tcost of a budget that is not spent, ratio\t%.3f\t1.02\t%s\n",
		     ratio, ratio <= 1.02 ? "met" : "missed");
	lua_close(bare);
	neap_vm_free(vm);
}

static const struct runaway {
	const char *name, *text;
} runaways[] = {
	{"endless loop", "while true do end"},
	{"pcall loop", "while true do pcall(function() while true do end end) end"},
	{"pattern bomb", "local s = ('a'):rep(60000)\n"
			 "while true do pcall(s.find, s, '.-.-.-b') end"},
	{"string.rep bomb", "while true do pcall(function()\n"
			    "  local t = {}\n"
			    "  for i = 1, 1e9 do t[i] = ('x' .. i):rep(8000) end\n"
			    "end) end"},
	{"table growth", "while true do pcall(function()\n"
			 "  local t = {}\n"
			 "  for i = 1, 1e9 do t[i] = { i } end\n"
			 "end) end"},
	{"sort and pairs", "local t = {}\n"
			   "for i = 1, 5000 do t['k' .. i] = i end\n"
			   "while true do local u = {}\n"
			   "  for k in pairs(t) do u[#u + 1] = k end table.sort(u)\n"
			   "end"},
};

static void bench_overrun(const struct runaway *row)
{
	double factors[ROUNDS], worst, factor;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		struct neap_vm *vm = new_vm(row->text);
		struct neap_error err = {0};
		double start = now_nsec();

		if (neap_vm_call(vm, 0, 0, BUDGET_USEC, &err) != -NEAP_EBUDGET)
			die(err.msg);
		factors[round] = (now_nsec() - start) / (BUDGET_USEC * 1e3);
		neap_vm_free(vm);
	}
	factor = median(factors, ROUNDS);
	worst = factors[ROUNDS - 1];
	(void)printf("P13\toverrun factor, %s\t%.3f\t1.2\t%s\n", row->name, factor,
		     factor <= 1.2 ? "met" : "missed");
	(void)printf("P13\toverrun factor, %s, worst of %d\t%.3f\t-\t-\n", row->name,
		     ROUNDS, worst);
}

int main(void)
{
	size_t i;

	bench_calls();
	bench_loop();
	for (i = 0; i < NEAP_ARRAY_LEN(runaways); i++)
		bench_overrun(&runaways[i]);
	return 0;
}
