/* SPDX-License-Identifier: Apache-2.0
 *
 * Which reservation a pod uses on its chosen node, and what it gets from it: the first
 * one with room that can provide its CPUs. Only that placeholder is lifted for this;
 * during filtering all are, but a pod may not combine the room of two reservations. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide.h"
#include "engine/decide/decide_priv.h"

/* Computes a placeholder's CPUs and cells minus its owners'. False: it has neither. */
static bool find_kept(const struct neap_cycle *cycle, const struct neap_kept_match *match,
		      struct neap_cpu_kept *ret)
{
	const struct neap_cluster_node *node = cycle->columns->nodes[match->row];
	const struct neap_numa_node *numa = node->cpus ? node->cpus->numa : NULL;
	char key[NEAP_POD_KEY];
	const struct neap_numa_held *held =
		numa && !node->cpus->is_stale
			? neap_numa_node_find(numa, neap_pod_seat_key(match->stand, key))
			: NULL;
	int cells = held ? numa->zone_count * numa->resource_count : 0;

	if (!held)
		return false;
	*ret = (struct neap_cpu_kept){.has_cells = held->cells != NULL,
				      .is_restricted = match->reserve->policy ==
						       NEAP_RESERVE_RESTRICTED};
	for (int i = 0; held->cpus && i < numa->layout->words; i++)
		ret->cpus[i] = held->cpus[i];
	for (int i = 0; held->cells && i < cells; i++)
		ret->cells[i] = held->cells[i];
	for (size_t n = 0; held->cells && n < node->pod_count; n++) {
		const struct neap_numa_held *owner;

		if (strcmp(neap_pod_reservation(node->pods[n]),
			   match->stand->keep->uid) != 0)
			continue;
		owner = neap_numa_node_find(numa, neap_pod_seat_key(node->pods[n], key));
		for (int i = 0; owner && owner->cells && i < cells; i++)
			ret->cells[i] -= owner->cells[i] < ret->cells[i] ? owner->cells[i]
									 : ret->cells[i];
	}
	return true;
}

static int take(struct neap_decide *decide, struct neap_kept_match *match,
		struct neap_claim **ret, struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	const struct neap_reserve *reserve = match->reserve;
	neap_auto_free struct neap_cpu_kept *kept = neap_alloc(sizeof(*kept));
	struct neap_cluster_node *node;
	bool has_kept;
	int answer;

	if (!kept)
		return neap_error_nomem(err);
	has_kept = find_kept(cycle, match, kept);
	node = neap_cluster_lift(cycle->cluster, match->stand);
	answer = neap_claim_cpus(decide, cycle->pod, match->row, has_kept ? kept : NULL,
				 ret, err);
	neap_cluster_put_back(cycle->cluster, match->stand, node);
	cycle->columns = neap_cluster_settle(cycle->cluster);
	if (answer == 0)
		*ret = neap_alloc(sizeof(**ret));
	if (answer < 0)
		return answer;
	if (!*ret)
		return neap_error_nomem(err);
	(void)neap_strcopy((*ret)->reservation, sizeof((*ret)->reservation),
			   reserve->object->name);
	(void)neap_strcopy((*ret)->reservation_uid, sizeof((*ret)->reservation_uid),
			   reserve->object->uid);
	return 1;
}

static int take_ignoring(struct neap_decide *decide, uint32_t row,
			 struct neap_claim **ret, struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	int answer;

	neap_kept_lift(cycle);
	answer = neap_claim_cpus(decide, cycle->pod, row, NULL, ret, err);
	neap_kept_put_back(cycle);
	if (answer > 0)
		(*ret)->is_ignoring = true;
	return answer;
}

/* Decides the node alone, as if no reservation were for the pod. 1: it fits. The earlier
 * decision stays readable: feasible nodes, and what may help. */
static int fits_alone(struct neap_decide *decide, const struct neap_pod *pod,
		      uint32_t row, struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	size_t rows = cycle->row_count;
	unsigned wakes = cycle->wakes;
	int failed = neap_decide_begin(decide, pod, err);

	cycle->row_count = rows;
	cycle->wakes |= wakes;
	if (failed < 0)
		return failed;
	neap_decide_finish(decide);
	cycle->kept.count = cycle->kept.at = 0;
	return neap_decide_fits(decide, row);
}

int neap_claim_kept(struct neap_decide *decide, const struct neap_pod *pod, uint32_t row,
		    struct neap_claim **ret, struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	neap_auto_free struct neap_kept_match **nominees = NULL;
	int answer;
	size_t count;

	*ret = NULL;
	cycle->pod = pod;
	cycle->columns = neap_cluster_settle(cycle->cluster);
	answer = neap_kept_begin(cycle, pod, row, err);
	if (answer < 0)
		return answer;
	if (cycle->kept.has_ask && cycle->kept.ask.is_ignoring)
		return take_ignoring(decide, row, ret, err);
	nominees = neap_alloc_array(cycle->kept.count + 1, sizeof(*nominees));
	if (!nominees)
		return neap_error_nomem(err);
	cycle->is_short = false;
	count = neap_kept_nominate(cycle, row, nominees, NULL);
	if (cycle->is_short)
		return neap_error_nomem(err);
	answer = neap_error_set(err, NEAP_ENOFIT,
				"node(s) no reservation(s) to meet the requirements");
	for (size_t i = 0; i < count && answer == -NEAP_ENOFIT; i++)
		answer = take(decide, nominees[i], ret, err);
	if (answer != -NEAP_ENOFIT)
		return answer;
	cycle->wakes |= neap_filter_kept.wakes;
	if (neap_kept_is_required(&cycle->kept))
		return answer;
	if (cycle->kept.count) {
		struct neap_error other;
		int fits = fits_alone(decide, pod, row, &other);

		if (fits < 0)
			*err = other;
		if (fits <= 0)
			return fits < 0 ? fits : answer;
	}
	return neap_claim_cpus(decide, pod, row, NULL, ret, err);
}
