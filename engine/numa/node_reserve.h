/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node keeps from pods by its annotation node.koordinator.sh/reservation: amounts, or CPUs by number. */
#ifndef NEAP_ENGINE_NUMA_NODE_RESERVE_H
#define NEAP_ENGINE_NUMA_NODE_RESERVE_H

#include "engine/machine/cpuset.h"
#include "engine/object/amounts.h"

#define NEAP_KEY_NODE_RESERVATION "node.koordinator.sh/reservation"

struct neap_node_reserve {
	const char
		*cpu_text; /* as it is written, borrowed from the annotation; "": none */
	bool has_cpus;     /* that can be read */
	struct neap_cpuset cpus;
	int cores; /* without cpu_text: so many CPUs are to be picked on the node */
	bool is_only_cpus;           /* amounts are not taken off what is allocatable */
	struct neap_amounts amounts; /* with the CPUs in them */
};

/* The annotation as JSON, NULL: nothing is kept. A list of CPUs that cannot be read counts as none; anything else that
 * cannot is an error, as for the reference: NEAP_EINVAL, NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_node_reserve_read(const json_t *annotation, struct neap_resources *resources,
			   struct neap_node_reserve *ret, struct neap_error *err);
/* Takes it off what is allocatable, down to 0; never off kubernetes.io/batch-*. True: something changed. */
bool neap_node_reserve_trim(const struct neap_node_reserve *reserve,
			    const struct neap_resources *resources,
			    struct neap_amounts *allocatable);

#endif
