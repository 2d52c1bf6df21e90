/* SPDX-License-Identifier: Apache-2.0
 *
 * The ReplicaSets of a Deployment: one per template it has had. Revisions number the
 * templates in order; an old template that returns gets a new number. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/deployment/deployments_priv.h"
#include "engine/base/mem.h"

/* --- how much at a time --- */

bool rollout_may_read(struct rollout *rollout, int64_t steps)
{
	struct neap_feed *feed = rollout->deployments->feed;

	if (rollout->read++ && !neap_feed_has_steps(feed)) {
		rollout->goes_on = true;
		return false;
	}
	neap_feed_spend(feed, steps);
	return true;
}

/* A ReplicaSet whose write was refused waits until all others had their turn. Otherwise
 * writes that cannot succeed would use up all turns. */
static bool may_write(struct rollout *rollout, const struct neap_set_facts *facts)
{
	if (rollout->written >= ROLLOUT_PIECE ||
	    (rollout->written && !neap_feed_has_steps(rollout->deployments->feed))) {
		rollout->is_cut = true;
		return false;
	}
	rollout->is_skipping = rollout->is_skipping || facts->was_refused;
	rollout->written += !facts->was_refused;
	return !facts->was_refused;
}

/* All others had their turn, so refused ones are next. */
static void end_skipping(const struct rollout *rollout)
{
	const struct neap_deployments *deployments = rollout->deployments;
	const struct neap_found *found;
	size_t count;

	if (!rollout->is_skipping || rollout->is_cut)
		return;
	found = neap_search_found(deployments->sets, &count);
	for (size_t i = 0; i < count; i++) {
		struct neap_set_facts *facts =
			neap_facts_find(deployments->facts, found[i].object->uid);

		if (facts)
			facts->was_refused = false;
	}
}

bool rollout_is_partial(const struct rollout *rollout)
{
	return rollout->is_cut || rollout->is_skipping;
}

bool rollout_may_ask(struct rollout *rollout, const struct neap_object *set,
		     struct neap_set_facts *facts, struct neap_client_ask *ret)
{
	if (!may_write(rollout, facts))
		return false;
	neap_feed_spend(rollout->deployments->feed, neap_steps_of_write(set));
	return rollout_ask(rollout, RS, set->name, ret);
}

void deployment_told(void *arg, const struct neap_round_told *told)
{
	struct neap_deployments *deployments = arg;
	const struct neap_object *set;
	struct neap_set_facts *facts;

	if (told->what != ASK_SET || !told->failure)
		return;
	set = neap_client_find(deployments->config.client, RS, told->ns, told->name);
	facts = set ? neap_facts_find(deployments->facts, set->uid) : NULL;
	if (facts)
		facts->was_refused = true;
}

/* --- finding --- */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static struct member member_of(const struct neap_object *object,
			       struct neap_set_facts *facts)
{
	return (struct member){
		.object = object,
		.facts = facts,
		.name = object->name,
		.uid = object->uid,
		.created_usec = facts->created_usec,
		.revision = facts->revision,
		.replicas = facts->replicas,
		.status_replicas = facts->status_replicas,
		.ready = least(facts->ready, facts->replicas),
		.available = least(facts->available, facts->replicas),
		.is_deleting = facts->is_deleting,
		.desired = facts->desired,
		.max = facts->max,
	};
}

/* One more than the members: space for one that is made. */
static struct member *add_member(struct rollout *rollout)
{
	if (!neap_grow(&rollout->members, rollout->count + 1, &rollout->size,
		       sizeof(*rollout->members)))
		return NULL;
	return &rollout->members[rollout->count];
}

/* A ReplicaSet's relation to the Deployment. */
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

static json_t *adoption_of(const struct rollout *rollout, const json_t *tree)
{
	return neap_tree_adopt_new(tree, rollout->tree, "apps/v1", "Deployment");
}

static json_t *release_of(const struct rollout *rollout, const json_t *tree)
{
	return neap_tree_release_new(tree, rollout->owner->uid);
}

static void ask_change(struct rollout *rollout, const struct neap_found *found,
		       struct neap_set_facts *facts,
		       json_t *(*change_of)(const struct rollout *, const json_t *))
{
	struct neap_client_ask ask;
	json_t *tree;

	if (!rollout_may_ask(rollout, found->object, facts, &ask))
		return;
	tree = neap_object_tree(found->object);
	neap_client_patch_take(rollout->deployments->config.client, &ask, false,
			       tree ? change_of(rollout, tree) : NULL);
	json_decref(tree);
}

static void claim(struct rollout *rollout, const struct neap_found *found,
		  struct neap_set_facts *facts)
{
	bool is_ours = strcmp(facts->controller, rollout->owner->uid) == 0;
	bool is_selected = found->wanted & IS_SELECTED;
	bool is_ending =
		neap_tree_at(rollout->tree, "metadata.deletionTimestamp") != NULL;
	struct member *member;

	if (is_ours && is_selected) {
		member = add_member(rollout);
		rollout->is_short = !member;
		if (member) {
			*member = member_of(found->object, facts);
			rollout->count++;
		}
	} else if (is_ours && !is_ending) {
		ask_change(rollout, found, facts, release_of);
	} else if (!facts->controller[0] && is_selected && !is_ending &&
		   !found->object->is_deleting) {
		ask_change(rollout, found, facts, adoption_of);
	}
}

/* Oldest first. */
static int by_age(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->created_usec != b->created_usec)
		return a->created_usec < b->created_usec ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* NULL: continue in the next turn, or out of memory. */
static struct neap_set_facts *facts_of(struct rollout *rollout,
				       const struct neap_object *set)
{
	struct neap_deployments *deployments = rollout->deployments;
	struct neap_set_facts *facts;

	if (neap_facts_has(deployments->facts, set))
		neap_feed_spend(deployments->feed, 1);
	else if (!rollout_may_read(rollout, ROLLOUT_READ * neap_steps_of_text(set)))
		return NULL;
	facts = neap_facts_get(deployments->facts, set);
	rollout->is_short = !facts;
	return facts;
}

/* Reads all of them before anything is asked for. */
static bool read_found(struct rollout *rollout, const struct neap_found *found,
		       size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!facts_of(rollout, found[i].object))
			return false;
	/* Work on them gets a turn of its own. */
	rollout->goes_on =
		rollout->read && !neap_feed_has_steps(rollout->deployments->feed);
	return !rollout->goes_on;
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
	if (more != 0 || rollout->is_short)
		return false;
	if (neap_facts_tidy(deployments->facts,
			    neap_client_count(deployments->config.client, RS)))
		deployment_awaiting_due(deployments, NULL);
	found = neap_search_found(deployments->sets, &count);
	if (!read_found(rollout, found, count))
		return false;
	for (size_t i = 0; i < count && !rollout->is_short; i++)
		claim(rollout, &found[i],
		      neap_facts_find(deployments->facts, found[i].object->uid));
	if (rollout->count)
		qsort(rollout->members, rollout->count, sizeof(*rollout->members),
		      by_age);
	/* Adopted ones show in the next round. */
	return !rollout->is_short && !rollout_is_partial(rollout) &&
	       !neap_rounds_asked(deployments->rounds) &&
	       !neap_rounds_refused(deployments->rounds, NULL);
}

/* The digest of the present template; several looks may see one version. False without
 * memory. */
static bool read_digest(const struct rollout *rollout)
{
	struct neap_deployments *deployments = rollout->deployments;
	const struct neap_owner *owner = rollout->owner;

	if (deployments->digest_version == owner->version &&
	    strcmp(deployments->digest_uid, owner->uid) == 0)
		return true;
	neap_feed_spend(deployments->feed,
			(ROLLOUT_READ - 1) * neap_steps_of_text(rollout->object));
	deployments->digest_version = owner->version;
	(void)neap_strcopy(deployments->digest_uid, sizeof(deployments->digest_uid),
			   owner->uid);
	if (neap_template_digest(neap_tree_at(rollout->tree, "spec.template"),
				 deployments->digest))
		return true;
	deployments->digest_uid[0] = '\0';
	return false;
}

static void find_current(struct rollout *rollout)
{
	const uint8_t *mine = rollout->deployments->digest;

	for (size_t i = 0; i < rollout->count && !rollout->current; i++)
		if (memcmp(rollout->members[i].facts->pod_template, mine,
			   NEAP_SHA256_BYTES) == 0)
			rollout->current = &rollout->members[i];
}

void rollout_done(struct rollout *rollout)
{
	end_skipping(rollout);
	free(rollout->members);
	json_decref(rollout->conditions);
}

bool rollout_find(struct rollout *rollout)
{
	if (!find_members(rollout))
		return false;
	rollout->is_short = !read_digest(rollout);
	if (rollout->is_short)
		return false;
	find_current(rollout);
	if (!rollout->current || rollout->current->is_deleting)
		return true;
	if (!rollout_update_current(rollout, rollout_next_revision(rollout)))
		return false;
	rollout->revision = rollout->current->revision;
	if (rollout->has_deadline && !rollout_find_condition(rollout, "Progressing"))
		rollout_condition(rollout, "Progressing", "True", "FoundNewReplicaSet",
				  "Found new replica set \"%s\"", rollout->current->name);
	return true;
}
