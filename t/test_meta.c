/* SPDX-License-Identifier: Apache-2.0
 *
 * lua/meta/neap.lua against the field tables of C and the methods that are really there, both
 * ways: the manual cannot drift. Runs in the root of the repository. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/machine/sample.h"
#include "lua/policy.h"

#define META "lua/meta/neap.lua"

static char *text;

static int read_meta(void **state)
{
	FILE *f = fopen(META, "r");
	size_t len;

	(void)state;
	text = neap_alloc(65536);
	if (!f || !text)
		return -1;
	len = fread(text, 1, 65535, f);
	text[len] = '\0';
	fclose(f);
	return len > 1000 && len < 65535 ? 0 : -1;
}

static int drop_meta(void **state)
{
	(void)state;
	free(text);
	return 0;
}

/* Goes to the next "---@field NAME" after at within its class; NULL at the end. */
static const char *next_field(const char *at, char *name, size_t size)
{
	size_t len;

	for (at = strchr(at, '\n'); at; at = strchr(at + 1, '\n')) {
		if (strncmp(at + 1, "---@field ", 10) == 0)
			break;
		if (strncmp(at + 1, "---", 3) != 0)
			return NULL;
	}
	if (!at)
		return NULL;
	len = strcspn(at + 11, " ?");
	assert_true(len < size);
	memcpy(name, at + 11, len);
	name[len] = '\0';
	return at + 1;
}

static const char *find_class(const char *name)
{
	char line[80];
	const char *at;

	snprintf(line, sizeof(line), "---@class %s\n", name);
	at = strstr(text, line);
	if (!at)
		fail_msg("%s is not in " META, name);
	return at;
}

static const struct {
	const char *class;
	const struct neap_field *fields;
} classes[] = {
	{"neap.NodeSample", neap_sample_fields},
	{"neap.Workload", neap_workload_fields},
	{"neap.Class", neap_class_fields},
};

static void test_fields(void **state)
{
	char name[64];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(classes); i++) {
		const char *at = find_class(classes[i].class);
		const struct neap_field *f = classes[i].fields;

		/* The same order on both sides finds both a lost and a surplus one. */
		for (at = next_field(at, name, sizeof(name)); at && f->name; f++) {
			if (strcmp(name, f->name) != 0)
				fail_msg("%s: " META " has '%s', C has '%s'",
					 classes[i].class, name, f->name);
			at = next_field(at, name, sizeof(name));
		}
		if (at || f->name)
			fail_msg("%s: only one side has '%s'", classes[i].class,
				 at ? name : f->name);
	}
}

/* Counts "function CLASS:" or "function CLASS." lines and asks a script for each of the names. */
static void check_methods(struct neap_policy *policy, const char *class, const char *rule,
			  int want)
{
	char head[40];
	size_t len = (size_t)snprintf(head, sizeof(head), "\nfunction %s", class);
	int count = 0;

	for (const char *at = strstr(text, head); at; at = strstr(at + 1, head)) {
		struct neap_error err;
		json_t *name = json_stringn(at + len + 1, strcspn(at + len + 1, "("));
		json_t *ret = NULL;

		if (neap_policy_call_rule(policy, rule, name, &ret, &err) < 0)
			fail_msg("%s %s: %s", class, json_string_value(name), err.msg);
		assert_string_equal(json_string_value(ret), "function");
		json_decref(name);
		json_decref(ret);
		count++;
	}
	assert_int_equal(count, want);
}

static void test_methods(void **state)
{
	static const char policy_text[] =
		"return { api = 1, kind = \"qos\", name = \"x\", tick = function() end, rules = {\n"
		"set = function(ctx, name) return type(ctx.cpuset()[name]) end,\n"
		"quantity = function(ctx, name) return type(ctx.quantity[name]) end,\n"
		"selector = function(ctx, name) return type(ctx.selector({})[name]) end,\n"
		"time = function(ctx, name) return type(ctx.time[name]) end,\n"
		"ctx = function(ctx, name) return type(ctx[name]) end,\n"
		"names = function(ctx) local n = 0 for k in pairs(ctx) do n = n + 1 end return n end } }";
	struct neap_policy *policy = NULL;
	struct neap_error err;
	json_t *none = json_null(), *ret = NULL;
	char name[64];
	int fields = 0;

	(void)state;
	assert_int_equal(neap_policy_load(policy_text, strlen(policy_text), "p.lua",
					  &policy, &err),
			 0);
	check_methods(policy, "CpuSet", "set", 4);
	check_methods(policy, "Quantity", "quantity", 2);
	check_methods(policy, "Selector", "selector", 1);
	check_methods(policy, "Time", "time", 3);
	check_methods(policy, "Ctx", "ctx", 3);

	/* The fields and functions of ctx are all that is in it. */
	for (const char *at = find_class("neap.Ctx"); at; fields++)
		at = next_field(at, name, sizeof(name));
	assert_int_equal(neap_policy_call_rule(policy, "names", none, &ret, &err), 0);
	assert_int_equal(json_integer_value(ret), fields - 1 + 3);
	json_decref(ret);
	neap_policy_free(policy);
}

static void test_topology_methods(void **state)
{
	static const char policy_text[] =
		"return { api = 1, kind = \"qos\", name = \"x\", tick = function() end, rules = {\n"
		"all = function(ctx, i) local r = {} for n, name in ipairs(i.names) do\n"
		"r[n] = type(i.processors[name]) end return r end } }";
	struct neap_policy *policy = NULL;
	struct neap_error err;
	json_t *input =
		json_pack("{s:[[i,i,i,i]], s:[]}", "processors", 0, 0, 0, 0, "names");
	json_t *names = json_object_get(input, "names"), *ret = NULL;
	static const char head[] = "\nfunction Topology:";

	(void)state;
	for (const char *at = strstr(text, head); at; at = strstr(at + 1, head)) {
		const char *name = at + strlen(head);

		json_array_append_new(names, json_stringn(name, strcspn(name, "(")));
	}
	assert_int_equal(json_array_size(names), 10);
	assert_int_equal(neap_policy_load(policy_text, strlen(policy_text), "p.lua",
					  &policy, &err),
			 0);
	assert_int_equal(neap_policy_call_rule(policy, "all", input, &ret, &err), 0);
	for (size_t i = 0; i < json_array_size(names); i++)
		assert_string_equal(json_string_value(json_array_get(ret, i)),
				    "function");
	json_decref(ret);
	json_decref(input);
	neap_policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_topology_methods),
	};

	return cmocka_run_group_tests_name("meta", tests, read_meta, drop_meta);
}
