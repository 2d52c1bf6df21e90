/* SPDX-License-Identifier: Apache-2.0
 *
 * Affinity and anti-affinity between pods. Once per decision, the pods that match each
 * term are counted by domain (nodes with the same value of the term's label); a node is
 * then a lookup. Counting visits the kinds of pods on all nodes if the pod has terms
 * itself, else only nodes that have pods with terms. */
#include <stdlib.h>
#include <string.h>

#include "engine/decide/decide_priv.h"

/* Slots: the pod's own affinity terms, then its anti-affinity terms, then the topology
 * keys of other pods' terms, as they are found. For preferences: topology keys only. */

static const struct neap_object *namespace_of(const struct neap_cycle *cycle,
					      const struct neap_pod *pod)
{
	return neap_cluster_find_namespace(cycle->cluster, pod->object->ns);
}

static uint32_t add_slot(struct neap_cycle *cycle, const char *key)
{
	return neap_tally_add_slot(&cycle->near, neap_cluster_label(cycle->cluster, key),
				   0);
}

/* The slot of a topology key; beyond NEAP_NEAR_KEYS_MAX, where it is none, nothing is
 * counted. */
static uint32_t slot_of_key(struct neap_cycle *cycle, const char *key)
{
	uint32_t i = 0;

	while (i < cycle->near_key_count && strcmp(cycle->near_keys[i], key) != 0)
		i++;
	if (i == NEAP_NEAR_KEYS_MAX)
		return UINT32_MAX;
	if (i == cycle->near_key_count) {
		cycle->near_keys[cycle->near_key_count++] = key;
		(void)add_slot(cycle, key);
	}
	return cycle->near_first + i;
}

static void begin(struct neap_cycle *cycle)
{
	neap_tally_clear(&cycle->near, neap_cluster_kind_end(cycle->cluster));
	cycle->near_key_count = cycle->near_first = 0;
	cycle->near_known = false;
}

static bool takes(struct neap_cycle *cycle, const struct neap_pod_term *term,
		  const struct neap_pod *one, const struct neap_object *ns)
{
	return neap_cycle_spend(cycle, neap_cost_of_pod_term(term)) &&
	       neap_pod_term_takes(term, one, ns);
}

/* Rows with any of those flags, 0: all. Whether anything was counted anywhere. */
static bool count_rows(struct neap_cycle *cycle, uint8_t flags,
		       void (*ask)(void *arg, const struct neap_pod *one))
{
	const struct neap_columns *columns = cycle->columns;
	struct neap_tally *tally = &cycle->near;
	bool is_any = false;
	size_t seen = 0;

	for (uint32_t row = 0; row < columns->rows && cycle->steps >= 0; row++) {
		const struct neap_row_kinds *kinds = &columns->kinds[row];

		if (!(columns->flags[row] & NEAP_ROW_IS_THERE) ||
		    (flags && !(columns->flags[row] & flags)))
			continue;
		(void)neap_cycle_spend(cycle, (int64_t)seen / NEAP_TALLY_STEP);
		seen %= NEAP_TALLY_STEP;
		seen++;
		for (size_t i = 0; i < kinds->count; i++) {
			size_t count;
			const struct neap_tally_part *parts = neap_tally_parts(
				tally, &kinds->list[i], ask, cycle, &count);

			seen += 1 + count;
			for (size_t n = 0; n < count; n++) {
				uint32_t domain =
					neap_tally_domain(tally, parts[n].slot, row);

				if (!domain)
					continue;
				tally->slots[parts[n].slot].counts[domain] +=
					parts[n].more * kinds->list[i].count;
				is_any = true;
			}
		}
	}
	cycle->is_short |= tally->is_short;
	return is_any;
}

/* --- the filter --- */

static bool takes_all(struct neap_cycle *cycle, const struct neap_pod_terms *terms,
		      const struct neap_pod *other, const struct neap_object *ns)
{
	for (size_t i = 0; i < terms->count; i++)
		if (!takes(cycle, &terms->terms[i], other, ns))
			return false;
	return true;
}

/* Matches one pod's terms against the pod, and the pod's against it. */
static void ask_required(void *arg, const struct neap_pod *one)
{
	struct neap_cycle *cycle = arg;
	const struct neap_pod_terms *near = &cycle->pod->near[NEAP_NEAR_REQUIRED];
	const struct neap_pod_terms *away = &cycle->pod->near[NEAP_AWAY_REQUIRED];
	const struct neap_pod_terms *others = &one->near[NEAP_AWAY_REQUIRED];
	const struct neap_object *its = namespace_of(cycle, one);
	const struct neap_object *ns = namespace_of(cycle, cycle->pod);
	uint32_t slot = 0;

	if (near->count && takes_all(cycle, near, one, its))
		for (size_t i = 0; i < near->count; i++)
			neap_tally_add_part(&cycle->near, slot + (uint32_t)i, 1);
	slot = (uint32_t)near->count;
	for (size_t i = 0; i < away->count; i++)
		if (takes(cycle, &away->terms[i], one, its))
			neap_tally_add_part(&cycle->near, slot + (uint32_t)i, 1);
	for (size_t i = 0; i < others->count; i++)
		if (takes(cycle, &others->terms[i], cycle->pod, ns))
			neap_tally_add_part(
				&cycle->near,
				slot_of_key(cycle, others->terms[i].topology_key), 1);
}

/* Whether no pod anywhere matches the pod's affinity, and the pod itself does. */
static bool is_first(struct neap_cycle *cycle)
{
	const struct neap_pod_terms *near = &cycle->pod->near[NEAP_NEAR_REQUIRED];

	for (size_t i = 0; i < near->count; i++)
		for (uint32_t n = 1; n < cycle->near.slots[i].end; n++)
			if (cycle->near.slots[i].counts[n])
				return false;
	return takes_all(cycle, near, cycle->pod, namespace_of(cycle, cycle->pod));
}

/* Whether one of the terms speaks of other, and the node has its label. */
static bool is_kept_away(struct neap_cycle *cycle, const struct neap_pod_terms *away,
			 const struct neap_pod *other, const struct neap_object *ns,
			 const struct neap_object *node)
{
	for (size_t i = 0; i < away->count; i++)
		if (neap_object_label(node, away->terms[i].topology_key) &&
		    takes(cycle, &away->terms[i], other, ns))
			return true;
	return false;
}

/* Nominated pods count on their node only, and satisfy no affinity yet. Returns whether
 * any is in the way. */
static bool ask_nominated(struct neap_cycle *cycle)
{
	const struct neap_pod *pod = cycle->pod, *other;
	bool is_any = false;

	for (size_t at = 0; (other = neap_nominated_next(cycle, &at));) {
		const struct neap_cluster_node *node = NULL;
		bool is_away, is_unwanted;

		if (pod->near[NEAP_AWAY_REQUIRED].count ||
		    other->near[NEAP_AWAY_REQUIRED].count)
			node = neap_cluster_find_node(cycle->cluster, other->nominated);
		if (!node || !node->object)
			continue;
		is_away = is_kept_away(cycle, &pod->near[NEAP_AWAY_REQUIRED], other,
				       namespace_of(cycle, other), node->object);
		is_unwanted = is_kept_away(cycle, &other->near[NEAP_AWAY_REQUIRED], pod,
					   namespace_of(cycle, pod), node->object);
		if (is_away)
			neap_nominated_note(cycle, other, NEAP_NOMINATED_AWAY);
		if (is_unwanted)
			neap_nominated_note(cycle, other, NEAP_NOMINATED_UNWANTED);
		is_any |= is_away || is_unwanted;
	}
	return is_any;
}

static bool prepare_near(struct neap_cycle *cycle)
{
	const struct neap_pod_terms *near = &cycle->pod->near[NEAP_NEAR_REQUIRED];
	const struct neap_pod_terms *away = &cycle->pod->near[NEAP_AWAY_REQUIRED];
	bool has_own = near->count || away->count, is_any = ask_nominated(cycle);
	bool is_again = cycle->near_known;

	if (!has_own && !is_any && !cycle->columns->away_rows)
		return false;
	if (is_again)
		neap_tally_again(&cycle->near);
	else
		begin(cycle);
	for (size_t i = 0; i < near->count; i++)
		(void)add_slot(cycle, near->terms[i].topology_key);
	for (size_t i = 0; i < away->count; i++)
		(void)add_slot(cycle, away->terms[i].topology_key);
	cycle->near_first = (uint32_t)(near->count + away->count);
	if (cycle->near.slot_count < cycle->near_first) {
		cycle->is_short = true;
		return false;
	}
	for (uint32_t i = 0; i < cycle->near_key_count; i++)
		(void)add_slot(cycle, cycle->near_keys[i]);
	cycle->near_known = true;
	is_any |= count_rows(cycle, has_own ? 0 : NEAP_ROW_HAS_AWAY, ask_required);
	cycle->is_first = is_first(cycle);
	return has_own || is_any;
}

static bool is_near(const struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_pod_terms *near = &cycle->pod->near[NEAP_NEAR_REQUIRED];
	bool has_all = true;

	for (uint32_t i = 0; i < near->count; i++) {
		if (!neap_tally_domain(&cycle->near, i, row))
			return false;
		has_all &= neap_tally_get(&cycle->near, i, row) > 0;
	}
	/* The first of a group that wants to be together may begin anywhere. */
	return has_all || cycle->is_first;
}

/* Returns whether these slots count no pod. */
static bool is_nobody(const struct neap_cycle *cycle, size_t from, size_t to,
		      uint32_t row)
{
	for (size_t i = from; i < to; i++)
		if (neap_tally_get(&cycle->near, i, row) > 0)
			return false;
	return true;
}

static bool fits_near(struct neap_cycle *cycle, uint32_t row)
{
	size_t away = cycle->pod->near[NEAP_NEAR_REQUIRED].count;

	if (!is_near(cycle, row))
		return neap_cycle_refuse(cycle, row, NEAP_REASON_NEAR, 0);
	if (neap_nominated_is(cycle, row, NEAP_NOMINATED_AWAY) ||
	    !is_nobody(cycle, away, cycle->near_first, row))
		return neap_cycle_refuse(cycle, row, NEAP_REASON_AWAY, 0);
	if (neap_nominated_is(cycle, row, NEAP_NOMINATED_UNWANTED) ||
	    !is_nobody(cycle, cycle->near_first, cycle->near.slot_count, row))
		return neap_cycle_refuse(cycle, row, NEAP_REASON_UNWANTED, 0);
	return true;
}

const struct neap_filter neap_filter_near = {"InterPodAffinity", prepare_near, fits_near,
					     NEAP_MOVED_POD_GONE | NEAP_MOVED_POD_PLACED |
						     NEAP_MOVED_LABELS};

/* --- the score --- */

/* required: the weight of terms without one of their own; 0: they have one. */
static void weigh(struct neap_cycle *cycle, const struct neap_pod_terms *terms,
		  const struct neap_pod *about, const struct neap_object *ns,
		  int64_t factor, int64_t required)
{
	for (size_t i = 0; i < terms->count; i++) {
		const struct neap_pod_term *term = &terms->terms[i];

		if (takes(cycle, term, about, ns))
			neap_tally_add_part(
				&cycle->near, slot_of_key(cycle, term->topology_key),
				factor * (required ? required : term->weight));
	}
}

static void ask_wishes(void *arg, const struct neap_pod *one)
{
	struct neap_cycle *cycle = arg;
	const struct neap_pod *pod = cycle->pod;
	const struct neap_object *its = namespace_of(cycle, one);
	const struct neap_object *ns = namespace_of(cycle, pod);
	/* A required affinity to this pod counts as a preference with this weight. */
	int64_t required = cycle->settings->required_weight;

	weigh(cycle, &pod->near[NEAP_NEAR_PREFERRED], one, its, 1, 0);
	weigh(cycle, &pod->near[NEAP_AWAY_PREFERRED], one, its, -1, 0);
	if (required)
		weigh(cycle, &one->near[NEAP_NEAR_REQUIRED], pod, ns, 1, required);
	if (cycle->settings->ignores_wishes)
		return;
	weigh(cycle, &one->near[NEAP_NEAR_PREFERRED], pod, ns, 1, 0);
	weigh(cycle, &one->near[NEAP_AWAY_PREFERRED], pod, ns, -1, 0);
}

static bool prepare_wishes(struct neap_cycle *cycle)
{
	const struct neap_pod *pod = cycle->pod;
	bool has_own = pod->near[NEAP_NEAR_PREFERRED].count ||
		       pod->near[NEAP_AWAY_PREFERRED].count;

	if (!has_own && !cycle->columns->near_rows)
		return false;
	begin(cycle);
	return count_rows(cycle, has_own ? 0 : NEAP_ROW_HAS_NEAR, ask_wishes) &&
	       cycle->steps >= 0;
}

static void score_wishes(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
			 int64_t *ret)
{
	for (size_t i = 0; i < count; i++) {
		ret[i] = 0;
		for (size_t n = 0; n < cycle->near.slot_count; n++)
			ret[i] += neap_tally_get(&cycle->near, n, rows[i]);
	}
}

const struct neap_score neap_score_near = {"InterPodAffinity", 2, NEAP_SCORE_SPAN,
					   prepare_wishes, score_wishes};
