/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts of pods by domain: by slot (what is counted: a term, a constraint) and by the value of a node label. Kinds of
 * pods are asked once which slots they count for; a node is then a walk over the kinds that are there, and what is in
 * its domain a look-up by row. Kept from decision to decision for its memory alone. */
#ifndef NEAP_ENGINE_DECIDE_TALLY_H
#define NEAP_ENGINE_DECIDE_TALLY_H

#include "engine/cluster/cluster.h"

#define NEAP_TALLY_STEP                                                                  \
	8 /* kinds and parts of them that are counted in a step of a decision */

struct neap_tally_slot {
	const uint32_t
		*at;     /* the domain by row, 0: none; NULL: the slot is not counted */
	uint32_t end;    /* domains are below */
	int64_t *counts; /* by domain */
	size_t size;
};

/* What a pod of a kind counts in a slot. */
struct neap_tally_part {
	uint32_t slot;
	int64_t more;
};

/* All zero is an empty one. */
struct neap_tally {
	struct neap_tally_slot *slots;
	size_t slot_count, slot_size;
	struct neap_tally_part *parts;
	size_t part_count, part_size;
	/* Of a kind: its parts, by its number. */
	struct neap_tally_kind {
		uint32_t from, count;
		bool is_known;
	} * kinds;
	size_t kind_size;
	bool is_short; /* of memory: what is counted is not all */
};

/* Begins anew, without slots. kinds: numbers of kinds are below. */
void neap_tally_clear(struct neap_tally *tally, uint32_t kinds);
/* The same, but what kinds count stays known: the slots will be the same ones. */
void neap_tally_again(struct neap_tally *tally);
void neap_tally_done(struct neap_tally *tally);
/* The next slot: by the domains of column, NULL (without memory) is short; each begins with first. Returns its number. */
uint32_t neap_tally_add_slot(struct neap_tally *tally,
			     const struct neap_label_column *column, int64_t first);
/* A slot that is not counted, so that the numbers are right. */
void neap_tally_skip_slot(struct neap_tally *tally);
/* In the function that is asked about a kind: one pod of it counts so much in a slot. */
void neap_tally_add_part(struct neap_tally *tally, uint32_t slot, int64_t more);
/* What pods of the kind count; ask is called when it is not known yet. Borrowed until the next call. */
const struct neap_tally_part *
neap_tally_parts(struct neap_tally *tally, const struct neap_row_kind *kind,
		 void (*ask)(void *arg, const struct neap_pod *one), void *arg,
		 size_t *ret_count);

/* The domain of a row; 0: none. */
static inline uint32_t neap_tally_domain(const struct neap_tally *tally, size_t slot,
					 uint32_t row)
{
	return tally->slots[slot].at ? tally->slots[slot].at[row] : 0;
}

/* What is counted in the domain of a row; 0 without one. */
static inline int64_t neap_tally_get(const struct neap_tally *tally, size_t slot,
				     uint32_t row)
{
	uint32_t domain = neap_tally_domain(tally, slot, row);

	return domain ? tally->slots[slot].counts[domain] : 0;
}

#endif
