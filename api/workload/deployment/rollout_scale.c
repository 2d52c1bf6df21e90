/* SPDX-License-Identifier: Apache-2.0
 *
 * Scales during a rollout: each ReplicaSet gets its share of the difference, so that the
 * new one does not take an unrequested risk. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/deployment/deployments_priv.h"
#include "engine/base/mem.h"

bool rollout_is_scaling(const struct rollout *rollout)
{
	for (size_t i = 0; i < rollout->count; i++) {
		const struct member *member = &rollout->members[i];

		if (member->replicas > 0 && member->desired != NEAP_MISSING &&
		    member->desired != rollout->replicas)
			return true;
	}
	return false;
}

/* The only ReplicaSet with pods; if none has pods, the current one, or else the newest.
 * NULL: several have pods, or there is none. */
static struct member *find_only(struct rollout *rollout, size_t *ret_active)
{
	struct member *only = NULL;

	*ret_active = 0;
	for (size_t i = 0; i < rollout->count; i++)
		if (rollout->members[i].replicas > 0) {
			only = &rollout->members[i];
			(*ret_active)++;
		}
	if (*ret_active > 1)
		return NULL;
	if (only || rollout->current)
		return only ? only : rollout->current;
	return rollout->count ? &rollout->members[rollout->count - 1] : NULL;
}

/* All wanted pods exist, with the new template. */
static bool is_saturated(const struct rollout *rollout)
{
	const struct member *current = rollout->current;

	return current && current->replicas == rollout->replicas &&
	       current->desired == rollout->replicas &&
	       current->available == rollout->replicas;
}

/* The change of a ReplicaSet with pods, as its share of add in the new total. */
static int64_t share_of(const struct rollout *rollout, const struct member *member,
			int64_t add, int64_t added)
{
	int64_t before = member->max, left = add - added, share;
	double size;

	if (rollout->replicas == 0) {
		share = -member->replicas;
	} else {
		if (before == NEAP_MISSING || before <= 0)
			before = neap_tree_int(rollout->tree, "status.replicas", 0);
		if (before <= 0)
			return 0;
		size = (double)member->replicas *
		       (double)(rollout->replicas + rollout->surge) / (double)before;
		share = (int64_t)(size + 0.5) - member->replicas;
	}
	if (add > 0)
		return share < left ? share : left;
	return share > left ? share : left;
}

/* Largest first. Equal ones: the newer first when adding, the older first when
 * removing. */
static int by_size_newer(const void *left, const void *right)
{
	const struct member *a = *(struct member *const *)left;
	const struct member *b = *(struct member *const *)right;

	if (a->replicas != b->replicas)
		return a->replicas > b->replicas ? -1 : 1;
	return a > b ? -1 : a < b; /* sorted by age, oldest first */
}

static int by_size_older(const void *left, const void *right)
{
	const struct member *a = *(struct member *const *)left;
	const struct member *b = *(struct member *const *)right;

	if (a->replicas != b->replicas)
		return a->replicas > b->replicas ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void share_out(struct rollout *rollout, struct member **active, size_t count,
		      int64_t *sizes)
{
	int64_t allowed = rollout->replicas > 0 ? rollout->replicas + rollout->surge : 0;
	int64_t add = allowed, added = 0;

	for (size_t i = 0; i < count; i++)
		add -= active[i]->replicas;
	qsort(active, count, sizeof(struct member *),
	      add > 0 ? by_size_newer : by_size_older);
	for (size_t i = 0; i < count; i++) {
		int64_t share =
			add == added ? 0 : share_of(rollout, active[i], add, added);

		sizes[i] = active[i]->replicas + share;
		added += share;
	}
	sizes[0] += add - added;
	if (sizes[0] < 0)
		sizes[0] = 0;
}

static void scale_shares(struct rollout *rollout, size_t active_count)
{
	struct member **active = neap_alloc_array(active_count, sizeof(struct member *));
	int64_t *sizes = neap_alloc_array(active_count, sizeof(*sizes));
	size_t count = 0;

	for (size_t i = 0; active && i < rollout->count; i++)
		if (rollout->members[i].replicas > 0)
			active[count++] = &rollout->members[i];
	if (active && sizes) {
		share_out(rollout, active, count, sizes);
		for (size_t i = 0; i < count; i++)
			(void)rollout_scale_member(rollout, active[i], sizes[i]);
	} else {
		rollout->is_short = true;
	}
	free(active);
	free(sizes);
}

void rollout_scale(struct rollout *rollout)
{
	size_t active;
	struct member *only = find_only(rollout, &active);

	if (only) {
		(void)rollout_scale_member(rollout, only, rollout->replicas);
	} else if (is_saturated(rollout)) {
		for (size_t i = 0; i < rollout->count; i++)
			if (&rollout->members[i] != rollout->current &&
			    rollout->members[i].replicas > 0)
				(void)rollout_scale_member(rollout, &rollout->members[i],
							   0);
	} else if (rollout->is_rolling && active) {
		scale_shares(rollout, active);
	}
}
