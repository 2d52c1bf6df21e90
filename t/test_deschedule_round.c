/* SPDX-License-Identifier: Apache-2.0
 *
 * A descheduling round as a conversation: which rule answers first, what scripts of the
 * kinds deschedule and evict can ask, that their cursors end with the call, and that none
 * of them holds a round for long. What the shipped strategies do is in
 * t/vectors/descheduler. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/deschedule/deschedule.h"
#include "lua/vm/budget.h"

#define NOW_USEC INT64_C(1767225600000000) /* 2026-01-01T00:00:00Z */

struct rig {
	struct neap_world *world;
	struct neap_round *round;
	struct neap_round_args args;
	struct neap_evictor evictor;
	struct neap_policy *evict_policy;
	int placed, left;
};

static void add(struct rig *rig, const char *resource, const char *fmt, ...)
	NEAP_PRINTF(3, 4);

static void add(struct rig *rig, const char *resource, const char *fmt, ...)
{
	char text[4096];
	json_error_t where;
	struct neap_error err;
	json_t *json;
	va_list list;

	va_start(list, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, list);
	va_end(list);
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	json = json_loads(text, 0, &where);
	if (!json)
		fail_msg("%s: %s", where.text, text);
	if (neap_world_add(rig->world, resource, json, &err) < 0)
		fail_msg("%s", err.msg);
	json_decref(json);
}

static void add_node(struct rig *rig, const char *name)
{
	add(rig, "nodes",
	    "{'metadata': {'name': '%s', 'labels': {'host': '%s', 'zone': 'z'}},"
	    " 'status': {'allocatable': {'cpu': '4', 'memory': '8Gi', 'pods': '20'}}}",
	    name, name);
}

static void add_pod_as(struct rig *rig, const char *ns, const char *name,
		       const char *node, const char *more, const char *status)
{
	add(rig, "pods",
	    "{'metadata': {'name': '%s', 'namespace': '%s', 'uid': '%s', 'labels': "
	    "{'app': 'web'}, 'creationTimestamp': '2025-12-31T00:00:00Z',"
	    " 'ownerReferences': [{'kind': 'ReplicaSet', 'name': 'r', 'uid': 'r-%s'}]},"
	    " 'spec': {'nodeName': '%s', 'containers': [{'name': 'c', 'image': 'i',"
	    " 'resources': {'requests': {'cpu': '100m'}}}]%s},"
	    " 'status': {%s}}",
	    name, ns, name, ns, node, more, status);
}

static void add_pod(struct rig *rig, const char *ns, const char *name, const char *node,
		    const char *more)
{
	add_pod_as(rig, ns, name, node, more,
		   "'phase': 'Running', 'conditions': [{'type': 'Ready',"
		   " 'status': 'True'}]");
}

static int set_up(void **state)
{
	struct rig *rig = neap_alloc(sizeof(*rig));

	assert_non_null(rig);
	assert_int_equal(neap_world_new(NULL, &rig->world, NULL), 0);
	neap_evictor_init(&rig->evictor);
	rig->args = (struct neap_round_args){
		.world = rig->world,
		.now_usec = NOW_USEC,
		.evictor = &rig->evictor,
		.limits = {NEAP_LIMITS_NONE, NEAP_LIMITS_NONE, NEAP_LIMITS_NONE,
			   NEAP_LIMITS_NONE, false}};
	add_node(rig, "n1");
	add_node(rig, "n2");
	add_pod(rig, "a", "a1", "n1", "");
	add_pod(rig, "a", "a2", "n1", "");
	add_pod(rig, "b", "b1", "n1", ", 'priority': 5");
	add_pod(rig, "b", "b2", "n2", "");
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	neap_round_free(rig->round);
	neap_policy_free(rig->evict_policy);
	neap_evictor_done(&rig->evictor);
	neap_world_free(rig->world);
	free(rig);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

static void begin(struct rig *rig)
{
	struct neap_error err;

	neap_round_free(rig->round);
	rig->round = NULL;
	assert_int_equal(neap_world_settle(rig->world, &err), 0);
	assert_int_equal(neap_round_new(&rig->args, &rig->round, &err), 0);
}

static const char *ask(struct rig *rig, const char *ns, const char *name)
{
	const struct neap_world_pod *pod = neap_world_find_pod(rig->world, ns, name);
	struct neap_round_answer answer;
	struct neap_error err;

	assert_non_null(pod);
	assert_int_equal(neap_round_evict(rig->round, pod, "s", "why", &answer, &err), 0);
	return neap_round_outcome_name(answer.outcome);
}

/* --- the conversation --- */

static void test_limits(void **state)
{
	struct rig *rig = *state;

	rig->args.limits.per_namespace = 1;
	begin(rig);
	assert_string_equal(ask(rig, "a", "a1"), "evicted");
	assert_string_equal(ask(rig, "a", "a1"), "already");
	assert_string_equal(ask(rig, "a", "a2"), "namespace-limit");
	assert_string_equal(ask(rig, "b", "b1"), "evicted");
	assert_int_equal(rig->round->evicted_count, 2);
	assert_int_equal(rig->round->said_count, 4);

	/* The node is asked before the total, or the other way round. */
	rig->args.limits.per_namespace = NEAP_LIMITS_NONE;
	rig->args.limits.per_node = rig->args.limits.total = 1;
	begin(rig);
	assert_string_equal(ask(rig, "a", "a1"), "evicted");
	assert_string_equal(ask(rig, "a", "a2"), "node-limit");
	assert_string_equal(ask(rig, "b", "b2"), "total-limit");
	rig->args.limits.is_total_first = true;
	begin(rig);
	assert_string_equal(ask(rig, "a", "a1"), "evicted");
	assert_string_equal(ask(rig, "a", "a2"), "total-limit");

	rig->args.limits = (struct neap_limits){NEAP_LIMITS_NONE, NEAP_LIMITS_NONE, 1,
						NEAP_LIMITS_NONE, false};
	begin(rig);
	assert_string_equal(ask(rig, "a", "a1"), "evicted");
	assert_string_equal(ask(rig, "a", "a2"), "workload-limit");
	assert_string_equal(ask(rig, "b", "b2"), "evicted");
	rig->args.limits.total = 0;
	begin(rig);
	assert_string_equal(ask(rig, "a", "a1"), "total-limit");
}

static void test_budget(void **state)
{
	struct rig *rig = *state;

	add(rig, "poddisruptionbudgets",
	    "{'metadata': {'name': 'p', 'namespace': 'a'}, 'spec': {'selector':"
	    " {'matchLabels': {'app': 'web'}}}, 'status': {'disruptionsAllowed': 1}}");
	rig->args.honors_budgets = true;
	begin(rig);
	assert_string_equal(ask(rig, "a", "a1"), "evicted");
	assert_string_equal(ask(rig, "a", "a2"), "budget");
	assert_string_equal(ask(rig, "b", "b1"), "evicted");
	/* What is taken back may be asked for again. */
	neap_round_take_back(rig->round, 0);
	assert_int_equal(rig->round->evicted_count, 0);
	assert_string_equal(ask(rig, "a", "a2"), "evicted");
	assert_string_equal(ask(rig, "a", "a1"), "budget");
	rig->args.honors_budgets = false;
	begin(rig);
	assert_string_equal(ask(rig, "a", "a1"), "evicted");
	assert_string_equal(ask(rig, "a", "a2"), "evicted");
	neap_world_remove_budget(rig->world, "a", "p");
	rig->args.honors_budgets = true;
	begin(rig);
	assert_string_equal(ask(rig, "a", "a2"), "evicted");
	assert_string_equal(ask(rig, "a", "a1"), "evicted");
}

/* As the eviction API answers for pods that are not ready, or not there yet. */
static void test_budget_of_unready(void **state)
{
#define BUDGET(more, status)                                                             \
	"{'metadata': {'name': 'p', 'namespace': 'a'}, 'spec': {" more "'selector':"     \
	" {'matchLabels': {'app': 'web'}}}, 'status': {" status "}}"
	static const char unready[] = "'phase': 'Running', 'conditions': [{'type':"
				      " 'Ready', 'status': 'False'}]";
	struct rig *rig = *state;

	rig->args.honors_budgets = true;
	add_pod_as(rig, "a", "a2", "n1", "", unready);
	add_pod_as(rig, "a", "a3", "n1", "", "'phase': 'Pending'");
	add_pod_as(rig, "a", "a4", "n1", "", "'phase': 'Failed'");
	add(rig, "poddisruptionbudgets",
	    BUDGET("", "'disruptionsAllowed': 0, 'currentHealthy': 2, 'desiredHealthy': "
		       "2"));
	begin(rig);
	assert_string_equal(ask(rig, "a", "a1"), "budget");
	assert_string_equal(ask(rig, "a", "a2"), "evicted");
	assert_string_equal(ask(rig, "a", "a3"), "evicted");
	assert_string_equal(ask(rig, "a", "a4"), "evicted");
	/* They use nothing up. */
	add(rig, "poddisruptionbudgets",
	    BUDGET("", "'disruptionsAllowed': 1, 'currentHealthy': 2, 'desiredHealthy': "
		       "1"));
	begin(rig);
	assert_string_equal(ask(rig, "a", "a2"), "evicted");
	assert_string_equal(ask(rig, "a", "a3"), "evicted");
	assert_string_equal(ask(rig, "a", "a1"), "evicted");
	add(rig, "poddisruptionbudgets",
	    BUDGET("", "'disruptionsAllowed': 0, 'currentHealthy': 1, 'desiredHealthy': "
		       "2"));
	begin(rig);
	assert_string_equal(ask(rig, "a", "a2"), "budget");
	add(rig, "poddisruptionbudgets", BUDGET("", "'disruptionsAllowed': 0"));
	begin(rig);
	assert_string_equal(ask(rig, "a", "a2"), "budget");
	add(rig, "poddisruptionbudgets",
	    BUDGET("'unhealthyPodEvictionPolicy': 'AlwaysAllow', ",
		   "'disruptionsAllowed': 0, 'currentHealthy': 1, 'desiredHealthy': 2"));
	begin(rig);
	assert_string_equal(ask(rig, "a", "a2"), "evicted");
	assert_string_equal(ask(rig, "a", "a1"), "budget");
#undef BUDGET
}

static int place(void *arg, const struct neap_world_pod *pod,
		 char ret_node[NEAP_ROUND_NODE], struct neap_error *err)
{
	struct rig *rig = arg;

	if (strcmp(pod->pod->object->name, "a1") == 0)
		return neap_error_set(err, NEAP_ENOFIT, "no node has room");
	rig->placed++;
	(void)neap_strcopy(ret_node, NEAP_ROUND_NODE, "n2");
	return 0;
}

static int leave(void *arg, const struct neap_world_pod *pod, const char *strategy,
		 const char *why, const char *node, struct neap_error *err)
{
	struct rig *rig = arg;

	assert_string_equal(why, "why");
	assert_string_equal(strategy, "s");
	assert_string_equal(node, "n2");
	if (strcmp(pod->pod->object->name, "a2") == 0)
		return neap_error_set(err, NEAP_ECONFLICT, "the server refused");
	rig->left++;
	return 0;
}

/* What is refused outside counts for no limit. */
static void test_outside(void **state)
{
	struct rig *rig = *state;

	rig->args.place = place;
	rig->args.evict = leave;
	rig->args.place_arg = rig->args.evict_arg = rig;
	rig->args.limits.total = 1;
	begin(rig);
	assert_string_equal(ask(rig, "a", "a1"), "no-place");
	assert_string_equal(ask(rig, "a", "a2"), "failed");
	assert_string_equal(rig->round->said[0].answer.reason, "no node has room");
	assert_string_equal(rig->round->said[1].answer.reason, "the server refused");
	assert_string_equal(ask(rig, "b", "b1"), "evicted");
	assert_string_equal(rig->round->said[2].answer.node, "n2");
	assert_string_equal(ask(rig, "b", "b2"), "total-limit");
	assert_int_equal(rig->placed, 2);
	assert_int_equal(rig->left, 1);
}

/* Objects come and go between rounds. */
static void test_world(void **state)
{
	struct rig *rig = *state;
	const struct neap_world_node *node;

	begin(rig);
	node = neap_world_find_node(rig->world, "n1");
	assert_int_equal(node->live_count, 3);
	assert_int_equal(neap_amounts_get(&node->requested, NEAP_RESOURCE_CPU), 300);
	assert_int_equal(rig->world->pod_count, 4);
	add_pod(rig, "a", "a1", "n2", "");
	neap_world_remove_pod(rig->world, "b", "b1");
	neap_world_remove_pod(rig->world, "b", "none");
	begin(rig);
	assert_int_equal(node->live_count, 1);
	assert_int_equal(neap_amounts_get(&node->requested, NEAP_RESOURCE_CPU), 100);
	neap_world_remove_node(rig->world, "n1");
	begin(rig);
	assert_int_equal(rig->world->node_count, 1);
	assert_int_equal(rig->world->pod_count, 3);
	assert_int_equal(rig->world->bound_count, 2);
	/* Its pods wait for it. */
	add_node(rig, "n1");
	begin(rig);
	assert_int_equal(rig->world->bound_count, 3);
	assert_int_equal(
		neap_world_find_pod(rig->world, "a", "a1")->owners[0].group->pods, 2);
}

/* What a node reserves is not there for pods. */
static void test_reservation(void **state)
{
	struct rig *rig = *state;
	const struct neap_world_node *node;

	add(rig, "nodes",
	    "{'metadata': {'name': 'n1', 'annotations': {'node.koordinator.sh/reservation':"
	    " '{\\'resources\\':{\\'cpu\\':\\'1\\'}}'}},"
	    " 'status': {'allocatable': {'cpu': '4', 'memory': '8Gi', 'pods': '20'}}}");
	begin(rig);
	node = neap_world_find_node(rig->world, "n1");
	assert_int_equal(neap_amounts_get(&node->allocatable, NEAP_RESOURCE_CPU), 3000);
}

/* --- scripts --- */

static struct neap_policy *load(const char *kind, const char *body)
{
	struct neap_policy *policy = NULL;
	struct neap_error err;
	char text[4096];

	(void)snprintf(text, sizeof(text),
		       "local kept\nreturn { api = 1, kind = '%s', name = 'p', %s %s }",
		       kind, strcmp(kind, "evict") ? "point = 'balance'," : "", body);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

static enum neap_tick_verdict run(struct rig *rig, struct neap_policy *policy,
				  struct neap_error *err)
{
	begin(rig);
	return neap_policy_run_round(policy, rig->round, "strategy", err);
}

#define RUN(text) "run = function(ctx, round) " text " end"

static void test_script_is_answered(void **state)
{
	static const char body[] = RUN(
		"local pods = round:pods({ order = { 'priority', '-name' } })\n"
		"assert(#pods == 4 and pods[1].name == 'b2' and pods[4].name == 'b1')\n"
		"local ok, reason, node = round:evict(pods[1], 'one')\n"
		"assert(ok and reason == nil and node == nil)\n"
		"ok, reason, node = round:evict(pods[1], 'two')\n"
		"assert(not ok and reason == 'already' and node:find('leaves already', 1, true))\n"
		"assert(pods[1].leaves and not pods[2].leaves)\n"
		"ok, reason = round:evict(pods[2], 'three')\n"
		"assert(not ok and reason == 'total-limit')\n"
		"assert(round:nodes()[1] == pods[2].node and pods[2].node.name == 'n1')\n"
		"assert(#round:pods({ evictable = true }) == 3)");
	struct rig *rig = *state;
	struct neap_policy *policy = load("deschedule", body);
	struct neap_error err = {0};

	rig->args.limits.total = 1;
	if (run(rig, policy, &err) != NEAP_TICK_WISHES)
		fail_msg("%s", err.msg);
	assert_int_equal(rig->round->said_count, 3);
	assert_string_equal(rig->round->said[0].strategy, "strategy");
	assert_string_equal(rig->round->said[0].why, "one");
	neap_policy_free(policy);
}

/* A cursor that a script keeps is of no use in the next call, whatever lies there now. */
static void test_cursors_end(void **state)
{
	static const char *const kept[] = {
		"round:pods()[1]; local use = function() return kept.name end",
		"round:nodes()[1]; local use = function() return kept:requested('cpu') end",
		"round:set(round:pods()); local use = function() return "
		"round:is_repelled(round:pods()[1], kept) end",
		"round:set(round:nodes()); local use = function() return "
		"round:pods()[1]:fits_any(kept) end",
		"round:pods(); local use = function() return round:sort(kept, { 'name' }) end",
		"round:pods()[1]; local use = function() return round:evict(kept, 'x') end",
		"round:spreads(round:pods(), { 'DoNotSchedule' })[1]; local use = function() "
		"return round:domains(kept) end",
	};
	struct rig *rig = *state;

	add_pod(rig, "a", "a1", "n1",
		", 'topologySpreadConstraints': [{'maxSkew': 1, 'topologyKey': 'zone',"
		" 'whenUnsatisfiable': 'DoNotSchedule', 'labelSelector': {}}]");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kept); i++) {
		struct neap_error err = {0};
		struct neap_policy *policy;
		char body[1024];

		(void)snprintf(body, sizeof(body),
			       "run = function(ctx, round)\n local first = kept == nil\n"
			       " local old = kept\n kept = %s\n"
			       " if not first then kept = old end\n use() end",
			       kept[i]);
		policy = load("deschedule", body);
		if (run(rig, policy, &err) != NEAP_TICK_WISHES)
			fail_msg("%zu: %s", i, err.msg);
		assert_int_equal(run(rig, policy, &err), NEAP_TICK_ERROR);
		if (!strstr(err.msg, "belongs to a round that is over"))
			fail_msg("%zu: %s", i, err.msg);
		neap_policy_free(policy);
	}
}

/* What scripts do wrong, and the end that it takes. */
static void test_wrong(void **state)
{
	static const struct {
		const char *body, *want;
		enum neap_tick_verdict verdict;
	} rows[] = {
		{"while true do pcall(round.pods, round) end", "CPU budget",
		 NEAP_TICK_BUDGET},
		{"local t = {} for i = 1, 1e9 do t[i] = round:pods() end", "limit",
		 NEAP_TICK_BUDGET},
		{"round:evict({}, 'x')", "pod expected", NEAP_TICK_ERROR},
		{"round:evict(round:nodes()[1], 'x')", "pod expected", NEAP_TICK_ERROR},
		{"round:evict(round:pods()[1])", "string expected", NEAP_TICK_ERROR},
		{"round:evict(round:pods()[1], ('x'):rep(600))", "511 bytes",
		 NEAP_TICK_ERROR},
		{"round:pods({ ordr = {} })", "no field 'ordr'", NEAP_TICK_ERROR},
		{"round:pods({ order = { 'size' } })", "no key 'size'", NEAP_TICK_ERROR},
		{"round:pods({ labels = {} })", "a selector is wanted", NEAP_TICK_ERROR},
		{"return round:pods()[1].nam", "a pod has no field 'nam'",
		 NEAP_TICK_ERROR},
		{"return round:nodes()[1].nam", "a node has no field 'nam'",
		 NEAP_TICK_ERROR},
		{"return round.nam", "a round has no field 'nam'", NEAP_TICK_ERROR},
		{"round:pods()[1].name = 'x'", "attempt to index", NEAP_TICK_ERROR},
		{"ctx.memo.pod = round:pods()[1]", "ctx.memo holds a userdata",
		 NEAP_TICK_WRONG},
		{"round:sort({ 1 }, { 'name' })", "element 1 is no pod", NEAP_TICK_ERROR},
		{"round:domains({ ref = round:pods()[1] })", "spread expected",
		 NEAP_TICK_ERROR},
		{"round.evict(ctx, round:pods()[1], 'x'); round.evict()", "pod expected",
		 NEAP_TICK_ERROR},
		{"round:mark('k', true, {})", "abnormal", NEAP_TICK_ERROR},
	};
	struct rig *rig = *state;

	neap_budget_set_walls(1000);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char body[1024];
		struct neap_error err = {0};
		struct neap_policy *policy;

		(void)snprintf(body, sizeof(body), RUN("%s"), rows[i].body);
		policy = load("deschedule", body);
		assert_int_equal(run(rig, policy, &err), rows[i].verdict);
		if (!strstr(err.msg, rows[i].want))
			fail_msg("%zu: %s", i, err.msg);
		neap_policy_free(policy);
	}
	neap_budget_set_walls(NEAP_BUDGET_WALLS);
}

/* --- kind evict --- */

static const char *allow(void *arg, struct neap_round *round,
			 const struct neap_world_pod *pod)
{
	struct rig *rig = arg;
	struct neap_error err;
	const char *why = NULL;

	if (neap_policy_ask_evict(rig->evict_policy, round, pod, false, &why, &err) !=
	    NEAP_TICK_WISHES)
		fail_msg("%s", err.msg);
	return why;
}

static const char *before(void *arg, struct neap_round *round,
			  const struct neap_world_pod *pod)
{
	struct rig *rig = arg;
	struct neap_error err;
	const char *why = NULL;

	if (neap_policy_ask_evict(rig->evict_policy, round, pod, true, &why, &err) !=
	    NEAP_TICK_WISHES)
		fail_msg("%s", err.msg);
	return why;
}

/* It is asked while a strategy runs on the same thread. */
static void test_evict_policy(void **state)
{
	struct rig *rig = *state;
	struct neap_round_rule rule = {allow, before, NULL, rig};
	struct neap_policy *policy =
		load("deschedule", RUN("for _, pod in ipairs(round:pods()) do "
				       "round:evict(pod, 'all') end"));
	struct neap_error err = {0};

	rig->evict_policy = load(
		"evict", "allow = function(ctx, pod)\n"
			 "  if pod.namespace == 'a' then return false, 'not of a' end\n"
			 "  return true\nend,\n"
			 "before = function(ctx, pod)\n"
			 "  return pod.node.name ~= 'n2', 'not from n2'\nend");
	rig->args.rules = &rule;
	rig->args.rule_count = 1;
	if (run(rig, policy, &err) != NEAP_TICK_WISHES)
		fail_msg("%s", err.msg);
	assert_int_equal(rig->round->said_count, 4);
	assert_int_equal(rig->round->evicted_count, 1);
	assert_string_equal(rig->round->said[0].answer.reason, "not of a");
	assert_int_equal(rig->round->said[0].answer.outcome, NEAP_ROUND_KEPT);
	assert_int_equal(rig->round->said[2].answer.outcome, NEAP_ROUND_EVICTED);
	assert_int_equal(rig->round->said[3].answer.outcome, NEAP_ROUND_NOT_NOW);
	assert_string_equal(rig->round->said[3].answer.reason, "not from n2");
	neap_policy_free(policy);
}

static void test_evict_policy_wrong(void **state)
{
	static const char *const bodies[] = {"return 5", "return false, {}", "error('x')",
					     "while true do end"};
	static const enum neap_tick_verdict verdicts[] = {
		NEAP_TICK_WRONG, NEAP_TICK_WRONG, NEAP_TICK_ERROR, NEAP_TICK_BUDGET};
	struct rig *rig = *state;

	begin(rig);
	neap_budget_set_walls(1000);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bodies); i++) {
		struct neap_error err = {0};
		struct neap_policy *policy;
		const char *why;
		char body[256];

		(void)snprintf(body, sizeof(body), "allow = function(ctx, pod) %s end",
			       bodies[i]);
		policy = load("evict", body);
		assert_int_equal(neap_policy_ask_evict(policy, rig->round,
						       rig->world->pods[0], false, &why,
						       &err),
				 verdicts[i]);
		neap_policy_free(policy);
	}
	neap_budget_set_walls(NEAP_BUDGET_WALLS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(limits),
		TEST(budget),
		TEST(budget_of_unready),
		TEST(outside),
		TEST(world),
		TEST(reservation),
		TEST(script_is_answered),
		TEST(cursors_end),
		TEST(wrong),
		TEST(evict_policy),
		TEST(evict_policy_wrong),
	};

	return cmocka_run_group_tests_name("deschedule_round", tests, NULL, NULL);
}
