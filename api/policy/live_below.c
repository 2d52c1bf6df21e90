/* SPDX-License-Identifier: Apache-2.0
 *
 * What acts when the version on top fails or goes: its predecessor, what the configuration says, or
 * nothing. And the judging that all changes share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policy/live_priv.h"
#include "engine/base/mem.h"

/* --- common --- */

int neap_live_apply_params(const struct live_item *item, struct neap_policy *policy,
			   const json_t *set, struct neap_error *err)
{
	int i;

	if (neap_policy_reset_params(policy, err) < 0)
		return -(int)err->code;
	for (i = 0; i < item->base_count; i++) {
		if (neap_policy_set_param(policy, item->base[i].name, item->base[i].value,
					  err) < 0)
			return -(int)err->code;
	}
	return set != NULL ? neap_policy_set_params(policy, set, err) : 0;
}

/* Judges a text under the parameters of the job's item. The version that is live is compared with
 * it only where the change is an operator's new text. */
int neap_live_judge(struct live_job *job, const char *text, size_t len,
		    const char *origin, enum live_layer layer)
{
	const struct live_item *item = job->item;
	/* A file and a line of the configuration say their name by their text. */
	bool is_named = job->verb != VERB_FILE && job->verb != VERB_CONFIGURE;
	bool is_new = job->verb == VERB_PUT || job->verb == VERB_FILE;
	struct neap_judge_input input = {
		.newer = {.text = text, .len = len, .origin = origin},
		.kind = is_named ? job->id.kind : NULL,
		.name = is_named ? job->id.name : NULL,
	};

	if (item != NULL && is_named) {
		input.newer.base = item->base;
		input.newer.base_count = item->base_count;
		input.newer.params = item->params;
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
		input.tape = job->tape;
	}
	neap_verdict_done(&job->verdict);
	job->layer = layer;
	if (neap_live_check_ban(job->live, text, len, &job->err) < 0)
		return -(int)job->err.code;
	return neap_judge(&input, &job->verdict, &job->err);
}

void neap_live_line(const struct live_job *job, const char *verb, const char *version,
		    const char *why, struct neap_history_line *ret)
{
	*ret = (struct neap_history_line){.unix_usec = neap_live_now()};
	(void)neap_strcopy(ret->verb, sizeof(ret->verb), verb);
	(void)neap_strcopy(ret->version, sizeof(ret->version), version);
	(void)neap_strcopy(ret->by, sizeof(ret->by),
			   job->by[0] != '\0' ? job->by : "neapd");
	(void)neap_strcopy(ret->why, sizeof(ret->why), why);
}

/* --- back to what is below --- */

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
	return neap_live_judge(job, text, len, origin, LAYER_UPLOADED);
}

/* The stored version before the one named that still passes; it becomes the active one. */
int neap_live_try_predecessors(struct live_job *job, const char *verb, const char *before,
			       const char *why)
{
	const char *dir = job->live->config.dir;
	struct neap_history_line line;
	char version[12], older[12];

	(void)neap_strcopy(older, sizeof(older), before);
	for (;;) {
		if (neap_versions_find_before(dir, &job->id, older, version, &job->err) <
		    0)
			return -(int)job->err.code;
		if (neap_live_try_stored(job, version, version) == 0)
			break;
		if (strcmp(older, version) == 0)
			return -(int)job->err.code;
		(void)neap_strcopy(older, sizeof(older), version);
	}
	neap_live_line(job, verb, version, why, &line);
	return neap_versions_put(dir, &job->id, version, NULL, 0, &line, &job->err);
}

/* The configuration's own, NEAP_ENOTFOUND without one. */
int neap_live_try_configured(struct live_job *job)
{
	const struct live_text *text = job->item != NULL ? &job->item->configured : NULL;

	if (text == NULL || text->text == NULL)
		return neap_error_set(&job->err, NEAP_ENOTFOUND,
				      "%s/%s has no version to go back to", job->id.kind,
				      job->id.name);
	return neap_live_judge(job, text->text, text->len, text->origin,
			       LAYER_CONFIGURED);
}

/* No uploaded version is active any more. */
int neap_live_put_none(struct live_job *job, const char *verb, const char *why)
{
	struct neap_history_line line;

	neap_live_line(job, verb, "", why, &line);
	return neap_versions_put(job->live->config.dir, &job->id, "", NULL, 0, &line,
				 &job->err);
}

/* Of what acts now nothing is left: its wishes go with it. */
void neap_live_go_nowhere(struct live_job *job)
{
	struct neap_live *live = job->live;

	neap_registry_remove(live->config.registry, job->id.kind, job->id.name);
	job->item->layer = LAYER_NONE;
	neap_log_line(&live->config.log, NEAP_LOG_INFO,
		      "policy %s/%s: gone; what it set is given back", job->id.kind,
		      job->id.name);
	if (live->config.note != NULL)
		live->config.note(live->config.arg, job->older_info.label,
				  "gone; what it set is given back");
}

/* --- failed in service, or a layer above went --- */

int neap_live_failed_prepare(struct live_job *job, struct neap_error *err)
{
	const struct neap_registry_slot *slot =
		job->item != NULL ? neap_live_slot(job->live, job->item) : NULL;

	(void)err;
	/* Somebody may have put another one in its place meanwhile. */
	return slot != NULL && slot->stats.is_failed ? 0 : 1;
}

void neap_live_failed_work(struct live_job *job)
{
	const struct live_item *item = job->item;
	struct neap_history_line line;
	char version[12];

	job->rc = -NEAP_ENOTFOUND;
	if (item->layer == LAYER_UPLOADED) {
		neap_live_line(job, "failed", job->older_version, job->why, &line);
		(void)neap_versions_note(job->live->config.dir, &job->id, &line,
					 &job->err);
		job->rc = neap_live_try_predecessors(job, "rolled-back",
						     job->older_version, job->why);
		if (job->rc < 0 && job->verdict.policy == NULL) {
			job->rc = neap_live_try_configured(job);
			(void)neap_live_put_none(job, "rolled-back", job->why);
		}
		return;
	}
	if (item->layer != LAYER_DIRECTORY)
		return;
	if (item->file_before.text != NULL)
		job->rc = neap_live_judge(job, item->file_before.text,
					  item->file_before.len, item->file_before.origin,
					  LAYER_DIRECTORY);
	if (job->rc < 0 && item->has_upload)
		job->rc = neap_live_try_stored(job, "", version);
	if (job->rc < 0)
		job->rc = neap_live_try_configured(job);
}

void neap_live_failed_finish(struct live_job *job)
{
	struct neap_live *live = job->live;
	struct live_item *item = job->item;
	enum live_layer before = item->layer;
	struct neap_policy_info info;
	struct neap_error err = {0};
	char what[400];

	(void)neap_error_set(&err, NEAP_ECONFLICT, "failed in service: %s", job->why);
	(void)neap_live_text_set(&job->text, job->older_text, job->older_len,
				 job->older_info.origin, &job->err);
	neap_live_refuse(&item->refusal, job, &err);
	/* Not durable does not matter here: the one that failed must not act. */
	if (job->verdict.policy == NULL) {
		neap_log_line(&live->config.log, NEAP_LOG_ERROR,
			      "policy %s: nothing to go back to: %s",
			      job->older_info.label,
			      neap_kind_find(job->id.kind)->failsafe);
		item->has_upload = before == LAYER_UPLOADED ? false : item->has_upload;
		return;
	}
	if (job->rc < 0)
		neap_log_line(&live->config.log, NEAP_LOG_ERROR,
			      "policy %s/%s: rolled back until the next start only: %s",
			      job->id.kind, job->id.name, job->err.msg);
	if (neap_live_swap(job, item, NEAP_POLICY_PROBATION, &job->err) < 0)
		return;
	if (before == LAYER_UPLOADED)
		item->has_upload = item->layer == LAYER_UPLOADED;
	live->counts.rolled_back++;
	neap_policy_get_info(neap_live_slot(live, item)->policy, &info);
	(void)snprintf(what, sizeof(what), "rolled back from %s by itself: %s",
		       job->older_version, job->why);
	neap_log_line(&live->config.log, NEAP_LOG_ERROR, "policy %s: %s", info.label,
		      what);
	if (live->config.note != NULL)
		live->config.note(live->config.arg, info.label, what);
}

int neap_live_gone_prepare(struct live_job *job, struct neap_error *err)
{
	(void)err;
	if (job->item == NULL)
		return 1;
	if (job->verb == VERB_FILE_GONE) {
		neap_live_text_done(&job->item->file);
		neap_live_text_done(&job->item->file_before);
	}
	return 0;
}

/* The active upload, its predecessors, the configuration's own. */
void neap_live_gone_work(struct live_job *job)
{
	struct neap_history_line line;
	char version[12] = "";

	job->rc = -NEAP_ENOTFOUND;
	if (job->item->has_upload) {
		job->rc = neap_live_try_stored(job, "", version);
		if (job->rc < 0) {
			(void)neap_strcopy(job->why, sizeof(job->why), job->err.msg);
			neap_live_line(job, "failed", version, job->why, &line);
			if (version[0] != '\0')
				(void)neap_versions_note(job->live->config.dir, &job->id,
							 &line, &job->err);
			job->rc = neap_live_try_predecessors(job, "rolled-back", version,
							     job->why);
		}
	}
	if (job->rc < 0 && job->verdict.policy == NULL)
		job->rc = neap_live_try_configured(job);
}

void neap_live_gone_finish(struct live_job *job)
{
	struct live_item *item = job->item;
	struct neap_error err;

	if (job->why[0] != '\0') {
		(void)neap_error_set(&err, NEAP_EINVAL, "%s", job->why);
		neap_live_refuse(&item->refusal, job, &err);
	}
	if (job->why[0] != '\0')
		neap_log_line(&job->live->config.log, NEAP_LOG_ERROR,
			      "policy %s/%s: the uploaded version does not pass: %s",
			      job->id.kind, job->id.name, job->why);
	if (job->verdict.policy != NULL)
		(void)neap_live_swap(job, item, 0, &job->err);
	else if (neap_live_slot(job->live, item) != NULL)
		neap_live_go_nowhere(job);
}
