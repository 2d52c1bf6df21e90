/* SPDX-License-Identifier: Apache-2.0
 *
 * Defaults of nodes, namespaces, services, volumes, claims, and definitions. */
#include <string.h>

#include "api/kube/rules/check_priv.h"
#include "api/kube/rules/rules.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* --- helpers ---
 *
 * Helpers that set defaults. */

bool neap_kube_is_empty(const json_t *value)
{
	return json_object_size(value) == 0 && json_array_size(value) == 0 &&
	       json_string_length(value) == 0;
}

bool neap_kube_member_take(json_t *object, const char *name, json_t *value)
{
	if (!json_is_object(object)) {
		json_decref(value);
		return true;
	}
	return json_object_set_new(object, name, value) == 0;
}

bool neap_kube_default_take(json_t *object, const char *name, json_t *value)
{
	if (json_object_get(object, name)) {
		json_decref(value);
		return true;
	}
	return neap_kube_member_take(object, name, value);
}

bool neap_kube_default_copy(json_t *object, const char *name, const json_t *value)
{
	if (!value || json_object_get(object, name))
		return true;
	return neap_kube_member_take(object, name, neap_json_deep_copy(value));
}

bool neap_kube_child(json_t *object, const char *name, json_t **ret_child)
{
	json_t *child;

	*ret_child = NULL;
	if (!json_is_object(object))
		return true;
	child = json_object_get(object, name);
	if (!child) {
		child = json_object();
		if (json_object_set_new(object, name, child) < 0)
			return false;
	}
	*ret_child = json_is_object(child) ? child : NULL;
	return true;
}

/* A list with one item. */
static json_t *list_of(const char *key, const char *text)
{
	json_t *list = json_array(), *item = json_string(text), *outer;

	if (key) {
		outer = json_object();
		if (json_object_set_new(outer, key, item) < 0) {
			json_decref(outer);
			json_decref(list);
			return NULL;
		}
		item = outer;
	}
	if (json_array_append_new(list, item) < 0) {
		json_decref(list);
		return NULL;
	}
	return list;
}

bool neap_kube_first_of(json_t *object, const char *one, const char *many,
			const char *key)
{
	const char *text = neap_json_text(object, one), *first_text;
	json_t *first = json_array_get(json_object_get(object, many), 0);

	if (key)
		first = json_object_get(first, key);
	first_text = json_string_value(first);
	if (text[0] == '\0')
		return !first_text || first_text[0] == '\0' ||
		       neap_kube_member_take(object, one, neap_json_copy(first));
	if (first_text && strcmp(first_text, text) == 0)
		return true;
	return neap_kube_member_take(object, many, list_of(key, text));
}

/* --- nodes, namespaces, volumes, claims --- */

bool neap_kube_complete_node(json_t *object)
{
	json_t *status = json_object_get(object, "status");

	return neap_kube_default_copy(status, "allocatable",
				      json_object_get(status, "capacity")) &&
	       neap_kube_first_of(json_object_get(object, "spec"), "podCIDR", "podCIDRs",
				  NULL);
}

bool neap_kube_complete_namespace(json_t *object)
{
	json_t *metadata, *labels = NULL, *status;
	const char *name;

	if (!neap_kube_child(object, "metadata", &metadata) ||
	    !neap_kube_child(object, "status", &status))
		return false;
	name = neap_json_text(metadata, "name");
	if (name[0] != '\0' && !neap_kube_child(metadata, "labels", &labels))
		return false;
	return neap_kube_member_take(labels, "kubernetes.io/metadata.name",
				     json_string(name)) &&
	       neap_kube_default_take(status, "phase", json_string("Active"));
}

static bool complete_phase(json_t *object)
{
	json_t *status;

	return neap_kube_child(object, "status", &status) &&
	       neap_kube_default_take(status, "phase", json_string("Pending"));
}

bool neap_kube_complete_persistentvolume(json_t *object)
{
	return complete_phase(object);
}

/* dataSource and dataSourceRef are equal, but only the latter can name a namespace. */
bool neap_kube_complete_persistentvolumeclaim(json_t *object)
{
	json_t *spec = json_object_get(object, "spec");
	const json_t *source = json_object_get(spec, "dataSource");
	const json_t *ref = json_object_get(spec, "dataSourceRef");

	if (!neap_kube_default_copy(spec, "dataSourceRef", source))
		return false;
	if (neap_kube_is_empty(json_object_get(ref, "namespace")) &&
	    !neap_kube_default_copy(spec, "dataSource", ref))
		return false;
	return complete_phase(object);
}

/* --- services --- */

/* targetPort defaults to the service's port. */
static bool complete_ports(const json_t *ports)
{
	json_t *port;
	size_t i;

	json_array_foreach (ports, i, port) {
		const json_t *target = json_object_get(port, "targetPort");
		const json_t *number = json_object_get(port, "port");
		bool none =
			!target ||
			(json_is_integer(target) && json_integer_value(target) == 0) ||
			(json_is_string(target) && json_string_length(target) == 0);

		if (none && json_is_integer(number) &&
		    !neap_kube_member_take(port, "targetPort",
					   neap_json_copy((json_t *)number)))
			return false;
	}
	return true;
}

static bool complete_affinity(json_t *spec)
{
	json_t *config, *client;

	if (!neap_json_is_text(spec, "sessionAffinity", "ClientIP")) {
		(void)json_object_del(spec,
				      "sessionAffinityConfig"); /* if there is one */
		return true;
	}
	return neap_kube_child(spec, "sessionAffinityConfig", &config) &&
	       neap_kube_child(config, "clientIP", &client) &&
	       neap_kube_default_take(client, "timeoutSeconds", json_integer(10800));
}

/* Derives clusterIPs from clusterIP, and the families from the addresses. */
static bool complete_addresses(json_t *spec)
{
	const char *ip = neap_json_text(spec, "clusterIP");
	json_t *families;

	if (ip[0] == '\0')
		return true;
	if (!neap_kube_default_take(spec, "clusterIPs", json_pack("[s]", ip)))
		return false;
	if (strcmp(ip, "None") == 0)
		return true;
	families = json_pack("[s]", strchr(ip, ':') ? "IPv6" : "IPv4");
	return neap_kube_default_take(spec, "ipFamilies", families) &&
	       neap_kube_default_take(spec, "ipFamilyPolicy", json_string("SingleStack"));
}

/* A load balancer's address has the mode VIP by default. */
static bool complete_ingress(const json_t *object)
{
	const json_t *status = json_object_get(object, "status");
	json_t *ingress;
	size_t i;

	json_array_foreach (neap_json_at(status, "loadBalancer.ingress"), i, ingress)
		if (neap_json_text(ingress, "ip")[0] != '\0' &&
		    !neap_kube_default_take(ingress, "ipMode", json_string("VIP")))
			return false;
	return true;
}

bool neap_kube_complete_service(json_t *object)
{
	json_t *spec = json_object_get(object, "spec");
	const char *type = neap_json_text(spec, "type");
	bool balanced = strcmp(type, "LoadBalancer") == 0;
	bool outside = balanced || strcmp(type, "NodePort") == 0;
	bool inside = outside || strcmp(type, "ClusterIP") == 0;

	if (!complete_ports(json_object_get(spec, "ports")) || !complete_affinity(spec) ||
	    (inside && !complete_addresses(spec)))
		return false;
	if (inside && !neap_kube_default_take(spec, "internalTrafficPolicy",
					      json_string("Cluster")))
		return false;
	outside = outside ||
		  (inside && json_array_size(json_object_get(spec, "externalIPs")) > 0);
	if (outside && !neap_kube_default_take(spec, "externalTrafficPolicy",
					       json_string("Cluster")))
		return false;
	if (!balanced)
		return true;
	return neap_kube_default_take(spec, "allocateLoadBalancerNodePorts",
				      json_true()) &&
	       complete_ingress(object);
}

/* --- definitions --- */

/* Kinds are ASCII; the check refuses others. */
static char *lower(const char *text)
{
	char *copy = neap_strdup(text);

	for (char *p = copy; p && *p != '\0'; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	return copy;
}

static bool complete_names(json_t *names)
{
	const char *kind = neap_json_text(names, "kind");
	neap_auto_free char *singular = NULL;
	neap_auto_free char *list = NULL;

	if (kind[0] == '\0')
		return true;
	singular = lower(kind);
	list = neap_asprintf("%sList", kind);
	if (!singular || !list)
		return false;
	if (neap_kube_is_empty(json_object_get(names, "singular")) &&
	    !neap_kube_member_take(names, "singular", json_string(singular)))
		return false;
	return !neap_kube_is_empty(json_object_get(names, "listKind")) ||
	       neap_kube_member_take(names, "listKind", json_string(list));
}

/* The first time: lists the storage version, which clients that migrate objects use. */
static bool complete_stored(json_t *object, const json_t *versions)
{
	const json_t *version;
	json_t *status;
	size_t i;

	json_array_foreach (versions, i, version) {
		const char *name = neap_json_text(version, "name");

		if (!json_is_true(json_object_get(version, "storage")) || name[0] == '\0')
			continue;
		if (!neap_kube_child(object, "status", &status))
			return false;
		if (!neap_kube_is_empty(json_object_get(status, "storedVersions")))
			return true;
		return neap_kube_member_take(status, "storedVersions",
					     json_pack("[s]", name));
	}
	return true;
}

bool neap_kube_complete_customresourcedefinition(json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");

	return complete_names(json_object_get(spec, "names")) &&
	       complete_stored(object, json_object_get(spec, "versions"));
}

/* A kube-apiserver shows it under this name. */
#define BETA_LABEL "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

static bool is_empty_selector(const json_t *budget)
{
	const json_t *selector = neap_json_at(budget, "spec.selector");

	return json_is_object(selector) &&
	       json_object_size(json_object_get(selector, "matchLabels")) == 0 &&
	       json_array_size(json_object_get(selector, "matchExpressions")) == 0;
}

bool neap_kube_budget_from_version(const char *version, json_t *object,
				   const json_t *before)
{
	if (strcmp(version, "v1beta1") != 0 || !is_empty_selector(object) ||
	    is_empty_selector(before))
		return true;
	return json_object_set_new(json_object_get(object, "spec"), "selector",
				   json_pack("{s:[{s:s, s:s}]}", "matchExpressions",
					     "key", BETA_LABEL, "operator", "Exists")) ==
	       0;
}
