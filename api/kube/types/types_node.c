/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes. */
#include "api/kube/types/types_priv.h"

static const struct neap_schema_field config_map_source_fields[] = {
	NEED("kubeletConfigKey", STR, "Key in the ConfigMap."),
	NEED("name", STR, "Name of the ConfigMap."),
	NEED("namespace", STR, "Namespace of the ConfigMap."),
	FIELD("resourceVersion", STR, "State of the ConfigMap."),
	FIELD("uid", STR, "UID of the ConfigMap."),
};
OBJECT(config_map_source, CORE("ConfigMapNodeConfigSource"),
       "A ConfigMap with the kubelet's configuration.");

static const struct neap_schema_field config_source_fields[] = {
	FIELD("configMap", &config_map_source, NULL),
};
OBJECT(config_source, CORE("NodeConfigSource"),
       "Where the kubelet has its configuration from; not used any more.");

ENUM(taint_effect, "NoSchedule", "PreferNoSchedule", "NoExecute");

static const struct neap_schema_field taint_fields[] = {
	NEED("effect", &taint_effect,
	     "What it does to pods that do not tolerate it: NoSchedule, PreferNoSchedule, NoExecute."),
	NEED("key", STR, "Key of the taint."),
	PTR("timeAdded", TIME, "When it was put on, of NoExecute."),
	FIELD("value", STR, "Value of the taint."),
};
OBJECT(taint, CORE("Taint"), "Keeps pods off a node that do not tolerate it.");
LIST(taint);

static const struct neap_schema_field node_spec_fields[] = {
	FIELD("configSource", &config_source, NULL),
	FIELD("externalID", STR, "Not used any more."),
	FIELD("podCIDR", STR, "Addresses for the node's pods."),
	UNITED("podCIDRs", STRS, "The same, one of each family; the first is podCIDR."),
	FIELD("providerID", STR,
	      "Identifier of the machine at its provider, PROVIDER://ID."),
	FIELD("taints", &taint_list, "Keep pods off that do not tolerate them."),
	FIELD("unschedulable", BOOL, "No more pods are scheduled onto it."),
};
OBJECT(node_spec, CORE("NodeSpec"), "What a node is to be.");

static const struct neap_schema_field address_fields[] = {
	NEED("address", STR, "The address."),
	NEED("type", STR, "Hostname, InternalIP, ExternalIP, InternalDNS, ExternalDNS."),
};
OBJECT(address, CORE("NodeAddress"), "An address of a node.");
LIST(address);

static const struct neap_schema_field node_condition_fields[] = {
	FIELD("lastHeartbeatTime", TIME, "When the node told it last."),
	FIELD("lastTransitionTime", TIME, "When the status changed last."),
	FIELD("message", STR, "What it is like, for people."),
	FIELD("reason", STR, "Why, in one word."),
	NEED("status", STR, "True, False or Unknown."),
	NEED("type", STR,
	     "Ready, MemoryPressure, DiskPressure, PIDPressure, NetworkUnavailable, or one's own."),
};
OBJECT(node_condition, CORE("NodeCondition"), "One thing that is so, or not, of a node.");
LIST(node_condition);

static const struct neap_schema_field config_status_fields[] = {
	FIELD("active", &config_source, "The one in use."),
	FIELD("assigned", &config_source, "The one that will be tried."),
	FIELD("error", STR, "Why it cannot be used."),
	FIELD("lastKnownGood", &config_source, "The one that is gone back to."),
};
OBJECT(config_status, CORE("NodeConfigStatus"),
       "Which configuration the kubelet uses; not used any more.");

static const struct neap_schema_field endpoint_fields[] = {
	ZERO("Port", I32, "0", "Number of the port."),
};
OBJECT(endpoint, CORE("DaemonEndpoint"), "Where a daemon listens.");

static const struct neap_schema_field endpoints_fields[] = {
	FIELD("kubeletEndpoint", &endpoint, "Where the kubelet listens."),
};
OBJECT(endpoints, CORE("NodeDaemonEndpoints"), "Where the daemons of a node listen.");

static const struct neap_schema_field features_fields[] = {
	PTR("supplementalGroupsPolicy", BOOL,
	    "The runtime knows supplementalGroupsPolicy."),
};
OBJECT(features, CORE("NodeFeatures"), "What the runtime of a node can do.");

static const struct neap_schema_field image_fields[] = {
	FIELD("names", STRS, "Names of the image."),
	FIELD("sizeBytes", I64, "Its size in bytes."),
};
OBJECT(image, CORE("ContainerImage"), "An image on a node.");
LIST(image);

static const struct neap_schema_field system_info_fields[] = {
	ZERO("architecture", STR, "\"\"", "Architecture, as amd64."),
	ZERO("bootID", STR, "\"\"", "Identifier of this run of the kernel."),
	ZERO("containerRuntimeVersion", STR, "\"\"",
	     "Runtime and its version, as containerd://1.7.2."),
	ZERO("kernelVersion", STR, "\"\"", "Version of the kernel."),
	ZERO("kubeProxyVersion", STR, "\"\"", "Not used any more."),
	ZERO("kubeletVersion", STR, "\"\"", "Version of the kubelet."),
	ZERO("machineID", STR, "\"\"",
	     "Identifier of the machine, that of /etc/machine-id."),
	ZERO("operatingSystem", STR, "\"\"", "Operating system, as linux."),
	ZERO("osImage", STR, "\"\"", "Name of the system, that of /etc/os-release."),
	ZERO("systemUUID", STR, "\"\"", "UUID of the machine that its firmware tells."),
};
OBJECT(system_info, CORE("NodeSystemInfo"), "What the node is and runs.");

static const struct neap_schema_field handler_features_fields[] = {
	PTR("recursiveReadOnlyMounts", BOOL, "Knows recursiveReadOnly."),
	PTR("userNamespaces", BOOL, "Knows user namespaces."),
};
OBJECT(handler_features, CORE("NodeRuntimeHandlerFeatures"), "What a runtime can do.");

static const struct neap_schema_field handler_fields[] = {
	FIELD("features", &handler_features, NULL),
	FIELD("name", STR, "Name of the runtime; empty: the default."),
};
OBJECT(handler, CORE("NodeRuntimeHandler"), "A runtime of a node.");
LIST(handler);

static const struct neap_schema_field attached_fields[] = {
	NEED("devicePath", STR, "Path of the device."),
	NEED("name", STR, "Name of the volume."),
};
OBJECT(attached, CORE("AttachedVolume"), "A volume that is attached to a node.");
LIST(attached);

static const struct neap_schema_field node_status_fields[] = {
	KEYED("addresses", &address_list, "type", "Addresses of the node."),
	FIELD("allocatable", QTY_MAP,
	      "What pods can have; capacity where it is not told."),
	FIELD("capacity", QTY_MAP, "What there is."),
	KEYED("conditions", &node_condition_list, "type", "What is so, or not."),
	FIELD("config", &config_status, NULL),
	FIELD("daemonEndpoints", &endpoints, NULL),
	FIELD("features", &features, NULL),
	FIELD("images", &image_list, "Images that are there."),
	FIELD("nodeInfo", &system_info, NULL),
	FIELD("phase", STR, "Not used any more."),
	FIELD("runtimeHandlers", &handler_list, "Runtimes that are there."),
	FIELD("volumesAttached", &attached_list, "Volumes that are attached."),
	FIELD("volumesInUse", STRS, "Volumes that are mounted."),
};
OBJECT(node_status, CORE("NodeStatus"), "What is known of the node; it tells it.");

static const struct neap_schema_field node_fields[] = {
	WHOLE,
	FIELD("spec", &node_spec, NULL),
	FIELD("status", &node_status, NULL),
};
OBJECT(node, CORE("Node"), "A machine that pods run on.");

static const char *const node_short[] = {"no", NULL};
static const char *const node_selectable[] = {"spec.unschedulable", NULL};

const struct neap_kube_kind neap_kube_kind_node = {
	.group = "",
	.versions = neap_kube_v1,
	.kind = "Node",
	.list_kind = "NodeList",
	.plural = "nodes",
	.singular = "node",
	.short_names = node_short,
	.has_status = true,
	.status_has_labels = true,
	.schema = &node,
	.fields = node_selectable,
	COLUMNS(node),
	.cells = neap_kube_cells_node,
	.complete = neap_kube_complete_node,
	.check = neap_kube_check_node,
};
