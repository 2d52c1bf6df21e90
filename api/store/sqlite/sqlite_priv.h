/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the two sides of the embedded store: the loop's (sqlite.c) and the commit
 * thread (sqlite_file.c).
 *
 * Ownership: an operation belongs to the thread from the queue to the list of heard ones,
 * and the thread only reads its objects; only the loop changes reference counts. */
#ifndef NEAP_API_STORE_SQLITE_SQLITE_PRIV_H
#define NEAP_API_STORE_SQLITE_SQLITE_PRIV_H

#include <pthread.h>

#include "api/store/replace.h"
#include "api/store/sqlite/sqlite_file.h"
#include "api/store/store_priv.h"
#include "engine/object/object.h"

struct operation {
	STAILQ_ENTRY(operation) next;
	struct neap_resource *resource;
	struct neap_entry *entry;
	struct neap_object *object; /* NULL: deleted */
	struct neap_object *last;   /* of a deletion */
	struct neap_sqlite_row row;
	bool is_write; /* else it changes nothing and waits for earlier writes */
	size_t bytes;
	neap_store_done *done;
	void *arg;
	struct neap_error err; /* set by the thread; code 0 when durable */
};

STAILQ_HEAD(operations, operation);

/* A separate commit of any size. */
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
	int64_t last_id, last_resource; /* last ids given to entries and resources */
	size_t waiting, waiting_bytes;  /* accepted and not yet visible */
	/* why nothing can be written any more; code 0: it can */
	struct neap_error dead;
	void (*say)(void *arg, bool is_problem, const char *text);
	void *arg;
	bool is_short; /* memory was short at the last change; reported */
	bool is_full;  /* the disk was full at the last attempt */
	struct neap_store_replace *replace; /* under way; NULL */
	int holds;
	bool is_owed; /* the thread is woken when the last hold is released */
	int fd;
	pthread_t thread;
	bool is_checked; /* the thread's alone */
	bool has_thread;
	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t wake;
	struct operations queue, heard;
	struct batch batch;
	bool is_failed; /* the thread waits until the loop has taken back the queue */
	bool is_ending;
};

/* Processes a finished operation on the loop: makes its durable result visible. */
void neap_sqlite_show(struct sqlite_store *sqlite, struct operation *operation,
		      int64_t now);
/* It never was. */
void neap_sqlite_forget_failed(struct sqlite_store *sqlite, struct operation *operation);
/* One write of the entry less is pending; the entry may be freed. */
void neap_sqlite_leave_entry(struct operation *operation);
void neap_sqlite_operation_free(struct operation *operation);
/* Fills the row with the version accepted last. */
void neap_sqlite_fill_row(struct sqlite_store *sqlite, struct operation *operation);
/* Handles a failed commit: sets err to what writers are told; or clears the failure. */
void neap_sqlite_fail(struct sqlite_store *sqlite, struct neap_error *err);
void neap_sqlite_written(struct sqlite_store *sqlite);

/* As neap_store_replace_new. */
int neap_sqlite_replace_new(struct sqlite_store *sqlite, struct neap_store_replace **ret,
			    struct neap_error *err);
/* While true, no other writes are accepted; accepts NULL. */
bool neap_sqlite_replace_is_busy(const struct neap_store_replace *replace);
/* Continues a replacement by one piece. */
void neap_sqlite_replace_turn(struct sqlite_store *sqlite);

void neap_sqlite_poke(const struct sqlite_store *sqlite);
/* The commit thread; arg is the store. Ends when told to and nothing is queued. */
void *neap_sqlite_commit(void *arg);

/* --- the stamp ---
 *
 * The version inside an object's text. */

/* Returns whether both differ in nothing but their version. */
bool neap_stamp_is_same(const struct neap_object *a, const struct neap_object *b);
/* Returns the same object with another version. */
int neap_stamp_at(const struct neap_object *object, int64_t version,
		  struct neap_object **ret, struct neap_error *err);

#endif
