/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps recorded rounds, and reads them for those who ask. Both is done by the thread of
 * rounds, because a disk may be slow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/descheduler_priv.h"
#include "api/deschedule/play/recording_files.h"
#include "api/policy/thread.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"

struct writing {
	struct neap_descheduler *descheduler;
	struct neap_recording *recording; /* NULL: it was written */
	size_t cut;
	struct neap_error err;
};

struct asking {
	struct neap_descheduler *descheduler;
	int64_t number; /* -1: the list */
	struct neap_buf text;
	json_t *list;
	struct neap_error err;
	neap_descheduler_recorded *told;
	void *arg;
};

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
	struct writing *writing = arg;

	(void)neap_recordings_write(writing->descheduler->config.rounds_dir,
				    writing->recording, &writing->err);
	writing->cut = neap_recording_cut(writing->recording);
	/* It has many values. Freed on the loop they would hold it up. */
	neap_recording_free(writing->recording);
	writing->recording = NULL;
}

static void write_done(void *arg)
{
	struct writing *writing = arg;
	struct neap_descheduler *descheduler = writing->descheduler;

	if (!descheduler->is_ending) {
		note_trouble(descheduler, writing->err.code ? writing->err.msg : "");
		descheduler->recorded += !writing->err.code;
		descheduler->recording_cut = writing->cut;
	}
	neap_recording_free(writing->recording);
	free(writing);
	if (!descheduler->is_ending)
		deschedule_look(descheduler);
}

void deschedule_record(struct neap_descheduler *descheduler, struct neap_play *play,
		       const char *because)
{
	struct writing *writing;
	struct neap_error err = {0};

	if (!play->is_recorded || play->err.code) /* there was no round */
		return;
	if (!play->recording) {
		note_trouble(descheduler,
			     "memory is short, or not a single node with its "
			     "pods has room");
		return;
	}
	writing = neap_alloc(sizeof(*writing));
	if (!writing)
		return;
	writing->descheduler = descheduler;
	writing->recording = neap_steal(play->recording);
	neap_recording_set_text(writing->recording, "because", because);
	neap_recording_set_int(writing->recording, "round", (int64_t)descheduler->rounds);
	if (neap_thread_give(descheduler->thread, write_work, write_done, writing, &err) <
	    0) {
		neap_recording_free(writing->recording);
		free(writing);
		note_trouble(descheduler, err.msg);
	}
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

static void ask_work(void *arg)
{
	struct asking *asking = arg;
	const char *dir = asking->descheduler->config.rounds_dir;

	if (asking->number < 0)
		(void)neap_recordings_list(dir, &asking->list, &asking->err);
	else
		(void)neap_recordings_load(dir, asking->number, &asking->text,
					   &asking->err);
}

static void ask_done(void *arg)
{
	struct asking *asking = arg;
	struct neap_descheduler *descheduler = asking->descheduler;
	struct neap_error ending = {.code = NEAP_EUNAVAILABLE,
				    .msg = "the descheduler is ending"};

	descheduler->is_recording_read = false;
	if (descheduler->is_ending && !asking->err.code)
		asking->err = ending;
	asking->told(asking->arg, asking->list, &asking->text,
		     asking->err.code ? &asking->err : NULL);
	neap_buf_done(&asking->text);
	json_decref(asking->list);
	free(asking);
	if (!descheduler->is_ending)
		deschedule_look(descheduler);
}

int neap_descheduler_recordings(struct neap_descheduler *descheduler, int64_t number,
				neap_descheduler_recorded *told, void *arg,
				struct neap_error *err)
{
	struct asking *asking;
	int rc;

	if (!descheduler->config.rounds_dir)
		return neap_error_set(err, NEAP_ENOTFOUND, "rounds are not recorded");
	if (descheduler->is_recording_read)
		return neap_error_set(
			err, NEAP_EUNAVAILABLE,
			"somebody else reads recorded rounds now: ask again "
			"in a second");
	asking = neap_alloc(sizeof(*asking));
	if (!asking)
		return neap_error_nomem(err);
	asking->descheduler = descheduler;
	asking->number = number;
	asking->told = told;
	asking->arg = arg;
	rc = neap_thread_give(descheduler->thread, ask_work, ask_done, asking, err);
	if (rc < 0)
		free(asking);
	else
		descheduler->is_recording_read = true;
	return rc;
}
