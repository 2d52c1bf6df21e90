/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes, namespaces and ConfigMaps. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"
#include "engine/base/selector.h"
#include "engine/json/json.h"

/* Bytes of all values in a ConfigMap. */
#define CONFIGMAP_MAX (1024 * 1024)

/* --- nodes --- */

/* arg: struct rule_seen. */
static void check_taint(const json_t *taint, void *arg, struct neap_causes *causes)
{
	const json_t *value = json_object_get(taint, "value");
	struct neap_error err;
	char pair[512];
	size_t told;

	if (rule_need(taint, "key", causes))
		rule_qualified(taint, "key", causes);
	if (json_is_string(value) &&
	    neap_label_check_value(json_string_value(value), &err) < 0)
		neap_causes_invalid(causes, "value", value, "%s", err.msg);
	(void)snprintf(pair, sizeof(pair), "%.24s:%.400s",
		       neap_json_text(taint, "effect"), neap_json_text(taint, "key"));
	told = causes->count;
	if (rule_seen_add(arg, pair, causes)) {
		neap_causes_duplicate(causes, "", taint);
		rule_append(causes, told,
			    ": taints must be unique by key and effect pair");
	}
}

/* arg: how many there are of each family. */
static void check_cidr(const json_t *value, void *arg, struct neap_causes *causes)
{
	const char *text = json_string_value(value);
	int family = text ? rule_cidr_family(text) : 0;

	if (text && family == 0)
		neap_causes_invalid(causes, "", value,
				    "must be a valid CIDR value, (e.g. 10.9.8.0/24 or "
				    "2001:db8::/64)");
	((size_t *)arg)[family]++;
}

static void check_pod_cidrs(const json_t *spec, struct neap_causes *causes)
{
	size_t count[7] = {0};

	rule_each(spec, "podCIDRs", check_cidr, count, causes);
	if (count[4] > 1 || count[6] > 1)
		rule_invalid(spec, "podCIDRs",
			     "may specify no more than one CIDR for each IP family",
			     causes);
}

static void keep_once_set(const json_t *spec, const json_t *before, const char *name,
			  const char *shown, struct neap_causes *causes)
{
	const json_t *old = json_object_get(before, name);

	if (neap_kube_is_empty(old) || rule_same(json_object_get(spec, name), old))
		return;
	neap_causes_forbidden(causes, name,
			      "node updates may not change %s except from \"\" to valid",
			      shown);
}

/* arg: struct rule_seen. */
static void check_address(const json_t *address, void *arg, struct neap_causes *causes)
{
	char pair[512];

	(void)snprintf(pair, sizeof(pair), "%.100s:%.300s",
		       neap_json_text(address, "type"),
		       neap_json_text(address, "address"));
	if (rule_seen_add(arg, pair, causes))
		neap_causes_duplicate(causes, "", address);
}

void neap_kube_check_node(const json_t *object, const json_t *before,
			  struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *old = json_object_get(before, "spec");
	const json_t *status = json_object_get(object, "status");
	struct rule_seen taints = {0}, addresses = {0};
	size_t from = causes->count;

	rule_each(spec, "taints", check_taint, &taints, causes);
	check_pod_cidrs(spec, causes);
	if (before) {
		keep_once_set(spec, old, "podCIDRs", "podCIDR", causes);
		keep_once_set(spec, old, "providerID", "providerID", causes);
	}
	neap_causes_infield(causes, from, "spec");
	from = causes->count;
	rule_amounts(json_object_get(status, "capacity"), "capacity", causes);
	rule_amounts(json_object_get(status, "allocatable"), "allocatable", causes);
	if (before) /* a new node's are not checked */
		rule_each(status, "addresses", check_address, &addresses, causes);
	neap_causes_infield(causes, from, "status");
	rule_seen_done(&taints);
	rule_seen_done(&addresses);
}

/* --- namespaces --- */

static void check_finalizer(const json_t *value, void *arg NEAP_UNUSED,
			    struct neap_causes *causes)
{
	const char *text = json_string_value(value);
	struct neap_error err;

	if (!text)
		return;
	if (neap_label_check_key(text, &err) < 0)
		neap_causes_invalid(causes, "", value, "%s", err.msg);
	else if (!strchr(text, '/') && strcmp(text, "kubernetes") != 0)
		neap_causes_invalid(causes, "", value,
				    "name is neither a standard finalizer name nor is it "
				    "fully qualified");
}

void neap_kube_check_namespace(const json_t *object, const json_t *before,
			       struct neap_causes *causes)
{
	const json_t *phase = neap_json_at(object, "status.phase");
	bool is_deleting = neap_kube_meta_is_deleting(object);
	const char *want = is_deleting ? "Terminating" : "Active";

	rule_each(object, "spec.finalizers", check_finalizer, NULL, causes);
	if (!json_is_string(phase) || strcmp(json_string_value(phase), want) == 0 ||
	    (before && json_equal(phase, neap_json_at(before, "status.phase"))))
		return;
	neap_causes_invalid(causes, "status.phase", phase,
			    "may only be '%s' if `deletionTimestamp` is %sempty", want,
			    is_deleting ? "not " : "");
}

/* --- ConfigMaps --- */

/* The number of bytes that base64 text encodes. */
static size_t decoded(const char *text, size_t len)
{
	size_t bytes = len / 4 * 3;

	for (; len > 0 && text[len - 1] == '=' && bytes > 0; len--)
		bytes--;
	return bytes;
}

/* Adds the sizes of the values to *bytes. is_text: data, else binaryData. */
static void check_values(const json_t *object, bool is_text, size_t *bytes,
			 struct neap_causes *causes)
{
	const char *name = is_text ? "data" : "binaryData";
	const json_t *binary = is_text ? json_object_get(object, "binaryData") : NULL;
	const char *key;
	json_t *value;

	json_object_foreach (json_object_get(object, name), key, value) {
		const char *fault = rule_config_key_fault(key);
		size_t len = json_string_length(value);
		char field[256];

		(void)snprintf(field, sizeof(field), "%s[%.200s]", name, key);
		if (fault)
			rule_invalid_text(causes, field, key, fault);
		if (json_object_get(binary, key))
			rule_invalid_text(causes, field, key,
					  "duplicate of key present in binaryData");
		if (json_is_string(value))
			*bytes += is_text ? len : decoded(json_string_value(value), len);
	}
}

static void keep_values(const json_t *object, const json_t *before,
			struct neap_causes *causes)
{
	static const char *const names[] = {"data", "binaryData"};
	static const char fault[] = "field is immutable when `immutable` is set";

	if (!json_is_true(json_object_get(before, "immutable")))
		return;
	if (!json_is_true(json_object_get(object, "immutable")))
		neap_causes_forbidden(causes, "immutable", "%s", fault);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		const json_t *now = json_object_get(object, names[i]);
		const json_t *old = json_object_get(before, names[i]);
		bool is_same = neap_kube_is_empty(now) ? neap_kube_is_empty(old)
						       : json_equal(now, old);

		if (!is_same)
			neap_causes_forbidden(causes, names[i], "%s", fault);
	}
}

void neap_kube_check_configmap(const json_t *object, const json_t *before,
			       struct neap_causes *causes)
{
	size_t bytes = 0;

	check_values(object, true, &bytes, causes);
	check_values(object, false, &bytes, causes);
	if (bytes > CONFIGMAP_MAX)
		neap_causes_add(causes, "FieldValueTooLong", "[]",
				"Too long: may not be more than %d bytes", CONFIGMAP_MAX);
	if (before)
		keep_values(object, before, causes);
}

/* --- budgets, priorities, leases ---
 *
 * Rules for PodDisruptionBudgets, PriorityClasses and Leases. */

/* The highest priority for users; above are the system classes. */
#define PRIORITY_MAX 1000000000

/* --- budgets --- */

void neap_kube_check_poddisruptionbudget(const json_t *object,
					 const json_t *before NEAP_UNUSED,
					 struct neap_causes *causes)
{
	static const char *const counts[] = {"currentHealthy", "desiredHealthy",
					     "disruptionsAllowed", "expectedPods"};
	const json_t *spec = json_object_get(object, "spec");
	const json_t *status = json_object_get(object, "status");
	size_t from = causes->count;

	if (json_object_get(spec, "minAvailable") &&
	    json_object_get(spec, "maxUnavailable"))
		neap_causes_invalid(causes, "", spec,
				    "minAvailable and maxUnavailable cannot be both set");
	rule_share(spec, "minAvailable", true, causes);
	rule_share(spec, "maxUnavailable", true, causes);
	rule_selector(json_object_get(spec, "selector"), "selector", NULL, causes);
	neap_causes_infield(causes, from, "spec");
	from = causes->count;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(counts); i++)
		rule_not_negative(status, counts[i], causes);
	neap_causes_infield(causes, from, "status");
}

/* --- priorities --- */

static const struct {
	const char *name;
	int64_t value;
} system_classes[] = {
	{"system-node-critical", 2000001000},
	{"system-cluster-critical", 2000000000},
};

static void check_system_class(const json_t *object, const char *name,
			       struct neap_causes *causes)
{
	char fault[384];

	(void)snprintf(fault, sizeof(fault),
		       "%.253s is not a known system priority class", name);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(system_classes); i++) {
		if (strcmp(system_classes[i].name, name) != 0)
			continue;
		if (rule_int(object, "value") != system_classes[i].value)
			(void)snprintf(fault, sizeof(fault),
				       "value of %s PriorityClass must be %" PRId64, name,
				       system_classes[i].value);
		else if (json_is_true(json_object_get(object, "globalDefault")))
			(void)snprintf(fault, sizeof(fault),
				       "globalDefault of %s PriorityClass must be false",
				       name);
		else
			return;
	}
	neap_causes_forbidden(causes, "metadata.name",
			      "priority class names with 'system-' prefix are reserved "
			      "for system use only. error: %s",
			      fault);
}

void neap_kube_check_priorityclass(const json_t *object, const json_t *before,
				   struct neap_causes *causes)
{
	const char *name = neap_kube_meta_text(object, "name");

	if (strncmp(name, "system-", strlen("system-")) == 0)
		check_system_class(object, name, causes);
	else if (rule_int(object, "value") > PRIORITY_MAX)
		neap_causes_forbidden(
			causes, "value",
			"maximum allowed value of a user defined priority is %d",
			PRIORITY_MAX);
	if (!before)
		return;
	if (rule_int(object, "value") != rule_int(before, "value"))
		neap_causes_forbidden(causes, "value",
				      "may not be changed in an update.");
	rule_immutable(object, before, "preemptionPolicy", causes);
}

/* --- leases --- */

void neap_kube_check_lease(const json_t *object, const json_t *before NEAP_UNUSED,
			   struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	size_t from = causes->count;

	rule_range(spec, "leaseDurationSeconds", 1, INT64_MAX, "must be greater than 0",
		   causes);
	rule_not_negative(spec, "leaseTransitions", causes);
	if (neap_json_text(spec, "preferredHolder")[0] != '\0' &&
	    neap_json_text(spec, "strategy")[0] == '\0')
		neap_causes_forbidden(causes, "preferredHolder",
				      "may only be specified when `strategy` is defined");
	neap_causes_infield(causes, from, "spec");
}

/* --- events ---
 *
 * Events. Those of events.k8s.io/v1 have stricter rules. They are checked in their stored
 * form, and messages use stored field names, as in a kube-apiserver; except
 * reportingController. */

#define NOTE_MAX 1024

static void need_up_to(const json_t *object, const char *name, const char *shown,
		       size_t max, struct neap_causes *causes)
{
	const json_t *value = json_object_get(object, name);

	if (json_string_length(value) == 0)
		neap_causes_required(causes, shown, "");
	else if (json_string_length(value) > max)
		neap_causes_invalid(causes, shown, value,
				    "can have at most %zu characters", max);
}

/* Whether an event in namespace own may be about an object in namespace space. New events
 * (with eventTime) about an object with a namespace may be in any. */
static bool is_place(const char *own, const char *space, bool is_new)
{
	if (space[0] != '\0')
		return is_new || strcmp(space, own) == 0;
	return strcmp(own, "default") == 0 ||
	       (is_new ? strcmp(own, "kube-system") == 0 : own[0] == '\0');
}

static void check_event(const json_t *object, const char *reporter,
			struct neap_causes *causes)
{
	const json_t *about = json_object_get(object, "involvedObject");
	const char *space = neap_json_text(about, "namespace");
	const char *own = neap_kube_meta_text(object, "namespace");
	const json_t *message = json_object_get(object, "message");
	bool is_new = json_is_string(json_object_get(object, "eventTime"));

	if (!is_place(own, space, is_new))
		rule_invalid_text(causes, "involvedObject.namespace", space,
				  "does not match event.namespace");
	if (!is_new)
		return;
	need_up_to(object, "reportingComponent", reporter, 253 + 1 + 63, causes);
	if (neap_json_text(object, "reportingComponent")[0] != '\0')
		rule_qualified(object, "reportingComponent", causes);
	need_up_to(object, "reportingInstance", "reportingInstance", 128, causes);
	need_up_to(object, "action", "action", 128, causes);
	need_up_to(object, "reason", "reason", 128, causes);
	if (json_string_length(message) > NOTE_MAX)
		neap_causes_invalid(causes, "message", message,
				    "can have at most %d characters", NOTE_MAX);
}

void neap_kube_check_event(const json_t *object, const json_t *before NEAP_UNUSED,
			   struct neap_causes *causes)
{
	check_event(object, "reportingComponent", causes);
}

/* --- of events.k8s.io/v1 --- */

static void check_series(const json_t *series, struct neap_causes *causes)
{
	if (!json_is_object(series))
		return;
	/* Clients before 1.26 start a series at 1. */
	if (rule_int(series, "count") < 1)
		rule_invalid_text(causes, "series.count", "", "should be at least 1");
	if (!json_is_string(json_object_get(series, "lastObservedTime")))
		neap_causes_required(causes, "series.lastObservedTime", "");
}

/* Fields that only core events may have. */
static void check_unset(const json_t *object, struct neap_causes *causes)
{
	static const char *const names[] = {"firstTimestamp", "lastTimestamp", "count",
					    "source"};
	const json_t *source = json_object_get(object, "source");

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		const json_t *value = json_object_get(object, names[i]);
		bool is_set = value == source ? neap_json_text(source, "component")[0] ||
							neap_json_text(source, "host")[0]
			      : json_is_integer(value) ? json_integer_value(value) != 0
						       : json_is_string(value);

		if (is_set)
			rule_invalid_text(causes, names[i], "", "needs to be unset");
	}
}

static void check_new(const json_t *object, struct neap_causes *causes)
{
	const char *type = neap_json_text(object, "type");

	check_series(json_object_get(object, "series"), causes);
	if (!json_is_string(json_object_get(object, "eventTime")))
		neap_causes_required(causes, "eventTime", "");
	if (strcmp(type, "Normal") != 0 && strcmp(type, "Warning") != 0)
		neap_causes_add(causes, "FieldValueInvalid", "type",
				"Invalid value: \"\": has invalid value: %.100s", type);
	check_unset(object, causes);
}

void neap_kube_check_event_view(const json_t *object, const json_t *before,
				struct neap_causes *causes)
{
	static const char *const kept[] = {"involvedObject",
					   "reason",
					   "message",
					   "firstTimestamp",
					   "lastTimestamp",
					   "count",
					   "type",
					   "eventTime",
					   "action",
					   "related",
					   "reportingComponent",
					   "reportingInstance"};

	check_event(object, "reportingController", causes);
	if (!before) {
		check_new(object, causes);
		return;
	}
	if (!rule_same(json_object_get(object, "series"),
		       json_object_get(before, "series")))
		check_series(json_object_get(object, "series"), causes);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kept); i++)
		rule_immutable(object, before, kept[i], causes);
}
