/* SPDX-License-Identifier: Apache-2.0
 *
 * A look at a job asks for everything that its plan says: pods to be made, deleted and released, and the status. The
 * next look comes when all of that has been answered, and so sees it: nothing is made twice because it was not
 * there yet. What there is, is told by the objects; a controller that starts anew goes on from them. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "api/workload/job/jobs_priv.h"
#include "api/workload/loop/feed.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

/* Between searches for pods whose job has gone unseen. */
#define SEARCH_S 300

int64_t job_now(const struct neap_jobs *jobs)
{
	return jobs->config.now ? jobs->config.now() : neap_clock_usec(CLOCK_REALTIME);
}

/* --- looking --- */

/* A job that is somebody else's. */
static bool is_foreign(const struct job *job)
{
	const char *by = job_text(json_object_get(job->tree, "spec"), "managedBy");

	return *by && strcmp(by, "kubernetes.io/job-controller") != 0;
}

static int64_t carry_out(struct neap_jobs *jobs, const struct job *job,
			 struct neap_job_plan *plan)
{
	struct flight *flight = job_flight_begin(jobs, job->ns, job->name, job->uid);
	int64_t wait = plan->wait_usec > 0 ? plan->wait_usec : 0, pause;
	bool is_fine;

	if (!flight)
		return -1;
	pause = job_flight_pause(flight);
	if (plan->create && pause) {
		plan->create = 0;
		wait = wait && wait < pause ? wait : pause;
	}
	is_fine = job_ask_all(flight, job, plan);
	job_flight_land(flight);
	return is_fine ? wait : -1;
}

static int64_t look_at_job(struct neap_jobs *jobs, const struct neap_object *object)
{
	struct neap_job_plan plan;
	struct neap_error err;
	int64_t ret = -1;
	struct job job;

	if (job_read(jobs->config.store, object, &job, &err) == 0) {
		if (is_foreign(&job)) {
			ret = 0;
		} else if (neap_job_plan_make(&job.spec, &job.state, job.pods, job.count,
					      job_now(jobs), &plan, &err) == 0) {
			ret = carry_out(jobs, &job, &plan);
			neap_job_plan_done(&plan);
		}
	}
	job_done(&job);
	return ret;
}

/* --- pods whose job has gone --- */

struct orphans {
	const char *name, *uid; /* of the job; uid "" when it is not there */
	char quoted[NEAP_OBJECT_NAME + 2];
	struct neap_object **list;
	size_t count, size;
	bool failed;
};

/* Of a job of that name, which is not the one that is there. */
static bool is_orphan(const struct orphans *orphans, const struct neap_object *object)
{
	const json_t *owner;
	json_t *tree;
	bool is_one;

	if (!object->has_finalizers || !object->owner_count ||
	    (*orphans->uid && neap_object_has_owner(object, orphans->uid)) ||
	    !strstr(object->text, orphans->quoted) ||
	    !strstr(object->text, "\"" JOB_FINALIZER "\""))
		return false;
	tree = neap_object_tree(object);
	owner = job_of_pod(tree);
	is_one = owner && strcmp(job_text(owner, "name"), orphans->name) == 0 &&
		 job_is_tracked(json_object_get(tree, "metadata"));
	json_decref(tree);
	return is_one;
}

static bool take_orphan(void *arg, struct neap_object *object)
{
	struct orphans *orphans = arg;

	if (!is_orphan(orphans, object))
		return true;
	if (orphans->count == orphans->size) {
		size_t size = orphans->size ? orphans->size * 2 : 16;
		struct neap_object **grown =
			neap_realloc_array(orphans->list, size, sizeof(*grown));

		orphans->failed = !grown;
		if (!grown)
			return false;
		orphans->list = grown;
		orphans->size = size;
	}
	orphans->list[orphans->count++] = neap_object_ref(object);
	return true;
}

/* Nobody counts them any more. 1: some are asked for; 0: there are none; -1: it failed. */
static int release_orphans(struct neap_jobs *jobs, const char *ns, const char *name,
			   const char *uid)
{
	struct neap_store_place place = {.version =
						 neap_store_version(jobs->config.store)};
	struct orphans orphans = {.name = name, .uid = uid};
	struct flight *flight = NULL;
	struct neap_error err;
	int ret;

	(void)snprintf(orphans.quoted, sizeof(orphans.quoted), "\"%.253s\"", name);
	ret = neap_store_list(jobs->config.store, "pods", ns, &place, take_orphan,
			      &orphans, &err);
	ret = ret < 0 || orphans.failed ? -1 : orphans.count > 0;
	if (ret > 0)
		flight = job_flight_begin(jobs, ns, name, uid);
	if (ret > 0 && !flight)
		ret = -1;
	for (size_t i = 0; i < orphans.count; i++) {
		if (flight)
			job_ask_release(flight, orphans.list[i]);
		(void)neap_object_unref(orphans.list[i]);
	}
	if (flight)
		job_flight_land(flight);
	free(orphans.list);
	return ret;
}

static int64_t look(void *arg, const char *ns, const char *name)
{
	struct neap_jobs *jobs = arg;
	struct neap_object *object =
		neap_store_find(jobs->config.store, "jobs.batch", ns, name);
	struct flight *flight = job_flight_find(jobs, ns, name);
	int ret;

	if (flight && flight->asks)
		return 0; /* due again with the last answer */
	ret = release_orphans(jobs, ns, name, object ? object->uid : "");
	if (ret != 0)
		return ret < 0 ? -1 : 0;
	if (object)
		return look_at_job(jobs, object);
	flight = job_flight_find(jobs, ns, name);
	if (flight)
		job_flight_free(flight);
	return 0;
}

/* --- what happens --- */

static void hear_pod(struct neap_jobs *jobs, const struct neap_object *object)
{
	const json_t *owner;
	json_t *tree;

	if (!object->owner_count || !strstr(object->text, "\"Job\""))
		return;
	tree = neap_object_tree(object);
	owner = job_of_pod(tree);
	if (owner)
		neap_feed_due(jobs->feed, object->ns, job_text(owner, "name"), 0);
	json_decref(tree);
}

static void heard(void *arg, const char *resource, const struct neap_store_event *event)
{
	struct neap_jobs *jobs = arg;

	if (strcmp(resource, "pods") == 0)
		hear_pod(jobs, event->object);
	else
		neap_feed_due(jobs->feed, event->object->ns, event->object->name, 0);
}

static bool search_pod(void *arg, struct neap_object *object)
{
	if (object->has_finalizers)
		hear_pod(arg, object);
	return true;
}

/* Jobs are listed by the feed; pods of those that are not there any more are not. */
static void search(int fd, short what, void *arg)
{
	struct neap_jobs *jobs = arg;
	struct neap_store_place place = {.version =
						 neap_store_version(jobs->config.store)};
	struct neap_error err;

	(void)fd;
	(void)what;
	(void)neap_store_list(jobs->config.store, "pods", NULL, &place, search_pod, jobs,
			      &err);
}

/* --- its life --- */

int neap_jobs_new(const struct neap_workload_config *config, struct neap_jobs **ret,
		  struct neap_error *err)
{
	const struct timeval every = {.tv_sec = SEARCH_S};
	struct neap_jobs *jobs = neap_alloc(sizeof(*jobs));
	struct neap_feed_config feed = {.base = config->base,
					.store = config->store,
					.arg = jobs,
					.resources = {"jobs.batch", "pods"},
					.heard = heard,
					.look = look};
	int failed;

	*ret = NULL;
	if (!jobs)
		return neap_error_nomem(err);
	jobs->config = *config;
	jobs->flights = neap_map_new();
	jobs->search = event_new(config->base, -1, EV_PERSIST, search, jobs);
	if (!jobs->flights || !jobs->search || event_add(jobs->search, &every) < 0) {
		neap_jobs_free(jobs);
		return neap_error_nomem(err);
	}
	failed = neap_feed_new(&feed, &jobs->feed, err);
	if (failed < 0) {
		neap_jobs_free(jobs);
		return failed;
	}
	search(-1, 0, jobs);
	*ret = jobs;
	return 0;
}

void neap_jobs_free(struct neap_jobs *jobs)
{
	if (!jobs)
		return;
	neap_feed_free(jobs->feed);
	while (jobs->flights && neap_map_count(jobs->flights)) {
		const char *key;
		struct flight *flight = neap_map_at(
			jobs->flights, neap_map_count(jobs->flights) - 1, &key);

		(void)neap_map_remove(jobs->flights, key);
		flight->jobs = NULL;
		if (!flight->asks)
			job_flight_free(flight);
	}
	neap_map_free(jobs->flights);
	if (jobs->search)
		event_free(jobs->search);
	free(jobs);
}
