/* SPDX-License-Identifier: Apache-2.0
 *
 * A Job and its pods, between their JSON and engine/pod/job_plan.h. */
#ifndef NEAP_API_WORKLOAD_JOB_JOBS_PRIV_H
#define NEAP_API_WORKLOAD_JOB_JOBS_PRIV_H

#include "api/client/client.h"
#include "api/workload/loop/search.h"
#include "api/workload/workload.h"
#include "engine/pod/job_plan.h"

#define JOB_FINALIZER "batch.kubernetes.io/job-tracking"
#define JOB_INDEX     "batch.kubernetes.io/job-completion-index"
#define JOB_FAILURES  "batch.kubernetes.io/job-index-failure-count"
#define JOB_MESSAGE   512

struct job {
	json_t *tree;
	int64_t text_steps;          /* what it takes to read it */
	const char *ns, *name, *uid; /* in the tree */
	struct neap_job_spec spec;
	struct neap_job_state state;
	struct neap_job_rule *rules; /* of spec */
	struct neap_map *listed;     /* uid: enum neap_job_list */
	/* pods[i] is what objects[i] says. */
	struct neap_job_pod *pods;
	struct neap_object **objects;
	size_t count;
};

/* What is asked about a job and not answered yet, or what failed lately. Lives until all
 * is answered, also when the controller has gone. */
struct flight {
	struct neap_jobs *jobs; /* NULL: gone */
	size_t asks;
	bool has_asked, has_failed, is_overtaken;
	int64_t pause_usec, not_before; /* of the monotonic clock */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID];
	/* Told when the status that says so is durable; NULL: nothing. */
	const char *reason;
	bool is_warning;
	char message[JOB_MESSAGE];
};

struct neap_jobs {
	struct neap_workload_config config;
	struct neap_feed *feed;
	struct neap_map *flights; /* "NAMESPACE/NAME" */
	/* The pods of the Job at hand, and those of an earlier Job of its name. */
	struct neap_search *pods;
	char name[NEAP_OBJECT_NAME];
	/* ... and what was read of its pods, by uid: struct job_known. */
	struct neap_map *known;
	int64_t known_version; /* of the job */
	struct event *search;
	struct neap_client_place searched; /* where it has come to */
};

/* What a pod may be of; OLD: it has ended, and is counted. */
enum { JOB_OWNS = 1, JOB_ORPHAN = 2, JOB_OLD = 4 };
/* Steps of a turn for each that a write takes for reading a text: it is copied, checked
 * and written, too. */
#define JOB_WRITE_STEPS 4
/* Bytes of a text in which something is searched for in one step. */
#define JOB_SEARCH_BYTES 64

int64_t job_now(const struct neap_jobs *jobs);

/* --- jobs_read.c --- */

/* As of a neap_search; uid: of the job, JOB_NONE when it is not there. */
#define JOB_NONE "-"
unsigned job_wants_pod(void *arg, const char *uid, const struct neap_object *pod);
/* The job with all its pods, which have been found; job_done in any case. 1: there are
 * more to be read than this turn has steps for; the next one goes on. */
int job_read(struct neap_jobs *jobs, const struct neap_object *object, struct job *ret,
	     struct neap_error *err);
/* What was read is of no use any more: the look is over. */
void job_forget_read(struct neap_jobs *jobs);
void job_done(struct job *job);
/* The controller of a pod when it is a Job: its reference, in the tree; NULL for none. */
const json_t *job_of_pod(const json_t *pod);
/* It has the finalizer. */
bool job_is_tracked(const json_t *meta);

/* --- jobs_policy.c --- */

/* What spec.podFailurePolicy says of a pod that has failed, and why (JOB_MESSAGE bytes;
 * may be NULL). */
enum neap_job_action job_judge(const json_t *spec, const json_t *pod, char *why);
/* spec.successPolicy, into job->spec and job->rules. False without memory. */
bool job_read_rules(struct job *job, const json_t *spec);

/* --- jobs_write.c --- */

/* The job with the status that the plan gives it; NULL in *ret when it says what it said
 * before. False without memory. */
bool job_status(const struct job *job, const struct neap_job_plan *plan, int64_t now,
		json_t **ret);
/* A pod to be made; index -1: none; failures of it before, where indexes have limits of
 * their own. NULL without memory. */
json_t *job_pod(const struct job *job, int64_t index, int64_t failures);
/* A merge patch that takes the finalizer off; NULL without memory. */
json_t *job_release(const json_t *pod);

/* --- jobs_ask.c --- */

/* NULL when nothing is asked and nothing failed. */
struct flight *job_flight_find(const struct neap_jobs *jobs, const char *ns,
			       const char *name);
/* Of a job of which nothing is asked; stays at least until job_flight_land is called
 * once. NULL without memory. */
struct flight *job_flight_begin(struct neap_jobs *jobs, const char *ns, const char *name,
				const char *uid);
/* One ask, or what began it, is done with; the last one makes the job due again when
 * anything was asked. */
void job_flight_land(struct flight *flight);
void job_flight_free(struct flight *flight);
/* Microseconds until pods may be made again, as lately that failed. */
int64_t job_flight_pause(const struct flight *flight);
void job_ask_release(struct flight *flight, const struct neap_object *object);
/* Whether one more may be asked for in this turn, of an object that takes so many steps
 * to read; takes them. */
bool job_may_ask(struct flight *flight, int64_t text_steps);
/* Everything that the plan says, or as much of it as the turn has steps for: the next
 * look sees the rest. False without memory. */
bool job_ask_all(struct flight *flight, const struct job *job,
		 const struct neap_job_plan *plan);

#endif
