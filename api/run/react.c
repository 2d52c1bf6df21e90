/* SPDX-License-Identifier: Apache-2.0
 *
 * Reactions between ticks: when a pressure trigger fires, its policy is asked and its
 * wishes are written at once. The wishes of all other policies stay. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/run/node_priv.h"
#include "api/run/triggers.h"
#include "engine/base/clock.h"

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
	int i;

	for (i = 0; i < node->config.tree_count; i++) {
		const struct neap_tree *tree = &node->config.trees[i];
		char dir[NEAP_PATH_MAX];

		if (neap_tree_class_dir(tree, qos, dir, sizeof(dir)))
			neap_triggers_want(node->react.triggers, policy, trigger, dir);
	}
}

static void want(struct neap_node *node, const char *policy,
		 const struct neap_policy_trigger *trigger)
{
	size_t i;

	neap_triggers_want(node->react.triggers, policy, trigger, NULL);
	if (strcmp(trigger->of, "node") == 0)
		neap_triggers_want(node->react.triggers, policy, trigger, "");
	else if (strcmp(trigger->of, "besteffort") == 0)
		want_class(node, policy, trigger, NEAP_KUBE_BESTEFFORT);
	else if (strcmp(trigger->of, "burstable") == 0)
		want_class(node, policy, trigger, NEAP_KUBE_BURSTABLE);
	else
		for (i = 0; i < node->observe.sample.workload_count; i++) {
			if (node->observe.views[i].is_critical)
				neap_triggers_want(node->react.triggers, policy, trigger,
						   node->observe.views[i].group);
		}
}

void neap_react_sync(struct neap_node *node)
{
	size_t i, j;

	if (node->react.triggers == NULL)
		return;
	neap_triggers_begin(node->react.triggers);
	/* Policies that are not asked need no events. */
	for (i = 0;
	     node->state != NODE_RELEASED && i < neap_registry_count(node->registry);
	     i++) {
		const struct neap_registry_slot *slot =
			neap_registry_get(node->registry, i);
		const struct neap_policy_trigger *triggers;
		struct neap_policy_info info;
		size_t count;

		if (slot->stats.is_failed || slot->is_elsewhere)
			continue;
		neap_policy_get_info(slot->policy, &info);
		count = neap_policy_triggers(slot->policy, &triggers);
		for (j = 0; j < count; j++)
			want(node, info.label, &triggers[j]);
	}
	neap_triggers_end(node->react.triggers);
}

/* --- one reaction --- */

/* Asks the policies whose triggers fired, once each. The first wake-up is put into
 * node->react.waked_usec. */
static void ask_fired(struct neap_node *node)
{
	int64_t left_usec = neap_kind_cycle_usec(neap_kind_find("qos"));
	size_t i;

	for (i = 0; i < neap_registry_count(node->registry); i++) {
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
			(void)neap_ask_policy(node, i, &left_usec);
			neap_ask_shadow(node, i, &left_usec);
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
	size_t i;
	const struct {
		const char *name;
		int64_t value;
	} rows[] = {
		{"reactions", (int64_t)reactions->count},
		{"reactions_written", (int64_t)reactions->written},
		{"reaction_usec_last", reactions->last_usec},
		{"reaction_usec_max", reactions->max_usec},
	};

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++)
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
