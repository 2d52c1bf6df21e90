/* SPDX-License-Identifier: Apache-2.0
 *
 * The commit thread: takes everything queued as one group. After a failed group it waits
 * until the loop has taken back what was based on it. */
#include <string.h>
#include <unistd.h>

#include "api/store/sqlite/sqlite_priv.h"

#define GROUP_MAX 4096

void neap_sqlite_poke(const struct sqlite_store *sqlite)
{
	uint64_t one = 1;

	/* Cannot block: nobody counts to the end of 64 bits. */
	if (write(sqlite->fd, &one, sizeof(one)) < 0)
		return;
}

/* The file was read with all its sums. This looks at the rest, which later rows would be
 * written into, and without delay for a start. */
static int check_file(struct sqlite_store *sqlite, struct neap_error *err)
{
	if (!sqlite->is_checked && neap_sqlite_file_check(sqlite->file, err) < 0)
		return -(int)err->code;
	sqlite->is_checked = true;
	return 0;
}

static int write_group(struct sqlite_store *sqlite, struct operations *group,
		       struct neap_error *err)
{
	struct operation *operation;
	int64_t version = 0;

	for (operation = STAILQ_FIRST(group); operation != NULL;
	     operation = STAILQ_NEXT(operation, next)) {
		if (!operation->is_write)
			continue;
		if (version == 0 && (check_file(sqlite, err) < 0 ||
				     neap_sqlite_file_begin(sqlite->file, err) < 0))
			return -(int)err->code;
		if (neap_sqlite_file_put(sqlite->file, &operation->row, err) < 0)
			return -(int)err->code;
		version = operation->row.version;
	}
	return version == 0 ? 0 : neap_sqlite_file_end(sqlite->file, version, err);
}

static void take_group(struct operations *queue, struct operations *group)
{
	size_t count;

	for (count = 0; count < GROUP_MAX && !STAILQ_EMPTY(queue); count++) {
		struct operation *operation = STAILQ_FIRST(queue);

		STAILQ_REMOVE_HEAD(queue, next);
		STAILQ_INSERT_TAIL(group, operation, next);
	}
}

/* Without the lock. */
static void commit_group(struct sqlite_store *sqlite, struct operations *group,
			 bool *ret_is_failed)
{
	struct operation *operation;
	struct neap_error err = {0};

	*ret_is_failed = write_group(sqlite, group, &err) < 0;
	if (!*ret_is_failed)
		return;
	neap_sqlite_file_undo(sqlite->file);
	for (operation = STAILQ_FIRST(group); operation != NULL;
	     operation = STAILQ_NEXT(operation, next))
		operation->err = err;
}

/* Without the lock. */
static void commit_batch(struct sqlite_store *sqlite)
{
	struct batch *batch = &sqlite->batch;

	if (write_group(sqlite, &batch->operations, &batch->err) < 0)
		neap_sqlite_file_undo(sqlite->file);
	(void)pthread_mutex_lock(&sqlite->lock);
	batch->is_wanted = false;
	batch->is_done = true;
	(void)pthread_mutex_unlock(&sqlite->lock);
	neap_sqlite_poke(sqlite);
}

void *neap_sqlite_commit(void *arg)
{
	struct sqlite_store *sqlite = arg;
	struct neap_error ignored;

	/* the first commit tries again and reports it */
	(void)check_file(sqlite, &ignored);
	(void)pthread_mutex_lock(&sqlite->lock);
	for (;;) {
		struct operations group = STAILQ_HEAD_INITIALIZER(group);
		bool is_failed, is_batch;

		while ((sqlite->is_failed || STAILQ_EMPTY(&sqlite->queue)) &&
		       !sqlite->batch.is_wanted &&
		       !(sqlite->is_ending && !sqlite->is_failed))
			(void)pthread_cond_wait(&sqlite->wake, &sqlite->lock);
		is_batch = sqlite->batch.is_wanted; /* then nothing else waits */
		if (sqlite->is_ending && STAILQ_EMPTY(&sqlite->queue) && !is_batch)
			break;
		if (!sqlite->is_failed)
			take_group(&sqlite->queue, &group);
		(void)pthread_mutex_unlock(&sqlite->lock);
		if (!STAILQ_EMPTY(&group)) {
			commit_group(sqlite, &group, &is_failed);
			(void)pthread_mutex_lock(&sqlite->lock);
			sqlite->is_failed = is_failed;
			STAILQ_CONCAT(&sqlite->heard, &group);
			(void)pthread_mutex_unlock(&sqlite->lock);
			neap_sqlite_poke(sqlite);
		}
		if (is_batch)
			commit_batch(sqlite);
		(void)pthread_mutex_lock(&sqlite->lock);
	}
	(void)pthread_mutex_unlock(&sqlite->lock);
	return NULL;
}
