/* SPDX-License-Identifier: Apache-2.0
 *
 * A backup holds its snapshot, and a restore the data read so far, until the last piece
 * or until it is idle. A restore being committed goes on even if its client is gone. */
#include "api/control/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/store/backup/backup.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

#define IDLE_USEC ((int64_t)NEAP_CONTROL_STORE_IDLE_S * 1000000)

/* A backup or a restore in progress; id 0: none. */
struct session {
	int64_t id, at; /* bytes transferred so far */
	int64_t used_usec;
};

struct neap_control_store {
	struct neap_store *store;
	void (*say)(void *arg, bool is_problem, const char *text);
	void *arg;
	int64_t last_id;
	struct session backing, restoring;
	struct neap_backup *backup;
	struct neap_store_replace *replace;
	struct neap_backup_reader *reader;
	struct neap_http_request *request; /* of a commit; NULL: its client has gone */
	char by[64];
};

static void end_backup(struct neap_control_store *control)
{
	neap_backup_free(control->backup);
	control->backup = NULL;
	control->backing.id = 0;
}

static void end_restore(struct neap_control_store *control)
{
	neap_backup_reader_free(control->reader);
	neap_store_replace_free(control->replace);
	control->reader = NULL;
	control->replace = NULL;
	control->restoring.id = 0;
}

void neap_control_store_tick(struct neap_control_store *control, int64_t mono_usec)
{
	if (control->backing.id != 0 &&
	    mono_usec - control->backing.used_usec > IDLE_USEC)
		end_backup(control);
	if (control->restoring.id != 0 &&
	    mono_usec - control->restoring.used_usec > IDLE_USEC)
		end_restore(control);
}

void neap_control_store_stop(struct neap_control_store *control)
{
	if (control == NULL)
		return;
	end_backup(control);
	end_restore(control);
}

void neap_control_store_free(struct neap_control_store *control)
{
	free(control);
}

/* --- what both do --- */

static void begin(struct neap_control_store *control, struct session *session)
{
	*session = (struct session){.id = ++control->last_id,
				    .used_usec = neap_clock_usec(CLOCK_MONOTONIC)};
}

/* Checks that the request names the session and, with is_placed, continues where it
 * is. */
static int find(struct neap_http_request *request, struct session *session,
		bool is_placed, struct neap_error *err)
{
	const char *at = neap_http_query_find(request, "at");
	int64_t id, place;

	if (neap_int_parse(neap_http_segment_get(request, 0), &id, NULL) < 0 || id <= 0 ||
	    id != session->id)
		return neap_error_set(
			err, NEAP_ENOTFOUND,
			"there is no restore or backup with this id any more: start again");
	session->used_usec = neap_clock_usec(CLOCK_MONOTONIC);
	if (is_placed &&
	    (at == NULL || neap_int_parse(at, &place, NULL) < 0 || place != session->at))
		return neap_error_field(err, NEAP_EINVAL, "at", "the next byte is %lld",
					(long long)session->at);
	return 0;
}

/* --- backup --- */

static void post_backups(void *arg, struct neap_http_request *request)
{
	struct neap_control_store *control = arg;
	struct neap_error err = {0};

	neap_control_store_tick(control, neap_clock_usec(CLOCK_MONOTONIC));
	if (control->backing.id != 0)
		(void)neap_error_set(
			&err, NEAP_ECONFLICT,
			"another backup is being read: try again in a minute");
	else if (neap_backup_new(control->store, neap_clock_usec(CLOCK_REALTIME),
				 &control->backup, &err) == 0)
		begin(control, &control->backing);
	if (err.code != NEAP_OK) {
		neap_http_answer_error(request, &err);
		return;
	}
	neap_control_answer_take(
		request, 200,
		json_pack("{s:I, s:I, s:I}", "id", (json_int_t)control->backing.id,
			  "version", (json_int_t)neap_backup_version(control->backup),
			  "objects", (json_int_t)neap_backup_objects(control->backup)));
}

static void get_backup(void *arg, struct neap_http_request *request)
{
	struct neap_control_store *control = arg;
	struct neap_error err = {0};
	struct neap_buf out;
	size_t len;
	char *text;
	int r;

	if (find(request, &control->backing, true, &err) < 0) {
		neap_http_answer_error(request, &err);
		return;
	}
	neap_buf_init(&out, NEAP_CONTROL_STORE_PIECE + NEAP_BACKUP_LINE_MAX);
	r = neap_backup_next(control->backup, &out, NEAP_CONTROL_STORE_PIECE, &err);
	len = out.len;
	text = r < 0 ? NULL : neap_buf_take(&out);
	neap_buf_done(&out);
	if (text == NULL) {
		if (r >= 0)
			(void)neap_error_nomem(&err);
		end_backup(control);
		neap_http_answer_error(request, &err);
		return;
	}
	control->backing.at += (int64_t)len;
	if (len == 0)
		end_backup(control);
	neap_http_answer_text_take(request, 200, "application/x-ndjson", text, len);
}

static void delete_backup(void *arg, struct neap_http_request *request)
{
	struct neap_control_store *control = arg;
	struct neap_error err = {0};

	if (find(request, &control->backing, false, &err) < 0) {
		neap_http_answer_error(request, &err);
		return;
	}
	end_backup(control);
	neap_control_answer_take(request, 200, json_object());
}

/* --- restore --- */

static void post_restores(void *arg, struct neap_http_request *request)
{
	struct neap_control_store *control = arg;
	struct neap_error err = {0};

	neap_control_store_tick(control, neap_clock_usec(CLOCK_MONOTONIC));
	if (control->restoring.id != 0)
		(void)neap_error_set(&err, NEAP_ECONFLICT,
				     "another backup is being restored: try again in a "
				     "minute");
	else if (neap_store_replace_new(control->store, &control->replace, &err) == 0 &&
		 neap_backup_reader_new(control->replace, &control->reader, &err) == 0)
		begin(control, &control->restoring);
	if (err.code == NEAP_OK) {
		neap_control_answer_take(
			request, 200,
			json_pack("{s:I}", "id", (json_int_t)control->restoring.id));
		return;
	}
	if (control->restoring.id == 0)
		end_restore(control);
	neap_http_answer_error(request, &err);
}

static void post_data(void *arg, struct neap_http_request *request)
{
	struct neap_control_store *control = arg;
	struct neap_error err = {0};
	const char *body;
	size_t len;

	body = neap_http_body_get(request, &len);
	if (find(request, &control->restoring, true, &err) < 0) {
		neap_http_answer_error(request, &err);
		return;
	}
	if (neap_backup_reader_feed(control->reader, body, len, &err) < 0) {
		end_restore(control);
		neap_http_answer_error(request, &err);
		return;
	}
	control->restoring.at += (int64_t)len;
	neap_control_answer_take(
		request, 200,
		json_pack("{s:I}", "bytes", (json_int_t)control->restoring.at));
}

static void client_gone(void *arg)
{
	struct neap_control_store *control = arg;

	control->request = NULL;
}

static void say_restored(const struct neap_control_store *control,
			 const struct neap_store_replaced *replaced,
			 const struct neap_error *err)
{
	char text[400];

	if (err != NULL)
		(void)snprintf(text, sizeof(text), "%s could not restore a backup: %s",
			       control->by, err->msg);
	else
		(void)snprintf(text, sizeof(text),
			       "%s restored a backup: %zu objects created, %zu changed, "
			       "%zu deleted, %zu as they were",
			       control->by, replaced->created, replaced->updated,
			       replaced->deleted, replaced->unchanged);
	if (control->say != NULL)
		control->say(control->arg, err != NULL, text);
}

static void replaced(void *arg, const struct neap_store_replaced *got,
		     const struct neap_error *err)
{
	struct neap_control_store *control = arg;
	struct neap_http_request *request = control->request;

	control->request = NULL;
	say_restored(control, got, err);
	if (request == NULL)
		return;
	if (err != NULL)
		neap_http_answer_error(request, err);
	else
		neap_control_answer_take(request, 200,
					 json_pack("{s:I, s:I, s:I, s:I, s:I}", "created",
						   (json_int_t)got->created, "updated",
						   (json_int_t)got->updated, "deleted",
						   (json_int_t)got->deleted, "unchanged",
						   (json_int_t)got->unchanged, "version",
						   (json_int_t)got->version));
}

static void post_commit(void *arg, struct neap_http_request *request)
{
	struct neap_control_store *control = arg;
	struct neap_store_replace *replace = control->replace;
	struct neap_error err = {0};
	int64_t version = 0;

	if (find(request, &control->restoring, false, &err) < 0) {
		neap_http_answer_error(request, &err);
		return;
	}
	if (neap_backup_reader_end(control->reader, &version, &err) < 0) {
		end_restore(control);
		neap_http_answer_error(request, &err);
		return;
	}
	(void)snprintf(control->by, sizeof(control->by), "%s",
		       neap_http_peer_get(request)->name);
	control->replace = NULL;
	end_restore(control);
	control->request = request;
	neap_http_defer(request, client_gone, control);
	neap_store_replace_commit_take(replace, version, replaced, control);
}

static void delete_restore(void *arg, struct neap_http_request *request)
{
	struct neap_control_store *control = arg;
	struct neap_error err = {0};

	if (find(request, &control->restoring, false, &err) < 0) {
		neap_http_answer_error(request, &err);
		return;
	}
	end_restore(control);
	neap_control_answer_take(request, 200, json_object());
}

static const struct neap_http_route routes[] = {
	{"POST", "/control/v1/store/backups", NEAP_HTTP_ADMIN, post_backups},
	{"GET", "/control/v1/store/backups/{id}", NEAP_HTTP_ADMIN, get_backup},
	{"DELETE", "/control/v1/store/backups/{id}", NEAP_HTTP_ADMIN, delete_backup},
	{"POST", "/control/v1/store/restores", NEAP_HTTP_ADMIN, post_restores},
	{"POST", "/control/v1/store/restores/{id}/data", NEAP_HTTP_ADMIN, post_data},
	{"POST", "/control/v1/store/restores/{id}/commit", NEAP_HTTP_ADMIN, post_commit},
	{"DELETE", "/control/v1/store/restores/{id}", NEAP_HTTP_ADMIN, delete_restore},
	{0},
};

int neap_control_store_new(struct neap_http *http, struct neap_store *store,
			   void (*say)(void *arg, bool is_problem, const char *text),
			   void *arg, struct neap_control_store **ret,
			   struct neap_error *err)
{
	struct neap_control_store *control = neap_alloc(sizeof(*control));

	if (control == NULL)
		return neap_error_nomem(err);
	control->store = store;
	control->say = say;
	control->arg = arg;
	if (neap_http_add_routes(http, routes, control, err) < 0) {
		free(control);
		return -(int)err->code;
	}
	*ret = control;
	return 0;
}
