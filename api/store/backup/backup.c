/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer: an object's text is written as it is in memory. */
#include "api/store/backup/backup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/store/backup/backup_priv.h"
#include "api/store/sum.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

struct neap_backup {
	struct neap_store_snapshot *snapshot;
	struct neap_backup_digest digest;
	int64_t now_usec;
	bool is_begun, is_ended;
};

static int neap_backup_digest_add(struct neap_backup_digest *digest, const char *line,
				  size_t len, struct neap_error *err)
{
	neap_buf_clear(&digest->buf);
	neap_buf_add(&digest->buf, digest->sum, sizeof(digest->sum));
	neap_buf_add(&digest->buf, line, len);
	if (neap_buf_failed(&digest->buf))
		return neap_buf_error(&digest->buf, "a line of a backup", err);
	neap_sha256(digest->buf.data, digest->buf.len, digest->sum);
	return 0;
}

static void neap_backup_digest_text(const struct neap_backup_digest *digest,
				    char ret[NEAP_SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < sizeof(digest->sum); i++) {
		ret[i * 2] = digits[digest->sum[i] >> 4];
		ret[i * 2 + 1] = digits[digest->sum[i] & 15];
	}
	ret[NEAP_SHA256_HEX - 1] = '\0';
}

static void neap_backup_digest_init(struct neap_backup_digest *digest)
{
	memset(digest, 0, sizeof(*digest));
	neap_buf_init(&digest->buf, NEAP_BACKUP_LINE_MAX + sizeof(digest->sum));
}

int neap_backup_new(struct neap_store *store, int64_t now_usec, struct neap_backup **ret,
		    struct neap_error *err)
{
	struct neap_backup *backup = neap_alloc(sizeof(*backup));

	if (!backup)
		return neap_error_nomem(err);
	if (neap_store_snapshot_new(store, &backup->snapshot, err) < 0) {
		free(backup);
		return -(int)err->code;
	}
	neap_backup_digest_init(&backup->digest);
	backup->now_usec = now_usec;
	*ret = backup;
	return 0;
}

void neap_backup_free(struct neap_backup *backup)
{
	if (!backup)
		return;
	neap_store_snapshot_free(backup->snapshot);
	neap_buf_done(&backup->digest.buf);
	free(backup);
}

size_t neap_backup_objects(const struct neap_backup *backup)
{
	return neap_store_snapshot_count(backup->snapshot);
}

int64_t neap_backup_version(const struct neap_backup *backup)
{
	return neap_store_snapshot_version(backup->snapshot);
}

/* Takes head; more replaces its last brace. */
static int add_line_take(struct neap_backup *backup, json_t *head, const char *more,
			 size_t more_len, struct neap_buf *out, struct neap_error *err)
{
	neap_auto_free char *text = head ? neap_json_dump(head, JSON_COMPACT) : NULL;
	size_t from = out->len;

	json_decref(head);
	if (!text)
		return neap_error_nomem(err);
	if (more) {
		neap_buf_add(out, text, strlen(text) - 1);
		neap_buf_adds(out, ",\"object\":");
		neap_buf_add(out, more, more_len);
	} else {
		neap_buf_add(out, text, strlen(text) - 1);
	}
	if (!neap_buf_failed(out))
		neap_buf_addf(out, NEAP_BACKUP_SUM,
			      neap_sum_bytes(NEAP_SUM_START, out->data + from,
					     out->len - from));
	if (neap_buf_failed(out))
		return neap_buf_error(out, "a backup", err);
	return neap_backup_digest_add(&backup->digest, out->data + from, out->len - from,
				      err);
}

static int add_head(struct neap_backup *backup, struct neap_buf *out,
		    struct neap_error *err)
{
	char when[40];

	return add_line_take(
		backup,
		json_pack("{s:i, s:s, s:s, s:I, s:I}", "neapBackup", NEAP_BACKUP_FORMAT,
			  "neapd", NEAP_VERSION, "time",
			  neap_time_format(backup->now_usec, 0, when, sizeof(when)),
			  "version", (json_int_t)neap_backup_version(backup), "objects",
			  (json_int_t)neap_backup_objects(backup)),
		NULL, 0, out, err);
}

static int add_object(struct neap_backup *backup, const char *resource,
		      const struct neap_object *object, struct neap_buf *out,
		      struct neap_error *err)
{
	uint64_t lost = neap_json_failures();
	json_t *fields = json_array(), *head;
	const char *at = object->fields;
	size_t i;

	for (i = 0; i < object->field_count; i++) {
		(void)json_array_append_new(fields, json_string(at));
		at += strlen(at) + 1;
		at += strlen(at) + 1;
	}
	head = json_pack("{s:s, s:o}", "resource", resource, "fields", fields);
	if (neap_json_failures() != lost) {
		json_decref(head);
		return neap_error_nomem(err);
	}
	return add_line_take(backup, head, object->text, object->text_len, out, err);
}

static int add_end(struct neap_backup *backup, struct neap_buf *out,
		   struct neap_error *err)
{
	char sum[NEAP_SHA256_HEX];

	neap_backup_digest_text(&backup->digest, sum);
	return add_line_take(backup,
			     json_pack("{s:I, s:s}", "end",
				       (json_int_t)neap_backup_objects(backup), "digest",
				       sum),
			     NULL, 0, out, err);
}

int neap_backup_next(struct neap_backup *backup, struct neap_buf *out, size_t want,
		     struct neap_error *err)
{
	const struct neap_object *object;
	const char *resource;
	int r = 0;

	if (!backup->is_begun)
		r = add_head(backup, out, err);
	backup->is_begun = true;
	while (r == 0 && !backup->is_ended && out->len < want) {
		object = neap_store_snapshot_next(backup->snapshot, &resource);
		backup->is_ended = object == NULL;
		r = object ? add_object(backup, resource, object, out, err)
			   : add_end(backup, out, err);
	}
	return r < 0 ? r : !backup->is_ended;
}

/* --- reading ---
 *
 * The reader: one line at a time, each treated as hostile, because anyone can provide a
 * file. */

/* Far beyond what a store gets to in a life, and far below what would leave none. */
#define VERSION_MAX (INT64_C(1) << 53)

enum part { HEAD, OBJECTS, ENDED, BROKEN };

struct neap_backup_reader {
	struct neap_store_replace *replace;
	struct neap_backup_digest digest;
	struct neap_buf line; /* not whole yet */
	enum part part;
	bool has_sums;
	size_t lines;
	int64_t version, wanted, objects;
	struct neap_error err; /* of a broken one */
};

int neap_backup_reader_new(struct neap_store_replace *replace,
			   struct neap_backup_reader **ret, struct neap_error *err)
{
	struct neap_backup_reader *reader = neap_alloc(sizeof(*reader));

	if (!reader)
		return neap_error_nomem(err);
	reader->replace = replace;
	neap_backup_digest_init(&reader->digest);
	neap_buf_init(&reader->line, NEAP_BACKUP_LINE_MAX);
	*ret = reader;
	return 0;
}

void neap_backup_reader_free(struct neap_backup_reader *reader)
{
	if (!reader)
		return;
	neap_buf_done(&reader->digest.buf);
	neap_buf_done(&reader->line);
	free(reader);
}

size_t neap_backup_reader_objects(const struct neap_backup_reader *reader)
{
	return (size_t)reader->objects;
}

static int damaged(const struct neap_backup_reader *reader, const char *what,
		   struct neap_error *err)
{
	return neap_error_set(err, NEAP_EINVAL,
			      "line %zu: %s: the backup is damaged, use another one",
			      reader->lines, what);
}

/* False when it is none, or not from 0 on. */
static bool number(const json_t *tree, const char *member, int64_t *ret)
{
	const json_t *value = json_object_get(tree, member);

	*ret = json_integer_value(value);
	return json_is_integer(value) && *ret >= 0;
}

static int read_head(struct neap_backup_reader *reader, const json_t *tree,
		     struct neap_error *err)
{
	int64_t format;

	if (!number(tree, "neapBackup", &format) || format == 0)
		return neap_error_set(err, NEAP_EINVAL, "this is no backup of neap");
	if (format > NEAP_BACKUP_FORMAT)
		return neap_error_set(err, NEAP_EUNSUPPORTED,
				      "a newer neap made this backup (format %lld, this "
				      "one knows up to %d): restore it with that one",
				      (long long)format, NEAP_BACKUP_FORMAT);
	if (!number(tree, "version", &reader->version) || reader->version > VERSION_MAX ||
	    !number(tree, "objects", &reader->wanted))
		return damaged(reader, "the head is not one", err);
	reader->part = OBJECTS;
	return 0;
}

/* "pods", "reservations.scheduling.koordinator.sh" */
static bool is_resource(const char *name)
{
	return name && *name != '\0' && strlen(name) < NEAP_STORE_RESOURCE &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == strlen(name);
}

static const char **fields_of(const json_t *list, struct neap_error *err)
{
	const char **fields =
		neap_alloc_array(json_array_size(list) + 1, sizeof(*fields));
	const json_t *field;
	size_t i;

	if (!fields) {
		(void)neap_error_nomem(err);
		return NULL;
	}
	json_array_foreach (list, i, field) {
		fields[i] = json_string_value(field);
		if (fields[i])
			continue;
		(void)neap_error_set(err, NEAP_EINVAL, "a field is no text");
		free(fields);
		return NULL;
	}
	return fields;
}

static int stage_object(struct neap_backup_reader *reader, const char *resource,
			json_t *object, const char *const *fields, struct neap_error *err)
{
	struct neap_object *made = NULL;
	int r;

	if (reader->replace)
		return neap_store_replace_add_take(reader->replace, resource, object,
						   fields, err);
	r = neap_object_new_take(object, fields, 1, &made, err);
	neap_object_unref(made);
	return r;
}

static int read_object(struct neap_backup_reader *reader, json_t *tree,
		       struct neap_error *err)
{
	const char *resource = json_string_value(json_object_get(tree, "resource"));
	json_t *object = json_object_get(tree, "object");
	struct neap_error why = {0};
	const char **fields;

	if (!is_resource(resource) || !json_is_object(object))
		return damaged(reader, "this is no object", err);
	if (reader->objects == reader->wanted)
		return damaged(reader, "there are more objects than the head says", err);
	fields = fields_of(json_object_get(tree, "fields"), &why);
	if (fields &&
	    stage_object(reader, resource, json_incref(object), fields, &why) == 0)
		reader->objects++;
	free(fields);
	if (why.code == NEAP_OK)
		return 0;
	if (why.code == NEAP_ENOMEM || why.code == NEAP_ETOOLARGE)
		return neap_error_set(err, why.code, "line %zu: %s", reader->lines,
				      why.msg);
	return damaged(reader, why.msg, err);
}

static int read_end(struct neap_backup_reader *reader, const json_t *tree,
		    struct neap_error *err)
{
	const char *digest = json_string_value(json_object_get(tree, "digest"));
	char sum[NEAP_SHA256_HEX];
	int64_t count;

	neap_backup_digest_text(&reader->digest, sum);
	if (!number(tree, "end", &count) || count != reader->objects ||
	    count != reader->wanted)
		return damaged(reader, "objects are missing before it", err);
	if (!digest || strcmp(digest, sum) != 0)
		return damaged(reader, "the digest does not match the lines before it",
			       err);
	reader->part = ENDED;
	return 0;
}

/* The head says whether there are sums. */
static int check_sum(struct neap_backup_reader *reader, const char *line, size_t len,
		     struct neap_error *err)
{
	size_t before = len > NEAP_BACKUP_SUM_LEN ? len - NEAP_BACKUP_SUM_LEN : 0;
	const char *sum = line + before;
	bool has_sum = before > 0 && strncmp(sum, ",\"sum\":\"", 8) == 0;
	char wanted[NEAP_BACKUP_SUM_LEN + 1];

	if (reader->part == HEAD)
		reader->has_sums = has_sum;
	if (!has_sum && !reader->has_sums)
		return 0;
	(void)snprintf(wanted, sizeof(wanted), NEAP_BACKUP_SUM,
		       neap_sum_bytes(NEAP_SUM_START, line, before));
	return has_sum == reader->has_sums && memcmp(sum, wanted, len - before) == 0
		       ? 0
		       : damaged(reader, "its check sum is another", err);
}

static int read_line(struct neap_backup_reader *reader, const char *line, size_t len,
		     struct neap_error *err)
{
	json_error_t where;
	json_t *tree;
	int r;

	reader->lines++;
	if (reader->part == ENDED)
		return damaged(reader, "this stands behind the end", err);
	if (check_sum(reader, line, len, err) < 0)
		return -(int)err->code;
	r = neap_json_parse(line, len - 1, 0, &tree, &where);
	if (r == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (r < 0)
		return reader->part == HEAD ? neap_error_set(err, NEAP_EINVAL,
							     "this is no backup of neap")
					    : damaged(reader, "this is no JSON", err);
	if (reader->part == HEAD)
		r = read_head(reader, tree, err);
	else if (json_object_get(tree, "end"))
		r = read_end(reader, tree, err);
	else
		r = read_object(reader, tree, err);
	json_decref(tree);
	return r < 0 ? r : neap_backup_digest_add(&reader->digest, line, len, err);
}

int neap_backup_reader_feed(struct neap_backup_reader *reader, const char *bytes,
			    size_t len, struct neap_error *err)
{
	const char *at = bytes, *stop = bytes + len;
	int r = 0;

	while (r == 0 && reader->part != BROKEN && at < stop) {
		const char *end = memchr(at, '\n', (size_t)(stop - at));

		neap_buf_add(&reader->line, at, (size_t)((end ? end + 1 : stop) - at));
		if (neap_buf_failed(&reader->line))
			r = reader->line.is_over
				    ? damaged(reader, "the next line has no end", err)
				    : neap_error_nomem(err);
		if (r < 0 || !end)
			break;
		r = read_line(reader, reader->line.data, reader->line.len, err);
		neap_buf_clear(&reader->line);
		at = end + 1;
	}
	if (reader->part == BROKEN) {
		*err = reader->err;
		return -(int)err->code;
	}
	if (r < 0) {
		reader->part = BROKEN;
		reader->err = *err;
	}
	return r;
}

int neap_backup_reader_end(struct neap_backup_reader *reader, int64_t *ret_version,
			   struct neap_error *err)
{
	if (reader->part == BROKEN) {
		*err = reader->err;
		return -(int)err->code;
	}
	if (reader->lines == 0)
		return neap_error_set(err, NEAP_EINVAL, "this is no backup of neap");
	if (reader->part != ENDED || reader->line.len > 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "the backup is cut off after line %zu: use another "
				      "one",
				      reader->lines);
	*ret_version = reader->version;
	return 0;
}
