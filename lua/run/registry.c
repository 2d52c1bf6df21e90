/* SPDX-License-Identifier: Apache-2.0
 *
 * The active policies in a plain array: there are a handful, and every tick visits all of
 * them. */
#include "lua/run/registry.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

#define SLOTS_MAX 64

struct neap_registry {
	size_t count;
	struct neap_registry_slot slots[SLOTS_MAX];
	void (*renew)(void *arg, const char *kind, const char *name);
	void *renew_arg;
};

struct neap_registry *neap_registry_new(void)
{
	return neap_alloc(sizeof(struct neap_registry));
}

static void slot_done(struct neap_registry_slot *slot)
{
	neap_policy_free(slot->policy);
	neap_shadow_free(slot->shadow);
	free(slot->wishes);
}

void neap_registry_free(struct neap_registry *registry)
{
	if (!registry)
		return;
	for (size_t i = 0; i < registry->count; i++)
		slot_done(&registry->slots[i]);
	free(registry);
}

struct neap_registry_slot *neap_registry_find(struct neap_registry *registry,
					      const char *kind, const char *name)
{
	struct neap_policy_info info;

	for (size_t i = 0; i < registry->count; i++) {
		neap_policy_get_info(registry->slots[i].policy, &info);
		if (strcmp(info.kind, kind) == 0 && strcmp(info.name, name) == 0)
			return &registry->slots[i];
	}
	return NULL;
}

/* Whether a policy of this order and identity comes before the slot. */
static bool is_before(int order, const struct neap_policy_info *info,
		      const struct neap_registry_slot *slot)
{
	struct neap_policy_info other;
	int kinds;

	if (order != slot->order)
		return order < slot->order;
	neap_policy_get_info(slot->policy, &other);
	kinds = strcmp(info->kind, other.kind);
	return kinds != 0 ? kinds < 0 : strcmp(info->name, other.name) < 0;
}

static struct neap_registry_slot *insert(struct neap_registry *registry,
					 const struct neap_registry_slot *slot,
					 const struct neap_policy_info *info)
{
	size_t i = 0;

	while (i < registry->count && !is_before(slot->order, info, &registry->slots[i]))
		i++;
	memmove(&registry->slots[i + 1], &registry->slots[i],
		(registry->count - i) * sizeof(registry->slots[0]));
	registry->count++;
	registry->slots[i] = *slot;
	return &registry->slots[i];
}

/* Closes the gap; what the slot held is the caller's. */
static void take_out(struct neap_registry *registry, struct neap_registry_slot *slot)
{
	size_t i = (size_t)(slot - registry->slots);

	registry->count--;
	memmove(slot, slot + 1, (registry->count - i) * sizeof(*slot));
}

static struct neap_registry_slot *move(struct neap_registry *registry,
				       struct neap_registry_slot *slot, int order)
{
	struct neap_registry_slot moved = *slot;
	struct neap_policy_info info;

	if (slot->order == order)
		return slot;
	neap_policy_get_info(moved.policy, &info);
	moved.order = order;
	take_out(registry, slot);
	return insert(registry, &moved, &info);
}

void neap_registry_reorder(struct neap_registry *registry, const char *kind,
			   const char *name, int order)
{
	struct neap_registry_slot *slot = neap_registry_find(registry, kind, name);

	if (slot)
		(void)move(registry, slot, order);
}

bool neap_registry_is_full(const struct neap_registry *registry)
{
	return registry->count == SLOTS_MAX;
}

int neap_registry_put_take(struct neap_registry *registry, struct neap_policy *policy,
			   int order, int probation, struct neap_error *err)
{
	struct neap_registry_slot *slot;
	struct neap_policy_info info;

	neap_policy_get_info(policy, &info);
	slot = neap_registry_find(registry, info.kind, info.name);
	if (!slot && registry->count == SLOTS_MAX) {
		neap_policy_free(policy);
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "%d policies are active, no more fit", SLOTS_MAX);
	}
	if (slot)
		slot = move(registry, slot, order);
	else
		slot = insert(registry, &(struct neap_registry_slot){.order = order},
			      &info);
	if (slot->policy != policy)
		neap_policy_free(slot->policy);
	slot->registry = registry;
	slot->policy = policy;
	neap_shadow_free(slot->shadow);
	slot->shadow = NULL;
	slot->probation = probation;
	slot->stats = (struct neap_policy_stats){0};
	slot->is_elsewhere = false;
	return 0;
}

void neap_registry_remove(struct neap_registry *registry, const char *kind,
			  const char *name)
{
	struct neap_registry_slot *slot = neap_registry_find(registry, kind, name);

	if (!slot)
		return;
	slot_done(slot);
	take_out(registry, slot);
}

void neap_registry_hold_take(struct neap_registry_slot *slot,
			     struct neap_policy_wish *wishes, size_t count)
{
	struct neap_policy_info info;

	neap_policy_get_info(slot->policy, &info);
	free(slot->wishes);
	slot->wishes = wishes;
	slot->wish_count = count;
	(void)neap_strcopy(slot->wishes_label, sizeof(slot->wishes_label), info.label);
}

size_t neap_registry_count(const struct neap_registry *registry)
{
	return registry->count;
}

struct neap_registry_slot *neap_registry_get(struct neap_registry *registry, size_t index)
{
	return index < registry->count ? &registry->slots[index] : NULL;
}

void neap_registry_set_renew(struct neap_registry *registry,
			     void (*renew)(void *arg, const char *kind, const char *name),
			     void *arg)
{
	registry->renew = renew;
	registry->renew_arg = arg;
}

void neap_registry_renew_take(struct neap_registry_slot *slot, struct neap_policy *policy)
{
	neap_policy_free(slot->policy);
	slot->policy = policy;
}

/* A script that the machine starved is not punished: it gets a new state. */
static void ask_for_state(const struct neap_registry_slot *slot)
{
	const struct neap_registry *registry = slot->registry;
	struct neap_policy_info info;

	if (!registry->renew)
		return;
	neap_policy_get_info(slot->policy, &info);
	registry->renew(registry->renew_arg, info.kind, info.name);
}

bool neap_registry_note(struct neap_registry_slot *slot, enum neap_tick_verdict verdict,
			const struct neap_error *err, int64_t now_unix_usec)
{
	struct neap_policy_stats *stats = &slot->stats;
	bool is_fault = verdict == NEAP_TICK_ERROR || verdict == NEAP_TICK_WRONG ||
			verdict == NEAP_TICK_BUDGET;
	bool is_dead = neap_vm_is_dead(neap_policy_vm(slot->policy));

	if (verdict != NEAP_TICK_SKIPPED && verdict != NEAP_TICK_PUT_OFF) { /* no calls */
		stats->calls++;
		stats->cpu_usec += neap_vm_last_cpu_usec(neap_policy_vm(slot->policy));
	}
	stats->holds += verdict == NEAP_TICK_HOLD;
	stats->skipped += verdict == NEAP_TICK_SKIPPED;
	stats->errors += verdict == NEAP_TICK_ERROR;
	stats->wrong += verdict == NEAP_TICK_WRONG;
	stats->spent += verdict == NEAP_TICK_BUDGET;
	stats->starved += verdict == NEAP_TICK_STARVED;
	stats->put_off += verdict == NEAP_TICK_PUT_OFF;
	if ((is_fault || verdict == NEAP_TICK_STARVED) && err) {
		(void)neap_strcopy(stats->last_error, sizeof(stats->last_error),
				   err->msg);
		stats->last_error_unix_usec = now_unix_usec;
	}

	if (is_fault) {
		stats->faults++;
		stats->faults_in_row++;
	} else if (verdict == NEAP_TICK_WISHES || verdict == NEAP_TICK_HOLD) {
		stats->faults_in_row = 0;
		slot->probation -= slot->probation > 0;
	}
	if (stats->is_failed)
		return false;
	if (is_dead && verdict == NEAP_TICK_STARVED)
		ask_for_state(slot);
	/* A state that was killed cannot be called again. */
	stats->is_failed =
		(is_dead && is_fault) || stats->faults_in_row >= NEAP_POLICY_FAULTS_MAX ||
		(slot->probation > 0 && stats->faults >= NEAP_POLICY_FAULTS_MAX);
	return stats->is_failed;
}
