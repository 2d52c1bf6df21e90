/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be tortured: an act, between a setup and a check, that is run again and again
 * in a process of its own, with another allocation failing each time. */
#ifndef NEAP_T_TORTURE_TORTURE_H
#define NEAP_T_TORTURE_TORTURE_H

#include "engine/base/error.h"

struct torture {
	const char *name;
	/* What the act needs; no allocation of it fails. NULL: nothing. */
	void *(*setup)(void);
	/* 0, with its result told; or -code, and then the code is NEAP_ENOMEM and nothing
	 * changed. */
	int (*act)(void *state, struct neap_error *err);
	/* After it, with memory again: ends by torture_fail() when the state is wrong.
	 * May be NULL. */
	void (*check)(void *state, int rc);
	/* Gives back everything that setup and act made: what is left is a leak. May be
	 * NULL. */
	void (*teardown)(void *state);
	/* What is told may lack something when an allocation failed, as its header
	 * says. */
	bool is_lossy;
	/* Codes besides NEAP_ENOMEM, as a mask of 1 << code: where what failed cannot be
	 * known. */
	unsigned codes;
	/* setup and teardown are done once, around all runs, and nothing is counted as a
	 * leak: what is tortured is another process, which act names by torture_arm(). */
	bool is_elsewhere;
	/* Its share of the time, 0 as 1: of acts that take long and ask for much. */
	int weight;
};

/* From here on the allocations of another process are those that count. Between fork and
 * exec it may name itself. */
void torture_arm(int pid);
/* Nothing fails any more. */
void torture_disarm(void);
/* The file of the page, for failmalloc.so in the other process. */
const char *torture_page_file(void);

/* Adds to what the act says that it did; the same as without a failure, or it is
 * wrong. */
void torture_tell(const char *fmt, ...) NEAP_PRINTF(1, 2);
/* Ends this run as failed. */
_Noreturn void torture_fail(const char *fmt, ...) NEAP_PRINTF(1, 2);

/* Each ends with a row without a name. */
extern const struct torture torture_engine[];
extern const struct torture torture_policy[];
extern const struct torture torture_live[];
extern const struct torture torture_hand[];
extern const struct torture torture_keeper[];
extern const struct torture torture_daemon[];
extern const struct torture torture_http[];
extern const struct torture torture_kube[];
extern const struct torture torture_serve[];
extern const struct torture torture_declared[];
extern const struct torture torture_keep[];
extern const struct torture torture_store[];
extern const struct torture torture_agent[];
extern const struct torture torture_schedule[];

#endif
