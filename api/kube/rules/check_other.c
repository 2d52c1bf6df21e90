/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for PodDisruptionBudgets, PriorityClasses and Leases. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"
#include "engine/base/mem.h"
#include "engine/base/selector.h"

/* The highest priority for users; above are the system classes. */
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
