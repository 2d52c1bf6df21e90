/* SPDX-License-Identifier: Apache-2.0
 *
 * What replaces a live version that fails or is removed: its predecessor, the
 * configuration's, or none. And the checks that all changes share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policy/live/live_priv.h"
#include "engine/base/mem.h"

/* On a starved machine the wall clock limit stops a call, which says nothing about the
 * policy, so it is tried again. An operator can try again himself. */
#define TRIES 3

/* --- common --- */

int neap_live_apply_params(const struct live_item *item, struct neap_policy *policy,
			   const json_t *set, struct neap_error *err)
{
	return neap_policy_put_params(policy, item->base, item->base_count, set, err);
}

void neap_live_apply_own(struct neap_live *live, const struct live_item *item,
			 struct neap_policy *policy)
{
	struct neap_error err = {0}, again;

	if (neap_live_apply_params(item, policy, item->params, &err) == 0)
		return;
	neap_log_line(&live->config.log, NEAP_LOG_ERROR,
		      "policy %s/%s: parameters set over the API are left out: %s",
		      item->id.kind, item->id.name, err.msg);
	if (neap_live_apply_params(item, policy, NULL, &again) < 0)
		neap_log_line(&live->config.log, NEAP_LOG_ERROR,
			      "policy %s/%s: its parameters stay as they are: %s",
			      item->id.kind, item->id.name, again.msg);
}

static int judge(struct live_job *job, const struct neap_judge_input *input,
		 enum live_layer layer)
{
	int rc, i = 0;

	job->layer = layer;
	do {
		neap_judgement_done(&job->verdict);
		rc = neap_judge(input, &job->verdict, &job->err);
	} while (rc == -NEAP_EUNAVAILABLE && !job->is_asked && ++i < TRIES);
	return rc;
}

/* Judges a text with the parameters of the job's item. It is compared with the live
 * version only if the change is an operator's new text. */
int neap_live_judge(struct live_job *job, const char *text, size_t len,
		    const char *origin, enum live_layer layer)
{
	const struct live_item *item = job->item;
	/* For a file and for the configuration, the text says the name. */
	bool is_named = job->verb != VERB_FILE && job->verb != VERB_CONFIGURE;
	bool is_new = job->verb == VERB_PUT || job->verb == VERB_FILE;
	struct neap_judge_input input = {
		.newer = {.text = text, .len = len, .origin = origin},
		.kind = is_named ? job->id.kind : NULL,
		.name = is_named ? job->id.name : NULL,
		.is_by_editor = job->is_by_itself ||
				(job->is_by_editor &&
				 (job->verb == VERB_PUT || job->verb == VERB_ROLLBACK)),
		.replacer = job->replacer,
	};

	if (item != NULL && is_named) {
		input.newer.base = item->base;
		input.newer.base_count = item->base_count;
		input.newer.params = job->set_params;
	}
	if (job->verb == VERB_CONFIGURE) {
		input.newer.base = job->base;
		input.newer.base_count = job->base_count;
	}
	if (is_new && job->older_text != NULL) {
		input.older.text = job->older_text;
		input.older.len = job->older_len;
		input.older.origin = job->older_version;
		input.older.params = job->older_params;
	}
	if (is_new)
		input.inputs = &job->inputs;
	job->is_banned = neap_live_find_ban(job->live, text, len) != NULL;
	if (job->is_banned) { /* none of its lines may run */
		neap_judgement_done(&job->verdict);
		return neap_live_check_ban(job->live, text, len, &job->err);
	}
	return judge(job, &input, layer);
}

bool neap_live_is_refused(const struct live_job *job)
{
	return job->verdict.problem_count > 0 && job->err.code != NEAP_EUNAVAILABLE &&
	       job->err.code != NEAP_ENOMEM;
}

/* Parameters set for another version need not fit this one. When no operator decides, a
 * working policy is more important than these parameters. */
static int judge_below(struct live_job *job, const char *text, size_t len,
		       const char *origin, enum live_layer layer)
{
	json_t *set = job->set_params;
	struct neap_error err;
	int rc = neap_live_judge(job, text, len, origin, layer);

	if (rc != -NEAP_ECONFLICT || json_object_size(set) == 0 ||
	    job->verb == VERB_ROLLBACK)
		return rc;
	err = job->err;
	job->set_params = NULL;
	rc = neap_live_judge(job, text, len, origin, layer);
	job->set_params = set;
	job->is_set_left_out = rc == 0;
	if (rc < 0)
		job->err = err;
	return rc;
}

void neap_live_line(const struct live_job *job, const char *verb, const char *version,
		    const char *why, struct neap_history_line *ret)
{
	*ret = (struct neap_history_line){.unix_usec = neap_live_now(),
					  .is_by_editor = job->is_by_editor};
	(void)neap_strcopy(ret->verb, sizeof(ret->verb), verb);
	(void)neap_strcopy(ret->version, sizeof(ret->version), version);
	(void)neap_strcopy(ret->by, sizeof(ret->by),
			   job->by[0] != '\0' ? job->by : "neapd");
	(void)neap_strcopy(ret->why, sizeof(ret->why), why);
}

/* --- back to the layers below --- */

int neap_live_try_stored(struct live_job *job, const char *version, char *ret_version)
{
	const struct neap_live *live = job->live;
	neap_auto_free char *text = NULL;
	char origin[300];
	size_t len = 0;

	if (neap_versions_read(live->config.dir, &job->id, version, &text, &len,
			       ret_version, &job->err) < 0)
		return -(int)job->err.code;
	(void)snprintf(origin, sizeof(origin), "%s.lua", job->id.name);
	return judge_below(job, text, len, origin, LAYER_UPLOADED);
}

static bool is_in(char seen[][12], int count, const char *version)
{
	int i;

	for (i = 0; i < count; i++) {
		if (strcmp(seen[i], version) == 0)
			return true;
	}
	return false;
}

static void live_note_failed(struct live_job *job, const char *version, const char *why)
{
	struct neap_history_line line;
	struct neap_error
		ignored; /* it is left out for its faults, whether this is saved or not */

	neap_live_line(job, "failed", version, why, &line);
	(void)neap_versions_note(job->live->config.dir, &job->id, &line, &ignored);
}

/* Takes the newest stored version before the named one that still passes, and makes it
 * active. Versions that do not pass are noted, so that they are not tried again. If the
 * note cannot be written (or the machine is at fault), two versions could each name the
 * other as predecessor, so the tried ones are remembered. A version that needs an admin
 * may only follow a failed one that needed an admin too. */
static int live_try_predecessors(struct live_job *job, const char *verb,
				 const char *before, const char *why)
{
	const char *dir = job->live->config.dir;
	char seen[NEAP_VERSIONS_KEPT][12], version[12], older[12];
	struct neap_history_line line;
	int count = 0;

	(void)neap_strcopy(older, sizeof(older), before);
	for (;;) {
		struct neap_error err;
		int rc;

		if (neap_versions_find_before(dir, &job->id, older, version, &err) < 0 ||
		    count == NEAP_VERSIONS_KEPT || is_in(seen, count, version))
			return -NEAP_ENOTFOUND;
		job->is_by_itself = job->verb != VERB_FAILED || !job->is_older_admins ||
				    neap_live_is_deleted_since(job, version);
		rc = neap_live_try_stored(job, version, version);
		job->is_by_itself = false;
		if (rc == 0)
			break;
		if (neap_live_is_refused(job) && rc != -NEAP_EFORBIDDEN)
			live_note_failed(job, version, job->err.msg);
		(void)neap_strcopy(seen[count++], sizeof(seen[0]), version);
		(void)neap_strcopy(older, sizeof(older), version);
	}
	neap_live_line(job, verb, version, why, &line);
	return neap_versions_put(dir, &job->id, version, NULL, 0, &line, &job->err);
}

/* Tries the configuration's version; NEAP_ENOTFOUND without one. */
int neap_live_try_configured(struct live_job *job)
{
	const struct live_text *text = job->item != NULL ? &job->item->configured : NULL;

	if (text == NULL || text->text == NULL)
		return neap_error_set(&job->err, NEAP_ENOTFOUND,
				      "%s/%s has no version to go back to", job->id.kind,
				      job->id.name);
	return judge_below(job, text->text, text->len, text->origin, LAYER_CONFIGURED);
}

/* It is no error when old ones stay: the next change tries again. */
void neap_live_bound_deleted(struct neap_live *live)
{
	struct neap_error err;
	int64_t bytes = 0;

	if (neap_versions_bound(live->config.dir, live->config.deleted_bytes, &bytes,
				&err) == 0)
		live->deleted_bytes = bytes;
	else
		neap_log_from(&live->config.log, "policies", NEAP_LOG_WARN,
			      "deleted policies stay on disk: %s", err.msg);
}

/* Makes no uploaded version active. */
int neap_live_put_none(struct live_job *job, const char *verb, const char *why)
{
	struct neap_history_line line;

	neap_live_line(job, verb, "", why, &line);
	if (neap_versions_put(job->live->config.dir, &job->id, "", NULL, 0, &line,
			      &job->err) < 0)
		return -(int)job->err.code;
	neap_live_bound_deleted(job->live);
	return 0;
}

/* Removes the policy in service together with its wishes. */
void neap_live_go_nowhere(struct live_job *job)
{
	struct neap_live *live = job->live;

	job->item->layer = LAYER_NONE;
	if (neap_live_slot(live, job->item) == NULL)
		return;
	neap_registry_remove(live->config.registry, job->id.kind, job->id.name);
	neap_live_say(job, NEAP_LOG_INFO, job->older_label,
		      "gone; what it set is given back");
}

void neap_live_say_left_out(const struct live_job *job)
{
	if (job->is_set_left_out)
		neap_log_line(&job->live->config.log, NEAP_LOG_ERROR,
			      "policy %s/%s: what acts now does not take the parameters "
			      "set over the API: they are left out",
			      job->id.kind, job->id.name);
}

/* --- failed in service --- */

static int failed_prepare(struct live_job *job, struct neap_error *err)
{
	const struct neap_registry_slot *slot =
		job->item != NULL ? neap_live_slot(job->live, job->item) : NULL;

	(void)err;
	/* If another version has replaced it meanwhile, the failure is only noted, so
	 * that no rollback chooses it. */
	if (strcmp(job->to, job->older_version) != 0)
		return job->layer == LAYER_UPLOADED ? 0 : LIVE_DONE;
	job->to[0] = '\0';
	return slot != NULL && slot->stats.is_failed ? 0 : LIVE_DONE;
}

/* Tries the file's text before (unless that is the failed one), then the upload, then the
 * configured version. */
static void fall_from_file(struct live_job *job)
{
	const struct live_item *item = job->item;
	const struct live_text *before = &item->file_before;
	char version[12];

	if (before->text != NULL && !item->is_before_live)
		job->rc = judge_below(job, before->text, before->len, before->origin,
				      LAYER_DIRECTORY);
	if (job->rc < 0 && item->has_upload)
		job->rc = neap_live_try_stored(job, "", version);
	if (job->rc < 0)
		job->rc = neap_live_try_configured(job);
}

static void failed_work(struct live_job *job)
{
	job->rc = -NEAP_ENOTFOUND;
	if (job->to[0] != '\0') {
		live_note_failed(job, job->to, job->why);
		return;
	}
	if (job->item->layer == LAYER_DIRECTORY)
		fall_from_file(job);
	if (job->item->layer != LAYER_UPLOADED)
		return;
	live_note_failed(job, job->older_version, job->why);
	job->rc = live_try_predecessors(job, "rolled-back", job->older_version, job->why);
	if (job->verdict.policy != NULL)
		return;
	(void)neap_live_try_configured(job);
	job->rc = neap_live_put_none(job, "rolled-back", job->why);
}

static void refuse_failed(struct live_job *job)
{
	struct live_refusal *refusal = &job->item->refusal;
	const char *why;
	int line = neap_problem_cut(job->why, job->older_origin, &why);

	*refusal = (struct live_refusal){
		.is_set = true, .unix_usec = neap_live_now(), .line = line};
	(void)neap_strcopy(refusal->origin, sizeof(refusal->origin), job->older_origin);
	(void)neap_strcopy(refusal->version, sizeof(refusal->version),
			   job->older_version);
	(void)snprintf(refusal->what, sizeof(refusal->what), "failed in service: %s",
		       why);
}

static void failed_finish(struct live_job *job)
{
	struct neap_live *live = job->live;
	struct live_item *item = job->item;
	enum live_layer before = item->layer;
	struct neap_policy_info info;
	bool is_before;

	if (job->to[0] != '\0')
		return;
	refuse_failed(job);
	/* An error of the disk does not matter here: the failed version must not stay in
	 * service. */
	if (job->verdict.policy == NULL) {
		neap_live_say(job, NEAP_LOG_ERROR, job->older_label,
			      "nothing to go back to: %s",
			      neap_kind_find(job->id.kind)->failsafe);
		if (before == LAYER_UPLOADED && job->has_worked)
			item->has_upload = job->rc < 0;
		return;
	}
	if (job->rc < 0)
		neap_log_line(&live->config.log, NEAP_LOG_ERROR,
			      "policy %s/%s: rolled back until the next start only: %s",
			      job->id.kind, job->id.name, job->err.msg);
	neap_live_say_left_out(job);
	is_before = job->layer == LAYER_DIRECTORY;
	if (neap_live_swap(job, item, NEAP_POLICY_PROBATION, &job->err) < 0)
		return; /* there is room, because the slot exists */
	item->is_before_live = is_before;
	if (before == LAYER_UPLOADED)
		item->has_upload = item->layer == LAYER_UPLOADED;
	live->counts.rolled_back++;
	neap_policy_get_info(neap_live_slot(live, item)->policy, &info);
	neap_live_say(job, NEAP_LOG_ERROR, info.label,
		      "rolled back from %s by itself: %s", job->older_version, job->why);
}

const struct live_verb_row neap_live_verb_failed = {"failed", failed_prepare, failed_work,
						    failed_finish};

/* --- a layer above went, or there is none yet --- */

/* The file is gone, or names another policy now. Checks whether the item still belongs to
 * it. */
static int file_gone(struct live_job *job, struct neap_error *err)
{
	struct neap_live *live = job->live;
	struct live_file *file = neap_map_find(live->files, job->text.origin);
	struct live_item *item = job->item;

	/* The policy may wait under another file name: these files go first, so that
	 * nothing is restored in between. */
	if (!job->is_late)
		return LIVE_LATER;
	if (job->id.name[0] == '\0') {
		if (file == NULL || !file->is_gone)
			return LIVE_DONE; /* it is back */
		item = file->item;
		neap_live_file_free(neap_map_remove(live->files, job->text.origin));
	}
	if (item == NULL || item->file.text == NULL ||
	    strcmp(item->file.origin, job->text.origin) != 0)
		return LIVE_DONE;
	if (neap_live_job_turn(job, item, err) < 0)
		return -(int)err->code;
	if (strcmp(item->refusal.origin, job->text.origin) == 0)
		item->refusal.is_set = false;
	neap_live_text_done(&item->file);
	neap_live_text_done(&item->file_before);
	return item->layer == LAYER_DIRECTORY ? 0 : LIVE_DONE;
}

static int gone_prepare(struct live_job *job, struct neap_error *err)
{
	if (job->verb == VERB_FILE_GONE)
		return file_gone(job, err);
	return job->item != NULL ? 0 : LIVE_DONE;
}

/* Without memory a start ends, so that it does not continue with another version. */
static bool lacks_start(const struct live_job *job)
{
	return job->rc == -NEAP_ENOMEM && job->live->is_inline;
}

/* Tries the active upload, then its predecessors. Errors of the files, the machine or its
 * memory do not count against a version: the next start tries it again. */
static void try_uploads(struct live_job *job)
{
	char version[12] = "";
	bool is_refused;

	job->rc = neap_live_try_stored(job, "", version);
	if (job->rc == 0 || lacks_start(job))
		return;
	(void)neap_strcopy(job->why, sizeof(job->why), job->err.msg);
	is_refused = version[0] != '\0' && (neap_live_is_refused(job) || job->is_banned);
	if (is_refused)
		live_note_failed(job, version, job->why);
	job->rc = live_try_predecessors(job, "rolled-back", version, job->why);
	job->has_no_upload = job->verdict.policy == NULL && is_refused &&
			     neap_live_put_none(job, "rolled-back", job->why) == 0;
}

static void gone_work(struct live_job *job)
{
	job->rc = -NEAP_ENOTFOUND;
	if (job->item->has_upload)
		try_uploads(job);
	if (job->verdict.policy == NULL && !lacks_start(job))
		job->rc = neap_live_try_configured(job);
}

static void gone_finish(struct live_job *job)
{
	struct neap_live *live = job->live;
	struct live_item *item = job->item;
	struct neap_error err = {0};

	if (!job->has_worked)
		return; /* the version in service stays */
	if (job->has_no_upload)
		item->has_upload = false;
	if (job->why[0] != '\0') {
		neap_log_line(&live->config.log, NEAP_LOG_ERROR,
			      "policy %s/%s: the uploaded version does not pass: %s",
			      job->id.kind, job->id.name, job->why);
		(void)neap_error_set(&err, NEAP_ECONFLICT, "%s", job->why);
		neap_live_refuse(&item->refusal, job, &err);
	}
	if (job->verdict.policy == NULL) {
		if (item->configured.text != NULL)
			neap_log_line(&live->config.log, NEAP_LOG_ERROR,
				      "policy %s/%s: nor does the configured one: %s",
				      job->id.kind, job->id.name, job->err.msg);
		neap_live_go_nowhere(job);
		return;
	}
	neap_live_say_left_out(job);
	if (neap_live_swap(job, item, 0, &err) < 0)
		neap_log_line(&live->config.log, NEAP_LOG_ERROR, "policy %s/%s: %s",
			      job->id.kind, job->id.name, err.msg);
}

const struct live_verb_row neap_live_verb_file_gone = {"file gone", gone_prepare,
						       gone_work, gone_finish};
const struct live_verb_row neap_live_verb_below = {"below", gone_prepare, gone_work,
						   gone_finish};
