/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU time of policies for one question about a pod, however many decisions it takes
 * (placement, NUMA fit, preemption). Each kind has its own share, so that no kind uses up
 * another's time. The sum of the shares is a common total, which also pays when one
 * uninterruptible step exceeds its share. So many hostile policies delay the loop no
 * longer than one. */
#ifndef NEAP_LUA_CALL_PURSE_H
#define NEAP_LUA_CALL_PURSE_H

#include "lua/call/policy.h"

#define NEAP_PURSE_KINDS_MAX 8
/* The share of all shadows of a question, so that they take nothing from the others. */
#define NEAP_PURSE_SHADOWS_USEC 7000

struct neap_purse {
	int64_t left_usec; /* of the sum */
	int64_t shares_usec[NEAP_PURSE_KINDS_MAX + 1];
};

/* Call it at the start of each question. */
void neap_purse_fill(struct neap_purse *purse);
/* Returns what policies of this kind may still use; kind NULL: shadows. May be below
 * 0. */
int64_t neap_purse_left(const struct neap_purse *purse, const struct neap_kind *kind);
void neap_purse_take(struct neap_purse *purse, const struct neap_kind *kind,
		     int64_t cpu_usec);

#endif
