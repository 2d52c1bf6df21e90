/* SPDX-License-Identifier: Apache-2.0
 *
 * Budgets of disruptions, classes of priority, leases, and definitions of kinds. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/crd/crd.h"
#include "api/kube/rules/check_priv.h"
#include "engine/base/mem.h"
#include "engine/base/selector.h"

/* What people may give; above it are the classes of the system. */
#define PRIORITY_MAX 1000000000

/* --- budgets --- */

void neap_kube_check_poddisruptionbudget(const json_t *object, const json_t *before,
					 struct neap_causes *causes)
{
	static const char *const counts[] = {"currentHealthy", "desiredHealthy",
					     "disruptionsAllowed", "expectedPods"};
	const json_t *spec = json_object_get(object, "spec");
	const json_t *status = json_object_get(object, "status");
	size_t from = causes->count;

	(void)before;
	if (json_object_get(spec, "minAvailable") != NULL &&
	    json_object_get(spec, "maxUnavailable") != NULL)
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
	if (before == NULL)
		return;
	if (rule_int(object, "value") != rule_int(before, "value"))
		neap_causes_forbidden(causes, "value",
				      "may not be changed in an update.");
	rule_immutable(object, before, "preemptionPolicy", causes);
}

/* --- leases --- */

void neap_kube_check_lease(const json_t *object, const json_t *before,
			   struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *duration = json_object_get(spec, "leaseDurationSeconds");
	size_t from = causes->count;

	(void)before;
	if (json_is_integer(duration) && json_integer_value(duration) <= 0)
		neap_causes_invalid(causes, "leaseDurationSeconds", duration,
				    "must be greater than 0");
	rule_not_negative(spec, "leaseTransitions", causes);
	if (neap_kube_text(spec, "preferredHolder")[0] != '\0' &&
	    neap_kube_text(spec, "strategy")[0] == '\0')
		neap_causes_forbidden(causes, "preferredHolder",
				      "may only be specified when `strategy` is defined");
	neap_causes_infield(causes, from, "spec");
}

/* --- definitions --- */

/* Those that the schema has not told already. */
static void add_new(struct neap_causes *causes, const struct neap_causes *more)
{
	size_t told = causes->count;

	for (size_t i = 0; i < more->count; i++) {
		const struct neap_cause *cause = &more->list[i];
		bool is_told = false;

		for (size_t k = 0; k < told; k++)
			is_told = is_told ||
				  (strcmp(causes->list[k].field, cause->field) == 0 &&
				   strcmp(causes->list[k].reason, cause->reason) == 0);
		if (!is_told)
			neap_causes_add(causes, cause->reason, cause->field, "%s",
					cause->message);
	}
	causes->more += more->more;
	causes->is_short = causes->is_short || more->is_short;
}

static void check_definition(const json_t *object, struct neap_causes *causes)
{
	struct neap_causes *more = neap_alloc(sizeof(*more));
	struct neap_kube_kind *kind = NULL;
	struct neap_error err;
	int rc = more != NULL ? neap_kube_crd_parse(object, &kind, more, &err)
			      : -NEAP_ENOMEM;

	if (rc == 0)
		neap_kube_crd_free(kind);
	else if (rc == -NEAP_ENOMEM)
		rule_nomem(causes);
	else if (more->count > 0)
		add_new(causes, more);
	else
		neap_causes_add(causes, "FieldValueInvalid", err.field,
				"Invalid value: %s", err.msg);
	free(more);
}

/* Versions in which objects were stored stay, as there may be some. */
static void check_stored(const json_t *object, struct neap_causes *causes)
{
	const json_t *versions =
		json_object_get(json_object_get(object, "spec"), "versions");
	const json_t *stored =
		json_object_get(json_object_get(object, "status"), "storedVersions");
	struct rule_seen seen = {0};
	size_t i;
	const json_t *item;

	json_array_foreach (versions, i, item)
		(void)rule_seen_add(&seen, neap_kube_text(item, "name"), causes);
	json_array_foreach (stored, i, item) {
		char field[64];

		(void)snprintf(field, sizeof(field), "status.storedVersions[%zu]", i);
		if (json_is_string(item) &&
		    !rule_seen_has(&seen, json_string_value(item)))
			neap_causes_invalid(causes, field, item,
					    "must appear in spec.versions");
	}
	rule_seen_done(&seen);
}

/* Objects may be stored under its names. */
static bool is_established(const json_t *object)
{
	const json_t *list =
		json_object_get(json_object_get(object, "status"), "conditions");
	const json_t *condition;
	size_t i;

	json_array_foreach (list, i, condition)
		if (strcmp(neap_kube_text(condition, "type"), "Established") == 0)
			return strcmp(neap_kube_text(condition, "status"), "True") == 0;
	return false;
}

void neap_kube_check_customresourcedefinition(const json_t *object, const json_t *before,
					      struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *old = json_object_get(before, "spec");
	const json_t *names = json_object_get(spec, "names");
	const json_t *old_names = json_object_get(old, "names");
	size_t from, inner;

	check_definition(object, causes);
	if (json_object_get(spec, "version") != NULL)
		neap_causes_invalid(causes, "spec.version",
				    json_object_get(spec, "version"),
				    "must be the name of the first of spec.versions");
	check_stored(object, causes);
	if (before == NULL)
		return;
	from = causes->count;
	rule_immutable(spec, old, "group", causes);
	if (is_established(before))
		rule_immutable(spec, old, "scope", causes);
	inner = causes->count;
	if (is_established(before))
		rule_immutable(names, old_names, "kind", causes);
	rule_immutable(names, old_names, "plural", causes);
	neap_causes_infield(causes, inner, "names");
	neap_causes_infield(causes, from, "spec");
}
