/* SPDX-License-Identifier: Apache-2.0
 *
 * spec.podFailurePolicy: the first rule that matches a failed pod decides.
 * spec.successPolicy: when a Job has succeeded. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/workload/job/jobs_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

static bool has_value(const json_t *values, json_int_t code)
{
	const json_t *value;
	size_t i;

	json_array_foreach (values, i, value) {
		if (json_integer_value(value) == code)
			return true;
	}
	return false;
}

/* The status of a container whose exit matches the rule; NULL: none. */
static const json_t *find_exit(const json_t *rule, const json_t *statuses)
{
	const char *name = neap_json_text(rule, "containerName");
	bool is_in = neap_json_is_text(rule, "operator", "In");
	const json_t *status;
	size_t i;

	json_array_foreach (statuses, i, status) {
		const json_t *ended =
			json_object_get(json_object_get(status, "state"), "terminated");
		json_int_t code = json_integer_value(json_object_get(ended, "exitCode"));

		if (ended && code != 0 &&
		    (!*name || strcmp(name, neap_json_text(status, "name")) == 0) &&
		    has_value(json_object_get(rule, "values"), code) == is_in)
			return status;
	}
	return NULL;
}

static bool fits_exit(const json_t *rule, const json_t *pod, char *why)
{
	const json_t *status = json_object_get(pod, "status");
	const json_t *meta = json_object_get(pod, "metadata"), *found;

	if (!rule)
		return false;
	found = find_exit(rule, json_object_get(status, "containerStatuses"));
	if (!found)
		found = find_exit(rule, json_object_get(status, "initContainerStatuses"));
	if (found && why)
		(void)snprintf(
			why, JOB_MESSAGE,
			"Container %.64s for pod %.64s/%.254s failed with exit code "
			"%" JSON_INTEGER_FORMAT,
			neap_json_text(found, "name"), neap_json_text(meta, "namespace"),
			neap_json_text(meta, "name"),
			json_integer_value(json_object_get(
				json_object_get(json_object_get(found, "state"),
						"terminated"),
				"exitCode")));
	return found != NULL;
}

static bool fits_condition(const json_t *patterns, const json_t *pod, char *why)
{
	const json_t *meta = json_object_get(pod, "metadata"), *pattern;
	size_t i;

	json_array_foreach (patterns, i, pattern) {
		const char *type = neap_json_text(pattern, "type");
		const json_t *condition =
			neap_json_condition(json_object_get(pod, "status"), type);

		if (!condition || strcmp(neap_json_text(condition, "status"),
					 neap_json_text(pattern, "status")) != 0)
			continue;
		if (why)
			(void)snprintf(why, JOB_MESSAGE,
				       "Pod %.64s/%.254s has condition %.64s",
				       neap_json_text(meta, "namespace"),
				       neap_json_text(meta, "name"), type);
		return true;
	}
	return false;
}

enum neap_job_action job_judge(const json_t *spec, const json_t *pod, char *why)
{
	const json_t *rules =
		json_object_get(json_object_get(spec, "podFailurePolicy"), "rules");
	const json_t *rule;
	size_t i;

	json_array_foreach (rules, i, rule) {
		const char *action = neap_json_text(rule, "action");

		if (!fits_exit(json_object_get(rule, "onExitCodes"), pod, why) &&
		    !fits_condition(json_object_get(rule, "onPodConditions"), pod, why))
			continue;
		if (why) {
			size_t len = strlen(why);

			(void)snprintf(why + len, JOB_MESSAGE - len,
				       " matching %.16s rule at index %zu", action, i);
		}
		if (strcmp(action, "FailJob") == 0)
			return NEAP_JOB_FAIL;
		if (strcmp(action, "FailIndex") == 0)
			return NEAP_JOB_FAIL_INDEX;
		return strcmp(action, "Ignore") == 0 ? NEAP_JOB_IGNORE : NEAP_JOB_COUNT;
	}
	return NEAP_JOB_COUNT;
}

bool job_read_rules(struct job *job, const json_t *spec)
{
	const json_t *rules =
		json_object_get(json_object_get(spec, "successPolicy"), "rules");
	size_t count = json_array_size(rules);

	if (!count || !job->spec.is_indexed)
		return true;
	job->rules = neap_alloc_array(count, sizeof(*job->rules));
	if (!job->rules)
		return false;
	job->spec.rules = job->rules;
	for (; job->spec.rule_count < count; job->spec.rule_count++) {
		struct neap_job_rule *rule = &job->rules[job->spec.rule_count];
		const json_t *from = json_array_get(rules, job->spec.rule_count);
		const json_t *number = json_object_get(from, "succeededCount");

		rule->count = json_is_integer(number) ? json_integer_value(number) : -1;
		rule->has_indexes = *neap_json_text(from, "succeededIndexes") != '\0';
		if (!neap_job_indexes_parse(neap_json_text(from, "succeededIndexes"),
					    job->spec.completions, &rule->indexes))
			return false;
	}
	return true;
}
