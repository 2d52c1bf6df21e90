/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of users to the descheduler: its state, and simulations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/descheduler_priv.h"
#include "api/deschedule/play/play_open.h"
#include "api/deschedule/play/play_rounds.h"
#include "api/deschedule/play/strategies.h"
#include "api/policy/thread.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define WAITING_MAX 4

static void set_time(json_t *json, const char *name, int64_t usec)
{
	char text[32];

	if (usec)
		neap_json_set_text(json, name,
				   neap_time_format(usec, 0, text, sizeof(text)));
}

static void set_limit(json_t *json, const char *name, int64_t limit, int64_t ceiling)
{
	if (limit < 0 || (ceiling >= 0 && ceiling < limit))
		limit = ceiling;
	if (limit >= 0)
		neap_json_set_int(json, name, limit);
}

static json_t *profile_json(const struct neap_play_profile *profile)
{
	json_t *json = json_object(), *plugins = json_array();

	neap_json_set_text(json, "name", profile->of->name);
	for (size_t i = 0; i < profile->of->plugin_count; i++) {
		const struct neap_play_plugin *plugin = &profile->plugins[i];
		json_t *row = json_object(), *points = json_array();

		neap_json_set_text(row, "name", plugin->name);
		neap_json_set_text(row, "policy", plugin->label);
		neap_json_set_text(row, "error", plugin->broken);
		if (plugin->dry_run)
			(void)json_object_set_new(row, "dry_run", json_true());
		for (int at = 0; at < NEAP_AT_COUNT; at++)
			for (size_t n = 0; n < profile->of->at_count[at]; n++)
				if (profile->of->at[at][n] == i)
					(void)json_array_append_new(
						points,
						json_string(neap_deschedule_point_name(
							(enum neap_plugin_point)at)));
		(void)json_object_set_new(row, "points", points);
		(void)json_array_append_new(plugins, row);
	}
	(void)json_object_set_new(json, "plugins", plugins);
	return json;
}

static void add_set(const struct neap_descheduler *descheduler, json_t *status)
{
	const struct neap_deschedule_config *config = descheduler->set->config;
	const struct neap_descheduler_config *ceilings = &descheduler->config;
	json_t *profiles = json_array(), *limits = json_object();
	int64_t interval = deschedule_interval(descheduler, config);
	int64_t open_usec = 0;
	char text[32];

	neap_json_set_text(status, "source",
			   descheduler->of_file ? descheduler->file_name
						: "ConfigMap " NEAP_DESCHEDULE_MAP_NS
						  "/" NEAP_DESCHEDULE_MAP_NAME);
	neap_json_set_text(status, "form",
			   config->form == NEAP_DESCHEDULE_UPSTREAM
				   ? "DeschedulerPolicy"
				   : "DeschedulerConfiguration");
	neap_json_set_text(status, "interval",
			   neap_duration_format(interval, text, sizeof(text)));
	(void)json_object_set_new(status, "dry_run",
				  json_boolean(config->dry_run || ceilings->dry_run));
	set_limit(limits, "node", config->per_node, ceilings->per_node);
	set_limit(limits, "namespace", config->per_namespace, ceilings->per_namespace);
	set_limit(limits, "workload", config->per_workload, -1);
	set_limit(limits, "total", config->total, ceilings->total);
	(void)json_object_set_new(status, "limits", limits);
	for (size_t i = 0; i < config->profile_count; i++)
		(void)json_array_append_new(profiles,
					    profile_json(&descheduler->set->profiles[i]));
	(void)json_object_set_new(status, "profiles", profiles);
	if (!deschedule_is_open(descheduler, deschedule_now(descheduler), &open_usec))
		set_time(status, "opens", open_usec);
	set_time(status, "next", interval ? descheduler->next_usec : 0);
}

json_t *neap_descheduler_status(const struct neap_descheduler *descheduler,
				bool with_round)
{
	json_t *status = json_object();
	const char *state = descheduler->running && !descheduler->running->done
				    ? "running"
			    : *descheduler->paused_by ? "paused"
			    : descheduler->set        ? "waiting"
						      : "unconfigured";

	neap_json_set_text(status, "state", state);
	if (*descheduler->paused_by) {
		neap_json_set_text(status, "paused_by", descheduler->paused_by);
		set_time(status, "paused_since", descheduler->paused_usec);
	}
	neap_json_set_text(status, "pause_error", descheduler->pause_trouble);
	neap_json_set_text(status, "error",
			   *descheduler->trouble        ? descheduler->trouble
			   : *descheduler->file_trouble ? descheduler->file_trouble
							: descheduler->map_trouble);
	neap_json_set_int(status, "rounds", (int64_t)descheduler->rounds);
	neap_json_set_int(status, "rounds_by_event",
			  (int64_t)descheduler->triggers.rounds);
	neap_json_set_int(status, "events", (int64_t)descheduler->triggers.fired);
	if (descheduler->set)
		add_set(descheduler, status);
	if (descheduler->asked_usec) {
		json_t *asked = json_object();

		set_time(asked, "asked", descheduler->asked_usec);
		neap_json_set_text(asked, "error", descheduler->unanswered);
		(void)json_object_set_new(status, "prometheus", asked);
	}
	if (descheduler->config.rounds_dir && status)
		(void)json_object_set_new(status, "recording",
					  deschedule_recording_status(descheduler));
	if (with_round && descheduler->last)
		(void)json_object_set(status, "round", descheduler->last);
	return status;
}

/* --- simulations --- */

/* A configuration whose first profile has that plugin, too. */
static int add_plugin(struct neap_deschedule_config *config, const char *name,
		      enum neap_plugin_point point, struct neap_error *err)
{
	struct neap_deschedule_profile *profile = &config->profiles[0];
	size_t at = profile->plugin_count;

	if (at == NEAP_DESCHEDULE_PLUGINS_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "the first profile has %zu plugins already", at);
	profile->plugins[at].name = neap_arena_strdup(&config->arena, name);
	profile->plugins[at].args = json_object();
	profile->plugin_count++;
	if (!profile->plugins[at].name || !profile->plugins[at].args)
		return neap_error_nomem(err);
	profile->at[point][profile->at_count[point]++] = (uint8_t)at;
	return 0;
}

static const char alone[] = "apiVersion: descheduler/v1alpha2\n"
			    "kind: DeschedulerPolicy\n"
			    "profiles:\n"
			    "- name: simulation\n"
			    "  pluginConfig: [{name: DefaultEvictor}]\n"
			    "  plugins: {filter: {enabled: [DefaultEvictor]}}\n";

/* A policy that no profile names runs alone, with the rules of the DefaultEvictor. */
static int use_alone(const struct neap_descheduler *descheduler,
		     const struct neap_policy *policy, const char *name,
		     struct neap_deschedule_config **config, struct neap_error *err)
{
	struct neap_deschedule_config *made = NULL;
	struct neap_deschedule_lines lines = {0};
	int rc = neap_deschedule_config_parse(
		alone, strlen(alone), "configuration",
		neap_strategies_plugins(descheduler->config.strategies), &made, &lines,
		err);

	neap_deschedule_lines_done(&lines);

	if (rc == 0)
		rc = add_plugin(made, name,
				neap_policy_point(policy) == NEAP_POINT_BALANCE
					? NEAP_AT_BALANCE
					: NEAP_AT_DESCHEDULE,
				err);
	if (rc < 0) {
		(void)neap_deschedule_config_unref(made);
		return rc;
	}
	(void)neap_deschedule_config_unref(*config);
	*config = made;
	return 0;
}

static bool is_named(const struct neap_deschedule_config *config, const char *name)
{
	for (size_t i = 0; i < config->profile_count; i++)
		for (size_t n = 0; n < config->profiles[i].plugin_count; n++)
			if (strcmp(config->profiles[i].plugins[n].name, name) == 0)
				return true;
	return false;
}

static void was_opened(struct neap_descheduler *descheduler,
		       struct neap_play_opening *opening)
{
	struct neap_error err = {0};

	if (neap_play_opening_end(opening, &err) < 0)
		deschedule_refuse(descheduler, &err);
	else
		descheduler->waiting->is_ready = true;
}

static int open_set(struct neap_descheduler *descheduler, struct deschedule_job *job,
		    struct neap_deschedule_config *config, struct neap_policy **policy,
		    struct neap_error *err)
{
	struct neap_play_opening *opening = NULL;
	int rc = neap_play_set_new(config, descheduler->config.schedulers,
				   deschedule_priority_of, descheduler, &job->set, err);

	if (rc == 0)
		rc = neap_play_opening_new(job->set, descheduler->config.strategies,
					   &opening, err);
	if (rc == 0 && *policy)
		rc = neap_play_opening_give_take(opening, job->only, neap_steal(*policy),
						 err);
	if (rc == 0)
		return deschedule_open_take(descheduler, opening, was_opened, err);
	neap_play_opening_free(opening);
	return rc;
}

/* Takes both; NULL: none was given. */
static void prepare_take(struct neap_descheduler *descheduler,
			 struct neap_deschedule_config *config,
			 struct neap_policy *policy)
{
	struct deschedule_job *job = descheduler->waiting;
	struct neap_error err = {0};
	int rc = 0;

	if (policy && !*job->only)
		(void)snprintf(job->only, sizeof(job->only), "%s",
			       neap_policy_plugin(policy));
	if (!config && descheduler->set)
		config = neap_deschedule_config_ref(descheduler->set->config);
	if (!config && !policy)
		rc = neap_error_set(&err, NEAP_ECONFLICT,
				    "the descheduler has no configuration: give "
				    "one");
	if (rc == 0 && policy && (!config || !is_named(config, job->only)))
		rc = use_alone(descheduler, policy, job->only, &config, &err);
	if (rc == 0 && *job->only && !is_named(config, job->only))
		rc = neap_error_set(&err, NEAP_ENOTFOUND, "no profile has a plugin '%s'",
				    job->only);
	if (rc == 0)
		rc = open_set(descheduler, job, config, &policy, &err);
	neap_policy_free(policy);
	(void)neap_deschedule_config_unref(config);
	if (rc < 0)
		deschedule_refuse(descheduler, &err);
}

static void was_read(void *arg, struct deschedule_reading *reading)
{
	struct neap_descheduler *descheduler = arg;

	if (reading->err.code)
		deschedule_refuse(descheduler, &reading->err);
	else
		prepare_take(descheduler, neap_steal(reading->config),
			     neap_steal(reading->policy));
}

bool deschedule_get_ready(struct neap_descheduler *descheduler)
{
	const struct deschedule_job *job = descheduler->waiting;
	const struct deschedule_reading what = {.text = job->text,
						.policy_text = job->policy_text,
						.name = "configuration",
						.done = was_read,
						.arg = descheduler};
	struct neap_error err = {0};

	if (!job->text && !job->policy_text)
		prepare_take(descheduler, NULL, NULL);
	else if (deschedule_read(descheduler, &what, &err) < 0)
		deschedule_refuse(descheduler, &err);
	return neap_thread_count(descheduler->thread) > 0;
}

static int make_job(const struct neap_simulation *simulation, struct deschedule_job **ret,
		    struct neap_error *err)
{
	struct deschedule_job *job = neap_alloc(sizeof(*job));

	if (!job)
		return neap_error_nomem(err);
	if (simulation->config)
		job->text = neap_strdup(simulation->config);
	if (simulation->policy)
		job->policy_text = neap_strdup(simulation->policy);
	if ((simulation->config && !job->text) ||
	    (simulation->policy && !job->policy_text)) {
		free(job->text);
		free(job->policy_text);
		free(job);
		return neap_error_nomem(err);
	}
	(void)snprintf(job->only, sizeof(job->only), "%s",
		       simulation->plugin ? simulation->plugin : "");
	job->rounds = (unsigned)simulation->rounds;
	*ret = job;
	return 0;
}

void neap_descheduler_simulate(
	struct neap_descheduler *descheduler, const struct neap_simulation *simulation,
	void (*done)(void *arg, json_t *record, const struct neap_error *err), void *arg)
{
	struct deschedule_job **last = &descheduler->waiting;
	struct deschedule_job *job = NULL;
	struct neap_error err = {0};
	size_t count = 0;
	int rc = 0;

	for (; *last; last = &(*last)->next)
		count++;
	if (simulation->rounds < 0 || simulation->rounds > NEAP_PLAY_ROUNDS_MAX)
		rc = neap_error_field(&err, NEAP_EINVAL, "rounds", "must be from 1 to %d",
				      NEAP_PLAY_ROUNDS_MAX);
	if (rc == 0 && count == WAITING_MAX)
		rc = neap_error_set(&err, NEAP_EUNAVAILABLE,
				    "%zu simulations wait already", count);
	if (rc == 0)
		rc = make_job(simulation, &job, &err);
	if (rc < 0) {
		done(arg, NULL, &err);
		return;
	}
	job->descheduler = descheduler;
	job->done = done;
	job->arg = arg;
	*last = job;
	deschedule_look(descheduler);
}
