/* SPDX-License-Identifier: Apache-2.0
 *
 * Tapes: reference-counted lists of frames, unpacked into samples. lua/run/record.c
 * describes the format and is its only writer, so frames are trusted. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "lua/run/record_priv.h"

/* --- counted things --- */

static bool is_last(atomic_uint *refs)
{
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

void neap_block_unref(struct neap_block *block)
{
	if (is_last(&block->refs))
		free(block);
}

void neap_block_list_unref(struct neap_block_list *list)
{
	if (!is_last(&list->refs))
		return;
	for (size_t i = 0; i < list->count; i++)
		neap_block_unref(list->blocks[i]);
	free(list);
}

void neap_frame_unref(struct neap_frame *frame)
{
	if (!is_last(&frame->refs))
		return;
	neap_block_list_unref(frame->texts);
	(void)neap_topology_unref(frame->topology);
	free(frame);
}

/* --- tapes --- */

struct neap_tape *neap_tape_ref(struct neap_tape *tape)
{
	if (tape)
		(void)atomic_fetch_add_explicit(&tape->refs, 1, memory_order_relaxed);
	return tape;
}

struct neap_tape *neap_tape_unref(struct neap_tape *tape)
{
	if (!tape || !is_last(&tape->refs))
		return NULL;
	for (size_t i = 0; i < tape->count; i++)
		neap_frame_unref(tape->frames[i]);
	free(tape);
	return NULL;
}

size_t neap_tape_count(const struct neap_tape *tape)
{
	return tape->count;
}

/* --- unpacking --- */

struct reader {
	const struct neap_frame *frame;
	const unsigned char *at;
	size_t block;                   /* the next one */
	const struct neap_cpuset *cpus; /* the set before */
	struct neap_error *err;
};

static uint64_t get_number(struct reader *reader)
{
	uint64_t number = 0;
	int shift = 0;

	while (*reader->at & 0x80) {
		number |= (uint64_t)(*reader->at++ & 0x7f) << shift;
		shift += 7;
	}
	return number | (uint64_t)*reader->at++ << shift;
}

static int64_t get_int(struct reader *reader)
{
	uint64_t number = get_number(reader) - 1;
	uint64_t sign = number & 1 ? UINT64_MAX : 0;

	return (int64_t)((number >> 1) ^ sign);
}

static double get_real(struct reader *reader)
{
	int count = *reader->at++;
	uint64_t bits = 0;
	double real;

	for (int i = 0; i < count; i++)
		bits |= (uint64_t)*reader->at++ << (56 - 8 * i);
	memcpy(&real, &bits, sizeof(real));
	return real;
}

static void get_cpus(struct reader *reader, struct neap_cpuset *set)
{
	uint64_t len = get_number(reader);

	if (len == 0) {
		neap_cpuset_copy(set, reader->cpus);
		return;
	}
	set->len = (uint32_t)len - 1;
	memcpy(set->word, reader->at, set->len * sizeof(set->word[0]));
	reader->at += set->len * sizeof(set->word[0]);
	if (set->len)
		reader->cpus = set;
}

static const char *next_text(const char **text)
{
	const char *at = *text;

	*text = at + strlen(at) + 1;
	return at;
}

static int get_list(struct reader *reader, const struct neap_field *field, char *base);

/* text: where the texts of this struct begin; moved past them. */
static int get_struct(struct reader *reader, const struct neap_field *fields, char *base,
		      const char **text)
{
	for (const struct neap_field *f = fields; f->name; f++) {
		char *at = base + f->offset;
		const char *name;
		int rc = 0;

		switch (f->type) {
		case NEAP_FIELD_INT:
			*(int64_t *)(void *)at = get_int(reader);
			break;
		case NEAP_FIELD_REAL:
			*(double *)(void *)at = get_real(reader);
			break;
		case NEAP_FIELD_BOOL:
			*(bool *)(void *)at = get_number(reader) != 0;
			break;
		case NEAP_FIELD_KEYS:
			*(uint32_t *)(void *)at = (uint32_t)get_number(reader);
			break;
		case NEAP_FIELD_CPUSET:
			get_cpus(reader, (struct neap_cpuset *)(void *)at);
			break;
		case NEAP_FIELD_TEXT: /* it came out of an array of this size */
			name = next_text(text);
			memcpy(at, name, strlen(name) + 1);
			break;
		case NEAP_FIELD_NAME:
			name = next_text(text);
			*(const char **)(void *)at = *name ? name + 1 : NULL;
			break;
		case NEAP_FIELD_TOPOLOGY:
			*(struct neap_topology **)(void *)at = reader->frame->topology;
			break;
		case NEAP_FIELD_STRUCT:
			rc = get_struct(reader, f->fields, at, text);
			break;
		case NEAP_FIELD_LIST:
			rc = get_list(reader, f, base);
			break;
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int get_list(struct reader *reader, const struct neap_field *field, char *base)
{
	size_t count = (size_t)get_number(reader);
	char *element = neap_alloc_array(count ? count : 1, field->element_size);

	if (!element)
		return neap_error_nomem(reader->err);
	*(void **)(void *)(base + field->offset) = element;
	*(size_t *)(void *)(base + field->count_offset) = count;
	for (size_t i = 0; i < count; i++) {
		const char *text = reader->frame->texts->blocks[reader->block++]->text;
		int rc = get_struct(reader, field->fields, element, &text);

		if (rc < 0)
			return rc;
		element += field->element_size;
	}
	return 0;
}

static void forget(const struct neap_field *fields, char *base)
{
	for (const struct neap_field *f = fields; f->name; f++) {
		char *at = base + f->offset;
		char *element;

		if (f->type == NEAP_FIELD_STRUCT)
			forget(f->fields, at);
		if (f->type != NEAP_FIELD_LIST)
			continue;
		element = *(char **)(void *)at;
		for (size_t i = 0;
		     element && i < *(size_t *)(void *)(base + f->count_offset); i++)
			forget(f->fields, element + i * f->element_size);
		free(element);
	}
}

int neap_tape_get(const struct neap_tape *tape, size_t index, struct neap_sample *ret,
		  struct neap_error *err)
{
	struct reader reader = {.err = err};
	const char *text;
	int rc;

	if (index >= tape->count)
		return neap_error_set(err, NEAP_ENOTFOUND,
				      "frame %zu: the tape has %zu, from 0 on", index,
				      tape->count);
	reader.frame = tape->frames[index];
	reader.at = reader.frame->data;
	memset(ret, 0, sizeof(*ret));
	text = reader.frame->texts->blocks[reader.block++]->text;
	rc = get_struct(&reader, neap_sample_fields, (char *)ret, &text);
	if (rc < 0)
		neap_tape_forget(ret);
	return rc;
}

void neap_tape_forget(struct neap_sample *sample)
{
	forget(neap_sample_fields, (char *)sample);
	memset(sample, 0, sizeof(*sample));
}
