/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.k8s.io, from which "kubectl top" and autoscalers read: made of the NodeMetric objects of
 * slo.koordinator.sh when somebody asks. A node or pod that nothing was reported of is left out, as it is by
 * metrics-server, and so is what is reported of a node or pod that is not there, or of a pod by a node
 * that it is not on. */
#ifndef NEAP_API_KUBE_METRICS_H
#define NEAP_API_KUBE_METRICS_H

#include "api/kube/kind.h"

/* The make of NodeMetrics and PodMetrics. A NodeMetric has what all containers of a pod use together: they
 * are one entry of containers, by the name of the container where there is one, else "(all)". */
neap_kube_make_fn neap_kube_make_node_metrics;
neap_kube_make_fn neap_kube_make_pod_metrics;

#endif
