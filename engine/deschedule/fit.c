/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deschedule/fit.h"

#include <string.h>

static bool is_tolerated(const struct neap_pod *pod, const struct neap_world_taint *taint)
{
	for (size_t i = 0; i < pod->toleration_count; i++)
		if (neap_toleration_takes(&pod->tolerations[i], taint->key, taint->value,
					  taint->effect))
			return true;
	return false;
}

bool neap_fit_tolerates(const struct neap_world_pod *pod,
			const struct neap_world_node *node)
{
	for (size_t i = 0; i < node->taint_count; i++)
		if (node->taints[i].effect != NEAP_TAINT_PREFER_NO_SCHEDULE &&
		    !is_tolerated(pod->pod, &node->taints[i]))
			return false;
	return true;
}

bool neap_fit_matches(const struct neap_world_pod *pod,
		      const struct neap_world_node *node)
{
	const struct neap_pod *p = pod->pod;

	if (!node->object)
		return !p->node_selector.count && !p->has_affinity;
	return (!p->node_selector.count ||
		neap_term_matches(&p->node_selector, node->object)) &&
	       (!p->has_affinity || neap_terms_match(&p->affinity, node->object));
}

int64_t neap_fit_weight(const struct neap_world_pod *pod,
			const struct neap_world_node *node)
{
	int64_t sum = 0;

	for (size_t i = 0; node->object && i < pod->pod->preferred_count; i++)
		if (neap_term_matches(&pod->pod->preferred[i].term, node->object))
			sum += pod->pod->preferred[i].weight;
	return sum;
}

bool neap_fit_has_room(const struct neap_world_pod *pod,
		       const struct neap_world_node *node, enum neap_fit_form form)
{
	bool is_own = pod->node == node;

	if (form == NEAP_FIT_FULL && is_own)
		return true;
	if (pod->pod->unknown_count)
		return false;
	for (size_t i = 0; i < pod->pod->request_count; i++) {
		const struct neap_amount *request = &pod->pod->requests[i];
		int64_t has, used;

		if (request->resource == NEAP_RESOURCE_PODS && form == NEAP_FIT_PLAIN)
			continue;
		has = neap_amounts_get(&node->allocatable, request->resource);
		used = neap_amounts_get(&node->requested, request->resource);
		if (request->amount > 0 && request->amount > has - used)
			return false;
	}
	return true;
}

bool neap_fit_term_selects(const struct neap_world *world,
			   const struct neap_world_pod *pod,
			   const struct neap_pod_term *term,
			   const struct neap_world_pod *other)
{
	if (other == pod || strcmp(other->pod->object->name, pod->pod->object->name) == 0)
		return false;
	return neap_pod_term_takes(
		term, other->pod,
		neap_world_find_namespace(world, other->pod->object->ns));
}

static bool is_repelled(const struct neap_world *world, const struct neap_world_pod *pod,
			const struct neap_world_node *node)
{
	const struct neap_pod_terms *terms = &pod->pod->near[NEAP_AWAY_REQUIRED];

	for (size_t i = 0; i < terms->count && node->object; i++) {
		if (!neap_object_label(node->object, terms->terms[i].topology_key))
			continue;
		for (size_t n = 0; n < node->pod_count; n++)
			if (node->pods[n]->flags & NEAP_WORLD_IS_LIVE &&
			    neap_fit_term_selects(world, pod, &terms->terms[i],
						  node->pods[n]))
				return true;
	}
	return false;
}

const char *neap_fit_why(const struct neap_world *world, const struct neap_world_pod *pod,
			 const struct neap_world_node *node, enum neap_fit_form form)
{
	if (node->is_cordoned)
		return "the node is cordoned";
	if (!neap_fit_tolerates(pod, node))
		return "the pod does not tolerate a taint of the node";
	if (!neap_fit_has_room(pod, node, form))
		return "the node has no room for its requests";
	if (!neap_fit_matches(pod, node))
		return "its node selector or affinity does not match the node";
	if (form == NEAP_FIT_FULL && is_repelled(world, pod, node))
		return "its anti-affinity excludes a pod of the node";
	return NULL;
}

bool neap_fit_other(const struct neap_world *world, const struct neap_world_pod *pod,
		    struct neap_world_node *const *nodes, size_t count,
		    enum neap_fit_form form)
{
	for (size_t i = 0; i < count; i++)
		if (nodes[i] != pod->node && !neap_fit_why(world, pod, nodes[i], form))
			return true;
	return false;
}

bool neap_fit_elsewhere(const struct neap_world *world, const struct neap_world_pod *pod,
			struct neap_world_node *node,
			const struct neap_selector *selector)
{
	return node->is_ready && node->object &&
	       (!selector || neap_object_is_selected(node->object, selector)) &&
	       neap_fit_other(world, pod, &node, 1, NEAP_FIT_PLAIN);
}

static bool is_same_toleration(const struct neap_toleration *a,
			       const struct neap_toleration *b)
{
	return strcmp(a->key, b->key) == 0 && strcmp(a->value, b->value) == 0 &&
	       a->is_any == b->is_any && a->is_every == b->is_every &&
	       (a->is_every || a->effect == b->effect);
}

static bool is_same_term(const struct neap_term *a, const struct neap_term *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct neap_requirement *one = &a->requirements[i];
		const struct neap_requirement *other = &b->requirements[i];

		if (one->op != other->op || one->is_field != other->is_field ||
		    strcmp(one->key, other->key) != 0 ||
		    one->value_count != other->value_count ||
		    one->number != other->number)
			return false;
		for (size_t n = 0; n < one->value_count; n++)
			if (strcmp(one->values[n], other->values[n]) != 0)
				return false;
	}
	return true;
}

bool neap_fit_is_alike(const struct neap_world_pod *a, const struct neap_world_pod *b)
{
	const struct neap_pod *one = a->pod, *other = b->pod;

	if (one->toleration_count != other->toleration_count ||
	    one->has_affinity != other->has_affinity ||
	    one->affinity.count != other->affinity.count ||
	    !is_same_term(&one->node_selector, &other->node_selector))
		return false;
	for (size_t i = 0; i < one->toleration_count; i++)
		if (!is_same_toleration(&one->tolerations[i], &other->tolerations[i]))
			return false;
	for (size_t i = 0; i < one->affinity.count; i++)
		if (!is_same_term(&one->affinity.terms[i], &other->affinity.terms[i]))
			return false;
	return true;
}
