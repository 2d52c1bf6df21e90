/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes recorded rounds, and reads them for clients. A thread of its own does both,
 * because a disk may be slow, or hang. Rounds go on meanwhile without being recorded. The
 * end of the descheduler waits for the disk for LEAVE_USEC at most. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/descheduler_priv.h"
#include "api/deschedule/play/recording_files.h"
#include "api/policy/thread.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"

/* Recordings that are written or wait for it: rounds may follow each other while a good
 * disk syncs one. */
#define WRITES_MAX 2
/* ... and one is read. */
#define JOBS_MAX (WRITES_MAX + 1)
/* How long the end of the descheduler waits for the disk. */
#define LEAVE_USEC INT64_C(500000)

/* A job of the thread, which may outlive the descheduler: all but that is its own. */
struct filing {
	struct neap_descheduler *descheduler; /* used on the loop only */
	struct neap_recording *recording;     /* to be written; NULL: it reads */
	size_t cut;
	int64_t number; /* -1: the list */
	struct neap_buf text;
	json_t *list;
	struct neap_error err;
	char dir[];
};

static struct filing *filing_new(struct neap_descheduler *descheduler)
{
	const char *dir = descheduler->config.rounds_dir;
	struct filing *filing = neap_alloc(sizeof(*filing) + strlen(dir) + 1);

	if (!filing)
		return NULL;
	filing->descheduler = descheduler;
	memcpy(filing->dir, dir, strlen(dir) + 1);
	return filing;
}

static void filing_free(void *arg)
{
	struct filing *filing = arg;

	neap_recording_free(filing->recording);
	neap_buf_done(&filing->text);
	json_decref(filing->list);
	free(filing);
}

static int give(struct neap_descheduler *descheduler, void (*work)(void *arg),
		void (*done)(void *arg), struct filing *filing, struct neap_error *err)
{
	if (!descheduler->files && neap_thread_new(descheduler->config.base, JOBS_MAX,
						   &descheduler->files, err) < 0)
		return -(int)err->code;
	return neap_thread_give(descheduler->files, work, done, filing, err);
}

/* Told when it begins, and when it is over. */
static void note_trouble(struct neap_descheduler *descheduler, const char *trouble)
{
	bool is_known = strcmp(descheduler->recording_trouble, trouble) == 0;

	(void)neap_strcopy(descheduler->recording_trouble,
			   sizeof(descheduler->recording_trouble), trouble);
	if (is_known)
		return;
	if (*trouble)
		neap_log_line(descheduler->config.log, NEAP_LOG_WARN,
			      "descheduler: rounds are not recorded: %s", trouble);
	else
		neap_log_line(descheduler->config.log, NEAP_LOG_INFO,
			      "descheduler: rounds are recorded again");
}

static void write_work(void *arg)
{
	struct filing *filing = arg;

	(void)neap_recordings_write(filing->dir, filing->recording, &filing->err);
	filing->cut = neap_recording_cut(filing->recording);
	/* It has many values. Freed on the loop they would hold it up. */
	neap_recording_free(filing->recording);
	filing->recording = NULL;
}

static void write_done(void *arg)
{
	struct filing *filing = arg;
	struct neap_descheduler *descheduler = filing->descheduler;

	descheduler->recordings_written--;
	if (!descheduler->is_ending) {
		note_trouble(descheduler, filing->err.code ? filing->err.msg : "");
		descheduler->recorded += !filing->err.code;
		descheduler->recording_cut = filing->cut;
	}
	filing_free(filing);
}

static void drop_work(void *arg)
{
	struct filing *filing = arg;

	neap_recording_free(filing->recording);
	filing->recording = NULL;
}

static void drop_done(void *arg)
{
	struct filing *filing = arg;
	struct neap_descheduler *descheduler = filing->descheduler;

	filing_free(filing);
	if (!descheduler->is_ending)
		deschedule_look(descheduler);
}

/* Has the thread of rounds free it, which waits for no disk. */
static void drop_recording(struct neap_descheduler *descheduler, struct filing *filing,
			   const char *why)
{
	struct neap_error ignored;

	note_trouble(descheduler, why);
	if (neap_thread_give(descheduler->thread, drop_work, drop_done, filing,
			     &ignored) < 0)
		filing_free(filing);
}

void deschedule_record(struct neap_descheduler *descheduler, struct neap_play *play,
		       const char *because)
{
	struct filing *filing;
	struct neap_error err = {0};

	if (!play->is_recorded || play->err.code) /* there was no round */
		return;
	if (!play->recording) {
		note_trouble(descheduler,
			     "memory is short, or not a single node with its "
			     "pods has room");
		return;
	}
	filing = filing_new(descheduler);
	if (!filing)
		return;
	filing->recording = neap_steal(play->recording);
	if (descheduler->recordings_written == WRITES_MAX) {
		drop_recording(descheduler, filing, NEAP_RECORDINGS_SLOW_DISK);
		return;
	}
	neap_recording_set_text(filing->recording, "because", because);
	neap_recording_set_int(filing->recording, "round", (int64_t)descheduler->rounds);
	if (give(descheduler, write_work, write_done, filing, &err) < 0)
		drop_recording(descheduler, filing, err.msg);
	else
		descheduler->recordings_written++;
}

json_t *deschedule_recording_status(const struct neap_descheduler *descheduler)
{
	json_t *status = json_object();

	neap_json_set_int(status, "rounds", (int64_t)descheduler->recorded);
	if (descheduler->recording_cut)
		neap_json_set_int(status, "nodes_cut",
				  (int64_t)descheduler->recording_cut);
	neap_json_set_text(status, "error", descheduler->recording_trouble);
	return status;
}

/* --- for those who ask --- */

static void read_work(void *arg)
{
	struct filing *filing = arg;

	if (filing->number < 0)
		(void)neap_recordings_list(filing->dir, &filing->list, &filing->err);
	else
		(void)neap_recordings_load(filing->dir, filing->number, &filing->text,
					   &filing->err);
}

static void read_done(void *arg)
{
	struct filing *filing = arg;
	struct neap_descheduler *descheduler = filing->descheduler;
	neap_descheduler_recorded *told = descheduler->recording_told;
	struct neap_error ending = {.code = NEAP_EUNAVAILABLE,
				    .msg = "the descheduler is ending"};

	descheduler->recording_told = NULL;
	if (descheduler->is_ending && !filing->err.code)
		filing->err = ending;
	told(descheduler->recording_arg, filing->list, &filing->text,
	     filing->err.code ? &filing->err : NULL);
	filing_free(filing);
}

int neap_descheduler_recordings(struct neap_descheduler *descheduler, int64_t number,
				neap_descheduler_recorded *told, void *arg,
				struct neap_error *err)
{
	struct filing *filing;
	int rc;

	if (!descheduler->config.rounds_dir)
		return neap_error_set(err, NEAP_ENOTFOUND, "rounds are not recorded");
	if (descheduler->recording_told)
		return neap_error_set(
			err, NEAP_EUNAVAILABLE,
			"somebody else reads recorded rounds now: ask again "
			"in a second");
	filing = filing_new(descheduler);
	if (!filing)
		return neap_error_nomem(err);
	filing->number = number;
	rc = give(descheduler, read_work, read_done, filing, err);
	if (rc < 0) {
		filing_free(filing);
		return rc;
	}
	descheduler->recording_told = told;
	descheduler->recording_arg = arg;
	return 0;
}

void deschedule_end_recording(struct neap_descheduler *descheduler)
{
	const struct neap_error ending = {.code = NEAP_EUNAVAILABLE,
					  .msg = "the descheduler is ending"};
	struct neap_buf nothing = {0};

	(void)neap_thread_leave(descheduler->files, LEAVE_USEC, filing_free);
	/* The job that was left is a reading. */
	if (descheduler->recording_told)
		descheduler->recording_told(descheduler->recording_arg, NULL, &nothing,
					    &ending);
}
