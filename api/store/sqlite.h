/* SPDX-License-Identifier: Apache-2.0
 *
 * The embedded store: one SQLite file in WAL mode, synchronous FULL. A thread of its own commits whatever
 * has been accepted since the last commit as one group, so that one sync of the disk serves many writers
 * and none of them delays the loop. All objects are also in memory. */
#ifndef NEAP_API_STORE_SQLITE_H
#define NEAP_API_STORE_SQLITE_H

#include "api/store/store.h"

struct neap_store_sqlite_config {
	const char *file; /* DATA_DIR/neap.db; made where it is missing */
	/* What is remembered for watches and lists that go on: not older than this, not more than this. */
	int64_t history_usec;
	size_t history_bytes;
	/* For the log: a line about what the file makes of itself; may be NULL. */
	void (*say)(void *arg, bool is_problem, const char *text);
	void *arg;
};

/* Loads everything. Errors name the file and what to do: NEAP_EUNSUPPORTED for a file of a newer neap,
 * NEAP_EINVAL for a damaged one (nothing is changed), NEAP_ECONFLICT when another process has it. */
int neap_store_sqlite_open(const struct neap_store_sqlite_config *config,
			   struct neap_store **ret, struct neap_error *err);
/* Looks a file through as a start does, and SQLite's own structures as well. For a copy: what is in a log
 * beside it is taken over, and it is brought to the present format. Errors as of neap_store_sqlite_open. */
int neap_store_sqlite_check(const char *file, size_t *ret_objects,
			    struct neap_error *err);

#endif
