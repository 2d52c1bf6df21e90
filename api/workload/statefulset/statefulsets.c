/* SPDX-License-Identifier: Apache-2.0
 *
 * StatefulSets: each look finds the pods and revisions of one, requests the next actions,
 * and writes the status. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/statefulset/statefulsets_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* Steps for sorting a pod and looking at it. */
#define POD_STEPS 8

static const struct neap_owner_kind stateful_kind = {STS_API, STS_KIND,
						     "statefulset-controller", 100};

/* --- what is told --- */

/* "CLAIM-SET-NUMBER" has the name of the pod at its end. */
static const char *pod_of_claim(const char *claim, const char *set)
{
	const char *number = strrchr(claim, '-');
	size_t len = strlen(set);

	return number && (size_t)(number - claim) >= len ? number - len : claim;
}

static void told(void *arg, const struct neap_round_told *told)
{
	static const struct {
		const char *done, *failed, *verb;
	} rows[] = {
		[ASK_CREATE] = {"SuccessfulCreate", "FailedCreate", "create"},
		[ASK_DELETE] = {"SuccessfulDelete", "FailedDelete", "delete"},
		[ASK_UPDATE] = {"SuccessfulUpdate", "FailedUpdate", "update"},
		[ASK_CLAIM] = {"SuccessfulCreate", "FailedCreate", "create"},
	};
	struct neap_statefulsets *sets = arg;
	const struct neap_client_failure *failure = told->failure;
	struct neap_client_note note = neap_owner_note(
		&stateful_kind, told->ns, told->key, told->uid, failure != NULL,
		failure ? rows[told->what].failed : rows[told->what].done);
	char what[2 * NEAP_OBJECT_NAME + 16];

	if (told->what == ASK_OTHER ||
	    (failure && (failure->reason == NEAP_CLIENT_ALREADY_EXISTS ||
			 failure->reason == NEAP_CLIENT_NOT_FOUND)))
		return;
	if (told->what == ASK_CLAIM)
		(void)snprintf(what, sizeof(what), "Claim %s %sPod %s", told->name,
			       failure ? "for " : "",
			       pod_of_claim(told->name, told->key));
	else
		(void)snprintf(what, sizeof(what), "Pod %s", told->name);
	if (failure)
		neap_client_note(sets->config.client, &note,
				 "%s %s in StatefulSet %s failed error: %s",
				 rows[told->what].verb, what, told->key,
				 failure->message);
	else
		neap_client_note(sets->config.client, &note, "%s %s in StatefulSet %s %s",
				 rows[told->what].verb, what, told->key,
				 told->what == ASK_CLAIM ? "success" : "successful");
}

/* --- a look --- */

static int by_ordinal(const void *left, const void *right)
{
	const struct stateful_pod *a = left, *b = right;

	return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

static bool sort_pods(struct stateful *look)
{
	const struct neap_claimed *list =
		neap_claims_list(look->sets->pods, &look->count);

	look->pods = neap_alloc((look->count + 1) * sizeof(*look->pods));
	look->base.is_short = !look->pods;
	if (look->base.is_short)
		return false;
	neap_feed_spend(look->sets->feed, POD_STEPS * (int64_t)look->count);
	for (size_t i = 0; i < look->count; i++)
		look->pods[i] = (struct stateful_pod){
			.object = list[i].object,
			.facts = list[i].facts,
			.ordinal = stateful_ordinal(look->base.owner->name,
						    list[i].object->name)};
	qsort(look->pods, look->count, sizeof(*look->pods), by_ordinal);
	return true;
}

static bool is_text(const struct stateful *look, const char *path, const char *text)
{
	return strcmp(neap_tree_text(look->tree, path), text) == 0;
}

static void read_spec(struct stateful *look)
{
	static const char rolling[] = "spec.updateStrategy.rollingUpdate";
	static const char retention[] = "spec.persistentVolumeClaimRetentionPolicy";
	const json_t *update = neap_tree_at(look->tree, rolling);
	const json_t *policy = neap_tree_at(look->tree, retention);

	look->replicas = neap_tree_int(look->tree, "spec.replicas", 1);
	look->start = neap_tree_int(look->tree, "spec.ordinals.start", 0);
	look->min_ready_s = neap_tree_int(look->tree, "spec.minReadySeconds", 0);
	look->is_monotonic = !is_text(look, "spec.podManagementPolicy", "Parallel");
	look->is_rolling = !is_text(look, "spec.updateStrategy.type", "OnDelete");
	look->is_deleting = *neap_tree_text(look->tree, "metadata.deletionTimestamp");
	look->partition = neap_tree_int(update, "partition", 0);
	look->max_unavailable = neap_tree_part(json_object_get(update, "maxUnavailable"),
					       look->replicas, false);
	look->deletes_scaled = neap_json_is_text(policy, "whenScaled", "Delete");
	look->deletes_orphaned = neap_json_is_text(policy, "whenDeleted", "Delete");
	look->collisions = neap_tree_int(look->tree, "status.collisionCount", 0);
}

static int64_t work(struct stateful *look)
{
	if (neap_look_claim(&look->base, look->sets->pods, look->tree,
			    look->is_deleting) &&
	    neap_look_claim(&look->base, look->sets->revisions, look->tree,
			    look->is_deleting) &&
	    sort_pods(look) && (look->is_deleting || stateful_revisions_find(look))) {
		if (!look->is_deleting) {
			stateful_act(look);
			stateful_revisions_tidy(look);
			stateful_status(look);
		}
	}
	return neap_look_result(&look->base);
}

static int64_t look_at_tree(void *arg, const struct neap_object *object,
			    const json_t *tree)
{
	struct neap_statefulsets *sets = arg;
	struct stateful look = {
		.base = {&stateful_kind, sets->config.client, sets->feed, sets->rounds},
		.sets = sets,
		.object = object,
		.tree = tree,
		.now = sets->config.now()};
	int64_t again;

	neap_feed_spend(sets->feed, neap_steps_of_text(object));
	look.base.owner = neap_owners_get(sets->owners, object, tree);
	if (!look.base.owner)
		return -1;
	read_spec(&look);
	again = work(&look);
	free(look.pods);
	free(look.revisions);
	json_decref(look.current_template);
	return again;
}

static int64_t look_at(void *arg, const char *ns, const char *name)
{
	struct neap_statefulsets *sets = arg;
	int64_t again =
		neap_rounds_look_at(sets->rounds, sets->owners, ns, name, look_at_tree);

	if (again != NEAP_FEED_GOES_ON) {
		neap_claims_end(sets->pods);
		neap_claims_end(sets->revisions);
	}
	return again;
}

/* --- what happens --- */

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	struct neap_statefulsets *sets = arg;

	if (strcmp(resource, STATEFULSETS) == 0)
		neap_feed_due(sets->feed, event->object->ns, event->object->name, 0);
	else
		neap_claims_hear(strcmp(resource, "pods") == 0 ? sets->pods
							       : sets->revisions,
				 event);
}

static bool rest(void *arg)
{
	struct neap_statefulsets *sets = arg;

	return neap_owners_rest(sets->owners, sets->feed);
}

/* --- its life --- */

static const char *controller_of(const void *facts)
{
	const struct neap_pod_facts *pod = facts;

	return pod->controller;
}

static bool accepts(const struct neap_owner *owner, const struct neap_object *pod)
{
	return stateful_ordinal(owner->name, pod->name) >= 0;
}

static bool make_claims(struct neap_statefulsets *sets)
{
	struct neap_claims_config config = {
		.client = sets->config.client,
		.feed = sets->feed,
		.rounds = sets->rounds,
		.owners = sets->owners,
		.resource = "pods",
		.owner_resource = STATEFULSETS,
		.api_version = STS_API,
		.kind = STS_KIND,
		.facts_size = sizeof(struct neap_pod_facts),
		.read = neap_pod_facts_read,
		.controller = controller_of,
		.accepts = accepts,
		.what = ASK_OTHER,
		.read_steps = 1,
	};

	sets->pods = neap_claims_new(&config);
	config.resource = NEAP_REVISIONS;
	config.facts_size = sizeof(struct neap_revision_facts);
	config.read = neap_revision_facts_read;
	config.read_steps = NEAP_REVISION_READ;
	config.controller = neap_revision_controller;
	config.accepts = NULL;
	sets->revisions = neap_claims_new(&config);
	return sets->pods && sets->revisions;
}

int neap_statefulsets_new(const struct neap_workload_config *config,
			  struct neap_statefulsets **ret, struct neap_error *err)
{
	struct neap_statefulsets *sets = neap_alloc(sizeof(*sets));
	struct neap_feed_config feed = {
		.tasks = config->tasks,
		.client = config->client,
		.arg = sets,
		.resources = {STATEFULSETS, "pods", NEAP_REVISIONS},
		.heard = heard,
		.rest = rest,
		.look = look_at};
	struct neap_rounds_config rounds = {.client = config->client,
					    .resource = STATEFULSETS,
					    .arg = sets,
					    .told = told};
	int r;

	*ret = NULL;
	if (!sets)
		return neap_error_nomem(err);
	sets->config = *config;
	if (!sets->config.now)
		sets->config.now = neap_clock_unix;
	sets->owners = neap_owners_new();
	r = sets->owners ? neap_feed_new(&feed, &sets->feed, err) : neap_error_nomem(err);
	rounds.feed = sets->feed;
	if (r == 0)
		r = neap_rounds_new(&rounds, &sets->rounds, err);
	if (r == 0 && !make_claims(sets))
		r = neap_error_nomem(err);
	if (r < 0) {
		neap_statefulsets_free(sets);
		return r;
	}
	*ret = sets;
	return 0;
}

void neap_statefulsets_free(struct neap_statefulsets *sets)
{
	if (!sets)
		return;
	neap_rounds_free(sets->rounds);
	neap_claims_free(sets->pods);
	neap_claims_free(sets->revisions);
	neap_feed_free(sets->feed);
	neap_owners_free(sets->owners);
	free(sets);
}
