/* SPDX-License-Identifier: Apache-2.0
 *
 * Protobuf numbers of the fields that came to Kubernetes after 1.20, which no part that
 * the other tests run sends. Nothing else would notice a wrong number in the .types of
 * api/kube/types. They are those of the descriptors that kubectl 1.31 to 1.33 carry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/openapi/proto.h"
#include "engine/base/mem.h"

#define CORE(x) "io.k8s.api.core.v1." x
#define META(x) "io.k8s.apimachinery.pkg.apis.meta.v1." x

static const struct row {
	const char *message;
	size_t number;
	const char *field;
} rows[] = {
	{CORE("AppArmorProfile"), 1, "type"},
	{CORE("AppArmorProfile"), 2, "localhostProfile"},
	{CORE("CSIPersistentVolumeSource"), 10, "nodeExpandSecretRef"},
	{CORE("ClusterTrustBundleProjection"), 1, "name"},
	{CORE("ClusterTrustBundleProjection"), 2, "signerName"},
	{CORE("ClusterTrustBundleProjection"), 3, "labelSelector"},
	{CORE("ClusterTrustBundleProjection"), 4, "path"},
	{CORE("ClusterTrustBundleProjection"), 5, "optional"},
	{CORE("Container"), 23, "resizePolicy"},
	{CORE("Container"), 24, "restartPolicy"},
	{CORE("ContainerResizePolicy"), 1, "resourceName"},
	{CORE("ContainerResizePolicy"), 2, "restartPolicy"},
	{CORE("ContainerStatus"), 10, "allocatedResources"},
	{CORE("ContainerStatus"), 11, "resources"},
	{CORE("ContainerStatus"), 12, "volumeMounts"},
	{CORE("ContainerStatus"), 13, "user"},
	{CORE("ContainerStatus"), 14, "allocatedResourcesStatus"},
	{CORE("ContainerUser"), 1, "linux"},
	{CORE("EphemeralContainer.1"), 23, "resizePolicy"},
	{CORE("EphemeralContainer.1"), 24, "restartPolicy"},
	{CORE("GRPCAction"), 1, "port"},
	{CORE("GRPCAction"), 2, "service"},
	{CORE("HostIP"), 1, "ip"},
	{CORE("ImageVolumeSource"), 1, "reference"},
	{CORE("ImageVolumeSource"), 2, "pullPolicy"},
	{CORE("LifecycleHandler"), 1, "exec"},
	{CORE("LifecycleHandler"), 2, "httpGet"},
	{CORE("LifecycleHandler"), 3, "tcpSocket"},
	{CORE("LifecycleHandler"), 4, "sleep"},
	{CORE("LinuxContainerUser"), 1, "uid"},
	{CORE("LinuxContainerUser"), 2, "gid"},
	{CORE("LinuxContainerUser"), 3, "supplementalGroups"},
	{CORE("LoadBalancerIngress"), 3, "ipMode"},
	{CORE("ModifyVolumeStatus"), 1, "targetVolumeAttributesClassName"},
	{CORE("ModifyVolumeStatus"), 2, "status"},
	{CORE("NodeFeatures"), 1, "supplementalGroupsPolicy"},
	{CORE("NodeRuntimeHandler"), 1, "name"},
	{CORE("NodeRuntimeHandler"), 2, "features"},
	{CORE("NodeRuntimeHandlerFeatures"), 1, "recursiveReadOnlyMounts"},
	{CORE("NodeRuntimeHandlerFeatures"), 2, "userNamespaces"},
	{CORE("NodeStatus"), 12, "runtimeHandlers"},
	{CORE("NodeStatus"), 13, "features"},
	{CORE("PersistentVolumeClaimSpec"), 8, "dataSourceRef"},
	{CORE("PersistentVolumeClaimSpec"), 9, "volumeAttributesClassName"},
	{CORE("PersistentVolumeClaimStatus"), 5, "allocatedResources"},
	{CORE("PersistentVolumeClaimStatus"), 7, "allocatedResourceStatuses"},
	{CORE("PersistentVolumeClaimStatus"), 8, "currentVolumeAttributesClassName"},
	{CORE("PersistentVolumeClaimStatus"), 9, "modifyVolumeStatus"},
	{CORE("PersistentVolumeSpec"), 10, "volumeAttributesClassName"},
	{CORE("PersistentVolumeStatus"), 4, "lastPhaseTransitionTime"},
	{CORE("PodAffinityTerm"), 4, "namespaceSelector"},
	{CORE("PodAffinityTerm"), 5, "matchLabelKeys"},
	{CORE("PodAffinityTerm"), 6, "mismatchLabelKeys"},
	{CORE("PodOS"), 1, "name"},
	{CORE("PodResourceClaim"), 1, "name"},
	{CORE("PodResourceClaim"), 3, "resourceClaimName"},
	{CORE("PodResourceClaim"), 4, "resourceClaimTemplateName"},
	{CORE("PodResourceClaimStatus"), 1, "name"},
	{CORE("PodResourceClaimStatus"), 2, "resourceClaimName"},
	{CORE("PodSchedulingGate"), 1, "name"},
	{CORE("PodSecurityContext"), 11, "appArmorProfile"},
	{CORE("PodSecurityContext"), 12, "supplementalGroupsPolicy"},
	{CORE("PodSpec"), 36, "os"},
	{CORE("PodSpec"), 37, "hostUsers"},
	{CORE("PodSpec"), 38, "schedulingGates"},
	{CORE("PodSpec"), 39, "resourceClaims"},
	{CORE("PodSpec"), 40, "resources"},
	{CORE("PodStatus"), 14, "resize"},
	{CORE("PodStatus"), 15, "resourceClaimStatuses"},
	{CORE("PodStatus"), 16, "hostIPs"},
	{CORE("Probe"), 7, "terminationGracePeriodSeconds"},
	{CORE("Probe.1"), 1, "exec"},
	{CORE("Probe.1"), 2, "httpGet"},
	{CORE("Probe.1"), 3, "tcpSocket"},
	{CORE("Probe.1"), 4, "grpc"},
	{CORE("ResourceClaim"), 1, "name"},
	{CORE("ResourceClaim"), 2, "request"},
	{CORE("ResourceHealth"), 1, "resourceID"},
	{CORE("ResourceHealth"), 2, "health"},
	{CORE("ResourceRequirements"), 3, "claims"},
	{CORE("ResourceStatus"), 1, "name"},
	{CORE("ResourceStatus"), 2, "resources"},
	{CORE("SecurityContext"), 12, "appArmorProfile"},
	{CORE("ServiceSpec"), 21, "loadBalancerClass"},
	{CORE("ServiceSpec"), 22, "internalTrafficPolicy"},
	{CORE("ServiceSpec"), 23, "trafficDistribution"},
	{CORE("SleepAction"), 1, "seconds"},
	{CORE("TopologySpreadConstraint"), 5, "minDomains"},
	{CORE("TopologySpreadConstraint"), 6, "nodeAffinityPolicy"},
	{CORE("TopologySpreadConstraint"), 7, "nodeTaintsPolicy"},
	{CORE("TopologySpreadConstraint"), 8, "matchLabelKeys"},
	{CORE("TypedObjectReference"), 1, "apiGroup"},
	{CORE("TypedObjectReference"), 2, "kind"},
	{CORE("TypedObjectReference"), 3, "name"},
	{CORE("TypedObjectReference"), 4, "namespace"},
	{CORE("VolumeMount"), 7, "recursiveReadOnly"},
	{CORE("VolumeMountStatus"), 1, "name"},
	{CORE("VolumeMountStatus"), 2, "mountPath"},
	{CORE("VolumeMountStatus"), 3, "readOnly"},
	{CORE("VolumeMountStatus"), 4, "recursiveReadOnly"},
	{CORE("VolumeProjection"), 5, "clusterTrustBundle"},
	{CORE("VolumeResourceRequirements"), 1, "limits"},
	{CORE("VolumeResourceRequirements"), 2, "requests"},
	{CORE("Volume.2"), 30, "image"},
	{CORE("WindowsSecurityContextOptions"), 4, "hostProcess"},
	{"io.k8s.api.apps.v1.RollingUpdateDaemonSet", 2, "maxSurge"},
	{"io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy", 2, "maxUnavailable"},
	{"io.k8s.api.apps.v1.StatefulSetOrdinals", 1, "start"},
	{"io.k8s.api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", 1,
	 "whenDeleted"},
	{"io.k8s.api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", 2,
	 "whenScaled"},
	{"io.k8s.api.apps.v1.StatefulSetSpec", 9, "minReadySeconds"},
	{"io.k8s.api.apps.v1.StatefulSetSpec", 10,
	 "persistentVolumeClaimRetentionPolicy"},
	{"io.k8s.api.apps.v1.StatefulSetSpec", 11, "ordinals"},
	{"io.k8s.api.apps.v1.StatefulSetStatus", 11, "availableReplicas"},
	{"io.k8s.api.authentication.v1.SelfSubjectReview", 1, "metadata"},
	{"io.k8s.api.batch.v1.JobSpec", 9, "completionMode"},
	{"io.k8s.api.batch.v1.JobSpec", 10, "suspend"},
	{"io.k8s.api.batch.v1.JobSpec", 11, "podFailurePolicy"},
	{"io.k8s.api.batch.v1.JobSpec", 12, "backoffLimitPerIndex"},
	{"io.k8s.api.batch.v1.JobSpec", 13, "maxFailedIndexes"},
	{"io.k8s.api.batch.v1.JobSpec", 14, "podReplacementPolicy"},
	{"io.k8s.api.batch.v1.JobSpec", 15, "managedBy"},
	{"io.k8s.api.batch.v1.JobSpec", 16, "successPolicy"},
	{"io.k8s.api.batch.v1.JobStatus", 7, "completedIndexes"},
	{"io.k8s.api.batch.v1.JobStatus", 8, "uncountedTerminatedPods"},
	{"io.k8s.api.batch.v1.JobStatus", 9, "ready"},
	{"io.k8s.api.batch.v1.JobStatus", 10, "failedIndexes"},
	{"io.k8s.api.batch.v1.JobStatus", 11, "terminating"},
	{"io.k8s.api.batch.v1.PodFailurePolicy", 1, "rules"},
	{"io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement", 1,
	 "containerName"},
	{"io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement", 2, "operator"},
	{"io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement", 3, "values"},
	{"io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern", 1, "type"},
	{"io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern", 2, "status"},
	{"io.k8s.api.batch.v1.PodFailurePolicyRule", 1, "action"},
	{"io.k8s.api.batch.v1.PodFailurePolicyRule", 2, "onExitCodes"},
	{"io.k8s.api.batch.v1.PodFailurePolicyRule", 3, "onPodConditions"},
	{"io.k8s.api.batch.v1.SuccessPolicy", 1, "rules"},
	{"io.k8s.api.batch.v1.SuccessPolicyRule", 1, "succeededIndexes"},
	{"io.k8s.api.batch.v1.SuccessPolicyRule", 2, "succeededCount"},
	{"io.k8s.api.batch.v1.UncountedTerminatedPods", 1, "succeeded"},
	{"io.k8s.api.batch.v1.UncountedTerminatedPods", 2, "failed"},
	{"io.k8s.api.coordination.v1.LeaseSpec", 6, "strategy"},
	{"io.k8s.api.coordination.v1.LeaseSpec", 7, "preferredHolder"},
	{"io.k8s.api.policy.v1.Eviction", 1, "metadata"},
	{"io.k8s.api.policy.v1.Eviction", 2, "deleteOptions"},
	{"io.k8s.api.policy.v1.PodDisruptionBudget", 1, "metadata"},
	{"io.k8s.api.policy.v1.PodDisruptionBudget", 2, "spec"},
	{"io.k8s.api.policy.v1.PodDisruptionBudget", 3, "status"},
	{"io.k8s.api.policy.v1.PodDisruptionBudgetSpec", 1, "minAvailable"},
	{"io.k8s.api.policy.v1.PodDisruptionBudgetSpec", 2, "selector"},
	{"io.k8s.api.policy.v1.PodDisruptionBudgetSpec", 3, "maxUnavailable"},
	{"io.k8s.api.policy.v1.PodDisruptionBudgetSpec", 4, "unhealthyPodEvictionPolicy"},
	{"io.k8s.api.policy.v1.PodDisruptionBudgetStatus", 1, "observedGeneration"},
	{"io.k8s.api.policy.v1.PodDisruptionBudgetStatus", 2, "disruptedPods"},
	{"io.k8s.api.policy.v1.PodDisruptionBudgetStatus", 3, "disruptionsAllowed"},
	{"io.k8s.api.policy.v1.PodDisruptionBudgetStatus", 4, "currentHealthy"},
	{"io.k8s.api.policy.v1.PodDisruptionBudgetStatus", 5, "desiredHealthy"},
	{"io.k8s.api.policy.v1.PodDisruptionBudgetStatus", 6, "expectedPods"},
	{"io.k8s.api.policy.v1.PodDisruptionBudgetStatus", 7, "conditions"},
	{META("DeleteOptions"), 6, "ignoreStoreReadErrorWithClusterBreakingPotential"},
};

static void test_later_fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		const struct proto_numbers *numbers =
			neap_proto_numbers_find(row->message);
		const char *field;

		if (!numbers || numbers->count < row->number)
			fail_msg("%s has no %zu", row->message, row->number);
		field = numbers->fields[row->number - 1];
		if (!field || strcmp(field + (*field == '*'), row->field) != 0)
			fail_msg("%s: %zu is %s, not %s", row->message, row->number,
				 field ? field : "none", row->field);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_later_fields),
	};

	return cmocka_run_group_tests_name("protobuf_numbers", tests, NULL, NULL);
}
