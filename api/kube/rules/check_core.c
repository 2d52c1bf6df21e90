/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes, namespaces and ConfigMaps. */
#include <stdio.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"
#include "engine/base/selector.h"

/* Bytes of all values in a ConfigMap. */
#define CONFIGMAP_MAX (1024 * 1024)

/* --- nodes --- */

static void check_taints(const json_t *taints, struct neap_causes *causes)
{
	struct rule_seen seen = {0};
	size_t i;
	const json_t *taint;

	json_array_foreach (taints, i, taint) {
		const json_t *value = json_object_get(taint, "value");
		size_t from = causes->count, told;
		struct neap_error err;
		char pair[512];

		if (rule_need(taint, "key", causes) != NULL)
			rule_qualified(taint, "key", causes);
		if (json_is_string(value) &&
		    neap_label_check_value(json_string_value(value), &err) < 0)
			neap_causes_invalid(causes, "value", value, "%s", err.msg);
		(void)snprintf(pair, sizeof(pair), "%.24s:%.400s",
			       neap_kube_text(taint, "effect"),
			       neap_kube_text(taint, "key"));
		told = causes->count;
		if (rule_seen_add(&seen, pair, causes)) {
			neap_causes_duplicate(causes, "", taint);
			rule_append(causes, told,
				    ": taints must be unique by key and effect pair");
		}
		neap_causes_infield(causes, from, "taints[%zu]", i);
	}
	rule_seen_done(&seen);
}

static void check_pod_cidrs(const json_t *list, struct neap_causes *causes)
{
	size_t count[7] = {0}, i;
	const json_t *value;

	json_array_foreach (list, i, value) {
		const char *text = json_string_value(value);
		int family = text != NULL ? rule_cidr_family(text) : 0;
		char field[64];

		(void)snprintf(field, sizeof(field), "podCIDRs[%zu]", i);
		if (text != NULL && family == 0)
			neap_causes_invalid(causes, field, value,
					    "must be a valid CIDR value, (e.g. "
					    "10.9.8.0/24 or 2001:db8::/64)");
		count[family]++;
	}
	if (count[4] > 1 || count[6] > 1)
		neap_causes_invalid(
			causes, "podCIDRs", list,
			"may specify no more than one CIDR for each IP family");
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

static void check_addresses(const json_t *addresses, struct neap_causes *causes)
{
	struct rule_seen seen = {0};
	size_t i;
	const json_t *address;

	json_array_foreach (addresses, i, address) {
		char field[64], pair[512];

		(void)snprintf(field, sizeof(field), "addresses[%zu]", i);
		(void)snprintf(pair, sizeof(pair), "%.100s:%.300s",
			       neap_kube_text(address, "type"),
			       neap_kube_text(address, "address"));
		if (rule_seen_add(&seen, pair, causes))
			neap_causes_duplicate(causes, field, address);
	}
	rule_seen_done(&seen);
}

void neap_kube_check_node(const json_t *object, const json_t *before,
			  struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *old = json_object_get(before, "spec");
	const json_t *status = json_object_get(object, "status");
	size_t from = causes->count;

	check_taints(json_object_get(spec, "taints"), causes);
	check_pod_cidrs(json_object_get(spec, "podCIDRs"), causes);
	if (before != NULL) {
		keep_once_set(spec, old, "podCIDRs", "podCIDR", causes);
		keep_once_set(spec, old, "providerID", "providerID", causes);
	}
	neap_causes_infield(causes, from, "spec");
	from = causes->count;
	rule_amounts(json_object_get(status, "capacity"), "capacity", causes);
	rule_amounts(json_object_get(status, "allocatable"), "allocatable", causes);
	if (before != NULL) /* a new node's are not checked */
		check_addresses(json_object_get(status, "addresses"), causes);
	neap_causes_infield(causes, from, "status");
}

/* --- namespaces --- */

static void check_finalizers(const json_t *list, struct neap_causes *causes)
{
	size_t i;
	const json_t *value;

	json_array_foreach (list, i, value) {
		const char *text = json_string_value(value);
		struct neap_error err;
		char field[64];

		(void)snprintf(field, sizeof(field), "spec.finalizers[%zu]", i);
		if (text == NULL)
			continue;
		if (neap_label_check_key(text, &err) < 0)
			neap_causes_invalid(causes, field, value, "%s", err.msg);
		else if (strchr(text, '/') == NULL && strcmp(text, "kubernetes") != 0)
			neap_causes_invalid(
				causes, field, value,
				"name is neither a standard finalizer name nor "
				"is it fully qualified");
	}
}

void neap_kube_check_namespace(const json_t *object, const json_t *before,
			       struct neap_causes *causes)
{
	const json_t *phase = json_object_get(json_object_get(object, "status"), "phase");
	bool is_deleting = neap_kube_meta_is_deleting(object);
	const char *want = is_deleting ? "Terminating" : "Active";

	check_finalizers(json_object_get(json_object_get(object, "spec"), "finalizers"),
			 causes);
	if (!json_is_string(phase) || strcmp(json_string_value(phase), want) == 0 ||
	    (before != NULL &&
	     json_equal(phase,
			json_object_get(json_object_get(before, "status"), "phase"))))
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
		if (fault != NULL)
			rule_invalid_text(causes, field, key, fault);
		if (json_object_get(binary, key) != NULL)
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
	if (before != NULL)
		keep_values(object, before, causes);
}
