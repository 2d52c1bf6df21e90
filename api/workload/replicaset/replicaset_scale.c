/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes the number of pods to the wanted one. New pods are requested in batches of 1,
 * 2, 4, ...: what refuses one (a quota, say) would refuse the next thousand. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/replicaset/replicasets_priv.h"
#include "engine/json/json.h"

/* --- what is told --- */

static void note(struct neap_replicasets *sets, const struct neap_round_told *told,
		 bool is_warning, const char *reason, const char *before,
		 const char *text)
{
	const struct neap_client_note note = {.api_version = API_VERSION,
					      .kind = KIND,
					      .ns = told->ns,
					      .name = told->key,
					      .uid = told->uid,
					      .is_warning = is_warning,
					      .reason = reason,
					      .component = "replicaset-controller"};

	neap_client_note(sets->config.client, &note, "%s%s", before, text);
}

void neap_replicaset_told(void *arg, const struct neap_round_told *told)
{
	struct neap_replicasets *sets = arg;
	const char *why = told->failure ? told->failure->message : "";
	bool is_gone = told->failure && told->failure->reason == NEAP_CLIENT_NOT_FOUND;

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
	struct neap_client_ask ask;

	if (neap_rounds_ask(look->sets->rounds, &what, &ask))
		neap_client_create_take(look->sets->config.client, &ask,
					neap_json_deep_copy(pod));
	return neap_rounds_refused(look->sets->rounds, NULL) == 0;
}

static void create_some(struct look *look, int64_t count)
{
	json_t *pod = neap_pod_from_template(look->tree, API_VERSION, KIND);
	bool is_fine = pod != NULL, is_first = true;

	for (int64_t batch = 1; count > 0 && is_fine; batch *= 2)
		for (int64_t i = 0; i < batch && count > 0; i++, count--) {
			/* Requests the rest when these exist. */
			if (!neap_replicaset_may_write(look, is_first, look->object))
				count = 1;
			else
				is_fine = create(look, pod) && is_fine;
			is_first = false;
		}
	look->is_short = look->is_short || !pod;
	json_decref(pod);
}

/* --- less --- */

/* A sibling has the same controller. */
static bool is_sibling(const struct neap_owner *set, const struct neap_owner *mine)
{
	return set == mine || (mine->controller[0] != '\0' &&
			       strcmp(set->controller, mine->controller) == 0);
}

unsigned neap_replicaset_wants_sibling(void *arg, const char *uid,
				       const struct neap_object *pod)
{
	const struct neap_replicasets *sets = arg;
	const struct neap_owner *mine = neap_owners_find(sets->owners, uid);
	const char *owner = pod->owners;

	neap_feed_spend(sets->feed, 2 * (int64_t)pod->owner_count);
	for (unsigned i = 0; mine && i < pod->owner_count;
	     i++, owner += strlen(owner) + 1) {
		const struct neap_owner *set = neap_owners_find(sets->owners, owner);

		if (set && is_sibling(set, mine))
			return 1;
	}
	return 0;
}

/* Counts an active pod of siblings on its node. False: stop. */
static bool count_node(struct look *look, struct neap_map *counts,
		       const struct neap_object *pod)
{
	const struct neap_pod_facts *facts = neap_replicaset_facts(look, pod);
	const struct neap_owner *set;
	uintptr_t n;

	if (!facts)
		return false;
	set = neap_owners_find(look->sets->owners, facts->controller);
	if (!facts->is_active || !set || !is_sibling(set, look->set))
		return true;
	n = (uintptr_t)neap_map_find(counts, facts->node);
	return neap_map_set(counts, facts->node, (void *)(n + 1));
}

/* Without memory all pods rank alike. */
static void set_ranks(struct look *look)
{
	struct neap_search *siblings = look->sets->siblings;
	struct neap_map *counts = neap_map_new();
	const struct neap_found *found;
	size_t count = 0;
	int more = 0;

	if (counts)
		more = neap_search_go(siblings, look->set->ns, look->set->uid);
	look->goes_on = look->goes_on || more > 0;
	found = neap_search_found(siblings, &count);
	for (size_t i = 0; counts && more == 0 && i < count; i++)
		if (!count_node(look, counts, found[i].object))
			break;
	for (size_t i = 0; counts && !look->goes_on && i < look->count; i++)
		look->pods[i].rank = (size_t)(uintptr_t)neap_map_find(
			counts, look->pods[i].facts->node);
	neap_map_free(counts);
}

static void delete_some(struct look *look, int64_t count)
{
	/* The order does not matter if all are deleted. */
	if ((size_t)count < look->count) {
		set_ranks(look);
		if (look->goes_on)
			return;
		neap_pods_rank(look->pods, look->count, look->now);
	}
	for (int64_t i = 0; i < count && i < NEAP_REPLICASET_PIECE; i++) {
		const struct neap_object *pod = look->pods[i].pod;
		struct neap_round_ask what = {ASK_DELETE, "pods", look->set->ns,
					      pod->name, look->set->uid};
		struct neap_client_ask ask;

		if (!neap_replicaset_may_write(look, i == 0, pod))
			return;
		if (neap_rounds_ask(look->sets->rounds, &what, &ask))
			neap_client_delete(look->sets->config.client, &ask, pod->uid, -1);
	}
}

/* Nothing can be created in a namespace that is being deleted. */
static bool is_ending(const struct look *look)
{
	const struct neap_object *ns = neap_client_newest(
		look->sets->config.client, "namespaces", "", look->set->ns);

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
