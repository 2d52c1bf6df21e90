/* SPDX-License-Identifier: Apache-2.0
 *
 * Where pods may and should run: nodes by their labels, other pods, taints, spreading. */
#include "api/kube/types/types_priv.h"

/* --- nodes --- */

ENUM(node_operator, "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt");

static const struct neap_schema_field node_requirement_fields[] = {
	NEED("key", STR, "Name of the label or field."),
	NEED("operator", &node_operator,
	     "How it is compared: In, NotIn, Exists, DoesNotExist, Gt, Lt."),
	FIELD("values", STRS, "What it is compared with; one integer with Gt and Lt."),
};
OBJECT(node_requirement, CORE("NodeSelectorRequirement"),
       "What one label or field of a node has to be.");
LIST(node_requirement);

static const struct neap_schema_field node_term_fields[] = {
	FIELD("matchExpressions", &node_requirement_list,
	      "Requirements on labels, all of which have to hold."),
	FIELD("matchFields", &node_requirement_list,
	      "Requirements on fields: metadata.name."),
};
OBJECT(node_term, CORE("NodeSelectorTerm"),
       "A set of requirements; an empty one selects no node.");
LIST(node_term);

static const struct neap_schema_field neap_kube_node_selector_fields[] = {
	NEED("nodeSelectorTerms", &node_term_list, "Terms, one of which has to hold."),
};
SHARED(neap_kube_node_selector, CORE("NodeSelector"), "Selects nodes.");

static const struct neap_schema_field preferred_node_fields[] = {
	NEED("preference", &node_term, "Which nodes."),
	NEED("weight", I32, "How much it counts, 1 to 100."),
};
OBJECT(preferred_node, CORE("PreferredSchedulingTerm"), "Nodes that are preferred.");
LIST(preferred_node);

static const struct neap_schema_field node_affinity_fields[] = {
	FIELD("preferredDuringSchedulingIgnoredDuringExecution", &preferred_node_list,
	      "Nodes that are preferred."),
	FIELD("requiredDuringSchedulingIgnoredDuringExecution", &neap_kube_node_selector,
	      "Nodes on which the pod may run."),
};
OBJECT(node_affinity, CORE("NodeAffinity"), "On which nodes a pod may and should run.");

/* --- other pods --- */

static const struct neap_schema_field pod_term_fields[] = {
	FIELD("labelSelector", &neap_kube_label_selector,
	      "Selects the pods; without it none."),
	FIELD("matchLabelKeys", STRS, "Labels that have to be as those of this pod."),
	FIELD("mismatchLabelKeys", STRS,
	      "Labels that have to be other than those of this pod."),
	FIELD("namespaceSelector", &neap_kube_label_selector,
	      "Selects namespaces of the pods; an empty one all."),
	FIELD("namespaces", STRS,
	      "Names of namespaces of the pods; that of this pod where neither is set."),
	NEED("topologyKey", STR, "Label of nodes: near means an equal value."),
};
OBJECT(pod_term, CORE("PodAffinityTerm"), "Pods to be near to, or not.");
LIST(pod_term);

static const struct neap_schema_field preferred_pod_fields[] = {
	NEED("podAffinityTerm", &pod_term, "Which pods."),
	NEED("weight", I32, "How much it counts, 1 to 100."),
};
OBJECT(preferred_pod, CORE("WeightedPodAffinityTerm"),
       "Pods that are preferred, or not.");
LIST(preferred_pod);

static const struct neap_schema_field pod_affinity_fields[] = {
	FIELD("preferredDuringSchedulingIgnoredDuringExecution", &preferred_pod_list,
	      "Pods that it should be near to."),
	FIELD("requiredDuringSchedulingIgnoredDuringExecution", &pod_term_list,
	      "Pods that it has to be near to."),
};
OBJECT(pod_affinity, CORE("PodAffinity"),
       "Which pods a pod has to and should be near to.");

static const struct neap_schema_field pod_anti_affinity_fields[] = {
	FIELD("preferredDuringSchedulingIgnoredDuringExecution", &preferred_pod_list,
	      "Pods that it should not be near to."),
	FIELD("requiredDuringSchedulingIgnoredDuringExecution", &pod_term_list,
	      "Pods that it must not be near to."),
};
OBJECT(pod_anti_affinity, CORE("PodAntiAffinity"),
       "Which pods a pod must not and should not be near to.");

static const struct neap_schema_field neap_kube_affinity_fields[] = {
	FIELD("nodeAffinity", &node_affinity, NULL),
	FIELD("podAffinity", &pod_affinity, NULL),
	FIELD("podAntiAffinity", &pod_anti_affinity, NULL),
};
SHARED(neap_kube_affinity, CORE("Affinity"), "Where a pod may and should run.");

/* --- taints --- */

ENUM(toleration_operator, "", "Equal", "Exists");
ENUM(toleration_effect, "", "NoSchedule", "PreferNoSchedule", "NoExecute");

static const struct neap_schema_field neap_kube_toleration_fields[] = {
	FIELD("effect", &toleration_effect,
	      "Effect of the taint: NoSchedule, PreferNoSchedule, NoExecute; empty: any."),
	FIELD("key", STR, "Key of the taint; empty, with Exists: any."),
	FIELD("operator", &toleration_operator, "Equal (the default) or Exists."),
	PTR("tolerationSeconds", I64,
	    "How long NoExecute is tolerated; without it for ever."),
	FIELD("value", STR, "Value of the taint, with Equal."),
};
static const struct neap_schema neap_kube_toleration = {
	.name = CORE("Toleration"),
	.doc = "A taint of nodes that the pod puts up with.",
	NEAP_SCHEMA_FIELDS(neap_kube_toleration_fields),
};
SHARED_LIST(neap_kube_toleration);

/* --- spreading --- */

ENUM(inclusion, "Honor", "Ignore");
ENUM(unsatisfiable, "DoNotSchedule", "ScheduleAnyway");

static const struct neap_schema_field neap_kube_topology_spread_fields[] = {
	FIELD("labelSelector", &neap_kube_label_selector,
	      "Selects the pods that are counted."),
	FIELD("matchLabelKeys", STRS, "Labels that have to be as those of this pod."),
	NEED("maxSkew", I32, "By how many pods domains may differ."),
	PTR("minDomains", I32,
	    "How many domains there have to be before the least counts as more than 0."),
	PTR("nodeAffinityPolicy", &inclusion,
	    "Whether nodes that the pod does not select are counted: Honor (not), Ignore."),
	PTR("nodeTaintsPolicy", &inclusion,
	    "Whether nodes with taints are left out: Honor, Ignore (the default)."),
	NEED("topologyKey", STR, "Label of nodes: a value is a domain."),
	NEED("whenUnsatisfiable", &unsatisfiable, "DoNotSchedule or ScheduleAnyway."),
};
static const struct neap_schema neap_kube_topology_spread = {
	.name = CORE("TopologySpreadConstraint"),
	.doc = "How evenly pods are spread.",
	NEAP_SCHEMA_FIELDS(neap_kube_topology_spread_fields),
};
SHARED_LIST(neap_kube_topology_spread);
