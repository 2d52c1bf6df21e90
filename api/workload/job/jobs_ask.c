/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests of a round for a Job, and their answers. */
#include <stdlib.h>
#include <string.h>

#include "api/client/client.h"
#include "api/client/events.h"
#include "api/workload/job/jobs_priv.h"
#include "api/workload/loop/feed.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* The minimum of pods created at once, otherwise as many as are active. So a failing
 * creation fails only a few times. */
#define CREATE_MIN 8
/* After a failure. */
#define PAUSE_MIN_USEC 100000
#define PAUSE_MAX_USEC (10 * 1000000LL)
/* After another change came first. */
#define AGAIN_USEC 20000

static struct neap_client_note note_of(const struct flight *flight, bool is_warning,
				       const char *reason)
{
	return (struct neap_client_note){.api_version = "batch/v1",
					 .kind = "Job",
					 .ns = flight->ns,
					 .name = flight->name,
					 .uid = flight->uid,
					 .is_warning = is_warning,
					 .reason = reason,
					 .component = "job-controller"};
}

/* --- flights --- */

static void flight_key(const char *ns, const char *name, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%.63s/%.253s", ns, name);
}

#define KEY_SIZE (NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME)

struct flight *job_flight_find(const struct neap_jobs *jobs, const char *ns,
			       const char *name)
{
	char key[KEY_SIZE];

	flight_key(ns, name, key, sizeof(key));
	return neap_map_find(jobs->flights, key);
}

struct flight *job_flight_begin(struct neap_jobs *jobs, const char *ns, const char *name,
				const char *uid)
{
	struct flight *flight = job_flight_find(jobs, ns, name);
	char key[KEY_SIZE];

	if (!flight) {
		flight = neap_alloc(sizeof(*flight));
		flight_key(ns, name, key, sizeof(key));
		if (!flight || !neap_map_set(jobs->flights, key, flight)) {
			free(flight);
			return NULL;
		}
		flight->jobs = jobs;
		(void)neap_strcopy(flight->ns, sizeof(flight->ns), ns);
		(void)neap_strcopy(flight->name, sizeof(flight->name), name);
	}
	(void)neap_strcopy(flight->uid, sizeof(flight->uid), uid);
	flight->has_asked = flight->has_failed = flight->is_overtaken = false;
	flight->asks = 1;
	return flight;
}

int64_t job_flight_pause(const struct flight *flight)
{
	int64_t left = flight->pause_usec
			       ? flight->not_before - neap_clock_usec(CLOCK_MONOTONIC)
			       : 0;

	return left > 0 ? left : 0;
}

void job_flight_free(struct flight *flight)
{
	char key[KEY_SIZE];

	if (flight->jobs) {
		flight_key(flight->ns, flight->name, key, sizeof(key));
		(void)neap_map_remove(flight->jobs->flights, key);
	}
	free(flight);
}

static void pause_more(struct flight *flight)
{
	int64_t pause = flight->pause_usec ? 2 * flight->pause_usec : PAUSE_MIN_USEC;

	flight->pause_usec = pause < PAUSE_MAX_USEC ? pause : PAUSE_MAX_USEC;
	flight->not_before = neap_clock_usec(CLOCK_MONOTONIC) + flight->pause_usec;
}

void job_flight_land(struct flight *flight)
{
	int64_t after = 0;

	if (--flight->asks)
		return;
	if (!flight->jobs) {
		job_flight_free(flight);
		return;
	}
	if (flight->has_failed) {
		pause_more(flight);
		after = flight->pause_usec;
	} else if (flight->is_overtaken) {
		after = AGAIN_USEC;
	}
	if (flight->has_asked)
		neap_feed_due(flight->jobs->feed, flight->ns, flight->name, after);
	if (!flight->has_failed && !job_flight_pause(flight))
		job_flight_free(flight);
}

static struct neap_client_ask
ask_of(struct flight *flight, const char *resource, const char *name,
       void (*told)(void *, struct neap_object *, const struct neap_client_failure *))
{
	flight->asks++;
	flight->has_asked = true;
	return (struct neap_client_ask){.resource = resource,
					.ns = flight->ns,
					.name = name,
					.told = told,
					.arg = flight};
}

/* --- what is answered --- */

/* Another change came first, or the object is gone: the next look sees it. */
static bool is_overtaken(const struct neap_client_failure *failure)
{
	return failure->reason == NEAP_CLIENT_NOT_FOUND ||
	       failure->reason == NEAP_CLIENT_CONFLICT;
}

static void see_failure(struct flight *flight, const struct neap_client_failure *failure)
{
	if (is_overtaken(failure))
		flight->is_overtaken = true;
	else
		flight->has_failed = true;
}

static void told_created(void *arg, struct neap_object *object,
			 const struct neap_client_failure *failure)
{
	struct flight *flight = arg;

	if (!object)
		flight->has_failed = true;
	if (flight->jobs && object) {
		struct neap_client_note note = note_of(flight, false, "SuccessfulCreate");

		neap_client_note(flight->jobs->config.client, &note, "Created pod: %s",
				 object->name);
	} else if (flight->jobs) {
		struct neap_client_note note = note_of(flight, true, "FailedCreate");

		neap_client_note(flight->jobs->config.client, &note, "Error creating: %s",
				 failure->message);
	}
	job_flight_land(flight);
}

static void told_deleted(void *arg, struct neap_object *object,
			 const struct neap_client_failure *failure)
{
	struct flight *flight = arg;

	if (flight->jobs && object) {
		struct neap_client_note note = note_of(flight, false, "SuccessfulDelete");

		neap_client_note(flight->jobs->config.client, &note, "Deleted pod: %s",
				 object->name);
	} else if (flight->jobs && !is_overtaken(failure)) {
		struct neap_client_note note = note_of(flight, true, "FailedDelete");

		neap_client_note(flight->jobs->config.client, &note, "Error deleting: %s",
				 failure->message);
	}
	if (!object)
		see_failure(flight, failure);
	job_flight_land(flight);
}

static void told_written(void *arg, struct neap_object *object,
			 const struct neap_client_failure *failure)
{
	struct flight *flight = arg;

	if (!object)
		see_failure(flight, failure);
	job_flight_land(flight);
}

static void told_status(void *arg, struct neap_object *object,
			const struct neap_client_failure *failure)
{
	struct flight *flight = arg;

	if (flight->jobs && object && flight->reason) {
		struct neap_client_note note =
			note_of(flight, flight->is_warning, flight->reason);

		neap_client_note(flight->jobs->config.client, &note, "%s",
				 flight->message);
	}
	flight->reason = NULL;
	told_written(arg, object, failure);
}

/* --- what is asked --- */

bool job_may_ask(struct flight *flight, const struct neap_object *object)
{
	struct neap_feed *feed = flight->jobs->feed;

	if (flight->has_asked && !neap_feed_has_steps(feed))
		return false;
	neap_feed_spend(feed, neap_steps_of_write(object));
	return true;
}

void job_ask_release(struct flight *flight, const struct neap_object *object)
{
	struct neap_client_ask ask = ask_of(flight, "pods", object->name, told_written);
	json_t *tree = neap_object_tree(object);

	neap_client_patch_take(flight->jobs->config.client, &ask, false,
			       tree ? job_release(tree) : NULL);
	json_decref(tree);
}

static void ask_pods(struct flight *flight, const struct job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		const struct neap_object *object = job->objects[i];
		unsigned todo = job->pods[i].todo & (NEAP_JOB_RELEASE | NEAP_JOB_DELETE);

		if (todo && !job_may_ask(flight, object))
			return;
		if ((job->pods[i].todo & NEAP_JOB_RELEASE) != 0)
			job_ask_release(flight, object);
		if ((job->pods[i].todo & NEAP_JOB_DELETE) != 0) {
			struct neap_client_ask ask =
				ask_of(flight, "pods", object->name, told_deleted);

			neap_client_delete(flight->jobs->config.client, &ask, object->uid,
					   -1);
		}
	}
}

static void ask_new_pods(struct flight *flight, const struct job *job,
			 const struct neap_job_plan *plan)
{
	size_t most = plan->active > CREATE_MIN ? (size_t)plan->active : CREATE_MIN;

	if (flight->pause_usec)
		most = 1;
	for (size_t i = 0; i < plan->create && i < most; i++) {
		struct neap_client_ask ask;

		if (!job_may_ask(flight, job->object))
			return;
		ask = ask_of(flight, "pods", NULL, told_created);
		neap_client_create_take(flight->jobs->config.client, &ask,
					job_pod(job,
						plan->indexes ? plan->indexes[i] : -1,
						plan->failures ? plan->failures[i] : 0));
	}
}

/* The event to record with the status. */
static void set_note(struct flight *flight, const struct job *job,
		     const struct neap_job_plan *plan)
{
	const json_t *target = neap_json_condition(json_object_get(job->tree, "status"),
						   "FailureTarget");
	const char *reason = neap_json_text(target, "reason");
	static const char *const reasons[] = {"DeadlineExceeded", "PodFailurePolicy",
					      "FailedIndexes",
					      "MaxFailedIndexesExceeded"};

	flight->reason = NULL;
	flight->is_warning = plan->end == NEAP_JOB_FAILED;
	if (plan->end == NEAP_JOB_FAILED) {
		/* A static text. */
		flight->reason = "BackoffLimitExceeded";
		for (size_t i = 0; i < NEAP_ARRAY_LEN(reasons); i++)
			if (strcmp(reason, reasons[i]) == 0)
				flight->reason = reasons[i];
		(void)neap_strcopy(flight->message, sizeof(flight->message),
				   neap_json_text(target, "message"));
	} else if (plan->end == NEAP_JOB_COMPLETE) {
		flight->reason = "Completed";
		(void)neap_strcopy(flight->message, sizeof(flight->message),
				   "Job completed");
	} else if (plan->is_suspended && !job->state.is_suspended) {
		flight->reason = "Suspended";
		(void)neap_strcopy(flight->message, sizeof(flight->message),
				   "Job suspended");
	} else if (plan->is_resumed) {
		flight->reason = "Resumed";
		(void)neap_strcopy(flight->message, sizeof(flight->message),
				   "Job resumed");
	}
}

/* False without memory. */
static bool ask_status(struct flight *flight, const struct job *job,
		       const struct neap_job_plan *plan)
{
	struct neap_feed *feed = flight->jobs->feed;
	struct neap_client_ask ask;
	json_t *tree;

	/* The status is made in a copy of all of it. */
	neap_feed_spend(feed, neap_steps_of_text(job->object));
	if (!job_status(job, plan, job_now(flight->jobs), &tree))
		return false;
	if (!tree)
		return true;
	set_note(flight, job, plan);
	neap_feed_spend(feed, neap_steps_of_write(job->object));
	ask = ask_of(flight, "jobs.batch", flight->name, told_status);
	neap_client_update_take(flight->jobs->config.client, &ask, true, tree);
	return true;
}

bool job_ask_all(struct flight *flight, const struct job *job,
		 const struct neap_job_plan *plan)
{
	bool is_fine;

	/* The status first: ends and counts must be written even if the rest fails. */
	is_fine = ask_status(flight, job, plan);
	ask_pods(flight, job);
	ask_new_pods(flight, job, plan);
	if (plan->is_expired) {
		struct neap_client_ask ask =
			ask_of(flight, "jobs.batch", flight->name, told_written);

		neap_client_delete(flight->jobs->config.client, &ask, job->uid, -1);
	}
	return is_fine;
}
