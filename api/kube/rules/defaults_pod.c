/* SPDX-License-Identifier: Apache-2.0
 *
 * Defaults of pods and pod templates. */
#include <limits.h>
#include <string.h>

#include "api/kube/rules/defaults_priv.h"
#include "api/kube/rules/rules.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* Sets the policy (member name) from the tag of the image (member image), where the
 * policy is missing, or empty as in some manifests. */
static bool complete_policy(json_t *object, const char *image, const char *name)
{
	const json_t *value = json_object_get(object, name);
	bool latest = neap_kube_image_is_latest(neap_kube_text(object, image));

	if (value != NULL && (!json_is_string(value) || json_string_length(value) > 0))
		return true;
	return neap_kube_member_take(object, name,
				     json_string(latest ? "Always" : "IfNotPresent"));
}

static bool complete_containers(const json_t *containers)
{
	json_t *container;
	size_t i;

	json_array_foreach (containers, i, container)
		if (!complete_policy(container, "image", "imagePullPolicy"))
			return false;
	return true;
}

/* A volume without a source is an emptyDir. An image volume has a pull policy as
 * containers have. */
static bool complete_volumes(const json_t *volumes)
{
	json_t *volume;
	size_t i;

	json_array_foreach (volumes, i, volume) {
		size_t named = json_object_get(volume, "name") != NULL ? 1 : 0;

		if (json_object_size(volume) == named &&
		    !neap_kube_default_take(volume, "emptyDir", json_object()))
			return false;
		if (!complete_policy(json_object_get(volume, "image"), "reference",
				     "pullPolicy"))
			return false;
	}
	return true;
}

/* serviceAccount is the former name of serviceAccountName: both are set. */
static bool complete_account(json_t *spec)
{
	const json_t *name = json_object_get(spec, "serviceAccountName");

	if (neap_kube_is_empty(name)) {
		name = json_object_get(spec, "serviceAccount");
		return neap_kube_is_empty(name) ||
		       neap_kube_member_take(spec, "serviceAccountName",
					     neap_json_deep_copy(name));
	}
	return neap_kube_member_take(spec, "serviceAccount", neap_json_deep_copy(name));
}

/* Shared by pods and templates. */
static bool complete_spec(json_t *spec)
{
	return complete_containers(json_object_get(spec, "containers")) &&
	       complete_containers(json_object_get(spec, "initContainers")) &&
	       complete_containers(json_object_get(spec, "ephemeralContainers")) &&
	       complete_volumes(json_object_get(spec, "volumes")) &&
	       complete_account(spec);
}

bool neap_kube_complete_pod_template(json_t *pod_template)
{
	return complete_spec(json_object_get(pod_template, "spec"));
}

/* A resource with a limit but no request is requested up to the limit. */
static bool complete_requests(const json_t *containers)
{
	json_t *container, *requests;
	size_t i;

	json_array_foreach (containers, i, container) {
		json_t *resources = json_object_get(container, "resources");
		json_t *limits = json_object_get(resources, "limits");
		const char *name;
		const json_t *limit;

		if (json_object_size(limits) == 0)
			continue;
		if (!neap_kube_child(resources, "requests", &requests))
			return false;
		json_object_foreach (limits, name, limit)
			if (!neap_kube_default_copy(requests, name, limit))
				return false;
	}
	return true;
}

/* The same for the pod's own resources, but at least what its containers request. */
static bool complete_pod_requests(json_t *spec)
{
	json_t *resources = json_object_get(spec, "resources"), *requests;
	json_t *limits = json_object_get(resources, "limits");
	const char *name;
	const json_t *limit;

	if (json_object_size(limits) == 0)
		return true;
	if (!neap_kube_child(resources, "requests", &requests))
		return false;
	json_object_foreach (limits, name, limit)
		if (!neap_kube_default_copy(requests, name, limit))
			return false;
	return true;
}

/* In the host's network a container port is a host port. */
static bool complete_ports(const json_t *ports)
{
	json_t *port;
	size_t i;

	json_array_foreach (ports, i, port) {
		json_t *number = json_object_get(port, "containerPort");

		if (json_integer_value(json_object_get(port, "hostPort")) != 0 ||
		    !json_is_integer(number))
			continue;
		if (!neap_kube_member_take(port, "hostPort", neap_json_copy(number)))
			return false;
	}
	return true;
}

static bool complete_host_ports(const json_t *containers)
{
	const json_t *container;
	size_t i;

	json_array_foreach (containers, i, container)
		if (!complete_ports(json_object_get(container, "ports")))
			return false;
	return true;
}

/* --- the class of service --- */

enum { CPU, MEMORY, RESOURCES };

/* Sums of requests and limits; -1: none. */
struct totals {
	int64_t requests[RESOURCES], limits[RESOURCES];
	bool all_limited; /* all containers have both limits */
};

/* The amount, CPU in thousandths; 0 when it is invalid or negative. */
static int64_t amount(const json_t *value, int which)
{
	char text[NEAP_QUANTITY_SIZE];
	int64_t ret = 0;
	int rc, order = 0;

	if (!neap_schema_amount(value, text) ||
	    !neap_quantity_compare(text, "0", &order) || order <= 0)
		return 0;
	rc = which == CPU ? neap_quantity_parse_milli(text, &ret, NULL)
			  : neap_quantity_parse_units(text, &ret, NULL);
	return rc < 0 ? INT64_MAX : ret;
}

/* Returns whether more was positive. */
static bool add(int64_t *total, int64_t more)
{
	if (more <= 0)
		return false;
	if (*total < 0)
		*total = 0;
	if (__builtin_add_overflow(*total, more, total))
		*total = INT64_MAX;
	return true;
}

static void add_resources(struct totals *totals, const json_t *resources)
{
	static const char *const names[RESOURCES] = {"cpu", "memory"};
	const json_t *requests = json_object_get(resources, "requests");
	const json_t *limits = json_object_get(resources, "limits");

	for (int r = 0; r < RESOURCES; r++) {
		(void)add(&totals->requests[r],
			  amount(json_object_get(requests, names[r]), r));
		if (!add(&totals->limits[r],
			 amount(json_object_get(limits, names[r]), r)))
			totals->all_limited = false;
	}
}

static void add_containers(struct totals *totals, const json_t *containers)
{
	const json_t *container;
	size_t i;

	json_array_foreach (containers, i, container) {
		add_resources(totals, json_object_get(container, "resources"));
	}
}

/* Guaranteed: every container has limits of CPU and memory, and requests the same.
 * BestEffort: nothing is requested. */
static const char *qos_class(const json_t *spec)
{
	struct totals totals = {{-1, -1}, {-1, -1}, true};
	bool none = true, equal = true;

	/* The pod's own resources count, else its containers'. */
	if (json_object_size(json_object_get(json_object_get(spec, "resources"),
					     "requests")) > 0) {
		add_resources(&totals, json_object_get(spec, "resources"));
	} else {
		add_containers(&totals, json_object_get(spec, "containers"));
		add_containers(&totals, json_object_get(spec, "initContainers"));
	}
	for (int r = 0; r < RESOURCES; r++) {
		none = none && totals.requests[r] < 0 && totals.limits[r] < 0;
		equal = equal && totals.requests[r] == totals.limits[r];
	}
	if (none)
		return "BestEffort";
	return totals.all_limited && equal ? "Guaranteed" : "Burstable";
}

static bool complete_status(json_t *pod, const json_t *spec)
{
	json_t *status;

	if (!neap_kube_child(pod, "status", &status))
		return false;
	return neap_kube_default_take(status, "phase", json_string("Pending")) &&
	       neap_kube_default_take(status, "qosClass", json_string(qos_class(spec))) &&
	       neap_kube_first_of(status, "podIP", "podIPs", "ip");
}

bool neap_kube_complete_pod(json_t *object)
{
	json_t *spec = json_object_get(object, "spec");
	const json_t *containers = json_object_get(spec, "containers");
	const json_t *init = json_object_get(spec, "initContainers");

	if (!complete_spec(spec) || !complete_requests(containers) ||
	    !complete_requests(init) || !complete_pod_requests(spec))
		return false;
	if (json_is_true(json_object_get(spec, "hostNetwork")) &&
	    (!complete_host_ports(containers) || !complete_host_ports(init)))
		return false;
	return neap_kube_default_take(spec, "enableServiceLinks", json_true()) &&
	       complete_status(object, spec);
}
