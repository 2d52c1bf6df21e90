/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of what a container printed, as hw/keeper/keeper.h says: "2026-11-22T00:00:00.000000000Z stdout F TEXT", P
 * in place of F where the next line goes on with the text. A line that is none of these counts for nothing. */
#ifndef NEAP_API_KUBE_LOG_LOG_LINE_H
#define NEAP_API_KUBE_LOG_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEAP_LOG_TIME 30 /* characters of a time */
/* What is looked at at once; a longer line is none. */
#define NEAP_LOG_BLOCK ((size_t)64 * 1024)

struct neap_log_line {
	const char *time; /* NEAP_LOG_TIME characters */
	const char *text;
	size_t len; /* of text, without an end of line */
	bool is_part;
};

/* line: len bytes, without its end. Points into it. */
bool neap_log_line_parse(const char *line, size_t len, struct neap_log_line *ret);

/* What lines become on their way to a client. */
struct neap_log_filter {
	bool has_times;
	char since[NEAP_LOG_TIME + 1]; /* "": all; what was printed before is left out */
	int64_t left;                  /* bytes that may still go; below 0: all */
	bool is_within;                /* the last line was a part */
	bool is_before;                /* ... of something that is left out */
};

/* since_usec: Unix microseconds; 0 or less: all. */
void neap_log_filter_init(struct neap_log_filter *filter, bool has_times,
			  int64_t since_usec, int64_t limit_bytes);
/* Makes the text of the whole lines (each with its end) in block, in place; returns its length, which is never more.
 * What is over the limit is cut off. */
size_t neap_log_filter_take(struct neap_log_filter *filter, char *block, size_t len);
/* The limit is reached. */
bool neap_log_filter_is_full(const struct neap_log_filter *filter);

/* How far a look for the last lines got. */
struct neap_log_tail {
	int64_t wanted, seen;
	bool has_begun; /* the last line was seen */
};

/* Whole lines, the last ones that were not looked at. True: *ret_at is where in block the wanted lines begin;
 * false: there are more of them before it. A line with its parts counts as one, also when its end is still to
 * come. */
bool neap_log_tail_take(struct neap_log_tail *tail, const char *block, size_t len,
			size_t *ret_at);

#endif
