/* SPDX-License-Identifier: Apache-2.0
 *
 * Topology spread constraints: pods of a kind are to stand evenly in the domains of a label. */
#include <math.h>
#include <string.h>

#include "engine/decide/decide_priv.h"

static const char *label(const struct neap_cycle *cycle, uint32_t row, const char *key)
{
	return neap_object_label(cycle->columns->nodes[row]->object, key);
}

static bool has_keys(const struct neap_cycle *cycle, uint32_t row, bool is_required)
{
	for (size_t i = 0; i < cycle->pod->spread_count; i++) {
		const struct neap_spread *spread = &cycle->pod->spreads[i];

		if (spread->is_required == is_required &&
		    !label(cycle, row, spread->topology_key))
			return false;
	}
	return true;
}

/* Whether the pods of a node count. */
static bool is_counted(struct neap_cycle *cycle, uint32_t row,
		       const struct neap_spread *spread)
{
	const struct neap_cluster_node *node = cycle->columns->nodes[row];
	const struct neap_pod *pod = cycle->pod;

	if (!spread->ignores_affinity &&
	    ((pod->node_selector.count &&
	      !neap_term_matches(&pod->node_selector, node->object)) ||
	     (pod->has_affinity && !neap_terms_match(&pod->affinity, node->object))))
		return false;
	if (!spread->honors_taints)
		return true;
	for (size_t i = 0; i < node->taint_count; i++)
		if (node->taints[i]->effect != NEAP_TAINT_PREFER_NO_SCHEDULE &&
		    !neap_cycle_tolerates(cycle, node->taints[i]))
			return false;
	return true;
}

static bool is_selected(struct neap_cycle *cycle, uint32_t slot,
			const struct neap_pod *other)
{
	uint8_t *known = neap_cycle_taken(cycle, slot, other);
	bool is;

	if (known && *known)
		return *known == 1;
	is = strcmp(other->object->ns, cycle->pod->object->ns) == 0 &&
	     neap_object_is_selected(other->object, cycle->pod->spreads[slot].selector);
	if (known)
		*known = is ? 1 : 2;
	return is;
}

static int64_t count_pods(struct neap_cycle *cycle, uint32_t row, uint32_t slot)
{
	const struct neap_cluster_node *node = cycle->columns->nodes[row];
	int64_t count = 0;

	if (!cycle->pod->spreads[slot].selector)
		return 0;
	for (size_t i = 0; i < node->pod_count; i++)
		count += is_selected(cycle, slot, node->pods[i]) &&
			 !node->pods[i]->object->is_deleting;
	return count;
}

/* Counts of all required (or all other) constraints, by the number of the constraint and the domain. */
static void count_domains(struct neap_cycle *cycle, bool is_required)
{
	neap_domains_clear(&cycle->spread);
	neap_cycle_forget_taken(cycle);
	for (uint32_t row = 0; row < cycle->columns->rows; row++) {
		if (!(cycle->columns->flags[row] & NEAP_ROW_IS_THERE) ||
		    !has_keys(cycle, row, is_required))
			continue;
		for (uint32_t i = 0; i < cycle->pod->spread_count; i++) {
			const struct neap_spread *spread = &cycle->pod->spreads[i];

			if (spread->is_required != is_required ||
			    !is_counted(cycle, row, spread))
				continue;
			if (!neap_domains_add(&cycle->spread, i,
					      label(cycle, row, spread->topology_key),
					      count_pods(cycle, row, i)))
				cycle->is_short = true;
		}
	}
}

/* --- the filter --- */

static bool has_constraint(const struct neap_pod *pod, bool is_required)
{
	for (size_t i = 0; i < pod->spread_count; i++)
		if (pod->spreads[i].is_required == is_required)
			return true;
	return false;
}

/* The emptiest domain; 0 while there are fewer than the constraint wants. */
static int64_t emptiest(const struct neap_cycle *cycle, uint32_t slot)
{
	const struct neap_domains *domains = &cycle->spread;
	int64_t least = INT64_MAX, count = 0;

	for (size_t i = 0; i < domains->size; i++) {
		if (!domains->table[i].text || domains->table[i].slot != slot)
			continue;
		count++;
		if (domains->table[i].count < least)
			least = domains->table[i].count;
	}
	return !count || count < cycle->pod->spreads[slot].min_domains ? 0 : least;
}

static bool prepare_spread(struct neap_cycle *cycle)
{
	if (!has_constraint(cycle->pod, true))
		return false;
	count_domains(cycle, true);
	cycle->least = neap_arena_array(&cycle->arena, cycle->pod->spread_count,
					sizeof(*cycle->least));
	cycle->is_short |= !cycle->least;
	for (uint32_t i = 0; cycle->least && i < cycle->pod->spread_count; i++)
		cycle->least[i] = emptiest(cycle, i);
	return cycle->least != NULL;
}

static bool is_spread(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_pod *pod = cycle->pod;

	for (uint32_t i = 0; i < pod->spread_count; i++) {
		const struct neap_spread *spread = &pod->spreads[i];
		const char *value;
		int64_t count;

		if (!spread->is_required)
			continue;
		value = label(cycle, row, spread->topology_key);
		if (!value)
			return neap_cycle_refuse(cycle, row, NEAP_REASON_SPREAD_LABEL, 0);
		count = neap_domains_get(&cycle->spread, i, value) +
			(spread->selector &&
			 neap_object_is_selected(pod->object, spread->selector));
		if (count - cycle->least[i] > spread->max_skew)
			return neap_cycle_refuse(cycle, row, NEAP_REASON_SPREAD, 0);
	}
	return true;
}

const struct neap_filter neap_filter_spread = {
	"PodTopologySpread", prepare_spread, is_spread,
	NEAP_MOVED_POD_GONE | NEAP_MOVED_POD_PLACED | NEAP_MOVED_LABELS |
		NEAP_MOVED_TAINTS};

/* --- the score --- */

static bool prepare_even(struct neap_cycle *cycle)
{
	if (!has_constraint(cycle->pod, false))
		return false;
	count_domains(cycle, false);
	return true;
}

/* More domains make a pod in one of them weigh more. */
static double weight_of(const struct neap_cycle *cycle, uint32_t slot,
			const uint32_t *rows, size_t count)
{
	const struct neap_spread *spread = &cycle->pod->spreads[slot];
	struct neap_domains seen = {0};
	size_t size;

	for (size_t i = 0; i < count; i++)
		if (has_keys(cycle, rows[i], false) &&
		    !neap_domains_add(&seen, slot,
				      label(cycle, rows[i], spread->topology_key), 0))
			break;
	size = seen.count;
	neap_domains_done(&seen);
	return log((double)size + 2);
}

/* The fuller, the more; a node without a label has -1, and in the end nothing. */
static void score_even(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
		       int64_t *ret)
{
	const struct neap_pod *pod = cycle->pod;
	int64_t least = INT64_MAX, most = 0;
	double weights[8];

	for (uint32_t i = 0; i < pod->spread_count && i < NEAP_ARRAY_LEN(weights); i++)
		weights[i] = weight_of(cycle, i, rows, count);
	for (size_t n = 0; n < count; n++) {
		double sum = 0;

		ret[n] = -1;
		if (!has_keys(cycle, rows[n], false))
			continue;
		for (uint32_t i = 0; i < pod->spread_count && i < NEAP_ARRAY_LEN(weights);
		     i++) {
			const struct neap_spread *spread = &pod->spreads[i];

			if (!spread->is_required)
				sum += (double)neap_domains_get(
					       &cycle->spread, i,
					       label(cycle, rows[n],
						     spread->topology_key)) *
					       weights[i] +
				       spread->max_skew - 1;
		}
		ret[n] = (int64_t)llround(sum);
		least = ret[n] < least ? ret[n] : least;
		most = ret[n] > most ? ret[n] : most;
	}
	for (size_t n = 0; n < count; n++) {
		if (ret[n] < 0)
			ret[n] = 0;
		else
			ret[n] = most ? NEAP_SCORE_MAX * (most + least - ret[n]) / most
				      : NEAP_SCORE_MAX;
	}
}

const struct neap_score neap_score_spread = {"PodTopologySpread", 2, NEAP_SCORE_AS_IS,
					     prepare_even, score_even};
