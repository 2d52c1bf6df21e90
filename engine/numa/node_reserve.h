/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node reserves by its annotation node.koordinator.sh/reservation: amounts, or
 * CPUs by number. */
#ifndef NEAP_ENGINE_NUMA_NODE_RESERVE_H
#define NEAP_ENGINE_NUMA_NODE_RESERVE_H

#include "engine/machine/cpuset.h"
#include "engine/object/amounts.h"

#define NEAP_KEY_NODE_RESERVATION "node.koordinator.sh/reservation"

struct neap_node_reserve {
	const char *cpu_text; /* as written, borrowed from the annotation; "": none */
	bool has_cpus;        /* readable CPU numbers were given */
	struct neap_cpuset cpus;
	int cores;         /* without cpu_text: the number of CPUs to pick on the node */
	bool is_only_cpus; /* amounts are not subtracted from allocatable */
	struct neap_amounts amounts; /* including the CPUs */
};

/* Reads the annotation as JSON; NULL: nothing is reserved. An unreadable CPU list counts
 * as none; any other unreadable part is an error, as in the reference: NEAP_EINVAL,
 * NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_node_reserve_read(const json_t *annotation, struct neap_resources *resources,
			   struct neap_node_reserve *ret, struct neap_error *err);
/* Subtracts the reserved amounts from allocatable, not below 0 and never from
 * kubernetes.io/batch-*. Returns whether anything changed. */
bool neap_node_reserve_trim(const struct neap_node_reserve *reserve,
			    const struct neap_resources *resources,
			    struct neap_amounts *allocatable);

#endif
