/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the parts of the embedded store's file: opening and commits (sqlite_file.c),
 * formats (sqlite_format.c), loading (sqlite_load.c). */
#ifndef NEAP_API_STORE_SQLITE_SQLITE_FILE_PRIV_H
#define NEAP_API_STORE_SQLITE_SQLITE_FILE_PRIV_H

#include <sqlite3.h>

#include "api/store/sqlite/sqlite_file.h"

#define NEAP_SQLITE_FORMAT 2

/* Totals over all rows, which reveal a row that is missing, extra or outdated. The digest
 * is the sum of the checksums of all rows of both tables. */
struct neap_sqlite_totals {
	int64_t objects;
	uint64_t digest;
};

enum neap_sqlite_statement {
	NEAP_SQLITE_PUT,
	NEAP_SQLITE_DELETE,
	NEAP_SQLITE_SUM,
	NEAP_SQLITE_RESOURCE,
	NEAP_SQLITE_STATE,
	NEAP_SQLITE_STATEMENTS
};

struct neap_sqlite_file {
	sqlite3 *db;
	sqlite3_stmt *statements[NEAP_SQLITE_STATEMENTS];
	char path[256];
	char id[NEAP_STORE_ID];
	int64_t format;
	struct neap_sqlite_totals totals;  /* durable */
	struct neap_sqlite_totals pending; /* including the commit in progress */
};

int neap_sqlite_damaged(const struct neap_sqlite_file *file, const char *what,
			struct neap_error *err);
/* Translates SQLite's result code into an error. */
int neap_sqlite_failed(const struct neap_sqlite_file *file, int code,
		       struct neap_error *err);
int neap_sqlite_run(struct neap_sqlite_file *file, const char *sql,
		    struct neap_error *err);
/* Runs a query with a single number as result. */
int neap_sqlite_ask(struct neap_sqlite_file *file, const char *sql, int64_t *ret,
		    struct neap_error *err);

/* Creates the tables of a new file, refuses foreign and newer files, and, as what allows,
 * converts older ones to the present format. */
int neap_sqlite_migrate(struct neap_sqlite_file *file,
			const struct neap_sqlite_open *what, struct neap_error *err);
/* Reads the state row of a file in the present format. */
int neap_sqlite_state(struct neap_sqlite_file *file, int64_t *ret_version,
		      struct neap_error *err);

int64_t neap_sqlite_sum_row(int64_t content, int64_t id, int64_t resource);
int64_t neap_sqlite_sum_resource(int64_t id, const char *name);
int64_t neap_sqlite_sum_state(const char *id, int64_t version,
			      const struct neap_sqlite_totals *totals);

#endif
