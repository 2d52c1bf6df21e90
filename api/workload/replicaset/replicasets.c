/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pods belong to which ReplicaSet: by owner reference, and where a pod has none by selector. What is decided
 * rests on what reads show; that this is all there is, the rounds see to. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/replicaset/replicasets_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

static int64_t clock_now(void)
{
	return neap_clock_usec(CLOCK_REALTIME);
}

/* --- what happens --- */

static bool is_orphan(struct neap_replicasets *sets, const struct neap_object *pod)
{
	const struct neap_pod_facts *facts;

	if (!pod->owner_count)
		return true;
	facts = neap_pod_facts_get(sets->facts, pod);
	return !facts || facts->controller[0] == '\0';
}

static void heard(void *arg, const char *resource, const struct neap_store_event *event)
{
	struct neap_replicasets *sets = arg;

	if (strcmp(resource, RS) == 0) {
		neap_feed_due(sets->feed, event->object->ns, event->object->name, 0);
		return;
	}
	if (event->before)
		neap_owners_due(sets->owners, sets->feed, event->before);
	if (event->what == NEAP_STORE_DELETED)
		return;
	neap_owners_due(sets->owners, sets->feed, event->object);
	if (!event->object->is_deleting && is_orphan(sets, event->object))
		neap_owners_due_selecting(sets->owners, sets->feed, event->object);
}

/* --- whose pods they are --- */

static bool add_pod(struct look *look, struct neap_object *pod,
		    const struct neap_pod_facts *facts)
{
	if (look->count == look->size) {
		size_t size = look->size ? 2 * look->size : 16;
		struct neap_ranked_pod *pods =
			neap_realloc_array(look->pods, size, sizeof(*pods));

		if (!pods)
			return false;
		look->pods = pods;
		look->size = size;
	}
	look->pods[look->count++] =
		(struct neap_ranked_pod){.pod = neap_object_ref(pod), .facts = facts};
	return true;
}

static bool add_stray(struct look *look, struct neap_object *pod)
{
	if (look->stray_count == look->stray_size) {
		size_t size = look->stray_size ? 2 * look->stray_size : 16;
		struct neap_object **strays =
			neap_realloc_array(look->strays, size, sizeof(*strays));

		if (!strays)
			return false;
		look->strays = strays;
		look->stray_size = size;
	}
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
	struct neap_pod_facts_cache *cache = look->sets->facts;

	if (!neap_pod_facts_has(cache, pod) && look->read++ >= NEAP_REPLICASET_READ) {
		look->is_partial = true;
		return NULL;
	}
	return neap_pod_facts_get(cache, pod);
}

static bool sort_out(void *arg, struct neap_object *pod)
{
	struct look *look = arg;
	const struct neap_owner *set = look->set;
	bool is_ours = neap_object_has_owner(pod, set->uid);
	bool is_selected = neap_object_is_selected(pod, set->selector);
	const struct neap_pod_facts *facts;

	/* Most are of somebody else. */
	if (!is_ours && (!is_selected || pod->is_deleting))
		return true;
	facts = neap_replicaset_facts(look, pod);
	look->is_short = !facts && !look->is_partial;
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
	return !look->is_short;
}

static bool find_pods(struct look *look)
{
	struct neap_store *store = look->sets->config.store;
	struct neap_store_place place = {.version = neap_store_version(store)};
	struct neap_error err;

	neap_pod_facts_tidy(look->sets->facts, neap_store_count(store, "pods"));
	return neap_store_list(store, "pods", look->set->ns, &place, sort_out, look,
			       &err) == 0 &&
	       !look->is_short && !look->is_partial;
}

/* The patch is taken. */
static void ask_patch_take(struct look *look, const char *name, json_t *patch)
{
	struct neap_round_ask what = {ASK_OTHER, "pods", look->set->ns, name,
				      look->set->uid};
	struct neap_kube_ask ask;

	if (neap_rounds_ask(look->sets->rounds, &what, &ask))
		neap_kube_ask_patch_take(look->sets->config.kube, &ask, false, patch);
	else
		json_decref(patch);
}

/* Until the rest of many that are to be claimed. */
#define NEXT_PIECE_USEC 20000

static bool may_adopt(const struct look *look)
{
	const struct neap_object *newest = neap_store_newest(
		look->sets->config.store, RS, look->set->ns, look->set->name);

	return newest && !newest->is_deleting && strcmp(newest->uid, look->set->uid) == 0;
}

/* False: somebody else was faster, or the like; or there are more than one look may ask for. */
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
		look->is_partial = left-- == 0;
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
		look->is_partial = left-- == 0;
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

static int64_t look_at_tree(struct neap_replicasets *sets,
			    const struct neap_object *object, const json_t *tree)
{
	struct look look = {.sets = sets, .tree = tree, .now = sets->config.now()};
	int64_t again = -1, diff = 0;

	look.set = neap_owners_get(sets->owners, object, tree);
	if (!look.set)
		return -1;
	if (find_pods(&look) && claim(&look)) {
		if (!is_deleting(&look))
			diff = neap_replicaset_scale(&look);
		again = neap_replicaset_status(&look, diff);
	}
	if (look.is_partial)
		again = NEXT_PIECE_USEC;
	look_done(&look);
	return again;
}

static int64_t look_at(void *arg, const char *ns, const char *name)
{
	struct neap_replicasets *sets = arg;
	struct neap_object *object = neap_store_find(sets->config.store, RS, ns, name);
	int64_t again = 0;
	json_t *tree;

	if (!object) {
		neap_owners_drop(sets->owners, ns, name);
		return 0;
	}
	if (!neap_rounds_begin(sets->rounds, ns, name, &again))
		return again;
	object = neap_object_ref(object);
	tree = neap_object_tree(object);
	again = tree ? look_at_tree(sets, object, tree) : -1;
	json_decref(tree);
	neap_object_unref(object);
	return neap_rounds_end(sets->rounds, again);
}

/* --- its life --- */

int neap_replicasets_new(const struct neap_workload_config *config,
			 struct neap_replicasets **ret, struct neap_error *err)
{
	struct neap_replicasets *sets = neap_alloc(sizeof(*sets));
	struct neap_feed_config feed = {.base = config->base,
					.store = config->store,
					.arg = sets,
					.resources = {RS, "pods"},
					.heard = heard,
					.look = look_at};
	struct neap_rounds_config rounds = {.kube = config->kube,
					    .resource = RS,
					    .arg = sets,
					    .told = neap_replicaset_told};
	int r;

	*ret = NULL;
	if (!sets)
		return neap_error_nomem(err);
	sets->config = *config;
	if (!sets->config.now)
		sets->config.now = clock_now;
	sets->owners = neap_owners_new();
	sets->facts = neap_pod_facts_new();
	r = sets->owners && sets->facts ? neap_feed_new(&feed, &sets->feed, err)
					: neap_error_nomem(err);
	rounds.feed = sets->feed;
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
	neap_feed_free(sets->feed);
	neap_pod_facts_free(sets->facts);
	neap_owners_free(sets->owners);
	free(sets);
}
