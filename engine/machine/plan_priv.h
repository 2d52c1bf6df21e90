/* SPDX-License-Identifier: Apache-2.0
 *
 * What plan.c and plan_bound.c share. */
#ifndef NEAP_ENGINE_MACHINE_PLAN_PRIV_H
#define NEAP_ENGINE_MACHINE_PLAN_PRIV_H

#include "engine/machine/plan.h"

enum entry_state { ENTRY_KNOWN, ENTRY_GONE, ENTRY_UNREAD };

/* One file after merging. */
struct entry {
	struct neap_wish wish;     /* the winner's, with the merged and bounded value */
	struct neap_value present; /* valid when KNOWN */
	enum entry_state state;
	uint32_t group; /* number of the group in sorted order */
	bool is_so;     /* nothing to write */
	bool is_forced; /* written even if the value is equal */
	bool has_own;
	int64_t own; /* index of a wish with is_own */
	bool was_bounded;
	char why[128]; /* of was_bounded */
};

/* Records why the value differs from the wish. */
void neap_plan_note(struct entry *entry, const char *fmt, ...) NEAP_PRINTF(2, 3);

/* Applies the bounds that depend on the entry alone. */
void neap_plan_bound(struct entry *entry, const struct neap_plan_bounds *bounds);
/* Caps a burst at the quota in force, as the kernel requires. */
void neap_plan_bound_burst(struct entry *burst, int64_t quota_milli);

#endif
