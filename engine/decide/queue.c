/* SPDX-License-Identifier: Apache-2.0
 *
 * Two heaps whose items know their position, and a list of parked pods, longest parked
 * first. */
#include "engine/decide/queue.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"

enum state { READY, PAUSED, PARKED, TAKEN };

struct item {
	enum state state;
	int32_t priority;
	int64_t since_usec;
	uint64_t number; /* in the order of coming, of those of one age */
	unsigned attempts;
	unsigned wakes;
	int64_t due_usec;         /* the pause is over */
	int64_t parked_usec;      /* since when */
	size_t at;                /* in its heap */
	struct item *next, *prev; /* of the parked ones */
	char key[];
};

struct heap {
	struct item **items;
	size_t count, size;
	bool (*is_before)(const struct item *a, const struct item *b);
};

struct neap_queue {
	struct neap_map *items;
	struct heap ready, paused;
	struct item *first, *last; /* parked */
	size_t parked, taken;
	uint64_t number;
	int64_t pause_usec, pause_max_usec;
};

static bool is_more_urgent(const struct item *a, const struct item *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->since_usec != b->since_usec)
		return a->since_usec < b->since_usec;
	return a->number < b->number;
}

static bool is_sooner(const struct item *a, const struct item *b)
{
	return a->due_usec != b->due_usec ? a->due_usec < b->due_usec
					  : is_more_urgent(a, b);
}

/* --- heaps --- */

static void put(struct heap *heap, size_t at, struct item *item)
{
	heap->items[at] = item;
	item->at = at;
}

static void rise(struct heap *heap, struct item *item)
{
	size_t at = item->at;

	while (at && heap->is_before(item, heap->items[(at - 1) / 2])) {
		put(heap, at, heap->items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put(heap, at, item);
}

static void sink(struct heap *heap, struct item *item)
{
	size_t at = item->at;

	for (;;) {
		size_t child = at * 2 + 1;

		if (child + 1 < heap->count &&
		    heap->is_before(heap->items[child + 1], heap->items[child]))
			child++;
		if (child >= heap->count || !heap->is_before(heap->items[child], item))
			break;
		put(heap, at, heap->items[child]);
		at = child;
	}
	put(heap, at, item);
}

/* There is room: both heaps have it for all items. */
static void push(struct heap *heap, struct item *item)
{
	put(heap, heap->count++, item);
	rise(heap, item);
}

static void pull(struct heap *heap, struct item *item)
{
	struct item *last = heap->items[--heap->count];
	size_t at = item->at;

	if (last == item)
		return;
	put(heap, at, last);
	rise(heap, last);
	sink(heap, last);
}

static bool reserve(struct heap *heap, size_t count)
{
	return count == 0 ||
	       neap_grow(&heap->items, count - 1, &heap->size, sizeof(struct item *));
}

/* --- states --- */

static void leave(struct neap_queue *queue, struct item *item)
{
	switch (item->state) {
	case READY:
		pull(&queue->ready, item);
		break;
	case PAUSED:
		pull(&queue->paused, item);
		break;
	case TAKEN:
		queue->taken--;
		break;
	case PARKED:
		*(item->prev ? &item->prev->next : &queue->first) = item->next;
		*(item->next ? &item->next->prev : &queue->last) = item->prev;
		queue->parked--;
		break;
	}
}

static void enter(struct neap_queue *queue, struct item *item, enum state state)
{
	item->state = state;
	switch (state) {
	case READY:
		push(&queue->ready, item);
		break;
	case PAUSED:
		push(&queue->paused, item);
		break;
	case TAKEN:
		queue->taken++;
		break;
	case PARKED:
		item->next = NULL;
		item->prev = queue->last;
		*(item->prev ? &item->prev->next : &queue->first) = item;
		queue->last = item;
		queue->parked++;
		break;
	}
}

static void move(struct neap_queue *queue, struct item *item, enum state state)
{
	leave(queue, item);
	enter(queue, item, state);
}

/* --- the queue --- */

struct neap_queue *neap_queue_new(void)
{
	struct neap_queue *queue = neap_alloc(sizeof(*queue));

	if (!queue)
		return NULL;
	queue->pause_usec = NEAP_QUEUE_PAUSE_USEC;
	queue->pause_max_usec = NEAP_QUEUE_PAUSE_MAX_USEC;
	queue->ready.is_before = is_more_urgent;
	queue->paused.is_before = is_sooner;
	queue->items = neap_map_new();
	if (queue->items)
		return queue;
	free(queue);
	return NULL;
}

void neap_queue_free(struct neap_queue *queue)
{
	if (!queue)
		return;
	for (size_t i = neap_map_count(queue->items); i--;)
		free(neap_map_at(queue->items, i, NULL));
	neap_map_free(queue->items);
	free(queue->ready.items);
	free(queue->paused.items);
	free(queue);
}

void neap_queue_set_pauses(struct neap_queue *queue, int64_t first_usec, int64_t max_usec)
{
	queue->pause_usec = first_usec;
	queue->pause_max_usec = max_usec;
}

static int add_new(struct neap_queue *queue, const char *key, int32_t priority,
		   int64_t since_usec, struct neap_error *err)
{
	size_t len = strlen(key) + 1, count = neap_map_count(queue->items) + 1;
	struct item *item;

	if (!reserve(&queue->ready, count) || !reserve(&queue->paused, count))
		return neap_error_nomem(err);
	item = neap_alloc(sizeof(*item) + len);
	if (!item)
		return neap_error_nomem(err);
	memcpy(item->key, key, len);
	item->priority = priority;
	item->since_usec = since_usec;
	item->number = queue->number++;
	if (!neap_map_set(queue->items, key, item)) {
		free(item);
		return neap_error_nomem(err);
	}
	enter(queue, item, READY);
	return 0;
}

int neap_queue_add(struct neap_queue *queue, const char *key, int32_t priority,
		   int64_t since_usec, struct neap_error *err)
{
	struct item *item = neap_map_find(queue->items, key);
	enum state state;

	if (!item)
		return add_new(queue, key, priority, since_usec, err);
	state = item->state;
	/* Those that are parked stay in the order in which they were. */
	if (state == PARKED) {
		item->priority = priority;
		item->since_usec = since_usec;
		return 0;
	}
	leave(queue, item);
	item->priority = priority;
	item->since_usec = since_usec;
	enter(queue, item, state);
	return 0;
}

void neap_queue_remove(struct neap_queue *queue, const char *key)
{
	struct item *item = neap_map_remove(queue->items, key);

	if (!item)
		return;
	leave(queue, item);
	free(item);
}

static void ready_what_is_due(struct neap_queue *queue, int64_t now_usec)
{
	/* A due time far ahead is of before the clock was set back. */
	while (queue->paused.count &&
	       (queue->paused.items[0]->due_usec <= now_usec ||
		queue->paused.items[0]->due_usec > now_usec + queue->pause_max_usec))
		move(queue, queue->paused.items[0], READY);
	while (queue->first &&
	       queue->first->parked_usec + NEAP_QUEUE_PARK_MAX_USEC <= now_usec)
		move(queue, queue->first, READY);
}

const char *neap_queue_take(struct neap_queue *queue, int64_t now_usec)
{
	struct item *item;

	ready_what_is_due(queue, now_usec);
	if (!queue->ready.count)
		return NULL;
	item = queue->ready.items[0];
	move(queue, item, TAKEN);
	return item->key;
}

/* Pauses of at most an hour, doubled at most twelve times. */
#define DOUBLED_MAX 12

static void pause_it(const struct neap_queue *queue, struct item *item, int64_t now_usec)
{
	int64_t pause = queue->pause_usec
			<< (item->attempts < DOUBLED_MAX ? item->attempts : DOUBLED_MAX);

	item->attempts++;
	item->due_usec = now_usec +
			 (pause > queue->pause_max_usec ? queue->pause_max_usec : pause);
}

void neap_queue_park(struct neap_queue *queue, const char *key, unsigned wakes,
		     int64_t now_usec)
{
	struct item *item = neap_map_find(queue->items, key);

	if (!item)
		return;
	pause_it(queue, item, now_usec);
	item->wakes = wakes;
	item->parked_usec = now_usec;
	move(queue, item, PARKED);
}

void neap_queue_retry(struct neap_queue *queue, const char *key, int64_t now_usec)
{
	struct item *item = neap_map_find(queue->items, key);

	if (!item)
		return;
	pause_it(queue, item, now_usec);
	move(queue, item, PAUSED);
}

static void wake(struct neap_queue *queue, struct item *item, int64_t now_usec)
{
	move(queue, item, item->due_usec <= now_usec ? READY : PAUSED);
}

void neap_queue_wake(struct neap_queue *queue, unsigned moved, int64_t now_usec)
{
	struct item *item = queue->first;

	while (item) {
		struct item *next = item->next;

		if (item->wakes & moved)
			wake(queue, item, now_usec);
		item = next;
	}
}

void neap_queue_wake_one(struct neap_queue *queue, const char *key, int64_t now_usec)
{
	struct item *item = neap_map_find(queue->items, key);

	if (item && item->state == PARKED)
		wake(queue, item, now_usec);
}

int64_t neap_queue_due(const struct neap_queue *queue, int64_t now_usec)
{
	int64_t due = INT64_MAX;

	if (queue->ready.count)
		return now_usec;
	if (queue->paused.count)
		due = queue->paused.items[0]->due_usec;
	if (queue->first && queue->first->parked_usec + NEAP_QUEUE_PARK_MAX_USEC < due)
		due = queue->first->parked_usec + NEAP_QUEUE_PARK_MAX_USEC;
	return due;
}

bool neap_queue_has(const struct neap_queue *queue, const char *key)
{
	return neap_map_find(queue->items, key) != NULL;
}

struct neap_queue_counts neap_queue_count(const struct neap_queue *queue)
{
	return (struct neap_queue_counts){queue->ready.count, queue->paused.count,
					  queue->parked, queue->taken};
}
