/* SPDX-License-Identifier: Apache-2.0
 *
 * The log beside the store's file, FILE-wal, written by SQLite. SQLite reads it up to the
 * first invalid frame, which is what a write torn by a power cut looks like; so it would
 * take a damaged frame for the end and drop durable writes after it. */
#ifndef NEAP_API_STORE_LOG_H
#define NEAP_API_STORE_LOG_H

#include "engine/base/error.h"

/* Call it before SQLite opens the file, which could remove the log. NEAP_EINVAL, with
 * what to do, when a frame is damaged that is not the last write: two commits follow the
 * break, and at most one can be a torn write, because SQLite starts no further commit
 * before one is synced. Returns 0 for a missing or empty log. Format:
 * https://sqlite.org/fileformat2.html, 4 */
int neap_store_log_check(const char *file, struct neap_error *err);

#endif
