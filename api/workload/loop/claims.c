/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/loop/claims.h"

#include <stdlib.h>
#include <string.h>

#include "api/workload/loop/search.h"
#include "api/workload/loop/tree.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

struct neap_claims {
	struct neap_claims_config config;
	struct neap_search *search;
	struct neap_facts_cache *facts;
	struct neap_claimed *items;
	size_t count, size;
	int written; /* asks of this look */
};

/* A dependent's relation to the owner. */
enum { IS_OURS = 1, IS_SELECTED = 2 };

static unsigned wants(void *arg, const char *uid, const struct neap_object *object)
{
	struct neap_claims *claims = arg;
	const struct neap_owner *owner = neap_owners_find(claims->config.owners, uid);
	unsigned wanted = 0;

	if (!owner)
		return 0;
	neap_feed_spend(claims->config.feed, neap_feed_steps_of(object, owner->selector));
	if (neap_object_has_owner(object, uid))
		wanted |= IS_OURS;
	if ((wanted || !object->is_deleting) &&
	    neap_object_is_selected(object, owner->selector) &&
	    (!claims->config.accepts || claims->config.accepts(owner, object)))
		wanted |= IS_SELECTED;
	return wanted;
}

static void spend_reading(const struct neap_claims *claims,
			  const struct neap_object *object)
{
	neap_feed_spend(claims->config.feed,
			claims->config.read_steps * neap_steps_of_text(object));
}

/* --- what happens --- */

static bool is_orphan(struct neap_claims *claims, const struct neap_object *object)
{
	const void *facts;

	if (!object->owner_count)
		return true;
	if (!neap_facts_has(claims->facts, object))
		spend_reading(claims, object);
	facts = neap_facts_get(claims->facts, object);
	return !facts || *claims->config.controller(facts) == '\0';
}

void neap_claims_hear(struct neap_claims *claims, const struct neap_client_event *event)
{
	const struct neap_claims_config *config = &claims->config;

	neap_search_hear(claims->search, event);
	if (event->before)
		neap_owners_due(config->owners, config->feed, event->before);
	neap_owners_due(config->owners, config->feed, event->object);
	if (event->what != NEAP_CLIENT_DELETED && !event->object->is_deleting &&
	    is_orphan(claims, event->object))
		neap_owners_due_selecting(config->owners, event->object);
}

/* --- claiming --- */

static bool add(struct neap_claims *claims, struct neap_object *object, const void *facts)
{
	if (!neap_grow(&claims->items, claims->count, &claims->size,
		       sizeof(*claims->items)))
		return false;
	claims->items[claims->count++] =
		(struct neap_claimed){.object = object, .facts = facts};
	return true;
}

static bool may_adopt(const struct neap_claims *claims, const struct neap_owner *owner)
{
	const struct neap_object *newest =
		neap_client_newest(claims->config.client, claims->config.owner_resource,
				   owner->ns, owner->name);

	return newest && !newest->is_deleting && strcmp(newest->uid, owner->uid) == 0;
}

/* tree: of the owner; NULL: release it. */
static void hand_over(struct neap_claims *claims, const struct neap_owner *owner,
		      const struct neap_object *object, const json_t *tree)
{
	const struct neap_claims_config *config = &claims->config;
	struct neap_round_ask what = {config->what, config->resource, owner->ns,
				      object->name, owner->uid};
	neap_auto_json json_t *child = NULL;
	struct neap_client_ask ask;
	json_t *patch = NULL;

	if (claims->written >= NEAP_CLAIMS_PIECE ||
	    (claims->written && !neap_feed_has_steps(config->feed)))
		return; /* the answers make the owner due, and the rest follows */
	claims->written++;
	neap_feed_spend(config->feed, neap_steps_of_write(object));
	if (!neap_rounds_ask(config->rounds, &what, &ask))
		return;
	child = neap_object_tree(object);
	if (child)
		patch = tree ? neap_tree_adopt_new(child, tree, config->api_version,
						   config->kind)
			     : neap_tree_release_new(child, owner->uid);
	neap_client_patch_take(config->client, &ask, false, patch);
}

enum sorted { SORTED, SORT_LATER, SORT_SHORT };

static enum sorted sort_out(struct neap_claims *claims, const struct neap_found *found,
			    const struct neap_owner *owner, const json_t *tree,
			    bool is_deleting, int *read)
{
	bool is_selected = found->wanted & IS_SELECTED;
	struct neap_object *object = found->object;
	const char *controller;
	const void *facts;

	if (!neap_facts_has(claims->facts, object)) {
		if ((*read)++ && !neap_feed_has_steps(claims->config.feed))
			return SORT_LATER;
		spend_reading(claims, object);
	}
	neap_feed_spend(claims->config.feed, 1);
	facts = neap_facts_get(claims->facts, object);
	if (!facts)
		return SORT_SHORT;
	controller = claims->config.controller(facts);
	if (strcmp(controller, owner->uid) == 0) {
		if (is_selected)
			return add(claims, object, facts) ? SORTED : SORT_SHORT;
		if (!is_deleting)
			hand_over(claims, owner, object, NULL);
	} else if (controller[0] == '\0' && is_selected && !is_deleting &&
		   !object->is_deleting && may_adopt(claims, owner)) {
		hand_over(claims, owner, object, tree);
	}
	return SORTED;
}

enum neap_claims_result neap_claims_go(struct neap_claims *claims,
				       const struct neap_owner *owner, const json_t *tree,
				       bool is_deleting)
{
	const struct neap_claims_config *config = &claims->config;
	int more = neap_search_go(claims->search, owner->ns, owner->uid), read = 0;
	const struct neap_found *found;
	size_t count;

	if (more != 0)
		return more > 0 ? NEAP_CLAIMS_GOES_ON : NEAP_CLAIMS_SHORT;
	neap_facts_tidy(claims->facts,
			neap_client_count(config->client, config->resource));
	found = neap_search_found(claims->search, &count);
	claims->count = 0;
	claims->written = 0;
	for (size_t i = 0; i < count; i++) {
		enum sorted sorted =
			sort_out(claims, &found[i], owner, tree, is_deleting, &read);

		if (sorted != SORTED && claims->written)
			break; /* the answers make it due */
		if (sorted != SORTED)
			return sorted == SORT_LATER ? NEAP_CLAIMS_GOES_ON
						    : NEAP_CLAIMS_SHORT;
	}
	if (claims->written)
		return NEAP_CLAIMS_ASKED;
	/* This turn was for reading. */
	return read && !neap_feed_has_steps(config->feed) ? NEAP_CLAIMS_GOES_ON
							  : NEAP_CLAIMS_DONE;
}

const struct neap_claimed *neap_claims_list(const struct neap_claims *claims,
					    size_t *ret_count)
{
	*ret_count = claims->count;
	return claims->items;
}

void neap_claims_end(struct neap_claims *claims)
{
	neap_search_end(claims->search);
	claims->count = 0;
}

/* --- its life --- */

struct neap_claims *neap_claims_new(const struct neap_claims_config *config)
{
	struct neap_claims *claims = neap_alloc(sizeof(*claims));
	struct neap_search_config search = {.client = config->client,
					    .feed = config->feed,
					    .resource = config->resource,
					    .arg = claims,
					    .wants = wants};

	if (!claims)
		return NULL;
	claims->config = *config;
	claims->search = neap_search_new(&search);
	claims->facts = neap_facts_new(config->facts_size, config->read);
	if (!claims->search || !claims->facts) {
		neap_claims_free(claims);
		return NULL;
	}
	return claims;
}

void neap_claims_free(struct neap_claims *claims)
{
	if (!claims)
		return;
	neap_search_free(claims->search);
	neap_facts_free(claims->facts);
	free(claims->items);
	free(claims);
}
