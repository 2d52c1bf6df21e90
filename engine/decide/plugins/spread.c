/* SPDX-License-Identifier: Apache-2.0
 *
 * Topology spread constraints: matching pods should be spread evenly over the domains of
 * a label. */
#include <math.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide_priv.h"

static bool has_keys(const struct neap_cycle *cycle, uint32_t row, bool is_required)
{
	for (size_t i = 0; i < cycle->pod->spread_count; i++)
		if (cycle->pod->spreads[i].is_required == is_required &&
		    !neap_tally_domain(&cycle->spread, i, row))
			return false;
	return true;
}

/* Whether the pods of a node count. */
static bool is_counted(struct neap_cycle *cycle, uint32_t row,
		       const struct neap_spread *spread)
{
	const struct neap_cluster_node *node = cycle->columns->nodes[row];
	const struct neap_pod *pod = cycle->pod;

	if (!spread->ignores_affinity && !neap_cycle_spend(cycle, cycle->node_rules))
		return false;
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

/* Which constraints count a pod; all of them have a slot. As kube-scheduler has it an
 * empty selector counts none. */
static void ask_selected(void *arg, const struct neap_pod *one)
{
	struct neap_cycle *cycle = arg;
	const struct neap_pod *pod = cycle->pod;

	if (strcmp(one->object->ns, pod->object->ns) != 0)
		return;
	for (uint32_t i = 0; i < pod->spread_count; i++)
		if (cycle->spread.slots[i].at && pod->spreads[i].selector &&
		    !neap_selector_is_empty(pod->spreads[i].selector) &&
		    neap_cycle_spend(cycle, (int64_t)neap_selector_count(
						    pod->spreads[i].selector)) &&
		    neap_object_is_selected(one->object, pod->spreads[i].selector))
			neap_tally_add_part(&cycle->spread, i, 1);
}

/* No node that counts is in the domain. */
#define NOWHERE INT64_MIN

static void count_row(struct neap_cycle *cycle, uint32_t row, bool is_required)
{
	const struct neap_row_kinds *kinds = &cycle->columns->kinds[row];
	struct neap_tally *tally = &cycle->spread;
	uint64_t counted[NEAP_POD_ITEMS_MAX / 64] = {0};
	size_t seen = cycle->pod->spread_count;
	bool is_any = false;

	for (uint32_t i = 0; i < cycle->pod->spread_count; i++) {
		const struct neap_spread *spread = &cycle->pod->spreads[i];
		int64_t *count;

		if (spread->is_required != is_required || !is_counted(cycle, row, spread))
			continue;
		count = &tally->slots[i].counts[neap_tally_domain(tally, i, row)];
		*count = *count == NOWHERE ? 0 : *count;
		counted[i / 64] |= UINT64_C(1) << i % 64;
		is_any = true;
	}
	for (size_t i = 0; is_any && i < kinds->count; i++) {
		size_t count;
		const struct neap_tally_part *parts = neap_tally_parts(
			tally, &kinds->list[i], ask_selected, cycle, &count);

		seen += 1 + count;
		for (size_t n = 0; n < count; n++)
			if (counted[parts[n].slot / 64] >> parts[n].slot % 64 & 1)
				tally->slots[parts[n].slot].counts[neap_tally_domain(
					tally, parts[n].slot, row)] +=
					kinds->list[i].count - kinds->list[i].deleting;
	}
	(void)neap_cycle_spend(cycle, (int64_t)(seen / NEAP_TALLY_STEP));
}

/* Counts of all required (or all other) constraints, by the number of the constraint and
 * the domain. False without memory. */
static bool count_domains(struct neap_cycle *cycle, bool is_required)
{
	const struct neap_columns *columns = cycle->columns;
	const struct neap_pod *pod = cycle->pod;

	if (is_required && cycle->spread_known)
		neap_tally_again(&cycle->spread);
	else
		neap_tally_clear(&cycle->spread, neap_cluster_kind_end(cycle->cluster));
	cycle->spread_known = is_required;
	for (size_t i = 0; i < pod->spread_count; i++) {
		if (pod->spreads[i].is_required == is_required)
			(void)neap_tally_add_slot(
				&cycle->spread,
				neap_cluster_label(cycle->cluster,
						   pod->spreads[i].topology_key),
				NOWHERE);
		else
			neap_tally_skip_slot(&cycle->spread);
	}
	for (uint32_t row = 0;
	     !cycle->spread.is_short && cycle->steps >= 0 && row < columns->rows; row++)
		if (columns->flags[row] & NEAP_ROW_IS_THERE &&
		    has_keys(cycle, row, is_required))
			count_row(cycle, row, is_required);
	cycle->is_short |= cycle->spread.is_short;
	return !cycle->spread.is_short;
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
static struct neap_emptiest emptiest(const struct neap_cycle *cycle, uint32_t slot)
{
	const struct neap_tally_slot *of = &cycle->spread.slots[slot];
	struct neap_emptiest ret = {.first = INT64_MAX, .second = INT64_MAX};
	int64_t domains = 0;

	for (uint32_t i = 1; i < of->end; i++) {
		if (of->counts[i] == NOWHERE)
			continue;
		domains++;
		if (of->counts[i] < ret.first)
			ret = (struct neap_emptiest){.first = of->counts[i],
						     .second = ret.first};
		else if (of->counts[i] < ret.second)
			ret.second = of->counts[i];
	}
	if (!domains || domains < cycle->pod->spreads[slot].min_domains)
		ret = (struct neap_emptiest){0};
	return ret;
}

/* Returns the count in the domain of a row. */
static int64_t count_of(const struct neap_cycle *cycle, uint32_t slot, uint32_t row)
{
	int64_t count = neap_tally_get(&cycle->spread, slot, row);

	return count == NOWHERE ? 0 : count;
}

static bool is_selected(const struct neap_spread *spread, const struct neap_pod *one)
{
	return spread->selector && neap_object_is_selected(one->object, spread->selector);
}

/* Nominated pods count on their node only. */
static void note_nominated(struct neap_cycle *cycle)
{
	const struct neap_pod *pod = cycle->pod, *other;

	for (size_t at = 0; (other = neap_nominated_next(cycle, &at));) {
		const struct neap_cluster_node *node;

		if (strcmp(other->object->ns, pod->object->ns) != 0)
			continue;
		node = neap_cluster_find_node(cycle->cluster, other->nominated);
		if (!node || !node->object || !has_keys(cycle, node->row, true))
			continue;
		for (uint32_t i = 0; i < pod->spread_count; i++)
			if (pod->spreads[i].is_required &&
			    is_selected(&pod->spreads[i], other) &&
			    is_counted(cycle, node->row, &pod->spreads[i]))
				neap_nominated_note(cycle, other,
						    NEAP_NOMINATED_SPREAD + i);
	}
}

static bool prepare_spread(struct neap_cycle *cycle)
{
	const struct neap_pod *pod = cycle->pod;

	if (!has_constraint(pod, true))
		return false;
	cycle->emptiest = neap_arena_array(&cycle->arena, pod->spread_count,
					   sizeof(*cycle->emptiest));
	cycle->is_short |= !cycle->emptiest;
	if (!cycle->emptiest || !count_domains(cycle, true))
		return false;
	for (uint32_t i = 0; i < pod->spread_count; i++)
		if (pod->spreads[i].is_required) {
			cycle->emptiest[i] = emptiest(cycle, i);
			cycle->emptiest[i].self = is_selected(&pod->spreads[i], pod);
		}
	note_nominated(cycle);
	return true;
}

/* Returns how much fuller than the emptiest domain a row's domain would be with the
 * pod. */
static int64_t skew_of(const struct neap_cycle *cycle, uint32_t slot, uint32_t row)
{
	const struct neap_emptiest *emptiest = &cycle->emptiest[slot];
	int64_t count = count_of(cycle, slot, row), least = emptiest->first;
	int64_t more = 0;

	if (cycle->nominated.count)
		more = neap_cycle_nominated(cycle, row, NEAP_NOMINATED_SPREAD + slot);
	/* With them it may not be the emptiest any more. */
	if (more && count == least)
		least = count + more < emptiest->second ? count + more : emptiest->second;
	return count + more - least + emptiest->self;
}

static bool is_spread(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_pod *pod = cycle->pod;

	for (uint32_t i = 0; i < pod->spread_count; i++) {
		const struct neap_spread *spread = &pod->spreads[i];

		if (!spread->is_required)
			continue;
		if (!neap_tally_domain(&cycle->spread, i, row))
			return neap_cycle_refuse(cycle, row, NEAP_REASON_SPREAD_LABEL, 0);
		if (skew_of(cycle, i, row) > spread->max_skew)
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
	return has_constraint(cycle->pod, false) && count_domains(cycle, false) &&
	       cycle->steps >= 0;
}

/* More domains make a pod in one of them weigh more. */
static double weight_of(struct neap_cycle *cycle, uint32_t slot, const uint32_t *rows,
			size_t count)
{
	neap_auto_free uint8_t *seen = neap_alloc(cycle->spread.slots[slot].end + 1);
	size_t size = 0;

	cycle->is_short |= !seen;
	for (size_t i = 0; seen && i < count; i++) {
		uint32_t domain = neap_tally_domain(&cycle->spread, slot, rows[i]);

		if (!domain || !has_keys(cycle, rows[i], false))
			continue;
		size += !seen[domain];
		seen[domain] = 1;
	}
	return log((double)size + 2);
}

/* The fuller, the more; a node without a label has -1, and in the end nothing. */
static void score_even(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
		       int64_t *ret)
{
	const struct neap_pod *pod = cycle->pod;
	int64_t least = INT64_MAX, most = 0;
	double *weights =
		neap_arena_array(&cycle->arena, pod->spread_count, sizeof(*weights));

	cycle->is_short |= !weights;
	if (!weights)
		return;
	for (uint32_t i = 0; i < pod->spread_count; i++)
		weights[i] = weight_of(cycle, i, rows, count);
	for (size_t n = 0; n < count; n++) {
		double sum = 0;

		ret[n] = -1;
		if (!has_keys(cycle, rows[n], false))
			continue;
		for (uint32_t i = 0; i < pod->spread_count; i++) {
			const struct neap_spread *spread = &pod->spreads[i];

			if (!spread->is_required)
				sum += (double)count_of(cycle, i, rows[n]) * weights[i] +
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
