/* SPDX-License-Identifier: Apache-2.0
 *
 * Reconciles Jobs. A round requests everything in the plan: pods to create, delete and
 * release, and the status. The next round starts when all of that is answered, and so
 * sees the results: nothing is created twice. The state is in the objects; a restarted
 * controller continues from them. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "api/task/task.h"
#include "api/workload/job/jobs_priv.h"
#include "api/workload/loop/feed.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* Between searches for pods whose job was deleted unseen. */
#define SEARCH_S 300
/* A search runs in pieces of so many steps, with pauses. */
#define SEARCH_STEPS      60000
#define SEARCH_PAUSE_USEC 10000

int64_t job_now(const struct neap_jobs *jobs)
{
	return jobs->config.now ? jobs->config.now() : neap_clock_usec(CLOCK_REALTIME);
}

/* --- looking --- */

/* Another controller manages the job. */
static bool is_foreign(const struct job *job)
{
	const char *by = neap_json_text(json_object_get(job->tree, "spec"), "managedBy");

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
	int read = job_read(jobs, object, &job, &err);

	if (read > 0) {
		ret = NEAP_FEED_GOES_ON;
	} else if (read == 0) {
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

/* Releases the pods of a deleted job. 1: some were requested; 0: there are none; -1:
 * failed. */
static int release_orphans(struct neap_jobs *jobs, const char *ns, const char *name,
			   const char *uid)
{
	const struct neap_found *found;
	struct flight *flight = NULL;
	size_t count;

	found = neap_search_found(jobs->pods, &count);
	for (size_t i = 0; i < count; i++) {
		if (!(found[i].wanted & JOB_ORPHAN))
			continue;
		if (!flight)
			flight = job_flight_begin(jobs, ns, name, uid);
		if (!flight)
			return -1;
		if (!job_may_ask(flight, found[i].object))
			break; /* the next look finds it too */
		job_ask_release(flight, found[i].object);
	}
	if (flight)
		job_flight_land(flight);
	return flight != NULL;
}

static int64_t look_at_it(struct neap_jobs *jobs, const char *ns, const char *name)
{
	struct neap_object *object =
		neap_client_find(jobs->config.client, "jobs.batch", ns, name);
	struct flight *flight = job_flight_find(jobs, ns, name);
	int ret;

	if (flight && flight->asks)
		return 0; /* the last answer makes it due */
	(void)neap_strcopy(jobs->name, sizeof(jobs->name), name);
	ret = neap_search_go(jobs->pods, ns, object ? object->uid : JOB_NONE);
	if (ret != 0)
		return ret < 0 ? -1 : NEAP_FEED_GOES_ON;
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

static int64_t look(void *arg, const char *ns, const char *name)
{
	struct neap_jobs *jobs = arg;
	int64_t again = look_at_it(jobs, ns, name);

	if (again != NEAP_FEED_GOES_ON) {
		neap_search_end(jobs->pods);
		job_forget_read(jobs);
	}
	return again;
}

/* --- what happens --- */

/* Remembers the name of a pod's Job. Without memory the pods' texts are read. */
static void note_job(struct neap_jobs *jobs, const char *ns, const json_t *owner)
{
	const char *uid = neap_json_text(owner, "uid"),
		   *name = neap_json_text(owner, "name");
	const struct neap_object *job;
	char *copy;

	if (neap_map_find(jobs->names, uid))
		return;
	job = neap_client_find(jobs->config.client, "jobs.batch", ns, name);
	copy = job && strcmp(job->uid, uid) == 0 ? neap_strdup(name) : NULL;
	if (copy && !neap_map_set(jobs->names, uid, copy))
		free(copy);
}

/* Returns the steps it took. */
static int64_t hear_pod(struct neap_jobs *jobs, const struct neap_object *object)
{
	int64_t steps = 1 + object->text_len / JOB_SEARCH_BYTES;
	const json_t *owner;
	json_t *tree;

	if (!object->owner_count)
		return 1;
	if (!strstr(object->text, "\"Job\""))
		return steps;
	tree = neap_object_tree(object);
	owner = job_of_pod(tree);
	if (owner) {
		note_job(jobs, object->ns, owner);
		neap_feed_due(jobs->feed, object->ns, neap_json_text(owner, "name"), 0);
	}
	json_decref(tree);
	return steps + neap_steps_of_text(object);
}

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	struct neap_jobs *jobs = arg;

	if (strcmp(resource, "pods") == 0) {
		neap_search_hear(jobs->pods, event);
		neap_feed_spend(jobs->feed, hear_pod(jobs, event->object));
	} else {
		if (event->what == NEAP_CLIENT_DELETED)
			free(neap_map_remove(jobs->names, event->object->uid));
		neap_feed_due(jobs->feed, event->object->ns, event->object->name, 0);
	}
}

struct search_piece {
	struct neap_jobs *jobs;
	int64_t steps;
};

static bool search_pod(void *arg, struct neap_object *object)
{
	struct search_piece *piece = arg;

	if (piece->steps >= SEARCH_STEPS)
		return false;
	piece->steps += object->has_finalizers ? hear_pod(piece->jobs, object) : 1;
	return true;
}

/* The feed lists Jobs, but not pods of deleted Jobs. */
static void search(int fd, short what, void *arg)
{
	struct neap_jobs *jobs = arg;
	struct search_piece piece = {.jobs = jobs};
	struct timeval after = {.tv_usec = SEARCH_PAUSE_USEC};
	struct neap_error err;

	(void)fd;
	(void)what;
	jobs->searched.version = neap_client_version(jobs->config.client);
	if (neap_client_list(jobs->config.client, "pods", NULL, &jobs->searched,
			     search_pod, &piece, &err) <= 0) {
		jobs->searched = (struct neap_client_place){0};
		after = (struct timeval){.tv_sec = SEARCH_S};
	}
	(void)event_add(jobs->search, &after);
}

/* --- its life --- */

int neap_jobs_new(const struct neap_workload_config *config, struct neap_jobs **ret,
		  struct neap_error *err)
{
	struct neap_jobs *jobs = neap_alloc(sizeof(*jobs));
	struct neap_feed_config feed = {.tasks = config->tasks,
					.client = config->client,
					.arg = jobs,
					.resources = {"jobs.batch", "pods"},
					.heard = heard,
					.look = look};
	struct neap_search_config search_pods = {.client = config->client,
						 .resource = "pods",
						 .arg = jobs,
						 .wants = job_wants_pod};
	int failed;

	*ret = NULL;
	if (!jobs)
		return neap_error_nomem(err);
	jobs->config = *config;
	jobs->flights = neap_map_new();
	jobs->names = neap_map_new();
	jobs->search = event_new(neap_tasks_base(config->tasks), -1, 0, search, jobs);
	if (!jobs->flights || !jobs->names || !jobs->search) {
		neap_jobs_free(jobs);
		return neap_error_nomem(err);
	}
	failed = neap_feed_new(&feed, &jobs->feed, err);
	search_pods.feed = jobs->feed;
	if (failed == 0) {
		jobs->pods = neap_search_new(&search_pods);
		failed = jobs->pods ? 0 : neap_error_nomem(err);
	}
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
	neap_search_free(jobs->pods);
	job_forget_read(jobs);
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
	for (size_t i = 0; jobs->names && i < neap_map_count(jobs->names); i++)
		free(neap_map_at(jobs->names, i, NULL));
	neap_map_free(jobs->names);
	if (jobs->search)
		event_free(jobs->search);
	free(jobs);
}
