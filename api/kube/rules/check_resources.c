/* SPDX-License-Identifier: Apache-2.0
 *
 * Amounts of resources: none is negative, requests do not exceed limits, and names are
 * known or have a prefix. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/rules/check_priv.h"
#include "engine/base/quantity.h"
#include "engine/base/selector.h"
#include "engine/base/text.h"

#define FIELD_SIZE 256

/* --- amounts --- */

/* In thousandths, rounded up; false when out of range. */
static bool thousandths(const json_t *value, __int128 *ret)
{
	const char *text = json_string_value(value);
	int64_t parsed;

	if (json_is_integer(value)) {
		*ret = (__int128)json_integer_value(value) * 1000;
		return true;
	}
	if (json_is_real(value)) {
		double number = ceil(json_real_value(value) * 1000);

		if (!(fabs(number) < 1e30))
			return false;
		*ret = (__int128)number;
		return true;
	}
	if (!text)
		return false;
	if (neap_quantity_parse_milli(text, &parsed, NULL) == 0) {
		*ret = parsed;
		return true;
	}
	if (neap_quantity_parse_units(text, &parsed, NULL) < 0)
		return false;
	*ret = (__int128)parsed * 1000;
	return true;
}

int rule_quantity_compare(const json_t *a, const json_t *b)
{
	char left[NEAP_QUANTITY_SIZE], right[NEAP_QUANTITY_SIZE];
	int order = 0;

	return neap_schema_amount(a, left) && neap_schema_amount(b, right) &&
			       neap_quantity_compare(left, right, &order)
		       ? order
		       : 0;
}

int rule_quantity_sign(const json_t *value)
{
	char text[NEAP_QUANTITY_SIZE];
	int order = 0;

	return neap_schema_amount(value, text) && neap_quantity_compare(text, "0", &order)
		       ? order
		       : 0;
}

static bool rule_quantity_is_whole(const json_t *value)
{
	char text[NEAP_QUANTITY_SIZE];

	/* Only these forms are below one in canonical text. */
	return !neap_schema_amount(value, text) ||
	       !(strchr(text, 'm') || strstr(text, "e-"));
}

/* --- names --- */

/* A name without a prefix is a resource of Kubernetes. Other resources cannot be
 * overcommitted. */
static bool rule_resource_is_native(const char *name)
{
	return !strchr(name, '/') || strstr(name, "kubernetes.io/");
}

static bool is_extended(const char *name)
{
	return !rule_resource_is_native(name) && !neap_text_starts(name, "requests.");
}

static bool is_huge(const char *name)
{
	return neap_text_starts(name, "hugepages-");
}

/* Resources of containers. */
static bool is_standard(const char *name)
{
	static const char *const names[] = {"cpu", "memory", "ephemeral-storage", NULL};

	return neap_text_is_in(name, names) || is_huge(name);
}

/* Resources that are counted in whole numbers. */
static bool is_whole(const char *name)
{
	static const char *const names[] = {"pods",
					    "services",
					    "replicationcontrollers",
					    "resourcequotas",
					    "secrets",
					    "configmaps",
					    "persistentvolumeclaims",
					    "services.nodeports",
					    "services.loadbalancers",
					    NULL};

	return neap_text_is_in(name, names) || is_extended(name);
}

static void check_amount(const char *name, const json_t *value, const char *field,
			 struct neap_causes *causes)
{
	if (rule_quantity_sign(value) < 0)
		neap_causes_invalid(causes, field, value, "%s", RULE_NOT_NEGATIVE);
	if (is_whole(name) && !rule_quantity_is_whole(value))
		neap_causes_invalid(causes, field, value, "must be an integer");
}

static void check_name(const char *name, const char *field, struct neap_causes *causes)
{
	struct neap_error err;

	if (neap_label_check_key(name, &err) < 0) {
		rule_invalid_text(causes, field, name, err.msg);
	} else if (!strchr(name, '/') && !is_standard(name)) {
		rule_invalid_text(causes, field, name,
				  "must be a standard resource type or fully qualified");
		rule_invalid_text(causes, field, name,
				  "must be a standard resource for containers");
	} else if (strchr(name, '/') && !rule_resource_is_native(name) &&
		   !is_extended(name)) {
		rule_invalid_text(causes, field, name,
				  "doesn't follow extended resource name standard");
	}
}

/* --- containers --- */

static void check_list(json_t *amounts, const char *field, bool are_named,
		       struct neap_causes *causes)
{
	const char *name;
	json_t *value;

	json_object_foreach (amounts, name, value) {
		char at[FIELD_SIZE];

		(void)snprintf(at, sizeof(at), "%s[%.100s]", field, name);
		if (are_named)
			check_name(name, at, causes);
		check_amount(name, value, at, causes);
	}
}

void rule_amounts(json_t *amounts, const char *field, struct neap_causes *causes)
{
	check_list(amounts, field, false, causes);
}

static void compare(const char *name, const json_t *request, const json_t *limit,
		    struct neap_causes *causes)
{
	bool may_differ = rule_resource_is_native(name) && !is_huge(name);
	int order = rule_quantity_compare(request, limit);
	char shown[64];

	if (!limit) {
		if (!may_differ)
			neap_causes_required(
				causes, "limits",
				"Limit must be set for non overcommitable resources");
		return;
	}
	if (json_is_string(limit))
		(void)snprintf(shown, sizeof(shown), "%.60s", json_string_value(limit));
	else
		(void)snprintf(shown, sizeof(shown), "%.15g", json_number_value(limit));
	if (order != 0 && !may_differ)
		neap_causes_invalid(causes, "requests", request,
				    "must be equal to %.100s limit of %s", name, shown);
	else if (order > 0)
		neap_causes_invalid(causes, "requests", request,
				    "must be less than or equal to %.100s limit of %s",
				    name, shown);
}

static bool has_huge(json_t *amounts)
{
	const char *name;
	json_t *value;

	json_object_foreach (amounts, name, value)
		if (is_huge(name))
			return true;
	return false;
}

static bool has_main(const json_t *amounts)
{
	return json_object_get(amounts, "cpu") || json_object_get(amounts, "memory");
}

void rule_resources(const json_t *resources, struct neap_causes *causes)
{
	json_t *limits = json_object_get(resources, "limits");
	json_t *requests = json_object_get(resources, "requests");
	const char *name;
	json_t *value;

	check_list(limits, "limits", true, causes);
	check_list(requests, "requests", true, causes);
	json_object_foreach (requests, name, value) {
		compare(name, value, json_object_get(limits, name), causes);
	}
	if ((has_huge(limits) || has_huge(requests)) && !has_main(limits) &&
	    !has_main(requests))
		neap_causes_forbidden(causes, "", "HugePages require cpu or memory");
}

/* --- pods --- */

/* The sum of all containers' requests; false when out of range. */
static bool sum_of(const json_t *containers, const char *name, __int128 *ret)
{
	const json_t *container;
	size_t i;

	*ret = 0;
	json_array_foreach (containers, i, container) {
		const json_t *resources = json_object_get(container, "resources");
		const json_t *value =
			json_object_get(json_object_get(resources, "requests"), name);
		__int128 one = 0;

		if (value && !thousandths(value, &one))
			return false;
		*ret += one;
	}
	return true;
}

static void check_within(const json_t *spec, const char *name, const json_t *request,
			 const json_t *limit, struct neap_causes *causes)
{
	const json_t *containers = json_object_get(spec, "containers"), *container;
	__int128 sum, all;
	char field[FIELD_SIZE];
	size_t i;

	if (request && sum_of(containers, name, &sum) && thousandths(request, &all) &&
	    sum > all) {
		(void)snprintf(field, sizeof(field), "resources.requests[%s]", name);
		neap_causes_invalid(causes, field, request,
				    "must be greater than or equal to aggregate "
				    "container requests");
	}
	json_array_foreach (containers, i, container) {
		const json_t *resources = json_object_get(container, "resources");
		const json_t *own =
			json_object_get(json_object_get(resources, "limits"), name);

		if (!limit || !own || rule_quantity_compare(own, limit) <= 0)
			continue;
		(void)snprintf(field, sizeof(field),
			       "containers[%zu].resources.limits[%s]", i, name);
		neap_causes_invalid(causes, field, own,
				    "must be less than or equal to that of the pod");
	}
}

void rule_pod_resources(const json_t *spec, struct neap_causes *causes)
{
	static const char *const names[] = {"cpu", "memory"};
	static const char *const kinds[] = {"limits", "requests"};
	const json_t *resources = json_object_get(spec, "resources");
	size_t from = causes->count;

	if (!resources)
		return;
	rule_resources(resources, causes);
	if (json_array_size(json_object_get(resources, "claims")) > 0)
		neap_causes_forbidden(causes, "claims",
				      "claims of devices are those of containers");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kinds); i++) {
		const char *name;
		json_t *amount;

		json_object_foreach (json_object_get(resources, kinds[i]), name, amount) {
			char field[FIELD_SIZE];

			if (strcmp(name, names[0]) == 0 || strcmp(name, names[1]) == 0)
				continue;
			(void)snprintf(field, sizeof(field), "%s[%.100s]", kinds[i],
				       name);
			neap_causes_forbidden(causes, field,
					      "a pod as a whole asks for cpu and memory "
					      "only");
		}
	}
	neap_causes_infield(causes, from, "resources");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		check_within(
			spec, names[i],
			json_object_get(json_object_get(resources, "requests"), names[i]),
			json_object_get(json_object_get(resources, "limits"), names[i]),
			causes);
}
