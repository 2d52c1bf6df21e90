/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines that somebody else brings about: one that repeats is said once and counted, and a
 * source has so many a minute. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/log/log.h"

#define SECOND INT64_C(1000000)

/* A step is a second, a source and a line of it; "" has what is due told. */
static const struct step {
	int at_s;
	const char *source, *line;
	const char *want; /* what is said now, lines joined by '|' */
	uint64_t held;    /* in all of this test, afterwards */
} steps[] = {
	{0, "a", "one", "one", 0},
	{1, "a", "one", "", 1},
	{2, "a", "two", "two", 1},
	{3, "a", "one", "", 2},
	{3, "b", "one", "one", 2}, /* each source by itself */
	{59, "a", "one", "", 3},
	{60, "", "", "one (repeated 3 times)", 3},
	{61, "", "", "", 3},
	{119, "a", "one", "", 4},
	{120, "a", "one", "one (repeated 1 time)", 5},
	{300, "", "", "one (repeated 1 time)", 5},
	{301, "a", "one", "", 6},
	{500, "a", "one", "one (repeated 1 time)", 7},
};

static int out, in;
static struct neap_log log_to;

static void take(char *said, size_t size)
{
	ssize_t n = read(in, said, size - 1);
	char *to = said;

	said[n > 0 ? n : 0] = '\0';
	for (char *line = said; *line;) { /* without time and level */
		char *end = strchr(line, '\n'), *text = strstr(line, ": ");

		assert_true(end && text && text < end);
		if (to != said)
			*to++ = '|';
		memmove(to, text + 2, (size_t)(end - text - 2));
		to += end - text - 2;
		line = end + 1;
	}
	*to = '\0';
}

static int open_pipe(void **state)
{
	int fds[2];

	(void)state;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	in = fds[0];
	out = fds[1];
	log_to = (struct neap_log){out, NEAP_LOG_INFO, NEAP_LOG_TEXT, "neapd"};
	return 0;
}

static int close_pipe(void **state)
{
	(void)state;
	close(in);
	close(out);
	return 0;
}

static void test_steps(void **state)
{
	static char said[65536];
	uint64_t before = neap_log_held();

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(steps); i++) {
		const struct step *step = &steps[i];

		if (step->source[0])
			neap_log_from_at(&log_to, step->at_s * SECOND, step->source,
					 NEAP_LOG_WARN, step->line);
		else
			neap_log_tell_held_at(&log_to, step->at_s * SECOND);
		take(said, sizeof(said));
		if (strcmp(said, step->want) != 0 ||
		    neap_log_held() - before != step->held)
			fail_msg("step %zu at %d s: said '%s', %llu held", i, step->at_s,
				 said, (unsigned long long)(neap_log_held() - before));
	}
}

static void test_a_minute(void **state)
{
	int64_t start = 10000 * SECOND;
	static char said[65536];
	char line[40];
	size_t lines = 1;

	(void)state;
	for (int i = 0; i < 3 * NEAP_LOG_A_MINUTE; i++) {
		(void)snprintf(line, sizeof(line), "number %d", i);
		neap_log_from_at(&log_to, start + i, "many", NEAP_LOG_INFO, line);
	}
	take(said, sizeof(said));
	for (const char *at = said; (at = strchr(at, '|')); at++)
		lines++;
	assert_int_equal(lines, NEAP_LOG_A_MINUTE);
	neap_log_tell_held_at(&log_to, start + 60 * SECOND);
	take(said, sizeof(said));
	assert_non_null(
		strstr(said, "many: 120 lines left out: at most 60 a minute are said"));
	neap_log_from_at(&log_to, start + 61 * SECOND, "many", NEAP_LOG_INFO, "again");
	take(said, sizeof(said));
	assert_string_equal(said, "again");
}

/* Whoever brings them about, and however they differ: a kind of line has so many a
 * minute. */
static void test_a_kind(void **state)
{
	static char said[256 * 1024];
	uint64_t before = neap_log_held();
	int lines = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		neap_log_line(&log_to, NEAP_LOG_WARN, "peer %d: refused", i);
		take(said, sizeof(said));
		lines += *said != '\0';
	}
	assert_int_equal(lines, NEAP_LOG_KIND_A_MINUTE);
	assert_int_equal(neap_log_held() - before, 1000 - NEAP_LOG_KIND_A_MINUTE);
	neap_log_line(&log_to, NEAP_LOG_WARN, "another kind");
	take(said, sizeof(said));
	assert_string_equal(said, "another kind");
	neap_log_tell_held_at(&log_to, neap_clock_usec(CLOCK_MONOTONIC) + 61 * SECOND);
	take(said, sizeof(said));
	assert_string_equal(said,
			    "760 lines left out, at most 240 of a kind a minute are "
			    "said: peer %d: refused");
}

/* More sources than are remembered: what the oldest owes is told when it has to go. */
static void test_many_sources(void **state)
{
	int64_t start = 20000 * SECOND;
	static char said[65536];
	char name[40];

	(void)state;
	for (int i = 0; i < 2; i++)
		neap_log_from_at(&log_to, start, "first", NEAP_LOG_INFO, "x");
	for (int i = 1; i < 200; i++) {
		(void)snprintf(name, sizeof(name), "source %d", i);
		neap_log_from_at(&log_to, start + i, name, NEAP_LOG_INFO, "y");
	}
	take(said, sizeof(said));
	assert_non_null(strstr(said, "x (repeated 1 time)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_a_minute),
		cmocka_unit_test(test_a_kind),
		cmocka_unit_test(test_many_sources),
	};

	return cmocka_run_group_tests(tests, open_pipe, close_pipe);
}
