/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules in the order of the reference; the first one that keeps a pod is reported. */
#include "engine/deschedule/evictor.h"

#include <string.h>

#include "engine/base/text.h"

#define THRESHOLD "its priority is at or above the threshold"

static bool has_labels(const struct neap_selector *labels,
		       const struct neap_world_pod *pod)
{
	return neap_object_is_selected(pod->pod->object, labels);
}

/* With a list of classes: one of them, or what cannot be told. */
static bool is_claim_kept(const struct neap_evictor *evictor,
			  const struct neap_world *world,
			  const struct neap_world_pod *pod, const char *name)
{
	const struct neap_world_claim *claim;

	if (!evictor->storage_classes)
		return true;
	claim = neap_world_find_claim(world, pod->pod->object->ns, name);
	return !claim || !claim->storage_class ||
	       neap_text_is_in(claim->storage_class,
			       (const char *const *)evictor->storage_classes);
}

static bool has_kept_claim(const struct neap_evictor *evictor,
			   const struct neap_world *world,
			   const struct neap_world_pod *pod)
{
	for (size_t i = 0; i < pod->pod->claim_count; i++)
		if (!pod->pod->claims[i].is_own &&
		    is_claim_kept(evictor, world, pod, pod->pod->claims[i].name))
			return true;
	return false;
}

static bool has_budget(const struct neap_world *world, const struct neap_world_pod *pod)
{
	const struct neap_world_budget *budget =
		neap_world_find_budgets(world, pod->pod->object->ns);

	while (budget && !neap_world_budget_takes(budget, pod))
		budget = budget->next;
	return budget != NULL;
}

/* Owner and importance. */
static const char *why_bare(const struct neap_evictor *evictor,
			    const struct neap_world_pod *pod)
{
	bool is_kept = evictor->keep & NEAP_KEEP_FAILED_BARE;

	if (!pod->owner_count && is_kept)
		return "it has no owner that would make it again";
	if (!pod->owner_count && strcmp(pod->phase, "Failed") != 0)
		return "it has no owner that would make it again, and has not failed";
	if (!(evictor->keep & NEAP_KEEP_CRITICAL) ||
	    !(pod->flags & NEAP_WORLD_HAS_PRIORITY))
		return NULL;
	if (pod->pod->priority >= NEAP_EVICTOR_PRIORITY_MAX)
		return "its priority is system critical";
	if (evictor->has_threshold && pod->pod->priority >= evictor->threshold)
		return THRESHOLD;
	return NULL;
}

static const char *why_protected(const struct neap_evictor *evictor,
				 const struct neap_world *world,
				 const struct neap_world_pod *pod)
{
	if (evictor->keep & NEAP_KEEP_LOCAL && pod->flags & NEAP_WORLD_HAS_LOCAL)
		return "it has local storage";
	if (evictor->keep & NEAP_KEEP_DAEMON && pod->flags & NEAP_WORLD_IS_DAEMON)
		return "it belongs to a DaemonSet";
	if (evictor->keep & NEAP_KEEP_CLAIMS && has_kept_claim(evictor, world, pod))
		return "it has a persistent volume claim";
	if (evictor->keep & NEAP_KEEP_UNBUDGETED && !has_budget(world, pod))
		return "no disruption budget selects it";
	if (evictor->keep & NEAP_KEEP_RESOURCES && pod->flags & NEAP_WORLD_HAS_RESOURCES)
		return "it has resource claims";
	return NULL;
}

static const char *why_limited(const struct neap_evictor *evictor, int64_t now_usec,
			       const struct neap_world_pod *pod)
{
	if (evictor->labels && !has_labels(evictor->labels, pod))
		return "labelSelector does not select it";
	if (evictor->min_replicas > 1 && pod->owner_count == 1 &&
	    pod->owners[0].group->pods < evictor->min_replicas)
		return "its owner has fewer pods than minReplicas";
	if (evictor->min_age_usec > 0 &&
	    (!pod->pod->started_usec ||
	     now_usec - pod->pod->started_usec < evictor->min_age_usec))
		return "it is younger than minPodAge";
	return NULL;
}

const char *neap_evictor_why_kept(const struct neap_evictor *evictor,
				  const struct neap_world *world, int64_t now_usec,
				  const struct neap_world_pod *pod)
{
	const char *why;

	if (pod->flags & NEAP_WORLD_IS_FORCED)
		return NULL;
	if (evictor->stay == NEAP_STAY_MANDATORY && pod->flags & NEAP_WORLD_PREFERS_STAY)
		return "its annotation asks not to be evicted";
	if (pod->flags & NEAP_WORLD_IS_MIRROR)
		return "it is a mirror pod";
	if (pod->flags & NEAP_WORLD_IS_STATIC)
		return "it is a static pod";
	if (pod->pod->object->is_deleting)
		return "it is terminating";
	why = why_bare(evictor, pod);
	why = why ? why : why_protected(evictor, world, pod);
	return why ? why : why_limited(evictor, now_usec, pod);
}

static bool is_node_for(const struct neap_evictor *evictor,
			const struct neap_world_node *node)
{
	return node->is_ready &&
	       (!evictor->nodes || neap_object_is_selected(node->object, evictor->nodes));
}

const char *neap_evictor_why_not_now(const struct neap_evictor *evictor,
				     const struct neap_world *world,
				     const struct neap_world_pod *pod)
{
	const struct neap_object *ns;
	bool fits = !evictor->fits_nodes;

	for (size_t i = 0; i < world->node_count && !fits; i++) {
		const struct neap_world_node *node = world->nodes[i];

		fits = node != pod->node && is_node_for(evictor, node) &&
		       !neap_fit_why(world, pod, node, NEAP_FIT_FULL);
	}
	if (!fits)
		return "it fits no other node";
	if (!evictor->namespaces)
		return NULL;
	ns = neap_world_find_namespace(world, pod->pod->object->ns);
	if (!ns || !neap_object_is_selected(ns, evictor->namespaces))
		return "namespaceLabelSelector does not select its namespace";
	return NULL;
}
