/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking the policies of kind qos, at every tick and between two for a trigger: what they return is judged before it is
 * held, and a fault is theirs. */
#include <stdlib.h>

#include "api/run/node_priv.h"
#include "engine/machine/target.h"
#include "lua/result.h"

#define PLAN_CYCLES 10

/* Kernel files that a list of writes comes to: more than its rows, as one can be for every container of a class. */
static size_t count_writes(const struct neap_node *node,
			   const struct neap_policy_wish *wishes, size_t count)
{
	size_t pods[NEAP_KUBE_BESTEFFORT + 1] = {0},
					   containers[NEAP_KUBE_BESTEFFORT + 1] = {0};
	size_t sum = 0;

	for (size_t i = 0; i < neap_map_count(node->workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(node->workloads, i, NULL);

		pods[workload->kube_qos]++;
		containers[workload->kube_qos] += workload->container_count;
	}
	for (size_t i = 0; i < count; i++) {
		struct neap_target target;
		struct neap_error ignored;

		if (!neap_target_parse(wishes[i].target, &target, &ignored))
			continue;
		sum += target.scope == NEAP_SCOPE_PODS         ? pods[target.qos]
		       : target.scope == NEAP_SCOPE_CONTAINERS ? containers[target.qos]
							       : 1;
	}
	return sum;
}

static bool is_too_much(const struct neap_node *node,
			const struct neap_policy_wish *wishes, size_t count,
			struct neap_error *err)
{
	size_t sum = count_writes(node, wishes, count);

	if (sum <= NEAP_RESULT_WRITES_MAX)
		return false;
	(void)neap_error_set(err, NEAP_ETOOLARGE,
			     "its %zu writes come to %zu kernel files; at most %d are "
			     "allowed",
			     count, sum, NEAP_RESULT_WRITES_MAX);
	return true;
}

/* The last plan of what it wished for took many times what all policies of a tick together may: most of it is reading and
 * opening kernel files, some microseconds each. */
static bool is_plan_spent(struct neap_registry_slot *slot, struct neap_error *err)
{
	int64_t most = PLAN_CYCLES * neap_kind_cycle_usec(neap_policy_kind(slot->policy));
	int64_t took = slot->plan_usec;

	slot->plan_usec = 0;
	if (took <= most)
		return false;
	(void)neap_error_set(err, NEAP_EBUDGET,
			     "planning its %zu kernel files took %lld us of CPU time; at "
			     "most %lld us are allowed",
			     slot->planned, (long long)took, (long long)most);
	return true;
}

/* One call of one policy. A fault that takes it out of service is told to whoever can put its
 * predecessor in its place. */
bool neap_ask_policy(struct neap_node *node, size_t index, int64_t *left_usec)
{
	struct neap_registry_slot *slot = neap_registry_get(node->registry, index);
	struct neap_policy_wish *wishes = NULL;
	struct neap_policy_info info;
	enum neap_tick_verdict verdict;
	struct neap_error err = {0};
	size_t wish_count = 0;

	if (neap_policy_kind(slot->policy)->is_place)
		return true; /* the scheduler asks it */
	if (slot->stats.is_failed || slot->is_elsewhere)
		return true; /* fail-safe of qos: no new wishes, what was set is held */
	neap_policy_get_info(slot->policy, &info);
	verdict =
		is_plan_spent(slot, &err)
			? NEAP_TICK_BUDGET
			: neap_policy_tick_within(slot->policy, &node->sample, left_usec,
						  &wishes, &wish_count, &err);
	if (verdict == NEAP_TICK_WISHES && is_too_much(node, wishes, wish_count, &err)) {
		free(wishes);
		verdict = NEAP_TICK_WRONG;
	}
	slot->last_verdict = verdict;
	if (verdict == NEAP_TICK_WISHES) {
		neap_registry_hold_take(slot, wishes, wish_count);
		slot->stats.wishes += wish_count;
	}
	if (verdict == NEAP_TICK_ERROR || verdict == NEAP_TICK_WRONG ||
	    verdict == NEAP_TICK_BUDGET)
		neap_log_from(&node->config.log, info.label, NEAP_LOG_ERROR,
			      "policy %s: %s", info.label, err.msg);
	if (!neap_registry_note(slot, verdict, &err, node->unix_usec))
		return verdict != NEAP_TICK_PUT_OFF;
	neap_log_line(&node->config.log, NEAP_LOG_ERROR,
		      "policy %s is out of service; what it set is held", info.label);
	neap_node_note(node, "note", "", info.label, err.msg, 0);
	if (node->config.policy_failed != NULL)
		node->config.policy_failed(node->config.arg, info.kind, info.name,
					   err.msg);
	return true;
}

void neap_ask_shadow(struct neap_node *node, size_t index, int64_t *left_usec)
{
	struct neap_registry_slot *slot = neap_registry_get(node->registry, index);

	if (slot->shadow == NULL || slot->stats.is_failed || slot->is_elsewhere)
		return;
	neap_shadow_ask(slot->shadow, &node->sample, slot->last_verdict, slot->wishes,
			slot->wish_count, left_usec);
}

/* One budget for all policies of a tick, shadows last. Whoever was put off for it is first in the next. */
void neap_ask_policies(struct neap_node *node)
{
	size_t count = neap_registry_count(node->registry), i;
	size_t first = node->ask_first < count ? node->ask_first : 0;
	int64_t left_usec = neap_kind_cycle_usec(neap_kind_find("qos"));

	node->ask_first = 0;
	for (i = 0; i < count; i++) {
		size_t index = (first + i) % count;

		if (!neap_ask_policy(node, index, &left_usec) && node->ask_first == 0)
			node->ask_first = index;
	}
	for (i = 0; i < count; i++)
		neap_ask_shadow(node, i, &left_usec);
}
