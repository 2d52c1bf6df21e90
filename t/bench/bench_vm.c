/* SPDX-License-Identifier: Apache-2.0
 *
 * P13: what a budget costs while it is not spent, and how far a runaway script overruns
 * it. Rows "P13<TAB>what<TAB>value<TAB>goal<TAB>met|missed"; "-" where there is no goal.
 * Times are CPU time of this thread, which stays on one CPU.
 *
 * The unspent budget: the same function in the same state, called with and without, PAIRS
 * times in turn, median of the paired ratios; the timer of a call has stopped before the
 * next is measured. Runaways: each in a fresh policy, every second one right after
 * another call, when its start on the clock is not known. Last, the longest steps that
 * nothing interrupts (t/lib/steps). An argument picks one runaway by name, or all
 * `steps`. */
#include <lauxlib.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lua/call/policy.h"
#include "lua/call/policy_priv.h"
#include "lua/vm/budget.h"
#include "t/lib/steps.h"

#define ROUNDS         11
#define CALLS          500000
#define PAIRS          301
#define RUNS           21
#define GOAL           1.2
#define GOAL_OF_IDLE   1.02
#define STEP_GOAL_MSEC 50
#define MEMORY         ((size_t)4 << 20)

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

/* Until the timer of the call before has stopped. */
static void wait_for_silence(void)
{
	const struct timespec while_it_ticks = {0, 200000};

	while (neap_budget_is_ticking())
		(void)nanosleep(&while_it_ticks, NULL); /* a tick ends it early */
}

/* CPU time of one call with `steps`; without a budget when budget_usec is 0. Negative:
 * the machine had become so slow that the budget was spent; the state is dead then. */
static double time_loop(struct neap_vm *vm, int64_t steps, int64_t budget_usec)
{
	lua_State *L = neap_vm_state(vm);
	struct neap_error err = {0};
	double start;

	lua_pushvalue(L, 1);
	lua_pushinteger(L, steps);
	wait_for_silence();
	start = now_nsec();
	if (budget_usec == 0)
		call_bare(L, 1, 0);
	else if (neap_vm_call(vm, 1, 0, budget_usec, &err) < 0)
		return -1;
	return now_nsec() - start;
}

static struct neap_vm *new_loop(const char *text)
{
	struct neap_vm *vm = new_vm(text);

	call_bare(neap_vm_state(vm), 0, 1);
	return vm;
}

static void bench_unspent(const char *name, const char *text, int64_t budget_usec)
{
	struct neap_vm *vm = new_loop(text);
	double ratios[PAIRS], ratio;
	int64_t steps = 20000;
	int i;

	/* A third of the budget, so that a slow moment hardly spends it. */
	while (time_loop(vm, steps, 0) < (double)budget_usec * 1e3 / 3)
		steps += steps / 4;
	neap_vm_free(vm);
	vm = new_loop(text);
	for (i = 0; i < PAIRS; i++) {
		double plain = 0, ours = 0;
		int half;

		for (half = 0; half < 2; half++) { /* the order changes */
			if ((i + half) % 2 == 0)
				plain = time_loop(vm, steps, 0);
			else
				ours = time_loop(vm, steps, budget_usec);
		}
		ratios[i] = ours / plain;
		if (ours < 0) { /* another pair in its place */
			neap_vm_free(vm);
			vm = new_loop(text);
			i--;
		}
	}
	ratio = median(ratios, PAIRS);
	(void)printf("P13\tcost of an unspent budget of %lld ms, %s\t%.3f\t%.2f\t%s\n",
		     (long long)budget_usec / 1000, name, ratio, GOAL_OF_IDLE,
		     ratio <= GOAL_OF_IDLE ? "met" : "missed");
	(void)printf("P13\t  quartiles of %d pairs\t%.3f-%.3f\t-\t-\n", PAIRS,
		     ratios[PAIRS / 4], ratios[PAIRS * 3 / 4]);
	neap_vm_free(vm);
}

/* Bodies of tick(ctx); none ends by itself. */
static const struct runaway {
	const char *name, *text;
} runaways[] = {
	{"endless loop", "while true do end"},
	{"recursion", "local function f() return 1 + f() end while true do pcall(f) end"},
	{"pcall loop", "while true do pcall(function() while true do end end) end"},
	{"xpcall with a looping handler",
	 "local function f() while true do end end\n"
	 "while true do xpcall(error, f) xpcall(f, f) end"},
	{"pattern bomb", "local s = ('a'):rep(60000)\n"
			 "while true do pcall(s.find, s, '.-.-.-b') end"},
	{"gsub callback", "local s = ('a'):rep(60000)\n"
			  "while true do\n"
			  "  pcall(s.gsub, s, 'a', function(c) return c .. c end)\n"
			  "end"},
	{"string.rep bomb", "while true do pcall(function()\n"
			    "  local t = {}\n"
			    "  for i = 1, 1e9 do t[i] = ('x' .. i):rep(8000) end\n"
			    "end) end"},
	{"string.format", "local s = ('%5.99f'):rep(200)\n"
			  "local t = {} for i = 1, 200 do t[i] = 1e300 end\n"
			  "while true do pcall(string.format, s, table.unpack(t)) end"},
	{"table growth", "while true do pcall(function()\n"
			 "  local t = {}\n"
			 "  for i = 1, 1e9 do t[i] = { i } end\n"
			 "end) end"},
	{"growth of a flat list", "while true do pcall(function()\n"
				  "  local t = {}\n"
				  "  for i = 1, 1e9 do t[i] = i end\n"
				  "end) end"},
	{"garbage in a full state", "local t = {}\n"
				    "for i = 1, 25000 do t[i] = { i } end\n"
				    "while true do local a = { {}, {} } end"},
	{"sort and pairs", "local t = {}\n"
			   "for i = 1, 4000 do t['k' .. i] = i end\n"
			   "while true do local u = {}\n"
			   "  for k in pairs(t) do u[#u + 1] = k end table.sort(u)\n"
			   "end"},
	{"sort with a looping comparison",
	 "while true do\n"
	 "  pcall(table.sort, { 2, 1, 3 }, function() while true do end end)\n"
	 "end"},
	{"table.concat", "local t = {} for i = 1, 30000 do t[i] = 'ab' end\n"
			 "while true do local s = table.concat(t) end"},
	{"long concatenation", "while true do pcall(function()\n"
			       "  local s = 'x' while true do s = s .. s end\n"
			       "end) end"},
	{"long texts as keys", "local s = ('x'):rep(60000) s = s:rep(1) .. s\n"
			       "s = s .. s\n"
			       "local t = {}\n"
			       "while true do t[s .. 'y'] = nil end"},
	{"long texts as bounds",
	 "local s = (' '):rep(60000) s = s .. s\n"
	 "s = s .. s\n"
	 "while true do pcall(function() for i = 1, s do end end) end"},
	{"unpack and pack", "local t = {} for i = 1, 8000 do t[i] = i end\n"
			    "while true do table.pack(table.unpack(t)) end"},
	{"tostring metamethod", "local t = setmetatable({},\n"
				"  { __tostring = function() while true do end end })\n"
				"while true do pcall(tostring, t) end"},
	{"index metamethod", "local t = setmetatable({},\n"
			     "  { __index = function(t, k) return t[k + 1] end })\n"
			     "while true do pcall(function() return t[1] end) end"},
	{"ctx.cpuset", "while true do\n"
		       "  local a = ctx.cpuset('0-1023') - ctx.cpuset('5')\n"
		       "  local s = tostring(a) for _, c in ipairs(a:list()) do end\n"
		       "end"},
	{"ctx.selector", "local keys = {} for i = 1, 50 do keys['k' .. i] = 'v' end\n"
			 "while true do\n"
			 "  ctx.selector({ matchLabels = keys }):matches(keys)\n"
			 "end"},
	{"ctx.time", "while true do\n"
		     "  pcall(ctx.time.next, '22:00', 'UTC')\n"
		     "  pcall(ctx.time.is_between, '22:00', '6:00', 'Europe/Berlin')\n"
		     "end"},
	{"ctx.quantity, ctx.log, ctx.memo",
	 "while true do\n"
	 "  ctx.log('x') ctx.memo.x = ctx.quantity.milli('1500m')\n"
	 "  pcall(ctx.quantity.bytes, ('9'):rep(1000))\n"
	 "end"},
};

/* CPU time of the call in budgets. */
static double overrun(const struct runaway *row, int64_t budget_usec,
		      struct neap_vm *other)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	char text[1024];
	lua_State *L;
	double start;
	int len, rc;

	len = snprintf(text, sizeof(text),
		       "return { api = 1, kind = 'qos', name = 'bench',\n"
		       "tick = function(ctx) %s end }",
		       row->text);
	if (len < 0 || (size_t)len >= sizeof(text) ||
	    neap_policy_load(text, (size_t)len, "bench", &policy, &err) < 0)
		die(err.msg);
	L = neap_vm_state(neap_policy_vm(policy));
	neap_policy_push(L, policy, NEAP_REF_TICK);
	neap_policy_push(L, policy, NEAP_REF_CTX);
	wait_for_silence();
	if (other) {
		lua_pushvalue(neap_vm_state(other), 1);
		lua_pushinteger(neap_vm_state(other), 1);
		(void)neap_vm_call(other, 1, 0, budget_usec,
				   &err); /* only comes before */
	}
	start = now_nsec();
	rc = neap_vm_call(neap_policy_vm(policy), 1, 0, budget_usec, &err);
	start = now_nsec() - start;
	if (rc != -NEAP_EBUDGET)
		die(rc < 0 ? err.msg : "the runaway ended by itself");
	neap_policy_free(policy);
	return start / ((double)budget_usec * 1e3);
}

static void bench_overrun(const struct runaway *row, int64_t budget_usec,
			  struct neap_vm *other)
{
	double factors[RUNS], worst, factor;
	int i;

	for (i = 0; i < RUNS; i++)
		factors[i] = overrun(row, budget_usec, i % 2 ? other : NULL);
	factor = median(factors, RUNS);
	worst = factors[RUNS - 1];
	(void)printf("P13\t%s, %lld ms: median, worst of %d\t%.3f %.3f\t%.1f\t%s\n",
		     row->name, (long long)budget_usec / 1000, RUNS, factor, worst, GOAL,
		     factor > GOAL  ? "missed"
		     : worst > GOAL ? "met at the median"
				    : "met");
	(void)fflush(stdout); /* a row is seen as soon as it is there */
}

/* The long form takes some minutes. */
static void bench_steps(bool is_long)
{
	struct steps steps;

	steps_run(1, is_long, &steps);
	for (int i = 0; i < STEPS_LONGEST; i++)
		(void)printf("P13\tlongest step beyond a budget, ms, of %d: %.60s\t%.1f\t"
			     "%d\t%s\n",
			     steps.runs, steps.longest[i].name,
			     (double)steps.longest[i].usec / 1e3, STEP_GOAL_MSEC,
			     steps.longest[i].usec <= STEP_GOAL_MSEC * 1000 ? "met"
									    : "missed");
}

/* Moving between CPUs changes times by more than a budget costs. */
static void stay_on_this_cpu(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	if (cpu < 0)
		return;
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set); /* noisier without */
}

int main(int argc, char **argv)
{
	static const char sum[] = "return function(n)\n"
				  "  local x = 0\n"
				  "  for i = 1, n or 0 do x = x + i % 7 end\n"
				  "end";
	static const char calls[] = "local function f(a) return a + 1 end\n"
				    "return function(n)\n"
				    "  local x = 0\n"
				    "  for i = 1, n or 0 do x = f(x) end\n"
				    "end";
	static const int64_t budgets_usec[] = {5000, 100000};
	struct neap_vm *other = new_loop(sum);
	size_t i, j;

	stay_on_this_cpu();
	for (i = 0; i < NEAP_ARRAY_LEN(budgets_usec) && argc < 2; i++) {
		if (i == 0)
			bench_calls();
		bench_unspent("a loop", sum, budgets_usec[i]);
		bench_unspent("calls", calls, budgets_usec[i]);
	}
	for (i = 0; i < NEAP_ARRAY_LEN(runaways); i++) {
		if (argc > 1 && strcmp(argv[1], runaways[i].name) != 0)
			continue;
		for (j = 0; j < NEAP_ARRAY_LEN(budgets_usec); j++)
			bench_overrun(&runaways[i], budgets_usec[j], other);
	}
	if (argc < 2 || strcmp(argv[1], "steps") == 0)
		bench_steps(argc > 1);
	neap_vm_free(other);
	return 0;
}
