/* SPDX-License-Identifier: Apache-2.0
 *
 * A machine as flat arrays: one row per CPU, core, L3, NUMA node and socket. Built by
 * hw/topology (hwloc) or from a list of processors (tests, node annotations). Read-only
 * afterwards, and reference counted.
 *
 * Indexes into the arrays are neap's own, counted from 0 in order of first appearance;
 * os_* members are operating system numbers. Machines are uneven: cores without SMT,
 * packages of different sizes, NUMA nodes without CPUs or several with the same CPUs, an
 * L3 that is missing or smaller than a package. */
#ifndef NEAP_ENGINE_MACHINE_TOPOLOGY_H
#define NEAP_ENGINE_MACHINE_TOPOLOGY_H

#include "engine/machine/cpuset.h"

struct neap_cpu {
	int os_cpu;
	int core;   /* index into cores */
	int socket; /* index into sockets */
	int node;   /* index of the nearest ordinary memory's node, -1 unknown */
	int l3;     /* index into l3s, -1 none */
	int thread; /* counted from 0 within its core */
	/* CPU kind by ascending performance, 0 when all are equal or unknown */
	int kind;
};

struct neap_core {
	int os_core; /* unique within its socket only */
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
	/* the node its CPUs use first; false for extra PMEM, HBM or GPU memory */
	bool is_near;
	struct neap_cpuset cpus; /* may be empty, or equal to another node's */
};

struct neap_socket {
	/* firmware number, or the index where numbers repeat; always unique */
	int os_socket;
	struct neap_cpuset cpus;
};

struct neap_topology {
	unsigned refs;             /* atomic: the policy thread holds references */
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

/* One processor, as node annotations and test vectors describe it. A core is (socket,
 * core). */
struct neap_processor {
	int os_cpu, core, socket, node;
};

/* Builds a topology from rows in any order. A repeated CPU is an error, node -1 is
 * unknown, and no rows give an empty machine. L3s, sizes and kinds stay unknown. */
int neap_topology_new_from_processors(const struct neap_processor *rows, size_t count,
				      struct neap_topology **ret, struct neap_error *err);
/* Returns an empty topology with room for the given numbers of rows and one reference;
 * for hw/topology. NULL without memory. */
struct neap_topology *neap_topology_new(int cpus, int cores, int l3s, int nodes,
					int sockets);
struct neap_topology *neap_topology_ref(struct neap_topology *topology);
struct neap_topology *neap_topology_unref(struct neap_topology *topology); /* NULL */

/* Returns whether two topologies are equal in every known fact, with rows in the same
 * order. */
bool neap_topology_is_equal(const struct neap_topology *a, const struct neap_topology *b);

/* Returns the row of a CPU, NULL if it is offline or unknown. */
const struct neap_cpu *neap_topology_find_cpu(const struct neap_topology *topology,
					      int os_cpu);

#endif
