/* SPDX-License-Identifier: Apache-2.0
 *
 * What each change does: what must hold when its turn comes, its work on the policy thread (judging,
 * then making it durable), and what the loop does with the outcome. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policy/live_priv.h"
#include "engine/base/mem.h"

static int check_match(const struct live_job *job, struct neap_error *err)
{
	const char *have = job->older_version;

	if (job->if_none && have[0] != '\0')
		return neap_error_set(err, NEAP_EPRECONDITION,
				      "%s/%s is there already, as version %s",
				      job->id.kind, job->id.name, have);
	if (job->if_match[0] == '\0')
		return 0;
	if (have[0] == '\0')
		return neap_error_set(err, NEAP_EPRECONDITION, "there is no %s/%s",
				      job->id.kind, job->id.name);
	if (strcmp(job->if_match, "*") != 0 && strcmp(job->if_match, have) != 0)
		return neap_error_set(err, NEAP_EPRECONDITION,
				      "version %s is live, not %s: look at it first",
				      have, job->if_match);
	return 0;
}

/* A policy of the directory is changed there. */
static int check_owner(const struct live_job *job, struct neap_error *err)
{
	if (job->item == NULL || job->item->file.text == NULL)
		return 0;
	return neap_error_set(err, NEAP_ECONFLICT,
			      "%s/%s belongs to %s in --policy-dir: change it there",
			      job->id.kind, job->id.name, job->item->file.origin);
}

/* The examples and the replay, for the answer. */
static json_t *outcome(const struct live_job *job, const char *result,
		       const char *version)
{
	const struct neap_verdict *verdict = &job->verdict;
	json_t *body = json_pack(
		"{s:s, s:o, s:s, s:o, s:{s:i, s:i}, s:I}", "result", result, "policy",
		json_sprintf("%s/%s", job->id.kind, job->id.name), "version", version,
		"replaced",
		job->older_version[0] != '\0' ? json_string(job->older_version)
					      : json_null(),
		"examples", "passed", verdict->examples - verdict->examples_failed,
		"failed", verdict->examples_failed, "cpu_usec",
		(json_int_t)verdict->cpu_usec);

	(void)json_object_set(body, "replay",
			      verdict->replay != NULL ? verdict->replay : json_null());
	return body;
}

static void refuse(struct live_job *job)
{
	/* Whatever a text did wrong, its memory or time included, it is the text that is wrong. */
	if (job->verdict.problem_count > 0 && job->err.code != NEAP_ETOOLARGE)
		job->err.code = NEAP_EINVAL;
	job->body = json_pack("{s:o}", "problems", neap_live_problems(&job->verdict));
	if (job->verdict.replay != NULL)
		(void)json_object_set(job->body, "replay", job->verdict.replay);
	neap_log_line(&job->live->config.log, NEAP_LOG_WARN,
		      "policy %s/%s: refused, from %s: %s", job->id.kind, job->id.name,
		      job->by, job->err.msg);
}

static void answer_live(struct live_job *job, const char *version)
{
	job->body = outcome(job, job->is_unchanged ? "unchanged" : "live", version);
	(void)json_object_set_new(job->body, "row",
				  neap_live_report_item(job->live, job->item));
}

/* In service, with its item; on failure the job's error says why. */
static void go_live(struct live_job *job, int probation)
{
	struct live_item *item = neap_live_get(job->live, &job->id, &job->err);
	char version[12];

	job->rc = item != NULL ? 0 : -(int)job->err.code;
	if (job->rc < 0)
		return;
	job->item = item;
	neap_live_version_of(neap_policy_text(job->verdict.policy, NULL),
			     strlen(neap_policy_text(job->verdict.policy, NULL)),
			     version);
	job->rc = neap_live_swap(job, item, probation, &job->err);
	if (job->rc < 0)
		return;
	item->refusal.is_set = false;
	answer_live(job, version);
}

/* --- put --- */

int neap_live_put_prepare(struct live_job *job, struct neap_error *err)
{
	const struct neap_registry_slot *slot;
	char version[12];

	/* A shadow takes nothing from the directory's own. */
	if (job->is_shadow)
		return check_match(job, err) < 0 ? -(int)err->code
						 : neap_live_shadow_check(job, err);
	if (check_owner(job, err) < 0 || check_match(job, err) < 0)
		return -(int)err->code;
	neap_live_version_of(job->text.text, job->text.len, version);
	slot = job->item != NULL ? neap_live_slot(job->live, job->item) : NULL;
	if (job->is_dry_run || slot == NULL || slot->stats.is_failed ||
	    job->item->layer != LAYER_UPLOADED ||
	    strcmp(version, job->older_version) != 0)
		return 0;
	job->is_unchanged = true;
	answer_live(job, version);
	return 1;
}

void neap_live_put_work(struct live_job *job)
{
	struct neap_history_line line;
	char version[12];

	job->rc = neap_live_judge(job, job->text.text, job->text.len, job->text.origin,
				  LAYER_UPLOADED);
	if (job->rc < 0 || job->is_dry_run || job->is_shadow)
		return;
	neap_live_version_of(job->text.text, job->text.len, version);
	neap_live_line(job, "put", version, "", &line);
	job->rc = neap_versions_put(job->live->config.dir, &job->id, version,
				    job->text.text, job->text.len, &line, &job->err);
}

void neap_live_put_finish(struct live_job *job)
{
	char version[12];

	neap_live_version_of(job->text.text, job->text.len, version);
	if (job->rc < 0) {
		refuse(job);
	} else if (job->is_dry_run) {
		job->body = outcome(job, "checked", version);
	} else if (job->is_shadow) {
		neap_live_shadow_start(job);
		if (job->rc == 0)
			job->body = outcome(job, "shadow", version);
	} else {
		go_live(job, NEAP_POLICY_PROBATION);
		if (job->rc == 0)
			job->item->has_upload = true;
	}
}

/* --- delete --- */

int neap_live_delete_prepare(struct live_job *job, struct neap_error *err)
{
	if (job->is_shadow) {
		neap_live_shadow_end(job);
		return job->rc < 0 ? job->rc : 1;
	}
	if (check_owner(job, err) < 0)
		return -(int)err->code;
	if (job->item == NULL ||
	    (!job->item->has_upload && job->item->layer == LAYER_NONE))
		return neap_error_set(err, NEAP_ENOTFOUND, "there is no policy %s/%s",
				      job->id.kind, job->id.name);
	if (!job->item->has_upload)
		return neap_error_set(
			err, NEAP_ECONFLICT,
			"%s/%s comes from the configuration (--policy): take it out there, "
			"or upload another text of that name",
			job->id.kind, job->id.name);
	return check_match(job, err);
}

void neap_live_delete_work(struct live_job *job)
{
	job->rc = neap_live_put_none(job, "deleted", "");
	if (job->rc == 0 && job->item->configured.text != NULL)
		(void)neap_live_try_configured(job); /* finish says what acts now */
}

void neap_live_delete_finish(struct live_job *job)
{
	struct live_item *item = job->item;
	json_t *now = json_null();

	if (job->rc < 0)
		return;
	item->has_upload = false;
	item->refusal.is_set = false; /* nobody waits for a mended one */
	if (job->verdict.policy != NULL)
		(void)neap_live_swap(job, item, 0, &job->err);
	else
		neap_live_go_nowhere(job);
	if (item->layer != LAYER_NONE)
		now = neap_live_report_item(job->live, item);
	job->body = json_pack("{s:s, s:o, s:s, s:o}", "result", "deleted", "policy",
			      json_sprintf("%s/%s", job->id.kind, job->id.name),
			      "version", job->older_version, "now", now);
}

/* --- rollback --- */

int neap_live_rollback_prepare(struct live_job *job, struct neap_error *err)
{
	if (check_owner(job, err) < 0)
		return -(int)err->code;
	return check_match(job, err);
}

void neap_live_rollback_work(struct live_job *job)
{
	struct neap_history_line line;
	char version[12] = "";

	if (job->to[0] == '\0') {
		job->rc = neap_live_try_predecessors(job, "rollback", "", "");
		if (job->rc == -NEAP_ENOTFOUND && job->item != NULL &&
		    job->item->layer == LAYER_UPLOADED) {
			job->rc = neap_live_try_configured(job);
			if (job->rc == 0)
				job->rc = neap_live_put_none(job, "rollback", "");
		}
		return;
	}
	job->rc = neap_live_try_stored(job, job->to, version);
	if (job->rc == -NEAP_ENOTFOUND)
		(void)neap_error_set(&job->err, NEAP_ENOTFOUND,
				     "there is no version %s of %s/%s", job->to,
				     job->id.kind, job->id.name);
	if (job->rc < 0)
		return;
	neap_live_line(job, "rollback", version, "", &line);
	job->rc = neap_versions_put(job->live->config.dir, &job->id, version, NULL, 0,
				    &line, &job->err);
}

void neap_live_rollback_finish(struct live_job *job)
{
	enum live_layer layer = job->layer;

	if (job->rc < 0) {
		refuse(job);
		return;
	}
	go_live(job, NEAP_POLICY_PROBATION);
	if (job->rc == 0)
		job->item->has_upload = layer == LAYER_UPLOADED;
}

/* --- parameters --- */

static json_t *merged(const struct live_item *item, json_t *change)
{
	json_t *out = item->params != NULL ? json_deep_copy(item->params) : json_object();
	const char *name;
	json_t *value;

	json_object_foreach (change, name, value) {
		if (json_is_null(value))
			(void)json_object_del(out, name);
		else
			(void)json_object_set(out, name, value);
	}
	return out;
}

/* In force before it is durable: the policy's own schema is what judges it. */
int neap_live_params_prepare(struct live_job *job, struct neap_error *err)
{
	struct neap_registry_slot *slot;
	struct neap_error ignored;
	json_t *now, *value;
	const char *name;

	if (job->older_version[0] == '\0')
		return neap_error_set(err, NEAP_ENOTFOUND, "there is no policy %s/%s",
				      job->id.kind, job->id.name);
	if (check_match(job, err) < 0)
		return -(int)err->code;
	json_object_foreach (job->params, name, value) {
		if (!json_is_null(value) || json_object_get(job->older_params, name))
			continue;
		return neap_error_field(err, NEAP_EINVAL, name,
					"there is no such parameter");
	}
	slot = neap_live_slot(job->live, job->item);
	now = merged(job->item, job->params);
	if (now == NULL)
		return neap_error_nomem(err);
	if (neap_live_apply_params(job->item, slot->policy, now, err) < 0) {
		json_decref(now);
		(void)neap_live_apply_params(job->item, slot->policy, job->item->params,
					     &ignored);
		if (err->code == NEAP_ENOTFOUND)
			err->code =
				NEAP_EINVAL; /* the policy is there, its parameter is not */
		return -(int)err->code;
	}
	json_decref(job->params);
	job->params = now;
	return 0;
}

void neap_live_params_work(struct live_job *job)
{
	neap_auto_free char *text =
		json_dumps(job->params, JSON_COMPACT | JSON_SORT_KEYS);
	struct neap_history_line line;

	neap_live_line(job, "params", job->older_version, text != NULL ? text : "",
		       &line);
	job->rc = neap_versions_save_params(
		job->live->config.dir, &job->id,
		json_object_size(job->params) > 0 ? job->params : NULL, &line, &job->err);
}

void neap_live_params_finish(struct live_job *job)
{
	struct live_item *item = job->item;
	struct neap_registry_slot *slot = neap_live_slot(job->live, item);
	neap_auto_free char *text = NULL;
	struct neap_error ignored;
	char what[160];

	if (job->rc < 0) {
		(void)neap_live_apply_params(item, slot->policy, item->params, &ignored);
		return;
	}
	json_decref(item->params);
	item->params = neap_steal(job->params);
	text = json_dumps(item->params, JSON_COMPACT | JSON_SORT_KEYS);
	(void)snprintf(what, sizeof(what), "parameters by %s: %s", job->by,
		       text != NULL ? text : "");
	neap_log_line(&job->live->config.log, NEAP_LOG_INFO, "policy %s: %s",
		      job->older_info.label, what);
	if (job->live->config.note != NULL)
		job->live->config.note(job->live->config.arg, job->older_info.label,
				       what);
	job->body = neap_live_report_params(job->live, item);
}

/* --- versions --- */

int neap_live_versions_prepare(struct live_job *job, struct neap_error *err)
{
	(void)job;
	(void)err;
	return 0;
}

/* The version of the configuration's text, which lies below what was uploaded; "" without one. */
static void configured_version(const struct live_job *job, char ret[12])
{
	const struct live_text *text = job->item ? &job->item->configured : NULL;

	ret[0] = '\0';
	if (text != NULL && text->text != NULL)
		neap_live_version_of(text->text, text->len, ret);
}

void neap_live_versions_work(struct live_job *job)
{
	const char *dir = job->live->config.dir;
	neap_auto_free char *text = NULL;
	char below[12];
	size_t len = 0;

	configured_version(job, below);
	if (job->to[0] == '\0') {
		job->rc = neap_versions_list(dir, &job->id, &job->body, &job->err);
		if (job->rc == -NEAP_ENOTFOUND && job->item != NULL) {
			job->body = json_pack("{s:n, s:[], s:[]}", "active", "versions",
					      "history");
			job->rc = 0;
		}
		if (job->rc == 0 && below[0] != '\0')
			(void)json_object_set_new(job->body, "configured",
						  json_string(below));
		if (job->rc == 0 && job->older_version[0] != '\0')
			(void)json_object_set_new(job->body, "live",
						  json_string(job->older_version));
		return;
	}
	job->rc =
		neap_versions_read(dir, &job->id, job->to, &text, &len, NULL, &job->err);
	if (job->rc == -NEAP_ENOTFOUND && strcmp(job->to, below) == 0) {
		job->body = json_pack("{s:s%}", "text", job->item->configured.text,
				      job->item->configured.len);
		job->rc = 0;
	} else if (job->rc == 0) {
		job->body = json_pack("{s:s%}", "text", text, len);
	}
}

void neap_live_versions_finish(struct live_job *job)
{
	if (job->rc == 0 && job->to[0] == '\0')
		(void)json_object_set_new(
			job->body, "policy",
			json_sprintf("%s/%s", job->id.kind, job->id.name));
}
