/* SPDX-License-Identifier: Apache-2.0
 *
 * Items, the change queue, the swap, the start. */
#include "api/policy/live/live.h"

#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policy/live/live_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/base/sha256.h"
#include "engine/log/audit.h"

#define ITEMS_MAX 256
/* The audit's limit for a text. */
#define NOTE_SIZE sizeof(((struct neap_audit_entry *)NULL)->why)

int64_t neap_live_now(void)
{
	return neap_clock_usec(CLOCK_REALTIME);
}

/* --- texts --- */

int neap_live_text_set(struct live_text *to, const char *text, size_t len,
		       const char *origin, struct neap_error *err)
{
	/* texts may hold a NUL until they are checked */
	char *copy = neap_alloc(len + 1);

	if (copy == NULL)
		return neap_error_nomem(err);
	memcpy(copy, text, len);
	neap_live_text_done(to);
	to->text = copy;
	to->len = len;
	/* a cut text is fine */
	(void)neap_strcopy(to->origin, sizeof(to->origin), origin);
	return 0;
}

void neap_live_text_done(struct live_text *text)
{
	free(text->text);
	*text = (struct live_text){0};
}

void neap_live_version_of(const char *text, size_t len, char ret[12])
{
	char hex[NEAP_SHA256_HEX];

	neap_sha256_hex(text, len, hex);
	(void)snprintf(ret, 12, "%.8s", hex);
}

void neap_live_refuse(struct live_refusal *refusal, const struct live_job *job,
		      const struct neap_error *err)
{
	const char *rest;

	*refusal = (struct live_refusal){.is_set = true, .unix_usec = neap_live_now()};
	(void)neap_strcopy(refusal->origin, sizeof(refusal->origin), job->text.origin);
	refusal->line = neap_problem_cut(err->msg, job->text.origin, &rest);
	(void)neap_strcopy(refusal->what, sizeof(refusal->what), rest);
	if (job->text.text != NULL)
		neap_live_version_of(job->text.text, job->text.len, refusal->version);
}

/* --- items --- */

static void item_key(const struct neap_policy_id *id, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s/%s", id->kind, id->name);
}

struct live_item *neap_live_find(const struct neap_live *live,
				 const struct neap_policy_id *id)
{
	char key[80];

	item_key(id, key, sizeof(key));
	return neap_map_find(live->items, key);
}

static void item_free(struct live_item *item)
{
	neap_live_text_done(&item->configured);
	neap_live_text_done(&item->file);
	neap_live_text_done(&item->file_before);
	free(item->base);
	json_decref(item->params);
	free(item);
}

struct neap_registry_slot *neap_live_slot(const struct neap_live *live,
					  const struct live_item *item)
{
	return neap_registry_find(live->config.registry, item->id.kind, item->id.name);
}

/* Whether the item has nothing, or only a refusal. */
static bool is_empty(const struct neap_live *live, const struct live_item *item)
{
	size_t i;

	if (item->configured.text != NULL || item->file.text != NULL ||
	    item->has_upload || json_object_size(item->params) > 0 ||
	    neap_live_slot(live, item) != NULL ||
	    (live->at_work != NULL && live->at_work->item == item))
		return false;
	for (i = 0; i < neap_map_count(live->files); i++) {
		const struct live_file *file = neap_map_at(live->files, i, NULL);

		if (file->item == item)
			return false;
	}
	return true;
}

static void forget(struct neap_live *live, struct live_item *item)
{
	char key[80];

	item_key(&item->id, key, sizeof(key));
	(void)neap_map_remove(live->items, key);
	item_free(item);
}

void neap_live_drop(struct neap_live *live, struct live_item *item)
{
	if (!item->refusal.is_set && is_empty(live, item))
		forget(live, item);
}

/* Drops the oldest refusal of a name that never had a policy, to make room. */
static void forget_oldest(struct neap_live *live)
{
	struct live_item *oldest = NULL;
	size_t i;

	for (i = 0; i < neap_map_count(live->items); i++) {
		struct live_item *item = neap_map_at(live->items, i, NULL);

		if (is_empty(live, item) &&
		    (oldest == NULL ||
		     item->refusal.unix_usec < oldest->refusal.unix_usec))
			oldest = item;
	}
	if (oldest != NULL)
		forget(live, oldest);
}

struct live_item *neap_live_get(struct neap_live *live, const struct neap_policy_id *id,
				struct neap_error *err)
{
	struct live_item *item = neap_live_find(live, id);
	char key[80];

	if (item != NULL)
		return item;
	if (neap_map_count(live->items) >= ITEMS_MAX)
		forget_oldest(live);
	if (neap_map_count(live->items) >= ITEMS_MAX) {
		(void)neap_error_set(err, NEAP_ETOOLARGE,
				     "%d policies are known, no more fit", ITEMS_MAX);
		return NULL;
	}
	item = neap_alloc(sizeof(*item));
	item_key(id, key, sizeof(key));
	if (item == NULL || !neap_map_set(live->items, key, item)) {
		free(item);
		(void)neap_error_nomem(err);
		return NULL;
	}
	item->id = *id;
	item->order = NEAP_LIVE_ORDER_LATER;
	return item;
}

int neap_live_check_room(const struct neap_live *live, const struct live_item *item,
			 struct neap_error *err)
{
	if (!neap_registry_is_full(live->config.registry) ||
	    neap_live_slot(live, item) != NULL)
		return 0;
	return neap_error_set(err, NEAP_ECONFLICT,
			      "%zu policies are active, no more fit: delete one first",
			      neap_registry_count(live->config.registry));
}

/* A version identifies the text, so the name in front of it is ignored; finding the name
 * would run the text. */
const char *neap_live_find_ban(const struct neap_live *live, const char *text, size_t len)
{
	char version[12];
	int i;

	if (live->banned_count == 0)
		return NULL;
	neap_live_version_of(text, len, version);
	for (i = 0; i < live->banned_count; i++) {
		const char *at = strchr(live->banned[i], '@');

		if (at != NULL && strcmp(at + 1, version) == 0)
			return live->banned[i];
	}
	return NULL;
}

int neap_live_check_ban(const struct neap_live *live, const char *text, size_t len,
			struct neap_error *err)
{
	const char *label = neap_live_find_ban(live, text, len);

	if (label == NULL)
		return 0;
	return neap_error_set(err, NEAP_ECONFLICT,
			      "%s is left out, as an earlier neapd was stuck in it (file "
			      "stuck-policies of --data-dir)",
			      label);
}

void neap_live_ban(struct neap_live *live, const char *label)
{
	const int most = (int)NEAP_ARRAY_LEN(live->banned);
	int i;

	for (i = 0; i < live->banned_count; i++) {
		if (strcmp(live->banned[i], label) == 0)
			return;
	}
	if (live->banned_count == most)
		memmove(live->banned[0], live->banned[1],
			(size_t)--live->banned_count * sizeof(live->banned[0]));
	(void)neap_strcopy(live->banned[live->banned_count++], sizeof(live->banned[0]),
			   label);
}

/* --- the swap --- */

static void log_policy(void *arg, const char *label, const char *text)
{
	const struct neap_live *live = arg;

	neap_log_from(&live->config.log, label, NEAP_LOG_INFO, "policy %s: %s", label,
		      text);
}

/* The user of the change. */
static const char *by_of(const struct live_job *job)
{
	if (job->by[0] != '\0')
		return job->by;
	switch (job->verb) {
	case VERB_FILE:
	case VERB_FILE_GONE:
		return "--policy-dir";
	case VERB_CONFIGURE:
	case VERB_CONFIGURED:
	case VERB_BELOW:
		return "the configuration";
	default:
		return "neapd";
	}
}

void neap_live_say(const struct live_job *job, enum neap_log_level level,
		   const char *label, const char *fmt, ...)
{
	const struct neap_live_config *config = &job->live->config;
	char what[400], by[100];
	va_list args;
	size_t len;

	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	neap_log_line(&config->log, level, "policy %s: %s (by %s)", label, what,
		      by_of(job));
	if (config->note == NULL)
		return;
	/* The audit cuts long texts, so the user is added after the cut. */
	(void)snprintf(by, sizeof(by), " (by %s)", by_of(job));
	len = NOTE_SIZE - 1 - strlen(by);
	if (strlen(what) > len)
		what[len] = '\0';
	neap_utf8_trim(what);
	(void)strncat(what, by, sizeof(what) - strlen(what) - 1);
	config->note(config->arg, label, what);
}

int neap_live_swap(struct live_job *job, struct live_item *item, int probation,
		   struct neap_error *err)
{
	struct neap_live *live = job->live;
	struct neap_policy *policy = neap_steal(job->verdict.policy);
	struct neap_registry_slot *slot;
	struct neap_policy_info info;

	neap_policy_set_log(policy, log_policy, live);
	neap_policy_get_info(policy, &info);
	if (neap_registry_put_take(live->config.registry, policy, item->order, probation,
				   err) < 0)
		return -(int)err->code;
	slot = neap_live_slot(live, item);
	slot->is_elsewhere = !neap_policy_is_for(policy, live->config.labels);
	/* The policy is never asked here, so it could never restore what its predecessor
	 * set. */
	if (slot->is_elsewhere)
		neap_registry_hold_take(slot, NULL, 0);
	item->layer = job->layer;
	item->is_before_live = false;
	live->counts.live++;
	if (live->is_inline)
		return 0;
	if (job->older_version[0] != '\0')
		neap_live_say(job, NEAP_LOG_INFO, info.label, "live, in place of %s, %s",
			      job->older_version, info.origin);
	else
		neap_live_say(job, NEAP_LOG_INFO, info.label, "live, %s", info.origin);
	return 0;
}

/* --- life --- */

static int open_live(struct neap_live *live, struct neap_error *err)
{
	live->items = neap_map_new();
	live->files = neap_map_new();
	live->kick = evtimer_new(live->config.base, neap_live_on_kick, live);
	if (live->items == NULL || live->files == NULL || live->kick == NULL)
		return neap_error_nomem(err);
	neap_registry_set_renew(live->config.registry, neap_live_renew, live);
	return neap_thread_new(live->config.base, 1, &live->thread, err);
}

int neap_live_new(const struct neap_live_config *config, struct neap_live **ret,
		  struct neap_error *err)
{
	struct neap_live *live = neap_alloc(sizeof(*live));
	int rc;

	if (live == NULL)
		return neap_error_nomem(err);
	live->config = *config;
	live->is_inline = true;
	rc = open_live(live, err);
	if (rc < 0) {
		neap_live_free(live);
		return rc;
	}
	*ret = live;
	return 0;
}

void neap_live_free(struct neap_live *live)
{
	struct live_job *job;
	size_t i;

	if (live == NULL)
		return;
	live->is_ending = true;
	neap_registry_set_renew(live->config.registry, NULL, NULL);
	neap_watch_free(live->watch);
	neap_thread_free(live->thread); /* frees the running job */
	while ((job = live->first) != NULL) {
		live->first = job->next;
		neap_live_job_free(job);
	}
	if (live->kick != NULL)
		event_free(live->kick);
	for (i = 0; live->items != NULL && i < neap_map_count(live->items); i++)
		item_free(neap_map_at(live->items, i, NULL));
	neap_map_free(live->items);
	if (live->files != NULL)
		neap_live_files_free(live);
	free(live);
}

static int source_job(struct neap_live *live, const struct neap_live_source *source,
		      int order, struct live_job **ret, struct neap_error *err)
{
	struct live_job *job = neap_live_job(live, VERB_CONFIGURE, err);

	if (job == NULL)
		return -(int)err->code;
	job->base = neap_alloc_array((size_t)source->param_count + 1, sizeof(*job->base));
	if (job->base == NULL || neap_live_text_set(&job->text, source->text, source->len,
						    source->origin, err) < 0) {
		neap_live_job_free(job);
		return neap_error_nomem(err);
	}
	if (source->param_count > 0)
		memcpy(job->base, source->params,
		       (size_t)source->param_count * sizeof(*job->base));
	job->base_count = source->param_count;
	job->order = order;
	job->generation = live->generation;
	*ret = job;
	return 0;
}

struct start {
	struct neap_live *live;
	int rc;
	struct neap_error *err;
};

static void start_done(void *arg, int status, json_t *body, const char *version,
		       const struct neap_error *err)
{
	struct start *start = arg;

	(void)status;
	(void)version;
	json_decref(body);
	if (err != NULL) {
		*start->err = *err;
		start->rc = -(int)err->code;
	}
}

/* Other errors are logged and the policy is left out; a lack of memory ends the start. */
static void start_lacks(struct start *start, const struct neap_error *err)
{
	if (err->code != NEAP_ENOMEM || start->rc < 0)
		return;
	*start->err = *err;
	start->rc = -(int)err->code;
}

static void stored_done(void *arg, int status, json_t *body, const char *version,
			const struct neap_error *err)
{
	(void)status;
	(void)version;
	json_decref(body);
	if (err != NULL)
		start_lacks(arg, err);
}

static void found_stored(void *arg, const struct neap_policy_id *id, bool has_active)
{
	struct start *start = arg;
	struct neap_live *live = start->live;
	struct neap_error err;
	struct live_item *item = neap_live_get(live, id, &err);
	struct neap_registry_slot *slot;
	struct live_job *job = NULL;

	if (item != NULL &&
	    neap_versions_load_params(live->config.dir, id, &item->params, &err) < 0) {
		neap_log_line(&live->config.log, NEAP_LOG_ERROR,
			      "policy %s/%s: parameters set earlier are left out: %s",
			      id->kind, id->name, err.msg);
		start_lacks(start, &err);
	}
	slot = item != NULL ? neap_live_slot(live, item) : NULL;
	if (slot != NULL)
		neap_live_apply_own(live, item, slot->policy);
	if (item != NULL)
		item->has_upload = has_active;
	/* As after the end of a layer above: the active version, else the one that it
	 * replaced. */
	if (item != NULL && has_active)
		job = neap_live_job(live, VERB_BELOW, &err);
	if (item == NULL || (has_active && job == NULL)) {
		neap_log_line(&live->config.log, NEAP_LOG_ERROR,
			      "policy %s/%s: left out: %s", id->kind, id->name, err.msg);
		start_lacks(start, &err);
		return;
	}
	if (!has_active) {
		neap_live_drop(live, item);
		return;
	}
	job->id = *id;
	job->done = stored_done;
	job->arg = start;
	neap_live_queue(job);
}

static void refused_stored(void *arg, const struct neap_error *err)
{
	struct start *start = arg;

	start_lacks(start, err);
	neap_log_line(&start->live->config.log, NEAP_LOG_ERROR, "uploaded policies: %s",
		      err->msg);
}

int neap_live_start(struct neap_live *live, const struct neap_live_source *sources,
		    int count, int *ret_index, struct neap_error *err)
{
	struct start start = {live, 0, err};
	struct live_job *job = NULL;
	int i;

	live->generation++;
	for (i = 0; i < count; i++) {
		*ret_index = i;
		if (source_job(live, &sources[i], i, &job, err) < 0)
			return -(int)err->code;
		job->done = start_done;
		job->arg = &start;
		neap_live_queue(job);
		if (start.rc < 0)
			return start.rc;
	}
	*ret_index = -1;
	if (neap_versions_walk(live->config.dir, found_stored, refused_stored, &start,
			       err) < 0)
		return -(int)err->code;
	if (start.rc < 0)
		return start.rc;
	/* The limit may be lower than before. */
	neap_live_bound_deleted(live);
	live->is_inline = false;
	return 0;
}

int neap_live_reconfigure(struct neap_live *live, const struct neap_live_source *sources,
			  int count, struct neap_error *err)
{
	struct live_job *first = NULL, **end = &first, *job;
	int i, rc = 0;

	live->generation++;
	for (i = 0; i <= count && rc == 0; i++) {
		job = NULL;
		if (i < count)
			rc = source_job(live, &sources[i], i, &job, err);
		else
			job = neap_live_job(live, VERB_CONFIGURED, err);
		if (job == NULL) {
			rc = -(int)err->code;
			break;
		}
		job->generation = live->generation;
		*end = job;
		end = &job->next;
	}
	/* All jobs are queued, or none. */
	while ((job = first) != NULL) {
		first = job->next;
		job->next = NULL;
		if (rc == 0)
			neap_live_queue(job);
		else
			neap_live_job_free(job);
	}
	neap_live_kick(live);
	return rc;
}

void neap_live_count(const struct neap_live *live, struct neap_live_counts *ret)
{
	*ret = live->counts;
	ret->waiting = live->waiting;
	ret->deleted_bytes = live->deleted_bytes;
}

bool neap_live_is_open(const struct neap_live *live)
{
	return !live->is_inline;
}
