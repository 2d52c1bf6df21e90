/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods that wait for a decision. Those that may be decided now stand by priority, then age. One that found no place is
 * parked until something moves that may help it, and not tried again at once: a second after its first attempt,
 * twice as long after each further one, ten seconds at most. After five minutes it is tried in any case. Names only:
 * what a pod is like its owner knows. Every operation is O(log n), but waking, which goes through the parked ones. */
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
/* In place of NEAP_QUEUE_PAUSE_USEC and NEAP_QUEUE_PAUSE_MAX_USEC, for pauses from now on. */
void neap_queue_set_pauses(struct neap_queue *queue, int64_t first_usec,
			   int64_t max_usec);

/* A pod ("NAMESPACE/NAME") may be decided now. One that is there: its priority and age are set, and it stays where it
 * was. */
int neap_queue_add(struct neap_queue *queue, const char *key, int32_t priority,
		   int64_t since_usec, struct neap_error *err);
/* Whatever is done with it. Nothing when it is not there. */
void neap_queue_remove(struct neap_queue *queue, const char *key);

/* The next one to be decided, borrowed until it is removed; NULL: none now. It is taken until one of the following, or
 * neap_queue_remove, says how it went. */
const char *neap_queue_take(struct neap_queue *queue, int64_t now_usec);
/* There is no place; wakes: what may help (bits, as neap_queue_wake is told them). */
void neap_queue_park(struct neap_queue *queue, const char *key, unsigned wakes,
		     int64_t now_usec);
/* Something went wrong: again after a pause. */
void neap_queue_retry(struct neap_queue *queue, const char *key, int64_t now_usec);
/* Something moved. Who is woken is tried when its pause is over. */
void neap_queue_wake(struct neap_queue *queue, unsigned moved, int64_t now_usec);
/* The pod itself says something else; nothing when it is not parked. */
void neap_queue_wake_one(struct neap_queue *queue, const char *key, int64_t now_usec);

/* When neap_queue_take may have one: at most now_usec, now; INT64_MAX: nobody knows. */
int64_t neap_queue_due(const struct neap_queue *queue, int64_t now_usec);
bool neap_queue_has(const struct neap_queue *queue, const char *key);
struct neap_queue_counts neap_queue_count(const struct neap_queue *queue);

#endif
