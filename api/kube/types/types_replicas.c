/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that keep a number of equal pods: Deployment, ReplicaSet, ReplicationController;
 * and PodTemplate, from which nothing makes pods. */
#include "api/kube/types/types_priv.h"

#define APPS(x) "io.k8s.api.apps.v1." x

#define CONDITION_FIELDS                                                                 \
	FIELD("lastTransitionTime", TIME, "When the status changed last."),              \
		FIELD("message", STR, "What it is like, for people."),                   \
		FIELD("reason", STR, "Why, in one word."),                               \
		NEED("status", STR, "True, False or Unknown."),                          \
		NEED("type", STR, "What is told.")

#define REPLICAS GIVE("replicas", I32, "1", "How many pods there are to be.")
#define MIN_READY                                                                        \
	FIELD("minReadySeconds", I32,                                                    \
	      "Seconds a pod has to be ready for to count as available.")
#define TEMPLATE "What the pods are made from."

/* --- Deployment --- */

static const struct neap_schema_field rolling_fields[] = {
	PTR("maxSurge", INT_STR,
	    "How many pods may be too many, a number or percentage; 25%."),
	PTR("maxUnavailable", INT_STR,
	    "How many pods may be missing, a number or percentage; 25%."),
};
OBJECT(rolling, APPS("RollingUpdateDeployment"),
       "How far a rolling update goes at a time.");

ENUM(strategy_type, "Recreate", "RollingUpdate");

static const struct neap_schema_field strategy_fields[] = {
	FIELD("rollingUpdate", &rolling, NULL),
	FILL("type", &strategy_type, "\"RollingUpdate\"",
	     "RollingUpdate, or Recreate: all old pods end first."),
};
OBJECT(strategy, APPS("DeploymentStrategy"), "How old pods are replaced by new ones.");

static const struct neap_schema_field deployment_spec_fields[] = {
	MIN_READY,
	FIELD("paused", BOOL, "Changes of the template have no effect for now."),
	GIVE("progressDeadlineSeconds", I32, "600",
	     "Seconds without progress that count as a failure."),
	REPLICAS,
	GIVE("revisionHistoryLimit", I32, "10", "How many old ReplicaSets are kept."),
	NEED("selector", &neap_kube_label_selector,
	     "Selects its pods; it cannot be changed."),
	{.name = "strategy",
	 .schema = &strategy,
	 .fallback = "{\"type\":\"RollingUpdate\"}",
	 .retains_keys = true},
	NEED("template", &neap_kube_pod_template_spec, TEMPLATE),
};
OBJECT(deployment_spec, APPS("DeploymentSpec"), "What a Deployment is to be.");

static const struct neap_schema_field deployment_condition_fields[] = {
	CONDITION_FIELDS,
	FIELD("lastUpdateTime", TIME, "When it was told last."),
};
OBJECT(deployment_condition, APPS("DeploymentCondition"),
       "One thing that is so, or not, of a Deployment.");
LIST(deployment_condition);

static const struct neap_schema_field deployment_status_fields[] = {
	FIELD("availableReplicas", I32, "Pods that are available."),
	PTR("collisionCount", I32, "Counts names of ReplicaSets that were taken."),
	KEYED("conditions", &deployment_condition_list, "type", "What is so, or not."),
	FIELD("observedGeneration", I64, "Generation that was acted on."),
	FIELD("readyReplicas", I32, "Pods that are ready."),
	FIELD("replicas", I32, "Pods."),
	FIELD("unavailableReplicas", I32, "Pods that are missing."),
	FIELD("updatedReplicas", I32, "Pods of the template as it is now."),
};
OBJECT(deployment_status, APPS("DeploymentStatus"), "What is known of a Deployment.");

static const struct neap_schema_field deployment_fields[] = {
	WHOLE,
	FIELD("spec", &deployment_spec, NULL),
	FIELD("status", &deployment_status, NULL),
};
OBJECT(deployment, APPS("Deployment"),
       "Keeps a number of equal pods, and replaces them step by step.");

/* --- ReplicaSet and ReplicationController --- */

static const struct neap_schema_field replicaset_spec_fields[] = {
	MIN_READY,
	REPLICAS,
	NEED("selector", &neap_kube_label_selector,
	     "Selects its pods; it cannot be changed."),
	FIELD("template", &neap_kube_pod_template_spec, TEMPLATE),
};
OBJECT(replicaset_spec, APPS("ReplicaSetSpec"), "What a ReplicaSet is to be.");

static const struct neap_schema_field replicaset_condition_fields[] = {CONDITION_FIELDS};
OBJECT(replicaset_condition, APPS("ReplicaSetCondition"),
       "One thing that is so, or not, of a ReplicaSet.");
LIST(replicaset_condition);

#define REPLICAS_STATUS(conditions)                                                      \
	FIELD("availableReplicas", I32, "Pods that are available."),                     \
		KEYED("conditions", &(conditions), "type", "What is so, or not."),       \
		FIELD("fullyLabeledReplicas", I32,                                       \
		      "Pods with all labels of the template."),                          \
		FIELD("observedGeneration", I64, "Generation that was acted on."),       \
		FIELD("readyReplicas", I32, "Pods that are ready."),                     \
		ZERO("replicas", I32, "0", "Pods.")

static const struct neap_schema_field replicaset_status_fields[] = {
	REPLICAS_STATUS(replicaset_condition_list)};
OBJECT(replicaset_status, APPS("ReplicaSetStatus"), "What is known of a ReplicaSet.");

static const struct neap_schema_field replicaset_fields[] = {
	WHOLE,
	FIELD("spec", &replicaset_spec, NULL),
	FIELD("status", &replicaset_status, NULL),
};
OBJECT(replicaset, APPS("ReplicaSet"), "Keeps a number of equal pods.");

static const struct neap_schema_field replicationcontroller_spec_fields[] = {
	MIN_READY,
	REPLICAS,
	FIELD("selector", STR_MAP,
	      "Labels of its pods; those of the template where none are given."),
	FIELD("template", &neap_kube_pod_template_spec, TEMPLATE),
};
OBJECT(replicationcontroller_spec, CORE("ReplicationControllerSpec"),
       "What a ReplicationController is to be.");

static const struct neap_schema_field replicationcontroller_condition_fields[] = {
	CONDITION_FIELDS};
OBJECT(replicationcontroller_condition, CORE("ReplicationControllerCondition"),
       "One thing that is so, or not, of a ReplicationController.");
LIST(replicationcontroller_condition);

static const struct neap_schema_field replicationcontroller_status_fields[] = {
	REPLICAS_STATUS(replicationcontroller_condition_list),
};
OBJECT(replicationcontroller_status, CORE("ReplicationControllerStatus"),
       "What is known of a ReplicationController.");

static const struct neap_schema_field replicationcontroller_fields[] = {
	WHOLE,
	FIELD("spec", &replicationcontroller_spec, NULL),
	FIELD("status", &replicationcontroller_status, NULL),
};
OBJECT(replicationcontroller, CORE("ReplicationController"),
       "Keeps a number of equal pods; ReplicaSet came after it.");

static const char *const deployment_short[] = {"deploy", NULL};

const struct neap_kube_kind neap_kube_kind_deployment = {
	.group = "apps",
	.versions = neap_kube_v1,
	.kind = "Deployment",
	.list_kind = "DeploymentList",
	.plural = "deployments",
	.singular = "deployment",
	.short_names = deployment_short,
	.categories = neap_kube_category_all,
	.is_namespaced = true,
	.has_status = true,
	.generation = NEAP_GENERATION_NOTES,
	.replicas_path = ".spec.replicas",
	.status_replicas_path = ".status.replicas",
	.selector_path = ".spec.selector",
	.schema = &deployment,
	COLUMNS(deployment),
	.cells = neap_kube_cells_deployment,
	.complete = neap_kube_complete_deployment,
	.check = neap_kube_check_deployment,
};

static const char *const replicaset_short[] = {"rs", NULL};

const struct neap_kube_kind neap_kube_kind_replicaset = {
	.group = "apps",
	.versions = neap_kube_v1,
	.kind = "ReplicaSet",
	.list_kind = "ReplicaSetList",
	.plural = "replicasets",
	.singular = "replicaset",
	.short_names = replicaset_short,
	.categories = neap_kube_category_all,
	.is_namespaced = true,
	.has_status = true,
	.generation = NEAP_GENERATION_SPEC,
	.replicas_path = ".spec.replicas",
	.status_replicas_path = ".status.replicas",
	.selector_path = ".spec.selector",
	.schema = &replicaset,
	COLUMNS(replicaset),
	.cells = neap_kube_cells_replicaset,
	.complete = neap_kube_complete_replicaset,
	.check = neap_kube_check_replicaset,
};

static const char *const replicas_selectable[] = {"status.replicas", NULL};
static const char *const replicationcontroller_short[] = {"rc", NULL};

const struct neap_kube_kind neap_kube_kind_replicationcontroller = {
	.group = "",
	.versions = neap_kube_v1,
	.kind = "ReplicationController",
	.list_kind = "ReplicationControllerList",
	.plural = "replicationcontrollers",
	.singular = "replicationcontroller",
	.short_names = replicationcontroller_short,
	.categories = neap_kube_category_all,
	.is_namespaced = true,
	.has_status = true,
	.generation = NEAP_GENERATION_SPEC,
	.replicas_path = ".spec.replicas",
	.status_replicas_path = ".status.replicas",
	.selector_path = ".spec.selector",
	.schema = &replicationcontroller,
	.fields = replicas_selectable,
	COLUMNS(replicationcontroller),
	.cells = neap_kube_cells_replicationcontroller,
	.complete = neap_kube_complete_replicationcontroller,
	.check = neap_kube_check_replicationcontroller,
};

/* --- PodTemplate --- */

static const struct neap_schema_field podtemplate_fields[] = {
	WHOLE,
	FIELD("template", &neap_kube_pod_template_spec, "What pods can be made from."),
};
OBJECT(podtemplate, "io.k8s.api.core.v1.PodTemplate",
       "A template of pods that stands by itself; nothing makes pods from it.");

const struct neap_kube_kind neap_kube_kind_podtemplate = {
	.group = "",
	.versions = neap_kube_v1,
	.kind = "PodTemplate",
	.list_kind = "PodTemplateList",
	.plural = "podtemplates",
	.singular = "podtemplate",
	.is_namespaced = true,
	.shows_deleted = true,
	.schema = &podtemplate,
	COLUMNS(podtemplate),
	.cells = neap_kube_cells_podtemplate,
	.complete = neap_kube_complete_podtemplate,
	.check = neap_kube_check_podtemplate,
};
