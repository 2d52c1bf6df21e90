/* SPDX-License-Identifier: Apache-2.0
 *
 * Shadows in a round. A strategy's shadow plays before it, from the same state, and all
 * that it evicted, and what the rules said to it, is taken back; so what it says is what
 * it would have said in place of the strategy, which hears nothing of it. */
#include <stdlib.h>
#include <time.h>

#include "api/deschedule/play/play_priv.h"
#include "engine/base/clock.h"
#include "lua/deschedule/round_lines.h"
#include "lua/vm/vm.h"

void neap_play_shadow_free(struct neap_play_shadow *shadow)
{
	if (!shadow)
		return;
	neap_policy_free(shadow->policy);
	neap_policy_free(shadow->of);
	json_decref(shadow->said);
	neap_shadow_tally_clear(&shadow->tally);
	free(shadow);
}

void play_shadow_begin(struct neap_play_plugin *plugin)
{
	struct neap_play_shadow *shadow = plugin->shadow;

	if (!shadow)
		return;
	neap_shadow_tally_clear(&shadow->tally);
	json_decref(shadow->said);
	shadow->said = NULL;
	if (shadow->policy)
		shadow->left_usec = neap_policy_kind(shadow->policy)->cycle_budget_usec;
}

static bool is_dead(const struct neap_play_shadow *shadow)
{
	return shadow->policy && neap_vm_is_dead(neap_policy_vm(shadow->policy));
}

/* --- a strategy --- */

static void play_alone(struct play_run *run, struct neap_play_plugin *plugin,
		       struct neap_lines *lines)
{
	struct neap_play_shadow *shadow = plugin->shadow;
	struct neap_round *round = run->round;
	size_t said = round->said_count, wished = round->wish_count;
	size_t landed = run->landing ? neap_landing_count(run->landing) : 0;
	struct neap_round_answers answers;

	/* Without either nobody is called. */
	if (neap_round_save_answers(round, &answers, &shadow->err) < 0) {
		lines->is_failed = true;
		return;
	}
	if (play_samples_set(run, plugin) < 0) {
		neap_round_restore_answers(round, &answers);
		lines->is_failed = true;
		return;
	}
	round->args.is_dry = run->is_shadow = true;
	shadow->verdict =
		neap_policy_run_round(shadow->policy, round, plugin->name, &shadow->err);
	run->is_shadow = false;
	play_samples_clear(run, plugin);
	neap_lines_add_round(lines, round, said, wished);
	neap_round_take_back(round, said);
	play_drop_jobs(run, said);
	if (run->landing)
		neap_landing_take_back(run->landing, landed);
	neap_round_restore_answers(round, &answers);
	round->said_count = said;
	round->wish_count = wished;
}

void play_shadow_run(struct play_run *run, struct neap_play_plugin *plugin)
{
	struct neap_play_shadow *shadow = plugin->shadow;
	struct neap_lines lines = {0};

	if (!shadow || shadow->tally.is_failed)
		return;
	shadow->err = (struct neap_error){0};
	if (shadow->policy) {
		play_alone(run, plugin, &lines);
	} else {
		shadow->verdict = NEAP_TICK_ERROR;
		(void)neap_error_set(&shadow->err, NEAP_EINVAL, "%s", shadow->broken);
	}
	json_decref(shadow->said);
	shadow->said = neap_lines_take(&lines, shadow->verdict, &shadow->err);
}

void play_shadow_compare(struct play_run *run, struct neap_play_plugin *plugin,
			 size_t said, size_t wished)
{
	struct neap_play_shadow *shadow = plugin->shadow;
	struct neap_lines lines = {0};
	json_t *active;

	if (!shadow || !shadow->said)
		return;
	neap_lines_add_round(&lines, run->round, said, wished);
	active = neap_lines_take(&lines, plugin->verdict, &plugin->err);
	neap_shadow_tally_add(&shadow->tally, run->play->now_usec / 1000000, active,
			      shadow->said, shadow->verdict, &shadow->err,
			      is_dead(shadow));
	json_decref(active);
	json_decref(shadow->said);
	shadow->said = NULL;
}

/* --- a rule --- */

static json_t *lines_of(const struct neap_world_pod *pod, enum neap_tick_verdict verdict,
			const struct neap_error *err, const char *why)
{
	struct neap_lines lines = {0};

	if (verdict == NEAP_TICK_WISHES && why)
		neap_lines_add_kept(&lines, pod, why);
	return neap_lines_take(&lines, verdict, err);
}

static void ask(struct play_run *run, struct neap_play_shadow *shadow,
		const struct neap_world_pod *pod, bool is_last, const char **ret_why)
{
	int64_t start = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);

	shadow->err = (struct neap_error){0};
	if (shadow->policy) {
		shadow->verdict = neap_policy_ask_evict(shadow->policy, run->round, pod,
							is_last, ret_why, &shadow->err);
	} else {
		shadow->verdict = NEAP_TICK_ERROR;
		(void)neap_error_set(&shadow->err, NEAP_EINVAL, "%s", shadow->broken);
	}
	shadow->left_usec -= neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start;
}

void play_shadow_ask(struct play_run *run, struct neap_play_plugin *plugin,
		     const struct neap_world_pod *pod, bool is_last, const char *why)
{
	struct neap_play_shadow *shadow = plugin->shadow;
	const char *own_why = NULL;
	json_t *active, *own;

	if (!shadow || shadow->tally.is_failed || run->is_shadow)
		return;
	if (shadow->policy && shadow->left_usec <= 0) {
		shadow->tally.put_off++;
		return;
	}
	ask(run, shadow, pod, is_last, &own_why);
	active = lines_of(pod, plugin->verdict, &plugin->err, why);
	own = lines_of(pod, shadow->verdict, &shadow->err, own_why);
	neap_shadow_tally_add(&shadow->tally, run->play->now_usec / 1000000, active, own,
			      shadow->verdict, &shadow->err, is_dead(shadow));
	json_decref(active);
	json_decref(own);
}
