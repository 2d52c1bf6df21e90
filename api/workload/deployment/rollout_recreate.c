/* SPDX-License-Identifier: Apache-2.0
 *
 * All old pods end before the first new pod is created. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/deployment/deployments_priv.h"

/* --- waiting --- */

static void one_due(const struct neap_deployments *deployments, const char *uid)
{
	const struct neap_owner *owner = neap_owners_find(deployments->owners, uid);

	if (owner)
		neap_feed_due(deployments->feed, owner->ns, owner->name, 0);
}

void deployment_awaiting_due(struct neap_deployments *deployments,
			     const struct neap_object *pod)
{
	const char *uid = pod ? pod->owners : NULL;

	for (size_t i = 0; !pod && i < neap_map_count(deployments->awaiting); i++) {
		(void)neap_map_at(deployments->awaiting, i, &uid);
		one_due(deployments, uid);
	}
	if (!pod || !neap_map_count(deployments->awaiting))
		return;
	for (unsigned i = 0; i < pod->owner_count; i++, uid += strlen(uid) + 1) {
		const struct neap_set_facts *set =
			neap_facts_find(deployments->facts, uid);

		if (set && neap_map_find(deployments->awaiting, set->controller))
			one_due(deployments, set->controller);
	}
}

/* Makes the Deployment due when an old pod ends. */
static void await(struct rollout *rollout)
{
	if (!neap_map_set(rollout->deployments->awaiting, rollout->owner->uid,
			  rollout->deployments))
		rollout->is_short = true;
}

/* --- finding old pods --- */

/* Whether the pod's ReplicaSet belongs to the Deployment with the uid. current: except
 * this one. */
static bool is_of_set(const struct neap_deployments *deployments,
		      const struct neap_object *pod, const char *uid, const char *current)
{
	const char *owner = pod->owners;

	for (unsigned i = 0; i < pod->owner_count; i++, owner += strlen(owner) + 1) {
		const struct neap_set_facts *set =
			neap_facts_find(deployments->facts, owner);

		if (set && strcmp(set->controller, uid) == 0 &&
		    strcmp(owner, current) != 0)
			return true;
	}
	return false;
}

unsigned deployment_wants_pod(void *arg, const char *uid, const struct neap_object *pod)
{
	const struct neap_deployments *deployments = arg;

	neap_feed_spend(deployments->feed, neap_feed_steps_of(pod, NULL));
	return is_of_set(deployments, pod, uid, "");
}

/* Neither failed nor succeeded. Also true without memory, or if the next turn goes on. */
static bool is_running(struct rollout *rollout, const struct neap_object *pod)
{
	struct neap_deployments *deployments = rollout->deployments;
	const struct neap_pod_facts *facts;

	if (neap_facts_has(deployments->pod_facts, pod))
		neap_feed_spend(deployments->feed, 1);
	else if (!rollout_may_read(rollout, neap_steps_of_text(pod)))
		return true;
	facts = neap_facts_get(deployments->pod_facts, pod);
	return !facts ||
	       (facts->phase != NEAP_POD_FAILED && facts->phase != NEAP_POD_SUCCEEDED);
}

static bool has_old_pods(struct rollout *rollout)
{
	struct neap_deployments *deployments = rollout->deployments;
	const char *current = rollout->current ? rollout->current->uid : "";
	const struct neap_found *found;
	bool is_any = false;
	size_t count;
	int more;

	for (size_t i = 0; i < rollout->count; i++)
		if (&rollout->members[i] != rollout->current &&
		    rollout->members[i].status_replicas > 0)
			return true;
	more = neap_search_go(deployments->pods, rollout->owner->ns, rollout->owner->uid);
	rollout->goes_on = more > 0;
	rollout->is_short = rollout->is_short || more < 0;
	if (more != 0)
		return true;
	neap_facts_tidy(deployments->pod_facts,
			neap_client_count(deployments->config.client, "pods"));
	found = neap_search_found(deployments->pods, &count);
	for (size_t i = 0; i < count && !is_any; i++)
		is_any = is_of_set(deployments, found[i].object, rollout->owner->uid,
				   current) &&
			 is_running(rollout, found[i].object);
	if (is_any && !rollout->goes_on)
		await(rollout);
	return is_any;
}

void rollout_recreate(struct rollout *rollout)
{
	bool is_any = false;

	for (size_t i = 0; i < rollout->count; i++)
		if (&rollout->members[i] != rollout->current)
			is_any =
				rollout_resize_member(rollout, &rollout->members[i], 0) ||
				is_any;
	if (is_any || rollout_is_partial(rollout) || has_old_pods(rollout))
		return;
	(void)rollout_make_current(rollout);
	if (!rollout->current ||
	    rollout_resize_member(rollout, rollout->current, rollout->replicas))
		return;
	if (!rollout_is_partial(rollout) && rollout_is_complete(rollout))
		rollout_clean_up(rollout);
}
