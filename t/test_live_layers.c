/* SPDX-License-Identifier: Apache-2.0
 *
 * Live policies: what acts after which change, and what is answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/policy/folder.h"
#include "engine/base/mem.h"
#include "t/lib/live_rig.h"
#include "t/lib/patience.h"

/* --- scripts --- */

static const struct {
	const char *name, *script;
	bool has_dir;
} rows[] = {
	{"put", "+A=201:uA* +A=200:uA* +B=200:uB* ?C=200:uB* x:- x=404:- +A=201:uA*"},
	{"configured, then uploaded", "cA:cA +B:uB* x:cA x=409:cA"},
	{"uploaded, then configured", "+B:uB* cA:uB* x:cA c-:-"},
	{"configuration goes below", "cA:cA +B:uB* c-:uB* x:-"},
	{"all orders: c u d", "cA:cA +B:uB* dC:dC* d-:uB x:cA c-:-", true},
	{"all orders: c d u", "cA:cA dC:dC* +B=409:dC* d-:cA +B:uB*", true},
	{"all orders: u c d", "+B:uB* cA:uB* dC:dC* x=409:dC* d-:uB c-:uB x:-", true},
	{"all orders: d c", "dC:dC* cA:dC* d-:cA", true},
	{"all orders: leaving from below", "cA:cA +B:uB* dC:dC* c-:dC* d-:uB x:-", true},
	{"the directory owns",
	 "dC:dC* +A=409:dC* x=409:dC* <=409:dC* <B=409:dC* "
	 "?A=409:dC*",
	 true},
	{"restart", "cA:cA +B:uB* R:uB x:cA R:cA", false},
	{"restart with a directory", "cA:cA +B:uB* dC:dC* R:dC d-:uB R:uB", true},

	{"rollback", "+A:uA* +B:uB* <:uA* <:uB* <:uA* R:uA"},
	{"rollback to one", "+A:uA* +B:uB* +C:uC* <A:uA* <C:uC* <D=404:uC* <C=200:uC*"},
	{"rollback without one", "<=404:- +A:uA* <=404:uA*"},
	{"rollback of a first upload", "cA:cA +B:uB* <:cA* <:uB* R:uB"},
	{"rollback after a delete", "+A:uA* x:- <:uA* x:- R:- <:uA*"},
	{"a configured one is no target", "cA:cA <=404:cA <A=404:cA"},

	{"it fails", "+A:uA* +B:uB* !B:uA* R:uA"},
	{"predecessor fails too", "cD:cD +A:uA* +B:uB* !B:uA* !A:cD* !D:cD*! R:cD"},
	{"then nothing", "+A:uA* +B:uB* !B:uA* !A:uA*! R:-"},
	{"a first upload", "+A:uA* !A:uA*! x:- R:-"},
	{"a first upload over the configuration", "cD:cD +A:uA* !A:cD* R:cD"},
	{"put again", "+A:uA* !A:uA*! +A=200:uA*"},
	{"another put", "+A:uA* !A:uA*! +B=200:uB* <=404:uB*"},
	{"a failed one is no target", "+A:uA* +B:uB* +C:uC* !C:uB* <:uA* <:uB*"},
	{"but by name it is", "+A:uA* +B:uB* !B:uA* <B:uB*"},
	{"a chain that was taken back",
	 "+A:uA* +B:uB* <A:uA* +C:uC* !C:uA* !A:uB* !B:uB*!"},
	{"a configured one fails", "cA:cA !A:cA! cA:cA !A:cA! cB:cB"},
	{"out of service, parameters wait", "+A:uA* !A:uA*! p300=409"},

	{"the text before", "dA:dA* dB:dB* !B:dA* !A:dA*! d-:-", true},
	{"the text before, the upload, the configuration",
	 "cA:cA +B:uB* dC:dC* dD:dD* !D:dC* !C:uB* !B:cA* !A:cA*! dE:dE* d-:cA", true},
	{"a mended file", "+B:uB* dC:dC* !C:uB* dD:dD* !D:uB* d-:uB*", true},
	{"a failed text is none to go back to", "dA:dA* dB:dB* !B:dA* dC:dC* !C:dA*",
	 true},
	{"the failed text again", "dA:dA* dB:dB* !B:dA* dB:dA* dA:dA* dB:dB*", true},
	{"a file is renamed", "dA:dA* m:dA* e-:-", true},
	{"two files", "dA:dA* eB:dA* d-:dB* e-:-", true},
	{"two files, the second goes", "dA:dA* eB:dA* e-:dA* d-:-", true},
	{"two files, the second is mended", "dA:dA* eB:dA* eC:dA* d-:dC*", true},
	{"three changes", "dA:dA* dB:dB* dC:dC* !C:dB* d-:- dA:dA*", true},

	{"elsewhere", "+S:uS*@ +A:uA*"},
	{"parameters do not fit", "+N:uN* +A:uA* p600 !A:uN* p-"},
	{"parameters of a name that goes", "+A:uA* p600 x:- +N=201:uN*"},
	{"parameters with the configuration", "cN:cN +A:uA* p600 x:cN p300 R:cN"},
};

static void test_scripts(void **state)
{
	const char *only = getenv("CASE");
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_error err = {0};
		struct live_rig *rig;
		void *made;

		if (only && *only && strcmp(only, rows[i].name) != 0)
			continue;
		(void)fprintf(stderr, "# %s\n", rows[i].name);
		assert_int_equal(live_setup(&made), 0);
		rig = made;
		rig->has_dir = rows[i].has_dir;
		assert_int_equal(live_start(rig, &err), 0);
		live_play(rig, "one", rows[i].script);
		live_teardown(&made);
	}
}

/* --- what only more than one policy shows --- */

static struct live_rig *open_rig(void **state, bool has_dir)
{
	struct live_rig *rig;
	struct neap_error err = {0};

	assert_int_equal(live_setup(state), 0);
	rig = *state;
	rig->has_dir = has_dir;
	if (live_start(rig, &err) < 0)
		fail_msg("%s", err.msg);
	return rig;
}

/* A file that names another policy from now on gives the first one back, and the file
 * that waited for that has it. */
static void test_other_name(void **state)
{
	struct live_rig *rig = open_rig(state, true);

	live_file(rig, "a.lua", live_text("one", 'A'));
	live_file(rig, "b.lua", live_text("one", 'B'));
	assert_string_equal(live_state(rig, "one"), "dA*");
	live_file(rig, "a.lua", live_text("two", 'C'));
	assert_string_equal(live_state(rig, "one"), "dB*");
	assert_string_equal(live_state(rig, "two"), "dC*");
	live_file(rig, "b.lua", "return {");
	assert_string_equal(live_state(rig, "one"), "dB*");
	live_file(rig, "a.lua", NULL);
	assert_string_equal(live_state(rig, "two"), "-");
	live_file(rig, "b.lua", NULL);
	assert_string_equal(live_state(rig, "one"), "-");
	assert_int_equal(neap_map_count(rig->live->items), 0);
	assert_int_equal(neap_map_count(rig->live->files), 0);
	live_teardown(state);
}

/* What stays of policies that were deleted has a bound, that of the option, with each
 * deletion and from a start on. */
static void test_deleted(void **state)
{
	struct live_rig *rig = live_open(state);
	struct neap_live_change change;
	struct neap_live_counts counts;
	struct neap_error err = {0};
	int64_t most = 0;
	char name[16];

	live_stop(rig);
	rig->deleted_bytes = 1 << 17; /* of blocks on disk */
	assert_int_equal(live_start(rig, &err), 0);
	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(live_put(rig, name, live_text(name, 'A')), 201);
		change = live_change(rig, name);
		assert_int_equal(
			live_ask(rig, neap_live_delete(rig->live, &change, &err), &err),
			200);
		neap_live_count(rig->live, &counts);
		assert_true(counts.deleted_bytes <= 1 << 17);
		most = counts.deleted_bytes > most ? counts.deleted_bytes : most;
	}
	assert_true(most > 1 << 16);
	live_stop(rig);
	rig->deleted_bytes = 1 << 15;
	assert_int_equal(live_start(rig, &err), 0);
	neap_live_count(rig->live, &counts);
	assert_in_range(counts.deleted_bytes, 1, 1 << 15);
	live_teardown(state);
}

/* Told of and gone before its turn came. */
static void test_short_file(void **state)
{
	struct live_rig *rig = open_rig(state, true);
	char file[160];
	FILE *out;

	(void)snprintf(file, sizeof(file), "%s/a.lua", rig->policy_dir);
	out = fopen(file, "w");
	(void)fputs(live_text("one", 'A'), out);
	(void)fclose(out);
	neap_live_look(rig->live);
	(void)unlink(file);
	neap_live_look(rig->live);
	live_settle(rig);
	assert_string_equal(live_state(rig, "one"), "-");
	assert_int_equal(neap_map_count(rig->live->files), 0);
	live_teardown(state);
}

/* 64 policies are the most: refused before anything is on disk. */
static void test_full(void **state)
{
	struct neap_error err;
	struct live_rig *rig = open_rig(state, true);
	struct neap_policy_id id = {"qos", "over"};
	char name[16], *text = NULL;
	size_t len;
	int i;

	for (i = 0; i < 64; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(live_put(rig, name, live_text(name, 'A')), 201);
	}
	assert_int_equal(live_put(rig, "over", live_text("over", 'A')), 409);
	assert_non_null(strstr(rig->answer.err.msg, "64 policies"));
	assert_int_equal(neap_versions_read(rig->dir, &id, "", &text, &len, NULL, &err),
			 -NEAP_ENOTFOUND);
	live_file(rig, "over.lua", live_text("over", 'A'));
	assert_string_equal(live_state(rig, "over"), "-");
	assert_non_null(strstr(live_log(rig), "over.lua: 64 policies"));
	assert_int_equal(live_put(rig, "n3", live_text("n3", 'B')), 200);
	live_play(rig, "n4", "x:-");
	assert_int_equal(live_put(rig, "n4", live_text("n4", 'B')), 201);
	live_teardown(state);
}

/* Names come and go, texts are refused: nothing of it stays for ever. */
static void test_many_names(void **state)
{
	struct live_rig *rig = open_rig(state, false);
	char name[16];
	int i;

	for (i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(live_put(rig, name, "return {"), 422);
	}
	assert_int_equal(neap_map_count(rig->live->items), 256);
	assert_int_equal(live_put(rig, "good", live_text("good", 'A')), 201);
	live_play(rig, "good", "x:-");
	live_play(rig, "n299", "x=200:- x=404:-");
	live_teardown(state);
}

/* Two versions that do not pass any more and name each other as the one before: neither
 * is asked again, by itself or by a rollback without a name. */
static void test_circle(void **state)
{
	struct live_rig *rig = open_rig(state, false);

	live_play(rig, "one", "+N +O <N +B:uB*");
	rig->configured_milli = 600; /* too much for both */
	live_play(rig, "one", "cA:uB* !B:cA* <=404:cA*");
	rig->configured_milli = 0;
	live_play(rig, "one", "cA:cA* <N:uN* <:cA* <:uN*");
	live_teardown(state);
}

/* Of a policy that is not for this node nothing is held. */
static void test_elsewhere(void **state)
{
	struct live_rig *rig = open_rig(state, false);
	struct neap_registry_slot *slot;

	live_play(rig, "one", "+A:uA*");
	live_tick(rig);
	slot = neap_registry_find(rig->registry, "qos", "one");
	assert_int_equal(slot->wish_count, 1);
	live_play(rig, "one", "+B:uB*");
	slot = neap_registry_find(rig->registry, "qos", "one");
	assert_int_equal(slot->wish_count, 1);
	live_play(rig, "one", "!B:uA* !A:uA*!");
	slot = neap_registry_find(rig->registry, "qos", "one");
	assert_int_equal(slot->wish_count, 1);
	live_play(rig, "one", "+S:uS*@");
	live_tick(rig);
	slot = neap_registry_find(rig->registry, "qos", "one");
	assert_int_equal(slot->wish_count, 0);
	assert_int_equal(slot->stats.calls, 0);
	live_teardown(state);
}

/* The newest of a run of changes: the failed version is not the one to go back to. */
static void test_late_failure(void **state)
{
	struct live_rig *rig = open_rig(state, false);
	struct neap_live_change change;
	struct neap_error err;
	int i;

	live_play(rig, "one", "+A:uA* +B:uB*");
	change = live_change(rig, "one");
	assert_int_equal(neap_live_put(rig->live, &change, live_text("one", 'C'),
				       strlen(live_text("one", 'C')), &err),
			 0);
	rig->sample.capacity_milli = live_bit('B');
	for (i = 0; i < NEAP_POLICY_FAULTS_MAX; i++)
		live_tick(rig);
	rig->sample.capacity_milli = 0;
	live_settle(rig);
	assert_string_equal(live_state(rig, "one"), "uC*");
	live_play(rig, "one", "!C:uA*");
	live_teardown(state);
}

/* A policy is configured: its state is kept where only parameters differ, its place
 * follows. */
static void test_reconfigure(void **state)
{
	struct live_rig *rig = open_rig(state, false);
	struct neap_registry_slot *slot;
	json_t *params;

	live_play(rig, "aaa", "+A:uA*");
	live_play(rig, "one", "cA:cA");
	slot = neap_registry_get(rig->registry, 0);
	assert_ptr_equal(slot, neap_registry_find(rig->registry, "qos", "one"));
	live_tick(rig);
	rig->configured_milli = 250;
	live_play(rig, "one", "cA:cA");
	slot = neap_registry_find(rig->registry, "qos", "one");
	assert_int_equal(slot->stats.calls, 1);
	params = neap_policy_params(slot->policy);
	assert_int_equal(json_integer_value(json_object_get(params, "milli")), 250);
	json_decref(params);
	/* Below an upload they act on that. */
	live_play(rig, "one", "+B:uB*");
	rig->configured_milli = 350;
	live_play(rig, "one", "cA:uB*");
	slot = neap_registry_find(rig->registry, "qos", "one");
	params = neap_policy_params(slot->policy);
	assert_int_equal(json_integer_value(json_object_get(params, "milli")), 350);
	json_decref(params);
	live_play(rig, "one", "c-:uB*");
	slot = neap_registry_find(rig->registry, "qos", "one");
	assert_ptr_equal(slot, neap_registry_get(rig->registry, 1));
	params = neap_policy_params(slot->policy);
	assert_int_equal(json_integer_value(json_object_get(params, "milli")), 100);
	json_decref(params);
	/* A text that does not pass leaves the one before. */
	rig->configured_milli = 0;
	live_play(rig, "one", "x cA:cA");
	rig->configured_milli = 3;
	live_play(rig, "one", "cB:cA");
	rig->configured_milli = 0;
	live_play(rig, "one", "cB:cB");
	live_teardown(state);
}

/* One that an earlier neapd was stuck in. */
static void test_ban(void **state)
{
	struct live_rig *rig = open_rig(state, false);
	char version[12], label[64];
	struct neap_error err;

	live_play(rig, "one", "+A:uA* +B:uB*");
	live_stop(rig);
	live_version("one", 'B', version);
	(void)snprintf(label, sizeof(label), "qos/one@%s", version);
	/* As live_start, with the ban before. */
	{
		struct neap_live_config config = {.base = rig->base,
						  .own_uid = geteuid(),
						  .labels = rig->labels,
						  .log = {rig->log_fd}};
		int index;

		rig->registry = neap_registry_new();
		config.registry = rig->registry;
		(void)neap_strcopy(config.dir, sizeof(config.dir), rig->dir);
		assert_int_equal(neap_live_new(&config, &rig->live, &err), 0);
		neap_live_ban(rig->live, label);
		assert_int_equal(neap_live_start(rig->live, NULL, 0, &index, &err), 0);
	}
	assert_string_equal(live_state(rig, "one"), "uA");
	assert_int_equal(live_active(rig, "one"), 'A');
	live_play(rig, "one", "<B=409:uA");
	live_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scripts),      cmocka_unit_test(test_other_name),
		cmocka_unit_test(test_deleted),      cmocka_unit_test(test_short_file),
		cmocka_unit_test(test_full),         cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_circle),       cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_late_failure), cmocka_unit_test(test_reconfigure),
		cmocka_unit_test(test_ban),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
