/* SPDX-License-Identifier: Apache-2.0
 *
 * The step budget of a decision. Clients control pods, their rules and what those are
 * matched against; each is bounded alone, but not their product. When the steps are used
 * up, the remaining nodes are refused, preferences are ignored, and preemption stops.
 * Steps are counted instead of timed, so that every machine decides the same. */
#include "engine/decide/decide_priv.h"

#define VALUES_A_STEP 8 /* texts that are compared one after the other */

bool neap_cycle_spend(struct neap_cycle *cycle, int64_t steps)
{
	cycle->steps -= steps;
	return cycle->steps >= 0;
}

int64_t neap_cost_of_term(const struct neap_term *term)
{
	int64_t sum = 0;

	for (size_t i = 0; i < term->count; i++)
		sum += 1 + (int64_t)term->requirements[i].value_count / VALUES_A_STEP;
	return sum;
}

int64_t neap_cost_of_terms(const struct neap_terms *terms)
{
	int64_t sum = (int64_t)terms->count;

	for (size_t i = 0; i < terms->count; i++)
		sum += neap_cost_of_term(&terms->terms[i]);
	return sum;
}

int64_t neap_cost_of_pod_term(const struct neap_pod_term *term)
{
	int64_t sum = 1 + (int64_t)term->namespace_count / VALUES_A_STEP;

	if (term->selector)
		sum += (int64_t)neap_selector_count(term->selector);
	if (term->namespace_selector)
		sum += (int64_t)neap_selector_count(term->namespace_selector);
	return sum;
}
