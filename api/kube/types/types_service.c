/* SPDX-License-Identifier: Apache-2.0
 *
 * Services. They are kept for those who look at them (a scheduler spreads by them); nobody serves
 * their addresses. */
#include "api/kube/types/types_priv.h"

static const struct neap_schema_field port_fields[] = {
	PTR("appProtocol", STR, "What is spoken over the port."),
	FIELD("name", STR, "Name of the port; needed where there are several."),
	FIELD("nodePort", I32, "Port of every node that leads to it."),
	NEED("port", I32, "Number of the port, 1 to 65535."),
	FILL("protocol", &neap_kube_protocol, "\"TCP\"", "TCP, UDP or SCTP."),
	FIELD("targetPort", INT_STR,
	      "Number or name of the pods' port; port where none is set."),
};
OBJECT(port, CORE("ServicePort"), "A port of a service.");
LIST(port);

static const struct neap_schema_field client_ip_fields[] = {
	PTR("timeoutSeconds", I32, "How long a client stays with a pod, 1 to 86400."),
};
OBJECT(client_ip, CORE("ClientIPConfig"), "How ClientIP works.");

static const struct neap_schema_field affinity_config_fields[] = {
	FIELD("clientIP", &client_ip, NULL),
};
OBJECT(affinity_config, CORE("SessionAffinityConfig"), "How clients stay with a pod.");

ENUM(service_type, "ClusterIP", "ExternalName", "LoadBalancer", "NodePort");
ENUM(session_affinity, "ClientIP", "None");
ENUM(traffic_policy, "Cluster", "Local");
ENUM(ip_family, "IPv4", "IPv6");
LIST(ip_family);
ENUM(ip_family_policy, "PreferDualStack", "RequireDualStack", "SingleStack");
ENUM(distribution, "PreferClose");

static const struct neap_schema_field service_spec_fields[] = {
	PTR("allocateLoadBalancerNodePorts", BOOL,
	    "Ports of nodes are taken for a LoadBalancer."),
	FIELD("clusterIP", STR,
	      "Address of the service; None: it has none, and names lead to the pods."),
	FIELD("clusterIPs", STRS,
	      "The same, one of each family; the first is clusterIP."),
	FIELD("externalIPs", STRS, "Addresses of nodes that lead to it as well."),
	FIELD("externalName", STR, "Name that it stands for, with ExternalName."),
	FIELD("externalTrafficPolicy", &traffic_policy,
	      "Where requests from outside go: Cluster, Local (pods of the same node)."),
	FIELD("healthCheckNodePort", I32,
	      "Port where nodes tell whether they have pods of it."),
	PTR("internalTrafficPolicy", &traffic_policy,
	    "Where requests from within go: Cluster, Local."),
	FIELD("ipFamilies", &ip_family_list, "IPv4, IPv6."),
	PTR("ipFamilyPolicy", &ip_family_policy,
	    "SingleStack, PreferDualStack or RequireDualStack."),
	PTR("loadBalancerClass", STR, "Which kind of load balancer."),
	FIELD("loadBalancerIP", STR, "Address that is wished of the load balancer."),
	FIELD("loadBalancerSourceRanges", STRS,
	      "Addresses that may come through the load balancer."),
	PAIRED("ports", &port_list, "port", "protocol", "Ports of the service."),
	FIELD("publishNotReadyAddresses", BOOL, "Pods count that are not ready."),
	FIELD("selector", STR_MAP, "Labels of the pods."),
	FILL("sessionAffinity", &session_affinity, "\"None\"",
	     "Whether clients stay with a pod: ClientIP, None."),
	FIELD("sessionAffinityConfig", &affinity_config, NULL),
	PTR("trafficDistribution", &distribution,
	    "Which pods are preferred: PreferClose."),
	FILL("type", &service_type, "\"ClusterIP\"",
	     "ClusterIP, NodePort, LoadBalancer or ExternalName."),
};
OBJECT(service_spec, CORE("ServiceSpec"), "What a service is to be.");

static const struct neap_schema_field port_status_fields[] = {
	PTR("error", STR, "Why the port is not served."),
	NEED("port", I32, "Number of the port."),
	NEED("protocol", &neap_kube_protocol, "TCP, UDP or SCTP."),
};
OBJECT(port_status, CORE("PortStatus"), "A port of a load balancer.");
LIST(port_status);

static const struct neap_schema_field ingress_fields[] = {
	FIELD("hostname", STR, "Its name."),
	FIELD("ip", STR, "Its address."),
	PTR("ipMode", STR, "VIP or Proxy."),
	FIELD("ports", &port_status_list, "Its ports."),
};
OBJECT(ingress, CORE("LoadBalancerIngress"), "Where a load balancer is.");
LIST(ingress);

static const struct neap_schema_field balancer_fields[] = {
	FIELD("ingress", &ingress_list, "Where it is."),
};
OBJECT(balancer, CORE("LoadBalancerStatus"), "What is known of the load balancer.");

static const struct neap_schema_field service_status_fields[] = {
	KEYED("conditions", &neap_kube_condition_list, "type", "What is so, or not."),
	GIVE("loadBalancer", &balancer, "{}", NULL),
};
OBJECT(service_status, CORE("ServiceStatus"), "What is known of the service.");

static const struct neap_schema_field service_fields[] = {
	WHOLE,
	FIELD("spec", &service_spec, NULL),
	GIVE("status", &service_status, "{}", NULL),
};
OBJECT(service, CORE("Service"), "A name and address for a set of pods.");

static const char *const service_short[] = {"svc", NULL};
static const char *const service_selectable[] = {"spec.clusterIP", "spec.type", NULL};

const struct neap_kube_kind neap_kube_kind_service = {
	.group = "",
	.versions = neap_kube_v1,
	.kind = "Service",
	.list_kind = "ServiceList",
	.plural = "services",
	.is_made_by_update = true,
	.shows_deleted = true,
	.singular = "service",
	.short_names = service_short,
	.categories = neap_kube_category_all,
	.is_namespaced = true,
	.has_status = true,
	.schema = &service,
	.fields = service_selectable,
	COLUMNS(service),
	.cells = neap_kube_cells_service,
	.complete = neap_kube_complete_service,
	.check = neap_kube_check_service,
};
