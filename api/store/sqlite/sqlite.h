/* SPDX-License-Identifier: Apache-2.0
 *
 * The embedded store: one SQLite file in WAL mode, synchronous FULL. A separate thread
 * commits everything accepted since the last commit as one group, so that one disk sync
 * serves many writers and none delays the loop. All objects are in memory as well. */
#ifndef NEAP_API_STORE_SQLITE_SQLITE_H
#define NEAP_API_STORE_SQLITE_SQLITE_H

#include "api/store/store.h"

struct neap_store_sqlite_config {
	const char *file; /* DATA_DIR/neap.db */
	/* DATA_DIR/store, which reveals a lost store. NULL: whatever is missing is
	 * created. */
	const char *marker;
	/* other files show that there was a store (from before the marker existed) */
	bool is_used;
	/* Limits on the history kept for watches and continued lists: age and size. */
	int64_t history_usec;
	size_t history_bytes;
	/* Receives log lines about work on the file; may be NULL. */
	void (*say)(void *arg, bool is_problem, const char *text);
	void *arg;
};

/* Loads everything. Errors name the file and what to do: NEAP_EUNSUPPORTED for a file of
 * a newer neap; NEAP_EINVAL for a damaged or lost file (nothing is changed);
 * NEAP_ECONFLICT when another process has it open. */
int neap_store_sqlite_open(const struct neap_store_sqlite_config *config,
			   struct neap_store **ret, struct neap_error *err);
struct neap_store_facts {
	size_t objects, resources;
	int64_t version;
	int format;
};

/* Checks a file as a start does, and SQLite's own structures too. For copies: a log
 * beside it is merged into the file. Errors as in neap_store_sqlite_open. */
int neap_store_sqlite_check(const char *file, struct neap_store_facts *ret,
			    struct neap_error *err);

#endif
