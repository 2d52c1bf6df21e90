/* SPDX-License-Identifier: Apache-2.0
 *
 * The log beside the store's file, FILE-wal, as SQLite writes it. SQLite reads it up to the first frame that is not
 * right, which is how a write that a power cut tore looks; so it would take a damaged frame for the end, and forget
 * durable writes behind it. */
#ifndef NEAP_API_STORE_LOG_H
#define NEAP_API_STORE_LOG_H

#include "engine/base/error.h"

/* NEAP_EINVAL, with what to do: a frame is damaged, and not the last write, as two commits lie behind where the log
 * breaks. One of them may be of the write that was torn: SQLite begins no other before the one is synced. No log, an
 * empty one: 0. Before SQLite opens the file, which could remove the log. Format: https://sqlite.org/fileformat2.html,
 * 4 */
int neap_store_log_check(const char *file, struct neap_error *err);

#endif
