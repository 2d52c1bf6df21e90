/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of unscheduled pods. Ready pods are ordered by priority, then age. A pod that
 * found no node is parked until an event that may help it, and retried no sooner than a
 * second after its first attempt, doubling with each attempt up to ten seconds. After
 * five minutes it is retried in any case. The queue holds names only. Every operation is
 * O(log n), except waking, which visits all parked pods. */
#ifndef NEAP_ENGINE_DECIDE_QUEUE_H
#define NEAP_ENGINE_DECIDE_QUEUE_H

#include "engine/base/error.h"

#define NEAP_QUEUE_PAUSE_USEC     INT64_C(1000000)
#define NEAP_QUEUE_PAUSE_MAX_USEC INT64_C(10000000)
#define NEAP_QUEUE_PARK_MAX_USEC  INT64_C(300000000)

struct neap_queue;

struct neap_queue_counts {
	size_t ready, paused, parked, taken;
};

struct neap_queue *neap_queue_new(void); /* NULL without memory */
void neap_queue_free(struct neap_queue *queue);
/* Replaces NEAP_QUEUE_PAUSE_USEC and NEAP_QUEUE_PAUSE_MAX_USEC for future pauses. */
void neap_queue_set_pauses(struct neap_queue *queue, int64_t first_usec,
			   int64_t max_usec);

/* Adds a pod ("NAMESPACE/NAME") as ready. For a pod that is queued already, only priority
 * and age are updated. */
int neap_queue_add(struct neap_queue *queue, const char *key, int32_t priority,
		   int64_t since_usec, struct neap_error *err);
/* Removes a pod in any state; does nothing when it is not queued. */
void neap_queue_remove(struct neap_queue *queue, const char *key);

/* Takes the next ready pod, borrowed until it is removed; NULL: none is ready. The pod
 * stays taken until one of the functions below or neap_queue_remove reports the
 * outcome. */
const char *neap_queue_take(struct neap_queue *queue, int64_t now_usec);
/* No node was found; wakes: events that may help (bits for neap_queue_wake). */
void neap_queue_park(struct neap_queue *queue, const char *key, unsigned wakes,
		     int64_t now_usec);
/* An error occurred: retry after a pause. */
void neap_queue_retry(struct neap_queue *queue, const char *key, int64_t now_usec);
/* Wakes parked pods that the events may help; they are retried when their pause is
 * over. */
void neap_queue_wake(struct neap_queue *queue, unsigned moved, int64_t now_usec);
/* Wakes one pod because its own object changed; does nothing when it is not parked. */
void neap_queue_wake_one(struct neap_queue *queue, const char *key, int64_t now_usec);

/* Returns when neap_queue_take may have a pod: at most now_usec means now, INT64_MAX
 * unknown. */
int64_t neap_queue_due(const struct neap_queue *queue, int64_t now_usec);
bool neap_queue_has(const struct neap_queue *queue, const char *key);
struct neap_queue_counts neap_queue_count(const struct neap_queue *queue);

#endif
