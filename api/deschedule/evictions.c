/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes a round's decisions: evictions through the eviction subresource, with an event
 * on the pod, or requests for PodMigrationJobs; cordons of nodes, and deletion costs.
 * There may be very many, so they are written in slices. The answers go into the
 * record. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/events.h"
#include "api/deschedule/descheduler_priv.h"
#include "api/task/task.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "engine/migrate/pod_order.h"

#define REFERENCE "sigs.k8s.io/descheduler"

/* A write that is not answered yet. */
struct leaf {
	struct neap_descheduler *descheduler; /* NULL: it was freed */
	struct leaf *next, **prev;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID];
	char node[NEAP_OBJECT_NAME];
	char strategy[128], profile[128], why[NEAP_ROUND_WHY];
	bool migrates, tells_failures, is_upstream;
	json_t *row; /* of the record; NULL: it is cut */
};

struct deschedule_leaves {
	struct leaf *first;
};

static void leaf_end(struct leaf *leaf)
{
	if (leaf->descheduler) {
		*leaf->prev = leaf->next;
		if (leaf->next)
			leaf->next->prev = leaf->prev;
	}
	json_decref(leaf->row);
	free(leaf);
}

static struct leaf *leaf_new(struct neap_descheduler *descheduler, const char *ns,
			     const char *name, json_t *row)
{
	struct leaf *leaf = neap_alloc(sizeof(*leaf));

	if (!descheduler->leaves)
		descheduler->leaves = neap_alloc(sizeof(*descheduler->leaves));
	if (!leaf || !descheduler->leaves) {
		free(leaf);
		return NULL;
	}
	leaf->descheduler = descheduler;
	(void)snprintf(leaf->ns, sizeof(leaf->ns), "%s", ns);
	(void)snprintf(leaf->name, sizeof(leaf->name), "%s", name);
	leaf->row = json_incref(row);
	leaf->next = descheduler->leaves->first;
	leaf->prev = &descheduler->leaves->first;
	if (leaf->next)
		leaf->next->prev = &leaf->next;
	descheduler->leaves->first = leaf;
	return leaf;
}

static struct leaf *leaf_of(struct neap_descheduler *descheduler,
			    const struct neap_play_evict *evict)
{
	const struct neap_deschedule_config *config = descheduler->set->config;
	struct leaf *leaf = leaf_new(descheduler, evict->ns, evict->name, evict->row);

	if (!leaf)
		return NULL;
	(void)snprintf(leaf->uid, sizeof(leaf->uid), "%s", evict->uid);
	(void)snprintf(leaf->node, sizeof(leaf->node), "%s", evict->node);
	(void)snprintf(leaf->strategy, sizeof(leaf->strategy), "%s", evict->strategy);
	(void)snprintf(leaf->profile, sizeof(leaf->profile), "%s", evict->profile->name);
	(void)snprintf(leaf->why, sizeof(leaf->why), "%s", evict->why);
	leaf->migrates = evict->migrates;
	leaf->tells_failures = config->tells_failures;
	leaf->is_upstream = config->form == NEAP_DESCHEDULE_UPSTREAM;
	return leaf;
}

/* --- answers --- */

static void note_event(const struct leaf *leaf, const char *trouble)
{
	const struct neap_client_note note = {
		.api_version = "v1",
		.kind = "Pod",
		.ns = leaf->ns,
		.name = leaf->name,
		.uid = leaf->uid,
		.is_warning = trouble != NULL,
		.reason = trouble             ? "EvictionFailed"
			  : leaf->is_upstream ? leaf->strategy
					      : "Descheduled",
		.component = leaf->is_upstream ? REFERENCE : "koord-descheduler"};
	struct neap_client *client = leaf->descheduler->config.client;

	if (trouble)
		neap_client_note(client, &note,
				 "pod eviction from %s node by " REFERENCE " failed: %s",
				 leaf->node, trouble);
	else if (leaf->is_upstream)
		neap_client_note(client, &note, "pod eviction from %s node by " REFERENCE,
				 leaf->node);
	else
		neap_client_note(client, &note, "Pod evicted from node %s by %s: %s",
				 leaf->node, leaf->strategy, leaf->why);
}

static void end_leaf(struct leaf *leaf, const char *trouble)
{
	struct neap_descheduler *descheduler = leaf->descheduler;

	if (!descheduler) {
		leaf_end(leaf);
		return;
	}
	/* A job counts when its pod is evicted (neap_descheduler_count_evicted). */
	if (!leaf->migrates)
		neap_figure_evicted(&descheduler->figures, trouble ? "error" : "success",
				    leaf->strategy, leaf->profile, leaf->ns, leaf->node);
	neap_json_set_text(leaf->row, "result",
			   trouble          ? "failed"
			   : leaf->migrates ? "migrating"
					    : "evicted");
	neap_json_set_text(leaf->row, "error", trouble);
	if (!leaf->migrates && (!trouble || leaf->tells_failures))
		note_event(leaf, trouble);
	if (trouble)
		neap_log_from(descheduler->config.log, "evict", NEAP_LOG_WARN,
			      "descheduler: %s/%s stays: %s", leaf->ns, leaf->name,
			      trouble);
	leaf_end(leaf);
}

static void evicted(void *arg, struct neap_object *object,
		    const struct neap_client_failure *failure)
{
	(void)object;
	/* It is gone already. */
	if (failure && failure->reason == NEAP_CLIENT_NOT_FOUND)
		failure = NULL;
	end_leaf(arg, failure ? failure->message : NULL);
}

static void asked(void *arg, const char *trouble)
{
	end_leaf(arg, trouble);
}

static void changed(void *arg, struct neap_object *object,
		    const struct neap_client_failure *failure)
{
	struct leaf *leaf = arg;
	const char *trouble = failure ? failure->message : NULL;

	(void)object;
	neap_json_set_text(leaf->row, "result", trouble ? "failed" : "done");
	neap_json_set_text(leaf->row, "error", trouble);
	if (leaf->descheduler && trouble)
		neap_log_from(leaf->descheduler->config.log, "change", NEAP_LOG_WARN,
			      "descheduler: %s%s%s is not changed: %s", leaf->ns,
			      *leaf->ns ? "/" : "", leaf->name, trouble);
	leaf_end(leaf);
}

/* --- writes --- */

static json_t *change_patch(const struct neap_play_change *change)
{
	char cost[16];

	if (change->type == NEAP_WISH_CORDON)
		return json_pack("{s:{s:b}}", "spec", "unschedulable", 1);
	if (change->type == NEAP_WISH_UNCORDON)
		return json_pack("{s:{s:n}}", "spec", "unschedulable");
	(void)snprintf(cost, sizeof(cost), "%" PRId32, change->cost);
	return json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid", change->uid,
			 "annotations", NEAP_KEY_DELETION_COST, cost);
}

static void do_change(struct neap_descheduler *descheduler,
		      const struct neap_play_change *change)
{
	struct leaf *leaf = leaf_new(descheduler, change->ns, change->name, change->row);
	const struct neap_client_ask ask = {
		.resource = change->type == NEAP_WISH_DELETION_COST ? "pods" : "nodes",
		.ns = change->ns,
		.name = change->name,
		.told = changed,
		.arg = leaf};

	if (leaf) /* else without memory: the next round asks for it again */
		neap_client_patch_take(descheduler->config.client, &ask, false,
				       change_patch(change));
}

static const struct neap_migrate_args *args_of(const struct neap_descheduler *descheduler,
					       const struct neap_play_evict *evict)
{
	const struct neap_play_set *set = descheduler->set;

	for (size_t i = 0; i < set->config->profile_count; i++)
		if (set->profiles[i].of == evict->profile)
			return &set->profiles[i].migrate;
	return NULL;
}

static void leave(struct neap_descheduler *descheduler,
		  const struct neap_play_evict *evict)
{
	const struct neap_descheduler_config *config = &descheduler->config;
	struct leaf *leaf = leaf_of(descheduler, evict);
	const struct neap_client_ask ask = {.resource = "pods",
					    .ns = evict->ns,
					    .name = evict->name,
					    .told = evicted,
					    .arg = leaf};
	const struct neap_deschedule_wish wish = {.ns = evict->ns,
						  .name = evict->name,
						  .uid = evict->uid,
						  .profile = evict->profile->name,
						  .evictor = evict->profile->evictor,
						  .strategy = evict->strategy,
						  .why = evict->why,
						  .landing = evict->to,
						  .args = args_of(descheduler, evict)};

	if (!leaf)
		return; /* without memory: the next round finds it */
	if (!evict->migrates)
		neap_client_evict(config->client, &ask, evict->uid,
				  descheduler->set->config->grace_s);
	else if (config->migrate)
		config->migrate(config->migrate_arg, &wish, asked, leaf);
	else
		asked(leaf, "nobody migrates pods here");
}

/* --- all of a round --- */

/* Does the write at that place: first the changes, then the evictions. Returns false
 * behind the last. */
static bool do_one(struct neap_descheduler *descheduler, const struct neap_play *play,
		   size_t at)
{
	if (at < play->change_count)
		do_change(descheduler, &play->changes[at]);
	else if (at - play->change_count < play->evict_count)
		leave(descheduler, &play->evicts[at - play->change_count]);
	else
		return false;
	return true;
}

static enum neap_task_next do_some(void *arg)
{
	struct neap_descheduler *descheduler = arg;
	struct deschedule_job *job = descheduler->running;
	bool is_more;

	neap_client_hold(descheduler->config.client);
	do
		is_more = do_one(descheduler, &job->play, job->written++);
	while (is_more && neap_task_has_time(descheduler->writing));
	neap_client_release(descheduler->config.client);
	if (is_more)
		return NEAP_TASK_GOES_ON;
	deschedule_round_is_over(descheduler);
	return NEAP_TASK_WAITS;
}

bool deschedule_leave_init(struct neap_descheduler *descheduler)
{
	descheduler->writing =
		neap_task_new(descheduler->config.tasks, "", do_some, descheduler);
	return descheduler->writing != NULL;
}

void deschedule_leave(struct neap_descheduler *descheduler)
{
	neap_task_go(descheduler->writing);
}

void deschedule_forget_leaves(struct neap_descheduler *descheduler)
{
	struct leaf *leaf = descheduler->leaves ? descheduler->leaves->first : NULL;

	while (leaf) {
		struct leaf *next = leaf->next;

		leaf->descheduler = NULL;
		leaf = next;
	}
	free(descheduler->leaves);
	descheduler->leaves = NULL;
}
