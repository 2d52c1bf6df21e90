/* SPDX-License-Identifier: Apache-2.0
 *
 * A round of arbitration: its verdicts are stored in the memory of the jobs, whose next
 * looks write them. A round goes over as many turns of the loop as it needs. Jobs change
 * meanwhile, so their names are kept, not pointers to them. */
#include <stdlib.h>
#include <string.h>

#include "api/migrate/migrate_priv.h"
#include "api/workload/loop/scaled.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

/* Steps that a job costs: to sort it, to judge it by look-ups, and to search the nodes
 * for nodeFit. */
#define SORT_STEPS     12
#define JUDGE_STEPS    50
#define NODE_FIT_STEPS 2000
#define SCALE_STEPS    4000    /* the object may be large: look at the clock */
#define SCALE_USEC     2000000 /* until a late answer is looked for again */

static bool waits(struct neap_migrate *migrate, const struct neap_migrate_job *job)
{
	const struct migrate_memory *memory = neap_map_find(migrate->memory, job->name);

	return neap_migrate_is_waiting(job, migrate->config.now()) &&
	       !(memory && memory->is_forbidden);
}

/* --- what has to be known of pods --- */

static int64_t read_pod(struct neap_migrate *migrate, const struct neap_migrate_job *job)
{
	struct neap_object *pod = neap_client_find(migrate->config.client, "pods",
						   job->pod_ns, job->pod_name);
	json_t *tree;
	int rc;

	if (!pod)
		return 0;
	neap_feed_spend(migrate->feed, neap_steps_of_text(pod));
	tree = neap_object_tree(pod);
	rc = tree ? neap_migrate_know(&migrate->cluster, &migrate->args, tree, NULL) : -1;
	json_decref(tree);
	return rc < 0 ? -1 : 0;
}

/* 0: the pods of all jobs that wait are known, but for jobs that came or changed
 * meanwhile. */
static int64_t learn(struct neap_migrate *migrate)
{
	const struct neap_map *jobs = migrate->cluster.jobs;
	size_t *at = &migrate->queue.learned;

	while (*at < neap_map_count(jobs)) {
		const struct neap_migrate_job *job = neap_map_at(jobs, (*at)++, NULL);

		neap_feed_spend(migrate->feed, 1);
		if (neap_migrate_is_known(&migrate->cluster, job) || !waits(migrate, job))
			continue;
		if (read_pod(migrate, job) < 0)
			return -1;
		if (!neap_feed_has_steps(migrate->feed))
			return NEAP_FEED_GOES_ON;
	}
	*at = 0;
	return 0;
}

/* --- the queue --- */

/* Jobs whose time is over are made due instead. */
static size_t gather(struct neap_migrate *migrate, struct neap_migrate_waiting *list)
{
	const struct neap_map *jobs = migrate->cluster.jobs;
	int64_t now = migrate->config.now();
	size_t count = 0;

	for (size_t i = 0; i < neap_map_count(jobs); i++) {
		struct neap_migrate_job *job = neap_map_at(jobs, i, NULL);

		if (neap_migrate_is_overdue(job, now))
			neap_feed_due(migrate->feed, "", job->name, 0);
		else if (waits(migrate, job))
			neap_migrate_wait_init(&migrate->cluster, job, &list[count++]);
	}
	return count;
}

/* The jobs of the queue in its order, but for those that came to an end or changed
 * meanwhile, which are for the next round. */
static size_t recall(struct neap_migrate *migrate, struct neap_migrate_waiting *list)
{
	struct migrate_queue *queue = &migrate->queue;
	const char *name = queue->next;
	size_t count = 0;

	for (size_t i = 0; i < queue->left; i++, name += strlen(name) + 1) {
		struct neap_migrate_job *job =
			neap_migrate_find_job(&migrate->cluster, name);

		if (!job || !waits(migrate, job))
			continue;
		if (!neap_migrate_is_known(&migrate->cluster, job)) {
			queue->still_waits = true;
			continue;
		}
		neap_migrate_wait_init(&migrate->cluster, job, &list[count]);
		list[count++].is_placed = queue->is_placed[i];
	}
	return count;
}

/* Replaces what the queue holds. */
static bool keep(struct migrate_queue *queue, const struct neap_migrate_waiting *list,
		 size_t count, bool has_more)
{
	size_t size = 1, at = 0;

	free(queue->names);
	free(queue->is_placed);
	for (size_t i = 0; i < count; i++)
		size += strlen(list[i].job->name) + 1;
	queue->next = queue->names = neap_alloc(size);
	/* Without memory for it, the order stays as it is now. */
	queue->is_placed = has_more && queue->names
				   ? neap_alloc_array(count + 1, sizeof(bool))
				   : NULL;
	queue->left = count;
	for (size_t i = 0; queue->names && i < count; i++) {
		size_t len = strlen(list[i].job->name) + 1;

		memcpy(queue->names + at, list[i].job->name, len);
		at += len;
		if (queue->is_placed)
			queue->is_placed[i] = list[i].is_placed;
	}
	return queue->names != NULL;
}

/* Begins a round's order, or goes on with it. */
static int64_t line_up(struct neap_migrate *migrate)
{
	struct migrate_queue *queue = &migrate->queue;
	size_t count = queue->names ? queue->left : neap_map_count(migrate->cluster.jobs);
	struct neap_migrate_waiting *list = neap_alloc_array(count + 1, sizeof(*list));
	bool is_good = list != NULL, has_more = false;

	if (is_good && queue->names) {
		count = recall(migrate, list);
	} else if (is_good) {
		*queue = (struct migrate_queue){0};
		count = gather(migrate, list);
		is_good = neap_migrate_sort(list, count, NULL) == 0;
	}
	if (is_good)
		neap_feed_spend(migrate->feed, (int64_t)count * SORT_STEPS);
	if (is_good && migrate->config.order)
		has_more = migrate->config.order(migrate->config.arg, list, count);
	is_good = is_good && keep(queue, list, count, has_more);
	free(list);
	if (!is_good)
		return -1;
	return queue->is_placed ? NEAP_FEED_GOES_ON : 0;
}

/* --- judgement --- */

static void note(struct neap_migrate *migrate, const struct neap_migrate_waiting *one,
		 struct migrate_memory *memory)
{
	struct migrate_queue *queue = &migrate->queue;

	if (one->verdict == NEAP_VERDICT_WAITS) {
		queue->waiting[one->check]++;
		queue->still_waits = true;
		return;
	}
	memory->may_begin = one->verdict == NEAP_VERDICT_PASSES;
	memory->is_forbidden = one->verdict == NEAP_VERDICT_FAILS;
	neap_feed_due(migrate->feed, "", one->job->name, 0);
}

/* Nothing holds a pod that is forced. */
static bool knows_scale(struct neap_migrate *migrate, const struct neap_migrate_job *job)
{
	const struct neap_migrate_pod *pod =
		neap_migrate_find_pod(&migrate->cluster, job->pod_ns, job->pod_name);

	if (!pod || !pod->is_scaled || pod->is_forced)
		return true;
	neap_feed_spend(migrate->feed, SCALE_STEPS);
	return neap_scaled_learn(migrate->config.client, &migrate->cluster, job->pod_ns,
				 job->pod_name);
}

static void judge_next(struct neap_migrate *migrate)
{
	struct neap_migrate_question ask = {.args = &migrate->args,
					    .cluster = &migrate->cluster,
					    .fits_elsewhere =
						    migrate->config.fits_elsewhere,
					    .arg = migrate->config.arg};
	struct migrate_queue *queue = &migrate->queue;
	struct neap_migrate_job *job =
		neap_migrate_find_job(&migrate->cluster, queue->next);
	struct migrate_memory *memory;
	struct neap_migrate_waiting one;

	queue->next += strlen(queue->next) + 1;
	queue->left--;
	neap_feed_spend(migrate->feed,
			JUDGE_STEPS + (migrate->args.node_fit ? NODE_FIT_STEPS : 0));
	if (!job || !waits(migrate, job))
		return;
	if (!neap_migrate_is_known(&migrate->cluster, job)) {
		queue->still_waits = true; /* it changed: the next round knows it */
		return;
	}
	if (!knows_scale(migrate, job)) {
		queue->still_waits = queue->waits_for_scale = true;
		return;
	}
	/* One that passes counts at once, so its verdict must have a place. */
	memory = migrate_memory_get(migrate, job->name);
	if (!memory) {
		queue->still_waits = true;
		return;
	}
	neap_migrate_wait_init(&migrate->cluster, job, &one);
	neap_migrate_judge(&ask, &one, 1);
	note(migrate, &one, memory);
}

int64_t migrate_round(struct neap_migrate *migrate)
{
	struct migrate_queue *queue = &migrate->queue;
	int64_t rc = queue->names ? 0 : learn(migrate);

	if (rc == 0 && (!queue->names || queue->is_placed))
		rc = line_up(migrate);
	if (rc != 0)
		return rc;
	while (queue->left > 0) {
		judge_next(migrate);
		if (queue->left > 0 && !neap_feed_has_steps(migrate->feed))
			return NEAP_FEED_GOES_ON;
	}
	memcpy(migrate->metrics.waiting, queue->waiting, sizeof(queue->waiting));
	free(queue->names);
	queue->names = NULL;
	if (queue->waits_for_scale && migrate->args.interval_usec > SCALE_USEC)
		return SCALE_USEC;
	return queue->still_waits ? migrate->args.interval_usec : 0;
}
