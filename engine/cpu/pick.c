/* SPDX-License-Identifier: Apache-2.0
 *
 * The picking orders of the references. Packed, as the kubelet's static CPU manager does:
 * in each stage the remaining CPUs are sorted by the larger part they are in (NUMA node
 * or socket, whichever can contain the other), then by the smaller one, then by core;
 * among parts the one with the fewest left comes first. A stage takes wholly free parts
 * that are not too large. As in a kubelet, a part is wholly free when it has the average
 * number of CPUs of its kind.
 *
 * Scattered: all CPUs are one array of sort keys, (bucket, core, cpu) from high to low
 * bits, so a bucket is a run of the array, and neighbours in it are the "list neighbours"
 * of the rule. Everything is on the stack: 64 KiB of keys, 112 KiB of buckets. */
#include "engine/cpu/pick.h"

#include <stddef.h>
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

/* --- scattered --- */

#define CPU_BITS  13
#define CORE_BITS 32
#define TAKEN     UINT64_MAX

_Static_assert(1 << CPU_BITS == NEAP_CPU_MAX, "a CPU number fills its bits of a key");

struct bucket {
	int16_t node, socket; /* of the CPUs in it */
	int16_t first_cpu;    /* lowest CPU of its lowest core */
	int16_t begin, size;  /* its run of keys */
	int16_t pair_at;      /* no pair begins before this place of the run */
	int16_t single_at;    /* all before it are taken */
};

struct state {
	uint64_t key[NEAP_CPU_MAX];
	struct bucket bucket[NEAP_CPU_MAX];
	int key_count, bucket_count;
	int *order; /* what was picked */
	int picked, wanted;
};

static int cpu_of(uint64_t key)
{
	return (int)(key & ((1u << CPU_BITS) - 1));
}

static uint64_t core_of(uint64_t key)
{
	return key >> CPU_BITS; /* with its bucket */
}

/* Index of the bucket. The one found last is nearly always right. */
static int find_bucket(struct state *s, const struct neap_cpu *cpu, int hint)
{
	int i = hint;

	if (i < s->bucket_count && s->bucket[i].node == cpu->node &&
	    s->bucket[i].socket == cpu->socket)
		return i;
	for (i = 0; i < s->bucket_count; i++)
		if (s->bucket[i].node == cpu->node && s->bucket[i].socket == cpu->socket)
			return i;
	s->bucket[i] = (struct bucket){.node = (int16_t)cpu->node,
				       .socket = (int16_t)cpu->socket};
	s->bucket_count++;
	return i;
}

/* The core's number, or a unique one after all others when the machine reports none. */
static uint32_t core_number(const struct neap_topology *t, int core)
{
	int os_core = t->cores[core].os_core;

	return os_core >= 0 ? (uint32_t)os_core : 0x80000000u | (uint32_t)core;
}

static void collect(struct state *s, const struct neap_topology *t,
		    const struct neap_cpuset *from)
{
	int bucket = 0;

	for (int id = neap_cpuset_next(from, -1); id >= 0;
	     id = neap_cpuset_next(from, id)) {
		const struct neap_cpu *cpu = neap_topology_find_cpu(t, id);

		if (!cpu)
			continue;
		bucket = find_bucket(s, cpu, bucket);
		s->bucket[bucket].size++;
		s->key[s->key_count++] = (uint64_t)bucket << (CORE_BITS + CPU_BITS) |
					 (uint64_t)core_number(t, cpu->core) << CPU_BITS |
					 (uint64_t)id;
	}
}

/* Heapsort, as qsort(3) may allocate. */
static void sink_down(uint64_t *key, int at, int count)
{
	uint64_t value = key[at];

	for (int child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && key[child + 1] > key[child])
			child++;
		if (key[child] <= value)
			break;
		key[at] = key[child];
	}
	key[at] = value;
}

static void sort_keys(uint64_t *key, int count)
{
	for (int i = count / 2 - 1; i >= 0; i--)
		sink_down(key, i, count);
	for (int i = count - 1; i > 0; i--) {
		uint64_t top = key[0];

		key[0] = key[i];
		key[i] = top;
		sink_down(key, 0, i);
	}
}

/* Larger first, then by first CPU. */
static bool comes_before(const struct bucket *a, const struct bucket *b)
{
	if (a->size != b->size)
		return a->size > b->size;
	return a->first_cpu < b->first_cpu;
}

/* Shell sort: a machine has a handful of buckets, a hostile list thousands. */
static void sort_buckets(struct bucket *bucket, int count)
{
	for (int gap = count / 2; gap > 0; gap /= 2)
		for (int i = gap; i < count; i++) {
			struct bucket moved = bucket[i];
			int at = i;

			for (; at >= gap && comes_before(&moved, &bucket[at - gap]);
			     at -= gap)
				bucket[at] = bucket[at - gap];
			bucket[at] = moved;
		}
}

static void lay_out_buckets(struct state *s)
{
	int begin = 0;

	for (int i = 0; i < s->bucket_count; i++) {
		s->bucket[i].begin = (int16_t)begin;
		s->bucket[i].first_cpu = (int16_t)cpu_of(s->key[begin]);
		begin += s->bucket[i].size;
	}
	sort_buckets(s->bucket, s->bucket_count);
}

static void take(struct state *s, uint64_t *key)
{
	s->order[s->picked++] = cpu_of(*key);
	*key = TAKEN;
}

/* Pairs are taken from the front, so that what was passed over never becomes a pair. */
static void take_pair(struct state *s, struct bucket *b)
{
	uint64_t *key = s->key + b->begin;

	for (int i = b->pair_at; i + 1 < b->size; i++) {
		if (core_of(key[i]) != core_of(key[i + 1]))
			continue;
		take(s, &key[i]);
		take(s, &key[i + 1]);
		b->pair_at = (int16_t)(i + 2);
		return;
	}
	b->pair_at = b->size;
}

static void take_single(struct state *s, struct bucket *b)
{
	uint64_t *key = s->key + b->begin;
	int i = b->single_at;

	while (i < b->size && key[i] == TAKEN)
		i++;
	b->single_at = (int16_t)i;
	if (i < b->size)
		take(s, &key[i]);
}

/* Goes round the buckets from *at on until fewer than least CPUs are wanted or a round,
 * counted from bucket 0, gave nothing. Leaves *at where it stopped: the next phase goes
 * on there. */
static void go_round(struct state *s, int *at, int least,
		     void (*take_from)(struct state *s, struct bucket *b))
{
	int before = -1;

	while (s->wanted - s->picked >= least) {
		if (*at == 0) {
			if (before == s->picked)
				break;
			before = s->picked;
		}
		take_from(s, &s->bucket[*at]);
		*at = (*at + 1) % s->bucket_count;
	}
}

int neap_pick_scatter(const struct neap_topology *topology,
		      const struct neap_cpuset *from, int count, int *ret_order)
{
	struct state s;
	int at = 0;

	if (count <= 0)
		return 0;
	s.key_count = s.bucket_count = s.picked = 0;
	s.wanted = count;
	s.order = ret_order;
	collect(&s, topology, from);
	if (s.key_count < count)
		return 0;
	sort_keys(s.key, s.key_count);
	lay_out_buckets(&s);
	go_round(&s, &at, 2, take_pair);
	go_round(&s, &at, 1, take_single);
	return s.picked;
}
