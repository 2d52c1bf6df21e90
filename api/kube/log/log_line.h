/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of container logs in the form of hw/keeper/keeper.h:
 * "2026-11-22T00:00:00.000000000Z stdout F TEXT", with P instead of F when the next line
 * continues the text. Other lines are ignored. */
#ifndef NEAP_API_KUBE_LOG_LOG_LINE_H
#define NEAP_API_KUBE_LOG_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEAP_LOG_TIME 30 /* characters of a time */
/* Bytes examined at once; longer lines are ignored. */
#define NEAP_LOG_BLOCK ((size_t)64 * 1024)

struct neap_log_line {
	const char *time; /* NEAP_LOG_TIME characters */
	const char *text;
	size_t len; /* of text, without the end of line */
	bool is_part;
};

/* Filters lines on their way to a client. */
struct neap_log_filter {
	bool has_times;
	char since[NEAP_LOG_TIME + 1]; /* "": all; earlier lines are left out */
	int64_t left;                  /* bytes left to send; below 0: unlimited */
	bool is_within;                /* the last line was a partial one */
	bool is_before;                /* ... and is left out */
};

/* since_usec: Unix microseconds; 0 or less: all. */
void neap_log_filter_init(struct neap_log_filter *filter, bool has_times,
			  int64_t since_usec, int64_t limit_bytes);
/* Turns the complete lines in block into output, in place; returns its length, which is
 * never larger. Cuts at the limit. */
size_t neap_log_filter_take(struct neap_log_filter *filter, char *block, size_t len);
/* Returns whether the limit is reached. */
bool neap_log_filter_is_full(const struct neap_log_filter *filter);

/* The state of a backward search for the last lines. */
struct neap_log_tail {
	int64_t wanted, seen;
	bool has_begun; /* the last line was found */
};

/* block: complete lines, directly before those examined so far. True: the requested lines
 * start at *ret_at in block; false: more are before it. A line with its parts counts as
 * one, even if its end is still to come. */
bool neap_log_tail_take(struct neap_log_tail *tail, const char *block, size_t len,
			size_t *ret_at);

#endif
