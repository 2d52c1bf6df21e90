/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes before a round whose strategies go by a Prometheus: its queries. All are
 * asked at once, while the snapshot is not held and the loop goes on; the round starts
 * when each has an answer or a reason why not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/descheduler_priv.h"
#include "engine/base/mem.h"

/* Queries of a round, as each answer has some megabytes. */
#define QUERIES_MAX 16

/* Outlives its job when the descheduler ends. */
struct deschedule_query {
	struct deschedule_job *job; /* NULL: nobody waits */
	struct neap_play_plugin *plugin;
	struct deschedule_query *next;
};

static void end_query(struct deschedule_job *job)
{
	if (--job->unanswered > 0)
		return;
	job->is_answered = true;
	job->answered_usec = deschedule_now(job->descheduler);
}

static void told(void *arg, char *text, size_t len, const char *why)
{
	struct deschedule_query *query = arg;
	struct deschedule_job *job = query->job;
	struct deschedule_query **at;

	if (!job) {
		free(text);
		free(query);
		return;
	}
	neap_play_answer_take(query->plugin, text, len, why);
	for (at = &job->queries; *at != query; at = &(*at)->next)
		;
	*at = query->next;
	free(query);
	end_query(job);
	if (job->is_answered)
		deschedule_look(job->descheduler);
}

static void ask(struct deschedule_job *job, struct neap_play_plugin *plugin, size_t count)
{
	const struct neap_descheduler *descheduler = job->descheduler;
	struct deschedule_query *query;
	char why[96];

	(void)snprintf(why, sizeof(why), "a round makes at most %d queries", QUERIES_MAX);
	if (!descheduler->config.query || count >= QUERIES_MAX) {
		neap_play_answer_take(plugin, NULL, 0,
				      count >= QUERIES_MAX ? why : "nobody can be asked");
		return;
	}
	query = neap_alloc(sizeof(*query));
	if (!query) {
		neap_play_answer_take(plugin, NULL, 0, "there is no memory");
		return;
	}
	*query = (struct deschedule_query){
		.job = job, .plugin = plugin, .next = job->queries};
	job->queries = query;
	job->unanswered++;
	descheduler->config.query(descheduler->config.query_arg,
				  &job->play.set->config->prometheus, plugin->query, told,
				  query);
}

static bool runs(const struct neap_play_profile *profile, size_t plugin)
{
	static const enum neap_plugin_point points[] = {NEAP_AT_DESCHEDULE,
							NEAP_AT_BALANCE};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(points); i++)
		for (size_t n = 0; n < profile->of->at_count[points[i]]; n++)
			if (profile->of->at[points[i]][n] == plugin)
				return true;
	return false;
}

bool deschedule_ask(struct deschedule_job *job)
{
	const struct neap_play_set *set = job->play.set;
	const char *only = job->play.only;
	size_t count = 0;

	job->unanswered = 1; /* an answer may come at once */
	for (size_t i = 0; i < set->config->profile_count; i++)
		for (size_t n = 0; n < set->profiles[i].of->plugin_count; n++) {
			struct neap_play_plugin *plugin = &set->profiles[i].plugins[n];

			if (!plugin->query || plugin->broken[0] ||
			    !runs(&set->profiles[i], n) ||
			    (only && strcmp(only, plugin->name) != 0))
				continue;
			ask(job, plugin, count++);
		}
	if (count)
		job->descheduler->asked_usec = deschedule_now(job->descheduler);
	end_query(job);
	return !job->is_answered;
}

void deschedule_note_answers(struct deschedule_job *job)
{
	struct neap_descheduler *descheduler = job->descheduler;
	const struct neap_play_set *set = job->play.set;
	bool has_any = false;

	for (size_t i = 0; i < set->config->profile_count; i++)
		for (size_t n = 0; n < set->profiles[i].of->plugin_count; n++) {
			struct neap_play_plugin *plugin = &set->profiles[i].plugins[n];
			bool has_failed = plugin->unanswered[0] != '\0';

			if (!plugin->is_asked)
				continue;
			descheduler->figures.queries[has_failed]++;
			if (!has_any || has_failed)
				(void)snprintf(descheduler->unanswered,
					       sizeof(descheduler->unanswered), "%s",
					       plugin->unanswered);
			has_any = true;
			neap_play_answer_forget(plugin);
		}
}

void deschedule_forget_queries(struct deschedule_job *job)
{
	for (struct deschedule_query *query = job->queries; query; query = query->next)
		query->job = NULL;
	job->queries = NULL;
}
