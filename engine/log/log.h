/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes log lines to one descriptor. Only api/ and the hand log; library folders return
 * errors. Each line is one write(2), so lines of two processes do not mix. Control
 * characters are escaped (utf8.h). */
#ifndef NEAP_ENGINE_LOG_LOG_H
#define NEAP_ENGINE_LOG_LOG_H

#include "engine/base/error.h"

enum neap_log_level { NEAP_LOG_ERROR, NEAP_LOG_WARN, NEAP_LOG_INFO, NEAP_LOG_DEBUG };
enum neap_log_format { NEAP_LOG_TEXT, NEAP_LOG_JSON };

struct neap_log {
	int fd;
	enum neap_log_level level;
	enum neap_log_format format;
	const char *program; /* "neapd", "neap-hand" */
};

/* Replaces level and format for every log of this process from now on, including copies
 * made earlier. */
void neap_log_override(enum neap_log_level level, enum neap_log_format format);
/* When set, each line starts with its priority as <N> for the journal; text lines then
 * omit level and time, which the journal adds itself. */
void neap_log_set_journal(bool is);
bool neap_log_is_journal(void);
/* Lines with the same fmt (a string literal) per minute; further ones are only counted,
 * and the count is logged later. Debug lines are not limited. */
#define NEAP_LOG_KIND_A_MINUTE 240
void neap_log_line(const struct neap_log *log, enum neap_log_level level, const char *fmt,
		   ...) NEAP_PRINTF(3, 4);

/* --- lines that somebody else brings about --- */

#define NEAP_LOG_A_MINUTE 60 /* lines of one source */

/* Like neap_log_line, for events that a policy, pod or peer can repeat at will. source
 * names the origin ("policy qos/half"). A line repeated within a minute is held back and
 * logged later with its count, "... (repeated 57 times)"; a source may log at most
 * NEAP_LOG_A_MINUTE lines a minute. Callable from any thread. */
void neap_log_from(const struct neap_log *log, const char *source,
		   enum neap_log_level level, const char *fmt, ...) NEAP_PRINTF(4, 5);
/* Logs counts of held-back lines that are due. Call it from time to time, because the
 * source itself may stay silent. */
void neap_log_tell_held(const struct neap_log *log);
/* Returns the number of lines held back since the start. */
uint64_t neap_log_held(void);
/* The same at a given monotonic time, for tests. */
void neap_log_from_at(const struct neap_log *log, int64_t now_usec, const char *source,
		      enum neap_log_level level, const char *text);
void neap_log_tell_held_at(const struct neap_log *log, int64_t now_usec);

#endif
