/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of load-aware scheduling. First the resource names of all parts are collected,
 * then each part is read by name. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/cluster/load.h"
#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

#define SECONDS_MAX (INT64_C(10) * 365 * 24 * 3600)

const char *const neap_load_types[NEAP_LOAD_TYPE_COUNT] = {"",    "avg", "p50",
							   "p90", "p95", "p99"};

static bool type_parse(const char *text, enum neap_load_type *ret)
{
	for (int i = 0; i < NEAP_LOAD_TYPE_COUNT; i++)
		if (strcmp(text, neap_load_types[i]) == 0) {
			*ret = (enum neap_load_type)i;
			return true;
		}
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static size_t index_of(const struct neap_load_args *args, const char *name)
{
	size_t i = 0;

	while (i < args->count && strcmp(args->names[i], name) != 0)
		i++;
	return i;
}

static int add_name(struct neap_load_args *args, const char *name, struct neap_error *err)
{
	if (index_of(args, name) < args->count)
		return 0;
	if (args->count == NEAP_LOAD_NAMES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d names",
				      NEAP_LOAD_NAMES_MAX);
	if (strlen(name) >= NEAP_LOAD_NAME)
		return neap_error_set(err, NEAP_ETOOLARGE, "a name is too long");
	(void)snprintf(args->names[args->count++], NEAP_LOAD_NAME, "%s", name);
	return 0;
}

static void set(const struct neap_load_args *args, int64_t *values, const char *name,
		int64_t value)
{
	values[index_of(args, name)] = value;
}

static void init(struct neap_load_args *args)
{
	memset(args, 0, sizeof(*args));
	(void)snprintf(args->names[0], NEAP_LOAD_NAME, "cpu");
	(void)snprintf(args->names[1], NEAP_LOAD_NAME, "memory");
	args->count = 2;
	args->after_scheduled_usec = args->after_initialized_usec = -1;
}

static void fill_factors(struct neap_load_args *args)
{
	for (size_t i = 0; i < NEAP_LOAD_NAMES_MAX; i++)
		args->factors[i] = -1;
	set(args, args->factors, "cpu", 85);
	set(args, args->factors, "memory", 70);
}

void neap_load_args_init(struct neap_load_args *args)
{
	init(args);
	fill_factors(args);
	set(args, args->weights, "cpu", 1);
	set(args, args->weights, "memory", 1);
	args->expiry_usec = INT64_C(300) * 1000000;
}

/* --- maps of numbers --- */

static int read_map(const struct neap_load_args *args, const json_t *json,
		    const char *field, int64_t min, int64_t max, int64_t *ret,
		    struct neap_error *err)
{
	const json_t *map = json_object_get(json, field);
	const char *name;
	json_t *value;

	if (map && !json_is_null(map) && !json_is_object(map))
		return neap_error_field(err, NEAP_EINVAL, field, "must be an object");
	json_object_foreach ((json_t *)(uintptr_t)map, name, value) {
		json_int_t number = json_integer_value(value);
		size_t i = index_of(args, name);

		if (!json_is_integer(value) || number < min || number > max)
			return neap_error_field(
				err, NEAP_EINVAL, field,
				"%.100s: must be a whole number from %lld to %lld", name,
				(long long)min, (long long)max);
		if (i < args->count)
			ret[i] = number;
	}
	return 0;
}

static int read_which(const json_t *json, const char *type, const char *duration,
		      struct neap_load_which *ret, struct neap_error *err)
{
	const char *type_text = "", *text = NULL;
	int failed = neap_members_text(json, type, &type_text, err);

	if (failed == 0)
		failed = neap_members_text(json, duration, &text, err);
	if (failed < 0)
		return failed;
	*ret = (struct neap_load_which){NEAP_LOAD_PLAIN, 0};
	if (!type_parse(type_text, &ret->type))
		return neap_error_field(err, NEAP_EINVAL, type,
					"must be avg, p50, p90, p95 or p99");
	if (text && neap_duration_parse(text, &ret->usec, err) < 0)
		return neap_error_field(err, NEAP_EINVAL, duration,
					"must be a duration (\"5m0s\")");
	return 0;
}

static bool has_any(const json_t *json, const char *field)
{
	return json_object_size(json_object_get(json, field)) > 0;
}

/* Reads usageThresholds, prodUsageThresholds and the aggregated part of that name. */
static int read_limits(const struct neap_load_args *args, const json_t *json,
		       const char *aggregated, int64_t max, struct neap_load_limits *ret,
		       struct neap_error *err)
{
	const json_t *more = NULL;
	struct neap_load_limits read = {.which = {NEAP_LOAD_PLAIN, 0}};
	int failed = neap_members_object(json, aggregated, &more, err);

	if (failed == 0)
		failed = read_map(args, json, "usageThresholds", 0, max, read.usage, err);
	if (failed == 0)
		failed = read_map(args, json, "prodUsageThresholds", 0, max, read.prod,
				  err);
	if (failed == 0)
		failed = read_map(args, more, "usageThresholds", 0, max, read.aggregated,
				  err);
	if (failed == 0)
		failed = read_which(more, "usageAggregationType",
				    "usageAggregatedDuration", &read.which, err);
	if (failed < 0)
		return failed;
	if (has_any(json, "usageThresholds"))
		memcpy(ret->usage, read.usage, sizeof(read.usage));
	if (has_any(json, "prodUsageThresholds"))
		memcpy(ret->prod, read.prod, sizeof(read.prod));
	if (has_any(more, "usageThresholds") && read.which.type != NEAP_LOAD_PLAIN) {
		memcpy(ret->aggregated, read.aggregated, sizeof(read.aggregated));
		ret->which = read.which;
	}
	return 0;
}

int neap_load_limits_put(const struct neap_load_args *args, const char *annotation,
			 struct neap_load_limits *limits)
{
	json_error_t where;
	neap_auto_json json_t *json = NULL;
	int ret = neap_json_parse(annotation, strlen(annotation), JSON_REJECT_DUPLICATES,
				  &json, &where);

	if (ret < 0)
		return ret == -NEAP_ENOMEM ? ret : 0;
	ret = json_is_object(json) &&
	      read_limits(args, json, "aggregatedUsage", INT32_MAX, limits, NULL) == 0;
	return ret;
}

/* --- all of them --- */

static int add_names(struct neap_load_args *args, const json_t *json,
		     struct neap_error *err)
{
	static const char *const maps[] = {"resourceWeights", "usageThresholds",
					   "prodUsageThresholds",
					   "estimatedScalingFactors"};
	const json_t *list = json_object_get(json, "supportedResources");
	const json_t *aggregated = json_object_get(json, "aggregated");
	int ret = 0;

	for (size_t i = 0; i <= NEAP_ARRAY_LEN(maps) && ret == 0; i++) {
		json_t *map = i < NEAP_ARRAY_LEN(maps)
				      ? json_object_get(json, maps[i])
				      : json_object_get(aggregated, "usageThresholds");
		const char *name;
		json_t *value;

		json_object_foreach (map, name, value) {
			ret = add_name(args, name, err);
			if (ret < 0)
				break;
		}
	}
	for (size_t i = 0; i < json_array_size(list) && ret == 0; i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (name)
			ret = add_name(args, name, err);
	}
	qsort(args->names, args->count, sizeof(args->names[0]), by_name);
	return ret;
}

static int read_weights(struct neap_load_args *args, const json_t *json,
			struct neap_error *err)
{
	int ret = read_map(args, json, "resourceWeights", 1, 100, args->weights, err);

	fill_factors(args);
	if (ret == 0)
		ret = read_map(args, json, "estimatedScalingFactors", 0, INT32_MAX,
			       args->factors, err);
	if (ret < 0)
		return ret;
	if (!has_any(json, "resourceWeights") && !args->dominant_weight) {
		set(args, args->weights, "cpu", 1);
		set(args, args->weights, "memory", 1);
	}
	for (size_t i = 0; i < args->count; i++)
		if (args->weights[i] && args->factors[i] < 0)
			return neap_error_field(
				err, NEAP_EINVAL, "estimatedScalingFactors",
				"has none for %s, which has a weight", args->names[i]);
	return 0;
}

static int64_t usec_of(int64_t seconds)
{
	return seconds < 0 ? -1 : seconds * 1000000;
}

int neap_load_args_read(struct neap_load_args *ret, const json_t *json,
			struct neap_error *err)
{
	int64_t expiry = 180, scheduled = -1, initialized = -1;
	const struct neap_member rows[] = {
		{"nodeMetricExpirationSeconds", NEAP_MEMBER_INT, &expiry, 0, SECONDS_MAX},
		{"estimatedSecondsAfterPodScheduled", NEAP_MEMBER_INT, &scheduled, 0,
		 SECONDS_MAX},
		{"estimatedSecondsAfterInitialized", NEAP_MEMBER_INT, &initialized, 0,
		 SECONDS_MAX},
		{"dominantResourceWeight", NEAP_MEMBER_INT, &ret->dominant_weight, 0,
		 100},
		{"filterExpiredNodeMetrics", NEAP_MEMBER_BOOL, &ret->filters_expired},
		{"enableScheduleWhenNodeMetricsExpired", NEAP_MEMBER_BOOL,
		 &ret->passes_expired},
		{"prodUsageIncludeSys", NEAP_MEMBER_BOOL, &ret->includes_system},
		{"scoreAccordingProdUsage", NEAP_MEMBER_BOOL, &ret->scores_prod},
		{"allowCustomizeEstimation", NEAP_MEMBER_BOOL, &ret->may_customize},
		{NULL}};
	const char *estimator = neap_json_text(json, "estimator");
	int failed;

	init(ret);
	ret->filters_expired = true;
	if (*estimator && strcmp(estimator, "defaultEstimator") != 0)
		return neap_error_field(err, NEAP_EINVAL, "estimator",
					"there is only defaultEstimator");
	failed = add_names(ret, json, err);
	if (failed == 0)
		failed = neap_members_take(json, rows, err);
	if (failed == 0 && !expiry)
		failed = neap_error_field(err, NEAP_EINVAL, "nodeMetricExpirationSeconds",
					  "must be more than 0");
	if (failed == 0)
		failed = read_weights(ret, json, err);
	if (failed == 0)
		failed = read_which(json_object_get(json, "aggregated"),
				    "scoreAggregationType", "scoreAggregatedDuration",
				    &ret->scored, err);
	ret->expiry_usec = usec_of(expiry);
	ret->after_scheduled_usec = usec_of(scheduled);
	ret->after_initialized_usec = usec_of(initialized);
	set(ret, ret->limits.usage, "cpu", 65);
	set(ret, ret->limits.usage, "memory", 95);
	if (failed == 0)
		failed = read_limits(ret, json, "aggregated", 100, &ret->limits, err);
	return failed;
}

bool neap_load_vector(const struct neap_load_args *args, const json_t *map, int64_t *ret)
{
	bool is_whole = true;
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)map, name, value) {
		char number[NEAP_AMOUNT_TEXT];
		const char *text = neap_amount_text(value, number);
		size_t i = index_of(args, name);
		int64_t amount = 0;

		if (!text ||
		    (strcmp(name, "cpu") == 0
			     ? neap_quantity_parse_milli(text, &amount, NULL)
			     : neap_quantity_parse_units(text, &amount, NULL)) < 0)
			is_whole = false;
		else if (i < args->count)
			ret[i] = amount < 0 ? 0 : amount;
	}
	return is_whole;
}
