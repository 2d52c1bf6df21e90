/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the log share: log.c writes, log_from.c and log_kind.c hold back. */
#ifndef NEAP_ENGINE_BASE_LOG_PRIV_H
#define NEAP_ENGINE_BASE_LOG_PRIV_H

#include "engine/base/log.h"

/* A line, whatever was said before. */
void log_write(const struct neap_log *log, enum neap_log_level level,
	       const char *message);
/* Whether a line of this format is to be said now; else it is counted. fmt must stay. */
bool log_kind_may(const struct neap_log *log, int64_t now_usec, const char *fmt);
/* Says what was left out in minutes that are over. */
void log_kind_tell(const struct neap_log *log, int64_t now_usec);
uint64_t log_kind_held(void);

#endif
