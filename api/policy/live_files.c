/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of --policy-dir. A file is known by its name and owns the policy that its text names. */
#include <stdlib.h>
#include <string.h>

#include "api/policy/live_priv.h"
#include "engine/base/mem.h"

static struct live_file *file_get(struct neap_live *live, const char *name)
{
	struct live_file *file = neap_map_find(live->files, name);

	if (file != NULL)
		return file;
	file = neap_alloc(sizeof(*file));
	if (file != NULL && !neap_map_set(live->files, name, file)) {
		free(file);
		return NULL;
	}
	return file;
}

static void say_refused(const struct neap_live *live, const char *name,
			const struct neap_error *err)
{
	/* The message of a script has the file's name already. */
	bool has_name = strncmp(err->msg, name, strlen(name)) == 0;

	neap_log_line(&live->config.log, NEAP_LOG_ERROR, "--policy-dir: %s%s%s",
		      has_name ? "" : name, has_name ? "" : ": ", err->msg);
}

static void refuse(struct live_job *job, struct live_file *file)
{
	say_refused(job->live, job->text.origin, &job->err);
	job->live->counts.refused++;
	neap_live_refuse(&file->refusal, job, &job->err);
	if (file->item != NULL)
		file->item->refusal = file->refusal;
}

/* --- what the watch tells --- */

static void changed(void *arg, const char *name, const char *text, size_t len)
{
	struct neap_live *live = arg;
	const struct live_file *file = neap_map_find(live->files, name);
	struct neap_error err;
	struct live_job *job = neap_live_job(live, VERB_FILE, &err);

	if (job == NULL || neap_live_text_set(&job->text, text, len, name, &err) < 0) {
		if (job != NULL)
			neap_live_job_free(job);
		say_refused(live, name, &err);
		return;
	}
	if (file != NULL && file->item != NULL)
		job->id = file->item->id;
	neap_live_queue(job);
	if (!live->is_inline)
		(void)neap_live_kick(live, &err); /* else with the next change */
}

static void queue_gone(struct neap_live *live, const struct live_item *item)
{
	struct neap_error err;
	struct live_job *job = neap_live_job(live, VERB_FILE_GONE, &err);

	if (job == NULL)
		return; /* it stays as it is; the next start finds out */
	job->id = item->id;
	neap_live_queue(job);
	if (!live->is_inline)
		(void)neap_live_kick(live, &err);
}

static void gone(void *arg, const char *name)
{
	struct neap_live *live = arg;
	struct live_file *file = neap_map_remove(live->files, name);

	if (file == NULL)
		return;
	neap_log_line(&live->config.log, NEAP_LOG_INFO, "--policy-dir: %s is gone", name);
	if (file->item != NULL) {
		/* What was wrong with it went with it. */
		if (strcmp(file->item->refusal.origin, name) == 0)
			file->item->refusal.is_set = false;
		queue_gone(live, file->item);
	}
	free(file);
}

static void refused(void *arg, const char *name, const struct neap_error *err)
{
	struct neap_live *live = arg;
	struct live_file *file = file_get(live, name);
	struct live_job nothing = {.live = live};

	say_refused(live, name, err);
	if (file == NULL)
		return;
	(void)neap_strcopy(nothing.text.origin, sizeof(nothing.text.origin), name);
	neap_live_refuse(&file->refusal, &nothing, err);
	if (file->item != NULL)
		file->item->refusal = file->refusal;
}

/* --- a change at work --- */

int neap_live_file_prepare(struct live_job *job, struct neap_error *err)
{
	const struct live_item *item = job->item;

	(void)err;
	/* An editor may write the same again. */
	if (item != NULL && item->file.text != NULL && item->file.len == job->text.len &&
	    strcmp(item->file.origin, job->text.origin) == 0 &&
	    memcmp(item->file.text, job->text.text, job->text.len) == 0)
		return 1;
	return 0;
}

void neap_live_file_work(struct live_job *job)
{
	job->rc = neap_live_judge(job, job->text.text, job->text.len, job->text.origin,
				  LAYER_DIRECTORY);
}

/* The item that the text names, if this file may have it. */
static int take_item(struct live_job *job, struct live_item **ret)
{
	struct neap_policy_info info;
	struct neap_error *err = &job->err;
	struct live_item *item;

	neap_policy_get_info(job->verdict.policy, &info);
	(void)neap_strcopy(job->id.kind, sizeof(job->id.kind), info.kind);
	(void)neap_strcopy(job->id.name, sizeof(job->id.name), info.name);
	item = neap_live_get(job->live, &job->id, err);
	if (item == NULL)
		return -(int)err->code;
	if (item->file.text != NULL && strcmp(item->file.origin, job->text.origin) != 0 &&
	    neap_map_find(job->live->files, item->file.origin) != NULL)
		return neap_error_set(err, NEAP_ECONFLICT,
				      "%s/%s is in %s already: rename one", info.kind,
				      info.name, item->file.origin);
	*ret = item;
	return neap_live_apply_params(item, job->verdict.policy, item->params, err);
}

void neap_live_file_finish(struct live_job *job)
{
	struct neap_live *live = job->live;
	struct live_file *file = file_get(live, job->text.origin);
	struct live_item *item = NULL;
	struct neap_registry_slot *slot;

	if (file == NULL)
		return;
	if (job->rc == 0)
		job->rc = take_item(job, &item);
	if (job->rc < 0) {
		refuse(job, file);
		return;
	}
	if (file->item != NULL && file->item != item)
		queue_gone(live, file->item);
	file->item = item;
	file->refusal.is_set = false;
	slot = neap_live_slot(live, item);
	if (item->layer == LAYER_DIRECTORY && item->file.text != NULL && slot != NULL &&
	    !slot->stats.is_failed) {
		neap_live_text_done(&item->file_before);
		item->file_before = item->file;
		item->file = (struct live_text){0};
	}
	neap_live_text_done(&item->file);
	item->file = job->text;
	job->text = (struct live_text){0};
	job->item = item;
	if (slot != NULL && job->older_version[0] == '\0') {
		struct neap_policy_info info;

		neap_policy_get_info(slot->policy, &info);
		(void)neap_strcopy(job->older_version, sizeof(job->older_version),
				   info.version);
	}
	if (neap_live_swap(job, item, live->is_inline ? 0 : NEAP_POLICY_PROBATION,
			   &job->err) == 0)
		item->refusal.is_set = false;
	else
		say_refused(live, item->file.origin, &job->err);
}

/* --- life --- */

int neap_live_watch(struct neap_live *live, const char *dir, struct neap_error *err)
{
	const struct neap_watch_calls calls = {live, changed, gone, refused};
	int rc;

	live->is_inline = true;
	rc = neap_watch_new(live->config.base, dir, live->config.own_uid, &calls,
			    &live->watch, err);
	live->is_inline = false;
	return rc;
}

void neap_live_look(struct neap_live *live)
{
	if (live->watch != NULL)
		neap_watch_look(live->watch);
}

void neap_live_files_free(struct neap_live *live)
{
	size_t i;

	for (i = 0; i < neap_map_count(live->files); i++)
		free(neap_map_at(live->files, i, NULL));
	neap_map_free(live->files);
}
