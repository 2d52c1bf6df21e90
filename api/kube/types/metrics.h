/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.k8s.io, from which "kubectl top" and autoscalers read: made of the NodeMetric
 * objects of slo.koordinator.sh when somebody asks. A node or pod that nothing was
 * reported of is left out, as it is by metrics-server, and so is what is reported of a
 * node or pod that is not there, or of a pod by a node that it is not on. */
#ifndef NEAP_API_KUBE_TYPES_METRICS_H
#define NEAP_API_KUBE_TYPES_METRICS_H

#include "api/kube/base/kind.h"
#include "engine/object/object.h"

/* The make of NodeMetrics and PodMetrics. A NodeMetric has what all containers of a pod
 * use together: they are one entry of containers, by the name of the container where
 * there is one, else "(all)". */
neap_kube_make_fn neap_kube_make_node_metrics;
neap_kube_make_fn neap_kube_make_pod_metrics;

/* Pods that one step looks at, about, or reports of 1 KB: some milliseconds. */
#define NEAP_KUBE_MAKING_STEP 50

/* 1: there is more to do; 0: all are made; -NEAP_ENOMEM. */
int neap_kube_making_step(struct neap_kube_making *making, struct neap_error *err);
/* Those that are made, in the order of lists once all are. Borrowed until making is
 * freed. */
struct neap_object *const *neap_kube_making_get(const struct neap_kube_making *making,
						size_t *ret_count);
void neap_kube_making_free(struct neap_kube_making *making);

#endif
