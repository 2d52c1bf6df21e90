/* SPDX-License-Identifier: Apache-2.0
 *
 * In the order of the Kubernetes controller: count ended pods, check for failure, else
 * create or delete pods, then check for completion. */
#include "engine/pod/job_plan_priv.h"

#include <stdlib.h>

#include "engine/base/mem.h"

static bool job_pod_is_active(const struct neap_job_pod *pod)
{
	return pod->phase == NEAP_JOB_POD_ACTIVE && !pod->is_deleting;
}

static bool is_terminating(const struct neap_job_pod *pod)
{
	return pod->phase == NEAP_JOB_POD_ACTIVE && pod->is_deleting && !pod->is_stopped;
}

bool job_pod_has_index(const struct neap_job_spec *spec, const struct neap_job_pod *pod)
{
	return !spec->is_indexed || (pod->index >= 0 && pod->index < spec->completions);
}

/* A terminating pod counts as failed, because no one may ever report more; unless the Job
 * waits for such pods, and then as soon as no container runs. */
bool job_pod_has_failed(const struct neap_job_spec *spec, const struct neap_job_pod *pod)
{
	if (pod->phase == NEAP_JOB_POD_SUCCEEDED)
		return pod->list == NEAP_JOB_LIST_FAILED;
	return pod->phase == NEAP_JOB_POD_FAILED || pod->list == NEAP_JOB_LIST_FAILED ||
	       (pod->is_deleting && (!spec->only_replace_failed || pod->is_stopped));
}

static void wait_for(struct neap_job_plan *plan, int64_t usec)
{
	usec = usec > 0 ? usec : 1;
	if (plan->wait_usec < 0 || usec < plan->wait_usec)
		plan->wait_usec = usec;
}

/* --- counting --- */

static void list(struct job_work *work, struct neap_job_pod *pod, enum neap_job_list list)
{
	pod->plan_list = list;
	if (pod->list == list)
		pod->todo |= NEAP_JOB_RELEASE;
	else
		pod->todo |= NEAP_JOB_LIST;
	if (list == NEAP_JOB_LIST_FAILED)
		work->failed++;
	else
		work->succeeded++;
}

/* Only when the status says so. */
static void count_index(struct job_work *work, struct neap_job_pod *pod)
{
	if (!job_pod_has_index(work->spec, pod) ||
	    neap_job_indexes_has(&work->state->completed, pod->index))
		pod->todo |= NEAP_JOB_RELEASE;
}

static void count_failure(struct job_work *work, struct neap_job_pod *pod)
{
	struct neap_job_plan *plan = work->plan;
	enum neap_job_action action =
		pod->phase == NEAP_JOB_POD_FAILED ? pod->action : NEAP_JOB_COUNT;

	if (action == NEAP_JOB_FAIL && plan->why == NEAP_JOB_NO_REASON) {
		plan->why = NEAP_JOB_POLICY;
		plan->why_pod = (size_t)(pod - work->pods);
	}
	if (pod->list == NEAP_JOB_NO_LIST && job_failure_is_needed(work, pod))
		return;
	if (action == NEAP_JOB_IGNORE && pod->list == NEAP_JOB_NO_LIST)
		pod->todo |= NEAP_JOB_RELEASE;
	else
		list(work, pod, NEAP_JOB_LIST_FAILED);
}

static void count_pod(struct job_work *work, struct neap_job_pod *pod)
{
	bool is_failure = job_pod_has_failed(work->spec, pod);

	if (job_pod_is_active(pod)) {
		work->plan->active++;
		work->plan->ready += pod->is_ready;
	}
	work->plan->terminating += is_terminating(pod);
	if (!pod->is_tracked)
		return;
	work->open++;
	if (!is_failure && pod->phase == NEAP_JOB_POD_ACTIVE)
		return;
	if (!job_pod_has_index(work->spec, pod) && pod->list == NEAP_JOB_NO_LIST)
		pod->todo |= NEAP_JOB_RELEASE;
	else if (is_failure)
		count_failure(work, pod);
	else if (work->spec->is_indexed)
		count_index(work, pod);
	else
		list(work, pod, NEAP_JOB_LIST_SUCCEEDED);
}

/* Those in the lists whose finalizer is off become numbers. */
static void count(struct job_work *work)
{
	const struct neap_job_state *state = work->state;
	size_t tracked[3] = {0};

	for (size_t i = 0; i < work->count; i++)
		if (work->pods[i].is_tracked)
			tracked[work->pods[i].list]++;
	work->plan->succeeded =
		state->succeeded +
		(int64_t)(state->uncounted_succeeded - tracked[NEAP_JOB_LIST_SUCCEEDED]);
	work->plan->failed = state->failed + (int64_t)(state->uncounted_failed -
						       tracked[NEAP_JOB_LIST_FAILED]);
	work->succeeded = work->plan->succeeded;
	work->failed = work->plan->failed;
	/* Done first: it cannot be lost any more. */
	for (size_t i = 0; work->spec->is_indexed && i < work->count; i++)
		if (work->pods[i].is_tracked &&
		    job_pod_has_index(work->spec, &work->pods[i]) &&
		    work->pods[i].phase == NEAP_JOB_POD_SUCCEEDED &&
		    !job_pod_has_failed(work->spec, &work->pods[i]) &&
		    !neap_job_indexes_add(&work->plan->completed, work->pods[i].index))
			work->is_short = true;
	if (!job_failures_lose(work))
		work->is_short = true;
	for (size_t i = 0; i < work->count; i++)
		count_pod(work, &work->pods[i]);
	if (!work->spec->is_indexed)
		return;
	work->plan->succeeded = neap_job_indexes_total(&work->plan->completed);
	work->succeeded = work->plan->succeeded;
}

static void release_all(struct job_work *work)
{
	for (size_t i = 0; i < work->count; i++)
		if (work->pods[i].is_tracked)
			work->pods[i].todo = NEAP_JOB_RELEASE;
}

/* --- failing --- */

/* Containers that were started again are failures, too. */
static bool has_restarted_enough(const struct job_work *work)
{
	int64_t restarts = 0, limit = work->spec->backoff_limit;

	if (!work->spec->counts_restarts)
		return false;
	for (size_t i = 0; i < work->count; i++)
		if (work->pods[i].phase == NEAP_JOB_POD_ACTIVE)
			restarts += work->pods[i].restarts;
	return restarts > 0 && restarts >= limit;
}

static bool is_too_late(struct job_work *work)
{
	const struct neap_job_spec *spec = work->spec;
	int64_t left;

	if (spec->deadline_s < 0 || spec->is_suspended || !work->plan->start_usec)
		return false;
	if (spec->deadline_s > INT32_MAX)
		return false;
	left = work->plan->start_usec + spec->deadline_s * 1000000 - work->now;
	if (left <= 0)
		return true;
	wait_for(work->plan, left);
	return false;
}

/* Why its indexes make it fail. */
static enum neap_job_why index_reason(const struct job_work *work)
{
	const struct neap_job_spec *spec = work->spec;
	int64_t lost = neap_job_indexes_total(&work->plan->lost);

	if (!job_has_index_limit(spec) || !lost)
		return NEAP_JOB_NO_REASON;
	if (spec->max_failed_indexes >= 0 && lost > spec->max_failed_indexes)
		return NEAP_JOB_MANY_INDEXES;
	return lost + work->succeeded >= spec->completions ? NEAP_JOB_LOST_INDEXES
							   : NEAP_JOB_NO_REASON;
}

static bool is_failing(struct job_work *work)
{
	struct neap_job_plan *plan = work->plan;

	if (work->state->end == NEAP_JOB_FAILING)
		plan->why = NEAP_JOB_NO_REASON; /* it has one */
	else if (plan->why != NEAP_JOB_NO_REASON)
		;
	else if (work->failed > work->spec->backoff_limit || has_restarted_enough(work))
		plan->why = NEAP_JOB_BACKOFF;
	else if (is_too_late(work))
		plan->why = NEAP_JOB_DEADLINE;
	else
		plan->why = index_reason(work);
	return plan->why != NEAP_JOB_NO_REASON || work->state->end == NEAP_JOB_FAILING;
}

/* Ends its pods, which count as failed; afterwards the Job moves from one end state to
 * the other. */
static void wind_up(struct job_work *work, enum neap_job_end from, enum neap_job_end to)
{
	struct neap_job_plan *plan = work->plan;

	for (size_t i = 0; i < work->count; i++)
		if (job_pod_is_active(&work->pods[i]))
			work->pods[i].todo |= NEAP_JOB_DELETE;
	plan->wait_usec = -1;
	plan->end = work->state->end == from && !plan->active && !plan->terminating &&
				    !work->open
			    ? to
			    : from;
}

/* --- making and deleting --- */

/* Which goes first when there are too many: what has done the least. */
static int compare_use(const void *a_, const void *b_)
{
	const struct neap_job_pod *a = *(struct neap_job_pod *const *)a_;
	const struct neap_job_pod *b = *(struct neap_job_pod *const *)b_;

	if (a->is_scheduled != b->is_scheduled)
		return a->is_scheduled ? 1 : -1;
	if (a->is_running != b->is_running)
		return a->is_running ? 1 : -1;
	if (a->is_ready != b->is_ready)
		return a->is_ready ? 1 : -1;
	if (a->restarts != b->restarts)
		return a->restarts > b->restarts ? -1 : 1;
	if (a->created_usec != b->created_usec)
		return a->created_usec > b->created_usec ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Among pods of one index, the one furthest along comes first. */
static int compare_index(const void *a_, const void *b_)
{
	const struct neap_job_pod *a = *(struct neap_job_pod *const *)a_;
	const struct neap_job_pod *b = *(struct neap_job_pod *const *)b_;

	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return compare_use(b_, a_);
}

/* Pods that take part: active ones, and those waited for. NULL without memory. */
static struct neap_job_pod **sorted(const struct job_work *work, size_t *ret_count,
				    int (*compare)(const void *, const void *))
{
	struct neap_job_pod **pods = neap_alloc_array(work->count ? work->count : 1,
						      sizeof(struct neap_job_pod *));

	*ret_count = 0;
	for (size_t i = 0; pods && i < work->count; i++)
		if (job_pod_is_active(&work->pods[i]) ||
		    (work->spec->only_replace_failed && is_terminating(&work->pods[i])))
			pods[(*ret_count)++] = &work->pods[i];
	if (pods && *ret_count > 1)
		qsort(pods, *ret_count, sizeof(struct neap_job_pod *), compare);
	return pods;
}

static bool drop(struct neap_job_pod *pod, size_t *dropped)
{
	if (*dropped >= NEAP_JOB_STEP_MAX || !job_pod_is_active(pod) ||
	    (pod->todo & NEAP_JOB_DELETE) != 0)
		return false;
	pod->todo |= NEAP_JOB_DELETE | (pod->is_tracked ? NEAP_JOB_RELEASE : 0U);
	(*dropped)++;
	return true;
}

/* Drops pods without an index, with an invalid or completed one, or the second with the
 * same. */
static bool drop_wrong(struct job_work *work, size_t *dropped)
{
	size_t count;
	struct neap_job_pod **pods = sorted(work, &count, compare_index);
	int64_t last = -1;

	if (!pods)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!job_pod_has_index(work->spec, pods[i]) || pods[i]->index == last ||
		    neap_job_indexes_has(&work->plan->lost, pods[i]->index) ||
		    neap_job_indexes_has(&work->plan->completed, pods[i]->index))
			(void)drop(pods[i], dropped);
		last = pods[i]->index;
	}
	free(pods);
	return true;
}

static bool drop_most(struct job_work *work, int64_t too_many, size_t *dropped)
{
	size_t count;
	struct neap_job_pod **pods;

	if (too_many <= (int64_t)*dropped)
		return true;
	pods = sorted(work, &count, compare_use);
	if (!pods)
		return false;
	for (size_t i = 0; i < count && (int64_t)*dropped < too_many; i++)
		if (!drop(pods[i], dropped) && *dropped >= NEAP_JOB_STEP_MAX)
			break;
	free(pods);
	return true;
}

/* Whether there may be a pod of an index now, and how often it has failed before. */
static bool may_begin(struct job_work *work, int64_t index, int64_t *ret_failures)
{
	const struct job_failure *failure = job_failure_find(work, index);
	int64_t left = 0;

	*ret_failures = failure ? failure->failures : 0;
	if (neap_job_indexes_has(&work->plan->lost, index))
		return false;
	/* An ignored failure is none, and the index continues at once. */
	if (failure && failure->failures > 0)
		left = job_failure_backoff(work, failure);
	if (left > 0)
		wait_for(work->plan, left);
	return left <= 0;
}

/* The first indexes that are neither done nor at work. */
static bool pick_indexes(struct job_work *work, size_t want)
{
	const struct neap_job_indexes *completed = &work->plan->completed;
	size_t count, at = 0, range = 0;
	struct neap_job_pod **pods = sorted(work, &count, compare_index);
	int64_t *picked = neap_alloc_array(want, sizeof(*picked));
	int64_t *failures = neap_alloc_array(want, sizeof(*failures));
	size_t have = 0;
	bool is_fine = pods && picked && failures;

	for (int64_t i = 0; is_fine && have < want && i < work->spec->completions; i++) {
		while (range < completed->count && completed->ranges[range].last < i)
			range++;
		while (at < count && pods[at]->index < i)
			at++;
		if (range < completed->count && completed->ranges[range].first <= i)
			i = completed->ranges[range].last;
		else if ((at == count || pods[at]->index > i) &&
			 may_begin(work, i, &failures[have]))
			picked[have++] = i;
	}
	work->plan->indexes = picked;
	work->plan->failures = failures;
	work->plan->create = is_fine ? have : 0;
	free(pods);
	return is_fine;
}

static int64_t wanted(const struct job_work *work)
{
	const struct neap_job_spec *spec = work->spec;
	int64_t left;

	if (spec->completions < 0)
		return work->succeeded > 0 && work->plan->active < spec->parallelism
			       ? work->plan->active
			       : spec->parallelism;
	left = spec->completions - work->succeeded -
	       neap_job_indexes_total(&work->plan->lost);
	left = left > 0 ? left : 0;
	return left < spec->parallelism ? left : spec->parallelism;
}

/* Those that were deleted to have less of them, and so released before, are none. */
static bool delays(const struct neap_job_pod *pod)
{
	return pod->phase == NEAP_JOB_POD_FAILED
		       ? pod->is_tracked || !pod->is_deleting
		       : pod->phase == NEAP_JOB_POD_ACTIVE && pod->is_tracked &&
				 pod->is_deleting;
}

/* Returns the microseconds until a pod may be created again; 0: now. */
static int64_t job_backoff(const struct neap_job_pod *pods, size_t count,
			   int64_t now_usec)
{
	int64_t success = INT64_MIN, failure = INT64_MIN, pause = NEAP_JOB_BACKOFF_USEC;
	size_t failures = 0;

	for (size_t i = 0; i < count; i++)
		if (pods[i].phase == NEAP_JOB_POD_SUCCEEDED &&
		    pods[i].finished_usec > success)
			success = pods[i].finished_usec;
	for (size_t i = 0; i < count; i++) {
		if (!delays(&pods[i]) || pods[i].finished_usec < success)
			continue;
		failures++;
		if (pods[i].finished_usec > failure)
			failure = pods[i].finished_usec;
	}
	if (!failures)
		return 0;
	for (; failures > 1 && pause < NEAP_JOB_BACKOFF_MAX_USEC; failures--)
		pause *= 2;
	pause = pause < NEAP_JOB_BACKOFF_MAX_USEC ? pause : NEAP_JOB_BACKOFF_MAX_USEC;
	/* A clock that was set back must not make it wait for longer. */
	if (now_usec < failure)
		return pause;
	return failure + pause > now_usec ? failure + pause - now_usec : 0;
}

/* Either makes or deletes. False without memory. */
static bool manage(struct job_work *work)
{
	const struct neap_job_spec *spec = work->spec;
	struct neap_job_plan *plan = work->plan;
	int64_t want = spec->is_suspended ? 0 : wanted(work);
	int64_t there = plan->active;
	size_t dropped = 0;
	int64_t backoff;

	if (spec->is_indexed && !spec->is_suspended && !drop_wrong(work, &dropped))
		return false;
	if (!drop_most(work, there - want, &dropped))
		return false;
	if (spec->only_replace_failed)
		there += plan->terminating;
	if (dropped || want <= there)
		return true;
	backoff = job_has_index_limit(spec)
			  ? 0
			  : job_backoff(work->pods, work->count, work->now);
	if (backoff > 0) {
		wait_for(plan, backoff);
		return true;
	}
	want = want - there < NEAP_JOB_STEP_MAX ? want - there : NEAP_JOB_STEP_MAX;
	if (spec->is_indexed)
		return pick_indexes(work, (size_t)want);
	plan->create = (size_t)want;
	return true;
}

/* --- the whole --- */

static bool is_complete(const struct job_work *work)
{
	const struct neap_job_spec *spec = work->spec;
	const struct neap_job_plan *plan = work->plan;

	if (plan->active || plan->terminating || work->open || plan->create)
		return false;
	return spec->completions < 0 ? work->succeeded > 0
				     : work->succeeded >= spec->completions;
}

static void end(struct job_work *work)
{
	const struct neap_job_spec *spec = work->spec;
	struct neap_job_plan *plan = work->plan;
	int64_t left;

	release_all(work);
	if (spec->ttl_s < 0)
		return;
	left = work->state->end_usec + spec->ttl_s * 1000000 - work->now;
	if (left <= 0)
		plan->is_expired = true;
	else
		wait_for(plan, left);
}

static bool copy(const struct neap_job_indexes *from, struct neap_job_indexes *to)
{
	if (!from->count)
		return true;
	to->ranges = neap_alloc_array(from->count, sizeof(*to->ranges));
	if (!to->ranges)
		return false;
	to->count = to->size = from->count;
	for (size_t i = 0; i < from->count; i++)
		to->ranges[i] = from->ranges[i];
	return true;
}

static void begin(struct job_work *work)
{
	const struct neap_job_state *state = work->state;
	struct neap_job_plan *plan = work->plan;

	plan->is_suspended = work->spec->is_suspended;
	plan->is_resumed = state->is_suspended && !plan->is_suspended;
	if (!plan->is_suspended && (!state->start_usec || plan->is_resumed))
		plan->start_usec = work->now;
}

int neap_job_plan_make(const struct neap_job_spec *spec,
		       const struct neap_job_state *state, struct neap_job_pod *pods,
		       size_t count_, int64_t now_usec, struct neap_job_plan *ret,
		       struct neap_error *err)
{
	struct job_work work = {.spec = spec,
				.state = state,
				.pods = pods,
				.count = count_,
				.now = now_usec,
				.plan = ret};

	*ret = (struct neap_job_plan){.start_usec = state->start_usec,
				      .end = state->end,
				      .is_suspended = state->is_suspended,
				      .wait_usec = -1};
	for (size_t i = 0; i < count_; i++) {
		pods[i].todo = 0;
		pods[i].plan_list = pods[i].is_tracked ? pods[i].list : NEAP_JOB_NO_LIST;
	}
	if (state->is_deleting) {
		release_all(&work);
		return 0;
	}
	if (state->end == NEAP_JOB_FAILED || state->end == NEAP_JOB_COMPLETE) {
		end(&work);
		return 0;
	}
	begin(&work);
	if (!copy(&state->completed, &ret->completed) ||
	    !copy(&state->lost, &ret->lost) || !job_failures_read(&work))
		work.is_short = true;
	if (!work.is_short)
		count(&work);
	ret->why_rule = job_rule_met(&work);
	if (!work.is_short &&
	    (state->end == NEAP_JOB_SUCCEEDING ||
	     (state->end == NEAP_JOB_RUNS && ret->why == NEAP_JOB_NO_REASON &&
	      index_reason(&work) == NEAP_JOB_NO_REASON &&
	      ret->why_rule < spec->rule_count)))
		wind_up(&work, NEAP_JOB_SUCCEEDING, NEAP_JOB_COMPLETE);
	else if (!work.is_short && is_failing(&work))
		wind_up(&work, NEAP_JOB_FAILING, NEAP_JOB_FAILED);
	else if (!work.is_short)
		work.is_short = !manage(&work);
	free(work.failures);
	if (work.is_short) {
		neap_job_plan_done(ret);
		return neap_error_nomem(err);
	}
	if (ret->end == NEAP_JOB_RUNS && is_complete(&work))
		ret->end = NEAP_JOB_COMPLETE;
	return 0;
}

void neap_job_plan_done(struct neap_job_plan *plan)
{
	free(plan->indexes);
	free(plan->failures);
	plan->indexes = plan->failures = NULL;
	plan->create = 0;
	neap_job_indexes_done(&plan->completed);
	neap_job_indexes_done(&plan->lost);
}
