/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the log: log.c writes, log_from.c holds lines back. */
#ifndef NEAP_ENGINE_LOG_LOG_PRIV_H
#define NEAP_ENGINE_LOG_LOG_PRIV_H

#include "engine/log/log.h"

/* Writes a line without any rate limit. */
void log_write(const struct neap_log *log, enum neap_log_level level,
	       const char *message);
/* Logs how many lines were dropped in minutes that have ended. */
void log_kind_tell(const struct neap_log *log, int64_t now_usec);
uint64_t log_kind_held(void);

#endif
