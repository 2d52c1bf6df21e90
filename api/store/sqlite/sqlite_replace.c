/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects the new content in an index per resource. The commit first lets accepted
 * writes become durable while new ones are refused; then it walks both indexes in
 * parallel and makes an operation of each difference; the thread commits all as one
 * group; finally they become visible. */
#include "api/store/replace.h"

#include <stdlib.h>
#include <string.h>

#include "api/store/sqlite/sqlite_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

/* Objects per turn of the loop. */
#define PIECE       256
#define PIECE_BYTES ((size_t)1024 * 1024)
/* The version that staged objects have; no store reaches it. */
#define STAGED INT64_MAX

enum phase { GATHERING, WAITING, COMPARING, COMMITTING, SHOWING };

struct neap_store_replace {
	struct sqlite_store *sqlite;
	struct neap_map *staged; /* resource: struct neap_index */
	size_t bytes;
	enum phase phase;
	size_t at; /* of the resources of the store, when comparing */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
	struct operations made; /* in the order of their versions */
	struct neap_store_replaced replaced;
	neap_store_replace_done *done;
	void *arg;
};

bool neap_sqlite_replace_is_busy(const struct neap_store_replace *replace)
{
	return replace->phase != GATHERING;
}

int neap_sqlite_replace_new(struct sqlite_store *sqlite, struct neap_store_replace **ret,
			    struct neap_error *err)
{
	struct neap_store_replace *replace;

	if (sqlite->replace)
		return neap_error_set(err, NEAP_ECONFLICT,
				      "another backup is being restored");
	if (sqlite->dead.code != NEAP_OK || sqlite->is_ending)
		return neap_error_set(err, NEAP_EUNAVAILABLE, "%s",
				      sqlite->is_ending ? "neapd ends"
							: sqlite->dead.msg);
	replace = neap_alloc(sizeof(*replace));
	if (!replace)
		return neap_error_nomem(err);
	STAILQ_INIT(&replace->made);
	replace->sqlite = sqlite;
	replace->staged = neap_map_new();
	if (!replace->staged) {
		free(replace);
		return neap_error_nomem(err);
	}
	*ret = sqlite->replace = replace;
	return 0;
}

void neap_store_replace_free(struct neap_store_replace *replace)
{
	struct operation *operation;
	size_t i;

	if (!replace)
		return;
	while ((operation = STAILQ_FIRST(&replace->made))) {
		STAILQ_REMOVE_HEAD(&replace->made, next);
		neap_sqlite_leave_entry(operation);
		neap_sqlite_operation_free(operation);
	}
	for (i = 0; i < neap_map_count(replace->staged); i++)
		neap_index_free(neap_map_at(replace->staged, i, NULL));
	neap_map_free(replace->staged);
	replace->sqlite->replace = NULL;
	free(replace);
}

/* --- gathering --- */

static struct neap_index *staged_index(struct neap_store_replace *replace,
				       const char *resource)
{
	struct neap_index *index = neap_map_find(replace->staged, resource);

	if (index)
		return index;
	/* Here as well, so that comparing meets it. */
	if (!neap_memory_resource(&replace->sqlite->store, resource, true))
		return NULL;
	index = neap_index_new();
	if (index && neap_map_set(replace->staged, resource, index))
		return index;
	neap_index_free(index);
	return NULL;
}

int neap_store_replace_add_take(struct neap_store_replace *replace, const char *resource,
				json_t *object, const char *const *fields,
				struct neap_error *err)
{
	struct neap_object *made;
	struct neap_index *index;
	struct neap_entry *entry;
	int r = neap_object_new_take(object, fields, STAGED, &made, err);

	if (r < 0)
		return r;
	index = staged_index(replace, resource);
	entry = index ? neap_index_add(index, made->ns, made->name) : NULL;
	if (!entry)
		r = neap_error_nomem(err);
	else if (entry->visible)
		r = neap_error_set(err, NEAP_EEXISTS, "%s \"%s\" is there twice",
				   resource, made->name);
	else if (replace->bytes + made->text_len > NEAP_STORE_REPLACE_BYTES_MAX)
		r = neap_error_set(err, NEAP_ETOOLARGE,
				   "objects of more than %zu MiB cannot be restored",
				   NEAP_STORE_REPLACE_BYTES_MAX / 1024 / 1024);
	if (r < 0) {
		neap_object_unref(made);
		return r;
	}
	replace->bytes += made->text_len;
	entry->visible = made;
	return 0;
}

/* --- comparing --- */

/* wanted NULL: it is deleted. */
static int make_operation(struct neap_store_replace *replace,
			  struct neap_resource *resource, struct neap_entry *entry,
			  const struct neap_object *wanted, struct neap_error *err)
{
	struct sqlite_store *sqlite = replace->sqlite;
	struct operation *operation = neap_alloc(sizeof(*operation));
	struct neap_object *object;
	int r;

	if (!operation)
		return neap_error_nomem(err);
	r = neap_stamp_at(wanted ? wanted : entry->newest, sqlite->accepted + 1, &object,
			  err);
	if (r < 0) {
		free(operation);
		return r;
	}
	replace->replaced.deleted += wanted == NULL;
	replace->replaced.created += wanted && !entry->newest;
	replace->replaced.updated += wanted && entry->newest;
	operation->resource = resource;
	operation->entry = entry;
	operation->is_write = true;
	if (wanted)
		operation->object = object;
	else
		operation->last = object;
	sqlite->accepted++;
	neap_sqlite_fill_row(sqlite, operation);
	neap_memory_accept_take(&sqlite->store, entry,
				wanted ? neap_object_ref(object) : NULL);
	entry->writes++;
	STAILQ_INSERT_TAIL(&replace->made, operation, next);
	return 0;
}

static int want_object(struct neap_store_replace *replace, struct neap_resource *resource,
		       struct neap_entry *staged, struct neap_error *err)
{
	struct neap_entry *entry =
		neap_index_find(resource->index, staged->ns, staged->name);
	int r;

	if (entry && entry->newest &&
	    neap_stamp_is_same(entry->newest, staged->visible)) {
		replace->replaced.unchanged++;
		staged->visible = neap_object_unref(staged->visible);
		return 0;
	}
	entry = neap_index_add(resource->index, staged->ns, staged->name);
	if (!entry)
		return neap_error_nomem(err);
	r = make_operation(replace, resource, entry, staged->visible, err);
	if (r < 0)
		neap_memory_drop(resource, entry);
	staged->visible = neap_object_unref(staged->visible);
	return r;
}

static int compare_names(const struct neap_entry *a, const struct neap_entry *b)
{
	int order = strcmp(a->ns, b->ns);

	return order != 0 ? order : strcmp(a->name, b->name);
}

/* The next name of either: 1, or 0 when the resource is through. */
static int compare_next(struct neap_store_replace *replace,
			struct neap_resource *resource, size_t *bytes,
			struct neap_error *err)
{
	const struct neap_index *index = neap_map_find(replace->staged, resource->name);
	struct neap_entry *staged =
		index ? neap_index_after(index, replace->ns, replace->name) : NULL;
	struct neap_entry *entry =
		neap_index_after(resource->index, replace->ns, replace->name);
	bool is_staged = staged && (!entry || compare_names(staged, entry) <= 0);
	struct neap_entry *next = is_staged ? staged : entry;
	int r = 0;

	if (!next)
		return 0;
	(void)neap_strcopy(replace->ns, sizeof(replace->ns), next->ns);
	(void)neap_strcopy(replace->name, sizeof(replace->name), next->name);
	if (is_staged) {
		*bytes += staged->visible->text_len;
		r = want_object(replace, resource, staged, err);
	} else if (entry->newest) {
		*bytes += entry->newest->text_len;
		r = make_operation(replace, resource, entry, NULL, err);
	}
	return r < 0 ? r : 1;
}

/* 1: there is more. */
static int compare_piece(struct neap_store_replace *replace, struct neap_error *err)
{
	const struct neap_map *resources = replace->sqlite->store.resources;
	size_t count, bytes = 0;

	for (count = 0; count < PIECE && bytes < PIECE_BYTES; count++) {
		int r;

		if (replace->at == neap_map_count(resources))
			return 0;
		r = compare_next(replace, neap_map_at(resources, replace->at, NULL),
				 &bytes, err);
		if (r < 0)
			return r;
		if (r == 1)
			continue;
		replace->at++;
		replace->ns[0] = replace->name[0] = '\0';
	}
	return 1;
}

/* --- the commit --- */

void neap_store_replace_commit_take(struct neap_store_replace *replace, int64_t version,
				    neap_store_replace_done *done, void *arg)
{
	struct sqlite_store *sqlite = replace->sqlite;

	replace->done = done;
	replace->arg = arg;
	replace->phase = WAITING;
	if (version > sqlite->accepted)
		sqlite->accepted = version;
	neap_sqlite_poke(sqlite);
}

static void end(struct neap_store_replace *replace, const struct neap_error *err)
{
	struct neap_store_replaced replaced = replace->replaced;
	neap_store_replace_done *done = replace->done;
	void *arg = replace->arg;

	replaced.version = replace->sqlite->store.version;
	neap_store_replace_free(replace);
	if (done)
		done(arg, !err ? &replaced : NULL, err);
}

static void take_back(struct neap_store_replace *replace, const struct neap_error *err)
{
	struct operation *operation;

	for (operation = STAILQ_FIRST(&replace->made); operation;
	     operation = STAILQ_NEXT(operation, next))
		neap_sqlite_forget_failed(replace->sqlite, operation);
	end(replace, err);
}

static void hand_over(struct neap_store_replace *replace)
{
	struct sqlite_store *sqlite = replace->sqlite;

	(void)pthread_mutex_lock(&sqlite->lock);
	STAILQ_INIT(&sqlite->batch.operations);
	STAILQ_CONCAT(&sqlite->batch.operations, &replace->made);
	memset(&sqlite->batch.err, 0, sizeof(sqlite->batch.err));
	sqlite->batch.is_wanted = true;
	(void)pthread_cond_signal(&sqlite->wake);
	(void)pthread_mutex_unlock(&sqlite->lock);
	replace->phase = COMMITTING;
}

static bool take_over(struct neap_store_replace *replace, struct neap_error *err)
{
	struct sqlite_store *sqlite = replace->sqlite;
	bool is_done;

	(void)pthread_mutex_lock(&sqlite->lock);
	is_done = sqlite->batch.is_done;
	if (is_done) {
		STAILQ_CONCAT(&replace->made, &sqlite->batch.operations);
		*err = sqlite->batch.err;
		sqlite->batch.is_done = false;
	}
	(void)pthread_mutex_unlock(&sqlite->lock);
	return is_done;
}

/* True when all are shown. */
static bool show_piece(struct neap_store_replace *replace)
{
	int64_t now = neap_clock_usec(CLOCK_MONOTONIC);
	struct operation *operation;
	size_t count;

	for (count = 0; count < PIECE; count++) {
		operation = STAILQ_FIRST(&replace->made);
		if (!operation)
			return true;
		STAILQ_REMOVE_HEAD(&replace->made, next);
		neap_sqlite_show(replace->sqlite, operation, now);
		neap_sqlite_leave_entry(operation);
		neap_sqlite_operation_free(operation);
	}
	neap_memory_forget(&replace->sqlite->store, now);
	return false;
}

static void compare(struct neap_store_replace *replace)
{
	struct sqlite_store *sqlite = replace->sqlite;
	struct neap_error err = {0};
	int r;

	if (sqlite->dead.code != NEAP_OK || sqlite->is_ending)
		r = neap_error_set(&err, NEAP_EUNAVAILABLE, "%s",
				   sqlite->is_ending ? "neapd ends" : sqlite->dead.msg);
	else
		r = compare_piece(replace, &err);
	if (r < 0)
		take_back(replace, &err);
	else if (r == 0 && STAILQ_EMPTY(&replace->made))
		end(replace, NULL);
	else if (r == 0)
		hand_over(replace);
	else
		neap_sqlite_poke(sqlite);
}

void neap_sqlite_replace_turn(struct sqlite_store *sqlite)
{
	struct neap_store_replace *replace = sqlite->replace;
	struct neap_error err = {0};

	if (!neap_sqlite_replace_is_busy(replace))
		return;
	if (replace->phase == WAITING && sqlite->waiting == 0)
		replace->phase = COMPARING;
	if (replace->phase == COMPARING) {
		compare(replace);
		return;
	}
	if (replace->phase == COMMITTING && take_over(replace, &err)) {
		if (err.code != NEAP_OK) {
			neap_sqlite_fail(sqlite, &err);
			take_back(replace, &err);
			return;
		}
		neap_sqlite_written(sqlite);
		replace->phase = SHOWING;
	}
	if (replace->phase != SHOWING)
		return;
	if (show_piece(replace))
		end(replace, NULL);
	else
		neap_sqlite_poke(sqlite);
}
