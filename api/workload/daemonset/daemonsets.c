/* SPDX-License-Identifier: Apache-2.0
 *
 * DaemonSets: each look determines the nodes where the pods of one belong, finds the
 * existing pods, and requests the difference. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/daemonset/daemonsets_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* Steps for sorting a pod and looking at it. */
#define POD_STEPS 8

static const struct neap_owner_kind daemon_kind = {DS_API, DS_KIND,
						   "daemonset-controller", 100};

/* --- what is told --- */

static void told(void *arg, const struct neap_round_told *told)
{
	static const struct {
		const char *done, *done_text, *failed, *failed_text;
	} rows[] = {
		[ASK_CREATE] = {"SuccessfulCreate", "Created pod: ", "FailedCreate",
				"Error creating: "},
		[ASK_DELETE] = {"SuccessfulDelete", "Deleted pod: ", "FailedDelete",
				"Error deleting: "},
	};
	struct neap_daemonsets *sets = arg;
	const struct neap_client_failure *failure = told->failure;
	struct neap_client_note note = neap_owner_note(
		&daemon_kind, told->ns, told->key, told->uid, failure != NULL,
		failure ? rows[told->what].failed : rows[told->what].done);

	if (told->what == ASK_OTHER ||
	    (failure && failure->reason == NEAP_CLIENT_NOT_FOUND))
		return;
	if (failure)
		neap_client_note(sets->config.client, &note, "%s%s",
				 rows[told->what].failed_text, failure->message);
	else
		neap_client_note(
			sets->config.client, &note, "%s%s", rows[told->what].done_text,
			told->what == ASK_CREATE ? told->object->name : told->name);
}

/* --- its pods --- */

/* The node that the affinity names. */
static const char *aimed_at(const json_t *tree)
{
	static const char path[] = "spec.affinity.nodeAffinity."
				   "requiredDuringSchedulingIgnoredDuringExecution."
				   "nodeSelectorTerms";
	json_t *term, *field;
	size_t i, at;

	json_array_foreach (neap_tree_at(tree, path), i, term) {
		json_array_foreach (json_object_get(term, "matchFields"), at, field) {
			const json_t *values = json_object_get(field, "values");
			const char *name = json_string_value(json_array_get(values, 0));

			if (neap_json_is_text(field, "key", "metadata.name") &&
			    neap_json_is_text(field, "operator", "In"))
				return json_array_size(values) == 1 && name ? name : "";
		}
	}
	return "";
}

static bool read_pod(const struct neap_object *object, const json_t *tree, void *to)
{
	struct daemon_pod_facts *ret = to;

	if (!neap_pod_facts_read(object, tree, &ret->pod))
		return false;
	(void)neap_strcopy(ret->target, sizeof(ret->target),
			   ret->pod.node[0] ? ret->pod.node : aimed_at(tree));
	return true;
}

static const char *controller_of(const void *facts)
{
	const struct daemon_pod_facts *pod = facts;

	return pod->pod.controller;
}

static int by_node(const void *left, const void *right)
{
	const struct daemon_pod *a = left, *b = right;
	const struct neap_pod_facts *p = &a->facts->pod, *q = &b->facts->pod;
	int order = strcmp(a->facts->target, b->facts->target);

	if (order)
		return order;
	if ((p->node[0] == '\0') != (q->node[0] == '\0'))
		return p->node[0] == '\0' ? 1 : -1;
	if (p->created_usec != q->created_usec)
		return p->created_usec < q->created_usec ? -1 : 1;
	return strcmp(a->object->name, b->object->name);
}

/* Tells the nodes which are theirs. */
static void group_pods(struct daemon *look)
{
	struct daemon_nodes *nodes = look->sets->nodes;

	for (size_t i = 0; i < daemon_nodes_count(nodes); i++)
		daemon_nodes_at(nodes, i)->first = daemon_nodes_at(nodes, i)->count = 0;
	for (size_t i = 0; i < look->count; i++) {
		struct daemon_node *node =
			daemon_nodes_find(nodes, look->pods[i].facts->target);

		if (node && !node->count++)
			node->first = i;
	}
	neap_feed_spend(look->sets->feed,
			(int64_t)(daemon_nodes_count(nodes) / 4 + look->count));
}

static bool sort_pods(struct daemon *look)
{
	const struct neap_claimed *list =
		neap_claims_list(look->sets->pods, &look->count);

	look->pods = neap_alloc((look->count + 1) * sizeof(*look->pods));
	look->base.is_short = !look->pods;
	if (look->base.is_short)
		return false;
	neap_feed_spend(look->sets->feed, POD_STEPS * (int64_t)look->count);
	for (size_t i = 0; i < look->count; i++)
		look->pods[i] = (struct daemon_pod){list[i].object, list[i].facts};
	qsort(look->pods, look->count, sizeof(*look->pods), by_node);
	group_pods(look);
	return true;
}

/* --- a look --- */

static bool judge(struct daemon *look)
{
	int more = daemon_nodes_judge(look->sets->nodes, look->sets->feed, look->object,
				      look->tree);

	look->base.goes_on = more > 0;
	look->base.is_short = more < 0;
	return more == 0;
}

/* Parts of the nodes that should have a pod. */
static void read_strategy(struct daemon *look)
{
	const json_t *rolling =
		neap_tree_at(look->tree, "spec.updateStrategy.rollingUpdate");
	const struct daemon_nodes *nodes = look->sets->nodes;
	int64_t desired = 0;

	for (size_t i = 0; i < daemon_nodes_count(nodes); i++)
		desired += daemon_nodes_at(nodes, i)->should_run;
	look->min_ready_s = neap_tree_int(look->tree, "spec.minReadySeconds", 0);
	look->is_rolling = strcmp(neap_tree_text(look->tree, "spec.updateStrategy.type"),
				  "OnDelete") != 0;
	if (!look->is_rolling)
		return;
	look->surge = neap_tree_part(json_object_get(rolling, "maxSurge"), desired, true);
	look->unavailable =
		neap_tree_part(json_object_get(rolling, "maxUnavailable"), desired, true);
	if (!look->surge && !look->unavailable)
		look->unavailable = 1;
	look->allows_surge = look->surge > 0;
}

static void act(struct daemon *look)
{
	struct neap_rounds *rounds = look->sets->rounds;

	/* Each node is looked at for each of what follows. */
	neap_feed_spend(look->sets->feed, (int64_t)daemon_nodes_count(look->sets->nodes));
	read_strategy(look);
	daemon_manage(look);
	if (look->is_rolling && !neap_rounds_asked(rounds) &&
	    !neap_rounds_refused(rounds, NULL))
		daemon_update(look);
	daemon_revisions_tidy(look);
	daemon_status(look);
}

static int64_t work(struct daemon *look)
{
	/* One that is being deleted may have lost its revisions. */
	if (*neap_tree_text(look->tree, "metadata.deletionTimestamp"))
		return 0;
	if (neap_look_claim(&look->base, look->sets->pods, look->tree, false) &&
	    neap_look_claim(&look->base, look->sets->revisions, look->tree, false) &&
	    judge(look) && sort_pods(look) && daemon_revisions_find(look))
		act(look);
	return neap_look_result(&look->base);
}

static int64_t look_at_tree(void *arg, const struct neap_object *object,
			    const json_t *tree)
{
	struct neap_daemonsets *sets = arg;
	struct daemon look = {
		.base = {&daemon_kind, sets->config.client, sets->feed, sets->rounds},
		.sets = sets,
		.object = object,
		.tree = tree,
		.now = sets->config.now(),
		.collisions = neap_tree_int(tree, "status.collisionCount", NEAP_MISSING),
	};
	int64_t again;

	neap_feed_spend(sets->feed, neap_steps_of_text(object));
	look.base.owner = neap_owners_get(sets->owners, object, tree);
	if (!look.base.owner)
		return -1;
	again = work(&look);
	free(look.pods);
	free(look.revisions);
	return again;
}

static bool make_due(void *arg, struct neap_object *object)
{
	struct neap_daemonsets *sets = arg;

	if (!neap_feed_has_steps(sets->feed))
		return false;
	neap_feed_spend(sets->feed, 1);
	neap_feed_due(sets->feed, object->ns, object->name, 0);
	return true;
}

static int64_t make_all_due(struct neap_daemonsets *sets)
{
	struct neap_error err;
	int more;

	sets->due.version = neap_client_version(sets->config.client);
	more = neap_client_list(sets->config.client, DAEMONSETS, NULL, &sets->due,
				make_due, sets, &err);
	if (more <= 0)
		sets->due = (struct neap_client_place){0};
	return more > 0 ? NEAP_FEED_GOES_ON : more;
}

static int64_t look_at(void *arg, const char *ns, const char *name)
{
	struct neap_daemonsets *sets = arg;
	int64_t again = *name ? neap_rounds_look_at(sets->rounds, sets->owners, ns, name,
						    look_at_tree)
			      : make_all_due(sets);

	if (again != NEAP_FEED_GOES_ON) {
		neap_claims_end(sets->pods);
		neap_claims_end(sets->revisions);
	}
	return again;
}

/* --- what happens --- */

/* Many nodes may change at once: the key without a name stands for all DaemonSets, and
 * its look makes them due. */
static void hear_node(struct neap_daemonsets *sets, const struct neap_client_event *event)
{
	int changes = daemon_nodes_hear(sets->nodes, sets->feed, event);

	if (changes > 0)
		neap_feed_due(sets->feed, "", "", 0);
	else if (changes < 0)
		neap_feed_restart(sets->feed);
}

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	struct neap_daemonsets *sets = arg;

	if (strcmp(resource, DAEMONSETS) == 0)
		neap_feed_due(sets->feed, event->object->ns, event->object->name, 0);
	else if (strcmp(resource, "nodes") == 0)
		hear_node(sets, event);
	else
		neap_claims_hear(strcmp(resource, "pods") == 0 ? sets->pods
							       : sets->revisions,
				 event);
}

static bool rest(void *arg)
{
	struct neap_daemonsets *sets = arg;

	return neap_owners_rest(sets->owners, sets->feed);
}

static void anew(void *arg)
{
	struct neap_daemonsets *sets = arg;

	daemon_nodes_clear(sets->nodes);
}

/* --- its life --- */

static bool make_claims(struct neap_daemonsets *sets)
{
	struct neap_claims_config config = {
		.client = sets->config.client,
		.feed = sets->feed,
		.rounds = sets->rounds,
		.owners = sets->owners,
		.resource = "pods",
		.owner_resource = DAEMONSETS,
		.api_version = DS_API,
		.kind = DS_KIND,
		.facts_size = sizeof(struct daemon_pod_facts),
		.read = read_pod,
		.controller = controller_of,
		.what = ASK_OTHER,
		.read_steps = 1,
	};

	sets->pods = neap_claims_new(&config);
	config.resource = NEAP_REVISIONS;
	config.facts_size = sizeof(struct neap_revision_facts);
	config.read = neap_revision_facts_read;
	config.read_steps = NEAP_REVISION_READ;
	config.controller = neap_revision_controller;
	sets->revisions = neap_claims_new(&config);
	return sets->pods && sets->revisions;
}

int neap_daemonsets_new(const struct neap_workload_config *config,
			struct neap_daemonsets **ret, struct neap_error *err)
{
	struct neap_daemonsets *sets = neap_alloc(sizeof(*sets));
	struct neap_feed_config feed = {
		.tasks = config->tasks,
		.client = config->client,
		.arg = sets,
		.resources = {DAEMONSETS, "nodes", "pods", NEAP_REVISIONS},
		.heard = heard,
		.rest = rest,
		.anew = anew,
		.look = look_at};
	struct neap_rounds_config rounds = {.client = config->client,
					    .resource = DAEMONSETS,
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
	sets->nodes = daemon_nodes_new();
	sets->backoffs = neap_map_new();
	r = sets->owners && sets->nodes && sets->backoffs
		    ? neap_feed_new(&feed, &sets->feed, err)
		    : neap_error_nomem(err);
	rounds.feed = sets->feed;
	if (r == 0)
		r = neap_rounds_new(&rounds, &sets->rounds, err);
	if (r == 0 && !make_claims(sets))
		r = neap_error_nomem(err);
	if (r < 0) {
		neap_daemonsets_free(sets);
		return r;
	}
	*ret = sets;
	return 0;
}

void neap_daemonsets_free(struct neap_daemonsets *sets)
{
	if (!sets)
		return;
	neap_rounds_free(sets->rounds);
	neap_claims_free(sets->pods);
	neap_claims_free(sets->revisions);
	neap_feed_free(sets->feed);
	neap_owners_free(sets->owners);
	daemon_nodes_free(sets->nodes);
	daemon_backoffs_free(sets->backoffs);
	free(sets);
}
