/* SPDX-License-Identifier: Apache-2.0
 *
 * What a round leaves behind: figures, faults of its policies, lines of the log, and the
 * record. */
#include <stdio.h>

#include "api/deschedule/descheduler_priv.h"
#include "api/deschedule/play/strategies.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "lua/run/registry.h"

static void note_figures(struct neap_descheduler *descheduler, struct neap_play_set *set,
			 const struct neap_play *play)
{
	descheduler->figures.rounds++;
	neap_figure_loop(&descheduler->figures, play->usec);
	for (size_t i = 0; i < set->config->profile_count; i++)
		for (size_t n = 0; n < set->profiles[i].of->plugin_count; n++) {
			const struct neap_play_plugin *plugin =
				&set->profiles[i].plugins[n];

			if (!plugin->has_run)
				continue;
			neap_figure_strategy(&descheduler->figures, plugin->name,
					     set->profiles[i].of->name, plugin->cpu_usec);
			descheduler->figures.failed +=
				plugin->verdict != NEAP_TICK_WISHES;
		}
}

/* Faults count at the policy in service, which may end its service. */
static void note_verdict(struct neap_descheduler *descheduler,
			 const struct neap_play_plugin *plugin)
{
	struct neap_registry_slot *slot =
		neap_strategies_slot(descheduler->config.strategies, plugin->name);
	struct neap_policy_info info;

	if (slot && slot->shadow && plugin->shadow &&
	    plugin->shadow->of == neap_shadow_policy(slot->shadow))
		neap_shadow_add(slot->shadow, &plugin->shadow->tally);
	if (!slot || plugin->broken[0] || plugin->unanswered[0]) /* it was not called */
		return;
	/* It may go on without them, but need not. */
	if (plugin->lacks_samples && plugin->verdict == NEAP_TICK_ERROR)
		return;
	neap_policy_get_info(slot->policy, &info);
	if (neap_registry_note(slot, plugin->verdict, &plugin->err,
			       deschedule_now(descheduler)))
		neap_log_line(descheduler->config.log, NEAP_LOG_ERROR,
			      "policy %s is out of service: %s; %s", info.label,
			      plugin->err.msg, neap_policy_kind(slot->policy)->failsafe);
}

static void note_verdicts(struct neap_descheduler *descheduler,
			  const struct neap_play_set *set)
{
	for (size_t i = 0; i < set->config->profile_count; i++)
		for (size_t n = 0; n < set->profiles[i].of->plugin_count; n++) {
			const struct neap_play_plugin *plugin =
				&set->profiles[i].plugins[n];

			if (!plugin->has_run)
				continue;
			note_verdict(descheduler, plugin);
			if (plugin->verdict != NEAP_TICK_WISHES)
				neap_log_from(descheduler->config.log, plugin->name,
					      NEAP_LOG_WARN,
					      "descheduler: %s in profile '%s': %s",
					      plugin->name, set->profiles[i].of->name,
					      plugin->err.msg);
		}
}

void deschedule_note_round(struct neap_descheduler *descheduler,
			   struct deschedule_job *job)
{
	struct neap_play *play = &job->play;

	note_figures(descheduler, descheduler->set, play);
	note_verdicts(descheduler, descheduler->set);
	if (play->err.code)
		neap_log_from(descheduler->config.log, "descheduler", NEAP_LOG_WARN,
			      "descheduler: no round: %s", play->err.msg);
	else if (play->evicted)
		neap_log_line(descheduler->config.log, NEAP_LOG_INFO,
			      "descheduler: %zu pods %s (%s)", play->evicted,
			      play->is_dry ? "would leave" : "are to leave",
			      job->because);
	if (play->record) {
		neap_json_set_text(play->record, "because", job->because);
		neap_json_set_int(play->record, "round", (int64_t)descheduler->rounds);
		json_decref(descheduler->last);
		descheduler->last = json_incref(play->record);
	}
}
