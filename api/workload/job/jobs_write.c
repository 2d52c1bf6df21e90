/* SPDX-License-Identifier: Apache-2.0
 *
 * The new states of a Job and its pods. */
#include <inttypes.h>
#include <string.h>

#include "api/workload/job/jobs_priv.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* The length of a generated name without its five random characters, as in Kubernetes. */
#define PREFIX_MAX   58
#define HOSTNAME_MAX 63

static void set(json_t *object, const char *name, json_t *value)
{
	(void)json_object_set_new(object, name, value);
}

/* Omits 0. */
static void set_count(json_t *object, const char *name, int64_t value)
{
	if (value)
		set(object, name, json_integer(value));
	else
		(void)json_object_del(object, name);
}

static void set_time(json_t *object, const char *name, int64_t usec)
{
	char text[32];

	set(object, name, json_string(neap_time_format(usec, 0, text, sizeof(text))));
}

/* The member; set to fresh if missing. */
static json_t *child(json_t *object, const char *name, json_t *fresh)
{
	json_t *value = json_object_get(object, name);

	if (!fresh || (value && json_typeof(fresh) == json_typeof(value))) {
		json_decref(fresh);
		return value;
	}
	set(object, name, fresh);
	return json_object_get(object, name);
}

/* --- the status --- */

static void set_condition(json_t *status, const char *type, bool is_true,
			  const char *reason, const char *message, int64_t now)
{
	json_t *conditions = json_object_get(status, "conditions");
	json_t *condition = neap_json_condition(status, type);

	if (!conditions) {
		set(status, "conditions", json_array());
		conditions = json_object_get(status, "conditions");
	}
	if (!condition) {
		(void)json_array_append_new(conditions, json_pack("{s:s}", "type", type));
		condition = neap_json_condition(status, type);
	}
	set(condition, "status", json_string(is_true ? "True" : "False"));
	set_time(condition, "lastProbeTime", now);
	set_time(condition, "lastTransitionTime", now);
	set(condition, "reason", json_string(reason));
	set(condition, "message", json_string(message));
}

static void set_failing(const struct job *job, const struct neap_job_plan *plan,
			json_t *status, int64_t now)
{
	char why[JOB_MESSAGE] = "";
	json_t *pod;

	switch (plan->why) {
	case NEAP_JOB_NO_REASON:
		return;
	case NEAP_JOB_BACKOFF:
		set_condition(status, "FailureTarget", true, "BackoffLimitExceeded",
			      "Job has reached the specified backoff limit", now);
		return;
	case NEAP_JOB_DEADLINE:
		set_condition(status, "FailureTarget", true, "DeadlineExceeded",
			      "Job was active longer than specified deadline", now);
		return;
	case NEAP_JOB_LOST_INDEXES:
		set_condition(status, "FailureTarget", true, "FailedIndexes",
			      "Job has failed indexes", now);
		return;
	case NEAP_JOB_MANY_INDEXES:
		set_condition(status, "FailureTarget", true, "MaxFailedIndexesExceeded",
			      "Job has exceeded the specified maximal number of failed "
			      "indexes",
			      now);
		return;
	case NEAP_JOB_POLICY:
		pod = neap_object_tree(job->objects[plan->why_pod]);
		(void)job_judge(json_object_get(job->tree, "spec"), pod, why);
		json_decref(pod);
		neap_utf8_trim(why);
		set_condition(status, "FailureTarget", true, "PodFailurePolicy", why,
			      now);
		return;
	}
}

static void set_end(const struct job *job, const struct neap_job_plan *plan,
		    json_t *status, int64_t now)
{
	const json_t *target;
	char text[64];

	switch (plan->end) {
	case NEAP_JOB_RUNS:
		return;
	case NEAP_JOB_FAILING:
		set_failing(job, plan, status, now);
		return;
	case NEAP_JOB_FAILED:
		target = neap_json_condition(status, "FailureTarget");
		set_condition(status, "Failed", true, neap_json_text(target, "reason"),
			      neap_json_text(target, "message"), now);
		return;
	case NEAP_JOB_SUCCEEDING:
		if (job->state.end == NEAP_JOB_SUCCEEDING)
			return;
		(void)snprintf(text, sizeof(text), "Matched rules at index %zu",
			       plan->why_rule);
		set_condition(status, "SuccessCriteriaMet", true, "SuccessPolicy", text,
			      now);
		return;
	case NEAP_JOB_COMPLETE:
		target = neap_json_condition(status, "SuccessCriteriaMet");
		if (target)
			set_condition(status, "Complete", true, "SuccessPolicy",
				      neap_json_text(target, "message"), now);
		else
			set_condition(status, "Complete", true, "CompletionsReached",
				      "Reached expected number of succeeded pods", now);
		set_time(status, "completionTime", now);
		return;
	}
}

static void set_list(const struct job *job, json_t *uncounted, const char *name,
		     enum neap_job_list which)
{
	json_t *list = json_array();

	for (size_t i = 0; i < job->count; i++)
		if (job->pods[i].plan_list == which)
			(void)json_array_append_new(list,
						    json_string(job->objects[i]->uid));
	if (json_array_size(list))
		set(uncounted, name, list);
	else
		json_decref(list);
}

static void set_indexes(json_t *status, const char *name,
			const struct neap_job_indexes *indexes)
{
	struct neap_buf text;

	if (!indexes->count) {
		(void)json_object_del(status, name);
		return;
	}
	neap_buf_init(&text, NEAP_OBJECT_TEXT_MAX);
	neap_job_indexes_write(indexes, &text);
	neap_buf_addc(&text, '\0');
	set(status, name, neap_buf_failed(&text) ? NULL : json_string(text.data));
	neap_buf_done(&text);
}

static void set_status(const struct job *job, const struct neap_job_plan *plan,
		       json_t *status, int64_t now)
{
	json_t *uncounted = json_object();

	set_count(status, "active", plan->active);
	set(status, "ready", json_integer(plan->ready));
	set(status, "terminating", json_integer(plan->terminating));
	set_count(status, "succeeded", plan->succeeded);
	set_count(status, "failed", plan->failed);
	if (plan->start_usec != job->state.start_usec)
		set_time(status, "startTime", plan->start_usec);
	set_list(job, uncounted, "succeeded", NEAP_JOB_LIST_SUCCEEDED);
	set_list(job, uncounted, "failed", NEAP_JOB_LIST_FAILED);
	set(status, "uncountedTerminatedPods", uncounted);
	if (job->spec.is_indexed)
		set_indexes(status, "completedIndexes", &plan->completed);
	if (job->spec.is_indexed)
		set_indexes(status, "failedIndexes", &plan->lost);
	if (plan->end == NEAP_JOB_RUNS && plan->is_suspended && !job->state.is_suspended)
		set_condition(status, "Suspended", true, "JobSuspended", "Job suspended",
			      now);
	else if (plan->is_resumed)
		set_condition(status, "Suspended", false, "JobResumed", "Job resumed",
			      now);
	set_end(job, plan, status, now);
}

bool job_status(const struct job *job, const struct neap_job_plan *plan, int64_t now,
		json_t **ret)
{
	bool is_over = job->state.is_deleting || job->state.end == NEAP_JOB_FAILED ||
		       job->state.end == NEAP_JOB_COMPLETE;
	const json_t *before = json_object_get(job->tree, "status");
	uint64_t failures = neap_json_failures(), missed = neap_mem_failures();
	json_t *tree;

	*ret = NULL;
	if (is_over)
		return true;
	tree = neap_json_deep_copy(job->tree);
	if (!tree)
		return false;
	set_status(job, plan, child(tree, "status", json_object()), now);
	if (neap_json_failures() != failures || neap_mem_failures() != missed) {
		json_decref(tree);
		return false;
	}
	if (json_equal(before, json_object_get(tree, "status")))
		json_decref(tree);
	else
		*ret = tree;
	return true;
}

/* --- its pods --- */

static void set_env(json_t *containers)
{
	json_t *container;
	size_t i;

	json_array_foreach (containers, i, container) {
		json_t *env = child(container, "env", json_array()), *item;
		size_t k;

		json_array_foreach (env, k, item) {
			if (neap_json_is_text(item, "name", "JOB_COMPLETION_INDEX"))
				break;
		}
		if (k == json_array_size(env))
			(void)json_array_append_new(
				env, json_pack("{s:s,s:{s:{s:s}}}", "name",
					       "JOB_COMPLETION_INDEX", "valueFrom",
					       "fieldRef", "fieldPath",
					       "metadata.labels['" JOB_INDEX "']"));
	}
}

static void set_index(const struct job *job, json_t *meta, json_t *spec, int64_t index)
{
	char number[24], name[NEAP_OBJECT_NAME + 32];

	(void)snprintf(number, sizeof(number), "%" PRId64, index);
	set(child(meta, "annotations", json_object()), JOB_INDEX, json_string(number));
	set(child(meta, "labels", json_object()), JOB_INDEX, json_string(number));
	set_env(json_object_get(spec, "containers"));
	set_env(json_object_get(spec, "initContainers"));
	(void)snprintf(name, sizeof(name), "%.253s-%s", job->name, number);
	if (strlen(name) <= HOSTNAME_MAX && !strchr(job->name, '.'))
		set(spec, "hostname", json_string(name));
}

static void set_prefix(const struct job *job, json_t *meta, int64_t index)
{
	char end[32] = "-", prefix[PREFIX_MAX + 1];
	int room;

	if (index >= 0)
		(void)snprintf(end, sizeof(end), "-%" PRId64 "-", index);
	room = (int)(PREFIX_MAX - strlen(end));
	(void)snprintf(prefix, sizeof(prefix), "%.*s%s", room, job->name, end);
	set(meta, "generateName", json_string(prefix));
}

json_t *job_pod(const struct job *job, int64_t index, int64_t failures_before)
{
	const json_t *from =
		json_object_get(json_object_get(job->tree, "spec"), "template");
	uint64_t failures = neap_json_failures();
	json_t *pod = neap_json_deep_copy(from);
	json_t *meta, *spec;
	char number[24];

	if (!json_is_object(pod)) {
		json_decref(pod);
		return NULL;
	}
	meta = child(pod, "metadata", json_object());
	spec = child(pod, "spec", json_object());
	(void)json_object_del(meta, "name");
	(void)json_object_del(meta, "creationTimestamp");
	set_prefix(job, meta, index);
	set(meta, "namespace", json_string(job->ns));
	set(meta, "ownerReferences",
	    json_pack("[{s:s,s:s,s:s,s:s,s:b,s:b}]", "apiVersion", "batch/v1", "kind",
		      "Job", "name", job->name, "uid", job->uid, "controller", 1,
		      "blockOwnerDeletion", 1));
	(void)json_array_append_new(child(meta, "finalizers", json_array()),
				    json_string(JOB_FINALIZER));
	if (index >= 0)
		set_index(job, meta, spec, index);
	if (index >= 0 && job->spec.index_limit >= 0) {
		(void)snprintf(number, sizeof(number), "%" PRId64, failures_before);
		set(child(meta, "annotations", json_object()), JOB_FAILURES,
		    json_string(number));
	}
	return neap_json_made(neap_json_failures() == failures, pod);
}

json_t *job_release(const json_t *pod)
{
	const json_t *meta = json_object_get(pod, "metadata");
	const json_t *finalizers = json_object_get(meta, "finalizers");
	uint64_t failures = neap_json_failures();
	json_t *left = json_array(), *value;
	json_t *patch, *to;
	size_t i;

	json_array_foreach (finalizers, i, value) {
		const char *text = json_string_value(value);

		if (!text || strcmp(text, JOB_FINALIZER) != 0)
			(void)json_array_append(left, value);
	}
	patch = json_pack("{s:{s:s}}", "metadata", "uid", neap_json_text(meta, "uid"));
	to = json_object_get(patch, "metadata");
	if (json_array_size(left)) {
		/* The patch must not lose or restore other finalizers. */
		set(to, "finalizers", left);
		set(to, "resourceVersion",
		    json_string(neap_json_text(meta, "resourceVersion")));
	} else {
		json_decref(left);
		set(to, "finalizers", json_null());
	}
	return neap_json_made(neap_json_failures() == failures, patch);
}
