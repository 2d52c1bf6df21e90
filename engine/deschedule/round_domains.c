/* SPDX-License-Identifier: Apache-2.0
 *
 * Anti-affinity and spread. */
#include "engine/deschedule/round_domains.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

/* --- anti-affinity --- */

static bool is_in(const struct neap_pod_set *set, const struct neap_world_pod *pod)
{
	return set->bits[pod->index / 64] >> (pod->index % 64) & 1;
}

static bool is_same_domain(const struct neap_world_node *a,
			   const struct neap_world_node *b, const char *key)
{
	const char *one = neap_object_label(a->object, key);
	const char *other = one ? neap_object_label(b->object, key) : NULL;

	return one && other && strcmp(one, other) == 0;
}

static bool selects_on(const struct neap_round *round, const struct neap_world_pod *pod,
		       const struct neap_pod_term *term, const struct neap_pod_set *set,
		       const struct neap_world_node *node)
{
	for (size_t i = 0; i < node->pod_count; i++) {
		const struct neap_world_pod *other = node->pods[i];

		if (is_in(set, other) && other->flags & NEAP_WORLD_IS_LIVE &&
		    !neap_round_is_evicted(round, other) &&
		    neap_fit_term_selects(round->args.world, pod, term, other))
			return true;
	}
	return false;
}

bool neap_round_is_repelled(struct neap_round *round, const struct neap_world_pod *pod,
			    const struct neap_pod_set *set)
{
	const struct neap_pod_terms *terms = &pod->pod->near[NEAP_AWAY_REQUIRED];

	if (!pod->node || !pod->node->object)
		return false;
	for (size_t t = 0; t < terms->count; t++) {
		const struct neap_pod_term *term = &terms->terms[t];

		if (selects_on(round, pod, term, set, pod->node))
			return true;
		/* A host has one node, mostly: nothing else to look at. */
		if (strcmp(term->topology_key, "kubernetes.io/hostname") == 0)
			continue;
		for (size_t i = 0; i < round->node_count; i++)
			if (round->nodes[i] != pod->node &&
			    is_same_domain(pod->node, round->nodes[i],
					   term->topology_key) &&
			    selects_on(round, pod, term, set, round->nodes[i]))
				return true;
	}
	return false;
}

/* --- spread --- */

bool neap_spread_takes(const struct neap_spread_found *spread,
		       const struct neap_world_node *node)
{
	return (spread->constraint->ignores_affinity ||
		neap_fit_matches(spread->owner, node)) &&
	       (!spread->constraint->honors_taints ||
		neap_fit_tolerates(spread->owner, node));
}

/* By namespace, then by owner: pods of one owner mostly have the same labels, of which a
 * selector is then asked once. */
static int compare(const void *a, const void *b)
{
	const struct neap_world_pod *one = *(struct neap_world_pod *const *)a;
	const struct neap_world_pod *other = *(struct neap_world_pod *const *)b;
	int differ = strcmp(one->pod->object->ns, other->pod->object->ns);
	uint32_t first = one->owner_count ? one->owners[0].group->number + 1 : 0;
	uint32_t second = other->owner_count ? other->owners[0].group->number + 1 : 0;

	if (!differ)
		differ = (first > second) - (first < second);
	return differ ? differ
		      : (one->index > other->index) - (one->index < other->index);
}

static bool is_same_selector(const struct neap_selector *a, const struct neap_selector *b)
{
	return a && b ? neap_selector_is_same(a, b) : a == b;
}

static bool is_same(const struct neap_spread_found *found, const struct neap_spread *b,
		    const struct neap_world_pod *pod)
{
	const struct neap_spread *a = found->constraint;

	return a->max_skew == b->max_skew &&
	       strcmp(a->topology_key, b->topology_key) == 0 &&
	       a->ignores_affinity == b->ignores_affinity &&
	       a->honors_taints == b->honors_taints &&
	       is_same_selector(a->selector, b->selector) &&
	       neap_fit_is_alike(found->owner, pod);
}

struct finding {
	struct neap_round *round;
	bool with_required, with_soft;
	struct neap_spread_found *found;
	size_t count, size, begin; /* begin: the first of the namespace */
};

static bool add_constraints(struct finding *finding, const struct neap_world_pod *pod)
{
	for (size_t i = 0; i < pod->pod->spread_count; i++) {
		const struct neap_spread *spread = &pod->pod->spreads[i];
		size_t at = finding->begin;

		if (!(spread->is_required ? finding->with_required : finding->with_soft))
			continue;
		while (at < finding->count && !is_same(&finding->found[at], spread, pod))
			at++;
		if (at < finding->count)
			continue;
		if (!neap_grow(&finding->found, finding->count, &finding->size,
			       sizeof(*finding->found)))
			return false;
		finding->found[finding->count++] = (struct neap_spread_found){
			.ns = pod->pod->object->ns, .constraint = spread, .owner = pod};
	}
	return true;
}

/* The values that the nodes of a round have for a topology key; they are the same for all
 * constraints with that key. */
struct key {
	const char *name;
	const char **values; /* in order */
	size_t count;
	uint32_t *of; /* as in neap_spread_found */
	struct key *next;
};

struct value_row {
	const char *value;
	uint32_t node;
};

static int compare_values(const void *a, const void *b)
{
	const struct value_row *one = a, *other = b;

	return strcmp(one->value, other->value);
}

static void number_values(struct neap_round *round, struct key *key,
			  struct value_row *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < round->node_count; i++) {
		const char *value = neap_object_label(round->nodes[i]->object, key->name);

		if (value)
			rows[count++] = (struct value_row){value, round->nodes[i]->index};
	}
	qsort(rows, count, sizeof(*rows), compare_values);
	for (size_t i = 0; i < count; i++) {
		if (!i || strcmp(rows[i].value, rows[i - 1].value) != 0)
			key->values[key->count++] = rows[i].value;
		key->of[rows[i].node] = (uint32_t)key->count;
	}
}

/* NULL without memory. */
static const struct key *find_key(struct neap_round *round, struct key **keys,
				  const char *name)
{
	struct value_row *rows;
	struct key *key = *keys;

	while (key && strcmp(key->name, name) != 0)
		key = key->next;
	if (key)
		return key;
	rows = neap_alloc_array(round->node_count + 1, sizeof(*rows));
	key = neap_arena_array(&round->arena, 1, sizeof(*key));
	if (key) {
		key->name = name;
		key->values = neap_arena_array(&round->arena, round->node_count + 1,
					       sizeof(char *));
		key->of =
			neap_arena_array(&round->arena, round->args.world->node_count + 1,
					 sizeof(*key->of));
	}
	if (!rows || !key || !key->values || !key->of) {
		free(rows);
		return NULL;
	}
	number_values(round, key, rows);
	free(rows);
	key->next = *keys;
	*keys = key;
	return key;
}

/* All domains of the key. */
static bool begin_domains(struct neap_round *round, struct neap_spread_found *spread,
			  struct key **keys)
{
	const struct key *key = find_key(round, keys, spread->constraint->topology_key);

	if (!key)
		return false;
	spread->domains =
		neap_arena_array(&round->arena, key->count + 1, sizeof(*spread->domains));
	for (size_t i = 0; spread->domains && i < key->count; i++) {
		spread->domains[i].value = key->values[i];
		spread->domains[i].number = (uint32_t)i;
	}
	spread->domain_count = key->count;
	spread->of = key->of;
	return spread->domains != NULL;
}

/* Whether every node counts for the constraint. */
static bool takes_all(const struct neap_spread_found *spread)
{
	const struct neap_pod *pod = spread->owner->pod;

	return (spread->constraint->ignores_affinity ||
		(!pod->has_affinity && !pod->node_selector.count)) &&
	       !spread->constraint->honors_taints;
}

/* Notes which domains have a node that counts. */
static void mark_made(const struct neap_round *round,
		      const struct neap_spread_found *spread, bool *is_made)
{
	if (takes_all(spread)) {
		for (size_t i = 0; i < spread->domain_count; i++)
			is_made[i] = true;
		return;
	}
	for (size_t i = 0; i < round->node_count; i++) {
		uint32_t domain = spread->of[round->nodes[i]->index];

		if (domain && !is_made[domain - 1] &&
		    neap_spread_takes(spread, round->nodes[i]))
			is_made[domain - 1] = true;
	}
}

/* How many pods each domain has, for when some are dropped. */
static bool keep_sizes(struct neap_round *round, struct neap_spread_found *spread)
{
	uint32_t *sizes =
		neap_arena_array(&round->arena, spread->domain_count + 1, sizeof(*sizes));

	for (size_t i = 0; sizes && i < spread->domain_count; i++)
		sizes[i] = (uint32_t)spread->domains[i].count;
	spread->sizes = sizes;
	return sizes != NULL;
}

bool neap_spread_fits_below(const struct neap_round *round,
			    const struct neap_spread_found *spread,
			    const struct neap_world_pod *pod)
{
	for (size_t i = 0; i < round->node_count; i++) {
		const struct neap_world_node *node = round->nodes[i];
		uint32_t domain = spread->of[node->index];

		if (domain && node != pod->node &&
		    spread->sizes[domain - 1] * spread->domain_count <
			    spread->pod_count &&
		    neap_spread_takes(spread, node) &&
		    !neap_fit_why(round->args.world, pod, node, NEAP_FIT_FULL))
			return true;
	}
	return false;
}

static bool is_matched(const struct neap_spread *constraint,
		       const struct neap_world_pod *pod,
		       const struct neap_world_pod *before, bool was)
{
	const struct neap_object *object = pod->pod->object;

	if (!constraint->selector)
		return false;
	if (before && before->pod->object->label_count == object->label_count) {
		const struct neap_object *old = before->pod->object;
		size_t size = (size_t)(object->fields - object->labels);

		if ((size_t)(old->fields - old->labels) == size &&
		    memcmp(old->labels, object->labels, size) == 0)
			return was;
	}
	return neap_object_is_selected(object, constraint->selector);
}

/* Puts the pods into their domains, and drops domains that no node with the right
 * policies makes, and no pod. */
static bool fill(struct neap_round *round, struct neap_spread_found *spread,
		 struct neap_world_pod **pods, size_t count, struct key **keys,
		 struct neap_world_pod **matched)
{
	const uint32_t *of;
	const struct neap_world_pod *before = NULL;
	bool *is_made, is = false;
	size_t kept = 0, found = 0;
	struct neap_world_pod **list;

	if (!begin_domains(round, spread, keys))
		return false;
	of = spread->of;
	is_made = neap_alloc_array(spread->domain_count + 1, sizeof(*is_made));
	if (!is_made)
		return false;
	mark_made(round, spread, is_made);
	for (size_t i = 0; i < count; i++) {
		uint32_t domain = of[pods[i]->node->index];

		is = is_matched(spread->constraint, pods[i], before, is);
		before = pods[i];
		if (!is || !domain || pods[i]->pod->object->is_deleting)
			continue;
		is_made[domain - 1] = true;
		spread->domains[domain - 1].count++;
		matched[found++] = pods[i];
	}
	spread->pod_count = found;
	list = neap_arena_array(&round->arena, found + 1, sizeof(*list));
	for (size_t i = 0; list && i < spread->domain_count; i++) {
		spread->domains[i].pods = list;
		list += spread->domains[i].count;
		spread->domains[i].count = 0;
	}
	for (size_t i = 0; list && i < found; i++) {
		struct neap_spread_domain *domain =
			&spread->domains[of[matched[i]->node->index] - 1];

		domain->pods[domain->count++] = matched[i];
	}
	if (list && !keep_sizes(round, spread))
		list = NULL;
	for (size_t i = 0; i < spread->domain_count; i++)
		if (is_made[i])
			spread->domains[kept++] = spread->domains[i];
	spread->domain_count = kept;
	free(is_made);
	return list != NULL;
}

static bool do_namespace(struct finding *finding, struct neap_world_pod **pods,
			 size_t count, struct key **keys, struct neap_world_pod **matched)
{
	finding->begin = finding->count;
	for (size_t i = 0; i < count; i++)
		if (pods[i]->pod->spread_count && !add_constraints(finding, pods[i]))
			return false;
	for (size_t i = finding->begin; i < finding->count; i++)
		if (!fill(finding->round, &finding->found[i], pods, count, keys, matched))
			return false;
	return true;
}

int neap_round_find_spreads(struct neap_round *round, struct neap_world_pod **pods,
			    size_t count, bool with_required, bool with_soft,
			    struct neap_spread_found **ret, size_t *ret_count,
			    struct neap_error *err)
{
	struct finding finding = {
		.round = round, .with_required = with_required, .with_soft = with_soft};
	struct key *keys = NULL;
	struct neap_world_pod **matched =
		neap_alloc_array(count + 1, sizeof(struct neap_world_pod *));
	bool is_done = matched != NULL;

	qsort(pods, count, sizeof(*pods), compare);
	for (size_t i = 0, end; i < count && is_done; i = end) {
		for (end = i; end < count && strcmp(pods[end]->pod->object->ns,
						    pods[i]->pod->object->ns) == 0;)
			end++;
		is_done = do_namespace(&finding, pods + i, end - i, &keys, matched);
	}
	free(matched);
	*ret = NULL;
	*ret_count = finding.count;
	if (is_done) {
		*ret = neap_arena_array(&round->arena, finding.count + 1, sizeof(**ret));
		if (*ret && finding.count)
			memcpy(*ret, finding.found, finding.count * sizeof(**ret));
	}
	free(finding.found);
	return *ret ? 0 : neap_error_nomem(err);
}
