/* SPDX-License-Identifier: Apache-2.0
 *
 * A new state for a policy whose state was killed on a busy machine. Version, parameters
 * and wishes stay. Loading runs its text, so the policy thread does it. */
#include <string.h>

#include "api/policy/live/live_priv.h"
#include "engine/base/mem.h"

static bool is_asked_for(const struct neap_live *live, const struct neap_policy_id *id)
{
	const struct live_job *job = live->at_work != NULL ? live->at_work : live->first;

	while (job != NULL) {
		if (job->verb == VERB_RENEW && strcmp(job->id.kind, id->kind) == 0 &&
		    strcmp(job->id.name, id->name) == 0)
			return true;
		job = job == live->at_work ? live->first : job->next;
	}
	return false;
}

void neap_live_renew(void *arg, const char *kind, const char *name)
{
	struct neap_live *live = arg;
	struct neap_policy_id id = {.kind = ""};
	struct neap_error ignored; /* without memory its next call asks again */
	struct live_job *job;

	(void)neap_strcopy(id.kind, sizeof(id.kind), kind);
	(void)neap_strcopy(id.name, sizeof(id.name), name);
	if (live->is_ending || is_asked_for(live, &id))
		return;
	job = neap_live_job(live, VERB_RENEW, &ignored);
	if (job == NULL)
		return;
	job->id = id;
	neap_live_queue(job);
}

/* Another version may have replaced it by now. */
static int renew_prepare(struct live_job *job, struct neap_error *err)
{
	const struct neap_registry_slot *slot =
		job->item != NULL ? neap_live_slot(job->live, job->item) : NULL;

	(void)err;
	if (slot == NULL || slot->stats.is_failed ||
	    !neap_vm_is_dead(neap_policy_vm(slot->policy)))
		return LIVE_DONE;
	job->starved = slot->policy;
	return 0;
}

static void renew_work(struct live_job *job)
{
	job->rc = neap_policy_load_again(job->starved, &job->verdict.policy, &job->err);
}

/* If the machine was too busy again, the next call asks again. */
static void renew_finish(struct live_job *job)
{
	if (job->verdict.policy != NULL)
		neap_registry_renew_take(neap_live_slot(job->live, job->item),
					 neap_steal(job->verdict.policy));
}

const struct live_verb_row neap_live_verb_renew = {"renew", renew_prepare, renew_work,
						   renew_finish};
