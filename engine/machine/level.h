/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders the writes to the files of one tree so that the kernel accepts every step (spec
 * cgroup-map 4 and 5): first downwards from parent to child, everything that grows
 * (limits to the larger value, CPU sets to the union); then upwards from child to parent,
 * the exact values. Keys without levels are written once, on the way down. Works on
 * values of any unit: a plan uses neap's, a test may use the kernel's. */
#ifndef NEAP_ENGINE_MACHINE_LEVEL_H
#define NEAP_ENGINE_MACHINE_LEVEL_H

#include "engine/machine/key.h"

/* One file. Values are borrowed. An item with equal values is skipped unless it is forced
 * (another write of the same plan resets that file). */
struct neap_level_item {
	uint32_t depth; /* of the group: smaller in parents than in their children */
	uint32_t group; /* equal for the files of one group; lower groups go first */
	enum neap_key key;
	bool is_forced;
	const struct neap_value *old_value, *new_value;
};

/* Called for each write in order. before is the content of the file at that moment;
 * is_exact separates the final value from an intermediate one. Both values are borrowed
 * for the call. A nonzero result stops the walk. */
typedef int neap_level_write_fn(void *arg, size_t item, bool is_exact,
				const struct neap_value *before,
				const struct neap_value *value, struct neap_error *err);

/* Within a group cpu.max grows before cpu.burst and shrinks after it, and cpu.idle goes
 * before cpu.shares. Items may come in any order; equal ranks keep theirs. Returns
 * -NEAP_ENOMEM, or the result of write. */
int neap_level_order(const struct neap_level_item *items, size_t count,
		     neap_level_write_fn *write, void *arg, struct neap_error *err);

#endif
