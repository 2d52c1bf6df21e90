/* SPDX-License-Identifier: Apache-2.0
 *
 * Disruption budgets: whether a pod may be evicted now, and what their status says of
 * that. Both count with the same functions; an eviction counts the newest state, the
 * status what everybody can see. */
#ifndef NEAP_API_KUBE_WRITE_BUDGET_H
#define NEAP_API_KUBE_WRITE_BUDGET_H

#include <jansson.h>

#include "api/kube/kube.h"

/* Budgets that may select a pod: each counts all its pods when one is to be evicted. A
 * kube-apiserver knows only one. Where there are more the pod stays. */
#define NEAP_BUDGETS_OF_POD 8

/* Steps of one piece of an answer. Selecting and reading a pod takes steps of some 50 ns
 * each. */
#define NEAP_BUDGET_STEPS 60000
/* How often the pods are gone through until nothing that changed in between takes more
 * than a piece. Where that is not enough it is that the budget is still being counted,
 * as a kube-apiserver says it, too. */
#define NEAP_BUDGET_ROUNDS 50

/* Controllers of pods that are looked up for one answer, by all its budgets. Those of
 * budgets with minAvailable as a number are not. Where there are more the pod stays. */
#define NEAP_BUDGET_OWNERS_MAX 8192

struct neap_budget_answer {
	bool is_allowed;
	/* "The disruption budget x needs 2 healthy pods and has 2 currently" */
	char why[256];
};

/* A question goes on in pieces, and is answered by what is true in the last one. */
struct neap_budget_question;

/* NULL without memory. */
struct neap_budget_question *neap_budget_question_new(struct neap_kube *kube);
void neap_budget_question_free(struct neap_budget_question *question);
/* A piece of it. Asks every PodDisruptionBudget of the pod's namespace whose selector
 * takes it. A pod that is finished, pending or being deleted may always go. Evictions
 * that are accepted but not seen yet count: they stand in the newest state as pods that
 * are being deleted. pod: its newest state. True: *ret is the answer, as long as nothing
 * is written. False: it goes on, with the same pod. */
bool neap_budget_question_go(struct neap_budget_question *question,
			     const struct neap_object *pod,
			     struct neap_budget_answer *ret);
/* The most steps that one piece has taken. */
int64_t neap_budget_question_most(const struct neap_budget_question *question);

/* What a budget asks of so many pods: minAvailable or maxUnavailable, numbers or
 * percentages (rounded up). The least number of healthy ones; 0 when it asks for
 * nothing. */
int64_t neap_budget_need(const json_t *budget, int64_t expected);

/* --- counting, over several turns if need be --- */

struct neap_budget_count;

struct neap_budget_figures {
	/* Of minAvailable as a number: the pods. Else what those want that made them
	 * (replicas of a Deployment, StatefulSet, ..., each once), and one for each pod
	 * that nothing with replicas made. */
	int64_t expected;
	int64_t healthy; /* ready, and not being deleted */
	int64_t need;
	int64_t allowed; /* so many may be evicted */
};

/* budget is borrowed. Errors: of its selector, -NEAP_ENOMEM. */
int neap_budget_count_new(struct neap_kube *kube, const json_t *budget,
			  struct neap_budget_count **ret, struct neap_error *err);
void neap_budget_count_free(struct neap_budget_count *count);
/* Whether it is one of its pods. */
bool neap_budget_count_has(const struct neap_budget_count *count,
			   const struct neap_object *pod);
/* One of its pods; finished ones do not count. False without memory. */
bool neap_budget_count_add(struct neap_budget_count *count, struct neap_object *pod);
/* Controllers that were looked up. */
size_t neap_budget_count_owners(const struct neap_budget_count *count);
/* Reads what counting asks of a pod. False without memory. */
bool neap_budget_count_note(struct neap_object *pod);
/* Whether it was counted before, by whatever budget, which then costs next to nothing. */
bool neap_budget_count_knows(const struct neap_object *pod);
void neap_budget_count_end(const struct neap_budget_count *count,
			   struct neap_budget_figures *ret);

/* Of the status of a pod. */
bool neap_budget_is_true(const json_t *status, const char *type);
bool neap_budget_is_finished(const json_t *status);

#endif
