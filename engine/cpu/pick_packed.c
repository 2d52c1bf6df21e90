/* SPDX-License-Identifier: Apache-2.0
 *
 * Packs CPUs as the kubelet's static CPU manager does. In each stage the remaining CPUs
 * are sorted by the larger part they are in (NUMA node or socket, whichever can contain
 * the other), then by the smaller one, then by core; among parts the one with the fewest
 * left comes first. A stage takes wholly free parts that are not too large. As in a
 * kubelet, a part is wholly free when it has the average number of CPUs of its kind. */
#include "engine/cpu/pick.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

enum level { LARGE, SMALL, CORE, LEVELS };

struct part {
	int id, left; /* CPUs of it that are not taken */
};

struct row {
	int cpu;
	struct part in[LEVELS];
};

struct packing {
	const struct neap_topology *topology;
	bool is_node_first; /* a NUMA node can hold sockets */
	int average[LEVELS];
	struct row *rows; /* CPUs that are left */
	int count;
	int *left; /* of each part, by its index; the longest list of them */
	int need;
	struct neap_cpuset *taken;
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	for (int level = LARGE; level < LEVELS; level++) {
		if (x->in[level].left != y->in[level].left)
			return x->in[level].left < y->in[level].left ? -1 : 1;
		if (x->in[level].id != y->in[level].id)
			return x->in[level].id < y->in[level].id ? -1 : 1;
	}
	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* Indexes; an unknown NUMA node is behind all. */
static int index_of(const struct packing *packing, int os_cpu, enum level level)
{
	const struct neap_cpu *cpu = neap_topology_find_cpu(packing->topology, os_cpu);

	if (level == CORE)
		return cpu->core;
	if ((level == LARGE) == packing->is_node_first)
		return cpu->node < 0 ? packing->topology->node_count : cpu->node;
	return cpu->socket;
}

static void sort(struct packing *packing)
{
	for (int level = LARGE; level < LEVELS; level++) {
		memset(packing->left, 0,
		       ((size_t)packing->topology->cpu_count +
			(size_t)packing->topology->node_count + 1) *
			       sizeof(*packing->left));
		for (int i = 0; i < packing->count; i++)
			packing->left[index_of(packing, packing->rows[i].cpu,
					       (enum level)level)]++;
		for (int i = 0; i < packing->count; i++)
			packing->rows[i].in[level].left = packing->left[index_of(
				packing, packing->rows[i].cpu, (enum level)level)];
	}
	qsort(packing->rows, (size_t)packing->count, sizeof(*packing->rows),
	      compare_rows);
}

/* The CPUs that are left of one part; they need not lie together. */
static void take_part(struct packing *packing, enum level level, int id)
{
	for (int i = 0; i < packing->count; i++)
		if (packing->rows[i].in[level].id == id &&
		    neap_cpuset_add(packing->taken, packing->rows[i].cpu))
			packing->need--;
}

static void stage(struct packing *packing, enum level level)
{
	int kept = 0;

	sort(packing);
	for (int i = 0; i < packing->count; i++) {
		const struct part *part = &packing->rows[i].in[level];

		if (!neap_cpuset_has(packing->taken, packing->rows[i].cpu) &&
		    part->left == packing->average[level] && part->left <= packing->need)
			take_part(packing, level, part->id);
	}
	for (int i = 0; i < packing->count; i++)
		if (!neap_cpuset_has(packing->taken, packing->rows[i].cpu))
			packing->rows[kept++] = packing->rows[i];
	packing->count = kept;
}

static void finish(struct packing *packing)
{
	sort(packing);
	for (int i = 0; i < packing->count && packing->need > 0; i++, packing->need--)
		(void)neap_cpuset_add(packing->taken, packing->rows[i].cpu);
}

/* Ids as the operating system has them; of a core its lowest CPU, as core ids repeat. */
static void fill(struct packing *packing, const struct neap_cpuset *from)
{
	const struct neap_topology *topology = packing->topology;

	for (int i = 0; i < topology->cpu_count; i++) {
		const struct neap_cpu *cpu = &topology->cpus[i];
		struct row *row = &packing->rows[packing->count];
		int node = cpu->node < 0 ? -1 : topology->nodes[cpu->node].os_node;
		int socket = topology->sockets[cpu->socket].os_socket;

		if (!neap_cpuset_has(from, cpu->os_cpu))
			continue;
		row->cpu = cpu->os_cpu;
		row->in[LARGE].id = packing->is_node_first ? node : socket;
		row->in[SMALL].id = packing->is_node_first ? socket : node;
		row->in[CORE].id = neap_cpuset_next(&topology->cores[cpu->core].cpus, -1);
		packing->count++;
	}
}

static void measure(struct packing *packing)
{
	const struct neap_topology *topology = packing->topology;
	int nodes = 0, average_node, average_socket;

	for (int i = 0; i < topology->node_count; i++)
		for (int k = 0; k < topology->cpu_count; k++)
			if (topology->cpus[k].node == i) {
				nodes++;
				break;
			}
	average_node = topology->cpu_count / (nodes > 0 ? nodes : 1);
	average_socket = topology->cpu_count / topology->socket_count;
	packing->is_node_first = topology->socket_count >= nodes;
	packing->average[LARGE] = packing->is_node_first ? average_node : average_socket;
	packing->average[SMALL] = packing->is_node_first ? average_socket : average_node;
	packing->average[CORE] = topology->cpu_count / topology->core_count;
}

int neap_pick_packed(const struct neap_topology *topology, const struct neap_cpuset *from,
		     int count, struct neap_cpuset *ret, struct neap_error *err)
{
	struct packing packing = {.topology = topology, .need = count, .taken = ret};
	size_t parts = (size_t)topology->cpu_count + (size_t)topology->node_count + 1;
	struct neap_cpuset known;
	int failed = 0;

	neap_cpuset_clear(ret);
	neap_cpuset_and(&known, from, &topology->online);
	if (count <= 0)
		return 0;
	if (neap_cpuset_count(&known) < count)
		return neap_error_set(err, NEAP_ENOFIT, "%d CPUs of %d", count,
				      neap_cpuset_count(&known));
	packing.rows =
		neap_alloc_array((size_t)topology->cpu_count, sizeof(*packing.rows));
	packing.left = neap_alloc_array(parts, sizeof(*packing.left));
	if (packing.rows && packing.left) {
		measure(&packing);
		fill(&packing, &known);
		for (int level = LARGE; level < LEVELS && packing.need > 0; level++)
			stage(&packing, (enum level)level);
		finish(&packing);
	} else {
		failed = neap_error_nomem(err);
	}
	free(packing.rows);
	free(packing.left);
	return failed;
}
