/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes before rounds on their thread: reading configurations, whose arguments the
 * policies check, and opening policies. Both compile what editors have written, which the
 * loop has no time for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/descheduler_priv.h"
#include "api/deschedule/play/play_open.h"
#include "api/deschedule/play/strategies.h"
#include "api/policy/thread.h"
#include "engine/base/mem.h"
#include "engine/log/log.h"

/* --- reading --- */

static void reading_free(struct deschedule_reading *reading)
{
	neap_deschedule_lines_done(&reading->lines);
	(void)neap_deschedule_config_unref(reading->config);
	neap_policy_free(reading->policy);
	neap_strategies_free(reading->strategies);
	free(reading->text);
	free(reading->policy_text);
	free(reading);
}

static int read_policy(struct deschedule_reading *reading)
{
	int rc = neap_policy_load(reading->policy_text, strlen(reading->policy_text),
				  "policy", &reading->policy, &reading->err);

	if (rc == 0 && strcmp(neap_policy_kind(reading->policy)->name, "deschedule") != 0)
		rc = neap_error_set(&reading->err, NEAP_EINVAL,
				    "the policy is of kind %s, and must be of kind "
				    "deschedule",
				    neap_policy_kind(reading->policy)->name);
	return rc;
}

static void read_work(void *arg)
{
	struct deschedule_reading *reading = arg;

	if (reading->policy_text && read_policy(reading) < 0)
		return;
	if (reading->text)
		(void)neap_deschedule_config_parse(
			reading->text, strlen(reading->text), reading->name,
			neap_strategies_plugins(reading->strategies), &reading->config,
			&reading->lines, &reading->err);
}

static void read_done(void *arg)
{
	struct deschedule_reading *reading = arg;
	struct neap_descheduler *descheduler = reading->descheduler;

	if (!descheduler->is_ending)
		reading->done(reading->arg, reading);
	reading_free(reading);
	if (!descheduler->is_ending)
		deschedule_look(descheduler);
}

static bool copy_text(char **ret, const char *text)
{
	*ret = text ? neap_strdup(text) : NULL;
	return *ret || !text;
}

int deschedule_read(struct neap_descheduler *descheduler,
		    const struct deschedule_reading *what, struct neap_error *err)
{
	struct deschedule_reading *reading = neap_alloc(sizeof(*reading));
	int rc;

	if (!reading)
		return neap_error_nomem(err);
	reading->descheduler = descheduler;
	reading->done = what->done;
	reading->arg = what->arg;
	reading->told = what->told;
	(void)snprintf(reading->name, sizeof(reading->name), "%s", what->name);
	rc = copy_text(&reading->text, what->text) &&
			     copy_text(&reading->policy_text, what->policy_text)
		     ? neap_strategies_copy(descheduler->config.strategies,
					    &reading->strategies, err)
		     : neap_error_nomem(err);
	if (rc == 0)
		rc = neap_thread_give(descheduler->thread, read_work, read_done, reading,
				      err);
	if (rc < 0)
		reading_free(reading);
	return rc;
}

static void tell(void *arg, struct deschedule_reading *reading)
{
	reading->told(arg, reading->config, &reading->lines, &reading->err);
}

int neap_descheduler_read(struct neap_descheduler *descheduler, const char *text,
			  const char *name, neap_descheduler_told *told, void *arg,
			  struct neap_error *err)
{
	struct deschedule_reading what = {
		.text = (char *)text, .done = tell, .told = told, .arg = arg};

	(void)snprintf(what.name, sizeof(what.name), "%s", name);
	return deschedule_read(descheduler, &what, err);
}

/* --- opening --- */

struct open_job {
	struct neap_descheduler *descheduler;
	struct neap_play_opening *opening;
	void (*done)(struct neap_descheduler *descheduler,
		     struct neap_play_opening *opening);
};

static void open_work(void *arg)
{
	const struct open_job *job = arg;

	neap_play_opening_work(job->opening);
}

static void open_done(void *arg)
{
	struct open_job *job = arg;
	struct neap_descheduler *descheduler = job->descheduler;

	if (descheduler->is_ending) {
		neap_play_opening_free(job->opening);
	} else {
		job->done(descheduler, job->opening);
		deschedule_look(descheduler);
	}
	free(job);
}

int deschedule_open_take(struct neap_descheduler *descheduler,
			 struct neap_play_opening *opening,
			 void (*done)(struct neap_descheduler *descheduler,
				      struct neap_play_opening *opening),
			 struct neap_error *err)
{
	struct open_job *job = neap_alloc(sizeof(*job));
	int rc = job ? 0 : neap_error_nomem(err);

	if (rc == 0) {
		job->descheduler = descheduler;
		job->opening = opening;
		job->done = done;
		rc = neap_thread_give(descheduler->thread, open_work, open_done, job,
				      err);
	}
	if (rc < 0) {
		neap_play_opening_free(opening);
		free(job);
	}
	return rc;
}

/* --- the set of rounds --- */

static void refreshed(struct neap_descheduler *descheduler,
		      struct neap_play_opening *opening)
{
	(void)descheduler;
	(void)neap_play_opening_end(opening, NULL);
}

static void opened(struct neap_descheduler *descheduler,
		   struct neap_play_opening *opening)
{
	struct neap_play_set *set = descheduler->opening_set;

	(void)neap_play_opening_end(opening, NULL);
	descheduler->opening_set = NULL;
	if (descheduler->has_next_set)
		neap_play_set_free(set); /* another one was chosen meanwhile */
	else
		deschedule_take(descheduler, set);
	descheduler->is_looked_at = false; /* what failed is tried again for the round */
}

enum deschedule_start deschedule_refresh(struct neap_descheduler *descheduler)
{
	struct neap_play_opening *opening = NULL;
	struct neap_error err;

	if (neap_play_opening_new(descheduler->set, descheduler->config.strategies,
				  &opening, &err) < 0)
		return DESCHEDULE_LATER;
	if (neap_play_opening_is_empty(opening)) {
		neap_play_opening_free(opening);
		return DESCHEDULE_NOTHING;
	}
	return deschedule_open_take(descheduler, opening, refreshed, &err) < 0
		       ? DESCHEDULE_LATER
		       : DESCHEDULE_STARTED;
}

static enum deschedule_start open_next(struct neap_descheduler *descheduler)
{
	struct neap_play_set *set = descheduler->next_set;
	struct neap_play_opening *opening = NULL;
	struct neap_error err;

	if (set && (neap_play_opening_new(set, descheduler->config.strategies, &opening,
					  &err) < 0 ||
		    deschedule_open_take(descheduler, opening, opened, &err) < 0))
		return DESCHEDULE_LATER;
	descheduler->has_next_set = false;
	descheduler->next_set = NULL;
	descheduler->opening_set = set;
	if (set)
		return DESCHEDULE_STARTED;
	deschedule_take(descheduler, NULL);
	return DESCHEDULE_NOTHING;
}

enum deschedule_start deschedule_prepare(struct neap_descheduler *descheduler)
{
	enum deschedule_start start = DESCHEDULE_NOTHING;

	if (descheduler->has_next_set)
		start = open_next(descheduler);
	if (start == DESCHEDULE_NOTHING && descheduler->set && descheduler->is_stale) {
		start = deschedule_refresh(descheduler);
		descheduler->is_stale = start == DESCHEDULE_LATER;
	}
	return start;
}
