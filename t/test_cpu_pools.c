/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared pools of CPUs: rules by hand, and many random nodes against a slow second
 * answer, CPU by CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "engine/base/base.h"
#include "engine/numa/cpu_pools.h"

#define PODS 8

static struct neap_cpuset set_of(const char *text)
{
	struct neap_cpuset set;

	assert_int_equal(neap_cpuset_parse(&set, text, NULL), 0);
	return set;
}

static void check(const struct neap_cpu_pools_from *from, const char *ls, const char *be)
{
	struct neap_cpu_pools pools;
	char text[256];

	memset(&pools, 0xff, sizeof(pools)); /* what was there is no part of it */
	neap_cpu_pools_make(from, &pools);
	(void)neap_cpuset_format(&pools.ls, text, sizeof(text));
	assert_string_equal(text, ls);
	(void)neap_cpuset_format(&pools.be, text, sizeof(text));
	assert_string_equal(text, be);
}

static void nothing_taken_leaves_all(void **state)
{
	struct neap_cpuset all = set_of("0-7");

	(void)state;
	check(&(struct neap_cpu_pools_from){0}, "", "");
	check(&(struct neap_cpu_pools_from){.all = &all}, "0-7", "0-7");
}

static void be_runs_on_lsr_cpus_but_not_on_lse(void **state)
{
	struct neap_cpuset all = set_of("0-15"), lse = set_of("0-1"), lsr = set_of("2-3"),
			   ls = set_of("4"), be = set_of("5"), none = set_of("6"),
			   system = set_of("7"), empty = set_of("");
	const struct neap_cpu_pool_pod pods[] = {
		{NEAP_QOS_LSE, &lse}, {NEAP_QOS_LSR, &lsr},   {NEAP_QOS_LS, &ls},
		{NEAP_QOS_BE, &be},   {NEAP_QOS_NONE, &none}, {NEAP_QOS_SYSTEM, &system},
		{NEAP_QOS_LSE, NULL}, {NEAP_QOS_LSE, &empty},
	};

	(void)state;
	check(&(struct neap_cpu_pools_from){.all = &all,
					    .pods = pods,
					    .pod_count = NEAP_ARRAY_LEN(pods)},
	      "8-15", "2-15");
}

static void kubelet_reservation_and_system_leave_both(void **state)
{
	struct neap_cpuset all = set_of("0-15"), kubelet = set_of("2,99"),
			   reserved = set_of("0-1"), system = set_of("15");

	(void)state;
	check(&(struct neap_cpu_pools_from){.all = &all,
					    .kubelet = &kubelet,
					    .node_reserved = &reserved,
					    .system_only = &system},
	      "3-14", "3-14");
}

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void fill(struct neap_cpuset *set, uint64_t *seed, int last)
{
	int parts = (int)(draw(seed) % 4);

	neap_cpuset_clear(set);
	for (int i = 0; i < parts; i++) {
		int first = (int)(draw(seed) % (uint64_t)(last + 1));

		neap_cpuset_add_range(set, first, first + (int)(draw(seed) % 9));
	}
}

static void many_nodes_as_cpu_by_cpu(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		static const enum neap_qos qos[] = {NEAP_QOS_NONE, NEAP_QOS_LSE,
						    NEAP_QOS_LSR, NEAP_QOS_LS,
						    NEAP_QOS_BE};
		int last = (int)(draw(&seed) % 300);
		struct neap_cpuset all = {0}, kubelet, reserved, system, own[PODS];
		struct neap_cpu_pool_pod pods[PODS];
		size_t count = draw(&seed) % (PODS + 1);
		struct neap_cpu_pools pools;

		neap_cpuset_add_range(&all, 0, last);
		fill(&kubelet, &seed, last);
		fill(&reserved, &seed, last);
		fill(&system, &seed, last);
		for (size_t i = 0; i < count; i++) {
			fill(&own[i], &seed, last);
			pods[i].qos = qos[draw(&seed) % NEAP_ARRAY_LEN(qos)];
			pods[i].cpus = &own[i];
		}
		neap_cpu_pools_make(&(struct neap_cpu_pools_from){&all, &kubelet,
								  &reserved, &system,
								  pods, count},
				    &pools);
		for (int cpu = 0; cpu < last + 20; cpu++) {
			bool is_ls = cpu <= last && !neap_cpuset_has(&kubelet, cpu) &&
				     !neap_cpuset_has(&reserved, cpu) &&
				     !neap_cpuset_has(&system, cpu);
			bool is_be = is_ls;

			for (size_t i = 0; i < count; i++) {
				bool is_own = neap_cpuset_has(&own[i], cpu);

				is_ls = is_ls && !is_own;
				is_be = is_be && !(is_own && pods[i].qos == NEAP_QOS_LSE);
			}
			assert_int_equal(neap_cpuset_has(&pools.ls, cpu), is_ls);
			assert_int_equal(neap_cpuset_has(&pools.be, cpu), is_be);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_taken_leaves_all),
		cmocka_unit_test(be_runs_on_lsr_cpus_but_not_on_lse),
		cmocka_unit_test(kubelet_reservation_and_system_leave_both),
		cmocka_unit_test(many_nodes_as_cpu_by_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
