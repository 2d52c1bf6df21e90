/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of changes: one at a time, in order of arrival; and the ways into it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policy/live_priv.h"
#include "engine/base/mem.h"

#define WAITING_MAX 16

/* --- the queue --- */

struct live_job *neap_live_job(struct neap_live *live, enum live_verb verb,
			       struct neap_error *err)
{
	struct live_job *job = neap_alloc(sizeof(*job));

	if (job == NULL) {
		(void)neap_error_nomem(err);
		return NULL;
	}
	job->live = live;
	job->verb = verb;
	return job;
}

void neap_live_job_free(struct live_job *job)
{
	neap_live_text_done(&job->text);
	free(job->base);
	json_decref(job->params);
	free(job->older_text);
	json_decref(job->older_params);
	neap_tape_unref(job->tape);
	neap_verdict_done(&job->verdict);
	json_decref(job->body);
	free(job);
}

/* What is live under the name at this moment, and what it could be compared on. */
static int job_look(struct live_job *job, struct neap_error *err)
{
	struct neap_live *live = job->live;
	struct neap_registry_slot *slot;
	const char *text;

	if (job->item == NULL && job->id.name[0] != '\0')
		job->item = neap_live_find(live, &job->id);
	slot = job->item != NULL ? neap_live_slot(live, job->item) : NULL;
	if (slot == NULL)
		return 0;
	neap_policy_get_info(slot->policy, &job->older_info);
	(void)neap_strcopy(job->older_version, sizeof(job->older_version),
			   job->older_info.version);
	text = neap_policy_text(slot->policy, &job->older_len);
	job->older_text = neap_strndup(text, job->older_len);
	job->older_params = neap_policy_params(slot->policy);
	if (job->older_text == NULL || job->older_params == NULL)
		return neap_error_nomem(err);
	if (live->config.record != NULL)
		job->tape = neap_record_share(live->config.record);
	return 0;
}

static void queue_go(struct neap_live *live);

static void job_end(struct live_job *job)
{
	struct neap_live *live = job->live;
	const struct live_item *item = NULL;
	struct neap_policy_info info = {.version = ""};

	live->at_work = NULL;
	if (job->by[0] != '\0')
		live->waiting--;
	live->counts.unchanged += job->is_unchanged;
	if (job->rc < 0 && job->verb == VERB_PUT)
		live->counts.refused++;
	if (job->done != NULL) {
		if (job->id.name[0] != '\0')
			item = neap_live_find(live, &job->id);
		if (item != NULL && neap_live_slot(live, item) != NULL)
			neap_policy_get_info(neap_live_slot(live, item)->policy, &info);
		job->done(job->arg,
			  job->older_version[0] == '\0' && job->verb == VERB_PUT &&
					  !job->is_dry_run
				  ? 201
				  : 200,
			  neap_steal(job->body), info.version,
			  job->rc < 0 ? &job->err : NULL);
	}
	neap_live_job_free(job);
}

static void job_work(void *arg)
{
	struct live_job *job = arg;

	neap_live_verbs[job->verb].work(job);
}

static void job_done(void *arg)
{
	struct live_job *job = arg;
	struct neap_live *live = job->live;

	neap_live_verbs[job->verb].finish(job);
	job_end(job);
	queue_go(live);
}

/* Starts the next job unless one is at work. Jobs that need no work are done on the way. */
static void queue_go(struct neap_live *live)
{
	while (live->at_work == NULL && live->first != NULL) {
		struct live_job *job = live->first;
		int rc;

		live->first = job->next;
		if (live->first == NULL)
			live->last = NULL;
		live->at_work = job;
		rc = job_look(job, &job->err);
		if (rc == 0)
			rc = neap_live_verbs[job->verb].prepare(job, &job->err);
		/* What it is if its work never comes to run. */
		job->rc = -NEAP_EUNAVAILABLE;
		if (rc == 0 && live->is_inline) {
			job_work(job);
			neap_live_verbs[job->verb].finish(job);
			job_end(job);
			continue;
		}
		if (rc == 0)
			rc = neap_thread_give(live->thread, job_work, job_done, job,
					      &job->err);
		if (rc == 0)
			return;
		job->rc = rc < 0 ? rc : 0; /* 1: done already */
		job_end(job);
	}
}

void neap_live_queue(struct live_job *job)
{
	struct neap_live *live = job->live;

	if (live->last != NULL)
		live->last->next = job;
	else
		live->first = job;
	live->last = job;
	if (live->is_inline)
		queue_go(live);
}

/* A change that an operator asked for: answered later, never before the call returns. */
static struct live_job *change_job(struct neap_live *live, enum live_verb verb,
				   const struct neap_live_change *change,
				   struct neap_error *err)
{
	struct live_job *job;

	if (neap_kind_find(change->kind) == NULL) {
		(void)neap_error_set(err, NEAP_ENOTFOUND,
				     "there is no kind '%.40s'; there is %s",
				     change->kind, neap_kind_names());
		return NULL;
	}
	if (!neap_policy_is_name(change->name)) {
		(void)neap_error_set(
			err, NEAP_EINVAL,
			"'%.60s' is no name of a policy: 1 to 47 of a-z, 0-9 "
			"and -",
			change->name);
		return NULL;
	}
	if (live->waiting >= WAITING_MAX) {
		(void)neap_error_set(err, NEAP_EUNAVAILABLE,
				     "%d changes wait already: try again in a second",
				     WAITING_MAX);
		return NULL;
	}
	job = neap_live_job(live, verb, err);
	if (job == NULL)
		return NULL;
	(void)neap_strcopy(job->id.kind, sizeof(job->id.kind), change->kind);
	(void)neap_strcopy(job->id.name, sizeof(job->id.name), change->name);
	(void)neap_strcopy(job->by, sizeof(job->by),
			   change->by != NULL ? change->by : "operator");
	if (change->if_match != NULL)
		(void)neap_strcopy(job->if_match, sizeof(job->if_match),
				   change->if_match);
	job->if_none = change->if_none;
	job->is_dry_run = change->is_dry_run;
	job->is_shadow = change->is_shadow;
	job->done = change->done;
	job->arg = change->arg;
	live->waiting++;
	return job;
}

/* The answer must not come before the call has returned: the queue goes on in the next event. */
static void kick(void *arg)
{
	(void)arg;
}

static void kicked(void *arg)
{
	queue_go(arg);
}

static int change_queue(struct live_job *job, struct neap_error *err)
{
	struct neap_live *live = job->live;
	bool is_idle = live->at_work == NULL && live->first == NULL;

	neap_live_queue(job);
	if (is_idle && neap_thread_give(live->thread, kick, kicked, live, err) < 0) {
		live->first = live->last = NULL;
		live->waiting--;
		neap_live_job_free(job);
		return -(int)err->code;
	}
	return 0;
}

int neap_live_put(struct neap_live *live, const struct neap_live_change *change,
		  const char *text, size_t len, struct neap_error *err)
{
	struct live_job *job = change_job(live, VERB_PUT, change, err);
	char origin[80];

	if (job == NULL)
		return -(int)err->code;
	(void)snprintf(origin, sizeof(origin), "%s.lua", change->name);
	if (neap_live_text_set(&job->text, text, len, origin, err) < 0) {
		live->waiting--;
		neap_live_job_free(job);
		return -(int)err->code;
	}
	return change_queue(job, err);
}

int neap_live_delete(struct neap_live *live, const struct neap_live_change *change,
		     struct neap_error *err)
{
	struct live_job *job = change_job(live, VERB_DELETE, change, err);

	return job != NULL ? change_queue(job, err) : -(int)err->code;
}

int neap_live_rollback(struct neap_live *live, const struct neap_live_change *change,
		       const char *to, struct neap_error *err)
{
	struct live_job *job = change_job(live, VERB_ROLLBACK, change, err);

	if (job == NULL)
		return -(int)err->code;
	(void)neap_strcopy(job->to, sizeof(job->to), to != NULL ? to : "");
	return change_queue(job, err);
}

int neap_live_set_params(struct neap_live *live, const struct neap_live_change *change,
			 const json_t *params, struct neap_error *err)
{
	struct live_job *job = change_job(live, VERB_PARAMS, change, err);

	if (job == NULL)
		return -(int)err->code;
	job->params = json_deep_copy(params);
	if (job->params == NULL) {
		live->waiting--;
		neap_live_job_free(job);
		return neap_error_nomem(err);
	}
	return change_queue(job, err);
}

int neap_live_list_versions(struct neap_live *live, const struct neap_live_change *change,
			    const char *version, struct neap_error *err)
{
	struct live_job *job = change_job(live, VERB_VERSIONS, change, err);

	if (job == NULL)
		return -(int)err->code;
	(void)neap_strcopy(job->to, sizeof(job->to), version != NULL ? version : "");
	return change_queue(job, err);
}

void neap_live_forget(struct neap_live *live, void *arg)
{
	struct live_job *job;

	if (live->at_work != NULL && live->at_work->arg == arg)
		live->at_work->done = NULL;
	for (job = live->first; job != NULL; job = job->next) {
		if (job->arg == arg)
			job->done = NULL;
	}
}

/* Inside a tick: the swap comes later, from the loop. */
void neap_live_failed(struct neap_live *live, const char *kind, const char *name,
		      const char *why)
{
	struct neap_error err;
	struct live_job *job = neap_live_job(live, VERB_FAILED, &err);
	bool is_idle = live->at_work == NULL && live->first == NULL;

	if (job == NULL)
		return; /* it stays out of service; what it set is held */
	(void)neap_strcopy(job->id.kind, sizeof(job->id.kind), kind);
	(void)neap_strcopy(job->id.name, sizeof(job->id.name), name);
	(void)neap_strcopy(job->why, sizeof(job->why), why);
	neap_live_queue(job);
	if (is_idle)
		(void)neap_thread_give(live->thread, kick, kicked, live, &err);
}

/* Starts the queue from the next event on, if nothing else will. */
int neap_live_kick(struct neap_live *live, struct neap_error *err)
{
	if (live->at_work != NULL)
		return 0;
	return neap_thread_give(live->thread, kick, kicked, live, err);
}
