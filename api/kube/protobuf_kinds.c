/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds whose protobuf bodies are read, with the numbers of their fields. */
#include "api/kube/protobuf_priv.h"

#include "engine/base/base.h"

#define MESSAGE_OF(table)                                                                \
	{                                                                                \
		(table), NEAP_ARRAY_LEN(table)                                           \
	}

static const struct member owner_members[] = {
	{1, "kind", TEXT},
	{3, "name", TEXT},
	{4, "uid", TEXT},
	{5, "apiVersion", TEXT},
	{6, "controller", FLAG, true},
	{7, "blockOwnerDeletion", FLAG, true},
};
static const struct message owner = MESSAGE_OF(owner_members);
static const struct member meta_members[] = {
	{1, "name", TEXT},
	{2, "generateName", TEXT},
	{3, "namespace", TEXT},
	{4, "selfLink", TEXT},
	{5, "uid", TEXT},
	{6, "resourceVersion", TEXT},
	{7, "generation", NUMBER},
	{8, "creationTimestamp", TIME},
	{9, "deletionTimestamp", TIME},
	{10, "deletionGracePeriodSeconds", NUMBER, true},
	{11, "labels", TEXT_MAP},
	{12, "annotations", TEXT_MAP},
	{13, "ownerReferences", MESSAGES, false, &owner},
	{14, "finalizers", TEXTS},
};
static const struct message meta = MESSAGE_OF(meta_members);

static const struct member config_map_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "data", TEXT_MAP},
	{3, "binaryData", BYTES_MAP},
	{4, "immutable", FLAG, true},
};
static const struct message config_map = MESSAGE_OF(config_map_members);

static const struct member namespace_spec_members[] = {{1, "finalizers", TEXTS}};
static const struct message namespace_spec = MESSAGE_OF(namespace_spec_members);
static const struct member namespace_status_members[] = {{1, "phase", TEXT}};
static const struct message namespace_status = MESSAGE_OF(namespace_status_members);
static const struct member namespace_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "spec", MESSAGE, false, &namespace_spec},
	{3, "status", MESSAGE, false, &namespace_status},
};
static const struct message namespace = MESSAGE_OF(namespace_members);

static const struct member resource_members[] = {
	{1, "namespace", TEXT}, {2, "verb", TEXT},     {3, "group", TEXT},
	{4, "version", TEXT},   {5, "resource", TEXT}, {6, "subresource", TEXT},
	{7, "name", TEXT},
};
static const struct message resource = MESSAGE_OF(resource_members);
static const struct member path_members[] = {{1, "path", TEXT}, {2, "verb", TEXT}};
static const struct message path = MESSAGE_OF(path_members);
static const struct member access_spec_members[] = {
	{1, "resourceAttributes", MESSAGE, false, &resource},
	{2, "nonResourceAttributes", MESSAGE, false, &path},
};
static const struct message access_spec = MESSAGE_OF(access_spec_members);
static const struct member access_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "spec", MESSAGE, false, &access_spec},
};
static const struct message access_review = MESSAGE_OF(access_members);

static const struct member rules_spec_members[] = {{1, "namespace", TEXT}};
static const struct message rules_spec = MESSAGE_OF(rules_spec_members);
static const struct member rules_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "spec", MESSAGE, false, &rules_spec},
};
static const struct message rules_review = MESSAGE_OF(rules_members);

static const struct member self_members[] = {{1, "metadata", MESSAGE, false, &meta}};
static const struct message self_review = MESSAGE_OF(self_members);

/* --- what schedulers, controllers and deschedulers write --- */

static const struct member reference_members[] = {
	{1, "kind", TEXT},      {2, "namespace", TEXT},  {3, "name", TEXT},
	{4, "uid", TEXT},       {5, "apiVersion", TEXT}, {6, "resourceVersion", TEXT},
	{7, "fieldPath", TEXT},
};
static const struct message reference = MESSAGE_OF(reference_members);

static const struct member lease_spec_members[] = {
	{1, "holderIdentity", TEXT, true},     {2, "leaseDurationSeconds", NUMBER, true},
	{3, "acquireTime", MICRO_TIME},        {4, "renewTime", MICRO_TIME},
	{5, "leaseTransitions", NUMBER, true}, {6, "strategy", TEXT},
	{7, "preferredHolder", TEXT},
};
static const struct message lease_spec = MESSAGE_OF(lease_spec_members);
static const struct member lease_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "spec", MESSAGE, false, &lease_spec},
};
static const struct message lease = MESSAGE_OF(lease_members);

static const struct member source_members[] = {{1, "component", TEXT}, {2, "host", TEXT}};
static const struct message source = MESSAGE_OF(source_members);
static const struct member series_members[] = {
	{1, "count", NUMBER},
	{2, "lastObservedTime", MICRO_TIME},
};
static const struct message series = MESSAGE_OF(series_members);
static const struct member event_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "involvedObject", MESSAGE, false, &reference},
	{3, "reason", TEXT},
	{4, "message", TEXT},
	{5, "source", MESSAGE, false, &source},
	{6, "firstTimestamp", TIME},
	{7, "lastTimestamp", TIME},
	{8, "count", NUMBER},
	{9, "type", TEXT},
	{10, "eventTime", MICRO_TIME},
	{11, "series", MESSAGE, false, &series},
	{12, "action", TEXT},
	{13, "related", MESSAGE, false, &reference},
	{14, "reportingComponent", TEXT},
	{15, "reportingInstance", TEXT},
};
static const struct message event = MESSAGE_OF(event_members);
static const struct member event_view_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "eventTime", MICRO_TIME},
	{3, "series", MESSAGE, false, &series},
	{4, "reportingController", TEXT},
	{5, "reportingInstance", TEXT},
	{6, "action", TEXT},
	{7, "reason", TEXT},
	{8, "regarding", MESSAGE, false, &reference},
	{9, "related", MESSAGE, false, &reference},
	{10, "note", TEXT},
	{11, "type", TEXT},
	{12, "deprecatedSource", MESSAGE, false, &source},
	{13, "deprecatedFirstTimestamp", TIME},
	{14, "deprecatedLastTimestamp", TIME},
	{15, "deprecatedCount", NUMBER},
};
static const struct message event_view = MESSAGE_OF(event_view_members);

static const struct member binding_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "target", MESSAGE, false, &reference},
};
static const struct message binding = MESSAGE_OF(binding_members);

/* --- what kubectl create makes of its flags, and kubectl drain --- */

#define STRICT(table, name)                                                              \
	{                                                                                \
		(table), NEAP_ARRAY_LEN(table), (name)                                   \
	}

static const struct member selector_members[] = {{1, "matchLabels", TEXT_MAP}};
static const struct message selector = STRICT(selector_members, "LabelSelector");
static const struct member port_members[] = {
	{1, "name", TEXT},
	{3, "containerPort", NUMBER},
	{4, "protocol", TEXT},
};
static const struct message port = STRICT(port_members, "ContainerPort");
static const struct member container_members[] = {
	{1, "name", TEXT},
	{2, "image", TEXT},
	{3, "command", TEXTS},
	{4, "args", TEXTS},
	{6, "ports", MESSAGES, false, &port},
};
static const struct message container = STRICT(container_members, "Container");
static const struct member pod_spec_members[] = {
	{2, "containers", MESSAGES, false, &container},
	{3, "restartPolicy", TEXT},
};
static const struct message pod_spec = STRICT(pod_spec_members, "PodSpec");
static const struct member template_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "spec", MESSAGE, false, &pod_spec},
};
static const struct message pod_template = STRICT(template_members, "PodTemplateSpec");

static const struct member deployment_spec_members[] = {
	{1, "replicas", NUMBER, true},
	{2, "selector", MESSAGE, false, &selector},
	{3, "template", MESSAGE, false, &pod_template},
};
static const struct message deployment_spec =
	STRICT(deployment_spec_members, "DeploymentSpec");
static const struct member deployment_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "spec", MESSAGE, false, &deployment_spec},
	{3, "status", SKIP},
};
static const struct message deployment = STRICT(deployment_members, "Deployment");

static const struct member job_spec_members[] = {
	{6, "template", MESSAGE, false, &pod_template},
};
static const struct message job_spec = STRICT(job_spec_members, "JobSpec");
static const struct member job_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "spec", MESSAGE, false, &job_spec},
	{3, "status", SKIP},
};
static const struct message job = STRICT(job_members, "Job");

static const struct member service_account_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
};
static const struct message service_account =
	STRICT(service_account_members, "ServiceAccount");

static const struct member service_port_members[] = {
	{1, "name", TEXT},       {2, "protocol", TEXT},
	{3, "port", NUMBER},     {4, "targetPort", INT_OR_TEXT},
	{5, "nodePort", NUMBER}, {6, "appProtocol", TEXT},
};
static const struct message service_port = STRICT(service_port_members, "ServicePort");
static const struct member service_spec_members[] = {
	{1, "ports", MESSAGES, false, &service_port},
	{2, "selector", TEXT_MAP},
	{3, "clusterIP", TEXT},
	{4, "type", TEXT},
	{10, "externalName", TEXT},
};
static const struct message service_spec = STRICT(service_spec_members, "ServiceSpec");
static const struct member service_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "spec", MESSAGE, false, &service_spec},
	{3, "status", SKIP},
};
static const struct message service = STRICT(service_members, "Service");

static const struct member budget_spec_members[] = {
	{1, "minAvailable", INT_OR_TEXT, true},
	{2, "selector", MESSAGE, false, &selector},
	{3, "maxUnavailable", INT_OR_TEXT, true},
};
static const struct message budget_spec =
	STRICT(budget_spec_members, "PodDisruptionBudgetSpec");
static const struct member budget_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "spec", MESSAGE, false, &budget_spec},
	{3, "status", SKIP},
};
static const struct message budget = STRICT(budget_members, "PodDisruptionBudget");

static const struct member conditions_members[] = {
	{1, "uid", TEXT},
	{2, "resourceVersion", TEXT},
};
static const struct message conditions = STRICT(conditions_members, "Preconditions");
static const struct member delete_members[] = {
	{1, "gracePeriodSeconds", NUMBER, true},
	{2, "preconditions", MESSAGE, false, &conditions},
	{3, "orphanDependents", FLAG, true},
	{4, "propagationPolicy", TEXT},
	{5, "dryRun", TEXTS},
};
static const struct message delete_options = STRICT(delete_members, "DeleteOptions");
static const struct member eviction_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "deleteOptions", MESSAGE, false, &delete_options},
};
static const struct message eviction = STRICT(eviction_members, "Eviction");

static const struct member priority_members[] = {
	{1, "metadata", MESSAGE, false, &meta},
	{2, "value", NUMBER},
	{3, "globalDefault", FLAG},
	{4, "description", TEXT},
	{5, "preemptionPolicy", TEXT},
};
static const struct message priority_class = STRICT(priority_members, "PriorityClass");

const struct proto_kind neap_kube_proto_kinds[] = {
	{"", "ConfigMap", &config_map},
	{"", "Namespace", &namespace},
	{"authorization.k8s.io/", "SelfSubjectAccessReview", &access_review},
	{"authorization.k8s.io/", "SelfSubjectRulesReview", &rules_review},
	{"authentication.k8s.io/", "SelfSubjectReview", &self_review},
	{"coordination.k8s.io/", "Lease", &lease},
	{"", "Event", &event},
	{"events.k8s.io/", "Event", &event_view},
	{"", "Binding", &binding},
	{"apps/", "Deployment", &deployment},
	{"batch/", "Job", &job},
	{"", "ServiceAccount", &service_account},
	{"", "Service", &service},
	{"policy/", "PodDisruptionBudget", &budget},
	{"policy/", "Eviction", &eviction},
	{"scheduling.k8s.io/", "PriorityClass", &priority_class},
};
const size_t neap_kube_proto_kind_count = NEAP_ARRAY_LEN(neap_kube_proto_kinds);
