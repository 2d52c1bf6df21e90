/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies in one decision: which are excluded, how much of the budgets is left, which
 * reasons were given. */
#include "api/schedule/policies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "lua/call/purse.h"
#include "lua/place/place.h"
#include "lua/replay/decisions.h"
#include "lua/run/registry.h"
#include "lua/vm/budget.h"

#define POLICIES_MAX 64 /* of the registry */
/* A term costs some 100 ns a node; the most that a plan can have come to this. */
#define CURVE_NODE_USEC 5

_Static_assert(POLICIES_MAX *NEAP_PLACE_REASONS_MAX <= NEAP_MORE_REASONS_MAX,
	       "each policy has its reasons");

struct one {
	bool is_out;      /* of this decision */
	bool has_failed;  /* ... and not because it has nothing to say */
	bool has_refused; /* some node, in this decision */
	char name[48];    /* for its reasons */
	char from[64];    /* with its kind */
	struct neap_place_call call;
};

struct neap_schedule_policies {
	struct neap_schedule_policies_config config;
	struct neap_decide_more more;
	struct neap_place place;
	size_t count;
	struct one of[POLICIES_MAX]; /* by slot */
	struct neap_curve_score score;
	/* Of a block: rows not refused yet, their positions, and the answers. */
	uint32_t *rows, *places, *answers;
	size_t size;
	char text[NEAP_PLACE_REASON + 128];
};

static bool is_kind(const struct neap_registry_slot *slot, const struct neap_kind *kind)
{
	return neap_policy_kind(slot->policy) == kind && !slot->stats.is_failed;
}

/* --- one answer --- */

static void name_one(struct neap_schedule_policies *policies, size_t i)
{
	const struct neap_registry_slot *slot =
		neap_registry_get(policies->config.registry, i);
	struct one *one = &policies->of[i];
	struct neap_policy_info info;

	neap_policy_get_info(slot->policy, &info);
	(void)neap_strcopy(one->name, sizeof(one->name), info.name);
	(void)snprintf(one->from, sizeof(one->from), "%s/%s", info.kind, info.name);
}

/* Notes how it went; true: the answer counts. */
static bool note(struct neap_schedule_policies *policies, size_t i,
		 enum neap_tick_verdict verdict, const struct neap_error *err)
{
	struct neap_registry_slot *slot = neap_registry_get(policies->config.registry, i);
	struct neap_policy_info info;

	neap_policy_get_info(slot->policy, &info);
	policies->of[i].is_out = verdict != NEAP_TICK_WISHES;
	policies->of[i].has_failed = policies->of[i].is_out &&
				     verdict != NEAP_TICK_SKIPPED &&
				     verdict != NEAP_TICK_HOLD;
	if (verdict == NEAP_TICK_ERROR || verdict == NEAP_TICK_WRONG ||
	    verdict == NEAP_TICK_BUDGET)
		neap_log_from(policies->config.log, info.label, NEAP_LOG_WARN,
			      "policy %s: %s; %s/%s is placed without it", info.label,
			      err->msg, policies->place.pod->object->ns,
			      policies->place.pod->object->name);
	if (neap_registry_note(slot, verdict, err, policies->place.now_usec)) {
		neap_policy_get_info(slot->policy, &info);
		neap_log_line(policies->config.log, NEAP_LOG_ERROR,
			      "policy %s is out of service: %s", info.label,
			      neap_policy_kind(slot->policy)->failsafe);
		if (policies->config.failed)
			policies->config.failed(policies->config.arg, info.kind,
						info.name, err->msg);
	}
	return verdict == NEAP_TICK_WISHES;
}

/* --- time --- */

/* One of this kind is asked; NULL: a shadow. */
struct turn {
	const struct neap_kind *kind;
	int64_t had_usec, left_usec;
};

static struct turn turn_begin(const struct neap_schedule_policies *policies,
			      const struct neap_kind *kind)
{
	int64_t left = neap_purse_left(policies->config.purse, kind);

	return (struct turn){kind, left, left};
}

static void turn_end(struct neap_schedule_policies *policies, const struct turn *turn)
{
	neap_purse_take(policies->config.purse, turn->kind,
			turn->had_usec - turn->left_usec);
}

/* --- filters --- */

static bool begin(void *arg, struct neap_cluster *cluster, const struct neap_pod *pod,
		  int64_t now_usec, bool is_choice)
{
	struct neap_schedule_policies *policies = arg;
	const struct neap_kind *filter = neap_kind_find("filter");
	size_t count = neap_registry_count(policies->config.registry);
	bool has_filters = false;

	policies->place = (struct neap_place){cluster, pod, now_usec};
	policies->count = count < POLICIES_MAX ? count : POLICIES_MAX;
	for (size_t i = 0; i < policies->count; i++) {
		const struct neap_registry_slot *slot =
			neap_registry_get(policies->config.registry, i);

		policies->of[i].is_out = policies->of[i].has_failed = false;
		policies->of[i].has_refused = false;
		policies->of[i].call.is_open = false;
		policies->of[i].call.reason_count = 0;
		has_filters = has_filters || is_kind(slot, filter);
		if (slot->shadow)
			neap_shadow_begin(slot->shadow);
	}
	/* Then it is asked about rows, whether there are filters or not. Who only asks
	 * is not recorded: readers could fill the record with it. */
	return (is_choice && policies->config.decisions &&
		neap_decisions_begin(policies->config.decisions, cluster, pod,
				     now_usec)) ||
	       has_filters;
}

static bool make_room(struct neap_schedule_policies *policies, size_t count)
{
	if (count <= policies->size)
		return true;
	free(policies->rows);
	free(policies->places);
	free(policies->answers);
	policies->rows = neap_alloc_array(count * 2, sizeof(*policies->rows));
	policies->places = neap_alloc_array(count * 2, sizeof(*policies->places));
	policies->answers = neap_alloc_array(count * 2, sizeof(*policies->answers));
	policies->size =
		policies->rows && policies->places && policies->answers ? count * 2 : 0;
	return policies->size > 0;
}

/* Asks one policy about the remaining rows; returns how many remain then. */
static size_t ask(struct neap_schedule_policies *policies, size_t i, size_t left,
		  bool is_trial, uint32_t *ret)
{
	struct neap_registry_slot *slot = neap_registry_get(policies->config.registry, i);
	struct one *one = &policies->of[i];
	struct neap_error err = {0};
	enum neap_tick_verdict verdict;
	struct turn turn;
	size_t kept = 0;

	name_one(policies, i);
	turn = turn_begin(policies, neap_policy_kind(slot->policy));
	verdict = neap_policy_allow_within(slot->policy, &policies->place, &one->call,
					   policies->rows, left, &turn.left_usec,
					   policies->answers, &err);
	turn_end(policies, &turn);
	/* A trial is not a decision. */
	turn = turn_begin(policies, NULL);
	if (slot->shadow && !is_trial)
		neap_shadow_allow(slot->shadow, &policies->place, verdict, &one->call,
				  policies->answers, policies->rows, left,
				  &turn.left_usec);
	turn_end(policies, &turn);
	if (!note(policies, i, verdict, &err))
		return left;
	for (size_t n = 0; n < left; n++) {
		if (policies->answers[n]) {
			ret[policies->places[n]] =
				(uint32_t)(i * NEAP_PLACE_REASONS_MAX) +
				policies->answers[n];
			one->has_refused = true;
			continue;
		}
		policies->rows[kept] = policies->rows[n];
		policies->places[kept++] = policies->places[n];
	}
	return kept;
}

static bool filter(void *arg, const uint32_t *rows, size_t count, bool is_trial,
		   uint32_t *ret)
{
	struct neap_schedule_policies *policies = arg;
	const struct neap_kind *kind = neap_kind_find("filter");
	struct neap_decisions *decisions = policies->config.decisions;
	size_t left = count;

	if (decisions && !is_trial)
		neap_decisions_rows(decisions, rows, count);
	memset(ret, 0, count * sizeof(*ret));
	if (!make_room(policies, count))
		return !is_trial; /* short of memory: no policy is called */
	memcpy(policies->rows, rows, count * sizeof(*rows));
	for (size_t i = 0; i < count; i++)
		policies->places[i] = (uint32_t)i;
	for (size_t i = 0; i < policies->count && left; i++) {
		struct one *one = &policies->of[i];

		if (one->is_out ||
		    !is_kind(neap_registry_get(policies->config.registry, i), kind))
			continue;
		left = ask(policies, i, left, is_trial, ret);
		/* What it refused before is void; in a trial there is nothing before. */
		if (!one->has_failed || (!is_trial && !one->has_refused))
			continue;
		if (decisions && !is_trial)
			neap_decisions_again(decisions);
		return false;
	}
	return true;
}

/* Whose reason it is; NULL: nobody's. */
static struct one *reason_of(struct neap_schedule_policies *policies, uint32_t number,
			     size_t *ret_index)
{
	size_t i = (number - 1) / NEAP_PLACE_REASONS_MAX;

	*ret_index = (number - 1) % NEAP_PLACE_REASONS_MAX;
	return number && i < policies->count &&
			       *ret_index < policies->of[i].call.reason_count
		       ? &policies->of[i]
		       : NULL;
}

static const char *reason_from(void *arg, uint32_t number)
{
	size_t n;
	const struct one *one = reason_of(arg, number, &n);

	return one ? one->from : "filter";
}

static const char *reason(void *arg, uint32_t number)
{
	struct neap_schedule_policies *policies = arg;
	size_t n;
	const struct one *one = reason_of(policies, number, &n);

	if (!one)
		return "node(s) not allowed by a policy";
	(void)snprintf(policies->text, sizeof(policies->text),
		       "node(s) not allowed by policy %s: %s", one->name,
		       one->call.reasons[n]);
	return policies->text;
}

/* --- scores --- */

/* The slot of the index-th score policy. */
static bool find_score(const struct neap_schedule_policies *policies, size_t index,
		       size_t *ret)
{
	const struct neap_kind *kind = neap_kind_find("score");

	for (size_t i = 0; i < policies->count; i++) {
		const struct neap_registry_slot *slot =
			neap_registry_get(policies->config.registry, i);

		/* One that fails keeps its number until the decision is made. */
		if (neap_policy_kind(slot->policy) != kind || index--)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

/* Evaluates the curves over all nodes, as work of the policy: its budget is that of a
 * call plus one per node, including nodes that are only counted, within what is left. */
static enum neap_tick_verdict weigh(struct neap_schedule_policies *policies,
				    struct neap_registry_slot *slot, const uint32_t *rows,
				    size_t count, int64_t *left_usec, int64_t *ret,
				    struct neap_error *err)
{
	size_t looks = neap_curve_counted(&policies->score) *
		       neap_cluster_settle(policies->place.cluster)->rows;
	int64_t most =
		neap_budget_scale(neap_policy_kind(slot->policy)->call_budget_usec +
				  (int64_t)(count + looks) * CURVE_NODE_USEC);
	int64_t had = most < *left_usec ? most : *left_usec, left = had;
	size_t done = neap_place_weigh(&policies->score, &policies->place, rows, count,
				       &left, ret);
	int64_t took = had - left;

	slot->stats.cpu_usec += took;
	*left_usec -= took;
	if (took > most) {
		(void)neap_error_set(
			err, NEAP_EBUDGET,
			"its %zu terms took %lld us of CPU time for %zu nodes; at most "
			"%lld us are allowed",
			policies->score.count, (long long)took, done, (long long)most);
		return NEAP_TICK_BUDGET;
	}
	if (done == count)
		return NEAP_TICK_WISHES;
	(void)neap_error_set(err, NEAP_EUNAVAILABLE,
			     "put off: its %zu terms took what was left of the CPU time "
			     "of this decision, for %zu of %zu nodes",
			     policies->score.count, done, count);
	return NEAP_TICK_PUT_OFF;
}

/* For a score: the plan is not evaluated yet. */
static void ask_shadow(struct neap_schedule_policies *policies,
		       struct neap_registry_slot *slot, enum neap_tick_verdict verdict,
		       const uint32_t *rows, size_t count)
{
	struct turn turn = turn_begin(policies, NULL);

	neap_shadow_plan(slot->shadow, &policies->place, verdict, &policies->score, rows,
			 count, &turn.left_usec);
	turn_end(policies, &turn);
}

static int score(void *arg, size_t index, const uint32_t *rows, size_t count,
		 int64_t *ret)
{
	struct neap_schedule_policies *policies = arg;
	struct neap_error err = {0};
	struct neap_registry_slot *slot;
	enum neap_tick_verdict verdict;
	struct turn turn;
	size_t i;

	/* Rows that nobody filters. */
	if (index == 0 && policies->config.decisions &&
	    !neap_decisions_has_rows(policies->config.decisions))
		neap_decisions_rows(policies->config.decisions, rows, count);
	if (!find_score(policies, index, &i))
		return -1;
	slot = neap_registry_get(policies->config.registry, i);
	if (slot->stats.is_failed)
		return 0;
	turn = turn_begin(policies, neap_policy_kind(slot->policy));
	verdict = neap_policy_plan_within(slot->policy, &policies->place, &turn.left_usec,
					  &policies->score, &err);
	if (slot->shadow)
		ask_shadow(policies, slot, verdict, rows, count);
	if (verdict == NEAP_TICK_WISHES)
		verdict = weigh(policies, slot, rows, count, &turn.left_usec, ret, &err);
	turn_end(policies, &turn);
	if (!note(policies, i, verdict, &err))
		return 0;
	return policies->score.weight;
}

static const char *score_from(void *arg, size_t index)
{
	struct neap_schedule_policies *policies = arg;
	size_t i;

	if (!find_score(policies, index, &i))
		return "score";
	name_one(policies, i);
	return policies->of[i].from;
}

static void end(void *arg)
{
	struct neap_schedule_policies *policies = arg;

	if (policies->config.decisions)
		neap_decisions_end(policies->config.decisions);
}

/* --- all of them --- */

struct neap_schedule_policies *
neap_schedule_policies_new(const struct neap_schedule_policies_config *config)
{
	struct neap_schedule_policies *policies = neap_alloc(sizeof(*policies));

	if (!policies)
		return NULL;
	policies->config = *config;
	policies->more = (struct neap_decide_more){
		policies, begin, filter, reason, reason_from, score_from, score, end};
	return policies;
}

void neap_schedule_policies_free(struct neap_schedule_policies *policies)
{
	if (!policies)
		return;
	free(policies->rows);
	free(policies->places);
	free(policies->answers);
	free(policies);
}

const struct neap_decide_more *
neap_schedule_policies_more(const struct neap_schedule_policies *policies)
{
	return &policies->more;
}
