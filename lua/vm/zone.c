/* SPDX-License-Identifier: Apache-2.0
 *
 * Zone files. Every count in a file is checked against its length before it is used. */
#include "lua/vm/zone.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "lua/vm/zone_priv.h"

#define HEADER_BYTES 44
#define OFFSET_MAX   (26 * 3600) /* seconds, less than that either way */
#define DAY          86400
#define FAR          (INT64_MAX / 4)

struct neap_zone {
	uint32_t size, count;
	int32_t first_offset_s; /* before the first transition */
	bool has_rule;          /* from the last transition on */
	struct neap_zone_rule rule;
	struct neap_zone_change changes[];
};

/* The part of time around a moment in which the offset does not change: start <= it <
 * end. */
struct segment {
	int64_t start, end;
	int32_t offset_s;
};

/* --- reading --- */

/* The counts of a header, in the order in which they stand there. */
enum { ISUT, ISSTD, LEAP, TIME, TYPE, CHAR, COUNTS };

struct block {
	uint32_t count[COUNTS];
	size_t bytes; /* behind the header */
	const uint8_t *data;
	char version;
};

static uint32_t read_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t read_time(const uint8_t *p, size_t width)
{
	if (width == 4)
		return (int32_t)read_u32(p);
	return (int64_t)((uint64_t)read_u32(p) << 32 | read_u32(p + 4));
}

/* False unless a header with all its data stands at the start. width: bytes of a time. */
static bool open_block(const uint8_t *data, size_t len, size_t width, struct block *ret)
{
	if (len < HEADER_BYTES || memcmp(data, "TZif", 4) != 0)
		return false;
	ret->version = (char)data[4];
	for (int i = 0; i < COUNTS; i++) {
		ret->count[i] = read_u32(data + 20 + 4 * i);
		if (ret->count[i] > NEAP_ZONE_BYTES)
			return false; /* also keeps the sum below from wrapping */
	}
	ret->bytes = ret->count[TIME] * (width + 1) + ret->count[TYPE] * (size_t)6 +
		     ret->count[CHAR] + ret->count[LEAP] * (width + 4) +
		     ret->count[ISSTD] + ret->count[ISUT];
	ret->data = data + HEADER_BYTES;
	return ret->bytes <= len - HEADER_BYTES;
}

static int bad(struct neap_error *err, const char *what)
{
	return neap_error_set(err, NEAP_EINVAL, "no zone file: %s", what);
}

/* Fills the table of zone from the block; NULL, or what is wrong. */
static const char *read_table(const struct block *b, size_t width, struct neap_zone *zone)
{
	const uint8_t *times = b->data, *indexes = times + b->count[TIME] * width;
	const uint8_t *types = indexes + b->count[TIME];

	for (uint32_t i = 0; i < b->count[TYPE]; i++) {
		int32_t offset_s = (int32_t)read_u32(types + i * (size_t)6);

		if (offset_s <= -OFFSET_MAX || offset_s >= OFFSET_MAX)
			return "an offset of more than a day";
	}
	zone->first_offset_s = (int32_t)read_u32(types);
	for (uint32_t i = 0; i < b->count[TIME]; i++) {
		struct neap_zone_change *change = &zone->changes[i];

		if (indexes[i] >= b->count[TYPE])
			return "a transition to nowhere";
		change->at = read_time(times + i * width, width);
		change->offset_s = (int32_t)read_u32(types + indexes[i] * (size_t)6);
		if (change->at < -FAR || change->at > FAR)
			return "a transition too far away";
		if (i && change->at <= zone->changes[i - 1].at)
			return "transitions in no order";
	}
	zone->count = b->count[TIME];
	return NULL;
}

/* "\nTEXT\n" behind the second block; an empty text is no rule. False when it is
 * wrong. */
static bool read_footer(const uint8_t *data, size_t len, struct neap_zone *zone)
{
	const uint8_t *end =
		len > 1 && data[0] == '\n' ? memchr(data + 1, '\n', len - 1) : NULL;

	if (!end)
		return false;
	if (end == data + 1)
		return true;
	zone->has_rule = true;
	return neap_zone_rule_parse((const char *)data + 1, (size_t)(end - data) - 1,
				    &zone->rule);
}

int neap_zone_parse(const void *data, size_t len, struct neap_zone **ret,
		    struct neap_error *err)
{
	const uint8_t *at = data;
	struct neap_zone *zone;
	const char *wrong;
	struct block b;
	size_t width = 4, size;

	if (len > NEAP_ZONE_BYTES)
		return bad(err, "it is too long");
	if (!open_block(at, len, width, &b))
		return bad(err, "its header is wrong or it is too short");
	if (b.version) { /* the first block is for old readers */
		at += HEADER_BYTES + b.bytes;
		len -= HEADER_BYTES + b.bytes;
		width = 8;
		if (!open_block(at, len, width, &b))
			return bad(err, "its second header is wrong or it is too short");
	}
	if (b.count[LEAP])
		return bad(err, "it counts leap seconds");
	if (!b.count[TYPE] || b.count[TYPE] > 256 ||
	    b.count[TIME] > NEAP_ZONE_TRANSITIONS)
		return bad(err, "it has no types, or too many transitions");

	size = sizeof(*zone) + b.count[TIME] * sizeof(zone->changes[0]);
	zone = neap_alloc(size);
	if (!zone)
		return neap_error_nomem(err);
	zone->size = (uint32_t)size;
	wrong = read_table(&b, width, zone);
	if (!wrong && width == 8 &&
	    !read_footer(b.data + b.bytes, len - HEADER_BYTES - b.bytes, zone))
		wrong = "its rule is wrong";
	if (wrong) {
		neap_zone_free(zone);
		return bad(err, wrong);
	}
	*ret = zone;
	return 0;
}

/* Letters, digits, _ + - in parts between slashes; each part begins with a letter or
 * digit. */
static bool is_name(const char *name)
{
	bool is_start = true;

	for (const char *c = name; *c; c++) {
		bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
				(*c >= '0' && *c <= '9');

		if (!is_plain && (is_start || !strchr("_+-/", *c)))
			return false;
		is_start = *c == '/';
	}
	return !is_start && strlen(name) < NEAP_ZONE_NAME;
}

static int load_fd(int fd, struct neap_zone **ret, struct neap_error *err)
{
	neap_auto_free uint8_t *data = NULL;
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st) < 0)
		return neap_error_sys(err, "read");
	if (!S_ISREG(st.st_mode) || st.st_size > NEAP_ZONE_BYTES)
		return bad(err, "it is no plain file, or too long");
	data = neap_alloc(NEAP_ZONE_BYTES + 1);
	if (!data)
		return neap_error_nomem(err);
	len = neap_fd_read(fd, data, NEAP_ZONE_BYTES + 1);
	if (len < 0)
		return neap_error_sys(err, "read");
	return neap_zone_parse(data, (size_t)len, ret, err);
}

int neap_zone_load(const char *name, struct neap_zone **ret, struct neap_error *err)
{
	neap_auto_fd int fd = -1;
	char path[sizeof(NEAP_ZONE_FOLDER) + NEAP_ZONE_NAME + 1];
	int rc;

	if (!is_name(name))
		return neap_error_set(err, NEAP_EINVAL,
				      "'%.40s' is no name of a time zone; such are "
				      "Europe/Berlin and UTC",
				      name);
	if (strcmp(name, "UTC") == 0) {
		*ret = neap_alloc(sizeof(**ret));
		if (!*ret)
			return neap_error_nomem(err);
		(*ret)->size = sizeof(**ret);
		return 0;
	}
	(void)snprintf(path, sizeof(path), "%s/%s", NEAP_ZONE_FOLDER, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return neap_error_set(err, NEAP_ENOTFOUND,
				      "there is no time zone '%s' in %s (package tzdata)",
				      name, NEAP_ZONE_FOLDER);
	rc = load_fd(fd, ret, err);
	return rc < 0 ? neap_error_wrap(err, "time zone '%s'", name) : 0;
}

void neap_zone_free(struct neap_zone *zone)
{
	free(zone);
}

size_t neap_zone_size(const struct neap_zone *zone)
{
	return zone->size;
}

/* --- asking --- */

/* Narrows the segment to the changes around unix_s, which are in order. */
static void narrow(struct segment *segment, const struct neap_zone_change *changes,
		   size_t count, int64_t unix_s)
{
	size_t low = 0, high = count; /* the first change after unix_s */

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (changes[mid].at <= unix_s)
			low = mid + 1;
		else
			high = mid;
	}
	if (low > 0 && changes[low - 1].at >= segment->start)
		segment->start = changes[low - 1].at;
	if (low > 0)
		segment->offset_s = changes[low - 1].offset_s;
	if (low < count)
		segment->end = changes[low].at;
}

static struct segment find_segment(const struct neap_zone *zone, int64_t unix_s)
{
	struct segment segment = {-FAR, FAR, zone->first_offset_s};
	struct neap_zone_change changes[NEAP_ZONE_CHANGES];

	narrow(&segment, zone->changes, zone->count, unix_s);
	if (segment.end < FAR || !zone->has_rule)
		return segment;
	segment.offset_s = zone->rule.offset_s;
	narrow(&segment, changes,
	       (size_t)neap_zone_rule_changes(&zone->rule, unix_s, changes), unix_s);
	return segment;
}

int32_t neap_zone_offset(const struct neap_zone *zone, int64_t unix_s)
{
	return find_segment(zone, unix_s).offset_s;
}

static int64_t day_of(int64_t local)
{
	return local / DAY - (local % DAY < 0);
}

void neap_zone_read_clock(const struct neap_zone *zone, int64_t unix_s,
			  struct neap_zone_clock *ret)
{
	int32_t offset_s = neap_zone_offset(zone, unix_s);
	int64_t local = unix_s + offset_s, days = day_of(local);
	int second = (int)(local - days * DAY);

	neap_days_to_date(days, &ret->year, &ret->month, &ret->day);
	ret->hour = second / 3600;
	ret->minute = second / 60 % 60;
	ret->second = second % 60;
	ret->weekday = (int)(((days + 4) % 7 + 7) % 7); /* day 0 was a Thursday */
	ret->offset_s = offset_s;
}

/* The first moment at which the clock shows local, or that comes after it was jumped
 * over. */
static int64_t find_local(const struct neap_zone *zone, int64_t local)
{
	/* Here every clock shows less. */
	struct segment segment = find_segment(zone, local - OFFSET_MAX);

	/* Each step is one transition of the file, or one of the few a year of its
	 * rule. */
	for (;;) {
		int64_t at = local - segment.offset_s;

		if (at < segment.start)
			return segment.start;
		if (at < segment.end)
			return at;
		segment = find_segment(zone, segment.end);
	}
}

int64_t neap_zone_next(const struct neap_zone *zone, int64_t unix_s, int second_of_day)
{
	int64_t day = day_of(unix_s + neap_zone_offset(zone, unix_s)) - 1;

	for (;; day++) {
		int64_t at = find_local(zone, day * DAY + second_of_day);

		if (at <= unix_s)
			continue;
		/* A day that a zone left out (Samoa lost one) has no times at all. */
		if (find_local(zone, day * DAY) != find_local(zone, day * DAY + DAY - 1))
			return at;
	}
}

static bool read_two_digits(const char **at, int max, int *ret)
{
	int digits = 0;

	for (*ret = 0; **at >= '0' && **at <= '9' && digits < 2; digits++)
		*ret = *ret * 10 + (*(*at)++ - '0');
	return digits && *ret <= max;
}

int neap_zone_time_parse(const char *text, bool is_end, int *ret)
{
	const char *at = text;
	int hour, minute, second = 0, seconds;
	bool ok = read_two_digits(&at, is_end ? 24 : 23, &hour) && *at++ == ':' &&
		  read_two_digits(&at, 59, &minute) && at[-2] != ':';

	if (ok && *at == ':') {
		at++;
		ok = read_two_digits(&at, 59, &second) && at[-2] != ':';
	}
	seconds = ok ? hour * 3600 + minute * 60 + second : 0;
	if (!ok || *at || seconds > DAY)
		return -NEAP_EINVAL;
	*ret = seconds;
	return 0;
}
