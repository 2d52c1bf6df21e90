/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop's side of the embedded store: checks a write against the newest accepted
 * state, passes it to the thread, and makes durable results visible. The thread commits
 * everything queued as one group. When a group fails, everything accepted since was based
 * on it and fails too. */
#include "api/store/sqlite/sqlite.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/store/sqlite/sqlite_priv.h"
#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

static struct sqlite_store *of(const struct neap_store *store)
{
	return (struct sqlite_store *)(uintptr_t)store;
}

/* --- hearing --- */

static void hold(struct neap_store *store, int step)
{
	struct sqlite_store *sqlite = of(store);

	sqlite->holds += step;
	if (sqlite->holds || !sqlite->is_owed)
		return;
	sqlite->is_owed = false;
	(void)pthread_cond_signal(&sqlite->wake);
}

void neap_sqlite_operation_free(struct operation *operation)
{
	neap_object_unref(operation->object);
	neap_object_unref(operation->last);
	free(operation);
}

void neap_sqlite_leave_entry(struct operation *operation)
{
	operation->entry->writes--;
	neap_memory_drop(operation->resource, operation->entry);
}

void neap_sqlite_show(struct sqlite_store *sqlite, struct operation *operation,
		      int64_t now)
{
	if (!operation->is_write)
		return;
	operation->resource->id = operation->row.resource;
	if (neap_memory_show(&sqlite->store, operation->resource, operation->entry,
			     operation->object, operation->last, operation->row.version,
			     now)) {
		sqlite->is_short = false;
		return;
	}
	if (sqlite->say && !sqlite->is_short)
		sqlite->say(sqlite->arg, true,
			    "no memory to remember changes: watches start over");
	sqlite->is_short = true;
}

void neap_sqlite_fail(struct sqlite_store *sqlite, struct neap_error *err)
{
	/* Nobody's request is wrong or in conflict because the file is. */
	if (err->code != NEAP_EUNAVAILABLE && err->code != NEAP_ENOMEM) {
		err->code = NEAP_EINTERNAL;
		sqlite->dead = *err;
	}
	if (sqlite->say && !sqlite->is_full)
		sqlite->say(sqlite->arg, true, err->msg);
	sqlite->is_full = true;
}

void neap_sqlite_written(struct sqlite_store *sqlite)
{
	if (sqlite->is_full && sqlite->say)
		sqlite->say(sqlite->arg, false, "writes again");
	sqlite->is_full = false;
}

/* A group that failed, and all that was built upon it, never were. */
static void take_back(struct sqlite_store *sqlite, struct operations *heard)
{
	struct operation *operation, *failed = NULL;
	struct neap_error err = {0};

	for (operation = STAILQ_FIRST(heard); operation;
	     operation = STAILQ_NEXT(operation, next))
		if (operation->err.code != NEAP_OK && !failed)
			failed = operation;
	if (!failed)
		return;
	err = failed->err;
	neap_sqlite_fail(sqlite, &err);
	(void)pthread_mutex_lock(&sqlite->lock);
	STAILQ_CONCAT(heard, &sqlite->queue);
	sqlite->is_failed = false;
	(void)pthread_cond_signal(&sqlite->wake);
	(void)pthread_mutex_unlock(&sqlite->lock);
	for (operation = failed; operation; operation = STAILQ_NEXT(operation, next))
		operation->err = err;
}

void neap_sqlite_forget_failed(struct sqlite_store *sqlite, struct operation *operation)
{
	struct neap_entry *entry = operation->entry;

	neap_memory_accept_take(&sqlite->store, entry,
				entry->visible ? neap_object_ref(entry->visible) : NULL);
}

/* First everything becomes visible, then listeners are called: whoever hears of one write
 * sees them all. */
static void hear_operations(struct sqlite_store *sqlite, struct operations *heard)
{
	struct operation *operation;
	int64_t now = neap_clock_usec(CLOCK_MONOTONIC);

	take_back(sqlite, heard);
	for (operation = STAILQ_FIRST(heard); operation;
	     operation = STAILQ_NEXT(operation, next)) {
		if (operation->err.code == NEAP_OK)
			neap_sqlite_show(sqlite, operation, now);
		else
			neap_sqlite_forget_failed(sqlite, operation);
		if (operation->err.code == NEAP_OK && operation->is_write)
			neap_sqlite_written(sqlite);
	}
	while ((operation = STAILQ_FIRST(heard))) {
		const struct neap_error *err =
			operation->err.code != NEAP_OK ? &operation->err : NULL;

		STAILQ_REMOVE_HEAD(heard, next);
		sqlite->waiting--;
		sqlite->waiting_bytes -= operation->bytes;
		neap_sqlite_leave_entry(operation);
		if (operation->done)
			operation->done(operation->arg,
					err                 ? NULL
					: operation->object ? operation->object
							    : operation->last,
					err);
		neap_sqlite_operation_free(operation);
	}
	neap_memory_forget(&sqlite->store, now);
}

/* In the loop's next turn. Cannot block: nobody counts to the end of 64 bits. */
static void hear_again(const struct sqlite_store *sqlite)
{
	uint64_t one = 1;

	if (write(sqlite->fd, &one, sizeof(one)) < 0)
		return;
}

static void hear(struct neap_store *store)
{
	struct sqlite_store *sqlite = of(store);
	struct operations heard = STAILQ_HEAD_INITIALIZER(heard);
	uint64_t count;

	if (read(sqlite->fd, &count, sizeof(count)) < 0)
		count = 0; /* nothing new: heard may be empty */
	(void)pthread_mutex_lock(&sqlite->lock);
	STAILQ_CONCAT(&heard, &sqlite->heard);
	(void)pthread_mutex_unlock(&sqlite->lock);
	/* Listeners may write. */
	hold(store, 1);
	hear_operations(sqlite, &heard);
	if (sqlite->replace)
		neap_sqlite_replace_turn(sqlite);
	if (neap_memory_call(store))
		hear_again(sqlite);
	hold(store, -1);
}

/* --- writing --- */

static int check(const struct sqlite_store *sqlite, const struct neap_store_write *write,
		 const struct neap_object *newest, struct neap_error *err)
{
	/* Set by this thread alone. The other one may have ended, and nobody would commit
	 * it. */
	if (sqlite->is_ending)
		return neap_error_set(err, NEAP_EUNAVAILABLE, "neapd ends");
	if (sqlite->dead.code != NEAP_OK)
		return neap_error_set(err, NEAP_EUNAVAILABLE, "%s", sqlite->dead.msg);
	if (sqlite->replace && neap_sqlite_replace_is_busy(sqlite->replace))
		return neap_error_set(err, NEAP_EUNAVAILABLE,
				      "a backup is being restored: try again later");
	if (sqlite->waiting >= NEAP_STORE_WRITES_MAX ||
	    sqlite->waiting_bytes >= NEAP_STORE_WRITE_BYTES_MAX)
		return neap_error_set(err, NEAP_EUNAVAILABLE,
				      "%zu writes wait for the disk: try again later",
				      sqlite->waiting);
	if (write->verb == NEAP_STORE_CREATE && newest)
		return neap_error_set(err, NEAP_EEXISTS, "%s \"%s\" already exists",
				      write->resource, write->name);
	if (write->verb != NEAP_STORE_CREATE && !newest)
		return neap_error_set(err, NEAP_ENOTFOUND, "%s \"%s\" not found",
				      write->resource, write->name);
	if (write->version != 0 && newest && newest->version != write->version)
		return neap_error_set(
			err, NEAP_ECONFLICT,
			"Operation cannot be fulfilled on %s \"%s\": the object has been "
			"modified; please apply your changes to the latest version and "
			"try again",
			write->resource, write->name);
	return 0;
}

/* The result of the write; for a deletion the last state. */
static int make_object(struct sqlite_store *sqlite, struct neap_store_write *write,
		       const struct neap_object *newest, struct neap_object **ret,
		       struct neap_error *err)
{
	json_t *tree = write->object;
	int r;

	write->object = NULL;
	/* Else without memory for the caller's: neap_object_new_take says so. */
	if (!tree && write->verb == NEAP_STORE_DELETE)
		tree = neap_object_tree(newest);
	r = neap_object_new_take(tree, write->fields, sqlite->accepted + 1, ret, err);
	if (r < 0)
		return r;
	if (strcmp((*ret)->ns, write->ns) == 0 && strcmp((*ret)->name, write->name) == 0)
		return 0;
	*ret = neap_object_unref(*ret);
	return neap_error_field(err, NEAP_EINVAL, "metadata.name",
				"Invalid value: does not match the request's '%s'",
				write->name);
}

static struct operation *operation_new(const struct neap_store_write *write,
				       struct neap_resource *resource,
				       struct neap_entry *entry,
				       struct neap_object *object)
{
	struct operation *operation = neap_alloc(sizeof(*operation));

	if (!operation)
		return NULL;
	operation->resource = resource;
	operation->entry = entry;
	operation->done = write->done;
	operation->arg = write->arg;
	operation->bytes = sizeof(*object) + object->meta_len + object->text_len;
	operation->is_write = true;
	if (write->verb == NEAP_STORE_DELETE)
		operation->last = object;
	else
		operation->object = object;
	return operation;
}

void neap_sqlite_fill_row(struct sqlite_store *sqlite, struct operation *operation)
{
	struct neap_resource *resource = operation->resource;

	if (operation->entry->id == 0)
		operation->entry->id = ++sqlite->last_id;
	operation->row = (struct neap_sqlite_row){
		.id = operation->entry->id,
		.resource = resource->id,
		.object = operation->object,
		.version = sqlite->accepted,
		.is_there = operation->entry->newest != NULL,
	};
	/* Until the first write of a resource is shown, each brings its name along. */
	if (resource->id > 0)
		return;
	if (resource->id == 0)
		resource->id = -(++sqlite->last_resource);
	operation->row.resource = -resource->id;
	operation->row.resource_name = resource->name;
}

/* Everything that can fail has been done. */
static void accept_write(struct sqlite_store *sqlite, struct operation *operation)
{
	struct neap_entry *entry = operation->entry;
	bool was_empty;

	if (operation->is_write) {
		sqlite->accepted++;
		neap_sqlite_fill_row(sqlite, operation);
		neap_memory_accept_take(
			&sqlite->store, entry,
			operation->object ? neap_object_ref(operation->object) : NULL);
	}
	entry->writes++;
	sqlite->waiting++;
	sqlite->waiting_bytes += operation->bytes;
	(void)pthread_mutex_lock(&sqlite->lock);
	was_empty = STAILQ_EMPTY(&sqlite->queue);
	STAILQ_INSERT_TAIL(&sqlite->queue, operation, next);
	(void)pthread_mutex_unlock(&sqlite->lock);
	/* Else it was woken for those before, and takes what waits by then. */
	if (!was_empty)
		return;
	if (sqlite->holds)
		sqlite->is_owed = true;
	else
		(void)pthread_cond_signal(&sqlite->wake);
}

static int write_checked(struct sqlite_store *sqlite, struct neap_store_write *write,
			 struct neap_resource *resource, struct neap_error *err)
{
	struct neap_entry *entry =
		neap_index_find(resource->index, write->ns, write->name);
	struct neap_object *newest = entry ? entry->newest : NULL, *object;
	struct operation *operation;

	if (check(sqlite, write, newest, err) < 0 ||
	    make_object(sqlite, write, newest, &object, err) < 0)
		return -(int)err->code;
	entry = neap_index_add(resource->index, write->ns, write->name);
	operation = entry ? operation_new(write, resource, entry, object) : NULL;
	if (!operation) {
		neap_object_unref(object);
		if (entry)
			neap_memory_drop(resource, entry);
		return neap_error_nomem(err);
	}
	if (write->verb == NEAP_STORE_UPDATE && neap_stamp_is_same(newest, object)) {
		operation->is_write = false;
		operation->object = neap_object_ref(newest);
		neap_object_unref(object);
	}
	accept_write(sqlite, operation);
	return 0;
}

static int write_take(struct neap_store *store, struct neap_store_write *write,
		      struct neap_error *err)
{
	struct neap_resource *resource =
		neap_memory_resource(store, write->resource, true);
	int r = resource ? write_checked(of(store), write, resource, err)
			 : neap_error_nomem(err);

	json_decref(write->object); /* of a write that was refused before it was used */
	write->object = NULL;
	return r;
}

/* --- its life --- */

static int fd_of(const struct neap_store *store)
{
	return of(store)->fd;
}

/* Nobody writes any more. If it is unknown whether the log is still needed, it stays. */
static void close_marked(struct sqlite_store *sqlite)
{
	struct neap_error err;

	if (!sqlite->file)
		return;
	if (sqlite->marker[0] != '\0' &&
	    (!sqlite->is_marked ||
	     neap_store_marker_write(sqlite->marker, neap_sqlite_file_id(sqlite->file),
				     false, &err) < 0))
		neap_sqlite_file_keep_log(sqlite->file);
	neap_sqlite_file_close(sqlite->file);
}

static void free_store(struct neap_store *store)
{
	struct sqlite_store *sqlite = of(store);

	if (sqlite->has_thread) {
		(void)pthread_mutex_lock(&sqlite->lock);
		sqlite->is_ending = true;
		(void)pthread_cond_signal(&sqlite->wake);
		(void)pthread_mutex_unlock(&sqlite->lock);
		/* A group that fails waits for the loop to take the rest back. */
		while (sqlite->waiting > 0 ||
		       (sqlite->replace &&
			neap_sqlite_replace_is_busy(sqlite->replace))) {
			struct pollfd ready = {.fd = sqlite->fd, .events = POLLIN};

			(void)poll(&ready, 1,
				   /* one that was cut short is reported all the same */
				   1000);
			hear(store);
		}
		(void)pthread_join(sqlite->thread, NULL);
	}
	close_marked(sqlite);
	neap_memory_done(store);
	neap_fd_close(&sqlite->fd);
	(void)pthread_mutex_destroy(&sqlite->lock);
	(void)pthread_cond_destroy(&sqlite->wake);
	free(sqlite);
}

static int replace_new(struct neap_store *store, struct neap_store_replace **ret,
		       struct neap_error *err)
{
	return neap_sqlite_replace_new(of(store), ret, err);
}

static const struct neap_store_backend backend = {
	.write_take = write_take,
	.fd = fd_of,
	.hear = hear,
	.hold = hold,
	.replace_new = replace_new,
	.free = free_store,
};

static int load_one(void *arg, int64_t resource_id, const char *name, int64_t id,
		    struct neap_object *object, struct neap_error *err)
{
	struct sqlite_store *sqlite = arg;
	struct neap_resource *resource = neap_memory_resource(&sqlite->store, name, true);
	struct neap_entry *entry =
		!resource || !object
			? NULL
			: neap_index_add(resource->index, object->ns, object->name);

	if (resource)
		resource->id = resource_id;
	if (resource_id > sqlite->last_resource)
		sqlite->last_resource = resource_id;
	if (resource && !object)
		return 0;
	if (!entry) {
		neap_object_unref(object);
		return neap_error_nomem(err);
	}
	if (entry->visible) {
		(void)neap_error_set(err, NEAP_EINVAL, "%s \"%s\" is there twice", name,
				     object->name);
		neap_object_unref(object);
		return -NEAP_EINVAL;
	}
	resource->visible_count++;
	entry->id = id;
	entry->visible = object;
	neap_memory_accept_take(&sqlite->store, entry, neap_object_ref(object));
	if (id > sqlite->last_id)
		sqlite->last_id = id;
	return 0;
}

/* Signals are the loop's. */
static int start_thread(struct sqlite_store *sqlite, struct neap_error *err)
{
	sigset_t all, before;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&sqlite->thread, NULL, neap_sqlite_commit, sqlite);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r != 0)
		return neap_error_set(err, NEAP_ESYS, "start the thread of commits: %s",
				      strerror(r));
	sqlite->has_thread = true;
	return 0;
}

static int open_marked(struct sqlite_store *sqlite,
		       const struct neap_store_sqlite_config *config,
		       struct neap_error *err)
{
	struct neap_sqlite_open what = {
		.path = config->file, .say = config->say, .arg = config->arg};
	struct neap_store_marker marker = {0};

	if (config->marker) {
		if (!neap_strcopy(sqlite->marker, sizeof(sqlite->marker), config->marker))
			return neap_error_set(err, NEAP_ETOOLARGE,
					      "%s: the path is too long", config->marker);
		if (neap_store_marker_read(config->marker, &marker, err) < 0 ||
		    neap_store_marker_check(&marker, config->file, config->is_used,
					    &what.is_used, err) < 0)
			return -(int)err->code;
	}
	return neap_sqlite_file_open(&what, &sqlite->file, &sqlite->store.version, err);
}

/* The folder says from now on which store it has, and that its log is needed. */
static void mark(struct sqlite_store *sqlite,
		 const struct neap_store_sqlite_config *config)
{
	const char *id = neap_sqlite_file_id(sqlite->file);
	struct neap_store_marker marker = {0};
	char text[160 + 2 * NEAP_STORE_ID];
	struct neap_error err = {0};

	if (!config->marker)
		return;
	sqlite->is_marked = neap_store_marker_read(config->marker, &marker, &err) == 0 &&
			    strcmp(marker.id, id) == 0 && marker.is_open;
	if (sqlite->is_marked)
		return;
	if (marker.id[0] != '\0' && strcmp(marker.id, id) != 0 && config->say) {
		(void)snprintf(text, sizeof(text),
			       "another store (%s) has been put in place of the one that "
			       "was here (%s)",
			       id, marker.id);
		config->say(config->arg, false, text);
	}
	sqlite->is_marked = neap_store_marker_write(config->marker, id, true, &err) == 0;
	if (!sqlite->is_marked && config->say)
		config->say(config->arg, true, err.msg);
}

int neap_store_sqlite_open(const struct neap_store_sqlite_config *config,
			   struct neap_store **ret, struct neap_error *err)
{
	struct sqlite_store *sqlite = neap_alloc(sizeof(*sqlite));
	int r;

	if (!sqlite)
		return neap_error_nomem(err);
	STAILQ_INIT(&sqlite->queue);
	STAILQ_INIT(&sqlite->heard);
	(void)pthread_mutex_init(&sqlite->lock, NULL);
	(void)pthread_cond_init(&sqlite->wake, NULL);
	sqlite->say = config->say;
	sqlite->arg = config->arg;
	sqlite->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = sqlite->fd < 0
		    ? neap_error_sys(err, "make an eventfd")
		    : neap_memory_init(&sqlite->store, &backend, config->history_usec,
				       config->history_bytes, err);
	if (r == 0)
		r = open_marked(sqlite, config, err);
	sqlite->accepted = sqlite->store.loaded = sqlite->store.version;
	if (r == 0)
		r = neap_sqlite_file_load(sqlite->file, load_one, sqlite, err);
	if (r == 0)
		mark(sqlite, config);
	if (r == 0)
		r = start_thread(sqlite, err);
	if (r < 0) {
		free_store(&sqlite->store);
		return r;
	}
	*ret = &sqlite->store;
	return 0;
}
