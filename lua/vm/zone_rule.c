/* SPDX-License-Identifier: Apache-2.0
 *
 * POSIX TZ texts: std offset [dst [offset] , start [/time] , end [/time]], with the
 * extensions of RFC 8536 (hours up to 167, negative times). West is positive there, east
 * is here. */
#include <string.h>

#include "engine/base/quantity.h"
#include "lua/vm/zone_priv.h"

#define HOUR 3600
#define DAY  86400

/* The rest of the text. */
struct cursor {
	const char *at, *end;
};

static bool take(struct cursor *c, char wanted)
{
	if (c->at >= c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

/* Digits, at most three, up to max. */
static bool take_number(struct cursor *c, int max, int *ret)
{
	int n = 0, digits = 0;

	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9' && digits < 3; digits++)
		n = n * 10 + (*c->at++ - '0');
	*ret = n;
	return digits && n <= max;
}

/* [+-]hours[:minutes[:seconds]] */
static bool take_time(struct cursor *c, int hours_max, int32_t *ret)
{
	bool is_negative = take(c, '-');
	int hours, minutes = 0, seconds = 0;

	if (!is_negative)
		(void)take(c, '+'); /* it may be there */
	if (!take_number(c, hours_max, &hours))
		return false;
	if (take(c, ':')) {
		if (!take_number(c, 59, &minutes))
			return false;
		if (take(c, ':') && !take_number(c, 59, &seconds))
			return false;
	}
	*ret = hours * HOUR + minutes * 60 + seconds;
	if (is_negative)
		*ret = -*ret;
	return true;
}

/* "CET" or "<+03>": at least three characters. */
static bool take_name(struct cursor *c)
{
	bool is_quoted = take(c, '<');
	int len = 0;

	for (; c->at < c->end; c->at++, len++) {
		bool is_letter = (*c->at >= 'a' && *c->at <= 'z') ||
				 (*c->at >= 'A' && *c->at <= 'Z');
		bool is_other = (*c->at >= '0' && *c->at <= '9') || *c->at == '+' ||
				*c->at == '-';

		if (!is_letter && !(is_quoted && is_other))
			break;
	}
	return len >= 3 && (!is_quoted || take(c, '>'));
}

static bool take_when(struct cursor *c, struct neap_zone_when *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (take(c, 'M')) {
		ret->kind = NEAP_ZONE_MONTH;
		if (!take_number(c, 12, &ret->month) || !ret->month || !take(c, '.') ||
		    !take_number(c, 5, &ret->week) || !ret->week || !take(c, '.') ||
		    !take_number(c, 6, &ret->day))
			return false;
	} else if (take(c, 'J')) {
		ret->kind = NEAP_ZONE_JULIAN;
		if (!take_number(c, 365, &ret->day) || !ret->day)
			return false;
	} else {
		ret->kind = NEAP_ZONE_DAY;
		if (!take_number(c, 365, &ret->day))
			return false;
	}
	ret->seconds = 2 * HOUR;
	return !take(c, '/') || take_time(c, 167, &ret->seconds);
}

bool neap_zone_rule_parse(const char *text, size_t len, struct neap_zone_rule *ret)
{
	struct cursor c = {.at = text, .end = text + len};
	struct neap_zone_rule rule;

	memset(&rule, 0, sizeof(rule));
	if (!take_name(&c) || !take_time(&c, 24, &rule.offset_s))
		return false;
	rule.offset_s = -rule.offset_s;
	if (c.at < c.end) {
		rule.has_dst = true;
		rule.dst_offset_s = rule.offset_s + HOUR;
		if (!take_name(&c))
			return false;
		if (c.at < c.end && *c.at != ',') {
			if (!take_time(&c, 24, &rule.dst_offset_s))
				return false;
			rule.dst_offset_s = -rule.dst_offset_s;
		}
		if (!take(&c, ',') || !take_when(&c, &rule.start) || !take(&c, ',') ||
		    !take_when(&c, &rule.end))
			return false;
	}
	if (c.at != c.end)
		return false;
	*ret = rule;
	return true;
}

/* The change in a year, as the clock before it shows. */
static int64_t when_in_year(const struct neap_zone_when *when, int64_t year)
{
	int64_t first = neap_days_from_date(year, 1, 1), day;
	bool is_leap = neap_days_from_date(year + 1, 1, 1) - first == 366;

	if (when->kind == NEAP_ZONE_MONTH) {
		int64_t next = when->month == 12
				       ? neap_days_from_date(year + 1, 1, 1)
				       : neap_days_from_date(year, when->month + 1, 1);
		int weekday;

		first = neap_days_from_date(year, when->month, 1);
		weekday = (int)(((first + 4) % 7 + 7) % 7); /* day 0 was a Thursday */
		day = first + (when->day - weekday + 7) % 7 + (when->week - 1) * 7;
		if (day >= next)
			day -= 7;
	} else if (when->kind == NEAP_ZONE_JULIAN) {
		day = first + when->day - 1 + (is_leap && when->day >= 60);
	} else {
		day = first + when->day;
	}
	return day * DAY + when->seconds;
}

int neap_zone_rule_changes(const struct neap_zone_rule *rule, int64_t unix_s,
			   struct neap_zone_change *ret)
{
	int64_t days = unix_s / DAY - (unix_s % DAY < 0), year;
	int month, day, count = 0;

	if (!rule->has_dst)
		return 0;
	neap_days_to_date(days, &year, &month, &day);
	for (int64_t y = year - 2; y <= year + 2; y++) {
		struct neap_zone_change pair[] = {
			{when_in_year(&rule->start, y) - rule->offset_s,
			 rule->dst_offset_s},
			{when_in_year(&rule->end, y) - rule->dst_offset_s,
			 rule->offset_s},
		};

		/* Of two at one moment the later year's stays last: that is how a zone
		 * says that summer never ends. */
		for (int i = 0; i < 2; i++) {
			int at = count++;

			for (; at > 0 && ret[at - 1].at > pair[i].at; at--)
				ret[at] = ret[at - 1];
			ret[at] = pair[i];
		}
	}
	return count;
}
