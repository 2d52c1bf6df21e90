/* SPDX-License-Identifier: Apache-2.0
 *
 * Reconciles Deployments: one step of the rollout, and the status. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/events.h"
#include "api/workload/deployment/deployments_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

void rollout_note(struct rollout *rollout, bool is_warning, const char *reason,
		  const char *fmt, ...)
{
	const struct neap_client_note note = {.api_version = "apps/v1",
					      .kind = "Deployment",
					      .ns = rollout->owner->ns,
					      .name = rollout->owner->name,
					      .uid = rollout->owner->uid,
					      .is_warning = is_warning,
					      .reason = reason,
					      .component = "deployment-controller"};
	char text[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	neap_client_note(rollout->deployments->config.client, &note, "%s", text);
}

bool rollout_ask(struct rollout *rollout, const char *resource, const char *name,
		 struct neap_client_ask *ret)
{
	const struct neap_round_ask ask = {.what = strcmp(resource, RS) == 0 ? ASK_SET
									     : ASK_OTHER,
					   .resource = resource,
					   .ns = rollout->owner->ns,
					   .name = name,
					   .uid = rollout->owner->uid};

	return neap_rounds_ask(rollout->deployments->rounds, &ask, ret);
}

/* --- what happens --- */

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	struct neap_deployments *deployments = arg;
	const struct neap_object *object = event->object;

	if (strcmp(resource, DEPLOYMENTS) == 0) {
		if (event->what == NEAP_CLIENT_DELETED)
			(void)neap_map_remove(deployments->awaiting, object->uid);
		neap_feed_due(deployments->feed, object->ns, object->name, 0);
		return;
	}
	if (strcmp(resource, "pods") == 0) {
		neap_search_hear(deployments->pods, event);
		deployment_awaiting_due(deployments, object);
		return;
	}
	neap_search_hear(deployments->sets, event);
	if (event->what == NEAP_CLIENT_DELETED)
		neap_facts_drop(deployments->facts, object->uid);
	if (event->before)
		neap_owners_due(deployments->owners, deployments->feed, event->before);
	neap_owners_due(deployments->owners, deployments->feed, object);
	if (!object->owner_count && !object->is_deleting &&
	    event->what != NEAP_CLIENT_DELETED)
		neap_owners_due_selecting(deployments->owners, event->object);
}

static bool rest(void *arg)
{
	struct neap_deployments *deployments = arg;

	return neap_owners_rest(deployments->owners, deployments->feed);
}

/* --- the spec --- */

static void read_strategy(struct rollout *rollout)
{
	static const char path[] = "spec.strategy.rollingUpdate";
	const json_t *rolling = neap_tree_at(rollout->tree, path);

	rollout->is_rolling = strcmp(neap_tree_text(rollout->tree, "spec.strategy.type"),
				     "Recreate") != 0;
	if (!rollout->is_rolling)
		return;
	rollout->surge = neap_tree_part(json_object_get(rolling, "maxSurge"),
					rollout->replicas, true);
	rollout->unavailable = neap_tree_part(json_object_get(rolling, "maxUnavailable"),
					      rollout->replicas, false);
	/* Otherwise no step would ever be possible. */
	if (rollout->surge == 0 && rollout->unavailable == 0)
		rollout->unavailable = 1;
	if (rollout->unavailable > rollout->replicas)
		rollout->unavailable = rollout->replicas;
}

static bool read_spec(struct rollout *rollout)
{
	const json_t *conditions = neap_tree_at(rollout->tree, "status.conditions");

	rollout->replicas = neap_tree_int(rollout->tree, "spec.replicas", 1);
	rollout->deadline_s =
		neap_tree_int(rollout->tree, "spec.progressDeadlineSeconds", INT32_MAX);
	rollout->has_deadline = rollout->deadline_s != INT32_MAX;
	rollout->collisions =
		neap_tree_int(rollout->tree, "status.collisionCount", NEAP_MISSING);
	rollout->revision = NEAP_MISSING;
	read_strategy(rollout);
	rollout->conditions = json_is_array(conditions) ? neap_json_deep_copy(conditions)
							: json_array();
	return rollout->conditions != NULL;
}

/* --- a look --- */

/* Whether the ReplicaSets have caught up with their spec. Otherwise there may be more
 * pods than their status says, and another step would add to them. ReplicaSets that are
 * being deleted are ignored. */
static bool is_settled(const struct rollout *rollout)
{
	for (size_t i = 0; i < rollout->count; i++) {
		const struct member *member = &rollout->members[i];

		if (!member->is_deleting && (member->status_replicas > member->replicas ||
					     !member->facts->is_observed))
			return false;
	}
	return true;
}

/* True: a rollout is in progress, not just scaling. */
static bool take_step(struct rollout *rollout)
{
	bool is_paused = json_is_true(neap_tree_at(rollout->tree, "spec.paused"));

	(void)neap_map_remove(rollout->deployments->awaiting, rollout->owner->uid);
	if (neap_tree_at(rollout->tree, "metadata.deletionTimestamp"))
		return false;
	rollout_check_paused(rollout);
	if (!is_settled(rollout))
		return !is_paused && !rollout_is_scaling(rollout);
	if (is_paused || rollout_is_scaling(rollout)) {
		size_t before = neap_rounds_asked(rollout->deployments->rounds);

		rollout_scale(rollout);
		if (is_paused)
			rollout_clean_up(rollout);
		/* The rollout handles what scaling leaves. */
		if (is_paused || neap_rounds_asked(rollout->deployments->rounds) > before)
			return false;
	}
	if (rollout->is_rolling)
		rollout_rolling(rollout);
	else
		rollout_recreate(rollout);
	return true;
}

static int64_t go_on(struct rollout *rollout)
{
	bool is_rollout;

	/* This turn was for reading. */
	if (rollout->read && !neap_feed_has_steps(rollout->deployments->feed))
		return NEAP_FEED_GOES_ON;
	is_rollout = take_step(rollout);
	return rollout->goes_on ? NEAP_FEED_GOES_ON : rollout_status(rollout, is_rollout);
}

static int64_t look_at_tree(void *arg, const struct neap_object *object,
			    const json_t *tree)
{
	struct neap_deployments *deployments = arg;
	struct rollout rollout = {.deployments = deployments,
				  .object = object,
				  .tree = tree,
				  .now = deployments->config.now()};
	int64_t again = -1;

	neap_feed_spend(deployments->feed, neap_steps_of_text(object));
	rollout.owner = neap_owners_get(deployments->owners, object, tree);
	if (!rollout.owner)
		return -1;
	if (read_spec(&rollout)) {
		if (rollout_find(&rollout))
			again = go_on(&rollout);
		else if (rollout.goes_on)
			again = NEAP_FEED_GOES_ON;
		else if (!rollout.is_short)
			again = 0; /* its asks will make it due */
	}
	/* The rest is done after the answers to the asks. Here no ask was possible. */
	if (rollout_is_partial(&rollout) && !neap_rounds_asked(deployments->rounds))
		again = -1;
	rollout_done(&rollout);
	return again;
}

static int64_t look_at(void *arg, const char *ns, const char *name)
{
	struct neap_deployments *deployments = arg;
	int64_t again = neap_rounds_look_at(deployments->rounds, deployments->owners, ns,
					    name, look_at_tree);

	if (again != NEAP_FEED_GOES_ON) {
		neap_search_end(deployments->sets);
		neap_search_end(deployments->pods);
	}
	return again;
}

/* --- its life --- */

int neap_deployments_new(const struct neap_workload_config *config,
			 struct neap_deployments **ret, struct neap_error *err)
{
	struct neap_deployments *deployments = neap_alloc(sizeof(*deployments));
	struct neap_feed_config feed = {.tasks = config->tasks,
					.client = config->client,
					.arg = deployments,
					.resources = {DEPLOYMENTS, RS, "pods"},
					.heard = heard,
					.rest = rest,
					.look = look_at};
	struct neap_search_config search = {.client = config->client,
					    .resource = RS,
					    .arg = deployments,
					    .wants = deployment_wants_set};
	struct neap_rounds_config rounds = {.client = config->client,
					    .resource = DEPLOYMENTS,
					    .arg = deployments,
					    .told = deployment_told};
	int r;

	*ret = NULL;
	if (!deployments)
		return neap_error_nomem(err);
	deployments->config = *config;
	if (!deployments->config.now)
		deployments->config.now = neap_clock_unix;
	deployments->owners = neap_owners_new();
	deployments->facts =
		neap_facts_new(sizeof(struct neap_set_facts), neap_set_facts_read);
	deployments->pod_facts =
		neap_facts_new(sizeof(struct neap_pod_facts), neap_pod_facts_read);
	deployments->awaiting = neap_map_new();
	r = deployments->owners && deployments->facts && deployments->pod_facts &&
			    deployments->awaiting
		    ? neap_feed_new(&feed, &deployments->feed, err)
		    : neap_error_nomem(err);
	rounds.feed = search.feed = deployments->feed;
	if (r == 0) {
		deployments->sets = neap_search_new(&search);
		search.resource = "pods";
		search.wants = deployment_wants_pod;
		deployments->pods = neap_search_new(&search);
		if (!deployments->sets || !deployments->pods)
			r = neap_error_nomem(err);
	}
	if (r == 0)
		r = neap_rounds_new(&rounds, &deployments->rounds, err);
	if (r < 0) {
		neap_deployments_free(deployments);
		return r;
	}
	*ret = deployments;
	return 0;
}

void neap_deployments_free(struct neap_deployments *deployments)
{
	if (!deployments)
		return;
	neap_rounds_free(deployments->rounds);
	neap_search_free(deployments->sets);
	neap_search_free(deployments->pods);
	neap_feed_free(deployments->feed);
	neap_owners_free(deployments->owners);
	neap_facts_free(deployments->facts);
	neap_facts_free(deployments->pod_facts);
	neap_map_free(deployments->awaiting);
	free(deployments);
}
