/* SPDX-License-Identifier: Apache-2.0
 *
 * Rate limits for lines that others can cause: a repeated line is logged once a minute
 * with its count, and a source has a number of lines per minute. One table per process;
 * the source that was silent longest gives its row to a new one. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/log/log_priv.h"

#define SOURCES     64
#define REMEMBERED  8 /* different lines of a source */
#define TEXT        256
#define WINDOW_USEC INT64_C(60000000)

struct said {
	uint64_t hash; /* of the whole line; 0: none */
	int64_t usec;  /* when it was said */
	uint32_t more; /* times that it came since then */
	enum neap_log_level level;
	char text[TEXT]; /* its beginning */
};

struct source {
	uint64_t hash;
	int64_t heard_usec, window_usec; /* last line, begin of this minute */
	uint32_t lines, left_out;        /* in it */
	char name[96];
	struct said said[REMEMBERED];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct source sources[SOURCES]; /* under lock */
static uint64_t held;                  /* under lock */

/* FNV-1a, never 0. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash | 1;
}

static void tell_more(const struct neap_log *log, struct said *said, int64_t now)
{
	char text[TEXT + 64];

	if (!said->more)
		return;
	(void)snprintf(text, sizeof(text), "%s (repeated %u time%s)", said->text,
		       said->more, said->more == 1 ? "" : "s");
	log_write(log, said->level, text);
	said->more = 0;
	said->usec = now;
}

static void tell_left_out(const struct neap_log *log, struct source *source)
{
	char text[256];

	if (source->left_out) {
		(void)snprintf(text, sizeof(text),
			       "%s: %u lines left out: at most %d a minute are said",
			       source->name, source->left_out, NEAP_LOG_A_MINUTE);
		log_write(log, NEAP_LOG_WARN, text);
	}
	source->left_out = source->lines = 0;
}

/* Reports what is due, or everything. */
static void tell_source(const struct neap_log *log, struct source *source, int64_t now,
			bool is_all)
{
	for (size_t i = 0; i < REMEMBERED; i++)
		if (is_all || now - source->said[i].usec >= WINDOW_USEC)
			tell_more(log, &source->said[i], now);
	if (is_all || now - source->window_usec >= WINDOW_USEC) {
		tell_left_out(log, source);
		source->window_usec = now;
	}
}

static struct source *find(const struct neap_log *log, const char *name, int64_t now)
{
	uint64_t hash = hash_of(name);
	struct source *oldest = &sources[0];

	for (size_t i = 0; i < SOURCES; i++) {
		if (sources[i].hash == hash)
			return &sources[i];
		if (sources[i].heard_usec < oldest->heard_usec)
			oldest = &sources[i];
	}
	if (oldest->hash)
		tell_source(log, oldest, now, true);
	memset(oldest, 0, sizeof(*oldest));
	oldest->hash = hash;
	oldest->window_usec = now;
	(void)neap_strcopy(oldest->name, sizeof(oldest->name), name); /* cut is fine */
	neap_utf8_trim(oldest->name);
	return oldest;
}

/* Whether the line is to be said now; else it is counted. */
static bool is_due(const struct neap_log *log, struct source *source,
		   enum neap_log_level level, const char *text, int64_t now)
{
	uint64_t hash = hash_of(text);
	struct said *place = &source->said[0];

	tell_source(log, source, now, false);
	source->heard_usec = now;
	for (size_t i = 0; i < REMEMBERED; i++) {
		struct said *said = &source->said[i];

		if (said->hash == hash && now - said->usec < WINDOW_USEC) {
			said->more++;
			return false;
		}
		if (said->hash == hash || (place->hash != hash && place->hash &&
					   (!said->hash || said->usec < place->usec)))
			place = said;
	}
	if (source->lines >= NEAP_LOG_A_MINUTE) {
		source->left_out++;
		return false;
	}
	source->lines++;
	if (place->hash != hash)
		tell_more(log, place, now);
	place->hash = hash;
	place->usec = now;
	place->level = level;
	(void)neap_strcopy(place->text, sizeof(place->text), text); /* cut is fine */
	neap_utf8_trim(place->text);
	return true;
}

void neap_log_from_at(const struct neap_log *log, int64_t now_usec, const char *source,
		      enum neap_log_level level, const char *text)
{
	bool is_said;

	(void)pthread_mutex_lock(&lock);
	is_said = is_due(log, find(log, source, now_usec), level, text, now_usec);
	held += !is_said;
	(void)pthread_mutex_unlock(&lock);
	if (is_said)
		log_write(log, level, text);
}

void neap_log_from(const struct neap_log *log, const char *source,
		   enum neap_log_level level, const char *fmt, ...)
{
	char text[2048];
	va_list args;

	va_start(args, fmt);
	if (vsnprintf(text, sizeof(text), fmt, args) < 0)
		(void)snprintf(text, sizeof(text), "%s", fmt);
	va_end(args);
	neap_utf8_trim(text);
	neap_log_from_at(log, neap_clock_usec(CLOCK_MONOTONIC), source, level, text);
}

void neap_log_tell_held_at(const struct neap_log *log, int64_t now_usec)
{
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; i < SOURCES; i++)
		if (sources[i].hash)
			tell_source(log, &sources[i], now_usec, false);
	(void)pthread_mutex_unlock(&lock);
	log_kind_tell(log, now_usec);
}

void neap_log_tell_held(const struct neap_log *log)
{
	neap_log_tell_held_at(log, neap_clock_usec(CLOCK_MONOTONIC));
}

uint64_t neap_log_held(void)
{
	uint64_t count;

	(void)pthread_mutex_lock(&lock);
	count = held;
	(void)pthread_mutex_unlock(&lock);
	return count + log_kind_held();
}
