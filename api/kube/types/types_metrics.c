/* SPDX-License-Identifier: Apache-2.0
 *
 * What nodes and pods use: metrics.k8s.io. */
#include "api/kube/types/metrics.h"
#include "api/kube/types/types_priv.h"

#define METRICS(x) "io.k8s.metrics.pkg.apis.metrics.v1beta1." x

#define COLUMN(column_name, column_path, text)                                           \
	{                                                                                \
		.name = (column_name), .type = "string", .format = "", .doc = (text),    \
		.path = (column_path)                                                    \
	}
#define COLUMN_NAME                                                                      \
	{                                                                                \
		.name = "Name", .type = "string", .format = "name",                      \
		.doc = "Name of what uses it.", .path = ".metadata.name"                 \
	}

static const struct neap_kube_column node_columns[] = {
	COLUMN_NAME,
	COLUMN("CPU", ".usage.cpu", "CPUs that are used."),
	COLUMN("Memory", ".usage.memory", "Memory that is used."),
	COLUMN("Window", ".window", "Time that this is the average of."),
};

static const struct neap_kube_column pod_columns[] = {
	COLUMN_NAME,
	COLUMN("CPU", ".containers[0].usage.cpu", "CPUs that are used."),
	COLUMN("Memory", ".containers[0].usage.memory", "Memory that is used."),
	COLUMN("Window", ".window", "Time that this is the average of."),
};

static const struct neap_schema_field node_fields[] = {
	WHOLE,
	NEED("timestamp", TIME, "When it was measured."),
	NEED("usage", QTY_MAP, "What the node uses, by resource."),
	NEED("window", STR, "Time before timestamp that it is the average of."),
};
OBJECT(node, METRICS("NodeMetrics"), "What a node uses.");

static const struct neap_schema_field container_fields[] = {
	NEED("name", STR, "Name of the container; \"(all)\": all of the pod together."),
	NEED("usage", QTY_MAP, "What it uses, by resource."),
};
OBJECT(container, METRICS("ContainerMetrics"), "What a container uses.");
LIST(container);

static const struct neap_schema_field pod_fields[] = {
	WHOLE,
	NEED("containers", &container_list, "What its containers use."),
	NEED("timestamp", TIME, "When it was measured."),
	NEED("window", STR, "Time before timestamp that it is the average of."),
};
OBJECT(pod, METRICS("PodMetrics"), "What a pod uses.");

static const char *const versions[] = {"v1beta1", NULL};

/* Their singulars are their plurals: "nodemetrics" are those of slo.koordinator.sh. */
const struct neap_kube_kind neap_kube_kind_nodemetrics = {
	.group = "metrics.k8s.io",
	.versions = versions,
	.kind = "NodeMetrics",
	.list_kind = "NodeMetricsList",
	.plural = "nodes",
	.singular = "nodes",
	.schema = &node,
	.columns = node_columns,
	.column_count = NEAP_ARRAY_LEN(node_columns),
	.make = neap_kube_make_node_metrics,
};

const struct neap_kube_kind neap_kube_kind_podmetrics = {
	.group = "metrics.k8s.io",
	.versions = versions,
	.kind = "PodMetrics",
	.list_kind = "PodMetricsList",
	.plural = "pods",
	.singular = "pods",
	.is_namespaced = true,
	.schema = &pod,
	.columns = pod_columns,
	.column_count = NEAP_ARRAY_LEN(pod_columns),
	.make = neap_kube_make_pod_metrics,
};
