/* SPDX-License-Identifier: Apache-2.0
 *
 * Time spans with two or three digits: longer ones are coarser. */
#include <inttypes.h>
#include <stdio.h>

#include "api/kube/print/table_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

#define USEC INT64_C(1000000)
/* The most that Go's 64 bits of nanoseconds hold, 292 years. */
#define LONGEST (INT64_MAX / 1000)
/* 0001-01-01T00:00:00Z, Go's zero time. */
#define GO_ZERO (INT64_C(-62135596800) * USEC)

static char *one(int64_t count, char unit, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%" PRId64 "%c", count, unit);
	return buf;
}

/* Omits the smaller unit when it is 0. */
static char *two(int64_t count, char unit, int64_t rest, char rest_unit, char *buf,
		 size_t size)
{
	if (rest == 0)
		return one(count, unit, buf, size);
	(void)snprintf(buf, size, "%" PRId64 "%c%" PRId64 "%c", count, unit, rest,
		       rest_unit);
	return buf;
}

char *neap_kube_age(int64_t from_usec, int64_t now_usec, char *buf, size_t size)
{
	int64_t usec, seconds, minutes, hours, days;

	if (__builtin_sub_overflow(now_usec, from_usec, &usec))
		usec = now_usec > from_usec ? LONGEST : -LONGEST;
	if (usec > LONGEST)
		usec = LONGEST;
	seconds = usec / USEC;
	if (seconds < -1) {
		(void)neap_strcopy(buf, size, "<invalid>");
		return buf;
	}
	if (seconds < 0)
		seconds = 0;
	minutes = seconds / 60;
	hours = minutes / 60;
	days = hours / 24;
	if (minutes < 2)
		return one(seconds, 's', buf, size);
	if (minutes < 10)
		return two(minutes, 'm', seconds % 60, 's', buf, size);
	if (hours < 3)
		return one(minutes, 'm', buf, size);
	if (hours < 8)
		return two(hours, 'h', minutes % 60, 'm', buf, size);
	if (days < 2)
		return one(hours, 'h', buf, size);
	if (days < 8)
		return two(days, 'd', hours % 24, 'h', buf, size);
	if (days < 2 * 365)
		return one(days, 'd', buf, size);
	if (days < 8 * 365)
		return two(days / 365, 'y', days % 365, 'd', buf, size);
	return one(days / 365, 'y', buf, size);
}

int64_t neap_kube_time(const json_t *time)
{
	const char *text = json_string_value(time);
	int64_t usec;

	if (text == NULL || neap_time_parse(text, &usec, NULL) < 0 || usec == GO_ZERO)
		return NEAP_MISSING;
	return usec;
}

char *neap_kube_time_age(const json_t *time, int64_t now, char *buf, size_t size)
{
	int64_t from = neap_kube_time(time);

	if (from != NEAP_MISSING)
		return neap_kube_age(from, now, buf, size);
	(void)neap_strcopy(buf, size, "<unknown>");
	return buf;
}
