/* SPDX-License-Identifier: Apache-2.0
 *
 * The last samples of one number: a ring of (time, value) from which last, average and percentiles
 * over a span are read. A missing sample takes no place. Memory: 12 bytes a sample. */
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

/* A percentile is picked from a copy on the stack, which sets the ceiling. */
#define NEAP_WINDOW_SAMPLES_MAX 4096

/* samples: how many it keeps at most, brought into 1..NEAP_WINDOW_SAMPLES_MAX. NULL without memory. */
struct neap_window *neap_window_new(int samples);
void neap_window_free(struct neap_window *window);
void neap_window_clear(struct neap_window *window);
/* NaN is missing and not added. Times must not go back: an older one empties the window first. */
void neap_window_add(struct neap_window *window, int64_t mono_usec, float value);

/* What an add and a get of the whole ring need is brought nearer, see neap_prefetch. It waits for the first bytes of the
 * window itself, unless they were prefetched before. */
void neap_window_prefetch(const struct neap_window *window);

struct neap_window_result {
	float value[NEAP_AGG_COUNT];
	int count;            /* samples in the span */
	int64_t covered_usec; /* between the first and the last of them */
};
/* Over (now - span, now]. False, and nothing written, when it holds no sample. Percentile p is the
 * value at ceil(p * count) in rising order (nearest rank). */
bool neap_window_get(const struct neap_window *window, int64_t now_mono_usec,
		     int64_t span_usec, struct neap_window_result *ret);
/* Only one number; cheap for LAST and AVG. */
bool neap_window_get_one(const struct neap_window *window, int64_t now_mono_usec,
			 int64_t span_usec, enum neap_aggregate aggregate, float *ret);

#endif
