/* SPDX-License-Identifier: Apache-2.0
 *
 * From the pods that are there to those that there are to be. New ones are asked for in batches of 1, 2, 4, ...:
 * what refuses one (a quota, say) refuses the next thousand as well, and is not asked a thousand times. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/replicaset/replicasets_priv.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"

/* --- what is told --- */

static void note(struct neap_replicasets *sets, const struct neap_round_told *told,
		 bool is_warning, const char *reason, const char *before,
		 const char *text)
{
	const struct neap_kube_note note = {.api_version = API_VERSION,
					    .kind = KIND,
					    .ns = told->ns,
					    .name = told->key,
					    .uid = told->uid,
					    .is_warning = is_warning,
					    .reason = reason,
					    .component = "replicaset-controller"};

	neap_kube_note(sets->config.kube, &note, "%s%s", before, text);
}

void neap_replicaset_told(void *arg, const struct neap_round_told *told)
{
	struct neap_replicasets *sets = arg;
	const char *why = told->failure ? told->failure->message : "";
	bool is_gone = told->failure && told->failure->reason == NEAP_KUBE_NOT_FOUND;

	if (told->what == ASK_CREATE && told->object)
		note(sets, told, false, "SuccessfulCreate",
		     "Created pod: ", told->object->name);
	else if (told->what == ASK_CREATE)
		note(sets, told, true, "FailedCreate", "Error creating: ", why);
	else if (told->what == ASK_DELETE && told->object)
		note(sets, told, false, "SuccessfulDelete", "Deleted pod: ", told->name);
	else if (told->what == ASK_DELETE && !is_gone)
		note(sets, told, true, "FailedDelete", "Error deleting: ", why);
}

/* --- more --- */

static bool create(struct look *look, const json_t *pod)
{
	struct neap_round_ask what = {ASK_CREATE, "pods", look->set->ns, NULL,
				      look->set->uid};
	struct neap_kube_ask ask;

	if (neap_rounds_ask(look->sets->rounds, &what, &ask))
		neap_kube_ask_create_take(look->sets->config.kube, &ask,
					  neap_json_deep_copy(pod));
	return neap_rounds_refused(look->sets->rounds, NULL) == 0;
}

static void create_some(struct look *look, int64_t count)
{
	json_t *pod = neap_pod_from_template(look->tree, API_VERSION, KIND);
	bool is_fine = pod != NULL;

	for (int64_t batch = 1; count > 0 && is_fine; batch *= 2)
		for (int64_t i = 0; i < batch && count > 0; i++, count--)
			is_fine = create(look, pod) && is_fine;
	look->is_short = look->is_short || !pod;
	json_decref(pod);
}

/* --- less --- */

struct nodes {
	struct look *look;
	struct neap_map *counts; /* of pods, in the pointers */
	bool is_short;
};

static bool count_node(void *arg, struct neap_object *pod)
{
	struct nodes *nodes = arg;
	struct look *look = nodes->look;
	struct neap_replicasets *sets = look->sets;
	const struct neap_owner *mine = nodes->look->set;
	const char *uid = pod->owners;

	for (unsigned i = 0; i < pod->owner_count; i++, uid += strlen(uid) + 1) {
		const struct neap_owner *set = neap_owners_find(sets->owners, uid);
		const struct neap_pod_facts *facts;
		uintptr_t n;

		if (!set ||
		    (set != mine && (mine->controller[0] == '\0' ||
				     strcmp(set->controller, mine->controller) != 0)))
			continue;
		facts = neap_replicaset_facts(look, pod);
		if (!facts && look->is_partial)
			return false;
		if (!facts || !facts->is_active || strcmp(facts->controller, uid) != 0)
			continue;
		n = (uintptr_t)neap_map_find(nodes->counts, facts->node);
		if (!neap_map_set(nodes->counts, facts->node, (void *)(n + 1)))
			return false;
	}
	return true;
}

/* Without memory all pods are alike in this. */
static void set_ranks(struct look *look)
{
	struct neap_store *store = look->sets->config.store;
	struct neap_store_place place = {.version = neap_store_version(store)};
	struct nodes nodes = {.look = look, .counts = neap_map_new()};
	struct neap_error err;

	if (!nodes.counts)
		return;
	(void)neap_store_list(store, "pods", look->set->ns, &place, count_node, &nodes,
			      &err);
	for (size_t i = 0; i < look->count; i++)
		look->pods[i].rank = (size_t)(uintptr_t)neap_map_find(
			nodes.counts, look->pods[i].facts->node);
	neap_map_free(nodes.counts);
}

static void delete_some(struct look *look, int64_t count)
{
	/* Where all are to go it does not matter which first. */
	if ((size_t)count < look->count) {
		set_ranks(look);
		if (look->is_partial)
			return;
		neap_pods_rank(look->pods, look->count, look->now);
	}
	for (int64_t i = 0; i < count && i < NEAP_REPLICASET_PIECE; i++) {
		const struct neap_object *pod = look->pods[i].pod;
		struct neap_round_ask what = {ASK_DELETE, "pods", look->set->ns,
					      pod->name, look->set->uid};
		struct neap_kube_ask ask;

		if (neap_rounds_ask(look->sets->rounds, &what, &ask))
			neap_kube_ask_delete(look->sets->config.kube, &ask, pod->uid, -1);
	}
}

/* Nothing can be made in a namespace that goes. */
static bool is_ending(const struct look *look)
{
	const struct neap_object *ns = neap_store_newest(look->sets->config.store,
							 "namespaces", "", look->set->ns);

	return !ns || ns->is_deleting;
}

int64_t neap_replicaset_scale(struct look *look)
{
	int64_t diff =
		(int64_t)look->count - neap_tree_int(look->tree, "spec.replicas", 1);

	if (diff < 0 && !is_ending(look))
		create_some(look, -diff < NEAP_REPLICASET_PIECE ? -diff
								: NEAP_REPLICASET_PIECE);
	else if (diff > 0)
		delete_some(look, diff);
	return diff;
}
