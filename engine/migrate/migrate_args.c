/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/migrate/migrate_args.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define SECOND_USEC   INT64_C(1000000)
#define NAMES_MAX     10000
#define PERCENT_WORDS "must be a whole number or a percentage like \"10%%\""

const char *const neap_migrate_policies[] = {"Eviction", "Delete", "SoftEviction", NULL};

static const char *const gates[] = {
	[NEAP_GATE_UNAVAILABLE_PER_WORKLOAD] = "MaxUnavailablePerWorkload",
	[NEAP_GATE_MIGRATING_PER_WORKLOAD] = "MaxMigratingPerWorkload",
	[NEAP_GATE_MIGRATING_PER_NODE] = "MaxMigratingPerNode",
	[NEAP_GATE_MIGRATING_PER_NAMESPACE] = "MaxMigratingPerNamespace",
	[NEAP_GATE_MIGRATING_GLOBALLY] = "MaxMigratingGlobally",
	[NEAP_GATE_EXPECTED_REPLICAS] = "ExpectedReplicas",
	[NEAP_GATE_PVC] = "PVC",
	[NEAP_GATE_BARE_PODS] = "BarePods",
	[NEAP_GATE_LOCAL_STORAGE] = "LocalStorage",
	[NEAP_GATE_SYSTEM_CRITICAL] = "SystemCritical",
	[NEAP_GATE_PRIORITY_THRESHOLD] = "PriorityThreshold",
	[NEAP_GATE_LABEL_SELECTOR] = "LabelSelector",
	[NEAP_GATE_NAMESPACES] = "Namespaces",
	[NEAP_GATE_NODE_FIT] = "NodeFit",
	[NEAP_GATE_COUNT] = NULL,
};

/* --- numbers of a workload --- */

static bool read_percent(const char *text, int64_t *ret)
{
	int64_t value = 0;
	size_t digits = 0;

	while (text[digits] >= '0' && text[digits] <= '9' && digits < 9)
		value = value * 10 + (text[digits++] - '0');
	if (digits == 0 || strcmp(text + digits, "%") != 0)
		return false;
	*ret = value;
	return true;
}

int neap_scaled_read(const json_t *value, struct neap_scaled *ret, struct neap_error *err)
{
	int64_t number = json_integer_value(value);

	if (!value || json_is_null(value)) {
		*ret = (struct neap_scaled){0};
		return 0;
	}
	if (json_is_integer(value) && number >= 0 && number <= INT32_MAX)
		*ret = (struct neap_scaled){NEAP_SCALED_NUMBER, number};
	else if (json_is_string(value) && read_percent(json_string_value(value), &number))
		*ret = (struct neap_scaled){NEAP_SCALED_PERCENT, number};
	else
		return neap_error_set(err, NEAP_EINVAL, PERCENT_WORDS);
	return 0;
}

int64_t neap_scaled_of(const struct neap_scaled *scaled, int64_t replicas)
{
	int64_t ret = scaled->value;

	if (scaled->kind == NEAP_SCALED_UNSET)
		ret = replicas > 10 ? replicas / 10 : replicas >= 4 ? 2 : 1;
	else if (scaled->kind == NEAP_SCALED_PERCENT)
		ret = replicas * scaled->value / 100;
	if (ret < 1)
		ret = 1;
	return ret < replicas ? ret : replicas;
}

static int read_scaled(const json_t *json, const char *name, struct neap_scaled *ret,
		       struct neap_error *err)
{
	int rc = neap_scaled_read(json_object_get(json, name), ret, err);

	return rc < 0 ? neap_error_infield(err, "%s", name) : 0;
}

/* --- parts --- */

static int read_duration(const json_t *json, const char *name, int64_t *ret,
			 struct neap_error *err)
{
	const char *text = NULL;
	int rc = neap_members_text(json, name, &text, err);

	if (rc < 0 || !text)
		return rc;
	rc = neap_duration_parse(text, ret, err);
	return rc < 0 ? neap_error_infield(err, "%s", name) : 0;
}

static int read_names(const json_t *json, const char *name, const json_t **ret,
		      struct neap_error *err)
{
	int rc = neap_members_list(json, name, NAMES_MAX, ret, err);

	for (size_t i = 0; rc == 0 && i < json_array_size(*ret); i++)
		if (!json_is_string(json_array_get(*ret, i))) {
			char field[NEAP_ERROR_FIELD];

			(void)snprintf(field, sizeof(field), "%.40s[%zu]", name, i);
			rc = neap_error_field(err, NEAP_EINVAL, field, "must be a text");
		}
	return rc;
}

static int read_namespaces(struct neap_migrate_args *args, const json_t *json,
			   struct neap_error *err)
{
	static const char *const names[] = {"include", "exclude", NULL};
	const json_t *both = NULL;
	int rc = neap_members_object(json, "namespaces", &both, err);

	if (rc < 0 || !both)
		return rc;
	rc = neap_members_check(both, names, err);
	if (rc == 0)
		rc = read_names(both, "include", &args->include, err);
	if (rc == 0)
		rc = read_names(both, "exclude", &args->exclude, err);
	if (rc == 0 && json_array_size(args->include) > 0 &&
	    json_array_size(args->exclude) > 0)
		rc = neap_error_set(err, NEAP_EINVAL,
				    "only one of include and exclude can be given");
	return rc < 0 ? neap_error_infield(err, "namespaces") : 0;
}

static int read_threshold(struct neap_migrate_args *args, const json_t *json,
			  struct neap_error *err)
{
	static const char *const names[] = {"name", "value", NULL};
	const json_t *both = NULL;
	int rc = neap_members_object(json, "priorityThreshold", &both, err);

	if (rc < 0 || !both)
		return rc;
	args->has_threshold = json_is_integer(json_object_get(both, "value"));
	rc = neap_members_check(both, names, err);
	if (rc == 0)
		rc = neap_members_int(both, "value", INT32_MIN, INT32_MAX,
				      &args->threshold, err);
	if (rc == 0)
		rc = neap_members_text(both, "name", &args->threshold_name, err);
	if (rc == 0 && args->threshold_name && !*args->threshold_name)
		args->threshold_name = NULL;
	if (rc == 0 && args->threshold_name && args->has_threshold)
		rc = neap_error_set(err, NEAP_EINVAL,
				    "only one of name and value can be given");
	return rc < 0 ? neap_error_infield(err, "priorityThreshold") : 0;
}

static int read_selectors(struct neap_migrate_args *args, const json_t *json,
			  struct neap_error *err)
{
	const json_t *labels = NULL;
	const char *nodes = NULL;
	int rc = neap_members_object(json, "labelSelector", &labels, err);

	if (rc == 0 && labels) {
		rc = neap_selector_parse(labels, &args->selector, err);
		if (rc < 0)
			rc = neap_error_infield(err, "labelSelector");
	}
	if (rc == 0)
		rc = neap_members_text(json, "nodeSelector", &nodes, err);
	if (rc == 0 && nodes && *nodes) {
		rc = neap_selector_parse_text(nodes, &args->node_selector, err);
		if (rc < 0)
			rc = neap_error_infield(err, "nodeSelector");
	}
	return rc;
}

static int read_gates(struct neap_migrate_args *args, const json_t *json,
		      struct neap_error *err)
{
	const json_t *list = NULL;
	int rc = read_names(json, "skipEvictionGates", &list, err);

	for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));
		size_t gate = 0;

		while (gates[gate] && strcmp(gates[gate], name) != 0)
			gate++;
		if (gate < NEAP_GATE_COUNT) {
			args->skips[gate] = true;
			continue;
		}
		rc = neap_error_set(err, NEAP_EINVAL, "there is no gate \"%.60s\"", name);
		if (err)
			(void)snprintf(err->field, sizeof(err->field),
				       "skipEvictionGates[%zu]", i);
	}
	return rc;
}

static int read_limit(const json_t *all, const char *name, struct neap_object_limit *ret,
		      struct neap_error *err)
{
	static const char *const names[] = {"duration", "maxMigrating", "burst", NULL};
	const json_t *json = NULL;
	int rc = neap_members_object(all, name, &json, err);

	if (rc < 0 || !json)
		return rc;
	rc = neap_members_check(json, names, err);
	if (rc == 0)
		rc = read_duration(json, "duration", &ret->duration_usec, err);
	if (rc == 0)
		rc = read_scaled(json, "maxMigrating", &ret->max, err);
	if (rc == 0)
		rc = neap_members_int(json, "burst", 0, INT32_MAX, &ret->burst, err);
	if (ret->burst < 1)
		ret->burst = 1;
	return rc < 0 ? neap_error_infield(err, "%s", name) : 0;
}

static int read_limits(struct neap_migrate_args *args, const json_t *json,
		       struct neap_error *err)
{
	static const char *const names[] = {"workload", "namespace", NULL};
	const json_t *all = NULL;
	int rc = neap_members_object(json, "objectLimiters", &all, err);

	if (rc < 0 || !all)
		return rc;
	/* A map that is given is the whole of it. */
	if (json_object_size(all) > 0)
		args->workload_limit.duration_usec = 0;
	rc = neap_members_check(all, names, err);
	if (rc == 0)
		rc = read_limit(all, "workload", &args->workload_limit, err);
	if (rc == 0)
		rc = read_limit(all, "namespace", &args->namespace_limit, err);
	if (rc == 0 && args->namespace_limit.max.kind == NEAP_SCALED_PERCENT)
		rc = neap_error_field(err, NEAP_EINVAL, "namespace.maxMigrating",
				      "must be a whole number: a namespace has no "
				      "replicas");
	return rc < 0 ? neap_error_infield(err, "objectLimiters") : 0;
}

/* A number, or the text of one. */
static int read_rate(const json_t *json, const char *name, double *ret,
		     struct neap_error *err)
{
	const json_t *value = json_object_get(json, name);
	const char *text = json_string_value(value);
	char *end = NULL;

	if (!value || json_is_null(value))
		return 0;
	*ret = text ? strtod(text, &end) : json_number_value(value);
	if ((!text && !json_is_number(value)) || (text && (end == text || *end)) ||
	    !(*ret > 0 && *ret < 1e9))
		return neap_error_field(err, NEAP_EINVAL, name,
					"must be a number above 0");
	return 0;
}

static int read_arbitration(struct neap_migrate_args *args, const json_t *json,
			    struct neap_error *err)
{
	static const char *const names[] = {"enabled", "interval", NULL};
	const json_t *both = NULL;
	int rc = neap_members_object(json, "arbitrationArgs", &both, err);

	if (rc < 0 || !both)
		return rc;
	rc = neap_members_check(both, names, err);
	if (rc == 0)
		rc = neap_members_bool(both, "enabled", &args->arbitrates, err);
	if (rc == 0)
		rc = read_duration(both, "interval", &args->interval_usec, err);
	if (rc == 0 && args->arbitrates && args->interval_usec <= 0)
		rc = neap_error_field(err, NEAP_EINVAL, "interval",
				      "must be longer than 0");
	return rc < 0 ? neap_error_infield(err, "arbitrationArgs") : 0;
}

static int read_rest(struct neap_migrate_args *args, const json_t *json,
		     struct neap_error *err)
{
	static const char *const modes[] = {"ReservationFirst", "EvictDirectly", NULL};
	int mode = 0, policy = NEAP_MIGRATE_EVICTION;
	const struct neap_member rows[] = {
		{"dryRun", NEAP_MEMBER_BOOL, &args->dry_run},
		{"maxConcurrentReconciles", NEAP_MEMBER_INT, &args->concurrent, 1,
		 INT32_MAX},
		{"evictFailedBarePods", NEAP_MEMBER_BOOL, &args->failed_bare_pods},
		{"evictAllBarePods", NEAP_MEMBER_BOOL, &args->all_bare_pods},
		{"evictLocalStoragePods", NEAP_MEMBER_BOOL, &args->local_storage},
		{"evictSystemCriticalPods", NEAP_MEMBER_BOOL, &args->system_critical},
		{"ignorePvcPods", NEAP_MEMBER_BOOL, &args->ignore_pvc},
		{"nodeFit", NEAP_MEMBER_BOOL, &args->node_fit},
		{"maxMigratingGlobally", NEAP_MEMBER_INT, &args->globally, 0, INT32_MAX},
		{"maxMigratingPerNode", NEAP_MEMBER_INT, &args->per_node, 0, INT32_MAX},
		{"maxMigratingPerNamespace", NEAP_MEMBER_INT, &args->per_namespace, 0,
		 INT32_MAX},
		{"skipCheckExpectedReplicas", NEAP_MEMBER_BOOL, &args->any_replicas},
		{"evictBurst", NEAP_MEMBER_INT, &args->burst, 1, INT32_MAX},
		{"defaultDeleteOptions", NEAP_MEMBER_OBJECT, &args->delete_options},
		{"defaultJobMode", NEAP_MEMBER_CHOICE, &mode, .choices = modes},
		{"evictionPolicy", NEAP_MEMBER_CHOICE, &policy,
		 .choices = neap_migrate_policies},
		{0},
	};
	int rc = neap_members_take(json, rows, err);

	args->is_direct = mode == 1;
	args->policy = (enum neap_migrate_policy)policy;
	if (rc == 0)
		rc = read_scaled(json, "maxMigratingPerWorkload", &args->migrating, err);
	if (rc == 0)
		rc = read_scaled(json, "maxUnavailablePerWorkload", &args->unavailable,
				 err);
	if (rc == 0)
		rc = read_duration(json, "defaultJobTTL", &args->ttl_usec, err);
	if (rc == 0)
		rc = read_duration(json, "unschedulableTimeout",
				   &args->unschedulable_usec, err);
	if (rc == 0)
		rc = read_rate(json, "evictQPS", &args->qps, err);
	if (rc == 0)
		rc = read_names(json, "schedulerNames", &args->schedulers, err);
	return rc;
}

/* A gate beats the argument of its check. */
static void apply_gates(struct neap_migrate_args *args)
{
	if (args->skips[NEAP_GATE_PVC])
		args->ignore_pvc = false;
	if (args->skips[NEAP_GATE_BARE_PODS])
		args->failed_bare_pods = args->all_bare_pods = true;
	if (args->skips[NEAP_GATE_LOCAL_STORAGE])
		args->local_storage = true;
	if (args->skips[NEAP_GATE_SYSTEM_CRITICAL])
		args->system_critical = true;
	if (args->skips[NEAP_GATE_EXPECTED_REPLICAS])
		args->any_replicas = true;
	if (args->skips[NEAP_GATE_PRIORITY_THRESHOLD]) {
		args->has_threshold = false;
		args->threshold_name = NULL;
	}
	if (args->skips[NEAP_GATE_LABEL_SELECTOR]) {
		neap_selector_free(args->selector);
		args->selector = NULL;
	}
	if (args->skips[NEAP_GATE_NAMESPACES])
		args->include = args->exclude = NULL;
	if (args->skips[NEAP_GATE_NODE_FIT])
		args->node_fit = false;
	if (args->skips[NEAP_GATE_MIGRATING_PER_NODE])
		args->per_node = 0;
	if (args->skips[NEAP_GATE_MIGRATING_PER_NAMESPACE])
		args->per_namespace = 0;
	if (args->skips[NEAP_GATE_MIGRATING_GLOBALLY])
		args->globally = 0;
}

static int read_all(struct neap_migrate_args *args, const json_t *json,
		    struct neap_error *err)
{
	static const char *const names[] = {"apiVersion",
					    "kind",
					    "dryRun",
					    "maxConcurrentReconciles",
					    "evictFailedBarePods",
					    "evictAllBarePods",
					    "evictLocalStoragePods",
					    "evictSystemCriticalPods",
					    "ignorePvcPods",
					    "priorityThreshold",
					    "labelSelector",
					    "namespaces",
					    "nodeFit",
					    "nodeSelector",
					    "skipEvictionGates",
					    "maxMigratingGlobally",
					    "maxMigratingPerNode",
					    "maxMigratingPerNamespace",
					    "maxMigratingPerWorkload",
					    "maxUnavailablePerWorkload",
					    "skipCheckExpectedReplicas",
					    "objectLimiters",
					    "defaultJobMode",
					    "defaultJobTTL",
					    "schedulerNames",
					    "evictQPS",
					    "evictBurst",
					    "evictionPolicy",
					    "defaultDeleteOptions",
					    "arbitrationArgs",
					    "unschedulableTimeout",
					    NULL};
	int rc = neap_members_check(json, names, err);

	if (rc == 0)
		rc = read_rest(args, json, err);
	if (rc == 0)
		rc = read_threshold(args, json, err);
	if (rc == 0)
		rc = read_selectors(args, json, err);
	if (rc == 0)
		rc = read_namespaces(args, json, err);
	if (rc == 0)
		rc = read_gates(args, json, err);
	if (rc == 0)
		rc = read_limits(args, json, err);
	if (rc == 0)
		rc = read_arbitration(args, json, err);
	if (rc == 0)
		apply_gates(args);
	return rc;
}

int neap_migrate_args_init(struct neap_migrate_args *args, const json_t *json,
			   struct neap_error *err)
{
	int rc = 0;

	*args = (struct neap_migrate_args){
		.concurrent = 1,
		.per_node = 2,
		.workload_limit = {.duration_usec = 300 * SECOND_USEC, .burst = 1},
		.namespace_limit = {.burst = 1},
		.ttl_usec = 300 * SECOND_USEC,
		.qps = 10,
		.burst = 1,
		.arbitrates = true,
		.interval_usec = SECOND_USEC / 2,
		.unschedulable_usec = 120 * SECOND_USEC,
		.json = json && !json_is_null(json) ? neap_json_deep_copy(json)
						    : json_object(),
	};
	if (!args->json)
		return neap_error_nomem(err);
	rc = read_all(args, args->json, err);
	if (rc == 0 && !args->schedulers) {
		json_t *list = json_pack("[s]", "koord-scheduler");

		if (!list || json_object_set_new(args->json, "schedulerNames", list) < 0)
			rc = neap_error_nomem(err);
		args->schedulers = list;
	}
	if (rc < 0)
		neap_migrate_args_done(args);
	return rc;
}

void neap_migrate_args_done(struct neap_migrate_args *args)
{
	neap_selector_free(args->selector);
	neap_selector_free(args->node_selector);
	json_decref(args->json);
	*args = (struct neap_migrate_args){0};
}
