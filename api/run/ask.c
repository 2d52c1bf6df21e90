/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the policies of kind qos, at every tick and for triggers in between. Results are
 * checked before they are kept. A fault counts against the policy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/run/node_priv.h"
#include "api/run/triggers.h"
#include "engine/base/clock.h"
#include "engine/machine/path.h"
#include "lua/call/result.h"
#include "lua/vm/budget.h"

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

/* The budget of a round of calls, scaled for this machine. */
static int64_t cycle_usec(const struct neap_node *node)
{
	return neap_budget_scale(node->kind->cycle_budget_usec);
}

/* The last plan of its wishes took many times the time that all policies of a tick
 * together may take. Most of that is reading and opening kernel files, some microseconds
 * each. */
static bool is_plan_spent(const struct neap_node *node, struct neap_registry_slot *slot,
			  struct neap_error *err)
{
	int64_t most = PLAN_CYCLES * cycle_usec(node);
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
static bool ask_policy(struct neap_node *node, size_t index, int64_t *left_usec)
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
		is_plan_spent(node, slot, &err)
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

static void ask_shadow(struct neap_node *node, size_t index, int64_t *left_usec)
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
	int64_t left_usec = cycle_usec(node);

	node->ask_first = 0;
	for (i = 0; i < count; i++) {
		size_t index = (first + i) % count;

		if (!ask_policy(node, index, &left_usec) && node->ask_first == 0)
			node->ask_first = index;
	}
	for (i = 0; i < count; i++)
		ask_shadow(node, i, &left_usec);
	neap_budget_rest();
}

/* At most 20 reactions in any second: four at once, and 16 a second on average. More
 * looks would not help a machine in trouble. */
#define SPACING_USEC 62500
#define BURST        4
/* A younger sample is used again. This is also the shortest span for rates: CPU time over
 * less says more about the scheduler's slices than about the load. */
#define REUSE_USEC 50000

/* --- triggers --- */

static void opened(struct neap_node *node, void *arg,
		   const struct neap_hand_answer *answer)
{
	neap_triggers_opened(node->react.triggers, (uint64_t)(uintptr_t)arg, answer->fd,
			     answer->errnum, answer->text);
}

static int open_trigger(void *arg, uint64_t id, const char *group, const char *value,
			struct neap_error *err)
{
	struct neap_node *node = arg;
	struct neap_hand_request request = {
		.op = NEAP_HAND_TRIGGER, .group = group, .value = value};
	struct node_pending pending = {.answered = opened, .arg = (void *)(uintptr_t)id};

	return neap_node_send(&node->write, &request, &pending, err);
}

/* Time until the rate limit allows the next reaction; 0 or less: now. */
static int64_t time_left(const struct neap_node *node, int64_t now_usec)
{
	return node->react.paced_usec - (BURST - 1) * SPACING_USEC - now_usec;
}

/* Events of one turn of the loop are one reaction, and so are those of a pause before
 * it. */
static void fired(void *arg)
{
	struct neap_node *node = arg;
	int64_t wait = time_left(node, neap_clock_usec(CLOCK_MONOTONIC));

	node->config.loop.wake(node->config.loop.arg, wait > 0 ? wait : 0);
}

int neap_react_open(struct neap_node *node, struct neap_error *err)
{
	struct neap_triggers_config config = {.loop = node->config.loop,
					      .open = open_trigger,
					      .fired = fired,
					      .arg = node};

	if (config.loop.watch == NULL)
		return 0;
	node->react.triggers = neap_triggers_new(&config);
	return node->react.triggers == NULL ? neap_error_nomem(err) : 0;
}

static void want_class(struct neap_node *node, const char *policy,
		       const struct neap_policy_trigger *trigger, enum neap_kube_qos qos)
{
	for (int i = 0; i < node->config.tree_count; i++) {
		const struct neap_tree *tree = &node->config.trees[i];
		char dir[NEAP_PATH_MAX];

		if (neap_tree_class_dir(tree, qos, dir, sizeof(dir)))
			neap_triggers_want(node->react.triggers, policy, trigger, dir);
	}
}

static void want(struct neap_node *node, const char *policy,
		 const struct neap_policy_trigger *trigger)
{
	neap_triggers_want(node->react.triggers, policy, trigger, NULL);
	if (strcmp(trigger->of, "node") == 0)
		neap_triggers_want(node->react.triggers, policy, trigger, "");
	else if (strcmp(trigger->of, "besteffort") == 0)
		want_class(node, policy, trigger, NEAP_KUBE_BESTEFFORT);
	else if (strcmp(trigger->of, "burstable") == 0)
		want_class(node, policy, trigger, NEAP_KUBE_BURSTABLE);
	else
		for (size_t i = 0; i < node->observe.sample.workload_count; i++) {
			if (node->observe.views[i].is_critical)
				neap_triggers_want(node->react.triggers, policy, trigger,
						   node->observe.views[i].group);
		}
}

void neap_react_sync(struct neap_node *node)
{
	if (node->react.triggers == NULL)
		return;
	neap_triggers_begin(node->react.triggers);
	/* Policies that are not asked need no events. */
	for (size_t i = 0;
	     node->state != NODE_RELEASED && i < neap_registry_count(node->registry);
	     i++) {
		const struct neap_registry_slot *slot =
			neap_registry_get(node->registry, i);
		struct neap_policy_info info;

		if (slot->stats.is_failed || slot->is_elsewhere)
			continue;
		neap_policy_get_info(slot->policy, &info);
		for (size_t j = 0; j < info.trigger_count; j++)
			want(node, info.label, &info.triggers[j]);
	}
	neap_triggers_end(node->react.triggers);
}

/* --- one reaction --- */

/* Asks the policies whose triggers fired, once each. The first wake-up is put into
 * node->react.waked_usec. */
static void ask_fired(struct neap_node *node)
{
	int64_t left_usec = cycle_usec(node);

	for (size_t i = 0; i < neap_registry_count(node->registry); i++) {
		struct neap_registry_slot *slot = neap_registry_get(node->registry, i);

		for (;;) {
			struct neap_policy_info info;
			int64_t waked;

			neap_policy_get_info(slot->policy, &info);
			node->observe.sample.trigger = neap_triggers_fired(
				node->react.triggers, info.label, &waked);
			if (node->observe.sample.trigger == NULL)
				break;
			if (node->react.waked_usec == 0 || waked < node->react.waked_usec)
				node->react.waked_usec = waked;
			if (node->state == NODE_RELEASED)
				continue;
			(void)ask_policy(node, i, &left_usec);
			ask_shadow(node, i, &left_usec);
		}
	}
	node->observe.sample.trigger = NULL;
}

static int look(struct neap_node *node, struct neap_error *err)
{
	int rc = 0;

	if (node->observe.mono_usec - node->observe.looked_usec >= REUSE_USEC) {
		node->observe.is_reaction = true;
		rc = neap_observe(&node->observe, err);
		node->observe.is_reaction = false;
		return rc;
	}
	node->observe.sample.now_unix = node->observe.unix_usec / 1000000;
	node->observe.sample.mono_usec = node->observe.mono_usec;
	return 0;
}

void neap_node_react(struct neap_node *node, int64_t mono_usec, int64_t unix_usec)
{
	struct neap_error err;

	if (!node->is_open || node->react.triggers == NULL ||
	    !neap_triggers_has_fired(node->react.triggers))
		return;
	if (time_left(node, mono_usec) > 0) {
		fired(node);
		return;
	}
	if (node->react.paced_usec < mono_usec)
		node->react.paced_usec = mono_usec;
	node->react.paced_usec += SPACING_USEC;
	node->react.reactions.count++;
	node->observe.ticks++;
	node->observe.mono_usec = mono_usec;
	node->observe.unix_usec = unix_usec;
	if (node->state != NODE_WATCHING)
		node->is_frozen = access(node->config.freeze_file, F_OK) == 0;
	if (look(node, &err) < 0)
		neap_log_line(&node->config.log, NEAP_LOG_ERROR, "reaction: %s", err.msg);
	/* Policies are asked also after a failed look: events must not wait, and a policy
	 * whose needs are missing is skipped. */
	ask_fired(node);
	node->react.is_plan_owed = node->write.plan_inflight > 0;
	neap_plan_and_write(node);
	if (node->write.plan_inflight == 0)
		node->react.waked_usec = 0; /* there was nothing to write */
	neap_node_flush(&node->write);
}

static void note_time(struct node_reactions *reactions, int64_t usec)
{
	reactions->last_usec = usec;
	if (usec > reactions->max_usec)
		reactions->max_usec = usec;
	reactions->recent_usec[reactions->written++ % NODE_REACTIONS_KEPT] =
		usec < INT32_MAX ? (int32_t)usec : INT32_MAX;
}

/* The hand has done all requests: a reaction ends, or starts if the hand was busy with an
 * earlier plan. */
void neap_react_written(struct neap_node *node)
{
	if (node->write.plan_inflight > 0)
		return;
	if (node->react.is_plan_owed) {
		node->react.is_plan_owed = false;
		neap_plan_and_write(node);
		if (node->write.plan_inflight > 0)
			return;
	} else if (node->react.waked_usec != 0) {
		note_time(&node->react.reactions,
			  neap_clock_usec(CLOCK_MONOTONIC) - node->react.waked_usec);
	}
	node->react.waked_usec = 0;
}

/* --- report --- */

static int by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

void neap_react_report(const struct neap_node *node, json_t *out)
{
	const struct node_reactions *reactions = &node->react.reactions;
	int32_t sorted[NODE_REACTIONS_KEPT];
	size_t count = reactions->written < NODE_REACTIONS_KEPT
			       ? (size_t)reactions->written
			       : NODE_REACTIONS_KEPT;
	const struct {
		const char *name;
		int64_t value;
	} rows[] = {
		{"reactions", (int64_t)reactions->count},
		{"reactions_written", (int64_t)reactions->written},
		{"reaction_usec_last", reactions->last_usec},
		{"reaction_usec_max", reactions->max_usec},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		(void)json_object_set_new(out, rows[i].name, json_integer(rows[i].value));
	if (count == 0)
		return;
	memcpy(sorted, reactions->recent_usec, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_number);
	(void)json_object_set_new(out, "reaction_usec_p50",
				  json_integer(sorted[(count - 1) / 2]));
	(void)json_object_set_new(out, "reaction_usec_p99",
				  json_integer(sorted[(count * 99 + 99) / 100 - 1]));
}
