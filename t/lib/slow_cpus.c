/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/slow_cpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"

struct list {
	int cpus[SLOW_CPUS]; /* indexes */
	int count, id;
	int keys[2];
};

static struct slow_machine *sorted; /* what a comparison is about */

static int of_core(const struct slow_machine *m, int core)
{
	int count = 0;

	for (int i = 0; i < m->count; i++)
		count += m->cpus[i].core == core;
	return count;
}

/* What divides the CPUs of every core. */
static int per_core(const struct slow_machine *m)
{
	for (int by = of_core(m, 0); by > 1; by--) {
		bool divides = true;

		for (int core = 0; core < m->cores; core++)
			divides = divides && of_core(m, core) % by == 0;
		if (divides)
			return by;
	}
	return 1;
}

static bool is_mixed(const struct slow_machine *m)
{
	for (int core = 1; core < m->cores; core++)
		if (of_core(m, core) != of_core(m, 0))
			return true;
	return false;
}

static bool is_core_out(const struct slow_machine *m, const struct slow_cpu *cpu)
{
	return m->take.exclusive == NEAP_EXCLUSIVE_PCPU && m->core_out[cpu->core];
}

static bool is_node_out(const struct slow_machine *m, const struct slow_cpu *cpu)
{
	return m->take.exclusive == NEAP_EXCLUSIVE_NUMA && m->node_out[cpu->node];
}

static void give(struct slow_machine *m, int index)
{
	struct slow_cpu *cpu = &m->cpus[index];

	assert_true(cpu->is_free && m->left > 0);
	cpu->is_free = false;
	cpu->is_given = true;
	m->left--;
	if (m->take.exclusive == NEAP_EXCLUSIVE_PCPU)
		m->core_out[cpu->core] = true;
	if (m->take.exclusive == NEAP_EXCLUSIVE_NUMA)
		m->node_out[cpu->node] = true;
}

static void give_some(struct slow_machine *m, const struct list *list, int count)
{
	for (int i = 0; i < count; i++)
		give(m, list->cpus[i]);
}

static bool is_shared(const struct slow_machine *m)
{
	return m->take.max_refs > 1;
}

static int compare_cpus(const void *a_, const void *b_)
{
	const struct slow_cpu *a = &sorted->cpus[*(const int *)a_];
	const struct slow_cpu *b = &sorted->cpus[*(const int *)b_];

	if (is_shared(sorted) && a->refs != b->refs)
		return a->refs - b->refs;
	return a->id - b->id;
}

static void sort_cpus(struct slow_machine *m, struct list *list)
{
	sorted = m;
	qsort(list->cpus, (size_t)list->count, sizeof(int), compare_cpus);
}

/* One of each core, the first. */
static void cut(const struct slow_machine *m, struct list *list)
{
	bool seen[SLOW_CPUS] = {false};
	int have = 0;

	for (int i = 0; i < list->count; i++) {
		int core = m->cpus[list->cpus[i]].core;

		if (!seen[core])
			list->cpus[have++] = list->cpus[i];
		seen[core] = true;
	}
	list->count = have;
}

static void spread(const struct slow_machine *m, struct list *list)
{
	struct list out = *list;
	bool used[SLOW_CPUS] = {false};

	if (list->count <= per_core(m))
		return;
	out.count = 0;
	while (out.count < list->count) {
		bool seen[SLOW_CPUS] = {false};

		for (int i = 0; i < list->count; i++) {
			int core = m->cpus[list->cpus[i]].core;

			if (used[i] || seen[core])
				continue;
			used[i] = seen[core] = true;
			out.cpus[out.count++] = list->cpus[i];
		}
	}
	*list = out;
}

/* a before b by the strategy. */
static int by_strategy(const struct slow_machine *m, int a, int b)
{
	return m->take.is_most_allocated ? a - b : b - a;
}

static bool goes_before(const struct slow_machine *m, const struct list *a,
			const struct list *b)
{
	for (int i = 0; i < 2; i++)
		if (a->keys[i] != b->keys[i])
			return by_strategy(m, a->keys[i], b->keys[i]) < 0;
	return a->id < b->id;
}

static void sort_lists(const struct slow_machine *m, struct list *lists, int count)
{
	for (int i = 0; i < count; i++)
		for (int k = i + 1; k < count; k++)
			if (goes_before(m, &lists[k], &lists[i])) {
				struct list swap = lists[i];

				lists[i] = lists[k];
				lists[k] = swap;
			}
}

static int count_free(const struct slow_machine *m, int node, int socket, bool no_core,
		      bool no_node)
{
	int count = 0;

	for (int i = 0; i < m->count; i++) {
		const struct slow_cpu *cpu = &m->cpus[i];

		count += cpu->is_free && (node < 0 || cpu->node == node) &&
			 (socket < 0 || cpu->socket == socket) &&
			 !(no_core && is_core_out(m, cpu)) &&
			 !(no_node && is_node_out(m, cpu));
	}
	return count;
}

/* Whole free cores of a node or a socket (the other is -1), in the order of cores. */
static void whole_cores(struct slow_machine *m, int node, int socket, bool no_node,
			struct list *ret)
{
	bool done[SLOW_CPUS] = {false};

	ret->count = 0;
	for (;;) {
		int best = -1, best_sum = 0;

		for (int core = 0; core < m->cores; core++) {
			int free = 0, sum = 0;

			for (int i = 0; i < m->count; i++) {
				const struct slow_cpu *cpu = &m->cpus[i];

				if (cpu->core != core || !cpu->is_free ||
				    (node >= 0 && cpu->node != node) ||
				    (socket >= 0 && cpu->socket != socket) ||
				    (no_node && is_node_out(m, cpu)))
					continue;
				free++;
				sum += is_shared(m) ? cpu->refs : 0;
			}
			if (done[core] || free != of_core(m, core))
				continue;
			if (best < 0 || sum < best_sum) {
				best = core;
				best_sum = sum;
			}
		}
		if (best < 0)
			return;
		done[best] = true;
		for (int i = 0; i < m->count; i++)
			if (m->cpus[i].core == best && m->cpus[i].is_free)
				ret->cpus[ret->count++] = i;
	}
}

static bool first_with_room(struct slow_machine *m, struct list *lists, int count)
{
	for (int i = 0; i < count; i++)
		if (lists[i].count >= m->left) {
			give_some(m, &lists[i], m->left);
			return true;
		}
	return false;
}

/* --- cores of unequal threads --- */

/* Cores of a list, in its order: the CPUs of each lie side by side. */
static int list_cores(const struct slow_machine *m, const struct list *list, int *ret)
{
	int count = 0;

	for (int i = 0; i < list->count; i++)
		if (!i || m->cpus[list->cpus[i]].core != m->cpus[list->cpus[i - 1]].core)
			ret[count++] = m->cpus[list->cpus[i]].core;
	return count;
}

/* Whether some of the lists' cores from a place on come to sum. */
static bool come_to(const struct slow_machine *m, const int *cores, int count, int sum)
{
	bool can[SLOW_CPUS + 1] = {true};

	for (int i = 0; i < count; i++)
		for (int s = SLOW_CPUS; s >= of_core(m, cores[i]); s--)
			can[s] = can[s] || can[s - of_core(m, cores[i])];
	return sum >= 0 && can[sum];
}

static void give_core(struct slow_machine *m, int core)
{
	for (int i = 0; i < m->count; i++)
		if (m->cpus[i].core == core)
			give(m, i);
}

/* Cores by list, then by their size: each is taken if what is left can then be made of
 * those behind it. */
static void give_cores_for(struct slow_machine *m, const struct list *lists, int count,
			   int sum)
{
	int cores[SLOW_CPUS], some[SLOW_CPUS], have = 0;

	for (int l = 0; l < count; l++) {
		int of = list_cores(m, &lists[l], some);

		for (int size = 1; size <= SLOW_CPUS; size++)
			for (int i = 0; i < of; i++)
				if (of_core(m, some[i]) == size)
					cores[have++] = some[i];
	}
	for (int i = 0; i < have; i++) {
		int size = of_core(m, cores[i]);

		if (!come_to(m, cores + i + 1, have - i - 1, sum - size))
			continue;
		give_core(m, cores[i]);
		sum -= size;
	}
}

static int largest(const struct slow_machine *m, const struct list *lists, int count,
		   int most)
{
	int cores[SLOW_CPUS], have = 0;

	for (int l = 0; l < count; l++)
		have += list_cores(m, &lists[l], cores + have);
	while (!come_to(m, cores, have, most))
		most--;
	return most;
}

static bool one_of(struct slow_machine *m, struct list *lists, int count, bool exact)
{
	sort_lists(m, lists, count);
	for (int l = 0; l < count; l++) {
		int sum;

		if (lists[l].count < m->left)
			continue;
		sum = largest(m, &lists[l], 1, m->left);
		if (exact && sum != m->left)
			continue;
		give_cores_for(m, &lists[l], 1, sum);
		for (int i = 0; i < lists[l].count && m->left; i++)
			if (m->cpus[lists[l].cpus[i]].is_free)
				give(m, lists[l].cpus[i]);
		return true;
	}
	return false;
}

static bool step_mixed(struct slow_machine *m)
{
	struct list lists[SLOW_PARTS];

	for (int exact = 1; exact >= 0; exact--) {
		for (int strict = 1; strict >= 0; strict--) {
			for (int n = 0; n < m->nodes; n++) {
				whole_cores(m, n, -1, strict, &lists[n]);
				lists[n].id = n;
				lists[n].keys[0] = lists[n].count;
				lists[n].keys[1] = count_free(m, -1, m->node_socket[n],
							      false, strict);
			}
			if (one_of(m, lists, m->nodes, exact))
				return true;
		}
		for (int s = 0; s < m->sockets; s++) {
			whole_cores(m, -1, s, false, &lists[s]);
			lists[s].id = s;
			lists[s].keys[0] = lists[s].count;
			lists[s].keys[1] = 0;
		}
		if (one_of(m, lists, m->sockets, exact))
			return true;
		/* The largest first, equal ones by id. */
		for (int i = 0; i < m->sockets; i++)
			for (int k = i + 1; k < m->sockets; k++)
				if (lists[k].count > lists[i].count ||
				    (lists[k].count == lists[i].count &&
				     lists[k].id < lists[i].id)) {
					struct list swap = lists[i];

					lists[i] = lists[k];
					lists[k] = swap;
				}
		if (exact && largest(m, lists, m->sockets, m->left) != m->left)
			continue;
		give_cores_for(m, lists, m->sockets,
			       largest(m, lists, m->sockets, m->left));
		return !m->left;
	}
	return false;
}

static bool step_whole(struct slow_machine *m)
{
	struct list lists[SLOW_PARTS], aside[SLOW_PARTS];
	int aside_count = 0;

	for (int strict = 1; strict >= 0 && m->left <= m->count / m->nodes; strict--) {
		for (int n = 0; n < m->nodes; n++) {
			whole_cores(m, n, -1, strict, &lists[n]);
			lists[n].id = n;
			lists[n].keys[0] = lists[n].count;
			lists[n].keys[1] =
				count_free(m, -1, m->node_socket[n], false, strict);
		}
		sort_lists(m, lists, m->nodes);
		if (first_with_room(m, lists, m->nodes))
			return true;
	}
	for (int s = 0; s < m->sockets; s++) {
		whole_cores(m, -1, s, false, &lists[s]);
		lists[s].id = s;
		lists[s].keys[0] = lists[s].count;
		lists[s].keys[1] = 0;
	}
	sort_lists(m, lists, m->sockets);
	if (m->left <= m->count / m->sockets && first_with_room(m, lists, m->sockets))
		return true;
	for (int size = SLOW_CPUS; size >= 0; size--)
		for (int s = 0; s < m->sockets; s++) {
			if (lists[s].count != size)
				continue;
			if (size <= m->left)
				give_some(m, &lists[s], size);
			else
				aside[aside_count++] = lists[s];
		}
	for (int size = 0; size <= SLOW_CPUS; size++)
		for (int s = 0; s < aside_count; s++)
			for (int i = 0;
			     aside[s].count == size && i < size && m->left >= per_core(m);
			     i += per_core(m))
				for (int k = 0; k < per_core(m); k++)
					give(m, aside[s].cpus[i + k]);
	return !m->left;
}

static void free_cpus(struct slow_machine *m, int node, int socket, bool no_core,
		      bool no_node, struct list *ret)
{
	ret->count = 0;
	for (int i = 0; i < m->count; i++) {
		const struct slow_cpu *cpu = &m->cpus[i];

		if (cpu->is_free && (node < 0 || cpu->node == node) &&
		    (socket < 0 || cpu->socket == socket) &&
		    !(no_core && is_core_out(m, cpu)) &&
		    !(no_node && is_node_out(m, cpu)))
			ret->cpus[ret->count++] = i;
	}
	sort_cpus(m, ret);
}

static bool step_spread(struct slow_machine *m)
{
	struct list lists[SLOW_PARTS];

	for (int strict = 1; strict >= 0 && m->left <= m->count / m->nodes; strict--) {
		for (int n = 0; n < m->nodes; n++) {
			free_cpus(m, n, -1, strict, strict, &lists[n]);
			lists[n].id = n;
			lists[n].keys[0] = lists[n].count;
			lists[n].keys[1] =
				count_free(m, -1, m->node_socket[n], strict, strict);
			if (strict)
				cut(m, &lists[n]);
			spread(m, &lists[n]);
		}
		sort_lists(m, lists, m->nodes);
		if (first_with_room(m, lists, m->nodes))
			return true;
	}
	for (int strict = 1; strict >= 0 && m->left <= m->count / m->sockets; strict--) {
		for (int s = 0; s < m->sockets; s++) {
			free_cpus(m, -1, s, strict, false, &lists[s]);
			if (strict)
				cut(m, &lists[s]);
			lists[s].id = s;
			lists[s].keys[0] = lists[s].count;
			lists[s].keys[1] = 0;
			spread(m, &lists[s]);
		}
		sort_lists(m, lists, m->sockets);
		if (first_with_room(m, lists, m->sockets))
			return true;
	}
	return false;
}

struct key {
	int parts[7], core;
};

static int compare_keys(const void *a_, const void *b_)
{
	const struct key *a = a_, *b = b_;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(a->parts); i++)
		if (a->parts[i] != b->parts[i])
			return a->parts[i] < b->parts[i] ? -1 : 1;
	return a->core - b->core;
}

static bool step_any(struct slow_machine *m, bool strict)
{
	struct key keys[SLOW_CPUS] = {0};
	struct list all = {.count = 0};
	int sign = m->take.is_most_allocated ? 1 : -1, have = 0;

	for (int core = 0; core < m->cores; core++) {
		const struct slow_cpu *one = NULL;
		int free = 0, sum = 0, given = 0;

		for (int i = 0; i < m->count; i++) {
			const struct slow_cpu *cpu = &m->cpus[i];

			if (cpu->core != core || !cpu->is_free ||
			    (strict && (is_core_out(m, cpu) || is_node_out(m, cpu))))
				continue;
			one = cpu;
			free++;
			sum += is_shared(m) ? cpu->refs : 0;
		}
		if (!one)
			continue;
		for (int i = 0; i < m->count; i++)
			given += m->cpus[i].is_given && m->cpus[i].socket == one->socket;
		keys[have++] = (struct key){
			{-given, sign * count_free(m, -1, one->socket, strict, strict),
			 sign * count_free(m, one->node, -1, strict, strict), free,
			 one->socket, sum, core},
			core};
	}
	qsort(keys, (size_t)have, sizeof(*keys), compare_keys);
	for (int i = 0; i < have; i++) {
		struct list cpus = {.count = 0};

		for (int k = 0; k < m->count; k++)
			if (m->cpus[k].core == keys[i].core && m->cpus[k].is_free)
				cpus.cpus[cpus.count++] = k;
		sort_cpus(m, &cpus);
		for (int k = 0; k < cpus.count; k++)
			all.cpus[all.count++] = cpus.cpus[k];
	}
	spread(m, &all);
	give_some(m, &all, all.count < m->left ? all.count : m->left);
	return !m->left;
}

static void accumulate(struct slow_machine *m)
{
	bool is_full = m->take.bind == NEAP_BIND_FULL_PCPUS;

	memset(m->core_out, 0, sizeof(m->core_out));
	memset(m->node_out, 0, sizeof(m->node_out));
	for (int i = 0; i < m->count; i++) {
		m->cpus[i].is_given = false;
		if (m->cpus[i].policy == NEAP_EXCLUSIVE_PCPU)
			m->core_out[m->cpus[i].core] = true;
		if (m->cpus[i].policy == NEAP_EXCLUSIVE_NUMA)
			m->node_out[m->cpus[i].node] = true;
	}
	if (is_full && is_mixed(m)                          ? step_mixed(m)
	    : is_full || (per_core(m) == 1 && !is_mixed(m)) ? step_whole(m)
							    : false)
		return;
	if (!is_full && step_spread(m))
		return;
	if (!step_any(m, true))
		(void)step_any(m, false);
}

bool slow_answer(struct slow_machine *m, const bool *is_preferred,
		 struct neap_cpuset *ret)
{
	int need = m->take.need, preferred = 0, all = 0;
	bool was_free[SLOW_CPUS];

	neap_cpuset_clear(ret);
	for (int i = 0; i < m->count; i++) {
		was_free[i] = m->cpus[i].is_free;
		all += was_free[i];
		preferred += was_free[i] && is_preferred && is_preferred[i];
	}
	if (need > all)
		return false;
	for (int run = is_preferred ? 0 : 1; run < 2; run++) {
		for (int i = 0; i < m->count; i++)
			m->cpus[i].is_free =
				was_free[i] && (!is_preferred || is_preferred[i] == !run);
		m->left = run ? need : preferred < need ? preferred : need;
		need -= m->left;
		if (m->left)
			accumulate(m);
		else
			continue;
		for (int i = 0; i < m->count; i++)
			if (m->cpus[i].is_given)
				(void)neap_cpuset_add(ret, m->cpus[i].id);
	}
	return true;
}
