/* SPDX-License-Identifier: Apache-2.0
 *
 * Which decisions are recorded, which of their nodes, and the ring of frames. */
#include "lua/replay/decisions.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/replay/decisions_priv.h"

struct frame {
	atomic_uint refs;
	bool has[2]; /* by neap_decision_part */
	int64_t number;
	size_t len, cut;
	char text[]; /* JSON */
};

struct neap_decision_tape {
	atomic_uint refs;
	size_t count;
	struct frame *frames[];
};

struct neap_decisions {
	size_t bytes_max, bytes;
	size_t frames_max, count, first; /* the ring */
	struct frame **ring;
	/* When the next one would be due at one a second; the burst goes ahead of it. */
	int64_t due_usec;
	int64_t numbers; /* of frames, so far */
	uint64_t left_out;
	bool is_open, has_offers;
	size_t every, rows_seen; /* one of every rows is taken */
	struct neap_decision at_hand;
};

/* --- the decision at hand --- */

static void drop_offers(struct neap_decisions *decisions)
{
	struct neap_decision *at_hand = &decisions->at_hand;

	for (size_t i = 0; i < at_hand->offer_count; i++) {
		(void)neap_reserve_unref(at_hand->offers[i].reserve);
		(void)neap_object_unref(at_hand->offers[i].node);
	}
	at_hand->offer_count = at_hand->offers_asked = 0;
	at_hand->offers_bytes = at_hand->offers_cut = 0;
	decisions->has_offers = false;
}

/* A clock that was set back begins anew. */
static bool is_due(struct neap_decisions *decisions, int64_t now_usec)
{
	int64_t ahead = NEAP_DECISIONS_BURST * NEAP_DECISIONS_EVERY_USEC;

	if (decisions->due_usec - now_usec > ahead)
		decisions->due_usec = now_usec;
	return decisions->due_usec - now_usec <= ahead - NEAP_DECISIONS_EVERY_USEC;
}

static bool is_long(const struct neap_pod *pod)
{
	return pod->object->text_len > NEAP_DECISION_OBJECT_BYTES;
}

void neap_decisions_offers(struct neap_decisions *decisions, const struct neap_pod *pod,
			   int64_t now_usec)
{
	drop_offers(decisions);
	decisions->is_open = false;
	decisions->has_offers = !is_long(pod) && is_due(decisions, now_usec);
	decisions->at_hand.pod = pod;
	decisions->at_hand.now_usec = now_usec;
}

void neap_decisions_offer(struct neap_decisions *decisions,
			  const struct neap_reserve_offer *offer)
{
	struct neap_decision *at_hand = &decisions->at_hand;
	const size_t bytes = offer->reserve->object->text_len;
	struct neap_decision_offer *own;

	if (!decisions->has_offers)
		return;
	for (size_t i = 0; i < at_hand->offer_count; i++)
		if (at_hand->offers[i].reserve == offer->reserve)
			return;
	at_hand->offers_asked++;
	if (at_hand->offer_count == NEAP_DECISION_OFFERS)
		return;
	if (bytes > NEAP_DECISION_OBJECT_BYTES ||
	    at_hand->offers_bytes + bytes > NEAP_DECISION_OFFERS_BYTES) {
		at_hand->offers_cut++;
		return;
	}
	at_hand->offers_bytes += bytes;
	own = &at_hand->offers[at_hand->offer_count++];
	/* Counted, for others they do not change. */
	own->reserve = neap_reserve_ref((struct neap_reserve *)(uintptr_t)offer->reserve);
	own->node =
		offer->node
			? neap_object_ref((struct neap_object *)(uintptr_t)offer->node)
			: NULL;
	own->is_owner = offer->is_owner;
	own->pods = offer->pods;
	own->allocated = *offer->allocated;
}

void neap_decisions_again(struct neap_decisions *decisions)
{
	decisions->every = 1;
	decisions->rows_seen = decisions->at_hand.row_count =
		decisions->at_hand.rows_asked = 0;
}

bool neap_decisions_begin(struct neap_decisions *decisions, struct neap_cluster *cluster,
			  const struct neap_pod *pod, int64_t now_usec)
{
	struct neap_decision *at_hand = &decisions->at_hand;

	decisions->left_out += is_long(pod);
	decisions->is_open = !is_long(pod) && is_due(decisions, now_usec);
	if (!decisions->is_open)
		return false;
	if (at_hand->pod != pod || at_hand->now_usec != now_usec)
		drop_offers(decisions); /* of a question that was no decision */
	decisions->has_offers = false;  /* they came before */
	at_hand->cluster = cluster;
	at_hand->pod = pod;
	at_hand->now_usec = now_usec;
	neap_decisions_again(decisions);
	return true;
}

void neap_decisions_rows(struct neap_decisions *decisions, const uint32_t *rows,
			 size_t count)
{
	struct neap_decision *at_hand = &decisions->at_hand;

	if (!decisions->is_open)
		return;
	at_hand->rows_asked += count;
	for (size_t i = 0; i < count; i++) {
		size_t kept = 0;

		if (decisions->rows_seen++ % decisions->every)
			continue;
		if (at_hand->row_count < NEAP_DECISION_NODES) {
			at_hand->rows[at_hand->row_count++] = rows[i];
			continue;
		}
		/* Every second one stays; this row is the next of those. */
		for (size_t n = 0; n < at_hand->row_count; n += 2)
			at_hand->rows[kept++] = at_hand->rows[n];
		at_hand->rows[kept++] = rows[i];
		at_hand->row_count = kept;
		decisions->every *= 2;
	}
}

bool neap_decisions_has_rows(const struct neap_decisions *decisions)
{
	return decisions->at_hand.row_count > 0;
}

/* --- the ring --- */

static size_t frame_bytes(const struct frame *frame)
{
	return sizeof(*frame) + frame->len + 1 + sizeof(frame);
}

static void frame_unref(struct frame *frame)
{
	if (atomic_fetch_sub_explicit(&frame->refs, 1, memory_order_acq_rel) == 1)
		free(frame);
}

static struct frame *frame_new(const char *text)
{
	size_t len = strlen(text);
	struct frame *frame = neap_alloc(sizeof(*frame) + len + 1);

	if (!frame)
		return NULL;
	atomic_init(&frame->refs, 1);
	frame->len = len;
	memcpy(frame->text, text, len + 1);
	return frame;
}

static void drop_first(struct neap_decisions *decisions)
{
	struct frame *frame = decisions->ring[decisions->first];

	decisions->bytes -= frame_bytes(frame);
	decisions->first = (decisions->first + 1) % decisions->frames_max;
	decisions->count--;
	frame_unref(frame);
}

static void add_take(struct neap_decisions *decisions, struct frame *frame)
{
	if (frame_bytes(frame) > decisions->bytes_max) {
		frame_unref(frame);
		return;
	}
	while (decisions->count == decisions->frames_max ||
	       decisions->bytes + frame_bytes(frame) > decisions->bytes_max)
		drop_first(decisions);
	decisions->ring[(decisions->first + decisions->count++) % decisions->frames_max] =
		frame;
	decisions->bytes += frame_bytes(frame);
}

static void record(struct neap_decisions *decisions)
{
	const int64_t now = decisions->at_hand.now_usec;
	struct neap_decision_made made = {0};
	neap_auto_buf struct neap_buf text = {0};
	struct frame *frame = NULL;

	if (decisions->due_usec < now)
		decisions->due_usec = now;
	decisions->due_usec += NEAP_DECISIONS_EVERY_USEC;
	neap_buf_init(&text, NEAP_DECISION_BYTES);
	if (neap_decision_write(&decisions->at_hand, &text, &made) &&
	    made.nodes + made.offers)
		frame = frame_new(text.data);
	if (!frame) {
		decisions->left_out++;
		return;
	}
	frame->number = ++decisions->numbers;
	frame->cut = made.cut;
	frame->has[NEAP_DECISION_OF_NODES] = made.nodes > 0;
	frame->has[NEAP_DECISION_OF_OFFERS] = made.offers > 0;
	add_take(decisions, frame);
}

void neap_decisions_end(struct neap_decisions *decisions)
{
	if (!decisions->is_open)
		return;
	decisions->is_open = false;
	if (decisions->at_hand.row_count || decisions->at_hand.offer_count)
		record(decisions);
	drop_offers(decisions);
}

struct neap_decisions *neap_decisions_new(size_t bytes, int frames)
{
	struct neap_decisions *decisions = neap_alloc(sizeof(*decisions));

	if (!decisions)
		return NULL;
	decisions->bytes_max = bytes ? bytes : NEAP_DECISIONS_BYTES;
	decisions->frames_max = frames > 0 ? (size_t)frames : NEAP_DECISIONS_MAX;
	decisions->ring = neap_alloc_array(decisions->frames_max, sizeof(struct frame *));
	if (!decisions->ring) {
		free(decisions);
		return NULL;
	}
	return decisions;
}

void neap_decisions_free(struct neap_decisions *decisions)
{
	if (!decisions)
		return;
	drop_offers(decisions);
	while (decisions->count)
		drop_first(decisions);
	free(decisions->ring);
	free(decisions);
}

size_t neap_decisions_count(const struct neap_decisions *decisions)
{
	return decisions->count;
}

size_t neap_decisions_bytes(const struct neap_decisions *decisions)
{
	return decisions->bytes;
}

uint64_t neap_decisions_left_out(const struct neap_decisions *decisions)
{
	return decisions->left_out;
}

static struct frame *frame_at(const struct neap_decisions *decisions, size_t index)
{
	return decisions->ring[(decisions->first + index) % decisions->frames_max];
}

json_t *neap_decisions_list(const struct neap_decisions *decisions)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < decisions->count; i++) {
		const struct frame *frame = frame_at(decisions, i);

		neap_json_push_new(&list, json_pack("{s:I, s:I, s:I}", "number",
						    (json_int_t)frame->number, "bytes",
						    (json_int_t)frame->len, "cut",
						    (json_int_t)frame->cut));
	}
	return list;
}

const char *neap_decisions_text(const struct neap_decisions *decisions, int64_t number)
{
	for (size_t i = 0; i < decisions->count; i++)
		if (frame_at(decisions, i)->number == number)
			return frame_at(decisions, i)->text;
	return NULL;
}

/* --- tapes --- */

struct neap_decision_tape *neap_decisions_share(const struct neap_decisions *decisions)
{
	struct neap_decision_tape *tape =
		neap_alloc(sizeof(*tape) + decisions->count * sizeof(tape->frames[0]));

	if (!tape)
		return NULL;
	atomic_init(&tape->refs, 1);
	tape->count = decisions->count;
	for (size_t i = 0; i < tape->count; i++) {
		tape->frames[i] = frame_at(decisions, i);
		(void)atomic_fetch_add_explicit(&tape->frames[i]->refs, 1,
						memory_order_relaxed);
	}
	return tape;
}

static struct frame *frame_of(const json_t *json)
{
	neap_auto_free char *text =
		neap_json_dump(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
	struct frame *frame = text ? frame_new(text) : NULL;

	if (!frame)
		return NULL;
	frame->has[NEAP_DECISION_OF_NODES] =
		json_object_size(json_object_get(json, "nodes")) > 0;
	frame->has[NEAP_DECISION_OF_OFFERS] =
		json_array_size(json_object_get(json, "reservations")) > 0;
	return frame;
}

struct neap_decision_tape *neap_decision_tape_of(const json_t *list)
{
	struct neap_decision_tape *tape = neap_alloc(
		sizeof(*tape) + json_array_size(list) * sizeof(tape->frames[0]));

	if (!tape)
		return NULL;
	atomic_init(&tape->refs, 1);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);

		if (!json_is_object(json))
			continue;
		tape->frames[tape->count] = frame_of(json);
		if (!tape->frames[tape->count++]) {
			tape->count--;
			return neap_decision_tape_unref(tape);
		}
	}
	return tape;
}

struct neap_decision_tape *neap_decision_tape_ref(struct neap_decision_tape *tape)
{
	(void)atomic_fetch_add_explicit(&tape->refs, 1, memory_order_relaxed);
	return tape;
}

struct neap_decision_tape *neap_decision_tape_unref(struct neap_decision_tape *tape)
{
	if (!tape || atomic_fetch_sub_explicit(&tape->refs, 1, memory_order_acq_rel) != 1)
		return NULL;
	for (size_t i = 0; i < tape->count; i++)
		frame_unref(tape->frames[i]);
	free(tape);
	return NULL;
}

/* The frame at index among those that have the part; NULL past the end. */
static const struct frame *find_frame(const struct neap_decision_tape *tape,
				      enum neap_decision_part part, size_t index)
{
	for (size_t i = 0; i < tape->count; i++)
		if (tape->frames[i]->has[part] && index-- == 0)
			return tape->frames[i];
	return NULL;
}

size_t neap_decision_tape_count(const struct neap_decision_tape *tape,
				enum neap_decision_part part)
{
	size_t count = 0;

	for (size_t i = 0; i < tape->count; i++)
		count += tape->frames[i]->has[part];
	return count;
}

int neap_decision_tape_get(const struct neap_decision_tape *tape,
			   enum neap_decision_part part, size_t index, json_t **ret,
			   struct neap_error *err)
{
	const struct frame *frame = find_frame(tape, part, index);

	if (!frame)
		return neap_error_set(err, NEAP_ENOTFOUND, "there is no decision %zu",
				      index);
	if (neap_json_parse(frame->text, frame->len, 0, ret, NULL) < 0)
		return neap_error_nomem(err); /* it was written here */
	return 0;
}
