/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two sides of the embedded store share: the loop's (sqlite.c) and the thread that commits
 * (sqlite_commit.c).
 *
 * Ownership: an operation belongs to the thread from the queue's end to the heard list's, and its objects
 * are only read there; counts of references are the loop's alone. */
#ifndef NEAP_API_STORE_SQLITE_PRIV_H
#define NEAP_API_STORE_SQLITE_PRIV_H

#include <pthread.h>

#include "api/store/replace.h"
#include "api/store/sqlite_file.h"
#include "api/store/store_priv.h"

struct operation {
	STAILQ_ENTRY(operation) next;
	struct neap_resource *resource;
	struct neap_entry *entry;
	struct neap_object *object; /* NULL: deleted */
	struct neap_object *last;   /* of a deletion */
	struct neap_sqlite_row row;
	bool is_write; /* else nothing changes, and it only waits for what came before */
	size_t bytes;
	neap_store_done *done;
	void *arg;
	struct neap_error err; /* set by the thread; code 0 when it is durable */
};

STAILQ_HEAD(operations, operation);

/* A commit by itself, of whatever size. */
struct batch {
	struct operations operations;
	bool is_wanted, is_done;
	struct neap_error err;
};

struct sqlite_store {
	struct neap_store store; /* first: what callers hold */
	struct neap_sqlite_file *file;
	char marker[256];               /* "": none */
	bool is_marked;                 /* as open */
	int64_t accepted;               /* version of the newest accepted write */
	int64_t last_id, last_resource; /* given to entries and resources */
	size_t waiting, waiting_bytes;  /* accepted, not shown yet */
	struct neap_error dead;         /* why nothing is written any more; code 0 */
	void (*say)(void *arg, bool is_problem, const char *text);
	void *arg;
	bool is_short; /* of memory for the last change, which was told */
	bool is_full;  /* the disk took nothing the last time */
	struct neap_store_replace *replace; /* under way; NULL */
	int holds;
	bool is_owed; /* the thread is to be woken with the last of them */
	int fd;
	pthread_t thread;
	bool is_checked; /* the thread's alone */
	bool has_thread;
	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t wake;
	struct operations queue, heard;
	struct batch batch;
	bool is_failed; /* the thread waits until the loop has taken the queue back */
	bool is_ending;
};

/* What the loop does with an operation when it has been heard. Shows what it makes: it is durable. */
void neap_sqlite_show(struct sqlite_store *sqlite, struct operation *operation,
		      int64_t now);
/* It never was. */
void neap_sqlite_forget_failed(struct sqlite_store *sqlite, struct operation *operation);
/* One write less is on its way to the entry, which may go with it. */
void neap_sqlite_leave_entry(struct operation *operation);
void neap_sqlite_operation_free(struct operation *operation);
/* Its row, of the version that was accepted last. */
void neap_sqlite_fill_row(struct sqlite_store *sqlite, struct operation *operation);
/* A commit failed: err becomes what writers are told. Or it did not. */
void neap_sqlite_fail(struct sqlite_store *sqlite, struct neap_error *err);
void neap_sqlite_written(struct sqlite_store *sqlite);

/* As neap_store_replace_new. */
int neap_sqlite_replace_new(struct sqlite_store *sqlite, struct neap_store_replace **ret,
			    struct neap_error *err);
/* Nothing else may be written; NULL is fine. */
bool neap_sqlite_replace_is_busy(const struct neap_store_replace *replace);
/* Goes on with a replacement, a piece at a time. */
void neap_sqlite_replace_turn(struct sqlite_store *sqlite);

void neap_sqlite_poke(const struct sqlite_store *sqlite);
/* arg is the store. Ends when it is told to and nothing waits. */
void *neap_sqlite_commit(void *arg);

#endif
