/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the pods of each ReplicaSet: by owner reference, and pods without an owner by
 * selector. Decisions need complete reads; the rounds ensure them. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/replicaset/replicasets_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

/* --- what happens --- */

static bool is_orphan(struct neap_replicasets *sets, const struct neap_object *pod)
{
	const struct neap_pod_facts *facts;

	if (!pod->owner_count)
		return true;
	if (!neap_facts_has(sets->facts, pod))
		neap_feed_spend(sets->feed, neap_steps_of_text(pod));
	facts = neap_facts_get(sets->facts, pod);
	return !facts || facts->controller[0] == '\0';
}

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	struct neap_replicasets *sets = arg;

	if (strcmp(resource, RS) == 0) {
		neap_feed_due(sets->feed, event->object->ns, event->object->name, 0);
		return;
	}
	neap_search_hear(sets->pods, event);
	neap_search_hear(sets->siblings, event);
	if (event->before)
		neap_owners_due(sets->owners, sets->feed, event->before);
	if (event->what == NEAP_CLIENT_DELETED)
		return;
	neap_owners_due(sets->owners, sets->feed, event->object);
	if (!event->object->is_deleting && is_orphan(sets, event->object))
		neap_owners_due_selecting(sets->owners, event->object);
}

static bool rest(void *arg)
{
	struct neap_replicasets *sets = arg;

	return neap_owners_rest(sets->owners, sets->feed);
}

/* --- whose pods they are --- */

static bool add_pod(struct look *look, struct neap_object *pod,
		    const struct neap_pod_facts *facts)
{
	if (!neap_grow(&look->pods, look->count, &look->size, sizeof(*look->pods)))
		return false;
	look->pods[look->count++] =
		(struct neap_ranked_pod){.pod = neap_object_ref(pod), .facts = facts};
	return true;
}

static bool add_stray(struct look *look, struct neap_object *pod)
{
	if (!neap_grow(&look->strays, look->stray_count, &look->stray_size,
		       sizeof(*look->strays)))
		return false;
	look->strays[look->stray_count++] = neap_object_ref(pod);
	return true;
}

static bool is_deleting(const struct look *look)
{
	return *neap_tree_text(look->tree, "metadata.deletionTimestamp") != '\0';
}

const struct neap_pod_facts *neap_replicaset_facts(struct look *look,
						   const struct neap_object *pod)
{
	struct neap_facts_cache *cache = look->sets->facts;

	if (neap_facts_has(cache, pod)) {
		neap_feed_spend(look->sets->feed, 1);
		return neap_facts_get(cache, pod);
	}
	if (look->read++ && !neap_feed_has_steps(look->sets->feed)) {
		look->goes_on = true;
		return NULL;
	}
	neap_feed_spend(look->sets->feed, neap_steps_of_text(pod));
	return neap_facts_get(cache, pod);
}

bool neap_replicaset_may_write(struct look *look, bool is_first,
			       const struct neap_object *object)
{
	if (!is_first && !neap_feed_has_steps(look->sets->feed))
		return false;
	neap_feed_spend(look->sets->feed, neap_steps_of_write(object));
	return true;
}

/* A pod's relation to the ReplicaSet. */
enum { IS_OURS = 1, IS_SELECTED = 2, IS_LABELED = 4 };

static unsigned wants_pod(void *arg, const char *uid, const struct neap_object *pod)
{
	struct neap_replicasets *sets = arg;
	const struct neap_owner *set = neap_owners_find(sets->owners, uid);
	unsigned wanted = 0;

	if (!set)
		return 0;
	neap_feed_spend(sets->feed, neap_feed_steps_of(pod, set->selector));
	if (neap_object_has_owner(pod, uid))
		wanted |= IS_OURS;
	if ((wanted || !pod->is_deleting) && neap_object_is_selected(pod, set->selector))
		wanted |= IS_SELECTED;
	if (!wanted)
		return 0; /* true of most */
	if (sets->labels)
		neap_feed_spend(sets->feed,
				neap_object_selection_steps(pod, sets->labels));
	if (!sets->labels || neap_object_is_selected(pod, sets->labels))
		wanted |= IS_LABELED;
	return wanted;
}

static bool sort_out(struct look *look, const struct neap_found *found)
{
	const struct neap_owner *set = look->set;
	bool is_selected = found->wanted & IS_SELECTED;
	struct neap_object *pod = found->object;
	const struct neap_pod_facts *facts = neap_replicaset_facts(look, pod);
	size_t count = look->count;

	look->is_short = !facts && !look->goes_on;
	if (!facts)
		return false;
	if (!facts->is_active)
		return true;
	if (strcmp(facts->controller, set->uid) == 0)
		look->is_short = is_selected         ? !add_pod(look, pod, facts)
				 : is_deleting(look) ? false
						     : !add_stray(look, pod);
	else if (facts->controller[0] == '\0' && is_selected && !is_deleting(look))
		look->is_short = !add_pod(look, pod, facts);
	look->labeled += look->count > count && (found->wanted & IS_LABELED);
	return !look->is_short;
}

/* If the template's labels differ from the last ones, all findings are dropped. False
 * without memory. */
static bool read_labels(struct look *look)
{
	const json_t *labels = neap_tree_at(look->tree, "spec.template.metadata.labels");
	struct neap_selector **known = &look->sets->labels, *selector = NULL;
	struct neap_error err;

	if (labels && neap_selector_parse_map(labels, &selector, &err) < 0 &&
	    err.code == NEAP_ENOMEM)
		return false;
	if (!*known || !selector ? *known != selector
				 : !neap_selector_is_same(*known, selector))
		neap_search_end(look->sets->pods);
	neap_selector_free(*known);
	*known = selector;
	return true;
}

static bool find_pods(struct look *look)
{
	struct neap_replicasets *sets = look->sets;
	const struct neap_found *found;
	size_t count;
	int more;

	look->is_short = !read_labels(look);
	if (look->is_short)
		return false;
	more = neap_search_go(sets->pods, look->set->ns, look->set->uid);
	look->goes_on = more > 0;
	look->is_short = more < 0;
	if (more != 0)
		return false;
	neap_facts_tidy(sets->facts, neap_client_count(sets->config.client, "pods"));
	found = neap_search_found(sets->pods, &count);
	for (size_t i = 0; i < count; i++)
		if (!sort_out(look, &found[i]))
			return false;
	/* This turn was for reading. */
	look->goes_on = look->read && !neap_feed_has_steps(sets->feed);
	return !look->goes_on;
}

/* Takes patch. */
static void ask_patch_take(struct look *look, const char *name, json_t *patch)
{
	struct neap_round_ask what = {ASK_OTHER, "pods", look->set->ns, name,
				      look->set->uid};
	struct neap_client_ask ask;

	if (neap_rounds_ask(look->sets->rounds, &what, &ask))
		neap_client_patch_take(look->sets->config.client, &ask, false, patch);
	else
		json_decref(patch);
}

/* Until the rest of many pods is claimed. */
#define NEXT_PIECE_USEC 20000

static bool may_adopt(const struct look *look)
{
	const struct neap_object *newest = neap_client_newest(
		look->sets->config.client, RS, look->set->ns, look->set->name);

	return newest && !newest->is_deleting && strcmp(newest->uid, look->set->uid) == 0;
}

static bool may_claim(struct look *look, int *left, const struct neap_object *pod)
{
	bool is_first = *left == NEAP_REPLICASET_PIECE;

	return (*left)-- > 0 && neap_replicaset_may_write(look, is_first, pod);
}

/* False: another writer came first, or there are more than one look may ask for. */
static bool claim(struct look *look)
{
	bool may = may_adopt(look);
	int left = NEAP_REPLICASET_PIECE;
	json_t *pod;

	for (size_t i = 0; i < look->count; i++) {
		if (look->pods[i].facts->controller[0] != '\0')
			continue;
		if (!may)
			return false;
		look->is_partial = !may_claim(look, &left, look->pods[i].pod);
		if (look->is_partial)
			return false;
		pod = neap_object_tree(look->pods[i].pod);
		ask_patch_take(
			look, look->pods[i].pod->name,
			pod ? neap_tree_adopt_new(pod, look->tree, API_VERSION, KIND)
			    : NULL);
		json_decref(pod);
	}
	for (size_t i = 0; i < look->stray_count; i++) {
		look->is_partial = !may_claim(look, &left, look->strays[i]);
		if (look->is_partial)
			return false;
		pod = neap_object_tree(look->strays[i]);
		ask_patch_take(look, look->strays[i]->name,
			       pod ? neap_tree_release_new(pod, look->set->uid) : NULL);
		json_decref(pod);
	}
	return neap_rounds_refused(look->sets->rounds, NULL) == 0;
}

/* --- a look --- */

static void look_done(struct look *look)
{
	for (size_t i = 0; i < look->count; i++)
		neap_object_unref(look->pods[i].pod);
	for (size_t i = 0; i < look->stray_count; i++)
		neap_object_unref(look->strays[i]);
	free(look->pods);
	free(look->strays);
}

static int64_t look_at_tree(void *arg, const struct neap_object *object,
			    const json_t *tree)
{
	struct neap_replicasets *sets = arg;
	struct look look = {
		.sets = sets, .object = object, .tree = tree, .now = sets->config.now()};
	int64_t again = -1, diff = 0;

	neap_feed_spend(sets->feed, neap_steps_of_text(object));
	look.set = neap_owners_get(sets->owners, object, tree);
	if (!look.set)
		return -1;
	if (find_pods(&look) && claim(&look)) {
		if (!is_deleting(&look))
			diff = neap_replicaset_scale(&look);
		if (!look.goes_on)
			again = neap_replicaset_status(&look, diff);
	}
	if (look.is_partial)
		again = NEXT_PIECE_USEC;
	if (look.goes_on)
		again = NEAP_FEED_GOES_ON;
	look_done(&look);
	return again;
}

static int64_t look_at(void *arg, const char *ns, const char *name)
{
	struct neap_replicasets *sets = arg;
	int64_t again =
		neap_rounds_look_at(sets->rounds, sets->owners, ns, name, look_at_tree);

	if (again != NEAP_FEED_GOES_ON) {
		neap_search_end(sets->pods);
		neap_search_end(sets->siblings);
	}
	return again;
}

/* --- its life --- */

int neap_replicasets_new(const struct neap_workload_config *config,
			 struct neap_replicasets **ret, struct neap_error *err)
{
	struct neap_replicasets *sets = neap_alloc(sizeof(*sets));
	struct neap_feed_config feed = {.tasks = config->tasks,
					.client = config->client,
					.arg = sets,
					.resources = {RS, "pods"},
					.heard = heard,
					.rest = rest,
					.look = look_at};
	struct neap_search_config search = {.client = config->client,
					    .resource = "pods",
					    .arg = sets,
					    .wants = wants_pod};
	struct neap_rounds_config rounds = {.client = config->client,
					    .resource = RS,
					    .arg = sets,
					    .told = neap_replicaset_told};
	int r;

	*ret = NULL;
	if (!sets)
		return neap_error_nomem(err);
	sets->config = *config;
	if (!sets->config.now)
		sets->config.now = neap_clock_unix;
	sets->owners = neap_owners_new();
	sets->facts = neap_facts_new(sizeof(struct neap_pod_facts), neap_pod_facts_read);
	r = sets->owners && sets->facts ? neap_feed_new(&feed, &sets->feed, err)
					: neap_error_nomem(err);
	rounds.feed = search.feed = sets->feed;
	if (r == 0) {
		sets->pods = neap_search_new(&search);
		search.wants = neap_replicaset_wants_sibling;
		sets->siblings = neap_search_new(&search);
		if (!sets->pods || !sets->siblings)
			r = neap_error_nomem(err);
	}
	if (r == 0)
		r = neap_rounds_new(&rounds, &sets->rounds, err);
	if (r < 0) {
		neap_replicasets_free(sets);
		return r;
	}
	*ret = sets;
	return 0;
}

void neap_replicasets_free(struct neap_replicasets *sets)
{
	if (!sets)
		return;
	neap_rounds_free(sets->rounds);
	neap_search_free(sets->pods);
	neap_search_free(sets->siblings);
	neap_selector_free(sets->labels);
	neap_feed_free(sets->feed);
	neap_facts_free(sets->facts);
	neap_owners_free(sets->owners);
	free(sets);
}
