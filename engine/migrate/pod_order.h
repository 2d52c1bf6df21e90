/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which pods leave: the pod whose loss costs less comes first. Arbitration
 * accepts migration jobs in this order, and LowNodeLoad picks pods in it, with usage. */
#ifndef NEAP_ENGINE_MIGRATE_POD_ORDER_H
#define NEAP_ENGINE_MIGRATE_POD_ORDER_H

#include "engine/base/error.h"
#include "engine/object/pod_class.h"

#define NEAP_KEY_DELETION_COST   "controller.kubernetes.io/pod-deletion-cost"
#define NEAP_KEY_EVICTION_COST   "scheduling.koordinator.sh/eviction-cost"
#define NEAP_EVICTION_COST_NEVER INT32_MAX

struct neap_pod_order {
	int band;         /* priority class: free 1, batch 2, mid 3, prod 4, none 5 */
	int64_t priority; /* 0 without one */
	int kube_qos;     /* BestEffort 1, Burstable 2, Guaranteed 3 */
	int qos;          /* BE 1, LS 2, LSR 3, LSE and SYSTEM 4, none 5 */
	int64_t deletion_cost, eviction_cost;
	/* Whether its usage is known, and how well it covers the excess of its node; both
	 * only where usage decides. */
	bool has_usage;
	double usage_score;
	int64_t created_usec; /* the newer pod leaves first */
};

/* Reads a Pod object, without usage. A cost that is no number is 0. */
void neap_pod_order_read(const json_t *pod, struct neap_pod_order *ret);
/* Below 0: a leaves first. */
int neap_pod_order_compare(const struct neap_pod_order *a,
			   const struct neap_pod_order *b);
/* Returns what one resource adds to usage_score, before weights: usage of the pod and
 * excess of the node in the same unit. It is highest for the pod that just covers the
 * excess. */
double neap_pod_order_usage(int64_t usage, int64_t exceeding);

#endif
