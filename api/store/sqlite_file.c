/* SPDX-License-Identifier: Apache-2.0
 *
 * One table of objects by number, as look-ups are answered from memory. Each row has a check sum: SQLite
 * finds damaged pages, but not a damaged value in a sound one. */
#include "api/store/sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"

#define APPLICATION 0x6e656170 /* "neap" */
#define FORMAT      1

enum { PUT, DELETE, RESOURCE, STATE, STATEMENTS };

static const char *const texts[STATEMENTS] = {
	[PUT] = "INSERT OR REPLACE INTO objects (id, resource, version, sum, meta, text) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[DELETE] = "DELETE FROM objects WHERE id = ?1",
	[RESOURCE] = "INSERT OR IGNORE INTO resources (id, name) VALUES (?1, ?2)",
	[STATE] = "UPDATE state SET version = ?1 WHERE id = 1",
};

/* From nothing to format 1, from 1 to 2, and so on: one transaction each. */
static const char *const steps[FORMAT] = {
	"CREATE TABLE resources (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
	"CREATE TABLE objects (id INTEGER PRIMARY KEY, resource INTEGER NOT NULL, "
	"version INTEGER NOT NULL, sum INTEGER NOT NULL, meta BLOB NOT NULL, "
	"text BLOB NOT NULL);"
	"CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT "
	"NULL);"
	"INSERT INTO state (id, version) VALUES (1, 0);",
};

struct neap_sqlite_file {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	char path[256];
};

/* FNV-1a over words; it only has to tell accidents. */
static int64_t sum_of(const struct neap_object *object)
{
	size_t len = (size_t)object->meta_len + object->text_len, i;
	uint64_t sum = 14695981039346656037u ^ (uint64_t)object->version, word;

	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, object->block + i, sizeof(word));
		sum = (sum ^ word) * 1099511628211u;
		sum ^= sum >> 29;
	}
	for (; i < len; i++)
		sum = (sum ^ (unsigned char)object->block[i]) * 1099511628211u;
	return (int64_t)(sum & INT64_MAX);
}

static int damaged(const struct neap_sqlite_file *file, const char *what,
		   struct neap_error *err)
{
	return neap_error_set(err, NEAP_EINVAL,
			      "%s is damaged (%s): move it away, start neapd anew, then "
			      "restore a backup (neapctl restore FILE)",
			      file->path, what);
}

/* What became of a call, by SQLite's code. */
static int failed(struct neap_sqlite_file *file, int code, struct neap_error *err)
{
	const char *text = sqlite3_errmsg(file->db);

	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return neap_error_nomem(err);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return damaged(file, text, err);
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
		/* After a failed sync the kernel forgets what it could not write, and a second
		 * one succeeds: nothing that it says can be believed. */
		if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC)
			return neap_error_set(
				err, NEAP_ESYS,
				"%s: the disk does not sync (%s): nothing is "
				"written any more until neapd is started anew",
				file->path, text);
		return neap_error_set(err, NEAP_EUNAVAILABLE, "%s: %s (%s)", file->path,
				      text, strerror(sqlite3_system_errno(file->db)));
	default:
		return neap_error_set(err, NEAP_EINTERNAL, "%s: %s (%d)", file->path,
				      text, code);
	}
}

static int run(struct neap_sqlite_file *file, const char *sql, struct neap_error *err)
{
	int code = sqlite3_exec(file->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : failed(file, code, err);
}

/* The one number that a query gives. */
static int ask(struct neap_sqlite_file *file, const char *sql, int64_t *ret,
	       struct neap_error *err)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(file->db, sql, -1, &query, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(query);
	if (code == SQLITE_ROW)
		*ret = sqlite3_column_int64(query, 0);
	(void)sqlite3_finalize(query); /* tells the error of the step again */
	if (code == SQLITE_ROW)
		return 0;
	return code == SQLITE_DONE ? damaged(file, "a row is missing", err)
				   : failed(file, code, err);
}

static int migrate(struct neap_sqlite_file *file, struct neap_error *err)
{
	int64_t format = 0, application = 0, tables = 0;
	char sql[96];

	if (ask(file, "PRAGMA application_id", &application, err) < 0 ||
	    ask(file, "PRAGMA user_version", &format, err) < 0 ||
	    ask(file, "SELECT count(*) FROM sqlite_master", &tables, err) < 0)
		return -(int)err->code;
	if (tables > 0 && application != APPLICATION)
		return neap_error_set(err, NEAP_EINVAL,
				      "%s is a database of another program: name another "
				      "--data-dir, or move it away",
				      file->path);
	if (format < 0)
		return damaged(file, "its format is below zero", err);
	if (format > FORMAT)
		return neap_error_set(
			err, NEAP_EUNSUPPORTED,
			"%s has format %lld, this neapd knows up to %d: start "
			"the newer neapd again, or restore a backup of before",
			file->path, (long long)format, FORMAT);
	for (; format < FORMAT; format++) {
		(void)snprintf(sql, sizeof(sql),
			       "PRAGMA application_id = %d; PRAGMA user_version = %lld;",
			       APPLICATION, (long long)format + 1);
		if (run(file, "BEGIN IMMEDIATE", err) < 0)
			return -(int)err->code;
		if (run(file, steps[format], err) < 0 || run(file, sql, err) < 0 ||
		    run(file, "COMMIT", err) < 0) {
			neap_sqlite_file_undo(file);
			return -(int)err->code;
		}
	}
	return 0;
}

static int prepare(struct neap_sqlite_file *file, struct neap_error *err)
{
	size_t i;

	for (i = 0; i < STATEMENTS; i++) {
		int code = sqlite3_prepare_v3(file->db, texts[i], -1,
					      SQLITE_PREPARE_PERSISTENT,
					      &file->statements[i], NULL);

		if (code != SQLITE_OK)
			return failed(file, code, err);
	}
	return 0;
}

/* The path without links, but for the last part. From 3.39 on SQLITE_OPEN_NOFOLLOW refuses a link anywhere in
 * the path; where the folder lies is the operator's to say. */
static int real_path(const char *path, char *real, size_t size, struct neap_error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	char folder[256], whole[PATH_MAX];

	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path);
	if (realpath(name != path ? folder : ".", whole) == NULL)
		return neap_error_sys(err, "%s", path);
	if (snprintf(real, size, "%s/%s", whole, name) >= (int)size)
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: the path is too long",
				      path);
	return 0;
}

static int open_file(struct neap_sqlite_file *file, int64_t *ret_version,
		     struct neap_error *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
		    SQLITE_OPEN_NOFOLLOW;
	char real[PATH_MAX + sizeof(file->path)];
	int code, made;

	if (real_path(file->path, real, sizeof(real), err) < 0)
		return -(int)err->code;
	/* SQLite would let others read it; the log beside it gets the mode of the file. What cannot be made
	 * here SQLite cannot make either, and says why. */
	made = open(real, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (made >= 0)
		(void)close(made); /* nothing was written */
	code = sqlite3_open_v2(real, &file->db, flags, NULL);
	if (file->db == NULL)
		return neap_error_nomem(err);
	if (code != SQLITE_OK)
		return failed(file, code, err);
	(void)sqlite3_extended_result_codes(file->db, 1); /* cannot fail on an open one */
	/* One process has it, so the index of the log can lie in its own memory. */
	if (run(file, "PRAGMA locking_mode = EXCLUSIVE", err) < 0 ||
	    run(file, "PRAGMA journal_mode = WAL", err) < 0 ||
	    run(file, "PRAGMA synchronous = FULL", err) < 0 ||
	    run(file, "PRAGMA wal_autocheckpoint = 4000", err) < 0 ||
	    run(file, "PRAGMA journal_size_limit = 33554432", err) < 0 ||
	    migrate(file, err) < 0 || prepare(file, err) < 0)
		return -(int)err->code;
	return ask(file, "SELECT version FROM state WHERE id = 1", ret_version, err);
}

int neap_sqlite_file_open(const char *path, struct neap_sqlite_file **ret,
			  int64_t *ret_version, struct neap_error *err)
{
	struct neap_sqlite_file *file = neap_alloc(sizeof(*file));
	int r;

	if (file == NULL)
		return neap_error_nomem(err);
	r = neap_strcopy(file->path, sizeof(file->path), path)
		    ? open_file(file, ret_version, err)
		    : neap_error_set(err, NEAP_ETOOLARGE, "%s: the path is too long",
				     path);
	if (r < 0) {
		neap_sqlite_file_close(file);
		return r;
	}
	*ret = file;
	return 0;
}

void neap_sqlite_file_close(struct neap_sqlite_file *file)
{
	size_t i;

	if (file == NULL)
		return;
	for (i = 0; i < STATEMENTS; i++)
		(void)sqlite3_finalize(file->statements[i]);
	(void)sqlite3_close(file->db); /* whatever it says, there is nothing left to do */
	free(file);
}

/* --- loading --- */

static int load_row(struct neap_sqlite_file *file, sqlite3_stmt *query,
		    struct neap_object **ret, struct neap_error *err)
{
	const void *meta = sqlite3_column_blob(query, 3);
	size_t meta_len = (size_t)sqlite3_column_bytes(query, 3);
	const void *text = sqlite3_column_blob(query, 4);
	size_t text_len = (size_t)sqlite3_column_bytes(query, 4);
	struct neap_object *object;
	char what[64];
	int r;

	(void)snprintf(what, sizeof(what), "object %lld",
		       (long long)sqlite3_column_int64(query, 0));
	r = neap_object_restore(meta != NULL ? meta : "", meta_len,
				text != NULL ? text : "", text_len,
				sqlite3_column_int64(query, 1), &object, err);
	if (r == -NEAP_ENOMEM)
		return r;
	if (r < 0)
		return damaged(file, what, err);
	if (sum_of(object) != sqlite3_column_int64(query, 2)) {
		neap_object_unref(object);
		return damaged(file, what, err);
	}
	*ret = object;
	return 0;
}

/* Those without objects too: their numbers are taken. */
static int load_resources(struct neap_sqlite_file *file, neap_sqlite_load *load,
			  void *arg, struct neap_error *err)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(file->db, "SELECT id, name FROM resources", -1,
				      &query, NULL);
	int r = 0;

	while (r == 0 && (code == SQLITE_OK || code == SQLITE_ROW)) {
		const char *name;

		code = sqlite3_step(query);
		if (code != SQLITE_ROW)
			break;
		name = (const char *)sqlite3_column_text(query, 1);
		r = name == NULL ? neap_error_nomem(err)
				 : load(arg, sqlite3_column_int64(query, 0), name, 0,
					NULL, err);
	}
	if (r == 0 && code != SQLITE_DONE)
		r = failed(file, code, err);
	(void)sqlite3_finalize(query); /* tells the error of the step again */
	return r;
}

int neap_sqlite_file_load(struct neap_sqlite_file *file, neap_sqlite_load *load,
			  void *arg, struct neap_error *err)
{
	static const char sql[] =
		"SELECT o.id, o.version, o.sum, o.meta, o.text, o.resource, r.name "
		"FROM objects o LEFT JOIN resources r ON r.id = o.resource";
	sqlite3_stmt *query = NULL;
	int r = load_resources(file, load, arg, err), code;

	if (r < 0)
		return r;
	code = sqlite3_prepare_v2(file->db, sql, -1, &query, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		struct neap_object *object = NULL;
		const char *name;

		code = sqlite3_step(query);
		if (code != SQLITE_ROW)
			break;
		name = (const char *)sqlite3_column_text(query, 6);
		r = name == NULL ? damaged(file, "an object of no resource", err)
				 : load_row(file, query, &object, err);
		if (r == 0)
			r = load(arg, sqlite3_column_int64(query, 5), name,
				 sqlite3_column_int64(query, 0), object, err);
		if (r < 0)
			break;
	}
	if (r == 0 && code != SQLITE_DONE)
		r = failed(file, code, err);
	(void)sqlite3_finalize(query); /* tells the error of the step again */
	return r;
}

int neap_sqlite_file_check(struct neap_sqlite_file *file, struct neap_error *err)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(file->db, "PRAGMA integrity_check(1)", -1, &query,
				      NULL);
	const char *text;
	int r;

	if (code == SQLITE_OK)
		code = sqlite3_step(query);
	if (code != SQLITE_ROW) {
		r = failed(file, code, err);
	} else {
		text = (const char *)sqlite3_column_text(query, 0);
		r = text == NULL              ? neap_error_nomem(err)
		    : strcmp(text, "ok") != 0 ? damaged(file, text, err)
					      : 0;
	}
	(void)sqlite3_finalize(query); /* tells the error of the step again */
	return r;
}

/* --- commits --- */

int neap_sqlite_file_begin(struct neap_sqlite_file *file, struct neap_error *err)
{
	/* One that could not be taken back for want of memory. */
	neap_sqlite_file_undo(file);
	return run(file, "BEGIN IMMEDIATE", err);
}

static int step(struct neap_sqlite_file *file, sqlite3_stmt *statement, int code,
		struct neap_error *err)
{
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	(void)sqlite3_reset(statement); /* tells the error of the step again */
	return code == SQLITE_DONE ? 0 : failed(file, code, err);
}

static int put_resource(struct neap_sqlite_file *file, const struct neap_sqlite_row *row,
			struct neap_error *err)
{
	sqlite3_stmt *statement = file->statements[RESOURCE];
	int code = sqlite3_bind_int64(statement, 1, row->resource);

	if (code == SQLITE_OK)
		code = sqlite3_bind_text(statement, 2, row->resource_name, -1,
					 SQLITE_STATIC);
	return step(file, statement, code, err);
}

int neap_sqlite_file_put(struct neap_sqlite_file *file, const struct neap_sqlite_row *row,
			 struct neap_error *err)
{
	const struct neap_object *object = row->object;
	sqlite3_stmt *statement = file->statements[object != NULL ? PUT : DELETE];
	int code = sqlite3_bind_int64(statement, 1, row->id);

	if (row->resource_name != NULL && put_resource(file, row, err) < 0)
		return -(int)err->code;
	if (object == NULL)
		return step(file, statement, code, err);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(statement, 2, row->resource);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(statement, 3, object->version);
	if (code == SQLITE_OK)
		code = sqlite3_bind_int64(statement, 4, sum_of(object));
	if (code == SQLITE_OK)
		code = sqlite3_bind_blob(statement, 5, object->block,
					 (int)object->meta_len, SQLITE_STATIC);
	if (code == SQLITE_OK)
		code = sqlite3_bind_blob(statement, 6, object->text,
					 (int)object->text_len, SQLITE_STATIC);
	return step(file, statement, code, err);
}

int neap_sqlite_file_end(struct neap_sqlite_file *file, int64_t version,
			 struct neap_error *err)
{
	sqlite3_stmt *statement = file->statements[STATE];
	int code = sqlite3_bind_int64(statement, 1, version);

	if (step(file, statement, code, err) < 0)
		return -(int)err->code;
	return run(file, "COMMIT", err);
}

void neap_sqlite_file_undo(struct neap_sqlite_file *file)
{
	if (sqlite3_get_autocommit(file->db) == 0)
		(void)sqlite3_exec(file->db, "ROLLBACK", NULL, NULL, NULL);
}
