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
	const struct neap_object *object; /* borrowed */
	const char *ns, *name, *uid;      /* borrowed from tree */
	struct neap_job_spec spec;
	struct neap_job_state state;
	struct neap_job_rule *rules; /* of spec */
	struct neap_map *listed;     /* uid: enum neap_job_list */
	/* pods[i] is read from objects[i]. */
	struct neap_job_pod *pods;
	struct neap_object **objects;
	size_t count;
};

/* The asks about a job that are not answered yet, or what failed lately. Lives until all
 * are answered, even when the controller is freed. */
struct flight {
	struct neap_jobs *jobs; /* NULL: freed */
	size_t asks;
	bool has_asked, has_failed, is_overtaken;
	int64_t pause_usec, not_before; /* monotonic clock */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID];
	/* The event to record when the status with it is durable; NULL: none. */
	const char *reason;
	bool is_warning;
	char message[JOB_MESSAGE];
};

struct neap_jobs {
	struct neap_workload_config config;
	struct neap_feed *feed;
	struct neap_map *flights; /* "NAMESPACE/NAME" */
	/* By uid: the name of a Job that a pod named and that was there. */
	struct neap_map *names;
	/* The pods of the current Job, and those of an earlier Job with its name. */
	struct neap_search *pods;
	char name[NEAP_OBJECT_NAME];
	/* What was read of its pods, by uid: struct job_known. */
	struct neap_map *known;
	int64_t known_version; /* of the job */
	struct event *search;
	struct neap_client_place searched; /* how far it has come */
};

/* A pod's relation to the Job; OLD: it has ended, and is counted. */
enum { JOB_OWNS = 1, JOB_ORPHAN = 2, JOB_OLD = 4 };
/* Bytes of text that one step searches. */
#define JOB_SEARCH_BYTES 64

int64_t job_now(const struct neap_jobs *jobs);

/* --- jobs_read.c --- */

/* Callback of a neap_search; uid: the job's, JOB_NONE when it does not exist. */
#define JOB_NONE "-"
unsigned job_wants_pod(void *arg, const char *uid, const struct neap_object *pod);
/* Reads the job with all its pods, which have been found. Call job_done in any case. 1:
 * more to read than this turn has steps for; the next turn goes on. */
int job_read(struct neap_jobs *jobs, const struct neap_object *object, struct job *ret,
	     struct neap_error *err);
/* Drops what was read: the look is over. */
void job_forget_read(struct neap_jobs *jobs);
void job_done(struct job *job);
/* The reference to a pod's controller when it is a Job, borrowed from the tree; else
 * NULL. */
const json_t *job_of_pod(const json_t *pod);
/* Whether it has the finalizer. */
bool job_is_tracked(const json_t *meta);

/* --- jobs_policy.c --- */

/* What spec.podFailurePolicy says about a failed pod; why (JOB_MESSAGE bytes; may be
 * NULL): the reason. */
enum neap_job_action job_judge(const json_t *spec, const json_t *pod, char *why);
/* Reads spec.successPolicy into job->spec and job->rules. False without memory. */
bool job_read_rules(struct job *job, const json_t *spec);

/* --- jobs_write.c --- */

/* The job with the status of the plan; *ret is NULL when the status does not change.
 * False without memory. */
bool job_status(const struct job *job, const struct neap_job_plan *plan, int64_t now,
		json_t **ret);
/* A new pod. index -1: none. failures: of its index before, where indexes have limits of
 * their own. NULL without memory. */
json_t *job_pod(const struct job *job, int64_t index, int64_t failures);
/* A merge patch that removes the finalizer; NULL without memory. */
json_t *job_release(const json_t *pod);

/* --- jobs_ask.c --- */

/* NULL when nothing is asked and nothing failed. */
struct flight *job_flight_find(const struct neap_jobs *jobs, const char *ns,
			       const char *name);
/* For a job without a flight. It lives at least until job_flight_land is called once.
 * NULL without memory. */
struct flight *job_flight_begin(struct neap_jobs *jobs, const char *ns, const char *name,
				const char *uid);
/* Ends one ask, or what began the flight. The last one makes the job due again if
 * anything was asked. */
void job_flight_land(struct flight *flight);
void job_flight_free(struct flight *flight);
/* Microseconds until pods may be made again after a failure. */
int64_t job_flight_pause(const struct flight *flight);
void job_ask_release(struct flight *flight, const struct neap_object *object);
/* Whether this turn may ask once more, about such an object. Takes the steps. */
bool job_may_ask(struct flight *flight, const struct neap_object *object);
/* Asks for everything in the plan that the turn has steps for; the next look sees the
 * rest. False without memory. */
bool job_ask_all(struct flight *flight, const struct job *job,
		 const struct neap_job_plan *plan);

#endif
