/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs with per-index limits. The number of earlier failures of an index is an annotation
 * on its pods, so the last failed pod is kept (by its finalizer) until the next pod of
 * the index exists, or the index is done or has failed for good.
 *
 * The controller deletes pods when a Job is suspended or its parallelism shrinks. Such a
 * pod takes its annotation along, and the index starts over, as in Kubernetes. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/pod/job_plan_priv.h"

bool job_has_index_limit(const struct neap_job_spec *spec)
{
	return spec->is_indexed && spec->index_limit >= 0;
}

static bool is_ignored(const struct neap_job_pod *pod)
{
	return pod->phase == NEAP_JOB_POD_FAILED && pod->action == NEAP_JOB_IGNORE;
}

static int compare(const void *a_, const void *b_)
{
	const struct job_failure *a = a_, *b = b_;

	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	if (a->failures != b->failures)
		return a->failures > b->failures ? -1 : 1;
	if (a->finished_usec != b->finished_usec)
		return a->finished_usec > b->finished_usec ? -1 : 1;
	return a->pod < b->pod ? -1 : a->pod > b->pod;
}

static struct job_failure *find(const struct job_work *work, int64_t index)
{
	size_t low = 0, high = work->failure_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (work->failures[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low < work->failure_count && work->failures[low].index == index
		       ? &work->failures[low]
		       : NULL;
}

const struct job_failure *job_failure_find(const struct job_work *work, int64_t index)
{
	return find(work, index);
}

bool job_failures_read(struct job_work *work)
{
	size_t count = 0, kept = 0;

	if (!job_has_index_limit(work->spec))
		return true;
	work->failures =
		neap_alloc_array(work->count ? work->count : 1, sizeof(*work->failures));
	if (!work->failures)
		return false;
	for (size_t i = 0; i < work->count; i++) {
		const struct neap_job_pod *pod = &work->pods[i];

		if (job_pod_has_index(work->spec, pod) &&
		    job_pod_has_failed(work->spec, pod))
			work->failures[count++] = (struct job_failure){
				.index = pod->index,
				.failures = pod->failures + !is_ignored(pod),
				.finished_usec = pod->finished_usec,
				.pod = pod};
	}
	if (count > 1)
		qsort(work->failures, count, sizeof(*work->failures), compare);
	for (size_t i = 0; i < count; i++)
		if (!kept || work->failures[kept - 1].index != work->failures[i].index)
			work->failures[kept++] = work->failures[i];
	work->failure_count = kept;
	for (size_t i = 0; i < work->count; i++) {
		struct job_failure *failure = NULL;

		if (!job_pod_has_failed(work->spec, &work->pods[i]))
			failure = find(work, work->pods[i].index);
		if (failure)
			failure->is_replaced = true;
	}
	return true;
}

static bool is_settled(const struct job_work *work, int64_t index)
{
	return neap_job_indexes_has(&work->plan->completed, index) ||
	       neap_job_indexes_has(&work->plan->lost, index);
}

bool job_failure_is_needed(const struct job_work *work, const struct neap_job_pod *pod)
{
	const struct job_failure *failure;

	if (!job_has_index_limit(work->spec) || work->state->end != NEAP_JOB_RUNS)
		return false;
	failure = find(work, pod->index);
	return failure && failure->pod == pod && !failure->is_replaced &&
	       !is_settled(work, pod->index);
}

bool job_failures_lose(struct job_work *work)
{
	for (size_t i = 0; i < work->failure_count; i++) {
		const struct job_failure *failure = &work->failures[i];
		const struct neap_job_pod *pod = failure->pod;
		bool is_last = failure->failures > work->spec->index_limit ||
			       (pod->phase == NEAP_JOB_POD_FAILED &&
				pod->action == NEAP_JOB_FAIL_INDEX);

		if (is_last && !is_settled(work, failure->index) &&
		    !neap_job_indexes_add(&work->plan->lost, failure->index))
			return false;
	}
	return true;
}

int64_t job_failure_backoff(const struct job_work *work,
			    const struct job_failure *failure)
{
	int64_t pause = NEAP_JOB_BACKOFF_USEC, until;

	for (int64_t i = 1; i < failure->failures && pause < NEAP_JOB_BACKOFF_MAX_USEC;
	     i++)
		pause *= 2;
	if (pause > NEAP_JOB_BACKOFF_MAX_USEC)
		pause = NEAP_JOB_BACKOFF_MAX_USEC;
	/* A clock that was set back must not make it wait for longer. */
	if (work->now < failure->finished_usec)
		return pause;
	until = failure->finished_usec + pause;
	return until > work->now ? until - work->now : 0;
}

/* How many of some indexes are among others. */
static int64_t count_of(const struct neap_job_indexes *some,
			const struct neap_job_indexes *others)
{
	int64_t count = 0;
	size_t i = 0, k = 0;

	while (i < some->count && k < others->count) {
		const struct neap_job_range *a = &some->ranges[i],
					    *b = &others->ranges[k];
		int64_t first = a->first > b->first ? a->first : b->first;
		int64_t last = a->last < b->last ? a->last : b->last;

		if (first <= last)
			count += last - first + 1;
		if (a->last < b->last)
			i++;
		else
			k++;
	}
	return count;
}

size_t job_rule_met(const struct job_work *work)
{
	const struct neap_job_spec *spec = work->spec;
	const struct neap_job_indexes *completed = &work->plan->completed;
	size_t i;

	if (!completed->count)
		return spec->rule_count;
	for (i = 0; i < spec->rule_count; i++) {
		const struct neap_job_rule *rule = &spec->rules[i];
		int64_t want = rule->count, have;

		if (rule->has_indexes) {
			have = count_of(&rule->indexes, completed);
			if (want < 0)
				want = neap_job_indexes_total(&rule->indexes);
		} else {
			have = neap_job_indexes_total(completed);
		}
		if (want >= 0 && have >= want)
			break;
	}
	return i;
}
