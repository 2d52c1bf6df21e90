/* SPDX-License-Identifier: Apache-2.0
 *
 * Ticks: what a script sees of a sample, what its result may be, and what each end is
 * called. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "lua/call/policy.h"
#include "lua/vm/budget.h"

#define POLICY(needs, body)                                                              \
	"return { api = 1, kind = \"qos\", name = \"x\", needs = {" needs                \
	"}, tick = function(ctx, node)\n" body "\nend }"
#define NEEDS                                                                            \
	"\"capacity_milli\", \"besteffort.cpus\", \"workloads\", \"critical_pressure?\", \"supports\""
#define ROW(target, key, value)                                                          \
	"{ target = \"" target "\", key = \"" key "\", value = " value ", why = \"w\" }"
#define RETURN(rows) "return {" rows "}"

/* clang-format off */
static const struct {
	const char *name, *needs, *body;
	enum neap_tick_verdict verdict;
	const char *want; /* "target key value;" of each wish, or a part of the error */
} rows[] = {
	{"nothing", "", "return {}", NEAP_TICK_WISHES, ""},
	{"hold", "", "return ctx.hold", NEAP_TICK_HOLD, ""},
	{"number", "", RETURN(ROW("besteffort", "cpu.max_milli", "1500")), NEAP_TICK_WISHES, "besteffort cpu.max_milli 1500;"},
	{"unlimited", "", RETURN(ROW("besteffort", "cpu.max_milli", "-1")), NEAP_TICK_WISHES, "besteffort cpu.max_milli max;"},
	{"whole float", "", RETURN(ROW("besteffort", "cpu.max_milli", "3000 / 2")), NEAP_TICK_WISHES, "besteffort cpu.max_milli 1500;"},
	{"list text", "", RETURN(ROW("besteffort.pods", "cpuset.cpus", "\"0-1\"")), NEAP_TICK_WISHES, "besteffort.pods cpuset.cpus 0-1;"},
	{"cpu set", NEEDS, RETURN(ROW("besteffort", "cpuset.cpus", "node.besteffort.cpus - ctx.cpuset(\"0\")")), NEAP_TICK_WISHES, "besteffort cpuset.cpus 1-3;"},
	{"workloads", NEEDS, "local w = node.workloads[1] return { { target = w.target, key = \"cpu.shares\", value = w.used_milli, why = w.id .. w.qos } }", NEAP_TICK_WISHES, "workload:web cpu.shares 700;"},
	{"optional", NEEDS, "assert(node.critical_pressure == nil and node.supports[\"cpu.idle\"] and not node.supports[\"cpu.shares\"]) return {}", NEAP_TICK_WISHES, ""},
	{"ctx", "", "assert(ctx.now_unix == 1234 and ctx.policy.name == \"x\" and #ctx.policy.version == 8) return {}", NEAP_TICK_WISHES, ""},
	{"sets", "", "local a, b = ctx.cpuset(\"0-3,70\"), ctx.cpuset(\"2-5\") assert(tostring(a | b) == \"0-5,70\" and tostring(a & b) == \"2-3\" and tostring(a - b) == \"0-1,70\" and #a == 5 and a:has(70) and not a:has(-1) and not a:has(1 << 40) and tostring(a:first(2)) == \"0-1\" and a:list()[5] == 70 and (a - b):is_subset(a) and a + b == b + a and a ~= b and #ctx.cpuset() == 0) return {}", NEAP_TICK_WISHES, ""},
	{"equal sets", "", "local a, b, c, d = ctx.cpuset(\"0-3\"), ctx.cpuset(\"4\"), ctx.cpuset(\"4\"), ctx.cpuset(\"0-3\") assert(a == d and b == c and a ~= b and tostring(a) == \"0-3\" and tostring(b) == \"4\" and rawequal(b, c) and rawequal(ctx.cpuset(), a - d)) return {}", NEAP_TICK_WISHES, ""},
	{"no set", "", "local s, m = ctx.cpuset(\"x\") assert(s == nil and #m > 0) return {}", NEAP_TICK_WISHES, ""},
	{"quantities", "", "assert(ctx.quantity.milli(\"1.5\") == 1500 and ctx.quantity.bytes(\"2Ki\") == 2048 and ctx.quantity.milli(\"q\") == nil) return {}", NEAP_TICK_WISHES, ""},
	{"topology", "\"topology\"", "local t = node.topology local all = t:cpus() assert(t:count() == 8 and #all == 8 and t:pick(all, 3)[2] == 1 and #t:pick(all, 9) == 0 and #t:pick(all, -1) == 0 and tostring(t:pick_set(all, 2)) == \"0-1\" and tostring(t:siblings(3)) == \"2-3\" and #t:siblings(99) == 0 and #t:nodes() == 2 and tostring(t:node_cpus(1)) == \"4-7\" and t:node_cpus(7) == nil and #t:sockets() == 2 and tostring(t:whole_cores(ctx.cpuset(\"0-2\"))) == \"0-1\" and tostring(t:socket_cpus(0)) == \"0-3\") return {}", NEAP_TICK_WISHES, ""},
	{"no trigger", "\"trigger?\"", "assert(node.trigger == nil) return {}", NEAP_TICK_WISHES, ""},
	{"missing", "\"used_milli\"", "return {}", NEAP_TICK_SKIPPED, "node.used_milli is missing"},
	{"missing below", "\"burstable.cpus\"", "return {}", NEAP_TICK_SKIPPED, "node.burstable.cpus"},
	{"missing struct", "\"burstable?\"", "assert(node.burstable == nil) return {}", NEAP_TICK_WISHES, ""},
	{"whole struct", "\"besteffort\"", "assert(node.besteffort.workloads == 2 and node.besteffort.used_milli == nil) return {}", NEAP_TICK_WISHES, ""},
	{"undeclared", "\"capacity_milli\"", "return { node.used_milli }", NEAP_TICK_ERROR, "node.used_milli is not declared: add it to needs"},
	{"no such field", "\"capacity_milli\"", "return { node.capacity }", NEAP_TICK_ERROR, "there is no node.capacity; did you mean 'capacity_milli'?"},
	{"no such field below", "\"besteffort.cpus\"", "return { node.besteffort.max_mili }", NEAP_TICK_ERROR, "there is no node.besteffort.max_mili; did you mean 'max_milli'?"},
	{"no such field of a workload", "\"workloads.id\"", "return node.workloads[1].quality", NEAP_TICK_ERROR, "there is no node.workloads.quality; "},
	{"undeclared below", "\"besteffort.cpus\"", "return { node.besteffort.max_milli }", NEAP_TICK_ERROR, "node.besteffort.max_milli is not declared"},
	{"misspelt below", "\"besteffort\"", "return { node.besteffort.cpu }", NEAP_TICK_ERROR, "besteffort has no field 'cpu'"},
	{"part of workloads", "\"workloads.id\", \"workloads.used_cores\", \"used_milli?\"", "assert(#node.workloads == 2 and node.workloads[1].id == \"web\" and node.workloads[1].used_cores == nil) return {}", NEAP_TICK_WISHES, ""},
	{"undeclared in a workload", "\"workloads.id\"", "return node.workloads[1].qos", NEAP_TICK_ERROR, "node.workloads.qos is not declared: add it to needs"},
	{"misspelt workload", NEEDS, "return { node.workloads[1].used }", NEAP_TICK_ERROR, "workloads has no field 'used'"},
	{"misspelt ctx", "", "return ctx.param", NEAP_TICK_ERROR, "ctx has no field 'param'"},
	{"ctx is read-only", "", "ctx.memo = {}", NEAP_TICK_ERROR, "read-only"},
	{"policy is read-only", "", "ctx.policy.name = \"y\"", NEAP_TICK_ERROR, "read-only"},
	{"raises", "", "error(\"oh no\")", NEAP_TICK_ERROR, "p.lua:2: in function 'tick': oh no"},
	{"nil", "", "", NEAP_TICK_WRONG, "tick returned: a list of writes is wanted ({} gives all back, ctx.hold keeps it), this is a nil"},
	{"one write", "", "return " ROW("a", "cpu.idle", "1"), NEAP_TICK_WRONG, "{ { target = ... }, ... }"},
	{"not a table", "", "return { 5 }", NEAP_TICK_WRONG, "write 1: a table { target ="},
	{"unknown field", "", "return { { traget = 1 } }", NEAP_TICK_WRONG, "write 1: there is no field 'traget'; known: target, key, value, why"},
	{"no target", "", "return { { key = \"cpu.idle\" } }", NEAP_TICK_WRONG, "write 1: target: a text"},
	{"unknown target", "", RETURN(ROW("best-effort", "cpu.idle", "1")), NEAP_TICK_WRONG, "p.lua:1: in function 'tick': tick returned: write 1: target: there is no 'best-effort'; there is besteffort and burstable, each also with .pods or .containers, and workload:ID"},
	{"unknown part", "", RETURN(ROW("besteffort.pod", "cpu.idle", "1")), NEAP_TICK_WRONG, "there is no 'besteffort.pod'"},
	{"no id", "", RETURN(ROW("workload:", "cpu.idle", "1")), NEAP_TICK_WRONG, "there is no 'workload:'"},
	{"a workload that is not there", "", RETURN(ROW("workload:gone", "cpu.idle", "1")), NEAP_TICK_WISHES, "workload:gone cpu.idle 1;"},
	{"twice the same", "", "return { " ROW("besteffort", "cpu.idle", "1") ", " ROW("burstable", "cpu.idle", "1") ", " ROW("besteffort", "cpu.idle", "0") " }", NEAP_TICK_WRONG, "writes 1 and 3 are both about besteffort cpu.idle: one is wanted"},
	{"one row many times", "", "local r = {} for i = 1, 200 do r[i] = " ROW("besteffort", "cpu.idle", "1") " end return r", NEAP_TICK_WRONG, "both about besteffort cpu.idle"},
	{"long why", "", "return { { target = \"besteffort\", key = \"cpu.idle\", value = 1, why = (\"w\"):rep(1001) } }", NEAP_TICK_WRONG, "why: one line that tells the reason, of at most 1000 bytes"},
	{"longest why", "", "return { { target = \"besteffort\", key = \"cpu.idle\", value = 1, why = (\"w\"):rep(1000) } }", NEAP_TICK_WISHES, "besteffort cpu.idle 1;"},
	{"texts that are too much together", "", "local r, why = {}, (\"w\"):rep(999) for i = 1, 600 do r[i] = { target = \"workload:\" .. i, key = \"cpu.idle\", value = 1, why = why } end return r", NEAP_TICK_WRONG, "all texts together have over 524288 bytes"},
	{"cpus as texts that are too much", "", "local r, cpus = {}, (\"0,\"):rep(30000) .. \"1\" for i = 1, 20 do r[i] = { target = \"workload:\" .. i, key = \"cpuset.cpus\", value = cpus, why = \"w\" } end return r", NEAP_TICK_WRONG, "all texts together have over 524288 bytes"},
	{"control character", "", RETURN(ROW("a\\nb", "cpu.idle", "1")), NEAP_TICK_WRONG, "write 1: target"},
	{"no key", "", RETURN(ROW("besteffort", "cpu.idel", "1")), NEAP_TICK_WRONG, "write 1: key: 'cpu.idel' is no key for policies; known: cpu.max_milli"},
	{"not for policies", "", RETURN(ROW("besteffort", "cpuset.mems", "\"0\"")), NEAP_TICK_WRONG, "'cpuset.mems' is no key for policies"},
	{"no value", "", "return { { target = \"besteffort\", key = \"cpu.idle\", why = \"w\" } }", NEAP_TICK_WRONG, "write 1 (besteffort cpu.idle): value: a whole number is wanted, this is a nil"},
	{"out of range", "", RETURN(ROW("besteffort", "cpu.idle", "2")), NEAP_TICK_WRONG, "write 1 (besteffort cpu.idle): "},
	{"fraction", "", RETURN(ROW("besteffort", "cpu.max_milli", "1.5")), NEAP_TICK_WRONG, "1.5 is not a whole number"},
	{"number for a set", "", RETURN(ROW("besteffort", "cpuset.cpus", "3")), NEAP_TICK_WRONG, "a cpu set or a list such as"},
	{"bad list", "", RETURN(ROW("besteffort", "cpuset.cpus", "\"0-x\"")), NEAP_TICK_WRONG, "write 1 (besteffort cpuset.cpus): value: "},
	{"no why", "", "return { { target = \"besteffort\", key = \"cpu.idle\", value = 1 } }", NEAP_TICK_WRONG, "why: one line that tells the reason"},
	{"empty why", "", "return { { target = \"besteffort\", key = \"cpu.idle\", value = 1, why = \"\" } }", NEAP_TICK_WRONG, "why: one line"},
	{"second row", "", "return { " ROW("besteffort", "cpu.idle", "1") ", " ROW("burstable", "cpu.idle", "9") " }", NEAP_TICK_WRONG, "write 2 (burstable cpu.idle)"},
	{"too many", "", "local t = {} for i = 1, 2049 do t[i] = 1 end return t", NEAP_TICK_WRONG, "2049 writes; at most 2048"},
	{"memo function", "", "ctx.memo.f = function() end return {}", NEAP_TICK_WRONG, "ctx.memo holds a function"},
	{"memo set", "", "ctx.memo.s = ctx.cpuset(\"1\") return {}", NEAP_TICK_WRONG, "ctx.memo holds a userdata"},
	{"memo loop", "", "ctx.memo.m = ctx.memo return {}", NEAP_TICK_WRONG, "ctx.memo has more than 8 levels"},
	{"memo size", "", "for i = 1, 3000 do ctx.memo[i] = i end return {}", NEAP_TICK_WRONG, "ctx.memo holds more than 64 KiB"},
	{"hostile result", "", "return setmetatable({}, { __index = function() while true do end end, __len = function() while true do end end })", NEAP_TICK_WISHES, ""},
	{"hostile row", "", "return { setmetatable({}, { __index = function() while true do end end }) }", NEAP_TICK_WRONG, "write 1: target"},
	{"endless", "", "while true do end", NEAP_TICK_BUDGET, "budget"},
	{"memory", "", "local t = {} for i = 1, 1e6 do t[i] = i .. \"\" end", NEAP_TICK_BUDGET, ""},
};
/* clang-format on */

struct machine {
	struct neap_sample sample;
	struct neap_workload workloads[2];
};

static void clear(const struct neap_field *fields, void *base)
{
	for (const struct neap_field *f = fields; f->name; f++) {
		if (f->type == NEAP_FIELD_INT)
			*(int64_t *)((char *)base + f->offset) = NEAP_MISSING;
		if (f->type == NEAP_FIELD_REAL)
			*(double *)(void *)((char *)base + f->offset) = NAN;
		if (f->type == NEAP_FIELD_STRUCT)
			clear(f->fields, (char *)base + f->offset);
	}
}

static void fill(struct machine *m)
{
	static struct neap_processor cpus[8];

	memset(m, 0, sizeof(*m));
	clear(neap_sample_fields, &m->sample);
	for (int i = 0; i < 2; i++)
		clear(neap_workload_fields, &m->workloads[i]);
	for (int i = 0; i < 8; i++)
		cpus[i] = (struct neap_processor){i, i / 2, i / 4, i / 4};
	assert_int_equal(
		neap_topology_new_from_processors(cpus, 8, &m->sample.topology, NULL), 0);
	m->sample.now_unix = 1234;
	m->sample.capacity_milli = 8000;
	m->sample.besteffort.exists = true;
	m->sample.besteffort.workloads = 2;
	neap_cpuset_add_range(&m->sample.besteffort.cpus, 0, 3);
	m->sample.supports = 1u << NEAP_KEY_CPU_IDLE;
	m->sample.workloads = m->workloads;
	m->sample.workload_count = 2;
	(void)neap_strcopy(m->workloads[0].id, sizeof(m->workloads[0].id), "web");
	(void)neap_strcopy(m->workloads[0].target, sizeof(m->workloads[0].target),
			   "workload:web");
	m->workloads[0].qos_name = "LS";
	m->workloads[0].used_milli = 700;
}

static struct neap_policy *load(const char *needs, const char *body)
{
	static char text[16384];
	struct neap_policy *policy = NULL;
	struct neap_error err;

	snprintf(text, sizeof(text), POLICY("%s", "%s"), needs, body);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

static void print(const struct neap_policy_wish *wishes, size_t count, char *buf,
		  size_t size)
{
	size_t len = 0;
	char value[100];

	buf[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		(void)neap_value_print(wishes[i].key, &wishes[i].value, value,
				       sizeof(value));
		len += (size_t)snprintf(buf + len, size - len, "%s %s %s;",
					wishes[i].target,
					neap_key_get(wishes[i].key)->name, value);
		assert_true(wishes[i].why[0] != '\0');
	}
}

/* A virtual machine that has to wait for its host counts that as CPU time of whoever
 * runs, and no budget is larger than such a wait: so is a row tried again that was to
 * come to its end. */
#define TRIES 5

static enum neap_tick_verdict tick_row(const struct machine *m, size_t row, char *got,
				       size_t size, struct neap_error *err)
{
	struct neap_policy *policy = load(rows[row].needs, rows[row].body);
	struct neap_policy_wish *wishes = NULL;
	size_t count = 0;
	enum neap_tick_verdict ret =
		neap_policy_tick(policy, &m->sample, &wishes, &count, err);

	if (ret == NEAP_TICK_WISHES)
		print(wishes, count, got, size);
	free(wishes);
	neap_policy_free(policy);
	return ret;
}

static void test_rows(void **state)
{
	struct machine m;

	(void)state;
	fill(&m);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_error err = {.msg = ""};
		char got[300] = "";
		enum neap_tick_verdict verdict = NEAP_TICK_BUDGET;

		for (int n = 0; n < TRIES && verdict == NEAP_TICK_BUDGET; n++)
			verdict = tick_row(&m, i, got, sizeof(got), &err);
		if (verdict != rows[i].verdict ||
		    (verdict == NEAP_TICK_WISHES ? strcmp(got, rows[i].want) != 0
						 : !strstr(err.msg, rows[i].want)))
			fail_msg("%s: verdict %d, \"%s\", \"%s\"", rows[i].name, verdict,
				 got, err.msg);
	}
	(void)neap_topology_unref(m.sample.topology);
}

/* Memo lives from call to call and starts anew after a fault; a dead state stays dead. */
static void test_memo(void **state)
{
	struct neap_policy *policy = load(
		"",
		"local m = ctx.memo m.n = (m.n or 0) + 1\n"
		"if m.n == 3 then error(\"three\") end\n"
		"return { { target = \"besteffort\", key = \"cpu.shares\", value = m.n + 10, why = \"w\" } }");
	static const int64_t want[] = {11, 12, 0, 11, 12, 0};
	struct neap_policy_wish *wishes;
	struct neap_error err;
	struct machine m;
	size_t count;

	(void)state;
	fill(&m);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(want); i++) {
		enum neap_tick_verdict verdict =
			neap_policy_tick(policy, &m.sample, &wishes, &count, &err);

		assert_int_equal(verdict, want[i] ? NEAP_TICK_WISHES : NEAP_TICK_ERROR);
		if (!want[i])
			continue;
		assert_int_equal(wishes[0].value.number, want[i]);
		free(wishes);
	}
	neap_policy_free(policy);

	policy = load("", "while true do pcall(function() while true do end end) end");
	assert_int_equal(neap_policy_tick(policy, &m.sample, &wishes, &count, &err),
			 NEAP_TICK_BUDGET);
	assert_int_equal(neap_policy_tick(policy, &m.sample, &wishes, &count, &err),
			 NEAP_TICK_BUDGET);
	neap_policy_free(policy);
	(void)neap_topology_unref(m.sample.topology);
}

static void keep_line(void *arg, const char *text)
{
	int *lines = arg;

	assert_string_equal(text, "hello");
	++*lines;
}

static void test_log(void **state)
{
	struct neap_policy *policy =
		load("", "for _ = 1, 50 do ctx.log(\"hello\") end return {}");
	struct neap_policy_wish *wishes;
	struct neap_error err;
	struct machine m;
	size_t count;
	int lines = 0;

	(void)state;
	fill(&m);
	neap_vm_set_log(neap_policy_vm(policy), keep_line, &lines);
	assert_int_equal(neap_policy_tick(policy, &m.sample, &wishes, &count, &err),
			 NEAP_TICK_WISHES);
	assert_int_equal(lines, 10);
	free(wishes);
	neap_policy_free(policy);
	(void)neap_topology_unref(m.sample.topology);
}

/* A policy around one row of examples; a format for snprintf. */
static const char example_text[] =
	"return { api = 1, kind = \"qos\", name = \"x\",\n"
	"needs = { \"capacity_milli\", \"besteffort.cpus?\", \"workloads\", \"topology?\" },\n"
	"params = { p = { type = \"percent\", default = 50, doc = \"d\" } },\n"
	"tick = function(ctx, node) ctx.memo.n = (ctx.memo.n or 0) + 1\n"
	"if node.capacity_milli == 0 then return ctx.hold end\n"
	"return { { target = \"besteffort\", key = \"cpu.max_milli\", why = \"now \" .. ctx.now_unix - 1700000000,\n"
	"value = node.capacity_milli * ctx.params.p // 100 + ctx.memo.n } } end,\n"
	"examples = { ";
#define WANT(n)                                                                          \
	"want = { { target = \"besteffort\", key = \"cpu.max_milli\", value = " n " } }"

/* clang-format off */
static const struct {
	const char *row, *want; /* part of the error, NULL: passes */
} examples[] = {
	{"{ name = \"a\", node = { capacity_milli = 1000 }, " WANT("501") " }", NULL},
	{"{ name = \"a\", node = { capacity_milli = 1000 }, params = { p = 10 }, " WANT("101") " }", NULL},
	{"{ name = \"a\", node = { capacity_milli = 0 }, want = \"hold\" }", NULL},
	{"{ name = \"a\", want = \"skip\" }", NULL},
	{"{ name = \"a\", node = { capacity_milli = 1000 }, steps = { { " WANT("501") " }, { node = { capacity_milli = 2000 }, " WANT("1002") " }, { after_s = 5, want = { { target = \"besteffort\", key = \"cpu.max_milli\", value = 503, why = \"now 5\" } } } } }", NULL},
	{"{ name = \"a\", node = { capacity_milli = 1000, besteffort = { cpus = \"0-3\" }, topology = { sockets = 2, cores = 2 }, workloads = { { id = \"x\" } } }, " WANT("501") " }", NULL},
	{"{ name = \"a\", node = { capacity_milli = 1000 }, " WANT("502") " }", "p.lua:8: example 'a': wanted besteffort cpu.max_milli=502; got besteffort cpu.max_milli=501"},
	{"{ name = \"a\", node = { capacity_milli = 1000 }, want = {} }", "wanted nothing more; got besteffort cpu.max_milli=501"},
	{"{ name = \"a\", node = { capacity_milli = 1000 }, want = \"hold\" }", "wanted hold; got a list of writes"},
	{"{ name = \"a\", want = {} }", "wanted a list of writes; got skip, skipped: node.capacity_milli is missing"},
	{"{ name = \"a\", node = { capacity_milli = 1000 }, steps = { { " WANT("501") " }, { " WANT("501") " } } }", "step 2: wanted besteffort cpu.max_milli=501; got besteffort cpu.max_milli=502"},
	{"{ name = \"a\", node = { capacity = 1000 }, want = {} }", "node: there is no field 'capacity'; did you mean 'capacity_milli'?"},
	{"{ name = \"a\", node = { capacity_milli = \"x\" }, want = {} }", "node: field 'capacity_milli': a number is wanted"},
	{"{ name = \"a\", node = { capacity_milli = 1.5 }, want = {} }", "a whole number"},
	{"{ name = \"a\", node = { besteffort = { cpus = 3 } }, want = {} }", "node: besteffort: field 'cpus': a CPU list"},
	{"{ name = \"a\", node = { workloads = { { id = 3 } } }, want = {} }", "workloads[1]: field 'id'"},
	{"{ name = \"a\", node = { topology = { cores = 1e9 } }, want = {} }", "a topology is a list"},
	{"{ name = \"a\", node = { topology = { cores = 1 << 40, threads = 1 << 40 } }, want = {} }", "a topology is a list"},
	{"{ name = \"a\", params = { q = 1 }, want = {} }", "there is no parameter 'q'; known: p"},
	{"{ name = \"a\", params = { p = 101 }, want = {} }", "parameter 'p': '101' is not allowed"},
	{"{ name = \"a\", want = \"nothing\" }", "want: a list of writes, \"hold\" or \"skip\""},
	{"{ name = \"a\", node = { capacity_milli = 1000 }, want = { { target = \"besteffort\" } } }", "want: write 1: key"},
	{"{ name = \"a\", wnat = {} }", "there is no field 'wnat' here"},
	{"{ name = \"a\" }", "want is missing"},
	{"{ want = {} }", "a name is wanted"},
	{"{ name = \"a\\0b\", want = {} }", "a name is wanted"},
	{"{ name = \"a\", steps = {} }", "steps: a list"},
	{"{ name = \"a\", steps = { { after_s = -1, want = {} } } }", "step 1: after_s"},
};
/* clang-format on */

static void keep_err(void *arg, const char *row, const struct neap_error *err)
{
	(void)row;
	if (err)
		*(struct neap_error *)arg = *err;
}

static void test_examples(void **state)
{
	static char text[8192];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(examples); i++) {
		struct neap_policy *policy = NULL;
		struct neap_error err = {.msg = ""}, row_err = {.msg = ""};
		json_t *params;
		int rc;

		snprintf(text, sizeof(text), "%s%s } }", example_text, examples[i].row);
		rc = neap_policy_load(text, strlen(text), "p.lua", &policy, &err);
		if (rc < 0)
			fail_msg("%s: %s", examples[i].row, err.msg);
		rc = neap_policy_run_examples(policy, keep_err, &row_err, &err);
		if (rc != (examples[i].want ? 1 : 0) ||
		    (examples[i].want && !strstr(row_err.msg, examples[i].want)))
			fail_msg("%s: rc %d \"%s\"", examples[i].row, rc, row_err.msg);
		params = neap_policy_params(policy);
		assert_int_equal(json_integer_value(json_object_get(params, "p")), 50);
		json_decref(params);
		neap_policy_free(policy);
	}
}

/* A cycle: calls are charged, and none is begun with less than a call's budget left. */
static void test_within(void **state)
{
	struct neap_policy *policy = load("", "for i = 1, 30000 do end return {}");
	struct neap_policy *idle = load("\"used_milli\"", "return {}");
	int64_t call = neap_kind_find("qos")->call_budget_usec;
	int64_t left = neap_budget_scale(neap_kind_find("qos")->cycle_budget_usec);
	int64_t before = left;
	struct neap_policy_wish *wishes;
	struct neap_error err;
	struct machine m;
	size_t count;
	int calls = 0;

	(void)state;
	fill(&m);
	assert_true(left >= 4 * call);
	left = before = left / 4 + call;
	while (left >= before - left / 8 && calls < 1000) {
		assert_int_equal(neap_policy_tick_within(policy, &m.sample, &left,
							 &wishes, &count, &err),
				 NEAP_TICK_WISHES);
		free(wishes);
		calls++;
	}
	assert_in_range(calls, 1, 999);
	left = 1;
	assert_int_equal(
		neap_policy_tick_within(policy, &m.sample, &left, &wishes, &count, &err),
		NEAP_TICK_PUT_OFF);
	assert_int_equal(left, 1);
	assert_non_null(strstr(err.msg, "put off"));
	assert_int_equal(
		neap_policy_tick_within(idle, &m.sample, &left, &wishes, &count, &err),
		NEAP_TICK_SKIPPED);
	neap_policy_free(policy);
	neap_policy_free(idle);
	(void)neap_topology_unref(m.sample.topology);
}

/* Hours of examples, each well within its own budget. */
static void test_upload_budget(void **state)
{
	static const char text[] =
		"local steps, rows = {}, {}\n"
		"for i = 1, 1000 do steps[i] = { want = {} } end\n"
		"for i = 1, 1000 do rows[i] = { name = 'row ' .. i, steps = steps } end\n"
		"return { api = 1, kind = 'qos', name = 'x', examples = rows,\n"
		"tick = function() for i = 1, 3000 do end return {} end }";
	bool is_used_up = false;

	(void)state;
	for (int n = 0; n < TRIES && !is_used_up; n++) {
		struct neap_policy *policy = NULL;
		struct neap_error err, row_err = {.msg = ""};

		assert_int_equal(
			neap_policy_load(text, strlen(text), "p.lua", &policy, &err), 0);
		assert_int_equal(
			neap_policy_run_examples(policy, keep_err, &row_err, &err), 1);
		assert_non_null(strstr(row_err.msg, "step "));
		is_used_up = strstr(row_err.msg,
				    "the CPU time of an upload is used up, 2 s for "
				    "loading, examples and replay together") != NULL;
		assert_int_equal(row_err.code, NEAP_EBUDGET);
		assert_false(neap_vm_is_dead(neap_policy_vm(policy)));
		neap_policy_free(policy);
	}
	assert_true(is_used_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),          cmocka_unit_test(test_memo),
		cmocka_unit_test(test_log),           cmocka_unit_test(test_within),
		cmocka_unit_test(test_upload_budget), cmocka_unit_test(test_examples),
	};

	return cmocka_run_group_tests_name("qos", tests, NULL, NULL);
}
