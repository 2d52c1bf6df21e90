/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/steps.h"

#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lua/call/policy.h"
#include "lua/call/policy_priv.h"
#include "lua/vm/budget.h"
#include "lua/vm/sandbox.h"
#include "t/lib/steps_rows.h"

#define TEXT_MAX      (256 * 1024)
#define BUDGET_USEC   1000
#define ALARM_SECONDS 120
/* One in so many is taken, in the short form and in the long one. */
enum form { SHORT, LONG };
static const unsigned pairs_one_in[] = {160, 4};
static const unsigned texts_one_in[] = {3, 1}; /* that have 100 ms */
static const unsigned events_one_in[] = {2000, 40};

static char running[160];

struct corpus {
	unsigned seed;
	enum form form;
	struct steps *steps;
	char text[TEXT_MAX + 4096];
};

static unsigned next_number(struct corpus *corpus)
{
	corpus->seed = corpus->seed * 1103515245u + 12345u;
	return corpus->seed >> 16;
}

static void on_alarm(int sig)
{
	(void)sig;
	(void)!write(2, running, strlen(running));
	(void)!write(2, ": does not end\n", 15);
	_exit(1);
}

static int64_t now_usec(void)
{
	return neap_budget_clock_usec();
}

void steps_note(struct steps *steps, const char *name, int64_t usec)
{
	int i = STEPS_LONGEST - 1;

	steps->runs++;
	if (usec <= steps->longest[i].usec)
		return;
	for (; i > 0 && steps->longest[i - 1].usec < usec; i--)
		steps->longest[i] = steps->longest[i - 1];
	(void)snprintf(steps->longest[i].name, sizeof(steps->longest[i].name), "%s",
		       name);
	steps->longest[i].usec = usec;
}

void steps_begin(const char *name)
{
	(void)signal(SIGALRM, on_alarm);
	if (name && name != running)
		(void)snprintf(running, sizeof(running), "%s", name);
	(void)alarm(name ? ALARM_SECONDS : 0);
}

static void note(struct corpus *corpus, int64_t usec)
{
	steps_note(corpus->steps, running, usec);
}

static void begin(const char *form, const char *what, const char *a, const char *b)
{
	(void)snprintf(running, sizeof(running), "%s %.90s %s %s", form, what, a, b);
	steps_begin(running);
}

/* A policy of which the text is all but the wrapping; NULL when it does not load, which
 * is an end like any other. */
static struct neap_policy *load(struct corpus *corpus, const char *before,
				const char *body, const char *after)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	int64_t start;
	int len = snprintf(corpus->text, sizeof(corpus->text),
			   "%s return { api = 1, kind = 'qos', name = 'x', tick = "
			   "function(ctx, node) %s end %s }",
			   before, body, after);

	start = now_usec();
	(void)neap_policy_load(corpus->text, (size_t)len, "x", &policy, &err);
	/* Compiling and running have 100 ms each. */
	note(corpus, now_usec() - start - neap_budget_scale(200000));
	return policy;
}

/* Calls tick under the small budget. */
static void call(struct corpus *corpus, struct neap_policy *policy)
{
	struct neap_error err = {0};
	lua_State *L;
	int64_t start;

	if (!policy)
		return;
	L = neap_vm_state(neap_policy_vm(policy));
	neap_policy_push(L, policy, NEAP_REF_TICK);
	neap_policy_push(L, policy, NEAP_REF_CTX);
	start = now_usec();
	(void)neap_vm_call(neap_policy_vm(policy), 1, 0, BUDGET_USEC, &err);
	note(corpus, now_usec() - start - neap_budget_scale(BUDGET_USEC));
	start = now_usec();
	neap_policy_free(policy); /* on the loop, too */
	note(corpus, now_usec() - start);
}

/* CODE is an expression of a, b and o: o has a metatable of one event. */
static void run_pair(struct corpus *corpus, const char *form, const char *code,
		     const struct steps_value *a, const struct steps_value *b,
		     const char *meta)
{
	char before[4096], body[512];

	begin(form, code, a->name, b->name);
	(void)snprintf(before, sizeof(before),
		       "local a = (function() %s end)() local b = (function() %s end)() "
		       "local o = %s ",
		       a->text, b->text, meta);
	(void)snprintf(
		body, sizeof(body),
		"local a, b, o, r = a, b, o while true do pcall(function() %s end) "
		"end",
		code);
	call(corpus, load(corpus, before, body, ""));
}

static bool is_chosen(struct corpus *corpus, const unsigned *one_in)
{
	return next_number(corpus) % one_in[corpus->form] == 0;
}

static void run_functions(struct corpus *corpus)
{
	const char *const *names = neap_sandbox_names();
	size_t count = steps_name_count(names);
	char code[200];

	for (size_t i = 0; i < count || steps_more[i - count]; i++) {
		const char *name = i < count ? names[i] : steps_more[i - count];

		for (size_t j = 0; j < steps_value_count; j++)
			for (size_t k = 0; k < steps_value_count; k++) {
				const char *third = steps_thirds[next_number(corpus) %
								 steps_third_count];

				if (!is_chosen(corpus, pairs_one_in))
					continue;
				(void)snprintf(code, sizeof(code), "%s(a, b%s)", name,
					       third);
				run_pair(corpus, "function", code, &steps_values[j],
					 &steps_values[k], "nil");
			}
	}
}

static void run_operators(struct corpus *corpus)
{
	for (size_t i = 0; i < steps_operator_count; i++)
		for (size_t j = 0; j < steps_value_count; j++)
			for (size_t k = 0; k < steps_value_count; k++)
				if (is_chosen(corpus, pairs_one_in))
					run_pair(corpus, "operator", steps_operators[i],
						 &steps_values[j], &steps_values[k],
						 "nil");
}

static void run_events(struct corpus *corpus)
{
	size_t all = steps_event_count * steps_handler_count * steps_value_count *
		     steps_use_count;
	unsigned one_in = events_one_in[corpus->form];
	char meta[160];

	for (size_t n = next_number(corpus) % one_in; n < all;
	     n += 1 + next_number(corpus) % (2 * one_in)) {
		size_t rest = n;
		const char *use = steps_uses[rest % steps_use_count];
		const struct steps_value *value;
		const char *event;

		rest /= steps_use_count;
		value = &steps_values[rest % steps_value_count];
		rest /= steps_value_count;
		event = steps_events[rest % steps_event_count];
		rest /= steps_event_count;
		(void)snprintf(meta, sizeof(meta), "setmetatable({}, { %s = %s })", event,
			       steps_handlers[rest]);
		run_pair(corpus, event, use, value, value, meta);
	}
}

/* Written by hand: in the function (what stands before a "|" at the top), and all of it
 * at the top. */
static void run_bodies(struct corpus *corpus)
{
	for (size_t i = 0; i < steps_body_count; i++) {
		const char *row = steps_bodies[i], *bar = strchr(row, '|');
		char before[2048], all[2048];
		int len = bar ? (int)(bar - row) : 0;

		(void)snprintf(before, sizeof(before), "%.*s", len, row);
		(void)snprintf(all, sizeof(all), "%s %s", before, bar ? bar + 1 : row);
		begin("in tick:", row, "", "");
		call(corpus, load(corpus, before, bar ? bar + 1 : row, ""));
		if (!is_chosen(corpus, texts_one_in))
			continue;
		begin("at load:", row, "", "");
		neap_policy_free(load(corpus, all, "return {}", ""));
	}
}

/* The text HEAD, then EACH as often as fits, with its number where it has a %d, then
 * TAIL. */
static void run_sources(struct corpus *corpus)
{
	for (size_t i = 0; i < steps_source_count; i++) {
		const struct steps_source *row = &steps_sources[i];
		size_t room = TEXT_MAX - strlen(row->tail) - 64, len;
		struct neap_error err = {0};
		struct neap_vm *vm = NULL;
		int64_t start;

		if (!is_chosen(corpus, texts_one_in))
			continue;
		begin("compile", row->each, row->tail, "");
		len = (size_t)snprintf(corpus->text, room, "%s", row->head);
		for (int n = 1; len < room && n <= row->times; n++)
			len += (size_t)snprintf(corpus->text + len,
						sizeof(corpus->text) - len, row->each, n,
						n, n);
		len += (size_t)snprintf(corpus->text + len, sizeof(corpus->text) - len,
					"%s", row->tail);
		if (neap_vm_new(0, &vm, &err) < 0)
			abort();
		start = now_usec();
		(void)neap_vm_load(vm, corpus->text, len, "x", &err);
		note(corpus,
		     now_usec() - start - neap_budget_scale(NEAP_VM_COMPILE_USEC));
		neap_vm_free(vm);
	}
}

/* What a tick returns and keeps, and what an example says, is read by C. */
static void run_results(struct corpus *corpus)
{
	for (size_t i = 0; i < steps_result_count; i++) {
		struct neap_sample sample = {.now_unix = 1700000000};
		struct neap_policy_wish *wishes = NULL;
		struct neap_error err = {0};
		struct neap_policy *policy;
		size_t count = 0;
		int64_t start;

		begin("result", steps_results[i].body, "", "");
		policy = load(corpus, steps_results[i].before, steps_results[i].body, "");
		if (!policy)
			continue; /* under a sanitizer */
		start = now_usec();
		(void)neap_policy_tick(policy, &sample, &wishes, &count, &err);
		note(corpus,
		     now_usec() - start -
			     neap_budget_scale(neap_kind_find("qos")->call_budget_usec));
		free(wishes);
		neap_policy_free(policy);
	}
	for (size_t i = 0; i < steps_example_count; i++) {
		struct neap_error err = {0};
		struct neap_policy *policy;
		char name[80];
		int64_t start;

		begin("example", steps_examples[i].body, "", "");
		policy = load(corpus, steps_examples[i].before, "return {}",
			      steps_examples[i].body);
		if (!policy)
			continue;
		start = now_usec();
		(void)neap_policy_run_example(policy, 1, 0, name, sizeof(name), &err);
		note(corpus,
		     now_usec() - start -
			     neap_budget_scale(neap_kind_find("qos")->call_budget_usec));
		neap_policy_free(policy);
	}
}

void steps_run(unsigned seed, bool is_long, struct steps *ret)
{
	struct corpus *corpus = calloc(1, sizeof(*corpus));

	if (!corpus)
		abort();
	memset(ret, 0, sizeof(*ret));
	corpus->seed = seed;
	corpus->form = is_long ? LONG : SHORT;
	corpus->steps = ret;
	run_bodies(corpus);
	run_sources(corpus);
	run_results(corpus);
	run_functions(corpus);
	run_operators(corpus);
	run_events(corpus);
	steps_begin(NULL);
	free(corpus);
}

int64_t steps_measure_usec(void)
{
	const lua_Integer apart = (lua_Integer)4095 * 8191, count = 4096;
	int64_t start, took, best = INT64_MAX;

	for (int round = 0; round < 3; round++) {
		lua_State *L = luaL_newstate();

		if (!L)
			abort();
		lua_newtable(L);
		for (lua_Integer i = 1; i <= count; i++) {
			lua_pushboolean(L, 1);
			lua_rawseti(L, 1, i * apart);
		}
		start = now_usec();
		lua_pushboolean(L, 1);
		lua_rawseti(L, 1, (count + 1) * apart);
		took = now_usec() - start;
		best = took < best ? took : best;
		lua_close(L);
	}
	return best;
}
