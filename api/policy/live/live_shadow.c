/* SPDX-License-Identifier: Apache-2.0
 *
 * A shadow version (lua/run/shadow). It is in the slot of the live version and ends with
 * it. It is not stored on disk, so a restart never starts with it. */
#include <string.h>

#include "api/policy/live/live_priv.h"
#include "engine/base/mem.h"

static int no_policy(const struct live_job *job, struct neap_error *err)
{
	return neap_error_set(
		err, NEAP_ECONFLICT,
		"there is no %s/%s in service that a shadow could run beside: "
		"use dryRun",
		job->id.kind, job->id.name);
}

int neap_live_shadow_check(const struct live_job *job, struct neap_error *err)
{
	const struct neap_registry_slot *slot =
		job->item != NULL ? neap_live_slot(job->live, job->item) : NULL;
	const struct neap_kind *kind = neap_kind_find(job->id.kind);
	char version[12];

	if (kind != NULL && !kind->has_shadow)
		return neap_error_set(
			err, NEAP_EINVAL,
			"a policy of kind %s has no shadow: use dryRun, which "
			"runs its examples",
			job->id.kind);
	if (slot == NULL || slot->stats.is_failed || slot->is_elsewhere)
		return no_policy(job, err);
	neap_live_version_of(job->text.text, job->text.len, version);
	if (strcmp(version, job->older_version) == 0)
		return neap_error_set(
			err, NEAP_ECONFLICT,
			"version %s is the one in service: there is nothing to "
			"compare",
			version);
	return 0;
}

/* The version in service may have failed while this one was checked. */
void neap_live_shadow_start(struct live_job *job)
{
	struct neap_registry_slot *slot = neap_live_slot(job->live, job->item);
	struct neap_live *live = job->live;
	struct neap_policy_info info;

	if (slot == NULL || slot->stats.is_failed) {
		job->rc = no_policy(job, &job->err);
		return;
	}
	neap_policy_get_info(job->verdict.policy, &info);
	neap_log_line(&live->config.log, NEAP_LOG_INFO, "policy %s: shadow of %s, by %s",
		      info.label, job->older_version, job->by);
	neap_shadow_free(slot->shadow);
	slot->shadow =
		neap_shadow_new_take(neap_steal(job->verdict.policy), neap_live_now());
	if (slot->shadow == NULL)
		job->rc = neap_error_nomem(&job->err);
}

void neap_live_shadow_end(struct live_job *job)
{
	struct neap_registry_slot *slot =
		job->item != NULL ? neap_live_slot(job->live, job->item) : NULL;

	if (slot == NULL || slot->shadow == NULL) {
		job->rc = neap_error_set(&job->err, NEAP_ENOTFOUND, "%s/%s has no shadow",
					 job->id.kind, job->id.name);
		return;
	}
	job->body = json_pack("{s:s, s:o, s:o}", "result", "shadow ended", "policy",
			      json_sprintf("%s/%s", job->id.kind, job->id.name), "shadow",
			      neap_shadow_json(slot->shadow));
	neap_shadow_free(slot->shadow);
	slot->shadow = NULL;
	neap_log_line(&job->live->config.log, NEAP_LOG_INFO,
		      "policy %s/%s: the shadow is ended, by %s", job->id.kind,
		      job->id.name, job->by);
}
