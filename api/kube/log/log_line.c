/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/log/log_line.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/quantity.h"

/* After the time: " stdout F" and a blank, then the text. */
#define STREAM_AT (NEAP_LOG_TIME + 1)
#define TAG_AT    (STREAM_AT + 7)
#define TEXT_AT   (TAG_AT + 2)

static bool is_time(const char *text)
{
	static const char shape[] = "0000-00-00T00:00:00.000000000Z";

	for (size_t i = 0; i < NEAP_LOG_TIME; i++)
		if (shape[i] == '0' ? text[i] < '0' || text[i] > '9'
				    : text[i] != shape[i])
			return false;
	return true;
}

/* line: len bytes, without its end. The result points into it. */
static bool neap_log_line_parse(const char *line, size_t len, struct neap_log_line *ret)
{
	if (len <= TAG_AT || !is_time(line) || line[NEAP_LOG_TIME] != ' ' ||
	    (memcmp(line + STREAM_AT, "stdout ", 7) != 0 &&
	     memcmp(line + STREAM_AT, "stderr ", 7) != 0) ||
	    (line[TAG_AT] != 'F' && line[TAG_AT] != 'P') ||
	    (len > TAG_AT + 1 && line[TAG_AT + 1] != ' '))
		return false;
	*ret = (struct neap_log_line){
		.time = line,
		.text = line + (len > TEXT_AT ? TEXT_AT : len),
		.len = len > TEXT_AT ? len - TEXT_AT : 0,
		.is_part = line[TAG_AT] == 'P',
	};
	return true;
}

void neap_log_filter_init(struct neap_log_filter *filter, bool has_times,
			  int64_t since_usec, int64_t limit_bytes)
{
	char text[32];

	*filter = (struct neap_log_filter){.has_times = has_times, .left = limit_bytes};
	if (since_usec <= 0 || !neap_time_format(since_usec, 6, text, sizeof(text)))
		return;
	/* In the format of lines, so that times compare as texts. */
	text[strlen(text) - 1] = '\0';
	(void)snprintf(filter->since, sizeof(filter->since), "%s000Z", text);
}

static size_t line_take(struct neap_log_filter *filter, const char *at, size_t len,
			char *to)
{
	struct neap_log_line line;
	size_t made = 0;

	if (!neap_log_line_parse(at, len, &line))
		return 0;
	if (!filter->is_within)
		filter->is_before =
			memcmp(line.time, filter->since, strlen(filter->since)) < 0;
	/* Output is shorter than its input, and overwrites only what was read. */
	if (!filter->is_before) {
		if (filter->has_times && !filter->is_within) {
			memmove(to, line.time, NEAP_LOG_TIME);
			to[NEAP_LOG_TIME] = ' ';
			made = NEAP_LOG_TIME + 1;
		}
		memmove(to + made, line.text, line.len);
		made += line.len;
		if (!line.is_part)
			to[made++] = '\n';
	}
	filter->is_within = line.is_part;
	return made;
}

size_t neap_log_filter_take(struct neap_log_filter *filter, char *block, size_t len)
{
	size_t at = 0, made = 0;

	while (at < len && !neap_log_filter_is_full(filter)) {
		const char *end = memchr(block + at, '\n', len - at);
		size_t line_len = end ? (size_t)(end - block) - at : len - at;
		size_t n = line_take(filter, block + at, line_len, block + made);

		at += line_len + 1;
		if (filter->left >= 0 && (int64_t)n > filter->left)
			n = (size_t)filter->left;
		if (filter->left >= 0)
			filter->left -= (int64_t)n;
		made += n;
	}
	return made;
}

bool neap_log_filter_is_full(const struct neap_log_filter *filter)
{
	return filter->left == 0;
}

bool neap_log_tail_take(struct neap_log_tail *tail, const char *block, size_t len,
			size_t *ret_at)
{
	size_t end = len; /* after a line's end, or 0 */

	while (end > 0) {
		const char *before = end > 1 ? memrchr(block, '\n', end - 1) : NULL;
		size_t at = before ? (size_t)(before + 1 - block) : 0;
		struct neap_log_line line;

		if (neap_log_line_parse(block + at, end - 1 - at, &line) &&
		    (!line.is_part || !tail->has_begun)) {
			if (tail->seen == tail->wanted) {
				*ret_at = end;
				return true;
			}
			tail->seen++;
			tail->has_begun = true;
		}
		end = at;
	}
	return false;
}
