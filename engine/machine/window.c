/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring of samples. Times ascend, so a span is always the newest part of the ring. */
#include "engine/machine/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

struct neap_window {
	int size, count;
	int next; /* place of the sample to come */
	float *value;
	int64_t time[]; /* monotonic, microseconds */
};

static const int percent[NEAP_AGG_COUNT] = {
	[NEAP_AGG_P50] = 50,
	[NEAP_AGG_P90] = 90,
	[NEAP_AGG_P95] = 95,
	[NEAP_AGG_P99] = 99,
};

struct neap_window *neap_window_new(int samples)
{
	struct neap_window *w;
	size_t size = 1;

	if (samples > 1)
		size = samples < NEAP_WINDOW_SAMPLES_MAX ? (size_t)samples
							 : NEAP_WINDOW_SAMPLES_MAX;
	w = neap_alloc(sizeof(*w) + size * (sizeof(w->time[0]) + sizeof(w->value[0])));
	if (!w)
		return NULL;
	w->size = (int)size;
	w->value =
		(void *)(w->time + size); /* the times come first, so both are aligned */
	return w;
}

void neap_window_free(struct neap_window *window)
{
	free(window);
}

void neap_window_clear(struct neap_window *window)
{
	window->count = window->next = 0;
}

/* Position of the sample that is age samples old; 0 is the newest. */
static int place(const struct neap_window *w, int age)
{
	int at = w->next - 1 - age;

	return at < 0 ? at + w->size : at;
}

void neap_window_add(struct neap_window *window, int64_t mono_usec, float value)
{
	if (isnan(value))
		return;
	if (window->count && mono_usec < window->time[place(window, 0)])
		neap_window_clear(window);
	window->time[window->next] = mono_usec;
	window->value[window->next] = value;
	window->next = (window->next + 1) % window->size;
	if (window->count < window->size)
		window->count++;
}

void neap_window_prefetch(const struct neap_window *window)
{
	neap_prefetch(window->value, (size_t)window->size * sizeof(window->value[0]));
	/* The newest, the next one, and the oldest in a full ring lie together. */
	neap_prefetch(&window->time[window->next], 1);
}

static bool is_within(const struct neap_window *w, int age, int64_t now, int64_t span)
{
	int64_t since;

	return !__builtin_sub_overflow(now, w->time[place(w, age)], &since) &&
	       since < span;
}

/* The ages of the samples in (now - span, now]: *ret_first is the newest of them; returns
 * how many. */
static int find_span(const struct neap_window *w, int64_t now, int64_t span,
		     int *ret_first)
{
	int first = 0, low, high;

	if (span <= 0)
		return 0;
	while (first < w->count && w->time[place(w, first)] > now)
		first++;
	/* Times fall with age: the first one that is too old is between low and high. A
	 * ring usually holds little more than the span. */
	low = first;
	high = w->count;
	for (int step = 1; high - step >= low; step *= 2) {
		if (!is_within(w, high - step, now, span)) {
			high -= step;
			continue;
		}
		low = high - step + 1;
		break;
	}
	while (low < high) {
		int middle = low + (high - low) / 2;

		if (is_within(w, middle, now, span))
			low = middle + 1;
		else
			high = middle;
	}
	*ret_first = first;
	return low - first;
}

/* The samples of a span lie in one or two parts of the ring. Ages first and up to count -
 * 1 more: the oldest part's place and length; the rest begins at place 0. */
static int oldest_part(const struct neap_window *w, int first, int count, int *ret_length)
{
	int from = place(w, first + count - 1);

	*ret_length = from + count > w->size ? w->size - from : count;
	return from;
}

static float average(const struct neap_window *w, int first, int count)
{
	int length, from = oldest_part(w, first, count, &length);
	double sum = 0;

	for (int i = 0; i < length; i++)
		sum += (double)w->value[from + i];
	for (int i = 0; i < count - length; i++)
		sum += (double)w->value[i];
	return (float)(sum / count);
}

/* A float as a number with the same order, and back. */
static uint32_t key_from_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static float float_from_key(uint32_t key)
{
	uint32_t bits = key >> 31 ? key & 0x7fffffffu : ~key;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void copy_keys(const struct neap_window *w, int first, int count, uint32_t *key)
{
	int length, from = oldest_part(w, first, count, &length);

	for (int i = 0; i < length; i++)
		key[i] = key_from_float(w->value[from + i]);
	for (int i = 0; i < count - length; i++)
		key[length + i] = key_from_float(w->value[i]);
}

/* The key at place rank of the rising order. Each round splits the part that holds it at
 * the highest bit in which its keys differ: at most 32 rounds, whatever the values.
 * Reorders. */
static uint32_t select_key(uint32_t *key, int count, int rank)
{
	int low = 0, high = count;

	for (;;) {
		uint32_t all = UINT32_MAX, any = 0, bit;
		int middle = low;

		for (int i = low; i < high; i++) {
			all &= key[i];
			any |= key[i];
		}
		if (all == any)
			return any;
		bit = 0x80000000u >> __builtin_clz(all ^ any);
		for (int i = low; i < high; i++) {
			uint32_t moved = key[i];

			if (moved & bit)
				continue;
			key[i] = key[middle];
			key[middle++] = moved;
		}
		if (rank < middle)
			high = middle;
		else
			low = middle;
	}
}

/* Nearest rank: place ceil(percent * count / 100), counted from 1. */
static float percentile(uint32_t *key, int count, int percent_wanted)
{
	int rank = (percent_wanted * count + 99) / 100;

	return float_from_key(select_key(key, count, rank - 1));
}

bool neap_window_get(const struct neap_window *window, int64_t now_mono_usec,
		     int64_t span_usec, struct neap_window_result *ret)
{
	uint32_t key[NEAP_WINDOW_SAMPLES_MAX];
	int first = 0, count = find_span(window, now_mono_usec, span_usec, &first);

	if (!count)
		return false;
	copy_keys(window, first, count, key);
	for (int i = 0; i < NEAP_AGG_COUNT; i++)
		if (percent[i])
			ret->value[i] = percentile(key, count, percent[i]);
	ret->value[NEAP_AGG_LAST] = window->value[place(window, first)];
	ret->value[NEAP_AGG_AVG] = average(window, first, count);
	ret->count = count;
	ret->covered_usec = window->time[place(window, first)] -
			    window->time[place(window, first + count - 1)];
	return true;
}

bool neap_window_get_one(const struct neap_window *window, int64_t now_mono_usec,
			 int64_t span_usec, enum neap_aggregate aggregate, float *ret)
{
	uint32_t key[NEAP_WINDOW_SAMPLES_MAX];
	int first = 0, count = find_span(window, now_mono_usec, span_usec, &first);

	if (!count || (unsigned)aggregate >= NEAP_AGG_COUNT)
		return false;
	if (aggregate == NEAP_AGG_LAST) {
		*ret = window->value[place(window, first)];
	} else if (aggregate == NEAP_AGG_AVG) {
		*ret = average(window, first, count);
	} else {
		copy_keys(window, first, count, key);
		*ret = percentile(key, count, percent[aggregate]);
	}
	return true;
}
