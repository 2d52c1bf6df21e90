/* SPDX-License-Identifier: Apache-2.0
 *
 * Log lines to one descriptor. Only api/ and the hand log; library folders return errors. One
 * write(2) a line, so that lines of two processes do not mix. What acts on terminals is escaped (utf8.h). */
#ifndef NEAP_ENGINE_BASE_LOG_H
#define NEAP_ENGINE_BASE_LOG_H

#include "engine/base/error.h"

enum neap_log_level { NEAP_LOG_ERROR, NEAP_LOG_WARN, NEAP_LOG_INFO, NEAP_LOG_DEBUG };
enum neap_log_format { NEAP_LOG_TEXT, NEAP_LOG_JSON };

struct neap_log {
	int fd;
	enum neap_log_level level;
	enum neap_log_format format;
	const char *program; /* "neapd", "neap-hand" */
};

int neap_log_level_parse(const char *text, enum neap_log_level *ret,
			 struct neap_error *err);
int neap_log_format_parse(const char *text, enum neap_log_format *ret,
			  struct neap_error *err);
/* From now on, for every log of this process, in place of its own level and format: settings can
 * change while copies of a log are about. */
void neap_log_override(enum neap_log_level level, enum neap_log_format format);
/* From now on every line begins with its priority as <N> for the journal, in text without time and level,
 * which the journal has itself. */
void neap_log_set_journal(bool is);
bool neap_log_is_journal(void);
/* Of lines with one fmt, which must be a literal, at most NEAP_LOG_KIND_A_MINUTE a minute are said; then how many
 * were left out. Those of level debug are not counted: who asks for them wants all. */
#define NEAP_LOG_KIND_A_MINUTE 240
void neap_log_line(const struct neap_log *log, enum neap_log_level level, const char *fmt,
		   ...) NEAP_PRINTF(3, 4);

/* --- lines that somebody else brings about --- */

#define NEAP_LOG_A_MINUTE 60 /* lines of one source */

/* As neap_log_line, for what a policy, a pod or a peer can bring about again and again. source names who it is
 * ("policy qos/half"). The same line again within a minute is held back and then told with its count, "... (repeated 57
 * times)"; of one source at most NEAP_LOG_A_MINUTE lines a minute are said. Any thread. */
void neap_log_from(const struct neap_log *log, const char *source,
		   enum neap_log_level level, const char *fmt, ...) NEAP_PRINTF(4, 5);
/* Says what was held back and is due: to be called now and then, as its source may be silent from now on. */
void neap_log_tell_held(const struct neap_log *log);
/* Lines that were held back since the start. */
uint64_t neap_log_held(void);
/* The same at a given time (monotonic), for tests. */
void neap_log_from_at(const struct neap_log *log, int64_t now_usec, const char *source,
		      enum neap_log_level level, const char *text);
void neap_log_tell_held_at(const struct neap_log *log, int64_t now_usec);

#endif
