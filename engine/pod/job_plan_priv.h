/* SPDX-License-Identifier: Apache-2.0
 *
 * One plan while it is made. */
#ifndef NEAP_ENGINE_POD_JOB_PLAN_PRIV_H
#define NEAP_ENGINE_POD_JOB_PLAN_PRIV_H

#include "engine/pod/job_plan.h"

/* An index that has failed so far: how often, and what tells it. */
struct job_failure {
	int64_t index, failures, finished_usec;
	const struct neap_job_pod *pod; /* the one that failed last */
	bool is_replaced;               /* another pod of the index is there */
};

struct job_work {
	const struct neap_job_spec *spec;
	const struct neap_job_state *state;
	struct neap_job_pod *pods;
	size_t count;
	int64_t now;
	struct neap_job_plan *plan;
	int64_t succeeded, failed; /* with those that are not counted yet */
	size_t open; /* tracked pods that are still to be counted or released */
	struct job_failure *
		failures; /* in order of their indexes; of a job whose indexes have limits */
	size_t failure_count;
	bool is_short; /* of memory */
};

bool job_pod_is_active(const struct neap_job_pod *pod);
bool job_pod_has_index(const struct neap_job_spec *spec, const struct neap_job_pod *pod);
bool job_pod_has_failed(const struct neap_job_spec *spec, const struct neap_job_pod *pod);

/* --- job_failures.c: indexes with limits of their own --- */

bool job_has_index_limit(const struct neap_job_spec *spec);
/* False without memory. */
bool job_failures_read(struct job_work *work);
/* What there is of an index; NULL: it has not failed. */
const struct job_failure *job_failure_find(const struct job_work *work, int64_t index);
/* Whether pod says how often its index has failed, and nothing else does: it stays until another pod, or the status,
 * says so. */
bool job_failure_is_needed(const struct job_work *work, const struct neap_job_pod *pod);
/* Indexes that have failed once more than they may. False without memory. */
bool job_failures_lose(struct job_work *work);
/* Microseconds until a pod of the index may be made again; 0: now. */
int64_t job_failure_backoff(const struct job_work *work,
			    const struct job_failure *failure);
/* The first rule that the completed indexes meet; rule_count: none. */
size_t job_rule_met(const struct job_work *work);

#endif
