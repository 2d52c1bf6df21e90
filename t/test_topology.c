/* SPDX-License-Identifier: Apache-2.0
 *
 * Topologies from lists of processors: uneven machines, bad rows, running out of
 * memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/machine/topology.h"

#define ROWS 16

/* A machine as one line: per CPU "core/socket/node/thread" by neap's own indexes, then
 * the CPU lists of cores, nodes, sockets. */
static const struct machine {
	const char *name;
	struct neap_processor rows[ROWS]; /* cpu, core, socket, node */
	size_t count;
	const char *cpus, *cores, *nodes, *sockets;
} machines[] = {
	{"nothing", {{0}}, 0, "", "", "", ""},
	{"one CPU", {{0, 0, 0, 0}}, 1, "0:0/0/0/0", "0", "0", "0"},
	{"SMT, siblings far apart, rows in no order",
	 {{3, 1, 0, 0}, {0, 0, 0, 0}, {2, 0, 0, 0}, {1, 1, 0, 0}},
	 4,
	 "0:0/0/0/0 1:1/0/0/0 2:0/0/0/1 3:1/0/0/1",
	 "0,2 1,3",
	 "0-3",
	 "0-3"},
	{"core numbers repeat in each socket",
	 {{0, 0, 0, 0}, {1, 0, 1, 1}, {2, 0, 0, 0}, {3, 0, 1, 1}},
	 4,
	 "0:0/0/0/0 1:1/1/1/0 2:0/0/0/1 3:1/1/1/1",
	 "0,2 1,3",
	 "0,2 1,3",
	 "0,2 1,3"},
	{"hybrid: two threads on the large cores, one on the small, CPU 2 offline",
	 {{0, 0, 0, 0}, {1, 0, 0, 0}, {3, 4, 0, 0}, {4, 8, 0, 0}, {5, 9, 0, 0}},
	 5,
	 "0:0/0/0/0 1:0/0/0/1 3:1/0/0/0 4:2/0/0/0 5:3/0/0/0",
	 "0-1 3 4 5",
	 "0-1,3-5",
	 "0-1,3-5"},
	{"SMT4, two nodes in one socket, socket number 7, node 0 unknown",
	 {{0, 0, 7, 2},
	  {1, 0, 7, 2},
	  {2, 0, 7, 2},
	  {3, 0, 7, 2},
	  {4, 1, 7, 1},
	  {5, 2, 7, -1}},
	 6,
	 "0:0/0/1/0 1:0/0/1/1 2:0/0/1/2 3:0/0/1/3 4:1/0/0/0 5:2/0/-1/0",
	 "0-3 4 5",
	 "4 0-3",
	 "0-5"},
	{"packages of different size, sparse high numbers",
	 {{100, 0, 0, 0}, {8191, 0, 1, 1}, {4000, 1, 0, 0}},
	 3,
	 "100:0/0/0/0 4000:1/0/0/0 8191:2/1/1/0",
	 "100 4000 8191",
	 "100,4000 8191",
	 "100,4000 8191"},
};

static void add_list(char *text, size_t size, const struct neap_cpuset *cpus)
{
	size_t len = strlen(text);

	if (len)
		text[len++] = ' ';
	neap_cpuset_format(cpus, text + len, size - len);
}

static void check(const char *name, const char *what, const char *got, const char *want)
{
	if (strcmp(got, want) != 0)
		fail_msg("%s: %s '%s', not '%s'", name, what, got, want);
}

static void check_machine(const struct machine *m, const struct neap_topology *t)
{
	char cpus[400] = "", cores[400] = "", nodes[400] = "", sockets[400] = "";
	struct neap_cpuset all = {0};

	for (int i = 0; i < t->cpu_count; i++) {
		const struct neap_cpu *c = &t->cpus[i];
		size_t len = strlen(cpus);

		snprintf(cpus + len, sizeof(cpus) - len, "%s%d:%d/%d/%d/%d", i ? " " : "",
			 c->os_cpu, c->core, c->socket, c->node, c->thread);
		assert_ptr_equal(neap_topology_find_cpu(t, c->os_cpu), c);
		assert_int_equal(c->l3, -1);
		assert_int_equal(t->cores[c->core].socket, c->socket);
		neap_cpuset_add(&all, c->os_cpu);
	}
	for (int i = 0; i < t->core_count; i++)
		add_list(cores, sizeof(cores), &t->cores[i].cpus);
	for (int i = 0; i < t->node_count; i++)
		add_list(nodes, sizeof(nodes), &t->nodes[i].cpus);
	for (int i = 0; i < t->socket_count; i++)
		add_list(sockets, sizeof(sockets), &t->sockets[i].cpus);
	check(m->name, "CPUs", cpus, m->cpus);
	check(m->name, "cores", cores, m->cores);
	check(m->name, "nodes", nodes, m->nodes);
	check(m->name, "sockets", sockets, m->sockets);
	assert_true(neap_cpuset_is_equal(&all, &t->online));
	assert_int_equal(t->kind_count, 1);
	for (int cpu = -1; cpu <= NEAP_CPU_MAX; cpu++)
		assert_int_equal(!!neap_topology_find_cpu(t, cpu),
				 neap_cpuset_has(&all, cpu));
}

static void machine_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(machines); i++) {
		struct neap_topology *t = NULL;

		assert_int_equal(neap_topology_new_from_processors(
					 machines[i].rows, machines[i].count, &t, NULL),
				 0);
		check_machine(&machines[i], t);
		assert_ptr_equal(neap_topology_ref(t), t);
		assert_null(neap_topology_unref(t));
		check_machine(&machines[i], t); /* the other reference is still there */
		assert_null(neap_topology_unref(t));
	}
	assert_null(neap_topology_unref(NULL));
}

static const struct {
	const char *name;
	struct neap_processor rows[2];
} bad[] = {
	{"twice", {{1, 0, 0, 0}, {1, 1, 0, 0}}},     {"negative CPU", {{-1, 0, 0, 0}}},
	{"CPU too high", {{NEAP_CPU_MAX, 0, 0, 0}}}, {"negative core", {{1, -1, 0, 0}}},
	{"negative socket", {{1, 0, -1, 0}}},        {"node below -1", {{1, 0, 0, -2}}},
};

static void bad_rows(void **state)
{
	static struct neap_processor many[NEAP_CPU_MAX + 1];
	struct neap_topology *t = NULL;
	struct neap_error err;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		if (neap_topology_new_from_processors(bad[i].rows, 2, &t, &err) !=
			    -NEAP_EINVAL ||
		    t)
			fail_msg("%s", bad[i].name);
	}
	for (int i = 0; i <= NEAP_CPU_MAX; i++)
		many[i].os_cpu = many[i].core = i;
	assert_int_equal(
		neap_topology_new_from_processors(many, NEAP_CPU_MAX + 1, &t, &err),
		-NEAP_ETOOLARGE);
	assert_null(neap_topology_new(1, -1, 0, 0, 0));
	assert_int_equal(neap_topology_new_from_processors(many, NEAP_CPU_MAX, &t, &err),
			 0);
	assert_int_equal(t->core_count, NEAP_CPU_MAX);
	neap_topology_unref(t);
}

static void torture(void **state)
{
	int r = -1;

	(void)state;
	for (uint64_t n = 1; r < 0; n++) {
		struct neap_topology *t = NULL;
		struct neap_error err;

		neap_mem_fail_at(n);
		r = neap_topology_new_from_processors(machines[3].rows, machines[3].count,
						      &t, &err);
		neap_mem_fail_at(0);
		assert_true(r == 0 || (r == -NEAP_ENOMEM && !t));
		assert_true(n < 30);
		neap_topology_unref(t);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(machine_rows),
		cmocka_unit_test(bad_rows),
		cmocka_unit_test(torture),
	};
	const char *only = getenv("CASE");

	if (only && *only)
		cmocka_set_test_filter(only);
	return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
