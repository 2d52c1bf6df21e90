/* SPDX-License-Identifier: Apache-2.0
 *
 * A running descheduler records its rounds, and has shadows play in them. */
#include "t/lib/descheduler_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/replay/replay.h"
#include "lua/run/registry.h"
#include "t/lib/patience.h"

static char rounds_dir[96];

static int setup(void **state)
{
	struct descheduler_rig *rig;
	int rc = descheduler_setup(state);

	rig = *state;
	(void)snprintf(rounds_dir, sizeof(rounds_dir), "%s/rounds", rig->dir);
	rig->config.rounds_dir = rounds_dir;
	return rc;
}

static struct neap_policy *policy_of(const char *text)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	if (neap_policy_load(text, strlen(text), "test", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

static json_t *replay(struct neap_policy *newer)
{
	struct neap_inputs inputs = {.rounds = neap_round_tape_new(rounds_dir)};
	struct neap_error err = {0};
	json_t *ret = NULL;

	if (neap_policy_replay(NULL, newer, &inputs, INT64_C(60) * SECOND, &ret, &err) <
	    0)
		fail_msg("%s", err.msg);
	neap_inputs_done(&inputs);
	neap_policy_free(newer);
	return ret;
}

/* Replaces a part of a text, of which there is one. */
static char *other(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);

	assert_non_null(at);
	return neap_asprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* --- recordings --- */

static void test_records(void **state)
{
	struct descheduler_rig *rig = *state;
	char *changed = other(descheduler_move_all, "'it is on '", "'away from '");
	json_t *status, *result;

	descheduler_pod(rig, "a", "n1");
	descheduler_pod(rig, "b", "n1");
	descheduler_begin(rig);
	descheduler_use(rig, POLICY("keep-b", "balance: {enabled: [MoveAll]}"));
	status = descheduler_rounds(rig, 1);
	json_decref(status);
	descheduler_wait(rig, "recording.rounds=1");
	/* The version that ran is in the recording. */
	result = replay(policy_of(descheduler_move_all));
	WANTS(result, "of=rounds", "frames=1", "ran=1", "same=1", "#differences=0",
	      "older~deschedule/move-all@", "!cut");
	json_decref(result);
	result = replay(policy_of(changed));
	WANTS(result, "ran=1", "same=0", "#differences=1", "#differences.0.older=1",
	      "differences.0.older.0=evict default/a: it is on n1",
	      "differences.0.newer.0=evict default/a: away from n1");
	json_decref(result);
	/* Its rule: another pod stays. b stays by itself in the older one. */
	free(changed);
	changed = neap_strdup("return { api = 1, kind = 'evict', name = 'keep-b',\n"
			      "  allow = function(ctx, pod)\n"
			      "    if pod.name == 'a' then return false, 'a stays' end\n"
			      "    return true\n"
			      "  end }\n");
	result = replay(policy_of(changed));
	WANTS(result, "ran=1", "same=0", "differences.0.older.0=keep default/b: b stays",
	      "differences.0.newer.0=keep default/a: a stays", "!is_new");
	json_decref(result);
	free(changed);
	/* A policy that no round has: it is only tried. */
	changed = other(descheduler_move_all, "'MoveAll'", "'Unknown'");
	result = replay(policy_of(changed));
	WANTS(result, "ran=1", "is_new=true", "#differences=0", "!older", "faults=0");
	json_decref(result);
	free(changed);
}

static void test_faults(void **state)
{
	struct descheduler_rig *rig = *state;
	char *raises =
		other(descheduler_move_all, "for _, pod", "error('no') for _, pod");
	char *endless =
		other(descheduler_move_all, "for _, pod", "while true do end for _, pod");
	json_t *status, *result;

	descheduler_pod(rig, "b", "n1");
	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	for (int i = 1; i <= 3; i++) {
		char recorded[32];

		status = i == 1 ? descheduler_rounds(rig, 1) : descheduler_run(rig, i);
		json_decref(status);
		/* A slow disk records no more than two at once. */
		(void)snprintf(recorded, sizeof(recorded), "recording.rounds=%d", i);
		descheduler_wait(rig, recorded);
	}
	result = replay(policy_of(raises));
	WANTS(result, "ran=3", "faults=3", "is_failed=true", "first_fault~no",
	      "differences.0.newer~error: ");
	json_decref(result);
	result = replay(policy_of(endless));
	WANTS(result, "ran=1", "faults=1", "is_failed=true", "is_complete=false");
	json_decref(result);
	/* Arguments that the round had and this version does not take are no fault. */
	free(raises);
	raises = other(descheduler_move_all,
		       "from = { type = 'string', default = 'n1', doc = 'node' }",
		       "from = { type = 'string', doc = 'node', required = true }");
	result = replay(policy_of(raises));
	WANTS(result, "ran=3", "faults=0", "is_failed=false",
	      "differences.0.newer.0~it does not run: from");
	json_decref(result);
	free(raises);
	free(endless);
}

static void test_trouble(void **state)
{
	struct descheduler_rig *rig = *state;
	FILE *file = fopen(rounds_dir, "w");
	json_t *status;

	assert_non_null(file);
	(void)fclose(file);
	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	status = descheduler_rounds(rig, 1);
	WANTS(status, "round.evicted.0.pod=a", "recording.rounds=0");
	json_decref(status);
	descheduler_wait(rig, "recording.error~rounds");
	assert_int_equal(unlink(rounds_dir), 0);
	status = descheduler_run(rig, 2);
	json_decref(status);
	descheduler_wait(rig, "recording.rounds=1");
	status = neap_descheduler_status(rig->descheduler, true);
	WANTS(status, "!recording.error");
	json_decref(status);
}

/* A simulation is no round. */
static void test_simulation(void **state)
{
	struct descheduler_rig *rig = *state;
	struct neap_simulation simulation = {0};
	json_t *status;

	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	status = descheduler_rounds(rig, 1);
	json_decref(status);
	descheduler_wait(rig, "recording.rounds=1");
	descheduler_simulate(rig, &simulation);
	status = neap_descheduler_status(rig->descheduler, true);
	WANTS(status, "recording.rounds=1");
	json_decref(status);
}

/* --- shadows --- */

static json_t *shadow_of(struct descheduler_rig *rig, const char *kind, const char *name)
{
	return neap_shadow_json(neap_registry_find(rig->registry, kind, name)->shadow);
}

static void put_shadow(struct descheduler_rig *rig, const char *kind, const char *name,
		       const char *text)
{
	struct neap_registry_slot *slot = neap_registry_find(rig->registry, kind, name);

	neap_shadow_free(slot->shadow);
	slot->shadow = neap_shadow_new_take(policy_of(text), descheduler_now);
	assert_non_null(slot->shadow);
}

static void test_shadow(void **state)
{
	struct descheduler_rig *rig = *state;
	char *moves = other(descheduler_move_all, "pod.node.name == ctx.params.from",
			    "pod.name == 'd'");
	json_t *status, *json;

	descheduler_pod(rig, "a", "n1");
	descheduler_pod(rig, "d", "n1");
	descheduler_upload(rig, descheduler_move_all);
	put_shadow(rig, "deschedule", "move-all", moves);
	descheduler_begin(rig);
	/* One pod a round: the shadow has one of its own, and uses nothing up. */
	descheduler_use(rig, MOVE "maxNoOfPodsToEvictTotal: 1\n");
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=1", "round.evicted.0.pod=a",
	      "round.evicted.0.to=n2", "#round.stayed=1",
	      "round.stayed.0.outcome=total-limit");
	json_decref(status);
	assert_string_equal(descheduler_pods(rig), "d");
	json = shadow_of(rig, "deschedule", "move-all");
	WANTS(json, "calls=1", "same=0", "different=1", "faults=0",
	      "#last_difference.active=2",
	      "last_difference.active.0=evict default/a: it is on n1",
	      "#last_difference.shadow=1",
	      "last_difference.shadow.0=evict default/d: it is on n1");
	json_decref(json);
	/* The same version again differs nowhere. */
	put_shadow(rig, "deschedule", "move-all", descheduler_move_all);
	status = descheduler_run(rig, 2);
	json_decref(status);
	json = shadow_of(rig, "deschedule", "move-all");
	WANTS(json, "calls=1", "same=1", "different=0", "!last_difference");
	json_decref(json);
	free(moves);
}

static void test_shadow_fails(void **state)
{
	struct descheduler_rig *rig = *state;
	char *raises = other(descheduler_move_all, "for _, pod",
			     "round:uncordon(round:nodes()[1]) error('no') for _, pod");
	json_t *status, *json;

	descheduler_pod(rig, "b", "n1");
	descheduler_upload(rig, descheduler_move_all);
	put_shadow(rig, "deschedule", "move-all", raises);
	descheduler_begin(rig);
	descheduler_use(rig, MOVE "neap: {dryRunPlugins: [MoveAll]}\n");
	for (int i = 1; i <= 4; i++) {
		status = i == 1 ? descheduler_rounds(rig, 1) : descheduler_run(rig, i);
		WANTS(status, "#round.evicted=1", "#round.changes=0",
		      "round.strategies.0.result=ok");
		json_decref(status);
	}
	json = shadow_of(rig, "deschedule", "move-all");
	WANTS(json, "calls=3", "faults=3", "is_failed=true", "last_error~no");
	json_decref(json);
	/* Put again it begins anew. */
	put_shadow(rig, "deschedule", "move-all", raises);
	status = descheduler_run(rig, 5);
	json_decref(status);
	json = shadow_of(rig, "deschedule", "move-all");
	WANTS(json, "calls=1", "faults=1");
	json_decref(json);
	free(raises);
}

static void test_shadow_of_rule(void **state)
{
	static const char keep_b[] =
		"return { api = 1, kind = 'evict', name = 'keep-b',\n"
		"  allow = function(ctx, pod)\n"
		"    if pod.name == 'b' then return false, 'b stays' "
		"end\n"
		"    return true\n"
		"  end }\n";
	struct descheduler_rig *rig = *state;
	char *keep_a = other(keep_b, "pod.name == 'b' then return false, 'b",
			     "pod.name == 'a' then return false, 'a");
	json_t *status, *json;

	descheduler_pod(rig, "a", "n1");
	descheduler_pod(rig, "b", "n1");
	descheduler_upload(rig, keep_b);
	put_shadow(rig, "evict", "keep-b", keep_a);
	descheduler_begin(rig);
	descheduler_use(rig, POLICY("keep-b", "balance: {enabled: [MoveAll]}"));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=1", "round.evicted.0.pod=a");
	json_decref(status);
	json = shadow_of(rig, "evict", "keep-b");
	WANTS(json, "different=2", "faults=0");
	json_decref(json);
	free(keep_a);
}

/* What a rule said to the shadow is not the answer that the strategy gets. */
static void test_shadow_asks(void **state)
{
	static const char alone[] =
		"return { api = 1, kind = 'evict', name = 'alone',\n"
		"  allow = function(ctx, pod)\n"
		"    for _, other in ipairs(pod.node:pods()) do\n"
		"      if other.leaves then return false, 'another leaves' end\n"
		"    end\n"
		"    return true\n"
		"  end }\n";
	struct descheduler_rig *rig = *state;
	char *moves = other(descheduler_move_all, "pod.node.name == ctx.params.from",
			    "pod.name == 'b'");
	json_t *status, *json;

	descheduler_pod(rig, "a", "n1");
	descheduler_pod(rig, "b", "n1");
	descheduler_upload(rig, descheduler_move_all);
	descheduler_upload(rig, alone);
	put_shadow(rig, "deschedule", "move-all", moves);
	put_shadow(rig, "evict", "alone", alone);
	descheduler_begin(rig);
	descheduler_use(rig, POLICY("alone", "balance: {enabled: [MoveAll]}"));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.evicted=1", "round.evicted.0.pod=a", "#round.stayed=1",
	      "round.stayed.0.outcome=kept", "round.stayed.0.reason~another leaves");
	json_decref(status);
	json = shadow_of(rig, "deschedule", "move-all");
	WANTS(json, "calls=1", "different=1", "faults=0",
	      "last_difference.shadow.0=evict default/b: it is on n1");
	json_decref(json);
	/* The rule's own shadow is asked for the strategy alone. */
	json = shadow_of(rig, "evict", "alone");
	WANTS(json, "calls=2", "same=2", "faults=0");
	json_decref(json);
	free(moves);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_records, setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_faults, setup, descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_trouble, setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_simulation, setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_shadow, setup, descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_shadow_fails, setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_shadow_of_rule, setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_shadow_asks, setup,
						descheduler_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
