/* SPDX-License-Identifier: Apache-2.0
 *
 * What no policy can do: starve a group, use CPUs that do not exist, or hinder a
 * kubelet. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/machine/plan_priv.h"

void neap_plan_note(struct entry *entry, const char *fmt, ...)
{
	size_t used = strlen(entry->why);
	va_list args;

	entry->was_bounded = true;
	if (used > 0 && used + 2 < sizeof(entry->why)) {
		memcpy(entry->why + used, "; ", 3);
		used += 2;
	}
	va_start(args, fmt);
	(void)vsnprintf(entry->why + used, sizeof(entry->why) - used, fmt,
			args); /* cut is fine */
	va_end(args);
}

static void raise_to(struct entry *entry, int64_t floor)
{
	struct neap_value *value = &entry->wish.value;

	if (entry->has_own && neap_number_is_above(entry->wish.key, floor, entry->own))
		entry->own = floor;
	if (floor <= 0 || !neap_number_is_above(entry->wish.key, floor, value->number))
		return;
	neap_plan_note(entry, "%" PRId64 " raised to the floor of %" PRId64,
		       value->number, floor);
	value->number = floor;
}

static void bound_cpus(struct entry *entry, const struct neap_plan_bounds *bounds)
{
	struct neap_cpuset *cpus = &entry->wish.value.cpus;
	int floor = bounds->be_cpus_floor > 1 ? bounds->be_cpus_floor : 1;
	int count, before, os_cpu = -1;

	if (!neap_cpuset_is_empty(&bounds->online) &&
	    !neap_cpuset_is_subset(cpus, &bounds->online)) {
		neap_plan_note(entry, "CPUs that are not online left out");
		neap_cpuset_and(cpus, cpus, &bounds->online);
	}
	count = before = neap_cpuset_count(cpus);
	while (count < floor) {
		os_cpu = neap_cpuset_next(&bounds->online, os_cpu);
		if (os_cpu < 0)
			break;
		if (neap_cpuset_has(cpus, os_cpu))
			continue;
		(void)neap_cpuset_add(cpus, os_cpu); /* an online CPU is in range */
		count++;
	}
	if (count > before)
		neap_plan_note(entry, "widened from %d to %d CPUs, the floor is %d",
			       before, count, floor);
}

static void bound_idle(struct entry *entry)
{
	if (entry->wish.value.number != 1 || !neap_path_is_kube_class(entry->wish.group))
		return;
	neap_plan_note(entry,
		       "a kubelet sets cpu.shares here, which fails on an idle group");
	entry->wish.value.number = 0;
}

void neap_plan_bound(struct entry *entry, const struct neap_plan_bounds *bounds)
{
	switch (entry->wish.key) {
	case NEAP_KEY_CPU_MAX_MILLI:
		raise_to(entry, bounds->be_cpu_floor_milli);
		break;
	case NEAP_KEY_MEMORY_MAX_BYTES:
	case NEAP_KEY_MEMORY_HIGH_BYTES:
		raise_to(entry, bounds->memory_floor_bytes);
		break;
	case NEAP_KEY_CPUSET_CPUS:
		bound_cpus(entry, bounds);
		break;
	case NEAP_KEY_CPU_IDLE:
		bound_idle(entry);
		break;
	default:
		break;
	}
}

void neap_plan_bound_burst(struct entry *burst, int64_t quota_milli)
{
	int64_t quota_usec = neap_milli_to_quota(quota_milli);

	if (quota_usec == NEAP_UNLIMITED || burst->wish.value.number <= quota_usec)
		return;
	neap_plan_note(burst, "%" PRId64 " lowered to the quota in force, %" PRId64,
		       burst->wish.value.number, quota_usec);
	burst->wish.value.number = quota_usec;
}
