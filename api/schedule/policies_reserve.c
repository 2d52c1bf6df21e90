/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies of kind reservation in one decision: which are asked, how much of the budget
 * is left, which failed. The registry counts decisions as calls, because one decision may
 * offer thousands of reservations. */
#include "api/schedule/policies_reserve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "lua/call/purse.h"
#include "lua/replay/decisions.h"
#include "lua/reserve/reserve.h"
#include "lua/run/registry.h"

#define POLICIES_MAX 64 /* of the registry */

struct one {
	size_t slot;
	bool is_noted;     /* a good answer, in this decision */
	int faults_before; /* ... in a row, before that one */
};

struct neap_policies_reserve {
	struct neap_policies_reserve_config config;
	struct neap_reserve_matcher matcher;
	struct neap_place_pod pod;
	bool has_failed; /* somebody, in this decision: nobody is asked any more */
	bool is_replaced;
	bool is_recorded;
	struct one of[POLICIES_MAX]; /* the policies to ask, in order */
	size_t count;
	struct neap_reserve_pair pairs[NEAP_RESERVE_PAIRS_MAX];
	size_t pair_count;
	char reason[NEAP_PLACE_REASON + 64];
};

static struct neap_registry_slot *slot_of(const struct neap_policies_reserve *policies,
					  const struct one *one)
{
	return neap_registry_get(policies->config.registry, one->slot);
}

static int64_t left_of(const struct neap_policies_reserve *policies,
		       const struct neap_registry_slot *slot)
{
	return neap_purse_left(policies->config.purse, neap_policy_kind(slot->policy));
}

static void take(struct neap_policies_reserve *policies,
		 const struct neap_registry_slot *slot, int64_t cpu_usec)
{
	neap_purse_take(policies->config.purse, neap_policy_kind(slot->policy), cpu_usec);
}

/* --- one answer --- */

static void tell_failed(struct neap_policies_reserve *policies,
			struct neap_registry_slot *slot, enum neap_tick_verdict verdict,
			const struct neap_error *err)
{
	const struct neap_object *pod = policies->pod.pod->object;
	struct neap_policy_info info;

	policies->has_failed = true;
	neap_policy_get_info(slot->policy, &info);
	neap_log_from(policies->config.log, info.label, NEAP_LOG_WARN,
		      "policy %s: %s; owners say which reservations %s/%s uses",
		      info.label, err->msg, pod->ns, pod->name);
	if (policies->config.failed)
		policies->config.failed(policies->config.arg, policies->pod.pod,
					info.label, err->msg);
	if (!neap_registry_note(slot, verdict, err, policies->pod.now_usec))
		return;
	neap_policy_get_info(slot->policy, &info);
	neap_log_line(policies->config.log, NEAP_LOG_ERROR,
		      "policy %s is out of service: %s", info.label,
		      neap_policy_kind(slot->policy)->failsafe);
	if (policies->config.out_of_service)
		policies->config.out_of_service(policies->config.arg, info.kind,
						info.name, err->msg);
}

/* Notes how it went; false: it failed. */
static bool note(struct neap_policies_reserve *policies, struct one *one,
		 enum neap_tick_verdict verdict, const struct neap_error *err)
{
	struct neap_registry_slot *slot = slot_of(policies, one);

	if (verdict != NEAP_TICK_WISHES && verdict != NEAP_TICK_HOLD &&
	    verdict != NEAP_TICK_SKIPPED) {
		/* Answers of a decision that it failed in end no row of faults. */
		if (one->is_noted)
			slot->stats.faults_in_row = one->faults_before;
		tell_failed(policies, slot, verdict, err);
		return false;
	}
	if (one->is_noted || verdict == NEAP_TICK_SKIPPED)
		return true;
	one->is_noted = true;
	one->faults_before = slot->stats.faults_in_row;
	(void)neap_registry_note(slot, verdict, err, policies->pod.now_usec);
	return true;
}

/* --- a decision begins --- */

static void add_pairs(struct neap_policies_reserve *policies,
		      const struct neap_policy *policy)
{
	size_t count;
	const struct neap_reserve_pair *pairs = neap_policy_pairs(policy, &count);

	/* Pairs without room here are compared with each offer anyway: these only save
	 * offers. */
	for (size_t i = 0; i < count && policies->pair_count < NEAP_RESERVE_PAIRS_MAX;
	     i++)
		policies->pairs[policies->pair_count++] = pairs[i];
}

static void begin_one(struct neap_policies_reserve *policies, size_t i)
{
	struct neap_registry_slot *slot = neap_registry_get(policies->config.registry, i);
	struct neap_error err = {0};
	enum neap_tick_verdict verdict;

	if (neap_policy_kind(slot->policy) != neap_kind_find("reservation") ||
	    slot->stats.is_failed)
		return;
	verdict = neap_policy_begin_offers(slot->policy, &policies->pod, &err);
	if (verdict == NEAP_TICK_SKIPPED) {
		(void)neap_registry_note(slot, verdict, &err, policies->pod.now_usec);
		return;
	}
	if (verdict != NEAP_TICK_WISHES) {
		tell_failed(policies, slot, verdict, &err);
		return;
	}
	policies->of[policies->count++] = (struct one){.slot = i};
	if (slot->shadow)
		neap_shadow_begin_offers(slot->shadow, &policies->pod);
	if (neap_policy_replaces_owners(slot->policy))
		policies->is_replaced = true;
	add_pairs(policies, slot->policy);
}

static void begin(void *arg, const struct neap_resources *resources,
		  const struct neap_pod *pod, int64_t now_usec, bool is_choice,
		  struct neap_reserve_asked *ret)
{
	struct neap_policies_reserve *policies = arg;
	size_t count = neap_registry_count(policies->config.registry);

	*ret = (struct neap_reserve_asked){.rule = NEAP_RESERVE_BY_OWNERS};
	policies->pod = (struct neap_place_pod){pod, resources, now_usec};
	policies->has_failed = policies->is_replaced = policies->is_recorded = false;
	policies->count = policies->pair_count = 0;
	for (size_t i = 0; i < count && i < POLICIES_MAX && !policies->has_failed; i++)
		begin_one(policies, i);
	if (!policies->count || policies->has_failed)
		return;
	policies->is_recorded = is_choice && policies->config.decisions;
	if (policies->is_recorded)
		neap_decisions_offers(policies->config.decisions, pod, now_usec);
	ret->rule = policies->is_replaced ? NEAP_RESERVE_REPLACED : NEAP_RESERVE_NARROWED;
	ret->pairs = policies->pairs;
	ret->pair_count = policies->pair_count;
	for (size_t i = 0; i < policies->count; i++)
		if (neap_policy_has_rank(slot_of(policies, &policies->of[i])->policy))
			ret->has_rank = true;
}

/* --- match --- */

static void set_reason(struct neap_policies_reserve *policies,
		       const struct neap_registry_slot *slot,
		       struct neap_reserve_verdict *ret)
{
	struct neap_policy_info info;

	neap_policy_get_info(slot->policy, &info);
	(void)snprintf(policies->reason, sizeof(policies->reason), "policy %s: %s",
		       info.name, ret->reason ? ret->reason : "no reason given");
	ret->reason = policies->reason;
}

/* The first no ends it. Of several that may change their mind the first to do so
 * counts. */
static bool match(void *arg, const struct neap_reserve_offer *offer,
		  struct neap_reserve_verdict *ret)
{
	struct neap_policies_reserve *policies = arg;
	bool has_replacer = false; /* and it has said something */
	int64_t again_usec = 0;

	if (policies->has_failed)
		return false;
	if (policies->is_recorded)
		neap_decisions_offer(policies->config.decisions, offer);
	for (size_t i = 0; i < policies->count; i++) {
		struct one *one = &policies->of[i];
		struct neap_registry_slot *slot = slot_of(policies, one);
		struct neap_reserve_verdict verdict = {0};
		struct neap_error err = {0};
		int64_t had = left_of(policies, slot), left = had;
		enum neap_tick_verdict how = neap_policy_match_within(
			slot->policy, offer, &left, &verdict, &err);

		take(policies, slot, had - left);
		left = had = neap_purse_left(policies->config.purse, NULL);
		if (slot->shadow)
			neap_shadow_match(slot->shadow, offer, how, &verdict, &left);
		neap_purse_take(policies->config.purse, NULL, had - left);
		if (!note(policies, one, how, &err))
			return false;
		if (how == NEAP_TICK_SKIPPED)
			continue;
		if (!verdict.is_open) {
			set_reason(policies, slot, &verdict);
			*ret = verdict;
			return true;
		}
		has_replacer = has_replacer || neap_policy_replaces_owners(slot->policy);
		if (verdict.again_usec &&
		    (!again_usec || verdict.again_usec < again_usec))
			again_usec = verdict.again_usec;
	}
	*ret = (struct neap_reserve_verdict){.is_open = true, .again_usec = again_usec};
	/* One that misses something of this reservation does not decide about it. */
	if (policies->is_replaced && !has_replacer && !offer->is_owner) {
		ret->is_open = false;
		ret->reason = "its owners do not take the pod";
	}
	return true;
}

/* --- rank --- */

static int rank(void *arg, const struct neap_reserve_offer *offer)
{
	struct neap_policies_reserve *policies = arg;

	for (size_t i = 0; i < policies->count && !policies->has_failed; i++) {
		struct one *one = &policies->of[i];
		struct neap_registry_slot *slot = slot_of(policies, one);
		struct neap_error err = {0};
		enum neap_tick_verdict how;
		int64_t had, left;
		int ret = -1;

		if (!neap_policy_has_rank(slot->policy))
			continue;
		had = left = left_of(policies, slot);
		how = neap_policy_rank_within(slot->policy, offer, &left, &ret, &err);
		take(policies, slot, had - left);
		left = had = neap_purse_left(policies->config.purse, NULL);
		if (slot->shadow)
			neap_shadow_rank(slot->shadow, offer, how, ret, &left);
		neap_purse_take(policies->config.purse, NULL, had - left);
		return note(policies, one, how, &err) ? ret : -1;
	}
	return -1;
}

/* --- all of them --- */

struct neap_policies_reserve *
neap_policies_reserve_new(const struct neap_policies_reserve_config *config)
{
	struct neap_policies_reserve *policies = neap_alloc(sizeof(*policies));

	if (!policies)
		return NULL;
	policies->config = *config;
	policies->matcher = (struct neap_reserve_matcher){policies, begin, match, rank};
	return policies;
}

void neap_policies_reserve_free(struct neap_policies_reserve *policies)
{
	free(policies);
}

const struct neap_reserve_matcher *
neap_policies_reserve_matcher(const struct neap_policies_reserve *policies)
{
	return &policies->matcher;
}
