/* SPDX-License-Identifier: Apache-2.0
 *
 * Disruption budgets: whether a pod may be evicted now. */
#ifndef NEAP_API_KUBE_BUDGET_H
#define NEAP_API_KUBE_BUDGET_H

#include <jansson.h>

#include "api/kube/kube.h"

struct neap_budget_answer {
	bool is_allowed;
	char why[256]; /* "The disruption budget x needs 2 healthy pods and has 2 currently" */
};

/* Asks every PodDisruptionBudget of the pod's namespace whose selector takes it. A pod that is finished,
 * pending or being deleted may always go. Evictions that are accepted but not seen yet count: they stand in the
 * newest state as pods that are being deleted. */
struct neap_budget_answer neap_budget_ask(struct neap_kube *kube,
					  const struct neap_object *pod);

/* What a budget asks of so many pods: minAvailable or maxUnavailable, numbers or percentages (rounded up).
 * The least number of healthy ones; 0 when it asks for nothing. */
int64_t neap_budget_need(const json_t *budget, int64_t expected);

#endif
