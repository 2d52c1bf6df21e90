/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue: one change at a time, in order of arrival; and how changes enter it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policy/live/live_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/reserve/reserve.h"

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
	json_decref(job->set_params);
	free(job->older_text);
	json_decref(job->older_params);
	neap_inputs_done(&job->inputs);
	neap_judgement_done(&job->verdict);
	json_decref(job->body);
	free(job);
}

static void find_replacer(struct live_job *job)
{
	struct neap_registry *registry = job->live->config.registry;

	job->replacer[0] = '\0';
	for (size_t i = 0; i < neap_registry_count(registry); i++) {
		const struct neap_registry_slot *slot = neap_registry_get(registry, i);
		struct neap_policy_info info;

		if (slot->stats.is_failed || !neap_policy_replaces_owners(slot->policy))
			continue;
		neap_policy_get_info(slot->policy, &info);
		(void)neap_strcopy(job->replacer, sizeof(job->replacer), info.name);
	}
}

/* Bans are of the start, before the policy thread has work. */
static bool is_banned(const void *arg, const char *text, size_t len)
{
	return neap_live_find_ban(arg, text, len) != NULL;
}

/* Copies everything, because a starved policy gets another state while the job runs. */
static int live_job_look(struct live_job *job, struct neap_error *err)
{
	struct neap_live *live = job->live;
	struct neap_registry_slot *slot;
	struct neap_policy_info info;
	const char *text;

	find_replacer(job);
	if (job->item == NULL && job->id.name[0] != '\0')
		job->item = neap_live_find(live, &job->id);
	if (job->item != NULL && job->item->params != NULL && job->set_params == NULL) {
		job->set_params = neap_json_deep_copy(job->item->params);
		if (job->set_params == NULL)
			return neap_error_nomem(err);
	}
	/* Not while neapd starts, which recorded rounds would hold up. */
	if (live->config.recorders != NULL && !job->has_inputs && !live->is_inline &&
	    (job->verb == VERB_PUT || job->verb == VERB_FILE)) {
		neap_inputs_share(live->config.recorders, &job->inputs);
		job->inputs.is_banned = is_banned;
		job->inputs.banned_arg = live;
		job->has_inputs = true;
	}
	slot = job->item != NULL ? neap_live_slot(live, job->item) : NULL;
	if (slot == NULL || job->older_text != NULL)
		return 0;
	neap_policy_get_info(slot->policy, &info);
	(void)neap_strcopy(job->older_version, sizeof(job->older_version), info.version);
	(void)neap_strcopy(job->older_label, sizeof(job->older_label), info.label);
	(void)neap_strcopy(job->older_origin, sizeof(job->older_origin), info.origin);
	job->is_older_admins = neap_policy_admins_why(slot->policy) != NULL;
	text = neap_policy_text(slot->policy, &job->older_len);
	job->older_text = neap_strndup(text, job->older_len);
	job->older_params = neap_policy_params(slot->policy);
	if (job->older_text == NULL || job->older_params == NULL)
		return neap_error_nomem(err);
	return 0;
}

int neap_live_job_turn(struct live_job *job, struct live_item *item,
		       struct neap_error *err)
{
	if (job->item == item)
		return 0;
	job->item = item;
	job->id = item->id;
	free(neap_steal(job->older_text));
	json_decref(neap_steal(job->older_params));
	json_decref(neap_steal(job->set_params));
	job->older_version[0] = job->older_label[0] = job->older_origin[0] = '\0';
	job->is_older_admins = false;
	neap_inputs_done(&job->inputs);
	job->has_inputs = false;
	return live_job_look(job, err);
}

static void queue_go(struct neap_live *live);

/* Logs it, because no caller waits for an answer. */
static void say_lost(const struct live_job *job)
{
	neap_log_line(&job->live->config.log, NEAP_LOG_ERROR,
		      "policy %s%s%s: a change (%s) cannot be made: %s", job->id.kind,
		      job->id.name[0] != '\0' ? "/" : job->text.origin, job->id.name,
		      neap_live_verbs[job->verb]->name, job->err.msg);
}

static void job_end(struct live_job *job)
{
	struct neap_live *live = job->live;
	struct live_item *item = NULL;
	struct neap_policy_info info = {.version = ""};

	if (job->is_asked)
		live->waiting--;
	live->counts.unchanged += job->is_unchanged;
	if (job->rc < 0 && job->verb == VERB_PUT)
		live->counts.refused++;
	if (job->id.name[0] != '\0')
		item = neap_live_find(live, &job->id);
	if (item != NULL && neap_live_slot(live, item) != NULL)
		neap_policy_get_info(neap_live_slot(live, item)->policy, &info);
	if (job->done != NULL)
		job->done(job->arg,
			  job->older_version[0] == '\0' && job->verb == VERB_PUT &&
					  !job->is_dry_run
				  ? 201
				  : 200,
			  neap_steal(job->body), info.version,
			  job->rc < 0 ? &job->err : NULL);
	live->at_work = NULL;
	if (item != NULL)
		neap_live_drop(live, item);
	neap_live_job_free(job);
}

static void job_work(void *arg)
{
	struct live_job *job = arg;

	job->has_worked = true;
	neap_live_verbs[job->verb]->work(job);
}

static void job_finish(struct live_job *job)
{
	if (!job->has_worked && !job->is_asked)
		say_lost(job);
	neap_live_verbs[job->verb]->finish(job);
	job_end(job);
}

static void job_done(void *arg)
{
	struct live_job *job = arg;
	struct neap_live *live = job->live;

	if (live->is_ending) {
		neap_live_job_free(job);
		return;
	}
	job_finish(job);
	queue_go(live);
}

/* Puts the job back, behind the files that wait. */
static void put_later(struct live_job *job)
{
	struct neap_live *live = job->live;
	struct live_job *at, *last = NULL;

	for (at = live->first; at != NULL; at = at->next) {
		if (at->verb == VERB_FILE)
			last = at;
	}
	live->at_work = NULL;
	job->is_late = true;
	job->next = last != NULL ? last->next : live->first;
	if (last != NULL)
		last->next = job;
	else
		live->first = job;
	if (job->next == NULL)
		live->last = job;
}

/* Starts the next job unless one is running. Jobs without work are finished at once. */
static void queue_go(struct neap_live *live)
{
	while (live->at_work == NULL && live->first != NULL && !live->is_ending) {
		struct live_job *job = live->first;
		struct neap_error give_err;
		int rc;

		live->first = job->next;
		if (live->first == NULL)
			live->last = NULL;
		job->next = NULL;
		live->at_work = job;
		rc = live_job_look(job, &job->err);
		if (rc == 0)
			rc = neap_live_check_rights(job, &job->err);
		if (rc == 0)
			rc = neap_live_verbs[job->verb]->prepare(job, &job->err);
		if (rc == LIVE_LATER) {
			put_later(job);
			continue;
		}
		if (rc != 0) {
			job->rc = rc < 0 ? rc : 0;
			if (rc < 0 && !job->is_asked)
				say_lost(job);
			job_end(job);
			continue;
		}
		if (live->is_inline) {
			job_work(job);
			job_finish(job);
			continue;
		}
		rc = neap_thread_give(live->thread, job_work, job_done, job, &give_err);
		if (rc == 0)
			return; /* it belongs to the thread until job_done */
		job->rc = rc;
		job->err = give_err;
		job_finish(job);
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
	else
		neap_live_kick(live);
}

/* No answer may come before the call has returned, so the queue continues in the next
 * event. That needs no memory. */
void neap_live_kick(struct neap_live *live)
{
	event_active(live->kick, EV_TIMEOUT, 0);
}

void neap_live_on_kick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	queue_go(arg);
}

/* A change by an operator: answered later, never before the call returns. */
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
	if (live->is_inline) {
		(void)neap_error_set(err, NEAP_EUNAVAILABLE, "neapd is starting");
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
	job->is_asked = true;
	job->if_none = change->if_none;
	job->is_dry_run = change->is_dry_run;
	job->is_shadow = change->is_shadow;
	job->is_by_editor = !change->is_admin;
	job->done = change->done;
	job->arg = change->arg;
	live->waiting++;
	return job;
}

static void change_drop(struct live_job *job)
{
	job->live->waiting--;
	neap_live_job_free(job);
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
		change_drop(job);
		return -(int)err->code;
	}
	neap_live_queue(job);
	return 0;
}

static int queue_version(struct neap_live *live, enum live_verb verb,
			 const struct neap_live_change *change, const char *version,
			 struct neap_error *err)
{
	struct live_job *job = change_job(live, verb, change, err);

	if (job == NULL)
		return -(int)err->code;
	(void)neap_strcopy(job->to, sizeof(job->to), version != NULL ? version : "");
	neap_live_queue(job);
	return 0;
}

int neap_live_delete(struct neap_live *live, const struct neap_live_change *change,
		     struct neap_error *err)
{
	return queue_version(live, VERB_DELETE, change, "", err);
}

int neap_live_rollback(struct neap_live *live, const struct neap_live_change *change,
		       const char *to, struct neap_error *err)
{
	return queue_version(live, VERB_ROLLBACK, change, to, err);
}

int neap_live_set_params(struct neap_live *live, const struct neap_live_change *change,
			 const json_t *params, struct neap_error *err)
{
	struct live_job *job = change_job(live, VERB_PARAMS, change, err);

	if (job == NULL)
		return -(int)err->code;
	job->params = neap_json_deep_copy(params);
	if (job->params == NULL) {
		change_drop(job);
		return neap_error_nomem(err);
	}
	neap_live_queue(job);
	return 0;
}

int neap_live_list_versions(struct neap_live *live, const struct neap_live_change *change,
			    const char *version, struct neap_error *err)
{
	return queue_version(live, VERB_VERSIONS, change, version, err);
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

/* Called inside a tick: the swap comes later, from the loop. The version is noted,
 * because another may have replaced it by then. */
void neap_live_failed(struct neap_live *live, const char *kind, const char *name,
		      const char *why)
{
	const struct neap_registry_slot *slot;
	struct neap_policy_info info;
	struct neap_error err;
	struct live_job *job = neap_live_job(live, VERB_FAILED, &err);

	if (job == NULL) {
		/* Its values are held. */
		neap_log_line(&live->config.log, NEAP_LOG_ERROR,
			      "policy %s/%s stays out of service: %s", kind, name,
			      err.msg);
		return;
	}
	(void)neap_strcopy(job->id.kind, sizeof(job->id.kind), kind);
	(void)neap_strcopy(job->id.name, sizeof(job->id.name), name);
	(void)neap_strcopy(job->why, sizeof(job->why), why);
	slot = neap_registry_find(live->config.registry, kind, name);
	if (slot != NULL) {
		neap_policy_get_info(slot->policy, &info);
		(void)neap_strcopy(job->to, sizeof(job->to), info.version);
	}
	job->item = neap_live_find(live, &job->id);
	job->layer = job->item != NULL ? job->item->layer : LAYER_NONE;
	job->item = NULL; /* set when its turn comes */
	neap_live_queue(job);
}
