/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/backup_rig.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/store/backup/backup.h"

#define PIECE 1000 /* bytes, so that lines are cut */

char *backup_rig_text(struct store_rig *rig, size_t *ret_len)
{
	struct neap_backup *backup = NULL;
	struct neap_buf out;
	struct neap_error err;
	int r;

	neap_buf_init(&out, (size_t)1024 * 1024 * 1024);
	assert_int_equal(
		neap_backup_new(rig->store, INT64_C(1790000000000000), &backup, &err), 0);
	do {
		r = neap_backup_next(backup, &out, out.len + PIECE, &err);
		assert_true(r >= 0);
	} while (r == 1);
	neap_backup_free(backup);
	*ret_len = out.len;
	return neap_buf_take(&out);
}

void backup_rig_replaced(void *arg, const struct neap_store_replaced *got,
			 const struct neap_error *err)
{
	struct backup_result *result = arg;

	assert_false(result->is_done);
	assert_true((got == NULL) == (err != NULL));
	result->is_done = true;
	if (got != NULL)
		result->replaced = *got;
	else
		result->err = *err;
}

/* What the reader says; 0: handed to the store. */
int backup_rig_start(struct store_rig *rig, const char *text, size_t len,
		     struct backup_result *result)
{
	struct neap_store_replace *replace = NULL;
	struct neap_backup_reader *reader = NULL;
	struct neap_error *err = &result->err;
	int64_t version = 0;
	size_t at;
	int r = 0;

	memset(result, 0, sizeof(*result));
	assert_int_equal(neap_store_replace_new(rig->store, &replace, err), 0);
	assert_int_equal(neap_backup_reader_new(replace, &reader, err), 0);
	for (at = 0; r == 0 && at < len; at += PIECE)
		r = neap_backup_reader_feed(reader, text + at,
					    len - at < PIECE ? len - at : PIECE, err);
	if (r == 0)
		r = neap_backup_reader_end(reader, &version, err);
	neap_backup_reader_free(reader);
	if (r == 0)
		neap_store_replace_commit_take(replace, version, backup_rig_replaced,
					       result);
	else
		neap_store_replace_free(replace);
	return r;
}

void backup_rig_wait(struct store_rig *rig, const struct backup_result *result)
{
	while (!result->is_done) {
		struct pollfd ready = {.fd = neap_store_fd(rig->store), .events = POLLIN};

		assert_int_equal(poll(&ready, 1, 20000), 1);
		neap_store_hear(rig->store);
	}
}

void backup_rig_restore(struct store_rig *rig, const char *text, size_t len,
			struct backup_result *result)
{
	if (backup_rig_start(rig, text, len, result) < 0)
		fail_msg("%s", result->err.msg);
	backup_rig_wait(rig, result);
	if (result->err.code != NEAP_OK)
		fail_msg("%s", result->err.msg);
}
