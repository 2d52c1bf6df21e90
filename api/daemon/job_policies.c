/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/job_policies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/daemon/roles.h"
#include "api/deschedule/descheduler.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "lua/migrate/migrate_policy.h"
#include "lua/run/registry.h"

/* --- which --- */

/* Whether the policy is the one that is named, or one that no profile names. */
static bool is_for(const struct neap_role_descheduler *role, const char *kind,
		   const char *named, const struct neap_policy *policy)
{
	struct neap_policy_info info;

	neap_policy_get_info(policy, &info);
	if (named)
		return strcmp(info.name, named) == 0;
	return !role->descheduler ||
	       !neap_descheduler_is_named(role->descheduler, kind, info.name);
}

/* The policy of that name, NULL: the first that no profile names. NULL: none such is in
 * service. A fault takes it out of service as it does others. */
static struct neap_registry_slot *slot_of(const struct neap_role_descheduler *role,
					  const char *kind, const char *named)
{
	struct neap_registry *registry = role->policies->registry;

	for (size_t i = 0; registry && i < neap_registry_count(registry); i++) {
		struct neap_registry_slot *slot = neap_registry_get(registry, i);

		if (!slot->stats.is_failed && !slot->is_elsewhere &&
		    strcmp(neap_policy_kind(slot->policy)->name, kind) == 0 &&
		    is_for(role, kind, named, slot->policy))
			return slot;
	}
	return NULL;
}

/* What the configuration in force names for jobs of the profile; NULL: nothing. */
static const char *name_of(const struct neap_role_descheduler *role, const char *kind,
			   const char *profile)
{
	return role->descheduler
		       ? neap_descheduler_policy_of(role->descheduler, kind, profile)
		       : NULL;
}

static bool is_good(const struct neap_role_descheduler *role,
		    struct neap_registry_slot *slot, const char *failsafe,
		    enum neap_tick_verdict verdict, const struct neap_error *err)
{
	struct neap_policy_info info;

	neap_policy_get_info(slot->policy, &info);
	if (neap_registry_note(slot, verdict, err, neap_clock_unix()))
		neap_log_line(&role->process->log, NEAP_LOG_ERROR,
			      "policy %s is out of service: %s; %s", info.label, err->msg,
			      failsafe);
	return verdict == NEAP_TICK_WISHES;
}

/* --- order --- */

/* Jobs of one policy, with their places in the whole list. */
struct share {
	struct neap_registry_slot *slot;
	struct neap_migrate_waiting *jobs;
	size_t *places, *order;
	size_t count;
};

static void share_done(struct share *share)
{
	free(share->jobs);
	free(share->places);
	free(share->order);
}

static bool share_init(struct share *share, size_t count)
{
	*share = (struct share){
		.jobs = neap_alloc_array(count + 1, sizeof(*share->jobs)),
		.places = neap_alloc_array(count + 1, sizeof(*share->places)),
		.order = neap_alloc_array(count + 1, sizeof(*share->order)),
	};
	return share->jobs && share->places && share->order;
}

/* Takes the jobs of the next policy from the list, and marks them as placed, with those
 * that no policy places. Returns whether others are left. */
static bool take(const struct neap_role_descheduler *role, struct share *share,
		 struct neap_migrate_waiting *list, size_t count)
{
	bool is_left = false;

	for (size_t i = 0; i < count; i++) {
		struct neap_registry_slot *slot = NULL;

		if (!list[i].is_placed)
			slot = slot_of(role, "migration",
				       name_of(role, "migration", list[i].job->profile));
		if (slot && share->slot && slot != share->slot) {
			is_left = true;
			continue;
		}
		list[i].is_placed = true;
		if (!slot)
			continue;
		share->slot = slot;
		share->places[share->count] = i;
		share->jobs[share->count++] = list[i];
	}
	return is_left;
}

static bool sort(const struct neap_role_descheduler *role, struct share *share)
{
	struct neap_policy *policy = share->slot->policy;
	struct neap_error err = {0};
	enum neap_tick_verdict verdict;
	json_t *jobs;

	if (share->count > NEAP_ORDER_MAX)
		return false;
	jobs = neap_order_jobs_new(share->jobs, share->count);
	if (!jobs)
		return false;
	verdict = neap_policy_order(policy, jobs, neap_clock_unix() / 1000000,
				    share->order, &err);
	json_decref(jobs);
	return is_good(role, share->slot, neap_policy_kind(policy)->failsafe, verdict,
		       &err);
}

bool neap_job_policies_order(void *arg, struct neap_migrate_waiting *list, size_t count)
{
	const struct neap_role_descheduler *role = arg;
	struct share share;
	bool is_left = share_init(&share, count) && take(role, &share, list, count);

	if (share.count > 0 && sort(role, &share))
		for (size_t i = 0; i < share.count; i++)
			list[share.places[i]] = share.jobs[share.order[i]];
	share_done(&share);
	return is_left;
}

/* --- the way --- */

/* The evictor that a job must have; NULL: whichever there is. is_of_job: the one of its
 * annotation, as the configuration in force has no such profile. */
static const char *evictor_of(const struct neap_role_descheduler *role,
			      const char *profile, const json_t *notes,
			      bool *ret_is_of_job)
{
	const char *own = neap_json_text(notes, NEAP_KEY_JOB_EVICTOR);

	*ret_is_of_job =
		*own && !(role->descheduler &&
			  neap_descheduler_has_profile(role->descheduler, profile));
	return *ret_is_of_job ? own : name_of(role, "evictor", profile);
}

void neap_job_policies_leave(void *arg, const json_t *pod, const json_t *job,
			     struct neap_migrate_way *way)
{
	static const enum neap_migrate_policy policies[NEAP_LEAVE_COUNT] = {
		[NEAP_LEAVE_EVICTION] = NEAP_MIGRATE_EVICTION,
		[NEAP_LEAVE_DELETION] = NEAP_MIGRATE_DELETE,
		[NEAP_LEAVE_PATCH] = NEAP_MIGRATE_SOFT,
		[NEAP_LEAVE_STAYS] = NEAP_MIGRATE_EVICTION,
	};
	const struct neap_role_descheduler *role = arg;
	const json_t *notes = neap_json_at(job, "metadata.annotations");
	const char *profile = neap_json_text(notes, NEAP_KEY_JOB_PROFILE);
	bool is_of_job;
	const char *named = evictor_of(role, profile, notes, &is_of_job);
	struct neap_registry_slot *slot = slot_of(role, "evictor", named);
	struct neap_error err = {0};
	enum neap_tick_verdict verdict;
	struct neap_leave said;

	if (!slot && named)
		(void)snprintf(way->why_not, sizeof(way->why_not),
			       "policy evictor/%.80s, which profile %.80s %s, is not in "
			       "service",
			       named, profile,
			       is_of_job ? "named when it made this job" : "names");
	if (!slot)
		return;
	verdict = neap_policy_leave(slot->policy, pod, job, neap_clock_unix() / 1000000,
				    &said, &err);
	if (is_good(role, slot,
		    named ? "pods of profiles that name it stay"
			  : neap_policy_kind(slot->policy)->failsafe,
		    verdict, &err)) {
		way->policy = policies[said.how];
		way->patch = said.patch;
		way->take_back = said.take_back;
		(void)neap_strcopy(way->why_not, sizeof(way->why_not), said.why);
	} else if (named) {
		(void)snprintf(way->why_not, sizeof(way->why_not),
			       "policy evictor/%.80s gives no answer: %.140s", named,
			       err.msg);
	}
}
