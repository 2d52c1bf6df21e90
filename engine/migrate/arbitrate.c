/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/migrate/arbitrate.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/migrate/migrate_counts.h"

static bool is_over(const struct neap_migrate_job *job, int64_t now_usec)
{
	return job->ttl_usec > 0 && now_usec - job->created_usec >= job->ttl_usec;
}

bool neap_migrate_is_waiting(const struct neap_migrate_job *job, int64_t now_usec)
{
	return job->phase == NEAP_JOB_PENDING && !job->is_arbitrated && !job->is_paused &&
	       !job->is_deleting && !is_over(job, now_usec);
}

bool neap_migrate_is_overdue(const struct neap_migrate_job *job, int64_t now_usec)
{
	return neap_migrate_is_active(job) && !job->is_paused && is_over(job, now_usec);
}

void neap_migrate_wait_take(const struct neap_migrate_cluster *cluster,
			    struct neap_migrate_job *job, json_t *pod,
			    struct neap_migrate_waiting *ret)
{
	const json_t *owner = pod ? neap_migrate_controller(pod) : NULL;

	*ret = (struct neap_migrate_waiting){.job = job, .pod = pod, .batch = ""};
	if (!pod)
		return;
	neap_pod_order_read(pod, &ret->order);
	if (neap_json_is_text(owner, "kind", "Job"))
		ret->batch = neap_json_text(owner, "uid");
	if (*ret->batch)
		ret->siblings =
			neap_migrate_count_owned(cluster, NEAP_JOBS_BEGUN, ret->batch);
}

void neap_migrate_wait_done(struct neap_migrate_waiting *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		json_decref(list[i].pod);
}

/* --- order --- */

/* The last rule decides, earlier ones where it does not: newer jobs first, then by
 * name, so that equal ones have an order. */
static int compare(const void *left, const void *right)
{
	const struct neap_migrate_waiting *a = left, *b = right;
	int ret = (a->pod != NULL) - (b->pod != NULL);

	if (ret == 0 && a->pod)
		ret = neap_pod_order_compare(&a->order, &b->order);
	if (ret == 0)
		ret = (a->job->created_usec < b->job->created_usec) -
		      (a->job->created_usec > b->job->created_usec);
	return ret ? ret : strcmp(a->job->name, b->job->name);
}

/* Draws those of one Job together, where the first of them is. to has room for all. */
static void group(const struct neap_migrate_waiting *from, size_t count, bool *is_taken,
		  struct neap_migrate_waiting *to)
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		if (is_taken[i])
			continue;
		to[len++] = from[i];
		for (size_t j = i + 1; *from[i].batch && j < count; j++)
			if (!is_taken[j] && strcmp(from[j].batch, from[i].batch) == 0) {
				to[len++] = from[j];
				is_taken[j] = true;
			}
	}
}

/* Stable; from and to change their roles. */
static void by_siblings(struct neap_migrate_waiting *list, size_t count,
			struct neap_migrate_waiting *spare)
{
	for (size_t width = 1; width < count; width *= 2) {
		for (size_t at = 0; at < count; at += 2 * width) {
			size_t middle = at + width < count ? at + width : count;
			size_t end = at + 2 * width < count ? at + 2 * width : count;
			size_t a = at, b = middle;

			for (size_t i = at; i < end; i++)
				spare[i] = a < middle && (b == end ||
							  list[a].siblings >=
								  list[b].siblings)
						   ? list[a++]
						   : list[b++];
		}
		memcpy(list, spare, count * sizeof(*list));
	}
}

int neap_migrate_sort(struct neap_migrate_waiting *list, size_t count,
		      struct neap_error *err)
{
	struct neap_migrate_waiting *spare = neap_alloc_array(count + 1, sizeof(*spare));
	bool *is_taken = neap_alloc_array(count + 1, sizeof(*is_taken));

	if (spare && is_taken) {
		qsort(list, count, sizeof(*list), compare);
		group(list, count, is_taken, spare);
		memcpy(list, spare, count * sizeof(*list));
		by_siblings(list, count, spare);
	}
	free(is_taken);
	if (!spare || !is_taken) {
		free(spare);
		return neap_error_nomem(err);
	}
	free(spare);
	return 0;
}

/* --- judgement --- */

static void judge(struct neap_migrate_question *ask, struct neap_migrate_waiting *one)
{
	one->check = NEAP_CHECK_NONE;
	one->verdict = NEAP_VERDICT_PASSES;
	if (!one->pod)
		return; /* it fails by itself, when it is looked at */
	ask->pod = one->pod;
	one->check = neap_migrate_forbids(ask);
	if (one->check != NEAP_CHECK_NONE) {
		one->verdict = NEAP_VERDICT_FAILS;
		return;
	}
	one->check = neap_migrate_holds(ask);
	if (one->check != NEAP_CHECK_NONE)
		one->verdict = NEAP_VERDICT_WAITS;
}

void neap_migrate_judge(struct neap_migrate_question *ask,
			struct neap_migrate_waiting *list, size_t count)
{
	ask->arbitrates = true;
	for (size_t i = 0; i < count; i++) {
		judge(ask, &list[i]);
		if (list[i].verdict == NEAP_VERDICT_PASSES)
			neap_migrate_begin_job(ask->cluster, list[i].job);
	}
}
