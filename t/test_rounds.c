/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds are recorded and played again: each shipped strategy over the clusters of its
 * own examples. */
#include "t/lib/patience.h"
#include "t/lib/rounds_rig.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "lua/place/place_priv.h"

#define SECOND ROUNDS_SECOND

/* --- shipped strategies --- */

struct shipped {
	const char *name;
	size_t rounds, evicted;
};

/* A policy of that plugin that asks for nothing. */
static struct neap_policy *idle(const struct neap_policy *policy)
{
	struct neap_policy *ret = NULL;
	struct neap_error err = {0};
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = 'deschedule', name = 'idle', plugin = "
		       "'%s', point = 'balance', run = function() end }",
		       neap_policy_plugin(policy));
	rounds_need(neap_policy_load(text, strlen(text), "idle", &ret, &err), &err,
		    "idle");
	return ret;
}

/* Sets the arguments of all runs to none, as the idle policy has none of them. */
static void drop_args(json_t *list)
{
	size_t i, n;
	json_t *round, *run;

	json_array_foreach (list, i, round) {
		json_array_foreach (json_object_get(round, "runs"), n, run) {
			(void)json_object_set_new(run, "args", json_object());
		}
	}
}

/* What is told of the first round against one that does nothing is what was recorded. */
static void compare_answers(struct neap_policy *policy, json_t *round)
{
	const json_t *run = json_array_get(json_object_get(round, "runs"), 0), *row;
	const json_t *args = json_object_get(run, "args");
	struct neap_policy *none = idle(policy), *set = NULL;
	json_t *list = json_array(), *copy = json_deep_copy(round), *result, *lines;
	struct neap_error err = {0};
	size_t i;

	/* The arguments go as parameters of the policy instead. */
	rounds_need(neap_policy_load_again(policy, &set, &err), &err, "again");
	(void)json_array_append_new(list, copy);
	drop_args(list);
	json_object_del(json_array_get(json_object_get(copy, "runs"), 0), "args");
	rounds_need(neap_policy_set_params(set, args, &err), &err, "args");
	result = rounds_replay(none, set, list);
	lines = json_object_get(json_array_get(json_object_get(result, "differences"), 0),
				"newer");
	json_array_foreach (json_object_get(run, "evicted"), i, row) {
		char *want = neap_asprintf("evict %s: %s", neap_json_text(row, "pod"),
					   neap_json_text(row, "why"));
		bool is_there = false;

		for (size_t n = 0; n < json_array_size(lines); n++)
			is_there |= strcmp(json_string_value(json_array_get(lines, n)),
					   want) == 0;
		if (!is_there && json_array_size(lines) < NEAP_ROUND_LINES_MAX)
			fail_msg("not again: %s", want);
		free(want);
	}
	json_decref(result);
	json_decref(list);
	neap_policy_free(none);
	neap_policy_free(set);
}

static void check_same(const struct neap_place_row *row, json_t *list)
{
	json_t *result = rounds_replay(NULL, row->policy, list);

	if (json_integer_value(json_object_get(result, "ran")) !=
		    (json_int_t)json_array_size(list) ||
	    json_integer_value(json_object_get(result, "same")) !=
		    (json_int_t)json_array_size(list) ||
	    json_object_get(result, "cut") || json_object_get(result, "is_new") ||
	    !json_object_get(result, "older"))
		fail_msg("%s: %s", row->name, json_dumps(result, JSON_INDENT(1)));
	json_decref(result);
}

static int run_row(struct neap_place_row *row, void *arg)
{
	struct shipped *shipped = arg;
	const json_t *params = json_object_get(row->json, "params");
	const json_t *steps = json_object_get(row->json, "steps"), *run;
	const json_t *cluster = json_object_get(row->json, "cluster");
	const json_t *caps = json_object_get(row->json, "limits");
	struct neap_play_set *set = rounds_open_set(
		row->policy, params, json_object_get(row->json, "evictor"));
	struct neap_limits limits = {NEAP_LIMITS_NONE, NEAP_LIMITS_NONE, NEAP_LIMITS_NONE,
				     NEAP_LIMITS_NONE, false};
	const char *now = neap_json_text_or(row->json, "now", ROUNDS_BEGAN);
	json_t *list = json_array();
	int64_t now_usec = 0;

	(void)neap_time_parse(now, &now_usec, NULL);
	if (json_object_get(caps, "node"))
		limits.per_node = json_integer_value(json_object_get(caps, "node"));
	if (json_object_get(caps, "total"))
		limits.total = json_integer_value(json_object_get(caps, "total"));
	for (size_t i = 0; i < (steps ? json_array_size(steps) : 1); i++) {
		const json_t *step = json_array_get(steps, i);
		const json_t *own = json_object_get(step, "cluster");

		now_usec += json_integer_value(json_object_get(step, "after_s")) * SECOND;
		(void)json_array_append_new(
			list, rounds_play(set, own ? own : cluster, now_usec, &limits));
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		run = json_array_get(json_object_get(json_array_get(list, i), "runs"), 0);
		shipped->evicted += json_array_size(json_object_get(run, "evicted"));
		shipped->rounds += run != NULL;
	}
	check_same(row, list);
	if (!steps)
		compare_answers(row->policy, json_array_get(list, 0));
	json_decref(list);
	neap_play_set_free(set);
	return 0;
}

static void test_shipped(void **state)
{
	static const char *const fields[] = {"name",   "params",  "now",  "evictor",
					     "limits", "cluster", "want", "steps",
					     "pod",    NULL};
	struct dirent **files = NULL;
	int count = scandir("policies/deschedule", &files, NULL, alphasort);

	(void)state;
	for (int i = 0; i < count; i++) {
		struct shipped shipped = {.name = files[i]->d_name};
		struct neap_policy *policy = NULL;
		struct neap_error err = {0};
		char path[512];

		if (files[i]->d_name[0] != '.') {
			(void)snprintf(path, sizeof(path), "policies/deschedule/%s",
				       files[i]->d_name);
			rounds_need(neap_policy_load_file(path, &policy, &err), &err,
				    path);
			for (int n = 1; n <= neap_policy_example_count(policy); n++)
				rounds_need(neap_place_row_run(policy, n, fields, run_row,
							       &shipped, &err),
					    &err, path);
			print_message("%s: %zu rounds, %zu evicted\n", shipped.name,
				      shipped.rounds, shipped.evicted);
			assert_true(shipped.rounds > 0);
			assert_true(shipped.evicted > 0);
			neap_policy_free(policy);
		}
		free(files[i]);
	}
	free(files);
}

/* --- without memory --- */

struct tried {
	struct neap_play_set *set;
	json_t *cluster, *list;
	struct neap_policy *policy;
};

/* One node is full of pods, of which three have failed. */
static void tried_open(struct tried *tried)
{
	struct neap_limits limits = {NEAP_LIMITS_NONE, NEAP_LIMITS_NONE, NEAP_LIMITS_NONE,
				     NEAP_LIMITS_NONE, false};
	struct neap_error err = {0};

	rounds_need(neap_policy_load_file("policies/deschedule/remove-failed-pods.lua",
					  &tried->policy, &err),
		    &err, "policy");
	tried->set = rounds_open_set(tried->policy, NULL, NULL);
	tried->cluster = rounds_quoted(
		"{'nodes':[{'metadata':{'name':'n1'},'status':{'allocatable':{'cpu':'4',"
		"'pods':'9'}}},{'metadata':{'name':'n2'},'status':{'allocatable':{'cpu':"
		"'4','pods':'9'}}}],'pods':[{'metadata':{'name':'a','namespace':'web',"
		"'ownerReferences':[{'kind':'ReplicaSet','name':'r','uid':'o',"
		"'controller':true}]},'spec':{'nodeName':'n1','containers':[{'name':'c',"
		"'resources':{'requests':{'cpu':'1'}}}]},'status':{'phase':'Failed'}},{"
		"'metadata':{'name':'b','namespace':'web','annotations':{'k':'v'}},"
		"'spec':{'nodeName':'n1','containers':[{'name':'c'}]},'status':{'phase':"
		"'Failed'}}],'namespaces':[{'metadata':{'name':'web'}}],'claims':[],"
		"'budgets':[]}");
	tried->list = json_array();
	(void)json_array_append_new(tried->list,
				    rounds_play(tried->set, tried->cluster,
						INT64_C(1767300000) * SECOND, &limits));
}

static void tried_close(struct tried *tried)
{
	neap_play_set_free(tried->set);
	json_decref(tried->cluster);
	json_decref(tried->list);
	neap_policy_free(tried->policy);
}

/* Arguments that were right in the round are not wrong for want of memory. */
static void check_ready(const json_t *result)
{
	char *text = result ? json_dumps(result, 0) : NULL;

	if (text && strstr(text, "it does not run"))
		fail_msg("%s", text);
	free(text);
}

static void test_torture_replay(void **state)
{
	struct tried tried;
	int rc = -1;

	(void)state;
	tried_open(&tried);
	for (uint64_t n = 1; rc < 0 && n < 100000; n += n < 2000 ? 1 : 13) {
		struct neap_inputs inputs = {.rounds = neap_round_tape_of(tried.list)};
		uint64_t before = neap_mem_count();
		struct neap_error err = {0};
		json_t *result = NULL;

		neap_mem_fail_at(n);
		rc = neap_policy_replay(NULL, tried.policy, &inputs, 60 * SECOND, &result,
					&err);
		neap_mem_fail_at(0);
		if (rc < 0 && rc != -NEAP_ENOMEM)
			fail_msg("allocation %llu: %s", (unsigned long long)n, err.msg);
		if (rc == 0 && neap_mem_count() - before >= n)
			rc = -1; /* a script's: it is a fault of the script then */
		check_ready(result);
		json_decref(result);
		neap_inputs_done(&inputs);
	}
	assert_int_equal(rc, 0);
	tried_close(&tried);
}

/* Either the recording is whole, or there is none. */
static void test_torture_record(void **state)
{
	struct tried tried;
	neap_auto_buf struct neap_buf whole = {0};
	bool is_done = false;

	(void)state;
	tried_open(&tried);
	for (uint64_t n = 0; !is_done && n < 20000; n++) {
		struct round_frame frame;
		struct neap_play play = {.set = tried.set, .is_recorded = true};
		json_t *from = json_pack("{s:s,s:O}", "began", ROUNDS_BEGAN, "cluster",
					 tried.cluster);
		neap_auto_buf struct neap_buf text = {0};
		struct neap_error err = {0};
		uint64_t before;
		int rc = -NEAP_ENOMEM;

		rounds_need(round_frame_open(&frame, from, &err), &err, "frame");
		play.world = frame.world;
		play.now_usec = INT64_C(1767300000) * SECOND;
		before = neap_mem_count();
		neap_mem_fail_at(n);
		neap_play_run(&play);
		neap_buf_init(&text, NEAP_ROUND_BYTES);
		if (play.recording && !play.err.code)
			rc = neap_recording_write(play.recording, &text, &err);
		neap_mem_fail_at(0);
		is_done = n > 0 && neap_mem_count() - before < n;
		if (n == 0) {
			assert_int_equal(rc, 0);
			whole = text;
			text = (struct neap_buf){0};
		} else if (rc == 0 && strstr(text.data, "\"cluster\"") &&
			   strcmp(strstr(text.data, "\"cluster\""),
				  strstr(whole.data, "\"cluster\"")) != 0) {
			fail_msg("allocation %llu: %s", (unsigned long long)n, text.data);
		}
		neap_play_done(&play);
		round_frame_close(&frame);
		json_decref(from);
	}
	assert_true(is_done);
	tried_close(&tried);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shipped),
		cmocka_unit_test(test_torture_replay),
		cmocka_unit_test(test_torture_record),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, rounds_setup, rounds_teardown);
}
