/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of an upload. Each version runs in several Lua states: one runs the
 * examples, one the replay, and one that never ran a tick is returned. So the live
 * version is equal to a fresh load, whatever a script keeps in upvalues.
 *
 * For text and chunk only the first problem is known; everything after is checked
 * completely and listed together. */
#include "api/policy/judge.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/replay/replay.h"
#include "lua/reserve/reserve.h"
#include "lua/vm/budget.h"

#define PATCH_FIRST "PATCH it first, null takes the setting back"

struct judge {
	const struct neap_judge_input *input;
	const char *origin;
	struct neap_judgement *verdict;
	struct neap_policy *policy; /* never ran a tick */
	int64_t until;              /* on the thread's CPU clock */
};

/* --- problems --- */

static void problem(struct judge *judge, enum neap_code code, int line,
		    const char *example, const char *fmt, ...) NEAP_PRINTF(5, 6);

static void problem(struct judge *judge, enum neap_code code, int line,
		    const char *example, const char *fmt, ...)
{
	struct neap_judgement *verdict = judge->verdict;
	struct neap_problem found = {.line = line};
	char in_example[100] = "", in_line[16] = "";
	va_list args;

	(void)neap_strcopy(found.example, sizeof(found.example), example); /* cut */
	va_start(args, fmt);
	(void)vsnprintf(found.what, sizeof(found.what), fmt, args);
	va_end(args);
	neap_utf8_trim(found.what);
	if (verdict->problem_count < NEAP_PROBLEMS_MAX)
		verdict->problems[verdict->problem_count] = found;
	if (verdict->problem_count++ > 0)
		return;
	if (line)
		(void)snprintf(in_line, sizeof(in_line), ":%d", line);
	if (found.example[0])
		(void)snprintf(in_example, sizeof(in_example),
			       "example '%.79s': ", found.example);
	(void)neap_error_set(&verdict->err, code, "%s%s: %s%s", judge->origin, in_line,
			     in_example, found.what);
}

/* Cuts "12: " off the front and returns the number; 0: not there. */
static int cut_line(const char **text)
{
	const char *at = *text;
	long line = 0;

	while (isdigit((unsigned char)*at) && at - *text < 9)
		line = line * 10 + (*at++ - '0');
	if (at == *text || *at != ':')
		return 0;
	at++;
	*text = at + strspn(at, " ");
	return (int)line;
}

int neap_problem_cut(const char *message, const char *origin, const char **ret_rest)
{
	size_t len = strlen(origin);
	const char *at = message;
	int line = 0;

	*ret_rest = message;
	if (strncmp(message, origin, len) == 0 && message[len] == ':') {
		at = message + len + 1;
		line = cut_line(&at);
		if (!line)
			at += strspn(at, " ");
		*ret_rest = at;
	}
	/* Lua shows only the end of a long name: "...policies/qos/cpu-share.lua:12:
	 * what". */
	if (line || strncmp(at, "...", 3) != 0)
		return line;
	for (at = strchr(at, ':'); at && !line; at = at ? strchr(at, ':') : NULL) {
		at++;
		line = cut_line(&at);
		if (line)
			*ret_rest = at;
	}
	return line;
}

/* An example in which the script raised has two line numbers, its own and the script's:
 * "example 'x': step 2: p.lua:7: what". The message names the example, so the script's
 * line is more useful. Cuts that out of text; 0: none. */
static int cut_inner_line(char *text, const char *origin)
{
	size_t len = strlen(origin);

	for (char *at = strstr(text, origin); at && len; at = strstr(at + 1, origin)) {
		const char *rest = at + len + 1;
		int line = at[len] == ':' ? cut_line(&rest) : 0;

		if (!line || (at > text && at[-1] != ' '))
			continue;
		memmove(at, rest, strlen(rest) + 1);
		return line;
	}
	return 0;
}

/* Adds the problem of a script's error, and a hint where Lua's message has none. */
static void problem_of(struct judge *judge, const struct neap_error *err,
		       const char *example, const char *hint)
{
	char prefix[100], what[NEAP_ERROR_MSG];
	const char *rest;
	int line = neap_problem_cut(err->msg, judge->origin, &rest), inner;

	(void)snprintf(prefix, sizeof(prefix), "example '%.60s': ", example);
	if (example[0] && strncmp(rest, prefix, strlen(prefix)) == 0)
		rest += strlen(prefix);
	(void)neap_strcopy(what, sizeof(what), rest); /* it is not longer than that */
	inner = example[0] ? cut_inner_line(what, judge->origin) : 0;
	problem(judge, err->code, inner ? inner : line, example, "%s%s", what, hint);
}

/* --- compile, chunk, table --- */

static bool load(struct judge *judge)
{
	const struct neap_judge_side *side = &judge->input->newer;
	struct neap_error err = {0};
	const char *hint = "";

	if (neap_policy_load(side->text, side->len, side->origin, &judge->policy, &err) ==
	    0)
		return true;
	if (err.code == NEAP_EBUDGET)
		hint = "; what takes long belongs into the function that is called";
	else if (err.code == NEAP_ELIMIT)
		hint = "; a policy with all that it keeps must fit into it";
	problem_of(judge, &err, "", hint);
	return false;
}

static void check_named(struct judge *judge, const char *key, const char *is,
			const char *wanted)
{
	if (!wanted || strcmp(is, wanted) == 0)
		return;
	problem(judge, NEAP_EINVAL, neap_policy_find_line(judge->policy, key, NULL), "",
		"%s = \"%s\", and it is uploaded as \"%s\"; both must be the same", key,
		is, wanted);
}

static void check_rights(struct judge *judge)
{
	const char *why = neap_policy_admins_why(judge->policy);
	const char *field = neap_policy_kind(judge->policy)->admins_field;

	if (why && judge->input->is_by_editor)
		problem(judge, NEAP_EFORBIDDEN,
			neap_policy_find_line(judge->policy, field ? field : "kind",
					      NULL),
			"", "%s: only an admin may load it", why);
}

/* A policy that decides instead of a Reservation's owners can take what others reserved,
 * so there may be one at most. */
static void check_replaces(struct judge *judge, const char *name)
{
	const char *other = judge->input->replacer;

	if (neap_policy_replaces_owners(judge->policy) && other && *other &&
	    strcmp(other, name) != 0)
		problem(judge, NEAP_ECONFLICT,
			neap_policy_find_line(judge->policy, "combine", NULL), "",
			"combine = \"replace\", and so has reservation/%.48s, which is "
			"in service: one can have it, take that one out first",
			other);
}

static void check_head(struct judge *judge)
{
	struct neap_policy_info info;

	neap_policy_get_info(judge->policy, &info);
	check_named(judge, "kind", info.kind, judge->input->kind);
	check_named(judge, "name", info.name, judge->input->name);
	check_rights(judge);
	check_replaces(judge, info.name);
}

/* --- parameters in force --- */

/* Sets one parameter from JSON. */
static int set_json(struct neap_policy *policy, const char *name, json_t *value,
		    struct neap_error *err)
{
	neap_auto_json json_t *one = json_object();

	return one && json_object_set(one, name, value) == 0
		       ? neap_policy_set_params(policy, one, err)
		       : neap_error_nomem(err);
}

static void refuse_param(struct judge *judge, const char *by, const char *name,
			 const char *value, const struct neap_error *err,
			 const char *remedy)
{
	int line = neap_policy_find_line(judge->policy, name, NULL);
	const char *takes = strstr(err->msg, "; it takes ");

	if (err->code == NEAP_ENOMEM) { /* this is not about the value */
		problem(judge, NEAP_ENOMEM, 0, "", "%s", err->msg);
		return;
	}
	if (!line)
		line = neap_policy_find_line(judge->policy, "params", NULL);
	if (err->code == NEAP_ENOTFOUND)
		problem(judge, NEAP_ECONFLICT, line, "",
			"%s%s is set to %.80s; this version has no such parameter: %s",
			by, name, value, remedy);
	else if (takes)
		problem(judge, NEAP_ECONFLICT, line, "",
			"%s%s is set to %.80s; this version takes %.120s: %s", by, name,
			value, takes + strlen("; it takes "), remedy);
	else
		problem(judge, NEAP_ECONFLICT, line, "",
			"%s%s is set to %.80s; this version refuses it (%.120s): %s", by,
			name, value, err->msg, remedy);
}

/* Sets each parameter by itself, so that all wrong ones are listed. */
static void set_params(struct judge *judge)
{
	const struct neap_judge_side *side = &judge->input->newer;
	struct neap_error err = {0};
	char remedy[96];
	const char *name;
	json_t *value;

	for (int i = 0; i < side->base_count; i++) {
		if (neap_policy_set_param(judge->policy, side->base[i].name,
					  side->base[i].value, &err) == 0)
			continue;
		(void)snprintf(remedy, sizeof(remedy),
			       side->base[i].line > 0
				       ? "line %zu of the configuration file does that, "
					 "change it first"
				       : "the configuration does that, change it first",
			       side->base[i].line);
		refuse_param(judge, "parameter ", side->base[i].name, side->base[i].value,
			     &err, remedy);
	}
	/* It is only read; the macro's type has no const. */
	json_object_foreach ((json_t *)side->params, name, value) {
		neap_auto_free char *text = NULL;

		if (set_json(judge->policy, name, value, &err) == 0)
			continue;
		text = neap_json_dump(value, JSON_COMPACT | JSON_ENCODE_ANY);
		refuse_param(judge, "params.", name, text ? text : "?", &err,
			     PATCH_FIRST);
	}
}

/* --- examples --- */

static int64_t time_left(const struct judge *judge)
{
	return judge->until - neap_budget_clock_usec();
}

/* Replaces a state that was killed, so that the examples after it run too. */
static bool renew(struct judge *judge, struct neap_policy **trial)
{
	const struct neap_judge_side *side = &judge->input->newer;
	struct neap_error err = {0};
	struct neap_policy *fresh = NULL;

	if (*trial && !neap_vm_is_dead(neap_policy_vm(*trial)))
		return true;
	if (neap_policy_load(side->text, side->len, side->origin, &fresh, &err) < 0) {
		problem_of(judge, &err, "", "");
		return false;
	}
	neap_policy_free(*trial);
	*trial = fresh;
	return true;
}

/* Runs with default parameters, which examples are written for. False when the example
 * was stopped because the time of all examples is spent: the state is intact, but the
 * next example would be stopped too. */
static bool run_example(struct judge *judge, struct neap_policy *trial, int index)
{
	struct neap_error err = {0};
	const char *hint = "";
	bool is_dead;
	char name[80];
	int rc;

	rc = neap_policy_run_example(trial, index, time_left(judge), name, sizeof(name),
				     &err);
	judge->verdict->examples++;
	if (rc == 0)
		return true;
	judge->verdict->examples_failed++;
	is_dead = neap_vm_is_dead(neap_policy_vm(trial));
	if (is_dead && err.code == NEAP_EBUDGET)
		hint = " in one call; less work is wanted, or a loop that ends";
	problem_of(judge, &err, name, hint);
	return is_dead || err.code != NEAP_EBUDGET;
}

static void run_examples(struct judge *judge)
{
	struct neap_policy *trial = NULL;
	int count = neap_policy_example_count(judge->policy);

	for (int i = 1; i <= count && renew(judge, &trial); i++) {
		if (time_left(judge) <= 0) {
			problem(judge, NEAP_EBUDGET, 0, "",
				"the CPU time of an upload is used up, %.3g s, after %d of "
				"%d examples: fewer or smaller rows are wanted",
				(double)neap_kind_find("qos")->upload_budget_usec / 1e6,
				i - 1, count);
			break;
		}
		if (!run_example(judge, trial, i))
			break;
	}
	neap_policy_free(trial);
}

/* Without examples and recorded inputs the policy has not run yet: it is called once with
 * a made-up input of its kind. */
static void run_made(struct judge *judge)
{
	const json_t *ran = json_object_get(judge->verdict->replay, "ran");
	struct neap_policy *trial = NULL;

	if (neap_policy_example_count(judge->policy) || json_integer_value(ran) > 0 ||
	    !renew(judge, &trial))
		return;
	(void)run_example(judge, trial, 0);
	judge->verdict->examples = 0;
	judge->verdict->examples_failed = 0;
	judge->verdict->is_made = true;
	neap_policy_free(trial);
}

/* --- recorded inputs --- */

/* Loads the live version into its own state; NULL when there is none, it does not load
 * any more, or it must not run. Fails only without memory. */
static int load_older(const struct neap_judge_input *input, struct neap_policy **ret,
		      struct neap_error *err)
{
	const struct neap_judge_side *side = &input->older;
	struct neap_policy *older = NULL;
	const char *name;
	json_t *value;
	int rc;

	if (!side->text || neap_inputs_ban(input->inputs, side->text, side->len))
		return 0;
	rc = neap_policy_load(side->text, side->len, side->origin, &older, err);
	if (rc < 0)
		return rc == -NEAP_ENOMEM ? rc : 0;
	/* They are in force, so they are valid. */
	for (int i = 0; i < side->base_count && rc != -NEAP_ENOMEM; i++)
		rc = neap_policy_set_param(older, side->base[i].name, side->base[i].value,
					   err);
	json_object_foreach ((json_t *)side->params, name, value)
		if (rc != -NEAP_ENOMEM)
			rc = set_json(older, name, value, err);
	if (rc == -NEAP_ENOMEM) {
		neap_policy_free(older);
		return rc;
	}
	*ret = older;
	return 0;
}

static void judge_replay(struct judge *judge)
{
	const json_t *replay = judge->verdict->replay;
	const char *message = json_string_value(json_object_get(replay, "first_fault"));
	const char *rest = "";
	int line;

	if (!json_is_true(json_object_get(replay, "is_failed")))
		return;
	line = neap_problem_cut(message ? message : "", judge->origin, &rest);
	problem(judge, NEAP_EINVAL, line, "",
		"%s (%lld of %lld %s went wrong, it would be taken out of service at "
		"once)",
		rest, (long long)json_integer_value(json_object_get(replay, "faults")),
		(long long)json_integer_value(json_object_get(replay, "ran")),
		neap_replay_what(neap_policy_kind(judge->policy)));
}

static void replay(struct judge *judge)
{
	struct neap_policy *older = NULL, *newer = NULL;
	struct neap_error err = {0};
	int rc;

	rc = load_older(judge->input, &older, &err);
	if (rc == 0)
		rc = neap_policy_load_again(judge->policy, &newer, &err);
	if (rc == 0)
		rc = neap_policy_replay(older, newer, judge->input->inputs,
					time_left(judge), &judge->verdict->replay, &err);
	if (rc < 0)
		problem_of(judge, &err, "", "");
	else
		judge_replay(judge);
	neap_policy_free(older);
	neap_policy_free(newer);
}

/* --- all of it --- */

static void run(struct judge *judge)
{
	if (!load(judge))
		return;
	check_head(judge);
	set_params(judge);
	if (!judge->input->has_examples_off)
		run_examples(judge);
	if (judge->input->inputs && !judge->verdict->problem_count &&
	    neap_replay_what(neap_policy_kind(judge->policy)))
		replay(judge);
	if (!judge->input->has_examples_off && !judge->verdict->problem_count)
		run_made(judge);
}

int neap_judge(const struct neap_judge_input *input, struct neap_judgement *ret,
	       struct neap_error *err)
{
	int64_t start = neap_budget_clock_usec();
	struct judge judge = {
		.input = input, .origin = input->newer.origin, .verdict = ret};

	memset(ret, 0, sizeof(*ret));
	judge.until =
		start + neap_budget_scale(neap_kind_find("qos")->upload_budget_usec);
	run(&judge);
	ret->cpu_usec = neap_budget_clock_usec() - start;
	if (!ret->problem_count) {
		ret->policy = judge.policy;
		return 0;
	}
	neap_policy_free(judge.policy);
	if (ret->problem_count > NEAP_PROBLEMS_MAX)
		ret->problem_count = NEAP_PROBLEMS_MAX;
	if (err)
		*err = ret->err;
	return -(int)ret->err.code;
}

void neap_judgement_done(struct neap_judgement *verdict)
{
	neap_policy_free(verdict->policy);
	json_decref(verdict->replay);
	verdict->policy = NULL;
	verdict->replay = NULL;
}
