/* SPDX-License-Identifier: Apache-2.0
 *
 * Time zones for scripts: offset, calendar, and the next occurrence of a time of day,
 * from the machine's zone files (TZif, RFC 8536). The C library has one zone per process,
 * and changing it is not thread-safe, while policies on two threads may use two zones;
 * hence this reader.
 *
 * A zone is immutable, one block of memory without pointers: a byte copy is a valid
 * zone. */
#ifndef NEAP_LUA_VM_ZONE_H
#define NEAP_LUA_VM_ZONE_H

#include "engine/base/error.h"

#define NEAP_ZONE_FOLDER      "/usr/share/zoneinfo"
#define NEAP_ZONE_BYTES       (64 * 1024) /* of a file */
#define NEAP_ZONE_NAME        64
#define NEAP_ZONE_TRANSITIONS 2000
/* Range of times that the functions accept: the years 1 to 9999. */
#define NEAP_ZONE_UNIX_MIN INT64_C(-62135596800)
#define NEAP_ZONE_UNIX_MAX INT64_C(253402300799)

struct neap_zone;

/* Clock and calendar values. */
struct neap_zone_clock {
	int64_t year;
	int month, day, hour, minute, second; /* month, day from 1 */
	int weekday;                          /* 0 Sunday */
	int32_t offset_s;                     /* seconds east of UTC */
};

/* Loads "Europe/Berlin" from its file, which may access the disk; "UTC" does not.
 * NEAP_EINVAL for an invalid name, NEAP_ENOTFOUND. */
int neap_zone_load(const char *name, struct neap_zone **ret, struct neap_error *err);
/* Parses a file's content, which may be hostile. NEAP_EINVAL. */
int neap_zone_parse(const void *data, size_t len, struct neap_zone **ret,
		    struct neap_error *err);
void neap_zone_free(struct neap_zone *zone);
/* Returns the bytes of its block. */
size_t neap_zone_size(const struct neap_zone *zone);

/* Seconds east of UTC. */
int32_t neap_zone_offset(const struct neap_zone *zone, int64_t unix_s);
void neap_zone_read_clock(const struct neap_zone *zone, int64_t unix_s,
			  struct neap_zone_clock *ret);
/* Returns the first time after unix_s at which the clock shows this second of the day
 * (0..86399). If a day has it twice, the first counts; if the clock jumps over it, the
 * first moment after the gap. */
int64_t neap_zone_next(const struct neap_zone *zone, int64_t unix_s, int second_of_day);

/* Parses "22:00", "6:30", "06:30:15", with is_end also "24:00", to seconds of the day.
 * NEAP_EINVAL. */
int neap_zone_time_parse(const char *text, bool is_end, int *ret);

#endif
