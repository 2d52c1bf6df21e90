/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts of pods by domain: by slot (a term or constraint) and by the value of a node
 * label. The slots that a kind of pods counts for are computed once per kind; counting a
 * node then walks its kinds, and reading a domain is a lookup by row. Kept between
 * decisions only to reuse memory. */
#ifndef NEAP_ENGINE_DECIDE_COLUMNS_TALLY_H
#define NEAP_ENGINE_DECIDE_COLUMNS_TALLY_H

#include "engine/cluster/cluster.h"

#define NEAP_TALLY_STEP                                                                  \
	8 /* pod kinds, and parts of them, counted per step of a decision */

struct neap_tally_slot {
	const uint32_t *at; /* domain by row, 0: none; NULL: the slot is not counted */
	uint32_t end;       /* domains are below */
	int64_t *counts;    /* by domain */
	size_t size;
};

/* How much a pod of a kind adds to a slot. */
struct neap_tally_part {
	uint32_t slot;
	int64_t more;
};

/* Zero bytes are an empty tally. */
struct neap_tally {
	struct neap_tally_slot *slots;
	size_t slot_count, slot_size;
	struct neap_tally_part *parts;
	size_t part_count, part_size;
	/* By kind number: the parts of a kind. */
	struct neap_tally_kind {
		uint32_t from, count;
		bool is_known;
	} * kinds;
	size_t kind_size;
	bool is_short; /* memory was short: counts are incomplete */
};

/* Removes all slots. kinds: an upper bound of kind numbers. */
void neap_tally_clear(struct neap_tally *tally, uint32_t kinds);
/* Clears the counts but keeps what each kind counts for; the slots must be added again
 * unchanged. */
void neap_tally_again(struct neap_tally *tally);
void neap_tally_done(struct neap_tally *tally);
/* Adds a slot with the domains of column (NULL, without memory, marks the tally short);
 * each domain starts at first. Returns the slot's number. */
uint32_t neap_tally_add_slot(struct neap_tally *tally,
			     const struct neap_label_column *column, int64_t first);
/* Adds a slot that is not counted, to keep numbers aligned. */
void neap_tally_skip_slot(struct neap_tally *tally);
/* Called by the function that is asked about a kind: one pod of the kind adds more to a
 * slot. */
void neap_tally_add_part(struct neap_tally *tally, uint32_t slot, int64_t more);
/* Returns what pods of the kind add; calls ask when it is not known yet. Borrowed until
 * the next call. */
const struct neap_tally_part *
neap_tally_parts(struct neap_tally *tally, const struct neap_row_kind *kind,
		 void (*ask)(void *arg, const struct neap_pod *one), void *arg,
		 size_t *ret_count);

/* Returns the domain of a row; 0: none. */
static inline uint32_t neap_tally_domain(const struct neap_tally *tally, size_t slot,
					 uint32_t row)
{
	return tally->slots[slot].at ? tally->slots[slot].at[row] : 0;
}

/* Returns the count in the domain of a row; 0 without a domain. */
static inline int64_t neap_tally_get(const struct neap_tally *tally, size_t slot,
				     uint32_t row)
{
	uint32_t domain = neap_tally_domain(tally, slot, row);

	return domain ? tally->slots[slot].counts[domain] : 0;
}

#endif
