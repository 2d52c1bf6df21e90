/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds the layout of a topology, once. */
#include "engine/cpu/cpu_layout.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

/* A CPU by what its slot follows from. */
struct row {
	const struct neap_topology *topology;
	const struct neap_cpu *cpu;
	int slot;
};

static int compare_slots(const void *a_, const void *b_)
{
	const struct row *a = a_, *b = b_;
	const struct neap_topology *t = a->topology;
	int socket_a = t->sockets[a->cpu->socket].os_socket;
	int socket_b = t->sockets[b->cpu->socket].os_socket;

	if (socket_a != socket_b)
		return socket_a < socket_b ? -1 : 1;
	if (a->cpu->core != b->cpu->core) {
		int core_a = t->cores[a->cpu->core].os_core;
		int core_b = t->cores[b->cpu->core].os_core;

		if (core_a != core_b)
			return core_a < core_b ? -1 : 1;
		return a->cpu->core < b->cpu->core ? -1 : 1;
	}
	return a->cpu->os_cpu < b->cpu->os_cpu ? -1 : 1;
}

/* CPUs without a NUMA node, as on an offline one, form a group. */
static int node_number(const struct neap_topology *t, const struct neap_cpu *cpu)
{
	return cpu->node < 0 ? -1 : t->nodes[cpu->node].os_node;
}

/* Everything in one block. */
struct block {
	struct neap_cpu_layout layout;
	struct neap_cpu_part *nodes, *sockets, *parts;
	uint64_t *masks; /* of all, of nodes, sockets, parts */
	int *cpu_of;
	uint16_t *by_cpu;
	/* Ids of nodes and sockets, for the order; of parts both indexes. */
	int *node_ids, *socket_ids;
};

static void block_free(struct block *block)
{
	free(block->nodes);
	free(block->sockets);
	free(block->parts);
	free(block->masks);
	free(block->cpu_of);
	free(block->by_cpu);
	free(block->node_ids);
	free(block->socket_ids);
	free(block);
}

struct neap_cpu_layout *neap_cpu_layout_ref(struct neap_cpu_layout *layout)
{
	layout->refs++;
	return layout;
}

struct neap_cpu_layout *neap_cpu_layout_unref(struct neap_cpu_layout *layout)
{
	if (layout && --layout->refs == 0)
		block_free((struct block *)layout);
	return NULL;
}

static int compare_ids(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

/* Leaves each once, in order; returns how many. */
static int sort_ids(int *ids, int count)
{
	int have = 0;

	qsort(ids, (size_t)count, sizeof(*ids), compare_ids);
	for (int i = 0; i < count; i++)
		if (!have || ids[have - 1] != ids[i])
			ids[have++] = ids[i];
	return have;
}

static int find_id(const int *ids, int count, int id)
{
	const int *at = bsearch(&id, ids, (size_t)count, sizeof(*ids), compare_ids);

	return (int)(at - ids);
}

static int slots_of_core(int threads)
{
	int slots = 1;

	while (slots < threads)
		slots *= 2;
	return slots;
}

static uint64_t low_slots(int stride)
{
	uint64_t low = 0;

	for (int i = 0; i < 64; i += stride)
		low |= 1ULL << i;
	return low;
}

static int common_divisor(int a, int b)
{
	while (b) {
		int rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Counts, and the slot of each row. */
static int measure(struct block *block, struct row *rows, int count,
		   struct neap_error *err)
{
	struct neap_cpu_layout *layout = &block->layout;
	int cores = 0, threads = 0, most = 0;

	for (int i = 0; i < count; i++) {
		cores += !i || rows[i].cpu->core != rows[i - 1].cpu->core;
		threads =
			i && rows[i].cpu->core == rows[i - 1].cpu->core ? threads + 1 : 1;
		most = threads > most ? threads : most;
		if (i + 1 == count || rows[i + 1].cpu->core != rows[i].cpu->core)
			layout->per_core = common_divisor(layout->per_core, threads);
	}
	if (most > 64)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "a core with %d CPUs: at most 64", most);
	layout->stride = slots_of_core(most);
	if (cores > NEAP_CPU_SLOTS_MAX / layout->stride)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "too uneven: %d cores, and one of %d CPUs", cores,
				      most);
	layout->words = (cores * layout->stride + 63) / 64;
	layout->low = low_slots(layout->stride);
	layout->cpus = count;
	layout->cores = cores;
	layout->is_mixed = cores * most != count;
	layout->per_node = count / layout->node_count;
	layout->per_socket = count / layout->socket_count;
	layout->is_even = cores * layout->stride == count;
	for (int i = 0, core = -1, thread = 0; i < count; i++) {
		bool is_new = !i || rows[i].cpu->core != rows[i - 1].cpu->core;

		core += is_new;
		thread = is_new ? 0 : thread + 1;
		rows[i].slot = core * layout->stride + thread;
	}
	return 0;
}

static int find_part(const struct block *block, int node, int socket)
{
	for (int i = 0; i < block->layout.part_count; i++)
		if (block->parts[i].node == node && block->parts[i].socket == socket)
			return i;
	return -1;
}

static int add_part(struct block *block, int node, int socket)
{
	int at = find_part(block, node, socket);

	if (at >= 0)
		return at;
	if (block->layout.part_count == NEAP_CPU_PARTS_MAX)
		return -1;
	at = block->layout.part_count++;
	block->parts[at].node = node;
	block->parts[at].socket = socket;
	return at;
}

static void part_add(struct neap_cpu_part *part, uint64_t *mask, int slot)
{
	mask[slot / 64] |= 1ULL << (slot % 64);
	if (!part->mask)
		part->first = slot / 64;
	part->mask = mask;
	part->last = slot / 64 + 1; /* slots come in order */
}

static int fill(struct block *block, const struct row *rows, int count,
		struct neap_error *err)
{
	struct neap_cpu_layout *layout = &block->layout;
	const struct neap_topology *topology = rows[0].topology;
	size_t words = (size_t)layout->words, sets;
	uint64_t *nodes, *sockets, *parts;

	for (int i = 0; i < count; i++)
		if (add_part(block,
			     find_id(block->node_ids, layout->node_count,
				     node_number(topology, rows[i].cpu)),
			     find_id(block->socket_ids, layout->socket_count,
				     topology->sockets[rows[i].cpu->socket].os_socket)) <
		    0)
			return neap_error_set(err, NEAP_ETOOLARGE,
					      "NUMA nodes lie across too many sockets");
	sets = 1 +
	       (size_t)(layout->node_count + layout->socket_count + layout->part_count);
	block->masks = neap_alloc_array(sets * words, sizeof(uint64_t));
	block->cpu_of = neap_alloc_array(words * 64, sizeof(int));
	if (!block->masks || !block->cpu_of)
		return neap_error_nomem(err);
	nodes = block->masks + words;
	sockets = nodes + words * (size_t)layout->node_count;
	parts = sockets + words * (size_t)layout->socket_count;
	for (size_t i = 0; i < words * 64; i++)
		block->cpu_of[i] = -1;
	for (int i = 0; i < count; i++) {
		const struct neap_cpu *cpu = rows[i].cpu;
		int node = find_id(block->node_ids, layout->node_count,
				   node_number(topology, cpu));
		int socket = find_id(block->socket_ids, layout->socket_count,
				     topology->sockets[cpu->socket].os_socket);
		int part = find_part(block, node, socket), slot = rows[i].slot;

		if (!block->nodes[node].mask)
			block->nodes[node].socket = socket;
		block->nodes[node].node = node;
		block->sockets[socket].socket = socket;
		part_add(&block->nodes[node], nodes + words * (size_t)node, slot);
		part_add(&block->sockets[socket], sockets + words * (size_t)socket, slot);
		part_add(&block->parts[part], parts + words * (size_t)part, slot);
		block->masks[slot / 64] |= 1ULL << (slot % 64);
		block->cpu_of[slot] = cpu->os_cpu;
		layout->slot_of[cpu->os_cpu] = slot;
	}
	return 0;
}

/* CPU ids rise in the part when it is walked by slots, or by threads and then slots. */
static bool rises(const struct neap_cpu_layout *layout, const struct neap_cpu_part *part,
		  bool by_thread)
{
	int last = -1, threads = by_thread ? layout->stride : 1;

	for (int thread = 0; thread < threads; thread++)
		for (int slot = part->first * 64; slot < part->last * 64; slot++) {
			if ((part->mask[slot / 64] >> (slot % 64) & 1) == 0 ||
			    (by_thread && slot % layout->stride != thread))
				continue;
			if (layout->cpu_of[slot] < last)
				return false;
			last = layout->cpu_of[slot];
		}
	return true;
}

static bool all_rise(const struct neap_cpu_layout *layout, bool by_thread)
{
	for (int i = 0; i < layout->node_count; i++)
		if (!rises(layout, &layout->nodes[i], by_thread))
			return false;
	for (int i = 0; i < layout->socket_count; i++)
		if (!rises(layout, &layout->sockets[i], by_thread))
			return false;
	return true;
}

static void find_order(struct block *block)
{
	struct neap_cpu_layout *layout = &block->layout;
	int have = 0;

	layout->order = all_rise(layout, false)  ? NEAP_CPU_BY_SLOT
			: all_rise(layout, true) ? NEAP_CPU_BY_THREAD
						 : NEAP_CPU_ANYHOW;
	layout->is_identity = true;
	for (int cpu = 0; cpu < NEAP_CPU_MAX; cpu++)
		if (layout->slot_of[cpu] >= 0) {
			block->by_cpu[have++] = (uint16_t)layout->slot_of[cpu];
			layout->is_identity =
				layout->is_identity && layout->slot_of[cpu] == cpu;
		}
}

static int collect(struct block *block, const struct neap_topology *topology,
		   struct row *rows, struct neap_error *err)
{
	struct neap_cpu_layout *layout = &block->layout;
	int count = topology->cpu_count;

	for (int i = 0; i < count; i++) {
		const struct neap_cpu *cpu = &topology->cpus[i];

		rows[i] = (struct row){.topology = topology, .cpu = cpu};
		block->node_ids[i] = node_number(topology, cpu);
		block->socket_ids[i] = topology->sockets[cpu->socket].os_socket;
	}
	layout->node_count = sort_ids(block->node_ids, count);
	layout->socket_count = sort_ids(block->socket_ids, count);
	if (layout->node_count > NEAP_CPU_NODES_MAX ||
	    layout->socket_count > NEAP_CPU_NODES_MAX)
		return neap_error_set(
			err, NEAP_ETOOLARGE, "%d NUMA nodes and %d sockets: at most %d",
			layout->node_count, layout->socket_count, NEAP_CPU_NODES_MAX);
	qsort(rows, (size_t)count, sizeof(*rows), compare_slots);
	return measure(block, rows, count, err);
}

static int build(struct block *block, const struct neap_topology *topology,
		 struct neap_error *err)
{
	struct neap_cpu_layout *layout = &block->layout;
	size_t count = (size_t)topology->cpu_count;
	neap_auto_free struct row *rows = neap_alloc_array(count, sizeof(*rows));
	int ret;

	for (int i = 0; i < NEAP_CPU_MAX; i++)
		layout->slot_of[i] = -1;
	block->node_ids = neap_alloc_array(count, sizeof(int));
	block->socket_ids = neap_alloc_array(count, sizeof(int));
	block->by_cpu = neap_alloc_array(count, sizeof(uint16_t));
	if (!rows || !block->node_ids || !block->socket_ids || !block->by_cpu)
		return neap_error_nomem(err);
	ret = collect(block, topology, rows, err);
	if (ret < 0)
		return ret;
	block->nodes =
		neap_alloc_array((size_t)layout->node_count, sizeof(*block->nodes));
	block->sockets =
		neap_alloc_array((size_t)layout->socket_count, sizeof(*block->sockets));
	block->parts = neap_alloc_array(NEAP_CPU_PARTS_MAX, sizeof(*block->parts));
	if (!block->nodes || !block->sockets || !block->parts)
		return neap_error_nomem(err);
	ret = fill(block, rows, layout->cpus, err);
	if (ret < 0)
		return ret;
	layout->nodes_are_sockets = layout->part_count == layout->node_count &&
				    layout->part_count == layout->socket_count;
	layout->all = block->masks;
	layout->nodes = block->nodes;
	layout->sockets = block->sockets;
	layout->parts = block->parts;
	layout->cpu_of = block->cpu_of;
	layout->by_cpu = block->by_cpu;
	find_order(block);
	return 0;
}

int neap_cpu_layout_new(const struct neap_topology *topology,
			struct neap_cpu_layout **ret, struct neap_error *err)
{
	struct block *block;
	int failed;

	*ret = NULL;
	if (topology->cpu_count < 1)
		return neap_error_set(err, NEAP_EINVAL, "a machine without CPUs");
	block = neap_alloc(sizeof(*block));
	if (!block)
		return neap_error_nomem(err);
	block->layout.refs = 1;
	failed = build(block, topology, err);
	if (failed < 0)
		block_free(block);
	else
		*ret = &block->layout;
	return failed;
}

void neap_cpu_layout_to_slots(const struct neap_cpu_layout *layout,
			      const struct neap_cpuset *set, uint64_t *to)
{
	memset(to, 0, (size_t)layout->words * sizeof(*to));
	for (int cpu = neap_cpuset_next(set, -1); cpu >= 0;
	     cpu = neap_cpuset_next(set, cpu)) {
		int slot = layout->slot_of[cpu];

		if (slot >= 0)
			to[slot / 64] |= 1ULL << (slot % 64);
	}
}

void neap_cpu_layout_from_slots(const struct neap_cpu_layout *layout,
				const uint64_t *slots, struct neap_cpuset *to)
{
	neap_cpuset_clear(to);
	if (layout->is_identity) {
		int last = layout->words;

		while (last && !slots[last - 1])
			last--;
		memcpy(to->word, slots, (size_t)last * sizeof(*slots));
		to->len = (uint32_t)last;
		return;
	}
	for (int i = 0; i < layout->words; i++)
		for (uint64_t word = slots[i]; word; word &= word - 1)
			(void)neap_cpuset_add(
				to, layout->cpu_of[i * 64 + __builtin_ctzll(word)]);
}
