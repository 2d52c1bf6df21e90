/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods, and the templates that other kinds make them from. */
#include "api/kube/types/types_priv.h"

static const struct neap_schema_field dns_option_fields[] = {
	FIELD("name", STR, "Name of the option."),
	PTR("value", STR, "Its value."),
};
OBJECT(dns_option, CORE("PodDNSConfigOption"), "An option of the resolver.");
LIST(dns_option);

static const struct neap_schema_field dns_config_fields[] = {
	FIELD("nameservers", STRS,
	      "Addresses of name servers, beside those of dnsPolicy."),
	FIELD("options", &dns_option_list, "Options of the resolver."),
	FIELD("searches", STRS, "Domains that names are searched in."),
};
OBJECT(dns_config, CORE("PodDNSConfig"),
       "How names are resolved, beside what dnsPolicy says.");

static const struct neap_schema_field host_alias_fields[] = {
	FIELD("hostnames", STRS, "Names of the address."),
	NEED("ip", STR, "The address."),
};
OBJECT(host_alias, CORE("HostAlias"), "A line of the pod's /etc/hosts.");
LIST(host_alias);

ENUM(os_name, "linux", "windows");

static const struct neap_schema_field os_fields[] = {
	NEED("name", &os_name, "linux or windows."),
};
OBJECT(os, CORE("PodOS"), "The operating system that the containers are for.");

static const struct neap_schema_field readiness_gate_fields[] = {
	NEED("conditionType", STR, "Type of a condition of the pod."),
};
OBJECT(readiness_gate, CORE("PodReadinessGate"),
       "A condition that has to be True for the pod to be ready.");
LIST(readiness_gate);

static const struct neap_schema_field resource_claim_fields[] = {
	NEED("name", STR, "Name by which containers refer to it."),
	PTR("resourceClaimName", STR, "Name of a ResourceClaim."),
	PTR("resourceClaimTemplateName", STR,
	    "Name of a ResourceClaimTemplate, of which a claim is made for the pod."),
};
OBJECT(resource_claim, CORE("PodResourceClaim"), "A claim of devices for the pod.");
LIST(resource_claim);

static const struct neap_schema_field scheduling_gate_fields[] = {
	NEED("name", STR, "Name of the gate."),
};
OBJECT(scheduling_gate, CORE("PodSchedulingGate"),
       "While it is there the pod is not scheduled.");
LIST(scheduling_gate);

static const struct neap_schema_field sysctl_fields[] = {
	NEED("name", STR, "Name of the parameter."),
	NEED("value", STR, "Its value."),
};
OBJECT(sysctl, CORE("Sysctl"), "A parameter of the kernel.");
LIST(sysctl);

static const struct neap_schema groups_list = {.type = NEAP_SCHEMA_LIST,
					       .items = &neap_schema_int64};

ENUM(fs_group_policy, "Always", "OnRootMismatch");
ENUM(groups_policy, "Merge", "Strict");

static const struct neap_schema_field pod_security_fields[] = {
	FIELD("appArmorProfile", &neap_kube_apparmor, NULL),
	PTR("fsGroup", I64, "Group that owns the volumes, as far as they can be owned."),
	PTR("fsGroupChangePolicy", &fs_group_policy,
	    "When the owner of a volume's files is changed: Always, OnRootMismatch."),
	PTR("runAsGroup", I64, "Group of the processes."),
	PTR("runAsNonRoot", BOOL, "A container that would run as user 0 is not started."),
	PTR("runAsUser", I64,
	    "User of the processes; that of the image where none is set."),
	FIELD("seLinuxOptions", &neap_kube_selinux, NULL),
	FIELD("seccompProfile", &neap_kube_seccomp, NULL),
	FIELD("supplementalGroups", &groups_list, "More groups of the processes."),
	PTR("supplementalGroupsPolicy", &groups_policy,
	    "Whether the groups of the image count as well: Merge, Strict."),
	FIELD("sysctls", &sysctl_list, "Parameters of the kernel."),
	FIELD("windowsOptions", &neap_kube_windows_options, NULL),
};
OBJECT(pod_security, CORE("PodSecurityContext"),
       "What the processes of all containers may do.");

ENUM(restart_policy, "Always", "OnFailure", "Never");
ENUM(dns_policy, "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None");
ENUM(preemption_policy, "PreemptLowerPriority", "Never");

static const struct neap_schema_field pod_spec_fields[] = {
	PTR("activeDeadlineSeconds", I64,
	    "Seconds the pod may be on a node before it is ended."),
	FIELD("affinity", &neap_kube_affinity, NULL),
	PTR("automountServiceAccountToken", BOOL,
	    "A token of the service account is mounted."),
	{.name = "containers",
	 .schema = &neap_kube_container_list,
	 .is_required = true,
	 .merge = NEAP_LIST_MAP,
	 .merge_key = "name",
	 .doc = "The containers of the pod; one at least."},
	FIELD("dnsConfig", &dns_config, NULL),
	FILL("dnsPolicy", &dns_policy, "\"ClusterFirst\"",
	     "How names are resolved: ClusterFirst, ClusterFirstWithHostNet, Default, None."),
	PTR("enableServiceLinks", BOOL,
	    "Services are told in variables of the environment; true in pods where it is not set."),
	KEYED("ephemeralContainers", &neap_kube_ephemeral_container_list, "name",
	      "Containers that were put into the running pod."),
	KEYED("hostAliases", &host_alias_list, "ip", "Lines of the pod's /etc/hosts."),
	FIELD("hostIPC", BOOL, "Shares the host's IPC namespace."),
	FIELD("hostNetwork", BOOL, "Shares the host's network."),
	FIELD("hostPID", BOOL, "Shares the host's PID namespace."),
	PTR("hostUsers", BOOL,
	    "Shares the host's user namespace; true where it is not set."),
	FIELD("hostname", STR, "Host name; that of the pod where none is set."),
	KEYED("imagePullSecrets", &neap_kube_local_reference_list, "name",
	      "Secrets for pulling images."),
	KEYED("initContainers", &neap_kube_container_list, "name",
	      "Containers that run one after the other before the rest start."),
	FIELD("nodeName", STR, "Node that the pod is on; empty until it is scheduled."),
	FIELD("nodeSelector", STR_MAP, "Labels that the node has to have."),
	FIELD("os", &os, NULL),
	FIELD("overhead", QTY_MAP, "What running the pod takes beside its containers."),
	PTR("preemptionPolicy", &preemption_policy,
	    "Whether pods of lower priority make room for it: PreemptLowerPriority, Never."),
	PTR("priority", I32, "Priority, that of its class; higher goes first."),
	FIELD("priorityClassName", STR, "Name of a PriorityClass."),
	FIELD("readinessGates", &readiness_gate_list,
	      "Conditions that have to be True for the pod to be ready."),
	{.name = "resourceClaims",
	 .schema = &resource_claim_list,
	 .merge = NEAP_LIST_MAP,
	 .merge_key = "name",
	 .retains_keys = true,
	 .zero_is_missing = true,
	 .doc = "Claims of devices for the pod."},
	FIELD("resources", &neap_kube_resources,
	      "How much of CPU and memory the containers use together."),
	FILL("restartPolicy", &restart_policy, "\"Always\"",
	     "When ended containers are started anew: Always, OnFailure, Never."),
	PTR("runtimeClassName", STR, "Name of a RuntimeClass."),
	FILL("schedulerName", STR, "\"default-scheduler\"",
	     "Which scheduler finds a node."),
	KEYED("schedulingGates", &scheduling_gate_list, "name",
	      "While there is one the pod is not scheduled."),
	GIVE("securityContext", &pod_security, "{}", NULL),
	FIELD("serviceAccount", STR, "The former name of serviceAccountName."),
	FIELD("serviceAccountName", STR,
	      "Name of the service account that the pod runs as."),
	PTR("setHostnameAsFQDN", BOOL, "The host name is the full domain name."),
	PTR("shareProcessNamespace", BOOL, "The containers share one PID namespace."),
	FIELD("subdomain", STR, "Subdomain: HOSTNAME.SUBDOMAIN.NAMESPACE.svc.DOMAIN."),
	GIVE("terminationGracePeriodSeconds", I64, "30",
	     "Seconds the processes have to end before they are killed."),
	FIELD("tolerations", &neap_kube_toleration_list,
	      "Taints of nodes that the pod puts up with."),
	PAIRED("topologySpreadConstraints", &neap_kube_topology_spread_list,
	       "topologyKey", "whenUnsatisfiable", "How evenly pods are spread."),
	{.name = "volumes",
	 .schema = &neap_kube_volume_list,
	 .merge = NEAP_LIST_MAP,
	 .merge_key = "name",
	 .retains_keys = true,
	 .zero_is_missing = true,
	 .doc = "Volumes that containers can mount."},
};
OBJECT(pod_spec, CORE("PodSpec"), "What a pod is to be.");

static const struct neap_schema_field pod_fields[] = {
	WHOLE,
	FIELD("spec", &pod_spec, NULL),
	FIELD("status", &neap_kube_pod_status, NULL),
};
OBJECT(pod, CORE("Pod"), "Containers that run together on one node.");

static const struct neap_schema_field neap_kube_pod_template_spec_fields[] = {
	FIELD("metadata", &neap_kube_object_meta, "Labels and annotations of the pods."),
	FIELD("spec", &pod_spec, "What the pods are to be."),
};
SHARED(neap_kube_pod_template_spec, CORE("PodTemplateSpec"), "What pods are made from.");

static const char *const pod_short[] = {"po", NULL};
static const char *const pod_selectable[] = {"spec.nodeName",
					     "spec.restartPolicy",
					     "spec.schedulerName",
					     "spec.serviceAccountName",
					     "spec.hostNetwork",
					     "status.phase",
					     "status.podIP",
					     "status.nominatedNodeName",
					     NULL};

const struct neap_kube_kind neap_kube_kind_pod = {
	.group = "",
	.versions = neap_kube_v1,
	.kind = "Pod",
	.list_kind = "PodList",
	.plural = "pods",
	.shows_deleted = true,
	.singular = "pod",
	.short_names = pod_short,
	.categories = neap_kube_category_all,
	.is_namespaced = true,
	.has_status = true,
	.schema = &pod,
	.fields = pod_selectable,
	COLUMNS(pod),
	.cells = neap_kube_cells_pod,
	.complete = neap_kube_complete_pod,
	.check = neap_kube_check_pod,
};
