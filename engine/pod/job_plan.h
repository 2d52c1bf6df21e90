/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides what to do for a Job as the Kubernetes controller does, from its spec, its
 * status, its pods and the time. A pure function without state.
 *
 * Every pod must be counted exactly once, even if the controller stops between two
 * writes. So each pod is tracked by a finalizer and stays until that is removed. After it
 * ends, its uid is added to status.uncountedTerminatedPods (for an indexed Job that
 * succeeded, its index to completedIndexes). Once that is durable, the finalizer is
 * removed ("released"). Once that is durable, one write removes the uid and raises the
 * count. Repeating any of the three steps is harmless. */
#ifndef NEAP_ENGINE_POD_JOB_PLAN_H
#define NEAP_ENGINE_POD_JOB_PLAN_H

#include "engine/base/error.h"
#include "engine/pod/job_indexes.h"

/* Pods created or deleted per step. */
#define NEAP_JOB_STEP_MAX 500
/* Delay between a failure and the next pod; doubles with each failure since the last
 * success. */
#define NEAP_JOB_BACKOFF_USEC     (10 * 1000000LL)
#define NEAP_JOB_BACKOFF_MAX_USEC (360 * 1000000LL)

/* A rule of spec.successPolicy: it is met by count of these indexes, or by all of
 * them. */
struct neap_job_rule {
	struct neap_job_indexes indexes;
	bool has_indexes;
	int64_t count; /* -1: all of the indexes */
};

struct neap_job_spec {
	int64_t parallelism;
	int64_t completions; /* -1: not set; the Job is a work queue */
	int64_t backoff_limit;
	int64_t deadline_s; /* -1: none; the same for ttl_s */
	int64_t ttl_s;
	/* Failures after which an index has failed, and failed indexes after which the
	 * Job has; -1: no limit. */
	int64_t index_limit, max_failed_indexes;
	const struct neap_job_rule *rules; /* meeting any one is success */
	size_t rule_count;
	bool is_indexed, is_suspended;
	bool counts_restarts;     /* restartPolicy OnFailure */
	bool only_replace_failed; /* replace a terminating pod only after it ended */
};

enum neap_job_end {
	NEAP_JOB_RUNS,
	/* FailureTarget: pods are being ended; the Job fails when all have */
	NEAP_JOB_FAILING,
	NEAP_JOB_FAILED,
	/* SuccessCriteriaMet: pods are being ended; the Job completes when all have */
	NEAP_JOB_SUCCEEDING,
	NEAP_JOB_COMPLETE,
};

/* What the Job's status says. */
struct neap_job_state {
	int64_t succeeded, failed;
	size_t uncounted_succeeded, uncounted_failed; /* uids in the lists */
	struct neap_job_indexes completed,
		lost;       /* for an indexed Job; lost: failed for good */
	int64_t start_usec; /* 0: not begun */
	enum neap_job_end end;
	int64_t end_usec;  /* time of failure or completion */
	bool is_suspended; /* condition Suspended is True */
	bool is_deleting;
};

enum neap_job_phase { NEAP_JOB_POD_ACTIVE, NEAP_JOB_POD_SUCCEEDED, NEAP_JOB_POD_FAILED };
/* The uncounted list that a pod is in. */
enum neap_job_list { NEAP_JOB_NO_LIST, NEAP_JOB_LIST_SUCCEEDED, NEAP_JOB_LIST_FAILED };
/* The pod failure policy's verdict on a pod. */
enum neap_job_action {
	NEAP_JOB_COUNT,
	NEAP_JOB_IGNORE,
	NEAP_JOB_FAIL,
	NEAP_JOB_FAIL_INDEX
};

/* What to do with a pod; values combine. */
enum {
	NEAP_JOB_LIST = 1,    /* add its uid to the list in plan_list */
	NEAP_JOB_RELEASE = 2, /* remove its finalizer */
	NEAP_JOB_DELETE = 4,  /* after releasing it, if both are set */
};

struct neap_job_pod {
	enum neap_job_phase phase;
	bool is_tracked, is_deleting;
	bool is_stopped; /* it is being deleted and no container runs any more */
	bool is_scheduled, is_running, is_ready;
	int64_t index;    /* -1: none */
	int64_t failures; /* earlier failures of its index */
	int64_t restarts; /* of all its containers */
	int64_t created_usec, finished_usec;
	enum neap_job_list list;
	enum neap_job_action action; /* for a failed pod */
	/* The plan: */
	unsigned todo;
	enum neap_job_list plan_list; /* the list it belongs in */
};

enum neap_job_why {
	NEAP_JOB_NO_REASON,
	NEAP_JOB_BACKOFF,
	NEAP_JOB_DEADLINE,
	NEAP_JOB_POLICY,
	/* every index is done or has failed, and some have failed */
	NEAP_JOB_LOST_INDEXES,
	NEAP_JOB_MANY_INDEXES /* more indexes failed than allowed */
};

struct neap_job_plan {
	/* For the status. */
	int64_t active, ready, terminating, succeeded, failed;
	struct neap_job_indexes completed, lost;
	int64_t start_usec;
	enum neap_job_end end;
	enum neap_job_why why; /* reason of a new failure */
	size_t why_pod;        /* for NEAP_JOB_POLICY: the pod that failed the Job */
	size_t why_rule;       /* for a new NEAP_JOB_SUCCEEDING: the rule that is met */
	bool is_suspended, is_resumed; /* is_resumed: it was suspended before */
	/* Pods to create; for an indexed Job, their indexes. */
	size_t create;
	int64_t *indexes;
	int64_t *failures; /* with per-index limits: earlier failures of each index */
	bool is_expired;   /* ttlSecondsAfterFinished has passed: delete the Job */
	/* time until the plan must be made again without any change; -1: never */
	int64_t wait_usec;
};

/* pods: all existing pods of the Job. Of ended and released pods only the end time
 * matters, and a subset is enough. Sets todo and plan_list of each. NEAP_ENOMEM. */
int neap_job_plan_make(const struct neap_job_spec *spec,
		       const struct neap_job_state *state, struct neap_job_pod *pods,
		       size_t count, int64_t now_usec, struct neap_job_plan *ret,
		       struct neap_error *err);
void neap_job_plan_done(struct neap_job_plan *plan);

#endif
