/* SPDX-License-Identifier: Apache-2.0
 *
 * The ReplicaSets of a Deployment: one per template it has had. Revisions number the
 * templates in order; an old template that returns gets a new number. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/deployment/deployments_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* Bytes of the annotation that tells earlier revisions. */
#define HISTORY_MAX 2000

static int64_t annotation_number(const json_t *tree, const char *name)
{
	const char *text = neap_tree_entry(tree, "metadata.annotations", name);
	int64_t number;

	return *text && neap_int_parse(text, &number, NULL) == 0 ? number : NEAP_MISSING;
}

/* --- finding --- */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void read_member(struct member *member, json_t *tree)
{
	int64_t revision = annotation_number(tree, REVISION);

	*member = (struct member){
		.tree = tree,
		.created_usec = neap_tree_time(tree, "metadata.creationTimestamp"),
		/* Anybody can write there: NEAP_MISSING is below 0, too. */
		.revision = revision < 0 || revision == INT64_MAX ? 0 : revision,
		.replicas = neap_tree_int(tree, "spec.replicas", 1),
		.status_replicas = neap_tree_int(tree, "status.replicas", 0),
		.is_deleting = neap_tree_at(tree, "metadata.deletionTimestamp") != NULL,
		.desired = annotation_number(tree, DESIRED_REPLICAS),
		.max = annotation_number(tree, MAX_REPLICAS),
	};
	member->ready =
		least(neap_tree_int(tree, "status.readyReplicas", 0), member->replicas);
	member->available = least(neap_tree_int(tree, "status.availableReplicas", 0),
				  member->replicas);
	(void)neap_strcopy(member->name, sizeof(member->name),
			   neap_tree_text(tree, "metadata.name"));
	(void)neap_strcopy(member->uid, sizeof(member->uid),
			   neap_tree_text(tree, "metadata.uid"));
}

/* One place stays free for the one that is made. */
static struct member *add_member(struct rollout *rollout)
{
	if (!neap_grow(&rollout->members, rollout->count + 1, &rollout->size,
		       sizeof(*rollout->members)))
		return NULL;
	return &rollout->members[rollout->count];
}

/* The tree is taken. */
static void adopt_take(struct rollout *rollout, json_t *tree)
{
	struct neap_client_ask ask;

	if (rollout_ask(rollout, RS, neap_tree_text(tree, "metadata.name"), &ask))
		neap_client_patch_take(rollout->deployments->config.client, &ask, false,
				       neap_tree_adopt_new(tree, rollout->tree, "apps/v1",
							   "Deployment"));
	json_decref(tree);
}

static void release_take(struct rollout *rollout, json_t *tree)
{
	struct neap_client_ask ask;

	if (rollout_ask(rollout, RS, neap_tree_text(tree, "metadata.name"), &ask))
		neap_client_patch_take(rollout->deployments->config.client, &ask, false,
				       neap_tree_release_new(tree, rollout->owner->uid));
	json_decref(tree);
}

/* What a ReplicaSet may be of. */
enum { IS_OURS = 1, IS_SELECTED = 2 };

unsigned deployment_wants_set(void *arg, const char *uid, const struct neap_object *set)
{
	const struct neap_deployments *deployments = arg;
	const struct neap_owner *owner = neap_owners_find(deployments->owners, uid);

	if (!owner)
		return 0;
	neap_feed_spend(deployments->feed, neap_feed_steps_of(set, owner->selector));
	return (neap_object_has_owner(set, uid) ? IS_OURS : 0) |
	       (neap_object_is_selected(set, owner->selector) ? IS_SELECTED : 0);
}

static void claim_take(struct rollout *rollout, const struct neap_found *found,
		       json_t *tree)
{
	const char *controller = neap_tree_text(neap_tree_controller(tree), "uid");
	bool is_selected = found->wanted & IS_SELECTED;
	bool is_ending =
		neap_tree_at(rollout->tree, "metadata.deletionTimestamp") != NULL;
	struct member *member;

	if (strcmp(controller, rollout->owner->uid) == 0 && is_selected) {
		member = add_member(rollout);
		if (member) {
			read_member(member, tree);
			rollout->count++;
			return;
		}
		rollout->is_short = true;
	} else if (strcmp(controller, rollout->owner->uid) == 0 && !is_ending) {
		release_take(rollout, tree);
		return;
	} else if (!*controller && is_selected && !is_ending &&
		   !found->object->is_deleting) {
		adopt_take(rollout, tree);
		return;
	}
	json_decref(tree);
}

/* From old to new. */
static int by_age(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->created_usec != b->created_usec)
		return a->created_usec < b->created_usec ? -1 : 1;
	return strcmp(a->name, b->name);
}

static bool find_members(struct rollout *rollout)
{
	struct neap_deployments *deployments = rollout->deployments;
	const struct neap_found *found;
	size_t count;
	int more = neap_search_go(deployments->sets, rollout->owner->ns,
				  rollout->owner->uid);

	rollout->goes_on = more > 0;
	rollout->is_short = more < 0 || !add_member(rollout);
	if (more != 0)
		return false;
	found = neap_search_found(deployments->sets, &count);
	for (size_t i = 0; i < count && !rollout->is_short; i++) {
		json_t *tree = neap_object_tree(found[i].object);

		neap_feed_spend(deployments->feed,
				neap_feed_steps_of_text(found[i].object));
		rollout->is_short = !tree;
		if (tree)
			claim_take(rollout, &found[i], tree);
	}
	if (rollout->count)
		qsort(rollout->members, rollout->count, sizeof(*rollout->members),
		      by_age);
	/* Adopted ones are seen in the next round. */
	return !rollout->is_short && !neap_rounds_asked(deployments->rounds) &&
	       !neap_rounds_refused(deployments->rounds, NULL);
}

static void find_current(struct rollout *rollout)
{
	const json_t *mine = neap_tree_at(rollout->tree, "spec.template");

	for (size_t i = 0; i < rollout->count && !rollout->current; i++)
		if (neap_template_is_same(mine, neap_tree_at(rollout->members[i].tree,
							     "spec.template")))
			rollout->current = &rollout->members[i];
}

void rollout_done(struct rollout *rollout)
{
	for (size_t i = 0; i < rollout->count; i++)
		json_decref(rollout->members[i].tree);
	free(rollout->members);
	json_decref(rollout->conditions);
}

/* --- annotations --- */

/* One more than that of all others. */
static int64_t next_revision(const struct rollout *rollout)
{
	int64_t most = 0;

	for (size_t i = 0; i < rollout->count; i++)
		if (&rollout->members[i] != rollout->current &&
		    rollout->members[i].revision > most)
			most = rollout->members[i].revision;
	return most + 1;
}

/* Those that are of the Deployment alone. */
static bool is_own(const char *name)
{
	static const char *const names[] = {
		"kubectl.kubernetes.io/last-applied-configuration",
		REVISION,
		REVISION_HISTORY,
		DESIRED_REPLICAS,
		MAX_REPLICAS,
		"deprecated.deployment.rollback.to",
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int put_number(json_t *map, const char *name, int64_t number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%lld", (long long)number);
	return json_object_set_new(map, name, json_string(text));
}

/* Earlier revisions, the oldest of which go when there are too many. */
static int put_history(json_t *map, const struct member *member)
{
	const char *before =
		neap_tree_entry(member->tree, "metadata.annotations", REVISION_HISTORY);
	char text[HISTORY_MAX + 32];

	while (strlen(before) > HISTORY_MAX - 24) {
		const char *comma = strchr(before, ',');

		before = comma ? comma + 1 : "";
	}
	(void)snprintf(text, sizeof(text), "%s%s%lld", before, *before ? "," : "",
		       (long long)member->revision);
	return json_object_set_new(map, REVISION_HISTORY, json_string(text));
}

/* Those that a ReplicaSet lacks; member NULL: a new one. NULL without memory. */
static json_t *missing_annotations(const struct rollout *rollout,
				   const struct member *member, int64_t revision)
{
	const json_t *mine = neap_tree_at(rollout->tree, "metadata.annotations");
	json_t *map = json_object(), *value;
	const char *name;
	int ret = 0;

	json_object_foreach ((json_t *)(uintptr_t)mine, name, value) {
		const json_t *has =
			member ? json_object_get(neap_tree_at(member->tree,
							      "metadata.annotations"),
						 name)
			       : NULL;

		if (!is_own(name) && !(has && json_equal(has, value)))
			ret |= json_object_set(map, name, value);
	}
	if (!member || member->revision < revision) {
		ret |= put_number(map, REVISION, revision);
		if (member && member->revision > 0)
			ret |= put_history(map, member);
	}
	if (!member) {
		ret |= put_number(map, DESIRED_REPLICAS, rollout->replicas);
		ret |= put_number(map, MAX_REPLICAS, rollout->replicas + rollout->surge);
	}
	if (ret == 0)
		return map;
	json_decref(map);
	return NULL;
}

/* Asks for what the current one lacks. */
static bool update_current(struct rollout *rollout, int64_t revision)
{
	struct member *current = rollout->current;
	int64_t min_ready = neap_tree_int(rollout->tree, "spec.minReadySeconds", 0);
	json_t *map = missing_annotations(rollout, current, revision), *patch;
	struct neap_client_ask ask;

	rollout->is_short = rollout->is_short || !map;
	if (!map)
		return false;
	if (!json_object_size(map) &&
	    neap_tree_int(current->tree, "spec.minReadySeconds", 0) == min_ready) {
		json_decref(map);
		return true;
	}
	if (current->revision < revision)
		current->revision = revision;
	patch = json_pack("{s:{s:s, s:o}, s:{s:I}}", "metadata", "uid", current->uid,
			  "annotations", map, "spec", "minReadySeconds",
			  (json_int_t)min_ready);
	if (rollout_ask(rollout, RS, current->name, &ask))
		neap_client_patch_take(rollout->deployments->config.client, &ask, false,
				       patch);
	else
		json_decref(patch);
	return true;
}

bool rollout_find(struct rollout *rollout)
{
	if (!find_members(rollout))
		return false;
	find_current(rollout);
	if (!rollout->current || rollout->current->is_deleting)
		return true;
	if (!update_current(rollout, next_revision(rollout)))
		return false;
	rollout->revision = rollout->current->revision;
	if (rollout->has_deadline && !rollout_find_condition(rollout, "Progressing"))
		rollout_condition(rollout, "Progressing", "True", "FoundNewReplicaSet",
				  "Found new replica set \"%s\"", rollout->current->name);
	return true;
}

/* --- making --- */

static json_t *with_hash(const json_t *map, const char *hash)
{
	json_t *copy = map ? neap_json_deep_copy(map) : json_object();

	if (copy && json_object_set_new(copy, NEAP_HASH_LABEL, json_string(hash)) < 0) {
		json_decref(copy);
		return NULL;
	}
	return copy;
}

/* The template with the label, and the selector that has it. */
static bool fill_spec(json_t *spec, const struct rollout *rollout, const char *hash)
{
	json_t *selector =
		neap_json_deep_copy(neap_tree_at(rollout->tree, "spec.selector"));
	json_t *pods = neap_json_deep_copy(neap_tree_at(rollout->tree, "spec.template"));
	int ret = 0;

	ret |= json_object_set_new(spec, "selector", selector);
	ret |= json_object_set_new(spec, "template", pods);
	if (ret < 0)
		return false;
	if (!json_object_get(pods, "metadata"))
		ret |= json_object_set_new(pods, "metadata", json_object());
	ret |= json_object_set_new(
		selector, "matchLabels",
		with_hash(json_object_get(selector, "matchLabels"), hash));
	ret |= json_object_set_new(
		json_object_get(pods, "metadata"), "labels",
		with_hash(neap_tree_at(pods, "metadata.labels"), hash));
	ret |= json_object_set_new(
		spec, "minReadySeconds",
		json_integer(neap_tree_int(rollout->tree, "spec.minReadySeconds", 0)));
	return ret == 0;
}

static json_t *make_set(const struct rollout *rollout, const struct member *member,
			const char *hash)
{
	json_t *spec = json_pack("{s:I}", "replicas", (json_int_t)member->replicas);
	json_t *set;

	if (!spec || !fill_spec(spec, rollout, hash)) {
		json_decref(spec);
		return NULL;
	}
	set = json_pack(
		"{s:{s:s, s:O, s:o, s:[o]}}", "metadata", "name", member->name, "labels",
		neap_tree_at(spec, "template.metadata.labels"), "annotations",
		missing_annotations(rollout, NULL, member->revision), "ownerReferences",
		neap_tree_owner_new(rollout->tree, "apps/v1", "Deployment"));
	if (json_object_set_new(set, "spec", spec) < 0) {
		json_decref(set);
		return NULL;
	}
	return set;
}

/* What is already called so is somebody else's, or of another template. */
static bool is_taken(struct rollout *rollout, const char *name)
{
	return neap_client_newest(rollout->deployments->config.client, RS,
				  rollout->owner->ns, name) != NULL;
}

static bool is_ending(const struct rollout *rollout)
{
	const struct neap_object *ns =
		neap_client_newest(rollout->deployments->config.client, "namespaces", "",
				   rollout->owner->ns);

	return !ns || ns->is_deleting;
}

static void tell_made(struct rollout *rollout, const struct member *member)
{
	if (member->replicas > 0)
		rollout_note(rollout, false, "ScalingReplicaSet",
			     "Scaled up replica set %s from 0 to %lld", member->name,
			     (long long)member->replicas);
	if (rollout->has_deadline)
		rollout_condition(rollout, "Progressing", "True", "NewReplicaSetCreated",
				  "Created new replica set \"%s\"", member->name);
}

static void tell_refused(struct rollout *rollout, const struct member *member,
			 const char *why)
{
	if (rollout->has_deadline)
		rollout_condition(
			rollout, "Progressing", "False", "ReplicaSetCreateError",
			"Failed to create new replica set \"%s\": %s", member->name, why);
	rollout_note(rollout, true, "ReplicaSetCreateError",
		     "Failed to create new replica set \"%s\": %s", member->name, why);
}

bool rollout_make_current(struct rollout *rollout)
{
	struct member *member = &rollout->members[rollout->count]; /* see add_member */
	char hash[NEAP_TEMPLATE_HASH_MAX];
	struct neap_client_ask ask;
	const char *why;

	if (rollout->current)
		return true;
	if (is_ending(rollout) ||
	    !neap_template_hash(
		    neap_tree_at(rollout->tree, "spec.template"),
		    rollout->collisions == NEAP_MISSING ? 0 : rollout->collisions, hash))
		return false;
	*member = (struct member){.created_usec = INT64_MAX,
				  .revision = next_revision(rollout),
				  .desired = rollout->replicas,
				  .max = rollout->replicas + rollout->surge};
	(void)snprintf(member->name, sizeof(member->name), "%s-%s", rollout->owner->name,
		       hash);
	if (is_taken(rollout, member->name)) {
		rollout->collisions =
			rollout->collisions == NEAP_MISSING ? 1 : rollout->collisions + 1;
		return false;
	}
	member->replicas = rollout_current_size(rollout, 0);
	if (!rollout_ask(rollout, RS, NULL, &ask))
		return false;
	neap_client_create_take(rollout->deployments->config.client, &ask,
				make_set(rollout, member, hash));
	if (neap_rounds_refused(rollout->deployments->rounds, &why)) {
		tell_refused(rollout, member, why);
		return false;
	}
	rollout->current = member;
	rollout->count++;
	rollout->revision = member->revision;
	tell_made(rollout, member);
	return true;
}
