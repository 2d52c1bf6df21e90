/* SPDX-License-Identifier: Apache-2.0
 *
 * pluginConfig: arguments by plugin name. Cluster-wide arguments may be in several
 * profiles if they are equal. */
#include <stdio.h>
#include <string.h>

#include "api/schedule/config_priv.h"
#include "engine/json/json.h"

#define ARGS_MAX 64

static const char *const load_names[] = {"filterExpiredNodeMetrics",
					 "nodeMetricExpirationSeconds",
					 "enableScheduleWhenNodeMetricsExpired",
					 "resourceWeights",
					 "dominantResourceWeight",
					 "usageThresholds",
					 "prodUsageThresholds",
					 "prodUsageIncludeSys",
					 "scoreAccordingProdUsage",
					 "estimator",
					 "estimatedScalingFactors",
					 "estimatedSecondsAfterPodScheduled",
					 "estimatedSecondsAfterInitialized",
					 "allowCustomizeEstimation",
					 "aggregated",
					 "supportedResources",
					 NULL};
static const char *const aggregated_names[] = {
	"usageThresholds",      "usageAggregationType",    "usageAggregatedDuration",
	"scoreAggregationType", "scoreAggregatedDuration", NULL};

static int read_load(struct neap_load_args *ret, const json_t *args,
		     struct neap_error *err)
{
	const json_t *aggregated = NULL;
	int failed = neap_members_check(args, load_names, err);

	if (failed == 0)
		failed = neap_members_object(args, "aggregated", &aggregated, err);
	if (failed == 0 && aggregated) {
		failed = neap_members_check(aggregated, aggregated_names, err);
		if (failed < 0)
			(void)neap_error_infield(err, "aggregated");
	}
	return failed < 0 ? failed : neap_load_args_read(ret, args, err);
}

/* A cluster has one: said again it must be the same. */
static int check_again(const struct config_reader *reader, const json_t *before,
		       const json_t *args, const char *path, struct neap_error *err)
{
	if (!before || json_equal(before, args))
		return 0;
	return config_refuse(reader, err, path,
			     "differs from another profile's: these hold for the whole "
			     "cluster");
}

static int read_of_cluster(struct config_reader *reader, json_t *args, bool is_load,
			   const char *path, struct neap_error *err)
{
	struct neap_schedule_config *config = reader->config;
	json_t **before = is_load ? &reader->load : &reader->cpus;
	int failed = is_load ? read_load(&config->load, args, err)
			     : neap_cpus_args_read(&config->cpus, args, err);

	if (failed < 0)
		return config_wrong(reader, err, path);
	if (check_again(reader, *before, args, path, err) < 0)
		return -(int)err->code;
	json_decref(*before);
	*before = json_incref(args);
	config->has_load |= is_load;
	config->has_cpus |= !is_load;
	return 0;
}

/* The args without apiVersion and kind, which are looked at; a new reference, NULL with
 * the error. */
static json_t *strip(const struct config_reader *reader, const json_t *args,
		     const char *plugin, const char *path, struct neap_error *err)
{
	static const char group[] = "kubescheduler.config.k8s.io/";
	const char *version = NULL, *kind = NULL;
	char wanted[128];
	json_t *copy;

	(void)snprintf(wanted, sizeof(wanted), "%.100sArgs", plugin);
	if (neap_members_text(args, "apiVersion", &version, err) < 0 ||
	    neap_members_text(args, "kind", &kind, err) < 0) {
		(void)config_wrong(reader, err, path);
		return NULL;
	}
	if (version && (strncmp(version, group, sizeof(group) - 1) != 0 ||
			(strcmp(version + sizeof(group) - 1, "v1") != 0 &&
			 strcmp(version + sizeof(group) - 1, "v1beta3") != 0 &&
			 strcmp(version + sizeof(group) - 1, "v1beta2") != 0))) {
		(void)neap_error_field(err, NEAP_EINVAL, "apiVersion",
				       "must be %sv1, v1beta3 or v1beta2", group);
		(void)config_wrong(reader, err, path);
		return NULL;
	}
	if (kind && strcmp(kind, wanted) != 0) {
		(void)neap_error_field(err, NEAP_EINVAL, "kind", "must be %s", wanted);
		(void)config_wrong(reader, err, path);
		return NULL;
	}
	copy = neap_json_copy(args);
	if (!copy) {
		(void)neap_error_nomem(err);
		return NULL;
	}
	(void)json_object_del(copy, "apiVersion");
	(void)json_object_del(copy, "kind");
	return copy;
}

static int read_one(struct config_reader *reader, const char *plugin, const json_t *args,
		    struct neap_settings *settings, const char *path,
		    struct neap_error *err)
{
	bool is_load = strcmp(plugin, "LoadAwareScheduling") == 0;
	bool is_cpus = strcmp(plugin, "NodeNUMAResource") == 0;
	neap_auto_json json_t *copy = strip(reader, args, plugin, path, err);
	int failed;

	if (!copy)
		return -(int)err->code;
	if (is_load || is_cpus) {
		failed = read_of_cluster(reader, copy, is_load, path, err);
	} else {
		failed = neap_settings_read(settings, plugin, copy, err);
		/* Whether the plugin exists at all is checked later. */
		if (failed == -NEAP_ENOTFOUND && neap_settings_find_filter(plugin) < 0 &&
		    neap_settings_find_score(plugin) < 0)
			failed = 0;
		if (failed == -NEAP_ENOTFOUND)
			err->code = NEAP_EINVAL;
		if (failed < 0)
			failed = config_wrong(reader, err, path);
	}
	return failed;
}

int config_read_args(struct config_reader *reader, const json_t *profile, size_t index,
		     struct neap_settings *settings, struct neap_error *err)
{
	static const char *const names[] = {"name", "args", NULL};
	const json_t *list = NULL;
	char path[CONFIG_PATH];

	(void)snprintf(path, sizeof(path), "profiles[%zu]", index);
	if (neap_members_list(profile, "pluginConfig", ARGS_MAX, &list, err) < 0)
		return config_wrong(reader, err, path);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i), *args = NULL;
		const char *plugin = "";

		(void)snprintf(path, sizeof(path), "profiles[%zu].pluginConfig[%zu]",
			       index, i);
		if (neap_members_check(json, names, err) < 0 ||
		    neap_members_text(json, "name", &plugin, err) < 0 ||
		    neap_members_object(json, "args", &args, err) < 0)
			return config_wrong(reader, err, path);
		for (size_t n = 0; n < i; n++)
			if (strcmp(plugin, json_string_value(json_object_get(
						   json_array_get(list, n), "name"))) ==
			    0) {
				(void)neap_error_field(err, NEAP_EINVAL, "name",
						       "'%.80s' is there twice", plugin);
				return config_wrong(reader, err, path);
			}
		if (!*plugin) {
			(void)neap_error_field(err, NEAP_EINVAL, "name", "is missing");
			return config_wrong(reader, err, path);
		}
		(void)snprintf(path, sizeof(path), "profiles[%zu].pluginConfig[%zu].args",
			       index, i);
		if (args && read_one(reader, plugin, args, settings, path, err) < 0)
			return -(int)err->code;
	}
	return 0;
}
