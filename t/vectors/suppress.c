/* SPDX-License-Identifier: Apache-2.0
 *
 * Area cpusuppress: the rules of the shipped policy, called as the policy calls them. */
#include <stdio.h>
#include <string.h>

#include "lua/call/policy.h"
#include "t/lib/policy_rule.h"
#include "t/vectors/vectors.h"

#define POLICY "qos/cpu-suppress.lua"

void vector_policies_free(struct vector_context *context)
{
	neap_policy_free(context->suppress);
	context->suppress = NULL;
}

static int load(struct vector_context *context, struct neap_error *err)
{
	char file[512];

	if (context->suppress != NULL)
		return 0;
	if (snprintf(file, sizeof(file), "%s/" POLICY, context->policies) >=
	    (int)sizeof(file))
		return vector_bad(err, "--policies is too long");
	if (neap_policy_load_file(file, &context->suppress, err) < 0) {
		(void)neap_error_wrap(err, "%s (see --policies)", file);
		err->code = NEAP_EINTERNAL; /* no answer to a case that wants an error */
		return -NEAP_EINTERNAL;
	}
	return 0;
}

static int call(struct vector_context *context, const char *rule, json_t *given,
		json_t **ret, struct neap_error *err)
{
	int rc = load(context, err);

	return rc < 0 ? rc
		      : neap_policy_call_rule(context->suppress, rule, given, ret, err);
}

static int suppress_cpu(struct vector_context *context, json_t *given, json_t **ret,
			struct neap_error *err)
{
	return call(context, "suppress_cpu", given, ret, err);
}

static int pick_cpus(struct vector_context *context, json_t *given, json_t **ret,
		     struct neap_error *err)
{
	return call(context, "pick_cpus", given, ret, err);
}

static int adjust_cpuset(struct vector_context *context, json_t *given, json_t **ret,
			 struct neap_error *err)
{
	return call(context, "adjust_cpuset", given, ret, err);
}

static int adjust_cfs_quota(struct vector_context *context, json_t *given, json_t **ret,
			    struct neap_error *err)
{
	return call(context, "adjust_cfs_quota", given, ret, err);
}

static int recover_cpuset(struct vector_context *context, json_t *given, json_t **ret,
			  struct neap_error *err)
{
	return call(context, "recover_cpuset", given, ret, err);
}

static int recover_cfs_quota(struct vector_context *context, json_t *given, json_t **ret,
			     struct neap_error *err)
{
	return call(context, "recover_cfs_quota", given, ret, err);
}

static int apply_levels(struct vector_context *context, json_t *given, json_t **ret,
			struct neap_error *err)
{
	return call(context, "apply_levels", given, ret, err);
}

/* "Kept" may be said as written false, as null, or by giving the present value: all
 * become the present value with written false. */
static void settle(json_t *answer, const char *field, json_t *present)
{
	json_t *value = json_object_get(answer, field);
	json_t *written = json_object_get(answer, "written");
	bool is_kept = value == NULL || json_is_null(value) || json_is_false(written);

	if (!json_is_object(answer) || json_object_get(answer, "error") != NULL ||
	    json_object_get(answer, "skip") != NULL)
		return;
	if (is_kept) {
		/* Out of memory leaves the answer as it is, which then does not match. */
		(void)json_object_set(answer, field, present);
		(void)json_object_set_new(answer, "written", json_false());
		return;
	}
	if (written != NULL)
		return;
	is_kept = json_is_string(value) && json_is_string(present)
			  ? vector_cpus_are_equal(json_string_value(value),
						  json_string_value(present))
			  : json_equal(value, present) == 1;
	(void)json_object_set_new(answer, "written", json_boolean(!is_kept));
}

static void settle_cpuset(json_t *given, json_t *answer)
{
	settle(answer, "cpuset", json_object_get(given, "currentCPUSet"));
}

static void settle_quota(json_t *given, json_t *answer)
{
	settle(answer, "quota", json_object_get(given, "currentQuota"));
}

#define SYSTEM_QOS_KEYS                                                                  \
	"systemQOS", "systemQOS.cpuset", "systemQOS.exclusive",                          \
		"systemQOS.cpusetExclusive"

static const char *const suppress_keys[] = {
	"pods",
	"pods[].uid",
	"pods[].qos",
	"pods[].kubeQOS",
	"podUsedCores",
	"podUsedCores.*",
	"hostApps",
	"hostApps[].name",
	"hostApps[].qos",
	"hostApps[].cgroupBase",
	"hostAppUsedCores",
	"hostAppUsedCores.*",
	"thresholdPercent",
	"minPercent",
	"capacityMilli",
	"allocatableMilli",
	"annotationReservedMilli",
	"nodeUsedCores",
	NULL,
};
static const char *const pick_keys[] = {"count", "processors", NULL};
static const char *const cpuset_keys[] = {
	"targetMilli",   "processors",   "pods",
	"pods[].uid",    "pods[].qos",   "pods[].kubeQOS",
	"pods[].cpuset", "reservedCPUs", SYSTEM_QOS_KEYS,
	"currentCPUSet", NULL,
};
static const char *const quota_keys[] = {"targetMilli", "currentQuota", "capacityCores",
					 NULL};
static const char *const recover_cpuset_keys[] = {
	"processors",     "pods",          "pods[].uid",   "pods[].qos",
	"pods[].kubeQOS", "pods[].cpuset", "reservedCPUs", SYSTEM_QOS_KEYS,
	"currentCPUSet",  "status",        NULL,
};
static const char *const recover_quota_keys[] = {"currentQuota", "status", NULL};
static const char *const levels_keys[] = {
	"kubeletPolicy", "nodeCPUs",     "currentCPUSet", "newCPUSet",
	"pods",          "pods[].uid",   "pods[].qos",    "pods[].kubeQOS",
	"pods[].cpuset", "reservedCPUs", SYSTEM_QOS_KEYS, NULL,
};

static const char *const cpuset_fields[] = {"cpuset", NULL};
static const char *const level_fields[] = {"qosDir", "podDir", "containerDir", NULL};

const struct vector_row vector_suppress_rows[] = {
	{"cpusuppress", "suppress_cpu", suppress_keys, suppress_cpu},
	{"cpusuppress", "pick_cpus", pick_keys, pick_cpus},
	{"cpusuppress", "adjust_cpuset", cpuset_keys, adjust_cpuset, cpuset_fields,
	 .settle = settle_cpuset},
	{"cpusuppress", "adjust_cfs_quota", quota_keys, adjust_cfs_quota,
	 .settle = settle_quota},
	{"cpusuppress", "recover_cpuset", recover_cpuset_keys, recover_cpuset,
	 cpuset_fields},
	{"cpusuppress", "recover_cfs_quota", recover_quota_keys, recover_cfs_quota},
	{"cpusuppress", "apply_levels", levels_keys, apply_levels, level_fields},
	{0},
};
