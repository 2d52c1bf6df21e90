/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks the feasible nodes, and scales raw scores to comparable points. */
#include <stdlib.h>

#include "engine/decide/decide_priv.h"

void neap_score_scale(int64_t *part, size_t count, int how)
{
	int64_t most = part[0], least = part[0];

	if (how == NEAP_SCORE_AS_IS)
		return;
	for (size_t i = 0; i < count; i++) {
		most = part[i] > most ? part[i] : most;
		least = part[i] < least ? part[i] : least;
	}
	for (size_t i = 0; i < count; i++) {
		if (how == NEAP_SCORE_SPAN) {
			part[i] = most == least ? 0
						: NEAP_SCORE_MAX * (part[i] - least) /
							  (most - least);
			continue;
		}
		/* Divisions are what takes time, and most may have none. */
		if (most && part[i])
			part[i] = NEAP_SCORE_MAX * part[i] / most;
		if (how == NEAP_SCORE_DOWN)
			part[i] = NEAP_SCORE_MAX - part[i];
	}
}

static bool is_better(const struct neap_cycle *cycle, size_t one, size_t other)
{
	const uint32_t *pods = cycle->columns->pods;

	if (cycle->scores[one] != cycle->scores[other])
		return cycle->scores[one] > cycle->scores[other];
	return pods[cycle->rows[one]] < pods[cycle->rows[other]];
}

size_t neap_cycle_pick(const struct neap_cycle *cycle)
{
	size_t best = 0;

	for (size_t i = 1; i < cycle->row_count; i++)
		if (is_better(cycle, i, best))
			best = i;
	return best;
}

size_t neap_decide_fitting(struct neap_decide *decide)
{
	return neap_decide_cycle(decide)->row_count;
}

/* Among equals the one examined first. */
static int by_rank(const void *one, const void *other, void *arg)
{
	const struct neap_cycle *cycle = arg;
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

	if (is_better(cycle, a, b))
		return -1;
	return is_better(cycle, b, a) || a > b ? 1 : -1;
}

/* The chosen one is not compared again: lifted placeholders are back on their nodes
 * now. */
void neap_decide_best(struct neap_decide *decide, uint32_t *ret)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);

	if (!cycle->row_count)
		return;
	for (size_t i = 0; i < cycle->row_count; i++)
		ret[i] = (uint32_t)i;
	ret[cycle->chosen] = 0;
	ret[0] = (uint32_t)cycle->chosen;
	qsort_r(ret + 1, cycle->row_count - 1, sizeof(*ret), by_rank, cycle);
	for (size_t i = 0; i < cycle->row_count; i++)
		ret[i] = cycle->rows[ret[i]];
}

/* --- the step budget of a decision --- */

/* Clients control pods, their rules and what those are matched against; each is bounded
 * alone, but not their product. When the steps are used up, the remaining nodes are
 * refused, preferences are ignored, and preemption stops. Steps are counted instead of
 * timed, so that every machine decides the same. */

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
