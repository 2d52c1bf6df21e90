/* SPDX-License-Identifier: Apache-2.0
 *
 * A limit on lines of one kind per minute, whatever the source, so that no client, pod or
 * peer can fill the disk. The kind is the line's format string. */
#include <pthread.h>
#include <stdio.h>

#include "engine/log/log_priv.h"

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

bool log_kind_may(const struct neap_log *log, int64_t now_usec, const char *fmt)
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
