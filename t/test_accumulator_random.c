/* SPDX-License-Identifier: Apache-2.0
 *
 * Choosing CPUs: machines, uses and questions at random, answered a second time by
 * t/lib/slow_cpus.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "t/lib/slow_cpus.h"

#define ROUNDS 30000

static unsigned seed;

static int draw(int below)
{
	seed = seed * 1664525U + 1013904223U;
	return (int)((seed >> 8) % (unsigned)below);
}

/* Ids by slot, by thread, or in no order; here and there a CPU is offline. */
static int make_rows(struct neap_processor *rows)
{
	int sockets = 1 + draw(4), nodes = 1 + draw(3), cores = 1 + draw(5);
	int threads = draw(4) ? 2 : draw(2) ? 1 : 4, all = sockets * nodes * cores;
	int how = draw(3), ids[SLOW_CPUS * 4], count = 0;
	bool is_uneven = draw(4) == 0, is_one_node = draw(12) == 0;

	if (all * threads > SLOW_CPUS)
		threads = all > SLOW_CPUS / 2 ? 1 : 2;
	for (int i = 0; i < all * threads; i++)
		ids[i] = i;
	for (int i = all * threads - 1; how == 2 && i > 0; i--) {
		int k = draw(i + 1), swap = ids[i];

		ids[i] = ids[k];
		ids[k] = swap;
	}
	for (int core = 0; core < all; core++)
		for (int thread = 0; thread < threads; thread++) {
			if (is_uneven && draw(4) == 0)
				continue;
			rows[count++] = (struct neap_processor){
				.os_cpu = how == 1 ? core + thread * all
						   : ids[core * threads + thread],
				.core = core % (nodes * cores),
				.socket = core / (nodes * cores),
				.node = is_one_node ? 0 : core / cores};
		}
	return count;
}

static int compare_ids(const void *a, const void *b)
{
	return ((const struct slow_cpu *)a)->id - ((const struct slow_cpu *)b)->id;
}

/* The machine of the second one. Cores, nodes and sockets that have CPUs are numbered in
 * their order. */
static void make_machine(const struct neap_processor *rows, int count,
			 struct slow_machine *m)
{
	int cores[SLOW_CPUS] = {0}, nodes[SLOW_PARTS] = {0}, sockets[SLOW_PARTS] = {0};

	*m = (struct slow_machine){.count = count};
	for (int i = 0; i < count; i++) {
		cores[rows[i].socket * 16 + rows[i].core] = 1;
		nodes[rows[i].node] = 1;
		sockets[rows[i].socket] = 1;
	}
	for (int i = 0; i < SLOW_CPUS; i++)
		cores[i] = cores[i] ? m->cores++ : -1;
	for (int i = 0; i < SLOW_PARTS; i++) {
		nodes[i] = nodes[i] ? m->nodes++ : -1;
		sockets[i] = sockets[i] ? m->sockets++ : -1;
	}
	for (int i = count - 1; i >= 0; i--) {
		m->cpus[i] = (struct slow_cpu){
			.id = rows[i].os_cpu,
			.core = cores[rows[i].socket * 16 + rows[i].core],
			.node = nodes[rows[i].node],
			.socket = sockets[rows[i].socket]};
		m->node_socket[m->cpus[i].node] = m->cpus[i].socket;
	}
	qsort(m->cpus, (size_t)count, sizeof(*m->cpus), compare_ids);
}

static void make_question(struct slow_machine *m)
{
	int density = 1 + draw(4), holders = draw(3);

	m->take.need = draw(m->count) / (1 + draw(3)) + 1;
	m->take.max_refs = draw(3) ? 1 : 2 + draw(2);
	m->take.bind = draw(3);
	m->take.exclusive = draw(3);
	m->take.is_most_allocated = draw(2);
	for (int i = 0; i < m->count; i++) {
		m->cpus[i].is_free = draw(5) < density || draw(3) == 0;
		m->cpus[i].refs = draw(m->take.max_refs);
		m->cpus[i].policy =
			holders && draw(8) < holders ? draw(3) : NEAP_EXCLUSIVE_NONE;
	}
}

struct sets {
	uint64_t available[NEAP_CPU_WORDS_MAX], preferred[NEAP_CPU_WORDS_MAX];
	uint64_t answer[NEAP_CPU_WORDS_MAX];
	struct neap_cpuset want;
};

static void set_slot(uint64_t *set, int slot)
{
	set[slot / 64] |= 1ULL << (slot % 64);
}

static void ask(struct slow_machine *m, const struct neap_cpu_layout *layout,
		struct neap_cpu_use *use, struct sets *sets, int round)
{
	bool is_preferred[SLOW_CPUS] = {false}, has_preferred = draw(4) == 0, is_enough;
	struct neap_cpuset got;
	char want_text[512], got_text[512];
	int ret;

	memset(sets->available, 0, sizeof(sets->available));
	memset(sets->preferred, 0, sizeof(sets->preferred));
	for (int i = 0; i < m->count; i++) {
		int slot = layout->slot_of[m->cpus[i].id];

		if (m->cpus[i].is_free)
			set_slot(sets->available, slot);
		is_preferred[i] = draw(3) == 0;
		if (is_preferred[i])
			set_slot(sets->preferred, slot);
		neap_cpu_use_set(use, m->cpus[i].id, m->cpus[i].refs, m->cpus[i].policy);
	}
	m->take.layout = layout;
	m->take.use = use;
	m->take.available = sets->available;
	m->take.preferred = has_preferred ? sets->preferred : NULL;
	ret = neap_accumulator_take(&m->take, sets->answer, NULL);
	neap_cpu_layout_from_slots(layout, sets->answer, &got);
	is_enough = slow_answer(m, has_preferred ? is_preferred : NULL, &sets->want);
	assert_int_equal(ret, is_enough ? 0 : -NEAP_ENOFIT);
	assert_int_equal(neap_cpuset_count(&got), is_enough ? m->take.need : 0);
	for (int i = 0; i < layout->words; i++)
		assert_true((sets->answer[i] & ~sets->available[i]) == 0);
	if (neap_cpuset_is_equal(&got, &sets->want))
		return;
	(void)neap_cpuset_format(&got, got_text, sizeof(got_text));
	(void)neap_cpuset_format(&sets->want, want_text, sizeof(want_text));
	fail_msg("round %d: %s, not %s (need %d of %d, bind %d, exclusive %d, refs %d, "
		 "most %d, preferred %d)",
		 round, got_text, want_text, m->take.need, m->count, (int)m->take.bind,
		 (int)m->take.exclusive, m->take.max_refs, (int)m->take.is_most_allocated,
		 has_preferred);
}

static void random_questions(void **state)
{
	static struct slow_machine machine;
	static struct sets sets;

	(void)state;
	seed = 1;
	for (int round = 0; round < ROUNDS;) {
		struct neap_processor rows[SLOW_CPUS * 4];
		struct neap_topology *topology;
		struct neap_cpu_layout *layout;
		struct neap_cpu_use *use;
		struct neap_error err;
		int count = make_rows(rows);

		if (!count)
			continue;
		assert_int_equal(neap_topology_new_from_processors(rows, (size_t)count,
								   &topology, &err),
				 0);
		assert_int_equal(neap_cpu_layout_new(topology, &layout, &err), 0);
		assert_int_equal(neap_cpu_use_new(layout, &use, &err), 0);
		for (int i = 0; i < 10; i++, round++) {
			make_machine(rows, count, &machine);
			make_question(&machine);
			ask(&machine, layout, use, &sets, round);
		}
		neap_cpu_use_free(use);
		(void)neap_cpu_layout_unref(layout);
		(void)neap_topology_unref(topology);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
