/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples packed by their field tables. A struct neap_workload has 2.5 KB, most of it
 * room for CPU sets and texts that are short; packed, one takes some 80 bytes, and its
 * texts are stored once for all frames in which they stay the same.
 *
 * Numbers: seven bits a byte, so that small ones are short; a missing one is one byte.
 * Reals: the bytes of the IEEE form without the zeros at its end, so that 0, 0.5 or 12
 * are short and every bit pattern (NaN too) comes back. CPU sets: their used words, or
 * "as the set before". Texts: one counted block for the sample and one for each element
 * of a list, compared with that of the frame before. A new field needs its row in the
 * table and nothing here; a new field type does not compile without a case. */
#include "lua/run/record.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "lua/run/record_priv.h"

struct neap_record {
	size_t bytes_max, bytes;
	size_t frames_max, count, first; /* the ring */
	struct neap_frame **ring;
	/* Where a frame is put together; kept from one to the next. */
	unsigned char *data;
	size_t len, size;
	size_t block_count; /* so far */
	/* So far they are those of the newest frame, in its order; else they stand in
	 * blocks. */
	bool is_same;
	size_t cursor; /* where in the newest frame's list the next one is likely to be */
	struct neap_block **blocks;
	uint64_t *marks; /* of the blocks */
	size_t block_size;
	char *text;
	size_t text_len, text_size;
	bool is_failed; /* no memory, or too large */
};

static void count_up(atomic_uint *refs)
{
	(void)atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

static size_t frame_bytes(const struct neap_frame *frame)
{
	return sizeof(*frame) + frame->len + sizeof(void *);
}

static size_t list_bytes(const struct neap_block_list *list)
{
	return sizeof(*list) +
	       list->count * (sizeof(list->blocks[0]) + sizeof(list->marks[0]));
}

/* --- packing --- */

/* Room for more bytes at the end of the data; NULL when there is none. */
static unsigned char *room(struct neap_record *record, size_t more)
{
	if (record->is_failed)
		return NULL;
	if (more > record->size - record->len) {
		size_t size = record->size * 2 + more;
		unsigned char *grown = NULL;

		if (record->len + more <= record->bytes_max)
			grown = neap_realloc_array(record->data, size, 1);
		record->is_failed = !grown;
		if (!grown)
			return NULL;
		record->data = grown;
		record->size = size;
	}
	return record->data + record->len;
}

static void put_number(struct neap_record *record, uint64_t number)
{
	unsigned char *at = room(record, 10), *start = at;

	if (!at)
		return;
	while (number >= 0x80) {
		*at++ = (unsigned char)(number | 0x80);
		number >>= 7;
	}
	*at++ = (unsigned char)number;
	record->len += (size_t)(at - start);
}

/* Zigzag, so that -1 is short, and one more, so that the missing one (the lowest) becomes
 * 0. */
static void put_int(struct neap_record *record, int64_t number)
{
	uint64_t sign = number < 0 ? UINT64_MAX : 0;

	put_number(record, (((uint64_t)number << 1) ^ sign) + 1);
}

static void put_real(struct neap_record *record, double real)
{
	unsigned char *at = room(record, 9);
	unsigned char count = 0;
	uint64_t bits;

	if (!at)
		return;
	memcpy(&bits, &real, sizeof(bits));
	for (; bits; bits <<= 8)
		at[++count] = (unsigned char)(bits >> 56);
	at[0] = count;
	record->len += (size_t)count + 1;
}

/* 0: as the set before, else the number of words and one, and the words. */
static void put_cpus(struct neap_record *record, const struct neap_cpuset *set,
		     const struct neap_cpuset **before)
{
	uint32_t len = set->len;
	unsigned char *at;

	while (len && !set->word[len - 1])
		len--;
	if (*before && len && neap_cpuset_is_equal(set, *before)) {
		put_number(record, 0);
		return;
	}
	put_number(record, (uint64_t)len + 1);
	at = room(record, len * sizeof(set->word[0]));
	if (!at)
		return;
	memcpy(at, set->word, len * sizeof(set->word[0]));
	record->len += len * sizeof(set->word[0]);
	if (len)
		*before = set;
}

static void put_text(struct neap_record *record, const char *prefix, const char *text)
{
	size_t head = strlen(prefix), len = strlen(text) + 1;

	if (record->is_failed)
		return;
	if (head + len > record->text_size - record->text_len) {
		size_t size = record->text_size * 2 + head + len;
		char *grown = NULL;

		if (record->text_len + head + len <= record->bytes_max)
			grown = neap_realloc_array(record->text, size, 1);
		record->is_failed = !grown;
		if (!grown)
			return;
		record->text = grown;
		record->text_size = size;
	}
	memcpy(record->text + record->text_len, prefix, head);
	memcpy(record->text + record->text_len + head, text, len);
	record->text_len += head + len;
}

/* The texts of a struct and of those in it, but not of its lists. */
static void put_texts(struct neap_record *record, const struct neap_field *fields,
		      const void *base)
{
	for (const struct neap_field *f = fields; f->name; f++) {
		const void *at = (const char *)base + f->offset;

		if (f->type == NEAP_FIELD_TEXT) {
			put_text(record, "", at);
		} else if (f->type == NEAP_FIELD_NAME) {
			const char *name = *(const char *const *)at;

			put_text(record, name ? "=" : "", name ? name : "");
		} else if (f->type == NEAP_FIELD_STRUCT) {
			put_texts(record, f->fields, at);
		}
	}
}

static bool has_text(const struct neap_block *block, const struct neap_record *record)
{
	return block->len == record->text_len &&
	       memcmp(block->text, record->text, block->len) == 0;
}

/* Those of the newest frame; NULL when there is none. */
static struct neap_block_list *newest_texts(const struct neap_record *record)
{
	if (!record->count)
		return NULL;
	return record->ring[(record->first + record->count - 1) % record->frames_max]
		->texts;
}

/* The block of the newest frame with the gathered text, with a reference; NULL when there
 * is none. Workloads keep their order but for those that come and go, so the search
 * starts where the last one ended. */
static struct neap_block *find_block(struct neap_record *record)
{
	const struct neap_block_list *list = newest_texts(record);

	for (size_t i = 0; list && i < list->count; i++) {
		size_t at = (record->cursor + i) % list->count;

		if (!has_text(list->blocks[at], record))
			continue;
		record->cursor = at + 1;
		count_up(&list->blocks[at]->refs);
		return list->blocks[at];
	}
	return NULL;
}

static struct neap_block *make_block(struct neap_record *record)
{
	struct neap_block *block = neap_alloc(sizeof(*block) + record->text_len);

	if (!block)
		return NULL;
	atomic_init(&block->refs, 1);
	block->len = record->text_len;
	if (block->len)
		memcpy(block->text, record->text, block->len);
	return block;
}

/* Room for one more block. */
static bool grow_blocks(struct neap_record *record)
{
	size_t size = record->block_size * 2 + 16;
	struct neap_block **blocks;
	uint64_t *marks;

	if (record->block_count < record->block_size)
		return true;
	while (size <= record->block_count)
		size *= 2;
	blocks = neap_realloc_array(record->blocks, size, sizeof(struct neap_block *));
	if (!blocks)
		return false;
	record->blocks = blocks;
	marks = neap_realloc_array(record->marks, size, sizeof(*marks));
	if (!marks)
		return false;
	record->marks = marks;
	record->block_size = size;
	return true;
}

/* Something is not as it was: this frame gets a list of its own. */
static bool part(struct neap_record *record)
{
	const struct neap_block_list *list = newest_texts(record);

	if (!record->is_same)
		return true;
	if (!grow_blocks(record))
		return false;
	record->is_same = false;
	for (size_t i = 0; i < record->block_count; i++) {
		record->blocks[i] = list->blocks[i];
		record->marks[i] = list->marks[i];
		count_up(&list->blocks[i]->refs);
	}
	record->cursor = record->block_count;
	return true;
}

/* mark: another one when a text changed, 0 when that is not known. */
static void put_block(struct neap_record *record, const struct neap_field *fields,
		      const void *base, uint64_t mark)
{
	struct neap_block_list *list = record->is_same ? newest_texts(record) : NULL;
	size_t at = record->block_count;
	struct neap_block *block;

	if (list && at < list->count && mark && list->marks[at] == mark) {
		record->block_count++;
		return;
	}
	record->text_len = 0;
	put_texts(record, fields, base);
	if (record->is_failed)
		return;
	if (list && at < list->count && has_text(list->blocks[at], record)) {
		list->marks[at] = mark;
		record->block_count++;
		return;
	}
	record->is_failed = !part(record) || !grow_blocks(record);
	if (record->is_failed)
		return;
	block = find_block(record);
	if (!block)
		block = make_block(record);
	record->is_failed = !block;
	if (!block)
		return;
	record->blocks[at] = block;
	record->marks[at] = mark;
	record->block_count++;
}

static uint64_t mark_of(const struct neap_field *list, const char *element)
{
	return list->mark_offset
		       ? *(const uint64_t *)(const void *)(element + list->mark_offset)
		       : 0;
}

/* cpus: the set before. */
static void put_struct(struct neap_record *record, const struct neap_field *fields,
		       const void *base, const struct neap_cpuset **cpus)
{
	for (const struct neap_field *f = fields; f->name; f++) {
		const void *at = (const char *)base + f->offset;
		const char *element;
		size_t count;

		switch (f->type) {
		case NEAP_FIELD_INT:
			put_int(record, *(const int64_t *)at);
			break;
		case NEAP_FIELD_REAL:
			put_real(record, *(const double *)at);
			break;
		case NEAP_FIELD_BOOL:
			put_number(record, *(const bool *)at);
			break;
		case NEAP_FIELD_KEYS:
			put_number(record, *(const uint32_t *)at);
			break;
		case NEAP_FIELD_CPUSET:
			put_cpus(record, at, cpus);
			break;
		case NEAP_FIELD_STRUCT:
			put_struct(record, f->fields, at, cpus);
			break;
		case NEAP_FIELD_LIST:
			element = *(const char *const *)at;
			count = *(const size_t *)(const void *)((const char *)base +
								f->count_offset);
			put_number(record, count);
			for (size_t i = 0; i < count && !record->is_failed; i++) {
				put_block(record, f->fields, element,
					  mark_of(f, element));
				put_struct(record, f->fields, element, cpus);
				element += f->element_size;
			}
			break;
		case NEAP_FIELD_TEXT: /* in a block */
		case NEAP_FIELD_NAME:
		case NEAP_FIELD_TOPOLOGY: /* in the frame */
			break;
		}
	}
}

/* --- the ring --- */

static size_t block_bytes(const struct neap_block *block)
{
	return sizeof(*block) + block->len;
}

static void count_in(struct neap_record *record, struct neap_frame *frame)
{
	struct neap_block_list *list = frame->texts;

	record->bytes += frame_bytes(frame);
	if (list->users++ > 0)
		return;
	record->bytes += list_bytes(list);
	for (size_t i = 0; i < list->count; i++)
		if (list->blocks[i]->users++ == 0)
			record->bytes += block_bytes(list->blocks[i]);
}

static void drop_first(struct neap_record *record)
{
	struct neap_frame *frame = record->ring[record->first];
	struct neap_block_list *list = frame->texts;

	record->bytes -= frame_bytes(frame);
	if (--list->users == 0) {
		record->bytes -= list_bytes(list);
		for (size_t i = 0; i < list->count; i++)
			if (--list->blocks[i]->users == 0)
				record->bytes -= block_bytes(list->blocks[i]);
	}
	record->first = (record->first + 1) % record->frames_max;
	record->count--;
	neap_frame_unref(frame);
}

/* The frame alone, as if it shared nothing with others. */
static bool fits(const struct neap_record *record, const struct neap_frame *frame)
{
	size_t bytes = frame_bytes(frame) + list_bytes(frame->texts);

	for (size_t i = 0; i < frame->texts->count; i++)
		bytes += block_bytes(frame->texts->blocks[i]);
	return bytes <= record->bytes_max;
}

/* The list of the blocks that were put, with a reference. It takes theirs over; NULL
 * without memory. */
static struct neap_block_list *take_list(struct neap_record *record)
{
	struct neap_block_list *list = newest_texts(record);
	size_t count = record->block_count;

	if (record->is_same && list->count == count) {
		count_up(&list->refs);
		return list;
	}
	if (!part(record)) /* the last ones went */
		return NULL;
	list = neap_alloc(sizeof(*list) +
			  count * (sizeof(list->blocks[0]) + sizeof(list->marks[0])));
	if (!list)
		return NULL;
	atomic_init(&list->refs, 1);
	list->count = count;
	list->marks = (uint64_t *)(void *)(list->blocks + count);
	memcpy(list->blocks, record->blocks, count * sizeof(list->blocks[0]));
	memcpy(list->marks, record->marks, count * sizeof(list->marks[0]));
	record->block_count = 0;
	return list;
}

static struct neap_frame *make_frame(struct neap_record *record,
				     struct neap_topology *topology)
{
	struct neap_frame *frame = neap_alloc(sizeof(*frame) + record->len);

	if (!frame)
		return NULL;
	frame->texts = take_list(record);
	if (!frame->texts) {
		free(frame);
		return NULL;
	}
	atomic_init(&frame->refs, 1);
	frame->topology = topology ? neap_topology_ref(topology) : NULL;
	frame->len = record->len;
	memcpy(frame->data, record->data, record->len);
	return frame;
}

void neap_record_add(struct neap_record *record, const struct neap_sample *sample)
{
	const struct neap_cpuset *cpus = NULL;
	struct neap_frame *frame = NULL;

	record->is_failed = false;
	record->len = 0;
	record->block_count = 0;
	record->is_same = newest_texts(record) != NULL;
	record->cursor = 0;
	put_block(record, neap_sample_fields, sample, 0);
	put_struct(record, neap_sample_fields, sample, &cpus);
	if (!record->is_failed)
		frame = make_frame(record, sample->topology);
	if (!frame && !record->is_same) { /* of a frame left out */
		for (size_t i = 0; i < record->block_count; i++)
			neap_block_unref(record->blocks[i]);
	}
	if (frame && !fits(record, frame)) {
		neap_frame_unref(frame);
		return;
	}
	if (!frame)
		return;
	if (record->count == record->frames_max)
		drop_first(record);
	record->ring[(record->first + record->count) % record->frames_max] = frame;
	record->count++;
	count_in(record, frame);
	while (record->bytes > record->bytes_max)
		drop_first(record);
}

struct neap_record *neap_record_new(size_t bytes, int frames)
{
	struct neap_record *record = neap_alloc(sizeof(*record));

	if (!record)
		return NULL;
	record->bytes_max = bytes ? bytes : NEAP_RECORD_BYTES;
	record->frames_max = frames > 0 ? (size_t)frames : NEAP_RECORD_FRAMES;
	record->ring = neap_alloc_array(record->frames_max, sizeof(record->ring[0]));
	if (!record->ring) {
		free(record);
		return NULL;
	}
	return record;
}

void neap_record_free(struct neap_record *record)
{
	if (!record)
		return;
	while (record->count)
		drop_first(record);
	free(record->ring);
	free(record->data);
	free(record->blocks);
	free(record->marks);
	free(record->text);
	free(record);
}

size_t neap_record_count(const struct neap_record *record)
{
	return record->count;
}

size_t neap_record_bytes(const struct neap_record *record)
{
	return record->bytes;
}

struct neap_tape *neap_record_share(const struct neap_record *record)
{
	struct neap_tape *tape =
		neap_alloc(sizeof(*tape) + record->count * sizeof(tape->frames[0]));

	if (!tape)
		return NULL;
	atomic_init(&tape->refs, 1);
	tape->count = record->count;
	for (size_t i = 0; i < tape->count; i++) {
		tape->frames[i] = record->ring[(record->first + i) % record->frames_max];
		count_up(&tape->frames[i]->refs);
	}
	return tape;
}
