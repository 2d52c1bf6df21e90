/* SPDX-License-Identifier: Apache-2.0
 *
 * Affinity and anti-affinity between pods. Counted once a decision: how many pods that a term speaks of are in each
 * domain (nodes with the same value of the term's label); a node is then a look-up. Counting goes through all pods
 * where the pod itself has terms, else through the nodes that have pods with terms. */
#include <stdlib.h>
#include <string.h>

#include "engine/decide/decide_priv.h"

/* Slots of the counts: terms of the pod, and topology keys of terms of others. */
#define SLOT_NEAR  UINT32_C(0)
#define SLOT_AWAY  UINT32_C(1000)
#define SLOT_OTHER UINT32_C(2000)

static const char *label(const struct neap_cycle *cycle, uint32_t row, const char *key)
{
	return neap_object_label(cycle->columns->nodes[row]->object, key);
}

static const struct neap_object *namespace_of(const struct neap_cycle *cycle,
					      const struct neap_pod *pod)
{
	return neap_cluster_find_namespace(cycle->cluster, pod->object->ns);
}

static void add(struct neap_cycle *cycle, struct neap_domains *domains, uint32_t slot,
		const char *value, int64_t more)
{
	if (value && !neap_domains_add(domains, slot, value, more))
		cycle->is_short = true;
}

/* The slot of a topology key of other pods' terms; NEAP_NEAR_KEYS_MAX: there are too many. */
static uint32_t slot_of_key(struct neap_cycle *cycle, const char *key)
{
	uint32_t i = 0;

	while (i < cycle->near_key_count && strcmp(cycle->near_keys[i], key) != 0)
		i++;
	if (i == cycle->near_key_count && i < NEAP_NEAR_KEYS_MAX)
		cycle->near_keys[cycle->near_key_count++] = key;
	return i;
}

/* --- the filter --- */

static bool takes_all(const struct neap_pod_terms *terms, const struct neap_pod *other,
		      const struct neap_object *ns)
{
	for (size_t i = 0; i < terms->count; i++)
		if (!neap_pod_term_takes(&terms->terms[i], other, ns))
			return false;
	return true;
}

/* Slots of what is remembered: all required affinities together, then the terms of anti-affinity. */
static bool takes_near(struct neap_cycle *cycle, const struct neap_pod *other)
{
	const struct neap_pod_terms *near = &cycle->pod->near[NEAP_NEAR_REQUIRED];
	uint8_t *known = neap_cycle_taken(cycle, 0, other);

	if (!known)
		return takes_all(near, other, namespace_of(cycle, other));
	if (!*known)
		*known = takes_all(near, other, namespace_of(cycle, other)) ? 1 : 2;
	return *known == 1;
}

static bool takes_away(struct neap_cycle *cycle, uint32_t i, const struct neap_pod *other)
{
	const struct neap_pod_term *term = &cycle->pod->near[NEAP_AWAY_REQUIRED].terms[i];
	uint8_t *known = neap_cycle_taken(cycle, i + 1, other);

	if (!known)
		return neap_pod_term_takes(term, other, namespace_of(cycle, other));
	if (!*known)
		*known = neap_pod_term_takes(term, other, namespace_of(cycle, other)) ? 1
										      : 2;
	return *known == 1;
}

/* What the pod's own terms say of the pods of a node. */
static void count_own(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_pod_terms *near = &cycle->pod->near[NEAP_NEAR_REQUIRED];
	const struct neap_pod_terms *away = &cycle->pod->near[NEAP_AWAY_REQUIRED];
	const struct neap_cluster_node *node = cycle->columns->nodes[row];
	int64_t count = 0;

	for (size_t i = 0; near->count && i < node->pod_count; i++)
		count += takes_near(cycle, node->pods[i]);
	for (uint32_t i = 0; count && i < near->count; i++)
		add(cycle, &cycle->near, SLOT_NEAR + i,
		    label(cycle, row, near->terms[i].topology_key), count);
	for (uint32_t i = 0; i < away->count; i++) {
		count = 0;
		for (size_t n = 0; n < node->pod_count; n++)
			count += takes_away(cycle, i, node->pods[n]);
		if (count)
			add(cycle, &cycle->near, SLOT_AWAY + i,
			    label(cycle, row, away->terms[i].topology_key), count);
	}
}

/* Whether another one wants to be away from the pod. */
static void count_other(struct neap_cycle *cycle, uint32_t row,
			const struct neap_pod *other, const struct neap_object *ns)
{
	const struct neap_pod_terms *away = &other->near[NEAP_AWAY_REQUIRED];

	for (size_t i = 0; i < away->count; i++)
		if (neap_pod_term_takes(&away->terms[i], cycle->pod, ns))
			add(cycle, &cycle->near,
			    SLOT_OTHER + slot_of_key(cycle, away->terms[i].topology_key),
			    label(cycle, row, away->terms[i].topology_key), 1);
}

/* Whether nobody anywhere is what the pod wants to be near, and it is so itself. */
static bool is_first(const struct neap_cycle *cycle)
{
	for (size_t i = 0; i < cycle->near.size; i++)
		if (cycle->near.table[i].text && cycle->near.table[i].slot < SLOT_AWAY)
			return false;
	return takes_all(&cycle->pod->near[NEAP_NEAR_REQUIRED], cycle->pod,
			 namespace_of(cycle, cycle->pod));
}

static bool prepare_near(struct neap_cycle *cycle)
{
	const struct neap_columns *columns = cycle->columns;
	const struct neap_object *ns = namespace_of(cycle, cycle->pod);
	bool has_own = cycle->pod->near[NEAP_NEAR_REQUIRED].count ||
		       cycle->pod->near[NEAP_AWAY_REQUIRED].count;

	neap_domains_clear(&cycle->near);
	cycle->near_key_count = 0;
	if (!has_own && !columns->away_rows)
		return false;
	if (has_own)
		neap_cycle_forget_taken(cycle);
	for (uint32_t row = 0; row < columns->rows; row++) {
		const struct neap_cluster_node *node = columns->nodes[row];
		bool has_away = columns->flags[row] & NEAP_ROW_HAS_AWAY;

		if (!(columns->flags[row] & NEAP_ROW_IS_THERE))
			continue;
		for (size_t i = 0; has_away && i < node->pod_count; i++)
			if (node->pods[i]->near[NEAP_AWAY_REQUIRED].count)
				count_other(cycle, row, node->pods[i], ns);
		if (has_own)
			count_own(cycle, row);
	}
	cycle->is_first = is_first(cycle);
	return has_own || cycle->near.count;
}

static bool is_near(const struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_pod_terms *near = &cycle->pod->near[NEAP_NEAR_REQUIRED];
	bool has_all = true;

	for (uint32_t i = 0; i < near->count; i++) {
		const char *value = label(cycle, row, near->terms[i].topology_key);

		if (!value)
			return false;
		has_all &= neap_domains_get(&cycle->near, SLOT_NEAR + i, value) > 0;
	}
	/* The first of a group that wants to be together may begin anywhere. */
	return has_all || cycle->is_first;
}

static bool is_away(const struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_pod_terms *away = &cycle->pod->near[NEAP_AWAY_REQUIRED];

	for (uint32_t i = 0; i < away->count; i++) {
		const char *value = label(cycle, row, away->terms[i].topology_key);

		if (value && neap_domains_get(&cycle->near, SLOT_AWAY + i, value) > 0)
			return false;
	}
	return true;
}

static bool is_unwanted(const struct neap_cycle *cycle, uint32_t row)
{
	for (uint32_t i = 0; i < cycle->near_key_count; i++) {
		const char *value = label(cycle, row, cycle->near_keys[i]);

		if (value && neap_domains_get(&cycle->near, SLOT_OTHER + i, value) > 0)
			return true;
	}
	return false;
}

static bool fits_near(struct neap_cycle *cycle, uint32_t row)
{
	if (!is_near(cycle, row))
		return neap_cycle_refuse(cycle, row, NEAP_REASON_NEAR, 0);
	if (!is_away(cycle, row))
		return neap_cycle_refuse(cycle, row, NEAP_REASON_AWAY, 0);
	if (is_unwanted(cycle, row))
		return neap_cycle_refuse(cycle, row, NEAP_REASON_UNWANTED, 0);
	return true;
}

const struct neap_filter neap_filter_near = {"InterPodAffinity", prepare_near, fits_near,
					     NEAP_MOVED_POD_GONE | NEAP_MOVED_POD_PLACED |
						     NEAP_MOVED_LABELS};

/* --- the score --- */

/* required: what each term counts, where it has no weight of its own; 0: it has. */
static void weigh(struct neap_cycle *cycle, uint32_t row,
		  const struct neap_pod_terms *terms, const struct neap_pod *about,
		  const struct neap_object *ns, int64_t factor, int64_t required)
{
	for (size_t i = 0; i < terms->count; i++) {
		const struct neap_pod_term *term = &terms->terms[i];

		if (neap_pod_term_takes(term, about, ns))
			add(cycle, &cycle->near, slot_of_key(cycle, term->topology_key),
			    label(cycle, row, term->topology_key),
			    factor * (required ? required : term->weight));
	}
}

static bool prepare_wishes(struct neap_cycle *cycle)
{
	const struct neap_columns *columns = cycle->columns;
	const struct neap_pod *pod = cycle->pod;
	const struct neap_object *ns = namespace_of(cycle, pod);
	/* A pod that must be near this one counts as one that would like it with this weight. */
	int64_t required = cycle->settings->required_weight;
	bool has_wishes = !cycle->settings->ignores_wishes;
	bool has_own = pod->near[NEAP_NEAR_PREFERRED].count ||
		       pod->near[NEAP_AWAY_PREFERRED].count;

	neap_domains_clear(&cycle->near);
	cycle->near_key_count = 0;
	if (!has_own && !columns->near_rows)
		return false;
	for (uint32_t row = 0; row < columns->rows; row++) {
		const struct neap_cluster_node *node = columns->nodes[row];
		bool has_near = columns->flags[row] & NEAP_ROW_HAS_NEAR;

		if (!(columns->flags[row] & NEAP_ROW_IS_THERE) || (!has_own && !has_near))
			continue;
		for (size_t i = 0; i < node->pod_count; i++) {
			const struct neap_pod *other = node->pods[i];
			const struct neap_object *its = namespace_of(cycle, other);

			weigh(cycle, row, &pod->near[NEAP_NEAR_PREFERRED], other, its, 1,
			      0);
			weigh(cycle, row, &pod->near[NEAP_AWAY_PREFERRED], other, its, -1,
			      0);
			if (required)
				weigh(cycle, row, &other->near[NEAP_NEAR_REQUIRED], pod,
				      ns, 1, required);
			if (!has_wishes)
				continue;
			weigh(cycle, row, &other->near[NEAP_NEAR_PREFERRED], pod, ns, 1,
			      0);
			weigh(cycle, row, &other->near[NEAP_AWAY_PREFERRED], pod, ns, -1,
			      0);
		}
	}
	return cycle->near.count > 0;
}

static void score_wishes(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
			 int64_t *ret)
{
	for (size_t i = 0; i < count; i++) {
		ret[i] = 0;
		for (uint32_t n = 0; n < cycle->near_key_count; n++) {
			const char *value = label(cycle, rows[i], cycle->near_keys[n]);

			if (value)
				ret[i] += neap_domains_get(&cycle->near, n, value);
		}
	}
}

const struct neap_score neap_score_near = {"InterPodAffinity", 2, NEAP_SCORE_SPAN,
					   prepare_wishes, score_wishes};
