/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads the whole file without trusting it: each row must match its checksum, and all of
 * them the totals of the last commit. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/store/sqlite/sqlite.h"
#include "api/store/sqlite/sqlite_file.h"
#include "api/store/sqlite/sqlite_file_priv.h"
#include "api/store/sqlite/sqlite_priv.h"
#include "api/store/sum.h"
#include "engine/base/mem.h"

/* State of the load. */
struct load {
	struct neap_sqlite_file *file;
	neap_sqlite_load *give;
	void *arg;
	struct neap_sqlite_totals totals;
};

/* An object by its name, as far as that can be read. */
static int bad_object(struct load *load, int64_t id, const char *resource,
		      const struct neap_object *object, struct neap_error *err)
{
	char what[160], *at;

	if (!object)
		(void)snprintf(what, sizeof(what), "object %lld of %.60s", (long long)id,
			       resource);
	else
		(void)snprintf(what, sizeof(what), "%.60s %.30s%s%.50s", resource,
			       object->ns, object->ns[0] != '\0' ? "/" : "",
			       object->name);
	for (at = what; *at != '\0'; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	return neap_sqlite_damaged(load->file, what, err);
}

/* Whether memory for the values of this row ran out: then they are NULL, as damaged ones
 * can be. */
static bool is_short(const struct load *load)
{
	return sqlite3_errcode(load->file->db) == SQLITE_NOMEM;
}

static int load_object(struct load *load, sqlite3_stmt *query, struct neap_error *err)
{
	int64_t id = sqlite3_column_int64(query, 0);
	int64_t sum = sqlite3_column_int64(query, 2), made = 0;
	const void *meta = sqlite3_column_blob(query, 3);
	size_t meta_len = (size_t)sqlite3_column_bytes(query, 3);
	const void *text = sqlite3_column_blob(query, 4);
	size_t text_len = (size_t)sqlite3_column_bytes(query, 4);
	int64_t resource = sqlite3_column_int64(query, 5);
	const char *name = (const char *)sqlite3_column_text(query, 6);
	struct neap_object *object = NULL;
	int r = neap_object_restore(meta ? meta : "", meta_len, text ? text : "",
				    text_len, sqlite3_column_int64(query, 1), &object,
				    err);

	if (r == -NEAP_ENOMEM || is_short(load)) {
		neap_object_unref(object);
		return neap_error_nomem(err);
	}
	if (r == 0) {
		made = neap_sum_object(object);
		if (load->file->format > 1)
			made = neap_sqlite_sum_row(made, id, resource);
	}
	if (r < 0 || !name || made != sum) {
		r = bad_object(load, id, name ? name : "no resource", object, err);
		neap_object_unref(object);
		return r;
	}
	load->totals.digest += (uint64_t)sum;
	load->totals.objects++;
	return load->give(load->arg, resource, name, id, object, err);
}

/* Those without objects too: their numbers are taken. */
static int load_resource(struct load *load, sqlite3_stmt *query, struct neap_error *err)
{
	int64_t id = sqlite3_column_int64(query, 0), sum = 0;
	const char *name = (const char *)sqlite3_column_text(query, 1);

	if (is_short(load))
		return neap_error_nomem(err);
	if (load->file->format > 1)
		sum = sqlite3_column_int64(query, 2);
	if (!name ||
	    (load->file->format > 1 && sum != neap_sqlite_sum_resource(id, name)))
		return neap_sqlite_damaged(load->file, "the name of a resource", err);
	load->totals.digest += (uint64_t)sum;
	return load->give(load->arg, id, name, 0, NULL, err);
}

static int each_row(struct load *load, const char *sql,
		    int (*take)(struct load *load, sqlite3_stmt *query,
				struct neap_error *err),
		    struct neap_error *err)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(load->file->db, sql, -1, &query, NULL), r = 0;

	while (r == 0 && (code == SQLITE_OK || code == SQLITE_ROW)) {
		code = sqlite3_step(query);
		if (code == SQLITE_ROW)
			r = take(load, query, err);
	}
	if (r == 0 && code != SQLITE_DONE)
		r = neap_sqlite_failed(load->file, code, err);
	(void)sqlite3_finalize(query); /* returns the error of the step again */
	return r;
}

static int compare(const struct load *load, struct neap_error *err)
{
	const struct neap_sqlite_totals *wanted = &load->file->totals;
	char what[96];

	if (load->file->format == 1 || (load->totals.objects == wanted->objects &&
					load->totals.digest == wanted->digest))
		return 0;
	if (load->totals.objects == wanted->objects)
		(void)snprintf(what, sizeof(what),
			       "its rows are not those of the last commit");
	else
		(void)snprintf(what, sizeof(what), "%lld objects are there of %lld",
			       (long long)load->totals.objects,
			       (long long)wanted->objects);
	return neap_sqlite_damaged(load->file, what, err);
}

int neap_sqlite_file_load(struct neap_sqlite_file *file, neap_sqlite_load *give,
			  void *arg, struct neap_error *err)
{
	struct load load = {.file = file, .give = give, .arg = arg};

	if (each_row(&load,
		     file->format == 1 ? "SELECT id, name FROM resources"
				       : "SELECT id, name, sum FROM resources",
		     load_resource, err) < 0 ||
	    each_row(&load,
		     "SELECT o.id, o.version, o.sum, o.meta, o.text, o.resource, r.name "
		     "FROM objects o LEFT JOIN resources r ON r.id = o.resource",
		     load_object, err) < 0)
		return -(int)err->code;
	return compare(&load, err);
}

int neap_sqlite_file_check(struct neap_sqlite_file *file, struct neap_error *err)
{
	sqlite3_stmt *query = NULL;
	int code =
		sqlite3_prepare_v2(file->db, "PRAGMA quick_check(1)", -1, &query, NULL);
	const char *text;
	char what[128];
	int r;

	if (code == SQLITE_OK)
		code = sqlite3_step(query);
	if (code != SQLITE_ROW) {
		r = neap_sqlite_failed(file, code, err);
	} else {
		text = (const char *)sqlite3_column_text(query, 0);
		(void)neap_strcopy(what, sizeof(what), text ? text : "");
		r = !text                     ? neap_error_nomem(err)
		    : strcmp(text, "ok") != 0 ? neap_sqlite_damaged(file, what, err)
					      : 0;
	}
	(void)sqlite3_finalize(query); /* returns the error of the step again */
	return r;
}

/* --- the stamp --- */

#define MARK 48

static size_t make_mark(int64_t version, char mark[MARK])
{
	return (size_t)snprintf(mark, MARK, "\"resourceVersion\":\"%" PRId64 "\"",
				version);
}

/* Where the text has the object's own version, which may follow that of another object it
 * mentions. */
static const char *version_in(const struct neap_object *object, size_t *ret_len)
{
	char mark[MARK];

	*ret_len = make_mark(object->version, mark);
	return strstr(object->text, mark);
}

bool neap_stamp_is_same(const struct neap_object *a, const struct neap_object *b)
{
	size_t left_len, right_len;
	const char *left = version_in(a, &left_len), *right = version_in(b, &right_len);

	return left && right && left - a->text == right - b->text &&
	       memcmp(a->text, b->text, (size_t)(left - a->text)) == 0 &&
	       strcmp(left + left_len, right + right_len) == 0;
}

/* For texts in which the object's own version cannot be told from others. */
static int stamp_tree(const struct neap_object *object, int64_t version,
		      struct neap_object **ret, struct neap_error *err)
{
	neap_auto_free const char **fields =
		neap_alloc_array((size_t)object->field_count + 1, sizeof(*fields));
	const char *at = object->fields;
	size_t i;

	if (!fields)
		return neap_error_nomem(err);
	for (i = 0; i < object->field_count; i++) {
		fields[i] = at;
		at += strlen(at) + 1;
		at += strlen(at) + 1;
	}
	return neap_object_new_take(neap_object_tree(object), fields, version, ret, err);
}

int neap_stamp_at(const struct neap_object *object, int64_t version,
		  struct neap_object **ret, struct neap_error *err)
{
	neap_auto_free char *text = NULL;
	size_t old_len, new_len, before, after;
	const char *old = version_in(object, &old_len);
	char mark[MARK];

	(void)make_mark(object->version, mark);
	if (!old || strstr(old + old_len, mark))
		return stamp_tree(object, version, ret, err);
	new_len = make_mark(version, mark);
	before = (size_t)(old - object->text);
	after = object->text_len - before - old_len;
	text = neap_alloc(before + new_len + after + 1);
	if (!text)
		return neap_error_nomem(err);
	memcpy(text, object->text, before);
	memcpy(text + before, mark, new_len);
	memcpy(text + before + new_len, old + old_len, after);
	return neap_object_restore(object->block, object->meta_len, text,
				   before + new_len + after, version, ret, err);
}

/* --- checking --- */

static int count_one(void *arg, int64_t resource NEAP_UNUSED,
		     const char *name NEAP_UNUSED, int64_t id NEAP_UNUSED,
		     struct neap_object *object, struct neap_error *err NEAP_UNUSED)
{
	struct neap_store_facts *facts = arg;

	facts->objects += object != NULL;
	facts->resources += object == NULL;
	neap_object_unref(object);
	return 0;
}

int neap_store_sqlite_check(const char *file, struct neap_store_facts *ret,
			    struct neap_error *err)
{
	const struct neap_sqlite_open what = {
		.path = file, .is_used = true, .is_kept = true};
	struct neap_store_facts facts = {0};
	struct neap_sqlite_file *opened = NULL;
	int r = neap_sqlite_file_open(&what, &opened, &facts.version, err);

	if (r == 0)
		r = neap_sqlite_file_load(opened, count_one, &facts, err);
	if (r == 0)
		r = neap_sqlite_file_check(opened, err);
	if (r == 0) {
		facts.format = neap_sqlite_file_format(opened);
		*ret = facts;
	}
	neap_sqlite_file_close(opened);
	return r;
}
