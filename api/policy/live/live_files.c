/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of --policy-dir. A file is identified by its name and owns the policy named in
 * its text. */
#include <stdlib.h>
#include <string.h>

#include "api/policy/live/live_priv.h"
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
	/* A script's message has the file's name already. */
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

/* --- reports of the watch --- */

static bool queue_text(struct neap_live *live, const char *name, const char *text,
		       size_t len, struct neap_error *err)
{
	struct live_job *job = neap_live_job(live, VERB_FILE, err);

	if (job == NULL)
		return false;
	if (neap_live_text_set(&job->text, text, len, name, err) < 0) {
		neap_live_job_free(job);
		return false;
	}
	neap_live_queue(job);
	return true;
}

static void changed(void *arg, const char *name, const char *text, size_t len)
{
	struct neap_live *live = arg;
	struct live_file *file = neap_map_find(live->files, name);
	struct neap_error err;

	if (file != NULL) {
		file->is_gone = false;
		neap_live_text_done(&file->waiting);
	}
	if (!queue_text(live, name, text, len, &err))
		say_refused(live, name, &err);
}

/* The file no longer belongs to the item. id NULL: to the item that it has when its turn
 * comes. */
static void queue_gone(struct neap_live *live, const char *name,
		       const struct neap_policy_id *id)
{
	struct neap_error err;
	struct live_job *job = neap_live_job(live, VERB_FILE_GONE, &err);

	if (job == NULL) { /* it stays; the next start finds out */
		say_refused(live, name, &err);
		return;
	}
	(void)neap_strcopy(job->text.origin, sizeof(job->text.origin), name);
	if (id != NULL)
		job->id = *id;
	neap_live_queue(job);
}

/* Tries the files that wait for this policy. */
static void try_waiting(struct neap_live *live, const struct neap_policy_id *id)
{
	size_t i;

	for (i = 0; i < neap_map_count(live->files); i++) {
		const char *name;
		struct live_file *file = neap_map_at(live->files, i, &name);
		struct neap_error err;

		if (file->waiting.text == NULL ||
		    strcmp(file->wants.kind, id->kind) != 0 ||
		    strcmp(file->wants.name, id->name) != 0)
			continue;
		if (queue_text(live, name, file->waiting.text, file->waiting.len, &err))
			neap_live_text_done(&file->waiting);
	}
}

/* Its text may still be in the queue, so the file is kept until its turn. */
static void gone(void *arg, const char *name)
{
	struct neap_live *live = arg;
	struct live_file *file = file_get(live, name);

	if (file == NULL)
		return;
	neap_log_line(&live->config.log, NEAP_LOG_INFO, "--policy-dir: %s is gone", name);
	file->is_gone = true;
	neap_live_text_done(&file->waiting);
	if (file->item != NULL)
		try_waiting(live, &file->item->id);
	queue_gone(live, name, NULL);
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

/* --- a running change --- */

static int file_prepare(struct live_job *job, struct neap_error *err)
{
	struct live_file *file = file_get(job->live, job->text.origin);
	struct live_item *item;

	if (file == NULL)
		return neap_error_nomem(err);
	if (file->is_gone)
		return LIVE_DONE; /* it was removed meanwhile */
	item = file->item;
	if (item == NULL)
		return 0;
	/* An editor may write the same text again. */
	if (item->file.text != NULL && item->file.len == job->text.len &&
	    strcmp(item->file.origin, job->text.origin) == 0 &&
	    memcmp(item->file.text, job->text.text, job->text.len) == 0) {
		/* Also for a text that is in service again, after one that did not
		 * pass. */
		if (file->refusal.is_set && neap_live_slot(job->live, item) != NULL) {
			item->refusal.is_set = false;
			file->refusal.is_set = false;
		}
		return LIVE_DONE;
	}
	return neap_live_job_turn(job, item, err);
}

static void file_work(struct live_job *job)
{
	job->rc = neap_live_judge(job, job->text.text, job->text.len, job->text.origin,
				  LAYER_DIRECTORY);
}

/* Whether another file has the policy, and keeps it. */
static bool has_other(const struct live_job *job, const struct live_item *item)
{
	const struct live_file *owner;

	if (item->file.text == NULL || strcmp(item->file.origin, job->text.origin) == 0)
		return false;
	owner = neap_map_find(job->live->files, item->file.origin);
	return owner != NULL && !owner->is_gone && owner->item == item;
}

/* The text waits until the other file goes. */
static int wait_for_other(struct live_job *job, struct live_file *file,
			  const struct live_item *item)
{
	struct neap_error ignored; /* then it is tried when it changes */

	file->wants = item->id;
	(void)neap_live_text_set(&file->waiting, job->text.text, job->text.len,
				 job->text.origin, &ignored);
	return neap_error_set(&job->err, NEAP_ECONFLICT,
			      "%s/%s is in %s already: rename one", item->id.kind,
			      item->id.name, item->file.origin);
}

/* Takes the item that the text names, if this file may have it. */
static int take_item(struct live_job *job, struct live_file *file, struct live_item **ret)
{
	struct neap_policy_info info;
	struct neap_policy_id id = {{0}, {0}};
	struct neap_error *err = &job->err;
	struct live_item *item;

	neap_policy_get_info(job->verdict.policy, &info);
	(void)neap_strcopy(id.kind, sizeof(id.kind), info.kind);
	(void)neap_strcopy(id.name, sizeof(id.name), info.name);
	item = neap_live_get(job->live, &id, err);
	if (item == NULL)
		return -(int)err->code;
	if (neap_live_job_turn(job, item, err) < 0)
		return -(int)err->code;
	if (has_other(job, item))
		return wait_for_other(job, file, item);
	if (neap_live_check_room(job->live, item, err) < 0)
		return -(int)err->code;
	*ret = item;
	return neap_live_apply_params(item, job->verdict.policy, item->params, err);
}

/* Keeps the text for a rollback: the one in service, if it is the file's and has no
 * faults. */
static void keep_before(const struct live_job *job, struct live_item *item)
{
	const struct neap_registry_slot *slot = neap_live_slot(job->live, item);

	if (item->layer == LAYER_DIRECTORY && item->is_before_live)
		return;
	neap_live_text_done(&item->file_before);
	if (item->layer != LAYER_DIRECTORY || slot == NULL || slot->stats.is_failed)
		return;
	item->file_before = item->file;
	item->file = (struct live_text){0};
}

static void file_finish(struct live_job *job)
{
	struct neap_live *live = job->live;
	struct live_file *file = neap_map_find(live->files, job->text.origin);
	struct live_item *item = NULL;

	/* prepare made it, and only a later job frees it */
	if (file == NULL)
		return;
	if (job->rc == 0)
		job->rc = take_item(job, file, &item);
	if (job->rc < 0) {
		refuse(job, file);
		return;
	}
	if (file->item != NULL && file->item != item) {
		try_waiting(live, &file->item->id);
		queue_gone(live, job->text.origin, &file->item->id);
	}
	file->item = item;
	file->refusal.is_set = false;
	keep_before(job, item);
	neap_live_text_done(&item->file);
	item->file = job->text;
	job->text = (struct live_text){0};
	if (neap_live_swap(job, item, live->is_inline ? 0 : NEAP_POLICY_PROBATION,
			   &job->err) == 0)
		item->refusal.is_set = false;
	else
		say_refused(live, item->file.origin, &job->err);
}

const struct live_verb_row neap_live_verb_file = {"file", file_prepare, file_work,
						  file_finish};

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

void neap_live_file_free(struct live_file *file)
{
	if (file == NULL)
		return;
	neap_live_text_done(&file->waiting);
	free(file);
}

void neap_live_files_free(struct neap_live *live)
{
	size_t i;

	for (i = 0; i < neap_map_count(live->files); i++)
		neap_live_file_free(neap_map_at(live->files, i, NULL));
	neap_map_free(live->files);
}
