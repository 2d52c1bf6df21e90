/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts of machines that are large, odd or too much; and memory that is short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/cpu/accumulator.h"

static void layout_bounds(void **state)
{
	static struct neap_processor rows[NEAP_CPU_MAX];
	static const struct {
		const char *name;
		int count, cores, nodes, sockets, ret;
	} cases[] = {
		{"the largest", 8192, 4096, 64, 8, 0},
		{"no siblings", 8192, 8192, 1, 1, 0},
		{"all in one core", 8192, 1, 1, 1, -NEAP_ETOOLARGE},
		{"64 in each core", 8192, 128, 1, 1, 0},
		{"a node for each", 8192, 8192, 8192, 1, -NEAP_ETOOLARGE},
		{"a socket for each", 8192, 8192, 1, 8192, -NEAP_ETOOLARGE},
		{"as many nodes as may be", 8192, 8192, 256, 256, 0},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		struct neap_topology *topology;
		struct neap_cpu_layout *layout;
		struct neap_error err;
		int per = cases[i].count / cases[i].cores;

		for (int k = 0; k < cases[i].count; k++)
			rows[k] = (struct neap_processor){
				.os_cpu = k,
				.core = k / per,
				.node = k / (cases[i].count / cases[i].nodes),
				.socket = k / (cases[i].count / cases[i].sockets)};
		assert_int_equal(neap_topology_new_from_processors(
					 rows, (size_t)cases[i].count, &topology, &err),
				 0);
		if (neap_cpu_layout_new(topology, &layout, &err) != cases[i].ret)
			fail_msg("%s", cases[i].name);
		(void)neap_cpu_layout_unref(layout);
		(void)neap_topology_unref(topology);
	}
}

static void layout_memory(void **state)
{
	const struct neap_processor rows[] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 1, 0, -1}};
	struct neap_topology *topology;
	struct neap_cpu_layout *layout;
	struct neap_cpu_use *use;
	struct neap_error err;

	(void)state;
	/* One without a NUMA node is in a group of its own. */
	assert_int_equal(neap_topology_new_from_processors(rows, 3, &topology, &err), 0);
	assert_int_equal(neap_cpu_layout_new(topology, &layout, &err), 0);
	assert_int_equal(layout->cpus, 3);
	assert_int_equal(layout->node_count, 2);
	assert_true(layout->nodes[0].mask[0] == UINT64_C(1) << layout->slot_of[2]);
	(void)neap_cpu_layout_unref(layout);
	(void)neap_topology_unref(topology);
	assert_int_equal(neap_topology_new_from_processors(rows, 0, &topology, &err), 0);
	assert_int_equal(neap_cpu_layout_new(topology, &layout, &err), -NEAP_EINVAL);
	(void)neap_topology_unref(topology);
	assert_int_equal(neap_topology_new_from_processors(rows, 2, &topology, &err), 0);
	for (uint64_t n = 1;; n++) {
		int ret;

		neap_mem_fail_at(n);
		ret = neap_cpu_layout_new(topology, &layout, &err);
		if (ret == 0)
			ret = neap_cpu_use_new(layout, &use, &err);
		neap_mem_fail_at(0);
		if (ret == 0)
			break;
		assert_int_equal(ret, -NEAP_ENOMEM);
		(void)neap_cpu_layout_unref(layout);
	}
	neap_cpu_use_free(use);
	(void)neap_cpu_layout_unref(layout);
	(void)neap_topology_unref(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout_bounds),
		cmocka_unit_test(layout_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
