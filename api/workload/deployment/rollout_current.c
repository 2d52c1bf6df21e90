/* SPDX-License-Identifier: Apache-2.0
 *
 * The ReplicaSet of the present template: its revision, a growing number; its other
 * annotations; and its creation. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/deployment/deployments_priv.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

/* Bytes of the annotation with earlier revisions. */
#define HISTORY_MAX 2000

/* --- annotations --- */

int64_t rollout_next_revision(const struct rollout *rollout)
{
	int64_t most = 0;

	for (size_t i = 0; i < rollout->count; i++)
		if (&rollout->members[i] != rollout->current &&
		    rollout->members[i].revision > most)
			most = rollout->members[i].revision;
	return most + 1;
}

/* Annotations that belong to the Deployment alone. */
static bool is_own(const char *name)
{
	static const char *const names[] = {
		"kubectl.kubernetes.io/last-applied-configuration",
		REVISION,
		REVISION_HISTORY,
		DESIRED_REPLICAS,
		MAX_REPLICAS,
		"deprecated.deployment.rollback.to",
		NULL,
	};

	return neap_text_is_in(name, names);
}

static int put_number(json_t *map, const char *name, int64_t number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%lld", (long long)number);
	return json_object_set_new(map, name, json_string(text));
}

/* Lists earlier revisions; drops the oldest when there are too many. */
static int put_history(json_t *map, const struct member *member, const json_t *tree)
{
	const char *before =
		neap_tree_entry(tree, "metadata.annotations", REVISION_HISTORY);
	char text[HISTORY_MAX + 32];

	while (strlen(before) > HISTORY_MAX - 24) {
		const char *comma = strchr(before, ',');

		before = comma ? comma + 1 : "";
	}
	(void)snprintf(text, sizeof(text), "%s%s%lld", before, *before ? "," : "",
		       (long long)member->revision);
	return json_object_set_new(map, REVISION_HISTORY, json_string(text));
}

/* The annotations that a ReplicaSet lacks. member and tree NULL: a new one. NULL without
 * memory. */
static json_t *missing_annotations(const struct rollout *rollout,
				   const struct member *member, const json_t *tree,
				   int64_t revision)
{
	const json_t *mine = neap_tree_at(rollout->tree, "metadata.annotations");
	json_t *map = json_object(), *value;
	const char *name;
	int ret = 0;

	json_object_foreach ((json_t *)(uintptr_t)mine, name, value) {
		const json_t *has =
			json_object_get(neap_tree_at(tree, "metadata.annotations"), name);

		if (!is_own(name) && !(has && json_equal(has, value)))
			ret |= json_object_set(map, name, value);
	}
	if (!member || member->revision < revision) {
		ret |= put_number(map, REVISION, revision);
		if (member && member->revision > 0)
			ret |= put_history(map, member, tree);
	}
	if (!member) {
		ret |= put_number(map, DESIRED_REPLICAS, rollout->replicas);
		ret |= put_number(map, MAX_REPLICAS, rollout->replicas + rollout->surge);
	}
	return neap_json_made(ret == 0, map);
}

static void ask_update_take(struct rollout *rollout, json_t *annotations,
			    int64_t min_ready)
{
	const struct member *current = rollout->current;
	json_t *patch = json_pack("{s:{s:s, s:o}, s:{s:I}}", "metadata", "uid",
				  current->uid, "annotations", annotations, "spec",
				  "minReadySeconds", (json_int_t)min_ready);
	struct neap_client_ask ask;

	if (rollout_may_ask(rollout, current->object, current->facts, &ask))
		neap_client_patch_take(rollout->deployments->config.client, &ask, false,
				       patch);
	else
		json_decref(patch);
}

bool rollout_update_current(struct rollout *rollout, int64_t revision)
{
	struct member *current = rollout->current;
	int64_t min_ready = neap_tree_int(rollout->tree, "spec.minReadySeconds", 0);
	json_t *tree = neap_object_tree(current->object), *map = NULL;
	bool is_so;

	neap_feed_spend(rollout->deployments->feed, neap_steps_of_text(current->object));
	if (tree)
		map = missing_annotations(rollout, current, tree, revision);
	is_so = !json_object_size(map) &&
		neap_tree_int(tree, "spec.minReadySeconds", 0) == min_ready;
	json_decref(tree);
	rollout->is_short = rollout->is_short || !map;
	if (!map)
		return false;
	if (is_so) {
		json_decref(map);
		return true;
	}
	if (current->revision < revision)
		current->revision = revision;
	ask_update_take(rollout, map, min_ready);
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

/* Sets the template with the hash label, and the selector with it. */
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
	set = json_pack("{s:{s:s, s:O, s:o, s:[o]}}", "metadata", "name", member->name,
			"labels", neap_tree_at(spec, "template.metadata.labels"),
			"annotations",
			missing_annotations(rollout, NULL, NULL, member->revision),
			"ownerReferences",
			neap_tree_owner_new(rollout->tree, "apps/v1", "Deployment"));
	if (json_object_set_new(set, "spec", spec) < 0) {
		json_decref(set);
		return NULL;
	}
	return set;
}

/* An object of this name exists, with another owner or template. */
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
	(void)snprintf(rollout->made_name, sizeof(rollout->made_name), "%s-%s",
		       rollout->owner->name, hash);
	*member = (struct member){.name = rollout->made_name,
				  .uid = "",
				  .created_usec = INT64_MAX,
				  .revision = rollout_next_revision(rollout),
				  .desired = rollout->replicas,
				  .max = rollout->replicas + rollout->surge};
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
