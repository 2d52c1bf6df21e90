/* SPDX-License-Identifier: Apache-2.0
 *
 * A backup: lines of JSON. First what it is, then each object, last how many they are and a digest of all
 * lines before, so that a file that was cut or changed is known. The format is in doc/internals/store.md. */
#ifndef NEAP_API_STORE_BACKUP_H
#define NEAP_API_STORE_BACKUP_H

#include "api/store/replace.h"

/* One line: an object, and what stands around it. */
#define NEAP_BACKUP_LINE_MAX ((size_t)2 * 1024 * 1024)

struct neap_backup;

/* Takes a snapshot of the store. now: Unix microseconds, for the reader. */
int neap_backup_new(struct neap_store *store, int64_t now_usec, struct neap_backup **ret,
		    struct neap_error *err);
/* Adds whole lines until out has want bytes or more: 1. 0 when the last one was among them. */
int neap_backup_next(struct neap_backup *backup, struct neap_buf *out, size_t want,
		     struct neap_error *err);
size_t neap_backup_objects(const struct neap_backup *backup);
int64_t neap_backup_version(const struct neap_backup *backup);
void neap_backup_free(struct neap_backup *backup);

struct neap_backup_reader;

/* What is read is added to replace, which is borrowed; NULL: it is only read. */
int neap_backup_reader_new(struct neap_store_replace *replace,
			   struct neap_backup_reader **ret, struct neap_error *err);
/* The next bytes, cut anywhere. NEAP_EINVAL names the line, NEAP_EUNSUPPORTED is a newer format; after an
 * error nothing more is taken. */
int neap_backup_reader_feed(struct neap_backup_reader *reader, const char *bytes,
			    size_t len, struct neap_error *err);
/* Whether it was whole. *ret_version: of the store when the backup was made. */
int neap_backup_reader_end(struct neap_backup_reader *reader, int64_t *ret_version,
			   struct neap_error *err);
/* Of those read so far. */
size_t neap_backup_reader_objects(const struct neap_backup_reader *reader);
void neap_backup_reader_free(struct neap_backup_reader *reader);

#endif
