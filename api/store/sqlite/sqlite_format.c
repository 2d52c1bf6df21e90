/* SPDX-License-Identifier: Apache-2.0
 *
 * File formats: the tables of a new file, and conversion of older ones. In format 1
 * checksums did not cover row numbers, resource names had none, and the number of rows
 * was not recorded. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/store/sqlite/sqlite_file_priv.h"
#include "api/store/sum.h"
#include "engine/base/mem.h"

#define APPLICATION 0x6e656170 /* "neap" */
/* Space for what SQLite writes in addition, and for a start. */
#define SPARE_BYTES INT64_C(1048576)

/* As SQLite keeps them: a file whose tables are others is not read. */
static const struct {
	const char *sql;
	bool is_in_1; /* and was the same there */
} tables[] = {
	{"CREATE TABLE resources (id INTEGER PRIMARY KEY, name TEXT NOT NULL, "
	 "sum INTEGER NOT NULL)",
	 false},
	{"CREATE TABLE objects (id INTEGER PRIMARY KEY, resource INTEGER NOT NULL, "
	 "version INTEGER NOT NULL, sum INTEGER NOT NULL, meta BLOB NOT NULL, "
	 "text BLOB NOT NULL)",
	 true},
	{"CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), store TEXT NOT NULL, "
	 "version INTEGER NOT NULL, objects INTEGER NOT NULL, digest INTEGER NOT NULL, "
	 "sum INTEGER NOT NULL)",
	 false},
};

/* --- sums --- */

int64_t neap_sqlite_sum_row(int64_t content, int64_t id, int64_t resource)
{
	uint64_t sum = neap_sum_number(NEAP_SUM_START, content);

	return neap_sum_end(neap_sum_number(neap_sum_number(sum, id), resource));
}

int64_t neap_sqlite_sum_resource(int64_t id, const char *name)
{
	return neap_sum_end(
		neap_sum_bytes(neap_sum_number(NEAP_SUM_START, id), name, strlen(name)));
}

int64_t neap_sqlite_sum_state(const char *id, int64_t version,
			      const struct neap_sqlite_totals *totals)
{
	uint64_t sum = neap_sum_bytes(NEAP_SUM_START, id, strlen(id));

	sum = neap_sum_number(neap_sum_number(sum, version), totals->objects);
	return neap_sum_end(neap_sum_number(sum, (int64_t)totals->digest));
}

/* The same in SQL: numbers and texts, one after the other. */
static void sum_in_sql(sqlite3_context *context, int count, sqlite3_value **values)
{
	uint64_t sum = NEAP_SUM_START;
	int i;

	for (i = 0; i < count; i++) {
		if (sqlite3_value_type(values[i]) == SQLITE_INTEGER) {
			sum = neap_sum_number(sum, sqlite3_value_int64(values[i]));
		} else {
			const void *bytes = sqlite3_value_blob(values[i]);

			sum = neap_sum_bytes(sum, bytes ? bytes : "",
					     (size_t)sqlite3_value_bytes(values[i]));
		}
	}
	sqlite3_result_int64(context, neap_sum_end(sum));
}

/* --- a new one --- */

static int draw_id(struct neap_sqlite_file *file, struct neap_error *err)
{
	unsigned char raw[(NEAP_STORE_ID - 1) / 2];
	size_t i;

	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		return neap_error_sys(err, "random bytes for the store's id");
	for (i = 0; i < sizeof(raw); i++)
		(void)snprintf(file->id + i * 2, sizeof(file->id) - i * 2, "%02x",
			       raw[i]);
	return 0;
}

static int make_tables(struct neap_sqlite_file *file, bool is_in_1,
		       struct neap_error *err)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(tables); i++)
		if (!(is_in_1 && tables[i].is_in_1) &&
		    neap_sqlite_run(file, tables[i].sql, err) < 0)
			return -(int)err->code;
	return 0;
}

static int add_up(struct neap_sqlite_file *file, struct neap_error *err)
{
	static const char sql[] =
		"SELECT sum, 1 FROM objects UNION ALL SELECT sum, 0 FROM resources";
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(file->db, sql, -1, &query, NULL);

	file->totals = (struct neap_sqlite_totals){0};
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(query);
		if (code != SQLITE_ROW)
			break;
		file->totals.digest += (uint64_t)sqlite3_column_int64(query, 0);
		file->totals.objects += sqlite3_column_int64(query, 1);
	}
	(void)sqlite3_finalize(query); /* returns the error of the step again */
	return code == SQLITE_DONE ? 0 : neap_sqlite_failed(file, code, err);
}

/* The last of a transaction that made the tables. */
static int seal(struct neap_sqlite_file *file, int64_t version, struct neap_error *err)
{
	char sql[400];

	if (draw_id(file, err) < 0 || add_up(file, err) < 0)
		return -(int)err->code;
	(void)snprintf(
		sql, sizeof(sql),
		"INSERT INTO state (id, store, version, objects, digest, sum) "
		"VALUES (1, '%s', %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ");"
		"PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
		file->id, version, file->totals.objects, (int64_t)file->totals.digest,
		neap_sqlite_sum_state(file->id, version, &file->totals), APPLICATION,
		NEAP_SQLITE_FORMAT);
	return neap_sqlite_run(file, sql, err);
}

static int make_new(struct neap_sqlite_file *file, struct neap_error *err)
{
	if (neap_sqlite_run(file, "BEGIN IMMEDIATE", err) < 0)
		return -(int)err->code;
	if (make_tables(file, false, err) < 0 || seal(file, 0, err) < 0) {
		neap_sqlite_file_undo(file);
		return -(int)err->code;
	}
	return 0;
}

/* --- one of before --- */

static int check_room(struct neap_sqlite_file *file, const char *copy,
		      struct neap_error *err)
{
	char folder[sizeof(file->path)], *slash;
	int64_t pages = 0, page = 0, room, wanted;
	struct statvfs fs;

	if (neap_sqlite_ask(file, "PRAGMA page_count", &pages, err) < 0 ||
	    neap_sqlite_ask(file, "PRAGMA page_size", &page, err) < 0)
		return -(int)err->code;
	(void)neap_strcopy(folder, sizeof(folder), file->path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[1] = '\0';
	if (statvfs(slash ? folder : ".", &fs) < 0)
		return neap_error_sys(err, "look at the file system of %s", file->path);
	room = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
	wanted = 2 * pages * page + SPARE_BYTES; /* the copy, and the log of the change */
	if (room >= wanted)
		return 0;
	return neap_error_set(
		err, NEAP_EUNAVAILABLE,
		"%s is of an older neapd, and a copy of it (%s) needs %" PRId64
		" MiB on this disk: make room; nothing was changed",
		file->path, copy, (wanted >> 20) + 1);
}

static int copy_failed(int code, struct neap_error *err)
{
	return code == SQLITE_NOMEM ? neap_error_nomem(err)
				    : neap_error_set(err, NEAP_EUNAVAILABLE, "%s",
						     sqlite3_errstr(code));
}

/* All of it in one transaction of the copy's own, which is whole or nothing. */
static int copy_pages(struct neap_sqlite_file *file, sqlite3 *to, struct neap_error *err)
{
	sqlite3_backup *backup = sqlite3_backup_init(to, "main", file->db, "main");
	int code;

	if (!backup)
		return copy_failed(sqlite3_errcode(to), err);
	(void)sqlite3_backup_step(backup, -1); /* finish tells */
	code = sqlite3_backup_finish(backup);
	return code == SQLITE_OK ? 0 : copy_failed(code, err);
}

static int copy(struct neap_sqlite_file *file, const char *path, struct neap_error *err)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	sqlite3 *to = NULL;
	char log[300];
	int fd, code, r;

	/* Left by an earlier start: the store now is as it was then, or newer. */
	(void)snprintf(log, sizeof(log), "%s-journal", path);
	(void)vfs->xDelete(vfs, log, 0);
	(void)vfs->xDelete(vfs, path, 1);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)close(fd); /* of mode 0600 from the start */
	code = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
			       NULL);
	r = code == SQLITE_OK ? copy_pages(file, to, err) : copy_failed(code, err);
	if (sqlite3_close(to) != SQLITE_OK && r == 0)
		r = neap_error_set(err, NEAP_EUNAVAILABLE, "it does not close");
	if (r == 0)
		return 0;
	(void)vfs->xDelete(vfs, log, 0);
	(void)vfs->xDelete(vfs, path, 0);
	return neap_error_wrap(err, "copy %s to %s", file->path, path);
}

static int drop(void *arg, int64_t resource, const char *name, int64_t id,
		struct neap_object *object, struct neap_error *err)
{
	(void)arg, (void)resource, (void)name, (void)id, (void)err;
	neap_object_unref(object);
	return 0;
}

static int change_1(struct neap_sqlite_file *file, int64_t version,
		    struct neap_error *err)
{
	if (neap_sqlite_run(file,
			    "CREATE TABLE kept AS SELECT id, name FROM resources;"
			    "DROP TABLE resources; DROP TABLE state",
			    err) < 0 ||
	    make_tables(file, true, err) < 0 ||
	    neap_sqlite_run(file,
			    "INSERT INTO resources (id, name, sum) "
			    "SELECT id, name, neap_sum(id, name) FROM kept;"
			    "DROP TABLE kept;"
			    "UPDATE objects SET sum = neap_sum(sum, id, resource)",
			    err) < 0)
		return -(int)err->code;
	return seal(file, version, err);
}

/* Only a sound file; a copy of it stays. */
static int raise_1(struct neap_sqlite_file *file, const struct neap_sqlite_open *what,
		   struct neap_error *err)
{
	char path[sizeof(file->path) + 16], said[sizeof(path) + 160];
	int64_t version = 0;

	(void)snprintf(path, sizeof(path), "%s.format-1", file->path);
	if (neap_sqlite_file_check(file, err) < 0 ||
	    neap_sqlite_file_load(file, drop, NULL, err) < 0 ||
	    neap_sqlite_ask(file, "SELECT version FROM state WHERE id = 1", &version,
			    err) < 0 ||
	    check_room(file, path, err) < 0 || copy(file, path, err) < 0)
		return -(int)err->code;
	if (sqlite3_create_function_v2(file->db, "neap_sum", -1,
				       SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
				       sum_in_sql, NULL, NULL, NULL) != SQLITE_OK)
		return neap_error_nomem(err);
	if (neap_sqlite_run(file, "BEGIN IMMEDIATE", err) < 0)
		return -(int)err->code;
	if (change_1(file, version, err) < 0) {
		neap_sqlite_file_undo(file);
		return -(int)err->code;
	}
	(void)snprintf(
		said, sizeof(said),
		"brought to format %d; as it was before it is in %s, to be removed "
		"when all is well",
		NEAP_SQLITE_FORMAT, path);
	if (what->say)
		what->say(what->arg, false, said);
	return 0;
}

/* --- any --- */

/* Other tables could mean anything. */
static int check_tables(struct neap_sqlite_file *file, struct neap_error *err)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(file->db, "SELECT sql FROM sqlite_master", -1,
				      &query, NULL);
	size_t found = 0, others = 0, i;

	while (code == SQLITE_OK || code == SQLITE_ROW) {
		const char *sql;

		code = sqlite3_step(query);
		if (code != SQLITE_ROW)
			break;
		sql = (const char *)sqlite3_column_text(query, 0);
		for (i = 0; i < NEAP_ARRAY_LEN(tables); i++)
			if (sql && strcmp(sql, tables[i].sql) == 0)
				break;
		found += i < NEAP_ARRAY_LEN(tables);
		others += i == NEAP_ARRAY_LEN(tables);
	}
	(void)sqlite3_finalize(query); /* returns the error of the step again */
	if (code != SQLITE_DONE)
		return neap_sqlite_failed(file, code, err);
	return found == NEAP_ARRAY_LEN(tables) && others == 0
		       ? 0
		       : neap_sqlite_damaged(file, "its tables are others", err);
}

static int check_format(struct neap_sqlite_file *file, int64_t application,
			struct neap_error *err)
{
	if (application != APPLICATION)
		return neap_error_set(err, NEAP_EINVAL,
				      "%s is a database of another program: name another "
				      "--data-dir, or move it away",
				      file->path);
	if (file->format < 1)
		return neap_sqlite_damaged(file, "it has no format", err);
	if (file->format > NEAP_SQLITE_FORMAT)
		return neap_error_set(
			err, NEAP_EUNSUPPORTED,
			"%s has format %lld, this neapd knows up to %d: start "
			"the newer neapd again, or restore a backup of before",
			file->path, (long long)file->format, NEAP_SQLITE_FORMAT);
	return file->format == NEAP_SQLITE_FORMAT ? check_tables(file, err) : 0;
}

int neap_sqlite_migrate(struct neap_sqlite_file *file,
			const struct neap_sqlite_open *what, struct neap_error *err)
{
	int64_t application = 0, count = 0;

	if (neap_sqlite_ask(file, "PRAGMA application_id", &application, err) < 0 ||
	    neap_sqlite_ask(file, "PRAGMA user_version", &file->format, err) < 0 ||
	    neap_sqlite_ask(file, "SELECT count(*) FROM sqlite_master", &count, err) < 0)
		return -(int)err->code;
	if (count == 0 && what->is_used)
		return neap_sqlite_damaged(file, "it has no tables", err);
	if (count > 0 && check_format(file, application, err) < 0)
		return -(int)err->code;
	if (what->is_kept)
		return 0;
	if (count == 0 && make_new(file, err) < 0)
		return -(int)err->code;
	if (count > 0 && file->format == 1 && raise_1(file, what, err) < 0)
		return -(int)err->code;
	file->format = NEAP_SQLITE_FORMAT;
	return 0;
}

int neap_sqlite_state(struct neap_sqlite_file *file, int64_t *ret_version,
		      struct neap_error *err)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(
		file->db,
		"SELECT store, version, objects, digest, sum FROM state WHERE id = 1", -1,
		&query, NULL);
	bool is_right = false;

	if (code == SQLITE_OK)
		code = sqlite3_step(query);
	if (code == SQLITE_ROW) {
		const char *id = (const char *)sqlite3_column_text(query, 0);

		*ret_version = sqlite3_column_int64(query, 1);
		file->totals.objects = sqlite3_column_int64(query, 2);
		file->totals.digest = (uint64_t)sqlite3_column_int64(query, 3);
		is_right = id && neap_strcopy(file->id, sizeof(file->id), id) &&
			   sqlite3_column_int64(query, 4) ==
				   neap_sqlite_sum_state(file->id, *ret_version,
							 &file->totals);
	}
	(void)sqlite3_finalize(query); /* returns the error of the step again */
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return neap_sqlite_failed(file, code, err);
	return is_right ? 0
			: neap_sqlite_damaged(file, "what it says of all its rows", err);
}
