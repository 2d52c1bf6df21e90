/* SPDX-License-Identifier: Apache-2.0
 *
 * The clocks, and times as RFC 3339 text, declared in quantity.h. The calendar arithmetic
 * needs no time zone file, lock or errno, and works the same in the hand and in a
 * replay. */
#include "engine/base/quantity.h"

#include <inttypes.h>
#include <stdio.h>

#include "engine/base/clock.h"

#define USEC        INT64_C(1000000)
#define DAY_SECONDS 86400

/* Years begin in March here, so that the leap day is the last of a year; 400 of them are
 * 146097 days. */
int64_t neap_days_from_date(int64_t year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

void neap_days_to_date(int64_t days, int64_t *year, int *month, int *day)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t of_era = z - era * 146097;
	int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
	int m = (int)((5 * of_year + 2) / 153);

	*day = (int)(of_year - (153 * m + 2) / 5) + 1;
	*month = m < 10 ? m + 3 : m - 9;
	*year = y + era * 400 + (*month <= 2);
}

char *neap_time_format(int64_t unix_usec, int fraction_digits, char *buf, size_t size)
{
	int64_t seconds = unix_usec / USEC, usec = unix_usec % USEC, days, rest, year;
	char fraction[8] = "";
	int month, day;

	if (usec < 0) {
		usec += USEC;
		seconds--;
	}
	days = seconds / DAY_SECONDS;
	rest = seconds % DAY_SECONDS;
	if (rest < 0) {
		rest += DAY_SECONDS;
		days--;
	}
	neap_days_to_date(days, &year, &month, &day);
	if (fraction_digits == 3)
		(void)snprintf(fraction, sizeof(fraction), ".%03d", (int)(usec / 1000));
	else if (fraction_digits == 6)
		(void)snprintf(fraction, sizeof(fraction), ".%06d", (int)usec);
	(void)snprintf(buf, size, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d%sZ", year,
		       month, day, (int)(rest / 3600), (int)(rest / 60 % 60),
		       (int)(rest % 60), fraction);
	return buf;
}

/* Reads exactly count digits. */
static bool take(const char **at, int count, int *ret)
{
	int n = 0;

	for (; count; count--, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		n = n * 10 + (**at - '0');
	}
	*ret = n;
	return true;
}

static bool take_char(const char **at, char a, char b)
{
	if (**at != a && **at != b)
		return false;
	(*at)++;
	return true;
}

static int days_in_month(int year, int month)
{
	static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && is_leap);
}

static bool parse(const char *s, int64_t *ret)
{
	int year, month, day, hour, minute, second, off_hour = 0, off_minute = 0,
						    sign = 1;
	int64_t usec = 0, seconds;

	if (!take(&s, 4, &year) || !take_char(&s, '-', '-') || !take(&s, 2, &month) ||
	    !take_char(&s, '-', '-') || !take(&s, 2, &day) || !take_char(&s, 'T', 't') ||
	    !take(&s, 2, &hour) || !take_char(&s, ':', ':') || !take(&s, 2, &minute) ||
	    !take_char(&s, ':', ':') || !take(&s, 2, &second))
		return false;
	/* No leap second: Kubernetes refuses it as well. */
	if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) ||
	    hour > 23 || minute > 59 || second > 59)
		return false;
	if (*s == '.') {
		int64_t unit = USEC / 10;

		if (s[1] < '0' || s[1] > '9')
			return false;
		for (s++; *s >= '0' && *s <= '9'; s++, unit /= 10)
			usec += (*s - '0') * unit;
	}
	if (*s == '+' || *s == '-') {
		sign = *s++ == '-' ? -1 : 1;
		if (!take(&s, 2, &off_hour) || !take_char(&s, ':', ':') ||
		    !take(&s, 2, &off_minute) || off_hour > 23 || off_minute > 59)
			return false;
	} else if (!take_char(&s, 'Z', 'z')) {
		return false;
	}
	if (*s)
		return false;
	seconds = neap_days_from_date(year, month, day) * DAY_SECONDS +
		  (int64_t)hour * 3600 + (int64_t)minute * 60 + second;
	seconds -= sign * ((int64_t)off_hour * 3600 + (int64_t)off_minute * 60);
	*ret = seconds * USEC + usec;
	return true;
}

int neap_time_parse(const char *text, int64_t *ret_unix_usec, struct neap_error *err)
{
	if (!parse(text, ret_unix_usec))
		return neap_error_set(
			err, NEAP_EINVAL,
			"'%.40s' is not a time: use a form like 2026-01-02T03:04:05Z",
			text);
	return 0;
}

/* --- clocks --- */

int64_t neap_clock_usec(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now); /* cannot fail with these clocks */
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t neap_clock_unix(void)
{
	return neap_clock_usec(CLOCK_REALTIME);
}

int64_t neap_clock_steady(void)
{
	return neap_clock_usec(CLOCK_MONOTONIC);
}
