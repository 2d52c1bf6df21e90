/* SPDX-License-Identifier: Apache-2.0
 *
 * From wishes to writes: sort, merge, bound, compare, order. */
#include "engine/machine/plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/machine/level.h"

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

struct neap_plan {
	struct neap_wish *wishes; /* as added */
	size_t wish_count, wish_room;
	struct entry *entries; /* merged, sorted by group then key */
	size_t entry_count, entry_room;
	struct neap_write *writes;
	size_t write_count, write_room;
	size_t gone_count, unread_count;
	struct neap_error first_unread;
};

/* What build hands down. */
struct build {
	struct neap_plan *plan;
	const struct neap_plan_bounds *bounds;
	neap_plan_read_fn *read;
	void *read_arg;
};

/* --- bounds: what no policy can do --- */

/* Records why the value differs from the wish. */
static void NEAP_PRINTF(2, 3) bound_note(struct entry *entry, const char *fmt, ...)
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
	bound_note(entry, "%" PRId64 " raised to the floor of %" PRId64, value->number,
		   floor);
	value->number = floor;
}

static void bound_cpus(struct entry *entry, const struct neap_plan_bounds *bounds)
{
	struct neap_cpuset *cpus = &entry->wish.value.cpus;
	int floor = bounds->be_cpus_floor > 1 ? bounds->be_cpus_floor : 1;
	int count, before, os_cpu = -1;

	if (!neap_cpuset_is_empty(&bounds->online) &&
	    !neap_cpuset_is_subset(cpus, &bounds->online)) {
		bound_note(entry, "CPUs that are not online left out");
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
		bound_note(entry, "widened from %d to %d CPUs, the floor is %d", before,
			   count, floor);
}

static void bound_idle(struct entry *entry)
{
	if (entry->wish.value.number != 1 || !neap_path_is_kube_class(entry->wish.group))
		return;
	bound_note(entry, "a kubelet sets cpu.shares here, which fails on an idle group");
	entry->wish.value.number = 0;
}

/* Starving a group, CPUs that do not exist, hindering a kubelet. */
static void bound(struct entry *entry, const struct neap_plan_bounds *bounds)
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

/* Caps a burst at the quota in force, as the kernel requires. */
static void bound_burst(struct entry *burst, int64_t quota_milli)
{
	int64_t quota_usec = neap_milli_to_quota(quota_milli);

	if (quota_usec == NEAP_UNLIMITED || burst->wish.value.number <= quota_usec)
		return;
	bound_note(burst, "%" PRId64 " lowered to the quota in force, %" PRId64,
		   burst->wish.value.number, quota_usec);
	burst->wish.value.number = quota_usec;
}

/* --- merging --- */

struct neap_plan *neap_plan_new(void)
{
	return neap_alloc(sizeof(struct neap_plan));
}

static void forget_result(struct neap_plan *plan)
{
	plan->entry_count = plan->write_count = 0;
	plan->gone_count = plan->unread_count = 0;
}

void neap_plan_clear(struct neap_plan *plan)
{
	plan->wish_count = 0;
	forget_result(plan);
}

void neap_plan_free(struct neap_plan *plan)
{
	if (plan == NULL)
		return;
	free(plan->wishes);
	free(plan->entries);
	free(plan->writes);
	free(plan);
}

int neap_plan_add(struct neap_plan *plan, const struct neap_wish *wish,
		  struct neap_error *err)
{
	struct neap_wish *own;
	int rc;

	if ((unsigned)wish->key >= NEAP_KEY_COUNT)
		return neap_error_set(err, NEAP_EINVAL, "no key %d", (int)wish->key);
	if (!neap_path_is_safe(wish->group))
		return neap_error_set(err, NEAP_EINVAL, "'%.80s' is no name of a group",
				      wish->group);
	rc = neap_value_check(wish->key, &wish->value, err);
	if (rc < 0)
		return rc;
	if (plan->wish_count >= NEAP_PLAN_WISHES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d wishes",
				      NEAP_PLAN_WISHES_MAX);
	if (!neap_grow(&plan->wishes, plan->wish_count, &plan->wish_room,
		       sizeof(*plan->wishes)))
		return neap_error_nomem(err);
	own = &plan->wishes[plan->wish_count++];
	*own = *wish;
	own->policy[sizeof(own->policy) - 1] = '\0';
	own->why[sizeof(own->why) - 1] = '\0';
	return 0;
}

/* Groups wishes for one file, the strongest first. */
static int compare_wishes(const void *a, const void *b)
{
	const struct neap_wish *left = *(const struct neap_wish *const *)a;
	const struct neap_wish *right = *(const struct neap_wish *const *)b;
	int order = strcmp(left->group, right->group);

	if (order == 0)
		order = (int)left->key - (int)right->key;
	if (order == 0)
		order = (int)left->is_restore - (int)right->is_restore;
	if (order == 0)
		order = (left->rank > right->rank) - (left->rank < right->rank);
	if (order == 0)
		order = strcmp(left->policy, right->policy);
	if (order == 0)
		order = left < right ? -1 : 1; /* the array is in order of adding */
	return order;
}

static bool is_same_file(const struct neap_wish *a, const struct neap_wish *b)
{
	return a->key == b->key && strcmp(a->group, b->group) == 0;
}

/* Intersects the CPU sets; without common CPUs the first decides. */
static void merge_cpus(struct entry *entry, struct neap_wish *const *wishes, size_t count)
{
	struct neap_cpuset common;

	neap_cpuset_copy(&common, &wishes[0]->value.cpus);
	for (size_t i = 1; i < count; i++)
		neap_cpuset_and(&common, &common, &wishes[i]->value.cpus);
	if (neap_cpuset_is_equal(&common, &wishes[0]->value.cpus))
		return;
	if (neap_cpuset_is_empty(&common)) {
		bound_note(entry, "no CPU in common with %s", wishes[1]->policy);
		return;
	}
	neap_cpuset_copy(&entry->wish.value.cpus, &common);
	bound_note(entry, "common CPUs of %zu wishes", count);
}

/* Merges count >= 1 sorted wishes for one file. */
static void merge(struct entry *entry, struct neap_wish *const *wishes, size_t count)
{
	const struct neap_key_info *info = neap_key_get(wishes[0]->key);
	const struct neap_wish *winner = wishes[0];

	while (count > 1 && wishes[count - 1]->is_restore)
		count--; /* they come last and count only when alone */
	memset(entry, 0, sizeof(*entry));
	for (size_t i = 0; i < count && !entry->has_own; i++) {
		entry->has_own = wishes[i]->is_own;
		entry->own = wishes[i]->value.number;
	}
	if (info->form == NEAP_FORM_NUMBER && info->merge != NEAP_MERGE_FIRST)
		for (size_t i = 1; i < count; i++) {
			int64_t best = winner->value.number,
				other = wishes[i]->value.number;

			if (info->merge == NEAP_MERGE_LOWEST
				    ? neap_number_is_above(winner->key, best, other)
				    : neap_number_is_above(winner->key, other, best))
				winner = wishes[i];
		}
	entry->wish = *winner;
	if (info->form == NEAP_FORM_CPUSET && info->merge != NEAP_MERGE_FIRST)
		merge_cpus(entry, wishes, count);
}

static int merge_all(struct neap_plan *plan, struct neap_error *err)
{
	neap_auto_free struct neap_wish **sorted =
		neap_alloc_array(plan->wish_count, sizeof(*sorted));
	uint32_t group = 0;
	size_t next;

	if (sorted == NULL)
		return neap_error_nomem(err);
	for (size_t i = 0; i < plan->wish_count; i++)
		sorted[i] = &plan->wishes[i];
	qsort(sorted, plan->wish_count, sizeof(struct neap_wish *), compare_wishes);

	for (size_t i = 0; i < plan->wish_count; i = next) {
		struct entry *entry;

		if (!neap_grow(&plan->entries, plan->entry_count, &plan->entry_room,
			       sizeof(*plan->entries)))
			return neap_error_nomem(err);
		entry = &plan->entries[plan->entry_count++];
		for (next = i + 1; next < plan->wish_count; next++)
			if (!is_same_file(sorted[i], sorted[next]))
				break;
		merge(entry, &sorted[i], next - i);
		if (i > 0 && strcmp(sorted[i - 1]->group, entry->wish.group) != 0)
			group++;
		entry->group = group;
	}
	return 0;
}

/* The entry of another key of the same group; entries of a group are neighbours. */
static struct entry *find_beside(struct neap_plan *plan, const struct entry *entry,
				 enum neap_key key)
{
	size_t at = (size_t)(entry - plan->entries), i;

	for (i = at; i > 0 && plan->entries[i - 1].group == entry->group; i--)
		;
	for (; i < plan->entry_count && plan->entries[i].group == entry->group; i++)
		if (plan->entries[i].wish.key == key)
			return &plan->entries[i];
	return NULL;
}

/* Reads into *ret and says what became of it; NEAP_ENOMEM is the only failure. */
static int read_value(const struct build *build, const char *group, enum neap_key key,
		      struct neap_value *ret, enum entry_state *ret_state,
		      struct neap_error *err)
{
	struct neap_plan *plan = build->plan;
	struct neap_error why = {0};
	int rc = build->read(build->read_arg, group, key, ret, &why);

	if (rc == -NEAP_ENOMEM) {
		if (err != NULL)
			*err = why;
		return rc;
	}
	*ret_state = rc > 0 ? ENTRY_KNOWN : rc == 0 ? ENTRY_GONE : ENTRY_UNREAD;
	if (rc < 0 && plan->unread_count++ == 0)
		plan->first_unread = why;
	return 0;
}

/* A value that another key depends on: from the entries where it is wished for, else
 * read. */
static int value_after(const struct build *build, const struct entry *entry,
		       enum neap_key key, int64_t fallback, int64_t *ret_before,
		       int64_t *ret_after, struct neap_error *err)
{
	const struct entry *beside = find_beside(build->plan, entry, key);
	enum entry_state state = ENTRY_GONE;
	struct neap_value value;
	int rc = 0;

	*ret_before = *ret_after = fallback;
	if (beside != NULL && beside->state == ENTRY_KNOWN) {
		*ret_before = beside->present.number;
		*ret_after = beside->wish.value.number;
	} else if (beside == NULL) {
		rc = read_value(build, entry->wish.group, key, &value, &state, err);
		if (rc == 0 && state == ENTRY_KNOWN)
			*ret_before = *ret_after = value.number;
	}
	return rc;
}

/* The kernel keeps burst <= quota. */
static int settle_burst(const struct build *build, struct entry *burst,
			struct neap_error *err)
{
	int64_t before = 0, after = 0;
	int rc = value_after(build, burst, NEAP_KEY_CPU_MAX_MILLI, NEAP_UNLIMITED,
			     &before, &after, err);

	if (rc == 0 && !burst->wish.is_restore)
		bound_burst(burst, after);
	return rc;
}

/* The kernel refuses cpu.shares while cpu.idle is 1, and resets them when idle
 * changes. */
static int settle_shares(const struct build *build, struct entry *shares,
			 struct neap_error *err)
{
	int64_t before = 0, after = 0;
	int rc = value_after(build, shares, NEAP_KEY_CPU_IDLE, 0, &before, &after, err);

	if (rc < 0)
		return rc;
	shares->is_so = shares->is_so || after == 1;
	shares->is_forced = before == 1 && after == 0;
	return 0;
}

/* Reads every wished file and determines what is left to write. */
static int compare_all(const struct build *build, struct neap_error *err)
{
	const struct neap_plan_bounds *bounds = build->bounds;
	struct neap_plan *plan = build->plan;
	int rc = 0;

	for (size_t i = 0; i < plan->entry_count && rc == 0; i++) {
		struct entry *entry = &plan->entries[i];

		if (!entry->wish.is_restore)
			bound(entry, bounds);
		rc = read_value(build, entry->wish.group, entry->wish.key,
				&entry->present, &entry->state, err);
		plan->gone_count += rc == 0 && entry->state == ENTRY_GONE;
	}
	/* Only now, as a key may depend on another one of its group. */
	for (size_t i = 0; i < plan->entry_count && rc == 0; i++) {
		struct entry *entry = &plan->entries[i];
		enum neap_key key = entry->wish.key;

		if (entry->state != ENTRY_KNOWN)
			continue;
		if (key == NEAP_KEY_CPU_BURST_USEC)
			rc = settle_burst(build, entry, err);
		entry->is_so =
			neap_value_is_in_force(key, bounds->cpu_is_v2, bounds->curve,
					       &entry->wish.value, &entry->present);
		if (key == NEAP_KEY_CPU_SHARES)
			rc = settle_shares(build, entry, err);
	}
	return rc;
}

struct order {
	struct neap_plan *plan;
	const struct neap_level_item *items;
	const uint32_t *entry_of; /* by item */
};

static int add_write(void *arg, size_t item, bool is_exact,
		     const struct neap_value *before, const struct neap_value *value,
		     struct neap_error *err)
{
	struct order *order = arg;
	struct neap_plan *plan = order->plan;
	const struct entry *entry = &plan->entries[order->entry_of[item]];
	struct neap_write *write;

	if (!neap_grow(&plan->writes, plan->write_count, &plan->write_room,
		       sizeof(*plan->writes)))
		return neap_error_nomem(err);
	write = &plan->writes[plan->write_count++];
	write->wish = order->entry_of[item];
	write->is_exact = is_exact;
	memcpy(write->group, entry->wish.group, sizeof(write->group));
	write->key = entry->wish.key;
	write->old_value = *before;
	write->value = *value;
	return 0;
}

static int order_all(struct neap_plan *plan, struct neap_error *err)
{
	neap_auto_free struct neap_level_item *items =
		neap_alloc_array(plan->entry_count, sizeof(*items));
	neap_auto_free uint32_t *entry_of =
		neap_alloc_array(plan->entry_count, sizeof(*entry_of));
	struct order order = {plan, items, entry_of};
	size_t count = 0;

	if (items == NULL || entry_of == NULL)
		return neap_error_nomem(err);
	for (size_t i = 0; i < plan->entry_count; i++) {
		const struct entry *entry = &plan->entries[i];

		if (entry->state != ENTRY_KNOWN || (entry->is_so && !entry->is_forced))
			continue;
		entry_of[count] = (uint32_t)i;
		items[count++] = (struct neap_level_item){
			.depth = (uint32_t)neap_path_depth(entry->wish.group),
			.group = entry->group,
			.key = entry->wish.key,
			.is_forced = entry->is_forced,
			.old_value = &entry->present,
			.new_value = &entry->wish.value,
		};
	}
	return count == 0 ? 0 : neap_level_order(items, count, add_write, &order, err);
}

int neap_plan_build(struct neap_plan *plan, const struct neap_plan_bounds *bounds,
		    neap_plan_read_fn *read, void *read_arg, struct neap_error *err)
{
	struct build build = {plan, bounds, read, read_arg};
	int rc;

	forget_result(plan);
	if (plan->wish_count == 0)
		return 0;
	rc = merge_all(plan, err);
	if (rc == 0)
		rc = compare_all(&build, err);
	if (rc == 0)
		rc = order_all(plan, err);
	if (rc < 0)
		forget_result(plan);
	return rc;
}

size_t neap_plan_added(const struct neap_plan *plan)
{
	return plan->wish_count;
}

size_t neap_plan_wish_count(const struct neap_plan *plan)
{
	return plan->entry_count;
}

const struct neap_wish *neap_plan_wish_get(const struct neap_plan *plan, size_t index)
{
	return &plan->entries[index].wish;
}

bool neap_plan_wish_was_bounded(const struct neap_plan *plan, size_t index,
				const char **ret_why)
{
	*ret_why = plan->entries[index].why;
	return plan->entries[index].was_bounded;
}

bool neap_plan_wish_own(const struct neap_plan *plan, size_t index,
			struct neap_value *ret)
{
	const struct entry *entry = &plan->entries[index];

	if (!entry->has_own || entry->state != ENTRY_KNOWN)
		return false;
	*ret = (struct neap_value){.form = NEAP_FORM_NUMBER, .number = entry->own};
	return true;
}

size_t neap_plan_write_count(const struct neap_plan *plan)
{
	return plan->write_count;
}

const struct neap_write *neap_plan_write_get(const struct neap_plan *plan, size_t index)
{
	return &plan->writes[index];
}

size_t neap_plan_gone_count(const struct neap_plan *plan)
{
	return plan->gone_count;
}

size_t neap_plan_unread_count(const struct neap_plan *plan,
			      const struct neap_error **ret_first)
{
	if (ret_first != NULL)
		*ret_first = plan->unread_count > 0 ? &plan->first_unread : NULL;
	return plan->unread_count;
}
