/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPUs of a machine renumbered so that questions asked while CPUs are given out take
 * a few operations on 64-bit words. Each CPU has a slot: cores are ordered by socket and
 * core id, each with as many slots as the largest core needs (a power of two, so no core
 * spans two words), and its CPUs are ordered by id. Slots without a CPU are in no set.
 * Immutable and reference counted. */
#ifndef NEAP_ENGINE_CPU_CPU_LAYOUT_H
#define NEAP_ENGINE_CPU_CPU_LAYOUT_H

#include "engine/machine/topology.h"

/* Words of a set of slots. */
#define NEAP_CPU_WORDS_MAX 256
#define NEAP_CPU_SLOTS_MAX (NEAP_CPU_WORDS_MAX * 64)
/* Limit on NUMA nodes with CPUs, and on sockets; pairs of the two may be twice as
 * many. */
#define NEAP_CPU_NODES_MAX 256
#define NEAP_CPU_PARTS_MAX (2 * NEAP_CPU_NODES_MAX)

/* CPUs of a NUMA node, a socket, or the intersection. Words outside first..last are 0. */
struct neap_cpu_part {
	const uint64_t *mask;
	int first, last; /* words; last is exclusive */
	int node,
		/* indexes; for a node in two sockets, the socket of its first slot */
		socket;
};

/* How CPU ids map to slots in every node and socket. */
enum neap_cpu_order {
	NEAP_CPU_BY_SLOT,   /* ids ascend with slots: siblings are neighbours */
	NEAP_CPU_BY_THREAD, /* first threads of all cores, then second threads */
	NEAP_CPU_ANYHOW
};

struct neap_cpu_layout {
	unsigned refs; /* of one thread */
	int cpus, cores, node_count, socket_count, part_count;
	int stride; /* slots per core: 1, 2, 4 ... 64 */
	int words;
	/* CPUs per core; with unequal cores the greatest common divisor, because every
	 * set of cores is a multiple of it. */
	int per_core;
	int per_node, per_socket; /* CPUs divided by nodes or sockets, rounded down */
	bool is_mixed;            /* cores have unequal numbers of CPUs */
	enum neap_cpu_order order;
	bool is_identity;       /* slots equal the ids */
	bool nodes_are_sockets; /* nodes and sockets correspond one to one */
	bool is_even;           /* each core has per_core CPUs, which equals stride */
	uint64_t low;           /* the first slot of each core in a word */
	const uint64_t *all;    /* of every CPU */
	const struct neap_cpu_part *nodes, *sockets; /* in the order of their ids */
	const struct neap_cpu_part *parts; /* CPUs with the same node and socket */
	const int *cpu_of;                 /* CPU of a slot; -1: none */
	const uint16_t *by_cpu;            /* slots in the order of CPU ids */
	int slot_of[NEAP_CPU_MAX];         /* slot of a CPU; -1: none */
};

/* CPUs without a NUMA node form one extra node before all others. NEAP_EINVAL: no CPUs;
 * NEAP_ETOOLARGE: too many slots, nodes or sockets; NEAP_ENOMEM. */
int neap_cpu_layout_new(const struct neap_topology *topology,
			struct neap_cpu_layout **ret, struct neap_error *err);
struct neap_cpu_layout *neap_cpu_layout_ref(struct neap_cpu_layout *layout);
struct neap_cpu_layout *neap_cpu_layout_unref(struct neap_cpu_layout *layout); /* NULL */

/* Unknown CPUs are ignored. to: as many words as the layout. */
void neap_cpu_layout_to_slots(const struct neap_cpu_layout *layout,
			      const struct neap_cpuset *set, uint64_t *to);
void neap_cpu_layout_from_slots(const struct neap_cpu_layout *layout,
				const uint64_t *slots, struct neap_cpuset *to);

#endif
