/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies are compiled on the thread of the rounds: the loop compiles none, however many
 * a configuration names; and what a busy machine gave too little time for is compiled
 * again. The linker puts the count around neap_policy_load. */
#include "t/lib/descheduler_rig.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "lua/call/policy.h"

#define PROFILES 16

static pthread_t loop;
static atomic_int on_loop, on_thread;
static atomic_int to_starve; /* of the next ones on the thread */

int __real_neap_policy_load(const char *text, size_t len, const char *origin,
			    struct neap_policy **ret, struct neap_error *err);
int __wrap_neap_policy_load(const char *text, size_t len, const char *origin,
			    struct neap_policy **ret, struct neap_error *err);

int __wrap_neap_policy_load(const char *text, size_t len, const char *origin,
			    struct neap_policy **ret, struct neap_error *err)
{
	if (pthread_equal(pthread_self(), loop))
		on_loop++;
	else
		on_thread++;
	if (!pthread_equal(pthread_self(), loop) && to_starve > 0) {
		to_starve--;
		return neap_error_set(err, NEAP_EUNAVAILABLE, "the machine is busy");
	}
	return __real_neap_policy_load(text, len, origin, ret, err);
}

/* What was compiled since the last time. */
static void check_counts(int wanted)
{
	if (on_loop || on_thread != wanted)
		fail_msg("%d on the loop, %d on the thread", on_loop, on_thread);
	on_thread = 0;
}

/* Every profile has two policies; the arguments of one are wrong, or none. */
static char *many(struct neap_buf *text, bool is_wrong)
{
	neap_buf_init(text, NEAP_BUF_FILE);
	neap_buf_adds(text, "apiVersion: descheduler/v1alpha2\n"
			    "kind: DeschedulerPolicy\n"
			    "profiles:\n");
	for (int i = 0; i < PROFILES; i++)
		neap_buf_addf(text,
			      "- name: p%d\n"
			      "  pluginConfig: [{name: DefaultEvictor}, {name: "
			      "MoveAll, args: {%s}}]\n"
			      "  plugins: {balance: {enabled: [MoveAll, "
			      "Changes]}}\n",
			      i, is_wrong && !i ? "form: n1" : "from: n9");
	return text->data;
}

static void test_loop_compiles_nothing(void **state)
{
	struct descheduler_rig *rig = *state;
	neap_auto_buf struct neap_buf good = {0}, bad = {0};
	struct neap_simulation simulation = {.policy = descheduler_move_all};

	(void)many(&good, false);
	(void)many(&bad, true);
	loop = pthread_self();
	descheduler_must(rig, "POST /api/v1/namespaces",
			 "{'metadata':{'name':'koordinator-system'}}", 201);
	descheduler_begin(rig);
	on_loop = on_thread = 0;
	/* Arguments are checked, by one instance of each policy, and policies opened. */
	descheduler_put_map(rig, true, good.data);
	json_decref(descheduler_rounds(rig, 1));
	check_counts(2 + 2 * PROFILES);
	descheduler_put_map(rig, false, bad.data);
	descheduler_wait(rig, "error~form");
	check_counts(2);
	/* A simulation with the text of an editor, and with a configuration; its policy
	 * takes one place. */
	descheduler_simulate(rig, &simulation);
	assert_int_equal(rig->err.code, NEAP_OK);
	check_counts(1 + 2 * PROFILES - 1);
	simulation.config = good.data;
	descheduler_simulate(rig, &simulation);
	assert_int_equal(rig->err.code, NEAP_OK);
	check_counts(1 + 2 + 2 * PROFILES - 1);
}

/* A new version, and one that was stopped in the round before. */
static void test_loop_compiles_nothing_again(void **state)
{
	static const char later[] =
		"return { api = 1, kind = 'deschedule', name = 'later',\n"
		"  plugin = 'MoveAll', point = 'balance',\n"
		"  params = { from = { type = 'string', default = 'n1', doc = 'n' } },\n"
		"  run = function() end }\n";
	struct descheduler_rig *rig = *state;

	loop = pthread_self();
	descheduler_begin(rig);
	on_thread = 0;
	descheduler_use(rig, POLICY("", "balance: {enabled: [MoveAll]}\n"
					"    deschedule: {enabled: [Endless]}"));
	on_loop = 0; /* the rig's own reading */
	json_decref(descheduler_rounds(rig, 1));
	check_counts(2);
	json_decref(descheduler_run(rig, 2));
	check_counts(1);
	descheduler_upload(rig, later);
	on_loop = 0; /* the upload itself, which is not the descheduler's */
	descheduler_wait(rig, "profiles.0.plugins.1.policy~deschedule/later@");
	check_counts(2);
	json_decref(descheduler_run(rig, 3));
	json_decref(descheduler_run(rig, 4));
	check_counts(1);
}

/* A configuration that comes while another one is being opened. */
static void test_newer_wins(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	descheduler_use(rig, POLICY("", "balance: {enabled: [Changes]}"));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "#round.strategies=1", "round.strategies.0.strategy=Changes");
	json_decref(status);
}

static void ended(void *arg, json_t *record, const struct neap_error *err)
{
	enum neap_code *code = arg;

	assert_null(record);
	*code = err->code;
}

static void never(void *arg, struct neap_deschedule_config *config,
		  const struct neap_deschedule_lines *lines, const struct neap_error *err)
{
	(void)arg;
	(void)config;
	(void)lines;
	fail_msg("told: %s", err->msg);
}

/* The descheduler ends while the thread opens and reads. */
static void test_ends(void **state)
{
	struct descheduler_rig *rig = *state;
	const struct neap_simulation simulation = {.policy = descheduler_move_all};
	enum neap_code code = NEAP_OK;
	struct neap_error err;

	descheduler_begin(rig);
	descheduler_use(rig, MOVE);
	neap_descheduler_simulate(rig->descheduler, &simulation, ended, &code);
	assert_int_equal(neap_descheduler_read(rig->descheduler, MOVE, "f.yaml", never,
					       NULL, &err),
			 0);
	neap_descheduler_free(rig->descheduler);
	descheduler_begin(rig);
	assert_int_equal(code, NEAP_EUNAVAILABLE);
	neap_descheduler_simulate(rig->descheduler, &simulation, ended, &code);
	code = NEAP_OK;
	neap_descheduler_free(rig->descheduler);
	rig->descheduler = NULL;
	assert_int_equal(code, NEAP_EUNAVAILABLE);
}

/* --- without time --- */

/* A policy that could not be opened is opened again before the first round. */
static void test_starved_opening(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	loop = pthread_self();
	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	to_starve = 1;
	descheduler_use(rig, MOVE);
	status = descheduler_rounds(rig, 1);
	assert_int_equal(to_starve, 0);
	WANTS(status, "#round.evicted=1", "round.evicted.0.pod=a",
	      "!profiles.0.plugins.1.error");
	json_decref(status);
}

/* A configuration whose arguments could not be checked at the start is read again. */
static void test_starved_check(void **state)
{
	struct descheduler_rig *rig = *state;
	json_t *status;

	loop = pthread_self();
	descheduler_must(rig, "POST /api/v1/namespaces",
			 "{'metadata':{'name':'koordinator-system'}}", 201);
	descheduler_put_map(rig, true, MOVE);
	descheduler_pod(rig, "a", "n1");
	to_starve = 1;
	descheduler_begin(rig);
	descheduler_wait(rig, "error~the machine is busy");
	assert_false(neap_descheduler_is_settled(rig->descheduler));
	status = descheduler_rounds(rig, 1);
	WANTS(status, "!error", "round.evicted.0.pod=a");
	json_decref(status);
	assert_true(neap_descheduler_is_settled(rig->descheduler));
}

/* Whoever asks for a simulation is told, and may ask again. */
static void test_starved_simulation(void **state)
{
	struct descheduler_rig *rig = *state;
	struct neap_simulation simulation = {.policy = descheduler_move_all};

	loop = pthread_self();
	descheduler_pod(rig, "a", "n1");
	descheduler_begin(rig);
	to_starve = 1;
	descheduler_simulate(rig, &simulation);
	assert_int_equal(rig->err.code, NEAP_EUNAVAILABLE);
	assert_string_equal(rig->err.msg, "the machine is busy");
	descheduler_simulate(rig, &simulation);
	assert_int_equal(rig->err.code, NEAP_OK);
	WANTS(rig->record, "evicted.0.pod=a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_loop_compiles_nothing,
						descheduler_setup, descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_loop_compiles_nothing_again,
						descheduler_setup, descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_newer_wins, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_ends, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_starved_opening, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_starved_check, descheduler_setup,
						descheduler_teardown),
		cmocka_unit_test_setup_teardown(test_starved_simulation,
						descheduler_setup, descheduler_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
