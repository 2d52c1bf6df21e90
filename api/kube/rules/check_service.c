/* SPDX-License-Identifier: Apache-2.0
 *
 * Services: ports, addresses, and fields of certain types only. A field left over from a
 * former type may stay if unchanged: a kube-apiserver removes it when the type
 * changes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

static bool is_type(const json_t *spec, const char *type)
{
	return strcmp(neap_json_text(spec, "type"), type) == 0;
}

static bool is_headless(const json_t *spec)
{
	return neap_json_is_text(spec, "clusterIP", "None");
}

/* --- ports --- */

struct ports {
	struct rule_seen names, numbers, nodes;
	struct rule_seen old_nodes; /* before: left over from a former type */
	bool are_many, is_inside;
};

/* Whether the set has "PROTOCOL/NUMBER" already; adds it. */
static bool is_twice(struct rule_seen *seen, const json_t *port, int64_t number,
		     struct neap_causes *causes)
{
	char key[64];

	(void)snprintf(key, sizeof(key), "%.16s/%" PRId64,
		       neap_json_text(port, "protocol"), number);
	return rule_seen_add(seen, key, causes);
}

static void check_node_port(struct ports *ports, const json_t *port,
			    struct neap_causes *causes)
{
	const json_t *value = json_object_get(port, "nodePort");
	int64_t number = json_integer_value(value);
	char text[32];

	if (number == 0)
		return;
	if (!rule_is_port(number)) {
		neap_causes_invalid(causes, "nodePort", value, "%s", RULE_PORT);
		return;
	}
	(void)snprintf(text, sizeof(text), "%" PRId64, number);
	if (ports->is_inside && !rule_seen_has(&ports->old_nodes, text))
		neap_causes_forbidden(causes, "nodePort",
				      "may not be used when `type` is 'ClusterIP'");
	if (is_twice(&ports->nodes, port, number, causes))
		neap_causes_duplicate(causes, "nodePort", value);
}

static void check_port(const json_t *port, void *arg, struct neap_causes *causes)
{
	struct ports *ports = arg;
	const char *name = neap_json_text(port, "name");
	const json_t *number = json_object_get(port, "port");

	if (name[0] == '\0' && ports->are_many)
		neap_causes_required(causes, "name", "");
	rule_label(port, "name", causes);
	rule_unique(&ports->names, port, "name", causes);
	rule_port(port, "port", causes);
	rule_port(port, "targetPort", causes);
	check_node_port(ports, port, causes);
	if (json_is_integer(number) &&
	    is_twice(&ports->numbers, port, json_integer_value(number), causes)) {
		json_t *shown = json_pack("{s:O,s:s}", "port", number, "protocol",
					  neap_json_text(port, "protocol"));

		if (!shown)
			rule_nomem(causes);
		else
			neap_causes_duplicate(causes, "", shown);
		json_decref(shown);
	}
}

static void check_ports(const json_t *spec, const json_t *before,
			struct neap_causes *causes)
{
	const json_t *list = json_object_get(spec, "ports");
	struct ports ports = {
		.are_many = json_array_size(list) > 1,
		.is_inside = is_type(spec, "ClusterIP"),
	};
	size_t i;
	const json_t *port;

	if (json_array_size(list) == 0 && !is_headless(spec) &&
	    !is_type(spec, "ExternalName"))
		neap_causes_required(causes, "ports", "");
	json_array_foreach (json_object_get(before, "ports"), i, port) {
		char text[32];

		(void)snprintf(text, sizeof(text), "%" PRId64,
			       rule_int(port, "nodePort"));
		(void)rule_seen_add(&ports.old_nodes, text, causes);
	}
	rule_each(spec, "ports", check_port, &ports, causes);
	rule_seen_done(&ports.names);
	rule_seen_done(&ports.numbers);
	rule_seen_done(&ports.nodes);
	rule_seen_done(&ports.old_nodes);
}

/* --- addresses --- */

/* The first of clusterIPs may be None. */
static void check_cluster_ip(const json_t *value, void *arg, struct neap_causes *causes)
{
	const char *text = json_string_value(value);

	if (text && rule_ip_fault(text) && !(value == arg && strcmp(text, "None") == 0))
		neap_causes_invalid(causes, "", value, "%s", RULE_IP);
}

static void check_cluster_ips(const json_t *spec, struct neap_causes *causes)
{
	const json_t *list = json_object_get(spec, "clusterIPs");
	json_t *first = json_array_get(list, 0);
	const json_t *ip = json_object_get(spec, "clusterIP");

	if (is_type(spec, "ExternalName"))
		return;
	rule_each(spec, "clusterIPs", check_cluster_ip, first, causes);
	if (json_array_size(list) > 2)
		neap_causes_invalid(causes, "clusterIPs", list,
				    "may only hold up to 2 values");
	if (first && !json_equal(first, ip))
		neap_causes_invalid(causes, "clusterIPs", list,
				    "first value must match `clusterIP`");
	if (is_headless(spec) && json_array_size(list) > 1)
		neap_causes_invalid(causes, "clusterIPs[0]", first,
				    "'None' must be the first and only value");
}

/* --- types --- */

/* A member that only services of other types have. Not reported if it was there
 * before. */
static void may_not(const json_t *spec, const json_t *before, const char *name,
		    const char *fault, struct neap_causes *causes)
{
	const json_t *value = json_object_get(spec, name);

	if (neap_kube_is_empty(value) && !json_is_boolean(value))
		return;
	if (!json_equal(value, json_object_get(before, name)))
		neap_causes_forbidden(causes, name, "%s", fault);
}

static void check_external_name(const json_t *spec, const json_t *before,
				struct neap_causes *causes)
{
	static const char *const names[] = {"clusterIPs", "ipFamilies", "ipFamilyPolicy"};
	const char *name = neap_json_text(spec, "externalName");
	size_t len = strlen(name);
	char domain[512];
	const char *fault;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		may_not(spec, before, names[i],
			"may not be set when `type` is 'ExternalName'", causes);
	if (len == 0) {
		neap_causes_required(causes, "externalName", "");
		return;
	}
	(void)neap_strcopy(domain, sizeof(domain), name);
	if (len < sizeof(domain) && domain[len - 1] == '.')
		domain[len - 1] = '\0';
	fault = neap_kube_dns_subdomain_fault(domain);
	rule_invalid(spec, "externalName", fault, causes);
}

static void check_type(const json_t *spec, const json_t *before,
		       struct neap_causes *causes)
{
	bool is_balanced = is_type(spec, "LoadBalancer");
	bool is_outside = is_balanced || is_type(spec, "NodePort") ||
			  (is_type(spec, "ClusterIP") &&
			   json_array_size(json_object_get(spec, "externalIPs")) > 0);
	const json_t *policy = json_object_get(spec, "externalTrafficPolicy");

	if (is_headless(spec) && (is_balanced || is_type(spec, "NodePort")))
		neap_causes_invalid(causes, "clusterIPs[0]",
				    json_object_get(spec, "clusterIP"),
				    "may not be set to 'None' for %s services",
				    neap_json_text(spec, "type"));
	if (is_type(spec, "ExternalName"))
		check_external_name(spec, before, causes);
	if (!is_balanced) {
		static const char fault[] =
			"may only be used when `type` is 'LoadBalancer'";

		may_not(spec, before, "allocateLoadBalancerNodePorts", fault, causes);
		may_not(spec, before, "loadBalancerClass", fault, causes);
	}
	if (!is_outside && !neap_kube_is_empty(policy) &&
	    !json_equal(policy, json_object_get(before, "externalTrafficPolicy")))
		neap_causes_invalid(causes, "externalTrafficPolicy", policy,
				    "may only be set for externally-accessible services");
}

static void check_affinity(const json_t *spec, struct neap_causes *causes)
{
	static const char field[] = "sessionAffinityConfig.clientIP.timeoutSeconds";
	const json_t *config = json_object_get(spec, "sessionAffinityConfig");
	const json_t *seconds = neap_json_at(config, "clientIP.timeoutSeconds");
	int64_t number = json_integer_value(seconds);

	if (!neap_json_is_text(spec, "sessionAffinity", "ClientIP")) {
		if (config)
			neap_causes_forbidden(
				causes, "sessionAffinityConfig",
				"must not be set when session affinity is None");
		return;
	}
	if (json_is_integer(seconds) && (number <= 0 || number > 86400))
		neap_causes_invalid(causes, field, seconds,
				    "must be greater than 0 and less than 86400");
}

/* An address cannot change while the service has one. */
static void keep_address(const json_t *spec, const json_t *before,
			 struct neap_causes *causes)
{
	const json_t *now = json_object_get(spec, "clusterIP");
	const json_t *old = json_object_get(before, "clusterIP");

	if (neap_kube_is_empty(old) || is_type(before, "ExternalName") ||
	    is_type(spec, "ExternalName"))
		return;
	if (neap_kube_is_empty(now))
		neap_causes_invalid(causes, "clusterIPs[0]", now,
				    "primary clusterIP can not be unset");
	else if (!json_equal(now, old))
		neap_causes_invalid(causes, "clusterIPs[0]",
				    json_object_get(spec, "clusterIPs"),
				    "may not change once set");
}

void neap_kube_check_service(const json_t *object, const json_t *before,
			     struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *old = json_object_get(before, "spec");
	const json_t *name = neap_json_at(object, "metadata.name");
	const char *fault = NULL;
	size_t from;

	/* The checks of metadata report invalid names. */
	if (!before && json_is_string(name) &&
	    !neap_kube_dns_subdomain_fault(json_string_value(name)))
		fault = rule_service_name_fault(json_string_value(name));
	if (fault)
		neap_causes_invalid(causes, "metadata.name", name, "%s", fault);
	from = causes->count;
	if (!spec) {
		neap_causes_required(causes, "spec.ports", "");
		return;
	}
	check_ports(spec, old, causes);
	check_type(spec, old, causes);
	check_cluster_ips(spec, causes);
	rule_texts(spec, "externalIPs", rule_ip_fault, causes);
	rule_labels(json_object_get(spec, "selector"), "selector", causes);
	check_affinity(spec, causes);
	keep_address(spec, old, causes);
	neap_causes_infield(causes, from, "spec");
}
