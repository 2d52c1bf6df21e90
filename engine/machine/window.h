/* SPDX-License-Identifier: Apache-2.0
 *
 * The latest samples of one number: a ring of (time, value) that yields last, average and
 * percentiles over a span. Missing samples take no space. 12 bytes per sample. */
#ifndef NEAP_ENGINE_MACHINE_WINDOW_H
#define NEAP_ENGINE_MACHINE_WINDOW_H

#include "engine/base/base.h"

struct neap_window;

enum neap_aggregate {
	NEAP_AGG_LAST,
	NEAP_AGG_AVG,
	NEAP_AGG_P50,
	NEAP_AGG_P90,
	NEAP_AGG_P95,
	NEAP_AGG_P99,
	NEAP_AGG_COUNT
};

/* Percentiles are computed on a copy on the stack, hence the limit. */
#define NEAP_WINDOW_SAMPLES_MAX 4096

/* samples: the capacity, clamped to 1..NEAP_WINDOW_SAMPLES_MAX. NULL without memory. */
struct neap_window *neap_window_new(int samples);
void neap_window_free(struct neap_window *window);
void neap_window_clear(struct neap_window *window);
/* Ignores NaN. Times must not go back: an older time empties the window first. */
void neap_window_add(struct neap_window *window, int64_t mono_usec, float value);

/* Prefetches what an add and a full get need (see neap_prefetch). Waits for the first
 * bytes of the window itself unless they were prefetched already. */
void neap_window_prefetch(const struct neap_window *window);

struct neap_window_result {
	float value[NEAP_AGG_COUNT];
	int count;            /* samples in the span */
	int64_t covered_usec; /* from the first to the last of them */
};
/* Results over (now - span, now]. Returns false and writes nothing when there is no
 * sample. Percentile p is the value at rank ceil(p * count), ascending (nearest rank). */
bool neap_window_get(const struct neap_window *window, int64_t now_mono_usec,
		     int64_t span_usec, struct neap_window_result *ret);
/* One result only; cheap for LAST and AVG. */
bool neap_window_get_one(const struct neap_window *window, int64_t now_mono_usec,
			 int64_t span_usec, enum neap_aggregate aggregate, float *ret);

#endif
