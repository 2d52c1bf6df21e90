/* SPDX-License-Identifier: Apache-2.0
 *
 * Zone files (TZif) and the rules at their end, and the questions that scripts ask of a
 * zone. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "lua/vm/zone.h"
#include "lua/vm/zone_priv.h"
#include "t/fuzz/lib/fuzz.h"

static int64_t moment(struct fuzz_in *in)
{
	int64_t at = (int64_t)fuzz_word(in);

	/* Mostly within some centuries, and the ends of what is allowed. */
	at = at % INT64_C(8000000000);
	return at == 1 ? NEAP_ZONE_UNIX_MAX : at == 2 ? NEAP_ZONE_UNIX_MIN : at;
}

static void check_clock(const struct neap_zone *zone, int64_t at)
{
	struct neap_zone_clock clock;
	int64_t local;

	neap_zone_read_clock(zone, at, &clock);
	FUZZ_CHECK(clock.offset_s == neap_zone_offset(zone, at));
	FUZZ_CHECK(clock.month >= 1 && clock.month <= 12 && clock.day >= 1 &&
		   clock.day <= 31);
	local = (neap_days_from_date(clock.year, clock.month, clock.day) * 24 +
		 clock.hour) *
			3600 +
		clock.minute * 60 + clock.second;
	FUZZ_CHECK(local == at + clock.offset_s);
}

static void check_next(const struct neap_zone *zone, int64_t at, int second)
{
	int64_t next = neap_zone_next(zone, at, second);
	struct neap_zone_clock clock;

	FUZZ_CHECK(next > at);
	neap_zone_read_clock(zone, next, &clock);
	/* The clock shows it, or the moment is a change of offset that jumps over it. */
	FUZZ_CHECK(clock.hour * 3600 + clock.minute * 60 + clock.second == second ||
		   neap_zone_offset(zone, next - 1) != clock.offset_s);
}

static void check_rule(const char *text, size_t len)
{
	struct neap_zone_change changes[NEAP_ZONE_CHANGES];
	struct neap_zone_rule rule;
	int count;

	if (!neap_zone_rule_parse(text, len, &rule))
		return;
	count = neap_zone_rule_changes(&rule, 1700000000, changes);
	FUZZ_CHECK(count >= 0 && count <= NEAP_ZONE_CHANGES);
	for (int i = 1; i < count; i++)
		FUZZ_CHECK(changes[i - 1].at <= changes[i].at);
}

/* A moment, a second of the day, then the file. The file is tried as a rule, too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct neap_zone *zone = NULL, *copy;
	struct neap_error err;
	struct fuzz_in in;
	int64_t at;
	char *file;
	int second;
	size_t len;

	fuzz_in_init(&in, data, size);
	at = moment(&in);
	second = (int)(fuzz_word(&in) % 86400);
	file = fuzz_rest(&in, &len);
	check_rule(file, len);
	if (neap_zone_parse(file, len, &zone, &err) == 0) {
		check_clock(zone, at);
		check_next(zone, at, second);
		copy = malloc(neap_zone_size(zone));
		FUZZ_CHECK(copy != NULL);
		memcpy(copy, zone, neap_zone_size(zone));
		FUZZ_CHECK(neap_zone_next(copy, at, second) ==
			   neap_zone_next(zone, at, second));
		free(copy);
		neap_zone_free(zone);
	}
	fuzz_in_done(&in);
	return 0;
}
