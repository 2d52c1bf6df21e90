/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the status of PodDisruptionBudgets in step with their pods, for readers: "kubectl
 * get pdb", "kubectl describe", a descheduler. Evictions do not use it. */
#ifndef NEAP_API_KUBE_LOOPS_BUDGET_LOOP_H
#define NEAP_API_KUBE_LOOPS_BUDGET_LOOP_H

#include "api/kube/kube.h"

/* Pods examined in one piece. */
#define NEAP_KUBE_BUDGETS_PIECE 200

struct neap_kube_budgets;

/* Starts with all existing budgets. kube is borrowed. */
int neap_kube_budgets_new(struct neap_kube *kube, struct neap_kube_budgets **ret,
			  struct neap_error *err);
void neap_kube_budgets_free(struct neap_kube_budgets *budgets);
/* Number of statuses written so far. */
uint64_t neap_kube_budgets_count(const struct neap_kube_budgets *budgets);

#endif
