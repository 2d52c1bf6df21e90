/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks in this order: evictor, further rules, budgets, limits, place, eviction. The
 * first refusal is the answer. Answers of the rules are kept per pod, so that a strategy
 * may check all pods first and ask for some of them later. */
#include "engine/deschedule/round.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

enum {
	STATE_ASKED = 1,     /* kept[] says whether it may leave */
	STATE_ASKED_NOW = 2, /* ... and STATE_STAYS what the last look said */
	STATE_STAYS = 4,
	STATE_EVICTED = 8,
	STATE_KEPT = 16 /* kept[] will not change */
};

static const char *const names[NEAP_ROUND_OUTCOMES] = {
	"evicted",    "already",         "kept",           "not-now",     "budget",
	"node-limit", "namespace-limit", "workload-limit", "total-limit", "no-place",
	"failed"};

const char *neap_round_outcome_name(enum neap_round_outcome outcome)
{
	return names[outcome];
}

int neap_round_new(const struct neap_round_args *args, struct neap_round **ret,
		   struct neap_error *err)
{
	const struct neap_world *world = args->world;
	struct neap_round *round = neap_alloc(sizeof(*round));
	int rc;

	if (!round)
		return neap_error_nomem(err);
	round->args = *args;
	round->states = neap_alloc_array(world->pod_count + 1, sizeof(*round->states));
	round->kept = neap_alloc_array(world->pod_count + 1, sizeof(*round->kept));
	round->budget_used =
		neap_alloc_array(world->budget_end + 1, sizeof(*round->budget_used));
	rc = round->states && round->kept && round->budget_used
		     ? neap_limit_counts_init(&round->counts, world, err)
		     : neap_error_nomem(err);
	if (rc == 0)
		rc = neap_round_set_nodes(round, NULL, false, err);
	if (rc < 0) {
		neap_round_free(round);
		return rc;
	}
	*ret = round;
	return 0;
}

void neap_round_free(struct neap_round *round)
{
	if (!round)
		return;
	neap_limit_counts_done(&round->counts);
	neap_arena_done(&round->arena);
	free(round->nodes);
	free(round->said);
	free(round->wishes);
	free(round->states);
	free(round->kept);
	free(round->budget_used);
	free(round);
}

int neap_round_set_nodes(struct neap_round *round, const struct neap_selector *selector,
			 bool only_ready, struct neap_error *err)
{
	const struct neap_world *world = round->args.world;

	if (!round->nodes)
		round->nodes = neap_alloc_array(world->node_count + 1,
						sizeof(struct neap_world_node *));
	if (!round->nodes)
		return neap_error_nomem(err);
	round->node_count = 0;
	for (size_t i = 0; i < world->node_count; i++) {
		struct neap_world_node *node = world->nodes[i];

		if ((!only_ready || node->is_ready) &&
		    (!selector || neap_object_is_selected(node->object, selector)))
			round->nodes[round->node_count++] = node;
	}
	return 0;
}

void neap_round_set_rules(struct neap_round *round, const struct neap_evictor *evictor,
			  const struct neap_round_rule *rules, size_t count)
{
	round->args.evictor = evictor;
	round->args.rules = rules;
	round->args.rule_count = count;
	for (size_t i = 0; i < round->args.world->pod_count; i++) {
		round->states[i] &= STATE_EVICTED;
		round->kept[i] = NULL;
	}
}

const char *neap_round_keep_text(struct neap_round *round, const char *text)
{
	const char *copy = *text ? neap_arena_strdup(&round->arena, text) : "";

	return copy ? copy : "(no memory for the reason)";
}

/* --- rules --- */

static const char *ask_kept(struct neap_round *round, const struct neap_world_pod *pod)
{
	const struct neap_round_args *args = &round->args;
	const char *why = NULL;

	if (args->evictor)
		why = neap_evictor_why_kept(args->evictor, args->world, args->now_usec,
					    pod);
	for (size_t i = 0; i < args->rule_count && !why; i++)
		if (args->rules[i].allow)
			why = args->rules[i].allow(args->rules[i].arg, round, pod);
	return why;
}

static const char *ask_again(struct neap_round *round, const struct neap_world_pod *pod)
{
	const struct neap_round_args *args = &round->args;
	const char *why = NULL;

	for (size_t i = 0; i < args->rule_count && !why; i++)
		if (args->rules[i].again)
			why = args->rules[i].again(args->rules[i].arg, round, pod);
	return why;
}

static const char *ask_now(struct neap_round *round, const struct neap_world_pod *pod)
{
	const struct neap_round_args *args = &round->args;
	const char *why = NULL;

	if (args->evictor)
		why = neap_evictor_why_not_now(args->evictor, args->world, pod);
	for (size_t i = 0; i < args->rule_count && !why; i++)
		if (args->rules[i].before)
			why = args->rules[i].before(args->rules[i].arg, round, pod);
	return why;
}

bool neap_round_may_leave(struct neap_round *round, const struct neap_world_pod *pod,
			  const char **ret_why)
{
	uint8_t *state = &round->states[pod->index];

	if (!(*state & STATE_ASKED)) {
		round->kept[pod->index] = ask_kept(round, pod);
		*state |=
			round->kept[pod->index] ? STATE_ASKED | STATE_KEPT : STATE_ASKED;
	}
	if (*state & STATE_STAYS) { /* kept[] holds what the last look said */
		if (ret_why)
			*ret_why = NULL;
		return true;
	}
	if (!(*state & STATE_KEPT))
		round->kept[pod->index] = ask_again(round, pod);
	if (ret_why)
		*ret_why = round->kept[pod->index];
	return !round->kept[pod->index];
}

bool neap_round_may_leave_now(struct neap_round *round, const struct neap_world_pod *pod,
			      const char **ret_why)
{
	uint8_t *state = &round->states[pod->index];

	if (!neap_round_may_leave(round, pod, ret_why))
		return false;
	if (!(*state & STATE_ASKED_NOW)) {
		const char *why = ask_now(round, pod);

		*state |= STATE_ASKED_NOW;
		if (why) {
			round->kept[pod->index] = why;
			*state |= STATE_STAYS;
		}
	}
	if (ret_why)
		*ret_why = round->kept[pod->index];
	return !(*state & STATE_STAYS);
}

bool neap_round_is_evicted(const struct neap_round *round,
			   const struct neap_world_pod *pod)
{
	return round->states[pod->index] & STATE_EVICTED;
}

/* --- one question --- */

/* As the eviction API answers. Budgets count pods that are ready; others use nothing
 * up. */
static bool has_budget_left(const struct neap_round *round,
			    const struct neap_world_pod *pod)
{
	const struct neap_world_budget *budget =
		neap_world_find_budgets(round->args.world, pod->pod->object->ns);
	bool is_ready = neap_world_is_pod_ready(pod);

	if (!neap_world_asks_budgets(pod))
		return true;
	for (; budget; budget = budget->next)
		if (neap_world_budget_takes(budget, pod) &&
		    (is_ready ? round->budget_used[budget->number] >= budget->allowed
			      : !budget->lets_unready))
			return false;
	return true;
}

static void use_budgets(struct neap_round *round, const struct neap_world_pod *pod,
			int count)
{
	const struct neap_world_budget *budget =
		neap_world_find_budgets(round->args.world, pod->pod->object->ns);

	if (!neap_world_asks_budgets(pod) || !neap_world_is_pod_ready(pod))
		return;
	for (; budget; budget = budget->next)
		if (neap_world_budget_takes(budget, pod))
			round->budget_used[budget->number] += count;
}

static enum neap_round_outcome limit_outcome(enum neap_limit limit)
{
	static const enum neap_round_outcome outcomes[] = {
		[NEAP_LIMIT_NONE] = NEAP_ROUND_EVICTED,
		[NEAP_LIMIT_NODE] = NEAP_ROUND_LIMIT_NODE,
		[NEAP_LIMIT_NAMESPACE] = NEAP_ROUND_LIMIT_NAMESPACE,
		[NEAP_LIMIT_WORKLOAD] = NEAP_ROUND_LIMIT_WORKLOAD,
		[NEAP_LIMIT_TOTAL] = NEAP_ROUND_LIMIT_TOTAL,
	};

	return outcomes[limit];
}

static const char *const limit_texts[NEAP_ROUND_OUTCOMES] = {
	[NEAP_ROUND_LIMIT_NODE] = "the limit of evictions for its node is reached",
	[NEAP_ROUND_LIMIT_NAMESPACE] =
		"the limit of evictions for its namespace is reached",
	[NEAP_ROUND_LIMIT_WORKLOAD] = "the limit of evictions for its owner is reached",
	[NEAP_ROUND_LIMIT_TOTAL] = "the limit of evictions of the round is reached",
};

/* Rules, budgets and limits. */
static bool ask_rules(struct neap_round *round, const struct neap_world_pod *pod,
		      struct neap_round_answer *ret)
{
	const char *why = NULL;

	if (neap_round_is_evicted(round, pod)) {
		ret->outcome = NEAP_ROUND_ALREADY;
		ret->reason = "it leaves already in this round";
	} else if (!neap_round_may_leave(round, pod, &why)) {
		ret->outcome = NEAP_ROUND_KEPT;
		ret->reason = why;
	} else if (!neap_round_may_leave_now(round, pod, &why)) {
		ret->outcome = NEAP_ROUND_NOT_NOW;
		ret->reason = why;
	} else if (round->args.honors_budgets && !has_budget_left(round, pod)) {
		ret->outcome = NEAP_ROUND_BUDGET;
		ret->reason = "its disruption budget allows no more";
	} else {
		ret->outcome = limit_outcome(
			neap_limits_find(&round->args.limits, &round->counts, pod));
		ret->reason = limit_texts[ret->outcome];
	}
	return ret->outcome == NEAP_ROUND_EVICTED;
}

bool neap_round_is_target(const struct neap_round *round, const char *node)
{
	for (size_t i = 0; i < round->target_count; i++)
		if (strcmp(round->targets[i]->name, node) == 0)
			return true;
	return !round->targets;
}

/* Place and way out. */
static int ask_outside(struct neap_round *round, const struct neap_world_pod *pod,
		       const char *strategy, const char *why,
		       struct neap_round_answer *ret)
{
	const struct neap_round_args *args = &round->args;
	char node[NEAP_ROUND_NODE] = "";
	struct neap_error err = {0};
	int rc = 0;

	if (args->place)
		rc = args->place(args->place_arg, pod, node, &err);
	if (rc == -NEAP_ENOMEM)
		return rc;
	if (rc == 0 && *node && !neap_round_is_target(round, node))
		rc = neap_error_set(&err, NEAP_ENOFIT,
				    "it would land on %s, where it is not to go", node);
	if (rc < 0) {
		ret->outcome = NEAP_ROUND_NO_PLACE;
		ret->reason = neap_round_keep_text(round, err.msg);
		return 0;
	}
	if (args->evict)
		rc = args->evict(args->evict_arg, pod, strategy, why, node, &err);
	if (rc == -NEAP_ENOMEM)
		return rc;
	if (rc < 0) {
		ret->outcome = NEAP_ROUND_FAILED;
		ret->reason = neap_round_keep_text(round, err.msg);
		return 0;
	}
	ret->node = neap_round_keep_text(round, node);
	return 0;
}

static int ask(struct neap_round *round, const struct neap_world_pod *pod,
	       const char *strategy, const char *why, struct neap_round_answer *ret,
	       struct neap_error *err)
{
	int rc;

	*ret = (struct neap_round_answer){.reason = "", .node = ""};
	if (!ask_rules(round, pod, ret))
		return 0;
	ret->reason = "";
	/* Before the way out: what fails behind it cannot be taken back. */
	rc = neap_limit_counts_add(&round->counts, pod, err);
	if (rc < 0)
		return rc;
	rc = ask_outside(round, pod, strategy, why, ret);
	if (rc < 0 || ret->outcome != NEAP_ROUND_EVICTED)
		neap_limit_counts_remove(&round->counts, pod);
	if (rc < 0)
		return neap_error_nomem(err);
	if (ret->outcome == NEAP_ROUND_EVICTED) {
		use_budgets(round, pod, 1);
		round->states[pod->index] |= STATE_EVICTED;
		round->evicted_count++;
	}
	return 0;
}

int neap_round_evict(struct neap_round *round, const struct neap_world_pod *pod,
		     const char *strategy, const char *why, struct neap_round_answer *ret,
		     struct neap_error *err)
{
	struct neap_round_said *said;
	int rc;

	if (round->said_count == NEAP_ROUND_ASKED_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "more than %d evictions were asked for in a round",
				      NEAP_ROUND_ASKED_MAX);
	if (!neap_grow(&round->said, round->said_count, &round->said_size,
		       sizeof(*round->said)))
		return neap_error_nomem(err);
	why = neap_round_keep_text(round, why);
	strategy = neap_round_keep_text(round, strategy);
	rc = ask(round, pod, strategy, why, ret, err);
	if (rc < 0)
		return rc;
	said = &round->said[round->said_count++];
	*said = (struct neap_round_said){pod, strategy, why, *ret, false};
	return 0;
}

void neap_round_take_back(struct neap_round *round, size_t from)
{
	for (size_t i = from; i < round->said_count; i++) {
		struct neap_round_said *said = &round->said[i];

		if (said->answer.outcome != NEAP_ROUND_EVICTED || said->is_taken_back)
			continue;
		said->is_taken_back = true;
		neap_limit_counts_remove(&round->counts, said->pod);
		use_budgets(round, said->pod, -1);
		round->states[said->pod->index] &= (uint8_t)~STATE_EVICTED;
		round->evicted_count--;
	}
}

int neap_round_save_answers(const struct neap_round *round,
			    struct neap_round_answers *ret, struct neap_error *err)
{
	size_t count = round->args.world->pod_count;

	ret->states = neap_alloc_array(count + 1, sizeof(*ret->states));
	ret->kept = neap_alloc_array(count + 1, sizeof(*ret->kept));
	if (!ret->states || !ret->kept) {
		free(ret->states);
		free(ret->kept);
		return neap_error_nomem(err);
	}
	memcpy(ret->states, round->states, count * sizeof(*ret->states));
	memcpy(ret->kept, round->kept, count * sizeof(*ret->kept));
	return 0;
}

void neap_round_restore_answers(struct neap_round *round,
				struct neap_round_answers *answers)
{
	size_t count = round->args.world->pod_count;

	memcpy(round->states, answers->states, count * sizeof(*answers->states));
	memcpy(round->kept, answers->kept, count * sizeof(*answers->kept));
	free(answers->states);
	free(answers->kept);
}

int neap_round_evict_to(struct neap_round *round, const struct neap_world_pod *pod,
			const char *strategy, const char *why,
			struct neap_world_node *const *targets, size_t target_count,
			struct neap_round_answer *ret, struct neap_error *err)
{
	int rc;

	round->targets = targets;
	round->target_count = target_count;
	rc = neap_round_evict(round, pod, strategy, why, ret, err);
	round->targets = NULL;
	round->target_count = 0;
	return rc;
}

int neap_round_add_wish(struct neap_round *round, const struct neap_round_wish *wish,
			struct neap_error *err)
{
	struct neap_round_wish *to;

	if (round->wish_count == NEAP_ROUND_ASKED_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "more than %d changes were asked for in a round",
				      NEAP_ROUND_ASKED_MAX);
	if (!neap_grow(&round->wishes, round->wish_count, &round->wish_size,
		       sizeof(*round->wishes)))
		return neap_error_nomem(err);
	to = &round->wishes[round->wish_count++];
	*to = *wish;
	to->strategy = neap_round_keep_text(round, wish->strategy);
	return 0;
}
