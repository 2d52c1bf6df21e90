/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU time that policies have for one question about a pod, however many decisions its answer takes: where it goes,
 * which node can give what it wants, who would have to go for it. Each kind has a share, so that none uses up what the
 * others are there for; and all of them have one sum, the shares together, from which is also taken what one spends
 * beyond its share, in a step that nothing interrupts. So many hostile policies hold the loop no longer than one. */
#ifndef NEAP_LUA_VM_PURSE_H
#define NEAP_LUA_VM_PURSE_H

#include "lua/run/policy.h"

#define NEAP_PURSE_KINDS_MAX 8
/* Of all shadows of a question, of whatever kind: their own, so that they take nothing from the others. */
#define NEAP_PURSE_SHADOWS_USEC 7000

struct neap_purse {
	int64_t left_usec; /* of the sum */
	int64_t shares_usec[NEAP_PURSE_KINDS_MAX + 1];
};

/* Whoever begins with a question does this first. */
void neap_purse_fill(struct neap_purse *purse);
/* What a policy of this kind may still use; kind NULL: a shadow. May be below 0. */
int64_t neap_purse_left(const struct neap_purse *purse, const struct neap_kind *kind);
void neap_purse_take(struct neap_purse *purse, const struct neap_kind *kind,
		     int64_t cpu_usec);

#endif
