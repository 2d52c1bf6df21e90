/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPUs of a machine renumbered, so that what is asked of them when CPUs are given out is a few operations on
 * words of 64 bits. Each CPU has a slot: cores in the order of socket and core id, each with as many slots as the
 * largest core needs (a power of two, so that no core lies in two words), its CPUs in the order of their ids.
 * Slots without a CPU are in no set. Immutable, and shared by reference count. */
#ifndef NEAP_ENGINE_MACHINE_CPU_LAYOUT_H
#define NEAP_ENGINE_MACHINE_CPU_LAYOUT_H

#include "engine/machine/topology.h"

/* Words of a set of slots. */
#define NEAP_CPU_WORDS_MAX 256
#define NEAP_CPU_SLOTS_MAX (NEAP_CPU_WORDS_MAX * 64)
/* NUMA nodes, and sockets, that have CPUs; and twice as many pairs of the two. */
#define NEAP_CPU_NODES_MAX 256
#define NEAP_CPU_PARTS_MAX (2 * NEAP_CPU_NODES_MAX)

/* CPUs that belong together: of a NUMA node, a socket, or both. Its words outside first..last are 0. */
struct neap_cpu_part {
	const uint64_t *mask;
	int first, last; /* words, last not among them */
	int node,
		socket; /* indexes; of a node in two sockets the one of its first slot */
};

/* How CPU ids lie in the slots of every node and every socket. */
enum neap_cpu_order {
	NEAP_CPU_BY_SLOT,   /* ids rise with slots: siblings are neighbours */
	NEAP_CPU_BY_THREAD, /* the first threads of all cores, then the second ones */
	NEAP_CPU_ANYHOW
};

struct neap_cpu_layout {
	unsigned refs; /* of one thread */
	int cpus, cores, node_count, socket_count, part_count;
	int stride; /* slots of a core: 1, 2, 4 ... 64 */
	int words;
	/* CPUs of each core; of unequal ones the most that divides all of them, as no set
	 * of cores is of anything between. */
	int per_core;
	int per_node,
		per_socket; /* CPUs by nodes, sockets; floored, as machines may be uneven */
	bool is_mixed;      /* cores have unequal numbers of CPUs */
	enum neap_cpu_order order;
	bool is_identity;       /* slots are the ids */
	bool nodes_are_sockets; /* each node is a socket, and each socket a node */
	bool is_even;           /* each core has per_core CPUs, which is stride */
	uint64_t low;           /* the first slot of each core of a word */
	const uint64_t *all;    /* of every CPU */
	const struct neap_cpu_part *nodes, *sockets; /* in the order of their ids */
	const struct neap_cpu_part *parts; /* of CPUs with the same node and socket */
	const int *cpu_of;                 /* of a slot; -1: none */
	const uint16_t *by_cpu;            /* the slots in the order of CPU ids */
	int slot_of[NEAP_CPU_MAX];         /* of a CPU; -1: none */
};

/* CPUs without a NUMA node count as those of one more, before all others. NEAP_EINVAL: no
 * CPUs; NEAP_ETOOLARGE: too many slots, nodes or sockets; NEAP_ENOMEM. */
int neap_cpu_layout_new(const struct neap_topology *topology,
			struct neap_cpu_layout **ret, struct neap_error *err);
struct neap_cpu_layout *neap_cpu_layout_ref(struct neap_cpu_layout *layout);
struct neap_cpu_layout *neap_cpu_layout_unref(struct neap_cpu_layout *layout); /* NULL */

/* CPUs that are not here are left out. to: words of the layout. */
void neap_cpu_layout_to_slots(const struct neap_cpu_layout *layout,
			      const struct neap_cpuset *set, uint64_t *to);
void neap_cpu_layout_from_slots(const struct neap_cpu_layout *layout,
				const uint64_t *slots, struct neap_cpuset *to);

#endif
