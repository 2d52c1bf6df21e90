/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of a round: first the deschedule plugins of each profile, then the balance
 * plugins of each profile. A plugin that fails does not stop the others. */
#include "api/deschedule/play/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/deschedule/play/play_priv.h"
#include "api/deschedule/play/strategies.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/cluster/cluster.h"
#include "engine/deschedule/moved.h"
#include "engine/json/json.h"

#define NODES_MIN 2

/* --- rules of a profile --- */

struct rules {
	struct neap_round_rule list[NEAP_ROUND_RULES_MAX];
	struct play_rule args[NEAP_ROUND_RULES_MAX];
	size_t count;
};

/* A rule that fails keeps the pod: there was no answer that it may leave. */
static const char *ask_policy(struct play_rule *rule, struct neap_round *round,
			      const struct neap_world_pod *pod, bool is_last)
{
	const char *why = NULL;
	struct neap_error err = {0};
	char text[NEAP_ERROR_MSG];

	rule->plugin->has_run = true;
	rule->plugin->verdict = neap_policy_ask_evict(rule->plugin->policy, round, pod,
						      is_last, &why, &err);
	rule->plugin->err = err;
	play_shadow_ask(rule->run, rule->plugin, pod, is_last, why);
	if (rule->plugin->verdict == NEAP_TICK_WISHES)
		return why;
	(void)snprintf(text, sizeof(text), "%s failed: %.200s", rule->plugin->name,
		       err.msg);
	return neap_round_keep_text(round, text);
}

static const char *allow_policy(void *arg, struct neap_round *round,
				const struct neap_world_pod *pod)
{
	return ask_policy(arg, round, pod, false);
}

static const char *before_policy(void *arg, struct neap_round *round,
				 const struct neap_world_pod *pod)
{
	return ask_policy(arg, round, pod, true);
}

static bool is_at(const struct neap_deschedule_profile *of, int point, size_t index)
{
	for (size_t i = 0; i < of->at_count[point]; i++)
		if (of->at[point][i] == index)
			return true;
	return false;
}

static const char *refuse_broken(void *arg, struct neap_round *round,
				 const struct neap_world_pod *pod)
{
	const struct play_rule *rule = arg;

	(void)round;
	(void)pod;
	return rule->plugin->broken;
}

/* What moves load leaves the successors alone of what was moved lately. */
static void set_rules(struct play_run *run, struct neap_play_profile *profile, int point,
		      struct rules *rules)
{
	const struct neap_deschedule_profile *of = profile->of;
	const struct neap_evictor *evictor = NULL;

	rules->count = 0;
	if (run->play->moved && point == NEAP_AT_BALANCE)
		rules->list[rules->count++] = (struct neap_round_rule){
			.before = neap_moved_rule, .arg = run->play->moved};
	for (size_t i = 0; i < of->plugin_count; i++) {
		struct neap_play_plugin *plugin = &profile->plugins[i];
		bool is_filter = is_at(of, NEAP_AT_FILTER, i);
		bool is_before = is_at(of, NEAP_AT_BEFORE, i);
		struct neap_round_rule rule = {0};

		if (!is_filter && !is_before)
			continue;
		if (strcmp(plugin->name, NEAP_PLUGIN_EVICTOR) == 0) {
			evictor = &profile->evictor;
			continue;
		}
		if (rules->count == NEAP_ROUND_RULES_MAX)
			break;
		if (strcmp(plugin->name, NEAP_PLUGIN_MIGRATION) == 0) {
			rule.allow = play_allow_migration;
			rule.again = play_allow_migration_again;
		} else if (plugin->policy && !plugin->broken[0]) {
			rule.allow = is_filter ? allow_policy : NULL;
			rule.before = is_before ? before_policy : NULL;
		} else {
			rule.allow = refuse_broken;
		}
		rules->args[rules->count] = (struct play_rule){run, profile, plugin};
		rule.arg = &rules->args[rules->count];
		rules->list[rules->count++] = rule;
	}
	neap_round_set_rules(run->round, evictor, rules->list, rules->count);
}

/* --- nodes --- */

/* Ready nodes that both selectors take. */
static int set_nodes(struct play_run *run, const struct neap_selector *selector)
{
	struct neap_round *round = run->round;
	size_t count = 0;
	int rc = neap_round_set_nodes(round, run->play->set->config->nodes, true,
				      &run->play->err);

	for (size_t i = 0; rc == 0 && selector && i < round->node_count; i++)
		if (neap_object_is_selected(round->nodes[i]->object, selector))
			round->nodes[count++] = round->nodes[i];
	if (rc == 0 && selector)
		round->node_count = count;
	return rc;
}

/* --- strategies --- */

static void note_evict(struct play_run *run, const struct neap_play_profile *profile,
		       const struct neap_play_plugin *plugin,
		       const struct neap_round_said *said, json_t *row)
{
	struct neap_play *play = run->play;
	const struct neap_object *object = said->pod->pod->object;
	struct neap_play_evict *evict;

	if (!neap_grow(&play->evicts, play->evict_count, &play->evict_size,
		       sizeof(*play->evicts)))
		return; /* it stays, and the next round finds it again */
	evict = &play->evicts[play->evict_count++];
	*evict = (struct neap_play_evict){
		.profile = profile->of, .strategy = plugin->name, .row = row};
	evict->migrates = play_migrates(profile);
	evict->said = (size_t)(said - run->round->said);
	(void)snprintf(evict->ns, sizeof(evict->ns), "%s", object->ns);
	(void)snprintf(evict->name, sizeof(evict->name), "%s", object->name);
	(void)snprintf(evict->uid, sizeof(evict->uid), "%s", object->uid);
	(void)snprintf(evict->node, sizeof(evict->node), "%s",
		       said->pod->node ? said->pod->node->name : "");
	(void)snprintf(evict->to, sizeof(evict->to), "%s", said->answer.node);
	(void)snprintf(evict->why, sizeof(evict->why), "%s", said->why);
}

static void note_said(struct play_run *run, struct neap_play_profile *profile,
		      struct neap_play_plugin *plugin, size_t from)
{
	const struct neap_round *round = run->round;

	for (size_t i = from; i < round->said_count; i++) {
		const struct neap_round_said *said = &round->said[i];
		bool is_dry = run->play->is_dry || plugin->dry_run;
		json_t *row = play_record_said(run, profile, plugin, said, is_dry);

		if (run->row_count == i &&
		    neap_grow(&run->rows, i, &run->row_size, sizeof(json_t *)))
			run->rows[run->row_count++] = row;
		plugin->asked++;
		if (said->answer.outcome != NEAP_ROUND_EVICTED) {
			run->play->stayed++;
			continue;
		}
		plugin->evicted++;
		run->play->evicted++;
		if (!is_dry)
			note_evict(run, profile, plugin, said, row);
	}
}

/* Whether the wish changes nothing: it is so, and nobody asked for a change yet. */
static bool is_idle(const struct play_run *run, const struct neap_round_wish *wish,
		    const char *key)
{
	if (neap_map_find(run->changed, key))
		return false;
	return wish->type == NEAP_WISH_DELETION_COST
		       ? wish->pod->deletion_cost == wish->cost
		       : wish->node->is_cordoned == (wish->type == NEAP_WISH_CORDON);
}

static bool note_wish(struct play_run *run, const struct neap_play_profile *profile,
		      const struct neap_round_wish *wish, bool is_dry)
{
	static char is_there;
	const struct neap_object *object = wish->type == NEAP_WISH_DELETION_COST
						   ? wish->pod->pod->object
						   : wish->node->object;
	struct neap_play *play = run->play;
	struct neap_play_change *change;
	char key[NEAP_POD_KEY];
	json_t *row;

	/* A node that only pods name cannot be changed. */
	if (!object || is_idle(run, wish, neap_pod_key(object->ns, object->name, key)))
		return true;
	if (!neap_map_set(run->changed, key, &is_there))
		return false;
	row = play_record_wish(run, profile, wish, is_dry);
	if (is_dry)
		return true;
	if (!neap_grow(&play->changes, play->change_count, &play->change_size,
		       sizeof(*play->changes)))
		return false;
	change = &play->changes[play->change_count++];
	*change = (struct neap_play_change){
		.type = wish->type, .cost = wish->cost, .row = row};
	(void)snprintf(change->ns, sizeof(change->ns), "%s", object->ns);
	(void)snprintf(change->name, sizeof(change->name), "%s", object->name);
	(void)snprintf(change->uid, sizeof(change->uid), "%s", object->uid);
	return true;
}

/* Without memory the next round asks for them again. */
static void note_wishes(struct play_run *run, const struct neap_play_profile *profile,
			const struct neap_play_plugin *plugin)
{
	const struct neap_round *round = run->round;
	bool is_dry = run->play->is_dry || plugin->dry_run, is_noted = true;

	for (size_t i = run->wishes_seen; is_noted && i < round->wish_count; i++)
		is_noted = note_wish(run, profile, &round->wishes[i], is_dry);
	run->wishes_seen = round->wish_count;
}

static void run_strategy(struct play_run *run, struct neap_play_profile *profile,
			 struct neap_play_plugin *plugin)
{
	size_t from = run->round->said_count;
	size_t landed = run->landing ? neap_landing_count(run->landing) : 0;
	size_t wished = run->round->wish_count;
	int64_t begin;

	if (run->play->only && strcmp(run->play->only, plugin->name) != 0)
		return;
	play_shadow_run(run, plugin);
	begin = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);
	plugin->has_run = true;
	plugin->asked = plugin->evicted = 0;
	memset(&plugin->err, 0, sizeof(plugin->err));
	if (!plugin->policy || plugin->broken[0]) {
		plugin->verdict = NEAP_TICK_ERROR;
		(void)neap_error_set(&plugin->err, NEAP_EINVAL, "%s", plugin->broken);
	} else if (play_samples_set(run, plugin) < 0) {
		plugin->verdict = NEAP_TICK_ERROR;
	} else {
		run->round->args.is_dry = run->play->is_dry || plugin->dry_run;
		plugin->verdict = neap_policy_run_round(plugin->policy, run->round,
							plugin->name, &plugin->err);
		play_samples_clear(run, plugin);
	}
	plugin->cpu_usec = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - begin;
	note_said(run, profile, plugin, from);
	note_wishes(run, profile, plugin);
	play_shadow_compare(run, plugin, from, wished);
	if (run->play->recording)
		neap_recording_add_run(run->play->recording, run->round, profile, plugin,
				       run->point, from, wished);
	if (!plugin->dry_run || run->play->is_dry)
		return;
	/* Those that act have the limits, budgets and room for themselves. */
	neap_round_take_back(run->round, from);
	play_drop_jobs(run, from);
	if (run->landing)
		neap_landing_take_back(run->landing, landed);
}

static int run_point(struct play_run *run, int point)
{
	struct neap_play_set *set = run->play->set;
	neap_auto_free struct rules *rules = neap_alloc(sizeof(*rules));

	if (!rules)
		return neap_error_nomem(&run->play->err);
	/* Right for pods that are broken, and for nothing where load is moved. */
	if (run->landing)
		neap_landing_may_return(run->landing, point == NEAP_AT_DESCHEDULE);
	for (size_t i = 0; i < set->config->profile_count; i++) {
		struct neap_play_profile *profile = &set->profiles[i];
		const struct neap_deschedule_profile *of = profile->of;

		if (!of->at_count[point])
			continue;
		if (set_nodes(run, of->nodes) < 0)
			return -(int)run->play->err.code;
		run->profile = profile;
		run->point = (enum neap_plugin_point)point;
		set_rules(run, profile, point, rules);
		if (run->landing)
			neap_landing_set_keeps_place(run->landing,
						     play_migrates(profile) &&
							     !profile->migrate.is_direct);
		for (size_t n = 0; n < of->at_count[point] && !run->is_void; n++)
			run_strategy(run, profile, &profile->plugins[of->at[point][n]]);
		if (run->is_void)
			return neap_error_nomem(&run->play->err);
		play_record_kept(run, profile);
		if (run->play->recording)
			neap_recording_add_rules(run->play->recording, run->round,
						 profile, run->point);
	}
	return 0;
}

static void forget_last(struct neap_play_set *set)
{
	for (size_t i = 0; i < set->config->profile_count; i++)
		for (size_t n = 0; n < set->profiles[i].of->plugin_count; n++) {
			struct neap_play_plugin *plugin = &set->profiles[i].plugins[n];

			plugin->has_run = false;
			plugin->asked = plugin->evicted = 0;
			plugin->cpu_usec = 0;
			play_shadow_begin(plugin);
		}
}

static int run_all(struct play_run *run)
{
	struct neap_play *play = run->play;
	int rc;

	if (set_nodes(run, NULL) < 0)
		return -(int)play->err.code;
	run->nodes = run->round->node_count;
	if (run->nodes < NODES_MIN)
		return neap_error_set(&play->err, NEAP_ENOFIT,
				      "%zu of the nodes are ready and selected, and a "
				      "round needs %d",
				      run->nodes, NODES_MIN);
	rc = run_point(run, NEAP_AT_DESCHEDULE);
	return rc < 0 ? rc : run_point(run, NEAP_AT_BALANCE);
}

/* --- a round --- */

/* The way out, which is the loop's: only notes who leaves, and whose successor comes. */
static int note_leaver(void *arg, const struct neap_world_pod *pod, const char *strategy,
		       const char *why, const char *node, struct neap_error *err)
{
	struct play_run *run = arg;
	struct neap_moved *moved = run->play->moved;
	int rc = play_add_job(run, pod, err);

	(void)strategy;
	(void)why;
	if (rc < 0 || !moved || !*node || run->round->args.is_dry)
		return rc;
	rc = neap_moved_note(moved, pod, run->play->now_usec, err);
	if (rc < 0)
		play_drop_job(run, pod);
	return rc;
}

static int begin_landing(struct play_run *run, struct neap_round_args *args)
{
	struct neap_play *play = run->play;
	int rc;

	if (!play->decide)
		return 0;
	rc = neap_landing_new(play->cluster, play->decide, &run->landing, &play->err);
	if (rc == 0)
		rc = neap_landing_begin(run->landing, play->world, play->now_usec,
					&play->err);
	args->place = neap_landing_place;
	args->place_arg = run->landing;
	return rc;
}

/* Places the successors again once the round knows all pods that leave, and corrects the
 * nodes in the record. */
static int tell_landing(struct play_run *run)
{
	struct neap_play *play = run->play;
	const struct neap_round *round = run->round;
	int rc = run->landing ? neap_landing_tell(run->landing, run->round, &play->err)
			      : 0;

	for (size_t i = 0; rc == 0 && i < run->row_count; i++)
		if (run->rows[i] && round->said[i].answer.outcome == NEAP_ROUND_EVICTED)
			neap_json_set_text(run->rows[i], "to",
					   round->said[i].answer.node);
	for (size_t i = 0; rc == 0 && i < play->evict_count; i++)
		(void)neap_strcopy(play->evicts[i].to, sizeof(play->evicts[i].to),
				   round->said[play->evicts[i].said].answer.node);
	return rc;
}

static int play_round(struct play_run *run, const struct neap_round_args *args)
{
	int rc = neap_round_new(args, &run->round, &run->play->err);

	if (rc == 0 && run->landing)
		neap_landing_set_round(run->landing, run->round);
	if (rc == 0)
		rc = play_record_begin(run);
	if (rc == 0)
		rc = run_all(run);
	return rc < 0 ? rc : tell_landing(run);
}

static void end_run(struct play_run *run)
{
	neap_landing_free(run->landing);
	if (run->play->cluster)
		(void)neap_cluster_take_moved(run->play->cluster);
	neap_round_free(run->round);
	neap_map_free(run->changed);
	free(run->rows);
}

void neap_play_run(struct neap_play *play)
{
	struct play_run run = {.play = play, .changed = neap_map_new()};
	struct neap_round_args args = {
		.world = play->world,
		.now_usec = play->now_usec,
		.interval_usec = play->interval_usec,
		.is_dry = play->is_dry,
		.limits = play->limits,
		.honors_budgets = true,
		.evict = note_leaver,
		.evict_arg = &run,
	};
	int64_t begin = neap_clock_usec(CLOCK_MONOTONIC);
	int rc = run.changed ? neap_world_settle(play->world, &play->err)
			     : neap_error_nomem(&play->err);

	forget_last(play->set);
	if (play->moved)
		(void)neap_moved_count(play->moved, play->now_usec);
	if (rc == 0 && play->is_recorded)
		play->recording = neap_recording_new(play);
	if (rc == 0)
		rc = begin_landing(&run, &args);
	if (rc == 0)
		rc = play_round(&run, &args);
	play->usec = neap_clock_usec(CLOCK_MONOTONIC) - begin;
	if (run.round) {
		play_record_end(&run);
		play_drop_jobs(&run, 0);
	}
	end_run(&run);
	if (rc == 0)
		play->err.code = NEAP_OK;
}

void neap_play_done(struct neap_play *play)
{
	json_decref(play->record);
	play->record = NULL;
	neap_recording_free(play->recording);
	play->recording = NULL;
	free(play->evicts);
	play->evicts = NULL;
	play->evict_count = play->evict_size = 0;
	free(play->changes);
	play->changes = NULL;
	play->change_count = play->change_size = 0;
}
