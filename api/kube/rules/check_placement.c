/* SPDX-License-Identifier: Apache-2.0
 *
 * Where pods may run: tolerations, node and pod affinity, topology spread. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"
#include "engine/base/selector.h"

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

/* --- tolerations --- */

static void check_toleration(const json_t *toleration, void *arg NEAP_UNUSED,
			     struct neap_causes *causes)
{
	const char *key = neap_json_text(toleration, "key");
	const char *operator= neap_json_text(toleration, "operator");
	const char *value = neap_json_text(toleration, "value");
	const char *effect = neap_json_text(toleration, "effect");
	struct neap_error err;

	if (key[0] != '\0')
		rule_qualified(toleration, "key", causes);
	else if (strcmp(operator, "Exists") != 0)
		rule_invalid_text(causes, "operator", operator,
				  "operator must be Exists when `key` is empty, which "
				  "means \"match all values and all keys\"");
	if (json_is_integer(json_object_get(toleration, "tolerationSeconds")) &&
	    strcmp(effect, "NoExecute") != 0)
		rule_invalid_text(
			causes, "effect", effect,
			"effect must be 'NoExecute' when `tolerationSeconds` is "
			"set");
	if (operator[0] == '\0' || strcmp(operator, "Equal") == 0) {
		if (neap_label_check_value(value, &err) < 0)
			neap_causes_invalid(causes, "operator",
					    json_object_get(toleration, "value"), "%s",
					    err.msg);
	} else if (strcmp(operator, "Exists") == 0 && value[0] != '\0') {
		neap_causes_invalid(causes, "operator", toleration,
				    "value must be empty when `operator` is 'Exists'");
	}
}

void rule_tolerations(const json_t *spec, struct neap_causes *causes)
{
	rule_each(spec, "tolerations", check_toleration, NULL, causes);
}

/* --- nodes --- */

static bool is_in(const char *operator)
{
	return strcmp(operator, "In") == 0 || strcmp(operator, "NotIn") == 0;
}

static void check_expression(const json_t *requirement, void *arg NEAP_UNUSED,
			     struct neap_causes *causes)
{
	const char *operator= neap_json_text(requirement, "operator");
	size_t values = json_array_size(json_object_get(requirement, "values"));

	rule_qualified(requirement, "key", causes);
	if (is_in(operator)) {
		if (values == 0)
			neap_causes_required(
				causes, "values",
				"must be specified when `operator` is 'In' or 'NotIn'");
	} else if (strcmp(operator, "Exists") == 0 ||
		   strcmp(operator, "DoesNotExist") == 0) {
		if (values > 0)
			neap_causes_forbidden(causes, "values",
					      "may not be specified when `operator` is "
					      "'Exists' or 'DoesNotExist'");
	} else if (values != 1 &&
		   (strcmp(operator, "Gt") == 0 || strcmp(operator, "Lt") == 0)) {
		neap_causes_required(causes, "values",
				     "must be specified single value when `operator` is "
				     "'Lt' or 'Gt'");
	}
}

static void check_node_field(const json_t *requirement, void *arg NEAP_UNUSED,
			     struct neap_causes *causes)
{
	const json_t *values = json_object_get(requirement, "values");
	const json_t *operator= json_object_get(requirement, "operator");
	const json_t *key = json_object_get(requirement, "key");

	if (!is_in(neap_json_text(requirement, "operator")))
		neap_causes_invalid(causes, "operator", operator,
				    "not a valid selector operator");
	else if (json_array_size(values) != 1)
		neap_causes_required(causes, "values",
				     "must be only one value when `operator` is 'In' or "
				     "'NotIn' for node field selector");
	if (json_is_string(key) && strcmp(json_string_value(key), "metadata.name") != 0) {
		neap_causes_invalid(causes, "key", key, "not a valid field selector key");
		return;
	}
	rule_texts(requirement, "values", neap_kube_dns_subdomain_fault, causes);
}

static void check_term(const json_t *term, void *arg, struct neap_causes *causes)
{
	rule_each(term, "matchExpressions", check_expression, arg, causes);
	rule_each(term, "matchFields", check_node_field, arg, causes);
}

void rule_node_selector(const json_t *selector, struct neap_causes *causes)
{
	const json_t *terms = json_object_get(selector, "nodeSelectorTerms");

	if (json_is_array(terms) && json_array_size(terms) == 0)
		neap_causes_required(causes, "nodeSelectorTerms",
				     "must have at least one node selector term");
	rule_each(selector, "nodeSelectorTerms", check_term, NULL, causes);
}

static void check_weight(const json_t *item, struct neap_causes *causes)
{
	rule_range(item, "weight", 1, 100, "must be in the range 1-100", causes);
}

static void check_preference(const json_t *term, struct neap_causes *causes)
{
	check_term(term, NULL, causes);
}

static void check_preferred(const json_t *item, void *arg NEAP_UNUSED,
			    struct neap_causes *causes)
{
	check_weight(item, causes);
	rule_in(item, "preference", check_preference, causes);
}

static void check_node_affinity(const json_t *affinity, struct neap_causes *causes)
{
	rule_in(affinity, REQUIRED, rule_node_selector, causes);
	rule_each(affinity, PREFERRED, check_preferred, NULL, causes);
}

/* --- pods --- */

/* A node label. */
static void check_topology_key(const json_t *object, struct neap_causes *causes)
{
	const json_t *key = json_object_get(object, "topologyKey");

	if (json_is_string(key) && json_string_length(key) == 0)
		neap_causes_required(causes, "topologyKey", "can not be empty");
	else
		rule_qualified(object, "topologyKey", causes);
}

static void check_pod_term(const json_t *term, struct neap_causes *causes)
{
	size_t i;
	const json_t *name;

	rule_selector(json_object_get(term, "labelSelector"), "labelSelector", NULL,
		      causes);
	rule_selector(json_object_get(term, "namespaceSelector"), "namespaceSelector",
		      NULL, causes);
	json_array_foreach (json_object_get(term, "namespaces"), i, name) {
		const char *text = json_string_value(name);
		const char *fault = text ? neap_kube_dns_label_fault(text) : NULL;

		if (fault)
			neap_causes_invalid(causes, "namespace", name, "%s", fault);
	}
	check_topology_key(term, causes);
}

static void check_required_pod(const json_t *term, void *arg NEAP_UNUSED,
			       struct neap_causes *causes)
{
	check_pod_term(term, causes);
}

static void check_preferred_pod(const json_t *item, void *arg NEAP_UNUSED,
				struct neap_causes *causes)
{
	size_t from;

	check_weight(item, causes);
	from = causes->count;
	check_pod_term(json_object_get(item, "podAffinityTerm"), causes);
	neap_causes_infield(causes, from, "podAffinityTerm");
}

static void check_pod_affinity(const json_t *affinity, struct neap_causes *causes)
{
	rule_each(affinity, REQUIRED, check_required_pod, NULL, causes);
	rule_each(affinity, PREFERRED, check_preferred_pod, NULL, causes);
}

void rule_affinity(const json_t *affinity, struct neap_causes *causes)
{
	rule_in(affinity, "nodeAffinity", check_node_affinity, causes);
	rule_in(affinity, "podAffinity", check_pod_affinity, causes);
	rule_in(affinity, "podAntiAffinity", check_pod_affinity, causes);
}

/* --- changes of a pod that waits at its gates --- */

/* Whether list begins with the items of before. */
static bool begins_with(const json_t *list, const json_t *before)
{
	size_t i;
	const json_t *item;

	json_array_foreach (before, i, item)
		if (!rule_same(json_array_get(list, i), item))
			return false;
	return true;
}

void rule_affinity_update(const json_t *affinity, const json_t *before,
			  struct neap_causes *causes)
{
	static const char field[] = "nodeAffinity." REQUIRED ".nodeSelectorTerms";
	static const char *const lists[] = {"matchExpressions", "matchFields"};
	const json_t *terms = json_object_get(
		json_object_get(json_object_get(affinity, "nodeAffinity"), REQUIRED),
		"nodeSelectorTerms");
	const json_t *old = json_object_get(
		json_object_get(json_object_get(before, "nodeAffinity"), REQUIRED),
		"nodeSelectorTerms");
	size_t i;
	const json_t *term;

	if (json_array_size(old) == 0)
		return;
	if (json_array_size(terms) != json_array_size(old)) {
		neap_causes_invalid(causes, field, terms,
				    "no additions/deletions to non-empty "
				    "NodeSelectorTerms list are allowed");
		return;
	}
	json_array_foreach (old, i, term)
		for (size_t k = 0; k < NEAP_ARRAY_LEN(lists); k++) {
			const json_t *now = json_array_get(terms, i);
			char at[256];

			if (begins_with(json_object_get(now, lists[k]),
					json_object_get(term, lists[k])))
				continue;
			(void)snprintf(at, sizeof(at), "%s[%zu]", field, i);
			neap_causes_invalid(causes, at, now,
					    "only additions are allowed (no mutations or "
					    "deletions)");
			break;
		}
}

/* --- spreading --- */

/* arg: struct rule_seen. */
static void check_constraint(const json_t *item, void *arg, struct neap_causes *causes)
{
	const char *key = neap_json_text(item, "topologyKey");
	const char *when = neap_json_text(item, "whenUnsatisfiable");
	const json_t *domains = json_object_get(item, "minDomains");
	char pair[512];

	rule_range(item, "maxSkew", 1, INT64_MAX, RULE_POSITIVE, causes);
	check_topology_key(item, causes);
	if (json_is_integer(domains) && json_integer_value(domains) <= 0)
		neap_causes_invalid(causes, "minDomains", domains, "%s", RULE_POSITIVE);
	else if (json_is_integer(domains) && strcmp(when, "DoNotSchedule") != 0)
		neap_causes_invalid(causes, "minDomains", domains,
				    "can only use minDomains if "
				    "whenUnsatisfiable=DoNotSchedule, not %.64s",
				    when);
	rule_selector(json_object_get(item, "labelSelector"), "labelSelector", NULL,
		      causes);
	(void)snprintf(pair, sizeof(pair), "{%.320s, %.64s}", key, when);
	if (rule_seen_add(arg, pair, causes))
		neap_causes_add(causes, "FieldValueDuplicate",
				"{topologyKey, whenUnsatisfiable}",
				"Duplicate value: \"%s\"", pair);
}

void rule_spread(const json_t *spec, struct neap_causes *causes)
{
	struct rule_seen seen = {0};

	rule_each(spec, "topologySpreadConstraints", check_constraint, &seen, causes);
	rule_seen_done(&seen);
}
