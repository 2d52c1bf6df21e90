/* SPDX-License-Identifier: Apache-2.0
 *
 * What is to be done for a Job, as the controller of Kubernetes decides it: from what it asks for, what its status
 * says, what its pods are like, and the time. Pure: the same every time, nothing is remembered.
 *
 * A pod must be counted once, however often whoever counts is stopped between two writes. So each pod is tracked: it
 * has a finalizer, and stays until that is taken off. When it has ended, its uid goes into
 * status.uncountedTerminatedPods (of an indexed job that succeeded, its index into completedIndexes); when that is
 * durable, the finalizer is taken off ("released"); when that is durable, its uid is taken out and the number
 * raised in one write. Each of the three steps does no harm when it is done again. */
#ifndef NEAP_ENGINE_POD_JOB_PLAN_H
#define NEAP_ENGINE_POD_JOB_PLAN_H

#include "engine/base/error.h"
#include "engine/pod/job_indexes.h"

/* Pods that are made or deleted at once. */
#define NEAP_JOB_STEP_MAX 500
/* Between a failure and the next pod: doubled with each failure since the last success. */
#define NEAP_JOB_BACKOFF_USEC     (10 * 1000000LL)
#define NEAP_JOB_BACKOFF_MAX_USEC (360 * 1000000LL)

/* A rule of spec.successPolicy: so many of these indexes, or of all. */
struct neap_job_rule {
	struct neap_job_indexes indexes;
	bool has_indexes;
	int64_t count; /* -1: all of indexes */
};

struct neap_job_spec {
	int64_t parallelism;
	int64_t completions; /* -1: as many as its pods see fit: a work queue */
	int64_t backoff_limit;
	int64_t deadline_s; /* -1: none; also ttl_s */
	int64_t ttl_s;
	/* Failures of one index after which it has failed, and failed indexes after which the job has; -1: none. */
	int64_t index_limit, max_failed_indexes;
	const struct neap_job_rule *rules; /* any is enough for success */
	size_t rule_count;
	bool is_indexed, is_suspended;
	bool counts_restarts; /* restartPolicy OnFailure */
	bool only_replace_failed; /* a pod that is being ended is not replaced before it has */
};

enum neap_job_end {
	NEAP_JOB_RUNS,
	NEAP_JOB_FAILING, /* FailureTarget: its pods are ended, and it has failed when they have */
	NEAP_JOB_FAILED,
	NEAP_JOB_SUCCEEDING, /* SuccessCriteriaMet: its pods are ended, and it is complete when they have */
	NEAP_JOB_COMPLETE,
};

/* What the job's status says. */
struct neap_job_state {
	int64_t succeeded, failed;
	size_t uncounted_succeeded, uncounted_failed; /* uids in the lists */
	struct neap_job_indexes completed,
		lost;       /* of an indexed one; lost: failed for good */
	int64_t start_usec; /* 0: not begun */
	enum neap_job_end end;
	int64_t end_usec;  /* when it failed or was complete */
	bool is_suspended; /* the condition Suspended is True */
	bool is_deleting;
};

enum neap_job_phase { NEAP_JOB_POD_ACTIVE, NEAP_JOB_POD_SUCCEEDED, NEAP_JOB_POD_FAILED };
/* In which list of uncounted pods it is. */
enum neap_job_list { NEAP_JOB_NO_LIST, NEAP_JOB_LIST_SUCCEEDED, NEAP_JOB_LIST_FAILED };
/* What the policy for failed pods says of it. */
enum neap_job_action {
	NEAP_JOB_COUNT,
	NEAP_JOB_IGNORE,
	NEAP_JOB_FAIL,
	NEAP_JOB_FAIL_INDEX
};

/* What to do with a pod, together. */
enum {
	NEAP_JOB_LIST = 1,    /* its uid goes into the list that plan_list says */
	NEAP_JOB_RELEASE = 2, /* its finalizer is taken off */
	NEAP_JOB_DELETE = 4,  /* after that, when it is both */
};

struct neap_job_pod {
	enum neap_job_phase phase;
	bool is_tracked, is_deleting;
	bool is_stopped; /* is being deleted, and nothing of it runs any more */
	bool is_scheduled, is_running, is_ready;
	int64_t index;    /* -1: none */
	int64_t failures; /* of its index before it */
	int64_t restarts; /* of all its containers */
	int64_t created_usec, finished_usec;
	enum neap_job_list list;
	enum neap_job_action action; /* of one that failed */
	/* The plan: */
	unsigned todo;
	enum neap_job_list plan_list; /* in which list it is to stand */
};

enum neap_job_why {
	NEAP_JOB_NO_REASON,
	NEAP_JOB_BACKOFF,
	NEAP_JOB_DEADLINE,
	NEAP_JOB_POLICY,
	NEAP_JOB_LOST_INDEXES, /* each index is done or has failed, and some have */
	NEAP_JOB_MANY_INDEXES  /* more of them than may */
};

struct neap_job_plan {
	/* For the status. */
	int64_t active, ready, terminating, succeeded, failed;
	struct neap_job_indexes completed, lost;
	int64_t start_usec;
	enum neap_job_end end;
	enum neap_job_why why; /* of what fails now for the first time */
	size_t why_pod;        /* of NEAP_JOB_POLICY: the pod that made it fail */
	size_t why_rule; /* of NEAP_JOB_SUCCEEDING, for the first time: the rule that is met */
	bool is_suspended, is_resumed; /* is_resumed: it was suspended until now */
	/* Pods to be made; of an indexed job, their indexes. */
	size_t create;
	int64_t *indexes;
	int64_t *
		failures; /* where indexes have limits of their own: how often each has failed before */
	bool is_expired; /* ttlSecondsAfterFinished is over: to be deleted */
	int64_t wait_usec; /* until something is to be done though nothing changes; -1: never */
};

/* pods are all of the job that are there; those that have ended and are not tracked any more matter only by when they
 * finished, and a part of them is enough. Sets their todo and plan_list. NEAP_ENOMEM. */
int neap_job_plan_make(const struct neap_job_spec *spec,
		       const struct neap_job_state *state, struct neap_job_pod *pods,
		       size_t count, int64_t now_usec, struct neap_job_plan *ret,
		       struct neap_error *err);
void neap_job_plan_done(struct neap_job_plan *plan);

/* Microseconds until a pod may be made again; 0: now. */
int64_t neap_job_backoff(const struct neap_job_pod *pods, size_t count, int64_t now_usec);

#endif
