/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a Job and its pods. Most pods of a Job of ten thousand have ended and are
 * counted; only the newest of those are read, for the back-off. There may be ten thousand
 * others too: they are read in pieces, and cached until all are read. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/job/jobs_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* How many counted pods' times are read. */
#define OLD_MAX 32

const json_t *job_of_pod(const json_t *pod)
{
	const json_t *owners =
		json_object_get(json_object_get(pod, "metadata"), "ownerReferences");
	const json_t *owner;
	size_t i;

	json_array_foreach (owners, i, owner) {
		if (json_is_true(json_object_get(owner, "controller")))
			return neap_json_is_text(owner, "kind", "Job") &&
					       strncmp(neap_json_text(owner,
								      "apiVersion"),
						       "batch/", 6) == 0
				       ? owner
				       : NULL;
	}
	return NULL;
}

/* 0 when missing or invalid. */
static int64_t read_time(const json_t *object, const char *name)
{
	int64_t usec;

	return neap_time_parse(neap_json_text(object, name), &usec, NULL) < 0 ? 0 : usec;
}

static int64_t read_int(const json_t *object, const char *name, int64_t missing)
{
	const json_t *value = json_object_get(object, name);

	return json_is_integer(value) ? json_integer_value(value) : missing;
}

static bool is_true(const json_t *condition)
{
	return neap_json_is_text(condition, "status", "True");
}

/* --- the job --- */

static void read_spec(const json_t *spec, struct neap_job_spec *ret)
{
	const json_t *pod = json_object_get(json_object_get(spec, "template"), "spec");

	*ret = (struct neap_job_spec){
		.parallelism = read_int(spec, "parallelism", 1),
		.completions = read_int(spec, "completions", -1),
		.backoff_limit = read_int(spec, "backoffLimit", 6),
		.deadline_s = read_int(spec, "activeDeadlineSeconds", -1),
		.ttl_s = read_int(spec, "ttlSecondsAfterFinished", -1),
		.index_limit = read_int(spec, "backoffLimitPerIndex", -1),
		.max_failed_indexes = read_int(spec, "maxFailedIndexes", -1),
		.is_indexed = neap_json_is_text(spec, "completionMode", "Indexed"),
		.is_suspended = json_is_true(json_object_get(spec, "suspend")),
		.counts_restarts = neap_json_is_text(pod, "restartPolicy", "OnFailure"),
		.only_replace_failed =
			json_object_get(spec, "podFailurePolicy") ||
			neap_json_is_text(spec, "podReplacementPolicy", "Failed")};
}

static bool read_list(const json_t *list, enum neap_job_list which, struct neap_map *map,
		      size_t *ret_count)
{
	const json_t *uid;
	size_t i;

	json_array_foreach (list, i, uid) {
		const char *text = json_string_value(uid);

		if (!text || neap_map_find(map, text))
			continue;
		if (!neap_map_set(map, text, (void *)(uintptr_t)which))
			return false;
		(*ret_count)++;
	}
	return true;
}

static void read_end(const json_t *status, struct neap_job_state *state)
{
	const json_t *complete = neap_json_condition(status, "Complete");
	const json_t *failed = neap_json_condition(status, "Failed");

	if (is_true(complete)) {
		state->end = NEAP_JOB_COMPLETE;
		state->end_usec = read_time(complete, "lastTransitionTime");
	} else if (is_true(failed)) {
		state->end = NEAP_JOB_FAILED;
		state->end_usec = read_time(failed, "lastTransitionTime");
	} else if (is_true(neap_json_condition(status, "FailureTarget"))) {
		state->end = NEAP_JOB_FAILING;
	} else if (is_true(neap_json_condition(status, "SuccessCriteriaMet"))) {
		state->end = NEAP_JOB_SUCCEEDING;
	}
}

static bool read_state(struct job *job)
{
	const json_t *status = json_object_get(job->tree, "status");
	const json_t *uncounted = json_object_get(status, "uncountedTerminatedPods");
	struct neap_job_state *state = &job->state;

	state->succeeded = read_int(status, "succeeded", 0);
	state->failed = read_int(status, "failed", 0);
	state->start_usec = read_time(status, "startTime");
	state->is_suspended = is_true(neap_json_condition(status, "Suspended"));
	read_end(status, state);
	job->listed = neap_map_new();
	return job->listed &&
	       read_list(json_object_get(uncounted, "succeeded"), NEAP_JOB_LIST_SUCCEEDED,
			 job->listed, &state->uncounted_succeeded) &&
	       read_list(json_object_get(uncounted, "failed"), NEAP_JOB_LIST_FAILED,
			 job->listed, &state->uncounted_failed) &&
	       (!job->spec.is_indexed ||
		(neap_job_indexes_parse(neap_json_text(status, "completedIndexes"),
					job->spec.completions, &state->completed) &&
		 neap_job_indexes_parse(neap_json_text(status, "failedIndexes"),
					job->spec.completions, &state->lost)));
}

/* --- its pods --- */

bool job_is_tracked(const json_t *meta)
{
	const json_t *list = json_object_get(meta, "finalizers"), *value;
	size_t i;

	json_array_foreach (list, i, value) {
		const char *text = json_string_value(value);

		if (text && strcmp(text, JOB_FINALIZER) == 0)
			return true;
	}
	return false;
}

static void read_containers(const json_t *statuses, struct neap_job_pod *pod)
{
	const json_t *status;
	size_t i;

	json_array_foreach (statuses, i, status) {
		int64_t at = read_time(
			json_object_get(json_object_get(status, "state"), "terminated"),
			"finishedAt");

		pod->restarts += read_int(status, "restartCount", 0);
		if (at > pod->finished_usec)
			pod->finished_usec = at;
	}
}

/* When its containers ended; else when it ceased to be ready, or was deleted. */
static void read_finish(const json_t *meta, const json_t *status,
			struct neap_job_pod *pod)
{
	const json_t *ready = neap_json_condition(status, "Ready");

	if (!pod->finished_usec && ready && !pod->is_ready)
		pod->finished_usec = read_time(ready, "lastTransitionTime");
	if (!pod->finished_usec && pod->is_deleting)
		pod->finished_usec =
			read_time(meta, "deletionTimestamp") -
			read_int(meta, "deletionGracePeriodSeconds", 0) * 1000000;
	if (!pod->finished_usec)
		pod->finished_usec = pod->created_usec;
}

static void read_pod(const struct job *job, const json_t *tree, struct neap_job_pod *pod)
{
	const json_t *meta = json_object_get(tree, "metadata");
	const json_t *status = json_object_get(tree, "status");
	const json_t *annotations = json_object_get(meta, "annotations");
	const char *index = neap_json_text(annotations, JOB_INDEX);
	const char *failures = neap_json_text(annotations, JOB_FAILURES);
	const char *phase = neap_json_text(status, "phase");

	pod->is_scheduled =
		*neap_json_text(json_object_get(tree, "spec"), "nodeName") != '\0';
	pod->phase = strcmp(phase, "Succeeded") == 0 ? NEAP_JOB_POD_SUCCEEDED
		     : strcmp(phase, "Failed") == 0  ? NEAP_JOB_POD_FAILED
						     : NEAP_JOB_POD_ACTIVE;
	pod->is_running = strcmp(phase, "Running") == 0;
	pod->is_ready = is_true(neap_json_condition(status, "Ready"));
	pod->is_tracked = job_is_tracked(meta);
	pod->is_deleting = json_object_get(meta, "deletionTimestamp") != NULL;
	pod->is_stopped = pod->is_deleting &&
			  (!pod->is_scheduled ||
			   read_int(meta, "deletionGracePeriodSeconds", 0) == 0);
	pod->created_usec = read_time(meta, "creationTimestamp");
	read_containers(json_object_get(status, "containerStatuses"), pod);
	read_containers(json_object_get(status, "initContainerStatuses"), pod);
	read_finish(meta, status, pod);
	if (!*index || neap_int_parse(index, &pod->index, NULL) < 0)
		pod->index = -1;
	if (!*failures || neap_int_parse(failures, &pod->failures, NULL) < 0 ||
	    pod->failures < 0 || pod->failures > INT32_MAX)
		pod->failures = 0;
	pod->list = (enum neap_job_list)(uintptr_t)neap_map_find(
		job->listed, neap_json_text(meta, "uid"));
	if (pod->phase == NEAP_JOB_POD_FAILED && pod->is_tracked)
		pod->action = job_judge(json_object_get(job->tree, "spec"), tree, NULL);
}

/* Ended, and without the finalizer. */
static bool is_old(const struct neap_object *object)
{
	const char *phase = neap_object_field(object, "status.phase");

	return !object->has_finalizers && phase &&
	       (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

/* Whether its only owner is a Job that exists. */
static bool has_job(const struct neap_jobs *jobs, const struct neap_object *object)
{
	const char *name = object->owner_count == 1
				   ? neap_map_find(jobs->names, object->owners)
				   : NULL;
	const struct neap_object *job =
		name ? neap_client_find(jobs->config.client, "jobs.batch", object->ns,
					name)
		     : NULL;

	return job && strcmp(job->uid, object->owners) == 0;
}

/* The pod belongs to an earlier Job of the same name. Most pods are of other Jobs: those
 * are told apart without their text, as a look meets all pods of its namespace. */
static bool is_orphan(struct neap_jobs *jobs, const struct neap_object *object)
{
	char quoted[NEAP_OBJECT_NAME + 2];
	const json_t *owner;
	json_t *tree;
	bool is_one;

	if (!object->has_finalizers || !object->owner_count || has_job(jobs, object))
		return false;
	(void)snprintf(quoted, sizeof(quoted), "\"%.253s\"", jobs->name);
	neap_feed_spend(jobs->feed, object->text_len / JOB_SEARCH_BYTES);
	if (!strstr(object->text, quoted) ||
	    !strstr(object->text, "\"" JOB_FINALIZER "\""))
		return false;
	neap_feed_spend(jobs->feed, neap_steps_of_text(object));
	tree = neap_object_tree(object);
	owner = job_of_pod(tree);
	is_one = owner && strcmp(neap_json_text(owner, "name"), jobs->name) == 0 &&
		 job_is_tracked(json_object_get(tree, "metadata"));
	json_decref(tree);
	return is_one;
}

unsigned job_wants_pod(void *arg, const char *uid, const struct neap_object *pod)
{
	struct neap_jobs *jobs = arg;

	neap_feed_spend(jobs->feed, neap_feed_steps_of(pod, NULL));
	if (neap_object_has_owner(pod, uid))
		return JOB_OWNS | (is_old(pod) ? JOB_OLD : 0);
	return is_orphan(jobs, pod) ? JOB_ORPHAN : 0;
}

/* Old ones last, newest of them first. */
static int compare_age(const void *a_, const void *b_)
{
	const struct neap_found *a = a_, *b = b_;
	unsigned old = a->wanted & JOB_OLD;

	if (old != (b->wanted & JOB_OLD))
		return old ? 1 : -1;
	return a->object->version > b->object->version
		       ? -1
		       : a->object->version < b->object->version;
}

static void drop_pods(struct job *job, size_t from)
{
	while (job->count > from)
		(void)neap_object_unref(job->objects[--job->count]);
}

/* What was read of a pod. */
struct job_known {
	int64_t version;
	bool is_controlled; /* the job is its controller */
	struct neap_job_pod pod;
};

void job_forget_read(struct neap_jobs *jobs)
{
	for (size_t i = 0; jobs->known && i < neap_map_count(jobs->known); i++)
		free(neap_map_at(jobs->known, i, NULL));
	neap_map_free(jobs->known);
	jobs->known = NULL;
}

/* NULL without memory. */
static const struct job_known *read_known(struct neap_jobs *jobs, const struct job *job,
					  const struct neap_object *object)
{
	struct job_known *known = neap_map_find(jobs->known, object->uid);
	const json_t *owner;
	json_t *tree;

	if (!known) {
		known = neap_alloc(sizeof(*known));
		if (!known || !neap_map_set(jobs->known, object->uid, known)) {
			free(known);
			return NULL;
		}
	}
	tree = neap_object_tree(object);
	if (!tree)
		return NULL;
	*known = (struct job_known){.version = object->version};
	owner = job_of_pod(tree);
	known->is_controlled =
		owner && strcmp(neap_json_text(owner, "uid"), job->uid) == 0;
	if (known->is_controlled)
		read_pod(job, tree, &known->pod);
	json_decref(tree);
	return known;
}

/* Leaves out pods that the job does not control. 1: the next turn goes on. */
static int read_pods(struct neap_jobs *jobs, struct job *job, struct neap_error *err)
{
	size_t have = 0, read = 0, i;
	int ret = 0;

	job->pods = neap_alloc_array(job->count ? job->count : 1, sizeof(*job->pods));
	if (!jobs->known)
		jobs->known = neap_map_new();
	if (!job->pods || !jobs->known)
		return neap_error_nomem(err);
	for (i = 0; i < job->count && ret == 0; i++) {
		struct neap_object *object = job->objects[i];
		const struct job_known *known = neap_map_find(jobs->known, object->uid);

		neap_feed_spend(jobs->feed, 1);
		if (!known || known->version != object->version) {
			if (read++ && !neap_feed_has_steps(jobs->feed)) {
				ret = 1;
				break;
			}
			neap_feed_spend(jobs->feed, neap_steps_of_text(object));
			known = read_known(jobs, job, object);
		}
		if (!known) {
			ret = neap_error_nomem(err);
		} else if (known->is_controlled) {
			job->pods[have] = known->pod;
			job->objects[i] = job->objects[have];
			job->objects[have++] = object;
		}
	}
	if (ret == 0)
		drop_pods(job, have);
	/* This turn was for reading. */
	if (ret == 0 && read && !neap_feed_has_steps(jobs->feed))
		ret = 1;
	return ret;
}

static int find_pods(struct neap_jobs *jobs, struct job *job, struct neap_error *err)
{
	const struct neap_found *found;
	struct neap_found *own;
	size_t count, own_count = 0, old = 0;

	found = neap_search_found(jobs->pods, &count);
	own = neap_alloc_array(count + 1, sizeof(*own));
	job->objects = neap_alloc_array(count + 1, sizeof(struct neap_object *));
	if (!own || !job->objects) {
		free(own);
		return neap_error_nomem(err);
	}
	for (size_t i = 0; i < count; i++)
		if (found[i].wanted & JOB_OWNS)
			own[own_count++] = found[i];
	if (own_count > 1)
		qsort(own, own_count, sizeof(*own), compare_age);
	for (size_t i = 0; i < own_count && old < OLD_MAX; i++) {
		old += (own[i].wanted & JOB_OLD) != 0;
		job->objects[job->count++] = neap_object_ref(own[i].object);
	}
	free(own);
	return read_pods(jobs, job, err);
}

int job_read(struct neap_jobs *jobs, const struct neap_object *object, struct job *ret,
	     struct neap_error *err)
{
	const json_t *meta;

	*ret = (struct job){.object = object, .tree = neap_object_tree(object)};
	neap_feed_spend(jobs->feed, neap_steps_of_text(object));
	/* The meaning of a pod depends on the job. */
	if (jobs->known_version != object->version)
		job_forget_read(jobs);
	jobs->known_version = object->version;
	if (!ret->tree)
		return neap_error_nomem(err);
	meta = json_object_get(ret->tree, "metadata");
	ret->ns = neap_json_text(meta, "namespace");
	ret->name = neap_json_text(meta, "name");
	ret->uid = neap_json_text(meta, "uid");
	read_spec(json_object_get(ret->tree, "spec"), &ret->spec);
	ret->state.is_deleting = object->is_deleting;
	if (!job_read_rules(ret, json_object_get(ret->tree, "spec")) || !read_state(ret))
		return neap_error_nomem(err);
	return find_pods(jobs, ret, err);
}

void job_done(struct job *job)
{
	drop_pods(job, 0);
	free(job->objects);
	free(job->pods);
	neap_map_free(job->listed);
	neap_job_indexes_done(&job->state.completed);
	neap_job_indexes_done(&job->state.lost);
	for (size_t i = 0; job->rules && i < job->spec.rule_count; i++)
		neap_job_indexes_done(&job->rules[i].indexes);
	free(job->rules);
	json_decref(job->tree);
	*job = (struct job){0};
}
