/* SPDX-License-Identifier: Apache-2.0 */
#include "lua/call/purse.h"

#include "lua/vm/budget.h"

/* The place of a kind in the table of kinds; behind them all that of the shadows. */
static size_t find_share(const struct neap_kind *kind)
{
	size_t i = 0;

	while (i < NEAP_PURSE_KINDS_MAX && (!kind || neap_kind_at(i) != kind))
		i++;
	return i;
}

void neap_purse_fill(struct neap_purse *purse)
{
	int64_t sum = neap_budget_scale(NEAP_PURSE_SHADOWS_USEC);

	*purse = (struct neap_purse){0};
	purse->shares_usec[NEAP_PURSE_KINDS_MAX] = sum;
	for (size_t i = 0; i < NEAP_PURSE_KINDS_MAX && neap_kind_at(i); i++) {
		if (!neap_kind_at(i)->is_place)
			continue;
		purse->shares_usec[i] =
			neap_budget_scale(neap_kind_at(i)->cycle_budget_usec);
		sum += purse->shares_usec[i];
	}
	purse->left_usec = sum;
}

int64_t neap_purse_left(const struct neap_purse *purse, const struct neap_kind *kind)
{
	int64_t share = purse->shares_usec[find_share(kind)];

	return share < purse->left_usec ? share : purse->left_usec;
}

void neap_purse_take(struct neap_purse *purse, const struct neap_kind *kind,
		     int64_t cpu_usec)
{
	purse->shares_usec[find_share(kind)] -= cpu_usec;
	purse->left_usec -= cpu_usec;
}
