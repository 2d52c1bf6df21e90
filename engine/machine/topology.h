/* SPDX-License-Identifier: Apache-2.0
 *
 * A machine as flat arrays: one row per CPU, per core, per L3, per NUMA node, per socket. Made by
 * hw/topology (hwloc) or from a list of processors (tests, node annotations); read-only
 * afterwards, and shared by reference count.
 *
 * Indexes into the arrays are neap's own, 0.. in the order of first appearance; os_* members are
 * the numbers of the operating system. Machines are uneven: cores without SMT, packages of
 * different size, NUMA nodes without CPUs or several with the same CPUs, an L3 missing or smaller
 * than a package. */
#ifndef NEAP_ENGINE_MACHINE_TOPOLOGY_H
#define NEAP_ENGINE_MACHINE_TOPOLOGY_H

#include "engine/machine/cpuset.h"

struct neap_cpu {
	int os_cpu;
	int core;   /* index into cores */
	int socket; /* index into sockets */
	int node;   /* index into nodes of the nearest ordinary memory, -1 unknown */
	int l3;     /* index into l3s, -1 none */
	int thread; /* 0.. within its core */
	int kind;   /* CPU kind by rising performance, 0 when all are equal or unknown */
};

struct neap_core {
	int os_core; /* unique only within its socket */
	int socket;
	struct neap_cpuset cpus;
};

struct neap_l3 {
	int64_t size_bytes; /* 0 unknown */
	struct neap_cpuset cpus;
};

struct neap_numa {
	int os_node;
	int64_t memory_bytes; /* 0 unknown */
	bool is_near; /* the node that its CPUs use first; false for PMEM, HBM, GPU memory beside */
	struct neap_cpuset cpus; /* may be empty, may equal another node's */
};

struct neap_socket {
	int os_socket; /* of the firmware; its index where numbers repeat: no two are equal */
	struct neap_cpuset cpus;
};

struct neap_topology {
	unsigned refs;             /* counted atomically: the policy thread holds some */
	struct neap_cpuset online; /* all rows of cpus */
	struct neap_cpu *cpus;     /* ascending os_cpu */
	int cpu_count;
	struct neap_core *cores;
	int core_count;
	struct neap_l3 *l3s;
	int l3_count;
	struct neap_numa *nodes; /* ascending os_node */
	int node_count;
	struct neap_socket *sockets;
	int socket_count;
	int kind_count; /* 1 when all CPUs are equal or nothing is known */
	char model[96]; /* CPU model name, "" unknown */
};

/* One processor as node annotations and test vectors give it. A core is (socket, core). */
struct neap_processor {
	int os_cpu, core, socket, node;
};

/* Builds a topology from rows in any order. A repeated CPU is an error, node -1 is unknown, no
 * rows make an empty machine. L3s, sizes and kinds are not known afterwards. */
int neap_topology_new_from_processors(const struct neap_processor *rows, size_t count,
				      struct neap_topology **ret, struct neap_error *err);
/* An empty one with room for the given rows, its counts 0, its one reference the caller's; for
 * hw/topology. NULL without memory. */
struct neap_topology *neap_topology_new(int cpus, int cores, int l3s, int nodes,
					int sockets);
struct neap_topology *neap_topology_ref(struct neap_topology *topology);
struct neap_topology *neap_topology_unref(struct neap_topology *topology); /* NULL */

/* Whether they are alike in all that is known of them, with their rows in the same order. */
bool neap_topology_is_equal(const struct neap_topology *a, const struct neap_topology *b);

/* The row of a CPU, NULL if it is not here (offline, unknown). */
const struct neap_cpu *neap_topology_find_cpu(const struct neap_topology *topology,
					      int os_cpu);

#endif
