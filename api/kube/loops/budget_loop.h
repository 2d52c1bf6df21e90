/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the status of disruption budgets as their pods are, for those who look: "kubectl get pdb", "kubectl
 * describe", descheduler. An eviction does not go by it. */
#ifndef NEAP_API_KUBE_LOOPS_BUDGET_LOOP_H
#define NEAP_API_KUBE_LOOPS_BUDGET_LOOP_H

#include "api/kube/kube.h"

/* Pods that one piece looks at. */
#define NEAP_KUBE_BUDGETS_PIECE 200

struct neap_kube_budgets;

/* Starts with all that are there. kube is borrowed. */
int neap_kube_budgets_new(struct neap_kube *kube, struct neap_kube_budgets **ret,
			  struct neap_error *err);
void neap_kube_budgets_free(struct neap_kube_budgets *budgets);
/* Statuses that it has written so far. */
uint64_t neap_kube_budgets_count(const struct neap_kube_budgets *budgets);

#endif
