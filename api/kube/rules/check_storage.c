/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for StorageClasses and CSINodes. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"
#include "engine/base/mem.h"
#include "engine/base/selector.h"
#include "engine/json/json.h"

#define DRIVER_MAX 63
#define NODE_MAX   192

/* --- where volumes of a class may be --- */

/* arg: struct rule_seen. */
static void check_value(const json_t *value, void *arg, struct neap_causes *causes)
{
	const char *text = json_string_value(value);

	if (text && rule_seen_add(arg, text, causes))
		neap_causes_duplicate(causes, "", value);
}

static void check_values(const json_t *row, struct neap_causes *causes)
{
	struct rule_seen seen = {0};

	if (!json_array_size(json_object_get(row, "values")))
		neap_causes_required(causes, "values", "");
	rule_each(row, "values", check_value, &seen, causes);
	rule_seen_done(&seen);
}

/* Returns {key: {value: true}}, which is equal for terms with the same meaning; NULL
 * without memory, which is reported. */
static json_t *check_term(const json_t *term, struct neap_causes *causes)
{
	json_t *known = json_object();
	const json_t *row, *value;
	bool is_whole = known != NULL;
	size_t i, k;

	json_array_foreach (json_object_get(term, "matchLabelExpressions"), i, row) {
		const char *key = json_string_value(json_object_get(row, "key"));
		json_t *values = json_object();
		size_t from = causes->count;

		check_values(row, causes);
		rule_qualified(row, "key", causes);
		if (key && json_object_get(known, key))
			neap_causes_duplicate(causes, "key", json_object_get(row, "key"));
		neap_causes_infield(causes, from, "matchLabelExpressions[%zu]", i);
		json_array_foreach (json_object_get(row, "values"), k, value)
			if (json_is_string(value) &&
			    json_object_set_new(values, json_string_value(value),
						json_true()) < 0)
				is_whole = false;
		if (json_object_set_new(known, key ? key : "", values) < 0)
			is_whole = false;
	}
	if (is_whole)
		return known;
	json_decref(known);
	rule_nomem(causes);
	return NULL;
}

void rule_topologies(const json_t *list, struct neap_causes *causes)
{
	json_t *seen = json_array(), *was;
	const json_t *term;
	size_t i, k;

	json_array_foreach (list, i, term) {
		size_t from = causes->count;
		json_t *known = check_term(term, causes);
		bool is_twice = json_object_size(known) == 0;
		json_t *none = json_string("");

		json_array_foreach (seen, k, was)
			is_twice = is_twice || json_equal(was, known);
		if (known && is_twice)
			neap_causes_duplicate(causes, "matchLabelExpressions", none);
		neap_causes_infield(causes, from, "allowedTopologies[%zu]", i);
		json_decref(none);
		if (known && json_array_append_new(seen, known) < 0)
			rule_nomem(causes);
	}
	json_decref(seen);
}

/* --- drivers of a node --- */

struct drivers {
	const json_t *before;
	struct rule_seen seen;
};

/* A subdomain with letters of either case. */
static void check_driver_name(const json_t *driver, struct neap_causes *causes)
{
	const char *name = rule_need(driver, "name", causes), *fault;
	char lower[DRIVER_MAX + 1];

	if (!name)
		return;
	if (!neap_strcopy(lower, sizeof(lower), name)) {
		neap_causes_add(causes, "FieldValueTooLong", "name",
				"Too long: must have at most %d bytes", DRIVER_MAX);
		return;
	}
	for (char *at = lower; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	fault = neap_kube_dns_subdomain_fault(lower);
	rule_invalid(driver, "name", fault, causes);
}

static void check_keys(const json_t *keys, struct neap_causes *causes)
{
	struct rule_seen seen = {0};
	struct neap_error err;
	const json_t *key;
	size_t i;

	json_array_foreach (keys, i, key) {
		const char *text = json_string_value(key);

		if (!text)
			continue;
		if (text[0] == '\0')
			neap_causes_required(causes, "", "");
		if (rule_seen_add(&seen, text, causes))
			neap_causes_duplicate(causes, "", key);
		if (neap_label_check_key(text, &err) < 0)
			neap_causes_invalid(causes, "", keys, "%s", err.msg);
	}
	rule_seen_done(&seen);
}

static void check_count(const json_t *allocatable, struct neap_causes *causes)
{
	rule_not_negative(allocatable, "count", causes);
}

static void check_driver(const json_t *driver, void *arg, struct neap_causes *causes)
{
	struct drivers *drivers = arg;
	const char *node = rule_need(driver, "nodeID", causes);
	const json_t *name = json_object_get(driver, "name");
	const json_t *was =
		neap_json_find(drivers->before, "name", neap_json_text(driver, "name"));

	rule_in(driver, "allocatable", check_count, causes);
	check_driver_name(driver, causes);
	if (node && strlen(node) > NODE_MAX)
		neap_causes_invalid(causes, "nodeID", json_object_get(driver, "nodeID"),
				    "must be %d characters or less", NODE_MAX);
	if (json_is_string(name) &&
	    rule_seen_add(&drivers->seen, json_string_value(name), causes))
		neap_causes_duplicate(causes, "name", name);
	check_keys(json_object_get(driver, "topologyKeys"), causes);
	if (was && !rule_same(driver, was))
		neap_causes_invalid(causes, "", driver, RULE_IMMUTABLE);
}

void neap_kube_check_csinode(const json_t *object, const json_t *before,
			     struct neap_causes *causes)
{
	struct drivers drivers = {.before = neap_json_at(before, "spec.drivers")};

	rule_each(object, "spec.drivers", check_driver, &drivers, causes);
	rule_seen_done(&drivers.seen);
}
