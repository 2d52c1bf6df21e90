/* SPDX-License-Identifier: Apache-2.0
 *
 * Disruption budgets: whether a pod may be evicted now, and the figures in their status.
 * Both count with the same functions; an eviction counts the newest state, the status the
 * visible one. */
#ifndef NEAP_API_KUBE_WRITE_BUDGET_H
#define NEAP_API_KUBE_WRITE_BUDGET_H

#include <jansson.h>

#include "api/kube/kube.h"

/* The most budgets that may select a pod: each counts all its pods for an eviction. A
 * kube-apiserver allows only one. With more, the pod stays. */
#define NEAP_BUDGETS_OF_POD 8

/* Steps of one piece of an answer. Selecting and reading a pod takes steps of some 50 ns
 * each. */
#define NEAP_BUDGET_STEPS 60000
/* The most passes over the pods, until the changes in between fit into one piece. If that
 * is not enough, the answer is that the budget is still being computed, as a
 * kube-apiserver says it too. */
#define NEAP_BUDGET_ROUNDS 50

/* The most controllers of pods that are looked up for one answer, for all its budgets;
 * none for budgets with minAvailable as a number. With more, the pod stays. */
#define NEAP_BUDGET_OWNERS_MAX 8192

struct neap_budget_answer {
	bool is_allowed;
	/* "The disruption budget x needs 2 healthy pods and has 2 currently" */
	char why[256];
};

/* A question is processed in pieces; the answer is as of the last one. */
struct neap_budget_question;

/* NULL without memory. */
struct neap_budget_question *neap_budget_question_new(struct neap_kube *kube);
void neap_budget_question_free(struct neap_budget_question *question);
/* Processes a piece. Checks every PodDisruptionBudget of the pod's namespace whose
 * selector matches the pod. A pod that is finished, pending or being deleted may always
 * be evicted. Accepted evictions that are not visible yet count: in the newest state
 * these pods are being deleted. pod: its newest state. True: *ret is the answer, valid
 * until something is written. False: call it again with the same pod. */
bool neap_budget_question_go(struct neap_budget_question *question,
			     const struct neap_object *pod,
			     struct neap_budget_answer *ret);
/* The most steps that one piece has taken. */
int64_t neap_budget_question_most(const struct neap_budget_question *question);

/* Returns how many of the expected pods must be healthy, by minAvailable or
 * maxUnavailable, numbers or percentages (rounded up); 0 when the budget requires
 * nothing. */
int64_t neap_budget_need(const json_t *budget, int64_t expected);

/* --- counting, over several turns if necessary --- */

struct neap_budget_count;

struct neap_budget_figures {
	/* With minAvailable as a number: the number of pods. Else the replicas of their
	 * controllers (Deployment, StatefulSet, ..., each once), plus one for each pod
	 * whose controller has no replicas. */
	int64_t expected;
	int64_t healthy; /* ready, and not being deleted */
	int64_t need;
	int64_t allowed; /* how many may be evicted */
};

/* budget is borrowed. Errors: of its selector, -NEAP_ENOMEM. */
int neap_budget_count_new(struct neap_kube *kube, const json_t *budget,
			  struct neap_budget_count **ret, struct neap_error *err);
void neap_budget_count_free(struct neap_budget_count *count);
/* Returns whether the budget selects the pod. */
bool neap_budget_count_has(const struct neap_budget_count *count,
			   const struct neap_object *pod);
/* Counts a selected pod; finished ones do not count. False without memory. */
bool neap_budget_count_add(struct neap_budget_count *count, struct neap_object *pod);
/* Returns the number of controllers that were looked up. */
size_t neap_budget_count_owners(const struct neap_budget_count *count);
/* Reads and keeps the facts that counting needs of a pod. False without memory. */
bool neap_budget_count_note(struct neap_object *pod);
/* Returns whether the pod's facts are known already; counting it then costs next to
 * nothing. */
bool neap_budget_count_knows(const struct neap_object *pod);
void neap_budget_count_end(const struct neap_budget_count *count,
			   struct neap_budget_figures *ret);

/* Read the status of a pod. */
bool neap_budget_is_true(const json_t *status, const char *type);
bool neap_budget_is_finished(const json_t *status);

#endif
