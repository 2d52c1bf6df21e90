/* SPDX-License-Identifier: Apache-2.0
 *
 * The embedded store's file, through SQL. One thread at a time uses it: the opening
 * thread until everything is loaded, then the commit thread. */
#ifndef NEAP_API_STORE_SQLITE_SQLITE_FILE_H
#define NEAP_API_STORE_SQLITE_SQLITE_FILE_H

#include "api/store/marker.h"
#include "api/store/store.h"

struct neap_sqlite_file;

/* A row changed by a commit. */
struct neap_sqlite_row {
	int64_t id;
	int64_t resource; /* its id */
	/* resource to create; NULL: it is in the file */
	const char *resource_name;
	const struct neap_object *object; /* NULL: deleted */
	int64_t version;
	bool is_there; /* the file has a row with this id */
};

struct neap_sqlite_open {
	const char *path;
	bool is_used; /* a file without tables is damaged; else they are created */
	bool is_kept; /* open in its present format, read-only */
	/* Receives a line about changes to the file; may be NULL. */
	void (*say)(void *arg, bool is_problem, const char *text);
	void *arg;
};

/* Opens or creates the file and converts it to the present format; the old file is then
 * kept as PATH.format-N. ret_version: the newest version in it. */
int neap_sqlite_file_open(const struct neap_sqlite_open *what,
			  struct neap_sqlite_file **ret, int64_t *ret_version,
			  struct neap_error *err);
void neap_sqlite_file_close(struct neap_sqlite_file *file);
/* Makes closing keep the log file, even if empty; SQLite would remove it. */
void neap_sqlite_file_keep_log(struct neap_sqlite_file *file);
/* The store's permanent id; "" in an older format without one. */
const char *neap_sqlite_file_id(const struct neap_sqlite_file *file);
int neap_sqlite_file_format(const struct neap_sqlite_file *file);
/* Takes object over; NULL for the resource itself. A negative result ends the load. */
typedef int neap_sqlite_load(void *arg, int64_t resource, const char *name, int64_t id,
			     struct neap_object *object, struct neap_error *err);
/* Passes every numbered resource, also without objects, then every object. The error
 * names what was damaged. */
int neap_sqlite_file_load(struct neap_sqlite_file *file, neap_sqlite_load *give,
			  void *arg, struct neap_error *err);

/* Runs SQLite's check of every page, including pages that no row uses yet. */
int neap_sqlite_file_check(struct neap_sqlite_file *file, struct neap_error *err);

/* A commit: begin, rows, end. An error in any of them undoes all of it.
 * NEAP_EUNAVAILABLE: the disk is full or read-only, which may end; any other error: no
 * further commit can be trusted. */
void neap_sqlite_file_undo(struct neap_sqlite_file *file);

#endif
