/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of one kind of machine share its topology and layout: whatever differs is another
 * kind, and what was shared lives as long as anybody has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/cluster/machines.h"

static const struct neap_processor plain[4] = {
	{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 1, 0, 0}, {3, 1, 0, 0}};

static struct neap_topology *new_topology(const struct neap_processor *rows, size_t count)
{
	struct neap_topology *topology = NULL;

	assert_int_equal(neap_topology_new_from_processors(rows, count, &topology, NULL),
			 0);
	return topology;
}

struct machine {
	struct neap_topology *topology;
	struct neap_cpu_layout *layout;
};

static struct machine share(struct neap_machines *machines,
			    const struct neap_processor *rows, size_t count)
{
	struct machine one = {.topology = new_topology(rows, count)};

	assert_int_equal(neap_machines_share(machines, &one.topology, &one.layout, NULL),
			 0);
	return one;
}

static void drop(struct machine *one)
{
	(void)neap_topology_unref(one->topology);
	(void)neap_cpu_layout_unref(one->layout);
}

/* Another number in any place of any row, in one place of all rows, and a row less. */
static void test_kinds(void **state)
{
	struct neap_machines machines = {0};
	struct machine first = share(&machines, plain, 4);

	(void)state;
	for (size_t i = 0; i < 21; i++) {
		struct neap_processor rows[4];
		struct machine other, same;

		memcpy(rows, plain, sizeof(rows));
		for (size_t row = 0; row < 4 && i < 20; row++) {
			int *const place[] = {&rows[row].os_cpu, &rows[row].core,
					      &rows[row].socket, &rows[row].node};

			if (i >= 16 || row == i / 4)
				*place[i % 4] += 10;
		}
		other = share(&machines, rows, i < 20 ? 4 : 3);
		same = share(&machines, plain, 4);
		if (other.topology == same.topology || other.layout == same.layout)
			fail_msg("%zu is another machine", i);
		/* The first kind goes when it is the oldest of too many, and is there
		 * anew. */
		if (i + 1 < NEAP_MACHINES_MAX) {
			assert_ptr_equal(same.topology, first.topology);
			assert_ptr_equal(same.layout, first.layout);
		}
		assert_int_equal(same.layout->cpus, 4);
		drop(&other);
		drop(&same);
	}
	assert_int_equal(machines.count, NEAP_MACHINES_MAX);
	neap_machines_done(&machines);
	assert_int_equal(first.topology->cpu_count, 4);
	assert_int_equal(first.layout->cpu_of[3], 3);
	drop(&first);
}

/* What is known beside the processors counts as well. */
static void test_equal(void **state)
{
	struct neap_topology *a = new_topology(plain, 4), *b = new_topology(plain, 4);

	(void)state;
	assert_true(neap_topology_is_equal(a, b));
	b->nodes[0].memory_bytes = 1;
	assert_false(neap_topology_is_equal(a, b));
	b->nodes[0].memory_bytes = 0;
	b->nodes[0].is_near = !b->nodes[0].is_near;
	assert_false(neap_topology_is_equal(a, b));
	b->nodes[0].is_near = !b->nodes[0].is_near;
	b->model[0] = 'm';
	assert_false(neap_topology_is_equal(a, b));
	b->model[0] = '\0';
	assert_true(neap_topology_is_equal(a, b));
	(void)neap_topology_unref(a);
	(void)neap_topology_unref(b);
}

static void test_errors(void **state)
{
	struct neap_machines machines = {0};
	struct neap_topology *topology = new_topology(plain, 0), *as_it_was = topology;
	struct neap_cpu_layout *layout = NULL;
	struct neap_error err;
	int ret = -1;

	(void)state;
	assert_int_equal(neap_machines_share(&machines, &topology, &layout, &err),
			 -NEAP_EINVAL);
	assert_ptr_equal(topology, as_it_was);
	(void)neap_topology_unref(topology);
	for (uint64_t n = 1; ret < 0; n++) {
		topology = new_topology(plain, 4);
		neap_mem_fail_at(n);
		ret = neap_machines_share(&machines, &topology, &layout, &err);
		neap_mem_fail_at(0);
		assert_true(ret == 0 || (ret == -NEAP_ENOMEM && machines.count == 0));
		(void)neap_topology_unref(topology);
	}
	(void)neap_cpu_layout_unref(layout);
	neap_machines_done(&machines);
	assert_int_equal(machines.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
