/* SPDX-License-Identifier: Apache-2.0
 *
 * The rule at the end of a zone file (a POSIX TZ text), for years beyond its table. */
#ifndef NEAP_LUA_VM_ZONE_PRIV_H
#define NEAP_LUA_VM_ZONE_PRIV_H

#include "engine/base/base.h"

/* A day of every year and a time on it, by the clock before the change. */
struct neap_zone_when {
	enum {
		/* weekday day (0 Sunday) of week (5: the last) in month */
		NEAP_ZONE_MONTH,
		NEAP_ZONE_JULIAN, /* day 1..365, without 29 February */
		NEAP_ZONE_DAY,    /* day 0..365 */
	} kind;
	int month, week, day;
	int32_t seconds; /* from midnight; may be negative or exceed a day */
};

struct neap_zone_rule {
	int32_t offset_s, dst_offset_s; /* seconds east of UTC */
	bool has_dst;
	struct neap_zone_when start, end;
};

/* Changes considered around a moment: two per year. */
#define NEAP_ZONE_CHANGES 10

struct neap_zone_change {
	int64_t at;
	int32_t offset_s; /* from then on */
};

/* Parses "CET-1CEST,M3.5.0,M10.5.0/3". False for anything else. */
bool neap_zone_rule_parse(const char *text, size_t len, struct neap_zone_rule *ret);
/* Lists the changes of the years around unix, in order; returns how many. */
int neap_zone_rule_changes(const struct neap_zone_rule *rule, int64_t unix_s,
			   struct neap_zone_change *ret);

#endif
