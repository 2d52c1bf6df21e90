/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.k8s.io, which "kubectl top" and autoscalers read. It is computed on request
 * from the NodeMetric objects of slo.koordinator.sh. Nodes and pods without a report are
 * left out, as in metrics-server. So are reports of nodes or pods that do not exist, and
 * reports of a pod by a node that it is not on. */
#ifndef NEAP_API_KUBE_TYPES_METRICS_H
#define NEAP_API_KUBE_TYPES_METRICS_H

#include "api/kube/base/kind.h"
#include "engine/object/object.h"

/* The make functions of NodeMetrics and PodMetrics. A NodeMetric has one sum for all
 * containers of a pod. So containers has one entry, with the container's name if there is
 * only one, else "(all)". */
neap_kube_make_fn neap_kube_make_node_metrics;
neap_kube_make_fn neap_kube_make_pod_metrics;

/* Roughly how many pods, or reports of 1 KB, one step looks at: some milliseconds. */
#define NEAP_KUBE_MAKING_STEP 50

/* 1: there is more to do; 0: done; -NEAP_ENOMEM. */
int neap_kube_making_step(struct neap_kube_making *making, struct neap_error *err);
/* The objects made so far; in list order once all are made. Borrowed until making is
 * freed. */
struct neap_object *const *neap_kube_making_get(const struct neap_kube_making *making,
						size_t *ret_count);
void neap_kube_making_free(struct neap_kube_making *making);

#endif
