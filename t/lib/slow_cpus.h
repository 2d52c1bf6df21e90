/* SPDX-License-Identifier: Apache-2.0
 *
 * Choosing CPUs a second time, by plain loops over lists of CPUs that follow the words of
 * the rules and know nothing of slots and words: what engine/cpu/accumulator.h is held
 * against. */
#ifndef NEAP_T_LIB_SLOW_CPUS_H
#define NEAP_T_LIB_SLOW_CPUS_H

#include "engine/cpu/accumulator.h"

#define SLOW_CPUS  160
#define SLOW_PARTS 32

struct slow_cpu {
	int id, core, node, socket; /* core: unique */
	bool is_free, is_given;
	int refs;
	enum neap_cpu_exclusive policy;
};

struct slow_machine {
	struct slow_cpu cpus[SLOW_CPUS]; /* by id */
	int count, cores, nodes, sockets;
	int node_socket[SLOW_PARTS]; /* of the first core */
	struct neap_cpu_take take;
	bool core_out[SLOW_CPUS], node_out[SLOW_PARTS];
	int left;
};

/* take.need CPUs of those that are free, first of the preferred ones (by index; NULL:
 * none are). False: there are not enough. */
bool slow_answer(struct slow_machine *m, const bool *is_preferred,
		 struct neap_cpuset *ret);

#endif
