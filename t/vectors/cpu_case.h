/* SPDX-License-Identifier: Apache-2.0
 *
 * A case of area cpu-accumulator as a question, for the runner and for the bench. */
#ifndef NEAP_T_VECTORS_CPU_CASE_H
#define NEAP_T_VECTORS_CPU_CASE_H

#include <jansson.h>

#include "engine/cpu/accumulator.h"

struct cpu_case {
	struct neap_topology *topology;
	struct neap_cpu_layout *layout;
	struct neap_cpu_use *use;
	uint64_t available[NEAP_CPU_WORDS_MAX], preferred[NEAP_CPU_WORDS_MAX];
	struct neap_cpu_take take;
};

/* given: the fields of the case, with the topology itself in place of its name.
 * cpu_case_done in any case. Of a machine that is not told there is no layout, and only
 * take.need is set. An input of another form is NEAP_EINTERNAL. */
int cpu_case_parse(const json_t *given, struct cpu_case *ret, struct neap_error *err);
/* The machine that a case describes; NULL: it is not told. */
int cpu_case_topology(const json_t *given, struct neap_topology **ret,
		      struct neap_error *err);
void cpu_case_done(struct cpu_case *cpus);

#endif
