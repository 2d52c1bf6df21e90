/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer: an object's text is written as it is in memory. */
#include "api/store/backup/backup.h"

#include <inttypes.h>
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

int neap_backup_digest_add(struct neap_backup_digest *digest, const char *line,
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

void neap_backup_digest_text(const struct neap_backup_digest *digest,
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

void neap_backup_digest_init(struct neap_backup_digest *digest)
{
	memset(digest, 0, sizeof(*digest));
	neap_buf_init(&digest->buf, NEAP_BACKUP_LINE_MAX + sizeof(digest->sum));
}

int neap_backup_new(struct neap_store *store, int64_t now_usec, struct neap_backup **ret,
		    struct neap_error *err)
{
	struct neap_backup *backup = neap_alloc(sizeof(*backup));

	if (backup == NULL)
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
	if (backup == NULL)
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
	neap_auto_free char *text =
		head != NULL ? neap_json_dump(head, JSON_COMPACT) : NULL;
	size_t from = out->len;

	json_decref(head);
	if (text == NULL)
		return neap_error_nomem(err);
	if (more != NULL) {
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
		r = object != NULL ? add_object(backup, resource, object, out, err)
				   : add_end(backup, out, err);
	}
	return r < 0 ? r : !backup->is_ended;
}
