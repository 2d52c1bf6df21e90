/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of writes to the files of one tree, such that the kernel accepts every step
 * (spec cgroup-map 4 and 5): down from parent to child everything that grows (limits to
 * the larger value, CPU sets to the union), then up from child to parent the exact
 * values. Keys without levels are written once, on the way down. Works on values of any
 * unit; a plan gives neap's own, a test may give the kernel's. */
#ifndef NEAP_ENGINE_MACHINE_LEVEL_H
#define NEAP_ENGINE_MACHINE_LEVEL_H

#include "engine/machine/key.h"

/* One file. Values are borrowed. An item whose values are equal is passed over, except
 * when forced (a file that another write of the same plan resets). */
struct neap_level_item {
	uint32_t depth; /* of the group: parents have less than their children */
	uint32_t group; /* equal for the files of one group; lower ones go first */
	enum neap_key key;
	bool is_forced;
	const struct neap_value *old_value, *new_value;
};

/* Called for each write in order. before is what the file holds at that moment; is_exact
 * tells the wanted value from a step on the way to it. Both values are borrowed for the
 * call. Not 0 stops. */
typedef int neap_level_write_fn(void *arg, size_t item, bool is_exact,
				const struct neap_value *before,
				const struct neap_value *value, struct neap_error *err);

/* Inside a group cpu.max grows before cpu.burst and shrinks after it, and cpu.idle goes
 * before cpu.shares. Items may come in any order; equal ranks keep it. NEAP_ENOMEM, or
 * what write gave. */
int neap_level_order(const struct neap_level_item *items, size_t count,
		     neap_level_write_fn *write, void *arg, struct neap_error *err);

#endif
