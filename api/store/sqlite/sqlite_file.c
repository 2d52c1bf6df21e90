/* SPDX-License-Identifier: Apache-2.0
 *
 * One table of objects by number, because lookups are answered from memory. Each row has
 * a checksum: SQLite detects damaged pages, but not a damaged value in a valid page. All
 * rows share a total, because a page can also lose a row or be outdated. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/store/log.h"
#include "api/store/sqlite/sqlite_file_priv.h"
#include "api/store/sqlite/sqlite_priv.h"
#include "api/store/sum.h"
#include "engine/base/mem.h"

static const char *const texts[NEAP_SQLITE_STATEMENTS] = {
	[NEAP_SQLITE_PUT] =
		"INSERT OR REPLACE INTO objects (id, resource, version, sum, meta, text) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[NEAP_SQLITE_DELETE] = "DELETE FROM objects WHERE id = ?1",
	[NEAP_SQLITE_SUM] = "SELECT sum FROM objects WHERE id = ?1",
	[NEAP_SQLITE_RESOURCE] =
		"INSERT OR IGNORE INTO resources (id, name, sum) VALUES (?1, ?2, ?3)",
	[NEAP_SQLITE_STATE] = "UPDATE state SET version = ?1, objects = ?2, digest = ?3, "
			      "sum = ?4 WHERE id = 1",
};

int neap_sqlite_damaged(const struct neap_sqlite_file *file, const char *what,
			struct neap_error *err)
{
	return neap_error_set(
		err, NEAP_EINVAL,
		"%s is damaged (%s): set it aside with neapd --new-store, start "
		"neapd, and restore a backup (neapctl restore FILE)",
		file->path, what);
}

/* Turns SQLite's code into the outcome of a call. */
int neap_sqlite_failed(const struct neap_sqlite_file *file, int code,
		       struct neap_error *err)
{
	const char *text = sqlite3_errmsg(file->db);

	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return neap_error_nomem(err);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_ERROR: /* cannot come from our statements on a sound file */
	case SQLITE_CONSTRAINT:
		return neap_sqlite_damaged(file, text, err);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return neap_error_set(err, NEAP_ECONFLICT,
				      "%s is in use by another process", file->path);
	case SQLITE_FULL:
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return neap_error_set(err, NEAP_EUNAVAILABLE, "%s: %s", file->path, text);
	case SQLITE_IOERR:
		/* After a failed sync the kernel forgets what it could not write, and a
		 * second one succeeds: nothing that it says can be believed. */
		if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC)
			return neap_error_set(
				err, NEAP_ESYS,
				"%s: the disk does not sync (%s): nothing is "
				"written any more until neapd is restarted",
				file->path, text);
		return neap_error_set(err, NEAP_EUNAVAILABLE, "%s: %s (%s)", file->path,
				      text, strerror(sqlite3_system_errno(file->db)));
	default:
		return neap_error_set(err, NEAP_EINTERNAL, "%s: %s (%d)", file->path,
				      text, code);
	}
}

int neap_sqlite_run(struct neap_sqlite_file *file, const char *sql,
		    struct neap_error *err)
{
	int code = sqlite3_exec(file->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : neap_sqlite_failed(file, code, err);
}

/* The one number that a query gives. */
int neap_sqlite_ask(struct neap_sqlite_file *file, const char *sql, int64_t *ret,
		    struct neap_error *err)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(file->db, sql, -1, &query, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(query);
	if (code == SQLITE_ROW)
		*ret = sqlite3_column_int64(query, 0);
	(void)sqlite3_finalize(query); /* returns the error of the step again */
	if (code == SQLITE_ROW)
		return 0;
	return code == SQLITE_DONE ? neap_sqlite_damaged(file, "a row is missing", err)
				   : neap_sqlite_failed(file, code, err);
}

static int prepare(struct neap_sqlite_file *file, struct neap_error *err)
{
	size_t i;

	for (i = 0; i < NEAP_SQLITE_STATEMENTS; i++) {
		int code = sqlite3_prepare_v3(file->db, texts[i], -1,
					      SQLITE_PREPARE_PERSISTENT,
					      &file->statements[i], NULL);

		if (code != SQLITE_OK)
			return neap_sqlite_failed(file, code, err);
	}
	return 0;
}

/* Resolves links in the path, except in the last part. From 3.39 on SQLITE_OPEN_NOFOLLOW
 * refuses a link anywhere in the path, but the place of the folder is the operator's
 * choice. */
static int real_path(const char *path, char *real, size_t size, struct neap_error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char folder[256], whole[PATH_MAX];

	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path);
	if (!realpath(name != path ? folder : ".", whole))
		return neap_error_sys(err, "%s", path);
	if (snprintf(real, size, "%s/%s", whole, name) >= (int)size)
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: the path is too long",
				      path);
	return 0;
}

static int open_file(struct neap_sqlite_file *file, const struct neap_sqlite_open *what,
		     int64_t *ret_version, struct neap_error *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
		    SQLITE_OPEN_NOFOLLOW;
	char real[PATH_MAX + sizeof(file->path)];
	int code, made;

	if (real_path(file->path, real, sizeof(real), err) < 0 ||
	    neap_store_log_check(file->path, err) < 0)
		return -(int)err->code;
	/* SQLite would let others read it; the log beside it gets the mode of the file.
	 * What cannot be made here SQLite cannot make either, and says why. */
	made = open(real, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (made >= 0)
		(void)close(made); /* nothing was written */
	code = sqlite3_open_v2(real, &file->db, flags, NULL);
	if (!file->db)
		return neap_error_nomem(err);
	if (code != SQLITE_OK)
		return neap_sqlite_failed(file, code, err);
	(void)sqlite3_extended_result_codes(file->db, 1); /* cannot fail on an open one */
	/* One process has it, so the index of the log can lie in its own memory. */
	if (neap_sqlite_run(file,
			    "PRAGMA locking_mode = EXCLUSIVE;"
			    "PRAGMA cell_size_check = ON;"
			    "PRAGMA journal_mode = WAL;"
			    "PRAGMA synchronous = FULL;"
			    "PRAGMA wal_autocheckpoint = 4000;"
			    "PRAGMA journal_size_limit = 33554432",
			    err) < 0 ||
	    neap_sqlite_migrate(file, what, err) < 0)
		return -(int)err->code;
	if (file->format < NEAP_SQLITE_FORMAT)
		return neap_sqlite_ask(file, "SELECT version FROM state WHERE id = 1",
				       ret_version, err);
	if (prepare(file, err) < 0)
		return -(int)err->code;
	return neap_sqlite_state(file, ret_version, err);
}

int neap_sqlite_file_open(const struct neap_sqlite_open *what,
			  struct neap_sqlite_file **ret, int64_t *ret_version,
			  struct neap_error *err)
{
	struct neap_sqlite_file *file = neap_alloc(sizeof(*file));
	int r;

	if (!file)
		return neap_error_nomem(err);
	r = neap_strcopy(file->path, sizeof(file->path), what->path)
		    ? open_file(file, what, ret_version, err)
		    : neap_error_set(err, NEAP_ETOOLARGE, "%s: the path is too long",
				     what->path);
	if (r < 0) {
		if (file->db)
			neap_sqlite_file_keep_log(file);
		neap_sqlite_file_close(file);
		return r;
	}
	*ret = file;
	return 0;
}

const char *neap_sqlite_file_id(const struct neap_sqlite_file *file)
{
	return file->id;
}

int neap_sqlite_file_format(const struct neap_sqlite_file *file)
{
	return (int)file->format;
}

void neap_sqlite_file_keep_log(struct neap_sqlite_file *file)
{
	int is_kept = 1;

	(void)sqlite3_file_control(file->db, "main", SQLITE_FCNTL_PERSIST_WAL, &is_kept);
}

void neap_sqlite_file_close(struct neap_sqlite_file *file)
{
	size_t i;

	if (!file)
		return;
	for (i = 0; i < NEAP_SQLITE_STATEMENTS; i++)
		(void)sqlite3_finalize(file->statements[i]);
	(void)sqlite3_close(file->db); /* whatever it says, there is nothing left to do */
	free(file);
}

/* --- commits --- */

static int neap_sqlite_file_begin(struct neap_sqlite_file *file, struct neap_error *err)
{
	/* One that could not be taken back for want of memory. */
	neap_sqlite_file_undo(file);
	file->pending = file->totals;
	return neap_sqlite_run(file, "BEGIN IMMEDIATE", err);
}

static int step(struct neap_sqlite_file *file, sqlite3_stmt *statement, int code,
		struct neap_error *err)
{
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	(void)sqlite3_reset(statement); /* returns the error of the step again */
	return code == SQLITE_DONE ? 0 : neap_sqlite_failed(file, code, err);
}

static int put_resource(struct neap_sqlite_file *file, const struct neap_sqlite_row *row,
			struct neap_error *err)
{
	sqlite3_stmt *statement = file->statements[NEAP_SQLITE_RESOURCE];
	int64_t sum = neap_sqlite_sum_resource(row->resource, row->resource_name);
	int code = sqlite3_bind_int64(statement, 1, row->resource);

	if (code == SQLITE_OK)
		code = sqlite3_bind_text(statement, 2, row->resource_name, -1,
					 SQLITE_STATIC);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(statement, 3, sum);
	if (step(file, statement, code, err) < 0)
		return -(int)err->code;
	/* None when another write of the resource has made it. */
	if (sqlite3_changes(file->db) > 0)
		file->pending.digest += (uint64_t)sum;
	return 0;
}

/* The row that was there does not count any more. */
static int take_off(struct neap_sqlite_file *file, const struct neap_sqlite_row *row,
		    struct neap_error *err)
{
	sqlite3_stmt *statement = file->statements[NEAP_SQLITE_SUM];
	int code = sqlite3_bind_int64(statement, 1, row->id);
	bool is_there;

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	is_there = code == SQLITE_ROW;
	if (is_there) {
		file->pending.digest -= (uint64_t)sqlite3_column_int64(statement, 0);
		file->pending.objects--;
	}
	(void)sqlite3_reset(statement); /* returns the error of the step again */
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return neap_sqlite_failed(file, code, err);
	if (is_there == row->is_there)
		return 0;
	return neap_sqlite_damaged(file,
				   is_there ? "a new row is there already"
					    : "a row is not where it was",
				   err);
}

static int neap_sqlite_file_put(struct neap_sqlite_file *file,
				const struct neap_sqlite_row *row, struct neap_error *err)
{
	const struct neap_object *object = row->object;
	sqlite3_stmt *statement =
		file->statements[object ? NEAP_SQLITE_PUT : NEAP_SQLITE_DELETE];
	int64_t sum = 0;
	int code;

	if ((row->resource_name && put_resource(file, row, err) < 0) ||
	    take_off(file, row, err) < 0)
		return -(int)err->code;
	code = sqlite3_bind_int64(statement, 1, row->id);
	if (!object)
		return step(file, statement, code, err);
	sum = neap_sqlite_sum_row(neap_sum_object(object), row->id, row->resource);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(statement, 2, row->resource);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(statement, 3, object->version);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(statement, 4, sum);
	if (code == SQLITE_OK)
		code = sqlite3_bind_blob(statement, 5, object->block,
					 (int)object->meta_len, SQLITE_STATIC);
	if (code == SQLITE_OK)
		code = sqlite3_bind_blob(statement, 6, object->text,
					 (int)object->text_len, SQLITE_STATIC);
	file->pending.digest += (uint64_t)sum;
	file->pending.objects++;
	return step(file, statement, code, err);
}

static int neap_sqlite_file_end(struct neap_sqlite_file *file, int64_t version,
				struct neap_error *err)
{
	sqlite3_stmt *statement = file->statements[NEAP_SQLITE_STATE];
	const struct neap_sqlite_totals *totals = &file->pending;
	int code = sqlite3_bind_int64(statement, 1, version);

	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(statement, 2, totals->objects);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(statement, 3, (int64_t)totals->digest);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(
			statement, 4, neap_sqlite_sum_state(file->id, version, totals));
	if (step(file, statement, code, err) < 0 ||
	    neap_sqlite_run(file, "COMMIT", err) < 0)
		return -(int)err->code;
	file->totals = file->pending;
	return 0;
}

void neap_sqlite_file_undo(struct neap_sqlite_file *file)
{
	if (sqlite3_get_autocommit(file->db) == 0)
		(void)sqlite3_exec(file->db, "ROLLBACK", NULL, NULL, NULL);
}

/* --- the commit thread ---
 *
 * The commit thread: takes everything queued as one group. After a failed group it waits
 * until the loop has taken back what was based on it. */

#define GROUP_MAX 4096

void neap_sqlite_poke(const struct sqlite_store *sqlite)
{
	uint64_t one = 1;

	/* Cannot block: nobody counts to the end of 64 bits. */
	if (write(sqlite->fd, &one, sizeof(one)) < 0)
		return;
}

/* The file was read with all its sums. This looks at the rest, which later rows would be
 * written into, and without delay for a start. */
static int check_file(struct sqlite_store *sqlite, struct neap_error *err)
{
	if (!sqlite->is_checked && neap_sqlite_file_check(sqlite->file, err) < 0)
		return -(int)err->code;
	sqlite->is_checked = true;
	return 0;
}

static int write_group(struct sqlite_store *sqlite, struct operations *group,
		       struct neap_error *err)
{
	struct operation *operation;
	int64_t version = 0;

	for (operation = STAILQ_FIRST(group); operation;
	     operation = STAILQ_NEXT(operation, next)) {
		if (!operation->is_write)
			continue;
		if (version == 0 && (check_file(sqlite, err) < 0 ||
				     neap_sqlite_file_begin(sqlite->file, err) < 0))
			return -(int)err->code;
		if (neap_sqlite_file_put(sqlite->file, &operation->row, err) < 0)
			return -(int)err->code;
		version = operation->row.version;
	}
	return version == 0 ? 0 : neap_sqlite_file_end(sqlite->file, version, err);
}

static void take_group(struct operations *queue, struct operations *group)
{
	size_t count;

	for (count = 0; count < GROUP_MAX && !STAILQ_EMPTY(queue); count++) {
		struct operation *operation = STAILQ_FIRST(queue);

		STAILQ_REMOVE_HEAD(queue, next);
		STAILQ_INSERT_TAIL(group, operation, next);
	}
}

/* Without the lock. */
static void commit_group(struct sqlite_store *sqlite, struct operations *group,
			 bool *ret_is_failed)
{
	struct operation *operation;
	struct neap_error err = {0};

	*ret_is_failed = write_group(sqlite, group, &err) < 0;
	if (!*ret_is_failed)
		return;
	neap_sqlite_file_undo(sqlite->file);
	for (operation = STAILQ_FIRST(group); operation;
	     operation = STAILQ_NEXT(operation, next))
		operation->err = err;
}

/* Without the lock. */
static void commit_batch(struct sqlite_store *sqlite)
{
	struct batch *batch = &sqlite->batch;

	if (write_group(sqlite, &batch->operations, &batch->err) < 0)
		neap_sqlite_file_undo(sqlite->file);
	(void)pthread_mutex_lock(&sqlite->lock);
	batch->is_wanted = false;
	batch->is_done = true;
	(void)pthread_mutex_unlock(&sqlite->lock);
	neap_sqlite_poke(sqlite);
}

void *neap_sqlite_commit(void *arg)
{
	struct sqlite_store *sqlite = arg;
	struct neap_error ignored;

	/* the first commit tries again and reports it */
	(void)check_file(sqlite, &ignored);
	(void)pthread_mutex_lock(&sqlite->lock);
	for (;;) {
		struct operations group = STAILQ_HEAD_INITIALIZER(group);
		bool is_failed, is_batch;

		while ((sqlite->is_failed || STAILQ_EMPTY(&sqlite->queue)) &&
		       !sqlite->batch.is_wanted &&
		       !(sqlite->is_ending && !sqlite->is_failed))
			(void)pthread_cond_wait(&sqlite->wake, &sqlite->lock);
		is_batch = sqlite->batch.is_wanted; /* then nothing else waits */
		if (sqlite->is_ending && STAILQ_EMPTY(&sqlite->queue) && !is_batch)
			break;
		if (!sqlite->is_failed)
			take_group(&sqlite->queue, &group);
		(void)pthread_mutex_unlock(&sqlite->lock);
		if (!STAILQ_EMPTY(&group)) {
			commit_group(sqlite, &group, &is_failed);
			(void)pthread_mutex_lock(&sqlite->lock);
			sqlite->is_failed = is_failed;
			STAILQ_CONCAT(&sqlite->heard, &group);
			(void)pthread_mutex_unlock(&sqlite->lock);
			neap_sqlite_poke(sqlite);
		}
		if (is_batch)
			commit_batch(sqlite);
		(void)pthread_mutex_lock(&sqlite->lock);
	}
	(void)pthread_mutex_unlock(&sqlite->lock);
	return NULL;
}
