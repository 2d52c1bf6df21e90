/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies of the configuration, and the table of all changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policy/live/live_priv.h"
#include "engine/base/mem.h"

/* --- configuration --- */

/* A version that an earlier neapd was stuck in does not prevent the start. */
static int configure_prepare(struct live_job *job, struct neap_error *err)
{
	struct neap_live *live = job->live;
	const char *label = neap_live_find_ban(live, job->text.text, job->text.len);
	const char *slash, *at;
	struct live_item *item;

	if (label == NULL)
		return 0;
	(void)neap_live_check_ban(live, job->text.text, job->text.len, err);
	neap_log_line(&live->config.log, NEAP_LOG_ERROR, "--policy %s: %s",
		      job->text.origin, err->msg);
	slash = strchr(label, '/');
	at = strchr(label, '@');
	if (slash == NULL || at == NULL || at < slash)
		return 1; /* its name is not known */
	(void)snprintf(job->id.kind, sizeof(job->id.kind), "%.*s", (int)(slash - label),
		       label);
	(void)snprintf(job->id.name, sizeof(job->id.name), "%.*s", (int)(at - slash - 1),
		       slash + 1);
	item = neap_live_get(live, &job->id, err);
	if (item != NULL) {
		(void)neap_live_check_ban(live, job->text.text, job->text.len, err);
		neap_live_refuse(&item->refusal, job, err);
	}
	return 1;
}

static void configure_work(struct live_job *job)
{
	job->rc = neap_live_judge(job, job->text.text, job->text.len, job->text.origin,
				  LAYER_CONFIGURED);
}

/* If a text does not pass, the earlier text of the same file stays. */
static void keep_older(struct live_job *job)
{
	struct neap_live *live = job->live;
	size_t i;

	if (!live->is_inline)
		neap_log_line(&live->config.log, NEAP_LOG_ERROR, "--policy %s",
			      job->err.msg);
	for (i = 0; i < neap_map_count(live->items); i++) {
		struct live_item *item = neap_map_at(live->items, i, NULL);

		if (item->configured.text == NULL ||
		    strcmp(item->configured.origin, job->text.origin) != 0)
			continue;
		item->generation = job->generation;
		if (neap_live_is_refused(job))
			neap_live_refuse(&item->refusal, job, &job->err);
	}
}

/* Applies the configuration's values to the item from now on. */
static void take_over(struct live_job *job, struct live_item *item)
{
	free(item->base);
	item->base = neap_steal(job->base);
	item->base_count = job->base_count;
	item->order = job->order;
	item->generation = job->generation;
	neap_live_text_done(&item->configured);
	item->configured = job->text;
	job->text = (struct live_text){0};
	neap_registry_reorder(job->live->config.registry, item->id.kind, item->id.name,
			      item->order);
}

/* Whether it, or a layer above it, is in service already. Then only parameters can
 * differ, and it keeps its memo. */
static bool is_running(const struct live_job *job, const struct live_item *item)
{
	const struct neap_registry_slot *slot = neap_live_slot(job->live, item);

	if (slot == NULL || item->layer == LAYER_NONE)
		return false;
	if (item->layer > LAYER_CONFIGURED)
		return true;
	return !slot->stats.is_failed && item->configured.len == job->older_len &&
	       memcmp(item->configured.text, job->older_text, job->older_len) == 0;
}

static void configure_finish(struct live_job *job)
{
	struct neap_live *live = job->live;
	struct neap_policy_info info;
	struct live_item *item = NULL;

	if (job->rc == 0) {
		neap_policy_get_info(job->verdict.policy, &info);
		(void)neap_strcopy(job->id.kind, sizeof(job->id.kind), info.kind);
		(void)neap_strcopy(job->id.name, sizeof(job->id.name), info.name);
		item = neap_live_get(live, &job->id, &job->err);
		if (item == NULL || neap_live_job_turn(job, item, &job->err) < 0 ||
		    neap_live_check_room(live, item, &job->err) < 0)
			job->rc = -(int)job->err.code;
	}
	if (job->rc < 0) {
		live->bad_generation = job->generation;
		keep_older(job);
		return;
	}
	take_over(job, item);
	if (is_running(job, item)) {
		neap_live_apply_own(live, item, neap_live_slot(live, item)->policy);
		return;
	}
	neap_live_apply_own(live, item, job->verdict.policy);
	job->rc = neap_live_swap(job, item, 0, &job->err);
	if (job->rc == 0)
		item->refusal.is_set = false;
}

/* Takes the configured text from an item that the new configuration does not name. */
static int leave_out(struct neap_live *live, struct live_item *item,
		     struct neap_error *err)
{
	struct neap_registry_slot *slot = neap_live_slot(live, item);
	struct live_job *gone;

	neap_live_text_done(&item->configured);
	free(neap_steal(item->base));
	item->base_count = 0;
	item->order = NEAP_LIVE_ORDER_LATER;
	neap_registry_reorder(live->config.registry, item->id.kind, item->id.name,
			      item->order);
	if (item->layer > LAYER_CONFIGURED && slot != NULL) {
		slot = neap_live_slot(live, item);
		neap_live_apply_own(live, item, slot->policy);
	}
	if (item->layer != LAYER_CONFIGURED)
		return 0;
	gone = neap_live_job(live, VERB_BELOW, err);
	if (gone == NULL)
		return -(int)err->code;
	gone->id = item->id;
	neap_live_queue(gone);
	return 0;
}

/* Handles the items that the new configuration does not name. If a text did not pass, it
 * may be the new text of any item, so all stay. */
static int configured_prepare(struct live_job *job, struct neap_error *err)
{
	struct neap_live *live = job->live;
	size_t i = neap_map_count(live->items);
	int rc = 0;

	if (live->bad_generation == job->generation) {
		neap_log_line(
			&live->config.log, NEAP_LOG_WARN,
			"--policy: as one does not pass, those that are not named any "
			"more stay");
		return 1;
	}

	while (i-- > 0) {
		struct live_item *item = neap_map_at(live->items, i, NULL);

		if (item->configured.text != NULL &&
		    item->generation != job->generation && leave_out(live, item, err) < 0)
			rc = -(int)err->code;
	}
	return rc < 0 ? rc : LIVE_DONE;
}

static const struct live_verb_row configure = {"configure", configure_prepare,
					       configure_work, configure_finish},
				  configured = {"configured", configured_prepare, NULL,
						NULL};

const struct live_verb_row *const neap_live_verbs[VERB_COUNT] = {
	[VERB_PUT] = &neap_live_verb_put,
	[VERB_DELETE] = &neap_live_verb_delete,
	[VERB_ROLLBACK] = &neap_live_verb_rollback,
	[VERB_PARAMS] = &neap_live_verb_params,
	[VERB_VERSIONS] = &neap_live_verb_versions,
	[VERB_FAILED] = &neap_live_verb_failed,
	[VERB_RENEW] = &neap_live_verb_renew,
	[VERB_FILE] = &neap_live_verb_file,
	[VERB_FILE_GONE] = &neap_live_verb_file_gone,
	[VERB_BELOW] = &neap_live_verb_below,
	[VERB_CONFIGURE] = &configure,
	[VERB_CONFIGURED] = &configured,
};
