/* SPDX-License-Identifier: Apache-2.0
 *
 * Nominated pods: what they will use on their node is closed to less important pods.
 * Collected before filters examine nodes. */
#include "engine/decide/decide_priv.h"

const struct neap_pod *neap_nominated_next(const struct neap_cycle *cycle, size_t *at)
{
	while (*at < neap_cluster_nominee_count(cycle->cluster)) {
		const struct neap_pod *other =
			neap_cluster_nominee(cycle->cluster, (*at)++);

		if (other != cycle->pod && !other->seat.node &&
		    other->priority >= cycle->pod->priority)
			return other;
	}
	return NULL;
}

void neap_cycle_find_nominated(struct neap_cycle *cycle)
{
	const struct neap_pod *other;

	neap_domains_clear(&cycle->nominated);
	for (size_t at = 0; (other = neap_nominated_next(cycle, &at));)
		for (size_t n = 0; n < other->request_count; n++)
			if (!neap_domains_add(
				    &cycle->nominated, other->requests[n].resource,
				    other->nominated, other->requests[n].amount))
				cycle->is_short = true;
}

int64_t neap_cycle_nominated(const struct neap_cycle *cycle, uint32_t row,
			     uint32_t resource)
{
	return neap_domains_get(&cycle->nominated, resource,
				cycle->columns->nodes[row]->name);
}

void neap_nominated_note(struct neap_cycle *cycle, const struct neap_pod *other,
			 enum neap_nominated what)
{
	if (!neap_domains_add(&cycle->nominated, what, other->nominated, 1))
		cycle->is_short = true;
}

bool neap_nominated_is(const struct neap_cycle *cycle, uint32_t row,
		       enum neap_nominated what)
{
	return cycle->nominated.count && neap_cycle_nominated(cycle, row, what) > 0;
}
