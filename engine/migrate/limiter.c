/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/migrate/limiter.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"

#define SECOND_USEC 1e6
/* Tolerance for adding up parts of a token. */
#define ROUNDING 1e-9

struct object_bucket {
	struct neap_bucket bucket;
	int64_t used_usec, keep_usec;
};

struct neap_limiter {
	struct neap_map *buckets; /* by uid */
};

static void fill(struct neap_bucket *bucket, int64_t now_usec)
{
	double passed = (double)(now_usec - bucket->at_usec) / SECOND_USEC;

	if (passed > 0)
		bucket->tokens += passed * bucket->rate;
	if (bucket->tokens > bucket->burst)
		bucket->tokens = bucket->burst;
	bucket->at_usec = now_usec;
}

void neap_bucket_set(struct neap_bucket *bucket, double rate, double burst,
		     int64_t now_usec)
{
	if (bucket->at_usec == 0)
		bucket->tokens = burst;
	else
		fill(bucket, now_usec);
	bucket->rate = rate;
	bucket->burst = burst;
	bucket->at_usec = now_usec;
}

bool neap_bucket_has(struct neap_bucket *bucket, int64_t now_usec)
{
	fill(bucket, now_usec);
	return bucket->rate <= 0 || bucket->tokens >= 1 - ROUNDING;
}

void neap_bucket_take(struct neap_bucket *bucket, int64_t now_usec)
{
	fill(bucket, now_usec);
	bucket->tokens = bucket->tokens > 1 ? bucket->tokens - 1 : 0;
}

/* --- of objects --- */

struct neap_limiter *neap_limiter_new(void)
{
	struct neap_limiter *limiter = neap_alloc(sizeof(*limiter));

	if (!limiter)
		return NULL;
	limiter->buckets = neap_map_new();
	if (!limiter->buckets) {
		free(limiter);
		return NULL;
	}
	return limiter;
}

void neap_limiter_free(struct neap_limiter *limiter)
{
	if (!limiter)
		return;
	for (size_t i = 0; i < neap_map_count(limiter->buckets); i++)
		free(neap_map_at(limiter->buckets, i, NULL));
	neap_map_free(limiter->buckets);
	free(limiter);
}

struct neap_limiter *neap_limiter_copy(const struct neap_limiter *limiter)
{
	struct neap_limiter *copy = neap_limiter_new();

	for (size_t i = 0; copy && i < neap_map_count(limiter->buckets); i++) {
		const char *key;
		const struct object_bucket *from = neap_map_at(limiter->buckets, i, &key);
		struct object_bucket *to = neap_alloc(sizeof(*to));

		if (!to || !neap_map_set(copy->buckets, key, to)) {
			free(to);
			neap_limiter_free(copy);
			return NULL;
		}
		*to = *from;
	}
	return copy;
}

static void forget(struct neap_limiter *limiter, int64_t now_usec)
{
	for (size_t i = neap_map_count(limiter->buckets); i-- > 0;) {
		const char *key;
		struct object_bucket *one = neap_map_at(limiter->buckets, i, &key);

		if (now_usec - one->used_usec <= one->keep_usec)
			continue;
		(void)neap_map_remove(limiter->buckets, key);
		free(one);
	}
}

/* NULL: no limit, or no memory for one that only ever held back. */
static struct neap_bucket *bucket_of(struct neap_limiter *limiter, const char *uid,
				     int64_t max, int64_t duration_usec, int64_t burst,
				     int64_t now_usec)
{
	struct object_bucket *one = neap_map_find(limiter->buckets, uid);

	if (max <= 0 || duration_usec <= 0 || !*uid)
		return NULL;
	if (!one) {
		forget(limiter, now_usec);
		one = neap_alloc(sizeof(*one));
		if (!one || !neap_map_set(limiter->buckets, uid, one)) {
			free(one);
			return NULL;
		}
	}
	one->used_usec = now_usec;
	one->keep_usec = duration_usec + duration_usec / 2;
	neap_bucket_set(&one->bucket, (double)max * SECOND_USEC / (double)duration_usec,
			(double)burst, now_usec);
	return &one->bucket;
}

bool neap_limiter_has(struct neap_limiter *limiter, const char *uid, int64_t max,
		      int64_t duration_usec, int64_t burst, int64_t now_usec)
{
	struct neap_bucket *bucket =
		bucket_of(limiter, uid, max, duration_usec, burst, now_usec);

	return !bucket || neap_bucket_has(bucket, now_usec);
}

void neap_limiter_take(struct neap_limiter *limiter, const char *uid, int64_t max,
		       int64_t duration_usec, int64_t burst, int64_t now_usec)
{
	struct neap_bucket *bucket =
		bucket_of(limiter, uid, max, duration_usec, burst, now_usec);

	if (bucket)
		neap_bucket_take(bucket, now_usec);
}

void neap_limiter_give(struct neap_limiter *limiter, const char *uid, int64_t max,
		       int64_t duration_usec, int64_t burst, int64_t now_usec)
{
	struct neap_bucket *bucket =
		bucket_of(limiter, uid, max, duration_usec, burst, now_usec);

	if (bucket)
		bucket->tokens = bucket->tokens + 1 < bucket->burst ? bucket->tokens + 1
								    : bucket->burst;
}
