/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of the embedded store, as SQL. One thread at a time uses it: the opener's until everything is
 * loaded, then that of the commits. */
#ifndef NEAP_API_STORE_SQLITE_FILE_H
#define NEAP_API_STORE_SQLITE_FILE_H

#include "api/store/marker.h"
#include "api/store/store.h"

struct neap_sqlite_file;

/* A row of what a commit changes. */
struct neap_sqlite_row {
	int64_t id;
	int64_t resource;                 /* its id */
	const char *resource_name;        /* to be made; NULL: it is in the file */
	const struct neap_object *object; /* NULL: deleted */
	int64_t version;
	bool is_there; /* the file has a row of this id */
};

struct neap_sqlite_open {
	const char *path;
	bool is_used; /* one without tables is damaged; else they are made */
	bool is_kept; /* in the format that it has: only to be read */
	/* A line about what was done to it; may be NULL. */
	void (*say)(void *arg, bool is_problem, const char *text);
	void *arg;
};

/* Opens or makes the file, and brings it to the present format: then the file of before is beside it, as
 * PATH.format-N. ret_version: the newest one it knows. */
int neap_sqlite_file_open(const struct neap_sqlite_open *what,
			  struct neap_sqlite_file **ret, int64_t *ret_version,
			  struct neap_error *err);
void neap_sqlite_file_close(struct neap_sqlite_file *file);
/* The end leaves the log where it is, be it empty: else SQLite removes it. */
void neap_sqlite_file_keep_log(struct neap_sqlite_file *file);
/* Of the store, for as long as it lives; "" in a format without. */
const char *neap_sqlite_file_id(const struct neap_sqlite_file *file);
int neap_sqlite_file_format(const struct neap_sqlite_file *file);
/* Takes object over; NULL for a resource as such. A code that it gives ends the load. */
typedef int neap_sqlite_load(void *arg, int64_t resource, const char *name, int64_t id,
			     struct neap_object *object, struct neap_error *err);
/* Every resource that has a number, also without objects; then every object that is there. The error names what is
 * not as it was written. */
int neap_sqlite_file_load(struct neap_sqlite_file *file, neap_sqlite_load *give,
			  void *arg, struct neap_error *err);

/* SQLite's own look at every page: also what no row lies in, but later ones would. */
int neap_sqlite_file_check(struct neap_sqlite_file *file, struct neap_error *err);

/* A commit: begin, rows, end. After an error of any of them the whole is undone. NEAP_EUNAVAILABLE: the
 * disk is full or read-only, and may be better later; any other: no further commit can be trusted. */
int neap_sqlite_file_begin(struct neap_sqlite_file *file, struct neap_error *err);
int neap_sqlite_file_put(struct neap_sqlite_file *file, const struct neap_sqlite_row *row,
			 struct neap_error *err);
int neap_sqlite_file_end(struct neap_sqlite_file *file, int64_t version,
			 struct neap_error *err);
void neap_sqlite_file_undo(struct neap_sqlite_file *file);

#endif
