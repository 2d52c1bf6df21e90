/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces pods of old templates by those of the new one in steps: never more pods than
 * replicas + maxSurge, never fewer available than replicas - maxUnavailable. A step is
 * done when the ReplicaSets' status says so. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/deployment/deployments_priv.h"
#include "engine/base/mem.h"

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* --- asks --- */

/* The patch includes the annotations with the total that the share is of. */
static json_t *make_patch(const struct rollout *rollout, const struct member *member,
			  int64_t replicas)
{
	long long sum = rollout->replicas + rollout->surge;
	char desired[32], max[32];

	(void)snprintf(desired, sizeof(desired), "%lld", (long long)rollout->replicas);
	(void)snprintf(max, sizeof(max), "%lld", sum);
	return json_pack("{s:{s:s, s:{s:s, s:s}}, s:{s:I}}", "metadata", "uid",
			 member->uid, "annotations", DESIRED_REPLICAS, desired,
			 MAX_REPLICAS, max, "spec", "replicas", (json_int_t)replicas);
}

bool rollout_scale_member(struct rollout *rollout, struct member *member,
			  int64_t replicas)
{
	int64_t before = member->replicas, max = rollout->replicas + rollout->surge;
	struct neap_rounds *rounds = rollout->deployments->rounds;
	size_t refused = neap_rounds_refused(rounds, NULL);
	struct neap_client_ask ask;

	/* A ReplicaSet made in this look has them already. */
	if (!member->object ||
	    (before == replicas && member->desired == rollout->replicas &&
	     member->max == max))
		return false;
	if (!rollout_may_ask(rollout, member->object, member->facts, &ask))
		return false;
	neap_client_patch_take(rollout->deployments->config.client, &ask, false,
			       make_patch(rollout, member, replicas));
	if (neap_rounds_refused(rounds, NULL) != refused)
		return false;
	member->replicas = replicas;
	member->desired = rollout->replicas;
	member->max = max;
	member->ready = least(member->ready, replicas);
	member->available = least(member->available, replicas);
	if (before != replicas)
		rollout_note(rollout, false, "ScalingReplicaSet",
			     "Scaled %s replica set %s from %lld to %lld",
			     before < replicas ? "up" : "down", member->name,
			     (long long)before, (long long)replicas);
	return before != replicas;
}

bool rollout_resize_member(struct rollout *rollout, struct member *member,
			   int64_t replicas)
{
	return member->replicas != replicas &&
	       rollout_scale_member(rollout, member, replicas);
}

/* --- the new one --- */

static int64_t count_replicas(const struct rollout *rollout)
{
	int64_t sum = 0;

	for (size_t i = 0; i < rollout->count; i++)
		sum += rollout->members[i].replicas;
	return sum;
}

int64_t rollout_current_size(const struct rollout *rollout, int64_t has)
{
	int64_t room = rollout->replicas + rollout->surge - count_replicas(rollout);

	if (!rollout->is_rolling)
		return rollout->replicas;
	if (room <= 0)
		return has;
	return has + least(room, rollout->replicas - has);
}

static bool grow_current(struct rollout *rollout)
{
	struct member *current = rollout->current;

	if (!current || current->replicas == rollout->replicas)
		return false;
	if (current->replicas > rollout->replicas)
		return rollout_resize_member(rollout, current, rollout->replicas);
	return rollout_resize_member(rollout, current,
				     rollout_current_size(rollout, current->replicas));
}

/* --- the old ones --- */

/* Removes at most so many pods, oldest ReplicaSet first; only those that do not run
 * anyway, if so asked. */
static int64_t drop(struct rollout *rollout, int64_t most, bool only_unhealthy)
{
	int64_t gone = 0;

	for (size_t i = 0; i < rollout->count && gone < most; i++) {
		struct member *member = &rollout->members[i];
		int64_t kept = only_unhealthy ? member->available : 0;
		int64_t count = least(most - gone, member->replicas - kept);

		if (member != rollout->current && count > 0 &&
		    rollout_resize_member(rollout, member, member->replicas - count))
			gone += count;
	}
	return gone;
}

static int64_t drop_healthy(struct rollout *rollout, int64_t least_available)
{
	int64_t most = -least_available;

	for (size_t i = 0; i < rollout->count; i++)
		most += rollout->members[i].available;
	return drop(rollout, most, false);
}

static bool shrink_old(struct rollout *rollout)
{
	const struct member *current = rollout->current;
	int64_t mine = current ? current->replicas : 0;
	int64_t missing = current ? mine - current->available : 0;
	int64_t all = count_replicas(rollout);
	int64_t least_available = rollout->replicas - rollout->unavailable;
	int64_t most = all - least_available - missing;

	if (all == mine || most <= 0)
		return false;
	return drop(rollout, most, true) + drop_healthy(rollout, least_available) > 0;
}

void rollout_rolling(struct rollout *rollout)
{
	(void)rollout_make_current(rollout);
	if (!rollout->current || grow_current(rollout) || shrink_old(rollout))
		return;
	if (!rollout_is_partial(rollout) && rollout_is_complete(rollout))
		rollout_clean_up(rollout);
}

/* --- history --- */

static int by_revision(const void *left, const void *right)
{
	const struct member *a = *(const struct member *const *)left;
	const struct member *b = *(const struct member *const *)right;

	if (a->revision != b->revision)
		return a->revision < b->revision ? -1 : 1;
	return a->created_usec < b->created_usec   ? -1
	       : a->created_usec > b->created_usec ? 1
						   : strcmp(a->name, b->name);
}

static bool may_go(const struct member *member)
{
	return member->status_replicas == 0 && member->replicas == 0 &&
	       (!member->facts || member->facts->is_observed);
}

void rollout_clean_up(struct rollout *rollout)
{
	int64_t limit = neap_tree_int(rollout->tree, "spec.revisionHistoryLimit", 10);
	const struct member **old;
	size_t count = 0;

	if (limit >= INT32_MAX || rollout->count <= (size_t)limit)
		return;
	old = neap_alloc_array(rollout->count, sizeof(const struct member *));
	if (!old) {
		rollout->is_short = true;
		return;
	}
	for (size_t i = 0; i < rollout->count; i++)
		if (&rollout->members[i] != rollout->current &&
		    !rollout->members[i].is_deleting)
			old[count++] = &rollout->members[i];
	if (count)
		qsort(old, count, sizeof(const struct member *), by_revision);
	for (size_t i = 0; i + (size_t)limit < count; i++) {
		struct neap_client_ask ask;

		if (may_go(old[i]) &&
		    rollout_may_ask(rollout, old[i]->object, old[i]->facts, &ask))
			neap_client_delete(rollout->deployments->config.client, &ask,
					   old[i]->uid, -1);
	}
	free(old);
}
