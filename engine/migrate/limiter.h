/* SPDX-License-Identifier: Apache-2.0
 *
 * Token buckets: one for all evictions, and one for each workload or namespace whose pods
 * are evicted. Kept in memory only: after a restart all are full. */
#ifndef NEAP_ENGINE_MIGRATE_LIMITER_H
#define NEAP_ENGINE_MIGRATE_LIMITER_H

#include "engine/base/error.h"

struct neap_bucket {
	double rate; /* tokens a second; 0: no limit */
	double burst, tokens;
	int64_t at_usec; /* when tokens were counted */
};

/* Sets rate and burst. A new bucket is full; a later change keeps the tokens. */
void neap_bucket_set(struct neap_bucket *bucket, double rate, double burst,
		     int64_t now_usec);
bool neap_bucket_has(struct neap_bucket *bucket, int64_t now_usec);
/* Takes a token; the bucket does not go below 0. */
void neap_bucket_take(struct neap_bucket *bucket, int64_t now_usec);

struct neap_limiter;

struct neap_limiter *neap_limiter_new(void); /* NULL without memory */
void neap_limiter_free(struct neap_limiter *limiter);
/* Returns an independent copy; NULL without memory. */
struct neap_limiter *neap_limiter_copy(const struct neap_limiter *limiter);
/* Returns whether the object of that uid has a token left, with max tokens per duration.
 * Buckets that were unused for one and a half durations are dropped. max or duration 0:
 * no limit. */
bool neap_limiter_has(struct neap_limiter *limiter, const char *uid, int64_t max,
		      int64_t duration_usec, int64_t burst, int64_t now_usec);
void neap_limiter_take(struct neap_limiter *limiter, const char *uid, int64_t max,
		       int64_t duration_usec, int64_t burst, int64_t now_usec);
/* Returns a token whose eviction did not happen. */
void neap_limiter_give(struct neap_limiter *limiter, const char *uid, int64_t max,
		       int64_t duration_usec, int64_t burst, int64_t now_usec);

#endif
