/* SPDX-License-Identifier: Apache-2.0
 *
 * A topology: memory, references, lookup, and building one from a list of processors. */
#include "engine/machine/topology.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

struct neap_topology *neap_topology_new(int cpus, int cores, int l3s, int nodes,
					int sockets)
{
	struct neap_topology *t;

	if (cpus < 0 || cores < 0 || l3s < 0 || nodes < 0 || sockets < 0)
		return NULL;
	t = neap_alloc(sizeof(*t));
	if (!t)
		return NULL;
	t->refs = 1;
	t->kind_count = 1;
	t->cpus = neap_alloc_array((size_t)cpus, sizeof(*t->cpus));
	t->cores = neap_alloc_array((size_t)cores, sizeof(*t->cores));
	t->l3s = neap_alloc_array((size_t)l3s, sizeof(*t->l3s));
	t->nodes = neap_alloc_array((size_t)nodes, sizeof(*t->nodes));
	t->sockets = neap_alloc_array((size_t)sockets, sizeof(*t->sockets));
	if (!t->cpus || !t->cores || !t->l3s || !t->nodes || !t->sockets)
		return neap_topology_unref(t);
	return t;
}

struct neap_topology *neap_topology_ref(struct neap_topology *topology)
{
	if (topology)
		(void)__atomic_add_fetch(&topology->refs, 1, __ATOMIC_RELAXED);
	return topology;
}

struct neap_topology *neap_topology_unref(struct neap_topology *topology)
{
	if (!topology || __atomic_sub_fetch(&topology->refs, 1, __ATOMIC_ACQ_REL))
		return NULL;
	free(topology->cpus);
	free(topology->cores);
	free(topology->l3s);
	free(topology->nodes);
	free(topology->sockets);
	free(topology);
	return NULL;
}

static bool has_equal_parts(const struct neap_topology *a, const struct neap_topology *b)
{
	for (int i = 0; i < a->core_count; i++)
		if (a->cores[i].os_core != b->cores[i].os_core ||
		    a->cores[i].socket != b->cores[i].socket ||
		    !neap_cpuset_is_equal(&a->cores[i].cpus, &b->cores[i].cpus))
			return false;
	for (int i = 0; i < a->l3_count; i++)
		if (a->l3s[i].size_bytes != b->l3s[i].size_bytes ||
		    !neap_cpuset_is_equal(&a->l3s[i].cpus, &b->l3s[i].cpus))
			return false;
	for (int i = 0; i < a->node_count; i++)
		if (a->nodes[i].os_node != b->nodes[i].os_node ||
		    a->nodes[i].memory_bytes != b->nodes[i].memory_bytes ||
		    a->nodes[i].is_near != b->nodes[i].is_near ||
		    !neap_cpuset_is_equal(&a->nodes[i].cpus, &b->nodes[i].cpus))
			return false;
	for (int i = 0; i < a->socket_count; i++)
		if (a->sockets[i].os_socket != b->sockets[i].os_socket ||
		    !neap_cpuset_is_equal(&a->sockets[i].cpus, &b->sockets[i].cpus))
			return false;
	return true;
}

bool neap_topology_is_equal(const struct neap_topology *a, const struct neap_topology *b)
{
	return a->cpu_count == b->cpu_count && a->core_count == b->core_count &&
	       a->l3_count == b->l3_count && a->node_count == b->node_count &&
	       a->socket_count == b->socket_count && a->kind_count == b->kind_count &&
	       strcmp(a->model, b->model) == 0 &&
	       neap_cpuset_is_equal(&a->online, &b->online) &&
	       memcmp(a->cpus, b->cpus, (size_t)a->cpu_count * sizeof(*a->cpus)) == 0 &&
	       has_equal_parts(a, b);
}

const struct neap_cpu *neap_topology_find_cpu(const struct neap_topology *topology,
					      int os_cpu)
{
	int low = 0, high = topology->cpu_count;

	/* Without holes the row is where its number says. */
	if (os_cpu >= 0 && os_cpu < high && topology->cpus[os_cpu].os_cpu == os_cpu)
		return &topology->cpus[os_cpu];
	while (low < high) {
		int middle = low + (high - low) / 2;

		if (topology->cpus[middle].os_cpu < os_cpu)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < topology->cpu_count && topology->cpus[low].os_cpu == os_cpu)
		return &topology->cpus[low];
	return NULL;
}

/* Building from processors. The distinct keys of the rows, ascending, each with the index
 * that it gets; -1 until then. */
struct ident {
	uint64_t key;
	int index;
};

struct idents {
	struct ident *row;
	int count;
};

enum ident_of { OF_CORE, OF_NODE, OF_SOCKET };

static uint64_t key_of(const struct neap_processor *p, enum ident_of of)
{
	switch (of) {
	case OF_CORE:
		return (uint64_t)(uint32_t)p->socket << 32 | (uint32_t)p->core;
	case OF_NODE:
		return (uint32_t)p->node;
	default:
		return (uint32_t)p->socket;
	}
}

static int compare_idents(const void *a, const void *b)
{
	const struct ident *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static int compare_processors(const void *a, const void *b)
{
	const struct neap_processor *x = a, *y = b;

	return (x->os_cpu > y->os_cpu) - (x->os_cpu < y->os_cpu);
}

static bool idents_init(struct idents *ids, const struct neap_processor *rows,
			size_t count, enum ident_of of)
{
	ids->row = neap_alloc_array(count, sizeof(*ids->row));
	if (!ids->row)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (of == OF_NODE && rows[i].node < 0)
			continue;
		ids->row[ids->count].key = key_of(&rows[i], of);
		ids->row[ids->count++].index = -1;
	}
	qsort(ids->row, (size_t)ids->count, sizeof(*ids->row), compare_idents);

	int kept = 0;

	for (int i = 0; i < ids->count; i++)
		if (!kept || ids->row[kept - 1].key != ids->row[i].key)
			ids->row[kept++] = ids->row[i];
	ids->count = kept;
	return true;
}

static struct ident *idents_find(const struct idents *ids, const struct neap_processor *p,
				 enum ident_of of)
{
	struct ident wanted = {key_of(p, of), 0};

	return bsearch(&wanted, ids->row, (size_t)ids->count, sizeof(wanted),
		       compare_idents);
}

static int check_rows(const struct neap_processor *rows, size_t count,
		      struct neap_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct neap_processor *p = &rows[i];

		if (p->os_cpu < 0 || p->os_cpu >= NEAP_CPU_MAX)
			return neap_error_set(err, NEAP_EINVAL, "CPU %d is not in 0..%d",
					      p->os_cpu, NEAP_CPU_MAX - 1);
		if (i && p->os_cpu == rows[i - 1].os_cpu)
			return neap_error_set(err, NEAP_EINVAL, "CPU %d is listed twice",
					      p->os_cpu);
		if (p->core < 0 || p->socket < 0 || p->node < -1)
			return neap_error_set(
				err, NEAP_EINVAL,
				"CPU %d has core %d, socket %d, NUMA node %d", p->os_cpu,
				p->core, p->socket, p->node);
	}
	return 0;
}

static void add_row(struct neap_topology *t, const struct neap_processor *p,
		    struct ident *core_id, struct ident *node_id, struct ident *socket_id)
{
	struct neap_cpu *cpu = &t->cpus[t->cpu_count++];
	struct neap_core *core;

	if (socket_id->index < 0) {
		socket_id->index = t->socket_count++;
		t->sockets[socket_id->index].os_socket = p->socket;
	}
	if (core_id->index < 0) {
		core_id->index = t->core_count++;
		t->cores[core_id->index].os_core = p->core;
		t->cores[core_id->index].socket = socket_id->index;
	}
	core = &t->cores[core_id->index];

	cpu->os_cpu = p->os_cpu;
	cpu->core = core_id->index;
	cpu->socket = socket_id->index;
	cpu->node = node_id ? node_id->index : -1;
	cpu->l3 = -1;
	cpu->thread = neap_cpuset_count(&core->cpus);

	(void)neap_cpuset_add(&t->online, p->os_cpu); /* checked before */
	(void)neap_cpuset_add(&core->cpus, p->os_cpu);
	(void)neap_cpuset_add(&t->sockets[cpu->socket].cpus, p->os_cpu);
	if (node_id)
		(void)neap_cpuset_add(&t->nodes[cpu->node].cpus, p->os_cpu);
}

static int build(const struct neap_processor *rows, size_t count, struct idents ids[3],
		 struct neap_topology **ret, struct neap_error *err)
{
	struct neap_topology *t;

	for (int of = OF_CORE; of <= OF_SOCKET; of++)
		if (!idents_init(&ids[of], rows, count, (enum ident_of)of))
			return neap_error_nomem(err);
	t = neap_topology_new((int)count, ids[OF_CORE].count, 0, ids[OF_NODE].count,
			      ids[OF_SOCKET].count);
	if (!t)
		return neap_error_nomem(err);

	/* Nodes keep the order of their numbers, the others that of their first CPU. */
	t->node_count = ids[OF_NODE].count;
	for (int i = 0; i < t->node_count; i++) {
		ids[OF_NODE].row[i].index = i;
		t->nodes[i].os_node = (int)ids[OF_NODE].row[i].key;
		t->nodes[i].is_near = true;
	}
	for (size_t i = 0; i < count; i++)
		add_row(t, &rows[i], idents_find(&ids[OF_CORE], &rows[i], OF_CORE),
			rows[i].node < 0 ? NULL
					 : idents_find(&ids[OF_NODE], &rows[i], OF_NODE),
			idents_find(&ids[OF_SOCKET], &rows[i], OF_SOCKET));
	*ret = t;
	return 0;
}

int neap_topology_new_from_processors(const struct neap_processor *rows, size_t count,
				      struct neap_topology **ret, struct neap_error *err)
{
	neap_auto_free struct neap_processor *sorted = NULL;
	struct idents ids[3] = {0};
	int r;

	if (count > NEAP_CPU_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "%zu processors; %d are possible", count,
				      NEAP_CPU_MAX);
	sorted = neap_alloc_array(count, sizeof(*sorted));
	if (!sorted)
		return neap_error_nomem(err);
	if (count) {
		memcpy(sorted, rows, count * sizeof(*sorted));
		qsort(sorted, count, sizeof(*sorted), compare_processors);
	}
	r = check_rows(sorted, count, err);
	if (r == 0)
		r = build(sorted, count, ids, ret, err);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(ids); i++)
		free(ids[i].row);
	return r;
}
