/* SPDX-License-Identifier: Apache-2.0
 *
 * Log lines. A line is built on the stack, as running out of memory must be loggable, and is at
 * most PIPE_BUF long, as only up to there a pipe keeps lines of two processes apart. */
#include "engine/base/log.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/quantity.h"
#include "engine/base/utf8.h"

static const char *const levels[] = {"error", "warn", "info", "debug"};
static const int priorities[] = {3, 4, 6, 7}; /* of syslog(3), for the journal */
static const char *const formats[] = {"text", "json"};

struct line {
	size_t len;
	char text[PIPE_BUF];
};

static int find_name(const char *const names[], size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], text))
			return (int)i;
	return -1;
}

int neap_log_level_parse(const char *text, enum neap_log_level *ret,
			 struct neap_error *err)
{
	int i = find_name(levels, NEAP_ARRAY_LEN(levels), text);

	if (i < 0)
		return neap_error_set(
			err, NEAP_EINVAL,
			"unknown log level '%.40s': use error, warn, info or debug",
			text);
	*ret = (enum neap_log_level)i;
	return 0;
}

int neap_log_format_parse(const char *text, enum neap_log_format *ret,
			  struct neap_error *err)
{
	int i = find_name(formats, NEAP_ARRAY_LEN(formats), text);

	if (i < 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "unknown log format '%.40s': use text or json",
				      text);
	*ret = (enum neap_log_format)i;
	return 0;
}

/* Length of the UTF-8 character at s, 0 if there is none or it is a control character. */
static size_t printable(const unsigned char *s)
{
	uint32_t code;
	/* The NUL at the end is no continuation, so no byte behind it is looked at. */
	size_t len = neap_utf8_next((const char *)s, SIZE_MAX, &code);

	/* Terminals obey the C1 characters as well; line separators end a line for some readers. */
	if (len == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 ||
	    code == 0x2029)
		return 0;
	return len;
}

/* One byte that may not stand as it is. Returns the length of the escape. */
static size_t escape(unsigned char c, enum neap_log_format format, char to[8])
{
	static const char from[] = "\n\t\r", name[] = "ntr";
	const char *at = c ? strchr(from, c) : NULL;

	if (at)
		return (size_t)snprintf(to, 8, "\\%c", name[at - from]);
	if (format == NEAP_LOG_TEXT)
		return (size_t)snprintf(to, 8, "\\x%02x", c);
	return (size_t)snprintf(to, 8, c < 0x80 ? "\\u%04x" : "\\ufffd", c);
}

/* Adds text with escapes and keeps back room for what must follow. */
static void add_escaped(struct line *line, const char *text, enum neap_log_format format,
			size_t keep_back)
{
	static const char cut[] = "...";
	size_t end = sizeof(line->text) - keep_back - (sizeof(cut) - 1);

	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		size_t take = printable(s), len = take;
		char esc[8];
		const void *from = s;

		if (!take || (format == NEAP_LOG_JSON && (*s == '"' || *s == '\\'))) {
			len = take ? (size_t)snprintf(esc, sizeof(esc), "\\%c", *s)
				   : escape(*s, format, esc);
			take = 1;
			from = esc;
		}
		if (line->len + len > end) {
			memcpy(line->text + line->len, cut, sizeof(cut) - 1);
			line->len += sizeof(cut) - 1;
			return;
		}
		memcpy(line->text + line->len, from, len);
		line->len += len;
		s += take;
	}
}

static void add(struct line *line, const char *text)
{
	size_t len = strnlen(text, sizeof(line->text) - line->len);

	memcpy(line->text + line->len, text, len);
	line->len += len;
}

static _Atomic bool is_journal;

void neap_log_set_journal(bool is)
{
	is_journal = is;
}

bool neap_log_is_journal(void)
{
	return is_journal;
}

/* The journal takes a level from <N> and has the time itself; its lines bear the name of the program that
 * was started, neapd, so that only others are named. */
static size_t begin_text(const struct neap_log *log, enum neap_log_level level,
			 const char *when, char *text, size_t size)
{
	if (!is_journal)
		return (size_t)snprintf(text, size, "%s %.32s %s: ", when, log->program,
					levels[level]);
	if (strcmp(log->program, "neapd") == 0)
		return (size_t)snprintf(text, size, "<%d>", priorities[level]);
	return (size_t)snprintf(text, size, "<%d>%.32s: ", priorities[level],
				log->program);
}

static _Atomic int override_level = -1, override_format = -1;

void neap_log_override(enum neap_log_level level, enum neap_log_format format)
{
	override_level = (int)level;
	override_format = (int)format;
}

void neap_log_line(const struct neap_log *log, enum neap_log_level level, const char *fmt,
		   ...)
{
	int saved = errno;
	char message[PIPE_BUF + 1], when[32], mark[8] = "";
	enum neap_log_format format;
	struct line line;
	const char *tail;
	va_list args;

	if (level > (override_level >= 0 ? (enum neap_log_level)override_level
					 : log->level) ||
	    log->fd < 0)
		return;
	format = override_format >= 0 ? (enum neap_log_format)override_format
				      : log->format;
	va_start(args, fmt);
	if (vsnprintf(message, sizeof(message), fmt, args) < 0)
		(void)snprintf(message, sizeof(message), "%s", fmt);
	va_end(args);

	neap_time_format(neap_clock_usec(CLOCK_REALTIME), 0, when, sizeof(when));
	if (format == NEAP_LOG_JSON) {
		tail = "\"}\n";
		if (is_journal)
			(void)snprintf(mark, sizeof(mark), "<%d>", priorities[level]);
		line.len = (size_t)snprintf(line.text, 128,
					    "%s{\"time\":\"%s\",\"program\":\"%.32s\","
					    "\"level\":\"%s\",\"message\":\"",
					    mark, when, log->program, levels[level]);
	} else {
		tail = "\n";
		line.len = begin_text(log, level, when, line.text, 128);
	}
	add_escaped(&line, message, format, strlen(tail));
	add(&line, tail);

	while (write(log->fd, line.text, line.len) < 0 && errno == EINTR)
		;
	errno = saved; /* a line that cannot be written has nowhere to be reported */
}
