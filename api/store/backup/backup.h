/* SPDX-License-Identifier: Apache-2.0
 *
 * A backup: lines of JSON. The first describes it, then one line per object, and the last
 * has their number and a digest of all earlier lines, which reveals a cut or modified
 * file. Format: doc/internals/store.md. */
#ifndef NEAP_API_STORE_BACKUP_BACKUP_H
#define NEAP_API_STORE_BACKUP_BACKUP_H

#include "api/store/replace.h"

/* Limit of a line: an object with its envelope. */
#define NEAP_BACKUP_LINE_MAX ((size_t)2 * 1024 * 1024)

struct neap_backup;

/* Takes a snapshot of the store. now: Unix microseconds, recorded for the reader. */
int neap_backup_new(struct neap_store *store, int64_t now_usec, struct neap_backup **ret,
		    struct neap_error *err);
/* Appends whole lines until out has at least want bytes: 1; 0 when the last line was
 * among them. */
int neap_backup_next(struct neap_backup *backup, struct neap_buf *out, size_t want,
		     struct neap_error *err);
size_t neap_backup_objects(const struct neap_backup *backup);
int64_t neap_backup_version(const struct neap_backup *backup);
void neap_backup_free(struct neap_backup *backup);

struct neap_backup_reader;

/* Objects that are read are added to replace, which is borrowed; NULL: only reads. */
int neap_backup_reader_new(struct neap_store_replace *replace,
			   struct neap_backup_reader **ret, struct neap_error *err);
/* Feeds the next bytes, cut anywhere. NEAP_EINVAL names the line; NEAP_EUNSUPPORTED: a
 * newer format. After an error nothing more is accepted. */
int neap_backup_reader_feed(struct neap_backup_reader *reader, const char *bytes,
			    size_t len, struct neap_error *err);
/* Returns whether the backup was complete. *ret_version: the store's version when it was
 * made. */
int neap_backup_reader_end(struct neap_backup_reader *reader, int64_t *ret_version,
			   struct neap_error *err);
/* Number of objects read so far. */
size_t neap_backup_reader_objects(const struct neap_backup_reader *reader);
void neap_backup_reader_free(struct neap_backup_reader *reader);

#endif
