/* SPDX-License-Identifier: Apache-2.0
 *
 * One policy, without a registry: load, parameters, examples, tick, judge, replay,
 * shadow. What fails here is mostly an allocation of its Lua state. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policy/judge.h"
#include "engine/json/json.h"
#include "lua/replay/replay.h"
#include "lua/run/shadow.h"
#include "lua/value/convert.h"
#include "t/torture/torture.h"

#define FRAMES 6

static const char text[] =
	"return { api = 1, kind = \"qos\", name = \"p\",\n"
	"params = { threshold = { type = \"percent\", default = 65, doc = \"d\" },\n"
	"  l = { type = \"list\", of = \"integer\", default = { 1 }, doc = \"d\" },\n"
	"  s = { type = \"selector\", default = { matchLabels = { a = \"b\" } }, doc = \"d\" } },\n"
	"where = { nodeSelector = { pool = \"batch\" } },\n"
	"needs = { \"capacity_milli\", \"topology\", \"workloads\", \"besteffort.cpus\" },\n"
	"tick = function(ctx, node)\n"
	"  ctx.memo.n = (ctx.memo.n or 0) + 1\n"
	"  ctx.memo.t = { [1] = \"x\" .. ctx.memo.n }\n"
	"  local free = #node.besteffort.cpus\n"
	"  local out = {}\n"
	"  for _, w in ipairs(node.workloads) do\n"
	"    if ctx.params.s:matches({ a = \"b\" }) then\n"
	"      out[#out + 1] = { target = \"workload:\" .. w.id, key = \"cpu.shares\",\n"
	"        value = 100 + ctx.params.threshold, why = (\"%d of %s\"):format(ctx.memo.n, tostring(free)) }\n"
	"    end\n"
	"  end\n"
	"  ctx.log(\"called\")\n"
	"  return out\n"
	"end,\n"
	"examples = { { name = \"e\", node = { capacity_milli = 1, topology = { cores = 2 },\n"
	"  workloads = { { id = \"a\" } }, besteffort = { cpus = \"0\" } },\n"
	"  want = { { target = \"workload:a\", key = \"cpu.shares\", value = 165 } } } } }\n";

static struct neap_policy *load(const char *what)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	if (neap_policy_load(what, strlen(what), "p.lua", &policy, &err) < 0)
		torture_fail("load: %s", err.msg);
	return policy;
}

static void sample_fill(struct neap_sample *sample, int n)
{
	static const struct neap_processor processors[] = {
		{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 2, 0, 0}, {3, 3, 0, 0}};
	static struct neap_workload workloads[2];
	int i;

	neap_struct_clear(neap_sample_fields, sample);
	sample->now_unix = 1700000000 + n;
	sample->capacity_milli = 4000;
	sample->used_milli = n;
	sample->besteffort.exists = true;
	(void)neap_cpuset_add(&sample->besteffort.cpus, 1);
	for (i = 0; i < 2; i++) {
		neap_struct_clear(neap_workload_fields, &workloads[i]);
		(void)snprintf(workloads[i].id, sizeof(workloads[i].id), "w%d", i);
		workloads[i].source = "run";
	}
	sample->workloads = workloads;
	sample->workload_count = 2;
	if (neap_topology_new_from_processors(processors, 4, &sample->topology, NULL) < 0)
		torture_fail("no topology");
}

static struct neap_sample *sample_new(int n)
{
	struct neap_sample *sample = calloc(1, sizeof(*sample));

	sample_fill(sample, n);
	return sample;
}

static void sample_free(struct neap_sample *sample)
{
	neap_topology_unref(sample->topology);
	free(sample);
}

static struct neap_sample *samples[FRAMES];

static struct neap_tape *tape_new(void)
{
	struct neap_record *record = neap_record_new(0, 0);
	struct neap_tape *tape;
	int i;

	if (record == NULL)
		return NULL;
	for (i = 0; i < FRAMES; i++) {
		neap_record_add(record, samples[i]);
	}
	tape = neap_record_share(record);
	neap_record_free(record);
	return tape;
}

/* --- load --- */

static int tell_json(json_t *json, struct neap_error *err)
{
	char *dump =
		json != NULL ? neap_json_dump(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	json_decref(json);
	if (dump == NULL)
		return neap_error_nomem(err);
	torture_tell("%s\n", dump);
	free(dump);
	return 0;
}

static int load_act(void *state, struct neap_error *err)
{
	struct neap_policy *policy = NULL;
	struct neap_policy_info info;
	int rc = neap_policy_load(text, strlen(text), "p.lua", &policy, err);

	(void)state;
	if (rc < 0)
		return rc;
	neap_policy_get_info(policy, &info);
	torture_tell("%s", info.label);
	neap_policy_free(policy);
	return 0;
}

static void *policy_setup(void)
{
	return load(text);
}

/* Examples that make a cluster, with NUMA nodes. */
static void *place_setup(void)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	if (neap_policy_load_file("policies/score/numa-tight.lua", &policy, &err) < 0)
		torture_fail("load: %s", err.msg);
	return policy;
}

static void policy_teardown(void *state)
{
	neap_policy_free(state);
}

static const char offers[] =
	"return { api = 1, kind = \"reservation\", name = \"o\", index = { \"team\" },\n"
	"needs = { \"pod.labels\", \"pod.images\", \"pod.ownerReferences\", \"pod.annotations.x?\",\n"
	"  \"resv.owners\", \"resv.annotations.y?\", \"resv.labels\", \"resv.free.cpu\" },\n"
	"match = function(ctx, pod, resv)\n"
	"  local owner = resv.owners[1]\n"
	"  return owner.labelSelector:matches(pod.labels) and resv.annotations.y == \"b\"\n"
	"    and pod.ownerReferences[1].kind == \"Job\" and pod.images[1] == \"i:latest\",\n"
	"    \"no\", ctx.now_unix + 5\n"
	"end,\n"
	"rank = function(_, _, resv) return resv.free.cpu // 100 end,\n"
	"examples = { { name = \"e\",\n"
	"  pod = { labels = { team = \"a\" }, images = { \"i\" }, annotations = { x = \"a\" },\n"
	"    ownerReferences = { { apiVersion = \"batch/v1\", kind = \"Job\", name = \"j\", uid = \"u\" } } },\n"
	"  reservation = { labels = { team = \"a\" }, annotations = { y = \"b\" }, order = 2,\n"
	"    allocatable = { cpu = 4000 }, allocated = { cpu = 1000 }, expires_unix = 1800000000,\n"
	"    owners = { { labelSelector = { matchLabels = { team = \"a\" } } } } },\n"
	"  want = { open = true, again_unix = 1700000005, rank = 30 } } } }\n";

static void *offers_setup(void)
{
	return load(offers);
}

static int examples_act(void *state, struct neap_error *err)
{
	int rc = neap_policy_run_examples(state, NULL, NULL, err);

	torture_tell("%d failed", rc);
	return rc > 0 ? -(int)err->code : rc;
}

/* It must do what it did before. */
static void policy_check(void *state, int rc)
{
	struct neap_error err = {0};

	(void)rc;
	if (neap_policy_run_examples(state, NULL, NULL, &err) != 0)
		torture_fail("its examples fail now: %s", err.msg);
}

/* --- parameters --- */

static int params_act(void *state, struct neap_error *err)
{
	json_t *values =
		json_pack("{s:i, s:[i,i], s:n}", "threshold", 80, "l", 4, 5, "s");
	int rc;

	if (values == NULL)
		return neap_error_nomem(err);
	rc = neap_policy_set_params(state, values, err);
	json_decref(values);
	if (rc < 0)
		return rc;
	torture_tell("set\n");
	rc = tell_json(neap_policy_params(state), err);
	return rc < 0 ? rc : tell_json(neap_policy_schema(state), err);
}

static void params_check(void *state, int rc)
{
	json_t *now = neap_policy_params(state);
	int64_t threshold = json_integer_value(json_object_get(now, "threshold"));
	size_t l = json_array_size(json_object_get(now, "l"));

	if (rc == 0 && (threshold != 80 || l != 2))
		torture_fail("what was set is not there");
	if ((threshold == 80) != (l == 2))
		torture_fail("half of it is set");
	json_decref(now);
}

/* --- tick --- */

struct tick_state {
	struct neap_policy *policy;
	struct neap_sample *sample;
};

static void *tick_setup(void)
{
	struct tick_state *state = calloc(1, sizeof(*state));

	state->policy = load(text);
	state->sample = sample_new(1);
	return state;
}

static int tick_tell(enum neap_tick_verdict verdict, struct neap_policy_wish *wishes,
		     size_t count, const struct neap_error *err)
{
	size_t i;

	if (verdict == NEAP_TICK_STARVED)
		return -(int)err->code;
	torture_tell("verdict %d\n", (int)verdict);
	for (i = 0; i < count; i++)
		torture_tell("%s %d %s\n", wishes[i].target, (int)wishes[i].value.number,
			     wishes[i].why);
	free(wishes);
	return 0;
}

static int tick_act(void *arg, struct neap_error *err)
{
	struct tick_state *state = arg;
	struct neap_policy_wish *wishes = NULL;
	size_t count = 0;
	enum neap_tick_verdict verdict =
		neap_policy_tick(state->policy, state->sample, &wishes, &count, err);

	return tick_tell(verdict, wishes, count, err);
}

/* The next call is not harmed. */
static void tick_check(void *arg, int rc)
{
	struct tick_state *state = arg;
	struct neap_policy_wish *wishes = NULL;
	struct neap_error err = {0};
	size_t count = 0;
	enum neap_tick_verdict verdict =
		neap_policy_tick(state->policy, state->sample, &wishes, &count, &err);

	if (verdict != NEAP_TICK_WISHES || count != 2)
		torture_fail("the next tick gives verdict %d: %s", (int)verdict, err.msg);
	if (rc == 0 && strncmp(wishes[0].why, "2 of", 4) != 0)
		torture_fail("the memo is lost: %s", wishes[0].why);
	if (rc < 0 && strncmp(wishes[0].why, "1 of", 4) != 0 &&
	    strncmp(wishes[0].why, "2 of", 4) != 0)
		torture_fail("the memo is wrong: %s", wishes[0].why);
	free(wishes);
}

static void tick_teardown(void *arg)
{
	struct tick_state *state = arg;

	neap_policy_free(state->policy);
	sample_free(state->sample);
	free(state);
}

/* --- judge --- */

static void *samples_setup(void)
{
	int i;

	for (i = 0; i < FRAMES; i++)
		samples[i] = sample_new(i);
	return NULL;
}

static void samples_teardown(void *state)
{
	int i;

	(void)state;
	for (i = 0; i < FRAMES; i++)
		sample_free(samples[i]);
}

static void *judge_setup(void)
{
	(void)samples_setup();
	return tape_new();
}

static int judge_act(void *state, struct neap_error *err)
{
	json_t *params = json_pack("{s:i}", "threshold", 65);
	const struct neap_judge_side side = {
		.text = text, .len = strlen(text), .origin = "p.lua", .params = params};
	const struct neap_inputs inputs = {state};
	const struct neap_judge_input input = {.newer = side,
					       .older = side,
					       .kind = "qos",
					       .name = "p",
					       .inputs = &inputs};
	struct neap_judgement verdict;
	int rc;

	if (params == NULL)
		return neap_error_nomem(err);
	rc = neap_judge(&input, &verdict, err);
	if ((rc == 0) != (verdict.policy != NULL))
		torture_fail("the judge says %d, %s a policy", rc,
			     verdict.policy != NULL ? "with" : "without");
	if ((rc < 0) != (verdict.problem_count > 0))
		torture_fail("the judge says %d with %d problems", rc,
			     verdict.problem_count);
	json_decref(params);
	/* How long it took is another each time. */
	if (verdict.replay != NULL)
		(void)json_object_del(verdict.replay, "cpu_usec");
	if (rc == 0)
		rc = tell_json(json_incref(verdict.replay), err);
	neap_judgement_done(&verdict);
	return rc;
}

static void tape_teardown(void *state)
{
	samples_teardown(NULL);
	(void)neap_tape_unref(state);
}

/* --- record, replay, shadow --- */

static int record_act(void *state, struct neap_error *err)
{
	struct neap_tape *tape = tape_new();
	struct neap_sample sample;
	size_t i;
	int rc = 0;

	(void)state;
	if (tape == NULL)
		return neap_error_nomem(err);
	for (i = 0; i < neap_tape_count(tape) && rc == 0; i++) {
		rc = neap_tape_get(tape, i, &sample, err);
		if (rc == 0)
			neap_tape_forget(&sample);
	}
	(void)neap_tape_unref(tape);
	return rc;
}

struct replay_state {
	struct neap_policy *older, *newer;
	struct neap_tape *tape;
};

static void *replay_setup(void)
{
	struct replay_state *state = calloc(1, sizeof(*state));

	state->older = load(text);
	state->newer = load(text);
	(void)samples_setup();
	state->tape = tape_new();
	return state;
}

static int replay_act(void *arg, struct neap_error *err)
{
	struct replay_state *state = arg;
	json_t *replay = NULL;
	const struct neap_inputs inputs = {state->tape};
	int rc = neap_policy_replay(state->older, state->newer, &inputs, 10000000,
				    &replay, err);

	if ((rc == 0) != (replay != NULL))
		torture_fail("%d with%s a replay", rc, replay != NULL ? "" : "out");
	return rc < 0 ? rc : tell_json(replay, err);
}

static void replay_teardown(void *arg)
{
	struct replay_state *state = arg;

	neap_policy_free(state->older);
	neap_policy_free(state->newer);
	(void)neap_tape_unref(state->tape);
	samples_teardown(NULL);
	free(state);
}

static int shadow_act(void *arg, struct neap_error *err)
{
	struct tick_state *state = arg;
	struct neap_shadow *shadow = neap_shadow_new_take(state->policy, 0);
	int64_t left = 1000000;
	json_t *row;
	int i;

	state->policy = NULL;
	if (shadow == NULL)
		return neap_error_nomem(err);
	for (i = 0; i < 3; i++)
		neap_shadow_ask(shadow, state->sample, NEAP_TICK_HOLD, NULL, 0, &left);
	row = neap_shadow_json(shadow);
	neap_shadow_free(shadow);
	if (row == NULL)
		return neap_error_nomem(err);
	torture_tell("%zu members, %d calls", json_object_size(row),
		     (int)json_integer_value(json_object_get(row, "calls")));
	json_decref(row);
	return 0;
}

const struct torture torture_policy[] = {
	{"policy: load", NULL, load_act},
	{"policy: examples", policy_setup, examples_act, policy_check, policy_teardown},
	{"policy: examples of reservations", offers_setup, examples_act, policy_check,
	 policy_teardown},
	{"policy: examples of places", place_setup, examples_act, policy_check,
	 policy_teardown},
	{"policy: parameters", policy_setup, params_act, params_check, policy_teardown},
	{"policy: tick", tick_setup, tick_act, tick_check, tick_teardown},
	{"policy: judge", judge_setup, judge_act, .teardown = tape_teardown},
	{"policy: record", samples_setup, record_act, .teardown = samples_teardown,
	 .is_lossy = true},
	{"policy: replay", replay_setup, replay_act, .teardown = replay_teardown,
	 .is_lossy = true},
	{"policy: shadow", tick_setup, shadow_act, .teardown = tick_teardown,
	 .is_lossy = true},
	{0},
};
