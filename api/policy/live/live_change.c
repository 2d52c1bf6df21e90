/* SPDX-License-Identifier: Apache-2.0
 *
 * The phases of each change: its conditions when its turn comes, its work on the policy
 * thread (check, then write to disk), and its effect on the loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policy/live/live_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

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

/* A policy of the directory can only be changed there. */
static int check_owner(const struct live_job *job, struct neap_error *err)
{
	if (job->item == NULL || job->item->file.text == NULL)
		return 0;
	return neap_error_set(err, NEAP_ECONFLICT,
			      "%s/%s belongs to %s in --policy-dir: change it there",
			      job->id.kind, job->id.name, job->item->file.origin);
}

/* The answer: result, examples and replay. */
static json_t *outcome(const struct live_job *job, const char *result,
		       const char *version)
{
	const struct neap_judgement *verdict = &job->verdict;
	json_t *body = json_pack(
		"{s:s, s:o, s:s, s:o, s:{s:i, s:i}, s:I}", "result", result, "policy",
		json_sprintf("%s/%s", job->id.kind, job->id.name), "version", version,
		"replaced",
		job->older_version[0] != '\0' ? json_string(job->older_version)
					      : json_null(),
		"examples", "passed", verdict->examples - verdict->examples_failed,
		"failed", verdict->examples_failed, "cpu_usec",
		(json_int_t)verdict->cpu_usec);

	(void)json_object_set_new(body, "is_made", json_boolean(verdict->is_made));
	(void)json_object_set(body, "replay",
			      verdict->replay != NULL ? verdict->replay : json_null());
	return body;
}

/* Remembers the offered text, for the list. */
static void remember(struct live_job *job)
{
	struct live_item *item;
	struct neap_error err;

	if (job->verb != VERB_PUT || job->is_dry_run || !neap_live_is_refused(job))
		return;
	item = neap_live_get(job->live, &job->id, &err);
	if (item != NULL)
		neap_live_refuse(&item->refusal, job, &job->err);
}

static void refuse(struct live_job *job)
{
	remember(job);
	/* A fault of the text is remembered, also its memory or time; the fault of a busy
	 * machine is not. */
	if (neap_live_is_refused(job) && job->err.code != NEAP_ETOOLARGE &&
	    job->err.code != NEAP_EFORBIDDEN)
		job->err.code = NEAP_EINVAL;
	if (job->verdict.problem_count > 0 && job->err.code != NEAP_ENOMEM)
		job->body =
			json_pack("{s:o}", "problems", neap_live_problems(&job->verdict));
	if (job->body != NULL && job->verdict.replay != NULL)
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

/* Puts the version in service, with its item; on failure the job's error says why. */
static void go_live(struct live_job *job, int probation)
{
	struct live_item *item = job->item;
	const char *text;
	size_t len;
	char version[12];

	text = neap_policy_text(job->verdict.policy, &len);
	neap_live_version_of(text, len, version);
	job->rc = neap_live_swap(job, item, probation, &job->err);
	if (job->rc < 0)
		return; /* there was room when it began */
	item->has_upload = item->layer == LAYER_UPLOADED;
	item->refusal.is_set = false;
	answer_live(job, version);
}

/* Makes sure that nothing is missing once the change is on disk. */
static int check_place(struct live_job *job, struct neap_error *err)
{
	job->item = neap_live_get(job->live, &job->id, err);
	return job->item != NULL ? neap_live_check_room(job->live, job->item, err)
				 : -(int)err->code;
}

/* Whether the same text is in service already, and as an upload. */
static int check_unchanged(struct live_job *job, const char *version, bool is_same)
{
	const struct neap_registry_slot *slot = neap_live_slot(job->live, job->item);

	if (!is_same || job->is_dry_run || slot == NULL || slot->stats.is_failed ||
	    job->item->layer != LAYER_UPLOADED)
		return 0;
	job->is_unchanged = true;
	job->item->refusal.is_set = false;
	answer_live(job, version);
	return LIVE_DONE;
}

/* --- put --- */

static int put_prepare(struct live_job *job, struct neap_error *err)
{
	char version[12];

	/* A shadow takes nothing from a policy of the directory. */
	if (job->is_shadow)
		return check_match(job, err) < 0 ? -(int)err->code
						 : neap_live_shadow_check(job, err);
	if (check_owner(job, err) < 0 || check_match(job, err) < 0 ||
	    check_place(job, err) < 0)
		return -(int)err->code;
	neap_live_version_of(job->text.text, job->text.len, version);
	return check_unchanged(
		job, version,
		job->older_text != NULL && job->text.len == job->older_len &&
			memcmp(job->text.text, job->older_text, job->older_len) == 0);
}

static void put_work(struct live_job *job)
{
	struct neap_history_line line;
	char version[12];

	job->rc = neap_live_check_stored_rights(job);
	if (job->rc == 0)
		job->rc = neap_live_judge(job, job->text.text, job->text.len,
					  job->text.origin, LAYER_UPLOADED);
	if (job->rc == 0 && !job->is_dry_run && !job->is_shadow)
		job->rc = neap_live_check_kept_params(job);
	if (job->rc < 0 || job->is_dry_run || job->is_shadow)
		return;
	neap_live_version_of(job->text.text, job->text.len, version);
	neap_live_line(job, "put", version, "", &line);
	job->rc = neap_versions_put(job->live->config.dir, &job->id, version,
				    job->text.text, job->text.len, &line, &job->err);
}

static void put_finish(struct live_job *job)
{
	char version[12];

	neap_live_version_of(job->text.text, job->text.len, version);
	if (job->rc < 0)
		refuse(job);
	else if (job->is_dry_run)
		job->body = outcome(job, "checked", version);
	else if (job->is_shadow)
		neap_live_shadow_start(job);
	else
		go_live(job, NEAP_POLICY_PROBATION);
	if (job->rc == 0 && job->is_shadow)
		job->body = outcome(job, "shadow", version);
}

const struct live_verb_row neap_live_verb_put = {"put", put_prepare, put_work,
						 put_finish};

/* --- delete --- */

static json_t *deleted(const struct live_job *job, json_t *now)
{
	return json_pack("{s:s, s:o, s:o, s:o}", "result", "deleted", "policy",
			 json_sprintf("%s/%s", job->id.kind, job->id.name), "version",
			 job->older_version[0] != '\0' ? json_string(job->older_version)
						       : json_null(),
			 "now", now);
}

static int delete_prepare(struct live_job *job, struct neap_error *err)
{
	struct live_item *item = job->item;

	if (job->is_shadow) {
		neap_live_shadow_end(job);
		return job->rc < 0 ? job->rc : 1;
	}
	if (check_owner(job, err) < 0 || check_match(job, err) < 0)
		return -(int)err->code;
	if (item == NULL ||
	    (!item->has_upload && item->layer == LAYER_NONE && !item->refusal.is_set))
		return neap_error_set(err, NEAP_ENOTFOUND, "there is no policy %s/%s",
				      job->id.kind, job->id.name);
	/* A failed upload without a predecessor is not active any more, but its wishes
	 * are held. */
	if (item->has_upload || item->layer == LAYER_UPLOADED)
		return 0;
	if (item->layer != LAYER_NONE)
		return neap_error_set(
			err, NEAP_ECONFLICT,
			"%s/%s comes from the configuration (--policy): take it out there, "
			"or upload another text of that name",
			job->id.kind, job->id.name);
	item->refusal.is_set = false; /* and all that was known about it */
	job->body = deleted(job, json_null());
	return LIVE_DONE;
}

/* Parameters set over the API stay if the name still has a policy, else they are
 * removed. */
static void delete_work(struct live_job *job)
{
	struct neap_history_line line;
	struct neap_error err;

	job->rc = neap_live_check_stored_rights(job);
	if (job->rc == 0)
		job->rc = neap_live_put_none(job, "deleted", "");
	if (job->rc < 0)
		return;
	/* the finish reports the version in service */
	(void)neap_live_try_configured(job);
	if (job->verdict.policy != NULL || json_object_size(job->set_params) == 0)
		return;
	neap_live_line(job, "params", "", "{}", &line);
	job->has_no_params = neap_versions_save_params(job->live->config.dir, &job->id,
						       NULL, &line, &err) == 0;
}

static void delete_finish(struct live_job *job)
{
	struct neap_live *live = job->live;
	struct live_item *item = job->item;

	if (job->rc < 0)
		return;
	item->has_upload = false;
	item->refusal.is_set = false;
	if (job->has_no_params)
		json_decref(neap_steal(item->params));
	neap_live_say_left_out(job);
	if (job->verdict.policy == NULL && item->configured.text != NULL)
		neap_log_line(&live->config.log, NEAP_LOG_ERROR,
			      "policy %s/%s: the configured one does not pass: %s",
			      job->id.kind, job->id.name, job->err.msg);
	if (job->verdict.policy == NULL || neap_live_swap(job, item, 0, &job->err) < 0) {
		neap_live_go_nowhere(job);
		job->body = deleted(job, json_null());
	} else {
		job->body = deleted(job, neap_live_report_item(live, item));
	}
}

const struct live_verb_row neap_live_verb_delete = {"delete", delete_prepare, delete_work,
						    delete_finish};

/* --- rollback --- */

static int rollback_prepare(struct live_job *job, struct neap_error *err)
{
	if (check_owner(job, err) < 0 || check_match(job, err) < 0 ||
	    check_place(job, err) < 0)
		return -(int)err->code;
	return check_unchanged(job, job->to,
			       job->to[0] != '\0' &&
				       strcmp(job->to, job->older_version) == 0);
}

/* Without a name, the target is the version before. If that does not pass there is none:
 * the operator must name an older one. */
static int find_target(struct live_job *job, char *ret)
{
	if (job->to[0] == '\0')
		return neap_versions_find_before(job->live->config.dir, &job->id, "", ret,
						 &job->err);
	(void)neap_strcopy(ret, 12, job->to);
	return 0;
}

static void rollback_work(struct live_job *job)
{
	struct neap_history_line line;
	char version[12] = "";

	job->rc = neap_live_check_stored_rights(job);
	if (job->rc == 0)
		job->rc = find_target(job, version);
	if (job->rc == -NEAP_ENOTFOUND && job->item->layer == LAYER_UPLOADED) {
		job->rc = neap_live_try_configured(job);
		if (job->rc == 0)
			job->rc = neap_live_put_none(job, "rollback", "");
		return;
	}
	if (job->rc < 0)
		return;
	job->rc = neap_live_try_stored(job, version, version);
	if (job->rc == -NEAP_ENOTFOUND)
		(void)neap_error_set(&job->err, NEAP_ENOTFOUND,
				     "there is no version %s of %s/%s", version,
				     job->id.kind, job->id.name);
	if (job->rc == 0)
		job->rc = neap_live_check_kept_params(job);
	if (job->rc < 0)
		return;
	neap_live_line(job, "rollback", version, "", &line);
	job->rc = neap_versions_put(job->live->config.dir, &job->id, version, NULL, 0,
				    &line, &job->err);
}

static void rollback_finish(struct live_job *job)
{
	if (job->rc < 0)
		refuse(job);
	else
		go_live(job, NEAP_POLICY_PROBATION);
}

const struct live_verb_row neap_live_verb_rollback = {"rollback", rollback_prepare,
						      rollback_work, rollback_finish};

/* --- parameters --- */

static json_t *merged(const struct live_item *item, json_t *change)
{
	json_t *out =
		item->params != NULL ? neap_json_deep_copy(item->params) : json_object();
	const char *name;
	json_t *value;

	json_object_foreach (change, name, value) {
		if (json_is_null(value))
			(void)json_object_del(out, name);
		else if (json_object_set(out, name, value) < 0) {
			json_decref(out);
			return NULL;
		}
	}
	return out;
}

/* Null resets a parameter of the policy, or one that was set and is not known any
 * more. */
static int check_nulls(const struct live_job *job, struct neap_error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach (job->params, name, value) {
		if (json_is_null(value) ? json_object_get(job->older_params, name) ||
						  json_object_get(job->set_params, name)
					: job->older_version[0] != '\0')
			continue;
		return neap_error_field(err, NEAP_EINVAL, name,
					"there is no such parameter");
	}
	return 0;
}

static int check_params(const struct live_job *job, struct neap_error *err)
{
	const struct neap_registry_slot *slot =
		job->item != NULL ? neap_live_slot(job->live, job->item) : NULL;

	/* Parameters of a removed policy can still be reset. */
	if (slot == NULL && json_object_size(job->set_params) == 0)
		return neap_error_set(err, NEAP_ENOTFOUND, "there is no policy %s/%s",
				      job->id.kind, job->id.name);
	if (check_match(job, err) < 0)
		return -(int)err->code;
	if (slot != NULL && slot->stats.is_failed)
		return neap_error_set(
			err, NEAP_ECONFLICT,
			"%s is out of service: put another version, or roll "
			"back",
			job->older_label);
	return check_nulls(job, err);
}

/* They take effect before they are on disk, because the policy's own schema checks
 * them. */
static int params_prepare(struct live_job *job, struct neap_error *err)
{
	struct neap_registry_slot *slot;
	json_t *now;

	if (check_params(job, err) < 0)
		return -(int)err->code;
	now = merged(job->item, job->params);
	if (now == NULL)
		return neap_error_nomem(err);
	json_decref(job->params);
	job->params = now;
	slot = neap_live_slot(job->live, job->item);
	if (slot != NULL &&
	    neap_live_apply_params(job->item, slot->policy, now, err) < 0) {
		if (err->code ==
		    NEAP_ENOTFOUND) /* the policy exists, its parameter does not */
			err->code = NEAP_EINVAL;
		return -(int)err->code;
	}
	if (!json_equal(now, job->set_params) &&
	    json_object_size(now) + json_object_size(job->set_params) > 0)
		return 0;
	job->is_unchanged = true;
	job->body = neap_live_report_params(job->live, job->item);
	return LIVE_DONE;
}

static void params_work(struct live_job *job)
{
	neap_auto_free char *text = neap_json_dump(
		job->params, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
	struct neap_history_line line;

	if (text == NULL) {
		job->rc = neap_error_nomem(&job->err);
		return;
	}
	neap_live_line(job, "params", job->older_version, text, &line);
	job->rc = neap_versions_save_params(
		job->live->config.dir, &job->id,
		json_object_size(job->params) > 0 ? job->params : NULL, &line, &job->err);
}

static void params_finish(struct live_job *job)
{
	struct live_item *item = job->item;
	struct neap_registry_slot *slot = neap_live_slot(job->live, item);
	neap_auto_free char *text = NULL;

	if (job->rc < 0) {
		if (slot != NULL)
			neap_live_apply_own(job->live, item, slot->policy);
		return;
	}
	json_decref(item->params);
	item->params = neap_steal(job->params);
	text = neap_json_dump(item->params,
			      JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
	neap_live_say(job, NEAP_LOG_INFO,
		      job->older_label[0] != '\0' ? job->older_label : item->id.name,
		      "parameters: %s", text != NULL ? text : "");
	job->body = neap_live_report_params(job->live, item);
}

const struct live_verb_row neap_live_verb_params = {"params", params_prepare, params_work,
						    params_finish};

/* --- versions --- */

static int versions_prepare(struct live_job *job, struct neap_error *err)
{
	(void)job;
	(void)err;
	return 0;
}

static void versions_work(struct live_job *job)
{
	const char *dir = job->live->config.dir;
	neap_auto_free char *text = NULL;
	struct neap_error ignored; /* then there is none */
	size_t len = 0;

	if (job->to[0] == '\0') {
		job->rc = neap_versions_list(dir, &job->id, &job->body, &job->err);
		(void)neap_versions_find_before(dir, &job->id, "", job->before, &ignored);
		return;
	}
	job->rc =
		neap_versions_read(dir, &job->id, job->to, &text, &len, NULL, &job->err);
	if (job->rc == 0)
		job->body = json_pack("{s:s%}", "text", text, len);
}

static void versions_finish(struct live_job *job)
{
	neap_live_report_versions(job);
}

const struct live_verb_row neap_live_verb_versions = {"versions", versions_prepare,
						      versions_work, versions_finish};
