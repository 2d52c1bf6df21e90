/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorted ranges; an index is found by binary search. */
#include "engine/pod/job_indexes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

/* The first range that ends at index or behind it. */
static size_t find(const struct neap_job_indexes *indexes, int64_t index)
{
	size_t from = 0, to = indexes->count;

	while (from < to) {
		size_t at = (from + to) / 2;

		if (indexes->ranges[at].last < index)
			from = at + 1;
		else
			to = at;
	}
	return from;
}

bool neap_job_indexes_has(const struct neap_job_indexes *indexes, int64_t index)
{
	size_t at = find(indexes, index);

	return at < indexes->count && indexes->ranges[at].first <= index;
}

static bool make_room(struct neap_job_indexes *indexes)
{
	return neap_grow(&indexes->ranges, indexes->count, &indexes->size,
			 sizeof(*indexes->ranges));
}

static void take_out(struct neap_job_indexes *indexes, size_t at)
{
	memmove(&indexes->ranges[at], &indexes->ranges[at + 1],
		(indexes->count - at - 1) * sizeof(*indexes->ranges));
	indexes->count--;
}

/* first and last; what it touches becomes one with it. */
static bool add_range(struct neap_job_indexes *indexes, int64_t first, int64_t last)
{
	size_t at = find(indexes, first - 1);
	struct neap_job_range *range;

	if (at == indexes->count || indexes->ranges[at].first > last + 1) {
		if (!make_room(indexes))
			return false;
		range = &indexes->ranges[at];
		memmove(range + 1, range, (indexes->count - at) * sizeof(*range));
		*range = (struct neap_job_range){first, last};
		indexes->count++;
		return true;
	}
	range = &indexes->ranges[at];
	range->first = first < range->first ? first : range->first;
	range->last = last > range->last ? last : range->last;
	while (at + 1 < indexes->count && range[1].first <= range->last + 1) {
		range->last = range[1].last > range->last ? range[1].last : range->last;
		take_out(indexes, at + 1);
	}
	return true;
}

bool neap_job_indexes_add(struct neap_job_indexes *indexes, int64_t index)
{
	return add_range(indexes, index, index);
}

/* Parses digits at *text; -1 for none. A number that is too large becomes the largest. */
static int64_t take_number(const char **text)
{
	int64_t number = 0;
	const char *at = *text;

	for (; *at >= '0' && *at <= '9'; at++)
		number = number > INT32_MAX ? number : number * 10 + (*at - '0');
	if (at == *text)
		return -1;
	*text = at;
	return number;
}

bool neap_job_indexes_parse(const char *text, int64_t limit, struct neap_job_indexes *ret)
{
	*ret = (struct neap_job_indexes){0};
	while (*text) {
		int64_t first = take_number(&text), last = first;

		if (*text == '-') {
			text++;
			last = take_number(&text);
		}
		last = last < limit ? last : limit - 1;
		if (first >= 0 && first <= last && !add_range(ret, first, last)) {
			neap_job_indexes_done(ret);
			return false;
		}
		text += strcspn(text, ",");
		text += *text == ',';
	}
	return true;
}

int64_t neap_job_indexes_total(const struct neap_job_indexes *indexes)
{
	int64_t total = 0;

	for (size_t i = 0; i < indexes->count; i++)
		total += indexes->ranges[i].last - indexes->ranges[i].first + 1;
	return total;
}

void neap_job_indexes_write(const struct neap_job_indexes *indexes, struct neap_buf *out)
{
	for (size_t i = 0; i < indexes->count; i++) {
		const struct neap_job_range *range = &indexes->ranges[i];

		neap_buf_addf(out, "%s%" PRId64, i ? "," : "", range->first);
		if (range->last > range->first)
			neap_buf_addf(out, "%c%" PRId64,
				      range->last == range->first + 1 ? ',' : '-',
				      range->last);
	}
}

void neap_job_indexes_done(struct neap_job_indexes *indexes)
{
	free(indexes->ranges);
	*indexes = (struct neap_job_indexes){0};
}
