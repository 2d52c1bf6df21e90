/* SPDX-License-Identifier: Apache-2.0
 *
 * StatefulSet: pods with names and volumes of their own. DaemonSet: a pod on every node. ControllerRevision: what one of them
 * was. */
#include "api/kube/types/types_priv.h"

#define APPS(x) "io.k8s.api.apps.v1." x

#define CONDITION_FIELDS                                                                 \
	FIELD("lastTransitionTime", TIME, "When the status changed last."),              \
		FIELD("message", STR, "What it is like, for people."),                   \
		FIELD("reason", STR, "Why, in one word."),                               \
		NEED("status", STR, "True, False or Unknown."),                          \
		NEED("type", STR, "What is told.")

#define MIN_READY                                                                        \
	FIELD("minReadySeconds", I32,                                                    \
	      "Seconds a pod has to be ready for to count as available.")

ENUM(update_type, "OnDelete", "RollingUpdate");

/* --- StatefulSet --- */

static const struct neap_schema_field ordinals_fields[] = {
	FIELD("start", I32, "Number of the first pod; 0."),
};
OBJECT(ordinals, APPS("StatefulSetOrdinals"), "How pods are numbered.");

ENUM(retention, "Delete", "Retain");

static const struct neap_schema_field retention_policy_fields[] = {
	FILL("whenDeleted", &retention, "\"Retain\"",
	     "What becomes of claims when the StatefulSet is deleted: Retain, Delete."),
	FILL("whenScaled", &retention, "\"Retain\"",
	     "What becomes of claims of pods that are too many: Retain, Delete."),
};
OBJECT(retention_policy, APPS("StatefulSetPersistentVolumeClaimRetentionPolicy"),
       "What becomes of the pods' claims.");

static const struct neap_schema_field statefulset_rolling_fields[] = {
	PTR("maxUnavailable", INT_STR,
	    "How many pods may be missing, a number or percentage."),
	PTR("partition", I32, "Pods with lower numbers are left alone."),
};
OBJECT(statefulset_rolling, APPS("RollingUpdateStatefulSetStrategy"),
       "How far a rolling update goes.");

static const struct neap_schema_field statefulset_update_fields[] = {
	FIELD("rollingUpdate", &statefulset_rolling, NULL),
	FILL("type", &update_type, "\"RollingUpdate\"",
	     "RollingUpdate, or OnDelete: pods are replaced when somebody deletes them."),
};
OBJECT(statefulset_update, APPS("StatefulSetUpdateStrategy"),
       "How old pods are replaced by new ones.");

ENUM(management_policy, "OrderedReady", "Parallel");
LIST(neap_kube_claim);

static const struct neap_schema_field statefulset_spec_fields[] = {
	MIN_READY,
	FIELD("ordinals", &ordinals, NULL),
	GIVE("persistentVolumeClaimRetentionPolicy", &retention_policy,
	     "{\"whenDeleted\":\"Retain\",\"whenScaled\":\"Retain\"}", NULL),
	FILL("podManagementPolicy", &management_policy, "\"OrderedReady\"",
	     "OrderedReady: one after the other; Parallel."),
	GIVE("replicas", I32, "1", "How many pods there are to be."),
	GIVE("revisionHistoryLimit", I32, "10", "How many old revisions are kept."),
	NEED("selector", &neap_kube_label_selector,
	     "Selects its pods; it cannot be changed."),
	ZERO("serviceName", STR, "\"\"",
	     "Name of the service that gives the pods their names."),
	NEED("template", &neap_kube_pod_template_spec, "What the pods are made from."),
	FILL("updateStrategy", &statefulset_update, "{\"type\":\"RollingUpdate\"}", NULL),
	FIELD("volumeClaimTemplates", &neap_kube_claim_list,
	      "Claims that are made for each pod."),
};
OBJECT(statefulset_spec, APPS("StatefulSetSpec"), "What a StatefulSet is to be.");

static const struct neap_schema_field statefulset_condition_fields[] = {CONDITION_FIELDS};
OBJECT(statefulset_condition, APPS("StatefulSetCondition"),
       "One thing that is so, or not, of a StatefulSet.");
LIST(statefulset_condition);

static const struct neap_schema_field statefulset_status_fields[] = {
	GIVE("availableReplicas", I32, "0", "Pods that are available."),
	PTR("collisionCount", I32, "Counts names of revisions that were taken."),
	KEYED("conditions", &statefulset_condition_list, "type", "What is so, or not."),
	FIELD("currentReplicas", I32, "Pods of currentRevision."),
	FIELD("currentRevision", STR, "Revision that an update starts from."),
	FIELD("observedGeneration", I64, "Generation that was acted on."),
	FIELD("readyReplicas", I32, "Pods that are ready."),
	ZERO("replicas", I32, "0", "Pods."),
	FIELD("updateRevision", STR, "Revision that an update goes to."),
	FIELD("updatedReplicas", I32, "Pods of updateRevision."),
};
OBJECT(statefulset_status, APPS("StatefulSetStatus"), "What is known of a StatefulSet.");

static const struct neap_schema_field statefulset_fields[] = {
	WHOLE,
	FIELD("spec", &statefulset_spec, NULL),
	FIELD("status", &statefulset_status, NULL),
};
OBJECT(statefulset, APPS("StatefulSet"), "Pods with names and volumes of their own.");

/* --- DaemonSet --- */

static const struct neap_schema_field daemonset_rolling_fields[] = {
	PTR("maxSurge", INT_STR,
	    "On how many nodes there may be two pods, a number or percentage; 0."),
	PTR("maxUnavailable", INT_STR,
	    "On how many nodes there may be none, a number or percentage; 1."),
};
OBJECT(daemonset_rolling, APPS("RollingUpdateDaemonSet"),
       "How far a rolling update goes at a time.");

static const struct neap_schema_field daemonset_update_fields[] = {
	FIELD("rollingUpdate", &daemonset_rolling, NULL),
	FILL("type", &update_type, "\"RollingUpdate\"",
	     "RollingUpdate, or OnDelete: pods are replaced when somebody deletes them."),
};
OBJECT(daemonset_update, APPS("DaemonSetUpdateStrategy"),
       "How old pods are replaced by new ones.");

static const struct neap_schema_field daemonset_spec_fields[] = {
	MIN_READY,
	GIVE("revisionHistoryLimit", I32, "10", "How many old revisions are kept."),
	NEED("selector", &neap_kube_label_selector,
	     "Selects its pods; it cannot be changed."),
	NEED("template", &neap_kube_pod_template_spec, "What the pods are made from."),
	FILL("updateStrategy", &daemonset_update, "{\"type\":\"RollingUpdate\"}", NULL),
};
OBJECT(daemonset_spec, APPS("DaemonSetSpec"), "What a DaemonSet is to be.");

static const struct neap_schema_field daemonset_condition_fields[] = {CONDITION_FIELDS};
OBJECT(daemonset_condition, APPS("DaemonSetCondition"),
       "One thing that is so, or not, of a DaemonSet.");
LIST(daemonset_condition);

static const struct neap_schema_field daemonset_status_fields[] = {
	PTR("collisionCount", I32, "Counts names of revisions that were taken."),
	KEYED("conditions", &daemonset_condition_list, "type", "What is so, or not."),
	ZERO("currentNumberScheduled", I32, "0", "Nodes that have a pod and should."),
	ZERO("desiredNumberScheduled", I32, "0", "Nodes that should have a pod."),
	FIELD("numberAvailable", I32, "Nodes with a pod that is available."),
	ZERO("numberMisscheduled", I32, "0", "Nodes that have a pod and should not."),
	ZERO("numberReady", I32, "0", "Nodes with a pod that is ready."),
	FIELD("numberUnavailable", I32, "Nodes without a pod that is available."),
	FIELD("observedGeneration", I64, "Generation that was acted on."),
	FIELD("updatedNumberScheduled", I32,
	      "Nodes with a pod of the template as it is now."),
};
OBJECT(daemonset_status, APPS("DaemonSetStatus"), "What is known of a DaemonSet.");

static const struct neap_schema_field daemonset_fields[] = {
	WHOLE,
	FIELD("spec", &daemonset_spec, NULL),
	FIELD("status", &daemonset_status, NULL),
};
OBJECT(daemonset, APPS("DaemonSet"), "Keeps a pod on every node that is selected.");

/* --- ControllerRevision --- */

static const struct neap_schema_field controllerrevision_fields[] = {
	WHOLE,
	FIELD("data", ANY, "The state that was; a patch, as its controller reads it."),
	ZERO("revision", I64, "0", "Which one it is; later ones have higher numbers."),
};
OBJECT(controllerrevision, APPS("ControllerRevision"),
       "What a StatefulSet or DaemonSet was at one time; its controller's own.");

const struct neap_kube_kind neap_kube_kind_controllerrevision = {
	.group = "apps",
	.versions = neap_kube_v1,
	.kind = "ControllerRevision",
	.list_kind = "ControllerRevisionList",
	.plural = "controllerrevisions",
	.singular = "controllerrevision",
	.is_namespaced = true,
	.schema = &controllerrevision,
	COLUMNS(controllerrevision),
	.cells = neap_kube_cells_controllerrevision,
	.check = neap_kube_check_controllerrevision,
};

static const char *const statefulset_short[] = {"sts", NULL};

const struct neap_kube_kind neap_kube_kind_statefulset = {
	.group = "apps",
	.versions = neap_kube_v1,
	.kind = "StatefulSet",
	.list_kind = "StatefulSetList",
	.plural = "statefulsets",
	.singular = "statefulset",
	.short_names = statefulset_short,
	.categories = neap_kube_category_all,
	.is_namespaced = true,
	.has_status = true,
	.generation = NEAP_GENERATION_SPEC,
	.replicas_path = ".spec.replicas",
	.status_replicas_path = ".status.replicas",
	.selector_path = ".spec.selector",
	.schema = &statefulset,
	COLUMNS(statefulset),
	.cells = neap_kube_cells_statefulset,
	.complete = neap_kube_complete_statefulset,
	.check = neap_kube_check_statefulset,
};

static const char *const daemonset_short[] = {"ds", NULL};

const struct neap_kube_kind neap_kube_kind_daemonset = {
	.group = "apps",
	.versions = neap_kube_v1,
	.kind = "DaemonSet",
	.list_kind = "DaemonSetList",
	.plural = "daemonsets",
	.singular = "daemonset",
	.short_names = daemonset_short,
	.categories = neap_kube_category_all,
	.is_namespaced = true,
	.has_status = true,
	.generation = NEAP_GENERATION_SPEC,
	.schema = &daemonset,
	COLUMNS(daemonset),
	.cells = neap_kube_cells_daemonset,
	.complete = neap_kube_complete_daemonset,
	.check = neap_kube_check_daemonset,
};
