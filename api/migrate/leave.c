/* SPDX-License-Identifier: Apache-2.0
 *
 * How a pod leaves: by an eviction, by its deletion, or by a patch for another
 * evictor. */
#include <stdlib.h>
#include <string.h>

#include "api/migrate/migrate_priv.h"
#include "api/workload/loop/scaled.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/migrate/object_limit.h"

#define SOFT_EVICTION "scheduling.koordinator.sh/soft-eviction"
/* Of an eviction that was refused. */
#define PAUSE_MIN_USEC (INT64_C(1) * 1000000)
#define PAUSE_MAX_USEC (INT64_C(30) * 1000000)

/* --- limits --- */

static struct neap_object_limited limited(struct neap_migrate *migrate, const json_t *pod)
{
	return (struct neap_object_limited){
		.limiter = migrate->limiter,
		.args = &migrate->args,
		.cluster = &migrate->cluster,
		.ns = neap_json_text_at(pod, "metadata.namespace"),
		.name = neap_json_text_at(pod, "metadata.name"),
		.now_usec = migrate->config.now()};
}

bool migrate_is_limited(struct neap_migrate *migrate, const json_t *pod)
{
	const struct neap_object_limited of = limited(migrate, pod);

	return !neap_scaled_learn(migrate->config.client, &migrate->cluster, of.ns,
				  of.name) ||
	       neap_object_limit_holds(&of);
}

static void count(struct neap_migrate *migrate, const json_t *pod)
{
	const struct neap_object_limited of = limited(migrate, pod);

	neap_object_limit_take(&of);
}

void migrate_uncount(struct neap_migrate *migrate, const json_t *pod)
{
	const struct neap_object_limited of = limited(migrate, pod);

	neap_object_limit_give(&of);
}

/* --- the way --- */

static json_t *options_of(const struct neap_migrate *migrate, const json_t *job)
{
	json_t *own = neap_json_at(job, "spec.deleteOptions");

	return json_is_object(own) ? own
				   : (json_t *)(uintptr_t)migrate->args.delete_options;
}

/* {timestamp, deleteOptions, initiator, reason}, as text of an annotation. */
static json_t *soft_eviction_new(struct neap_migrate *migrate, const json_t *job)
{
	const char *trigger = neap_json_text(neap_json_at(job, "metadata.annotations"),
					     NEAP_KEY_EVICT_TRIGGER);
	json_t *options = options_of(migrate, job), *tree, *ret;
	char *text;

	tree = json_pack("{s:I, s:s, s:s}", "timestamp",
			 (json_int_t)(migrate->config.now() / 1000000), "initiator",
			 trigger, "reason", neap_migrate_reason_of(job));
	if (tree && options)
		(void)json_object_set(tree, "deleteOptions", options);
	text = tree ? neap_json_dump(tree, JSON_COMPACT) : NULL;
	json_decref(tree);
	ret = text ? json_string(text) : NULL;
	free(text);
	return ret;
}

void migrate_way_init(struct neap_migrate *migrate, const struct neap_migrate_view *view,
		      struct neap_migrate_way *ret)
{
	*ret = (struct neap_migrate_way){.policy = neap_migrate_policy_of(view)};
	if (migrate->config.leave)
		migrate->config.leave(migrate->config.arg, view->pod, view->job, ret);
	if (ret->policy != NEAP_MIGRATE_SOFT || ret->patch)
		return;
	ret->patch = json_pack("{s:{s:{s:o*}}}", "metadata", "annotations", SOFT_EVICTION,
			       soft_eviction_new(migrate, view->job));
	ret->take_back =
		json_pack("{s:{s:{s:n}}}", "metadata", "annotations", SOFT_EVICTION);
}

void migrate_way_done(struct neap_migrate_way *way)
{
	json_decref(way->patch);
	json_decref(way->take_back);
	way->patch = way->take_back = NULL;
}

/* --- leaving --- */

static void refuse(struct neap_migrate *migrate, struct migrate_memory *memory,
		   const char *why)
{
	int64_t pause = memory->pause_usec;

	memory->outcome = MIGRATE_NOT_EVICTED;
	memory->is_refused = true;
	(void)neap_strcopy(memory->why, sizeof(memory->why), why);
	pause = pause > 0 ? 2 * pause : PAUSE_MIN_USEC;
	memory->pause_usec = pause < PAUSE_MAX_USEC ? pause : PAUSE_MAX_USEC;
	memory->retry_usec = migrate->config.now() + memory->pause_usec;
}

static bool is_dry(const json_t *options)
{
	return json_array_size(json_object_get(options, "dryRun")) > 0;
}

/* What the options ask for holds of the pod. */
static bool is_wanted(const json_t *options, const json_t *pod)
{
	const json_t *wanted = json_object_get(options, "preconditions");
	const char *uid = neap_json_text(wanted, "uid");
	const char *version = neap_json_text(wanted, "resourceVersion");

	return (!*uid || strcmp(uid, neap_json_text_at(pod, "metadata.uid")) == 0) &&
	       (!*version ||
		strcmp(version, neap_json_text_at(pod, "metadata.resourceVersion")) == 0);
}

static json_t *patch_of(const struct neap_migrate_way *way, const char *uid)
{
	json_t *patch = neap_json_deep_copy(way->patch);
	json_t *meta =
		patch ? neap_json_need_take(patch, "metadata", json_object()) : NULL;

	return neap_json_made(
		meta && json_object_set_new(meta, "uid", json_string(uid)) == 0, patch);
}

void migrate_leave(struct neap_migrate *migrate, struct migrate_memory *memory,
		   const struct neap_migrate_view *view,
		   const struct neap_migrate_way *way)
{
	const char *ns = neap_json_text_at(view->pod, "metadata.namespace");
	const char *name = neap_json_text_at(view->pod, "metadata.name");
	const char *uid = neap_json_text_at(view->pod, "metadata.uid");
	const json_t *options = options_of(migrate, view->job);
	const json_t *seconds = json_object_get(options, "gracePeriodSeconds");
	int64_t grace_s = json_is_integer(seconds) ? json_integer_value(seconds) : -1;
	const struct neap_round_ask what = {MIGRATE_EVICT, "pods", ns, name,
					    neap_json_text_at(view->job, "metadata.uid")};
	struct neap_client_ask ask;
	int64_t now = migrate->config.now();

	json_decref(memory->pod);
	memory->pod = neap_json_deep_copy(view->pod);
	if (*way->why_not || !is_wanted(options, view->pod)) {
		refuse(migrate, memory,
		       *way->why_not ? way->why_not
				     : "the preconditions of deleteOptions do not hold");
		return;
	}
	neap_bucket_set(&migrate->bucket, migrate->args.qps, (double)migrate->args.burst,
			now);
	if (!neap_bucket_has(&migrate->bucket, now)) {
		/* A token comes soon; that is not a failure to report. */
		memory->retry_usec = now + (int64_t)(1e6 / migrate->args.qps);
		return;
	}
	neap_bucket_take(&migrate->bucket, now);
	if (is_dry(options)) {
		memory->outcome = MIGRATE_WOULD_EVICT;
		return;
	}
	if (!neap_rounds_ask(migrate->rounds, &what, &ask))
		return;
	/* Now, not with the answer: another pod of the workload may be next. */
	count(migrate, view->pod);
	migrate_sibling_leaves(migrate, memory, view, grace_s);
	if (way->policy == NEAP_MIGRATE_EVICTION)
		neap_client_evict(migrate->config.client, &ask, uid, grace_s);
	else if (way->policy == NEAP_MIGRATE_DELETE)
		neap_client_delete(migrate->config.client, &ask, uid, grace_s);
	else
		neap_client_patch_take(migrate->config.client, &ask, false,
				       patch_of(way, uid));
}
