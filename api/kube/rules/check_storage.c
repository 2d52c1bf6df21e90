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

#define DRIVER_MAX 63
#define NODE_MAX   192

/* --- where volumes of a class may be --- */

static void check_values(const json_t *values, struct neap_causes *causes)
{
	struct rule_seen seen = {0};
	const json_t *value;
	size_t i;

	if (json_array_size(values) == 0)
		neap_causes_required(causes, "values", "");
	json_array_foreach (values, i, value) {
		const char *text = json_string_value(value);
		size_t from = causes->count;

		if (text != NULL && rule_seen_add(&seen, text, causes))
			neap_causes_duplicate(causes, "", value);
		neap_causes_infield(causes, from, "values[%zu]", i);
	}
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

		check_values(json_object_get(row, "values"), causes);
		rule_qualified(row, "key", causes);
		if (key != NULL && json_object_get(known, key) != NULL)
			neap_causes_duplicate(causes, "key", json_object_get(row, "key"));
		neap_causes_infield(causes, from, "matchLabelExpressions[%zu]", i);
		json_array_foreach (json_object_get(row, "values"), k, value)
			if (json_is_string(value) &&
			    json_object_set_new(values, json_string_value(value),
						json_true()) < 0)
				is_whole = false;
		if (json_object_set_new(known, key != NULL ? key : "", values) < 0)
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
		if (known != NULL && is_twice)
			neap_causes_duplicate(causes, "matchLabelExpressions", none);
		neap_causes_infield(causes, from, "allowedTopologies[%zu]", i);
		json_decref(none);
		if (known != NULL && json_array_append_new(seen, known) < 0)
			rule_nomem(causes);
	}
	json_decref(seen);
}

/* --- drivers of a node --- */

/* A subdomain with letters of either case. */
static void check_driver_name(const json_t *driver, struct neap_causes *causes)
{
	const char *name = rule_need(driver, "name", causes), *fault;
	char lower[DRIVER_MAX + 1];

	if (name == NULL)
		return;
	if (!neap_strcopy(lower, sizeof(lower), name)) {
		neap_causes_add(causes, "FieldValueTooLong", "name",
				"Too long: must have at most %d bytes", DRIVER_MAX);
		return;
	}
	for (char *at = lower; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	fault = neap_kube_dns_subdomain_fault(lower);
	if (fault != NULL)
		neap_causes_invalid(causes, "name", json_object_get(driver, "name"), "%s",
				    fault);
}

static void check_keys(const json_t *keys, struct neap_causes *causes)
{
	struct rule_seen seen = {0};
	struct neap_error err;
	const json_t *key;
	size_t i;

	json_array_foreach (keys, i, key) {
		const char *text = json_string_value(key);

		if (text == NULL)
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

static void check_driver(const json_t *driver, struct rule_seen *seen,
			 struct neap_causes *causes)
{
	const char *name = json_string_value(json_object_get(driver, "name"));
	const char *node = rule_need(driver, "nodeID", causes);
	size_t from = causes->count;

	rule_not_negative(json_object_get(driver, "allocatable"), "count", causes);
	neap_causes_infield(causes, from, "allocatable");
	check_driver_name(driver, causes);
	if (node != NULL && strlen(node) > NODE_MAX)
		neap_causes_invalid(causes, "nodeID", json_object_get(driver, "nodeID"),
				    "must be %d characters or less", NODE_MAX);
	if (name != NULL && rule_seen_add(seen, name, causes))
		neap_causes_duplicate(causes, "name", json_object_get(driver, "name"));
	check_keys(json_object_get(driver, "topologyKeys"), causes);
}

static const json_t *driver_find(const json_t *object, const char *name)
{
	const json_t *list = json_object_get(json_object_get(object, "spec"), "drivers");
	const json_t *driver;
	size_t i;

	json_array_foreach (list, i, driver) {
		const char *here = json_string_value(json_object_get(driver, "name"));

		if (here != NULL && strcmp(here, name) == 0)
			return driver;
	}
	return NULL;
}

void neap_kube_check_csinode(const json_t *object, const json_t *before,
			     struct neap_causes *causes)
{
	const json_t *list = json_object_get(json_object_get(object, "spec"), "drivers");
	struct rule_seen seen = {0};
	const json_t *driver, *was;
	size_t i;

	json_array_foreach (list, i, driver) {
		const char *name = json_string_value(json_object_get(driver, "name"));
		size_t from = causes->count;

		check_driver(driver, &seen, causes);
		was = name != NULL ? driver_find(before, name) : NULL;
		if (was != NULL && !rule_same(driver, was))
			neap_causes_invalid(causes, "", driver, RULE_IMMUTABLE);
		neap_causes_infield(causes, from, "spec.drivers[%zu]", i);
	}
	rule_seen_done(&seen);
}
