/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole policies: the table that they return, their schema of parameters, needs,
 * triggers, where, examples. What loads runs a tick and its examples, and tells the same
 * about itself when it is loaded again. An input that is JSON is written as the table of
 * Lua that it stands for, with functions where a text begins with "@"; any other is the
 * text itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "lua/call/policy.h"
#include "t/fuzz/lib/fuzz.h"

static void check_tells(const struct neap_policy *policy, struct neap_policy *again)
{
	struct neap_policy_info a, b;

	neap_policy_get_info(policy, &a);
	neap_policy_get_info(again, &b);
	FUZZ_CHECK(neap_policy_is_name(a.name) && strcmp(a.name, b.name) == 0);
	FUZZ_CHECK(strcmp(a.version, b.version) == 0 && strcmp(a.label, b.label) == 0);
	FUZZ_CHECK(a.trigger_count <= NEAP_TRIGGERS_MAX);
	for (size_t i = 0; i < a.trigger_count; i++)
		FUZZ_CHECK(a.triggers[i].stall_usec > 0 &&
			   a.triggers[i].stall_usec <= a.triggers[i].window_usec &&
			   a.triggers[i].window_usec >= 500000 &&
			   a.triggers[i].window_usec <= 10000000);
}

static void check_params(struct neap_policy *policy, struct neap_policy *again)
{
	json_t *values = neap_policy_params(policy), *schema = neap_policy_schema(policy);
	json_t *others = neap_policy_params(again);
	struct neap_error err = {0};

	FUZZ_CHECK(values && schema && json_equal(values, others));
	if (neap_policy_set_params(policy, values, &err) < 0)
		FUZZ_CHECK(err.code == NEAP_ELIMIT);
	json_decref(values);
	json_decref(others);
	json_decref(schema);
}

static void tick(struct neap_policy *policy)
{
	struct neap_policy_wish *wishes = NULL;
	struct neap_error err = {0};
	struct neap_sample sample;
	size_t count = 0;

	memset(&sample, 0, sizeof(sample));
	sample.seconds = 1;
	sample.now_unix = 1700000000;
	sample.capacity_milli = 4000;
	sample.cpu_pressure = NAN;
	(void)neap_policy_tick(policy, &sample, &wishes, &count, &err);
	for (size_t i = 0; i < count; i++)
		FUZZ_CHECK(neap_value_check(wishes[i].key, &wishes[i].value, NULL) == 0);
	free(wishes);
}

static void write_text(struct neap_buf *to, const char *text)
{
	if (*text == '@') {
		neap_buf_addf(to, "function(ctx, node) return %s end",
			      strcmp(text, "@hold") == 0 ? "ctx.hold" : "{}");
		return;
	}
	neap_buf_addc(to, '"');
	for (; *text; text++)
		neap_buf_addf(to, "\\x%02x", (unsigned char)*text);
	neap_buf_addc(to, '"');
}

static void write_lua(struct neap_buf *to, const json_t *json)
{
	const char *key;
	json_t *value;
	size_t i;

	switch (json_typeof(json)) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		neap_buf_addc(to, '{');
		json_object_foreach ((json_t *)json, key, value) {
			neap_buf_addc(to, '[');
			write_text(to, *key == '@' ? "x" : key);
			neap_buf_adds(to, "]=");
			write_lua(to, value);
			neap_buf_addc(to, ',');
		}
		json_array_foreach ((json_t *)json, i, value) {
			write_lua(to, value);
			neap_buf_addc(to, ',');
		}
		neap_buf_addc(to, '}');
		return;
	case JSON_STRING:
		write_text(to, json_string_value(json));
		return;
	case JSON_INTEGER:
		neap_buf_addf(to, "%lld", (long long)json_integer_value(json));
		return;
	case JSON_REAL:
		neap_buf_addf(to, "%.17g", json_real_value(json));
		return;
	default:
		neap_buf_adds(to, json_is_true(json)    ? "true"
				  : json_is_false(json) ? "false"
							: "nil");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct neap_policy *policy = NULL, *again = NULL;
	struct neap_error err = {0};
	neap_auto_buf struct neap_buf table = {0};
	struct fuzz_in in;
	const char *text;
	char row[64];
	json_t *json;
	size_t len;

	fuzz_in_init(&in, data, size);
	text = fuzz_rest(&in, &len);
	json = json_loadb(text, len, 0, NULL);
	if (json) {
		neap_buf_init(&table, NEAP_BUF_FILE);
		neap_buf_adds(&table, "return ");
		write_lua(&table, json);
		json_decref(json);
		text = table.data;
		len = table.len;
	}
	if (neap_policy_load(text, len, "p.lua", &policy, &err) < 0) {
		FUZZ_CHECK(*err.msg && !policy);
	} else {
		json_t *labels = json_pack("{s:s}", "pool", "batch");

		FUZZ_CHECK(neap_policy_load_again(policy, &again, &err) == 0 ||
			   err.code == NEAP_EBUDGET || err.code == NEAP_ELIMIT ||
			   err.code == NEAP_EUNAVAILABLE);
		if (again) {
			check_tells(policy, again);
			check_params(policy, again);
		}
		(void)neap_policy_is_for(policy, labels);
		for (int i = 1; i <= neap_policy_example_count(policy) && i < 4; i++)
			(void)neap_policy_run_example(policy, i, 5000, row, sizeof(row),
						      &err);
		tick(policy);
		json_decref(labels);
	}
	neap_policy_free(again);
	neap_policy_free(policy);
	fuzz_in_done(&in);
	return 0;
}
