/* SPDX-License-Identifier: Apache-2.0
 *
 * The shipped policies: their examples pass, no sample makes them fail, and none of them
 * puts a group of a kubelet in a state that the kubelet's own writes cannot leave
 * (cpu.idle never on a class directory). Runs in the root of the repository. */
#include <glob.h>
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
#include "t/lib/patience.h"

#define WORKLOADS 6
#define ROUNDS    3000

static const struct {
	const char *file;
	const char *param, *value; /* one more setting to run with */
} policies[] = {
	{"policies/qos/cpu-share.lua", NULL, NULL},
	{"policies/qos/cpu-share.lua", "idle_percent", "10"},
	{"policies/qos/cpu-share.lua", "min_cpus", "64"},
	{"policies/qos/cpu-suppress.lua", NULL, NULL},
	{"policies/qos/cpu-suppress.lua", "policy", "cfsQuota"},
	{"policies/qos/cpu-suppress.lua", "min_percent", "30"},
};

static struct neap_policy *load(size_t index)
{
	struct neap_policy *policy = NULL;
	struct neap_error err;

	if (neap_policy_load_file(policies[index].file, &policy, &err) < 0)
		fail_msg("%s", err.msg);
	if (policies[index].param &&
	    neap_policy_set_param(policy, policies[index].param, policies[index].value,
				  &err) < 0)
		fail_msg("%s: %s", policies[index].file, err.msg);
	return policy;
}

static void print_failed(void *arg, const char *row, const struct neap_error *err)
{
	(void)arg;
	(void)row;
	if (err)
		print_message("# %s\n", err->msg);
}

static void test_examples(void **state)
{
	glob_t found;

	(void)state;
	assert_int_equal(glob("policies/*/*.lua", 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 7);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct neap_policy *policy = NULL;
		struct neap_error err;

		if (neap_policy_load_file(found.gl_pathv[i], &policy, &err) < 0)
			fail_msg("%s", err.msg);
		assert_int_equal(
			neap_policy_run_examples(policy, print_failed, NULL, &err), 0);
		neap_policy_free(policy);
	}
	globfree(&found);
}

/* --- random samples --- */

static uint64_t seed;

/* 0 .. n-1; xorshift, the same in every run */
static int any(int n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (int)(seed % (uint64_t)n);
}

static void fill(const struct neap_field *fields, void *base)
{
	static const char *const names[] = {"",   "LS",     "LSR",  "LSE",
					    "BE", "static", "none", "host"};

	for (const struct neap_field *f = fields; f->name; f++) {
		void *at = (char *)base + f->offset;

		switch (f->type) {
		case NEAP_FIELD_INT:
			*(int64_t *)at =
				any(20) ? any(3) ? any(20000) : any(5) - 1 : NEAP_MISSING;
			break;
		case NEAP_FIELD_REAL:
			*(double *)at =
				any(10) ? any(3) ? any(1000) / 900.0 : any(40) : NAN;
			break;
		case NEAP_FIELD_BOOL:
			*(bool *)at = any(4);
			break;
		case NEAP_FIELD_TEXT:
			(void)neap_strcopy(at, 100, any(10) ? "x" : "");
			break;
		case NEAP_FIELD_NAME:
			*(const char **)at = names[any(NEAP_ARRAY_LEN(names))];
			break;
		case NEAP_FIELD_CPUSET:
			memset(at, 0, sizeof(struct neap_cpuset));
			for (int n = any(3) * any(8); n > 0; n--)
				neap_cpuset_add((struct neap_cpuset *)at, any(16));
			break;
		case NEAP_FIELD_STRUCT:
			fill(f->fields, at);
			break;
		case NEAP_FIELD_KEYS:
			*(uint32_t *)at = (uint32_t)any(1 << NEAP_KEY_COUNT);
			break;
		default:
			break;
		}
	}
}

static struct neap_topology *any_topology(void)
{
	struct neap_processor rows[16];
	struct neap_topology *topology = NULL;
	int threads = 1 + any(2), cores = 1 + any(4), count = 1 + any(16);

	for (int i = 0; i < count; i++)
		rows[i] = (struct neap_processor){.os_cpu = i,
						  .core = i / threads,
						  .socket = i / threads / cores,
						  .node = i / threads / cores};
	assert_int_equal(
		neap_topology_new_from_processors(rows, (size_t)count, &topology, NULL),
		0);
	return topology;
}

static void check_wishes(const struct neap_policy_wish *wishes, size_t count)
{
	for (size_t k = 0; k < count; k++) {
		const struct neap_policy_wish *w = &wishes[k];

		if (w->key == NEAP_KEY_CPU_IDLE && !strchr(w->target, '.') &&
		    strncmp(w->target, "workload:", 9) != 0)
			fail_msg("cpu.idle on %s", w->target);
		if (w->key == NEAP_KEY_CPUSET_CPUS &&
		    neap_cpuset_is_empty(&w->value.cpus))
			fail_msg("an empty CPU set for %s", w->target);
		for (size_t i = 0; i < k; i++)
			if (wishes[i].key == w->key &&
			    strcmp(wishes[i].target, w->target) == 0)
				fail_msg("%s %s is wished for twice", w->target,
					 neap_key_get(w->key)->name);
	}
}

static void run_policy(size_t index)
{
	static struct neap_workload workloads[WORKLOADS];
	struct neap_policy *policy = load(index);
	struct neap_topology *topology = any_topology();
	int64_t mono = 0;
	int ticks = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct neap_sample sample = {0};
		struct neap_policy_wish *wishes = NULL;
		struct neap_error err;
		size_t count = 0;
		enum neap_tick_verdict verdict;

		if (!any(50)) {
			(void)neap_topology_unref(topology);
			topology = any_topology();
		}
		fill(neap_sample_fields, &sample);
		sample.mono_usec = mono += any(4000000);
		sample.now_unix = mono / 1000000;
		sample.topology = any(20) ? topology : NULL;
		sample.workloads = workloads;
		sample.workload_count = (size_t)any(WORKLOADS);
		for (size_t i = 0; i < sample.workload_count; i++)
			fill(neap_workload_fields, &workloads[i]);

		verdict = neap_policy_tick(policy, &sample, &wishes, &count, &err);
		if (verdict == NEAP_TICK_WISHES) {
			check_wishes(wishes, count);
			free(wishes);
			ticks++;
		} else if (verdict == NEAP_TICK_STARVED) {
			struct neap_policy *fresh = NULL;

			/* A busy test machine is nobody's fault. */
			assert_int_equal(neap_policy_load_again(policy, &fresh, &err), 0);
			neap_policy_free(policy);
			policy = fresh;
		} else if (verdict != NEAP_TICK_SKIPPED) {
			fail_msg("%s round %d: %s", policies[index].file, round, err.msg);
		}
	}
	assert_true(ticks > ROUNDS / 4);
	neap_policy_free(policy);
	(void)neap_topology_unref(topology);
}

static void test_random(void **state)
{
	(void)state;
	seed = 88172645463325252u;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(policies); i++)
		run_policy(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_random),
	};

	patience_with_scripts();
	return cmocka_run_group_tests_name("policies", tests, NULL, NULL);
}
