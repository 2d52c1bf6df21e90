/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of what reads what containers printed: files as shims write them, and
 * readers. */
#ifndef NEAP_T_LIB_LOG_FILES_H
#define NEAP_T_LIB_LOG_FILES_H

#include "api/kube/log/log_read.h"
#include "engine/base/buf.h"

/* Times and lines of the first seconds of 2026-11-22. */
#define T(n)       "2026-11-22T00:00:0" #n ".000000000Z"
#define F(n, text) T(n) " stdout F " text "\n"
#define P(n, text) T(n) " stderr P " text "\n"

/* "dir/name" */
void log_file_at(char *buf, size_t size, const char *dir, const char *name);
/* Makes a file, or with is_more adds to it. */
void log_file_write(const char *dir, const char *name, const char *text, bool is_more);
void log_file_move(const char *dir, const char *from, const char *to);
/* Removes all files; is_all: the folder, too. */
void log_files_clear(const char *dir, bool is_all);
struct neap_log_read *log_read_open(const char *dir, const struct neap_log_wish *wish);
/* Steps until it waits or ends; the state. */
int log_read_drain(struct neap_log_read *read, struct neap_buf *to);

#endif
