/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a pod that was made: phase, conditions, addresses, containers. */
#include "api/kube/types/types_priv.h"

static const struct neap_schema_field pod_condition_fields[] = {
	FIELD("lastProbeTime", TIME, "When it was looked at last."),
	FIELD("lastTransitionTime", TIME, "When the status changed last."),
	FIELD("message", STR, "What it is like, for people."),
	FIELD("reason", STR, "Why, in one word."),
	NEED("status", STR, "True, False or Unknown."),
	NEED("type", STR,
	     "PodScheduled, Initialized, ContainersReady, Ready, DisruptionTarget, or one's own."),
};
OBJECT(pod_condition, CORE("PodCondition"), "One thing that is so, or not, of a pod.");
LIST(pod_condition);

/* --- states of containers --- */

static const struct neap_schema_field running_fields[] = {
	FIELD("startedAt", TIME, "When it was started."),
};
OBJECT(running, CORE("ContainerStateRunning"), "The container runs.");

static const struct neap_schema_field terminated_fields[] = {
	FIELD("containerID", STR, "Identifier of the container, TYPE://ID."),
	ZERO("exitCode", I32, "0", "Exit status."),
	FIELD("finishedAt", TIME, "When it ended."),
	FIELD("message", STR, "What its termination message says."),
	FIELD("reason", STR, "Why it ended, in one word."),
	FIELD("signal", I32, "Signal that ended it."),
	FIELD("startedAt", TIME, "When it was started."),
};
OBJECT(terminated, CORE("ContainerStateTerminated"), "The container has ended.");

static const struct neap_schema_field waiting_fields[] = {
	FIELD("message", STR, "Why, for people."),
	FIELD("reason", STR, "Why, in one word."),
};
OBJECT(waiting, CORE("ContainerStateWaiting"), "The container does not run yet.");

static const struct neap_schema_field state_fields[] = {
	FIELD("running", &running, NULL),
	FIELD("terminated", &terminated, NULL),
	FIELD("waiting", &waiting, NULL),
};
OBJECT(state, CORE("ContainerState"), "What the container is doing; one of them.");

/* --- containers --- */

static const struct neap_schema_field resource_health_fields[] = {
	FIELD("health", STR, "Healthy, Unhealthy or Unknown."),
	NEED("resourceID", STR, "Identifier of the device."),
};
OBJECT(resource_health, CORE("ResourceHealth"), "How well one device is.");
LIST(resource_health);

static const struct neap_schema_field resource_status_fields[] = {
	NEED("name", STR, "Name of the resource."),
	FIELD("resources", &resource_health_list, "Its devices."),
};
OBJECT(resource_status, CORE("ResourceStatus"),
       "How well the devices of a resource are.");
LIST(resource_status);

static const struct neap_schema groups_list = {.type = NEAP_SCHEMA_LIST,
					       .items = &neap_schema_int64};

static const struct neap_schema_field linux_user_fields[] = {
	ZERO("gid", I64, "0", "Group."),
	FIELD("supplementalGroups", &groups_list, "More groups."),
	ZERO("uid", I64, "0", "User."),
};
OBJECT(linux_user, CORE("LinuxContainerUser"), "User and groups on Linux.");

static const struct neap_schema_field user_fields[] = {
	FIELD("linux", &linux_user, NULL),
};
OBJECT(user, CORE("ContainerUser"), "User and groups of the first process.");

static const struct neap_schema_field mount_status_fields[] = {
	NEED("mountPath", STR, "Path in the container."),
	NEED("name", STR, "Name of the volume."),
	FIELD("readOnly", BOOL, "The container cannot write."),
	PTR("recursiveReadOnly", STR, "Nor below mounts in it: Disabled, Enabled."),
};
OBJECT(mount_status, CORE("VolumeMountStatus"), "A volume that is mounted.");
LIST(mount_status);

static const struct neap_schema_field container_status_fields[] = {
	FIELD("allocatedResources", QTY_MAP, "What the node has set aside for it."),
	KEYED("allocatedResourcesStatus", &resource_status_list, "name",
	      "How well its devices are."),
	FIELD("containerID", STR, "Identifier of the container, TYPE://ID."),
	ZERO("image", STR, "\"\"", "Image it runs."),
	ZERO("imageID", STR, "\"\"", "Identifier of that image."),
	GIVE("lastState", &state, "{}", "What the container before it did."),
	NEED("name", STR, "Name of the container."),
	ZERO("ready", BOOL, "false", "It can serve requests."),
	FIELD("resources", &neap_kube_resources,
	      "What it asked for when it was started."),
	ZERO("restartCount", I32, "0", "How often it was started anew."),
	PTR("started", BOOL, "It has been started, and its startup probe succeeded."),
	GIVE("state", &state, "{}", NULL),
	FIELD("user", &user, NULL),
	KEYED("volumeMounts", &mount_status_list, "mountPath",
	      "Volumes that are mounted."),
};
OBJECT(container_status, CORE("ContainerStatus"),
       "What a container of the pod is doing.");
LIST(container_status);

/* --- addresses and claims --- */

static const struct neap_schema_field host_ip_fields[] = {
	NEED("ip", STR, "The address."),
};
OBJECT(host_ip, CORE("HostIP"), "An address of the host.");
LIST(host_ip);

static const struct neap_schema_field pod_ip_fields[] = {
	NEED("ip", STR, "The address."),
};
OBJECT(pod_ip, CORE("PodIP"), "An address of the pod.");
LIST(pod_ip);

static const struct neap_schema_field claim_status_fields[] = {
	NEED("name", STR, "Name of one of spec.resourceClaims."),
	PTR("resourceClaimName", STR, "Name of the ResourceClaim that was made for it."),
};
OBJECT(claim_status, CORE("PodResourceClaimStatus"),
       "A claim of the pod that was made from a template.");
LIST(claim_status);

static const struct neap_schema_field neap_kube_pod_status_fields[] = {
	KEYED("conditions", &pod_condition_list, "type", "What is so, or not."),
	FIELD("containerStatuses", &container_status_list,
	      "What the containers are doing."),
	FIELD("ephemeralContainerStatuses", &container_status_list,
	      "What containers that were put in are doing."),
	FIELD("hostIP", STR, "Address of the node."),
	KEYED("hostIPs", &host_ip_list, "ip",
	      "Addresses of the node; the first is hostIP."),
	FIELD("initContainerStatuses", &container_status_list,
	      "What init containers are doing."),
	FIELD("message", STR, "Why it is so, for people."),
	FIELD("nominatedNodeName", STR, "Node on which room is being made for the pod."),
	FIELD("phase", STR, "Pending, Running, Succeeded, Failed or Unknown."),
	FIELD("podIP", STR, "Address of the pod."),
	KEYED("podIPs", &pod_ip_list, "ip", "Addresses of the pod; the first is podIP."),
	FIELD("qosClass", STR,
	      "Guaranteed, Burstable or BestEffort, by requests and limits."),
	FIELD("reason", STR, "Why it is so, in one word, as Evicted."),
	FIELD("resize", STR,
	      "How far a change of resources is: Proposed, InProgress, Deferred, Infeasible."),
	{.name = "resourceClaimStatuses",
	 .schema = &claim_status_list,
	 .merge = NEAP_LIST_MAP,
	 .merge_key = "name",
	 .retains_keys = true,
	 .zero_is_missing = true,
	 .doc = "Claims of the pod that were made from templates."},
	PTR("startTime", TIME, "When the node took the pod on."),
};
SHARED(neap_kube_pod_status, CORE("PodStatus"),
       "What is known of the pod; those who run it tell it.");
