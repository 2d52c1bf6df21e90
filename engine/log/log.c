/* SPDX-License-Identifier: Apache-2.0
 *
 * Log lines. A line is built on the stack, because running out of memory must be
 * loggable, and has at most PIPE_BUF bytes, up to which a pipe keeps the lines of two
 * processes apart. */
#include "engine/log/log.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/quantity.h"
#include "engine/base/utf8.h"
#include "engine/log/log_priv.h"

/* --- kinds ---
 *
 * A limit on lines of one kind per minute, whatever the source, so that no client, pod or
 * peer can fill the disk. The kind is the line's format string. */

#define KINDS       512 /* a power of two; over all formats of a process */
#define WINDOW_USEC INT64_C(60000000)

struct kind {
	const char *fmt;
	int64_t window_usec; /* begin of this minute */
	uint32_t lines, left_out;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kind kinds[KINDS + 1]; /* under lock; the last one: kinds without a slot */
static _Atomic uint64_t held;

static struct kind *find(const char *fmt)
{
	size_t start = ((uintptr_t)fmt >> 3 ^ (uintptr_t)fmt >> 12) % KINDS;

	for (size_t i = 0; i < KINDS; i++) {
		struct kind *kind = &kinds[(start + i) % KINDS];

		if (!kind->fmt)
			kind->fmt = fmt;
		if (kind->fmt == fmt)
			return kind;
	}
	kinds[KINDS].fmt = "";
	return &kinds[KINDS];
}

/* A minute is over: how many lines were left out in it is said. */
static void turn(const struct neap_log *log, struct kind *kind, int64_t now)
{
	char text[512];

	if (!kind->fmt || now - kind->window_usec < WINDOW_USEC)
		return;
	if (kind->left_out) {
		(void)snprintf(text, sizeof(text),
			       "%u lines left out, at most %d of a kind a minute are "
			       "said: %.300s",
			       kind->left_out, NEAP_LOG_KIND_A_MINUTE, kind->fmt);
		log_write(log, NEAP_LOG_WARN, text);
	}
	kind->window_usec = now;
	kind->lines = kind->left_out = 0;
}

/* Returns whether a line of this fmt may be written now; otherwise counts it. fmt must
 * stay valid. */
static bool log_kind_may(const struct neap_log *log, int64_t now_usec, const char *fmt)
{
	struct kind *kind;
	bool may;

	/* A handler of a signal may log amid another line. */
	if (pthread_mutex_trylock(&lock) != 0)
		return true;
	kind = find(fmt);
	turn(log, kind, now_usec);
	may = kind->lines < NEAP_LOG_KIND_A_MINUTE;
	kind->lines += may;
	kind->left_out += !may;
	held += !may;
	(void)pthread_mutex_unlock(&lock);
	return may;
}

void log_kind_tell(const struct neap_log *log, int64_t now_usec)
{
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; i <= KINDS; i++)
		turn(log, &kinds[i], now_usec);
	(void)pthread_mutex_unlock(&lock);
}

uint64_t log_kind_held(void)
{
	return held;
}

/* --- lines --- */

static const char *const levels[] = {"error", "warn", "info", "debug"};
static const int priorities[] = {3, 4, 6, 7}; /* of syslog(3), for the journal */

struct line {
	size_t len;
	char text[PIPE_BUF];
};

/* JSON has only two escapes: invalid characters have one that says so. Returns the bytes
 * at s; to stays "" when they can be written as they are. */
static size_t escape(const char *s, enum neap_log_format format,
		     char to[NEAP_UTF8_ESCAPE])
{
	size_t take = neap_utf8_escape(s, to);
	uint32_t code = 0;

	if (format == NEAP_LOG_TEXT)
		return take;
	if (*s == '"' || *s == '\\')
		(void)snprintf(to, NEAP_UTF8_ESCAPE, "\\%c", *s);
	if (to[0] == '\0' || strchr("ntr\"\\", to[1]))
		return take;
	if (!neap_utf8_next(s, SIZE_MAX, &code))
		code = 0xfffd;
	if (code < 0x10000)
		(void)snprintf(to, NEAP_UTF8_ESCAPE, "\\u%04x", (unsigned)code);
	else
		(void)snprintf(to, NEAP_UTF8_ESCAPE, "\\u%04x\\u%04x",
			       (unsigned)(0xd800 + ((code - 0x10000) >> 10)),
			       (unsigned)(0xdc00 + ((code - 0x10000) & 0x3ff)));
	return take;
}

/* Adds text with escapes and keeps back room for what must follow. */
static void add_escaped(struct line *line, const char *text, enum neap_log_format format,
			size_t keep_back)
{
	static const char cut[] = "...";
	size_t end = sizeof(line->text) - keep_back - (sizeof(cut) - 1);

	for (const char *s = text; *s;) {
		char esc[NEAP_UTF8_ESCAPE];
		size_t take = escape(s, format, esc);
		size_t len = esc[0] ? strlen(esc) : take;
		const void *from = esc[0] ? esc : s;

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

/* The journal takes a level from <N> and has the time itself; its lines bear the name of
 * the program that was started, neapd, so that only others are named. */
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

static bool is_said(const struct neap_log *log, enum neap_log_level level)
{
	return log->fd >= 0 &&
	       level <= (override_level >= 0 ? (enum neap_log_level)override_level
					     : log->level);
}

void neap_log_line(const struct neap_log *log, enum neap_log_level level, const char *fmt,
		   ...)
{
	int saved = errno;
	char message[PIPE_BUF + 1];
	va_list args;

	if (!is_said(log, level) ||
	    (level != NEAP_LOG_DEBUG &&
	     !log_kind_may(log, neap_clock_usec(CLOCK_MONOTONIC), fmt)))
		return;
	va_start(args, fmt);
	if (vsnprintf(message, sizeof(message), fmt, args) < 0)
		(void)snprintf(message, sizeof(message), "%s", fmt);
	va_end(args);
	log_write(log, level, message);
	errno = saved;
}

void log_write(const struct neap_log *log, enum neap_log_level level, const char *message)
{
	int saved = errno;
	char when[32], mark[8] = "";
	enum neap_log_format format;
	struct line line;
	const char *tail;

	if (!is_said(log, level))
		return;
	format = override_format >= 0 ? (enum neap_log_format)override_format
				      : log->format;
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
