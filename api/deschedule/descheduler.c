/* SPDX-License-Identifier: Apache-2.0
 *
 * When rounds take place, and what is done before and after one. */
#include "api/deschedule/descheduler.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/deschedule/descheduler_priv.h"
#include "api/deschedule/play/play_rounds.h"
#include "api/deschedule/play/strategies.h"
#include "api/deschedule/round_snapshot.h"
#include "api/policy/thread.h"
#include "api/task/task.h"
#include "api/workload/loop/feed.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/deschedule/moved.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "engine/migrate/limiter.h"
#include "lua/run/registry.h"
#include "lua/vm/zone.h"

/* How long what came in place of an evicted pod is left alone by what moves load. */
#define REST_USEC (INT64_C(3600) * 1000000)
/* A round; what is read of the file, the ConfigMap and a simulation; a set to open. */
#define JOBS_MAX 8
/* How long answers for a round that cannot begin are of use. */
#define ANSWERS_USEC INT64_C(30000000)

int64_t deschedule_now(const struct neap_descheduler *descheduler)
{
	return descheduler->config.now ? descheduler->config.now()
				       : neap_clock_usec(CLOCK_REALTIME);
}

static void wake(struct neap_descheduler *descheduler, int64_t usec)
{
	const int64_t wait = usec > 0 ? usec : 0;
	const struct timeval when = {.tv_sec = wait / 1000000, .tv_usec = wait % 1000000};

	(void)event_add(descheduler->timer, &when);
}

/* --- limits and times --- */

static int64_t lower(int64_t limit, int64_t ceiling)
{
	if (limit < 0)
		limit = NEAP_LIMITS_NONE;
	return ceiling >= 0 && ceiling < limit ? ceiling : limit;
}

static struct neap_limits limits_of(const struct neap_descheduler *descheduler,
				    const struct neap_deschedule_config *config)
{
	const struct neap_descheduler_config *ceilings = &descheduler->config;

	return (struct neap_limits){
		.per_node = lower(config->per_node, ceilings->per_node),
		.per_namespace = lower(config->per_namespace, ceilings->per_namespace),
		.per_workload = lower(config->per_workload, -1),
		.total = lower(config->total, ceilings->total),
		.is_total_first = config->form == NEAP_DESCHEDULE_UPSTREAM};
}

bool deschedule_is_open(const struct neap_descheduler *descheduler, int64_t now_usec,
			int64_t *ret_usec)
{
	const struct neap_deschedule_window *window = &descheduler->set->config->window;
	struct neap_zone_clock clock;
	int second;
	bool is_inside;

	if (!window->is_set)
		return true;
	if (!descheduler->zone)
		return false; /* the local time is not known */
	neap_zone_read_clock(descheduler->zone, now_usec / 1000000, &clock);
	second = clock.hour * 3600 + clock.minute * 60 + clock.second;
	is_inside = window->begin_s < window->end_s
			    ? second >= window->begin_s && second < window->end_s
			    : second >= window->begin_s || second < window->end_s;
	if (!is_inside)
		*ret_usec = neap_zone_next(descheduler->zone, now_usec / 1000000,
					   window->begin_s) *
			    1000000;
	return is_inside;
}

int64_t deschedule_interval(const struct neap_descheduler *descheduler,
			    const struct neap_deschedule_config *config)
{
	return config->interval_usec >= 0 ? config->interval_usec
					  : descheduler->config.interval_usec;
}

/* --- jobs on the thread --- */

static void job_free(struct deschedule_job *job)
{
	deschedule_forget_queries(job);
	neap_play_done(&job->play);
	neap_limiter_free(job->play.limiter);
	neap_play_set_free(job->set);
	free(job->text);
	free(job->policy_text);
	free(job);
}

static void refuse_simulation(struct deschedule_job *job, const struct neap_error *err)
{
	job->done(job->arg, NULL, err);
	job_free(job);
}

void deschedule_refuse(struct neap_descheduler *descheduler, const struct neap_error *err)
{
	struct deschedule_job *job = descheduler->waiting;

	descheduler->waiting = job->next;
	refuse_simulation(job, err);
}

void deschedule_round_is_over(struct neap_descheduler *descheduler)
{
	struct deschedule_job *job = descheduler->running;

	descheduler->running = NULL;
	job_free(job);
	deschedule_look(descheduler);
}

static void job_work(void *arg)
{
	struct deschedule_job *job = arg;

	if (job->rounds)
		neap_play_rounds(&job->play, job->rounds);
	else
		neap_play_run(&job->play);
}

static void job_done(void *arg)
{
	struct deschedule_job *job = arg;
	struct neap_descheduler *descheduler = job->descheduler;
	struct neap_play *play = &job->play;
	static const struct neap_error ending = {.code = NEAP_EUNAVAILABLE,
						 .msg = "the descheduler is ending"};

	deschedule_note_answers(job);
	if (play->err.code == NEAP_ENOMEM)
		neap_snapshot_read_again(descheduler->snapshot);
	if (descheduler->is_ending) {
		descheduler->running = NULL;
		if (job->done)
			refuse_simulation(job, &ending);
		else
			job_free(job);
		neap_snapshot_release(descheduler->snapshot);
		return;
	}
	if (!job->done) {
		deschedule_note_round(descheduler, job);
		neap_snapshot_release(descheduler->snapshot);
		deschedule_record(descheduler, play, job->because);
		deschedule_leave(descheduler);
		return;
	}
	descheduler->running = NULL;
	descheduler->figures.simulations++;
	job->done(job->arg, play->err.code ? NULL : json_incref(play->record),
		  play->err.code ? &play->err : NULL);
	job_free(job);
	neap_snapshot_release(descheduler->snapshot);
	deschedule_look(descheduler);
}

static int hand_over(struct neap_descheduler *descheduler, struct deschedule_job *job,
		     struct neap_error *err)
{
	struct neap_play_set *set = job->play.set;
	int rc = neap_snapshot_hold(descheduler->snapshot, err);

	if (rc < 0)
		return rc;
	job->play.world = neap_snapshot_world(descheduler->snapshot);
	job->play.cluster = neap_snapshot_cluster(descheduler->snapshot);
	job->play.decide = neap_snapshot_decide(descheduler->snapshot);
	job->play.migrating = neap_snapshot_migrating(descheduler->snapshot);
	neap_limiter_free(job->play.limiter); /* of a try before */
	job->play.limiter =
		descheduler->config.limiter
			? descheduler->config.limiter(descheduler->config.migrate_arg)
			: NULL;
	job->play.moved = descheduler->moved;
	job->play.now_usec = deschedule_now(descheduler);
	job->play.interval_usec = deschedule_interval(descheduler, set->config);
	job->play.limits = limits_of(descheduler, set->config);
	rc = neap_thread_give(descheduler->thread, job_work, job_done, job, err);
	if (rc < 0)
		neap_snapshot_release(descheduler->snapshot);
	job->is_answered = false;
	return rc;
}

/* The set's policies must not be used elsewhere meanwhile. */
static int start(struct neap_descheduler *descheduler, struct deschedule_job *job,
		 struct neap_play_set *set, struct neap_error *err)
{
	int rc = 0;

	job->play.set = set;
	if (!deschedule_ask(job))
		rc = hand_over(descheduler, job, err);
	if (rc == 0)
		descheduler->running = job;
	return rc;
}

/* What a round began with may be another thing by the time its answers are there. */
static bool is_outdated(const struct neap_descheduler *descheduler,
			const struct deschedule_job *job)
{
	const int64_t now = deschedule_now(descheduler);
	const int64_t age = now - job->answered_usec;
	int64_t open_usec;

	if (descheduler->has_next_set || descheduler->is_stale)
		return true;
	if (!job->is_asked && (*descheduler->paused_by ||
			       !deschedule_is_open(descheduler, now, &open_usec)))
		return true;
	return age < 0 || age > ANSWERS_USEC; /* the clock may have been set */
}

/* The round is due again as soon as one may begin. */
static void drop_round(struct neap_descheduler *descheduler)
{
	struct deschedule_job *job = descheduler->running;

	deschedule_note_answers(job);
	descheduler->is_asked |= job->is_asked;
	descheduler->has_run = false;
	descheduler->next_usec = deschedule_now(descheduler);
	descheduler->rounds--;
	deschedule_round_is_over(descheduler);
}

/* A job has its answers. The snapshot may have got lost meanwhile: a round waits until it
 * is there again. */
static void go_on(struct neap_descheduler *descheduler)
{
	struct deschedule_job *job = descheduler->running;
	struct neap_error err = {0};

	if (!job->done && is_outdated(descheduler, job)) {
		drop_round(descheduler);
		return;
	}
	if (hand_over(descheduler, job, &err) == 0)
		return;
	if (job->done) {
		descheduler->running = NULL;
		refuse_simulation(job, &err);
	} else {
		job->is_answered = true;
	}
	wake(descheduler, AGAIN_USEC);
}

static bool start_round(struct neap_descheduler *descheduler, const char *because)
{
	struct deschedule_job *job = neap_alloc(sizeof(*job));
	struct neap_play_set *set = descheduler->set;
	struct neap_error err = {0};

	if (!job)
		return false;
	job->descheduler = descheduler;
	(void)snprintf(job->because, sizeof(job->because), "%s", because);
	job->is_asked = descheduler->is_asked;
	job->play.is_dry = set->config->dry_run || descheduler->config.dry_run;
	job->play.is_recorded = descheduler->config.rounds_dir != NULL;
	if (start(descheduler, job, set, &err) < 0) {
		job_free(job);
		return false;
	}
	descheduler->rounds++;
	descheduler->has_run = true;
	descheduler->is_looked_at = false;
	return true;
}

static void settled(void *arg)
{
	struct neap_descheduler *descheduler = arg;

	if (descheduler->set || descheduler->waiting)
		deschedule_look(descheduler);
}

bool deschedule_has_snapshot(struct neap_descheduler *descheduler)
{
	const struct neap_snapshot_config config = {.tasks = descheduler->config.tasks,
						    .client = descheduler->config.client,
						    .log = descheduler->config.log,
						    .heard = deschedule_hear,
						    .anew = deschedule_forget_pending,
						    .settled = settled,
						    .arg = descheduler};
	struct neap_error err = {0};

	if (!descheduler->snapshot &&
	    neap_snapshot_new(&config, &descheduler->snapshot, &err) < 0) {
		neap_log_from(descheduler->config.log, "descheduler", NEAP_LOG_ERROR,
			      "descheduler: %s", err.msg);
		return false;
	}
	return neap_snapshot_is_read(descheduler->snapshot);
}

static bool start_simulation(struct neap_descheduler *descheduler)
{
	struct deschedule_job *job = descheduler->waiting;
	struct neap_error err = {0};

	if (!job->is_ready)
		return deschedule_get_ready(descheduler);
	if (!deschedule_has_snapshot(descheduler))
		return false;
	descheduler->waiting = job->next;
	job->play.is_dry = true;
	job->play.only = *job->only ? job->only : NULL;
	if (start(descheduler, job, job->set, &err) == 0)
		return true;
	refuse_simulation(job, &err);
	return false;
}

/* --- what is due --- */

/* Starts a round if one is due; else *ret_usec is when to look again, or unchanged. */
static void look_for_round(struct neap_descheduler *descheduler, int64_t now,
			   int64_t *ret_usec)
{
	int64_t interval = deschedule_interval(descheduler, descheduler->set->config);
	int64_t open_usec = now;
	bool is_asked = descheduler->is_asked, is_due, is_event;
	char because[160] = "interval";

	if (!is_asked && (*descheduler->paused_by ||
			  !deschedule_is_open(descheduler, now, &open_usec))) {
		if (!*descheduler->paused_by && open_usec < *ret_usec)
			*ret_usec = open_usec;
		descheduler->is_looked_at = false;
		return;
	}
	/* The interval may be another one now, or the clock set back. */
	if (descheduler->next_usec > now + interval)
		descheduler->next_usec = now + interval;
	is_due = interval ? now >= descheduler->next_usec : !descheduler->has_run;
	is_event = deschedule_event_is_due(descheduler, now, ret_usec);
	if (is_asked)
		(void)snprintf(because, sizeof(because), "asked for by %s",
			       descheduler->asked_by);
	else if (!is_due && is_event)
		(void)snprintf(because, sizeof(because), "event: %s",
			       descheduler->triggers.what);
	if (is_asked || is_due || is_event) {
		enum deschedule_start start = descheduler->is_looked_at
						      ? DESCHEDULE_NOTHING
						      : deschedule_refresh(descheduler);

		descheduler->is_looked_at = start != DESCHEDULE_LATER;
		if (start == DESCHEDULE_STARTED)
			return;
		if (start == DESCHEDULE_LATER || !start_round(descheduler, because)) {
			*ret_usec = now + AGAIN_USEC;
			return;
		}
		descheduler->is_asked = false;
		if (is_event || *descheduler->triggers.what)
			deschedule_event_begins(descheduler, now);
		/* From start to start; one that was late is followed at once. */
		if (interval && is_due)
			descheduler->next_usec = now + interval;
		return;
	}
	descheduler->is_looked_at = false;
	if (interval && descheduler->next_usec < *ret_usec)
		*ret_usec = descheduler->next_usec;
}

void deschedule_look(struct neap_descheduler *descheduler)
{
	int64_t now = deschedule_now(descheduler), next = INT64_MAX;
	enum deschedule_start start;

	if (neap_thread_count(descheduler->thread))
		return; /* its end looks again */
	if (descheduler->running) {
		if (descheduler->running->is_answered)
			go_on(descheduler);
		return; /* likewise */
	}
	start = deschedule_prepare(descheduler);
	if (start == DESCHEDULE_LATER)
		wake(descheduler, AGAIN_USEC);
	if (start != DESCHEDULE_NOTHING)
		return;
	if (descheduler->waiting && start_simulation(descheduler))
		return;
	if (descheduler->waiting)
		next = now + AGAIN_USEC;
	if (descheduler->set && deschedule_has_snapshot(descheduler))
		look_for_round(descheduler, now, &next);
	else if (descheduler->snapshot || descheduler->set)
		next = now + AGAIN_USEC;
	if (neap_thread_count(descheduler->thread))
		return;
	/* Not longer, as the clock may be set. */
	if (descheduler->set && next > now + 10 * AGAIN_USEC)
		next = now + 10 * AGAIN_USEC;
	if (*descheduler->trouble && next > now + AGAIN_USEC)
		next = now + AGAIN_USEC;
	if (next != INT64_MAX)
		wake(descheduler, next - now);
}

static void timer(evutil_socket_t fd, short what, void *arg)
{
	struct neap_descheduler *descheduler = arg;

	(void)fd;
	(void)what;
	if (!deschedule_has_config(descheduler) && !descheduler->waiting &&
	    !descheduler->running) {
		neap_snapshot_free(descheduler->snapshot);
		descheduler->snapshot = NULL;
	}
	if (*descheduler->trouble) /* a PriorityClass may be there now */
		deschedule_choose(descheduler);
	else
		deschedule_look(descheduler);
}

/* --- life --- */

int neap_descheduler_new(const struct neap_descheduler_config *config,
			 struct neap_descheduler **ret, struct neap_error *err)
{
	struct neap_descheduler *descheduler = neap_alloc(sizeof(*descheduler));
	int rc;

	if (!descheduler)
		return neap_error_nomem(err);
	descheduler->config = *config;
	neap_strategies_set_log(config->strategies, config->log);
	deschedule_pause_init(descheduler);
	descheduler->timer = event_new(config->base, -1, 0, timer, descheduler);
	descheduler->moved = neap_moved_new(REST_USEC);
	rc = descheduler->timer && descheduler->moved &&
			     deschedule_leave_init(descheduler)
		     ? 0
		     : neap_error_nomem(err);
	if (rc == 0)
		rc = deschedule_triggers_init(descheduler, err);
	if (rc == 0)
		rc = neap_thread_new(config->base, JOBS_MAX, &descheduler->thread, err);
	if (rc == 0)
		rc = deschedule_watch_map(descheduler, err);
	if (rc < 0)
		neap_descheduler_free(descheduler);
	else
		*ret = descheduler;
	return rc;
}

void neap_descheduler_free(struct neap_descheduler *descheduler)
{
	struct neap_error err = {.code = NEAP_EUNAVAILABLE,
				 .msg = "the descheduler is ending"};

	if (!descheduler)
		return;
	descheduler->is_ending = true;
	neap_thread_free(descheduler->thread); /* calls job_done */
	deschedule_end_recording(descheduler);
	neap_task_free(descheduler->writing);
	if (descheduler->running && descheduler->running->done)
		refuse_simulation(descheduler->running, &err);
	else if (descheduler->running) /* the rest of its decisions is not done */
		job_free(descheduler->running);
	while (descheduler->waiting)
		deschedule_refuse(descheduler, &err);
	deschedule_forget_leaves(descheduler);
	neap_feed_free(descheduler->maps);
	neap_snapshot_free(descheduler->snapshot);
	deschedule_triggers_done(descheduler);
	if (descheduler->timer)
		event_free(descheduler->timer);
	neap_play_set_free(descheduler->set);
	neap_play_set_free(descheduler->next_set);
	neap_play_set_free(descheduler->opening_set);
	(void)neap_deschedule_config_unref(descheduler->of_file);
	(void)neap_deschedule_config_unref(descheduler->of_map);
	neap_moved_free(descheduler->moved);
	neap_zone_free(descheduler->zone);
	json_decref(descheduler->last);
	neap_deschedule_figures_done(&descheduler->figures);
	free(descheduler);
}

/* --- what people ask --- */

void neap_descheduler_policies_changed(struct neap_descheduler *descheduler)
{
	/* A new version is heard for its own triggers. */
	descheduler->is_stale = true;
	/* A configuration may name a policy that is there only now. */
	if (*descheduler->map_trouble || descheduler->is_map_read)
		deschedule_read_map_again(descheduler);
	if (*descheduler->trouble)
		deschedule_choose(descheduler);
	else
		deschedule_look(descheduler);
}

int neap_descheduler_run(struct neap_descheduler *descheduler, const char *by,
			 struct neap_error *err)
{
	bool has_config = deschedule_has_config(descheduler);

	if (!has_config && *descheduler->file_trouble)
		return neap_error_set(
			err, NEAP_ECONFLICT,
			"the descheduler's configuration cannot be used: %s",
			descheduler->file_trouble);
	if (!has_config)
		return neap_error_set(
			err, NEAP_ECONFLICT,
			"the descheduler has no configuration: give "
			"--descheduler-config FILE or ConfigMap " NEAP_DESCHEDULE_MAP_NS
			"/" NEAP_DESCHEDULE_MAP_NAME);
	descheduler->is_asked = true;
	(void)snprintf(descheduler->asked_by, sizeof(descheduler->asked_by), "%s", by);
	deschedule_look(descheduler);
	return 0;
}

void neap_descheduler_count_evicted(struct neap_descheduler *descheduler, bool is_done,
				    const char *strategy, const char *ns,
				    const char *node)
{
	neap_figure_evicted(&descheduler->figures, is_done ? "success" : "error",
			    strategy, "", ns, node);
}

void neap_descheduler_add_metrics(const struct neap_descheduler *descheduler,
				  struct neap_buf *out)
{
	neap_deschedule_figures_write(&descheduler->figures, out);
}
