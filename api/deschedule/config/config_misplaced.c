/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys that users write at a wrong level. The reference drops them silently, and a user
 * then relies on a protection that does not exist. Also the conversion of the parts of a
 * v1alpha1 policy. */
#include <stdio.h>
#include <string.h>

#include "api/deschedule/config/config_priv.h"

struct row {
	const char *name, *what;
};

#define IN_EVICTOR "belongs into the args of DefaultEvictor, in profiles[].pluginConfig"
#define FLAG       "is no key of a DeschedulerPolicy: neapd's option is --descheduler-"
#define PROFILE    "belongs into an item of profiles"
#define KOORD      "is a key of a DeschedulerConfiguration, not of a DeschedulerPolicy"

/* Keys of DefaultEvictor's arguments. */
static const struct row evictor[] = {
	{"evictSystemCriticalPods", IN_EVICTOR},
	{"evictLocalStoragePods", IN_EVICTOR},
	{"evictDaemonSetPods", IN_EVICTOR},
	{"evictFailedBarePods", IN_EVICTOR},
	{"ignorePvcPods", IN_EVICTOR},
	{"ignorePodsWithoutPDB", IN_EVICTOR},
	{"nodeFit", IN_EVICTOR},
	{"minReplicas", IN_EVICTOR},
	{"minPodAge", IN_EVICTOR},
	{"priorityThreshold", IN_EVICTOR},
	{"labelSelector", IN_EVICTOR},
	{"namespaceLabelSelector", IN_EVICTOR},
	{"noEvictionPolicy", IN_EVICTOR},
	{"podProtections", IN_EVICTOR ": there its lists are extraEnabled and "
				      "defaultDisabled, and here it protects nothing"},
};

static const struct row top[] = {
	{"strategies", "belongs to descheduler/v1alpha1: under v1alpha2 write profiles, "
		       "with plugins and pluginConfig"},
	{"deschedulingInterval", FLAG "interval"},
	{"dryRun", FLAG "dry-run"},
	{"plugins", PROFILE},
	{"pluginConfig", PROFILE},
	{"leaderElection", KOORD},
	{"clientConnection", KOORD},
	{"healthzBindAddress", KOORD},
	{"metricsBindAddress", KOORD},
	{"tracing", "is no key of the policy: the reference has it as flags of its "
		    "process"},
	{"maxPodsToEvictPerNode", "is v1alpha1's name of maxNoOfPodsToEvictPerNode"},
	{"maxNoOfPodsToEvictPerWorkload", "is neap's own, and belongs into neap"},
};

static const struct row profile[] = {
	{"maxNoOfPodsToEvictPerNode", "belongs to the top of the text"},
	{"maxNoOfPodsToEvictPerNamespace", "belongs to the top of the text"},
	{"maxNoOfPodsToEvictTotal", "belongs to the top of the text"},
	{"nodeSelector", "belongs to the top of the text"},
	{"strategies", "belongs to descheduler/v1alpha1: write plugins and "
		       "pluginConfig"},
	{"deschedule", "belongs into plugins"},
	{"balance", "belongs into plugins"},
	{"filter", "belongs into plugins"},
	{"evict", "belongs into plugins"},
	{"preevictionfilter", "belongs into plugins"},
	{"args", "belongs into an item of pluginConfig"},
	{"neap", "belongs to the top of the text: a profile of a DeschedulerPolicy makes "
		 "no PodMigrationJobs"},
};

static const struct row points[] = {
	{"evict", "there is no such point in a DeschedulerPolicy: DefaultEvictor evicts "
		  "by itself"},
	{"preEvictionFilter", "the key is preevictionfilter, in lower case"},
	{"preSort", "the key is presort, in lower case"},
	{"enabled", "belongs into a point, such as balance"},
	{"disabled", "belongs into a point, such as balance"},
};

static const char *find(const struct row *rows, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].what;
	return NULL;
}

const char *deschedule_misplaced_top(const char *name)
{
	const char *what = find(top, NEAP_ARRAY_LEN(top), name);

	return what ? what : find(evictor, NEAP_ARRAY_LEN(evictor), name);
}

const char *deschedule_misplaced_profile(const char *name)
{
	const char *what = find(profile, NEAP_ARRAY_LEN(profile), name);

	return what ? what : find(evictor, NEAP_ARRAY_LEN(evictor), name);
}

const char *deschedule_misplaced_points(const char *name)
{
	return find(points, NEAP_ARRAY_LEN(points), name);
}

/* --- arguments --- */

#define UP "is gone: its members stand one level higher"

/* Names of older versions; others are the evictor's. */
static const struct row args[] = {
	{"includeSoftConstraints",
	 "is gone: write constraints: [DoNotSchedule, ScheduleAnyway]"},
	{"podStatusPhases", "is gone: write states"},
	{"thresholdPriority", "is gone: write priorityThreshold.value in the args of "
			      "DefaultEvictor"},
	{"thresholdPriorityClassName",
	 "is gone: write priorityThreshold.name in the args of DefaultEvictor"},
	{"nodeResourceUtilizationThresholds", UP},
	{"podLifeTime", UP},
	{"podsHavingTooManyRestarts", UP},
	{"removeDuplicates", UP},
	{"failedPods", UP},
};

const char *deschedule_misplaced_arg(const char *name)
{
	const char *what = find(args, NEAP_ARRAY_LEN(args), name);

	return what ? what : find(evictor, NEAP_ARRAY_LEN(evictor), name);
}

/* --- v1alpha1 --- */

static const struct row old_params[] = {
	{"nodeFit", "becomes nodeFit of the args of DefaultEvictor"},
	{"thresholdPriority",
	 "becomes priorityThreshold.value of the args of DefaultEvictor"},
	{"thresholdPriorityClassName",
	 "becomes priorityThreshold.name of the args of DefaultEvictor"},
	{"nodeResourceUtilizationThresholds",
	 "its members go up one level, into the args"},
	{"podLifeTime", "its members go up one level, into the args; podStatusPhases "
			"becomes states"},
	{"podsHavingTooManyRestarts", "its members go up one level, into the args"},
	{"removeDuplicates", "its members go up one level, into the args"},
	{"failedPods", "its members go up one level, into the args"},
	{"nodeAffinityType", "goes into the args as it is"},
	{"namespaces", "goes into the args as it is"},
	{"labelSelector", "goes into the args as it is"},
	{"includeSoftConstraints",
	 "becomes constraints: [DoNotSchedule, ScheduleAnyway] in the args"},
};

static void tell_old_params(struct config_reader *reader, const json_t *params,
			    const char *path)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(old_params); i++) {
		char whole[CONFIG_PATH];

		if (!json_object_get(params, old_params[i].name))
			continue;
		(void)deschedule_join(whole, sizeof(whole), path, old_params[i].name);
		deschedule_fault(reader, whole, "%s", old_params[i].what);
	}
}

void deschedule_tell_old(struct config_reader *reader, const json_t *json)
{
	const char *name;
	json_t *strategy;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(evictor); i++)
		if (json_object_get(json, evictor[i].name))
			deschedule_fault(reader, evictor[i].name, "%s", evictor[i].what);
	json_object_foreach (json_object_get(json, "strategies"), name, strategy) {
		unsigned points_of = reader->plugins->points(reader->plugins->arg, name);
		const char *point = points_of & NEAP_AT(NEAP_AT_BALANCE) ? "balance"
				    : points_of & NEAP_AT(NEAP_AT_DESCHEDULE)
					    ? "deschedule"
					    : NULL;
		char path[CONFIG_PATH];

		(void)snprintf(path, sizeof(path), "strategies.%.100s", name);
		if (json_is_false(json_object_get(strategy, "enabled")))
			deschedule_fault(reader, path, "is disabled: leave it out");
		else if (point)
			deschedule_fault(
				reader, path,
				"goes into profiles[].plugins.%s.enabled, and its "
				"params into profiles[].pluginConfig[].args",
				point);
		else
			deschedule_fault(reader, path, "neap has no plugin of that name");
		(void)snprintf(path, sizeof(path), "strategies.%.100s.params", name);
		tell_old_params(reader, json_object_get(strategy, "params"), path);
	}
}
