/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the policies of kind qos, at every tick and for triggers in between. Results are
 * checked before they are kept. A fault counts against the policy. */
#include <stdlib.h>

#include "api/run/node_priv.h"
#include "engine/machine/target.h"
#include "lua/call/result.h"

#define PLAN_CYCLES 3

/* Number of kernel files that the writes touch: one write can stand for every container
 * of a class. */
static size_t count_writes(const struct neap_node *node,
			   const struct neap_policy_wish *wishes, size_t count)
{
	size_t pods[NEAP_KUBE_BESTEFFORT + 1] = {0},
					   containers[NEAP_KUBE_BESTEFFORT + 1] = {0};
	size_t sum = 0;

	for (size_t i = 0; i < neap_map_count(node->observe.workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(node->observe.workloads, i, NULL);

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

/* Kernel files of the wishes of the other policies. */
static size_t count_others(const struct neap_node *node,
			   const struct neap_registry_slot *slot)
{
	size_t sum = 0;

	for (size_t i = 0; i < neap_registry_count(node->registry); i++) {
		const struct neap_registry_slot *other =
			neap_registry_get(node->registry, i);

		if (other != slot && other->wish_count > 0)
			sum += other->wish_files;
	}
	return sum;
}

/* Whether a policy may keep this list. A list that is too long by itself is a fault. One
 * that is too long only together with the lists of others is put off, so that the others
 * keep theirs. */
static enum neap_tick_verdict judge(const struct neap_node *node,
				    const struct neap_registry_slot *slot,
				    const struct neap_policy_wish *wishes, size_t count,
				    size_t *ret_files, struct neap_error *err)
{
	size_t files = count_writes(node, wishes, count), others;

	if (files > NEAP_RESULT_WRITES_MAX) {
		(void)neap_error_set(
			err, NEAP_ETOOLARGE,
			"its %zu writes come to %zu kernel files; at most %d are "
			"allowed",
			count, files, NEAP_RESULT_WRITES_MAX);
		return NEAP_TICK_WRONG;
	}
	*ret_files = files;
	others = count_others(node, slot);
	if (files <= NEAP_RESULT_FEW_WRITES ||
	    files + others <= NEAP_RESULT_ALL_WRITES_MAX)
		return NEAP_TICK_WISHES;
	(void)neap_error_set(err, NEAP_EUNAVAILABLE,
			     "put off: its writes come to %zu kernel files, those of the "
			     "other policies to %zu; at most %d are allowed together",
			     files, others, NEAP_RESULT_ALL_WRITES_MAX);
	return NEAP_TICK_PUT_OFF;
}

/* The last plan of its wishes took many times the time that all policies of a tick
 * together may take. Most of that is reading and opening kernel files, some microseconds
 * each. */
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

/* Calls one policy once. When a fault takes it out of service, the registry's owner is
 * called, so that it can restore the version before. */
bool neap_ask_policy(struct neap_node *node, size_t index, int64_t *left_usec)
{
	struct neap_registry_slot *slot = neap_registry_get(node->registry, index);
	struct neap_policy_wish *wishes = NULL;
	struct neap_policy_info info;
	enum neap_tick_verdict verdict;
	struct neap_error err = {0};
	size_t wish_count = 0, files = 0;
	bool is_late;

	if (neap_policy_kind(slot->policy)->is_place)
		return true; /* the scheduler asks it */
	if (slot->stats.is_failed || slot->is_elsewhere)
		return true; /* fail-safe of qos: no new wishes, values stay */
	neap_policy_get_info(slot->policy, &info);
	verdict =
		is_plan_spent(slot, &err)
			? NEAP_TICK_BUDGET
			: neap_policy_tick_within(slot->policy, &node->observe.sample,
						  left_usec, &wishes, &wish_count, &err);
	is_late = verdict == NEAP_TICK_PUT_OFF;
	if (verdict == NEAP_TICK_WISHES) {
		verdict = judge(node, slot, wishes, wish_count, &files, &err);
		if (verdict != NEAP_TICK_WISHES)
			free(wishes);
	}
	slot->last_verdict = verdict;
	if (verdict == NEAP_TICK_WISHES) {
		neap_registry_hold_take(slot, wishes, wish_count);
		slot->wish_files = files;
		slot->stats.wishes += wish_count;
	}
	if (verdict == NEAP_TICK_ERROR || verdict == NEAP_TICK_WRONG ||
	    verdict == NEAP_TICK_BUDGET || (verdict == NEAP_TICK_PUT_OFF && !is_late))
		neap_log_from(&node->config.log, info.label, NEAP_LOG_ERROR,
			      "policy %s: %s", info.label, err.msg);
	if (!neap_registry_note(slot, verdict, &err, node->observe.unix_usec))
		return !is_late;
	neap_log_line(&node->config.log, NEAP_LOG_ERROR,
		      "policy %s is out of service; what it set is held", info.label);
	neap_node_note(&node->write, "note", "", info.label, err.msg, 0);
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
	neap_shadow_ask(slot->shadow, &node->observe.sample, slot->last_verdict,
			slot->wishes, slot->wish_count, left_usec);
}

/* All policies of a tick share one budget; shadows come last. A policy that was put off
 * is the first of the next tick. */
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
