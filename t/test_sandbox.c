/* SPDX-License-Identifier: Apache-2.0
 *
 * The hostile corpus: every script of t/sandbox runs in a forked child with an alarm, and
 * must end as its first lines say: "-- want: budget|memory|ok|error part of the message"
 * (alternatives with
 * |), "-- within: N ms" of CPU time, and optionally "-- budget: MS", "-- memory: MIB";
 * with "-- ctx" it
 * is the body of a function of a policy, with ctx, and has the budget of loading. Also:
 * what a script can reach is exactly the allow-list, and the order of pairs is the same
 * in every process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lua/call/policy.h"
#include "lua/vm/sandbox.h"
#include "lua/vm/vm.h"
#include "t/lib/policy_rule.h"

#define FOLDER        "t/sandbox"
#define ALARM_SECONDS 20
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWNESS 20
#else
#define SLOWNESS 3 /* a bound against hangs; t/bench/bench_vm measures the real overrun */
#endif

/* What a child tells. */
struct end {
	int code;
	int64_t cpu_usec;
	char msg[256];
};

static char *read_file(const char *path, size_t *ret_len)
{
	static char text[65536];
	FILE *file = fopen(path, "r");

	if (!file)
		fail_msg("cannot read %s", path);
	*ret_len = fread(text, 1, sizeof(text) - 1, file);
	text[*ret_len] = '\0';
	(void)fclose(file);
	return text;
}

static long header_number(const char *text, const char *key, long otherwise)
{
	const char *at = strstr(text, key);

	return at ? strtol(at + strlen(key), NULL, 10) : otherwise;
}

static void run_here(const char *text, size_t len, const char *name, struct end *ret)
{
	long memory_mib = header_number(text, "\n-- memory: ", 16);
	long budget_ms = header_number(text, "\n-- budget: ", 100);
	const char *budget = strstr(text, "budget"), *line_end = strchr(text, '\n');
	struct neap_error err = {0};
	struct neap_vm *vm = NULL;

	if (SLOWNESS > 3 && !(budget && budget < line_end))
		budget_ms *= SLOWNESS; /* it is to get to its end, not to be stopped */
	ret->code = -neap_vm_new((size_t)memory_mib << 20, &vm, &err);
	if (!ret->code)
		ret->code = -neap_vm_load(vm, text, len, name, &err);
	if (!ret->code)
		ret->code = -neap_vm_call(vm, 0, 0, budget_ms * 1000, &err);
	if (vm)
		ret->cpu_usec = neap_vm_last_cpu_usec(vm);
	(void)snprintf(ret->msg, sizeof(ret->msg), "%s", ret->code ? err.msg : "");
	neap_vm_free(vm);
}

static void run_with_ctx(const char *text, struct end *ret)
{
	static char policy_text[66000];
	struct neap_policy *policy = NULL;
	struct neap_sample sample = {.now_unix = 1700000000};
	struct neap_policy_wish *wishes = NULL;
	struct neap_error err = {0};
	json_t *none = json_null(), *got = NULL;
	size_t count = 0;
	int len =
		snprintf(policy_text, sizeof(policy_text),
			 "return { api = 1, kind = 'qos', name = 'x', tick = function() "
			 "return {} end, rules = { run = function(ctx)\n%s\nend } }",
			 text);

	ret->code = -neap_policy_load(policy_text, (size_t)len, "p.lua", &policy, &err);
	if (!ret->code) {
		(void)neap_policy_tick(policy, &sample, &wishes, &count, &err);
		free(wishes);
		ret->code = -neap_policy_call_rule(policy, "run", none, &got, &err);
		ret->cpu_usec = neap_vm_last_cpu_usec(neap_policy_vm(policy));
	}
	(void)snprintf(ret->msg, sizeof(ret->msg), "%s", ret->code ? err.msg : "");
	json_decref(got);
	neap_policy_free(policy);
}

/* False when the child did not come back by itself. */
static bool run_in_child(const char *text, size_t len, const char *name, struct end *ret)
{
	int ends[2], status;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct end end = {0};

		(void)alarm(ALARM_SECONDS);
		if (strstr(text, "\n-- ctx\n"))
			run_with_ctx(text, &end);
		else
			run_here(text, len, name, &end);
		_exit(write(ends[1], &end, sizeof(end)) == sizeof(end) ? 0 : 1);
	}
	(void)close(ends[1]);
	got = read(ends[0], ret, sizeof(*ret));
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return got == sizeof(*ret) && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is_wanted_one(const struct end *end, const char *want)
{
	if (strcmp(want, "ok") == 0)
		return end->code == NEAP_OK;
	if (strcmp(want, "budget") == 0)
		return end->code == NEAP_EBUDGET;
	if (strcmp(want, "memory") == 0)
		return end->code == NEAP_ELIMIT;
	if (strncmp(want, "error", 5) == 0)
		return end->code == NEAP_EINVAL &&
		       (!want[5] || strstr(end->msg, want + 6) != NULL);
	return false;
}

static bool is_wanted(const struct end *end, const char *text)
{
	char line[256], *rest = line, *want;

	if (sscanf(text, "-- want: %255[^\n]", line) != 1)
		return false;
	while ((want = strsep(&rest, "|")) != NULL)
		if (is_wanted_one(end, want))
			return true;
	return false;
}

static int is_script(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".lua") == 0;
}

static void test_corpus(void **state)
{
	const char *only = getenv("CASE");
	struct dirent **list = NULL;
	int count = scandir(FOLDER, &list, is_script, alphasort), i, failed = 0;

	(void)state;
	assert_true(count >= 62);
	for (i = 0; i < count; i++) {
		const char *name = list[i]->d_name;
		char path[512];
		struct end end = {0};
		const char *text;
		size_t len;
		long within;

		if (only && *only && strncmp(name, only, strlen(only)) != 0)
			goto next;
		(void)snprintf(path, sizeof(path), FOLDER "/%s", name);
		text = read_file(path, &len);
		within = header_number(text, "\n-- within: ", 0);
		if (!run_in_child(text, len, name, &end)) {
			print_error("%s: hung or crashed\n", name);
			failed++;
		} else if (!is_wanted(&end, text)) {
			print_error("%s: ended with %s '%s'\n", name,
				    neap_code_name((enum neap_code)end.code), end.msg);
			failed++;
		} else if (within <= 0 || end.cpu_usec > within * 1000 * SLOWNESS) {
			print_error("%s: took %lld us\n", name, (long long)end.cpu_usec);
			failed++;
		}
	next:
		free(list[i]);
	}
	free(list);
	assert_int_equal(failed, 0);
}

/* All names that a script can reach from its globals, one a line. */
static const char lister[] =
	"local out = {}\n"
	"for k, v in pairs(_ENV) do\n"
	"  out[#out + 1] = k\n"
	"  if type(v) == 'table' then for m, w in pairs(v) do\n"
	"    assert(type(w) ~= 'table', m) out[#out + 1] = k .. '.' .. m\n"
	"  end end\n"
	"end\n"
	"table.sort(out)\n"
	"return table.concat(out, '\\n') .. '\\n'\n";

static void test_globals_are_the_allow_list(void **state)
{
	const char *const *names = neap_sandbox_names();
	struct neap_vm *vm = NULL;
	struct neap_error err = {0};
	char want[8192] = "";
	size_t len = 0, i;

	(void)state;
	assert_int_equal(neap_vm_new(0, &vm, &err), 0);
	assert_int_equal(neap_vm_load(vm, lister, strlen(lister), "lister", &err), 0);
	if (neap_vm_call(vm, 0, 1, 1000000, &err) < 0)
		fail_msg("%s", err.msg);
	for (i = 0; names[i]; i++) {
		assert_true(i == 0 || strcmp(names[i - 1], names[i]) < 0);
		len += (size_t)snprintf(want + len, sizeof(want) - len, "%s\n", names[i]);
	}
	assert_string_equal(lua_tostring(neap_vm_state(vm), -1), want);
	neap_vm_free(vm);
}

/* Through a string's methods and through the metatables nothing more can be reached. */
static void test_string_methods_are_the_allow_list(void **state)
{
	static const char text[] = "local s, n = ... return s[n] ~= nil";
	static const char *const refused[] = {"dump", "pack", "unpack", "packsize",
					      "__index"};
	struct neap_vm *vm = NULL;
	struct neap_error err = {0};
	size_t i;

	(void)state;
	assert_int_equal(neap_vm_new(0, &vm, &err), 0);
	for (i = 0; i < NEAP_ARRAY_LEN(refused); i++) {
		lua_State *L = neap_vm_state(vm);

		lua_settop(L, 0);
		assert_int_equal(neap_vm_load(vm, text, strlen(text), "t", &err), 0);
		lua_pushliteral(L, "x");
		lua_pushstring(L, refused[i]);
		assert_int_equal(neap_vm_call(vm, 2, 1, 1000000, &err), 0);
		assert_false(lua_toboolean(L, -1));
	}
	neap_vm_free(vm);
}

/* Lua's hash seed differs between states; the order must not. */
static void test_order_is_stable(void **state)
{
	static const char text[] =
		"local t, out = {}, {}\n"
		"for i = 1, 300 do t['key' .. (i * 7919) % 1000] = i t[i * 1.5] = i end\n"
		"for k in pairs(t) do out[#out + 1] = tostring(k) end\n"
		"for k in next, t do out[#out + 1] = tostring(k) end\n"
		"return table.concat(out, ' ')";
	char first[16384] = "";
	int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		struct neap_vm *vm = NULL;
		struct neap_error err = {0};
		const char *order;

		assert_int_equal(neap_vm_new(0, &vm, &err), 0);
		assert_int_equal(neap_vm_load(vm, text, strlen(text), "t", &err), 0);
		if (neap_vm_call(vm, 0, 1, 10000000, &err) < 0)
			fail_msg("%s", err.msg);
		order = lua_tostring(neap_vm_state(vm), -1);
		if (i == 0)
			(void)snprintf(first, sizeof(first), "%s", order);
		assert_true(strlen(order) > 1000);
		assert_string_equal(order, first);
		neap_vm_free(vm);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_globals_are_the_allow_list),
		cmocka_unit_test(test_string_methods_are_the_allow_list),
		cmocka_unit_test(test_order_is_stable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
