/* SPDX-License-Identifier: Apache-2.0
 *
 * Descheduling rounds, for kinds deschedule and evict: a frame is one round, an answer
 * the lines of what the policy said. Both versions get the arguments that the round had,
 * and begin with what the strategies before them evicted. Without an older version it is
 * the one that ran in one of the newest rounds; its text is part of the recording.
 * A policy that ran in no round is asked with its own parameters and the rules of the
 * first profile. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/deschedule/round_tape_priv.h"
#include "lua/replay/replay_priv.h"
#include "lua/vm/budget.h"

/* The newest rounds that are searched for the version that ran: each is read for it. */
#define OLDER_ROUNDS 3
/* As many as a configuration can have. */
#define PROFILES_MAX 16

/* One version: in service each profile has a state of its own. */
struct side {
	const struct neap_replay *replay; /* of it */
	struct neap_policy *of;           /* NULL: there is none */
	const char *plugin;
	bool is_rule; /* kind evict */
	struct {
		char profile[64];
		struct neap_policy *policy;
	} made[PROFILES_MAX];
	size_t count;
	/* Of the frame at hand. */
	enum neap_tick_verdict verdict;
	struct neap_error err;
	struct neap_lines lines;
	bool is_dead;
	bool is_late; /* a call was left out: there was no time for it */
};

struct neap_replay_own {
	struct side older, newer;
	size_t cut, unreadable; /* rounds of which a part is there; that cannot be read */
	bool has_runs;          /* a round had the policy */
	struct neap_policy *ran; /* the older version, where nobody gave one */
};

/* --- a version --- */

static void side_open(struct side *side, const struct neap_replay *replay,
		      struct neap_policy *policy)
{
	struct neap_policy_info info;

	*side = (struct side){.replay = replay, .of = policy};
	if (!policy)
		return;
	neap_policy_get_info(policy, &info);
	side->is_rule = strcmp(info.kind, "evict") == 0;
	side->plugin = side->is_rule ? info.name : neap_policy_plugin(policy);
}

static void drop_lines(struct side *side)
{
	for (size_t i = 0; i < side->lines.count; i++)
		free(side->lines.of[i]);
	free(side->lines.of);
	side->lines = (struct neap_lines){0};
}

static void side_close(struct side *side)
{
	for (size_t i = 0; i < side->count; i++)
		neap_policy_free(side->made[i].policy);
	drop_lines(side);
}

/* The state of the version in that profile. */
static int instance(struct side *side, const char *profile, struct neap_policy **ret,
		    struct neap_error *err)
{
	size_t at = 0;
	int rc;

	while (at < side->count && strcmp(side->made[at].profile, profile) != 0)
		at++;
	if (at == PROFILES_MAX)
		at = 0;
	if (at == side->count) {
		rc = neap_policy_load_again(side->of, &side->made[at].policy, err);
		if (rc < 0)
			return rc;
		(void)neap_strcopy(side->made[at].profile, sizeof(side->made[at].profile),
				   profile);
		side->count++;
	}
	*ret = side->made[at].policy;
	return 0;
}

/* As for a round in service, where dryRun is the round's. */
static int set_args(struct neap_policy *policy, const json_t *args,
		    struct neap_error *err)
{
	neap_auto_json json_t *copy = neap_json_deep_copy(args);
	int rc = 0;

	if (args && !copy)
		return neap_error_nomem(err);
	if (json_is_true(json_object_get(copy, "dryRun")))
		(void)json_object_set_new(copy, "dryRun", json_false());
	if (copy)
		rc = neap_policy_reset_params(policy, err);
	if (rc == 0 && copy)
		rc = neap_policy_set_params(policy, copy, err);
	return rc < 0 ? rc : neap_policy_check_params(policy, err);
}

/* --- one call --- */

static void note(struct side *side, enum neap_tick_verdict verdict,
		 const struct neap_error *err)
{
	if (verdict == NEAP_TICK_WISHES || side->verdict != NEAP_TICK_WISHES)
		return;
	side->verdict = verdict;
	side->err = *err;
}

/* A round can have hundreds of thousands of calls. */
static bool is_late(struct side *side)
{
	side->is_late = side->is_late || neap_replay_is_late(side->replay);
	return side->is_late;
}

static void ask_rule(struct side *side, struct neap_policy *policy,
		     struct round_again *run)
{
	const struct neap_world *world = run->frame->world;

	for (size_t i = 0; i < world->bound_count && side->verdict == NEAP_TICK_WISHES;
	     i++) {
		const char *why = NULL;
		struct neap_error err = {0};

		if (is_late(side))
			return;
		for (int last = 0; last <= 1 && !why; last++)
			note(side,
			     neap_policy_ask_evict(policy, run->round, world->pods[i],
						   last, &why, &err),
			     &err);
		if (why)
			neap_lines_add_kept(&side->lines, world->pods[i], why);
	}
}

static void run_strategy(struct side *side, struct neap_policy *policy,
			 struct round_again *run)
{
	struct neap_error err = {0};

	note(side, neap_policy_run_round(policy, run->round, side->plugin, &err), &err);
	neap_lines_add_round(&side->lines, run->round, run->said, run->wishes);
}

/* The arguments that this round had for it may be wrong for a new version, which does not
 * run then: no fault of the script. */
static int get_ready(struct side *side, struct neap_policy *policy, const json_t *args,
		     bool *ret, struct neap_error *err)
{
	struct neap_error why = {0};
	int rc = set_args(policy, args, &why);

	*ret = rc == 0;
	if (rc == 0)
		return 0;
	if (rc == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	(void)neap_error_wrap(&why, "it does not run%s%s", why.field[0] ? ": " : "",
			      why.field);
	note(side, NEAP_TICK_SKIPPED, &why);
	neap_lines_add(&side->lines, "%s", why.msg);
	return 0;
}

static void set_samples(struct neap_world *world, const json_t *samples, bool is_there)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)samples, name, value) {
		struct neap_world_node *node = neap_world_find_node(world, name);

		if (node)
			node->sample = is_there ? json_number_value(value) : -1;
	}
}

static int call(struct side *side, struct round_frame *frame, const json_t *json,
		const json_t *profile, const char *at, struct neap_error *err)
{
	const json_t *args = json_object_get(json, "args");
	const json_t *samples = json_object_get(json, "samples");
	struct round_again run = {0};
	struct neap_policy *policy = NULL;
	bool is_ready = false;
	int rc = instance(side, neap_json_text(profile, "name"), &policy, err);

	if (rc == 0)
		rc = get_ready(side, policy, args, &is_ready, err);
	if (rc < 0 || !is_ready)
		return rc;
	rc = round_again_open(&run, frame, side->is_rule ? NULL : json, profile, at, err);
	set_samples(frame->world, samples, true);
	if (rc == 0 && side->is_rule)
		ask_rule(side, policy, &run);
	else if (rc == 0)
		run_strategy(side, policy, &run);
	set_samples(frame->world, samples, false);
	round_again_close(&run);
	side->is_dead = neap_vm_is_dead(neap_policy_vm(policy));
	return rc;
}

/* --- one round --- */

/* Strategies are rows of runs, rules rows of their profiles. */
static int call_runs(struct side *side, struct round_frame *frame, size_t *count,
		     struct neap_error *err)
{
	const json_t *runs = json_object_get(frame->json, "runs"), *run;
	int rc = 0;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)runs, i, run) {
		if (rc < 0 || side->is_dead ||
		    !neap_json_is_text(run, "strategy", side->plugin))
			continue;
		++*count;
		if (is_late(side))
			break;
		rc = call(side, frame, run,
			  round_frame_profile(frame, neap_json_text(run, "profile")),
			  neap_json_text(run, "point"), err);
	}
	return rc;
}

static int call_rules(struct side *side, struct round_frame *frame, size_t *count,
		      struct neap_error *err)
{
	const json_t *profiles = json_object_get(frame->json, "profiles"), *profile;
	int rc = 0;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)profiles, i, profile) {
		const json_t *rule = neap_json_find(json_object_get(profile, "rules"),
						    "strategy", side->plugin);

		if (rc < 0 || side->is_dead || !rule)
			continue;
		++*count;
		if (is_late(side))
			break;
		rc = call(side, frame, rule, profile, "deschedule", err);
	}
	return rc;
}

static int call_all(struct side *side, struct round_frame *frame, bool *has_run,
		    struct neap_error *err)
{
	const json_t *profiles = json_object_get(frame->json, "profiles");
	const char *at = "deschedule";
	size_t count = 0;
	int rc;

	side->verdict = NEAP_TICK_WISHES;
	drop_lines(side); /* of a round that could not be played to its end */
	rc = side->is_rule ? call_rules(side, frame, &count, err)
			   : call_runs(side, frame, &count, err);
	*has_run = *has_run || count;
	if (rc < 0 || count || is_late(side))
		return rc;
	if (!side->is_rule && neap_policy_point(side->of) == NEAP_POINT_BALANCE)
		at = "balance";
	return call(side, frame, NULL, json_array_get(profiles, 0), at, err);
}

static json_t *answer(struct side *side)
{
	enum neap_tick_verdict verdict = side->verdict;

	/* The line says more than the word. */
	if (verdict == NEAP_TICK_SKIPPED)
		verdict = NEAP_TICK_WISHES;
	return neap_lines_take(&side->lines, verdict, &side->err);
}

/* Says nothing about either version. */
static bool is_starved(const struct side *side)
{
	return side->verdict == NEAP_TICK_STARVED && side->err.code == NEAP_ENOMEM;
}

/* Both answers of one round. */
static int compare(struct neap_replay *replay, const struct round_frame *frame,
		   size_t number, struct neap_error *err)
{
	struct neap_replay_own *own = replay->own;
	neap_auto_json json_t *older = own->older.of ? answer(&own->older) : NULL;
	neap_auto_json json_t *newer = answer(&own->newer);
	const struct neap_answer was = {.verdict = own->older.verdict};
	const struct neap_answer is = {.verdict = own->newer.verdict,
				       .err = own->newer.err};
	bool is_same = older && newer && json_equal(older, newer);
	int rc = 0;

	if (!newer || (own->older.of && !older))
		return neap_error_nomem(err);
	if (older && !is_same && neap_replay_has_room(replay))
		rc = neap_replay_list_take(replay, number, frame->now_usec / 1000000,
					   json_object(), neap_lines_only(older, newer),
					   neap_lines_only(newer, older), err);
	if (rc < 0)
		return rc;
	neap_replay_note(replay, &was, &is, is_same);
	/* A state that was killed says nothing about the rounds that follow. */
	if (own->newer.is_dead)
		replay->is_failed = replay->is_over = true;
	if (own->older.is_dead) {
		replay->older = NULL;
		own->older.of = NULL;
	}
	return 0;
}

static int play(struct neap_replay *replay, const json_t *json, size_t number,
		struct neap_error *err)
{
	struct neap_replay_own *own = replay->own;
	struct round_frame frame;
	int rc = round_frame_open(&frame, json, err);

	if (rc == 0 && own->older.of)
		rc = call_all(&own->older, &frame, &own->has_runs, err);
	if (rc == 0 && !own->older.is_late)
		rc = call_all(&own->newer, &frame, &own->has_runs, err);
	if (rc == 0 && (is_starved(&own->older) || is_starved(&own->newer)))
		rc = neap_error_nomem(err);
	/* Half an answer cannot be compared. It is the last round then. */
	if (rc == 0 && !own->older.is_late && !own->newer.is_late) {
		own->cut += json_object_get(json, "cut") != NULL;
		rc = compare(replay, &frame, number, err);
	}
	round_frame_close(&frame);
	return rc;
}

static int run(struct neap_replay *replay, size_t number, struct neap_error *err)
{
	neap_auto_json json_t *json = NULL;
	struct neap_error why = {0};
	int rc = neap_round_tape_get(replay->inputs->rounds, number, &json, &why);

	if (rc == 0)
		rc = play(replay, json, number, &why);
	if (rc == -NEAP_ENOMEM)
		*err = why;
	if (rc == -NEAP_ENOMEM || rc == 0)
		return rc;
	/* One that is torn or has gone says nothing. */
	replay->own->unreadable++;
	return 0;
}

static size_t count(const struct neap_inputs *inputs)
{
	return inputs->rounds ? neap_round_tape_count(inputs->rounds) : 0;
}

/* --- the version that ran --- */

static const json_t *find_text(const struct side *newer, const json_t *json)
{
	const json_t *runs = json_object_get(json, "runs"), *profile;
	const json_t *found = NULL;
	size_t i;

	if (!newer->is_rule)
		return neap_json_find(runs, "strategy", newer->plugin);
	json_array_foreach (json_object_get(json, "profiles"), i, profile)
		if (!found)
			found = neap_json_find(json_object_get(profile, "rules"),
					       "strategy", newer->plugin);
	return found;
}

/* NULL: none of the newest rounds has one that can be loaded. A text that must not run is
 * passed over, as if its round had another policy. */
static int load_older(const struct side *newer, const struct neap_inputs *inputs,
		      struct neap_policy **ret, struct neap_error *err)
{
	struct neap_round_tape *rounds = inputs->rounds;
	size_t count = neap_round_tape_count(rounds);
	size_t end = count > OLDER_ROUNDS ? count - OLDER_ROUNDS : 0;

	for (size_t i = count; i-- > end;) {
		neap_auto_json json_t *json = NULL;
		struct neap_error why = {0};
		const json_t *run;
		const char *text;
		int rc = neap_round_tape_get(rounds, i, &json, &why);

		run = rc == 0 ? find_text(newer, json) : NULL;
		text = neap_json_text(run, "text");
		if (neap_inputs_ban(inputs, text, strlen(text)))
			continue;
		if (*text)
			rc = neap_policy_load(text, strlen(text),
					      neap_json_text(run, "policy"), ret, &why);
		if (rc == -NEAP_ENOMEM) {
			*err = why;
			return rc;
		}
		if (*text)
			break;
	}
	return 0;
}

/* --- all of it --- */

static int begin(struct neap_replay *replay, struct neap_error *err)
{
	struct neap_replay_own *own = replay->own = neap_alloc(sizeof(*own));
	int rc = 0;

	if (!own)
		return neap_error_nomem(err);
	side_open(&own->newer, replay, replay->newer);
	if (!replay->older && replay->frames)
		rc = load_older(&own->newer, replay->inputs, &own->ran, err);
	if (own->ran)
		replay->older = own->ran;
	side_open(&own->older, replay, replay->older);
	return rc;
}

/* They are none of the rounds that there was no time for. */
static void tell_unreadable(const struct neap_replay_own *own,
			    const struct neap_replay *replay, json_t *ret)
{
	size_t frames = replay->frames - own->unreadable;

	neap_json_set_int(ret, "unreadable", (int64_t)own->unreadable);
	neap_json_set_int(ret, "frames", (int64_t)frames);
	if (ret)
		(void)json_object_set_new(ret, "is_complete",
					  json_boolean(replay->ran == frames));
}

static void end(struct neap_replay *replay, json_t *ret)
{
	struct neap_replay_own *own = replay->own;
	struct neap_policy_info info;

	if (!own)
		return;
	if (own->cut)
		neap_json_set_int(ret, "cut", (int64_t)own->cut);
	if (own->unreadable)
		tell_unreadable(own, replay, ret);
	if (ret && replay->ran && !own->has_runs)
		(void)json_object_set_new(ret, "is_new", json_true());
	if (own->ran) {
		neap_policy_get_info(own->ran, &info);
		neap_json_set_text(ret, "older", info.label);
	}
	side_close(&own->older);
	side_close(&own->newer);
	neap_policy_free(own->ran);
	free(own);
	replay->own = NULL;
}

const struct neap_replay_family neap_replay_rounds = {
	.what = "recorded rounds",
	.of = "rounds",
	.count = count,
	.begin = begin,
	.run = run,
	.end = end,
};
