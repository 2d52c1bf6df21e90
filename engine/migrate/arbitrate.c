/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/migrate/arbitrate.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
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

bool neap_migrate_is_known(const struct neap_migrate_cluster *cluster,
			   const struct neap_migrate_job *job)
{
	const struct neap_migrate_pod *pod = neap_migrate_pod_of(cluster, job);

	return !pod || pod->known;
}

int neap_migrate_know(struct neap_migrate_cluster *cluster,
		      const struct neap_migrate_args *args, const json_t *pod,
		      struct neap_error *err)
{
	const struct neap_migrate_question ask = {
		.args = args, .cluster = cluster, .pod = pod};
	const json_t *meta = json_object_get(pod, "metadata");
	struct neap_migrate_pod *facts = neap_migrate_find_pod(
		cluster, neap_json_text(meta, "namespace"), neap_json_text(meta, "name"));

	if (!facts || facts->known)
		return 0;
	facts->known = neap_alloc(sizeof(*facts->known));
	if (!facts->known)
		return neap_error_nomem(err);
	neap_pod_order_read(pod, &facts->known->order);
	facts->known->check = neap_migrate_check_pod(&ask);
	return 0;
}

void neap_migrate_wait_init(const struct neap_migrate_cluster *cluster,
			    struct neap_migrate_job *job,
			    struct neap_migrate_waiting *ret)
{
	const struct neap_migrate_pod *pod = neap_migrate_pod_of(cluster, job);

	*ret = (struct neap_migrate_waiting){.job = job, .batch = ""};
	if (!pod || !pod->known)
		return;
	ret->pod = pod;
	ret->order = pod->known->order;
	if (strcmp(pod->owner_kind, "Job") != 0)
		return;
	ret->batch = pod->owner_uid;
	ret->siblings =
		neap_migrate_count_owned(cluster, NEAP_JOBS_BEGUN, pod->owner_uid);
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
static bool group(struct neap_migrate_waiting *from, size_t count,
		  struct neap_migrate_waiting *to)
{
	struct neap_map *last = neap_map_new(); /* of a Job so far */
	bool is_good = last != NULL;
	size_t len = 0;

	for (size_t i = 0; is_good && i < count; i++) {
		struct neap_migrate_waiting *before =
			*from[i].batch ? neap_map_find(last, from[i].batch) : NULL;

		from[i].next = NULL;
		from[i].is_behind = before != NULL;
		if (before)
			before->next = &from[i];
		is_good = !*from[i].batch || neap_map_set(last, from[i].batch, &from[i]);
	}
	for (size_t i = 0; is_good && i < count; i++)
		for (const struct neap_migrate_waiting *one =
			     from[i].is_behind ? NULL : &from[i];
		     one; one = one->next)
			to[len++] = *one;
	neap_map_free(last);
	return is_good;
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
	bool is_good = spare != NULL;

	if (is_good) {
		qsort(list, count, sizeof(*list), compare);
		is_good = group(list, count, spare);
	}
	if (is_good) {
		memcpy(list, spare, count * sizeof(*list));
		by_siblings(list, count, spare);
	}
	free(spare);
	return is_good ? 0 : neap_error_nomem(err);
}

/* --- judgement --- */

static void judge(struct neap_migrate_question *ask, struct neap_migrate_waiting *one)
{
	one->check = NEAP_CHECK_NONE;
	one->verdict = NEAP_VERDICT_PASSES;
	if (!one->pod)
		return; /* it fails by itself, when it is looked at */
	ask->facts = one->pod;
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
