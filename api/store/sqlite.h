/* SPDX-License-Identifier: Apache-2.0
 *
 * The embedded store: one SQLite file in WAL mode, synchronous FULL. A thread of its own commits whatever
 * has been accepted since the last commit as one group, so that one sync of the disk serves many writers
 * and none of them delays the loop. All objects are also in memory. */
#ifndef NEAP_API_STORE_SQLITE_H
#define NEAP_API_STORE_SQLITE_H

#include "api/store/store.h"

struct neap_store_sqlite_config {
	const char *file; /* DATA_DIR/neap.db */
	/* DATA_DIR/store: says that there was a store, so that one which is lost is not taken for a new one. NULL: whatever
	 * is missing is made. */
	const char *marker;
	bool is_used; /* the folder shows it by other means: one of before there was a marker */
	/* What is remembered for watches and lists that go on: not older than this, not more than this. */
	int64_t history_usec;
	size_t history_bytes;
	/* For the log: a line about what the file makes of itself; may be NULL. */
	void (*say)(void *arg, bool is_problem, const char *text);
	void *arg;
};

/* Loads everything. Errors name the file and what to do: NEAP_EUNSUPPORTED for a file of a newer neap,
 * NEAP_EINVAL for a damaged one or a lost one (nothing is changed), NEAP_ECONFLICT when another process has it. */
int neap_store_sqlite_open(const struct neap_store_sqlite_config *config,
			   struct neap_store **ret, struct neap_error *err);
struct neap_store_facts {
	size_t objects, resources;
	int64_t version;
	int format;
};

/* Looks a file through as a start does, and SQLite's own structures as well. For a copy: what is in a log
 * beside it is taken over. Errors as of neap_store_sqlite_open. */
int neap_store_sqlite_check(const char *file, struct neap_store_facts *ret,
			    struct neap_error *err);

#endif
