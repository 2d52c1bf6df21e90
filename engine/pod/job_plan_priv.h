/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one plan while it is made. */
#ifndef NEAP_ENGINE_POD_JOB_PLAN_PRIV_H
#define NEAP_ENGINE_POD_JOB_PLAN_PRIV_H

#include "engine/pod/job_plan.h"

/* An index that has failed: how often, and the pod that records it. */
struct job_failure {
	int64_t index, failures, finished_usec;
	const struct neap_job_pod *pod; /* the pod that failed last */
	bool is_replaced;               /* another pod of the index exists */
};

struct job_work {
	const struct neap_job_spec *spec;
	const struct neap_job_state *state;
	struct neap_job_pod *pods;
	size_t count;
	int64_t now;
	struct neap_job_plan *plan;
	int64_t succeeded, failed; /* including pods not counted yet */
	size_t open;               /* tracked pods still to be counted or released */
	struct job_failure
		*failures; /* by ascending index; for Jobs with per-index limits */
	size_t failure_count;
	bool is_short; /* of memory */
};

bool job_pod_has_index(const struct neap_job_spec *spec, const struct neap_job_pod *pod);
bool job_pod_has_failed(const struct neap_job_spec *spec, const struct neap_job_pod *pod);

/* --- job_failures.c: indexes with limits of their own --- */

bool job_has_index_limit(const struct neap_job_spec *spec);
/* False without memory. */
bool job_failures_read(struct job_work *work);
/* Returns the failures of an index; NULL: it has not failed. */
const struct job_failure *job_failure_find(const struct job_work *work, int64_t index);
/* Returns whether this pod alone records how often its index failed; it must then stay
 * until another pod or the status does. */
bool job_failure_is_needed(const struct job_work *work, const struct neap_job_pod *pod);
/* Marks indexes that exceeded their limit as failed. Returns false without memory. */
bool job_failures_lose(struct job_work *work);
/* Returns the microseconds until a pod of the index may be created again; 0: now. */
int64_t job_failure_backoff(const struct job_work *work,
			    const struct job_failure *failure);
/* Returns the first rule that the completed indexes meet; rule_count: none. */
size_t job_rule_met(const struct job_work *work);

#endif
