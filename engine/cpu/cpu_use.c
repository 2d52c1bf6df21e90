/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pods hold which CPUs of a node. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/cpu/accumulator.h"

int neap_cpu_use_new(const struct neap_cpu_layout *layout, struct neap_cpu_use **ret,
		     struct neap_error *err)
{
	struct neap_cpu_use *use = neap_alloc(sizeof(*use));
	size_t words = (size_t)layout->words;

	*ret = NULL;
	if (!use)
		return neap_error_nomem(err);
	use->layout = layout;
	use->refs = neap_alloc_array(words * 64, sizeof(*use->refs));
	use->pcpu = neap_alloc_array(words, sizeof(*use->pcpu));
	use->numa = neap_alloc_array(words, sizeof(*use->numa));
	if (!use->refs || !use->pcpu || !use->numa) {
		neap_cpu_use_free(use);
		return neap_error_nomem(err);
	}
	*ret = use;
	return 0;
}

void neap_cpu_use_free(struct neap_cpu_use *use)
{
	if (!use)
		return;
	free(use->refs);
	free(use->pcpu);
	free(use->numa);
	free(use);
}

static void set_bit(uint64_t *set, int slot, bool is_in)
{
	uint64_t bit = 1ULL << (slot % 64);

	set[slot / 64] = is_in ? set[slot / 64] | bit : set[slot / 64] & ~bit;
}

void neap_cpu_use_set(struct neap_cpu_use *use, int os_cpu, int refs,
		      enum neap_cpu_exclusive exclusive)
{
	int slot =
		os_cpu >= 0 && os_cpu < NEAP_CPU_MAX ? use->layout->slot_of[os_cpu] : -1;

	if (slot < 0)
		return;
	refs = refs < 0 ? 0 : refs;
	use->refs[slot] = refs < UINT16_MAX ? (uint16_t)refs : UINT16_MAX;
	set_bit(use->pcpu, slot, exclusive == NEAP_EXCLUSIVE_PCPU);
	set_bit(use->numa, slot, exclusive == NEAP_EXCLUSIVE_NUMA);
}
