/* SPDX-License-Identifier: Apache-2.0
 *
 * What a tick returns: any value that a script can make, from JSON. Texts that begin with
 * "@" become what JSON has not. Wishes that are taken hold what the keys allow, for keys
 * of policies only. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lua/call/answer.h"
#include "lua/call/policy.h"
#include "lua/call/result.h"
#include "t/fuzz/lib/fuzz.h"
#include "t/lib/policy_rule.h"

static const char policy_text[] =
	"local box\n"
	"local many = {}\n"
	"for i = 1, 5000 do many[i] = false end\n"
	"local function odd(ctx, text)\n"
	"  local rest = text:match('^@cpus (.*)$')\n"
	"  if rest then return ctx.cpuset(rest) end\n"
	"  if text == '@nan' then return 0 / 0 end\n"
	"  if text == '@hold' then return ctx.hold end\n"
	"  if text == '@ctx' then return ctx end\n"
	"  if text == '@function' then return print end\n"
	"  if text == '@self' then local t = {} t[1] = t return t end\n"
	"  if text == '@nul' then return 'a\\0b' end\n"
	"  if text == '@meta' then\n"
	"    return setmetatable({}, { __index = function() return 1 end, __len = function() return 9 end })\n"
	"  end\n"
	"  if text == '@many' then return many end\n"
	"  if text == '@raise' then error({}) end\n"
	"  return text\n"
	"end\n"
	"local function walk(ctx, v)\n"
	"  if type(v) == 'string' then return odd(ctx, v) end\n"
	"  if type(v) ~= 'table' then return v end\n"
	"  local out = {}\n"
	"  for key, member in pairs(v) do\n"
	"    local k = walk(ctx, key)\n"
	"    if k ~= nil and k == k then out[k] = walk(ctx, member) end\n"
	"  end\n"
	"  return out\n"
	"end\n"
	"return { api = 1, kind = 'qos', name = 'fuzz', needs = { 'capacity_milli' },\n"
	"  tick = function(ctx) return walk(ctx, box) end,\n"
	"  rules = { keep = function(ctx, input) box = input end } }\n";

static struct neap_policy *policy_make(void)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	if (neap_policy_load(policy_text, sizeof(policy_text) - 1, "fuzz.lua", &policy,
			     &err) < 0)
		fuzz_fail(__FILE__, __LINE__, err.msg);
	return policy;
}

static void check_wish(const struct neap_policy_wish *wish)
{
	FUZZ_CHECK((unsigned)wish->key < NEAP_KEY_COUNT);
	FUZZ_CHECK(neap_key_get(wish->key)->is_for_policies);
	FUZZ_CHECK(neap_value_check(wish->key, &wish->value, NULL) == 0);
	FUZZ_CHECK(*wish->target && *wish->why);
	FUZZ_CHECK(memchr(wish->target, '\0', sizeof(wish->target)) != NULL);
	FUZZ_CHECK(memchr(wish->why, '\0', sizeof(wish->why)) != NULL);
	for (const char *c = wish->target; *c; c++)
		FUZZ_CHECK((unsigned char)*c >= ' ' && *c != 127);
	for (const char *c = wish->why; *c; c++)
		FUZZ_CHECK((unsigned char)*c >= ' ' && *c != 127);
}

static void tick(struct neap_policy *policy)
{
	struct neap_sample sample;
	struct neap_answer answer = {0};
	json_t *json;

	memset(&sample, 0, sizeof(sample));
	sample.seconds = NAN;
	sample.now_unix = 1700000000;
	sample.capacity_milli = 4000;
	answer.verdict = neap_policy_tick(policy, &sample, &answer.wishes, &answer.count,
					  &answer.err);
	if (answer.verdict == NEAP_TICK_WISHES) {
		FUZZ_CHECK(answer.count <= NEAP_RESULT_ROWS_MAX);
		for (size_t i = 0; i < answer.count; i++)
			check_wish(&answer.wishes[i]);
	} else {
		FUZZ_CHECK(!answer.wishes && !answer.count);
		FUZZ_CHECK(answer.verdict == NEAP_TICK_HOLD || *answer.err.msg);
	}
	FUZZ_CHECK(neap_answer_sort(&answer, NULL) == 0);
	FUZZ_CHECK(neap_answer_is_same(&answer, &answer));
	json = neap_answer_json(&answer);
	FUZZ_CHECK(json != NULL);
	json_decref(json);
	neap_answer_done(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct neap_policy *policy;
	static int uses;
	struct neap_error err = {0};
	struct fuzz_in in;
	json_t *json, *ret = NULL;

	fuzz_in_init(&in, data, size);
	json = fuzz_rest_json(&in);
	if (policy && (neap_vm_is_dead(neap_policy_vm(policy)) || uses++ > 5000)) {
		neap_policy_free(policy);
		policy = NULL;
		uses = 0;
	}
	if (!policy)
		policy = policy_make();
	if (json && neap_policy_call_rule(policy, "keep", json, &ret, &err) == 0)
		tick(policy);
	json_decref(ret);
	json_decref(json);
	fuzz_in_done(&in);
	return 0;
}
